"""A mass matrix with a known inverse, so that it is not factorised again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from scipy import sparse

from clapas.linalg.factor import Factor
from clapas.typing import Array, Indices


class Inverse(Factor, Protocol):
    """The inverse of a matrix: solves with it, and blocks of its entries."""

    @property
    def size(self) -> int:
        """Rows and columns of the matrix."""
        ...

    def block(self, dofs: Indices) -> Array:
        """The rows and columns (c, c) of the inverse at some degrees of freedom, symmetric."""
        ...


@dataclass(frozen=True, eq=False)
class FactoredMass:
    """A mass matrix M, symmetric positive definite, with its inverse.

    Parameters
    ----------
    matrix : sparse matrix (m, m)
        M.
    inverse : Inverse
        M⁻¹.
    """

    matrix: sparse.csr_array
    inverse: Inverse

    def __matmul__(self, v: Array) -> Array:
        """M v."""
        product: Array = self.matrix @ v
        return product

    def solve(self, impulse: Array) -> Array:
        """M⁻¹ p."""
        return self.inverse.solve(impulse)
