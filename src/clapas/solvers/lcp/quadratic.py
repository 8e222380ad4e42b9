"""Complementarity as a quadratic program, given to the interior-point engine Clarabel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from clapas.errors import ProblemError, SettingsError
from clapas.problems import matrix_classes
from clapas.problems.lcp import LCP
from clapas.solvers.lcp.loop import LCPMethod
from clapas.solvers.lcp.polishing import polished
from clapas.solvers.lcp.scaling import Scaled
from clapas.solvers.loop import Halt, IterativeSolver
from clapas.status import Status
from clapas.typing import Array

ACCURACY = 1e-14  # asked of the engine
LARGEST_TEST = 3000  # unknowns up to which semidefiniteness is tested


@dataclass(frozen=True, kw_only=True)
class QuadraticProgram(IterativeSolver):
    """Quadratic programming by Clarabel, then polished on the active set found.

        symmetric:  min ½ zᵀM z + qᵀz      subject to z ≥ 0
        general:    min zᵀ(M z + q)        subject to z ≥ 0, M z + q ≥ 0

    The first has the LCP as its optimality conditions; the second, for matrices that are not symmetric, has
    its solutions as its minima of value zero. Both need M positive semidefinite and are refused otherwise.

    Accurate and insensitive to conditioning; cold starts only. One iteration does all.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    form : "auto", "symmetric" or "general"
        Which program; "auto" looks at M.

    References
    ----------
    Cottle, Pang, Stone 2009, section 1.4; Goulart, Chen 2024 (the engine).

    Examples
    --------
    >>> from clapas.solvers.lcp import solve_lcp
    >>> solve_lcp(LCP([[2.0, 3.0], [-1.0, 2.0]], [-5.0, -6.0]), QuadraticProgram()).z.round(6)
    array([0., 3.])
    """

    max_iterations: int = 1
    form: Literal["auto", "symmetric", "general"] = "auto"

    measures_each_iteration: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.form not in ("auto", "symmetric", "general"):
            raise SettingsError(f"form must be 'auto', 'symmetric' or 'general', got '{self.form}'")

    def start(self, problem: LCP, guess: Array) -> LCPMethod:
        """Check that M is semidefinite, and write the program."""
        scaled = Scaled.of(problem)
        dense = scaled.problem.dense
        is_symmetric = matrix_classes.is_symmetric(dense)
        if problem.size <= LARGEST_TEST and not matrix_classes.is_positive_semidefinite(dense):
            raise ProblemError(
                "the quadratic program needs a positive semidefinite M: take Lemke or MixedInteger"
            )
        if self.form == "symmetric" and not is_symmetric:
            raise ProblemError("form='symmetric' needs a symmetric M, got one that is not: use form='auto'")
        symmetric = is_symmetric if self.form == "auto" else self.form == "symmetric"
        return _Program(problem, scaled, symmetric, guess)


class _Program(LCPMethod):
    def __init__(self, given: LCP, scaled: Scaled, symmetric: bool, guess: Array) -> None:
        self.given, self.scaled, self.symmetric, self.z = given, scaled, symmetric, guess

    def unknowns(self) -> Array:
        """The guess, then the answer."""
        return self.z

    def advance(self, count: int) -> int:
        """Solve the program; a second iteration has nothing to add."""
        data = self.scaled.problem
        answer = _run(data, self.symmetric)
        z = np.asarray(answer.x)
        if not np.isfinite(z).all():
            raise Halt(Status.NUMERICAL_ERROR)
        self.z = self.scaled.back(polished(data, z))
        self.notes = (f"Clarabel: {answer.status}, {answer.iterations} iterations",)
        if self.given.residual(self.z) > 0.0:
            self.z = polished(self.given, self.z)
        return count


def _run(data: LCP, symmetric: bool) -> Any:
    import clarabel

    M, n = sparse.csc_array(data.M), data.size
    P = sparse.triu(M if symmetric else M + M.T, format="csc")
    signs = -sparse.eye_array(n, format="csc")
    A = signs if symmetric else sparse.vstack((signs, -M), format="csc")
    h = np.zeros(n) if symmetric else np.concatenate((np.zeros(n), data.q))
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = ACCURACY
    cones = [clarabel.NonnegativeConeT(len(h))]
    parts = (sparse.csc_matrix(P), data.q, sparse.csc_matrix(A), h, cones, options)
    return clarabel.DefaultSolver(*parts).solve()
