"""Enumeration of contact modes: all solutions of tiny problems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clapas.errors import ProblemError, SettingsError
from clapas.problems.contact import ContactProblem
from clapas.problems.conversions import reduce
from clapas.solvers.enumeration.families import Family, SolutionSet
from clapas.solvers.loop import Halt, Iteration, IterativeSolver
from clapas.status import Status
from clapas.typing import Array

__all__ = ["Enumeration", "Family", "SolutionSet", "enumerate_solutions"]

LARGEST = {2: 10, 3: 4}  # contacts, by dimension


def enumerate_solutions(
    problem: ContactProblem, *, max_contacts: int | None = None, starts: int = 32, seed: int = 0
) -> SolutionSet:
    """Find all solutions of a tiny problem.

    Every contact is open, sticking or sliding. In the plane it slides forward or backward; each choice of
    modes then leaves linear equations and inequalities, a polyhedron of solutions that is empty, a point or a
    continuum. All choices are tried, except those proved infeasible before all contacts are
    chosen. The result is complete, up to rounding; if it is empty, no solution exists.

    In space the direction of sliding is an additional unknown. Each choice of modes is searched from many
    starting points by damped Newton steps on its equations and the violated inequalities. The results are
    verified by the residual; completeness is likely, not proved.

    Parameters
    ----------
    problem : ContactProblem
        In the plane up to 10 contacts, in space up to 4: the number of choices is 4ⁿ and 3ⁿ.
    max_contacts : int, optional
        Another limit.
    starts : int
        Starting points per choice of modes, in space.
    seed : int
        Seed of the starting points.

    Examples
    --------
    Painlevé's rod leaves the floor or stays; both are solutions:

    >>> from clapas.problems import gallery
    >>> found = enumerate_solutions(gallery.get("painleve-up-two").problem)
    >>> [r.round(6).tolist() for r in found.isolated]
    [[[0.0, 0.0]], [[1.0, -2.0]]]

    A square at rest on two corners may be squeezed by friction:

    >>> found = enumerate_solutions(gallery.get("rigid-square").problem)
    >>> found
    SolutionSet(0 isolated, 1 continuum, all)
    >>> squeeze = [float(r[0, 1]) for r in found.continua[0].samples]
    >>> round(min(squeeze), 6), round(max(squeeze), 6)
    (-0.5, 0.5)

    References
    ----------
    Cadoux 2009, 1.2.4 (the three cases of the law) and 4.1; Acary et al. 2009 (enumerative methods).
    """
    from clapas.solvers.enumeration import plane, space

    limit = LARGEST[problem.d] if max_contacts is None else max_contacts
    if problem.n_contacts > limit:
        raise ProblemError(
            f"enumeration tries every mode of every contact and stops at {limit} contacts in {problem.d}-D, "
            f"got {problem.n_contacts}: split the problem, raise max_contacts, or use another solver"
        )
    if problem.n_contacts == 0:
        return SolutionSet(isolated=(np.zeros((0, problem.d)),), complete=True)
    reduced = reduce(problem)
    if problem.d == 2:
        return plane.solutions(reduced)
    return space.solutions(reduced, starts, np.random.default_rng(seed))


@dataclass(frozen=True, kw_only=True)
class Enumeration(IterativeSolver):
    """Enumeration of modes as a solver: the solution nearest to the guess.

    In the plane it proves that no solution exists (status NO_SOLUTION) when it finds none. For reference in
    tests and for teaching: the number of modes is 4ⁿ in the plane and 3ⁿ in space. One iteration does
    everything.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`. The time limit is not checked within the one iteration.
    starts, seed
        See :func:`enumerate_solutions`.

    References
    ----------
    Cadoux 2009, 1.2.4 and 4.1; Acary et al. 2009.

    Examples
    --------
    >>> from clapas.problems import gallery
    >>> from clapas.solvers.loop import solve
    >>> solve(gallery.get("painleve-down-none").problem, Enumeration(), check=False).status.name
    'NO_SOLUTION'
    """

    starts: int = 32
    seed: int = 0

    measures_each_iteration: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.starts < 1:
            raise SettingsError(f"starts must be at least 1, got {self.starts}")

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Prepare the search; it is done at the first iteration."""
        return _Search(problem, guess, self.starts, self.seed)


class _Search(Iteration):
    """All the solutions at once; the current iterate is the nearest to the guess."""

    def __init__(self, problem: ContactProblem, guess: Array, starts: int, seed: int) -> None:
        self._problem, self._r, self._starts, self._seed = problem, guess, starts, seed

    def impulses(self) -> Array:
        """The guess, then the solution nearest to it."""
        return self._r

    def advance(self, count: int) -> None:
        """Enumerate."""
        solutions = enumerate_solutions(self._problem, starts=self._starts, seed=self._seed)
        self.notes = (str(solutions),)
        if not solutions.points:
            raise Halt(Status.NO_SOLUTION if solutions.complete else Status.STALLED)
        self._r = min(solutions.points, key=lambda r: float(np.abs(r - self._r).max()))
