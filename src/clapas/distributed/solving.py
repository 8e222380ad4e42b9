"""One Coulomb problem on many ranks: Gauss-Seidel inside each domain, border bodies shared.

Every rank sweeps its own contacts. A body that contacts of k ranks push has a copy on each, with a k-th of
its mass; after each sweep its velocity becomes the mean of those of the copies. The copies move by

    v_c = v + (k/m) Σ_{contacts of rank c} Hᵀ Δr,      mean of the v_c = v + (1/m) Σ_{all contacts} Hᵀ Δr,

so the mean is the true velocity under all impulses, and at a fixed point of the sweeps the
impulses solve the problem of one rank, exactly. With a share of the mass the body is lighter for the
contacts of each rank, which keeps the ranks from pushing it twice: impulses at the border are
under-relaxed by k, and inside a domain the method is the sequential one.

Every solution is judged by the residual of the whole problem, the definition of
:meth:`clapas.problems.contact.ContactProblem.residual`, its sums taken over all ranks, velocities computed
from the impulses afresh.

References: Jourdan, Alart, Jean 1998 (the sweeps); Visseq, Alart, Dureisseix 2013 (domains, NSCDD); Tonge,
Benevolenski, Voroshilov 2012 (masses split among the contacts that share a body).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from clapas.compiled import kernel
from clapas.distributed.communication import Averaging, Ghosts, Ranks
from clapas.errors import SettingsError
from clapas.problems.blocks import BodyBlocks, contact_velocities
from clapas.problems.contact import ROUNDING, ContactProblem
from clapas.problems.judge import violation_square
from clapas.problems.rolling import RollingProblem
from clapas.problems.sphere_blocks import SphereBlocks
from clapas.solvers import NSGS, Auto, solve
from clapas.solvers.local import Exact
from clapas.solvers.loop import VISITS_PER_SECOND, MeasureEvery, Method, Progress, Solver, run
from clapas.solvers.nsgs.momentum import Leader, Momentum
from clapas.solvers.nsgs.orders import Coloured
from clapas.solvers.nsgs.precision import EPSILON, Doubts, is_coarse
from clapas.solvers.nsgs.sweeps import (
    FRESH,
    PATIENCE,
    PERIOD,
    Memory,
    Sweeps,
    before,
    keep_stride,
    memory,
    put_multiple,
    whole,
)
from clapas.status import Status
from clapas.typing import Array, Indices, Mask

SWEEPS_OF_AUTO = 200  # after which problems that fit on one rank are passed to it, and to other methods
GROUND = np.iinfo(np.int64).max  # the ground among numbers of bodies: after all of them
MOST_GATHERED = 50_000  # contacts of a problem that one rank can hold
SWEEPS_OF_LARGE = 20_000  # of larger ones, at most


def sweeping(solver: Solver) -> NSGS:
    """The Gauss-Seidel method that ranks use for a solver.

    Raises
    ------
    SettingsError
        The solver is no Gauss-Seidel method.
    """
    if isinstance(solver, Auto):
        most = min(solver.max_iterations, SWEEPS_OF_LARGE)
        return NSGS(tol=solver.tol, max_iterations=most, time_limit=solver.time_limit, order=Coloured())
    if isinstance(solver, NSGS) and isinstance(solver.order, Coloured | None) and solver.form != "delassus":
        if not isinstance(solver.local, Exact):
            raise SettingsError("on several ranks nsgs takes the exact local solver: leave 'local' out")
        return replace(solver, order=solver.order or Coloured())
    raise SettingsError(
        f"on several ranks contact problems are solved by 'auto' or by 'nsgs' on bodies, got {solver!r}"
    )


@dataclass(frozen=True)
class BorderedProblem:
    """The part of a contact problem on one rank.

    Parameters
    ----------
    problem : ContactProblem
        Contacts of this rank between the bodies it knows, with their true masses.
    ghosts : Ghosts
        Copies, by the numbers of bodies in the problem.
    n_contacts : int
        Contacts of all ranks.
    ids : array (n_bodies,)
        Numbers of the bodies in the model, growing.
    is_own : array (n_bodies,) of bool
        Bodies that this rank owns.
    """

    problem: ContactProblem
    ghosts: Ghosts
    n_contacts: int
    ids: Indices
    is_own: Mask

    @property
    def ranks(self) -> Ranks:
        """The processes."""
        return self.ghosts.ranks

    @property
    def blocks(self) -> BodyBlocks:
        """The blocks of the contacts of this rank."""
        assert self.problem.blocks is not None
        return self.problem.blocks

    @cached_property
    def free_speed(self) -> float:
        """Size |q| of the free velocity at all contacts."""
        return math.sqrt(float(self.ranks.total(self.problem.free_speeds[0] ** 2)[0]))

    def motion(self, r: Array) -> Array:
        """Rows of the bodies under the impulses of all ranks: those of ``x_free`` or ``y_free``."""
        return motion_under_all(self.ghosts, self.blocks, r)

    def velocity(self, rows: Array) -> Array:
        """Velocities u at the contacts of this rank, from the rows of the bodies."""
        blocks, w = self.blocks, self.problem.imposed
        if isinstance(blocks, SphereBlocks):
            return blocks.at_contacts(rows, w)
        zero = np.zeros((blocks.n_contacts, blocks.d))
        return contact_velocities(blocks.G, blocks.bodies, rows, zero if w is None else w)

    def residual(self, r: Array) -> float:
        """The residual of the whole problem; the same number on all ranks."""
        return self.judged(r)[0]

    def judged(self, r: Array) -> tuple[float, Array]:
        """The residual, and the rows of the bodies under the impulses."""
        with self.ranks.phase("judge"):
            rows = self.motion(r)
            return self._residual(r, rows), rows

    def _residual(self, r: Array, rows: Array) -> float:
        response, problem, blocks = self.problem.response, self.problem, self.blocks
        if isinstance(problem, RollingProblem):
            total = float(np.sum(problem.violation(r, self.velocity(rows)) ** 2))
            hidden = float(np.sum((response[:, None] * r) ** 2))
        elif isinstance(blocks, SphereBlocks):
            total, hidden = blocks.violation_sums(rows, r, problem.imposed, problem.mu, response)
        else:
            total, hidden = violation_sums(self.velocity(rows), r, problem.mu, response)
        total, hidden = self.ranks.total([total, hidden])
        size, scale = max(math.sqrt(total), ROUNDING * math.sqrt(hidden)), self.free_speed
        scale = scale or math.sqrt(hidden)
        result = size / scale if scale > 0.0 else size
        return result if math.isfinite(result) else math.inf

    def touched(self) -> Array:
        """Which bodies contacts of this rank push, (n_bodies + 1,)."""
        pushed = np.zeros(self.blocks.n_bodies + 1, dtype=bool)
        pushed[self.blocks.bodies.ravel()] = True
        pushed[-1] = False  # the ground
        return pushed

    def split(self, copies: Indices) -> ContactProblem:
        """The problem in which body i has 1/copies[i] of its mass, used by the sweeps."""
        problem, blocks = self.problem, self.blocks
        several = np.flatnonzero(copies > 1)
        if not len(several):
            return problem
        if isinstance(blocks, SphereBlocks):
            light: BodyBlocks = blocks.lighter(several, copies[several])
        else:
            root = np.sqrt(copies)
            G = blocks.G * root[blocks.bodies][:, :, None, None]
            light = BodyBlocks(
                G, blocks.bodies, blocks.y_free / root[:, None], blocks.root * root[:-1, None, None]
            )
        return problem.with_masses(light)


def motion_under_all(ghosts: Ghosts, blocks: BodyBlocks, r: Array) -> Array:
    """Rows of bodies, copies with the bits of their owners, under the impulses of all ranks.

    All ranks call it together, with the same free motion of the bodies they share.
    """
    if isinstance(blocks, SphereBlocks):
        rows, free = blocks.moved(r), blocks.x_free
    else:
        rows, free = blocks.motion(r), blocks.y_free
    if ghosts.ranks.size == 1:
        return rows
    rows -= free
    ghosts.to_owners(rows)
    ghosts.from_owners(rows)
    rows += free
    return rows


@kernel
def violation_sums(u: Array, r: Array, mu: Array, response: Array) -> tuple[float, float]:
    """Return the square of the violation over all contacts, and of the rounding error."""
    total, hidden, in_space = 0.0, 0.0, r.shape[1] == 3
    for i in range(len(r)):
        u_2, r_2, size = 0.0, 0.0, response[i]
        if in_space:
            u_2, r_2 = u[i, 2], r[i, 2]
        total += violation_square(u[i, 0], u[i, 1], u_2, r[i, 0], r[i, 1], r_2, mu[i], size)
        hidden += size * size * (r[i, 0] * r[i, 0] + r[i, 1] * r[i, 1] + r_2 * r_2)
    return total, hidden


class BorderedSweeps(Method):
    """Sweeps on all ranks at once, border bodies averaged after each, accelerated together.

    Between spheres by momentum, without communication, and in single precision where that is
    enough on every rank; otherwise by Anderson's extrapolation.
    """

    repeats_when_stuck = False  # a rank without contacts repeats its iterate while the others go on

    def __init__(self, bordered: BorderedProblem, settings: NSGS, guess: Array) -> None:
        self._ranks, self._bordered = bordered.ranks, bordered
        self._settings, self._depth = replace(settings, acceleration=0), settings.acceleration
        blocks = bordered.blocks
        others, fine = not isinstance(blocks, SphereBlocks), True
        if isinstance(blocks, SphereBlocks):
            fine = not is_coarse(bordered.problem, blocks, settings.tol, guess)
        others, fine = self._ranks.total([len(guess) > 0 and others, len(guess) > 0 and fine]) > 0.0
        self._leader = Leader() if self._depth and not others else None
        self._doubts, self._is_single = Doubts(settings.tol), not fine
        self._place(guess)

    def _place(self, guess: Array) -> None:
        """Arrange the contacts of this rank for sweeps from a guess."""
        bordered, size = self._bordered, self._bordered.blocks.size
        shared = bordered.ghosts.shared(bordered.touched())
        self._sweeps: Sweeps | None = None
        rows: Callable[[Indices], Indices] = np.asarray
        r, y = np.empty(0), np.empty((0, size))
        if len(guess):
            split = bordered.split(shared.copies)
            # The agreed precision: with split masses a rank might choose another, with incompatible messages.
            self._sweeps = self._settings.sweeps(split, guess, is_single=self._is_single)
            r, y, rows = self._sweeps.r, self._sweeps.y, self._sweeps.rows
        self._guess, self._r, self._y = guess, r.reshape(-1), y.reshape(-1)
        table = y if y.ndim == 2 else y.reshape(-1, size)  # body after body
        self._border = Averaging(shared, table, size, rows)
        self._memory: Memory | None = None
        self._momentum = Momentum.none(r.dtype)
        self._done = self._fresh_until = 0

    def unknowns(self) -> Array:
        """The current impulses at the contacts of this rank."""
        return self._guess if self._sweeps is None else self._sweeps.impulses()

    def glance(self) -> float | None:
        """The residual by the velocities carried along, if known on all ranks."""
        scale = self._bordered.free_speed
        with self._ranks.phase("judge"):
            squares = (0.0, 0.0) if self._sweeps is None else self._sweeps.squares()
            total, changed = self._ranks.total(squares)
        if not (scale > 0.0 and math.isfinite(total)):
            return None
        residual = math.sqrt(total) / scale
        if self._leader is not None:
            self._leader.watch(residual)
        self._doubts.note(residual, EPSILON * math.sqrt(changed) / scale)
        return residual

    def advance(self, count: int) -> int:
        """Do ``count`` sweeps, or one less where they are accelerated."""
        with self._ranks.phase("sweep"):
            if self._is_single and self._doubts.are_serious:
                self._is_single = False
                self._place(self.unknowns())
                if self._leader is not None:
                    self._leader.restart()
            if self._done >= self._fresh_until:
                carried = self._y.copy()
                if self._sweeps is not None:
                    self._sweeps.refresh()
                self._border.average()
                self._momentum.correct(carried, self._y)
                self._fresh_until = self._done + min(max(1, 3 * self._done), FRESH)
            count = self._led(count) if self._leader is not None else self._extrapolated(count)
        self._done += count
        return count

    def _led(self, count: int) -> int:
        """Sweeps with momentum; a rank without contacts only averages."""
        assert self._leader is not None
        self._momentum = self._leader.ahead(count, self._momentum, self._r, self._y)
        shares = self._momentum.shares
        for turn in range(count):
            if self._sweeps is not None:
                self._sweeps.sweep_ahead(self._momentum._replace(shares=shares[turn : turn + 1]))
            self._border.average()
        return count

    def _extrapolated(self, count: int) -> int:
        """Sweeps with Anderson's extrapolation, once the first have not been enough."""
        accelerates = bool(self._depth) and self._done >= PATIENCE and count >= PERIOD
        if not accelerates:
            self._memory = None  # outdated after these sweeps
        elif self._memory is None:
            self._memory = memory(self._r, self._y, self._depth)
        count = whole(count) if accelerates else count
        for turn in range(count):
            if self._memory is not None and turn % PERIOD == 0:
                before(self._memory, self._r, self._y)
            self._sweep()
            if self._memory is not None and turn % PERIOD == PERIOD - 1:
                self._remember(self._memory)
        return count

    def _sweep(self) -> None:
        if self._sweeps is not None:
            self._sweeps.sweep(1)
        self._border.average()

    def _remember(self, kept: Memory) -> None:
        """Store the result of the sweeps; the products of gaps are those of all ranks."""
        filled = max(int(kept.tally[0]), int(kept.tally[1]) + 1)
        local = np.zeros(len(kept.products))
        keep_gaps(kept, self._r, self._y, filled, local)
        close(kept, filled, self._ranks.total(local))


