"""Rods in scene files: round trips, running, resuming, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clapas
from clapas.bodies.rods import Rod, Support
from clapas.bodies.trusses import Group, Material, MovingTruss, Section, Truss
from clapas.cli import main
from clapas.dynamics.motions import Oscillation
from clapas.errors import SceneError
from clapas.geometry.shapes import Box, Plane
from clapas.scenes.examples.hair import brush, capstan, hair, strands, winch
from clapas.scenes.run import Run
from clapas.scenes.scene import Scene

HAIR: dict[str, Any] = {"length": 0.1, "radius": 1e-3, "density": 1100.0, "young": 1e8, "elements": 2}


def comb() -> Scene:
    """A rod on a moving support, one on a box that falls, a free elliptic one."""
    scene = Scene()
    scene.law(mu=0.3)
    scene.add(Plane())
    box = scene.add(Box((0.02, 0.02, 0.02)), (0.3, 0, 0.0101), density=500, name="box")
    shake = Support(motion=Oscillation(0.01, 2.0, (0, 1, 0)), position=(0, 0, 0.03))
    scene.add_rods(
        [
            Rod(**HAIR, support=shake, position=(0, 0, 0.03), tangent=(1, 0, -0.1), natural=(0, 3, 1)),
            Rod(**HAIR | {"radius": (1e-3, 2e-3)}, root="free", position=(0, 0.1, 0.0025), damping=1e-2),
        ],
        name="comb",
    )
    scene.add_rods(Rod(**HAIR, position=(0.31, 0, 0.01), bare=0.05), name="whisker", on=box)
    scene.run = Run(duration=0.01, dt=1e-3, every=2, scheme={"name": "moreau-jean", "theta": 1.0})
    return scene


@pytest.mark.parametrize("make", [comb, hair, strands, brush, capstan, winch])
def test_a_scene_of_rods_is_read_back_as_written(make: Any, tmp_path: Path) -> None:
    scene = make()
    scene.save(tmp_path / "rods.toml")
    again = Scene.load(tmp_path / "rods.toml")
    assert again.to_dict() == scene.to_dict()
    for one, other in zip(scene.systems, again.systems, strict=True):
        start, same = one.bodies.start(), other.bodies.start()
        assert np.array_equal(start.q, same.q)
        assert one.holder == other.holder
        assert one.self_contact == other.self_contact


def test_a_file_of_rods_runs_and_resumes_to_the_same_numbers(tmp_path: Path) -> None:
    comb().save(tmp_path / "comb.toml")
    whole, part = tmp_path / "whole.h5", tmp_path / "part.h5"
    for target, steps in ((whole, "0.01"), (part, "0.004")):
        given = [str(tmp_path / "comb.toml"), "--out", str(target), "--duration", steps, "--quiet"]
        assert main(["run", *given]) == 0
    clapas.resume(part, duration=0.01)
    with clapas.Recording(whole) as one, clapas.Recording(part) as two:
        for k in range(2):
            assert np.array_equal(one.column(f"systems/{k}/q")[-1], two.column(f"systems/{k}/q")[-1])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "no 'rods'"),
        ({"rods": [HAIR], "ropes": []}, "unknown setting 'ropes'"),
        ({"rods": HAIR}, "rods must be a list of tables"),
        ({"rods": [HAIR | {"lenght": 1.0}]}, r"rods\[0\]: unknown entry 'lenght'"),
        ({"rods": [HAIR | {"support": 1}]}, "support must be the number of one of the 0 supports"),
        ({"rods": [{"length": 1.0}]}, r"rods\[0\]: .*missing"),
        ({"rods": [HAIR | {"radius": -1.0}]}, r"rods\[0\]: rod: radius must be positive"),
        ({"rods": [HAIR], "supports": [{"motion": {"type": "jump"}}]}, "motion"),
    ],
)
def test_wrong_rods_in_files_are_refused_with_their_place(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SceneError, match=message):
        Scene.from_dict({"systems": [{"kind": "rods", "settings": settings}]})


def test_functions_are_not_written() -> None:
    scene = Scene()
    scene.add_rods(Rod(**HAIR, tip_force=lambda t: (0, 0, t)))
    with pytest.raises(SceneError, match="tip_force is a Python function"):
        scene.to_dict()
    other = Scene()
    other.add_rods(Rod(**HAIR, support=Support(motion=lambda t: ((0, 0, t), (0, 0, 0)))))
    with pytest.raises(SceneError, match="its motion is a Python function"):
        other.to_dict()


def test_a_system_without_shapes_keeps_its_place_among_the_systems(tmp_path: Path) -> None:
    # A truss of bare lines, then a body, then rods: frames hold the parts in this order, so a scene that
    # comes back in another one is of no use to them.
    bar = Group(
        name="bar", kind="bar", material=Material(young=1e9, density=1000.0), section=Section(area=1e-4)
    )
    mast = Truss(
        nodes=[[0, 5, 1], [1, 5, 1], [0, 6, 1], [0, 5, 0]],
        members=[[0, 3], [1, 3], [2, 3]],
        groups=[bar],
        group=[0, 0, 0],
        is_blocked=[[1, 1, 1], [1, 1, 1], [1, 1, 1], [0, 0, 0]],
    )
    scene = Scene()
    scene.law(mu=0.3)
    scene.add_system(MovingTruss(truss=mast), name="bare")
    scene.add(Box((0.1, 0.1, 0.1)), (0, 5, -1), mass=1.0, name="weight")
    scene.join("ball", "weight", "bare", at=(0, 5, 0))
    scene.add_rods(Rod(**HAIR), name="rods")
    scene.add_system(MovingTruss(truss=mast), name="last")
    again = Scene.from_dict(scene.to_dict())
    assert [system.name for system in again.systems] == ["bare", "rods", "last"]
    assert again.to_dict() == scene.to_dict()

    whole = clapas.simulate(scene, duration=4e-3, dt=1e-3)
    clapas.simulate(scene, duration=2e-3, dt=1e-3, out=tmp_path / "run.h5")
    assert main(["resume", str(tmp_path / "run.h5"), "--duration", "4e-3", "--quiet"]) == 0
    resumed = clapas.Recording(tmp_path / "run.h5")
    assert np.array_equal(resumed.frame(-1).state.position, whole.frame(-1).state.position)
    assert np.array_equal(resumed.frame(-1).state.velocity, whole.frame(-1).state.velocity)


def test_a_rope_over_a_drum_has_a_quarter_of_its_helices_on_each_side() -> None:
    with pytest.raises(SceneError, match="elements must be a multiple of 4"):
        capstan(elements=10)


def test_roots_that_nothing_holds_are_refused() -> None:
    scene = Scene()
    with pytest.raises(SceneError, match="system 'tail': its roots are to be held, and nothing holds them"):
        scene.add_rods(Rod(root="held", **HAIR), name="tail")
    assert not scene.systems
    assert not scene.bodies
