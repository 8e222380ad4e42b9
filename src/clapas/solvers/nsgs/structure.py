"""Recognise contacts between bodies: two small blocks of H per contact.

The body form of Gauss-Seidel needs M block diagonal by bodies and each contact to touch at most
two of them. Velocities are measured in units where every body has unit mass: with M = L Lᵀ,
y = Lᵀ v and G = H L⁻ᵀ,

    u = G y + w,      y = Gᵀ r + y_free,      W = G Gᵀ,

so a sweep needs neither M nor its inverse: a contact reads its two blocks G_a, G_b and the two y,
and adds G_aᵀ dr, G_bᵀ dr to them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.compiled import kernel
from clapas.linalg.factor import BlockDiagonalFactor
from clapas.problems.contact import ContactProblem
from clapas.solvers.local.canonical import canonical_coefficients, turn_tangents
from clapas.typing import Array, Indices

RIGID_BODY = {2: 3, 3: 6}  # degrees of freedom of a rigid body by dimension


@dataclass(frozen=True)
class BodyContacts:
    """Contacts as the body form sees them, in canonical coordinates (tangents turned).

    Parameters
    ----------
    G : array (n, 2, d, size)
        Blocks of H L⁻ᵀ on the two bodies of each contact; zero on the ground.
    bodies : array (n, 2)
        The two bodies; the ground is body number ``n_bodies``.
    y_free : array (n_bodies + 1, size)
        Velocities without impulses, in units of unit mass; the last row is the ground's, zero.
    w : array (n, d)
        Imposed velocities.
    coefficients, turn : arrays (n, 6) and (n, 2)
        See :mod:`clapas.solvers.local.canonical`.
    """

    G: Array
    bodies: Indices
    y_free: Array
    w: Array
    coefficients: Array
    turn: Array

    @property
    def n_bodies(self) -> int:
        """Bodies that can move."""
        return len(self.y_free) - 1

    def velocities(self, r: Array) -> Array:
        """Body velocities y under the (turned) impulses r."""
        y = self.y_free.copy()
        add_impulses(self.G, self.bodies, r, y)
        y[-1] = 0.0
        return y


def body_contacts(problem: ContactProblem) -> BodyContacts | None:
    """The two-body structure of a problem, or None if it has none."""
    if problem.form != "global" or not isinstance(problem.mass, BlockDiagonalFactor):
        return None
    factor = problem.mass
    for size in dict.fromkeys((RIGID_BODY[problem.d], factor.largest_block)):
        if size == 0 or problem.n_dof % size or not _blocks_fit(factor.labels, size):
            continue
        G = (problem.H @ factor.inverse_root).tocsr()
        packed = pack_blocks(G.indptr, G.indices, G.data, problem.d, size, problem.n_dof // size)
        if packed[2]:
            return _canonical(problem, factor, packed[0], packed[1], size)
    return None


def _blocks_fit(labels: Indices, size: int) -> bool:
    """No block of M crosses the border between two groups of ``size`` unknowns."""
    body = np.arange(labels.size) // size
    first = np.full(labels.max(initial=0) + 1, labels.size)
    last = np.zeros(labels.max(initial=0) + 1, dtype=np.int64)
    np.minimum.at(first, labels, body)
    np.maximum.at(last, labels, body)
    return bool((first == last).all())


def _canonical(
    problem: ContactProblem, factor: BlockDiagonalFactor, G: Array, bodies: Indices, size: int
) -> BodyContacts:
    n_bodies = problem.n_dof // size
    y_free = np.zeros((n_bodies + 1, size))
    y_free[:-1] = -(factor.inverse_root.T @ problem.f).reshape(n_bodies, size)
    coefficients, turn = canonical_coefficients(problem.local_blocks, problem.mu)
    turned = turn_tangents(G.transpose(0, 2, 1, 3), turn).transpose(0, 2, 1, 3)
    return BodyContacts(
        G=np.ascontiguousarray(turned),
        bodies=bodies,
        y_free=y_free,
        w=turn_tangents(problem.w, turn),
        coefficients=coefficients,
        turn=turn,
    )


@kernel
def pack_blocks(
    indptr: Indices, indices: Indices, data: Array, d: int, size: int, n_bodies: int
) -> tuple[Array, Indices, bool]:
    """Blocks (n, 2, d, size) and bodies (n, 2) of each contact; False if one has more than two bodies."""
    n = (len(indptr) - 1) // d
    G = np.zeros((n, 2, d, size))
    bodies = np.full((n, 2), n_bodies, dtype=np.int64)
    for i in range(n):
        for row in range(d):
            for p in range(indptr[i * d + row], indptr[i * d + row + 1]):
                body = indices[p] // size
                side = 0
                while side < 2 and bodies[i, side] != body and bodies[i, side] != n_bodies:
                    side += 1
                if side == 2:
                    return G, bodies, False
                bodies[i, side] = body
                G[i, side, row, indices[p] - body * size] = data[p]
    return G, bodies, True


@kernel
def add_impulses(G: Array, bodies: Indices, r: Array, y: Array) -> None:
    """Add Gᵀ r to y."""
    n, d, size = G.shape[0], G.shape[2], G.shape[3]
    for i in range(n):
        for side in range(2):
            body = bodies[i, side]
            for k in range(d):
                for j in range(size):
                    y[body, j] += G[i, side, k, j] * r[i, k]
