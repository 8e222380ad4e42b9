"""Two boxes: fifteen axes of separation when they overlap, the distance of hulls when they do not.

Together these are the kernels of ``solids``, ``axes``, ``choices``, ``gjk`` and ``manifold``.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from clapas.geometry.shapes import Box
from tests.unit.collision.narrow.pairs import TRIES, Pair, cube, in_world, turns
from tests.unit.collision.oracles import signed_distance

ONE, TWO = np.array((0.5, 0.4, 0.3)), np.array((0.35, 0.2, 0.45))


def best_axis(a: np.ndarray, b: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Largest separation over the normals of the faces and the cross products of the edges, by corners."""
    axes = [*x, *y, *(np.cross(u, v) for u in x for v in y)]
    best = (-np.inf, np.zeros(3))
    for axis in axes:
        if np.linalg.norm(axis) < 1e-9:
            continue
        for n in (axis / np.linalg.norm(axis), -axis / np.linalg.norm(axis)):
            best = max(best, (float((b @ n).min() - (a @ n).max()), n), key=lambda found: found[0])
    return best


def placed(rng: np.random.Generator, spread: float) -> tuple[np.ndarray, ...]:
    x, q = np.array([np.zeros(3), rng.normal(size=3) * spread]), turns(rng)
    corners = in_world(cube(ONE), x[0], q[0]), in_world(cube(TWO), x[1], q[1])
    axes = in_world(np.eye(3), np.zeros(3), q[0]), in_world(np.eye(3), np.zeros(3), q[1])
    return x, q, *corners, *axes


def test_overlapping_boxes_have_the_least_depth() -> None:
    pair, rng, overlapping = Pair(Box(tuple(2 * ONE)), Box(tuple(2 * TWO))), np.random.default_rng(1), 0
    for _ in range(TRIES):
        x, q, a, b, u, v = placed(rng, 0.4)
        separation, n = best_axis(a, b, u, v)
        found = pair.touch(x, q)
        assert (len(found) > 0) == (separation <= 0)
        if len(found):
            overlapping += 1
            np.testing.assert_allclose(found.gap.min(), separation, atol=1e-12)
            np.testing.assert_allclose(found.normal, np.tile(n, (len(found), 1)), atol=1e-9)
            # Each point is between the two surfaces along the normal.
            assert np.all(found.point @ n <= (a @ n).max() + 1e-9)
            assert np.all(found.point @ n >= (b @ n).min() - 1e-9)
    assert overlapping > 10


def test_boxes_apart_have_the_distance_of_their_hulls() -> None:
    pair, rng, near = Pair(Box(tuple(2 * ONE)), Box(tuple(2 * TWO))), np.random.default_rng(2), 0
    for _ in range(TRIES):
        x, q, a, b, *_ = placed(rng, 0.8)
        distance = signed_distance(a, b)
        found = pair.touch(x, q, 0.3)
        assert (len(found) > 0) == (distance <= 0.3)
        if 0 < distance <= 0.3:
            near += 1
            np.testing.assert_allclose(found.gap.min(), distance, atol=1e-9)
    assert near > 5


@pytest.mark.parametrize("angle", [0.0, 0.3, np.pi / 4])
def test_faces_touch_in_the_polygon_they_share(angle: float) -> None:
    """Corners of the intersection of two squares, by cutting one with the half-planes of the other."""
    half = angle / 2
    q = np.array([(1.0, 0, 0, 0), (np.cos(half), 0, 0, np.sin(half))])
    found = Pair(Box((1, 1, 1)), Box((1, 1, 1))).touch([(0, 0, 0), (0.3, 0.1, 0.99)], q)
    np.testing.assert_allclose(found.gap, -0.01, atol=1e-12)
    square = np.array([(0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5), (0.5, -0.5)])
    turn = np.array([(np.cos(angle), -np.sin(angle)), (np.sin(angle), np.cos(angle))])
    expected = clipped(square @ turn.T + (0.3, 0.1), 0.5)
    assert len(found) == len(expected)
    for corner in expected:
        assert np.linalg.norm(found.point[:, :2] - corner, axis=1).min() < 1e-9


