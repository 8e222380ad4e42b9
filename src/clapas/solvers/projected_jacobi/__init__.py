"""Projected Jacobi method: solve all contacts independently, then relax."""

from __future__ import annotations

from dataclasses import dataclass, field

from clapas.errors import SettingsError
from clapas.problems.contact import ContactProblem
from clapas.solvers.local import Exact, LocalSolver
from clapas.solvers.loop import Iteration, IterativeSolver
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class ProjectedJacobi(IterativeSolver):
    """Jacobi's method: each contact is solved with the others held fixed, then relaxed.

        r_i ← P_K(r_i + ω (r_i^alone − r_i)),    r_i^alone the solution of contact i given all old impulses.

    All contacts of a body react to an error that one of them could correct: with ω = 1 the total reaction is
    too large. By default ω is the inverse of the largest eigenvalue of W scaled by the responses, which
    is about the number of contacts that share a body.

    Every contact can be treated at the same time and in any order; about as many iterations as Gauss-Seidel
    times 1/ω. For comparison, and for machines with thousands of cores.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    local : Exact, AlartCurnier or DeSaxce
        Method for the single contact.
    relaxation : float, optional
        Factor ω in ]0, 2[; below 1 under-relaxed, above 1 over-relaxed (for weakly coupled
        contacts). By default the safe value above.

    References
    ----------
    Jean 1999 (the contacts one by one); Tonge, Benevolenski, Voroshilov 2012 (Jacobi and its relaxation).

    Examples
    --------
    >>> from clapas import gallery, solve
    >>> solution = solve(gallery.box_stack(3).problem, ProjectedJacobi(tol=1e-6))
    >>> solution.status.name
    'SOLVED'
    """

    max_iterations: int = 100_000
    local: LocalSolver = field(default_factory=Exact)
    relaxation: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.relaxation is not None and not 0 < self.relaxation < 2:
            raise SettingsError(f"relaxation must be between 0 and 2, got {self.relaxation}")

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Transform every contact to its canonical coordinates."""
        from clapas.solvers.projected_jacobi.iteration import Jacobi  # kernels load the compiler

        return Jacobi(problem, self.local.part(), self.relaxation, guess)
