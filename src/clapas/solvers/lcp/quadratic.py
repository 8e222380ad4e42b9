"""Complementarity as a quadratic program for the interior-point solver Clarabel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from clapas.errors import ProblemError, SettingsError
from clapas.problems import matrix_classes
from clapas.problems.lcp import LCP, Infeasibility
from clapas.solvers.lcp.loop import LCPMethod
from clapas.solvers.lcp.polishing import polished
from clapas.solvers.lcp.scaling import Scaled
from clapas.solvers.loop import Halt, IterativeSolver
from clapas.status import Status
from clapas.typing import Array
from clapas.units import counted

ACCURACY = 1e-14  # required of the engine
REFINEMENTS, ROUNDING = 50, 1e-16  # of the solutions of its linear systems, to rounding
LARGEST_TEST = 3000  # unknowns up to which semidefiniteness is tested
MARGIN = 1.001  # on the shift that makes a program convex
STUCK = 1e-12  # a step below this, relative to the solution, counts as zero


@dataclass(frozen=True, kw_only=True)
class QuadraticProgram(IterativeSolver):
    """Quadratic programming by Clarabel, polished on the active set.

        symmetric:  min ½ zᵀM z + qᵀz      subject to z ≥ 0
        general:    min zᵀ(M z + q)        subject to z ≥ 0, M z + q ≥ 0

    The first has the LCP as its optimality conditions; the second, for matrices that are not symmetric, has
    its solutions as its minima of value zero. One program suffices where M is positive semidefinite.

    Otherwise, with −ρ the smallest eigenvalue of ½(M + Mᵀ), convexified programs are solved in sequence: the
    ρ|z|² that is added to the objective is subtracted as a linear term at the last solution (differences of
    convex functions). Each lowers the objective, and they tend to a stationary point: a solution in the
    symmetric form; in the general one if M is row sufficient, such as a P-matrix (Cottle, Pang, Venkateswaran
    1989), but not always otherwise.

    Accurate and insensitive to conditioning; cold starts only. One iteration is one program.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    form : "auto", "symmetric" or "general"
        Program used; "auto" chooses by M.

    References
    ----------
    Cottle, Pang, Stone 2009, section 1.4; Goulart, Chen 2024 (the engine); Pham Dinh, Le Thi 1997
    (differences of convex functions).

    Examples
    --------
    >>> from clapas.solvers.lcp import solve_lcp
    >>> solve_lcp(LCP([[2.0, 3.0], [-1.0, 2.0]], [-5.0, -6.0]), QuadraticProgram()).z.round(6)
    array([0., 3.])
    """

    max_iterations: int = 200
    form: Literal["auto", "symmetric", "general"] = "auto"

    measures_each_iteration: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.form not in ("auto", "symmetric", "general"):
            raise SettingsError(f"form must be 'auto', 'symmetric' or 'general', got '{self.form}'")

    def start(self, problem: LCP, guess: Array) -> LCPMethod:
        """Measure the distance of M from semidefinite matrices, and choose the program."""
        scaled = Scaled.of(problem)
        dense = scaled.problem.dense
        is_symmetric = matrix_classes.is_symmetric(dense)
        if self.form == "symmetric" and not is_symmetric:
            raise ProblemError("form='symmetric' needs a symmetric M, got one that is not: use form='auto'")
        symmetric = is_symmetric if self.form == "auto" else self.form == "symmetric"
        is_convex = problem.size > LARGEST_TEST or matrix_classes.is_positive_semidefinite(dense)
        rho = 0.0 if is_convex else -MARGIN * matrix_classes.smallest_eigenvalue(dense)
        return _Programs(problem, scaled, guess, symmetric, rho)


class _Programs(LCPMethod):
    def __init__(self, problem: LCP, scaled: Scaled, guess: Array, symmetric: bool, rho: float) -> None:
        self.problem, self.scaled, self.symmetric, self.rho = problem, scaled, symmetric, rho
        self.z = np.maximum(scaled.forth(guess), 0.0)

    def unknowns(self) -> Array:
        """The solution of the last program, polished."""
        return polished(self.problem, self.scaled.back(polished(self.scaled.problem, self.z)))

    def advance(self, count: int) -> None:
        """Solve one program; further ones are needed only where M is not semidefinite."""
        result = _run(self.scaled.problem, self.symmetric, self.rho, self.z)
        self.notes = (f"Clarabel: {result.status}, {counted(result.iterations, 'iteration')}",)
        self._look_for_proof(result)
        z = np.maximum(np.asarray(result.x), 0.0)
        if not np.isfinite(z).all():
            raise Halt(Status.NUMERICAL_ERROR)
        step, self.z = float(np.abs(z - self.z).max(initial=0.0)), z
        if self.rho == 0.0 or step <= STUCK * (1.0 + np.abs(z).max(initial=0.0)):
            raise Halt(Status.STALLED)

    def _look_for_proof(self, result: Any) -> None:
        """Test whether an unbounded or infeasible program proves that the LCP has no solution."""
        direction = np.asarray(result.x if self.symmetric else result.z[self.problem.size :])
        if not np.isfinite(direction).all():
            return
        proof = Infeasibility(np.maximum(self.scaled.unit * direction, 0.0))
        self.infeasibility = proof.established(self.problem)
        if self.infeasibility is not None:
            raise Halt(Status.NO_SOLUTION)


def _run(data: LCP, symmetric: bool, rho: float, centre: Array) -> Any:
    import clarabel

    M, n = sparse.csc_array(data.M), data.size
    twice = 1.0 if symmetric else 2.0
    P = sparse.triu((M if symmetric else M + M.T) + twice * rho * sparse.eye_array(n), format="csc")
    signs = -sparse.eye_array(n, format="csc")
    A = signs if symmetric else sparse.vstack((signs, -M), format="csc")
    h = np.zeros(n) if symmetric else np.concatenate((np.zeros(n), data.q))
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = ACCURACY
    # With its default settings, refinement stops long before this accuracy.
    options.iterative_refinement_max_iter = REFINEMENTS
    options.iterative_refinement_reltol = options.iterative_refinement_abstol = ROUNDING
    cones = [clarabel.NonnegativeConeT(len(h))]
    linear = data.q - twice * rho * centre
    parts = (sparse.csc_matrix(P), linear, sparse.csc_matrix(A), h, cones, options)
    return clarabel.DefaultSolver(*parts).solve()
