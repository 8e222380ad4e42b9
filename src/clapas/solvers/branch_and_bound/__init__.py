"""Branch and bound: a solution, or the proof that there is none.

Coulomb's problem is NP-hard: methods that iterate may fail although a solution exists, and never tell that
none does. The exact answer is a search among the modes of the contacts (open, stick, slide), which gives up a
choice as soon as the convex problem it leaves is empty and keeps the reason. Where everything was given up,
the reasons together prove that no solution exists; a small program that knows nothing of the search
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
from clapas.solvers.loop import Halt, Iteration, IterativeSolver, Solver, iterate
from clapas.solvers.newton import SemismoothNewton
from clapas.solvers.nsgs import NSGS
from clapas.solvers.solution import Solution
from clapas.status import Status
from clapas.typing import Array

__all__ = ["BranchAndBound", "Outcome", "Proof", "Verification", "all_solutions", "search", "verify"]

AT_ONCE = 20  # nodes treated between two measurements
REFINED_EVERY = 100  # points of relaxations between two attempts to reach a solution from there
REFINEMENT = SemismoothNewton(max_iterations=8)
RESTARTED = (NSGS(max_iterations=200), SemismoothNewton(max_iterations=20))  # one after the other
NEAR_FLOOR = 100.0  # residual over what rounding leaves, below which an answer is as good as it can be
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

    Other methods try first, some of them from random impulses too; their best answer orders the search. Then
    a tree is searched whose nodes allow each contact some of its modes. A node is relaxed to a convex
    problem: impulses and velocities in the convex hulls of what is allowed
    (:mod:`~clapas.solvers.branch_and_bound.relaxation`). If it is empty the node is closed, by a certificate;
    if its point obeys the law the problem is solved; otherwise a contact far from the law is split, of those
    tried the one that leaves fewest parts open. Iterations are nodes split.

    In the plane the answer is exact, up to rounding: SOLVED, or NO_SOLUTION with a proof that was checked. In
    space directions of sliding are cut in arcs down to ``sector``; what is left open then is neither solved
    nor refuted, and the status is STALLED. A proof is checked without rounding and excludes all impulses up
    to a size, given in the notes, that is at least 1e8 times what cancels the free velocity; it is not
    accepted where the criterion of existence says that there is a solution (beyond that size: a column of
    bodies with mass ratios of 1e11, say). Where the best impulses are as good as rounding allows but not as
    good as ``tol`` asks, the status is ALMOST_SOLVED.

    W is used as given, symmetric or not.

    Thirty or forty contacts in the plane and about ten in space take seconds to minutes as a rule. The
    problem is NP-hard and some take far longer: the time to refute a subset sum by parity, say, doubles with
    every number.

    No bound on r from the energy is used. Every solution has r·(W r + q) ≤ 0, which is convex, but does not
    keep r from going to infinity along the self-balanced impulses without which a solution exists anyway;
    with it trees of random problems have about as many nodes as without.

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
    """A search under way, as an iteration: first the heuristics, then a node at a time."""

    repeats_when_stuck = False

    def __init__(self, problem: ContactProblem, guess: Array, settings: BranchAndBound) -> None:
        self.problem, self.settings = problem, settings
        self.tree: Search | None = None
        self.proof: Proof | None = None
        self._r = guess
        self._residual = problem.residual(guess)
        self._deadline = time.perf_counter() + settings.time_limit
        self._missed = math.inf  # by the best point of a relaxation
        self._looked_at = 0

    def impulses(self) -> Array:
        """The best impulses so far."""
        return self._r

    def advance(self, count: int) -> int:
        """Treat some nodes, fewer if one brings the solution."""
        if self.tree is None:
            self._try_heuristics()
            self.tree = Search(self.problem, self._r, self.settings.sector, deadline=self._deadline)
            return 1
        if self.tree.is_over:
            self._conclude(self.tree)
        done = 0
        while done < AT_ONCE and not self.tree.is_over and self._residual > self.settings.tol:
            self._treat_node(self.tree)
            done += 1
            if time.perf_counter() > self._deadline:
                break
        self.notes = (f"{len(self.tree.nodes)} nodes, {len(self.tree.stack)} of them open",)
        return done

    def _treat_node(self, tree: Search) -> None:
        undecided = len(tree.survivors)
        tree.step()
        if tree.missed < self._missed:
            self._missed = tree.missed
            self._keep(tree.point)
        if self._looked_at % REFINED_EVERY == 0 or len(tree.survivors) > undecided:
            self._improve(REFINEMENT, tree.point)
        self._looked_at += 1

    def _try_heuristics(self) -> None:
        for method in self.settings.heuristics:
            if self._residual > self.settings.tol:
                self._improve(method, self._r)
        for r in _random_impulses(self.problem, self.settings.restarts):
            if self._residual > self.settings.tol:
                self._improve(RESTARTED[1], self._improve(RESTARTED[0], r))

    def _improve(self, method: Solver, guess: Array) -> Array:
        """Where a method goes from a guess; kept if it is the best so far."""
        left = self._deadline - time.perf_counter()
        if left <= 0.0:
            raise Halt(Status.TIME_LIMIT)
        hurried = replace(cast(Any, method), time_limit=min(method.time_limit, left))
        r = iterate(self.problem, hurried, guess).r
        self._keep(r)
        return r

    def _keep(self, r: Array) -> None:
        residual = self.problem.residual(r)
        if residual < self._residual:
            self._r, self._residual = r, residual

    def _conclude(self, tree: Search) -> None:
        """All nodes are treated and none gave a solution: a proof, or branches too narrow to decide."""
        floor = self._rounding_floor()
        if self._residual <= NEAR_FLOOR * floor:
            self.notes = (f"rounding alone leaves a residual of about {floor:.0e}: tol is below it",)
            raise Halt(Status.ALMOST_SOLVED)
        proof = tree.proof
        verdict = checker.check(proof) if proof is not None else None
        if proof is None or verdict is None or not verdict.accepted:
            self.notes = (f"{len(tree.survivors)} branches could be neither solved nor closed",)
            raise Halt(Status.STALLED)
        size = f"up to {verdict.radius:.1g} times those that would cancel the free velocity "
        excluded = f"no impulses {size if math.isfinite(verdict.radius) else ''}obey the law"
        if _exists(self.problem):
            self.notes = (
                f"a solution exists (Cadoux's criterion), but {excluded}: rounding hides it at tol",
            )
            raise Halt(Status.NUMERICAL_ERROR)
        self.proof = proof
        self.notes = (f"{proof.leaves} branches closed and checked: {excluded}",)
        raise Halt(Status.NO_SOLUTION)

    def _rounding_floor(self) -> float:
        """The residual below which rounding hides the best impulses: ε |λ_i r_i| / |q|."""
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
    """Impulses in the cones, of sizes around that which cancels the free velocity; always the same ones."""
    random = np.random.default_rng(0)
    _, unit = without_units(problem)
    for _ in range(count):
        r = random.standard_normal((problem.n_contacts, problem.d))
        r[:, 0] = np.abs(r[:, 0])
        r[:, 1:] *= (problem.mu * r[:, 0] / np.linalg.norm(r[:, 1:], axis=1))[:, None]
        yield 10.0 ** random.uniform(-1.0, 1.0) * unit * r


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """What a search found.

    Parameters
    ----------
    solution : Solution
        The solution, or the best impulses found with the status that says why.
    proof : Proof or None
        With status NO_SOLUTION: what :func:`verify` checks.
    nodes : int
        Nodes of the tree.
    gap : float
        Share of the tree still open, between 0 and 1; 0 when the search came to its end.
    """

    solution: Solution
    proof: Proof | None
    nodes: int
    gap: float


def search(problem: ContactProblem, solver: BranchAndBound | None = None) -> Outcome:
    """Solve by branch and bound and keep the proof.

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
    kept = _Kept(**{each.name: getattr(solver, each.name) for each in fields(solver)})
    solution = iterate(problem, kept, np.zeros((problem.n_contacts, problem.d)))
    method = kept.started[0] if kept.started else None
    tree = method.tree if method else None
    proof = method.proof if method else None
    status = Status.NO_SOLUTION if proof else solution.status  # proved in the last second counts
    return Outcome(
        solution=replace(solution, solver=solver, status=status),
        proof=proof,
        nodes=len(tree.nodes) if tree else 0,
        gap=tree.gap if tree and not solution.status.is_solved else 0.0,
    )


