"""Auto: a portfolio of methods that looks at the problem and at how they progress."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clapas.convex.base import FrictionCone
from clapas.problems.contact import ContactProblem
from clapas.solvers.loop import Iteration, IterativeSolver
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class Auto(IterativeSolver):
    """Solve by several methods in turn, each of which runs as long as it makes progress.

    Gauss-Seidel begins, or on a small problem compiled rounds of sweeps and Newton steps
    (:class:`DenseNewton`). If they have not arrived after some sweeps, the parts of the problem that share
    no body and are already solved are put aside, and for each other part a race begins: Gauss-Seidel and
    the accelerated projection, then the costly methods: the least impulses where all may be at rest
    (:class:`LeastImpulses`), the interior point, branch and bound on small problems, which may prove that
    there is no solution, and Cadoux's fixed point. The turn goes to the
    method that has worked least, except that one whose residual falls fast enough to arrive soon keeps it.
    No method is given up while its best residual still falls. Work is counted in products by W, not in
    seconds: the same input gives the same bits. The notes say what was tried.

    This is the default of :func:`solve` and of simulations: where Gauss-Seidel is enough it costs no more.
    Laws other than Coulomb's, as of contacts that resist rolling, are raced by the methods that take them.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`. Iterations are those of all methods together.

    References
    ----------
    Gomes, Selman 2001 (portfolios); Cadoux 2009, 5.4 (suggests one of H-pf, NA-pf and GS).

    Examples
    --------
    >>> from clapas import gallery, solve
    >>> solution = solve(gallery.get("box-stack-10").problem, Auto(tol=1e-10))
    >>> solution.status.name
    'SOLVED'
    """

    max_iterations: int = 10_000_000

    cones: ClassVar[tuple[type[FrictionCone], ...]] = (FrictionCone,)

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Begin with Gauss-Seidel at the guess."""
        from clapas.solvers.auto.portfolio import Portfolio

        return Portfolio(problem, guess, self.tol, self.time_limit)
