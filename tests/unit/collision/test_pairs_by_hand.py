"""Contacts of pairs whose geometry is known on paper, and what must hold of any."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from clapas.collision import Detector
from clapas.dynamics.births import initial_state
from clapas.dynamics.neighbours import Neighbours
from clapas.geometry.colliders import Contacts
from clapas.geometry.shapes import (
    Box,
    Capsule,
    Cylinder,
    Disk,
    HalfPlane,
    Plane,
    Polygon,
    Shape,
    Sphere,
    TriangleMesh,
)
from clapas.geometry.table import collider_table
from clapas.scenes import examples
from clapas.scenes.compilation import compile_scene

UPRIGHT = (1.0, 0.0, 0.0, 0.0)


def contacts(
    shapes: list[Shape],
    positions: list[tuple[float, ...]],
    turns: list[object] | None = None,
    distance: float = 0.0,
) -> Contacts:
    d = len(positions[0])
    table = collider_table(d, [(k, shape, 0) for k, shape in enumerate(shapes)])
    movable = np.array([not isinstance(shape, Plane | HalfPlane | TriangleMesh) for shape in shapes])
    default = UPRIGHT if d == 3 else (0.0,)
    orientation = np.array(turns or [default] * len(shapes), dtype=float).reshape(len(shapes), -1)
    return Detector(table, movable=movable).detect(np.array(positions, dtype=float), orientation, distance)


def about(axis: tuple[float, float, float], angle: float) -> tuple[float, ...]:
    x, y, z, w = Rotation.from_rotvec(angle * np.array(axis, dtype=float)).as_quat()
    return (w, x, y, z)


@pytest.mark.parametrize(
    ("shapes", "positions", "gap", "normal", "count"),
    [
        ([Sphere(1.0), Sphere(0.5)], [(0, 0, 0), (0, 0, 1.4)], -0.1, (0, 0, 1), 1),
        ([Plane(), Sphere(1.0)], [(0, 0, 0), (3, 2, 0.9)], -0.1, (0, 0, 1), 1),
        ([Plane(), Box((1, 1, 1))], [(0, 0, 0), (0, 0, 0.45)], -0.05, (0, 0, 1), 4),
        ([Plane(), Cylinder(0.5, 1.0)], [(0, 0, 0), (0, 0, 0.45)], -0.05, (0, 0, 1), None),
        ([Plane(), Capsule(0.5, 1.0)], [(0, 0, 0), (0, 0, 0.9)], -0.1, (0, 0, 1), 1),
        ([Box((2, 2, 2)), Sphere(0.5)], [(0, 0, 0), (1.4, 0, 0)], -0.1, (1, 0, 0), 1),
        ([Box((2, 2, 2)), Box((1, 1, 1))], [(0, 0, 0), (0, 0, 1.45)], -0.05, (0, 0, 1), 4),
        ([Capsule(0.5, 2.0), Sphere(0.5)], [(0, 0, 0), (0.9, 0, 0.5)], -0.1, (1, 0, 0), 1),
        ([Cylinder(0.5, 2.0), Sphere(0.5)], [(0, 0, 0), (0.9, 0, 0.5)], -0.1, (1, 0, 0), 1),
    ],
)
def test_pairs_in_space(
    shapes: list[Shape],
    positions: list[tuple[float, ...]],
    gap: float,
    normal: tuple[float, ...],
    count: int | None,
) -> None:
    found = contacts(shapes, positions)
    assert len(found) == count if count else len(found) >= 3
    np.testing.assert_allclose(found.gap, gap, atol=1e-12)
    np.testing.assert_allclose(found.normal, np.tile(normal, (len(found), 1)), atol=1e-12)
    assert (found.a == 0).all()
    assert (found.b == 1).all()
    assert len(set(found.feature.tolist())) == len(found)


def test_pairs_in_the_plane() -> None:
    square = Polygon([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    for shapes, positions, gap, normal, count in [
        ([Disk(1.0), Disk(0.5)], [(0, 0), (0, 1.4)], -0.1, (0, 1), 1),
        ([HalfPlane(), Disk(1.0)], [(0, 0), (3, 0.9)], -0.1, (0, 1), 1),
        ([HalfPlane(), square], [(0, 0), (0, 0.45)], -0.05, (0, 1), 2),
        ([square, square], [(0, 0), (0.2, 0.95)], -0.05, (0, 1), 2),
        ([square, Disk(0.5)], [(0, 0), (0.9, 0.1)], -0.1, (1, 0), 1),
    ]:
        found = contacts(list(shapes), list(positions))  # type: ignore[arg-type]
        assert len(found) == count
        np.testing.assert_allclose(found.gap, gap, atol=1e-12)
        np.testing.assert_allclose(found.normal, np.tile(normal, (count, 1)), atol=1e-12)


@pytest.mark.parametrize("voussoirs", [7, 15, 21])
def test_every_joint_of_an_arch_is_a_side(voussoirs: int) -> None:
    """Stones that touch by rounding only, on either side of zero, touch by whole faces."""
    model = compile_scene(examples.load("stone-arch", voussoirs=voussoirs))
    found = Neighbours(model).detect(initial_state(model), 1e-6)
    assert len(found) == 2 * (voussoirs + 1)


def test_a_sphere_on_a_mesh_of_triangles_does_not_feel_the_seam() -> None:
    floor = TriangleMesh([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], [(0, 1, 2), (0, 2, 3)])
    found = contacts([floor, Sphere(0.5)], [(0, 0, 0), (0.1, 0.1, 0.49)])
    np.testing.assert_allclose(found.normal, np.tile((0, 0, 1), (len(found), 1)), atol=1e-12)
    np.testing.assert_allclose(found.gap.min(), -0.01, atol=1e-12)


def random_packing(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.uniform(0, 2.0, (n, 3)), rng.uniform(0.05, 0.3, n)


def test_spheres_against_all_pairs() -> None:
    rng = np.random.default_rng(0)
    centres, radii = random_packing(rng, 200)
    table = collider_table(3, [(k, Sphere(float(r)), 0) for k, r in enumerate(radii)])
    detector = Detector(table, movable=np.ones(200, dtype=bool))
    turn = np.tile(UPRIGHT, (200, 1))
    for _ in range(20):  # the list is used again and made again as they move
        centres = centres + rng.normal(size=centres.shape) * 0.004
        found = detector.detect(centres, turn, 0.01)
        apart = np.linalg.norm(centres[:, None] - centres[None], axis=2) - radii[:, None] - radii[None]
        i, j = np.nonzero(np.triu(apart <= 0.01, 1))
        np.testing.assert_array_equal(found.a, i)
        np.testing.assert_array_equal(found.b, j)
        np.testing.assert_allclose(found.gap, apart[i, j], atol=1e-12)
        fresh = Detector(table, movable=np.ones(200, dtype=bool)).detect(centres, turn, 0.01)
        for name in ("a", "b", "feature", "point", "normal", "gap"):
            np.testing.assert_array_equal(getattr(found, name), getattr(fresh, name))


def test_turned_cubes_touch_in_a_polygon() -> None:
    found = contacts([Box((1, 1, 1))] * 2, [(0, 0, 0), (0, 0, 0.999)], [UPRIGHT, about((0, 0, 1), 0.3)])
    assert 4 <= len(found) <= 8
    np.testing.assert_allclose(found.gap, -0.001, atol=1e-12)


def test_nothing_to_detect() -> None:
    assert len(contacts([Sphere(1.0)], [(0, 0, 0)])) == 0
    table = collider_table(3, [])
    none = Detector(table, movable=np.zeros(0, dtype=bool)).detect(np.zeros((0, 3)), np.zeros((0, 4)))
    assert len(none) == 0


def test_periodic_images_touch() -> None:
    table = collider_table(3, [(0, Sphere(0.5), 0), (1, Sphere(0.5), 0)])
    detector = Detector(table, movable=np.ones(2, dtype=bool), period=(4.0, None))
    found = detector.detect(np.array([[0.2, 0, 0], [3.3, 0, 0]]), np.tile(UPRIGHT, (2, 1)), 0.0)
    assert found.gap[0] == pytest.approx(-0.1)
    np.testing.assert_allclose(found.normal[0], (-1, 0, 0), atol=1e-12)
    np.testing.assert_allclose(found.shift[0], (-4, 0, 0), atol=1e-12)


@pytest.mark.parametrize("distance", [0.0, 0.01])
@pytest.mark.parametrize("period", [(None, None), (1.5, None)])
def test_threads_change_nothing(
    monkeypatch: pytest.MonkeyPatch, distance: float, period: tuple[float | None, None]
) -> None:
    rng = np.random.default_rng(2)
    boxes: list[Shape] = [Box(tuple(edge)) for edge in rng.uniform(0.2, 0.4, (60, 3)).tolist()]
    round_ones: list[Shape] = [Sphere(0.1), Capsule(0.1, 0.2), Cylinder(0.1, 0.3)] * 8
    several = [(k // 3, shape, 0) for k, shape in enumerate(round_ones)]  # bodies of three colliders each
    alone = [(k, shape, 0) for k, shape in enumerate(boxes, start=len(round_ones) // 3)]
    table = collider_table(3, several + alone)
    n = several[-1][0] + 1 + len(boxes)
    positions, turns = rng.uniform(0.0, 1.0, (n, 3)), rng.normal(size=(n, 4))
    steps = [(positions, turns), (positions + rng.uniform(0.0, 0.01, (n, 3)), turns + 0.01)]
    found = []
    for size in (1, 2, 3, 7):
        monkeypatch.setattr("clapas.collision.shared_pairs.WORTH_THREADS", 0)
        monkeypatch.setattr(
            "clapas.collision.shared_pairs.thread_count", lambda wanted, work, pieces, n=size: n
        )
        detector = Detector(table, period=period)
        found.append([detector.detect(*places, distance) for places in steps])
    assert len(found[0][0]) > 100
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            for name in ("a", "b", "feature", "point", "normal", "gap", "shift"):
                np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
