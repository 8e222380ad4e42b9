"""The least motion that changes joints by given amounts.

Among all velocities w with J w = t, the one of least kinetic energy,

    w = M⁻¹ Jᵀ (J M⁻¹ Jᵀ)⁺ t,

linkage by linkage. Where rows are redundant and t does not agree with them, J w is as near t as it can be. In
units of unit mass and unit rows A = J M^(−1/2) = U S Vᵀ, and M^(1/2) w = V S⁻¹ Uᵀ t. Linkages with many rows
keep a sparse factor of A Aᵀ instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import linalg as sparse_linalg

from clapas.dynamics.joints.rows import JointRows, Linkage, Placed
from clapas.dynamics.model import Model
from clapas.typing import Array

RANK = 1e-11  # singular values below this part of the largest are redundant rows
DENSE = 400  # rows up to which a linkage has full matrices
REGULARISATION = 1e-11  # of the sparse A Aᵀ, whose rows are unit: lets redundant rows pass
REFINEMENTS = 3
CHUNK = 256  # contacts treated together: bounds the memory


class FullRows(NamedTuple):
    """A linkage by the singular values of its rows."""

    linkage: Linkage
    U: Array
    S: Array
    V: Array

    def reach(self, target: Array) -> Array:
        """M^(1/2) w, for a target (j,) of rows of unit size."""
        return np.asarray(self.V.T @ ((self.U.T @ target) / self.S))

    def multipliers(self, y: Array) -> Array:
        """The smallest λ (j,) with Aᵀ λ = y, a momentum in units of unit mass."""
        return np.asarray(self.U @ ((self.V @ y) / self.S))

    def taken(self, y: Array) -> Array:
        """Squares of the parts that the joints take from velocities (m, k) in units of unit mass, (k,)."""
        return np.asarray(np.sum((self.V @ y) ** 2, axis=0))


class SparseRows(NamedTuple):
    """A linkage by a sparse factor of A Aᵀ."""

    linkage: Linkage
    A: sparse.csr_array
    square: sparse.csr_array
    factor: sparse_linalg.SuperLU

    def reach(self, target: Array) -> Array:
        """M^(1/2) w, for a target (j,) of rows of unit size."""
        return np.asarray(self.A.T @ self._solved(target))

    def multipliers(self, y: Array) -> Array:
        """The smallest λ (j,) with Aᵀ λ = y, a momentum in units of unit mass."""
        return self._solved(np.asarray(self.A @ y))

    def taken(self, y: Array) -> Array:
        """Squares of the parts that the joints take from velocities (m, k) in units of unit mass, (k,)."""
        return np.asarray(np.sum(self.reach(np.asarray(self.A @ y)) ** 2, axis=0))

    def _solved(self, right: Array) -> Array:
        x = self.factor.solve(right)
        for _ in range(REFINEMENTS):
            x = x + self.factor.solve(right - self.square @ x)
        return np.asarray(x)


@dataclass(frozen=True, eq=False)
class LeastMotion:
    """Joints where bodies are, ready to move the bodies.

    Velocities here are those of all bodies, (N, size), of which those that can change count.

    Parameters
    ----------
    model : Model
        The bodies.
    rows : JointRows
        The rows of the joints.
    placed : Placed
        Where the bodies are.
    """

    model: Model
    rows: JointRows
    placed: Placed

    def rate(self, velocity: Array) -> Array:
        """J v (j,), of what can move."""
        return self._on_movable.rate(self.rows, velocity)

    def reach(self, target: Array) -> Array:
        """The least velocities w (N, size) with J w = target (j,)."""
        w = np.zeros_like(self._inverse_root[:-1])
        for part in self._factors:
            rows, bodies = part.linkage.rows, part.linkage.bodies
            y = part.reach(target[rows] / self._length[rows])
            w[bodies] = y.reshape(len(bodies), -1) * self._inverse_root[bodies]
        return w

    def held(self, velocity: Array) -> Array:
        """The velocities nearest to v, in the metric of the masses, with J v = 0."""
        return np.asarray(velocity - self.reach(self.rate(velocity)))

    def multipliers(self, change: Array) -> Array:
        """The smallest impulses λ (j,) with M⁻¹ Jᵀ λ = change, that of velocities (N, size)."""
        result = np.zeros(len(self.rows))
        for part in self._factors:
            bodies = part.linkage.bodies
            y = np.where(
                self._inverse_root[bodies] > 0.0, change[bodies] * np.sqrt(self.model.masses[bodies]), 0
            )
            result[part.linkage.rows] = part.multipliers(y.ravel())
        return result / self._length

    def taken(self, H: sparse.csr_array) -> Array:
        """How much less impulses along rows of H (n × m) change their own velocities by the joints, (n,)."""
        size = self._inverse_root.shape[1]
        G = sparse.csr_array(H @ sparse.diags_array(self._inverse_root[:-1][self.model.movable].ravel()))
        taken = np.zeros(G.shape[0])
        for part in self._factors:
            dofs = (self.model.number[part.linkage.bodies][:, None] * size + np.arange(size)).ravel()
            own = sparse.csr_array(G[:, dofs])
            touching = np.flatnonzero(np.diff(own.indptr))
            for start in range(0, len(touching), CHUNK):
                chunk = touching[start : start + CHUNK]
                taken[chunk] += part.taken(own[chunk].toarray().T)
        return taken

    @cached_property
    def J(self) -> sparse.csr_array:
        """The rows (j × m) on the velocities of the movable bodies."""
        size, n = self._inverse_root.shape[1], len(self.model.roots)
        number = np.append(self.model.number, n)
        columns = [number[body][:, None] * size + np.arange(size) for body in (self.rows.a, self.rows.b)]
        row = np.tile(np.repeat(np.arange(len(self.rows)), size), 2)
        entries = np.concatenate([self._on_movable.of_a.ravel(), self._on_movable.of_b.ravel()])
        there = entries != 0.0
        place = row[there], np.concatenate([part.ravel() for part in columns])[there]
        return sparse.coo_array((entries[there], place), shape=(len(self.rows), n * size)).tocsr()

    @cached_property
    def _inverse_root(self) -> Array:
        """Inverse roots of the masses, (N + 1, size): zero where nothing moves, last the world."""
        own = self.model.inverse_root
        return np.concatenate((own, np.zeros((1, own.shape[1]))))

    @cached_property
    def _on_movable(self) -> Placed:
        moves_a, moves_b = self._inverse_root[self.rows.a] > 0.0, self._inverse_root[self.rows.b] > 0.0
        of_a, of_b = np.where(moves_a, self.placed.of_a, 0.0), np.where(moves_b, self.placed.of_b, 0.0)
        return self.placed._replace(of_a=of_a, of_b=of_b)

    @cached_property
    def _in_unit_mass(self) -> tuple[Array, Array]:
        """The blocks of J M^(−1/2) on the two bodies of each row."""
        blocks = self._on_movable
        return blocks.of_a * self._inverse_root[self.rows.a], blocks.of_b * self._inverse_root[self.rows.b]

    @cached_property
    def _length(self) -> Array:
        """Size of each row in units of unit mass; 1 for rows on which nothing can move."""
        a, b = self._in_unit_mass
        size = np.sqrt(np.sum(a * a, axis=1) + np.sum(b * b, axis=1))
        return np.where(size > 0.0, size, 1.0)

    @cached_property
    def _factors(self) -> list[FullRows | SparseRows]:
        a, b = (block / self._length[:, None] for block in self._in_unit_mass)
        factors: list[FullRows | SparseRows] = []
        for linkage in self.model.linkages:
            rows, n, j = linkage.rows, len(linkage.bodies), len(linkage.rows)
            if j <= DENSE:
                A = np.zeros((j, n + 1, a.shape[1]))
                A[np.arange(j), linkage.a] = a[rows]
                A[np.arange(j), linkage.b] += b[rows]
                U, S, V = np.linalg.svd(A[:, :n].reshape(j, -1), full_matrices=False)
                kept = S > RANK * S.max(initial=0.0)
                factors.append(FullRows(linkage, U[:, kept], S[kept], V[kept]))
                continue
            blocks = np.concatenate((a[rows], b[rows]))[:, None, :]
            place = np.argsort(np.tile(np.arange(j), 2), kind="stable")
            columns = np.concatenate((linkage.a, linkage.b))[place]
            wide = sparse.bsr_array(
                (blocks[place], columns, 2 * np.arange(j + 1)), shape=(j, (n + 1) * a.shape[1])
            )
            sparse_rows = sparse.csr_array(wide.tocsr()[:, : n * a.shape[1]])
            square = sparse.csr_array(sparse_rows @ sparse_rows.T)
            shifted = sparse.csc_array(square + REGULARISATION * sparse.eye_array(j))
            factors.append(SparseRows(linkage, sparse_rows, square, sparse_linalg.splu(shifted)))
        return factors
