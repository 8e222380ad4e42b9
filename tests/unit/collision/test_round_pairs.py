"""Cylinders against cylinders and capsules: normals to rounding, points along lines."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.geometry import rotations
from clapas.geometry.shapes import Capsule, Cylinder, Shape
from clapas.typing import Array
from tests.unit.collision.oracles import deepest, random_quaternion, support, two_bodies

CYLINDER = Cylinder(0.1, 0.3)
OTHERS: dict[str, Shape] = {"cylinder": CYLINDER, "capsule": Capsule(0.06, 0.2), "coin": Cylinder(0.1, 0.02)}
RADII = {"cylinder": 0.1, "capsule": 0.06, "coin": 0.1}
HALVES = {"cylinder": 0.15, "capsule": 0.1, "coin": 0.01}
HERE = (1.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("other", ["cylinder", "capsule"])
@pytest.mark.parametrize("gap", [-1e-3, -1e-10])
@pytest.mark.parametrize("angle", [0.0, 0.3, np.pi / 3, 2.0])
def test_side_by_side_they_touch_at_both_ends_of_a_line(other: str, gap: float, angle: float) -> None:
    across = np.array([np.cos(angle), np.sin(angle), 0.0])
    detector = two_bodies(CYLINDER, OTHERS[other])
    found = detector.detect([(0, 0, 0), (0.1 + RADII[other] + gap) * across], [HERE, HERE], 0.0)
    assert len(found) == 2
    np.testing.assert_allclose(found.normal, np.tile(across, (2, 1)), atol=1e-15)
    np.testing.assert_allclose(found.gap, gap, atol=1e-15)
    np.testing.assert_allclose(np.sort(found.point[:, 2]), (-HALVES[other], HALVES[other]), atol=1e-12)


@pytest.mark.parametrize("other", ["cylinder", "capsule"])
def test_crossed_they_touch_where_their_axes_are_nearest(other: str) -> None:
    turn = rotations.from_axis_angle((1, 0, 0), 0.7)
    found = two_bodies(CYLINDER, OTHERS[other]).detect(
        [(0, 0, 0), (0.1 + RADII[other] - 1e-4, 0.01, 0.02)], [HERE, turn], 0.0
    )
    assert len(found) == 1
    np.testing.assert_allclose(found.normal, [(1, 0, 0)], atol=1e-15)
    np.testing.assert_allclose(found.gap, -1e-4, atol=1e-15)


def separation(other: Shape, x: Array, q: tuple[Array, Array], n: Array) -> Array:
    n = n / np.linalg.norm(n, axis=1)[:, None]
    return -support(other, x, q[1], -n) - support(CYLINDER, np.zeros(3), q[0], n)


@pytest.mark.parametrize("other", OTHERS)
def test_no_direction_nearby_separates_more(other: str) -> None:
    """At random places, 1 mm deep: rims, sides, caps. An error ε of the normal shows as some r ε²."""
    rng, detector = np.random.default_rng(0), two_bodies(CYLINDER, OTHERS[other])
    for _ in range(25):
        q, away = (random_quaternion(rng), random_quaternion(rng)), rng.normal(size=3)
        away /= np.linalg.norm(away)
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = 0.5 * (low + high)
            found = detector.detect([(0, 0, 0), middle * away], q, 0.0)
            deep = len(found) > 0 and found.gap.min() < -1e-3
            low, high = (middle, high) if deep else (low, middle)
        found = detector.detect([(0, 0, 0), low * away], q, 0.0)
        n = found.normal[deepest(found)]
        tries = n + rng.normal(size=(400, 3)) * np.repeat((1e-4, 1e-6), 200)[:, None]
        own = separation(OTHERS[other], low * away, q, n[None])[0]
        assert separation(OTHERS[other], low * away, q, tries).max() <= own + 1e-13
        assert found.gap.min() == pytest.approx(own, abs=1e-8)
