"""Shapes on meshes of triangles against the same shapes on a plane, or on the solid the mesh bounds."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.collision import Detector
from clapas.geometry import rotations
from clapas.geometry.colliders import Contacts
from clapas.geometry.shapes import Box, Capsule, Cylinder, Plane, Polyhedron, Shape, Sphere, TriangleMesh
from clapas.typing import Array
from tests.unit.collision.oracles import random_quaternion, two_bodies

SHAPES: dict[str, Shape] = {
    "sphere": Sphere(0.1),
    "box": Box((0.2, 0.2, 0.2)),
    "tetrahedron": Polyhedron([(0, 0, 0), (0.2, 0, 0), (0, 0.2, 0), (0, 0, 0.2)]),
    "rock": Polyhedron(np.random.default_rng(1).normal(size=(14, 3)) * 0.1),
    "capsule": Capsule(0.06, 0.2),
    "cylinder": Cylinder(0.08, 0.2),
}
FACES = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
HERE = (1.0, 0.0, 0.0, 0.0)
DEPTH = 1e-3


def grid(n: int) -> TriangleMesh:
    """A square of 2 m in the plane z = 0, n × n cells of two triangles."""
    side = np.linspace(-1.0, 1.0, n + 1)
    corners = [(x, y, 0.0) for x in side for y in side]
    triangles = []
    for i in range(n):
        for j in range(n):
            p = i * (n + 1) + j
            q = p + n + 1
            triangles += [(p, q, q + 1), (p, q + 1, p + 1)]
    return TriangleMesh(corners, triangles)


def slab_corners() -> Array:
    """A slab of 2 m × 2 m × 1 m under the plane z = 0."""
    return np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 0)], dtype=float)


def slab() -> TriangleMesh:
    return TriangleMesh(slab_corners(), [t for a, b, c, d in FACES for t in ((a, b, c), (a, c, d))])


def block() -> Polyhedron:
    return Polyhedron(slab_corners())


def touched(detector: Detector, x: Array, q: Array, distance: float = 0.0) -> Contacts:
    return detector.detect([(0.0, 0.0, 0.0), x], [HERE, q], distance)


def put_down(detector: Detector, x: Array, q: Array) -> Array:
    """The place above (x, y) where a shape is so deep in the floor."""
    low, high = -0.5, 2.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        found = touched(detector, np.array([*x, middle]), q)
        deep = len(found) > 0 and found.gap.min() < -DEPTH
        low, high = (middle, high) if deep else (low, middle)
    return np.array([*x, high])


def distinct(found: Contacts) -> Array:
    """Points, normals and gaps, those that triangles share once."""
    rows = np.column_stack((found.point, found.normal, found.gap))
    kept: list[Array] = []
    for row in rows:
        if all(np.abs(row - other).max() > 1e-6 for other in kept):
            kept.append(row)
    return np.array(kept).reshape(-1, 7)


def assert_same(found: Contacts, expected: Contacts) -> None:
    assert_rows(distinct(found), distinct(expected))


def assert_rows(a: Array, b: Array) -> None:
    assert len(a) == len(b)
    for row in a:
        assert np.abs(b - row).max(axis=1).min() < 1e-6


def compare(mesh: TriangleMesh, solid: Shape, shape: Shape, places: Array, seed: int) -> None:
    on_mesh, on_solid = (two_bodies(floor, shape, movable=[False, True]) for floor in (mesh, solid))
    rng = np.random.default_rng(seed)
    for place in places:
        q = random_quaternion(rng)
        x = put_down(on_solid, place, q)
        assert_same(touched(on_mesh, x, q), touched(on_solid, x, q))


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("n", [1, 20])
def test_a_flat_mesh_is_a_plane(name: str, n: int) -> None:
    if name == "cylinder" and n == 20:
        n = 6  # its contact points on a rim are those of a prism: few seams near them
    places = np.random.default_rng(n).uniform(-0.6, 0.6, (20, 2))
    compare(grid(n), Plane(), SHAPES[name], places, 2)


def around(where: str, count: int, rng: np.random.Generator) -> Array:
    """Places over the slab: over its face, its convex edge x = 1, its corner at x = y = 1."""
    places = rng.uniform(-0.6, 0.6, (count, 2))
    if where != "inside":
        places[:, 0] = 1.0 + rng.uniform(-0.1, 0.1, count)
    if where == "corner":
        places[:, 1] = 1.0 + rng.uniform(-0.1, 0.1, count)
    return places


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("where", ["inside", "edge", "corner"])
def test_a_closed_mesh_is_the_solid_it_bounds(name: str, where: str) -> None:
    places = around(where, 8, np.random.default_rng(3))
    compare(slab(), block(), SHAPES[name], places, 4)


POSES = [
    ("capsule", "edge", (136, 190, 243)),  # a second, less deep point over the face of the other triangle
    ("capsule", "corner", (243, 300, 331)),
    ("cylinder", "edge", (112,)),  # the ridge taken for one of another triangle
    ("cylinder", "corner", (8, 68, 97, 158, 187)),
]


@pytest.mark.parametrize(("name", "where", "numbers"), POSES)
def test_poses_that_were_once_wrong(name: str, where: str, numbers: tuple[int, ...]) -> None:
    on_mesh, on_solid = (
        two_bodies(floor, SHAPES[name], movable=[False, True]) for floor in (slab(), block())
    )
    rng = np.random.default_rng(1000)
    for k, place in enumerate(around(where, 400, np.random.default_rng(2000))):
        q = random_quaternion(rng)
        if k in numbers:
            x = put_down(on_solid, place, q)
            expected = touched(on_solid, x, q)
            assert len(expected) > 0
            assert_same(touched(on_mesh, x, q), expected)


TIPS = [
    ("cylinder", 2001, 200, 8),  # a tip under the cap, beside its prism
    ("cylinder", 2001, 400, 215),  # the deepest point merged with one on a flat seam, and left out with it
    ("cylinder", 2003, 400, 43),
    ("cylinder", 2004, 400, 90),
    ("cylinder", 2005, 400, 131),
    ("cylinder", 2005, 400, 79),  # only the prism is apart: the best of several directions
    ("capsule", 2003, 400, 169),  # a flat seam that ends at the tip
]


@pytest.mark.parametrize(("name", "seed", "count", "number"), TIPS)
def test_tilted_bodies_keep_their_contacts_on_tips(name: str, seed: int, count: int, number: int) -> None:
    on_mesh, on_solid = (
        two_bodies(floor, SHAPES[name], movable=[False, True]) for floor in (slab(), block())
    )
    place, rng = (
        around("corner", count, np.random.default_rng(seed))[number],
        np.random.default_rng(seed - 1000),
    )
    for _ in range(number + 1):
        q = random_quaternion(rng)
    x = put_down(on_solid, place, q)
    expected = touched(on_solid, x, q)
    assert len(expected) > 0
    assert_same(touched(on_mesh, x, q), expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("where", ["inside", "edge", "corner"])
def test_a_closed_mesh_is_the_solid_it_bounds_in_many_poses(name: str, where: str) -> None:
    compare(slab(), block(), SHAPES[name], around(where, 200, np.random.default_rng(2001)), 1001)


@pytest.mark.parametrize("mesh", [False, True])
def test_a_cylinder_over_an_edge_is_least_deep_along_its_normal(mesh: bool) -> None:
    """Of all directions across the edge x = 1, z = 0, tried one by one."""
    cylinder, compared = Cylinder(0.08, 0.2), 0
    detector = two_bodies(slab() if mesh else block(), cylinder, movable=[False, True])
    angle = np.linspace(0.0, 0.5 * np.pi, 20001)
    directions = np.column_stack((np.sin(angle), np.zeros_like(angle), np.cos(angle)))
    rng = np.random.default_rng(12)
    for place in around("edge", 40, rng):
        q = random_quaternion(rng)
        x = put_down(detector, place, q)
        found = touched(detector, x, q)
        if not 0.01 < found.normal[0, 0] < 0.99:
            continue  # on a face
        along = directions @ rotations.rotate(q, np.array((0.0, 0.0, 1.0)))
        depth = directions @ (x - (1.0, x[1], 0.0)) - 0.1 * np.abs(along) - 0.08 * np.sqrt(1.0 - along**2)
        best = np.argmax(depth)
        assert depth[best] - 1e-9 <= found.gap.min() <= depth[best] + 0.1 * angle[1]
        np.testing.assert_allclose(found.normal[0], directions[best], atol=2e-4)
        compared += 1
    assert compared > 5


@pytest.mark.parametrize("name", SHAPES)
def test_the_border_of_a_sheet_is_the_rim_of_a_solid(name: str) -> None:
    rng = np.random.default_rng(5)
    places = np.column_stack((1.0 + rng.uniform(-0.1, 0.02, 8), rng.uniform(-0.6, 0.6, 8)))
    compare(grid(1), block(), SHAPES[name], places, 6)


def gutter(n: int) -> TriangleMesh:
    """A floor z = 0 < x and a wall x = 0 < z that share a concave edge, n × n cells each, 2 m wide."""
    side, triangles, corners = np.linspace(0.0, 2.0, n + 1), [], []
    for turn in range(2):
        first = len(corners)
        corners += [((s, y - 1.0, 0.0) if turn == 0 else (0.0, y - 1.0, s)) for s in side for y in side]
        for i in range(n):
            for j in range(n):
                p = first + i * (n + 1) + j
                q = p + n + 1
                triangles += [(p, q, q + 1), (p, q + 1, p + 1)]
    return TriangleMesh(corners, triangles)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("n", [1, 4])
def test_a_concave_edge_is_a_floor_and_a_wall(name: str, n: int) -> None:
    """A shape pushed into both has the contacts with each, as if it were alone."""
    shape, quarter = SHAPES[name], np.array((np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0))
    on_mesh, on_plane = (two_bodies(floor, shape, movable=[False, True]) for floor in (gutter(n), Plane()))
    rng, compared = np.random.default_rng(9), 0
    for _ in range(10):
        q = random_quaternion(rng)
        # Seen with the wall as a floor: (x, y, z) is turned to (−z, y, x).
        turned = rotations.product(rotations.conjugate(quarter), q)
        y = rng.uniform(-0.3, 0.3)
        z, x = put_down(on_plane, np.zeros(2), q)[2], put_down(on_plane, np.zeros(2), turned)[2]
        floor = touched(on_plane, np.array([x, y, z]), q)
        wall = touched(on_plane, np.array([-z, y, x]), turned)
        if floor.point[:, 0].min() < 0.01 or wall.point[:, 0].max() > -0.01:
            continue  # in the edge itself
        compared += 1
        rows = [
            (*point, *normal, gap)
            for point, normal, gap in zip(floor.point, floor.normal, floor.gap, strict=True)
        ]
        for point, normal, gap in zip(wall.point, wall.normal, wall.gap, strict=True):
            back = (rotations.rotate(quarter, vector) for vector in (point, normal))
            rows.append((*next(back), *next(back), gap))
        assert_rows(distinct(touched(on_mesh, np.array([x, y, z]), q)), np.array(rows))
    assert compared > 3


def test_a_box_in_a_concave_corner_has_both_walls() -> None:
    """A floor and a wall that share an edge; a box flat on one, pressed flat against the other."""
    mesh = TriangleMesh(
        [(0, -1, 0), (2, -1, 0), (2, 1, 0), (0, 1, 0), (0, -1, 2), (0, 1, 2)],
        [(0, 1, 2), (0, 2, 3), (0, 4, 5), (0, 5, 3)],
    )
    detector = two_bodies(mesh, Box((0.2, 0.2, 0.2)), movable=[False, True])
    found = touched(detector, np.array([0.1 - DEPTH, 0.3, 0.1 - 2 * DEPTH]), np.array(HERE))
    up, out = found.normal[:, 2] > 0.5, found.normal[:, 0] > 0.5
    assert (up | out).all()
    np.testing.assert_allclose(found.normal[up], np.tile((0, 0, 1), (up.sum(), 1)), atol=1e-12)
    np.testing.assert_allclose(found.normal[out], np.tile((1, 0, 0), (out.sum(), 1)), atol=1e-12)
    np.testing.assert_allclose(found.gap[up], -2 * DEPTH, atol=1e-12)
    np.testing.assert_allclose(found.gap[out], -DEPTH, atol=1e-12)
    for mask, k in ((up, 0), (up, 1), (out, 1), (out, 2)):
        assert np.ptp(found.point[mask, k]) > 0.19


@pytest.mark.parametrize("name", ["box", "capsule"])
def test_within_a_distance_all_low_points_count_on_both_sides_of_a_seam(name: str) -> None:
    """A shape that hovers, slightly tilted, over many triangles has the contacts it has over a plane."""
    detectors = [two_bodies(floor, SHAPES[name], movable=[False, True]) for floor in (grid(20), Plane())]
    flat = (0.7071067811865476, 0.0, 0.7071067811865476, 0.0) if name == "capsule" else HERE
    tilt = np.add(flat, (0.0, 1e-4, 2e-4, 3e-4))
    x = np.array([0.033, 0.017, (0.06 if name == "capsule" else 0.1) + 1e-4])
    on_mesh, on_plane = (touched(d, x, tilt / np.linalg.norm(tilt), 1e-3) for d in detectors)
    assert len(on_plane) == (2 if name == "capsule" else 4)
    assert_same(on_mesh, on_plane)
