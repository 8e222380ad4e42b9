"""What must hold for every convex set of the package, whatever the point."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from clapas.convex import (
    Cone,
    ConvexSet,
    CoulombCone,
    Disc,
    DualCoulombCone,
    Interval,
    Orthant,
    PolyhedralCone,
    ProductCone,
    ProductSet,
    TrescaSet,
    coulomb,
    fischer_burmeister,
    fischer_burmeister_jacobian,
    jordan,
)
from clapas.typing import Array, Mask

always_same = settings(deadline=None, derandomize=True, max_examples=40)

FRICTION = st.one_of(st.sampled_from([0.0, 1e-8, 1.0, 1e8]), st.floats(1e-3, 1e3))
FRICTION_OF_PYRAMIDS = st.one_of(st.sampled_from([0.0, 1e-4, 1.0, 1e4]), st.floats(1e-3, 1e3))
MODERATE_FRICTION = st.floats(0.01, 100.0)
THRESHOLD = st.one_of(st.just(0.0), st.floats(0.0, 10.0, allow_subnormal=False))


def numbers(n: int, kind: st.SearchStrategy[float]) -> st.SearchStrategy[Array]:
    return hnp.arrays(np.float64, n, elements=kind)


def components(size: float = 100.0) -> st.SearchStrategy[float]:
    return st.one_of(st.sampled_from([0.0, 1.0, -1.0]), st.floats(-size, size, allow_subnormal=False))


@st.composite
def points(draw: st.DrawFn, n: int, d: int) -> Array:
    scale = draw(st.sampled_from([1e-120, 1.0, 1e120]))
    x = draw(hnp.arrays(np.float64, (n, d), elements=components()))
    return scale * np.where(np.abs(x) < 1e-100, 0.0, x)  # so that no product falls below the normal numbers


def coulomb_cone(draw: st.DrawFn, n: int, d: int) -> Cone:
    return CoulombCone(draw(numbers(n, FRICTION)), d)


def dual_cone(draw: st.DrawFn, n: int, d: int) -> Cone:
    return DualCoulombCone(draw(numbers(n, FRICTION)), d)


def polar_cone(draw: st.DrawFn, n: int, d: int) -> Cone:
    return coulomb_cone(draw, n, d).polar()


def orthant(draw: st.DrawFn, n: int, d: int) -> Cone:
    return Orthant()


def pyramid(draw: st.DrawFn, n: int, d: int) -> Cone:
    build = draw(st.sampled_from([PolyhedralCone.inscribed, PolyhedralCone.circumscribed]))
    return build(draw(numbers(n, FRICTION_OF_PYRAMIDS)), draw(st.integers(3, 9)), d)


def pyramid_by_edges(draw: st.DrawFn, n: int, d: int) -> Cone:
    cone = PolyhedralCone.inscribed(draw(MODERATE_FRICTION), draw(st.integers(3, 9)), d)
    return PolyhedralCone(generators=cone.generators)


def pyramid_by_faces(draw: st.DrawFn, n: int, d: int) -> Cone:
    cone = PolyhedralCone.circumscribed(draw(MODERATE_FRICTION), draw(st.integers(3, 9)), d)
    return PolyhedralCone(facets=cone.facets)


def product_of_cones(draw: st.DrawFn, n: int, d: int) -> Cone:
    cut = draw(st.integers(0, n))
    order = np.array(draw(st.permutations(range(n))), dtype=np.int64)
    return ProductCone((coulomb_cone(draw, cut, d), orthant(draw, n, d)), (order[:cut], order[cut:]))


def disc(draw: st.DrawFn, n: int, d: int) -> ConvexSet:
    return Disc(draw(numbers(n, THRESHOLD)))


def tresca(draw: st.DrawFn, n: int, d: int) -> ConvexSet:
    return TrescaSet(draw(numbers(n, THRESHOLD)))


def product_of_sets(draw: st.DrawFn, n: int, d: int) -> ConvexSet:
    cut = draw(st.integers(0, n))
    return ProductSet.consecutive((tresca(draw, cut, d), coulomb_cone(draw, n - cut, d)), (cut, n - cut))


CONES = [
    coulomb_cone,
    dual_cone,
    polar_cone,
    orthant,
    pyramid,
    pyramid_by_edges,
    pyramid_by_faces,
    product_of_cones,
]
SETS = [*CONES, disc, tresca, product_of_sets]

Builder = Callable[[st.DrawFn, int, int], ConvexSet]


@st.composite
def set_and_points(draw: st.DrawFn, build: Builder) -> tuple[ConvexSet, Array, Array]:
    n, d = draw(st.integers(0, 4)), draw(st.sampled_from([2, 3]))
    return build(draw, n, d), draw(points(n, d)), draw(points(n, d))


def size_of(*vectors: Array) -> Array:
    """Largest component at each contact, of all vectors together, (n,)."""
    return np.max([np.abs(x).max(axis=1, initial=0.0) for x in vectors], axis=0)


def dot(x: Array, y: Array) -> Array:
    result: Array = np.einsum("ij,ij->i", x, y)
    return result


def no_jump(here: Array, *nearby: Array) -> Mask:
    return np.all([np.abs(other - here).max(axis=(1, 2), initial=0.0) < 1e-3 for other in nearby], axis=0)


ROUNDING = 1e-12


@pytest.mark.parametrize("build", SETS)
@given(data=st.data())
@always_same
def test_the_projection_is_in_the_set_and_stays_there(build: Builder, data: st.DataObject) -> None:
    convex, x, _ = data.draw(set_and_points(build))
    p = convex.project(x)
    scale = size_of(x)
    assert (convex.distance(p) <= ROUNDING * scale).all()
    assert (size_of(convex.project(p) - p) <= ROUNDING * scale).all()


@pytest.mark.parametrize("build", SETS)
@given(data=st.data())
@always_same
def test_the_projection_is_the_nearest_point(build: Builder, data: st.DataObject) -> None:
    # (x − P(x))·(z − P(x)) ≤ 0 for each z of the set: no other point has this property.
    convex, x, y = data.draw(set_and_points(build))
    p, z = convex.project(x), convex.project(y)
    scale = np.where(size_of(x, y) > 0.0, size_of(x, y), 1.0)[:, None]
    assert (dot((x - p) / scale, (z - p) / scale) <= ROUNDING).all()


@pytest.mark.parametrize("build", SETS)
@given(data=st.data())
@always_same
def test_projections_never_move_apart(build: Builder, data: st.DataObject) -> None:
    convex, x, y = data.draw(set_and_points(build))
    scale = np.where(size_of(x, y) > 0.0, size_of(x, y), 1.0)[:, None]
    apart = np.linalg.norm((convex.project(x) - convex.project(y)) / scale, axis=1)
    assert (apart <= np.linalg.norm((x - y) / scale, axis=1) + ROUNDING).all()


@pytest.mark.parametrize("build", SETS)
@given(data=st.data())
@always_same
def test_membership_agrees_with_distance_and_projection(build: Builder, data: st.DataObject) -> None:
    convex, x, _ = data.draw(set_and_points(build))
    np.testing.assert_array_equal(convex.contains(x), (convex.project(x) == x).all(axis=1))
    assert convex.contains(x, tol=float(convex.distance(x).max(initial=0.0))).all()


@pytest.mark.parametrize("build", SETS)
@given(data=st.data())
@always_same
def test_jacobian_is_symmetric_with_eigenvalues_between_zero_and_one(
    build: Builder, data: st.DataObject
) -> None:
    convex, x, _ = data.draw(set_and_points(build))
    jacobian = convex.jacobian(x)
    assert jacobian.shape == (*x.shape, x.shape[1])
    np.testing.assert_allclose(jacobian, np.swapaxes(jacobian, 1, 2), rtol=0, atol=1e-12)
    values = np.linalg.eigvalsh(jacobian)
    assert ((values >= -1e-12) & (values <= 1.0 + 1e-12)).all()


@pytest.mark.parametrize("build", SETS)
@given(data=st.data())
@always_same
def test_jacobian_predicts_small_moves_away_from_kinks(build: Builder, data: st.DataObject) -> None:
    convex, x, move = data.draw(set_and_points(build))
    x = x / np.where(size_of(x) > 0.0, size_of(x), 1.0)[:, None]
    move = 1e-6 * move / np.where(size_of(move) > 0.0, size_of(move), 1.0)[:, None]
    found = (convex.project(x + move) - convex.project(x - move)) / 2.0
    here = convex.jacobian(x)
    # Where the derivative jumps between x − move and x + move there is a kink: no witness.
    smooth = no_jump(here, convex.jacobian(x + move), convex.jacobian(x - move))
    predicted = np.einsum("nij,nj->ni", here, move)
    assert (size_of(found - predicted)[smooth] < 1e-10).all()


@pytest.mark.parametrize("build", CONES)
@given(data=st.data())
@always_same
def test_moreau_decomposition(build: Callable[[st.DrawFn, int, int], Cone], data: st.DataObject) -> None:
    cone, x, y = data.draw(set_and_points(build))
    assert hasattr(cone, "dual")
    p, rest = cone.project(x), cone.polar().project(x)
    scale = np.where(size_of(x, y) > 0.0, size_of(x, y), 1.0)[:, None]
    assert (size_of(p + rest - x) <= ROUNDING * scale[:, 0]).all()
    assert (np.abs(dot(p / scale, rest / scale)) <= ROUNDING).all()
    assert (dot(p / scale, cone.dual().project(y) / scale) >= -ROUNDING).all()


@pytest.mark.parametrize("build", CONES)
@given(data=st.data(), factor=st.floats(1e-3, 1e3))
@always_same
def test_cones_have_no_length(build: Builder, data: st.DataObject, factor: float) -> None:
    cone, x, _ = data.draw(set_and_points(build))
    p = cone.project(x)
    tolerance = ROUNDING * size_of(x)
    assert (size_of(cone.project(factor * x) / factor - p) <= tolerance).all()
    # Euler's identity for homogeneous functions, at kinks too.
    assert (size_of(np.einsum("nij,nj->ni", cone.jacobian(x), x) - p) <= 10 * tolerance).all()


@given(data=st.data(), n=st.integers(0, 4))
@always_same
def test_interval_is_nearest_nonexpansive_and_differentiable(data: st.DataObject, n: int) -> None:
    bounds = data.draw(hnp.arrays(np.float64, (2, n), elements=components()))
    interval = Interval(bounds.min(axis=0), bounds.max(axis=0))
    x, y = data.draw(points(n, 2)).T
    p, z = interval.project(x), interval.project(y)
    assert interval.contains(p).all()
    assert (np.sign(x - p) * (z - p) <= 0.0).all()
    assert (np.abs(p - z) <= np.abs(x - y)).all()
    assert set(interval.jacobian(x).ravel()) <= {0.0, 1.0}


@given(data=st.data(), n=st.integers(0, 4), d=st.sampled_from([2, 3]))
@always_same
def test_fischer_burmeister_vanishes_at_complementary_pairs(data: st.DataObject, n: int, d: int) -> None:
    z, one = data.draw(points(n, d)), np.ones(n)
    x, y = coulomb.project(z, one), coulomb.project(-z, one)
    assert (size_of(fischer_burmeister(x, y)) <= ROUNDING * size_of(z)).all()


@given(data=st.data(), n=st.integers(0, 4), d=st.sampled_from([2, 3]))
@always_same
def test_fischer_burmeister_vanishes_nowhere_else(data: st.DataObject, n: int, d: int) -> None:
    # It grows like the natural residual: (2 − √2) |x − P(x − y)| ≤ |φ| ≤ (2 + √2) |x − P(x − y)|,
    # sharp bounds of Bi, Pan, Chen 2011.
    x, y = data.draw(points(n, d)), data.draw(points(n, d))
    scale = np.where(size_of(x, y) > 0.0, size_of(x, y), 1.0)[:, None]
    natural = np.linalg.norm((x - coulomb.project(x - y, np.ones(n))) / scale, axis=1)
    phi = np.linalg.norm(fischer_burmeister(x, y) / scale, axis=1)
    assert (phi >= (2.0 - np.sqrt(2.0)) * natural - 1e-13).all()
    assert (phi <= (2.0 + np.sqrt(2.0)) * natural + 1e-13).all()


@given(data=st.data(), n=st.integers(0, 4), d=st.sampled_from([2, 3]), eps=st.sampled_from([0.0, 1e-3, 1.0]))
@always_same
def test_fischer_burmeister_jacobians_predict_small_moves(
    data: st.DataObject, n: int, d: int, eps: float
) -> None:
    x, y, move = (data.draw(hnp.arrays(np.float64, (n, d), elements=components(1.0))) for _ in range(3))
    move *= 1e-6
    for k, (dx, dy) in enumerate(((move, 0.0 * move), (0.0 * move, move))):
        found = (fischer_burmeister(x + dx, y + dy, eps) - fischer_burmeister(x - dx, y - dy, eps)) / 2.0
        here, ahead, behind = (
            fischer_burmeister_jacobian(x + sign * dx, y + sign * dy, eps)[k] for sign in (0.0, 1.0, -1.0)
        )
        smooth = no_jump(here, ahead, behind)
        predicted = np.einsum("nij,nj->ni", here, move)
        assert (size_of(found - predicted)[smooth] < 1e-9).all()


@given(data=st.data(), n=st.integers(0, 4), d=st.sampled_from([2, 3]))
@always_same
def test_fischer_burmeister_jacobians_stay_bounded(data: st.DataObject, n: int, d: int) -> None:
    # √(x∘x + y∘y) moves no more than (x, y). Close to its kinks some figures of the derivative are lost.
    x, y = data.draw(points(n, d)), data.draw(points(n, d))
    by_x, by_y = fischer_burmeister_jacobian(x, y)
    of_root = np.concatenate((np.eye(d) - by_x, np.eye(d) - by_y), axis=2)
    assert (np.linalg.norm(of_root, ord=2, axis=(1, 2)) <= 1.05).all()


@given(data=st.data(), n=st.integers(0, 4), d=st.sampled_from([2, 3]))
@always_same
def test_square_root_squares_back(data: st.DataObject, n: int, d: int) -> None:
    x = coulomb.project(data.draw(points(n, d)), np.ones(n))
    root = jordan.sqrt(x)
    assert (size_of(jordan.square(root) - x) <= ROUNDING * size_of(x)).all()
    assert (np.linalg.norm(root[:, 1:], axis=1) <= root[:, 0] * (1.0 + 1e-14)).all()
