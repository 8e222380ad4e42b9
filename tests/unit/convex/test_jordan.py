from __future__ import annotations

import numpy as np
import pytest

from clapas.convex import coulomb, jordan
from clapas.convex.jordan import fischer_burmeister, fischer_burmeister_jacobian
from clapas.errors import ProblemError
from clapas.typing import Array

from .differences import central_differences


def vectors(n: int, d: int, seed: int) -> Array:
    return np.random.default_rng(seed).normal(size=(n, d))


def in_cone(n: int, d: int, seed: int) -> Array:
    return coulomb.project(vectors(n, d, seed), np.ones(n))


def complementary_pairs(n: int, d: int, seed: int) -> tuple[Array, Array]:
    """All kinds of pairs Q ∋ x ⟂ y ∈ Q: Moreau's two parts of random, interior and boundary vectors."""
    z = vectors(n, d, seed)
    z[: n // 4, 0] = np.linalg.norm(z[: n // 4, 1:], axis=1)  # y = 0, x on the boundary
    z[n // 4 : n // 2, 0] = -np.linalg.norm(z[n // 4 : n // 2, 1:], axis=1)  # x = 0, y on the boundary
    z[-1] = 0.0
    one = np.ones(n)
    return coulomb.project(z, one), coulomb.project(-z, one)


@pytest.fixture(params=[2, 3])
def d(request: pytest.FixtureRequest) -> int:
    return int(request.param)


# ------------------------------------------------------------------ the algebra


def test_product_by_its_matrix_and_its_unit(d: int) -> None:
    x, y = vectors(20, d, 1), vectors(20, d, 2)
    np.testing.assert_allclose(np.einsum("nij,nj->ni", jordan.arrow(x), y), jordan.product(x, y), atol=1e-14)
    np.testing.assert_array_equal(jordan.product(x, y), jordan.product(y, x))
    np.testing.assert_array_equal(jordan.product(x, jordan.identity(20, d)), x)


def test_jordan_identity(d: int) -> None:
    # Not associative, but x∘(y∘x²) = (x∘y)∘x².
    x, y = vectors(20, d, 3), vectors(20, d, 4)
    left = jordan.product(x, jordan.product(y, jordan.square(x)))
    right = jordan.product(jordan.product(x, y), jordan.square(x))
    np.testing.assert_allclose(left, right, atol=1e-12)


def test_spectral_decomposition(d: int) -> None:
    x = vectors(20, d, 5)
    x[0, 1:] = 0.0
    values, idempotents = jordan.spectral(x)
    assert (values[:, 0] <= values[:, 1]).all()
    np.testing.assert_allclose(np.einsum("nk,nkd->nd", values, idempotents), x, atol=1e-14)
    first, second = idempotents[:, 0], idempotents[:, 1]
    np.testing.assert_allclose(first + second, jordan.identity(20, d), atol=1e-15)
    np.testing.assert_allclose(jordan.product(first, second), 0.0, atol=1e-15)
    for c in (first, second):
        np.testing.assert_allclose(jordan.product(c, c), c, atol=1e-15)
    # The eigenvalues of x are eigenvalues of the matrix L(x).
    np.testing.assert_allclose(np.linalg.eigvalsh(jordan.arrow(x))[:, [0, -1]], values, atol=1e-13)


def test_eigenvalues_tell_who_is_in_the_cone(d: int) -> None:
    x = vectors(50, d, 6)
    inside = (jordan.spectral(x)[0] >= 0.0).all(axis=1)
    np.testing.assert_array_equal(inside, np.linalg.norm(x[:, 1:], axis=1) <= x[:, 0])
    assert 0 < inside.sum() < 50


def test_square_root(d: int) -> None:
    x = in_cone(60, d, 7)
    root = jordan.sqrt(x)
    np.testing.assert_allclose(jordan.square(root), x, atol=1e-14)
    assert (jordan.spectral(root)[0] >= -1e-15).all()
    np.testing.assert_allclose(jordan.sqrt(jordan.square(x)), x, atol=1e-7)  # √ loses half the figures at 0


def test_square_root_outside_is_that_of_the_projection(d: int) -> None:
    x = vectors(40, d, 8)
    projected = coulomb.project(x, np.ones(40))
    np.testing.assert_allclose(jordan.square(jordan.sqrt(x)), projected, atol=1e-14)


def test_inverse_determinant_and_trace(d: int) -> None:
    x = vectors(30, d, 9)
    inverse = jordan.inverse(x)
    np.testing.assert_allclose(jordan.product(x, inverse), jordan.identity(30, d), atol=1e-10)
    np.testing.assert_allclose(jordan.determinant(x), x[:, 0] ** 2 - (x[:, 1:] ** 2).sum(axis=1), atol=1e-13)
    np.testing.assert_allclose(jordan.determinant(x) * jordan.determinant(inverse), 1.0, rtol=1e-10)
    np.testing.assert_array_equal(jordan.trace(x), 2.0 * x[:, 0])


def test_a_boundary_vector_has_no_inverse() -> None:
    with pytest.raises(ProblemError, match=r"vector 1, \[1.0, 1.0\], has a zero eigenvalue"):
        jordan.inverse(np.array([[1.0, 0.0], [1.0, 1.0]]))


# ------------------------------------------------------------------ Fischer-Burmeister


def test_it_is_what_the_formula_says(d: int) -> None:
    x, y = vectors(50, d, 10), vectors(50, d, 11)
    for eps in (0.0, 0.3):
        inside = jordan.square(x) + jordan.square(y) + 2.0 * eps**2 * jordan.identity(50, d)
        expected = x + y - jordan.sqrt(inside)
        np.testing.assert_allclose(fischer_burmeister(x, y, eps), expected, rtol=0, atol=1e-12)


def test_with_one_component_it_is_the_scalar_function() -> None:
    x, y = vectors(20, 1, 12), vectors(20, 1, 13)
    np.testing.assert_allclose(fischer_burmeister(x, y), x + y - np.hypot(x, y), atol=1e-15)
    by_x, by_y = fischer_burmeister_jacobian(x, y)
    np.testing.assert_allclose(by_x[:, :, 0], 1.0 - x / np.hypot(x, y), atol=1e-14)
    np.testing.assert_allclose(by_y[:, :, 0], 1.0 - y / np.hypot(x, y), atol=1e-14)


def test_zero_at_complementary_pairs(d: int) -> None:
    x, y = complementary_pairs(200, d, 14)
    np.testing.assert_allclose(np.einsum("ij,ij->i", x, y), 0.0, atol=1e-15)
    # To the last figures even at the boundary, where w_0 − |w_1| would leave 1e-8.
    np.testing.assert_allclose(fischer_burmeister(x, y), 0.0, atol=5e-15)


def test_not_zero_elsewhere(d: int) -> None:
    # It grows like the natural residual x − P_Q(x − y), between 2 − √2 and 2 + √2 times (Bi, Pan, Chen 2011).
    x, y = vectors(300, d, 15), vectors(300, d, 16)
    natural = np.linalg.norm(x - coulomb.project(x - y, np.ones(300)), axis=1)
    assert natural.min() > 1e-3
    ratio = np.linalg.norm(fischer_burmeister(x, y), axis=1) / natural
    assert ratio.min() > 2.0 - np.sqrt(2.0) - 1e-12
    assert ratio.max() < 2.0 + np.sqrt(2.0) + 1e-12


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e150, 1e300])
def test_size_does_not_matter(size: float, d: int) -> None:
    x, y = vectors(30, d, 17), vectors(30, d, 18)
    np.testing.assert_allclose(
        fischer_burmeister(size * x, size * y, size * 0.1) / size, fischer_burmeister(x, y, 0.1), atol=1e-14
    )
    for big, usual in zip(
        fischer_burmeister_jacobian(size * x, size * y), fischer_burmeister_jacobian(x, y), strict=True
    ):
        np.testing.assert_allclose(big, usual, atol=1e-13)


