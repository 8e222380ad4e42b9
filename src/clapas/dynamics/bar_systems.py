"""Bars as dynamical systems, cables and bolts as complementarity: the step of the LMGC thesis, corrected.

Small displacements U from the shape at rest, velocities V, step h, parameter θ. With K_b the stiffness of the
bars, t⁰_b(t) their preload, and τ, r_l the forces of cables and bolts (tension positive),

    M̃ = M + (θh)² K_b
    M̃ V = M V_i − h K_b [U_i + h θ (1 − θ) V_i] − h B_bᵀ t⁰_b(t) + h F − h B_lᵀ r_l − h B_cᵀ τ
    U_{i+1} = U_i + h [θ V + (1 − θ) V_i]

A cable is active where e_i + (h/2) ė_i + e⁰ ≥ 0, e = B_c U; then

    inextensible (e⁰ = 0)         0 ≤ −B_c V − ε B_c V_i ⟂ τ ≥ 0
    extensible (e⁰ = t⁰_c/k_c)    0 ≤ −B_c V − ⟨e_i + e⁰⟩₊/(hθ) + τ/(k hθ) ⟂ τ ≥ 0

with ε a restitution. A bolt ties two nodes at one place in each direction: B_l V = 0 with r_l free, or as the
thesis has it 0 ≤ −B_l V ⟂ r_l + r⁰_l ≥ 0 with a preload r⁰_l. With modules that share no node every node
carries one bar, M̃ is block diagonal by bars, and the problem has a row for each active cable and each
direction of each bolt: 768 + 861 for 8 × 8 modules.

The thesis prints (6.19) with +K_b U and factors h that do not match; with the signs above a structure at rest
stays at rest. Scenes have the same physics in large displacements
(:class:`~clapas.bodies.trusses.MovingTruss`); this class is for comparison with the literature.

Reference: LMGC thesis on tensegrity, section 6.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from clapas.bodies.trusses.assembly import Assembly
from clapas.bodies.trusses.modal import mass_matrix
from clapas.bodies.trusses.structure import Truss
from clapas.bodies.trusses.ties import Ties
from clapas.errors import SettingsError
from clapas.linalg.factor import factorise
from clapas.problems.lcp import LCP
from clapas.problems.mixed_lcp import MixedLCP
from clapas.solvers.lcp import LCPSolver, Lemke, solve_lcp
from clapas.typing import Array, Mask

# A cable shorter than its length by up to this share of it is taut. After a step the lengths of taut cables
# are exact only to the residual of the solver; testing their sign would release half of them at the next
# step: with 1e-12 m an interior point of residual 1e-10 left the path of pivoting after two steps.
TAUT = 1e-9


@dataclass(frozen=True)
class BarStep:
    """Results of a step.

    Parameters
    ----------
    tension : array (cables,)
        τ (N).
    bolts : array (j,)
        r_l (N) in each direction of each bolt.
    n_active : int
        Cables in the problem.
    residual : float
        Residual of the complementarity problem.
    kinetic : float
        ½ VᵀMV (J).
    """

    tension: Array
    bolts: Array
    n_active: int
    residual: float
    kinetic: float


class BarSystems:
    """A truss that moves in small displacements by the step above.

    Parameters
    ----------
    truss : Truss
        At rest in its given shape at the start.
    h : float
        Step (s).
    theta : float
        θ in ]0, 1].
    is_inextensible : bool
        Whether cables do not stretch.
    restitution : float
        ε of inextensible cables.
    ties : array (t, 2), optional
        Pairs of nodes that bolts join.
    tie_preload : float
        r⁰_l (N); infinite, the default, for bilateral ties.
    solver : LCPSolver, optional
        Lemke's method by default, whose results are exact to rounding. With inextensible cables τ is not
        unique (8 × 8 modules: 768 cables, rank 615) and depends on the solver; V does not.

    Examples
    --------
    A self-stressed grid stays at rest.

    >>> from clapas.bodies.trusses.generators import grid
    >>> systems = BarSystems(grid(2), h=1e-3)
    >>> step = systems.step(0.0 * systems.truss.nodes)
    >>> bool(np.abs(systems.V).max() < 1e-8)
    True
    """

    def __init__(
        self,
        truss: Truss,
        *,
        h: float,
        theta: float = 1.0,
        is_inextensible: bool = True,
        restitution: float = 0.0,
        ties: npt.ArrayLike = (),
        tie_preload: float = np.inf,
        solver: LCPSolver | None = None,
    ) -> None:
        if not h > 0.0:
            raise SettingsError(f"h must be positive, got {h}")
        if not 0.0 < theta <= 1.0:
            raise SettingsError(f"theta must be in ]0, 1], got {theta}")
        if not 0.0 <= restitution <= 1.0:
            raise SettingsError(f"restitution must be in [0, 1], got {restitution}")
        if not tie_preload > 0.0:
            raise SettingsError(f"tie_preload must be positive (N), or infinite, got {tie_preload}")
        self.truss, self.h, self.theta = truss, h, theta
        self.is_inextensible, self.restitution, self.tie_preload = is_inextensible, restitution, tie_preload
        self.solver: LCPSolver = solver or Lemke(tol=1e-10)
        bars, cables = np.flatnonzero(~truss.is_cable), np.flatnonzero(truss.is_cable)
        self._bars, self._cables = bars, cables
        self._Bb, self._Bc = truss.B[bars], truss.B[cables]
        self._Bl = Ties(truss, ties).J
        self._M = sparse.csr_array(mass_matrix(truss, "lumped"))
        self._Kb = sparse.csr_array(Assembly(truss).material(truss.stiffness * ~truss.is_cable))
        self._factor = factorise(sparse.csr_array(self._M + (theta * h) ** 2 * self._Kb))
        self._e0 = np.zeros(len(cables))
        if not is_inextensible:
            self._e0 = truss.prestress[cables] / truss.stiffness[cables]
        # W without compliance: rates of all rows per unit of force on each row.
        rows = sparse.csr_array(sparse.vstack((self._Bc, self._Bl), format="csr"))
        self._rows = rows
        self._W: Array = h * (rows @ self._factor.solve(rows.T.toarray()))
        self.U, self.V = np.zeros(truss.n_dof), np.zeros(truss.n_dof)

    def step(self, loads: Array, share: float = 1.0) -> BarStep:
        """Advance by h under loads (n × d) (N), with a share of the prestress of the bars.

        A preload phase lets the share grow from 0 to 1, from cables that are just taut.
        """
        truss, h, theta, U, V = self.truss, self.h, self.theta, self.U, self.V
        F = np.asarray(loads, dtype=float).ravel()[truss.free]
        momentum = self._M @ V - h * (self._Kb @ (U + h * theta * (1.0 - theta) * V)) + h * F
        momentum -= h * share * (self._Bb.T @ truss.prestress[self._bars])
        e, rate = self._Bc @ U, self._Bc @ V
        active: Mask = e + 0.5 * h * rate + self._e0 >= -TAUT * truss.lengths[self._cables]
        n, m = len(self._cables), self._Bl.shape[0]
        kept = np.concatenate((active, np.ones(m, dtype=bool)))
        is_tie = np.concatenate((np.zeros(n, dtype=bool), np.ones(m, dtype=bool)))[kept]
        if m and np.isfinite(self.tie_preload):
            momentum += h * self.tie_preload * (self._Bl.T @ np.ones(m))
            is_tie[:] = False
        W = self._W[np.ix_(kept, kept)].copy()
        q = -(self._rows @ self._factor.solve(momentum))
        if self.is_inextensible:
            q[:n] -= self.restitution * rate
        else:
            at = np.flatnonzero(active)
            W[np.arange(len(at)), np.arange(len(at))] += 1.0 / (truss.stiffness[self._cables[at]] * h * theta)
            q[:n] -= np.maximum(e + self._e0, 0.0) / (h * theta)
        active_forces, residual = self._solved(W, q[kept], is_tie)
        forces = np.zeros(n + m)
        forces[kept] = active_forces
        after = self._factor.solve(momentum - h * (self._rows.T @ forces))
        self.U, self.V = U + h * (theta * after + (1.0 - theta) * V), after
        bolts = forces[n:] - (self.tie_preload if np.isfinite(self.tie_preload) else 0.0)
        return BarStep(forces[:n], bolts, int(active.sum()), residual, self.kinetic)

    def _solved(self, W: Array, q: Array, is_tie: Mask) -> tuple[Array, float]:
        if not len(q):
            return q, 0.0
        if not is_tie.any():
            solution = solve_lcp(LCP(W, q), self.solver)
            return solution.z, solution.residual
        mixed = MixedLCP(W, q, is_tie)
        reduced = mixed.reduced()
        z = solve_lcp(reduced, self.solver).z if reduced.size else np.empty(0)
        all_forces = mixed.expand(z)
        return all_forces, mixed.residual(all_forces)

    @property
    def kinetic(self) -> float:
        """½ VᵀMV (J)."""
        return 0.5 * float(self.V @ (self._M @ self.V))

    @property
    def displacements(self) -> Array:
        """U of all nodes (n × d) (m)."""
        return self.truss.displacements(self.U)
