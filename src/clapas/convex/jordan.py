"""Jordan algebra of the Lorentz cone, and the Fischer-Burmeister function.

The Lorentz cone Q = {x : x_0 ≥ |x_1|} is the set of squares for the product x∘y = (x·y, x_0 y_1 + y_0 x_1),
as the nonnegative numbers are the squares of the reals. Every x has two eigenvalues x_0 ∓ |x_1|, is in Q when
both are nonnegative, and functions such as the square root act on them. Hence complementarity on Q is an
equation, as it is for numbers:

    Q ∋ x ⟂ y ∈ Q    if and only if    x + y − √(x∘x + y∘y) = 0.

Coulomb's law has this form after a change of scale, see :func:`to_lorentz`. Vectors have shape (n, d), the
component x_0 first.

References
----------
Faraut, Korányi 1994 (the algebra); Fukushima, Luo, Tseng 2002 (the function and its smoothing);
Cadoux 2009, section 4.2.3.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clapas.convex.base import length_and_direction
from clapas.errors import ProblemError
from clapas.typing import Array

# Below this, relative to the larger vector, an eigenvalue of √(x∘x + y∘y) is rounding error.
DEGENERATE = 16.0 * np.finfo(float).eps
HALF_ROOT = np.sqrt(0.5)


def product(x: Array, y: Array) -> Array:
    """Jordan product x∘y = (x·y, x_0 y_1 + y_0 x_1): commutative, not associative.

    Examples
    --------
    >>> product(np.array([[2.0, 1.0, 0.0]]), np.array([[1.0, 0.0, 3.0]]))
    array([[2., 1., 6.]])
    """
    return np.column_stack((np.einsum("ij,ij->i", x, y), x[:, :1] * y[:, 1:] + y[:, :1] * x[:, 1:]))


def identity(n: int, d: int) -> Array:
    """Unit element e = (1, 0) of the product, once per contact, (n, d)."""
    unit = np.zeros((n, d))
    unit[:, 0] = 1.0
    return unit


def arrow(x: Array) -> Array:
    """Matrix L(x) of the product, L(x) y = x∘y, (n, d, d): [[x_0, x_1ᵀ], [x_1, x_0 I]].

    Examples
    --------
    >>> arrow(np.array([[1.0, 2.0, 3.0]]))
    array([[[1., 2., 3.],
            [2., 1., 0.],
            [3., 0., 1.]]])
    """
    matrix = x[:, :1, None] * np.eye(x.shape[1])
    matrix[:, 0, 1:] = matrix[:, 1:, 0] = x[:, 1:]
    return matrix


def spectral(x: Array) -> tuple[Array, Array]:
    """Write x as λ₁ c₁ + λ₂ c₂: eigenvalues (n, 2) and idempotents (n, 2, d).

        λ = x_0 ∓ |x_1|,   c = ½ (1, ∓ x_1/|x_1|),   c₁∘c₂ = 0,   c∘c = c

    When x_1 = 0 any direction is valid; the first tangent is taken.

    Examples
    --------
    >>> values, _ = spectral(np.array([[2.0, 3.0, 4.0]]))
    >>> values
    array([[-3.,  7.]])
    """
    length, direction = _unit(x[:, 1:])
    idempotents = np.full((len(x), 2, x.shape[1]), 0.5)
    idempotents[:, 0, 1:] = -0.5 * direction
    idempotents[:, 1, 1:] = 0.5 * direction
    return np.stack((x[:, 0] - length, x[:, 0] + length), axis=1), idempotents


def square(x: Array) -> Array:
    """The square x∘x, always in the cone."""
    return product(x, x)


def sqrt(x: Array) -> Array:
    """Square root: the z of the cone with z∘z = x.

    Negative eigenvalues, by rounding or because x is outside the cone, count as zero.

    Examples
    --------
    >>> sqrt(np.array([[5.0, 4.0, 0.0]]))
    array([[2., 1., 0.]])
    """
    return _apply_to_eigenvalues(lambda values: np.sqrt(np.maximum(values, 0.0)), x)


def inverse(x: Array) -> Array:
    """Inverse: the z with x∘z = e that has the eigenvectors of x.

    Examples
    --------
    >>> inverse(np.array([[2.0, 0.0, 0.0]]))
    array([[0.5, 0. , 0. ]])
    """
    singular = (spectral(x)[0] == 0.0).any(axis=1)
    if singular.any():
        i = int(np.argmax(singular))
        raise ProblemError(f"vector {i}, {x[i].tolist()}, has a zero eigenvalue x_0 ∓ |x_1| and no inverse")
    return _apply_to_eigenvalues(np.reciprocal, x)


def determinant(x: Array) -> Array:
    """Product of the eigenvalues, x_0² − |x_1|², (n,)."""
    values: Array = spectral(x)[0].prod(axis=1)
    return values


def trace(x: Array) -> Array:
    """Sum of the eigenvalues, 2 x_0, (n,)."""
    return 2.0 * x[:, 0]


def fischer_burmeister(x: Array, y: Array, eps: float = 0.0) -> Array:
    """Fischer-Burmeister function: zero exactly when Q ∋ x ⟂ y ∈ Q.

        φ(x, y) = x + y − √(x∘x + y∘y + 2 eps² e)

    With eps > 0 it is smooth, and zero exactly when x, y ∈ Q and x∘y = eps² e: letting eps tend to zero
    follows the central path to the complementary pairs.

    Parameters
    ----------
    x, y : arrays (n, d)
        Vectors, component x_0 first.
    eps : float
        Smoothing, in the unit of x and y; ≥ 0.

    Examples
    --------
    >>> x, y = np.array([[2.0, 2.0, 0.0]]), np.array([[3.0, -3.0, 0.0]])
    >>> fischer_burmeister(x, y)
    array([[0., 0., 0.]])
    """
    size, x, y, smoothing = _scaled(x, y, eps)
    low, high, direction = _root_of_squares(x, y, smoothing)
    root = 0.5 * np.column_stack((low + high, (high - low)[:, None] * direction))
    return size[:, None] * (x + y - root)


def fischer_burmeister_jacobian(x: Array, y: Array, eps: float = 0.0) -> tuple[Array, Array]:
    """Derivatives of :func:`fischer_burmeister` with respect to x and to y, each (n, d, d).

    With z = √(x∘x + y∘y + 2 eps² e) they are I − L(z)⁻¹L(x) and I − L(z)⁻¹L(y).

    L(z) is singular when x = x_0 (1, s) and y = y_0 (1, s) are on one line of the boundary of Q; there φ has
    a kink and the result is the limit of the derivatives at (x + t e, y + t e), t → 0+, an element of the
    generalised Jacobian. It is symmetric, positive semidefinite, and the two add up to a definite matrix:
    with c = (1, −s)/√2 and ρ = √(x_0² + y_0²),

        ∂φ/∂x = (1 − 1/√2) c cᵀ + (1 − x_0/ρ)(I − c cᵀ),

    and (1 − 1/√2) I when x = y = 0.

    Examples
    --------
    >>> x, y = np.array([[3.0, 0.0, 0.0]]), np.array([[4.0, 0.0, 0.0]])
    >>> by_x, by_y = fischer_burmeister_jacobian(x, y)
    >>> np.diagonal(by_x[0]), np.diagonal(by_y[0])
    (array([0.4, 0.4, 0.4]), array([0.2, 0.2, 0.2]))
    """
    _, x, y, smoothing = _scaled(x, y, eps)
    root = _root_of_squares(x, y, smoothing)
    unit = np.eye(x.shape[1])
    return unit - _root_derivative(x, *root), unit - _root_derivative(y, *root)


def lorentz_scaling(mu: Array, d: int) -> tuple[Array, Array]:
    """Diagonal scalings (n, d) that bring r ∈ K and ũ ∈ K* into the Lorentz cone: (mu, 1, 1) and (1, mu, mu).

    They need mu > 0: without friction the scaled impulse does not contain r_N, and the law is the
    complementarity of two numbers, r_N and u_N.

    Examples
    --------
    >>> lorentz_scaling(np.array([0.5]), d=3)
    (array([[0.5, 1. , 1. ]]), array([[1. , 0.5, 0.5]]))
    """
    if not (mu > 0.0).all():
        i = int(np.argmax(~(mu > 0.0)))
        raise ProblemError(
            f"mu of contact {i} must be positive to scale its cone, got {mu[i]}; treat frictionless contacts "
            "by their normal component alone"
        )
    of_r, of_u = np.ones((len(mu), d)), np.ones((len(mu), d))
    of_r[:, 0] = mu
    of_u[:, 1:] = mu[:, None]
    return of_r, of_u


def to_lorentz(r: Array, u_shifted: Array, mu: Array) -> tuple[Array, Array]:
    """Scale an impulse r and a shifted velocity ũ so that both cones become the Lorentz cone.

        x = (mu r_N, r_T),   y = (ũ_N, mu ũ_T):    r ∈ K ⟺ x ∈ Q,   ũ ∈ K* ⟺ y ∈ Q,   x·y = mu r·ũ

    Examples
    --------
    A contact that slides: ũ is orthogonal to r, and φ vanishes.

    >>> x, y = to_lorentz(np.array([[2.0, -1.0]]), np.array([[1.5, 3.0]]), np.array([0.5]))
    >>> x, y
    (array([[ 1., -1.]]), array([[1.5, 1.5]]))
    >>> fischer_burmeister(x, y)
    array([[0., 0.]])
    """
    of_r, of_u = lorentz_scaling(mu, r.shape[1])
    return of_r * r, of_u * u_shifted


def _apply_to_eigenvalues(function: Callable[[Array], Array], x: Array) -> Array:
    """Apply a scalar function to the eigenvalues: f(x) = f(λ₁) c₁ + f(λ₂) c₂."""
    values, idempotents = spectral(x)
    result: Array = np.einsum("ik,ikj->ij", function(values), idempotents)
    return result


def _unit(x: Array) -> tuple[Array, Array]:
    """Length and direction of each row; a zero row points along the first axis."""
    length, direction = length_and_direction(x)
    direction[length == 0.0, :1] = 1.0
    return length, direction


def _scaled(x: Array, y: Array, eps: float) -> tuple[Array, Array, Array, Array]:
    """Divide by the largest component, so that squares neither overflow nor underflow; φ is homogeneous."""
    size = np.maximum(np.max(np.abs(x), axis=1, initial=eps), np.max(np.abs(y), axis=1, initial=eps))
    divisor = np.where(size > 0.0, size, 1.0)
    return size, x / divisor[:, None], y / divisor[:, None], eps / divisor


def _root_of_squares(x: Array, y: Array, eps: Array) -> tuple[Array, Array, Array]:
    """Eigenvalues σ₁ ≤ σ₂ (n,) and direction s (n, d−1) of z = √w, w = x∘x + y∘y + 2 eps² e.

    The smaller eigenvalue of w is w_0 − |w_1|, a difference that loses half the digits of σ₁ where it
    matters most, at the edge of the cone. As w_1 = |w_1| s it is also a sum of squares, which loses none:

        (x_0 − s·x_1)² + |x_1 − (s·x_1) s|² + the same of y + 2 eps².
    """
    _, s = _unit(x[:, :1] * x[:, 1:] + y[:, :1] * y[:, 1:])
    low = high = 2.0 * eps**2
    for minus, plus, across in (_coordinates(x, s), _coordinates(y, s)):
        beside = np.einsum("ij,ij->i", across, across)
        low = low + minus**2 + beside
        high = high + plus**2 + beside
    return np.sqrt(low), np.sqrt(high), s


def _root_derivative(x: Array, low: Array, high: Array, s: Array) -> Array:
    """Derivative L(z)⁻¹L(x) of z = √w with respect to x, (n, d, d), in the eigenvectors of L(z).

    These are (1, −s), (1, s) and (0, t) with t ⟂ s, for the eigenvalues σ₁, σ₂ and (σ₁+σ₂)/2. The quotients
    stay bounded; where the divisor is zero they take the values they have at x + t e, y + t e.
    """
    n, d = x.shape
    minus, plus, across = _coordinates(x, s)
    middle = 0.5 * (low + high)
    down, up = np.column_stack((np.ones(n), -s)), np.column_stack((np.ones(n), s))
    row_down = _quotient(minus, low, HALF_ROOT)[:, None] * down + _quotient(across, low, 0.0)
    row_up = _quotient(plus, high, HALF_ROOT)[:, None] * up + _quotient(across, high, 0.0)
    result = 0.5 * (down[:, :, None] * row_down[:, None, :] + up[:, :, None] * row_up[:, None, :])
    result[:, :, 0] += _quotient(across, middle, 0.0)
    stretch = _quotient(0.5 * (minus + plus), middle, HALF_ROOT)
    result[:, 1:, 1:] += stretch[:, None, None] * (np.eye(d - 1) - s[:, :, None] * s[:, None, :])
    return result


def _coordinates(x: Array, s: Array) -> tuple[Array, Array, Array]:
    """Parts of x relative to the direction s: x_0 − s·x_1, x_0 + s·x_1 (n,), (0, x_1 − (s·x_1) s) (n, d)."""
    along = np.einsum("ij,ij->i", s, x[:, 1:])
    across = np.column_stack((np.zeros(len(x)), x[:, 1:] - along[:, None] * s))
    return x[:, 0] - along, x[:, 0] + along, across


def _quotient(value: Array, divisor: Array, limit: float) -> Array:
    """Divide, or take the limit where the divisor is zero up to rounding."""
    regular = divisor > DEGENERATE
    safe = np.where(regular, divisor, 1.0)
    if value.ndim == 2:
        regular, safe = regular[:, None], safe[:, None]
    return np.where(regular, value / safe, limit)
