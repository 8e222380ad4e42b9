"""What kinds of bodies look like: rods and elastic solids as recordings and viewers get them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import clapas
from clapas.bodies.drawn import DrawnBodies
from clapas.bodies.kind import Part
from clapas.bodies.rods import Rod, Rods


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