@dataclass(frozen=True, kw_only=True)
class _Kept(BranchAndBound):
    """The same method, which keeps what it started: the proof is in there."""

    started: list[TreeSearch] = field(default_factory=list)

    def start(self, problem: ContactProblem, guess: Array) -> TreeSearch:
        self.started.append(super().start(problem, guess))
        return self.started[-1]


def verify(problem: ContactProblem, proof: Proof) -> Verification:
    """Check a proof of non-existence against the problem itself, whose data are taken anew."""
    data, _ = without_units(problem)
    return checker.check(replace(data, nodes=proof.nodes, certificates=proof.certificates))


def all_solutions(problem: ContactProblem, *, max_contacts: int = LARGEST_LISTED) -> SolutionSet:
    """List all the solutions of a small problem in the plane: isolated ones, and families of them.

    As :func:`~clapas.solvers.enumeration.enumerate_solutions`, for more contacts: the search closes most
    choices of modes before they are complete. Where solutions abound (subset sums) so does the time.

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
    return plane.solutions(reduce(problem), _choices_left(problem))


def _choices_left(problem: ContactProblem) -> Iterator[tuple[str, ...]]:
    tree = Search(problem, np.zeros((problem.n_contacts, 2)), narrowest=1.0, all_modes=True)
    while not tree.is_over:
        tree.step()
    names = {OPEN: plane.OPEN, STICK: plane.STICK, FORWARD: plane.FORWARD, BACKWARD: plane.BACKWARD}
    for domains in tree.survivors:
        yield tuple(names.get(domain, plane.SLIPPERY) for domain in domains)
