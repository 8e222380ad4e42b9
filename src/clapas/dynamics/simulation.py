"""Run a model for a while, step after step."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from clapas.bodies.kind import Energy
from clapas.dynamics.births import initial_state
from clapas.dynamics.joints.instep import coordinates_of
from clapas.dynamics.model import Model, State
from clapas.dynamics.readings import Reading, read
from clapas.dynamics.sleeping import Sleeping
from clapas.dynamics.stepping import MoreauJean, MoreauMidpoint, Stepped
from clapas.dynamics.subdivision import divided_step
from clapas.dynamics.surroundings import Surroundings
from clapas.dynamics.systems import energy_of
from clapas.errors import NotSolved, SettingsError
from clapas.solvers import Auto
from clapas.solvers.loop import Solver
from clapas.status import Status

MOST_STEPS = 10**15  # times of later steps would not be told apart: t + dt rounds to t


def energy(model: Model, state: State) -> Energy:
    """Kinetic energy, and potential energy of gravity and of springs, of the movable bodies and systems."""
    alive = model.first(state.n_bodies)
    others = energy_of(alive, state)
    moving = alive.movable
    kinetic = 0.5 * float(np.sum(alive.masses[moving] * state.velocity[moving] ** 2))
    height = state.position[moving] @ alive.gravity
    springs = 0.0 if alive.joints is None else alive.joints.drives.potential(coordinates_of(alive, state))
    potential = others.potential + springs - float(alive.mass[moving] @ height)
    return Energy(kinetic + others.kinetic, potential)


@dataclass(frozen=True)
class Kept:
    """A kept step, as recorders receive it.

    Parameters
    ----------
    stepped : Stepped or None
        The step that led here, or the last part of a divided one; None for the start.
    state : State
        Where it led.
    energy : Energy
        Its energies.
    work, given : float
        Work of the contacts since the start, and of walls, guides and loads (J).
    """

    stepped: Stepped | None
    state: State
    energy: Energy
    work: float
    given: float


class Recorder(Protocol):
    """Something that keeps steps: in memory, or on disk."""

    def keep(self, kept: Kept) -> None:
        """Keep a step."""
        ...

    def note(self, reading: Reading) -> None:
        """Keep what the probes read, at every step; called only if there are probes."""
        ...


@dataclass
class Memory:
    """A recorder that keeps everything in lists."""

    steps: list[Kept] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)

    def keep(self, kept: Kept) -> None:
        """Keep a step."""
        self.steps.append(kept)

    def note(self, reading: Reading) -> None:
        """Keep what the probes read."""
        self.readings.append(reading)


class Advance(NamedTuple):
    """What a progress callback receives after each step."""

    step: int
    steps: int
    time: float
    contacts: int
    residual: float
    seconds: float


Watcher = Callable[[Advance], bool | None]


@dataclass(frozen=True)
class Summary:
    """How a run ended.

    Parameters
    ----------
    state : State
        The last state.
    steps : int
        Steps done.
    unsolved : int
        Steps whose contact problem stayed above the tolerance.
    worst : float
        Largest residual met.
    work, given : float
        Work of the contacts since the start, and of walls, guides and loads (J).
    status : Status
        SOLVED, ALMOST_SOLVED when some step was unsolved, or STOPPED.
    seconds : float
        Wall time.
    """

    state: State
    steps: int
    unsolved: int
    worst: float
    work: float
    given: float
    status: Status
    seconds: float

    def __str__(self) -> str:
        text = f"{self.steps} steps to t = {self.state.time:.6g} s in {self.seconds:.3g} s"
        if self.unsolved:
            text += f"; {self.unsolved} steps above the tolerance, worst residual {self.worst:.1e}"
        return text + ("; stopped" if self.status is Status.STOPPED else "")


def simulate(
    model: Model,
    duration: float,
    dt: float,
    solver: Solver | None = None,
    *,
    scheme: MoreauJean | None = None,
    sleeping: Sleeping | None = None,
    every: int = 1,
    on_unsolved: Literal["raise", "record"] = "raise",
    recorder: Recorder | None = None,
    state: State | None = None,
    work: float = 0.0,
    given: float = 0.0,
    progress: Watcher | None = None,
) -> Summary:
    """Run a model and keep every so many steps.

    Parameters
    ----------
    model : Model
        What moves.
    duration : float
        Time to simulate (s), from the start of the run.
    dt : float
        Time step (s).
    solver : Solver, optional
        Method for the contact problems; ``Auto(tol=1e-6)`` by default.
    scheme : MoreauJean, optional
        Moreau's midpoint scheme by default.
    sleeping : Sleeping, optional
        When bodies may sleep; never by default.
    every : int
        Keep one step out of so many (the first and the last are always kept).
    on_unsolved : "raise" or "record"
        What to do when a contact problem stays above the tolerance: raise :class:`NotSolved`, or go
        on, count, and say so at the end.
    recorder : Recorder, optional
        Receives the kept steps.
    state, work, given
        Where to go on from; the initial state by default.
    progress : callable, optional
        Called after each step; return True to stop. Ctrl-C also ends the run after the current step.
    """
    check_run(duration, dt, every, on_unsolved)
    solver, scheme = solver or Auto(tol=1e-6), scheme or MoreauMidpoint()
    if sleeping is not None and model.systems:
        raise SettingsError(
            f"sleeping: bodies that touch a system ('{model.systems[0].name}') cannot sleep yet: leave it out"
        )
    surroundings, start = Surroundings(model), time.perf_counter()
    steps, unsolved, worst = round(duration / dt), 0, 0.0
    if state is None:
        state = initial_state(model)
        _noted(recorder, model, [], state)
        if recorder:
            recorder.keep(Kept(None, state, energy(model, state), work, given))
    first = state.step
    with _interrupts() as interrupted:
        while state.step < steps and not interrupted.is_set():
            parts = divided_step(model, state, dt, solver, scheme, surroundings, sleeping)
            done = parts[-1]
            state = done.state
            work += sum(part.work for part in parts)
            given += sum(part.given for part in parts)
            worst = max(worst, *(part.solution.residual for part in parts))
            failed = [part.solution for part in parts if not part.solution.status.is_solved]
            unsolved += bool(failed)
            stop = _told(progress, done, steps, time.perf_counter() - start) or interrupted.is_set()
            last = stop or state.step == steps or (failed and on_unsolved == "raise")
            _noted(recorder, model, parts, state)
            if recorder and (last or state.step % every == 0):
                recorder.keep(Kept(done, state, energy(model, state), work, given))
            if failed and on_unsolved == "raise":
                raise NotSolved(failed[0])
            if stop:
                break
            del done, parts  # or their problems would take memory during the next step
    status = Status.ALMOST_SOLVED if unsolved else Status.SOLVED
    if state.step < steps:
        status = Status.STOPPED
    seconds = time.perf_counter() - start
    return Summary(state, state.step - first, unsolved, worst, work, given, status, seconds)


def check_run(duration: float, dt: float, every: int, on_unsolved: str) -> None:
    """Refuse what no run can be made of."""
    given: dict[str, Any] = {"dt": dt, "duration": duration, "every": every}
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, Real):
            raise SettingsError(f"{name} must be a number, got {value!r}")
    if not (math.isfinite(dt) and dt > 0):
        raise SettingsError(f"dt must be positive, got {dt}")
    if not (math.isfinite(duration) and duration >= 0):
        raise SettingsError(f"duration must be at least 0, got {duration}")
    if duration > MOST_STEPS * dt:
        raise SettingsError(
            f"dt = {dt:g} s is too small for a run of {duration:g} s: more than {MOST_STEPS:.0e} steps; "
            "take a "
            "larger one"
        )
    if not every >= 1:
        raise SettingsError(f"every must be at least 1, got {every}")
    if every != every // 1:
        raise SettingsError(f"every must be a whole number of steps, got {every}")
    if every > MOST_STEPS:
        raise SettingsError(f"every must be at most {MOST_STEPS:.0e} steps, got {every}")
    if on_unsolved not in ("raise", "record"):
        raise SettingsError(f"on_unsolved must be 'raise' or 'record', got '{on_unsolved}'")


def _noted(recorder: Recorder | None, model: Model, parts: Sequence[Stepped], state: State) -> None:
    if recorder and model.probes:
        recorder.note(read(model, parts, state))


def _told(
    progress: Callable[[Advance], bool | None] | None, done: Stepped, steps: int, seconds: float
) -> bool:
    if progress is None:
        return False
    state, contacts = done.state, len(done.contacts)
    return bool(progress(Advance(state.step, steps, state.time, contacts, done.solution.residual, seconds)))


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets, so that a step is never cut in two; a second Ctrl-C interrupts."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return

    def ask(number: int, frame: object) -> None:
        if event.is_set():
            raise KeyboardInterrupt
        event.set()

    previous = signal.signal(signal.SIGINT, ask)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, previous)
