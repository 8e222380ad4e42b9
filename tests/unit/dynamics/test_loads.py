"""Forces and torques on bodies: values in time, plain data, every refusal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clapas.dynamics.births import initial_state
from clapas.dynamics.loads import Constant, Load, Ramps, as_course
from clapas.dynamics.stepping import step
from clapas.errors import SceneError
from clapas.geometry.rotations import rotate
from clapas.geometry.shapes import Box, Disk, Plane, Sphere
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene


def test_values_in_time() -> None:
    assert as_course("b", "force", None, 3) is None
    constant = as_course("b", "force", (1, 2, 3), 3)
    assert isinstance(constant, Constant)
    assert constant(5.0).tolist() == [1, 2, 3]
    ramp = as_course("b", "force", ([0, 2], [(0, 0), (4, 8)]), 2)
    assert isinstance(ramp, Ramps)
    assert [ramp(t).tolist() for t in (-1, 0.5, 3)] == [[0, 0], [1, 2], [4, 8]]
    function = as_course("b", "torque", lambda t: 3 * t, 1)
    assert function is not None
    assert function(2.0).tolist() == [6.0]
    force, torque = Load(2, constant and Constant((1.0, 2.0)))(0.0)
    assert (force.tolist(), torque.tolist()) == ([1, 2], [0])


def test_two_numbers_are_a_force_not_a_table() -> None:
    course = as_course("b", "force", (1.0, 2.0), 2)
    assert course is not None
    assert course.to_entry() == [1.0, 2.0]


def test_a_force_pushes_and_a_torque_turns() -> None:
    """In the world, though spins are kept in the body frame."""
    scene = Scene((0, 0, 0))
    turn = (0.5, 0.5, 0.5, 0.5)
    body = scene.add(Box((1, 1, 1)), orientation=turn, mass=6, force=(3, 0, 0), torque=(0, 0, 2))
    model = compile_scene(scene)
    state = initial_state(model)
    for _ in range(100):
        state = step(model, state, 0.01).state
    assert state.velocity[body, 0] == pytest.approx(0.5)
    assert state.position[body, 0] == pytest.approx(0.25)
    spin = rotate(state.orientation[body], state.velocity[body, 3:])
    np.testing.assert_allclose(spin, (0, 0, 2.0), atol=1e-9)


def test_a_block_pulled_harder_than_friction_slides() -> None:
    """Friction holds up to mu N = 0.4·9.81 N: 3 N and not 5 N."""
    for pull, speed in ((3.0, 0.0), (5.0, (5.0 - 0.4 * 9.81) * 0.1)):
        scene = Scene()
        scene.law(mu=0.4)
        scene.add(Plane())
        block = scene.add(Box((1, 1, 0.2)), (0, 0, 0.1), mass=1, force=(pull, 0, 0))
        model = compile_scene(scene)
        state = initial_state(model)
        for _ in range(100):
            state = step(model, state, 1e-3).state
        assert state.velocity[block, 0] == pytest.approx(speed, abs=1e-4)


def test_a_force_that_grows_in_time() -> None:
    scene = Scene((0, 0), d=2)
    body = scene.add(Disk(0.1), mass=2, force=([0, 1], [(0, 0), (4, 0)]), torque=lambda t: 0.0)
    model = compile_scene(scene)
    state = initial_state(model)
    for _ in range(100):
        state = step(model, state, 0.01).state
    assert state.velocity[body, 0] == pytest.approx(1.0)  # ∫ 4 t dt / 2


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"force": (1, 2)}, "body 'b': force must be 3 numbers"),
    ({"force": (1, 2, float("nan"))}, "force must be finite"),
    ({"torque": "x"}, "torque must be 3 numbers"),
    ({"force": lambda t: (1, 2)}, "force at t = 0.0 must be 3 numbers"),
    ({"force": ([0, 0], [(0, 0, 0), (1, 0, 0)])}, "times of its force must increase"),
    ({"force": ([0, 1], [(0, 0, 0)])}, "its force must have one row for each of the 2 times, got 1"),
]


@pytest.mark.parametrize(("given", "message"), REFUSED)
def test_what_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(SceneError, match=message):
        Scene().add(Sphere(0.1), mass=1, name="b", **given)


def test_a_function_is_not_written_to_a_file() -> None:
    scene = Scene()
    scene.add(Sphere(0.1), mass=1, name="b", force=lambda t: (t, 0, 0))
    with pytest.raises(SceneError, match="body 'b': its force is a Python function, which no file can hold"):
        scene.to_dict()


def test_a_file_says_what_a_force_is() -> None:
    entry = {"shape": {"type": "sphere", "radius": 0.1}, "mass": 1.0, "force": {"times": [0.0]}}
    with pytest.raises(SceneError, match=r"expected numbers, or \{times = "):
        Scene.from_dict({"bodies": [entry]})