@kernel
def keep_gaps(kept: Memory, r: Array, y: Array, filled: int, products: Array) -> None:
    """Keep values, velocities and gaps of this rank; write its part of the products of the last gap."""
    slot = kept.tally[1]
    for stride in range(len(kept.sums)):
        keep_stride(stride, slot, filled, kept, r)
        for j in range(filled):
            products[j] += kept.sums[stride, j]
    put_multiple(1.0, y, kept.velocities[slot])


@kernel
def close(kept: Memory, filled: int, products: Array) -> None:
    """End a round of the acceleration with the products of all ranks."""
    slot, rows = kept.tally[1], len(kept.products)
    for j in range(filled):
        kept.products[slot, j], kept.products[j, slot] = products[j], products[j]
    size = products[slot]
    if 0.0 < size <= kept.best[0]:
        kept.tally[0], kept.tally[1] = filled, (slot + 1) % rows
        kept.best[0] = min(kept.best[0], size)
    else:
        kept.tally[0], kept.tally[1], kept.best[0] = 0, 0, np.inf


class Answer(NamedTuple):
    """Common solution of the ranks.

    Parameters
    ----------
    r : array (n, k)
        Impulses at the contacts of this rank.
    rows : array
        Rows of the bodies known here under the impulses of all ranks.
    status, residual, iterations, seconds
        Of the whole problem, the same on all ranks but the seconds.
    """

    r: Array
    rows: Array
    status: Status
    residual: float
    iterations: int
    seconds: float