def clipped(polygon: np.ndarray, half: float) -> np.ndarray:
    """A polygon cut by the square |x|, |y| ≤ half (Sutherland and Hodgman)."""
    for axis in (0, 1):
        for sign in (1.0, -1.0):
            depth = half - sign * polygon[:, axis]
            kept = []
            for k in range(len(polygon)):
                p, q, h, g = polygon[k - 1], polygon[k], depth[k - 1], depth[k]
                if (h < 0) != (g < 0):
                    kept.append(p + h / (h - g) * (q - p))
                if g >= 0:
                    kept.append(q)
            polygon = np.array(kept)
    return polygon


@pytest.mark.parametrize("tilt", [0.0, 1e-13, 1e-10, 1e-7, 1e-4, 0.3])
def test_the_search_ends_early_only_at_the_distance_or_the_depth(tilt: float) -> None:
    """Boxes that nearly touch, face on face, corner on face, edge across edge.

    Where points of two faces are as far apart as an axis says no other is tried, and none must be better.
    """
    pair, rng, found = Pair(Box(tuple(2 * ONE)), Box(tuple(2 * TWO))), np.random.default_rng(7), 0
    for gap in (-1e-6, -1e-9, -1e-12, 0.0, 1e-12, 1e-9, 1e-6):
        for _ in range(10):
            q = turns(rng)
            q[1] = q[0] + tilt * rng.normal(size=4)
            q /= np.linalg.norm(q, axis=1)[:, None]
            n = in_world(np.eye(3), np.zeros(3), q[rng.integers(2)])[rng.integers(3)]
            a, b = in_world(cube(ONE), np.zeros(3), q[0]), in_world(cube(TWO), np.zeros(3), q[1])
            aside = 0.3 * rng.normal(size=3)
            x = (a @ n).max() - (b @ n).min() + gap
            x = np.array([np.zeros(3), x * n + aside - (aside @ n) * n])
            axes = (in_world(np.eye(3), np.zeros(3), turn) for turn in q)
            separation, _ = best_axis(a, b + x[1], *axes)
            contacts = pair.touch(x, q, 1e-5)
            if len(contacts):
                found += 1
                expected = signed_distance(a, b + x[1]) if separation > 1e-8 else separation
                np.testing.assert_allclose(contacts.gap.min(), expected, atol=1e-9)
    assert found > 20


@pytest.mark.parametrize(("low", "left", "sense"), list(product((-1.0, 1.0), repeat=3)))
@pytest.mark.parametrize("axis", range(3))
def test_corners_stay_where_nearly_parallel_sides_cross_near_them(
    low: float, left: float, sense: float, axis: int
) -> None:
    """Two bricks end to end, one turned by 1e-9, whose lower sides cross near a corner.

    Where they cross travels with the last bits of the turn; the contact is at the corner all the same.
    """
    turn, away = sense * 1e-9, 7e-6
    across = np.eye(3)[[axis, (axis + 1) % 3, (axis + 2) % 3]].T
    size = Box(tuple(np.abs(across @ (0.2, 0.1, 0.1))))
    q = np.array([(1.0, 0, 0, 0), (1.0, *(0.5 * turn * across[:, 0]))])
    for aside in (-3e-14, 3e-14):
        beside = across @ (0.2, aside, -turn * low * left * (0.05 - away))
        found = Pair(size, size).touch([np.zeros(3), beside], q, 1e-9)
        corners = np.array(list(product((-0.05, 0.05), repeat=2)))
        places = (found.point @ across)[:, 1:]
        assert len(found) == 4
        assert np.linalg.norm(places[:, None] - corners, axis=2).min(axis=1).max() < 1e-9
