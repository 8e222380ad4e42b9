"""Corotational frames: small strains without spurious stress under any rotation.

Linear elasticity is not objective: a block that turns by φ seems to shrink by 1 − cos φ, and is stressed.
In a frame that turns with it, it is not. The frame of a connected piece has its origin at the centre
of mass and is turned by the mean rotation, which minimises the remaining motion (m: masses of the
nodes, bars: positions relative to the centre),

    R = argmin Σ m |x̄ − R X̄|²,        e = Rᵀ x̄ − X̄,

the polar rotation of Σ m x̄ X̄ᵀ. Strains, stresses and energy are those of the displacements e in the frame.
Objective materials respond alike in all frames; for them the frame serves the time step (:mod:`.motion`).

References
----------
Müller, Heidelberger, Teschner, Gross 2005 (mean rotation by polar decomposition); Shabana 2013, 5 (floating
frames of reference).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from clapas.bodies.elastic.solid import Solid, full_tensors
from clapas.bodies.elastic.supports import RANK, Held
from clapas.typing import Array, Indices, Mask


class Turned(NamedTuple):
    """A body in its frames.

    Parameters
    ----------
    R : array (n, d, d)
        Rotation of the frame of each node.
    arm : array (n, d)
        Positions relative to the centre of the piece, in the world (m).
    e : array (n·d,)
        Displacements in the frames (m).
    """

    R: Array
    arm: Array
    e: Array

    def to_world(self, vectors: Array) -> Array:
        """Vectors of all nodes, (n·d,) or one per column, from the frames to the world."""
        return _rotated(self.R, vectors)

    def to_frames(self, vectors: Array) -> Array:
        """Vectors of all nodes from the world to the frames."""
        return _rotated(self.R.transpose(0, 2, 1), vectors)

    def matrix(self, K: sparse.csr_array) -> sparse.csr_array:
        """R K Rᵀ of a matrix (n·d, n·d) that couples nodes of one piece only."""
        d = self.arm.shape[1]
        blocks = sparse.bsr_array(K, blocksize=(d, d))
        R = self.R[blocks.indices]
        data = R @ blocks.data @ R.transpose(0, 2, 1)
        turned = sparse.bsr_array((data, blocks.indices, blocks.indptr), shape=K.shape)
        return sparse.csr_array(turned.tocsr())

    def stresses(self, stress: Array, nodes: Indices) -> Array:
        """Stresses (n, 4 or 6) from the frames of nodes (n,) to the world."""
        s, d = stress.shape[1], self.arm.shape[1]
        sigma = full_tensors(stress).reshape(-1, 3, 3)
        R = np.zeros_like(sigma)
        R[:, 2, 2] = 1.0
        R[:, :d, :d] = self.R[nodes]
        sigma = R @ sigma @ R.transpose(0, 2, 1)
        rows, columns = [0, 1, 2, 0, 1, 2][:s], [0, 1, 2, 1, 2, 0][:s]
        return np.asarray(sigma[:, rows, columns])


class Frames:
    """The frames of the pieces of a solid.

    Parameters
    ----------
    solid : Solid
        The undeformed body, with a density.
    turns : array (n_nodes,) of bool
        Nodes of pieces that may turn; the frames of the others are fixed.

    Examples
    --------
    A quarter of a turn leaves no displacement in the frame:

    >>> from clapas.bodies.elastic.generators import block
    >>> from clapas.bodies.elastic.materials import Elastic
    >>> solid = Solid(mesh=block((2.0, 1.0), (4, 2)), material=Elastic(young=1.0, density=1.0))
    >>> x = solid.mesh.nodes @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> turned = Frames(solid, np.ones(15, dtype=bool)).at((x - solid.mesh.nodes).ravel())
    >>> bool(np.abs(turned.e).max() < 1e-14)
    True
    """

    def __init__(self, solid: Solid, turns: Mask) -> None:
        self._nodes, self._turns = solid.mesh.nodes, turns
        self._piece = solid.mesh.pieces
        mass = solid.lumped_mass[:: solid.d]
        n = len(mass)
        self._sums = sparse.csr_array((mass, (self._piece, np.arange(n))))
        total = self._sums @ np.ones(n)
        self._per_mass = 1.0 / np.where(total > 0.0, total, 1.0)
        self._mass = mass[:, None]
        self._first = self._nodes - self._centres(self._nodes)

    def at(self, u: Array) -> Turned:
        """The body at displacements u of all nodes."""
        x = self._nodes + u.reshape(self._nodes.shape)
        arm = x - self._centres(x)
        d = arm.shape[1]
        moments = self._sums @ (arm[:, :, None] * self._first[:, None, :]).reshape(-1, d * d)
        R = _rotations(moments.reshape(-1, d, d))[self._piece]
        R[~self._turns] = np.eye(d)
        e = np.einsum("nji,nj->ni", R, arm) - self._first
        return Turned(R, arm, e.ravel())

    def without_torque(self, force: Array, turned: Turned) -> Array:
        """Forces on all nodes, in the world, less the rigid rotational acceleration of their torque.

        Exact internal forces have no torque. Those of linear elasticity have one of second order in e, and
        forces at a mean of two instants one of second order in the rotation between them.
        """
        f, arm = force.reshape(turned.arm.shape), turned.arm
        turning = self._piece[self._turns]
        if arm.shape[1] == 2:
            torque = self._totals(arm[:, 0] * f[:, 1] - arm[:, 1] * f[:, 0])
            inertia = self._totals(self._mass[:, 0] * (arm**2).sum(axis=1))
            s = np.zeros_like(torque)
            s[turning] = torque[turning] / inertia[turning]
            spread = s[self._piece, None] * np.column_stack((-arm[:, 1], arm[:, 0]))
        else:
            torque = np.stack([self._totals(part) for part in np.cross(arm, f).T], axis=1)
            spin = (arm**2).sum(axis=1)[:, None, None] * np.eye(3) - arm[:, :, None] * arm[:, None, :]
            parts = (self._mass[:, :, None] * spin).reshape(-1, 9).T
            inertia = np.stack([self._totals(part) for part in parts], axis=1).reshape(-1, 3, 3)
            s = np.zeros_like(torque)
            which = np.unique(turning)
            s[which] = np.linalg.solve(inertia[which], torque[which][:, :, None])[:, :, 0]
            spread = np.cross(s[self._piece], arm)
        return np.asarray((f - self._mass * spread).ravel())

    def _centres(self, x: Array) -> Array:
        return np.asarray((self._per_mass[:, None] * (self._sums @ x))[self._piece])

    def _totals(self, values: Array) -> Array:
        return np.asarray(np.bincount(self._piece, values, minlength=len(self._per_mass)), dtype=float)


def frames_of(solid: Solid, held: Held) -> Frames | None:
    """Frames of the pieces that are free to turn; None where there are none."""
    nodes, d, pieces = solid.mesh.nodes, solid.d, solid.mesh.pieces
    size = max(float(np.ptp(nodes, axis=0).max()), np.finfo(float).tiny)
    turns = np.ones(len(nodes), dtype=bool)
    piece_of = pieces[held.dofs // d]
    for piece in np.unique(piece_of):
        dofs = held.dofs[piece_of == piece]
        arm, axis = (nodes[dofs // d] - nodes[dofs[0] // d]) / size, dofs % d
        # Rows of translations and rotations: velocity along the held axis.
        rows = [(axis == i).astype(float) for i in range(d)]
        for i, j in ((0, 1),) if d == 2 else ((0, 1), (1, 2), (2, 0)):
            rows.append(np.where(axis == j, arm[:, i], 0.0) - np.where(axis == i, arm[:, j], 0.0))
        _, sizes, V = np.linalg.svd(np.stack(rows, axis=1), full_matrices=True)
        free_motions = V[np.count_nonzero(sizes > RANK * sizes[0]) :]
        turns[pieces == piece] = bool((np.abs(free_motions[:, d:]) > RANK).any())
    return Frames(solid, turns) if turns.any() else None


def _rotated(R: Array, vectors: Array) -> Array:
    """Vectors (n·d,) or (n·d, k), each turned by the rotation (d, d) of its node."""
    return np.asarray((R @ vectors.reshape(*R.shape[:2], -1)).reshape(vectors.shape))


def _rotations(A: Array) -> Array:
    """The rotations (n, d, d) nearest to matrices."""
    if A.shape[1] == 2:
        angle = np.arctan2(A[:, 1, 0] - A[:, 0, 1], A[:, 0, 0] + A[:, 1, 1])
        c, s = np.cos(angle), np.sin(angle)
        return np.stack((c, -s, s, c), axis=1).reshape(-1, 2, 2)
    U, _, Vt = np.linalg.svd(A)
    U[:, :, 2] *= np.linalg.det(U @ Vt)[:, None]
    return np.asarray(U @ Vt)
