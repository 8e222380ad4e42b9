"""Branch and bound: a solution, or a proof that there is none.

Coulomb's problem is NP-hard: iterative methods may fail although a solution exists, and never prove that
none does. The exact method is a search among the modes of the contacts (open, stick, slide), which discards a
choice as soon as its convex relaxation is infeasible and keeps the certificate. Where everything is
discarded, the certificates together prove that no solution exists; a small module independent of the search
(:mod:`~clapas.solvers.branch_and_bound.checker`) checks them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, cast

import numpy as np

from clapas.errors import ProblemError, SettingsError
from clapas.problems.contact import ContactProblem
from clapas.problems.conversions import reduce
from clapas.solvers.branch_and_bound import checker
from clapas.solvers.branch_and_bound.checker import Proof, Verification
from clapas.solvers.branch_and_bound.modes import BACKWARD, FORWARD, OPEN, STICK
from clapas.solvers.branch_and_bound.search import Search, without_units
from clapas.solvers.conic_fixed_point import ConicFixedPoint
from clapas.solvers.enumeration import SolutionSet, plane
from clapas.solvers.loop import USABLE, Halt, Iteration, IterativeSolver, Solver, iterate
from clapas.solvers.newton import SemismoothNewton
from clapas.solvers.nsgs import NSGS
from clapas.solvers.solution import Solution
from clapas.status import Status
from clapas.typing import Array
from clapas.units import counted

__all__ = ["BranchAndBound", "Outcome", "Proof", "Verification", "all_solutions", "search", "verify"]

AT_ONCE = 20  # nodes processed between two measurements
REFINED_EVERY = 100  # relaxation points between two attempts to reach a solution from them
REFINEMENT = SemismoothNewton(max_iterations=8)
RESTARTED = (NSGS(max_iterations=200), SemismoothNewton(max_iterations=20))  # in sequence
NEAR_FLOOR = 100.0  # residual over the rounding floor, below which a solution is as accurate as possible
LARGEST_LISTED = 20  # contacts for which all solutions are listed


def _heuristics() -> tuple[Solver, ...]:
    return (
        NSGS(max_iterations=2000),
        SemismoothNewton(max_iterations=60),
        ConicFixedPoint(max_iterations=30),
    )


@dataclass(frozen=True, kw_only=True)
class BranchAndBound(IterativeSolver):
    """Branch and bound on the modes of the contacts: the exact solver of last resort.

    Other methods run first, some of them from random impulses too; their best result orders the search. Then
    a tree is searched whose nodes allow each contact some of its modes. A node is relaxed to a convex
    problem: impulses and velocities in the convex hulls of the allowed sets
    (:mod:`~clapas.solvers.branch_and_bound.relaxation`). If it is infeasible the node is closed by a
    certificate; if its point obeys the law the problem is solved; otherwise a contact far from the law is
    split, of those tried the one that leaves the fewest parts open. Iterations are nodes split.

    In the plane the result is exact, up to rounding: SOLVED, or NO_SOLUTION with a checked proof. In
    space directions of sliding are cut in arcs down to ``sector``; branches still open are neither solved
    nor refuted, and the status is STALLED. A proof is checked exactly and excludes all impulses up
    to a size, given in the notes, that is at least 1e8 times what cancels the free velocity; it is not
    accepted where the criterion of existence says that there is a solution (beyond that size: a column of
    bodies with mass ratios of 1e11, for example). Without a proof, where the best impulses have a residual of
    at most 1e-2 and are as accurate as rounding allows but not as ``tol`` requires, the status is
    ALMOST_SOLVED.

    W is used as given, symmetric or not.

    Thirty or forty contacts in the plane and about ten in space usually take seconds to minutes. The
    problem is NP-hard and some take far longer: the time to refute a subset sum by parity, for example,
    doubles with every number.

    No bound on r from the energy is used. Every solution has r·(W r + q) ≤ 0, which is convex, but does not
    keep r from going to infinity along the self-balanced impulses without which a solution exists anyway;
    with it, trees of random problems have about as many nodes as without.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    sector : float
        Narrowest arc of sliding directions (rad).
    heuristics : tuple of solvers
        Methods tried before the search, with their own limits.
    restarts : int
        Random impulses from which Gauss-Seidel, then Newton start before the search.

    References
    ----------
    Cadoux 2009, conclusion of part I (which calls for it) and 1.4.6 (the problem is NP-hard).

    Examples
    --------
    Some of 2, 4, 6, 8 sum to 10, none to 9:

    >>> from clapas.problems.gallery import subset_sum
    >>> from clapas.solvers.loop import solve
    >>> solution = solve(subset_sum((2, 4, 6, 8), 10).problem, BranchAndBound())
    >>> solution.status.name
    'SOLVED'
    >>> solve(subset_sum((2, 4, 6, 8), 9).problem, BranchAndBound(), check=False).status.name
    'NO_SOLUTION'
    """

    max_iterations: int = 1_000_000
    time_limit: float = 600.0
    sector: float = 1e-3
    heuristics: tuple[Solver, ...] = field(default_factory=_heuristics)
    restarts: int = 4

    measures_each_iteration: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.sector < np.pi / 2:
            raise SettingsError(f"sector must be between 0 and π/2, got {self.sector}")
        if self.restarts < 0:
            raise SettingsError(f"restarts must be at least 0, got {self.restarts}")

    def start(self, problem: ContactProblem, guess: Array) -> TreeSearch:
        """Prepare the search; the heuristics run in its first iteration."""
        return TreeSearch(problem, guess, self)


class TreeSearch(Iteration):
    """A running search, as an iteration: first the heuristics, then the nodes."""

    repeats_when_stuck = False

    def __init__(self, problem: ContactProblem, guess: Array, settings: BranchAndBound) -> None:
        self.problem, self.settings = problem, settings
        self.tree: Search | None = None
        self.proof: Proof | None = None
        self._r = guess
        self._residual = problem.residual(guess)
        self._deadline = time.perf_counter() + settings.time_limit
        self._best_violation = math.inf  # of the best point of a relaxation
        self._n_processed = 0

    def impulses(self) -> Array:
        """The best impulses so far."""
        return self._r

    def advance(self, count: int) -> int:
        """Process some nodes, fewer if one gives the solution."""
        if self.tree is None:
            self._try_heuristics()
            self.tree = Search(self.problem, self._r, self.settings.sector, deadline=self._deadline)
            return 1
        if self.tree.is_over:
            self._conclude(self.tree)
        done = 0
        while done < AT_ONCE and not self.tree.is_over and self._residual > self.settings.tol:
            self._process_node(self.tree)
            done += 1
            if time.perf_counter() > self._deadline:
                break
        self.notes = (f"{len(self.tree.nodes)} nodes, {len(self.tree.stack)} of them open",)
        return done

    def _process_node(self, tree: Search) -> None:
        undecided = len(tree.survivors)
        tree.step()
        if tree.violation < self._best_violation:
            self._best_violation = tree.violation
            self._keep(tree.point)
        if self._n_processed % REFINED_EVERY == 0 or len(tree.survivors) > undecided:
            self._improve(REFINEMENT, tree.point)
        self._n_processed += 1

    def _try_heuristics(self) -> None:
        for method in self.settings.heuristics:
            if self._residual > self.settings.tol:
                self._improve(method, self._r)
        for r in _random_impulses(self.problem, self.settings.restarts):
            if self._residual > self.settings.tol:
                self._improve(RESTARTED[1], self._improve(RESTARTED[0], r))

    def _improve(self, method: Solver, guess: Array) -> Array:
        """Result of a method from a guess; kept if it is the best so far."""
        seconds = self._deadline - time.perf_counter()
        if seconds <= 0.0:
            raise Halt(Status.TIME_LIMIT)
        limited = replace(cast(Any, method), time_limit=min(method.time_limit, seconds))
        r = iterate(self.problem, limited, guess).r
        self._keep(r)
        return r

    def _keep(self, r: Array) -> None:
        residual = self.problem.residual(r)
        if residual < self._residual:
            self._r, self._residual = r, residual

    def _conclude(self, tree: Search) -> None:
        """Conclude when all nodes are processed without a solution: a proof, or undecided branches.

        The proof comes first: where there is no solution impulses may grow until rounding hides anything.
        """
        proof = tree.proof
        verdict = checker.check(proof) if proof is not None else None
        if proof is None or verdict is None or not verdict.accepted:
            self._halt_at_rounding()
            self.notes = (f"{len(tree.survivors)} branches could be neither solved nor closed",)
            raise Halt(Status.STALLED)
        size = f"up to {verdict.radius:.1g} times those that would cancel the free velocity "
        excluded = f"no impulses {size if math.isfinite(verdict.radius) else ''}obey the law"
        if _exists(self.problem):
            self._halt_at_rounding()
            self.notes = (
                f"a solution exists (Cadoux's criterion), but {excluded}: rounding hides it at tol",
            )
            raise Halt(Status.NUMERICAL_ERROR)
        self.proof = proof
        self.notes = (f"{counted(proof.leaves, 'branch', 'branches')} closed and checked: {excluded}",)
        raise Halt(Status.NO_SOLUTION)

    def _halt_at_rounding(self) -> None:
        """End the search where the best impulses are of use, and as accurate as rounding allows."""
        floor = self._rounding_floor()
        if self._residual <= min(NEAR_FLOOR * floor, USABLE):
            self.notes = (f"rounding alone leaves a residual of about {floor:.0e}: tol is below it",)
            raise Halt(Status.ALMOST_SOLVED)

    def _rounding_floor(self) -> float:
        """Residual due to rounding at the best impulses: ε |λ_i r_i| / |q|."""
        data, unit = without_units(self.problem)
        impulses, velocities = self._r / unit, data.q
        speed = float(np.linalg.norm(velocities))
        return checker.EPSILON * float(np.linalg.norm(impulses)) / speed if speed > 0.0 else 0.0


def _exists(problem: ContactProblem) -> bool:
    """Whether the criterion of existence certifies a solution."""
    if type(problem) is not ContactProblem:
        return False
    from clapas.problems import existence  # conic programming, needed for proofs only

    return existence.check(problem, quick=True).exists is True


def _random_impulses(problem: ContactProblem, count: int) -> Iterator[Array]:
    """Impulses in the cones, of about the size that cancels the free velocity; from a fixed seed."""
    random = np.random.default_rng(0)
    _, unit = without_units(problem)
    for _ in range(count):
        r = random.standard_normal((problem.n_contacts, problem.d))
        r[:, 0] = np.abs(r[:, 0])
        r[:, 1:] *= (problem.mu * r[:, 0] / np.linalg.norm(r[:, 1:], axis=1))[:, None]
        yield 10.0 ** random.uniform(-1.0, 1.0) * unit * r


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """Result of a search.

    Parameters
    ----------
    solution : Solution
        The solution, or the best impulses found with the status that says why.
    proof : Proof or None
        With status NO_SOLUTION: the proof, which :func:`verify` checks.
    nodes : int
        Nodes of the tree.
    gap : float
        Fraction of the tree still open, between 0 and 1; 0 when the search is complete.
    """

    solution: Solution
    proof: Proof | None
    nodes: int
    gap: float


def search(problem: ContactProblem, solver: BranchAndBound | None = None) -> Outcome:
    """Solve by branch and bound and return the proof.

    Examples
    --------
    Painlevé's rod, pushed into its lean, with gravity down: no impulse obeys the law.

    >>> from clapas.problems import gallery
    >>> rod = gallery.get("painleve-down-none").problem
    >>> outcome = search(rod)
    >>> outcome.solution.status.name, outcome.proof
    ('NO_SOLUTION', Proof(2 closed branches, 2 certificates))
    >>> verify(rod, outcome.proof).accepted
    True
    """
    solver = solver or BranchAndBound()
    recorded = _Recorded(**{each.name: getattr(solver, each.name) for each in fields(solver)})
    solution = iterate(problem, recorded, np.zeros((problem.n_contacts, problem.d)))
    method = recorded.started[0] if recorded.started else None
    tree = method.tree if method else None
    proof = method.proof if method else None
    status = Status.NO_SOLUTION if proof else solution.status  # a proof completed at the time limit counts
    return Outcome(
        solution=replace(solution, solver=solver, status=status),
        proof=proof,
        nodes=len(tree.nodes) if tree else 0,
        gap=tree.gap if tree and not solution.status.is_solved else 0.0,
    )


@dataclass(frozen=True, kw_only=True)
class _Recorded(BranchAndBound):
    """The same method, which keeps the searches it starts, and thus the proof."""

    started: list[TreeSearch] = field(default_factory=list)

    def start(self, problem: ContactProblem, guess: Array) -> TreeSearch:
        self.started.append(super().start(problem, guess))
        return self.started[-1]


def verify(problem: ContactProblem, proof: Proof) -> Verification:
    """Check a proof of non-existence against the problem itself, whose data are recomputed."""
    data, _ = without_units(problem)
    return checker.check(replace(data, nodes=proof.nodes, certificates=proof.certificates))


def all_solutions(problem: ContactProblem, *, max_contacts: int = LARGEST_LISTED) -> SolutionSet:
    """List all solutions of a small problem in the plane: isolated ones, and families.

    As :func:`~clapas.solvers.enumeration.enumerate_solutions`, for more contacts: the search discards most
    choices of modes before they are complete. The time grows with the number of solutions (subset sums).

    Examples
    --------
    >>> from clapas.problems import gallery
    >>> all_solutions(gallery.get("subset-sum-six").problem)
    SolutionSet(2 isolated, 0 continua, all)
    """
    if problem.d != 2:
        raise ProblemError("all solutions are listed in the plane only: in space use enumerate_solutions")
    if problem.n_contacts > max_contacts:
        raise ProblemError(
            f"all solutions are listed for at most {max_contacts} contacts, got {problem.n_contacts}: "
            "raise max_contacts and be patient"
        )
    if problem.n_contacts == 0:
        return SolutionSet(isolated=(np.zeros((0, 2)),), complete=True)
    return plane.solutions(reduce(problem), _remaining_choices(problem))


def _remaining_choices(problem: ContactProblem) -> Iterator[tuple[str, ...]]:
    tree = Search(problem, np.zeros((problem.n_contacts, 2)), narrowest=1.0, all_modes=True)
    while not tree.is_over:
        tree.step()
    names = {OPEN: plane.OPEN, STICK: plane.STICK, FORWARD: plane.FORWARD, BACKWARD: plane.BACKWARD}
    for domains in tree.survivors:
        yield tuple(names.get(domain, plane.SLIPPERY) for domain in domains)
