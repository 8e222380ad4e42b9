"""Operations of interior-point methods on the Lorentz cone Q = {x_0 ≥ |x_1|}, one cone per contact.

Vectors have shape (n, d). Everything here is written with the eigenvalues x_0 ∓ |x_1|, never with the
difference of squares, which loses all digits at the boundary of the cone where the iterates converge.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.typing import Array


def determinant(x: Array) -> Array:
    """Product of the eigenvalues, (n,)."""
    length = _length(x)
    values: Array = (x[:, 0] - length) * (x[:, 0] + length)
    return values


def arrow_inverse(x: Array) -> Array:
    """Inverse of the matrix L(x) of the Jordan product, (n, d, d), for x inside the cone."""
    n, d = x.shape
    first, rest, det = x[:, 0], x[:, 1:], determinant(x)
    inverse = np.empty((n, d, d))
    inverse[:, 0, 0] = first / det
    inverse[:, 0, 1:] = inverse[:, 1:, 0] = -rest / det[:, None]
    across = rest[:, :, None] * rest[:, None, :] / det[:, None, None] + np.eye(d - 1)
    inverse[:, 1:, 1:] = across / first[:, None, None]
    return inverse


def divide(b: Array, x: Array) -> Array:
    """Solve x∘z = b."""
    first, rest = x[:, :1], x[:, 1:]
    along = np.einsum("ij,ij->i", rest, b[:, 1:])[:, None]
    head = (first * b[:, :1] - along) / determinant(x)[:, None]
    return np.column_stack((head, (b[:, 1:] - head * rest) / first))


def longest_step(x: Array, dx: Array) -> float:
    """Largest step t such that x + t dx stays in the cone of every contact (inf if unbounded)."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # det(x + t dx) = c + 2 b t + a t²; its smallest positive root, written without cancellation.
        a = determinant(dx)
        b = x[:, 0] * dx[:, 0] - np.einsum("ij,ij->i", x[:, 1:], dx[:, 1:])
        c = determinant(x)
        root = np.sqrt(np.maximum(b * b - a * c, 0.0))
        sum_ = -(b + np.copysign(root, b))
        steps = np.stack((sum_ / a, c / sum_, -x[:, 0] / dx[:, 0]))
        steps[:, b * b < a * c] = np.inf
        steps[~(steps > 0.0)] = np.inf
    return float(steps.min(initial=np.inf))


class Scaling(NamedTuple):
    """Nesterov and Todd's scaling of a pair x, y inside the cone: the matrix V with V y = V⁻¹ x.

    V = η (hyperbolic rotation along w), w_0² − |w_1|² = 1.
    """

    w: Array
    eta: Array

    def apply(self, z: Array) -> Array:
        """V z."""
        return self.eta[:, None] * self._turn(z, self.w[:, 1:])

    def undo(self, z: Array) -> Array:
        """V⁻¹ z."""
        return self._turn(z, -self.w[:, 1:]) / self.eta[:, None]

    def square(self) -> Array:
        """V², the matrix that sends y to x, (n, d, d)."""
        return self.eta[:, None, None] ** 2 * _reflection(self.w)

    def inverse_square(self) -> Array:
        """V⁻², the matrix that sends x to y, (n, d, d)."""
        mirrored = self.w.copy()
        mirrored[:, 1:] *= -1.0
        return _reflection(mirrored) / self.eta[:, None, None] ** 2

    def _turn(self, z: Array, w: Array) -> Array:
        along = np.einsum("ij,ij->i", w, z[:, 1:])
        first, head = self.w[:, 0], z[:, 0]
        tail = z[:, 1:] + (head + along / (1.0 + first))[:, None] * w
        return np.column_stack((first * head + along, tail))


def scaling(x: Array, y: Array) -> Scaling:
    """Nesterov and Todd's scaling of x and y, both inside the cone."""
    det_x, det_y = determinant(x), determinant(y)
    unit_x, unit_y = x / np.sqrt(det_x)[:, None], y / np.sqrt(det_y)[:, None]
    half = np.sqrt(0.5 * (1.0 + np.einsum("ij,ij->i", unit_x, unit_y)))
    mirrored = unit_y.copy()
    mirrored[:, 1:] *= -1.0
    return Scaling((unit_x + mirrored) / (2.0 * half)[:, None], (det_x / det_y) ** 0.25)


def _reflection(w: Array) -> Array:
    """2 w wᵀ − J, J = diag(1, −1, −1), (n, d, d)."""
    matrix = 2.0 * w[:, :, None] * w[:, None, :]
    matrix[:, 0, 0] -= 1.0
    matrix[:, 1:, 1:] += np.eye(w.shape[1] - 1)
    return matrix


def centrality(x: Array, y: Array) -> Array:
    """Square of the smaller eigenvalue of V y, (n,): σ on the path x∘y = σ e, less at a distance from it."""
    middle = scaling(x, y).apply(y)
    return np.asarray((middle[:, 0] - _length(middle)) ** 2)


def inwards(x: Array, depth: float) -> Array:
    """Raise x_0 where needed so that the smaller eigenvalue x_0 − |x_1| is at least ``depth``."""
    result = x.copy()
    result[:, 0] = np.maximum(x[:, 0], _length(x) + depth)
    return result


def inside(x: Array) -> bool:
    """Whether every vector is strictly inside the cone."""
    return bool((x[:, 0] > _length(x)).all())


def _length(x: Array) -> Array:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", x[:, 1:], x[:, 1:])))
