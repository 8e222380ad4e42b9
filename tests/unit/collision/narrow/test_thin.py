"""A capsule and a box: the distance of a segment to the box, less the radius."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from clapas.geometry.shapes import Box, Capsule
from tests.unit.collision.narrow.pairs import TRIES, Pair, in_frame, in_world, turns

HALF = np.array((0.5, 0.3, 0.4))
R, LENGTH = 0.15, 0.7


def segment_to_box(p: np.ndarray, q: np.ndarray) -> float:
    """Smallest distance of p + s (q − p), 0 ≤ s ≤ 1, to |x| ≤ HALF: convex in s."""

    def distance(s: float) -> float:
        x = p + s * (q - p)
        return float(np.linalg.norm(x - np.clip(x, -HALF, HALF)))

    inside = minimize_scalar(distance, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-10})
    return min(distance(0.0), distance(1.0), float(inside.fun))


def test_gap_of_capsules_outside_the_box() -> None:
    pair, rng, touched = Pair(Box(tuple(2 * HALF)), Capsule(R, LENGTH)), np.random.default_rng(6), 0
    for _ in range(2 * TRIES):
        x, q = np.array([np.zeros(3), rng.normal(size=3) * 0.6]), turns(rng)
        ends = in_world(np.array([(0, 0, -LENGTH / 2), (0, 0, LENGTH / 2)]), x[1], q[1])
        p, s = (in_frame(end, x[0], q[0]) for end in ends)
        distance = segment_to_box(p, s)
        found = pair.touch(x, q)
        assert (len(found) > 0) == (distance <= R)
        if len(found) and distance > 1e-6:
            touched += 1
            np.testing.assert_allclose(found.gap.min(), distance - R, atol=1e-6)
            np.testing.assert_allclose(np.linalg.norm(found.normal, axis=1), 1.0, atol=1e-12)
    assert touched > 10


def test_a_capsule_lying_on_a_box_has_two_points() -> None:
    lying = np.array([(1.0, 0, 0, 0), (np.sqrt(0.5), 0, np.sqrt(0.5), 0)])
    found = Pair(Box((2, 2, 2)), Capsule(R, LENGTH)).touch([(0, 0, 0), (0.2, 0.1, 1 + R - 0.01)], lying)
    assert len(found) == 2
    np.testing.assert_allclose(found.gap, -0.01, atol=1e-12)
    np.testing.assert_allclose(np.sort(found.point[:, 0]), (0.2 - LENGTH / 2, 0.2 + LENGTH / 2), atol=1e-9)
    np.testing.assert_allclose(found.normal, [(0, 0, 1)] * 2, atol=1e-12)
