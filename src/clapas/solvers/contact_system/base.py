"""Linear systems of Newton steps: linearised contact laws with the dynamics of bodies; dense solution."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import linalg

from clapas.linalg.multifrontal import Multifrontal, SingularMatrix
from clapas.typing import Array, Indices

SMALL = 300  # unknowns below which a full matrix is the fastest


@dataclass(frozen=True)
class Linearised:
    """Relations P_i dr_i + A_i du_i = b_i at the contacts.

    Parameters
    ----------
    P, A : arrays (n, d, d)
        Blocks on the change of impulse and on the change of velocity.
    inverse : callable, optional
        Computes the inverses of P, (n, d, d). At the edge of a cone a formula is far more accurate than
        the general inverse used by default.
    """

    P: Array
    A: Array
    inverse: Callable[[], Array] | None = None

    @cached_property
    def P_inverse(self) -> Array:
        """Inverses of P, (n, d, d)."""
        return np.asarray(np.linalg.inv(self.P)) if self.inverse is None else self.inverse()


class Solve(Protocol):
    """A factorised system."""

    def __call__(self, b: Array) -> Array:
        """Return dr (n, d) for the right-hand side b (n, d)."""
        ...


class ContactSystem(ABC):
    """A method for P dr + A W dr = b on one problem."""

    @abstractmethod
    def factorise(self, law: Linearised) -> Solve:
        """Factorise the system with these blocks.

        Raises
        ------
        SingularMatrix
            The system is singular.
        """


def multiply(blocks: Array, x: Array) -> Array:
    """Product of each block (n, d, d) with its vector (n, d)."""
    return np.asarray(np.einsum("nij,nj->ni", blocks, x))


def block_pattern(row: Indices, column: Indices, size: int, count: int) -> Multifrontal:
    """Pattern of a matrix of size×size blocks at (row, column), values in the order (block, i, j)."""
    shape = (len(row), size, size)
    inner = np.arange(size)
    rows = np.broadcast_to((row * size)[:, None, None] + inner[:, None], shape).ravel()
    columns = np.broadcast_to((column * size)[:, None, None] + inner, shape).ravel()
    return Multifrontal(rows, columns, count * size, np.repeat(np.arange(count), size))


def full_factor(matrix: Array) -> Callable[[Array], Array]:
    """LAPACK's factors of a full matrix (overwritten), as a function that solves."""
    if matrix.size == 0:
        return np.copy
    if not np.isfinite(matrix).all():
        raise SingularMatrix("the matrix is not finite")
    # The transposed matrix is in LAPACK's order: factorise it in place, solve with its transpose.
    lu, exchanges, info = linalg.lapack.dgetrf(matrix.T, overwrite_a=1)
    if info != 0:
        raise SingularMatrix("zero pivot in a full matrix")
    return lambda b: np.asarray(linalg.lapack.dgetrs(lu, exchanges, b, trans=1)[0])
