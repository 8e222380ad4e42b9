"""What kinds of bodies look like: rods and elastic solids as recordings and viewers get them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import clapas
from clapas.bodies.drawn import DrawnBodies
from clapas.bodies.kind import Part
from clapas.bodies.rods import Rod, Rods
from clapas.units import counted


def test_rods_are_tubes_along_their_curves() -> None:
    soft = {"density": 1000.0, "young": 1e6}
    long = Rod(length=1.0, radius=0.01, elements=3, **soft)
    short = Rod(length=0.5, radius=0.02, elements=2, **soft)
    hair = Rods([long, short])
    assert isinstance(hair, DrawnBodies)
    (skin,), (look,) = hair.skins(), hair.looks(hair.start())
    assert skin.n_vertices == len(look.vertices) == 25 + 17
    ends = look.vertices[skin.cells]
    lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    np.testing.assert_allclose(lengths[:24], 1.0 / 24, rtol=1e-9)
    np.testing.assert_allclose(lengths[24:], 0.5 / 16, rtol=1e-9)
    assert skin.radius.tolist() == [0.01] * 24 + [0.02] * 16
    assert [len(values) for values in look.values] == [40, 40]
    assert not np.any(look.values[0])


@pytest.mark.parametrize("d", [2, 3])
def test_elastic_solids_show_stress_and_displacement(d: int) -> None:
    from clapas.bodies.elastic import ElasticBodies, Solid
    from clapas.bodies.elastic.generators import block
    from clapas.bodies.elastic.materials import Elastic

    rubber = Elastic(young=1e6, poisson=0.0, density=1000.0)
    mesh = block((1.0,) * d, (2,) * d)
    body = ElasticBodies(solid=Solid(mesh=mesh, material=rubber))
    assert isinstance(body, DrawnBodies)
    stretch = np.zeros_like(mesh.nodes)
    stretch[:, 0] = 0.01 * mesh.nodes[:, 0]
    start = body.start()
    assert len(start.q) == stretch.size
    (skin,), (look,) = body.skins(), body.looks(Part(stretch.ravel(), start.v))
    assert len(skin.cells) == (8 if d == 2 else 48)
    np.testing.assert_allclose(look.vertices, mesh.nodes + stretch)
    np.testing.assert_allclose(look.values[0], 1e4, rtol=1e-9)  # E ε, uniaxial
    np.testing.assert_allclose(look.values[1], stretch[:, 0])


def test_a_run_of_rods_is_recorded_and_photographed(tmp_path: Path) -> None:
    scene = clapas.Scene()
    scene.law(mu=0.3)
    scene.add_system(Rods([Rod(length=1.0, radius=0.02, elements=3, density=1000.0, young=1e6)]), name="rod")
    with clapas.simulate(scene, duration=0.02, dt=2e-3, out=tmp_path / "rod.h5") as run:
        tip = run.frame(-1).looks[0][0].vertices[-1]
        from clapas.viewer.pictures import snapshot

        assert snapshot(run, tmp_path / "rod.png", colour="curvature").stat().st_size > 1000
    assert tip[2] < 0.0


def cube_of_jelly(*, with_ball: bool) -> clapas.Scene:
    """An elastic cube of 26 nodes and 48 sides at its surface, on a floor; maybe a ball beside it."""
    from clapas.bodies.elastic import ElasticBodies, Solid
    from clapas.bodies.elastic.generators import block
    from clapas.bodies.elastic.materials import Elastic

    soft = Elastic(young=1e6, poisson=0.3, density=1000.0)
    scene = clapas.Scene()
    scene.law(mu=0.3)
    scene.add(clapas.Plane(), name="floor")
    if with_ball:
        scene.add(clapas.Sphere(0.1), (2, 0, 0.1), mass=1.0)
    solid = Solid(mesh=block((1.0, 1.0, 1.0), (2, 2, 2), origin=(0, 0, 0.01)), material=soft)
    scene.add_system(ElasticBodies(solid=solid), name="jelly")
    return scene


@pytest.mark.parametrize("with_ball", [False, True])
def test_carriers_of_systems_are_counted_as_bodies_nowhere(tmp_path: Path, with_ball: bool) -> None:
    """The floor, and maybe a ball: 1 or 2 bodies in the report, tables, titles, and of a simulation."""
    from clapas.cli.run import describe
    from clapas.io.tables import export_csv
    from clapas.sweeps.running import numbers_of
    from clapas.viewer.pictures import _Figures

    scene, count = cube_of_jelly(with_ball=with_ball), 1 + with_ball
    simulation = clapas.Simulation(scene, dt=1e-3)
    assert simulation.model.n_bodies > 20
    assert f"Simulation({count} bod" in repr(simulation)
    with clapas.simulate(scene, 2e-3, 1e-3, out=tmp_path / "jelly.h5") as run:
        assert describe(run)["bodies"] == run.n_bodies == run.frame(-1).n_bodies == count
        assert numbers_of(run)["bodies"] == count
        assert counted(count, "body", "bodies") in repr(run.frame(0))
        table = export_csv(run, tmp_path)[0].read_text(encoding="utf-8").splitlines()
        alive = table[0].split(",").index("alive")
        assert [int(row.split(",")[alive]) for row in table[1:]] == [count] * 3
        figure = _Figures(run, "oblique", "speed", (480, 320), [0]).of(-1)
        assert counted(count, "body", "bodies") in figure.get_suptitle()


@pytest.mark.parametrize(
    ("with_ball", "colour", "labels"),
    [
        (False, "speed", []),
        (True, "speed", ["speed (m/s), rigid bodies"]),
        (False, "von Mises", ["von Mises (Pa)"]),
    ],
)
def test_a_scale_of_colours_is_drawn_where_something_has_them(
    tmp_path: Path, with_ball: bool, colour: str, labels: list[str]
) -> None:
    """An elastic body is plain beside the speeds of rigid ones."""
    from clapas.viewer.pictures import _Figures

    scene = cube_of_jelly(with_ball=with_ball)
    with clapas.simulate(scene, 2e-3, 1e-3, out=tmp_path / "jelly.h5") as run:
        figure = _Figures(run, "oblique", colour, (480, 320), [0]).of(-1)
    assert [axes.get_ylabel() for axes in figure.axes[1:]] == labels
