"""Self-stress states and mechanisms: the two kernels of the compatibility matrix.

    self-stress   Bᵀ t = 0      forces that balance without loads          dimension m − rank B
    mechanism     B U = 0       motions that stretch nothing, to first order     dimension n_dof − rank B

The rows of B are unit vectors up to √2, so its singular values have no unit and need no scaling; a gap in
them separates zero from the rest. Rigid motions that the supports allow are mechanisms; the others are
*internal*.

Up to :data:`DENSE` unknowns the singular value decomposition is used. For larger structures the
mechanisms come from the eigenvectors of BᵀB next to zero (Lanczos about a small negative shift).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg, sparse
from scipy.sparse import linalg as sparse_linalg

from clapas.bodies.trusses.structure import Truss
from clapas.errors import ProblemError
from clapas.typing import Array

DENSE = 1200  # free displacements up to which the singular value decomposition is used
ZERO = 1e-9  # singular value, relative to the largest, that counts as zero
SHIFT = 1e-7  # of BᵀB, relative to its largest entry
MOST = 200  # mechanisms sought in a large structure


@dataclass(frozen=True, eq=False)
class Kinematics:
    """The kernels of B and of its transpose.

    Parameters
    ----------
    truss : Truss
        The structure.
    rank : int
        Rank of B.
    mechanisms : array (n_dof × k)
        Orthonormal basis of the displacements that stretch nothing, rigid motions included.
    """

    truss: Truss
    rank: int
    mechanisms: Array

    @property
    def n_self_stress(self) -> int:
        """Number of independent states of self-stress."""
        return self.truss.n_members - self.rank

    @cached_property
    def rigid(self) -> Array:
        """Orthonormal basis of the rigid motions that the supports allow (n_dof × r)."""
        motions = rigid_motions(self.truss)
        blocked = np.delete(np.arange(self.truss.nodes.size), self.truss.free)
        allowed = (
            linalg.null_space(motions[blocked], rcond=ZERO) if len(blocked) else np.eye(motions.shape[1])
        )
        return np.linalg.qr(motions[self.truss.free] @ allowed)[0]

    @cached_property
    def internal(self) -> Array:
        """Orthonormal basis of the mechanisms orthogonal to the rigid motions (n_dof × i)."""
        count = self.mechanisms.shape[1] - self.rigid.shape[1]
        rest = self.mechanisms - self.rigid @ (self.rigid.T @ self.mechanisms)
        return np.asarray(np.linalg.svd(rest, full_matrices=False)[0][:, : max(count, 0)])

    @cached_property
    def self_stress(self) -> Array:
        """Orthonormal basis of the states of self-stress (m × s)."""
        if self.truss.n_members > 3 * DENSE:
            raise ProblemError(
                f"a basis of {self.n_self_stress} states of self-stress on {self.truss.n_members} members "
                "would be a full matrix: ask for one state by clapas.bodies.trusses.feasible_self_stress "
                "instead"
            )
        u = np.linalg.svd(self.truss.B.toarray(), full_matrices=True)[0]
        return np.asarray(u[:, self.rank :])


def kinematics(truss: Truss) -> Kinematics:
    """Count and compute self-stress states and mechanisms.

    Examples
    --------
    The half-cuboctahedron module has one state of self-stress and three internal mechanisms:

    >>> from clapas.bodies.trusses.generators import module
    >>> found = kinematics(module())
    >>> found.n_self_stress, found.rigid.shape[1], found.internal.shape[1]
    (1, 6, 3)

    References: Pellegrino, Calladine 1986.
    """
    if truss.n_dof <= DENSE:
        _, values, rows = np.linalg.svd(truss.B.toarray(), full_matrices=True)
        rank = int((values > ZERO * values.max(initial=0.0)).sum())
        return Kinematics(truss, rank, np.ascontiguousarray(rows[rank:].T))
    kernel = _sparse_kernel(truss)
    return Kinematics(truss, truss.n_dof - kernel.shape[1], kernel)


def _sparse_kernel(truss: Truss) -> Array:
    """Eigenvectors of BᵀB whose value is zero, as many as there are.

    Zero eigenvalues of a product are known to about 1e-16 of the largest, that is 1e-8 in singular values;
    the smallest true ones of grids of a hundred modules a side are near 1e-4.
    """
    gram = (truss.B.T @ truss.B).tocsc()
    top = float(gram.diagonal().max())
    factor = sparse_linalg.splu(
        gram + SHIFT * top * sparse.eye_array(truss.n_dof, format="csc"),
        diag_pivot_thresh=0.0,
        permc_spec="MMD_AT_PLUS_A",
        options={"SymmetricMode": True},
    )
    inverse = sparse_linalg.LinearOperator(gram.shape, matvec=factor.solve, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(truss.n_dof)
    count = 12
    while True:
        values, vectors = sparse_linalg.eigsh(inverse, k=min(count, truss.n_dof - 1), v0=start)
        order = np.argsort(-values)
        small = 1.0 / values[order] - SHIFT * top
        zero = np.abs(small) < 1e-12 * top
        if not zero.all():
            return np.ascontiguousarray(np.linalg.qr(vectors[:, order[zero]])[0])
        if count >= MOST:
            raise ProblemError(
                f"the structure has more than {MOST} mechanisms: it is a linkage rather than a structure. "
                "Add members or supports"
            )
        count *= 3


def rigid_motions(truss: Truss, nodes: Array | None = None) -> Array:
    """Translations and small rotations about the centre, as columns on all displacements (d·n × 3 or 6).

    ``nodes`` are positions in another shape (n × d); by default those of the truss.
    """
    x = truss.nodes if nodes is None else nodes
    x = x - x.mean(axis=0)
    n, d = x.shape
    size = float(np.abs(x).max()) or 1.0
    moves = [np.tile(axis, n) for axis in np.eye(d)]
    if d == 2:
        moves.append((np.column_stack((-x[:, 1], x[:, 0])) / size).ravel())
    else:
        moves += [(np.cross(axis, x) / size).ravel() for axis in np.eye(3)]
    # The rotation of a straight structure about its own axis is zero: that column is left out.
    columns = np.column_stack(moves)
    return columns[:, np.linalg.norm(columns, axis=0) > 0.0]
