"""Shapes: faces of hulls, order of polygons, pieces, equality, every refusal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clapas.errors import SceneError
from clapas.geometry import rotations
from clapas.geometry.colliders import Kind
from clapas.geometry.shapes import (
    Box,
    Capsule,
    Clump,
    Cylinder,
    Disk,
    HalfPlane,
    Hull,
    Plane,
    Polygon,
    Polyhedron,
    Sphere,
    TriangleMesh,
)
from clapas.geometry.shapes.static import enclosing_circle
from clapas.typing import Array

CUBE = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
GOLDEN = (1 + 5**0.5) / 2
DODECAHEDRON = np.array(
    [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    + [np.roll((0, a / GOLDEN, b * GOLDEN), k).tolist() for a in (-1, 1) for b in (-1, 1) for k in range(3)]
)


def check_hull(hull: Hull, size: float) -> None:
    """Closed, convex, counterclockwise, flat, Euler's formula."""
    edges = Counter(edge for face in hull.faces for edge in zip(face, (*face[1:], face[0]), strict=True))
    assert set(edges.values()) == {1}
    assert all((b, a) in edges for a, b in edges)
    assert len(hull.vertices) - len(edges) // 2 + len(hull.faces) == 2
    assert set(np.concatenate(hull.faces)) == set(range(len(hull.vertices)))
    for face, normal in zip(hull.faces, hull.normals, strict=True):
        heights = (hull.vertices - hull.vertices[face[0]]) @ normal
        assert heights.max() <= 1e-5 * size  # all behind the face
        assert np.abs(heights[list(face)]).max() <= 1e-5 * size  # its corners on it
        assert np.linalg.norm(normal) == pytest.approx(1.0, abs=1e-14)
        a, b, c = hull.vertices[list(face[:3])]
        assert np.cross(b - a, c - b) @ normal >= 0.0


@pytest.mark.parametrize(
    ("points", "corners", "faces"),
    [(CUBE, 8, {4: 6}), (DODECAHEDRON, 20, {5: 12}), (CUBE[[0, 1, 2, 4]], 4, {3: 4})],
    ids=["cube", "dodecahedron", "tetrahedron"],
)
@pytest.mark.parametrize("turn", [(1, 0, 0, 0), (0.9, 0.1, -0.3, 0.2)], ids=["straight", "turned"])
def test_faces_are_merged(
    points: Array, corners: int, faces: dict[int, int], turn: tuple[float, ...]
) -> None:
    hull = Polyhedron(rotations.rotate(rotations.normalise(turn), points)).hull
    check_hull(hull, 2.0)
    assert len(hull.vertices) == corners
    assert Counter(map(len, hull.faces)) == faces


@pytest.mark.parametrize("turn", [(1, 0, 0, 0), (0.9, 0.1, -0.3, 0.2)], ids=["straight", "turned"])
def test_points_inside_faces_edges_and_the_solid_are_no_corners(turn: tuple[float, ...]) -> None:
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 5)] * 3), axis=-1).reshape(-1, 3)
    points = rotations.rotate(rotations.normalise(turn), np.vstack((grid, CUBE))) + 10.0
    polyhedron = Polyhedron(points)
    check_hull(polyhedron.hull, 1.0)
    assert len(polyhedron.hull.vertices) == 8
    assert len(polyhedron.hull.faces) == 6
    assert polyhedron.volume == pytest.approx(1.0, rel=1e-11)


def test_flatness_decides_what_one_face_is() -> None:
    raised = np.vstack((CUBE, [(0.5, 0.5, 1 + 1e-7)]))
    assert len(Polyhedron(raised).hull.faces) == 9
    assert len(Polyhedron(raised, flatness=1e-6).hull.faces) == 6


def test_a_corner_within_an_edge_is_dropped() -> None:
    bulging = np.vstack((CUBE, [(0.5, -1e-8, -1e-8)]))
    assert len(Polyhedron(bulging, flatness=0.0).hull.vertices) == 9
    hull = Polyhedron(bulging, flatness=1e-6).hull
    check_hull(hull, 1.0)
    assert len(hull.vertices) == 8
    assert Counter(map(len, hull.faces)) == {4: 6}


@given(st.integers(0, 10**6), st.integers(4, 60), st.sampled_from([1e-3, 1.0, 1e3]))
def test_random_hulls_are_sound(seed: int, n: int, size: float) -> None:
    points = size * np.random.default_rng(seed).normal(size=(n, 3))
    hull = Polyhedron(points).hull
    check_hull(hull, 6 * size)
    outermost = (points @ hull.normals.T).max(axis=0)
    reached = (hull.vertices @ hull.normals.T).max(axis=0)
    np.testing.assert_allclose(outermost, reached, atol=1e-8 * size)


