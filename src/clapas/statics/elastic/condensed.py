"""Static condensation: a linear elastic body seen from its contact nodes.

With c the displacements at contacts and l the others, equilibrium K u = f + Hᵀ r becomes

    A u_c = f* + H_cᵀ r,      A = K_cc − K_cl K_ll⁻¹ K_lc,      f* = f_c − K_cl K_ll⁻¹ f_l

(thesis on tensegrity and granular solvers, equations 2.19, 3.8 and 3.9, with the loads on contact nodes
that its (3.8) omits). Gaps are total: z = g + u_N ≥ 0, so q = −f* − A g. Only K_ll is inverted, so that a
body held by contact only (the guided punch, singular A) is allowed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from clapas.bodies.elastic.contact import ContactRows
from clapas.errors import ProblemError
from clapas.linalg.factor import Factor, factorise
from clapas.problems.contact import ContactProblem
from clapas.problems.lcp import LCP
from clapas.solvers import Solver
from clapas.solvers import solve as solve_contact
from clapas.statics.elastic.problem import ElasticContact, Increment, State
from clapas.typing import Array, Indices

CHUNK = 512  # columns of K_lc solved together


@dataclass(frozen=True, eq=False)
class Condensed:
    """A linear solid condensed on the displacements of its contacts.

    Parameters
    ----------
    increment : Increment
        Loads, supports and contacts.
    rows : ContactRows
        The contacts, at the last equilibrium.
    dofs : array (c,)
        Free displacements at contacts.
    A, f : arrays (c, c) and (c,)
        Condensed stiffness (N/m) and load (N).
    H : array (d·n, c)
        Motion at the contacts.
    w : array (n, d)
        Gaps, and minus the slips, at u_c = 0: u = H u_c + w counts total gaps and slips from the last
        equilibrium.
    """

    increment: Increment
    rows: ContactRows
    dofs: Indices
    A: Array
    f: Array
    H: Array
    w: Array
    _inner: tuple[Indices, Factor | None, Array, Array]

    def contact_problem(self) -> ContactProblem:
        """The problem of the solvers: M = A, v = u_c. A must be positive definite (a supported body)."""
        motions = self.increment.stage.free_motions
        if motions:
            raise ProblemError(
                f"the condensed stiffness is singular, for only contact holds it: {'; '.join(motions)}. Take "
                "lcp(), friction_lcp() or OneLoopNewton, which invert nothing singular"
            )
        return ContactProblem(
            M=self.A, H=self.H, f=-self.f, w=self.w, mu=self.increment.mu, d=self.w.shape[1]
        )

    def lcp(self) -> LCP:
        """Separations z and normal forces w = A_NN z + q without friction, in stiffness form.

        A may be singular. Tangential displacements are free, and condensed out.
        """
        local, load = self._in_frames()
        n, d = self.w.shape
        normal = np.arange(n) * d
        others = np.setdiff1d(np.arange(n * d), normal)
        if (self.increment.mu > 0.0).any():
            raise ProblemError("the LCP in stiffness form without friction needs mu = 0; see friction_lcp")
        S, g = local, load
        if len(others):
            across = linalg.solve(
                local[np.ix_(others, others)], local[np.ix_(others, normal)], assume_a="pos"
            )
            S = local[np.ix_(normal, normal)] - local[np.ix_(normal, others)] @ across
            g = load[normal] - across.T @ load[others]
        S = 0.5 * (S + S.T)
        return LCP(S, -g - S @ self.w[:, 0])

    def friction_lcp(self) -> LCP:
        """Plane friction in stiffness form: z = (z_N, u_T⁺, s⁻), w = (r_N, s⁺, u_T⁻), 0 ≤ z ⟂ w ≥ 0.

        Dimensionless; :meth:`friction_forces` converts back. s± = mu r_N ± r_T, and u_T = u⁺ − u⁻ is counted
        from the last equilibrium. Only A_TT is inverted: a body held by contact alone along the normal
        is allowed.
        """
        n, d = self.w.shape
        if d != 2:
            raise ProblemError("the friction LCP in stiffness form is for the plane")
        stiffness, force = self._units()
        A, f = self._in_frames()
        A, f = A / stiffness, f / force
        gap, drift = self.w.T * (stiffness / force)
        N, T = np.arange(n) * 2, np.arange(n) * 2 + 1
        # In total separations z_N and slips u_T: r = A (u − w) − f.
        load = f + A[:, N] @ gap + A[:, T] @ drift
        flexible = linalg.inv(A[np.ix_(T, T)])
        P = A[np.ix_(N, T)] @ flexible
        S = A[np.ix_(N, N)] - P @ A[np.ix_(T, N)]
        mu = np.diag(self.increment.mu)
        # r_N = S z_N + P (r_T + f_T) − f_N with r_T = mu r_N − s⁻
        inverse = linalg.inv(np.eye(n) - P @ mu)
        r_z = inverse @ S
        r_s = -inverse @ P
        r_0 = inverse @ (P @ load[T] - load[N])
        one, zero = np.eye(n), np.zeros((n, n))
        # u_T = A_TT⁻¹ (r_T + f_T − A_TN z_N)
        u_z = flexible @ (mu @ r_z - A[np.ix_(T, N)])
        u_s = flexible @ (mu @ r_s - one)
        u_0 = flexible @ (mu @ r_0 + load[T])
        M = np.block([[r_z, zero, r_s], [2.0 * mu @ r_z, zero, 2.0 * mu @ r_s - one], [-u_z, one, -u_s]])
        return LCP(M, np.concatenate((r_0, 2.0 * mu @ r_0, -u_0)))

    def friction_forces(self, lcp: LCP, z: Array) -> Array:
        """Contact forces r (n, 2) from the unknowns of :meth:`friction_lcp`."""
        n = len(self.w)
        normal = (lcp.M @ z + lcp.q)[:n]
        return self._units()[1] * np.column_stack((normal, self.increment.mu * normal - z[2 * n :]))

    def _units(self) -> tuple[float, float]:
        """Stiffness and force units of the friction LCP."""
        stiffness = float(np.mean(np.diag(self.A)))
        force = max(float(np.abs(self.f).max()), stiffness * float(np.abs(self.w).max()))
        return stiffness, force or 1.0

    def displacements(self, r: Array) -> Array:
        """Displacements (n_dof,) of the whole solid under contact forces r (n, d); A must be invertible."""
        return self.expand(np.asarray(linalg.solve(self.A, self.f + self.H.T @ r.ravel(), assume_a="sym")))

    def expand(self, u_c: Array) -> Array:
        """Displacements (n_dof,) of the whole solid from those at the contacts."""
        inside, factor, coupling, f_l = self._inner
        held = self.increment.stage.held
        u = np.zeros(self.increment.stage.solid.n_dof)
        u[held.dofs] = self.increment.values
        u[self.dofs] = u_c
        if factor is not None:
            u[inside] = factor.solve(f_l - coupling @ u_c)
        return u

    def _in_frames(self) -> tuple[Array, Array]:
        """A and f along the frames of the contacts, where each contact has its own node: H is orthogonal."""
        H = self.H
        if H.shape[0] != H.shape[1] or not np.allclose(H @ H.T, np.eye(len(H)), atol=1e-9):
            raise ProblemError(
                "the LCP in stiffness form needs nodes against rigid obstacles, each in one contact and free "
                "to move in all directions; take contact_problem()"
            )
        return np.asarray(H @ self.A @ H.T), np.asarray(H @ self.f)


def condense(stage: ElasticContact, state: State | None = None, share: float = 1.0) -> Condensed:
    """Condense a linear solid on the displacements of its contacts.

    Contact geometry is that of the last equilibrium: exact against planes, otherwise linearised.

    Examples
    --------
    >>> from clapas.bodies.elastic.contact import RigidContact
    >>> from clapas.bodies.elastic.generators import block
    >>> from clapas.bodies.elastic.materials import Elastic
    >>> from clapas.bodies.elastic.obstacles import Obstacle
    >>> from clapas.bodies.elastic.solid import Solid
    >>> from clapas.bodies.elastic.supports import Support
    >>> from clapas.geometry.shapes import HalfPlane
    >>> solid = Solid(mesh=block((2.0, 1.0), (2, 1)), material=Elastic(young=1.0, poisson=0.3), bbar=False)
    >>> floor = RigidContact(surface="bottom", obstacle=Obstacle(HalfPlane()))
    >>> row = condense(ElasticContact(solid=solid, supports=[Support("top", "xy")], contacts=[floor]))
    >>> np.linalg.inv(row.A)[1::2, 1::2].round(4)  # Alart 1997, figure 3
    array([[ 2.2143, -0.1424, -0.0714],
           [-0.1424,  0.8916, -0.1424],
           [-0.0714, -0.1424,  2.2143]])
    """
    if not stage.solid.is_linear:
        raise ProblemError("only linear solids can be condensed: take OneLoopNewton")
    state = stage.start() if state is None else state
    increment = stage.toward(state, share)
    rows = increment.rows(state.u)
    solid, held = stage.solid, stage.held
    n, d, m = rows.H.shape
    K = solid.stiffness
    u_held = np.zeros(solid.n_dof)
    u_held[held.dofs] = increment.values
    right = increment.load - K @ u_held
    contact_dofs = np.unique(rows.dofs) if n else np.empty(0, dtype=np.int64)
    dofs = contact_dofs[held.free[contact_dofs]]
    inside = np.setdiff1d(np.flatnonzero(held.free), dofs)
    factor = factorise(K[inside][:, inside]) if len(inside) else None
    coupling = K[inside][:, dofs].tocsc()
    A = K[dofs][:, dofs].toarray()
    f = right[dofs].copy()
    if factor is not None:
        f -= coupling.T @ factor.solve(right[inside])
        for first in range(0, len(dofs), CHUNK):
            part = slice(first, first + CHUNK)
            A[:, part] -= coupling.T @ factor.solve(coupling[:, part].toarray())
    full = np.zeros((n * d, solid.n_dof))
    place = np.broadcast_to(rows.dofs[:, None], (n, d, m)).reshape(n * d, m)
    np.add.at(full, (np.arange(n * d)[:, None], place), rows.H.reshape(n * d, m))
    relative = np.concatenate((rows.gap[:, None], rows.slip), axis=1)
    w = relative + (full @ (u_held - state.u)).reshape(n, d)
    return Condensed(
        increment, rows, dofs, 0.5 * (A + A.T), f, full[:, dofs], w, (inside, factor, coupling, right[inside])
    )


def solve_condensed(
    stage: ElasticContact, state: State | None = None, share: float = 1.0, solver: Solver | None = None
) -> State:
    """The equilibrium of a linear solid from its condensed problem, by any contact solver."""
    condensed = condense(stage, state, share)
    solution = solve_contact(condensed.contact_problem(), solver)
    start = condensed.increment.state
    u = condensed.displacements(solution.r)
    rows = condensed.increment.rows(u)
    return State(
        u=u,
        r=solution.r,
        forces=np.einsum("ncd,nc->nd", rows.frames, solution.r),
        gap=rows.gap,
        nodes=condensed.increment.nodes,
        history=start.history,
        load=condensed.increment.load,
        shifts=condensed.increment.shifts,
        status=solution.status,
        residual=solution.residual,
        iterations=solution.iterations,
    )
