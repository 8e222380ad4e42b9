"""The ``solve`` function, and the loop that all iterative methods share: advance, measure, decide.

A method only defines how to advance; the loop measures ``problem.residual`` from the data, keeps the
best iterate, records the history and decides when to stop. No method decides itself that it has converged.
The same loop runs the methods for contact (:func:`iterate`) and those for linear complementarity
(:mod:`clapas.solvers.lcp.loop`).

Measuring costs about as much as a few sweeps, so it is done at growing intervals. The intervals
follow from the measured residuals, never from the clock: the same input gives the same bits. A method with
a cheaper estimate of its residual (:meth:`Method.glance`) is measured when this reaches the tolerance
or when the number of iterations has doubled.
"""

from __future__ import annotations

import functools
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import ClassVar, Generic, NamedTuple, Never, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from clapas.compiled.tables import are_equal, are_finite, positive
from clapas.compiled.threads import one_blas_thread
from clapas.convex.coulomb import CoulombCone
from clapas.errors import NotSolved, ProblemError, SettingsError, UnknownKeyword, require_keywords
from clapas.linalg.norms import norm
from clapas.problems import magnitudes
from clapas.problems.contact import MANY, SMALLEST, ContactProblem
from clapas.solvers.kinds import require_kinds
from clapas.solvers.solution import History, Solution
from clapas.status import Status
from clapas.typing import Array

DIVERGED = 1e100  # residual, relative to |q|, beyond which iterates only grow until they overflow
GUESS = "the guess was good enough"
NEAR_FLOOR = 32.0  # a residual below this multiple of the rounding floor may not decrease further
USABLE = 1e-2  # residual above which a solution is useless, even if rounding is the cause
IMPROVED = 0.9  # a best residual below this fraction of the previous one is progress
UNMEASURED = 96  # iterations that a method with an estimate of its residual may do before it is measured
VISITS_PER_SECOND = 10_000_000  # contacts that a sweep visits per second, roughly


@dataclass(frozen=True, kw_only=True)
class IterativeSolver:
    """Settings of every iterative solver.

    Parameters
    ----------
    tol : float
        Largest ``problem.residual`` accepted; relative to |q|, no unit.
    max_iterations : int
        Iterations before the status becomes MAX_ITERATIONS.
    time_limit : float
        Seconds before the status becomes TIME_LIMIT.
    """

    tol: float = 1e-8
    max_iterations: int = 10_000
    time_limit: float = math.inf

    # Contact laws that the method accepts, by their cones.
    cones: ClassVar[tuple[type, ...]] = (CoulombCone,)

    # Iterations that cost much more than measuring the residual are measured one by one.
    measures_each_iteration: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_kinds(self)
        if not self.tol > 0:
            raise SettingsError(f"tol must be positive, got {self.tol}")
        if self.max_iterations < 0:
            raise SettingsError(f"max_iterations must be at least 0, got {self.max_iterations}")
        if not self.time_limit > 0:
            raise SettingsError(f"time_limit must be positive, got {self.time_limit}")


class DirectModel(IterativeSolver, ABC):
    """A model with its own law, computed without the loop, which would select by Coulomb's residual."""

    @abstractmethod
    def compute(self, problem: ContactProblem, guess: Array) -> Solution:
        """Compute the impulses, measured by Coulomb's law."""


class Method(ABC):
    """A running method on one problem, of contact or of another kind.

    ``notes`` are remarks for the user: a cycle detected, a parameter reduced.
    """

    notes: tuple[str, ...] = ()

    @property
    def ran(self) -> str:
        """What runs, in words, where the name of the method is not sufficient."""
        return ""

    # Repeated unknowns mean stagnation, except where several methods take turns.
    repeats_when_stuck: ClassVar[bool] = True

    @abstractmethod
    def unknowns(self) -> Array:
        """The current iterate."""

    @abstractmethod
    def advance(self, count: int) -> int | None:
        """Do ``count`` iterations; return the number done if it differs.

        May raise :class:`Halt`, or LinAlgError where a matrix to be factorised is singular.
        """

    def glance(self) -> float | None:
        """A cheap estimate of the residual from the data of the method; None if there is none.

        It only decides when to measure.
        """
        return None