@given(st.integers(0, 10**6))
def test_points_of_few_digits_make_sound_hulls(seed: int) -> None:
    points = np.random.default_rng(seed).integers(0, 4, size=(30, 3)).astype(float)
    check_hull(Polyhedron(points).hull, 4.0)


def test_polygon_is_put_in_order() -> None:
    expected = [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]]
    clockwise = [(0, 0), (0, 1), (2, 1), (2, 0)]
    crossing = [(0, 0), (2, 1), (2, 0), (0, 1)]
    with_middles = [(0, 0), (1, 0), (2, 0), (2, 1), (1, 1), (0, 1), (0, 0)]
    for points in (clockwise, crossing, with_middles):
        polygon = Polygon(points)
        assert polygon.vertices.tolist() == expected
        assert polygon.volume == 2.0


@given(st.integers(0, 10**6), st.integers(3, 40))
def test_polygons_on_an_ellipse(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    angles = np.sort(rng.uniform(0, 2 * np.pi, n))
    if np.diff(angles, append=angles[0] + 2 * np.pi).min() < 1e-3:
        return
    points = np.column_stack((3 * np.cos(angles), np.sin(angles)))
    polygon = Polygon(rng.permutation(points))
    assert len(polygon.vertices) == n
    (piece,) = polygon.pieces
    assert piece.hull is not None
    x, edges = piece.hull.vertices, np.array(piece.hull.faces)
    heights = np.einsum("pei,ei->pe", x[:, None] - x[edges[:, 0]], piece.hull.normals)
    assert heights.max() < 1e-12
    np.testing.assert_allclose(heights[edges[:, 1], np.arange(n)], 0.0, atol=1e-12)


def test_pieces_follow_the_contract_of_the_table() -> None:
    rows: list[tuple[Any, Kind, tuple[float, ...], float]] = [
        (Sphere(2.0), Kind.SPHERE, (2.0, 0.0, 0.0), 2.0),
        (Disk(2.0), Kind.SPHERE, (2.0, 0.0, 0.0), 2.0),
        (Box((2.0, 4.0, 4.0)), Kind.BOX, (1.0, 2.0, 2.0), 3.0),
        (Capsule(1.0, 4.0), Kind.CAPSULE, (1.0, 2.0, 0.0), 3.0),
        (Cylinder(3.0, 8.0), Kind.CYLINDER, (3.0, 4.0, 0.0), 5.0),
    ]
    for shape, kind, size, bound in rows:
        (piece,) = shape.pieces
        assert (piece.kind, piece.size, piece.bound) == (kind, size, pytest.approx(bound))
        assert piece.position == (0.0,) * shape.d
        assert shape.bound == pytest.approx(bound)


@pytest.mark.parametrize(
    "shape", [Plane((3, 0, 4), 2.0), HalfPlane((-3, 4), 2.0)], ids=["plane", "half-plane"]
)
def test_half_space_is_below_its_surface(shape: Plane | HalfPlane) -> None:
    (piece,) = shape.pieces
    assert piece.kind == Kind.PLANE
    assert piece.bound == np.inf
    x = np.random.default_rng(1).normal(size=(50, shape.d)) * 4
    local = rotations.rotate_back(piece.orientation, x - piece.position)
    np.testing.assert_allclose(local[:, -1], x @ shape.normal - shape.offset, atol=1e-14)


def test_mesh_has_a_piece_for_each_triangle() -> None:
    vertices = np.array([(0, 0, 0), (4, 0, 0), (0, 3, 0), (4, 3, 1)], dtype=float)
    mesh = TriangleMesh(vertices, [(0, 1, 2), (2, 1, 3)])
    for piece, triangle in zip(mesh.pieces, mesh.triangles, strict=True):
        assert piece.kind == Kind.TRIANGLE
        assert piece.hull is not None
        np.testing.assert_allclose(piece.hull.vertices + piece.position, vertices[triangle])
        assert np.linalg.norm(piece.hull.vertices, axis=1).max() <= piece.bound * (1 + 1e-14)
        assert piece.hull.faces == ((0, 1, 2),)
    assert mesh.pieces[0].bound == pytest.approx(2.5)
    assert mesh.bound == pytest.approx(max(np.linalg.norm(p.position) + p.bound for p in mesh.pieces))


@given(st.integers(0, 10**6))
def test_ball_around_a_triangle_is_the_smallest(seed: int) -> None:
    triangle = np.random.default_rng(seed).normal(size=(3, 3))
    centre, radius = enclosing_circle(triangle)
    distances = np.linalg.norm(triangle - centre, axis=1)
    assert distances.max() <= radius * (1 + 1e-12)
    # The smallest ball is characterised by its centre being in the hull of the points it touches.
    touched = triangle[distances > radius * (1 - 1e-9)]
    weights = np.linalg.lstsq(
        np.vstack((touched.T, np.ones(len(touched)))), np.append(centre, 1.0), rcond=None
    )[0]
    assert len(touched) >= 2
    assert weights.min() >= -1e-9
    np.testing.assert_allclose(weights @ touched, centre, atol=1e-9)


def test_pieces_of_a_clump_are_where_the_parts_are() -> None:
    turn = rotations.from_axis_angle((0, 0, 1), np.pi / 2)
    corners = CUBE + np.array([1.0, 0.0, 0.0])
    clump = Clump([(Polyhedron(corners), (0, 0, 5), turn), (Sphere(0.5), (0, 0, -1))])
    first, second = clump.pieces
    assert first.hull is not None
    found = rotations.rotate(first.orientation, first.hull.vertices) + first.position
    expected = rotations.rotate(turn, corners) + np.array([0, 0, 5])
    np.testing.assert_allclose(sorted(found.round(9).tolist()), sorted(expected.round(9).tolist()))
    assert second.position == (0.0, 0.0, -1.0)


def test_shapes_are_values() -> None:
    pairs: list[Callable[[], Any]] = [
        lambda: Sphere(1.0),
        lambda: Polyhedron(CUBE),
        lambda: Polygon([(0, 0), (1, 0), (0, 1)]),
        lambda: TriangleMesh(CUBE[:4], [(0, 1, 2)]),
        lambda: Clump([(Sphere(1.0), (0, 0, 1))]),
        lambda: Plane((0, 0, 2), 1.0),
    ]
    made = [make() for make in pairs]
    assert made == [make() for make in pairs]
    assert len({*made, *(make() for make in pairs)}) == len(pairs)
    assert Polyhedron(CUBE) != Polyhedron(CUBE * 2)
    assert Sphere(1) != Disk(1)
    with pytest.raises(ValueError, match="read-only"):
        made[1].points[0, 0] = 3.0


def test_unit_normals_are_kept_to_the_bit() -> None:
    normal = Plane((0.3, -0.5, 0.7)).normal
    assert Plane(normal).normal == normal


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: Sphere(-0.1), "sphere: radius must be positive, got -0.1"),
    (lambda: Sphere(0), "sphere: radius must be positive, got 0.0"),
    (lambda: Sphere(float("nan")), "sphere: radius must be finite, got nan"),
    (lambda: Sphere("1"), "sphere: radius must be a number, got '1'"),  # type: ignore[arg-type]
    (lambda: Sphere(True), "sphere: radius must be a number, got True"),
    (lambda: Disk(-1), "disk: radius must be positive, got -1.0"),
    (lambda: Box((1, 2)), "box: size (full edge lengths) must be 3 numbers, got 2: [1.0, 2.0]"),
    (lambda: Box((1, 0, 2)), "box: size along y must be positive, got 0.0"),
    (lambda: Box(1), "box: size (full edge lengths) must be 3 numbers, got 1"),  # type: ignore[arg-type]
    (lambda: Box((1, np.inf, 2)), "box: size (full edge lengths) must be finite, got [1.0, inf, 2.0]"),
    (lambda: Capsule(1, 0), "capsule: length (of the cylinder part) must be positive, got 0.0"),
    (lambda: Cylinder(1, -2), "cylinder: length must be positive, got -2.0"),
    (lambda: Plane((0, 0, 0)), "plane: normal must not be zero, it gives a direction; got [0.0, 0.0, 0.0]"),
    (lambda: HalfPlane((0, 1, 0)), "half-plane: normal must be 2 numbers, got 3: [0.0, 1.0, 0.0]"),
    (lambda: Plane(offset=np.nan), "plane: offset must be finite, got nan"),
    (lambda: Polyhedron(CUBE[:3]), "polyhedron: at least 4 points are needed, got 3"),
    (lambda: Polyhedron([1, 2, 3]), "polyhedron: points must have shape (n, 3), got (3,)"),
    (
        lambda: Polyhedron([(1, 2, 3), (1,)]),
        "polyhedron: points must be rows of 3 numbers, got [(1, 2, 3), (1,)]",
    ),
    (
        lambda: Polyhedron([*CUBE, (0, np.nan, 0)]),
        "polyhedron: points must be finite, got [0.0, nan, 0.0] at row 8",
    ),
    (
        lambda: Polyhedron([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]),
        "polyhedron: its 4 points are in one plane (thickness 0 m for a size of 1 m): the hull has no volume",
    ),
    (lambda: Polyhedron(np.ones((5, 3))), "polyhedron: its 5 points are in one plane (thickness 0 m"),
    (lambda: Polyhedron(CUBE, flatness=-1), "polyhedron: flatness must be at least 0, got -1.0"),
    (lambda: Polygon([(0, 0), (1, 0)]), "polygon: at least 3 points are needed, got 2"),
    (
        lambda: Polygon([(0, 0), (1, 1), (2, 2), (3, 3)]),
        "polygon: its 4 points are on one line or in one place: it has no area",
    ),
    (lambda: Polygon([(1, 1)] * 3), "polygon: its 3 points are on one line or in one place"),
    (
        lambda: Polygon([(0, 0), (2, 0), (2, 2), (1.5, 0.5)]),
        "polygon: not convex, point 3 at [1.5, 0.5] is inside the hull of the others; "
        "cut it into convex parts and join them in a Clump",
    ),
    (lambda: Polygon.rectangle(0, 1), "rectangle: width must be positive, got 0.0"),
    (lambda: Clump([]), "clump: at least one part is needed, got []"),
    (lambda: Clump(3), "clump: at least one part is needed, got 3"),  # type: ignore[arg-type]
    (lambda: Clump([(1, 2)]), "clump, part 0: expected (shape, position, orientation), got (1, 2)"),
    (
        lambda: Clump([(Sphere(1),), (Plane(),)]),
        "clump, part 1: a plane has no mass; add it to the scene as a wall of its own",
    ),
    (lambda: Clump([(Sphere(1),), (Disk(1),)]), "clump: part 1 is in 2-D and part 0 in 3-D"),
    (
        lambda: Clump([(Sphere(1), (0, 0, 0), (0, 0, 0, 0))]),
        "clump, part 0: the orientation quaternion is zero and cannot be normalised",
    ),
    (
        lambda: Clump([(Sphere(1), (0, 0))]),
        "clump, part 0: position must be 3 numbers, got 2: [0.0, 0.0]",
    ),
    (
        lambda: TriangleMesh(CUBE, [(0, 1, 9)]),
        "mesh: triangle 0 is [0, 1, 9], but the vertices are numbered 0 to 7",
    ),
    (
        lambda: TriangleMesh(CUBE, [(0, 1)]),
        "mesh: triangles must be rows of 3 whole numbers, got shape (1, 2)",
    ),
    (
        lambda: TriangleMesh(CUBE, [(0, 1.5, 2)]),
        "mesh: triangles must be rows of 3 whole numbers, got shape (1, 3)",
    ),
    (
        lambda: TriangleMesh(CUBE, [(0, 1, 2), (1,)]),
        "mesh: triangles must be rows of 3 whole numbers, all of one",
    ),
    (
        lambda: TriangleMesh(CUBE, [(0, 1, 2), (1, 1, 2)]),
        "mesh: triangle 1 has no area (1 such triangles); leave them out, as TriangleMesh.from_file does",
    ),
    (
        lambda: Plane().mass_properties,
        "plane: it has no mass; it stands still, or moves by an imposed motion",
    ),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=[m[:60] for _, m in BAD])
def test_refusals(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(SceneError) as caught:
        make()
    assert str(caught.value).startswith(message)


def test_shapes_as_plain_data() -> None:
    assert Sphere(1).to_dict() == {"type": "sphere", "radius": 1.0}
    assert Plane().to_dict() == {"type": "plane"}
    assert HalfPlane((0, 2), 1).to_dict() == {"type": "half-plane", "offset": 1.0}
    assert Polygon([(0, 0), (1, 0), (0, 1)]).to_dict()["points"] == [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    clump = Clump([(Disk(1), (0, 1), 0.5), (Disk(2),)])
    assert clump.to_dict() == {
        "type": "clump",
        "parts": [
            {"shape": {"type": "disk", "radius": 1.0}, "position": [0.0, 1.0], "orientation": 0.5},
            {"shape": {"type": "disk", "radius": 2.0}, "position": [0.0, 0.0]},
        ],
    }
