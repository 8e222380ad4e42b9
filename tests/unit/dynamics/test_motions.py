"""Imposed motions: values in time, plain data, every refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from clapas.dynamics.motions import (
    ConstantVelocity,
    FunctionMotion,
    InBodyFrame,
    Motion,
    Oscillation,
    Rotation,
    Table,
    as_motion,
)
from clapas.errors import SceneError
from clapas.geometry import rotations


def still(t: float) -> tuple[tuple[float, ...], float]:
    return (0.0, 0.0), 0.0


MOTIONS: list[tuple[Motion, dict[str, Any]]] = [
    (ConstantVelocity((1, 2, 3)), {"type": "constant-velocity", "velocity": [1.0, 2.0, 3.0]}),
    (
        ConstantVelocity((1, 2), 0.5),
        {"type": "constant-velocity", "velocity": [1.0, 2.0], "angular_velocity": [0.5]},
    ),
    (
        Oscillation(0.1, 2, (0, 3)),
        {"type": "oscillation", "amplitude": 0.1, "frequency": 2.0, "direction": [0.0, 1.0]},
    ),
    (Rotation((0, 2, 0), 3), {"type": "rotation", "axis": [0.0, 1.0, 0.0], "rate": 3.0}),
    (Rotation(None, 3), {"type": "rotation", "rate": 3.0}),
    (
        Table([0, 1], [(0, 0), (1, 1)], [0, 2]),
        {
            "type": "table",
            "times": [0.0, 1.0],
            "velocities": [[0.0, 0.0], [1.0, 1.0]],
            "angular_velocities": [[0.0], [2.0]],
        },
    ),
]


@pytest.mark.parametrize(("motion", "entries"), MOTIONS, ids=[m.word for m, _ in MOTIONS])
def test_plain_data_and_sizes(motion: Motion, entries: dict[str, Any]) -> None:
    assert motion.to_dict() == entries
    velocity, spin = motion(0.3)
    assert velocity.shape == (motion.d,)
    assert spin.shape == ((3,) if motion.d == 3 else (1,))


def test_oscillation_is_the_derivative_of_its_displacement() -> None:
    motion = Oscillation(0.02, 5.0, (0, 0, 2), phase=0.7)
    moved = quad(lambda t: motion(t)[0][2], 0.0, 0.37)[0]
    expected = 0.02 * (np.sin(2 * np.pi * 5 * 0.37 + 0.7) - np.sin(0.7))
    assert moved == pytest.approx(expected, abs=1e-9)
    assert motion(0.1)[1].tolist() == [0.0, 0.0, 0.0]


def test_table_is_linear_between_and_constant_outside() -> None:
    table = Table([1, 2, 4], [(0, 0, 0), (2, 0, 0), (2, 4, 0)], [(0, 0, 0), (0, 0, 1), (0, 0, 3)])
    for time, velocity, spin in [(0, 0, 0), (1.5, 1, 0.5), (3, 2, 2), (9, 2, 3)]:
        assert table(time)[0][0] == pytest.approx(velocity)
        assert table(time)[1][2] == pytest.approx(spin)
    assert table(3)[0][1] == pytest.approx(2.0)
    assert Table([0], [(1, 0, 0)])(5.0)[0].tolist() == [1.0, 0.0, 0.0]
    assert table == Table(table.times, table.velocities, table.angular_velocities)
    assert len({table, Table([0], [(1, 0, 0)])}) == 2


def test_functions_are_checked_and_kept_out_of_files() -> None:
    motion = as_motion("body 'sieve'", lambda t: ((t, 0, 0), (0, 0, 2 * t)), 3)
    assert isinstance(motion, FunctionMotion)
    velocity, spin = motion(2.0)
    assert velocity.tolist() == [2.0, 0.0, 0.0]
    assert spin.tolist() == [0.0, 0.0, 4.0]
    with pytest.raises(SceneError, match="body 'sieve': its motion is a Python function, which no file can"):
        motion.to_dict()


def test_what_people_give_becomes_a_motion() -> None:
    assert as_motion("x", None, 3) is None
    assert as_motion("x", ([0, 1], [(0, 0), (1, 0)]), 2) == Table([0, 1], [(0, 0), (1, 0)])
    assert as_motion("x", still, 2) is not None


def test_angular_velocity_in_the_body_frame_follows_a_fixed_axis() -> None:
    start = rotations.from_axis_angle((1, 0, 0), 0.8)
    motion = InBodyFrame(Rotation((0, 0, 1), 2.0), tuple(start))
    q, dt = start, 1e-3
    for k in range(500):
        q = rotations.integrate(q, motion(k * dt)[1], dt)
    expected = rotations.product(rotations.from_axis_angle((0, 0, 1), 2.0 * 0.5), start)
    np.testing.assert_allclose(q, expected, atol=1e-12)
    assert InBodyFrame(Rotation(None, 2.0), (0.3,))(0.0)[1].tolist() == [2.0]


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: ConstantVelocity((1, 2, 3, 4)), "constant-velocity: velocity must be 2 or 3 numbers"),
    (lambda: ConstantVelocity((1, np.nan)), "constant-velocity: velocity must be finite"),
    (
        lambda: ConstantVelocity((1, 2, 3), (1, 2)),
        "constant-velocity: angular velocity must be 3 numbers, got 2",
    ),
    (lambda: Oscillation(-1, 1, (0, 1)), "oscillation: amplitude must be at least 0, got -1.0"),
    (lambda: Oscillation(1, 0, (0, 1)), "oscillation: frequency must be positive, got 0.0"),
    (lambda: Oscillation(1, 1, (0, 0)), "oscillation: direction must not be zero"),
    (lambda: Oscillation(1, 1, (0, 1), np.inf), "oscillation: phase must be finite, got inf"),
    (lambda: Rotation((0, 0, 0), 1), "rotation: axis must not be zero"),
    (lambda: Rotation((0, 0, 1), np.nan), "rotation: rate must be finite, got nan"),
    (lambda: Table([0, 0], [(0, 0), (1, 1)]), "table: times must increase, got [0.0, 0.0]"),
    (lambda: Table([], []), "table: times must increase, got []"),
    (lambda: Table([0, 1], [(0, 0)]), "table: velocities must have one row for each of the 2 times, got 1"),
    (lambda: Table([0], [0.0]), "table: velocities must have shape (n, 3), got (1,)"),
    (
        lambda: as_motion("body 1", 3.0, 3),
        "body 1: motion must be ConstantVelocity, Oscillation, Rotation, Table",
    ),
    (lambda: as_motion("body 1", Rotation(None, 1), 3), "body 1: its motion is in 2-D, the scene in 3-D"),
    (
        lambda: as_motion("body 1", Rotation((0, 0, 1), 1), 2),
        "body 1: its motion is in 3-D, the scene in 2-D; give velocities and directions 2 numbers, a",
    ),
    (
        lambda: as_motion("body 1", lambda t: (0, 0, 0), 3),
        "body 1: its motion must return (velocity, angular velocity), got (0, 0, 0) at t = 0.0",
    ),
    (lambda: as_motion("body 1", still, 3), "body 1: velocity at t = 0.0 must be 3 numbers, got 2"),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=[m[:60] for _, m in BAD])
def test_refusals(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(SceneError) as caught:
        make()
    assert str(caught.value).startswith(message)


def test_an_oscillation_too_fast_for_a_phase_is_refused_in_words() -> None:
    with pytest.raises(SceneError, match=r"1e\+308 Hz has no phase at t = 1000 s"):
        Oscillation(1e-3, 1e308, (0, 0, 1))(1000.0)
