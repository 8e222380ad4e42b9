"""The table of colliders: rows, frames, shared hulls."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.errors import SceneError
from clapas.geometry import rotations
from clapas.geometry.colliders import Colliders, Kind
from clapas.geometry.shapes import (
    Box,
    Clump,
    Disk,
    HalfPlane,
    Plane,
    Polygon,
    Polyhedron,
    Sphere,
    TriangleMesh,
)
from clapas.geometry.table import Frame, collider_table
from clapas.typing import Array

WEDGE = np.array([(0, 0, 0), (3, 0, 0), (0, 2, 0), (0, 0, 1), (3, 0, 0.5)], dtype=float)


def corners_in_body_frame(table: Colliders, row: int) -> Array:
    hull = table.hull[row]
    vertices = table.hulls.vertices[table.hulls.vertex_start[hull] : table.hulls.vertex_start[hull + 1]]
    return rotations.rotate(table.orientation[row], vertices) + table.position[row]


def in_order(points: Array) -> Array:
    return np.array(sorted(points.round(9).tolist()))


def test_rows_are_sorted_by_body() -> None:
    clump = Clump([(Sphere(0.5), (0, 0, -1)), (Box((1, 1, 1)), (0, 0, 1))])
    table = collider_table(3, [(2, Sphere(1.0), 5), (0, Plane(), 3), (1, clump, 4)])
    assert table.body.tolist() == [0, 1, 1, 2]
    assert table.material.tolist() == [3, 4, 4, 5]
    assert table.kind.tolist() == [Kind.PLANE, Kind.SPHERE, Kind.BOX, Kind.SPHERE]
    assert table.kind.dtype == np.int8
    assert table.hull.tolist() == [-1] * 4
    assert table.bound[0] == np.inf


def test_the_body_frame_is_principal() -> None:
    wedge = Polyhedron(WEDGE)
    table = collider_table(3, [(0, wedge, 0)])
    corners = corners_in_body_frame(table, 0)
    principal = wedge.mass_properties
    expected = rotations.rotate_back(principal.orientation, wedge.hull.vertices - principal.centre)
    np.testing.assert_allclose(in_order(corners), in_order(expected), atol=1e-9)
    # Mass properties measured again in the body frame: centre 0, axes principal.
    again = Polyhedron(corners).mass_properties
    np.testing.assert_allclose(again.centre, 0.0, atol=1e-14)
    np.testing.assert_allclose(again.inertia, np.diag(principal.moments), atol=1e-13)


def test_another_frame_can_be_given() -> None:
    table = collider_table(3, [(0, Polyhedron(WEDGE), 0, Frame.own(3))])
    np.testing.assert_allclose(in_order(corners_in_body_frame(table, 0)), in_order(WEDGE), atol=1e-9)


def test_equal_objects_share_their_hull() -> None:
    wedge = Polyhedron(WEDGE)
    twice = Clump([(wedge, (0, 0, 0)), (wedge, (5, 0, 0))])
    table = collider_table(3, [(0, wedge, 0), (1, wedge, 0), (2, twice, 0), (3, Polyhedron(WEDGE * 2), 0)])
    assert table.hull.tolist() == [0, 0, 0, 0, 1]
    assert table.hulls.vertex_start.tolist() == [0, 5, 10]


def test_faces_are_in_compressed_rows() -> None:
    wedge = Polyhedron(WEDGE)
    hulls = collider_table(3, [(0, Sphere(1.0), 0), (1, wedge, 0), (2, wedge, 0)]).hulls
    assert hulls.face_start.tolist() == [0, len(wedge.hull.faces)]
    loops = [
        tuple(hulls.face_vertices[a:b]) for a, b in zip(hulls.loop_start, hulls.loop_start[1:], strict=False)
    ]
    assert tuple(loops) == wedge.hull.faces
    np.testing.assert_allclose(hulls.normals, wedge.hull.normals)


def test_mesh_gives_one_row_a_triangle() -> None:
    mesh = TriangleMesh(WEDGE, [(0, 1, 2), (0, 2, 3)])
    table = collider_table(3, [(0, mesh, 0)])
    assert table.kind.tolist() == [Kind.TRIANGLE] * 2
    for row, triangle in enumerate(mesh.triangles):
        np.testing.assert_allclose(corners_in_body_frame(table, row), WEDGE[triangle], atol=1e-15)


def test_plane_geometry() -> None:
    triangle = Polygon([(0, 0), (0, 3), (3, 0)])
    table = collider_table(2, [(0, HalfPlane(), 0), (1, triangle, 0), (2, Disk(0.5), 1)])
    assert table.kind.tolist() == [Kind.PLANE, Kind.POLYHEDRON, Kind.SPHERE]
    assert table.orientation.shape == (3, 1)
    np.testing.assert_allclose(
        in_order(corners_in_body_frame(table, 1)), in_order(triangle.vertices - (1.0, 1.0)), atol=1e-9
    )
    assert table.hulls.face_vertices.tolist() == [0, 1, 1, 2, 2, 0]


@pytest.mark.parametrize("d", [2, 3])
def test_no_body_at_all(d: int) -> None:
    table = collider_table(d, [])
    assert len(table) == 0
    assert table.position.shape == (0, d)
    assert table.hulls.vertices.shape == (0, d)
    assert table.hulls.loop_start.tolist() == [0]


def test_dimensions_are_not_mixed() -> None:
    with pytest.raises(SceneError, match="body 4: a disk is in 2-D, the table in 3-D"):
        collider_table(3, [(4, Disk(1.0), 0)])
