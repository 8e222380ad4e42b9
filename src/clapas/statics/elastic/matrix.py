"""The matrix of (u, r) of Newton's method on contact: its pattern, computed once, and its solution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from clapas.linalg.symmetric_pattern import Engine, SymmetricPattern
from clapas.statics.elastic.problem import Increment
from clapas.typing import Array, Indices, Mask


@dataclass
class Workspace:
    """The analysed pattern of the matrix, reused while the pattern of contacts is unchanged."""

    key: tuple[Mask, Indices, str] | None = None
    entries: Entries | None = None

    def prepared(self, K: sparse.csr_array, increment: Increment, dofs: Indices, engine: Engine) -> Entries:
        """Positions of the entries for this increment."""
        free = increment.stage.held.free
        same = (
            self.key is not None
            and self.key[2] == engine
            and np.array_equal(self.key[0], free)
            and np.array_equal(self.key[1], dofs)
        )
        if not same:
            self.entries = Entries(K, free, dofs, increment.nodes, increment.stage.solid.d, engine)
            self.key = (free, dofs, engine)
        assert self.entries is not None
        return self.entries


class Entries:
    """Positions of the entries of K, H and the law in the matrix of (free u, r)."""

    def __init__(
        self, K: sparse.csr_array, free: Mask, dofs: Indices, nodes: Indices, d: int, engine: Engine
    ) -> None:
        number = np.cumsum(free) - 1
        number[~free] = -1
        n, m = dofs.shape
        self.n_free = int(free.sum())
        row = np.repeat(np.arange(K.shape[0]), np.diff(K.indptr))
        self.keep_K = np.flatnonzero(free[row] & free[K.indices])
        at = number[dofs]  # (n, m)
        force = self.n_free + np.arange(n * d).reshape(n, d)
        square = (np.repeat(at, m, axis=1).reshape(n, m, m), np.broadcast_to(at[:, None], (n, m, m)))
        column = (np.broadcast_to(at[:, None], (n, d, m)), np.broadcast_to(force[:, :, None], (n, d, m)))
        law = (np.broadcast_to(force[:, :, None], (n, d, d)), np.broadcast_to(force[:, None], (n, d, d)))
        blocks = (square, column, column[::-1], law)
        rows = np.concatenate([block[0].ravel() for block in blocks]).astype(np.int64)
        columns = np.concatenate([block[1].ravel() for block in blocks]).astype(np.int64)
        self.keep_contact = np.flatnonzero((rows >= 0) & (columns >= 0))
        # A node and the forces of its contacts are one group, displacements first.
        size = self.n_free + n * d
        owner = np.concatenate((np.flatnonzero(free) // d, np.repeat(nodes, d)))
        present = np.zeros(int(owner.max(initial=-1)) + 1, dtype=np.int64)
        present[owner] = 1
        groups = (np.cumsum(present) - 1)[owner]
        self.pattern = SymmetricPattern(
            np.concatenate((number[row[self.keep_K]], rows[self.keep_contact])),
            np.concatenate((number[K.indices[self.keep_K]], columns[self.keep_contact])),
            size,
            groups,
            engine,
        )

    def solve(self, K: sparse.csr_array, blocks: tuple[Array, ...], right: Array) -> Array:
        """Solve with the entries of K and the four blocks of each contact, in the order of the pattern."""
        contact = np.concatenate([block.ravel() for block in blocks])
        values = np.concatenate((K.data[self.keep_K], contact[self.keep_contact]))
        return self.pattern.solve(values, right)


def solve_shifted(
    entries: Entries, K: sparse.csr_array, blocks: tuple[Array, ...], right: Array, unit: float
) -> Array:
    """Solve, with a small added stiffness where the closed contacts leave a rigid motion.

    The step is then long along that motion, and closes the contacts in its way.
    """
    for shift in (0.0, 1e-9, 1e-6, 1e-3):
        try:
            if shift == 0.0:
                return entries.solve(K, blocks, right)
            shifted = sparse.csr_array(K, copy=True)
            shifted.setdiag(K.diagonal() + shift * unit)
            return entries.solve(shifted, blocks, right)
        except np.linalg.LinAlgError:
            continue
    raise np.linalg.LinAlgError("the matrix is singular")