class Iteration(Method):
    """A running method on one contact problem; its unknowns are the impulses."""

    @abstractmethod
    def impulses(self) -> Array:
        """The current iterate r, (n, d)."""

    def unknowns(self) -> Array:
        """The impulses."""
        return self.impulses()


class Halt(Exception):
    """Raised by an iteration that cannot go on; its current iterate is still measured."""

    def __init__(self, status: Status) -> None:
        self.status = status
        super().__init__(status.cause)


class Limits(Protocol):
    """The settings of a solver that the loop needs: when to stop, and how often to measure."""

    @property
    def tol(self) -> float:
        """Largest residual accepted."""
        ...

    @property
    def max_iterations(self) -> int:
        """Iterations allowed."""
        ...

    @property
    def time_limit(self) -> float:
        """Seconds allowed."""
        ...

    @property
    def measures_each_iteration(self) -> bool:
        """Whether to measure after every iteration rather than at growing intervals."""
        ...


class Solver(Limits, Protocol):
    """Interface of a solver: its limits, the laws it accepts, and its start on a problem."""

    cones: ClassVar[tuple[type, ...]]

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Prepare the method on a problem, from a guess (n, d), which is not written to."""
        ...


class Progress(NamedTuple):
    """Argument of a progress callback at each measurement."""

    iterations: int
    residual: float
    seconds: float


Watcher = Callable[[Progress], bool | None]


class MeasureEvery(NamedTuple):
    """Bounds on the iterations between two measurements; the longest is about a second of work."""

    shortest: int
    longest: int


AnyMethod = TypeVar("AnyMethod", bound=Method)


class Run(NamedTuple, Generic[AnyMethod]):
    """The result of a run of the loop: the best iterate measured, and its history."""

    unknowns: Array
    status: Status
    residual: float
    iterations: int
    seconds: float
    history: History
    method: AnyMethod | None  # None when the guess was good enough

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks of the method."""
        return self.method.notes if self.method else ()


@dataclass
class _Record:
    """Measurements so far and the best iterate among them."""

    iterations: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    residuals: list[float] = field(default_factory=list)
    best: float = math.inf
    unknowns: Array | None = None
    mark: float = math.inf  # the best residual at the last progress
    progress: int = 0  # iterations then

    def add(
        self, iterations: int, seconds: float, residual: float, unknowns: Array, is_constant: bool = False
    ) -> Array:
        """Record a measurement; returns the iterate if it is never overwritten, else a copy."""
        self.iterations.append(iterations)
        self.seconds.append(seconds)
        self.residuals.append(residual)
        kept = unknowns if is_constant else positive(unknowns)
        if residual < self.best or self.unknowns is None:
            self.best, self.unknowns = residual, kept
        if self.best < IMPROVED * self.mark:
            self.mark, self.progress = self.best, iterations
        return kept

    def add_estimate(self, iterations: int, seconds: float, residual: float) -> None:
        """Record the estimated residual of an iterate that is not kept."""
        self.iterations.append(iterations)
        self.seconds.append(seconds)
        self.residuals.append(residual)

    @property
    def has_stagnated(self) -> bool:
        """Whether twice the iterations of the last progress, and some more, have brought no progress."""
        return self.iterations[-1] > 2 * self.progress + 100

    def history(self) -> History:
        return History(np.array(self.iterations), np.array(self.seconds), np.array(self.residuals))