def solve_on_ranks(bordered: BorderedProblem, solver: Solver, guess: Array) -> Answer:
    """Solve on all ranks until the residual of the whole problem is at most ``solver.tol``.

    By sweeps. If the solver is ``auto``, which on one rank would try other methods, and the sweeps have not
    converged, the problem is gathered on rank 0 and solved there, as walls and stacks need.
    """
    if bordered.ranks.size == 1:  # the same steps as without MPI, to the bit
        with bordered.ranks.phase("sweep"):
            alone = solve(bordered.problem, solver, guess, check=False)
        rows = bordered.motion(alone.r)
        return Answer(alone.r, rows, alone.status, alone.residual, alone.iterations, alone.time)
    settings, is_small = sweeping(solver), bordered.n_contacts <= MOST_GATHERED
    if isinstance(solver, Auto) and is_small:
        settings = replace(settings, max_iterations=min(settings.max_iterations, SWEEPS_OF_AUTO))
    swept = _swept(bordered, settings, guess)
    if swept.status.is_solved or not (isinstance(solver, Auto) and is_small):
        return swept
    r, status, iterations, seconds = gathered_answer(bordered, solver, swept.r)
    return Answer(
        r,
        bordered.motion(r),
        status,
        bordered.residual(r),
        swept.iterations + iterations,
        swept.seconds + seconds,
    )


