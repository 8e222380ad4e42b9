"""The contact problem of jointed bodies with the joints eliminated: small, full, without sparse matrices.

With G = H M^(−1/2) and the rows of joints in units of unit mass and unit size, A, and S = A Aᵀ + E
(:mod:`clapas.dynamics.joints.leastmotion`),

    W = G Gᵀ − Tᵀ S⁻¹ T + C,    T = A Gᵀ,    q = H v_J + w,

where v_J are the velocities without contact but with joints. The solution r gives

    v = v_J + M^(−1/2) (Gᵀ r − Aᵀ S⁻¹ T r),    λ = λ_J − S⁻¹ T r.

For the contacts of mechanisms, up to a few hundred. Larger problems, and those with systems, keep M, H and J
(:func:`clapas.dynamics.mixed.mixed_problem`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from clapas.compiled import kernel
from clapas.dynamics.assembly import (
    ContactsInStep,
    contact_geometry,
    is_rounding,
    sections,
    under_laws,
)
from clapas.dynamics.crushing import HELD_BY_JOINTS
from clapas.dynamics.joints.instep import JointsInStep
from clapas.dynamics.links import OF_JOINTS, LinkRows
from clapas.dynamics.step_problem import StepProblem
from clapas.problems.contact import ContactProblem
from clapas.problems.rolling import RollingProblem
from clapas.typing import Array, Indices

MOST_ROWS = 450  # of contacts and links; beyond, sparse matrices are faster
DENSE = 100_000  # entries of T; in larger ones nearly all are zero: a contact is coupled to few joints


@dataclass(frozen=True, eq=False)
class Condensed:
    """Response of jointed bodies to impulses at contacts and links.

    Parameters
    ----------
    joints : JointsInStep
        The joints.
    joined_velocity : array (N, size)
        v_J: velocities with joints, without contacts.
    joined_multipliers : array (j,)
        λ_J: impulses along the rows of the joints without contacts.
    G : array (n, 2, d, size)
        Blocks of H in units of unit mass.
    bodies : array (n, 2)
        Bodies of the contacts and links; −1 for none.
    X : array (j, n d)
        S⁻¹ T.
    """

    joints: JointsInStep
    joined_velocity: Array
    joined_multipliers: Array
    G: Array
    bodies: Indices
    X: Array

    def velocity(self, r: Array) -> Array:
        """Velocities (N, size) at the end of the step under the impulses r (n, d)."""
        return np.asarray(self.joined_velocity + self.change(r))

    def change(self, r: Array) -> Array:
        """Change of the velocities (N, size) by the impulses r (n, d), with joints."""
        motion = self.joints.motion
        y = np.zeros_like(motion.model.mass_root)
        push_bodies(self.G, self.bodies, r, y)
        motion.push_along(-(self.X @ r.ravel()), y)
        return np.asarray(y * motion.model.inverse_root)

    def multipliers(self, r: Array) -> Array:
        """Impulses λ (j,) along the rows of the joints."""
        return np.asarray(self.joined_multipliers - self.joints.motion.in_units(self.X @ r.ravel()))


def condensed_problem(
    near: ContactsInStep, joints: JointsInStep, free: Array, linked: bool = True
) -> StepProblem:
    """State the problem of a step in which jointed bodies touch, or have limits, friction or motors.

    ``free`` (N, size) are the velocities without joints and contacts; ``linked`` says whether limits,
    friction and motors of joints act.
    """
    model, contacts = near.model, near.contacts
    multipliers = joints.multipliers(free)
    joined = joints.velocity(free, multipliers)
    geometry = contact_geometry(near, joined)
    assert geometry.wall is not None
    n, width = len(contacts), geometry.scale.shape[1]
    spare = (0, width - model.d)  # rows of couples, which links do not have
    links = joints.links(joined) if linked else None
    G, bodies = geometry.blocks.G, np.where(model.movable[contacts.bodies], contacts.bodies, -1)
    if links is not None:
        rows, ends = joints.link_blocks()
        rows = np.pad(rows, ((0, 0), (0, 0), spare, (0, 0)))
        G, bodies = np.concatenate((G, rows)), np.concatenate((bodies, ends))
    W, X, without_joints = _delassus(joints, G, bodies)
    moves = np.diagonal(W)[::width][:n] > HELD_BY_JOINTS * without_joints[::width][:n]
    y = joined * model.mass_root
    q_free = np.zeros((len(G), width))
    rates_of(G, bodies, y, q_free)
    # A contact that cannot part and yet rubs stays. Its normal row of W is zero: compliance keeps it open.
    open_row = np.where(moves, 0.0, without_joints[::width][:n])
    if not moves.all():
        u = q_free[:n, 0] + geometry.wall[:, 0]
        near = near.watching(~moves, u, free, joined)
        if not (stays := moves | near.rub).all():
            return condensed_problem(near.where(stays), joints, free, linked)

    def build(w: Array | None, mu: Array | float, pull: Array | None) -> ContactProblem:
        q, C, n_links = q_free.copy(), np.zeros((len(G), width)), len(G) - n
        C[:n, 0] = open_row
        if w is not None:
            q[:n] += w
        if pull is not None:
            q[:n] += (W[: n * width, : n * width] @ pull.ravel()).reshape(n, width)
        if links is not None:
            q[n:, : model.d] += links.w
            mu, C[n:, : model.d] = np.append(np.full(n, mu), links.mu), links.compliance
        kind = RollingProblem if model.laws.has_couples else ContactProblem
        return kind.from_full(W + np.diag(C.ravel()), q, mu=mu, section=sections(near, n_links))

    problem = under_laws(near, geometry, build)
    link_rows = None
    if links is not None:
        link_rows = LinkRows(np.full(len(links), OF_JOINTS), links)
    condensed = Condensed(joints, joined, multipliers, G, bodies, X)
    problem = replace(problem, links=link_rows, condensed=condensed)
    largest = float(np.max(np.abs(G), initial=0.0) * np.max(np.abs(y), initial=0.0))
    if len(G) and is_rounding(problem.problem, largest, problem.wall):
        return condensed_problem(near.none(), joints, free, linked=False)
    return problem


def _delassus(joints: JointsInStep, G: Array, bodies: Indices) -> tuple[Array, Array, Array]:
    """W without compliance, S⁻¹ T, and the diagonal of W without joints."""
    n, _, d, _ = G.shape
    motion = joints.motion
    W, T = np.zeros((n * d, n * d)), np.zeros((len(motion.rows), n * d))
    add_delassus(G, bodies, W)
    without_joints = np.diagonal(W).copy()
    motion.add_coupling(G, bodies, T)
    X = motion.solve_unit(T)
    W -= (sparse.csr_array(T.T) if T.size > DENSE else T.T) @ X
    return 0.5 * (W + W.T), X, without_joints


@kernel
def add_delassus(G: Array, bodies: Indices, W: Array) -> None:
    """Add G Gᵀ to W (n d × n d): contacts are coupled by the bodies they share."""
    n, _, d, size = G.shape
    for i in range(n):
        for j in range(i + 1):
            for s in range(2):
                for t in range(2):
                    if bodies[i, s] < 0 or bodies[i, s] != bodies[j, t]:
                        continue
                    for k in range(d):
                        for l in range(d):
                            total = 0.0
                            for m in range(size):
                                total += G[i, s, k, m] * G[j, t, l, m]
                            W[i * d + k, j * d + l] += total
                            if i != j:
                                W[j * d + l, i * d + k] += total


@kernel
def push_bodies(G: Array, bodies: Indices, r: Array, y: Array) -> None:
    """Add Gᵀ r to velocities y (N, size) in units of unit mass."""
    n, _, d, size = G.shape
    for i in range(n):
        for s in range(2):
            if bodies[i, s] >= 0:
                for k in range(d):
                    for m in range(size):
                        y[bodies[i, s], m] += G[i, s, k, m] * r[i, k]


@kernel
def rates_of(G: Array, bodies: Indices, y: Array, u: Array) -> None:
    """Add G y to u (n, d)."""
    n, _, d, size = G.shape
    for i in range(n):
        for s in range(2):
            if bodies[i, s] >= 0:
                for k in range(d):
                    for m in range(size):
                        u[i, k] += G[i, s, k, m] * y[bodies[i, s], m]
