"""Bodies and jointed clusters of bodies: the inverse of M where joints hold.

Degrees of freedom that M or a joint couples form a cluster. Inside one, the velocities that obey the joints
J v + b = 0 are found in units of unit mass: with M = L Lᵀ, y = Lᵀ v and A = J L⁻ᵀ = U S Vᵀ,

    v = L⁻ᵀ (N z + y_p),    N a basis of ker A,    y_p = −A⁺ b,

so that M v + f = Hᵀ r + Jᵀ λ becomes z = Nᵀ L⁻¹ (Hᵀ r − f): an impulse p changes the velocity by the
projected inverse A_J p = L⁻ᵀ N Nᵀ L⁻¹ p. Redundant joints are linearly dependent rows of A: their singular
values vanish, and λ is the one of least norm. Inconsistent joints raise an error.

Large clusters without joints keep a sparse factor of M, those with joints one of the saddle point matrix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg, sparse
from scipy.sparse import csgraph
from scipy.sparse import linalg as sparse_linalg

from clapas.errors import ProblemError
from clapas.linalg.factor import (
    LARGEST_BLOCK,
    BlockDiagonalFactor,
    Factor,
    NotDefinite,
    factorise,
    refuse_small_pivots,
)
from clapas.linalg.factored_mass import Inverse
from clapas.typing import Array, Indices

LARGEST_SINGLE = 60  # degrees of freedom up to which all may form one cluster
DENSE = 800  # degrees of freedom of a cluster up to which full matrices are used
RANK = 1e-11  # singular values of unit rows below this fraction of the largest are redundant joints
NOTHING = 1e-13  # of the largest row of J: smaller ones are rounding, and must not be scaled up
CONSISTENT = 1e-8  # how well redundant joints must agree, relative to their right-hand sides
REGULARISATION = 1e-13  # of the saddle point matrix, relative to its response: allows redundant rows


class ContradictingJoints(ProblemError):
    """No velocity obeys all rows of J v + b = 0."""


@dataclass(frozen=True, eq=False)
class Cluster:
    """Velocities coupled by M or by joints.

    Parameters
    ----------
    dofs : array (s,)
        Their indices in the whole problem.
    rows : array (j,)
        The rows of J that act on them.
    M, J : matrices (s × s) and (j × s)
        The parts of M and of J.
    b : array (j,)
        Imposed joint velocities.
    known : Inverse, optional
        The inverse of M, where it is known and the cluster has no joint.
    """

    dofs: Indices
    rows: Indices
    M: sparse.csr_array
    J: sparse.csr_array
    b: Array
    known: Inverse | None = None

    def __post_init__(self) -> None:
        if self.known is None:
            _ = self._lower if self.is_dense else self._factor  # raises if M is not positive definite

    def inverse(self, impulse: Array) -> Array:
        """Velocities due to impulses on the cluster, (s,) or (s, k), under its joints."""
        if self.known is not None:
            return self.known.solve(impulse)
        if self.is_dense:
            return np.asarray(self.root @ (self.root.T @ impulse))
        if not len(self.rows):
            return self._factor.solve(impulse)
        zero = np.zeros((len(self.rows), *impulse.shape[1:]))
        return self._solve_saddle(np.concatenate((impulse, zero)))[: len(self.dofs)]

    @cached_property
    def imposed(self) -> Array:
        """The velocity (s,) of least kinetic energy that obeys the joints."""
        if not self.b.any():
            return np.zeros(len(self.dofs))
        if self.is_dense:
            L, U, S, V = self._joints
            y = -V.T @ ((U.T @ self._unit_b) / S)
            v = np.asarray(linalg.solve_triangular(L, y, lower=True, trans="T"))
        else:
            v = self._solve_saddle(np.concatenate((np.zeros(len(self.dofs)), -self.b)))[: len(self.dofs)]
        violation = np.abs(self.J @ v + self.b)
        if violation.max() > CONSISTENT * np.abs(self.b).max():
            row = self.rows[int(np.argmax(violation))]
            raise ContradictingJoints(
                f"the joints contradict each other: row {row} of J v + b = 0 stays violated by "
                f"{violation.max():.1e}. Redundant rows must agree with those they repeat"
            )
        return v

    def multipliers(self, momentum: Array) -> Array:
        """The smallest λ (j,) with Jᵀ λ = M v + f − Hᵀ r, the momentum (s,) due to the joints."""
        if not len(self.rows):
            return np.empty(0)
        if self.is_dense:
            L, U, S, V = self._joints
            in_unit_mass = linalg.solve_triangular(L, momentum, lower=True)
            return np.asarray((U @ ((V @ in_unit_mass) / S)) / self._length)
        return np.asarray(sparse_linalg.lsqr(self.J.T, momentum, atol=1e-14, btol=1e-14)[0])

    @cached_property
    def root(self) -> Array:
        """R (s × z) with A_J = R Rᵀ: a column for each motion that the joints allow. Dense clusters only."""
        if not len(self.rows):
            L = self._lower
            return np.asarray(linalg.solve_triangular(L, np.eye(len(L)), lower=True, trans="T"))
        L, _, _, V = self._joints
        null_basis = linalg.null_space(V) if len(V) else np.eye(len(L))
        return np.asarray(linalg.solve_triangular(L, null_basis, lower=True, trans="T"))

    @property
    def is_dense(self) -> bool:
        """Whether full matrices are used."""
        return self.known is None and len(self.dofs) <= DENSE

    @cached_property
    def _lower(self) -> Array:
        full = self.M.toarray()
        try:
            lower = np.linalg.cholesky(full)
            refuse_small_pivots(lower, full)
        except np.linalg.LinAlgError:
            factorise(self.M)  # raises an error that names the degree of freedom
            raise NotDefinite("M must be symmetric positive definite, but it is singular") from None
        return lower

    @cached_property
    def _length(self) -> Array:
        """Length of each row of J, by which it is divided: joints in metres and in radians are comparable."""
        size = np.sqrt(np.asarray(self.J.multiply(self.J).sum(axis=1)).ravel())
        return np.where(size > NOTHING * size.max(initial=0.0), size, 1.0)

    @cached_property
    def _unit_b(self) -> Array:
        return self.b / self._length

    @cached_property
    def _joints(self) -> tuple[Array, Array, Array, Array]:
        """L, and U, S, V of the rows of unit size in units of unit mass, without the redundant ones."""
        L = self._lower
        rows = self.J.toarray() / self._length[:, None]
        A = linalg.solve_triangular(L, rows.T, lower=True).T
        U, S, V = np.linalg.svd(A, full_matrices=False)
        kept = S > RANK * S.max(initial=0.0)
        return L, U[:, kept], S[kept], V[kept]

    @cached_property
    def _factor(self) -> Factor:
        return factorise(self.M)

    @cached_property
    def _saddle(self) -> sparse_linalg.SuperLU:
        unit = sparse.diags_array(1.0 / self._length) @ self.J
        inverse_mass = float(np.mean(1.0 / self.M.diagonal()))
        shift = -REGULARISATION * inverse_mass * sparse.eye_array(len(self.rows))
        return sparse_linalg.splu(sparse.csc_array(sparse.block_array([[self.M, unit.T], [unit, shift]])))

    def _solve_saddle(self, right: Array) -> Array:
        """Solve [M Jᵀ; J 0] x = right, refined iteratively since the factorised matrix is regularised."""
        unit = sparse.diags_array(1.0 / self._length) @ self.J
        exact = sparse.csr_array(sparse.block_array([[self.M, unit.T], [unit, None]]))
        scaled = right.copy()
        scaled[len(self.dofs) :] = (scaled[len(self.dofs) :].T / self._length).T
        x = self._saddle.solve(scaled)
        for _ in range(2):
            x = x + self._saddle.solve(scaled - exact @ x)
        return np.asarray(x)


@dataclass(frozen=True, eq=False)
class Clusters:
    """All clusters of a problem: small free bodies in one batch, the others one by one.

    Parameters
    ----------
    n_dof : int
        Degrees of freedom.
    small : array
        Those of bodies of at most 64, without joints.
    bodies : BlockDiagonalFactor
        The factor of their part of M.
    others : tuple of Cluster
        The rest.
    """

    n_dof: int
    small: Indices
    bodies: BlockDiagonalFactor
    others: tuple[Cluster, ...]

    def solve(self, right: Array) -> Array:
        """Velocities due to impulses (m,) or (m, k) under the joints."""
        result = np.zeros_like(right, dtype=float)
        result[self.small] = self.bodies.solve(right[self.small])
        for cluster in self.others:
            result[cluster.dofs] = cluster.inverse(right[cluster.dofs])
        return result

    @cached_property
    def imposed(self) -> Array:
        """Velocities (m,) that the joints impose."""
        v = np.zeros(self.n_dof)
        for cluster in self.others:
            v[cluster.dofs] = cluster.imposed
        return v

    def multipliers(self, momentum: Array, n_rows: int) -> Array:
        """Impulses λ (n_rows,) of the joints, from the momentum (m,) that only they can explain."""
        result = np.zeros(n_rows)
        for cluster in self.others:
            result[cluster.rows] = cluster.multipliers(momentum[cluster.dofs])
        return result


def clusters(
    M: sparse.csr_array,
    J: sparse.csr_array | None = None,
    b: Array | None = None,
    *,
    together: bool = False,
    inverses: Mapping[int, Inverse] | None = None,
) -> Clusters:
    """Sort the degrees of freedom into clusters; with ``together``, few of them form a single cluster.

    ``inverses`` are the known inverses of clusters, by their first degrees of freedom.

    Examples
    --------
    Two masses on a line, tied together, move as one.

    >>> tied = clusters(sparse.csr_array(np.diag([1.0, 3.0])), sparse.csr_array([[1.0, -1.0]]))
    >>> tied.solve(np.array([4.0, 0.0]))
    array([1., 1.])
    """
    m = M.shape[0]
    J = sparse.csr_array((0, m)) if J is None else J
    b = np.zeros(J.shape[0]) if b is None else b
    if together and 0 < m <= LARGEST_SINGLE:
        _refuse_zero_rows(J, b)
        none = BlockDiagonalFactor(sparse.csr_array((0, 0)), np.empty(0, dtype=np.int64))
        whole = Cluster(np.arange(m), np.arange(J.shape[0]), M, J, b)
        return Clusters(m, np.empty(0, dtype=np.int64), none, (whole,))
    pattern = abs(M)
    if J.shape[0]:
        pattern = sparse.block_array([[pattern, abs(J).T], [abs(J), None]])
    labels = csgraph.connected_components(pattern, directed=False)[1]
    of_dof, of_row = labels[:m], labels[m:]
    size, joints = np.bincount(of_dof, minlength=labels.max(initial=0) + 1), np.bincount(of_row, minlength=1)
    joints = np.pad(joints, (0, len(size) - len(joints)))
    alone = (size <= LARGEST_BLOCK) & (joints == 0)
    small = np.flatnonzero(alone[of_dof])
    order = np.unique(of_dof[small], return_inverse=True)[1]
    bodies = BlockDiagonalFactor(sparse.csr_array(M[small][:, small]), order.astype(np.int64))
    others = []
    for label in np.flatnonzero(~alone & (size > 0)):
        dofs, rows = np.flatnonzero(of_dof == label), np.flatnonzero(of_row == label)
        parts = sparse.csr_array(M[dofs][:, dofs]), sparse.csr_array(J[rows][:, dofs]), b[rows]
        known = None if rows.size or inverses is None else inverses.get(int(dofs[0]))
        if known is not None and not known.size == len(dofs) == dofs[-1] - dofs[0] + 1:
            known = None  # it covers other velocities too
        others.append(Cluster(dofs, rows, *parts, known))
    _refuse_zero_rows(J, b)
    return Clusters(m, small, bodies, tuple(others))


def _refuse_zero_rows(J: sparse.csr_array, b: Array) -> None:
    """Raise an error for zero rows of J that impose a velocity, beyond rounding of what others impose.

    A straight rod cannot move its tip along itself: the row of a joint along it is zero, and a driven body
    that turns about its axis leaves rounding errors in b.
    """
    zero = np.flatnonzero(np.diff(J.indptr) == 0)
    if zero.size and np.abs(b[zero]).max() > CONSISTENT * np.abs(b).max():
        row = zero[np.argmax(np.abs(b[zero]))]
        raise ProblemError(
            f"joint row {row} of J is zero but b is {b[row]:.6g}: no motion obeys it. Something drives a "
            "body along a direction in which what it is joined to cannot move: leave that direction free, or "
            "stop the motion"
        )
