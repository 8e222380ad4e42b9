"""Two polygons: sides as axes of separation when they overlap, the distance of hulls when they do not."""

from __future__ import annotations

import numpy as np

from clapas.geometry.shapes import Polygon
from tests.unit.collision.narrow.pairs import TRIES, Pair
from tests.unit.collision.oracles import signed_distance

ONE = np.array([(0.5, -0.3), (0.45, 0.35), (-0.2, 0.5), (-0.55, -0.1), (-0.1, -0.5)])
TWO = np.array([(0.4, -0.25), (0.3, 0.3), (-0.4, 0.1)])


def placed(points: np.ndarray, x: np.ndarray, angle: float) -> np.ndarray:
    turn = np.array([(np.cos(angle), -np.sin(angle)), (np.sin(angle), np.cos(angle))])
    return points @ turn.T + x


def best_side(a: np.ndarray, b: np.ndarray) -> float:
    """Largest separation over the outward normals of the sides of both."""
    best = -np.inf
    for p, q in ((a, b), (b, a)):
        for side in np.roll(p, -1, axis=0) - p:
            n = np.array((side[1], -side[0])) / np.linalg.norm(side)
            best = max(best, (q @ n).min() - (p @ n).max())
    return float(best)


def test_gap() -> None:
    pair, rng = Pair(Polygon(ONE), Polygon(TWO)), np.random.default_rng(4)
    overlapping = near = 0
    for _ in range(3 * TRIES):
        x, angle = np.array([np.zeros(2), rng.uniform(-1.2, 1.2, 2)]), rng.uniform(-3, 3, (2, 1))
        a, b = placed(ONE, x[0], angle[0, 0]), placed(TWO, x[1], angle[1, 0])
        expected = best_side(a, b)
        if expected > 0:
            expected = signed_distance(a, b)
        found = pair.touch(x, angle, 0.2)
        assert (len(found) > 0) == (expected <= 0.2)
        if len(found):
            assert len(found) <= 3
            np.testing.assert_allclose(found.gap.min(), expected, atol=1e-9)
            np.testing.assert_allclose(np.linalg.norm(found.normal, axis=1), 1.0, atol=1e-13)
            overlapping, near = overlapping + (expected < 0), near + (expected > 0)
    assert overlapping > 10
    assert near > 5


def test_side_on_side_has_two_points_where_the_overlap_ends() -> None:
    square = Polygon([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    found = Pair(square, square).touch([(0, 0), (0.3, 0.99)])
    np.testing.assert_allclose(np.sort(found.point[:, 0]), (-0.2, 0.5), atol=1e-13)
    np.testing.assert_allclose(found.gap, -0.01, atol=1e-13)
    np.testing.assert_allclose(found.normal, [(0, 1), (0, 1)], atol=1e-13)
