"""Cylinders that stand on meshes, upright or tilted by little: a flat mesh is a plane in every pose."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.geometry import rotations
from clapas.geometry.shapes import Box, Cylinder, Plane, Polyhedron, Shape, TriangleMesh
from clapas.typing import Array
from tests.unit.collision.oracles import random_quaternion, two_bodies
from tests.unit.collision.test_meshes import FACES, HERE, grid, slab_corners

CUBE = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)]
SOLIDS: dict[str, Shape] = {
    "cylinder": Cylinder(0.1, 0.2),
    "box": Box((0.2, 0.2, 0.2)),
    "polyhedron": Polyhedron(CUBE),
}


def mesh(name: str, scale: float, turn: Array, flip: bool) -> TriangleMesh:
    """A square of side 2 ``scale`` about the origin, or a slab below it; turned, its sides exchanged."""
    triangles: list[tuple[int, ...]]
    if name == "slab":
        corners = slab_corners()
        triangles = [t for a, b, c, d in FACES for t in ((a, b, c), (a, c, d))]
    else:
        n = int(name)
        side = np.linspace(-1.0, 1.0, n + 1)
        corners = np.array([(x, y, 0.0) for x in side for y in side])
        cells = [i * (n + 1) + j for i in range(n) for j in range(n)]
        triangles = [t for p in cells for t in ((p, p + n + 1, p + n + 2), (p, p + n + 2, p + 1))]
    return TriangleMesh(rotations.rotate(turn, scale * corners), [t[::-1] if flip else t for t in triangles])


def tilted(tilt: float, azimuth: float) -> Array:
    """Orientation of a cylinder that leans by an angle."""
    return rotations.from_axis_angle((np.cos(azimuth), np.sin(azimuth), 0.0), tilt)


def test_the_step_at_which_a_sliding_cylinder_was_lost() -> None:
    """Tilted by 2e-9 rad, far from the seam: the triangle left the contact to its neighbour."""
    floor = TriangleMesh([(-2, -2, 0), (2, -2, 0), (2, 2, 0), (-2, 2, 0)], [(0, 1, 2), (0, 2, 3)])
    x = (0.3004470570318693, -0.29999999999764465, 0.09999999989376898)
    q = (1.0, 7.080229425234193e-10, -8.681907946329791e-10, 2.5768077117800466e-10)
    found = two_bodies(floor, Cylinder(0.1, 0.2)).detect([(0, 0, 0), x], [HERE, q], 9.81e-6)
    assert len(found) == 8
    np.testing.assert_allclose(found.normal, np.tile((0.0, 0.0, 1.0), (8, 1)), atol=1e-12)
    assert found.gap.min() == pytest.approx(-3.3e-10, abs=2e-11)


@pytest.mark.parametrize("radius", [0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("name", ["1", "6", "slab"])
def test_an_upright_cylinder_on_a_mesh_is_one_on_a_plane(name: str, radius: float) -> None:
    """Tilts of 1e-17 to 1e-2 rad, over seams, over corners and elsewhere, just apart or overlapping.

    Points of a cap are fixed to the body below tilts of 1e-6 (on a plane 1e-5) and at most eight are kept, so
    that the lowest is missed by a share of the tilt; the gap is therefore compared with the formula.
    """
    rng = np.random.default_rng([len(name), int(100 * radius)])
    scale = 5.0 * radius
    for case in range(6):
        turn = np.array(HERE) if case < 2 else random_quaternion(rng)
        in_corners = case % 2 == 0  # turned by its corners, or as a body
        length = radius * 10.0 ** rng.uniform(-0.7, 0.7)
        floor = mesh(name, scale, turn if in_corners else np.array(HERE), flip=case % 3 == 0)
        on_mesh, on_plane = (two_bodies(one, Cylinder(radius, length)) for one in (floor, Plane()))
        up = rotations.rotate(turn, np.array((0.0, 0.0, 1.0)))
        for k in range(60):
            tilt = 0.0 if k % 10 == 0 else 10.0 ** rng.uniform(-17, -2)
            spin = rotations.from_axis_angle((0, 0, 1), rng.uniform(0, 6) if k % 2 else 0.0)
            q = rotations.product(tilted(tilt, rng.uniform(0, 2 * np.pi)), spin)
            gap = 0.0 if k % 8 == 0 else rng.choice((-1, 1)) * radius * 10.0 ** rng.uniform(-14, -3)
            place = 0.7 * scale * rng.uniform(-1, 1, 2)
            if k % 3 == 0:
                place[1] = place[0]  # over the diagonal
            elif k % 3 == 1:
                place = np.rint(place / scale * 3.0) * scale / 3.0  # over corners of the finer mesh
            height = 0.5 * length * np.cos(tilt) + radius * np.sin(tilt) + gap
            x, within = np.array((*place, height)), 2e-3 * radius
            level = on_plane.detect([(0, 0, 0), x], [HERE, q], within)
            body = HERE if in_corners else turn
            there = rotations.rotate(turn, x), rotations.product(turn, q)
            found = on_mesh.detect([(0, 0, 0), there[0]], [body, there[1]], within)
            assert len(level) > 0
            assert len(found) > 0, (case, k, tilt, gap)
            missed = radius * (1e-9 + 0.3 * min(tilt, 1e-6))
            assert found.gap.min() == pytest.approx(gap, abs=missed), (case, k, tilt)
            across = np.abs(found.normal - up).max()
            assert across < (1e-6 if tilt < 1e-6 else 1e-5), (case, k, tilt, gap)


@pytest.mark.parametrize("name", SOLIDS)
def test_faces_parallel_to_a_sloped_mesh_are_not_lost_just_above_it(name: str) -> None:
    """GJK meets four points in a plane there, and took what rounding made of them for a distance of 0.7 m."""
    detector = two_bodies(mesh("1", 2.0, np.array(HERE), flip=False), SOLIDS[name])
    rng = np.random.default_rng(5)
    for _ in range(200):
        q, gap = random_quaternion(rng), 10.0 ** rng.uniform(-10, -4)
        x = rotations.rotate(q, np.array((1.3, 0.1, 0.1 + gap)))
        found = detector.detect([(0, 0, 0), x], [q, q], 1e-3)
        assert found.gap.min(initial=np.inf) == pytest.approx(gap, abs=1e-12)


def test_a_cap_over_a_flat_mesh_feels_no_walls() -> None:
    """Triangles just outside of the prism and inside of the cylinder pushed sideways."""
    detector = two_bodies(grid(8), Cylinder(0.35, 0.5))
    rng = np.random.default_rng(0)
    for _ in range(1500):
        gap = -(10.0 ** rng.uniform(-9, -3))
        x = np.array((*rng.uniform(-0.6, 0.6, 2), 0.25 + gap))
        found = detector.detect([(0, 0, 0), x], [HERE, HERE], 3e-3)
        np.testing.assert_allclose(found.normal[:, 2], 1.0, atol=1e-12)