@pytest.mark.parametrize("eps", [0.0, 1e-2, 1.0])
def test_jacobians_are_the_derivatives(eps: float, d: int) -> None:
    x, y = vectors(200, d, 19), vectors(200, d, 20)
    z = x + y - fischer_burmeister(x, y, eps)
    smooth = jordan.spectral(z)[0][:, 0] > 0.05  # the kinks are where z touches the boundary
    assert smooth.sum() > 150
    x, y = x[smooth], y[smooth]
    by_x, by_y = fischer_burmeister_jacobian(x, y, eps)
    np.testing.assert_allclose(
        by_x, central_differences(lambda v: fischer_burmeister(v, y, eps), x, 1e-5), atol=1e-6
    )
    np.testing.assert_allclose(
        by_y, central_differences(lambda v: fischer_burmeister(x, v, eps), y, 1e-5), atol=1e-6
    )


def test_jacobian_where_the_root_is_a_multiple_of_the_unit(d: int) -> None:
    # Opposite tangential parts and equal normal ones: √ is smooth there but its direction is arbitrary.
    x = vectors(20, d, 21)
    y = -x.copy()
    y[:, 0] = x[:, 0]
    by_x, by_y = fischer_burmeister_jacobian(x, y)
    np.testing.assert_allclose(
        by_x, central_differences(lambda v: fischer_burmeister(v, y), x, 1e-5), atol=1e-6
    )
    np.testing.assert_allclose(
        by_y, central_differences(lambda v: fischer_burmeister(x, v), y, 1e-5), atol=1e-6
    )


