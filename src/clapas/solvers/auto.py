"""Auto: a portfolio of methods, chosen by the problem and by their progress.

Three parts, in the order of their use: the methods that suit a problem; a race, in which
several of them take turns; the portfolio, which starts with one method alone, then races on the whole
problem, then on each unsolved part.

Work is counted in products by W, the cost of an iteration of the accelerated projection. The
costs are measured averages over the gallery and published files, not timings of the run: a sweep of
Gauss-Seidel takes between a tenth of a product (packings) and a whole one (walls), a step of the interior
point some hundreds, a step of Cadoux's fixed point some thousands.

Small problems take microseconds: there a compiled round of sweeps and Newton steps on a dense W
comes first. In time steps, whose problems are stored as blocks, it comes second: from the impulses of the
last step a sweep or two, which need no W, usually suffice.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, ClassVar, Literal, cast

import numpy as np

from clapas.convex import CoulombCone
from clapas.convex.base import FrictionCone
from clapas.convex.threshold import ThresholdFriction
from clapas.problems.contact import ContactProblem
from clapas.problems.conversions import Component, split
from clapas.problems.sphere_blocks import SphereBlocks
from clapas.solvers.accelerated_projection import AcceleratedProjection
from clapas.solvers.admm import ADMM
from clapas.solvers.branch_and_bound import BranchAndBound
from clapas.solvers.conic_fixed_point import ConicFixedPoint
from clapas.solvers.dense import DenseNewton
from clapas.solvers.interior_point import InteriorPoint
from clapas.solvers.least_impulses import LeastImpulses, can_rest
from clapas.solvers.loop import Halt, Iteration, IterativeSolver, Solver
from clapas.solvers.newton import SemismoothNewton
from clapas.solvers.nsgs import COMPILED_SECTIONS, NSGS
from clapas.status import Status
from clapas.typing import Array, Indices
from clapas.units import counted

OPENING = 15.0  # work of Gauss-Seidel before others join
STEP, STEP_PER_CONTACT, LARGEST_STEP = (
    100.0,
    0.05,
    400.0,
)  # half the true cost: preferred, since it works best where it is needed
FIXED_POINT = 5000.0
NEWTON, FACTORED = 100.0, 3_000  # of a Newton step on the whole problem; contacts up to which it is taken
AT_REST = 50.0  # of a step to the least impulses
NODE, NODE_PER_ROW = 100.0, 5.0  # of branch and bound
SEARCHED = 40  # largest number of contacts for branch and bound
FEW = 100  # contacts
SMALL = 300  # rows of W up to which it is stored as a full matrix ...
ROUND_PER_ROW = 0.03  # ... and the mean cost, per row, of a sweep or a Newton step on it
UNLIMITED = 10**9


@dataclass(frozen=True)
class Contender:
    """A method in a race.

    Parameters
    ----------
    name : str
        For the notes.
    solver : Solver
        With its settings.
    cost : float
        Work of one iteration.
    joins : float
        Work that the methods before it in the list must have done before it starts.
    patience : float
        Work after which it stops, unless its residual still decreases.
    begins : "guess", "best" or "zero"
        Where it starts: at the guess of the portfolio, at the best impulses so far, or without impulses.
    """

    name: str
    solver: Solver
    cost: float
    joins: float
    patience: float
    begins: Literal["guess", "best", "zero"] = "guess"


def opening(problem: ContactProblem, tol: float) -> Contender:
    """The first method."""
    if not isinstance(problem.cone, NSGS.cones) or not isinstance(problem.section, COMPILED_SECTIONS):
        projection = _unlimited(AcceleratedProjection, tol)
        return Contender("accelerated-projection", projection, 1.0, joins=0.0, patience=20_000)
    if not isinstance(problem.cone, CoulombCone):
        return Contender("nsgs", _unlimited(NSGS, tol), 0.1, joins=0.0, patience=3_000)
    if _is_small(problem) and not problem._stored_as_blocks:
        return Contender(
            "dense-newton", _unlimited(DenseNewton, tol), _round_cost(problem), joins=0.0, patience=500
        )
    return Contender("nsgs", _unlimited(NSGS, tol), _sweep_cost(problem), joins=0.0, patience=30_000)


def contenders(problem: ContactProblem, tol: float) -> list[Contender]:
    """The methods that suit a connected problem, in the order in which they join."""
    if isinstance(problem.cone, ThresholdFriction):
        return [opening(problem, tol)]  # the only one that accepts sets other than cones
    if not isinstance(problem.cone, CoulombCone):
        first, projection = opening(problem, tol), _unlimited(AcceleratedProjection, tol)
        second = Contender("accelerated-projection", projection, 1.0, 50.0, 10_000)
        last = Contender("admm", _unlimited(ADMM, tol), 10.0, joins=1_000, patience=20_000)
        return [first, last] if first.name == second.name else [first, second, last]
    field = [opening(problem, tol)]
    if _is_small(problem):
        sweeps, newton = _unlimited(NSGS, tol), _unlimited(DenseNewton, tol)
        field.append(
            Contender("nsgs", sweeps, _sweep_cost(problem), joins=OPENING, patience=30_000)
            if field[0].name == "dense-newton"
            else Contender(
                "dense-newton", newton, _round_cost(problem), joins=OPENING, patience=500, begins="best"
            )
        )
    projection = _unlimited(AcceleratedProjection, tol)
    field.append(Contender("accelerated-projection", projection, 1.0, joins=OPENING, patience=60_000))
    if problem.n_contacts > FEW and can_rest(problem):
        at_rest = _unlimited(LeastImpulses, tol)
        field.append(Contender("least-impulses", at_rest, AT_REST, joins=2 * AT_REST, patience=8 * AT_REST))
    step = min(STEP + STEP_PER_CONTACT * problem.n_contacts, LARGEST_STEP)
    interior, fixed_point = _unlimited(InteriorPoint, tol), _unlimited(ConicFixedPoint, tol)
    # From the rough impulses after a few sweeps most methods take longer than from zero.
    field.append(Contender("interior-point", interior, step, joins=500, patience=50_000))
    if problem.n_contacts <= SEARCHED:
        search = BranchAndBound(tol=tol, max_iterations=UNLIMITED, heuristics=(), restarts=0)
        node = max(NODE, NODE_PER_ROW * problem.d * problem.n_contacts)
        field.append(Contender("branch-and-bound", search, node, joins=1_000, patience=100_000))
    return [
        *field,
        *_newton(problem, tol),
        Contender(
            "interior-point from the best", interior, step, joins=40_000, patience=50_000, begins="best"
        ),
        Contender(
            "conic-fixed-point", fixed_point, FIXED_POINT, joins=50_000, patience=100_000, begins="best"
        ),
    ]


def _newton(problem: ContactProblem, tol: float) -> list[Contender]:
    """Newton steps on all contacts, where a factorisation is cheap.

    From zero: it solves what stops the others only if it does not begin where they have stopped, and in a
    time step that is the guess too.
    """
    if problem.n_contacts > FACTORED:
        return []
    newton = _unlimited(SemismoothNewton, tol)
    return [Contender("semismooth-newton", newton, NEWTON, 30_000, 100 * NEWTON, begins="zero")]


def _is_small(problem: ContactProblem) -> bool:
    return problem.d * problem.n_contacts <= SMALL


def _round_cost(problem: ContactProblem) -> float:
    """Cost of a step of the dense method: a product for a sweep, some tens for a factorisation."""
    return 1.0 + ROUND_PER_ROW * problem.d * problem.n_contacts


def _sweep_cost(problem: ContactProblem) -> float:
    """Cost of a Gauss-Seidel sweep: low with body velocities, lowest where contacts have a closed form."""
    if problem.form == "reduced":
        return 1.0
    if problem.n_contacts < FEW or isinstance(problem.blocks, SphereBlocks):
        return 0.1
    blocks = problem.local_blocks
    diagonal = np.einsum("nii->ni", blocks)
    coupled = np.abs(blocks).sum() > (1.0 + 1e-9) * np.abs(diagonal).sum()
    return 0.5 if coupled or problem.blocks is None else 0.1


def _unlimited(method: Callable[..., Solver], tol: float) -> Solver:
    return method(tol=tol, max_iterations=UNLIMITED)


SHARE = 4  # a turn is a quarter of the work done so far
SOON = 1.0  # a runner that needs at most this multiple of its work so far keeps the turn
EARLIER, HALVED = (
    0.6,
    0.5,
)  # beyond its patience a runner continues while its residual has halved since that fraction of its work
SHORTEST = 1e-3  # s
HOPELESS = 3.0  # handicap of a runner that at its rate would not converge within its patience


@dataclass(eq=False)  # compared by identity: searching a list must not compare histories
class Runner:
    """A running contender: its work, its residuals and when they were measured."""

    contender: Contender
    iteration: Iteration | None = None
    work: float = 0.0
    iterations: int = 0
    residuals: list[tuple[float, float]] = field(default_factory=list)  # work done, residual
    ended: Status | None = None

    @property
    def best(self) -> float:
        """Smallest residual reached."""
        return min((residual for _, residual in self.residuals), default=math.inf)

    @property
    def has_ended(self) -> bool:
        """Whether it cannot continue, or is beyond its patience and no longer improves."""
        return self.ended is not None or (self.work >= self.contender.patience and not self.is_improving)

    @property
    def is_improving(self) -> bool:
        """Whether its best residual has halved in the last two fifths of its work."""
        earlier = (residual for work, residual in self.residuals if work <= EARLIER * self.work)
        return self.best <= HALVED * min(earlier, default=math.inf)

    def work_left(self, tol: float) -> float:
        """Remaining work if the residual continues as in its last half, as a power of the work.

        Geometric convergence is faster than that, so the estimate is conservative; it is accurate when little
        work is left, when it matters.
        """
        if len(self.residuals) < 2:
            return math.inf
        now, last = self.residuals[-1]
        before, first = next(
            (pair for pair in reversed(self.residuals[:-1]) if pair[0] <= 0.5 * now), self.residuals[0]
        )
        if not 0.0 < last < first:
            return math.inf
        power = math.log(first / last) / math.log(now / before)
        decades = math.log(last / tol) / power
        return now * math.expm1(decades) if decades < 100.0 else math.inf

    def advance(self, count: int) -> int:
        """Do some iterations; the number done."""
        assert self.iteration is not None
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                count = self.iteration.advance(count) or count
        except Halt as halt:
            self.ended = halt.status
        self.work += count * self.contender.cost
        self.iterations += count
        return count

    @property
    def ran(self) -> str:
        """The method, and what it works on, in words."""
        on = self.iteration.ran if self.iteration is not None else ""
        return f"{self.contender.name}, {on}" if on else self.contender.name

    def impulses(self) -> Array:
        """The current impulses."""
        assert self.iteration is not None
        return self.iteration.impulses()

    def __str__(self) -> str:
        reached = f", residual {self.best:.1e}" if self.residuals else ""
        ending = f", {self.ended.name.lower().replace('_', ' ')}" if self.ended else ""
        proof = ""
        if self.ended is Status.NO_SOLUTION and self.iteration is not None:  # how far it reaches
            proof = "".join(f"; {note}" for note in self.iteration.notes)
        return f"{self.contender.name}: {counted(self.iterations, 'iteration')}{reached}{ending}{proof}"


class Race:
    """A problem and the methods that compete on it; the best impulses measured are kept."""

    def __init__(
        self,
        problem: ContactProblem,
        guess: Array,
        tol: float,
        field: list[Contender],
        best: Array | None = None,
        deadline: float = math.inf,
    ) -> None:
        self.problem, self.tol, self._deadline = problem, tol, deadline
        self._guess = guess
        self.r = guess if best is None else best
        self.residual = problem.residual(self.r)
        self.runners = [Runner(contender) for contender in field]
        self._turn: Runner | None = None
        self.leader: Runner | None = None  # the runner with the best impulses

    def add_leader(self, runner: Runner) -> None:
        """Put a running method, which has reached the best impulses, in first place."""
        runner.residuals.append((runner.work, self.residual))
        self.runners[0] = self.leader = runner

    @property
    def is_solved(self) -> bool:
        """The best impulses meet the tolerance."""
        return self.residual <= self.tol

    @property
    def verdict(self) -> Status | None:
        """Status of the race when no method can continue."""
        if any(runner.ended is Status.NO_SOLUTION for runner in self.runners):
            return Status.NO_SOLUTION
        return Status.STALLED if all(runner.has_ended for runner in self.runners) else None

    @property
    def notes(self) -> tuple[str, ...]:
        """What every runner did."""
        return tuple(str(runner) for runner in self.runners if runner.iterations)

    def run(self) -> int:
        """One turn of one runner; the number of its iterations."""
        runner = self._next()
        if runner is None:
            return 0
        self._turn = runner
        if runner.iteration is None:
            starts = {"guess": self._guess, "best": self.r, "zero": np.zeros_like(self.r)}
            start = starts[runner.contender.begins]
            # Some do much work per iteration, and need the remaining time.
            seconds = max(self._deadline - time.perf_counter(), SHORTEST)
            solver = replace(cast(Any, runner.contender.solver), time_limit=seconds)
            runner.iteration = solver.start(self.problem, start.copy())
        count = runner.advance(self._length(runner))
        self._measure(runner)
        return count

    def _measure(self, runner: Runner) -> None:
        r = runner.impulses()
        residual = self.problem.residual(r)
        runner.residuals.append((runner.work, residual))
        if not math.isfinite(residual):
            runner.ended = Status.NUMERICAL_ERROR
        elif residual < self.residual:
            self.r, self.residual, self.leader = r.copy(), residual, runner

    def _next(self) -> Runner | None:
        """The runner that keeps the turn because it converges soon, or the one with the least work."""
        ready = [runner for runner in self.runners if not runner.has_ended]
        last = self._turn
        if last in ready and last.work_left(self.tol) <= SOON * max(last.work, OPENING):
            return last
        joined = [r for r in ready if r.work or r.contender.joins <= self._least_work(r)]
        if not joined:
            return ready[0] if ready else None
        return min(joined, key=self._weighted_work)

    def _weighted_work(self, runner: Runner) -> float:
        """Work done, weighted for runners without progress."""
        hopeless = runner.work > OPENING and runner.work_left(self.tol) > runner.contender.patience
        return runner.work * (HOPELESS if hopeless else 1.0)

    def _least_work(self, newcomer: Runner) -> float:
        ahead = self.runners[: self.runners.index(newcomer)]
        return min(
            (self._weighted_work(runner) for runner in ahead if not runner.has_ended), default=math.inf
        )

    def _length(self, runner: Runner) -> int:
        """Iterations of a turn: a fraction of those done so far, fewer if the runner converges soon."""
        if runner.contender.solver.measures_each_iteration:
            return 1
        if runner.work < OPENING:
            return max(
                1, runner.iterations
            )  # 1, 1, 2, 4, …: the solution of easy problems is noticed at once
        left = runner.work_left(self.tol)
        work = max(OPENING / SHARE, min(runner.work / SHARE, left / 2))
        return max(1, round(work / runner.contender.cost))


WORTH_SPLITTING = 0.7  # fraction of unsolved contacts above which the problem is not split
TOGETHER = 300.0  # work on the whole before it is split, which is costly too


class Portfolio(Iteration):
    """Gauss-Seidel alone, then races one after the other; the current impulses are the best of each."""

    repeats_when_stuck: ClassVar[bool] = False

    def __init__(
        self, problem: ContactProblem, guess: Array, tol: float, time_limit: float = math.inf
    ) -> None:
        self._problem, self._tol = problem, tol
        self._deadline = time.perf_counter() + time_limit
        self._guess = self._r = guess
        first = opening(problem, tol)
        self._first = Runner(first, first.solver.start(problem, guess))
        self._whole: Race | None = None
        self._parts: list[tuple[Component, Race]] | None = None

    @property
    def ran(self) -> str:
        """The methods whose impulses these are."""
        if self._whole is None:
            return self._first.ran
        races = [self._whole, *(race for _, race in self._parts or ())]
        return "; ".join(dict.fromkeys(race.leader.ran for race in races if race.leader is not None))

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]  # made when read, not at every turn
        """What the methods did, on the whole and on parts of it."""
        if self._whole is None:
            return (str(self._first),)
        parts = (
            f"{counted(len(c.contacts), 'contact')}: {note}"
            for c, on in self._parts or ()
            for note in on.notes
        )
        return (*self._whole.notes, *islice(parts, 20))

    def impulses(self) -> Array:
        """The best impulses of every part."""
        if self._whole is None:
            return self._first.impulses()
        if not self._parts:
            return self._whole.r
        for component, race in self._parts:
            self._r[component.contacts] = race.r
        return self._r

    def advance(self, count: int) -> int:
        """Some sweeps, or a turn of a race; the number of iterations it took."""
        if self._whole is None and self._first.work < OPENING:
            return self._first.advance(count)
        race = self._current()
        done = race.run()
        if (
            self._parts and self._problem.packed
        ):  # measuring the whole problem costs more than a turn of a part
            done += sum(other.run() for _, other in self._parts if other is not race and not other.is_solved)
        if not race.is_solved and (verdict := race.verdict):
            raise Halt(verdict)
        return done

    def glance(self) -> float | None:
        """The estimate of the first method while it is alone."""
        first = self._first.iteration
        return first.glance() if self._whole is None and first is not None else None

    def _current(self) -> Race:
        if self._whole is None:
            best = self._first.impulses().copy()
            field = contenders(self._problem, self._tol)
            self._whole = Race(self._problem, self._guess, self._tol, field, best, self._deadline)
            self._whole.add_leader(self._first)
        # Packed bodies (rods and the like) are split at little cost, and Newton's method suits small parts.
        work_before_split = 0.0 if self._problem.packed else TOGETHER
        if self._parts is None and sum(runner.work for runner in self._whole.runners) >= work_before_split:
            self._parts = self._unsolved_parts(self._whole)
        if not self._parts:
            return self._whole
        return next((race for _, race in self._parts if not race.is_solved), self._parts[-1][1])

    def _unsolved_parts(self, whole: Race) -> list[tuple[Component, Race]]:
        """Races for the components that are not solved; none if this is nearly all of the problem."""
        packed = self._problem.packed is not None
        if len(whole.runners) == 1 and not packed:  # no other method for them
            return []
        if not isinstance(self._problem.cone, CoulombCone):  # parts are problems of Coulomb's law
            return []
        r = self._r = whole.r.copy()
        violation = np.linalg.norm(self._problem.violation(r), axis=1)
        speed = self._problem.free_speed or 1.0
        n = self._problem.n_contacts

        def goal_of(contacts: Indices) -> float:
            return float(self._tol * speed * np.sqrt(len(contacts) / n))

        def is_unsolved(contacts: Indices) -> bool:
            return bool(np.linalg.norm(violation[contacts]) > goal_of(contacts))

        parts = []
        for component in split(self._problem, is_unsolved):
            goal = goal_of(component.contacts)
            tol = goal / component.problem.free_speed if component.problem.free_speed else self._tol
            part, contacts = component.problem, component.contacts
            guess = r[contacts] if packed else self._guess[contacts]
            race = Race(part, guess, tol, contenders(part, tol), r[contacts], self._deadline)
            parts.append((component, race))
        n_unsolved = sum(len(component.contacts) for component, _ in parts)
        largest = max((len(component.contacts) for component, _ in parts), default=0)
        is_worth_splitting = n_unsolved <= WORTH_SPLITTING * n or (packed and largest <= WORTH_SPLITTING * n)
        return parts if is_worth_splitting else []


@dataclass(frozen=True, kw_only=True)
class Auto(IterativeSolver):
    """Solve by several methods in turn, each of which runs as long as it makes progress.

    Gauss-Seidel starts, or on a small problem compiled rounds of sweeps and Newton steps
    (:class:`DenseNewton`). If this has not converged after some sweeps, the parts of the problem that share
    no body and are already solved are put aside, and for each other part a race begins: Gauss-Seidel and
    the accelerated projection, then the costly methods: the least impulses where all may be at rest
    (:class:`LeastImpulses`), the interior point, branch and bound on small problems, which may prove that
    there is no solution, and Cadoux's fixed point. The turn goes to the
    method with the least work, except that one whose residual decreases fast enough to converge soon keeps
    it. No method is stopped while its best residual still decreases. Work is counted in products by W, not in
    seconds: the same input gives the same bits. The notes say what was tried.

    This is the default of :func:`solve` and of simulations: where Gauss-Seidel suffices it costs no more.
    For laws other than Coulomb's, such as rolling resistance, the methods that accept them compete.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`. Iterations are those of all methods together.

    References
    ----------
    Gomes, Selman 2001 (portfolios); Cadoux 2009, 5.4 (suggests one of H-pf, NA-pf and GS; H-pf
    is not used here: it solves 38 of his 45 random problems, where this portfolio solves all).

    Examples
    --------
    >>> from clapas import gallery, solve
    >>> solution = solve(gallery.get("box-stack-10").problem, Auto(tol=1e-10))
    >>> solution.status.name
    'SOLVED'
    """

    max_iterations: int = 10_000_000

    cones: ClassVar[tuple[type, ...]] = (FrictionCone, ThresholdFriction)

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Begin with Gauss-Seidel at the guess."""
        return Portfolio(problem, guess, self.tol, self.time_limit)
