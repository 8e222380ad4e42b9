"""Factorise a large sparse matrix again and again, when only its numbers change.

Newton methods on contact problems meet one pattern with new numbers at each iteration. The order of
elimination and the places of all entries are found once (:mod:`clapas.linalg.elimination`); a
factorisation then is a walk up a tree of small full matrices, where LAPACK does the work.

The matrix may be unsymmetric; its pattern counts as symmetric. Rows are exchanged inside a front only:
enough for the matrices met here, which are close to positive definite, and a zero pivot is reported.

Measured on one core, a packing of 20 000 spheres' contacts (55 422 unknowns, 1.7 M entries): SciPy's SuperLU
with its own order did not end within minutes (pivoting ruins the order); given the order found here and no
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
    """How to assemble one front: places of entries, and of what its children pass on."""

    pivots: Indices
    border: Indices
    parent: int
    into_parent: Indices  # place of each border unknown in the parent front
    to_pivots: int  # how many of them are pivots there
    source: tuple[Indices, Indices, Indices]  # entries of the pivot block, right of it and below it
    target: tuple[Indices, Indices, Indices]  # and their places, columns first


class Multifrontal:
    """The pattern of a sparse matrix, analysed once.

    Parameters
    ----------
    rows, columns : arrays (nnz,) of int
        Places of the entries; places that repeat are added.
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
        mine = by_front[start[number] : start[number + 1]]
        plans.append(_plan(tree, number, owner, place, mine, rows[mine], columns[mine]))
    return plans


def _plan(
    tree: list[elimination.Front],
    number: int,
    owner: Indices,
    place: Indices,
    mine: Indices,
    row: Indices,
    column: Indices,
) -> _Plan:
    """Places in front ``number`` of the entries ``mine``, which are at (row, column) of the matrix."""
    front = tree[number]
    k, height = len(front.pivots), len(front.border)
    kept = place[front.border]
    place[front.border] = np.arange(height)
    row_in, column_in = owner[row] == number, owner[column] == number
    i, j = place[row], place[column]
    parts = (row_in & column_in, row_in & ~column_in, ~row_in & column_in)
    leading = (k, k, height)
    source = tuple(mine[part] for part in parts)
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
class _Piece:
    """Factors of a front: P F11 = L11 U11 (with its exchanges), L21 = F21 U11⁻¹, U12 = L11⁻¹ P F12."""

    pivots: Indices
    border: Indices
    lu: Array
    exchanges: Indices
    below: Array
    right: Array


class Factored:
    """Factors of a matrix; made by :meth:`Multifrontal.factorise`."""

    def __init__(self, plans: list[_Plan], values: Array, size: int) -> None:
        self._size = size
        self._pieces: list[_Piece] = []
        waiting: dict[int, list[tuple[_Plan, Array]]] = {}
        for number, plan in enumerate(plans):
            piece, rest = _eliminate(plan, values, waiting.pop(number, []))
            self._pieces.append(piece)
            if plan.parent != -1:
                waiting.setdefault(plan.parent, []).append((plan, rest))

    def solve(self, right: Array) -> Array:
        """Solve with one right-hand side (size,)."""
        x = np.array(right, dtype=float)
        for piece in self._pieces:
            part = x[piece.pivots][piece.exchanges]
            part = blas.dtrsv(piece.lu, part, lower=1, diag=1, overwrite_x=1)
            x[piece.pivots] = part
            if len(piece.border):
                x[piece.border] -= piece.below @ part
        for piece in reversed(self._pieces):
            part = x[piece.pivots]
            if len(piece.border):
                part -= piece.right @ x[piece.border]
            x[piece.pivots] = blas.dtrsv(piece.lu, part, overwrite_x=1)
        return x


def _eliminate(plan: _Plan, values: Array, children: list[tuple[_Plan, Array]]) -> tuple[_Piece, Array]:
    k, b = len(plan.pivots), len(plan.border)
    blocks = tuple(np.zeros(shape, order="F") for shape in ((k, k), (k, b), (b, k), (b, b)))
    pivot, right, below, rest = blocks
    for block, source, target in zip(blocks[:3], plan.source, plan.target, strict=True):
        add_entries(block.reshape(-1, order="F"), values, source, target)
    for child, passed in children:
        extend(pivot, right, below, rest, passed, child.into_parent, child.to_pivots)
    lu, exchanges, info = lapack.dgetrf(pivot, overwrite_a=1)
    if info != 0 or not np.isfinite(lu[-1, -1]):
        raise SingularMatrix(f"zero pivot in a front of {k} unknowns")
    order = _as_order(exchanges)
    if b:
        right = blas.dtrsm(1.0, lu, np.asfortranarray(right[order]), lower=1, diag=1, overwrite_b=1)
        below = blas.dtrsm(1.0, lu, below, side=1, overwrite_b=1)
        rest = blas.dgemm(-1.0, below, right, beta=1.0, c=rest, overwrite_c=1)
    return _Piece(plan.pivots, plan.border, lu, order, below, right), rest


def _as_order(exchanges: Indices) -> Indices:
    """Turn LAPACK's successive row exchanges into an order of the rows."""
    order = np.arange(len(exchanges))
    for i in np.flatnonzero(exchanges != order):
        order[[i, exchanges[i]]] = order[[exchanges[i], i]]
    return order


@kernel
def add_entries(flat: Array, values: Array, source: Indices, target: Indices) -> None:
    """Add chosen values at chosen places."""
    for p in range(len(source)):
        flat[target[p]] += values[source[p]]


@kernel
def extend(
    pivot: Array, right: Array, below: Array, rest: Array, passed: Array, into: Indices, to_pivots: int
) -> None:
    """Add what a child passes on to the four blocks of a front."""
    for c in range(len(into)):
        j = into[c]
        if c < to_pivots:
            for r in range(to_pivots):
                pivot[into[r], j] += passed[r, c]
            for r in range(to_pivots, len(into)):
                below[into[r], j] += passed[r, c]
        else:
            for r in range(to_pivots):
                right[into[r], j] += passed[r, c]
            for r in range(to_pivots, len(into)):
                rest[into[r], j] += passed[r, c]
