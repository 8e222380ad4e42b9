"""One call for every method."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clapas.errors import NotSolved, ProblemError
from clapas.problems.contact import ContactProblem
from clapas.solvers.auto import Auto
from clapas.solvers.loop import Solver, Watcher, iterate
from clapas.solvers.solution import Solution
from clapas.status import Status
from clapas.typing import Array

Guess = npt.ArrayLike | Solution | None


def solve(
    problem: ContactProblem,
    solver: Solver | None = None,
    guess: Guess = None,
    check: bool = True,
    progress: Watcher | None = None,
) -> Solution:
    """Solve a contact problem.

    Parameters
    ----------
    problem : ContactProblem
        What to solve.
    solver : Solver, optional
        The method with its settings; ``Auto()`` by default, which chooses.
    guess : array (n, d) or Solution, optional
        Impulses to start from, for instance those of the last time step; zero by default.
    check : bool
        Raise :class:`NotSolved`, which carries the solution, unless the residual reached the
        tolerance. With False the solution is returned whatever its status.
    progress : callable, optional
        Called at each measurement with ``(iterations, residual, seconds)``; return True to stop.

    Examples
    --------
    >>> problem = ContactProblem(W=np.eye(3), q=[[-0.0981, 1.0, 0.0]], mu=0.5)
    >>> solution = solve(problem)
    >>> solution.status.name
    'SOLVED'
    >>> solution.r.round(5)
    array([[ 0.0981 , -0.04905,  0.     ]])
    """
    solver = solver or Auto()
    if not isinstance(problem.cone, solver.cones):
        from clapas.solvers import registry

        able = [entry.name for entry in registry.entries() if isinstance(problem.cone, entry.solver.cones)]
        raise ProblemError(
            f"{type(solver).__name__} does not take the law of these contacts "
            f"({type(problem.cone).__name__}); these do: {', '.join(able)}"
        )
    guess = _impulses(problem, guess)  # large ones of the caller may go now
    if problem.is_definite:
        solution = iterate(problem, solver, guess, progress)
    else:
        from clapas.solvers.semidefinite import solve_semidefinite

        solution = solve_semidefinite(problem, solver, guess, progress)
    if check and not solution.status.is_solved:
        raise NotSolved(solution, _on_existence(solution))
    return solution


def _on_existence(solution: Solution) -> str:
    """What is known on whether there was something to find."""
    if solution.status in (Status.NO_SOLUTION, Status.STOPPED):
        return ""
    from clapas.problems import existence  # conic programming, needed for failures only

    return existence.advice(solution.problem)


def _impulses(problem: ContactProblem, guess: Guess) -> Array:
    if guess is None:
        return np.zeros((problem.n_contacts, problem.d))
    r = problem.impulse(guess.r if isinstance(guess, Solution) else guess)
    if not np.isfinite(r).all():
        raise ProblemError("the guess must be finite, got NaN or infinity: leave it out to start from zero")
    return r.copy()
