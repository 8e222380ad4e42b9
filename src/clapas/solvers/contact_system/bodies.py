"""Body space: (M + Hᵀ D H) dv = Hᵀ P⁻¹ b with D = P⁻¹A, and W never formed.

Where P is small (contacts that stick, at the end of a Newton method) D is huge and multiplies rounding.
Each solution is therefore refined: the imbalance that the impulses leave on the bodies is solved for again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from clapas.linalg.multifrontal import Multifrontal
from clapas.problems.blocks import BodyBlocks, add_impulses, contact_velocities
from clapas.problems.contact import ContactProblem
from clapas.solvers.contact_system.base import (
    SMALL,
    ContactSystem,
    Linearised,
    Solve,
    block_pattern,
    full_factor,
    multiply,
)
from clapas.solvers.contact_system.kernels import add_products, local_products
from clapas.typing import Array, Indices

REFINEMENTS = 2


class BodyGraph:
    """Matrices shift·I + Gᵀ D G over one graph of bodies, D one block per contact, to be factorised.

    Parameters
    ----------
    bodies : array (n, 2)
        The bodies of each contact; ``n_bodies`` is the ground.
    n_bodies, size : int
        Bodies that move, and their degrees of freedom.
    """

    def __init__(self, bodies: Indices, n_bodies: int, size: int) -> None:
        self._bodies, self._n_bodies, self._size = bodies, n_bodies, size
        self._slots, self._row, self._column = _slots(bodies, n_bodies)
        is_full = n_bodies * size <= SMALL
        self._pattern = None if is_full else block_pattern(self._row, self._column, size, n_bodies)

    def is_of(self, bodies: Indices, n_bodies: int, size: int) -> bool:
        """Whether this is the graph of these contacts."""
        return (self._n_bodies, self._size) == (n_bodies, size) and np.array_equal(self._bodies, bodies)

    @property
    def flops(self) -> float:
        """Multiplications and additions of one factorisation."""
        return (
            2.0 / 3.0 * (self._n_bodies * self._size) ** 3 if self._pattern is None else self._pattern.flops
        )

    def factorise(self, G: Array, D: Array, shift: float) -> Callable[[Array], Array]:
        """Factorise for blocks G (n, 2, d, size) and D (n, d, d); returns the solver for y (n_bodies, size).

        Raises
        ------
        SingularMatrix
            A pivot is zero or not finite.
        """
        n_bodies, size = self._n_bodies, self._size
        values = np.zeros((len(self._row), size, size))
        values[:n_bodies] = shift * np.eye(size)
        add_products(G, self._bodies, D, self._slots, values)
        if self._pattern is None:
            matrix = np.zeros((n_bodies, size, n_bodies, size))
            matrix[self._row, :, self._column, :] = values
            solve = full_factor(matrix.reshape(n_bodies * size, n_bodies * size))
        else:
            solve = self._pattern.factorise(values.ravel()).solve
        return lambda b: solve(b.ravel()).reshape(n_bodies, size)


class KeptGraph:
    """The body graph of the last problem, reused for the next one between the same bodies."""

    def __init__(self) -> None:
        self._graph: BodyGraph | None = None

    def of(self, bodies: Indices, n_bodies: int, size: int) -> BodyGraph:
        """The graph of these contacts (see :class:`BodyGraph`), analysed if it is not the one kept."""
        kept = self._graph
        if kept is None or not kept.is_of(bodies, n_bodies, size):
            kept = self._graph = BodyGraph(bodies, n_bodies, size)
        return kept


class BodySpace(ContactSystem):
    """Body space for contacts between two bodies each, in units of unit mass: I + Gᵀ D G."""

    def __init__(self, blocks: BodyBlocks) -> None:
        self._blocks = blocks
        self._graph = BodyGraph(blocks.bodies, blocks.n_bodies, blocks.size)

    def factorise(self, law: Linearised) -> Solve:
        """Form and factorise I + Gᵀ D G."""
        G, bodies = self._blocks.G, self._blocks.bodies
        n_bodies, size = self._blocks.n_bodies, self._blocks.size
        solve = self._graph.factorise(G, np.matmul(law.P_inverse, law.A), 1.0)

        def solve_contacts(b: Array) -> Array:
            y, dr = np.zeros((n_bodies + 1, size)), multiply(law.P_inverse, b)
            for _ in range(1 + REFINEMENTS):
                unbalanced = -y
                add_impulses(G, bodies, dr, unbalanced)
                y[:-1] += solve(unbalanced[:-1])
                du = contact_velocities(G, bodies, y, np.zeros_like(b))
                dr = multiply(law.P_inverse, b - multiply(law.A, du))
            return dr

        return solve_contacts


def _slots(bodies: Indices, n_bodies: int) -> tuple[Indices, Indices, Indices]:
    """Number the blocks of the body graph: slots (n, 2, 2) of each contact, and rows, columns of the blocks.

    The first ``n_bodies`` blocks are the diagonal; −1 stands for the ground.
    """
    a, b = bodies[:, 0], bodies[:, 1]
    coupled = (a < n_bodies) & (b < n_bodies) & (a != b)
    low, high = np.minimum(a, b)[coupled], np.maximum(a, b)[coupled]
    pairs, which = np.unique(low * n_bodies + high, return_inverse=True)
    low_body, high_body = pairs // max(n_bodies, 1), pairs % max(n_bodies, 1)
    count = len(pairs)
    slots = np.full((len(bodies), 2, 2), -1, dtype=np.int64)
    for side in range(2):
        body = bodies[:, side]
        slots[:, side, side] = np.where(body < n_bodies, body, -1)
    upper, lower = n_bodies + which.ravel(), n_bodies + count + which.ravel()
    first_is_low = (a < b)[coupled]
    slots[coupled, 0, 1] = np.where(first_is_low, upper, lower)
    slots[coupled, 1, 0] = np.where(first_is_low, lower, upper)
    diagonal = np.arange(n_bodies)
    row = np.concatenate((diagonal, low_body, high_body))
    column = np.concatenate((diagonal, high_body, low_body))
    return slots, row, column


class GeneralBodySpace(ContactSystem):
    """Body space for any M and H: M + Hᵀ D H, sparse (deformable bodies, joints)."""

    def __init__(self, problem: ContactProblem) -> None:
        self._H, self._M = problem.H, problem.M.tocoo()
        self._parts = _local_rows(problem.H, problem.d)
        rows, columns = self._parts.places()
        rows, columns = np.concatenate((self._M.row, rows)), np.concatenate((self._M.col, columns))
        self._rows, self._columns, self._size = rows, columns, problem.n_dof
        self._pattern = None if self._size <= SMALL else Multifrontal(rows, columns, self._size)

    def factorise(self, law: Linearised) -> Solve:
        """Form and factorise M + Hᵀ D H."""
        H, M, size = self._H, self._M, self._size
        D = np.matmul(law.P_inverse, law.A)
        values = np.concatenate((self._M.data, self._parts.products(D)))
        if self._pattern is None:
            places = self._rows, self._columns
            solve = full_factor(sparse.coo_array((values, places), shape=(size, size)).toarray())
        else:
            solve = self._pattern.factorise(values).solve

        def solve_contacts(b: Array) -> Array:
            v, dr = np.zeros(size), multiply(law.P_inverse, b)
            for _ in range(1 + REFINEMENTS):
                v += solve(H.T @ dr.ravel() - M @ v)
                dr = multiply(law.P_inverse, b - multiply(law.A, (H @ v).reshape(b.shape)))
            return dr

        return solve_contacts


@dataclass(frozen=True)
class LocalRows:
    """The rows of H of each contact as a small full matrix on the columns it touches.

    The columns of contact i are ``columns[first[i]:first[i + 1]]``; ``H[:, first[i]:first[i + 1]]`` holds its
    rows there.
    """

    H: Array
    columns: Indices
    first: Indices

    def places(self) -> tuple[Indices, Indices]:
        """Rows and columns of the entries of every Hᵢᵀ Dᵢ Hᵢ, one contact after the other."""
        counts = np.diff(self.first)
        squares = counts**2
        contact = np.repeat(np.arange(len(counts)), squares)
        inside = np.arange(len(contact)) - np.repeat(np.cumsum(squares) - squares, squares)
        start, width = self.first[contact], counts[contact]
        return self.columns[start + inside // width], self.columns[start + inside % width]

    def products(self, D: Array) -> Array:
        """Entries of every Hᵢᵀ Dᵢ Hᵢ, in the order of :meth:`places`."""
        return np.asarray(local_products(self.H, self.first, D))


def _local_rows(H: sparse.csr_array, d: int) -> LocalRows:
    coo = H.tocoo()
    contact = coo.row // d
    keys, place = np.unique(contact.astype(np.int64) * H.shape[1] + coo.col, return_inverse=True)
    width = max(H.shape[1], 1)
    first = np.searchsorted(keys // width, np.arange(H.shape[0] // d + 1))
    full = np.zeros((d, len(keys)))
    np.add.at(full, (coo.row % d, place), coo.data)
    return LocalRows(full, keys % width, first)
