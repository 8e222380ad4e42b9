"""Mass matrices of bodies of a few velocities each: a full block per body, no coupling between bodies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from clapas.compiled import kernel
from clapas.errors import ProblemError
from clapas.typing import Array, Indices


@dataclass(frozen=True, eq=False)
class BodyMasses:
    """A mass matrix M that is full on each body and zero between bodies.

    With M = L Lᵀ per body, R = L⁻ᵀ is the inverse root: M⁻¹ = R Rᵀ, and velocities y = Lᵀ v have unit mass.

    Parameters
    ----------
    entries : array
        The matrices row by row, one after another.
    start : array (n_bodies + 1,)
        The velocities of body k are ``start[k]`` to ``start[k + 1]``.

    Raises
    ------
    ProblemError
        A matrix is not positive definite (raised when a root is first needed).

    Examples
    --------
    >>> masses = BodyMasses(np.array([4.0, 2.0, 0.0, 0.0, 3.0]), np.array([0, 1, 3]))
    >>> masses.solve(np.array([1.0, 4.0, 6.0]))
    array([0.25, 2.  , 2.  ])
    """

    entries: Array
    start: Indices

    @property
    def n_dof(self) -> int:
        """Velocities."""
        return int(self.start[-1])

    @cached_property
    def roots(self) -> tuple[Array, Array]:
        """L and R of all bodies, each stored as ``entries`` are."""
        lower, inverse = np.zeros_like(self.entries), np.zeros_like(self.entries)
        wrong = fill_roots(self.entries, self.start, lower, inverse)
        if wrong >= 0:
            raise ProblemError(
                f"the mass matrix of body {wrong} must be symmetric positive definite, and is not: check its "
                "masses and stiffnesses, and that time steps are short enough for its velocities"
            )
        return lower, inverse

    def solve(self, impulse: Array) -> Array:
        """M⁻¹ p."""
        v = np.empty(self.n_dof)
        apply_roots(self.roots[1], self.start, np.ascontiguousarray(impulse), v)
        return v

    def __matmul__(self, v: Array) -> Array:
        """M v."""
        p = np.empty(self.n_dof)
        times_blocks(self.entries, self.start, np.ascontiguousarray(v), p)
        return p

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """M, sparse."""
        size = np.diff(self.start)
        rows = np.repeat(size, size)
        first = np.repeat(self.start[:-1], size)
        columns = np.arange(len(self.entries)) - np.repeat(np.cumsum(rows) - rows, rows)
        columns += np.repeat(first, rows)
        indptr = np.concatenate(([0], np.cumsum(rows)))
        shape = self.n_dof, self.n_dof
        return sparse.csr_array(
            (self.entries, columns.astype(np.int32), indptr.astype(np.int32)), shape=shape
        )


@kernel
def fill_roots(entries: Array, start: Indices, lower: Array, inverse: Array) -> int:
    """Write L and R = L⁻ᵀ of M = L Lᵀ of each body; return the first body that is not definite, or −1."""
    at = 0
    for body in range(len(start) - 1):
        m = start[body + 1] - start[body]
        M = entries[at : at + m * m].reshape(m, m)
        L, R = lower[at : at + m * m].reshape(m, m), inverse[at : at + m * m].reshape(m, m)
        for j in range(m):
            pivot = M[j, j]
            for k in range(j):
                pivot -= L[j, k] * L[j, k]
            if not pivot > 0.0:
                return body
            L[j, j] = np.sqrt(pivot)
            for i in range(j + 1, m):
                total = M[i, j]
                for k in range(j):
                    total -= L[i, k] * L[j, k]
                L[i, j] = total / L[j, j]
        for j in range(m):  # row j of R is column j of L⁻¹, by forward substitution
            R[j, j] = 1.0 / L[j, j]
            for i in range(j + 1, m):
                total = 0.0
                for k in range(j, i):
                    total -= L[i, k] * R[j, k]
                R[j, i] = total / L[i, i]
        at += m * m
    return -1


@kernel
def times_blocks(entries: Array, start: Indices, v: Array, p: Array) -> None:
    """Write p = M v, body by body; ``entries`` are the square blocks of M, row by row."""
    at = 0
    for body in range(len(start) - 1):
        first, m = start[body], start[body + 1] - start[body]
        for i in range(m):
            total = 0.0
            for j in range(m):
                total += entries[at + j] * v[first + j]
            p[first + i] = total
            at += m


@kernel
def apply_roots(inverse: Array, start: Indices, p: Array, v: Array) -> None:
    """Write v = R Rᵀ p."""
    at = 0
    for body in range(len(start) - 1):
        first, m = start[body], start[body + 1] - start[body]
        R = inverse[at : at + m * m].reshape(m, m)
        y = np.zeros(m)
        for i in range(m):
            for j in range(i, m):
                y[j] += R[i, j] * p[first + i]
        for i in range(m):
            total = 0.0
            for j in range(i, m):
                total += R[i, j] * y[j]
            v[first + i] = total
        at += m * m
