"""Distances, normals and curvatures of obstacles; nodes before sides."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.bodies.elastic.contact import RigidContact, SurfaceContact, frames_of, nearest_sides, turned
from clapas.bodies.elastic.generators import block, ring
from clapas.bodies.elastic.materials import Elastic
from clapas.bodies.elastic.mesh import join
from clapas.bodies.elastic.mortar import MortarContact, clip
from clapas.bodies.elastic.obstacles import Obstacle
from clapas.bodies.elastic.solid import Solid
from clapas.errors import SceneError
from clapas.geometry.rotations import from_axis_angle
from clapas.geometry.shapes import (
    Box,
    Capsule,
    Clump,
    Cylinder,
    Disk,
    HalfPlane,
    Part,
    Plane,
    Polygon,
    Sphere,
)

TURN = tuple(from_axis_angle((1.0, 2.0, 3.0), 0.7))
OBSTACLES = [
    Obstacle(HalfPlane((1.0, 2.0), 0.3)),
    Obstacle(Disk(0.7), position=(0.2, -0.1)),
    Obstacle(Polygon.rectangle(1.0, 0.6), position=(0.1, 0.0), orientation=0.3, rounding=0.1),
    Obstacle(Polygon([(0, 0), (1, 0), (0.2, 0.8)]), rounding=0.05),
    Obstacle(Plane((0.0, 1.0, 1.0), 0.2)),
    Obstacle(Sphere(0.6), position=(0.1, 0.2, 0.3)),
    Obstacle(Box((0.8, 0.6, 1.0)), orientation=TURN, rounding=0.1),
    Obstacle(Capsule(0.3, 0.8), orientation=TURN),
    Obstacle(Cylinder(0.4, 1.0), orientation=TURN, rounding=0.1),
]


@pytest.mark.parametrize("obstacle", OBSTACLES, ids=lambda o: o.shape.word)
def test_normals_and_curvatures_are_derivatives_of_the_gap(obstacle: Obstacle) -> None:
    d = obstacle.shape.d
    x = np.random.default_rng(2).uniform(-1.5, 1.5, (200, d))
    gap, normal, curvature = obstacle.distance(x)
    outside = gap > 0.02
    assert outside.sum() > 50
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0)
    step = 1e-6
    smooth = np.ones(len(x), dtype=bool)
    for axis in range(d):
        shift = step * np.eye(d)[axis]
        ahead, behind = obstacle.distance(x + shift), obstacle.distance(x - shift)
        np.testing.assert_allclose(
            ((ahead.gap - behind.gap) / (2 * step))[outside], normal[outside, axis], atol=1e-7
        )
        smooth &= np.abs(ahead.normal - behind.normal).max(axis=1) < 100 * step
        slope = (ahead.normal - behind.normal) / (2 * step)
        both = outside & smooth
        close = np.abs(slope - curvature[:, :, axis])[both].max(axis=1) < 1e-6
        assert close.mean() > 0.97  # the others sit where faces and edges meet
    # the gap is the length of the way to the surface
    touching = x - gap[:, None] * normal
    np.testing.assert_allclose(obstacle.distance(touching[outside]).gap, 0.0, atol=1e-12)


def test_an_obstacle_refuses_what_it_cannot_measure() -> None:
    with pytest.raises(SceneError, match="cannot be a Clump"):
        Obstacle(Clump([Part(Sphere(1.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))]))
    with pytest.raises(SceneError, match=r"rounding must be between 0 and 0\.5"):
        Obstacle(Box((1, 1, 1)), rounding=0.6)
    with pytest.raises(SceneError, match="meets points in 2-D"):
        Obstacle(Sphere(1.0)).distance(np.zeros((1, 2)))
    with pytest.raises(SceneError, match="mu must be"):
        RigidContact(surface="bottom", obstacle=Obstacle(HalfPlane()), mu=-1.0)


def test_frames_are_direct_and_turn_with_their_normals() -> None:
    rng = np.random.default_rng(1)
    for d in (2, 3):
        normal = rng.normal(size=(50, d))
        normal /= np.linalg.norm(normal, axis=1)[:, None]
        base = frames_of(normal)
        np.testing.assert_allclose(base @ base.transpose(0, 2, 1), np.tile(np.eye(d), (50, 1, 1)), atol=1e-14)
        np.testing.assert_allclose(np.linalg.det(base), 1.0)
        new = normal + 0.3 * rng.normal(size=normal.shape)
        new /= np.linalg.norm(new, axis=1)[:, None]
        frames = turned(base, new)
        np.testing.assert_allclose(frames[:, 0], new)
        np.testing.assert_allclose(np.linalg.det(frames), 1.0)
        np.testing.assert_allclose(turned(base, normal), base, atol=1e-14)


@pytest.mark.parametrize("kind", ["Q4", "Q8", "Tet4", "Tet10", "Hex8"])
def test_nodes_find_their_sides(kind: str) -> None:
    d = 2 if kind in ("Q4", "Q8") else 3
    mesh = block((2.0,) * d, (3,) * d, kind)
    ((side, rows),) = mesh.sides("top").items()
    rng = np.random.default_rng(0)
    points = np.column_stack((rng.uniform(0.1, 1.9, (40, d - 1)), rng.uniform(2.0, 2.4, 40)))
    position = np.vstack((mesh.nodes, points))
    nodes = np.arange(mesh.n_nodes, len(position))
    _, _, distance, inside = nearest_sides(position, nodes, side, rows)
    np.testing.assert_allclose(distance, points[:, -1] - 2.0, atol=1e-12)
    assert inside.all()
    beside = np.vstack((mesh.nodes, [[2.5] + [1.0] * (d - 2) + [1.9]]))
    assert not nearest_sides(beside, np.array([mesh.n_nodes]), side, rows)[3].any()


def test_gaps_before_a_curved_side_are_those_of_the_circle() -> None:
    outer = ring(1.0, 2.0, (1, 8), "Q8")
    inner = ring(0.5, 0.9, (1, 5), "Q8")
    mesh = join({"outer": outer, "inner": inner})
    solid = Solid(mesh=mesh, material=Elastic(young=1.0))
    contact = SurfaceContact(surface="inner/outer", other="outer/inner")
    placed = contact.place(solid, np.zeros(solid.n_dof), np.zeros(2), np.zeros(2))
    rows = placed.rows(np.zeros(solid.n_dof))
    np.testing.assert_allclose(rows.gap, 0.1, atol=1e-4)
    # a rigid motion of everything changes no gap, to first order
    together = np.tile((1e-3, 2e-3), mesh.n_nodes)
    np.testing.assert_allclose(placed.rows(together).gap, rows.gap, atol=1e-15)
    np.testing.assert_allclose(placed.rows(together).slip, 0.0, atol=1e-15)


def test_surfaces_that_share_nodes_or_are_one_are_refused() -> None:
    mesh = block((1, 1), (2, 2))
    solid = Solid(mesh=mesh, material=Elastic(young=1.0))
    for contact in (SurfaceContact, MortarContact):
        with pytest.raises(SceneError, match="cannot touch itself: self-contact in statics needs two groups"):
            contact(surface="top", other="top")
    with pytest.raises(SceneError, match="share node"):
        MortarContact(surface="top", other="left").place(solid, np.zeros(18), np.zeros(2), np.zeros(2))
    with pytest.raises(SceneError, match="reach must be positive"):
        MortarContact(surface="top", other="bottom", reach=0.0)
    tets = Solid(mesh=block((1, 1, 1), (1, 1, 1), "Tet10"), material=Elastic(young=1.0))
    zero = np.zeros(tets.n_dof)
    with pytest.raises(SceneError, match="quadratic triangles, whose corners have no share"):
        MortarContact(surface="top", other="bottom").place(tets, zero, np.zeros(3), np.zeros(3))
    with pytest.raises(SceneError, match="share node"):
        SurfaceContact(surface="top", other="left").place(solid, np.zeros(18), np.zeros(2), np.zeros(2))


def test_clipped_polygons_have_the_area_that_the_plane_says() -> None:
    square = np.array([[(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]] * 4)
    windows = np.array(
        [
            [(0.5, 0.5), (1.5, 0.5), (1.5, 1.5), (0.5, 1.5)],  # a quarter
            [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)],  # itself, edge on edge
            [(2.0, 0.0), (3.0, 0.0), (3.0, 1.0), (2.0, 1.0)],  # nothing
            [(0.5, -0.25), (1.25, 0.5), (0.5, 1.25), (-0.25, 0.5)],  # an octagon
        ]
    )
    corners, count = np.zeros((4, 10, 2)), np.zeros(4, dtype=np.int64)
    clip(square, windows, corners, count)
    areas = []
    for k in range(4):
        x, y = corners[k, : count[k]].T
        areas.append(0.5 * abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))))
    np.testing.assert_allclose(areas, [0.25, 1.0, 0.0, 1.0 - 4 * 0.5 * 0.25**2], atol=1e-12)
    assert count[3] == 8
