"""Every pair of shapes in random places, against slow and plain computations of the same distances."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest

from clapas.geometry.colliders import Contacts
from clapas.geometry.shapes import (
    Box,
    Capsule,
    Cylinder,
    Disk,
    Polygon,
    Polyhedron,
    Shape,
    Sphere,
    TriangleMesh,
)
from tests.unit.collision.oracles import (
    best_separation,
    deepest,
    placed,
    points_and_radius,
    random_quaternion,
    signed_distance,
    support,
    two_bodies,
)

FAR = 5.0  # m: further than any two of these are apart
SOLIDS: dict[str, Shape] = {
    "sphere": Sphere(0.5),
    "box": Box((1.0, 0.8, 1.2)),
    "capsule": Capsule(0.3, 0.9),
    "rock": Polyhedron(np.random.default_rng(1).normal(size=(14, 3)) * 0.5),
    "tetrahedron": Polyhedron([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]),
}
ROUND = SOLIDS | {"cylinder": Cylinder(0.4, 1.0)}
TRIANGLE = TriangleMesh([(-0.8, -0.5, 0.0), (0.9, -0.4, 0.0), (0.1, 0.8, 0.0)], [(0, 1, 2)])
Place = tuple[np.ndarray, np.ndarray, np.ndarray]


def random_places(seed: int, count: int) -> list[Place]:
    """Where the second body is, and how the two are turned: from deep inside each other to apart."""
    rng = np.random.default_rng(seed)
    places = []
    for _ in range(count):
        away = rng.normal(size=3)
        away *= rng.uniform(0.1, 1.6) / np.linalg.norm(away)
        places.append((away, random_quaternion(rng), random_quaternion(rng)))
    return places


def touched(one: Shape, two: Shape, place: Place) -> Contacts:
    away, q_a, q_b = place
    return two_bodies(one, two).detect([np.zeros(3), away], [q_a, q_b], FAR)


def exact_gap(one: Shape, two: Shape, place: Place) -> float:
    away, q_a, q_b = place
    (a, r_a), (b, r_b) = points_and_radius(one), points_and_radius(two)
    return signed_distance(placed(a, np.zeros(3), q_a), placed(b, away, q_b)) - r_a - r_b


def separations(one: Shape, two: Shape, place: Place, n: np.ndarray) -> np.ndarray:
    """How far the two are apart along directions n (m, 3)."""
    away, q_a, q_b = place
    return -support(two, away, q_b, -n) - support(one, np.zeros(3), q_a, n)


def check_deepest(found: Contacts, one: Shape, two: Shape, place: Place, tol: float) -> None:
    """The normal is unit, the gap is the separation along it, the point is in the middle of the gap."""
    k = deepest(found)
    n, gap = found.normal[k], found.gap[k]
    assert np.linalg.norm(n) == pytest.approx(1.0, abs=1e-12)
    assert separations(one, two, place, n[None])[0] == pytest.approx(gap, abs=tol)
    top = support(one, np.zeros(3), place[1], n[None])[0]
    assert found.point[k] @ n == pytest.approx(top + 0.5 * gap, abs=tol)


@pytest.mark.parametrize(("one", "two"), list(combinations_with_replacement(SOLIDS, 2)))
def test_gap_is_the_distance_or_the_least_depth(one: str, two: str) -> None:
    a, b = SOLIDS[one], SOLIDS[two]
    for place in random_places(3, 25):
        found = touched(a, b, place)
        assert found.gap.min() == pytest.approx(exact_gap(a, b, place), abs=1e-12)
        check_deepest(found, a, b, place, 1e-12)
        assert len(found) <= 9
        assert len(np.unique(found.feature)) == len(found)


@pytest.mark.parametrize("other", ROUND)
def test_cylinders_leave_along_the_best_direction(other: str) -> None:
    a, b = ROUND["cylinder"], ROUND[other]
    rng = np.random.default_rng(4)
    anywhere = rng.normal(size=(2000, 3))
    for place in random_places(5, 20):
        found = touched(a, b, place)
        check_deepest(found, a, b, place, 1e-7)
        gap = found.gap.min()
        n = found.normal[deepest(found)]
        nearby = n + rng.normal(size=(2000, 3)) * 10.0 ** rng.uniform(-5, 0, size=(2000, 1))
        tries = np.concatenate((anywhere, nearby))
        tries /= np.linalg.norm(tries, axis=1)[:, None]
        assert separations(a, b, place, tries).max() <= gap + 1e-7


@pytest.mark.parametrize(
    ("other", "seed", "which"),
    [("cylinder", 5, 0), ("cylinder", 11, 6), ("rock", 5, 25), ("rock", 11, 5), ("box", 5, 8)],
)
def test_the_best_direction_out_of_a_deep_overlap(other: str, seed: int, which: int) -> None:
    """Several directions are the best nearby; the regular prism of a cylinder prefers a wrong one."""
    a, b, place = ROUND["cylinder"], ROUND[other], random_places(seed, 60)[which]
    best = best_separation(lambda n: separations(a, b, place, n), np.random.default_rng(0))
    assert best < 0.0
    assert touched(a, b, place).gap.min() == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("other", SOLIDS)
def test_triangles_keep_their_distance(other: str) -> None:
    """Overlapping, a triangle pushes along its normal rather than sideways: then only n is checked."""
    solid = SOLIDS[other]
    for place in random_places(6, 25):
        found = touched(TRIANGLE, solid, place)
        check_deepest(found, TRIANGLE, solid, place, 1e-12)
        exact = exact_gap(TRIANGLE, solid, place)
        if exact > 0.0:
            assert found.gap.min() == pytest.approx(exact, abs=1e-12)
        else:
            assert found.gap.min() <= exact + 1e-12


FLAT: dict[str, Shape] = {
    "disk": Disk(0.5),
    "square": Polygon([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)]),
    "heptagon": Polygon([(0.6 * np.cos(t), 0.5 * np.sin(t)) for t in 2 * np.pi * np.arange(7) / 7]),
    "sliver": Polygon([(-0.7, -0.05), (0.8, 0.0), (-0.6, 0.1)]),
}


def corners(shape: Shape, x: np.ndarray, angle: float) -> tuple[np.ndarray, float]:
    if isinstance(shape, Disk):
        return x[None], shape.radius
    (piece,) = shape.pieces
    local = piece.hull.vertices + np.array(piece.position)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return local @ turn.T + x, 0.0


@pytest.mark.parametrize(("one", "two"), list(combinations_with_replacement(FLAT, 2)))
def test_gap_in_the_plane(one: str, two: str) -> None:
    rng, a, b = np.random.default_rng(7), FLAT[one], FLAT[two]
    for _ in range(25):
        x, angles = rng.normal(size=2), rng.uniform(-3.0, 3.0, 2)
        x *= rng.uniform(0.1, 1.6) / np.linalg.norm(x)
        found = two_bodies(a, b).detect([(0.0, 0.0), x], angles[:, None], FAR)
        (p, r_a), (q, r_b) = corners(a, np.zeros(2), angles[0]), corners(b, x, angles[1])
        assert found.gap.min() == pytest.approx(signed_distance(p, q) - r_a - r_b, abs=1e-12)
        k = deepest(found)
        n, gap = found.normal[k], found.gap[k]
        assert (q @ n).min() - (p @ n).max() - r_a - r_b == pytest.approx(gap, abs=1e-12)
        assert found.point[k] @ n == pytest.approx((p @ n).max() + r_a + 0.5 * gap, abs=1e-12)
        assert len(found) <= 2


@pytest.mark.parametrize(("one", "two"), list(combinations_with_replacement(ROUND, 2)))
def test_features_outlive_small_motions(one: str, two: str) -> None:
    a, b = ROUND[one], ROUND[two]
    for place in random_places(8, 10):
        away, q_a, q_b = place
        before, after = (touched(a, b, (away + step, q_a, q_b)) for step in (0.0, 1e-9))
        assert len(before) == len(after)
        kept = np.intersect1d(before.feature, after.feature)
        if "cylinder" not in (one, two):
            assert len(kept) == len(before)
