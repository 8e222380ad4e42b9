"""A plane and a body: heights of its points, gap = n·(x − o) − r."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.geometry.shapes import Box, Capsule, Plane, Polyhedron, Sphere
from tests.unit.collision.narrow.pairs import TRIES, Pair, cube, in_world, turns

NORMAL, OFFSET = np.array((1.0, -2.0, 2.0)) / 3.0, 0.3
HALF = np.array((0.3, 0.2, 0.5))
RIM = 20


def prism() -> np.ndarray:
    angle = 2 * np.pi * np.arange(RIM) / RIM
    rim = np.column_stack((0.4 * np.cos(angle), 0.4 * np.sin(angle)))
    return np.concatenate([np.column_stack((rim, np.full(RIM, z))) for z in (-0.2, 0.2)])


BODIES = {
    "sphere": (Sphere(0.4), np.zeros((1, 3)), 0.4),
    "capsule": (Capsule(0.2, 0.6), np.array([(0, 0, -0.3), (0, 0, 0.3)]), 0.2),
    "box": (Box(tuple(2 * HALF)), cube(HALF), 0.0),
}


@pytest.mark.parametrize("plane_first", [True, False])
@pytest.mark.parametrize("name", BODIES)
def test_every_low_point_touches(name: str, plane_first: bool) -> None:
    shape, points, r = BODIES[name]
    plane = Plane(tuple(NORMAL), OFFSET)
    pair = Pair(plane, shape) if plane_first else Pair(shape, plane)
    k = 1 if plane_first else 0
    rng, counts = np.random.default_rng(3), set()
    for _ in range(TRIES):
        x, q = np.zeros((2, 3)), np.tile((1.0, 0.0, 0.0, 0.0), (2, 1))
        x[k], q[k] = NORMAL * rng.uniform(0.1, 1.0) + rng.normal(size=3) * 0.2, turns(rng, 1)[0]
        corners = in_world(points, x[k], q[k])
        gap = corners @ NORMAL - OFFSET - r
        low = gap <= 0.05
        found = pair.touch(x, q, 0.05)
        order, expected = np.argsort(found.gap), np.argsort(gap[low])
        np.testing.assert_allclose(found.gap[order], gap[low][expected], atol=1e-13)
        sign = 1.0 if plane_first else -1.0
        np.testing.assert_allclose(found.normal, np.tile(sign * NORMAL, (low.sum(), 1)), atol=1e-14)
        half_way = corners[low] - (r + gap[low, None] / 2) * NORMAL
        np.testing.assert_allclose(found.point[order], half_way[expected], atol=1e-13)
        counts.add(len(found))
    assert counts >= {0, 1}


def test_of_many_low_corners_the_extreme_ones_and_the_deepest_are_kept() -> None:
    points = prism()
    pair = Pair(Plane(), Polyhedron(points))
    rng = np.random.default_rng(5)
    for _ in range(TRIES):
        q = np.array([(1.0, 0.0, 0.0, 0.0), (1.0, *rng.normal(size=3) * 0.02)])
        q[1] /= np.linalg.norm(q[1])
        x = np.array([(0, 0, 0), (*rng.normal(size=2), 0.15)])
        found = pair.touch(x, q)
        heights = in_world(points, x[1], q[1])[:, 2]
        assert (heights <= 0).sum() > 8
        assert 5 <= len(found) <= 8
        assert found.gap.min() == pytest.approx(heights.min(), abs=1e-13)
        assert np.all(np.abs(found.gap[:, None] - heights).min(axis=1) < 1e-13)
        spread = np.ptp(found.point[:, :2], axis=0)
        assert np.all(spread > 0.7)  # of 0.8


@pytest.mark.parametrize("height", [0.5, 0.5 + 1e-12])
def test_a_box_that_just_touches(height: float) -> None:
    found = Pair(Plane(), Box((1, 1, 1))).touch([(0, 0, 0), (0, 0, height)])
    assert len(found) == (4 if height == 0.5 else 0)
