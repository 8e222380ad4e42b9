"""Steps divided where bodies are fast."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from clapas.dynamics.births import initial_state
from clapas.dynamics.motions import ConstantVelocity
from clapas.dynamics.schemes import MoreauJean, MoreauMidpoint
from clapas.dynamics.subdivision import parts
from clapas.errors import SettingsError
from clapas.geometry.shapes import Box, Capsule, Cylinder, Disk, Plane, Polygon, Polyhedron, Shape, Sphere
from clapas.io.recording import Recording, layout
from clapas.io.replay import step_after
from clapas.io.simulation import resume, simulate
from clapas.scenes.compilation import compile_scene
from clapas.scenes.recorders import Memory
from clapas.scenes.scene import Scene
from clapas.scenes.simulation import simulate as run_model
from clapas.solvers import NSGS, Auto

HALF = MoreauMidpoint(travel=0.5)


def flying(shape: Shape, speed: float, spin: float = 0.0) -> Scene:
    d = shape.d
    scene = Scene((0.0,) * d, d=d)
    velocity = (speed, *(0.0,) * (d - 1))
    scene.add(shape, velocity=velocity, density=1000, angular_velocity=(0, 0, spin) if d == 3 else spin)
    return scene


def divided(scene: Scene, dt: float, scheme: MoreauJean = HALF) -> int:
    model = compile_scene(scene)
    return parts(model, initial_state(model), dt, scheme)


@pytest.mark.parametrize(
    ("shape", "thickness", "reach"),
    [
        (Sphere(0.1), 0.1, 0.1),
        (Box((0.4, 0.2, 0.6)), 0.1, math.hypot(0.2, 0.1, 0.3)),
        (Capsule(0.1, 1.0), 0.1, 0.6),
        (Cylinder(0.5, 0.2), 0.1, math.hypot(0.5, 0.1)),
        (
            Polyhedron([(x, y, z) for x in (-0.1, 0.1) for y in (-1, 1) for z in (-1, 1)]),
            0.1,
            math.hypot(0.1, 1, 1),
        ),
        (Disk(0.1), 0.1, 0.1),
        (Polygon.rectangle(1.0, 0.2), 0.1, math.hypot(0.5, 0.1)),
    ],
)
def test_thickness_decides(shape: Shape, thickness: float, reach: float) -> None:
    model = compile_scene(flying(shape, 1.0))
    assert model.thickness[0] == pytest.approx(thickness)
    assert model.reach[0] == pytest.approx(reach)
    # Half the thickness, 0.05 m, in each part: at 1 m/s that takes 0.05 s.
    for dt, count in ((0.049, 1), (0.051, 2), (0.19, 4), (0.21, 8)):
        assert divided(flying(shape, 1.0), dt) == count
    assert divided(flying(shape, 0.0, spin=1.0 / reach), 0.051) == 2


def test_limits() -> None:
    fast = flying(Sphere(0.1), 1e6)
    assert divided(fast, 1.0) == 2**8
    assert divided(fast, 1.0, MoreauMidpoint(travel=0.5, halvings=3)) == 8
    assert divided(fast, 1.0, MoreauMidpoint()) == 1
    assert divided(Scene(), 1.0) == 1
    falling = Scene()
    falling.add(Sphere(0.1), density=1.0)
    assert divided(falling, 0.1) == 2  # by what gravity will give, 9.81·0.1² m
    pushed = flying(Sphere(0.1), 0.0)
    pushed.law(mu=0.0)
    pushed.add(Plane((1, 0, 0), -9.0), motion=ConstantVelocity((1.0, 0.0, 0.0)))
    assert divided(pushed, 0.051) == 2  # by the wall that comes


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"travel": 0.0}, "travel must be positive, got 0"),
        ({"travel": math.nan}, "travel must be positive"),
        ({"halvings": -1}, "halvings must be a whole number from 0 to 30, got -1"),
        ({"halvings": 1.5}, "halvings must be a whole number"),
    ],
)
def test_slips(settings: dict[str, float], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        MoreauMidpoint(**settings)  # type: ignore[arg-type]


def bullet() -> Scene:
    """A fast ball against a thin plate that rests on nothing: whole steps would pass it by."""
    scene = Scene((0.0, 0.0, 0.0))
    scene.law(mu=0.2, restitution=1.0)
    scene.add(Box((1, 1, 0.02)), density=8000)
    scene.add(Sphere(0.02), (0.1, 0, 0.5), velocity=(0, 0, -50), density=1000)
    return scene


def test_a_fast_ball_does_not_pass_a_thin_plate() -> None:
    final = {}
    for name, scheme in (("whole", MoreauMidpoint()), ("divided", MoreauMidpoint(travel=0.25))):
        memory = Memory()
        run_model(compile_scene(bullet()), 0.05, 5e-3, NSGS(tol=1e-8), scheme=scheme, recorder=memory)
        final[name] = memory.steps[-1].state
        assert len(memory.steps) == 11  # the frames are where they were
        assert final[name].time == pytest.approx(0.05)
    assert final["whole"].position[1, 2] < -1.0
    assert final["divided"].position[1, 2] > 0.0
    assert final["divided"].velocity[1, 2] > 0.0


def pile() -> Scene:
    scene = Scene()
    scene.law(mu=0.4)
    scene.add(Plane())
    for k in range(3):
        scene.add(Box((0.2, 0.2, 0.1)), (0.02 * k, 0, 0.05 + 0.1 * k), density=1000)
    scene.add(Sphere(0.05), (0, 0, 0.9), velocity=(0, 0, -4), density=1000)
    return scene


def test_a_divided_run_resumes_to_the_same_bits(tmp_path: Path) -> None:
    scheme, solver = MoreauMidpoint(travel=0.1), Auto(tol=1e-6)
    whole, cut = tmp_path / "whole.h5", tmp_path / "cut.h5"
    simulate(pile(), 0.2, 4e-3, solver, scheme=scheme, out=whole).close()
    simulate(pile(), 0.1, 4e-3, solver, scheme=scheme, out=cut).close()
    resume(cut, 0.2).close()
    with Recording(whole) as one, Recording(cut) as other:
        assert len(set(one.column("dt").tolist())) > 2  # steps of several lengths
        for name in layout.FRAMES:
            if name != "seconds":
                assert one.column(name).tobytes() == other.column(name).tobytes(), name
        np.testing.assert_allclose(one.times, 4e-3 * np.arange(51), atol=1e-12)
        again = step_after(one, 20)
        assert again.state.position.tobytes() == one.frame(21).state.position.tobytes()


def test_forces_persist_when_the_step_changes() -> None:
    """A stack at rest keeps its forces when steps become shorter: the guess is scaled and is the answer."""
    scene = pile()
    scene.bodies.pop()
    model, memory = compile_scene(scene), Memory()
    run_model(model, 0.02, 2e-3, NSGS(tol=1e-9), recorder=memory)
    shorter = Memory()
    state = memory.steps[-1].state
    scheme = MoreauMidpoint(travel=1e-5, halvings=2)
    run_model(model, 0.022, 2e-3, NSGS(tol=1e-6), scheme=scheme, recorder=shorter, state=state)
    done = shorter.steps[-1].stepped
    assert done is not None
    assert done.state.dt == pytest.approx(5e-4)
    assert done.solution.iterations == 0
