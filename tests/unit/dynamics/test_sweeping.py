"""The sweeping process: lazy, rate independent, nonexpansive (Moreau 2003, section 2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clapas.dynamics.sweeping import (
    catching_up,
    catching_up_inequalities,
    catching_up_levels,
    explicit_sweeping,
)
from clapas.errors import ProblemError


@dataclass
class Ball:
    """A disc of radius 1."""

    centre: np.ndarray

    def project(self, x: np.ndarray) -> np.ndarray:
        offset = x - self.centre
        return self.centre + offset / np.maximum(1.0, np.linalg.norm(offset, axis=1))[:, None]


def sliding_ball(t: float) -> Ball:
    return Ball(np.array([t, np.sin(t)]))


def level(t: float, x: np.ndarray) -> float:
    return float(np.sum((x - sliding_ball(t).centre) ** 2) - 1.0)


def level_gradient(t: float, x: np.ndarray) -> np.ndarray:
    return np.asarray(2.0 * (x - sliding_ball(t).centre))


def level_rate(t: float, x: np.ndarray) -> float:
    return float(-2.0 * (x - sliding_ball(t).centre) @ np.array([1.0, np.cos(t)]))


TIMES = np.linspace(0.0, 3.0, 3001)
START = np.array([0.3, 0.5])


def test_it_rests_until_it_is_pushed() -> None:
    path = catching_up(sliding_ball, START, TIMES)
    inside = np.array([level(t, START) < 0 for t in TIMES])
    first = int(np.argmin(inside))
    assert first > 100
    np.testing.assert_allclose(path[:first], np.tile(START, (first, 1)), atol=1e-13)
    assert np.abs(path[-1] - START).max() > 1.0
    assert max(level(t, q) for t, q in zip(TIMES, path, strict=True)) < 1e-12


def test_the_tractrix() -> None:
    """A disc dragged along a line pulls the point along a tractrix: x(t) known in closed form."""
    y_0 = 0.6
    times = np.linspace(0.0, 4.0, 40_001)
    path = catching_up(lambda t: Ball(np.array([t + np.sqrt(1 - y_0**2), 0.0])), [0.0, y_0], times)
    y = path[-1, 1]
    # On a tractrix of length 1 the leader is at s = artanh(sqrt(1 − y²)) along the line.
    leader = np.arctanh(np.sqrt(1 - y**2)) - np.arctanh(np.sqrt(1 - y_0**2))
    assert leader == pytest.approx(4.0, abs=1e-3)


def test_rate_independence() -> None:
    """Any monotone re-timing gives the same path."""
    slow = catching_up(sliding_ball, START, TIMES)
    fast = catching_up(lambda t: sliding_ball(t**3), START, TIMES ** (1 / 3))
    np.testing.assert_allclose(fast, slow, atol=1e-12)


@given(st.integers(0, 1000))
def test_two_points_never_move_apart(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = (catching_up(sliding_ball, rng.normal(size=2), TIMES[::50]) for _ in range(2))
    apart = np.linalg.norm(first - second, axis=1)
    assert (np.diff(apart) <= 1e-12).all()


def test_implicit_steps_on_level_sets_are_projections() -> None:
    levels = catching_up_levels(level, level_gradient, START, TIMES)
    np.testing.assert_allclose(levels, catching_up(sliding_ball, START, TIMES), atol=1e-12)


def test_explicit_steps_converge_to_first_order() -> None:
    exact = catching_up(sliding_ball, START, np.linspace(0.0, 3.0, 200_001))[-1]
    scaled = []
    for n in (500, 1000, 2000, 4000, 8000):
        path = explicit_sweeping(level, level_gradient, level_rate, START, np.linspace(0, 3, n + 1))
        scaled.append(n * np.abs(path[-1] - exact).max())
    # The error times n stays bounded (it varies with where the first contact falls in a step).
    assert max(scaled) < 5.0
    assert scaled[-1] / 8000 < 0.2 * scaled[0] / 500


def test_bad_times() -> None:
    with pytest.raises(ProblemError, match="times must be finite and increasing"):
        catching_up(sliding_ball, START, [0.0, 1.0, 0.5])


def test_no_normal() -> None:
    with pytest.raises(ProblemError, match="the gradient vanishes"):
        catching_up_levels(lambda t, x: 1.0, lambda t, x: np.zeros(2), START, [0.0])


def test_steps_too_long() -> None:
    with pytest.raises(ProblemError, match="no projection found"):
        catching_up_levels(
            lambda t, x: float(1 + x[0] ** 2), lambda t, x: np.array([2 * x[0] + 1e-3, 0.0]), START, [0.0]
        )


# ---------------------------------------------------------------- several inequalities


def test_one_inequality_is_the_level_function() -> None:
    times = np.linspace(0.0, 3.0, 200)
    several = catching_up_inequalities(
        lambda t, x: np.array([level(t, x)]), lambda t, x: level_gradient(t, x)[None], [0.2, 0.1], times
    )
    np.testing.assert_allclose(
        several, catching_up_levels(level, level_gradient, [0.2, 0.1], times), atol=1e-9
    )


def test_a_corner_pushes_along_both_walls() -> None:
    """A wedge x ≥ t, y ≥ t: the point is carried by its corner."""
    path = catching_up_inequalities(
        lambda t, x: t - x, lambda t, x: -np.eye(2), [0.0, 0.5], np.linspace(0.0, 2.0, 21)
    )
    np.testing.assert_allclose(path[-1], [2.0, 2.0])
    np.testing.assert_allclose(path[3], [0.3, 0.5], atol=1e-12)  # only the first wall has come so far


def test_an_empty_set_is_refused() -> None:
    with pytest.raises(ProblemError, match=r"the set at t = 1\.0 is empty"):
        catching_up_inequalities(
            lambda t, x: np.array([t - x[0], x[0] - 0.5 * t]),
            lambda t, x: np.array([[-1.0], [1.0]]),
            [0.0],
            [0, 1],
        )


def test_viability_a_prospective_velocity_keeps_the_point_inside() -> None:
    """Viability lemma (Moreau 2003, 2.1): f(t, q) ≥ 0 ⇒ d f/dt ≤ 0 along the motion keeps f ≤ 0 for ever.

    The velocity of the explicit step is such a one; started inside, the violation stays of the order of a
    step.
    """
    for count in (200, 2000):
        times = np.linspace(0.0, 3.0, count)
        path = explicit_sweeping(level, level_gradient, level_rate, [0.0, 0.0], times)
        worst = max(level(t, x) for t, x in zip(times, path, strict=True))
        assert worst <= 20.0 * (times[1] - times[0])
    caught = catching_up_levels(level, level_gradient, [0.0, 0.0], times)
    assert max(level(t, x) for t, x in zip(times, caught, strict=True)) <= 1e-12


def test_hydraulic_picture() -> None:
    """Moreau 2003, 2.6: with Φ(t) = {z ≤ −t} ∩ cavity, water runs down the wall by its steepest line.

    In a vertical channel beside a slope the thread follows the wall while it leans under it, and falls
    freely, leaving the wall, where that overhangs. Here the wall is the graph x = −z up to z = −1 (leaning
    under the water) and x = −2 − z below (overhanging): water must stay at x ≥ wall(z).
    """

    def cavity(t: float, x: np.ndarray) -> np.ndarray:
        wall = -x[1] if x[1] > -1.0 else 2.0 + x[1]
        return np.array([x[1] + t, wall - x[0]])

    def slopes(t: float, x: np.ndarray) -> np.ndarray:
        return np.array([[0.0, 1.0], [-1.0, -1.0 if x[1] > -1.0 else 1.0]])

    path = catching_up_inequalities(cavity, slopes, [0.0, 0.0], np.linspace(0.0, 1.8, 181))
    along = path[path[:, 1] > -0.99]
    np.testing.assert_allclose(along[:, 0], -along[:, 1], atol=1e-9)  # on the wall
    falling = path[path[:, 1] < -1.01]
    np.testing.assert_allclose(falling[:, 0], falling[0, 0], atol=1e-9)  # straight down
    assert falling[-1, 0] > 2.0 + falling[-1, 1] + 0.5  # clear of the overhanging wall