DEGENERATE = {
    "both zero": (0.0, 0.0),
    "y zero": (2.0, 0.0),
    "x zero": (0.0, 3.0),
    "both on a ray": (2.0, 3.0),
    "on opposite rays": (2.0, -3.0),
    "both on the negative ray": (-2.0, -1.0),
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_jacobian_at_kinks_is_a_limit_of_derivatives(case: str, d: int) -> None:
    a, b = DEGENERATE[case]
    s = np.array([[0.6, 0.8]]) if d == 3 else np.array([[-1.0]])
    ray = np.column_stack(([1.0], s))
    x, y, e = a * ray, b * ray, jordan.identity(1, d)
    t = 1e-4
    expected_x = central_differences(lambda v: fischer_burmeister(v, y + t * e), x + t * e, 1e-7)
    expected_y = central_differences(lambda v: fischer_burmeister(x + t * e, v), y + t * e, 1e-7)
    by_x, by_y = fischer_burmeister_jacobian(x, y)
    np.testing.assert_allclose(by_x, expected_x, atol=5e-4)
    np.testing.assert_allclose(by_y, expected_y, atol=5e-4)
    assert np.linalg.eigvalsh(by_x + by_y).min() > 0.5


def test_jacobian_at_kinks_is_the_documented_one() -> None:
    s = np.array([0.6, 0.8])
    x, y = 2.0 * np.array([[1.0, *s]]), -1.5 * np.array([[1.0, *s]])
    c = np.array([1.0, *-s]) / np.sqrt(2.0)
    rest = np.eye(3) - np.outer(c, c)
    by_x, by_y = fischer_burmeister_jacobian(x, y)
    corner = (1.0 - np.sqrt(0.5)) * np.outer(c, c)
    np.testing.assert_allclose(by_x[0], corner + (1.0 - 2.0 / 2.5) * rest, atol=1e-14)
    np.testing.assert_allclose(by_y[0], corner + (1.0 + 1.5 / 2.5) * rest, atol=1e-14)


def test_smoothed_zeros_are_the_central_path(d: int) -> None:
    eps = 0.1
    x = in_cone(30, d, 22) + jordan.identity(30, d)
    y = eps**2 * jordan.inverse(x)
    np.testing.assert_allclose(fischer_burmeister(x, y, eps), 0.0, atol=1e-14)
    assert np.abs(fischer_burmeister(x, y)).max() > 1e-3


def test_smoothing_vanishes_uniformly(d: int) -> None:
    x, y = vectors(100, d, 23), vectors(100, d, 24)
    for eps in (1e-2, 1e-4, 1e-8):
        change = np.linalg.norm(fischer_burmeister(x, y, eps) - fischer_burmeister(x, y), axis=1)
        assert change.max() <= 2.0 * eps


def test_no_contacts(d: int) -> None:
    none = np.empty((0, d))
    assert fischer_burmeister(none, none).shape == (0, d)
    assert [j.shape for j in fischer_burmeister_jacobian(none, none)] == [(0, d, d), (0, d, d)]
    for function in (jordan.sqrt, jordan.square, jordan.inverse):
        assert function(none).shape == (0, d)
    assert jordan.arrow(none).shape == (0, d, d)
    assert jordan.determinant(none).shape == (0,)


# ------------------------------------------------------------------ Coulomb's law as a Lorentz pair


@pytest.mark.parametrize("friction", [1e-3, 0.5, 1.0, 20.0])
def test_scaling_carries_the_cones_and_the_work(friction: float, d: int) -> None:
    n = 100
    mu, one = np.full(n, friction), np.ones(n)
    r, u = coulomb.project(vectors(n, d, 25), mu), coulomb.project_dual(vectors(n, d, 26), mu)
    x, y = jordan.to_lorentz(r, u, mu)
    np.testing.assert_allclose(coulomb.project(x, one), x, atol=1e-14)
    np.testing.assert_allclose(coulomb.project(y, one), y, atol=1e-13)
    np.testing.assert_allclose(np.einsum("ij,ij->i", x, y), mu * np.einsum("ij,ij->i", r, u), atol=1e-12)


@pytest.mark.parametrize("friction", [1e-3, 0.5, 20.0])
def test_function_vanishes_at_coulomb_pairs(friction: float, d: int) -> None:
    mu = np.full(50, friction)
    z = vectors(50, d, 27)
    x, y = jordan.to_lorentz(coulomb.project(z, mu), coulomb.project_dual(-z, mu), mu)
    np.testing.assert_allclose(fischer_burmeister(x, y), 0.0, atol=1e-13)


def test_scaling_refuses_contacts_without_friction() -> None:
    with pytest.raises(ProblemError, match=r"mu of contact 1 must be positive.*got 0.0.*normal component"):
        jordan.to_lorentz(np.ones((2, 3)), np.ones((2, 3)), np.array([0.5, 0.0]))
