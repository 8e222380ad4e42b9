"""Two capsules: the distance of their segments less their radii."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.collision.narrow.segments import Segments, gap_at, nearest
from clapas.geometry.shapes import Capsule
from tests.unit.collision.narrow.pairs import TRIES, Pair, in_world, segment_distance, turns


def ends(length: float, x: np.ndarray, q: np.ndarray) -> np.ndarray:
    return in_world(np.array([(0, 0, -length / 2), (0, 0, length / 2)]), x, q)


def test_nearest_points_of_segments() -> None:
    """Against ends and common perpendicular, also for points and parallel segments."""
    rng = np.random.default_rng(2)
    for trial in range(200):
        p, a, q, b = rng.normal(size=(4, 3))
        if trial % 4 == 1:
            b = q + rng.choice([-1, 1]) * rng.uniform(0.2, 2) * (a - p)
        if trial % 4 == 2:
            a = p
        if trial % 8 == 3:
            b = q
        both = Segments(*p, *(a - p), *q, *(b - q), 0.0, 0.0)
        s, t = nearest(both)
        assert 0 <= s <= 1
        assert 0 <= t <= 1
        assert gap_at(both, s, t) == pytest.approx(segment_distance(p, a, q, b), abs=1e-9)


def test_gap_and_normal() -> None:
    one, two = Capsule(0.1, 0.8), Capsule(0.15, 0.5)
    pair, rng = Pair(one, two), np.random.default_rng(3)
    touched = 0
    for _ in range(TRIES):
        x, q = np.array([np.zeros(3), rng.normal(size=3) * 0.3]), turns(rng)
        (p, a), (s, b) = ends(0.8, x[0], q[0]), ends(0.5, x[1], q[1])
        distance = segment_distance(p, a, s, b)
        found = pair.touch(x, q)
        assert (len(found) > 0) == (distance - 0.25 <= 0)
        if len(found):
            touched += 1
            np.testing.assert_allclose(found.gap.min(), distance - 0.25, atol=1e-6 * 0.25)
            np.testing.assert_allclose(np.linalg.norm(found.normal, axis=1), 1.0, atol=1e-13)
    assert touched > 10


def test_side_by_side_they_touch_at_both_ends_of_their_overlap() -> None:
    found = Pair(Capsule(0.1, 1.0), Capsule(0.1, 1.0)).touch([(0, 0, 0), (0.19, 0, 0.3)])
    np.testing.assert_allclose(np.sort(found.point[:, 2]), (-0.2, 0.5), atol=1e-13)
    np.testing.assert_allclose(found.gap, -0.01, atol=1e-13)
    np.testing.assert_allclose(found.normal, np.tile((1.0, 0, 0), (2, 1)), atol=1e-13)
