"""Cables as linear complementarity problems: the forms of the LMGC thesis on tensegrity, with its errors
corrected.

With τ the total cable forces and λ the slack lengths (how much longer a slack cable is than the distance it
spans):

    assembled   (5.11)   τ = W λ + q,  0 ≤ λ ⟂ τ ≥ 0,   W = k_c − k_c B_c K⁻¹ B_cᵀ k_c,   q = k_c B_c K⁻¹ F +
    t⁰_c unassembled (5.21)   the same W, q from lengths that do not fit: e⁰_c = t⁰_c/k_c − B_c u⁰ with B_b u⁰
    = t⁰_b/k_b split       (5.17)   bars and cables as two subdomains: V τ − N λ = g, multiplied by V⁻¹
    inextensible (5.8)   minimise ½ UᵀK_b U + Uᵀ(B_bᵀ t⁰_b − F) under B_c U ≤ 0; τ are the multipliers

The first three are equivalent. W is symmetric and positive semidefinite; its kernel is
that of the bars alone, K_b, if K is invertible. The matrices are full: thousands of cables at most. The
default of statics is :class:`~clapas.statics.trusses.small.SmallDisplacements`, which solves the same problem
in displacements.

Corrected: the sign of N in (5.17) (as printed the error is a quarter), the sign of the prestress in
(5.8), and e⁰_c, which is not t⁰_c/k_c (that leaves the unloaded state at 0.74 to 1.03 of its prestress).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import clarabel
import numpy as np
from scipy import linalg, sparse

from clapas.bodies.trusses.stability import Unstable
from clapas.bodies.trusses.structure import Truss
from clapas.errors import ProblemError
from clapas.problems.lcp import LCP
from clapas.solvers.lcp import LCPSolver, solve_lcp
from clapas.statics.trusses.equilibrium import Equilibrium, case_loads, force_scale
from clapas.status import Status
from clapas.typing import Array

Form = Literal["assembled", "unassembled", "split"]
SINGULAR = 1e-10  # eigenvalue of a stiffness matrix, relative to the largest, that counts as zero


@dataclass(frozen=True, eq=False)
class CableLCP:
    """The complementarity problem of the cables, and the displacements of its solution.

    Parameters
    ----------
    problem : LCP
        w = τ, total forces of the cables (N); z = λ, slack lengths (m).
    displacements : callable
        From z to the free displacements (m).
    """

    problem: LCP
    displacements: Callable[[Array], Array]


def cable_lcp(
    truss: Truss, case: str | None = None, *, factor: float = 1.0, form: Form = "assembled"
) -> CableLCP:
    """State the small-displacement problem as an LCP.

    Examples
    --------
    >>> from clapas.bodies.trusses.generators import guyed_mast
    >>> cable_lcp(guyed_mast(), "side").problem
    LCP('cables, assembled', 2 unknowns, dense)
    """
    truss.check_balance()
    if not truss.n_cables:
        raise ProblemError(
            "a structure without cables has no complementarity problem: use SmallDisplacements()"
        )
    F = case_loads(truss, case, factor).ravel()[truss.free]
    if form == "split":
        return _split(truss, F)
    if form not in ("assembled", "unassembled"):
        raise ProblemError(f"form must be 'assembled', 'unassembled' or 'split', got {form!r}")
    B = truss.B.toarray()
    K = B.T @ (truss.stiffness[:, None] * B)
    solve = _inverse(truss, K)
    Bc, kc = B[truss.is_cable], truss.stiffness[truss.is_cable]
    W = np.diag(kc) - (kc[:, None] * Bc) @ solve(Bc.T * kc)
    if form == "assembled":
        U0, start = solve(F), truss.prestress[truss.is_cable]
    else:
        lack = _lack_of_fit(truss, B)
        start = kc * lack
        # Displacements are measured from the unstressed bars, and shifted back at the end.
        U0 = solve(F - Bc.T @ start)
    q = kc * (Bc @ U0) + start
    shift = np.zeros(truss.n_dof) if form == "assembled" else _bars_fit(truss, B)

    def displacements(z: Array) -> Array:
        return np.asarray(U0 - solve(Bc.T @ (kc * z)) - shift)

    return CableLCP(LCP(0.5 * (W + W.T), q, name=f"cables, {form}"), displacements)


def solve_cables(
    truss: Truss,
    case: str | None = None,
    *,
    factor: float = 1.0,
    form: Form = "assembled",
    solver: LCPSolver | None = None,
    check: bool = True,
) -> Equilibrium:
    """Small displacements through one of the complementarity forms and any method for LCPs.

    Parameters
    ----------
    truss : Truss
        The structure.
    case, factor
        Load case and its factor.
    form : "assembled", "unassembled" or "split"
        Which LCP.
    solver : LCPSolver, optional
        The method; Lemke's by default.
    check : bool
        Raise NotSolved unless the residual reached the tolerance.

    Examples
    --------
    >>> from clapas.bodies.trusses.generators import guyed_mast
    >>> from clapas.statics.trusses import SmallDisplacements
    >>> by_lcp, direct = solve_cables(guyed_mast(), "side"), SmallDisplacements().solve(guyed_mast(), "side")
    >>> bool(np.allclose(by_lcp.forces, direct.forces))
    True
    """
    began = time.perf_counter()
    lcp = cable_lcp(truss, case, factor=factor, form=form)
    solution = solve_lcp(lcp.problem, solver, check=check)
    U = lcp.displacements(solution.z)
    forces = truss.prestress + truss.stiffness * (truss.B @ U)
    # Slack cables are those of the LCP solution: z > 0 has τ = 0 up to the residual.
    forces[truss.is_cable] = np.where(
        solution.z * truss.stiffness[truss.is_cable] > solution.w, 0.0, solution.w.clip(min=0.0)
    )
    F = case_loads(truss, case, factor).ravel()[truss.free]
    residual = float(np.abs(truss.B.T @ forces - F).max(initial=0.0)) / force_scale(F, forces)
    return Equilibrium(
        truss=truss,
        model="small",
        case=case or "",
        loads=case_loads(truss, case, factor),
        displacements=truss.displacements(U),
        forces=forces,
        status=solution.status,
        residual=residual,
        tol=solution.tol,
        iterations=solution.iterations,
        time=time.perf_counter() - began,
    )


def solve_inextensible(truss: Truss, case: str | None = None, *, factor: float = 1.0) -> Equilibrium:
    """Bars elastic, cables of fixed length: the quadratic program (5.8), by Clarabel.

    The bars alone are a mechanism, so that the program may be unbounded; the forces
    of the cables are its multipliers and need not be unique.

    Raises
    ------
    Unstable
        The program is unbounded: nothing holds the structure against this load.
    """
    began = time.perf_counter()
    truss.check_balance()
    F = case_loads(truss, case, factor).ravel()[truss.free]
    bars, cables = truss.B[np.flatnonzero(~truss.is_cable)], truss.B[np.flatnonzero(truss.is_cable)]
    k, t0 = truss.stiffness[~truss.is_cable], truss.prestress[~truss.is_cable]
    # In units in which the stiffest bar is one: Clarabel's tolerances are absolute in part.
    unit, scale = float(k.max(initial=1.0)), force_scale(F, truss.prestress)
    P = bars.T @ sparse.diags_array(k / unit) @ bars
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.triu(P)),
        (bars.T @ t0 - F) / scale,
        sparse.csc_matrix(cables),
        np.zeros(truss.n_cables),
        [clarabel.NonnegativeConeT(truss.n_cables)],
        settings,
    ).solve()
    name = str(solution.status)
    U = np.asarray(solution.x) * scale / unit
    if "DualInfeasible" in name:
        motion = truss.displacements(np.asarray(solution.x))
        raise Unstable(
            "the program of inextensible cables is unbounded: bars and cables of fixed length do not hold "
            "this load. Use SmallDisplacements(), whose cables stretch, or add members; error.mechanism "
            "holds the motion",
            truss,
            motion / max(float(np.abs(motion).max()), 1e-300),
        )
    forces = np.empty(truss.n_members)
    forces[~truss.is_cable] = t0 + k * (bars @ U)
    forces[truss.is_cable] = np.asarray(solution.z).clip(min=0.0) * scale
    residual = float(np.abs(truss.B.T @ forces - F).max(initial=0.0)) / scale
    return Equilibrium(
        truss=truss,
        model="inextensible",
        case=case or "",
        loads=case_loads(truss, case, factor),
        displacements=truss.displacements(U),
        forces=forces,
        status=Status.SOLVED if residual <= 1e-6 else Status.ALMOST_SOLVED,
        residual=residual,
        tol=1e-6,
        iterations=int(solution.iterations),
        time=time.perf_counter() - began,
    )


def _inverse(truss: Truss, K: Array) -> Callable[[Array], Array]:
    try:
        factor = linalg.cho_factor(K)
    except linalg.LinAlgError:
        factor = None
    if factor is None or np.diag(factor[0]).min() ** 2 <= SINGULAR * K.diagonal().max():
        values, vectors = np.linalg.eigh(K)
        if values[0] <= SINGULAR * values[-1]:
            motion = truss.displacements(vectors[:, 0])
            raise Unstable(
                "the stiffness matrix of bars and cables is singular: the structure has mechanisms in small "
                "displacements. Add members or supports, or use LargeDisplacements(); error.mechanism holds "
                "the motion",
                truss,
                motion / np.abs(motion).max(),
            )
    return lambda right: np.asarray(linalg.cho_solve(factor, right))


def _bars_fit(truss: Truss, B: Array) -> Array:
    """Displacements u⁰ that stretch each bar by its prestress: B_b u⁰ = t⁰_b/k_b."""
    bars = ~truss.is_cable
    elongations = truss.prestress[bars] / truss.stiffness[bars]
    u0 = np.linalg.lstsq(B[bars], elongations, rcond=None)[0]
    if np.abs(B[bars] @ u0 - elongations).max(initial=0.0) > 1e-9 * max(
        float(np.abs(elongations).max(initial=0.0)), 1e-300
    ):
        raise ProblemError(
            "the bars alone cannot be assembled without stress (they are self-stressed among themselves), "
            "so that the unassembled state does not exist: use form='assembled'"
        )
    return np.asarray(u0)


def _lack_of_fit(truss: Truss, B: Array) -> Array:
    """Lengths e⁰_c by which the cables are too short on unstressed bars."""
    cables = truss.is_cable
    elongations = truss.prestress[cables] / truss.stiffness[cables]
    return np.asarray(elongations - B[cables] @ _bars_fit(truss, B))


def _split(truss: Truss, F: Array) -> CableLCP:
    """Bars and cables as two subdomains, (5.17), multiplied by V⁻¹."""
    B = truss.B.toarray()
    cables = truss.is_cable
    Bb, Bc, kc = B[~cables], B[cables], truss.stiffness[cables]
    Kb = Bb.T @ (truss.stiffness[~cables][:, None] * Bb)
    values, vectors = np.linalg.eigh(Kb)
    zero = values <= SINGULAR * max(float(values[-1]), 1e-300)
    R = vectors[:, zero]
    pseudo = (vectors[:, ~zero] / values[~zero]) @ vectors[:, ~zero].T
    Kc = Bc.T @ (kc[:, None] * Bc)
    middle = _inverse(truss, R.T @ Kc @ R) if R.shape[1] else (lambda right: right)
    onto = kc[:, None] * (Bc @ R)  # forces of the cables under the free motions of the bars
    N = np.diag(kc) - onto @ middle(onto.T)
    V = np.eye(len(kc)) + N @ Bc @ pseudo @ Bc.T
    lack = _lack_of_fit(truss, B)
    still = pseudo @ F
    g = kc * (Bc @ still) + onto @ middle(R.T @ (F - Bc.T @ (kc * lack) - Kc @ still)) + kc * lack
    M, q = np.linalg.solve(V, N), np.linalg.solve(V, g)
    shift = _bars_fit(truss, B)

    def displacements(z: Array) -> Array:
        tau = M @ z + q
        rest = R.T @ (F - Bc.T @ (kc * (lack + z)) - Kc @ pseudo @ (F - Bc.T @ tau))
        return np.asarray(pseudo @ (F - Bc.T @ tau) + R @ middle(rest) - shift)

    return CableLCP(LCP(M, q, name="cables, split"), displacements)