def iterate(
    problem: ContactProblem, solver: Solver, guess: Array, watcher: Watcher | None = None
) -> Solution:
    """Run a method on a contact problem until it is solved or must stop; return the best iterate measured."""
    n = problem.n_contacts
    if n < MANY and watcher is None:  # bodies at rest: one residual, no setup
        began = time.perf_counter()
        residual = problem.residual(guess)
        if residual <= solver.tol:
            return _solved_by_guess(problem, solver, guess, residual, time.perf_counter() - began)
    # A sweep of few contacts between bodies costs less than a call from Python: several are done per call.
    shortest = 4 if n >= MANY or problem.is_by_blocks else 1
    pace = MeasureEvery(shortest, max(20, VISITS_PER_SECOND // max(1, n)))
    with one_blas_thread():
        start = functools.partial(solver.start, problem, guess)
        floor = functools.partial(rounding_floor, problem)
        result = run(problem.residual, solver, start, guess, pace, watcher, floor)
    notes = result.notes
    if result.status is Status.ALMOST_SOLVED and result.residual <= NEAR_FLOOR * (
        lowest := floor(result.unknowns)
    ):
        notes = (*notes, f"{rounding_words(lowest, solver.tol)}: give a tol above it, or bodies less unlike")
    return Solution(
        problem=problem,
        solver=solver,
        r=result.unknowns,
        status=result.status,
        residual=result.residual,
        iterations=result.iterations,
        time=result.seconds,
        history=result.history,
        notes=notes,
        method=_method_name(solver, result.method),
    )


def rounding_floor(problem: ContactProblem, r: Array) -> float:
    """The lowest residual that rounding allows at impulses r (n, d).

    At each contact u is a sum of terms as large as the effect of its own impulse, response · |r|, which
    cancel where a heavy body stands on a light one.
    """
    speed = problem.free_speed
    if not speed > 0.0:
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):  # of impulses that diverge
        terms = norm(problem.response[:, None] * r)
    lowest = max(np.finfo(float).eps * terms, SMALLEST * bool(r.any()))
    return float(lowest / speed)


def rounding_words(floor: float, tol: float) -> str:
    """Message for a rounding floor above the tolerance."""
    return f"rounding of these data leaves residuals of {floor:.0e} and more, and tol is {tol:.0e}"


def is_all_that_rounding_leaves(solution: Solution) -> bool:
    """Whether a solution above its tolerance is as accurate as rounding allows."""
    if solution.status is not Status.ALMOST_SOLVED or solution.problem.semidefinite is not None:
        return False
    return solution.residual <= min(NEAR_FLOOR * rounding_floor(solution.problem, solution.r), USABLE)


def _method_name(solver: Solver, method: Method | None) -> str:
    if method is None:
        return GUESS
    name = type(solver).__name__
    return f"{name}: {method.ran}" if method.ran else name


def _solved_by_guess(
    problem: ContactProblem, solver: Solver, guess: Array, residual: float, seconds: float
) -> Solution:
    return Solution(
        problem=problem,
        solver=solver,
        r=positive(guess),
        status=Status.SOLVED,
        residual=residual,
        iterations=0,
        time=seconds,
        history=History(np.zeros(1, dtype=np.int64), np.array([seconds]), np.array([residual])),
        method=GUESS,
    )


def run(
    residual_of: Callable[[Array], float],
    limits: Limits,
    start: Callable[[], AnyMethod],
    guess: Array,
    pace: MeasureEvery,
    watcher: Watcher | None = None,
    floor_of: Callable[[Array], float] | None = None,
) -> Run[AnyMethod]:
    """Alternately advance a method and measure its iterate, until it is solved or must stop.

    Parameters
    ----------
    residual_of : callable
        The judge: the residual of an iterate, from the data.
    limits : Limits
        The solver, for its tolerance and limits.
    start : callable
        Creates the method; not called when the guess is good enough.
    guess : array
        First iterate measured.
    pace : MeasureEvery
        Bounds on the intervals between measurements.
    watcher : callable, optional
        Called at each measurement; True stops the run.
    floor_of : callable, optional
        The rounding floor of the residual at an iterate: where residuals stagnate near it, the run ends.
    """
    began = time.perf_counter()
    record, done = _Record(), 0
    method: AnyMethod | None = None
    x, previous = guess, guess
    halted: Status | None = None
    while True:
        residual = residual_of(x)
        seconds = time.perf_counter() - began
        x = record.add(
            done, seconds, residual, x, is_constant=x is guess
        )  # arrays of the method may be overwritten
        if method and method.repeats_when_stuck and are_equal(x, previous):
            halted = halted or Status.STALLED
        if floor_of and _is_at_rounding_floor(record, limits.tol, floor_of):
            halted = halted or Status.ALMOST_SOLVED
        if watcher and watcher(Progress(done, residual, seconds)):
            halted = Status.STOPPED
        status = _verdict(limits, record, halted)
        if status:
            break
        previous, measured = x, done
        while halted is None:
            gap = 1 if limits.measures_each_iteration else _next_gap(record, limits.tol, pace)
            gap = min(gap, limits.max_iterations - done)
            try:
                method = method or start()
                with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                    done += method.advance(gap) or gap
            except Halt as reason:
                halted, done = reason.status, done + gap
            except (np.linalg.LinAlgError, ArithmeticError):  # singular, divided by zero, or overflowed
                halted, done = Status.NUMERICAL_ERROR, done + gap
            else:
                if done >= min(limits.max_iterations, _next_measurement(measured, pace)):
                    break
                glance = method.glance()
                if glance is None or not limits.tol < glance < DIVERGED:
                    break
                record.add_estimate(done, time.perf_counter() - began, glance)
        x = method.unknowns() if method else guess
    assert record.unknowns is not None
    best = positive(guess) if record.unknowns is guess else record.unknowns
    seconds = time.perf_counter() - began
    return Run(best, status, record.best, done, seconds, record.history(), method)


def _is_at_rounding_floor(record: _Record, tol: float, floor_of: Callable[[Array], float]) -> bool:
    """Whether residuals have stagnated near a rounding floor that is above the tolerance.

    Where no solution exists impulses grow, and the floor with them: a residual of no use is not due to it.
    """
    if record.unknowns is None or record.best > USABLE or not record.has_stagnated:
        return False
    floor = floor_of(record.unknowns)
    return tol < floor and record.best <= NEAR_FLOOR * floor


def _verdict(limits: Limits, record: _Record, halted: Status | None) -> Status | None:
    residual = record.residuals[-1]
    if residual <= limits.tol:
        return Status.SOLVED
    if not residual < DIVERGED and record.iterations[-1] > 0:
        return Status.NUMERICAL_ERROR
    if halted:
        return halted
    if record.iterations[-1] >= limits.max_iterations:
        return Status.MAX_ITERATIONS
    if record.seconds[-1] >= limits.time_limit:
        return Status.TIME_LIMIT
    return None


def _next_measurement(measured: int, pace: MeasureEvery) -> int:
    """Iterations after which to measure, whatever the estimate: about twice those at the last time."""
    return measured + min(max(measured, UNMEASURED), pace.longest)


def _next_gap(record: _Record, tol: float, pace: MeasureEvery) -> int:
    """Iterations until the next measurement: half of those still needed at the observed rate.

    Between an eighth and a quarter of those done, so that measuring stays cheap and is not late;
    and about a second of work at most, so that limits and requests to stop are respected.
    """
    done, least, most = record.iterations[-1], pace.shortest, pace.longest
    if len(record.residuals) < 3:
        return least
    shortest, longest = max(least, min(done // 8, most)), max(least, min(done // 4, most))
    old, new = record.residuals[-2], record.residuals[-1]
    between = done - record.iterations[-2]
    if not 0 < new < old:
        return longest
    remaining = between * math.log(new / tol) / math.log(old / new)
    return int(min(max(remaining / 2, shortest), longest))


Guess = npt.ArrayLike | Solution | None


def solve(
    problem: ContactProblem,
    solver: Solver | None = None,
    guess: Guess = None,
    check: bool = True,
    progress: Watcher | None = None,
    **settings: Never,
) -> Solution:
    """Solve a contact problem.

    Parameters
    ----------
    problem : ContactProblem
        The problem.
    solver : Solver, optional
        The method with its settings; ``Auto()`` by default, which chooses.
    guess : array (n, d) or Solution, optional
        Impulses to start from, for instance those of the last time step; zero by default.
    check : bool
        Raise :class:`NotSolved`, which carries the solution, unless the residual reached the
        tolerance. With False the solution is returned whatever its status.
    progress : callable, optional
        Called at each measurement with one :class:`Progress`, the named tuple ``(iterations, residual,
        seconds)``; return True to stop.
    **settings
        None: settings are those of the method, ``solve(problem, Auto(tol=1e-8))``.

    Examples
    --------
    >>> problem = ContactProblem(W=np.eye(3), q=[[-0.0981, 1.0, 0.0]], mu=0.5)
    >>> solution = solve(problem)
    >>> solution.status.name
    'SOLVED'
    >>> solution.r.round(5)
    array([[ 0.0981 , -0.04905,  0.     ]])
    """
    if solver is None:
        from clapas.solvers.auto import Auto  # imports all other solvers

        solver = Auto()
    if settings:
        _refuse_settings(solver, dict(settings))
    if not isinstance(problem, ContactProblem):
        raise ProblemError(f"expected a ContactProblem, got {_way_to_problem(problem)}")
    if isinstance(solver, type) or not hasattr(solver, "cones"):
        word = f"the class {solver.__name__}" if isinstance(solver, type) else repr(solver)
        raise SettingsError(f"expected a method for contact problems such as NSGS(tol=1e-8), got {word}")
    if not isinstance(problem.cone, solver.cones):
        from clapas.solvers import registry

        able = [entry.name for entry in registry.entries() if isinstance(problem.cone, entry.solver.cones)]
        raise ProblemError(
            f"{type(solver).__name__} does not take the law of these contacts "
            f"({type(problem.cone).__name__}); these do: {', '.join(able)}"
        )
    guess = _impulses(problem, guess)
    if isinstance(solver, DirectModel):
        solution = solver.compute(problem, guess)
    elif problem.is_definite:
        solution = _iterate_at_any_size(problem, solver, guess, progress)
    else:
        from clapas.solvers.semidefinite import solve_semidefinite

        solution = solve_semidefinite(problem, solver, guess, progress)
    if check and not solution.status.is_answered:
        raise NotSolved(solution, _existence_advice(solution))
    return solution


def _iterate_at_any_size(
    problem: ContactProblem, solver: Solver, guess: Array, watcher: Watcher | None
) -> Solution:
    """Run a method; where squares of the velocities overflow or vanish, in another unit of velocity."""
    if (factor := magnitudes.factor(problem)) != 1.0:
        scaled = iterate(magnitudes.scaled(problem, factor), solver, guess * factor, watcher)
        with np.errstate(over="ignore"):
            r = scaled.r / factor
        residual = problem.residual(r)  # the judge sees the given problem
        if residual <= solver.tol or not scaled.status.is_solved:
            return replace(scaled, problem=problem, r=r, residual=residual)
    return iterate(problem, solver, guess, watcher)


def _refuse_settings(solver: object, given: Mapping[str, object]) -> None:
    """Say that settings given to :func:`solve` itself are those of the method, or that nothing has them."""
    known: list[str] = []
    if is_dataclass(solver):
        known = [field.name for field in fields(solver) if field.init]
    if not all(key in known for key in given):
        require_keywords("solve", given, ["problem", "solver", "guess", "check", "progress"])
    method = solver.__name__ if isinstance(solver, type) else type(solver).__name__
    values = ", ".join(f"{key}={value!r}" for key, value in given.items())
    raise UnknownKeyword(f"these are settings of the method: solve(problem, {method}({values}))")


def _existence_advice(solution: Solution) -> str:
    """Advice on the existence of a solution, for a failed solve."""
    if solution.status in (Status.NO_SOLUTION, Status.STOPPED):
        return ""
    from clapas.problems import existence  # conic programming, needed for failures only

    return existence.advice(solution.problem)


def _way_to_problem(given: object) -> str:
    """What was given in place of a problem, and how to get at one."""
    # What clapas.read returns, and entries of the gallery, hold one.
    if isinstance(getattr(given, "problem", None), ContactProblem):
        return f"{type(given).__name__}: give its attribute problem"
    return (
        f"{repr(given)[:80]}: clapas.read_problem(file) reads one from a file, "
        "clapas.solvers.lcp.solve_lcp solves an LCP"
    )


def _impulses(problem: ContactProblem, guess: Guess) -> Array:
    if guess is None:
        return np.zeros((problem.n_contacts, problem.d))
    r = problem.impulse(guess.r if isinstance(guess, Solution) else guess)
    if not are_finite(r):
        raise ProblemError("the guess must be finite, got NaN or infinity: leave it out to start from zero")
    return r
