"""Volumes, centres and inertias: closed forms, decompositions, random points, invariance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import qmc

from clapas.geometry import rotations
from clapas.geometry.mass import MassProperties, of_polygon, of_triangles, principal_axes
from clapas.geometry.shapes import Box, Capsule, Clump, Cylinder, Disk, Polygon, Polyhedron, Shape, Sphere
from clapas.typing import Array, Mask

RNG = np.random.default_rng(11)
CUBE = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)


def inside_capsule(x: Array) -> Mask:
    beyond = np.maximum(np.abs(x[:, 2]) - 0.6, 0.0)
    return np.asarray(x[:, 0] ** 2 + x[:, 1] ** 2 + beyond**2 <= 0.3**2)


def inside_cylinder(x: Array) -> Mask:
    return np.asarray((x[:, 0] ** 2 + x[:, 1] ** 2 <= 0.16) & (np.abs(x[:, 2]) <= 0.5))


def inside_sphere(x: Array) -> Mask:
    return np.asarray(np.sum(x**2, axis=1) <= 0.49)


def inside_box(x: Array) -> Mask:
    return np.asarray((np.abs(x) <= (0.25, 0.5, 0.75)).all(axis=1))


def inside_tetrahedron(x: Array) -> Mask:
    return np.asarray((x >= 0).all(axis=1) & (x @ (1.0, 1.0 / 0.5, 1.0 / 0.75) <= 1.0))


TETRAHEDRON = Polyhedron([(0, 0, 0), (1, 0, 0), (0, 0.5, 0), (0, 0, 0.75)])
SOLIDS: list[tuple[Shape, Callable[[Array], Mask], tuple[float, ...], tuple[float, ...]]] = [
    (Sphere(0.7), inside_sphere, (-0.7, -0.7, -0.7), (0.7, 0.7, 0.7)),
    (Box((0.5, 1.0, 1.5)), inside_box, (-0.3, -0.6, -0.8), (0.3, 0.6, 0.8)),
    (Capsule(0.3, 1.2), inside_capsule, (-0.3, -0.3, -0.9), (0.3, 0.3, 0.9)),
    (Cylinder(0.4, 1.0), inside_cylinder, (-0.4, -0.4, -0.6), (0.4, 0.4, 0.6)),
    (TETRAHEDRON, inside_tetrahedron, (0.0, 0.0, 0.0), (1.0, 0.5, 0.75)),
]


@pytest.mark.parametrize(("shape", "inside", "low", "high"), SOLIDS, ids=[s.word for s, *_ in SOLIDS])
def test_against_points_spread_in_a_box(
    shape: Shape, inside: Callable[[Array], Mask], low: tuple[float, ...], high: tuple[float, ...]
) -> None:
    points = qmc.scale(qmc.Sobol(3, seed=1).random_base2(17), low, high)
    points = points[inside(points)]
    share = np.prod(np.subtract(high, low)) / 2**17
    properties = shape.mass_properties
    assert properties.volume == pytest.approx(len(points) * share, rel=2e-3)
    np.testing.assert_allclose(points.mean(axis=0), properties.centre, atol=1e-3)
    arms = points - properties.centre
    second = share * arms.T @ arms
    inertia = np.trace(second) * np.eye(3) - second
    np.testing.assert_allclose(inertia, properties.inertia, atol=2e-3 * np.trace(second))


def capsule_radius(z: float) -> float:
    return float(np.sqrt(max(0.3**2 - max(abs(z) - 0.6, 0.0) ** 2, 0.0)))


@pytest.mark.parametrize(
    ("shape", "radius", "half"),
    [
        (Sphere(0.7), lambda z: np.sqrt(0.49 - z * z), 0.7),
        (Cylinder(0.4, 1.0), lambda z: 0.4, 0.5),
        (Capsule(0.3, 1.2), capsule_radius, 0.9),
    ],
    ids=["sphere", "cylinder", "capsule"],
)
def test_solids_of_revolution_by_slices(shape: Shape, radius: Callable[[float], float], half: float) -> None:
    def integral(slice_at: Callable[[float, float], float]) -> float:
        inner = quad(lambda z: slice_at(radius(z), z), 0.0, half, points=[min(0.6, half / 2)])
        return 2.0 * float(inner[0])

    properties = shape.mass_properties
    assert properties.volume == pytest.approx(integral(lambda r, z: np.pi * r**2), rel=1e-7)
    along = integral(lambda r, z: np.pi * r**4 / 2)
    across = integral(lambda r, z: np.pi * (r**4 / 4 + r**2 * z**2))
    assert properties.moments == pytest.approx((across, across, along), rel=1e-7)


def test_closed_forms() -> None:
    assert Sphere(2.0).volume == pytest.approx(32 * np.pi / 3)
    assert Sphere(2.0).mass_properties.moments == pytest.approx([0.4 * 32 * np.pi / 3 * 4] * 3)
    assert Disk(2.0).volume == pytest.approx(4 * np.pi)
    assert Disk(2.0).mass_properties.moments == pytest.approx([8 * np.pi])
    assert Polygon.rectangle(3.0, 2.0).mass_properties.moments == pytest.approx([6 * (9 + 4) / 12])
    assert Cylinder(1.0, 2.0).mass_properties.moments == pytest.approx(
        [2 * np.pi * 7 / 12, 2 * np.pi * 7 / 12, np.pi]
    )


def test_a_short_capsule_tends_to_a_sphere_and_a_thin_one_to_a_rod() -> None:
    assert Capsule(0.5, 1e-12).mass_properties.moments == pytest.approx(Sphere(0.5).mass_properties.moments)
    rod = Capsule(1e-6, 2.0).mass_properties
    assert rod.moments[0] / rod.volume == pytest.approx(4 / 12, rel=1e-5)


def test_polyhedron_of_a_box_is_the_box() -> None:
    size = np.array([0.3, 0.7, 1.1])
    moved = Polyhedron((CUBE - 0.5) * size + (100.0, -50.0, 3.0)).mass_properties
    box = Box(tuple(size)).mass_properties
    assert moved.volume == pytest.approx(box.volume, rel=1e-12)
    assert moved.centre == pytest.approx((100.0, -50.0, 3.0), abs=1e-12)
    np.testing.assert_allclose(moved.inertia, box.inertia, rtol=0, atol=1e-12)
    assert moved.orientation == (1.0, 0.0, 0.0, 0.0)


def test_regular_polygon_tends_to_a_disk() -> None:
    angles = np.linspace(0, 2 * np.pi, 2001)[:-1]
    polygon = Polygon(np.column_stack((np.cos(angles), np.sin(angles))) + 5.0)
    assert polygon.volume == pytest.approx(Disk(1.0).volume, rel=1e-5)
    assert polygon.mass_properties.moments == pytest.approx(Disk(1.0).mass_properties.moments, rel=1e-5)


def test_formulas_do_not_need_convexity() -> None:
    # An L in the plane: the unit square without its upper right quarter.
    corners = np.array([(0, 0), (1, 0), (1, 0.5), (0.5, 0.5), (0.5, 1), (0, 1)])
    area, centre, second = of_polygon(corners)
    parts = [(0.5, (0.5, 0.25), (1 / 24, 1 / 96)), (0.25, (0.25, 0.75), (1 / 192, 1 / 192))]
    assert area == pytest.approx(0.75)
    np.testing.assert_allclose(centre, sum(a * np.array(c) for a, c, _ in parts) / 0.75)
    expected = sum(np.diag(own) + a * np.outer(c - centre, c - centre) for a, c, own in parts)
    np.testing.assert_allclose(second, expected, atol=1e-15)


def test_orientation_of_the_surface_gives_the_sign() -> None:
    hull = Polyhedron(CUBE).hull
    inverted = np.array([loop[2::-1] for loop in hull.faces] + [(f[3], f[2], f[0]) for f in hull.faces])
    volume, centre, _ = of_triangles(hull.vertices, inverted)
    assert volume == pytest.approx(-1.0)
    np.testing.assert_allclose(centre, 0.5)


@given(st.integers(0, 10**6))
def test_a_moved_shape_has_moved_properties(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(12, 3)) * rng.uniform(0.5, 2.0, 3)
    turn, shift = rotations.normalise(rng.normal(size=4)), rng.normal(size=3)
    here = Polyhedron(points).mass_properties
    there = Polyhedron(rotations.rotate(turn, points) + shift).mass_properties
    Q = rotations.to_matrix(turn)
    assert there.volume == pytest.approx(here.volume, rel=1e-11)
    np.testing.assert_allclose(there.centre, Q @ here.centre + shift, atol=1e-11)
    np.testing.assert_allclose(there.inertia, Q @ here.inertia @ Q.T, atol=1e-10 * np.trace(here.inertia))
    assert sorted(there.moments) == pytest.approx(sorted(here.moments), rel=1e-9)


@given(st.integers(0, 10**6))
def test_principal_axes_diagonalise(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(3, 3))
    inertia = A @ A.T + np.eye(3)
    moments, orientation = principal_axes(inertia)
    axes = rotations.to_matrix(orientation)
    np.testing.assert_allclose((axes * moments) @ axes.T, inertia, atol=1e-12 * np.trace(inertia))
    # The least turned of 24 frames: never more than the 62.8° between a frame and a cube at worst.
    assert 2 * np.arccos(min(orientation[0], 1.0)) <= np.radians(62.81)


def test_principal_axes_of_a_sphere_like_body_are_its_own() -> None:
    _, orientation = principal_axes(np.eye(3) + 1e-14 * RNG.normal(size=(3, 3)))
    assert orientation == (1.0, 0.0, 0.0, 0.0)


def test_clump_adds_up_by_steiner() -> None:
    r, a = 0.2, 0.75
    sphere = Sphere(r).mass_properties
    dumbbell = Clump([(Sphere(r), (-a, 0, 0)), (Sphere(r), (a, 0, 0))]).mass_properties
    across = 2 * sphere.moments[0] + 2 * sphere.volume * a * a
    assert dumbbell.moments == pytest.approx((2 * sphere.moments[0], across, across))
    assert dumbbell.centre == pytest.approx((0, 0, 0))


def test_two_halves_make_the_whole() -> None:
    turn = tuple(rotations.from_axis_angle((1, 2, 3), 0.7))
    side = rotations.rotate(turn, (0.5, 0.0, 0.0))
    half = Box((1.0, 0.6, 0.4))
    halves = Clump([(half, side, turn), (half, -side, turn)]).mass_properties
    whole = Clump([(Box((2.0, 0.6, 0.4)), (0, 0, 0), turn)]).mass_properties
    np.testing.assert_allclose(halves.inertia, whole.inertia, atol=1e-14)
    assert sorted(halves.moments) == pytest.approx(sorted(Box((2.0, 0.6, 0.4)).mass_properties.moments))


def test_clump_in_the_plane_and_clump_of_clumps() -> None:
    square = Polygon.rectangle(1.0, 1.0)
    bar = Clump([(square, (-0.5, 0.0), 0.0), (square, (0.5, 0.0), np.pi / 2)])
    np.testing.assert_allclose(
        bar.mass_properties.moments, Polygon.rectangle(2.0, 1.0).mass_properties.moments
    )
    tall = Clump([(bar, (0.0, 1.0)), (bar, (0.0, 2.0))])
    assert tall.mass_properties.centre == pytest.approx((0.0, 1.5))
    np.testing.assert_allclose(
        tall.mass_properties.moments, Polygon.rectangle(2.0, 2.0).mass_properties.moments
    )
    assert len(tall.pieces) == 4


def test_overlapping_parts_are_counted_twice() -> None:
    assert Clump([(Sphere(1.0),), (Sphere(1.0),)]).volume == pytest.approx(2 * Sphere(1.0).volume)


def test_inertia_in_the_plane_is_one_number() -> None:
    assert MassProperties.centred(2.0, 3.0).inertia.tolist() == [[3.0]]
