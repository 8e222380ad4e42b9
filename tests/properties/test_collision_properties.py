"""What must hold of contacts whatever the bodies: other ways to the same answer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clapas.collision import Detector
from clapas.geometry import rotations
from clapas.geometry.colliders import Contacts
from clapas.geometry.shapes import Box, Capsule, Cylinder, Disk, Polyhedron, Shape, Sphere
from clapas.geometry.table import Frame, collider_table

SOLIDS: list[Shape] = [
    Sphere(0.6),
    Box((1.0, 0.8, 1.2)),
    Capsule(0.3, 0.9),
    Polyhedron(np.random.default_rng(1).normal(size=(14, 3)) * 0.5),
]
SEEDS = st.integers(0, 2**31)
SOLID = st.sampled_from(SOLIDS)


def detector(shapes: list[Shape], **options: object) -> Detector:
    d = shapes[0].d
    table = collider_table(d, [(k, shape, 0, Frame.own(d)) for k, shape in enumerate(shapes)])
    return Detector(table, **options)  # type: ignore[arg-type]


def unit_quaternions(rng: np.random.Generator, n: int) -> np.ndarray:
    q = rng.normal(size=(n, 4))
    return np.asarray(q / np.linalg.norm(q, axis=1)[:, None])


def two_near(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return np.array([np.zeros(3), rng.normal(size=3) * 0.6]), unit_quaternions(rng, 2)


def assert_same(one: Contacts, two: Contacts) -> None:
    for name in ("a", "b", "feature", "point", "normal", "gap", "shift"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@settings(max_examples=60)
@given(SEEDS, SOLID, SOLID)
def test_a_common_rigid_motion_keeps_gaps_however_deep(seed: int, one: Shape, two: Shape) -> None:
    x, q = two_near(seed)
    rng = np.random.default_rng(seed + 1)
    (turn,), shift = unit_quaternions(rng, 1), rng.normal(size=3)
    here = detector([one, two]).detect(x, q, 0.2)
    moved = rotations.rotate(turn, x) + shift
    there = detector([one, two]).detect(moved, rotations.product(np.tile(turn, (2, 1)), q), 0.2)
    assert (len(here) > 0) == (len(there) > 0)
    if len(here):
        assert here.gap.min() == pytest.approx(there.gap.min(), abs=1e-11)


@settings(max_examples=60)
@given(SEEDS, SOLID, SOLID)
def test_exchanging_the_bodies_turns_the_normal(seed: int, one: Shape, two: Shape) -> None:
    x, q = two_near(seed)
    here = detector([one, two]).detect(x, q, 0.2)
    there = detector([two, one]).detect(x[::-1], q[::-1], 0.2)
    assert (len(here) > 0) == (len(there) > 0)
    if len(here):
        assert here.gap.min() == pytest.approx(there.gap.min(), abs=1e-12)


def grains_of_many_sizes(rng: np.random.Generator, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Centres and radii; sizes in the ratio 50."""
    radii = 0.01 * 50.0 ** rng.uniform(0.0, 1.0, 150) ** 2
    radii[:2] = 0.01, 0.5
    return rng.uniform(-1.0, 2.0, (len(radii), d)), radii


@settings(max_examples=15)
@given(SEEDS, st.sampled_from([2, 3]), st.booleans(), st.booleans())
def test_grains_of_many_sizes_against_all_pairs(seed: int, d: int, wrap_x: bool, wrap_y: bool) -> None:
    rng = np.random.default_rng(seed)
    x, radii = grains_of_many_sizes(rng, d)
    period = np.array([3.0 if wrap_x else 0.0, 2.5 if wrap_y else 0.0])
    shapes: list[Shape] = [Sphere(float(r)) if d == 3 else Disk(float(r)) for r in radii]
    turns = np.tile((1.0, 0.0, 0.0, 0.0), (len(x), 1)) if d == 3 else np.zeros((len(x), 1))
    finder = detector(shapes, period=tuple(length or None for length in period))
    for _ in range(4):
        x = x + rng.normal(size=x.shape) * 0.01
        found = finder.detect(x, turns, 0.02)
        away = x[None] - x[:, None]
        for m in np.flatnonzero(period):
            away[..., m] -= period[m] * np.rint(away[..., m] / period[m])
        gap = np.linalg.norm(away, axis=2) - radii[:, None] - radii
        i, j = np.nonzero(np.triu(gap <= 0.02, 1))
        # A pair may also touch around the other side of the cell: its nearest image is what is compared.
        nearest: dict[tuple[int, int], float] = {}
        for a, b, g in zip(found.a.tolist(), found.b.tolist(), found.gap.tolist(), strict=True):
            nearest[a, b] = min(g, nearest.get((a, b), np.inf))
        assert list(nearest) == list(zip(i.tolist(), j.tolist(), strict=True))
        np.testing.assert_allclose(list(nearest.values()), gap[i, j], atol=1e-12)


@settings(max_examples=15)
@given(SEEDS)
def test_the_list_changes_the_speed_and_nothing_else(seed: int) -> None:
    """Solids that move and turn: a kept list, a list made each time, and no skin at all."""
    rng = np.random.default_rng(seed)
    shapes = [[*SOLIDS, Cylinder(0.3, 0.8)][k] for k in rng.integers(0, 5, 30)]
    x, q = rng.uniform(0.0, 3.0, (30, 3)), unit_quaternions(rng, 30)
    kept, bare = detector(shapes), detector(shapes, skin=0.0)
    for _ in range(6):
        x = x + rng.normal(size=x.shape) * 0.001
        q = q + rng.normal(size=q.shape) * 0.001
        found = kept.detect(x, q, 0.01)
        assert_same(found, bare.detect(x, q, 0.01))
        assert_same(found, detector(shapes).detect(x, q, 0.01))
    assert kept.n_lists < bare.n_lists


@settings(max_examples=15)
@given(SEEDS)
def test_whole_periods_do_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shapes = [SOLIDS[k] for k in rng.integers(0, len(SOLIDS), 12)]
    x, q = rng.uniform(0.0, 4.0, (12, 3)), unit_quaternions(rng, 12)
    jumps = np.column_stack((rng.integers(-2, 3, 12) * 4.0, rng.integers(-2, 3, 12) * 5.0, np.zeros(12)))
    one, two = (detector(shapes, period=(4.0, 5.0)).detect(place, q, 0.05) for place in (x, x + jumps))
    np.testing.assert_array_equal(one.a, two.a)
    np.testing.assert_array_equal(one.b, two.b)
    np.testing.assert_allclose(one.gap, two.gap, atol=1e-11)
    np.testing.assert_allclose(one.normal, two.normal, atol=1e-7)
