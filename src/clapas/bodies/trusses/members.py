"""Members between moving nodes: their lengths and directions, and rows of B and sums over members."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from clapas.bodies.trusses.structure import Truss
from clapas.typing import Array, Indices, Mask


class Shapes(NamedTuple):
    """Lengths (m,) and unit directions (m × d) of the members."""

    length: Array
    direction: Array


class Members:
    """Free velocities at the ends of each member.

    Parameters
    ----------
    truss : Truss
        The structure; only its graph and its supports count.
    """

    def __init__(self, truss: Truss) -> None:
        self.ends, self.free, self.shape = truss.members, truss.free, truss.nodes.shape
        self.d, self.n_dof = truss.d, truss.n_dof
        number = np.full(truss.nodes.size, truss.n_dof)
        number[truss.free] = np.arange(truss.n_dof)
        # Columns (m × 2 d) of the velocities of both ends; n_dof marks supported ones.
        self.columns: Indices = number[truss.d * self.ends[:, :, None] + np.arange(truss.d)].reshape(
            len(self.ends), -1
        )

    def shapes(self, x: Array) -> Shapes:
        """Lengths and directions with the nodes at x (n × d)."""
        vectors = x[self.ends[:, 1]] - x[self.ends[:, 0]]
        length = np.sqrt(np.einsum("mi,mi->m", vectors, vectors))
        return Shapes(length, vectors / np.maximum(length, np.finfo(float).tiny)[:, None])

    def on_nodes(self, free: Array, supported: Array) -> Array:
        """Values (n × d) from those of the free components, ``held`` elsewhere."""
        whole = supported.ravel().copy()
        whole[self.free] = free
        return np.asarray(whole.reshape(self.shape))

    def across(self, v: Array) -> Array:
        """Differences (m × d) of the velocities (n_dof,) of both ends."""
        ends = np.append(v, 0.0)[self.columns]
        return np.asarray(ends[:, self.d :] - ends[:, : self.d])

    def rates(self, direction: Array, v: Array) -> Array:
        """B v (m,): rates of length of members with these directions."""
        return np.asarray(np.einsum("mi,mi->m", direction, self.across(v)))

    def sum(self, pull: Array) -> Array:
        """Σ over the members of ∓ their vectors (m × d) at both ends, (n_dof,); Bᵀ t is that of t c."""
        both = np.concatenate((-pull, pull), axis=1)
        total = np.bincount(self.columns.ravel(), weights=both.ravel(), minlength=self.n_dof + 1)
        return np.asarray(total[: self.n_dof])

    def rows(self, direction: Array, which: Indices) -> sparse.csr_array:
        """Rows (−c, c) of some members with these directions."""
        columns = self.columns[which]
        kept: Mask = columns < self.n_dof
        values = np.concatenate((-direction, direction), axis=1)
        starts = np.concatenate(([0], np.cumsum(kept.sum(axis=1))))
        return sparse.csr_array((values[kept], columns[kept], starts), shape=(len(which), self.n_dof))

    @cached_property
    def entries(self) -> tuple[Indices, Indices, Indices, Array]:
        """Rows, columns, numbers and signs of the entries that blocks of members have in one triangle.

        Entry i of the matrix Σ [[S, −S], [−S, S]] is ``sign[i] · S.ravel()[number[i]]`` for the blocks S
        (m × d × d); repeated positions are added.
        """
        d, m = self.d, len(self.ends)
        low = np.tril_indices(d)
        first, second = self.columns[:, :d], self.columns[:, d:]
        square = np.repeat(np.arange(d), d), np.tile(np.arange(d), d)
        parts = [
            (first[:, low[0]], first[:, low[1]], low, 1.0),
            (second[:, low[0]], second[:, low[1]], low, 1.0),
            (second[:, square[0]], first[:, square[1]], square, -1.0),
        ]
        number = np.arange(m)[:, None] * d * d
        flat = [
            (row.ravel(), column.ravel(), (number + d * at[0] + at[1]).ravel(), np.full(row.size, sign))
            for row, column, at, sign in parts
        ]
        row, column, places, signs = (np.concatenate(part) for part in zip(*flat, strict=True))
        kept = (row < self.n_dof) & (column < self.n_dof)
        return row[kept], column[kept], places[kept], signs[kept]
