"""A sphere and a solid: the nearest point of a box, capsule or cylinder in its own frame."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from clapas.geometry import rotations
from clapas.geometry.shapes import Box, Capsule, Cylinder, Shape, Sphere
from tests.unit.collision.narrow.pairs import TRIES, Pair, in_frame, nearest_on_segment, turns

HALF = np.array((0.5, 0.3, 0.4))
R, H = 0.35, 0.45


def to_box(x: np.ndarray) -> tuple[float, np.ndarray]:
    """Signed distance of a point to the box, and the direction out of it."""
    nearest = np.clip(x, -HALF, HALF)
    if np.any(nearest != x):
        away = x - nearest
        return float(np.linalg.norm(away)), away / np.linalg.norm(away)
    depth = np.abs(x) - HALF
    k = int(np.argmax(depth))
    return float(depth[k]), np.sign(x[k]) * np.eye(3)[k]


def to_capsule(x: np.ndarray) -> tuple[float, np.ndarray]:
    away = x - nearest_on_segment(x, np.array((0, 0, -0.4)), np.array((0, 0, 0.4)))
    size = np.linalg.norm(away)
    return float(size) - 0.2, away / size


def to_cylinder(x: np.ndarray) -> tuple[float, np.ndarray]:
    """In the plane of the axis and x the cylinder is a rectangle."""
    rho = np.hypot(x[0], x[1])
    out, up = np.array((x[0], x[1], 0.0)) / rho, np.array((0.0, 0.0, np.sign(x[2])))
    side, cap = rho - R, abs(x[2]) - H
    if max(side, cap) > 0:
        away = max(side, 0.0) * out + max(cap, 0.0) * up
        return float(np.linalg.norm(away)), away / np.linalg.norm(away)
    return (side, out) if side > cap else (cap, up)


SOLIDS: dict[str, tuple[Shape, Callable[[np.ndarray], tuple[float, np.ndarray]]]] = {
    "box": (Box(tuple(2 * HALF)), to_box),
    "capsule": (Capsule(0.2, 0.8), to_capsule),
    "cylinder": (Cylinder(R, 2 * H), to_cylinder),
}


@pytest.mark.parametrize("solid_first", [True, False])
@pytest.mark.parametrize("name", SOLIDS)
def test_nearest_point(name: str, solid_first: bool) -> None:
    shape, distance_to = SOLIDS[name]
    r = 0.25
    pair = Pair(shape, Sphere(r)) if solid_first else Pair(Sphere(r), shape)
    solid, ball = (0, 1) if solid_first else (1, 0)
    rng, inside, outside = np.random.default_rng(8), 0, 0
    for _ in range(2 * TRIES):
        x, q = rng.uniform(-0.5, 0.5, (2, 3)), turns(rng)
        distance, away = distance_to(in_frame(x[ball], x[solid], q[solid]))
        found = pair.touch(x, q)
        assert len(found) == (distance - r <= 0)
        if len(found):
            n = rotations.rotate(q[solid], away)
            sign = 1.0 if solid_first else -1.0
            np.testing.assert_allclose(found.gap, [distance - r], atol=1e-12)
            np.testing.assert_allclose(found.normal, [sign * n], atol=1e-9)
            half_way = x[ball] - (r + 0.5 * (distance - r)) * n
            np.testing.assert_allclose(found.point, [half_way], atol=1e-9)
            inside, outside = inside + (distance < 0), outside + (distance > 0)
    assert inside > 3
    assert outside > 3
