"""Minimisation of a merit function ½ |Φ|² of the impulses by BFGS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from clapas.errors import SettingsError
from clapas.problems.contact import ContactProblem
from clapas.solvers.loop import Halt, Iteration, IterativeSolver
from clapas.solvers.minimisation.quasi_newton import QuasiNewton
from clapas.solvers.products import ScaledDelassus
from clapas.status import Status
from clapas.typing import Array

LARGEST_FULL = 1500  # unknowns up to which the full inverse Hessian is kept
MEMORY = 20

Value = Callable[[Array], tuple[float, Array]]


@dataclass(frozen=True, kw_only=True)
class QuasiNewtonSolver(IterativeSolver):
    """Settings of BFGS on a merit function.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    update : "auto", "bfgs" or "lbfgs"
        Keep the full inverse Hessian, or some pairs; "auto" chooses by the size.
    line_search : int
        Trials of the Wolfe line search, from the step 1.
    """

    update: Literal["auto", "bfgs", "lbfgs"] = "auto"
    line_search: int = 12

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.update not in ("auto", "bfgs", "lbfgs"):
            raise SettingsError(f"update must be 'auto', 'bfgs' or 'lbfgs', got '{self.update}'")
        if self.line_search < 1:
            raise SettingsError(f"line_search must be at least 1, got {self.line_search}")

    def descent(self, problem: ContactProblem, guess: Array, scaled: ScaledDelassus, merit: Value) -> Descent:
        """Begin at the guess; ``merit`` returns value and gradient at scaled impulses, flat."""
        small = problem.n_contacts * problem.d <= LARGEST_FULL
        full = self.update == "bfgs" or (self.update == "auto" and small)
        x = scaled.from_impulses(guess).ravel()
        return Descent(scaled, merit, QuasiNewton(merit, x, None if full else MEMORY, self.line_search))


class Descent(Iteration):
    """Descent in scaled impulses."""

    def __init__(self, scaled: ScaledDelassus, merit: Value, search: QuasiNewton) -> None:
        self.scaled, self.merit, self.search = scaled, merit, search

    def impulses(self) -> Array:
        """The impulses of the current point."""
        return self.scaled.to_impulses(self.search.x.reshape(self.scaled.shape))

    def advance(self, count: int) -> None:
        """Do ``count`` line searches."""
        for _ in range(count):
            if not self.search.descend():
                raise Halt(Status.STALLED)
