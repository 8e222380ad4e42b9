"""The inverse of the effective mass of an elastic body, with a cache of the columns used by contacts.

In the frames that turn with a linear body M̃ is constant for a constant time step, and so is M̃⁻¹: its columns
for nodes in contact are kept. In the world M̃⁻¹ is that of the frames, rotated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.bodies.elastic.frames import Turned
from clapas.linalg.factor import Factor
from clapas.typing import Array, Indices

LARGEST = 20_000_000  # cached numbers: 160 MB


class KeptInverse:
    """M̃⁻¹ by a factorisation of M̃, with a cache of its columns.

    Parameters
    ----------
    factor : Factor
        Of M̃ (m, m).
    size : int
        m.

    Examples
    --------
    >>> from clapas.linalg.factor import DenseFactor
    >>> inverse = KeptInverse(DenseFactor(np.array([[2.0, 1.0], [1.0, 2.0]])), 2)
    >>> 3.0 * inverse.block(np.array([1, 0]))
    array([[ 2., -1.],
           [-1.,  2.]])
    """

    def __init__(self, factor: Factor, size: int) -> None:
        self._factor, self.size = factor, size
        self._index: Indices = np.full(size, -1)  # of columns in the cache
        self._columns: Array = np.empty((0, size))

    def solve(self, right: Array) -> Array:
        """M̃⁻¹ p, for a vector or for each column of a matrix."""
        return self._factor.solve(right)

    def block(self, dofs: Indices) -> Array:
        """Rows and columns of M̃⁻¹ at some degrees of freedom, (c, c)."""
        missing = dofs[self._index[dofs] < 0]
        if (len(self._columns) + len(missing)) * self.size > LARGEST:
            self._clear()
            missing = dofs
        if len(missing):
            # One by one: a column must not depend in the last bits on the others solved with it, since a
            # resumed run needs other sets.
            new = [self._column(dof) for dof in missing]
            self._index[missing] = len(self._columns) + np.arange(len(missing))
            self._columns = np.concatenate((self._columns, new))
        block = self._columns[self._index[dofs]][:, dofs]
        return np.asarray(0.5 * (block + block.T))

    def _column(self, dof: int) -> Array:
        unit = np.zeros(self.size)
        unit[dof] = 1.0
        return self._factor.solve(unit)

    def _clear(self) -> None:
        self._index = np.full(self.size, -1)
        self._columns = np.empty((0, self.size))


@dataclass(frozen=True, eq=False)
class TurnedInverse:
    """M̃⁻¹ in the world of a body without supports, from that in its frames.

    Parameters
    ----------
    own : KeptInverse
        In the frames.
    turned : Turned
        The frames.
    """

    own: KeptInverse
    turned: Turned

    @property
    def size(self) -> int:
        """Displacements of the body."""
        return self.own.size

    def solve(self, right: Array) -> Array:
        """R M̃⁻¹ Rᵀ p, for a vector or for each column of a matrix."""
        return self.turned.to_world(self.own.solve(self.turned.to_frames(right)))

    def block(self, dofs: Indices) -> Array:
        """Rows and columns at some degrees of freedom: those of their nodes in the frames, rotated."""
        d = self.turned.arm.shape[1]
        nodes, at = np.unique(dofs // d, return_inverse=True)
        c = len(nodes)
        block = self.own.block((d * nodes[:, None] + np.arange(d)).ravel())
        R = self.turned.R[nodes]
        rows = (R @ block.reshape(c, d, c * d)).reshape(c * d, c, d).transpose(1, 0, 2)
        world = (rows @ R.transpose(0, 2, 1)).transpose(1, 0, 2).reshape(c * d, c * d)
        chosen = d * at.ravel() + dofs % d
        block = world[np.ix_(chosen, chosen)]
        return np.asarray(0.5 * (block + block.T))
