"""Repeated multifrontal factorisation of large sparse matrices of one pattern.

Newton methods on contact problems factorise one pattern with new values at each iteration. The order of
elimination and the positions of all entries are computed once (:mod:`clapas.linalg.elimination`); a
factorisation then goes up a tree of small full matrices, with LAPACK doing the work.

The matrix may be unsymmetric; its pattern counts as symmetric. Rows are exchanged inside a front only:
enough for the matrices used here, which are close to positive definite, and a zero pivot is reported.

Measured on one core, a packing of 20 000 spheres' contacts (55 422 unknowns, 1.7 M entries): SciPy's SuperLU
with its own order did not finish within minutes (pivoting ruins the order); given the order found here and no
pivoting it took 7.6 s per factorisation. The fronts take 0.6 s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

from clapas.compiled import kernel
from clapas.linalg import elimination
from clapas.typing import Array, Indices


class SingularMatrix(ArithmeticError):
    """A factorisation met a zero pivot, or numbers that are not finite."""


@dataclass(frozen=True)
class _Plan:
    """Assembly of one front: positions of its entries and of the contributions of its children."""

    pivots: Indices
    border: Indices
    parent: int
    into_parent: Indices  # position of each border unknown in the parent front
    to_pivots: int  # number of them that are pivots there
    source: tuple[Indices, Indices, Indices]  # entries of the pivot block, right of it and below it
    target: tuple[Indices, Indices, Indices]  # and their positions, column-major


class Multifrontal:
    """The pattern of a sparse matrix, analysed once.

    Parameters
    ----------
    rows, columns : arrays (nnz,) of int
        Positions of the entries; repeated positions are summed.
    size : int
        Number of unknowns.
    groups : array (size,) of int, optional
        Unknowns that belong together (a body, a contact), numbered from 0 without gaps. By default
        those with the same pattern.
    order : array of int, optional
        Groups in their order of elimination, such as a nested dissection; minimum degree by default.

    Examples
    --------
    >>> pattern = Multifrontal(np.array([0, 1, 1]), np.array([0, 1, 0]), size=2)
    >>> pattern.factorise(np.array([2.0, 4.0, 1.0])).solve(np.array([2.0, 5.0]))
    array([1., 1.])
    """

    def __init__(
        self,
        rows: Indices,
        columns: Indices,
        size: int,
        groups: Indices | None = None,
        order: Indices | None = None,
    ) -> None:
        self.size = size
        if groups is None:
            groups = elimination.same_pattern(rows, columns, size)
        tree = elimination.fronts(rows, columns, groups, order)
        self.flops = elimination.flops(tree)
        self.entries = elimination.entries(tree)
        self._plans = _plans(tree, rows, columns, size)

    def factorise(self, values: Array) -> Factored:
        """Factorise the matrix with these entries, in the order of ``rows, columns``.

        Raises
        ------
        SingularMatrix
            A pivot is zero or not finite.
        """
        return Factored(self._plans, values, self.size)


def _plans(tree: list[elimination.Front], rows: Indices, columns: Indices, size: int) -> list[_Plan]:
    owner = np.empty(size, dtype=np.int64)
    place = np.empty(size, dtype=np.int64)
    for number, front in enumerate(tree):
        owner[front.pivots] = number
        place[front.pivots] = np.arange(len(front.pivots))
    first = np.minimum(owner[rows], owner[columns])
    by_front = np.argsort(first, kind="stable")
    start = np.searchsorted(first[by_front], np.arange(len(tree) + 1))
    plans = []
    for number in range(len(tree)):
        selected = by_front[start[number] : start[number + 1]]
        plans.append(_plan(tree, number, owner, place, selected, rows[selected], columns[selected]))
    return plans


def _plan(
    tree: list[elimination.Front],
    number: int,
    owner: Indices,
    place: Indices,
    selected: Indices,
    row: Indices,
    column: Indices,
) -> _Plan:
    """Positions in front ``number`` of the entries ``selected``, which are at (row, column) of the matrix."""
    front = tree[number]
    k, height = len(front.pivots), len(front.border)
    kept = place[front.border]
    place[front.border] = np.arange(height)
    row_in, column_in = owner[row] == number, owner[column] == number
    i, j = place[row], place[column]
    parts = (row_in & column_in, row_in & ~column_in, ~row_in & column_in)
    leading = (k, k, height)
    source = tuple(selected[part] for part in parts)
    target = tuple(j[part] * lead + i[part] for part, lead in zip(parts, leading, strict=True))
    place[front.border] = kept
    into, to_pivots = _into_parent(tree, front)
    return _Plan(front.pivots, front.border, front.parent, into, to_pivots, source, target)


def _into_parent(tree: list[elimination.Front], front: elimination.Front) -> tuple[Indices, int]:
    if front.parent == -1:
        return np.empty(0, dtype=np.int64), 0
    host = tree[front.parent]
    names = np.concatenate((host.pivots, host.border))
    sorting = np.argsort(names)
    into = sorting[np.searchsorted(names, front.border, sorter=sorting)]
    to_pivots = int(np.count_nonzero(into < len(host.pivots)))
    into[to_pivots:] -= len(host.pivots)
    return into, to_pivots


@dataclass(frozen=True)
class _FrontFactors:
    """Factors of a front: P F11 = L11 U11 (with its exchanges), L21 = F21 U11⁻¹, U12 = L11⁻¹ P F12."""

    pivots: Indices
    border: Indices
    lu: Array
    exchanges: Indices
    below: Array
    right: Array


class Factored:
    """Factors of a matrix, computed by :meth:`Multifrontal.factorise`."""

    def __init__(self, plans: list[_Plan], values: Array, size: int) -> None:
        self._size = size
        self._fronts: list[_FrontFactors] = []
        contributions: dict[int, list[tuple[_Plan, Array]]] = {}
        for number, plan in enumerate(plans):
            front, contribution = _eliminate(plan, values, contributions.pop(number, []))
            self._fronts.append(front)
            if plan.parent != -1:
                contributions.setdefault(plan.parent, []).append((plan, contribution))

    def solve(self, right: Array) -> Array:
        """Solve with one right-hand side (size,)."""
        x = np.array(right, dtype=float)
        for front in self._fronts:
            part = x[front.pivots][front.exchanges]
            part = blas.dtrsv(front.lu, part, lower=1, diag=1, overwrite_x=1)
            x[front.pivots] = part
            if len(front.border):
                x[front.border] -= front.below @ part
        for front in reversed(self._fronts):
            part = x[front.pivots]
            if len(front.border):
                part -= front.right @ x[front.border]
            x[front.pivots] = blas.dtrsv(front.lu, part, overwrite_x=1)
        return x


def _eliminate(
    plan: _Plan, values: Array, children: list[tuple[_Plan, Array]]
) -> tuple[_FrontFactors, Array]:
    k, b = len(plan.pivots), len(plan.border)
    blocks = tuple(np.zeros(shape, order="F") for shape in ((k, k), (k, b), (b, k), (b, b)))
    pivot, right, below, rest = blocks
    for block, source, target in zip(blocks[:3], plan.source, plan.target, strict=True):
        add_entries(block.reshape(-1, order="F"), values, source, target)
    for child, contribution in children:
        extend(pivot, right, below, rest, contribution, child.into_parent, child.to_pivots)
    lu, exchanges, info = lapack.dgetrf(pivot, overwrite_a=1)
    if info != 0 or not np.isfinite(lu[-1, -1]):
        raise SingularMatrix(f"zero pivot in a front of {k} unknowns")
    order = _as_order(exchanges)
    if b:
        right = blas.dtrsm(1.0, lu, np.asfortranarray(right[order]), lower=1, diag=1, overwrite_b=1)
        below = blas.dtrsm(1.0, lu, below, side=1, overwrite_b=1)
        rest = blas.dgemm(-1.0, below, right, beta=1.0, c=rest, overwrite_c=1)
    return _FrontFactors(plan.pivots, plan.border, lu, order, below, right), rest


def _as_order(exchanges: Indices) -> Indices:
    """Convert LAPACK's successive row exchanges to an order of the rows."""
    order = np.arange(len(exchanges))
    for i in np.flatnonzero(exchanges != order):
        order[[i, exchanges[i]]] = order[[exchanges[i], i]]
    return order


@kernel
def add_entries(flat: Array, values: Array, source: Indices, target: Indices) -> None:
    """Add the values ``source`` at the positions ``target``."""
    for p in range(len(source)):
        flat[target[p]] += values[source[p]]


@kernel
def extend(
    pivot: Array, right: Array, below: Array, rest: Array, contribution: Array, into: Indices, to_pivots: int
) -> None:
    """Add the contribution of a child to the four blocks of a front."""
    for c in range(len(into)):
        j = into[c]
        if c < to_pivots:
            for r in range(to_pivots):
                pivot[into[r], j] += contribution[r, c]
            for r in range(to_pivots, len(into)):
                below[into[r], j] += contribution[r, c]
        else:
            for r in range(to_pivots):
                right[into[r], j] += contribution[r, c]
            for r in range(to_pivots, len(into)):
                rest[into[r], j] += contribution[r, c]
