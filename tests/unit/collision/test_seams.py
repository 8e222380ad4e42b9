"""Flat faces that lie across sharp edges of meshes, and on flat meshes whose corners are rounded to 32 bits.

The references are computed without the kernels: separations of a box, by support functions over all the
directions that can be best, and the height of a shape over the plane that was rounded.
"""

from __future__ import annotations

import numpy as np
import pytest

from clapas.geometry import rotations
from clapas.geometry.shapes import Box, Capsule, Cylinder, Shape, Sphere, TriangleMesh
from clapas.typing import Array
from tests.unit.collision.oracles import random_quaternion, support, two_bodies
from tests.unit.collision.test_meshes import FACES, HERE, slab_corners

SHAPES: dict[str, Shape] = {
    "box": Box((0.2, 0.2, 0.2)),
    "cylinder": Cylinder(0.1, 0.2),
    "capsule": Capsule(0.06, 0.2),
    "sphere": Sphere(0.1),
}
DOWN = np.array([(0.0, 0.0, -1.0)])


def cells(n: int, first: int) -> list[tuple[int, int, int]]:
    """Triangles of a square of n × n cells whose (n + 1)² corners start at a number."""
    rows = [first + i * (n + 1) + j for i in range(n) for j in range(n)]
    return [t for p in rows for t in ((p, p + n + 1, p + n + 2), (p, p + n + 2, p + 1))]


def fine_slab(n: int) -> TriangleMesh:
    """The slab of 2 m × 2 m × 1 m under z = 0, each of its faces cut into n × n cells."""
    corners, triangles, across = slab_corners(), [], np.linspace(0.0, 1.0, n + 1)
    places: list[Array] = []
    for a, b, _, d in FACES:
        triangles += cells(n, len(places))
        u, v = corners[b] - corners[a], corners[d] - corners[a]
        places += [corners[a] + s * u + t * v for s in across for t in across]
    return TriangleMesh(places, triangles)


def nearly_level(rng: np.random.Generator, least: float, most: float) -> tuple[float, Array]:
    """A tilt between two powers of ten, and an orientation with it, turned about z or not."""
    tilt, azimuth = 10.0 ** rng.uniform(least, most), rng.uniform(0.0, 2.0 * np.pi)
    spin = rotations.from_axis_angle((0, 0, 1), rng.uniform(0.0, 6.0) if rng.integers(2) else 0.0)
    return tilt, rotations.product(
        rotations.from_axis_angle((np.cos(azimuth), np.sin(azimuth), 0.0), tilt), spin
    )


def separations(shape: Shape, x: Array, q: Array, n: Array) -> Array:
    """Separation of a placed shape from the slab along directions n (m, 3)."""
    return -support(shape, x, q, -n) - (n @ slab_corners().T).max(axis=1)


def directions(q: Array) -> Array:
    """Normals of the slab and of a box, and across an edge of each."""
    own, other = np.eye(3), np.array([rotations.rotate(q, e) for e in np.eye(3)])
    across = np.cross(own[:, None, :], other[None, :, :]).reshape(-1, 3)
    length = np.linalg.norm(across, axis=1)
    across = across[length > 1e-14] / length[length > 1e-14, None]
    half = np.vstack((own, other, across))
    return np.vstack((half, -half))


@pytest.mark.parametrize("n", [1, 5])
@pytest.mark.parametrize("name", ["box", "cylinder"])
def test_a_flat_face_across_a_sharp_edge_is_pushed_upwards(name: str, n: int) -> None:
    """Tilted by 1e-10 to 1e-4 rad, over the edge of a slab: the wall is no part of the contact."""
    shape, rng = SHAPES[name], np.random.default_rng(7)
    detector = two_bodies(fine_slab(n), shape, movable=[False, True])
    for k in range(600):
        tilt, q = nearly_level(rng, -10, -4)
        gap = rng.choice((-1, -1, 0, 1)) * 10.0 ** rng.uniform(-9, -4)
        # Not at the very rim of a cylinder: there its prism of 16 sides is beside the slab.
        place = 1.0 + rng.uniform(-0.09, 0.09), rng.uniform(-0.6, 0.6)
        x = np.array((*place, support(shape, np.zeros(3), q, DOWN)[0] + gap))
        found = detector.detect([(0, 0, 0), x], [HERE, q], 1e-3)
        assert len(found) > 0, k
        # Across two edges the tilt is divided by the sine between them.
        assert np.abs(found.normal - (0.0, 0.0, 1.0)).max() < 40.0 * tilt + 1e-9, k
        if name == "box" and gap < 0.0:
            best = separations(shape, x, q, directions(q)).max()
            assert found.gap.min() == pytest.approx(best, abs=1e-9), k
            assert separations(shape, x, q, found.normal).min() == pytest.approx(best, abs=1e-8), k