def _swept(bordered: BorderedProblem, settings: NSGS, guess: Array) -> Answer:
    ranks, n = bordered.ranks, bordered.n_contacts
    pace = MeasureEvery(4, max(20, VISITS_PER_SECOND * ranks.size // max(1, n)))
    limits = replace(settings, time_limit=math.inf)

    def is_late(progress: Progress) -> bool:
        return ranks.largest(progress.seconds) >= settings.time_limit

    last: list[Array] = []  # rows of the bodies under the solution

    def residual(r: Array) -> float:
        value, rows = bordered.judged(r)
        if value <= settings.tol:
            last.append(rows)
        return value

    watcher = None if math.isinf(settings.time_limit) else is_late
    result = run(residual, limits, lambda: BorderedSweeps(bordered, settings, guess), guess, pace, watcher)
    status = Status.TIME_LIMIT if result.status is Status.STOPPED else result.status
    rows = last[-1] if last else bordered.motion(result.unknowns)
    return Answer(result.unknowns, rows, status, result.residual, result.iterations, result.seconds)


def gathered_answer(
    bordered: BorderedProblem, solver: Solver, guess: Array
) -> tuple[Array, Status, int, float]:
    """Solve the whole problem on rank 0; each rank gets the impulses of its own contacts.

    Returns
    -------
    r : array (n, k)
        Impulses of this rank.
    status, iterations, seconds
        Report of the solver, the same on all ranks.
    """
    ranks, problem, blocks = bordered.ranks, bordered.problem, bordered.blocks
    own, ids = np.flatnonzero(bordered.is_own), np.append(bordered.ids, GROUND)
    bodies = ids[own], blocks.y_free[own], blocks.root[own]
    parts = ranks.comm.gather((*bodies, blocks.G, ids[blocks.bodies], problem.w, problem.mu, guess))
    shares: list[Any] | None = None
    if parts is not None:
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        names, y_free, root, G, pairs, w, mu, start = columns
        order = np.argsort(names)
        number = np.append(names[order], GROUND)
        ground = np.zeros((1, y_free.shape[1]))
        whole_blocks = BodyBlocks(
            G, np.searchsorted(number, pairs), np.concatenate((y_free[order], ground)), root[order]
        )
        whole_problem = type(problem).from_blocks(whole_blocks, mu=mu, w=w)
        solution = solve(whole_problem, solver, start, check=False)
        pieces = np.split(solution.r, np.cumsum([len(part[-1]) for part in parts])[:-1])
        shares = [(piece, solution.status, solution.iterations, solution.time) for piece in pieces]
    r, status, iterations, seconds = ranks.comm.scatter(shares)
    return r, status, iterations, seconds
