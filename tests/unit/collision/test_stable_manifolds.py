"""Contact points of bodies at rest: rounding of positions changes neither their names nor their places."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from clapas.collision import Detector
from clapas.geometry.colliders import Contacts
from clapas.geometry.shapes import Box, Capsule, Cylinder, HalfPlane, Plane, Polygon, Polyhedron, Shape
from clapas.geometry.table import collider_table

micro = st.floats(-1.0, 1.0)


def prism(sides: int, radius: float, height: float) -> Polyhedron:
    angle = 2.0 * np.pi * np.arange(sides) / sides
    rim = radius * np.column_stack((np.cos(angle), np.sin(angle)))
    return Polyhedron(
        np.vstack([np.column_stack((rim, np.full(sides, z))) for z in (-height / 2, height / 2)])
    )


def found(shapes: list[Shape], positions: list[tuple[float, ...]], turns: list[object], d: int) -> Contacts:
    table = collider_table(d, [(k, shape, 0) for k, shape in enumerate(shapes)])
    movable = [not isinstance(shape, Plane | HalfPlane) for shape in shapes]
    orientation = np.array(turns, dtype=float).reshape(len(shapes), -1)
    return Detector(table, movable=movable).detect(np.array(positions, dtype=float), orientation, 1e-5)


def quaternion(rotation: list[float]) -> tuple[float, ...]:
    x, y, z, w = Rotation.from_rotvec(rotation).as_quat()
    return (w, x, y, z)


PAIRS: dict[str, tuple[list[Shape], tuple[float, float, float], int]] = {
    "equal squares": ([Box((0.2, 0.2, 0.2)), Box((0.2, 0.2, 0.2))], (0.0, 0.0, 0.2), 4),
    "bricks in bond": ([Box((0.2, 0.1, 0.1)), Box((0.2, 0.1, 0.1))], (0.1, 0.0, 0.1), 4),
    "bricks side by side": ([Box((0.2, 0.1, 0.1)), Box((0.2, 0.1, 0.1))], (0.2, 0.0, 0.0), 4),
    "planks across": ([Box((0.3, 0.08, 0.06)), Box((0.08, 0.3, 0.06))], (0.1, 0.1, 0.06), 4),
    "hexagons": ([prism(6, 0.1, 0.1), prism(6, 0.1, 0.1)], (0.0, 0.0, 0.1), 6),
    "dodecagons": ([prism(12, 0.1, 0.1), prism(12, 0.1, 0.1)], (0.0, 0.0, 0.1), 8),
    "dodecagon on a plane": ([Plane(), prism(12, 0.1, 0.1)], (0.0, 0.0, 0.05), 8),
    "cylinder upright on a plane": ([Plane(), Cylinder(0.1, 0.2)], (0.0, 0.0, 0.1), 4),
    "cylinder upright on a box": ([Box((0.4, 0.4, 0.2)), Cylinder(0.1, 0.2)], (0.0, 0.0, 0.2), 8),
    "capsule on a box": ([Box((0.4, 0.4, 0.2)), Capsule(0.05, 0.2)], (0.0, 0.0, 0.15), 2),
    "capsules side by side": ([Capsule(0.05, 0.2), Capsule(0.05, 0.2)], (0.1, 0.0, 0.0), 2),
}


@pytest.mark.parametrize("name", PAIRS)
@settings(deadline=None, max_examples=25)
@given(
    size=st.sampled_from([0.0, 1e-15, 1e-12, 1e-9, 1e-7]),
    shift=st.tuples(micro, micro, micro),
    turn=st.tuples(micro, micro, micro),
)
def test_rounding_moves_no_contact(
    name: str, size: float, shift: tuple[float, ...], turn: tuple[float, ...]
) -> None:
    """Displacements up to 1e-7 m and turns up to 1e-7 rad: same codes, places within 1e-5 m."""
    shapes, at, count = PAIRS[name]
    lying = [0.0, np.pi / 2, 0.0] if name == "capsule on a box" else [0.0, 0.0, 0.0]
    start = [quaternion([0.0, 0.0, 0.0]), quaternion(lying)]
    exact = found(shapes, [(0, 0, 0), at], start, 3)
    turned = [start[0], quaternion((np.array(lying) + size * np.array(turn)).tolist())]
    moved = tuple(np.array(at) + size * np.array(shift))
    rounded = found(shapes, [(0, 0, 0), moved], turned, 3)
    assert len(exact) == count
    np.testing.assert_array_equal(rounded.feature, exact.feature)
    np.testing.assert_allclose(rounded.point, exact.point, atol=1e-5)
    np.testing.assert_allclose(rounded.gap, exact.gap, atol=5.0 * size + 1e-14)


@settings(deadline=None, max_examples=25)
@given(size=st.sampled_from([0.0, 1e-15, 1e-12, 1e-9, 1e-7]), shift=st.tuples(micro, micro), turn=micro)
def test_rounding_moves_no_contact_of_polygons(size: float, shift: tuple[float, ...], turn: float) -> None:
    square = Polygon([(-0.1, -0.1), (0.1, -0.1), (0.1, 0.1), (-0.1, 0.1)])
    for at in ((0.0, 0.2), (0.1, 0.2), (0.2, 0.0)):
        exact = found([square, square], [(0, 0), at], [0.0, 0.0], 2)
        moved = tuple(np.array(at) + size * np.array(shift))
        rounded = found([square, square], [(0, 0), moved], [0.0, size * turn], 2)
        assert len(exact) == 2
        np.testing.assert_array_equal(rounded.feature, exact.feature)
        np.testing.assert_allclose(rounded.point, exact.point, atol=1e-5)


@pytest.mark.parametrize("yaw", [1e-9, 1e-7, 1e-5])
def test_equal_squares_turned_a_little_meet_at_four_corners(yaw: float) -> None:
    """Their common part has eight corners, four of which travel along the sides."""
    cube: list[Shape] = [Box((0.2, 0.2, 0.2)), Box((0.2, 0.2, 0.2))]
    straight = found(cube, [(0, 0, 0), (0, 0, 0.2)], [quaternion([0, 0, 0])] * 2, 3)
    turned = found(
        cube, [(0, 0, 0), (3e-10, -2e-10, 0.2)], [quaternion([0, 0, 0]), quaternion([0, 0, yaw])], 3
    )
    np.testing.assert_array_equal(turned.feature, straight.feature)
    np.testing.assert_allclose(np.abs(turned.point[:, :2]), 0.1, atol=2e-5)


def test_a_square_turned_by_45_degrees_keeps_its_eight_corners() -> None:
    cube: list[Shape] = [Box((0.2, 0.2, 0.2)), Box((0.2, 0.2, 0.2))]
    turned = found(cube, [(0, 0, 0), (0, 0, 0.2)], [quaternion([0, 0, 0]), quaternion([0, 0, np.pi / 4])], 3)
    assert len(turned) == 8


@settings(deadline=None, max_examples=50)
@given(
    rotation=st.tuples(*[st.floats(-3.0, 3.0)] * 3),
    direction=st.tuples(*[st.floats(-1.0, 1.0)] * 3).filter(lambda v: np.linalg.norm(v) > 0.1),
    distance=st.sampled_from([1e-6, 1e-4, 0.01, 0.1]),
)
def test_boxes_apart_are_as_far_as_their_nearest_points(
    rotation: tuple[float, ...], direction: tuple[float, ...], distance: float
) -> None:
    """Faces, edges or corners towards each other: the least gap is the distance, by quadratic programming."""
    one, two = Box((0.2, 0.3, 0.4)), Box((0.3, 0.2, 0.1))
    turn = Rotation.from_rotvec(rotation)
    half = np.array([0.15, 0.1, 0.05])
    at = 0.45 * np.array(direction) / np.linalg.norm(direction)
    table = collider_table(3, [(0, one, 0), (1, two, 0)])
    contacts = Detector(table).detect(
        np.array([(0.0, 0.0, 0.0), at]),
        np.array([quaternion([0, 0, 0]), quaternion(list(rotation))]),
        distance,
    )
    # Alternating projections between two boxes converge to the pair of nearest points.
    x, previous, R = at.copy(), np.inf, turn.as_matrix()
    for _ in range(3000):
        y = np.clip(x, [-0.1, -0.15, -0.2], [0.1, 0.15, 0.2])
        x = at + R @ np.clip(R.T @ (y - at), -half, half)
        if np.array_equal(x, previous):
            break
        previous = x
    apart = float(np.linalg.norm(x - y))
    if 1e-9 < apart <= distance - 1e-6:
        assert len(contacts) > 0
        assert contacts.gap.min() == pytest.approx(apart, abs=2e-6)
    elif apart > distance + 1e-5:
        assert len(contacts) == 0