@pytest.mark.parametrize("n", [1, 5])
@pytest.mark.parametrize("name", SHAPES)
def test_a_body_beside_the_wall_is_pushed_by_the_wall(name: str, n: int) -> None:
    """The same edge seen from the other side: partly beside the wall, partly above the top."""
    shape, rng = SHAPES[name], np.random.default_rng(8)
    detector = two_bodies(fine_slab(n), shape, movable=[False, True])
    for k in range(200):
        tilt, level = nearly_level(rng, -10, -4)
        q = rotations.product(rotations.from_axis_angle((0, 1, 0), 0.5 * np.pi), level)
        gap = -(10.0 ** rng.uniform(-8, -4))
        out = support(shape, np.zeros(3), q, np.array([(-1.0, 0.0, 0.0)]))[0]
        # Balls and capsules that reach above the top touch the edge at an angle.
        is_below = k % 2 == 1 or name in ("sphere", "capsule")
        height = rng.uniform(-0.4, -0.11) if is_below else rng.uniform(-0.09, 0.08)
        x = np.array((1.0 + out + gap, rng.uniform(-0.6, 0.6), height))
        found = detector.detect([(0, 0, 0), x], [HERE, q], 1e-3)
        assert len(found) > 0, k
        assert found.normal[:, 0].min() > 0.99, k
        # The deepest corner may be above the slab.
        assert -1e-9 < found.gap.min() - gap < 1e-9 + 0.3 * tilt, k


def rounded(n: int, turn: Array) -> tuple[TriangleMesh, float, float]:
    """A turned square of 2 m whose corners are rounded to 32 bits; its largest slope and height."""
    side = np.linspace(-1.0, 1.0, n + 1)
    flat = np.array([(x, y, 0.0) for x in side for y in side])
    corners = rotations.rotate(turn, flat).astype(np.float32).astype(np.float64)
    triangles = np.array(cells(n, 0))
    p, q, r = (corners[triangles[:, k]] for k in range(3))
    normals = np.cross(q - p, r - p)
    up = rotations.rotate(turn, np.array((0.0, 0.0, 1.0)))
    slope = np.abs(normals / np.linalg.norm(normals, axis=1)[:, None] - up).max()
    return TriangleMesh(corners, triangles), float(slope), float(np.abs(corners @ up).max())


@pytest.mark.parametrize("n", [2, 20])
@pytest.mark.parametrize("name", SHAPES)
def test_a_flat_mesh_of_rounded_corners_is_a_plane(name: str, n: int) -> None:
    """A third of the boxes had no contact, and others gaps that were wrong by 2e-4 m."""
    shape, rng = SHAPES[name], np.random.default_rng(1)
    lying = rotations.from_axis_angle((0, 1, 0), 0.5 * np.pi if name == "capsule" else 0.0)
    for _ in range(4):
        turn = random_quaternion(rng)
        mesh, slope, height = rounded(n, turn)
        detector = two_bodies(mesh, shape, movable=[False, True])
        up = rotations.rotate(turn, np.array((0.0, 0.0, 1.0)))
        for k in range(60):
            _, level = nearly_level(rng, -12, -3)
            q = rotations.product(level, lying)
            gap = rng.choice((-1, -1, 1)) * 10.0 ** rng.uniform(-8, -4)
            x = np.array((*rng.uniform(-0.6, 0.6, 2), support(shape, np.zeros(3), q, DOWN)[0] + gap))
            there = rotations.rotate(turn, x), rotations.product(turn, q)
            found = detector.detect([(0, 0, 0), there[0]], [HERE, there[1]], 1e-3)
            assert len(found) > 0, k
            assert np.abs(found.normal - up).max() < 2.0 * slope, k
            assert found.gap.min() == pytest.approx(gap, abs=3.0 * height + 1e-9), k
