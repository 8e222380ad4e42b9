"""The loop over the time steps of a run, on one rank or on many; Ctrl-C ends it between two steps."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from clapas.dynamics.state import State
from clapas.scenes.recorders import StepProgress, Summary, Watcher
from clapas.status import Status


class CompletedStep(Protocol):
    """A completed step, for progress reports."""

    @property
    def n_contacts(self) -> int:
        """Number of contacts."""
        ...

    @property
    def residual(self) -> float:
        """Residual of the contact problem."""
        ...


class Run(Protocol):
    """A simulation to be stepped."""

    @property
    def state(self) -> State:
        """The current state."""
        ...

    @property
    def last(self) -> CompletedStep | None:
        """The last step; None before the first."""
        ...

    @property
    def unsolved(self) -> int:
        """Steps whose contact problem stayed above the tolerance."""
        ...

    @property
    def worst(self) -> float:
        """The largest residual."""
        ...

    @property
    def work(self) -> float:
        """Work of the contacts since the start (J)."""
        ...

    @property
    def external_work(self) -> float:
        """Work of loads, guides and walls that move since the start (J)."""
        ...

    def step(self) -> None:
        """Advance by one time step."""
        ...


def run_steps(
    run: Run, steps: int, progress: Watcher | None = None, agreed: Callable[[bool], bool] = bool
) -> Summary:
    """Step until step number ``steps``, Ctrl-C, or a progress callback that returns True.

    Parameters
    ----------
    run : Run
        The simulation.
    steps : int
        Number of the last step, counted from the start of the run.
    progress : callable, optional
        Called after each step; return True to stop.
    agreed : callable, optional
        Common decision to stop, from that of this process: ranks must agree.
    """
    start, first, before = time.perf_counter(), run.state.step, run.unsolved
    is_stopped = False
    with interrupts() as interrupted:
        while run.state.step < steps and not is_stopped:
            run.step()
            stop = interrupted.is_set()
            if progress is not None:
                assert run.last is not None
                now, last, seconds = run.state, run.last, time.perf_counter() - start
                report = StepProgress(now.step, steps, now.time, last.n_contacts, last.residual, seconds)
                stop |= bool(progress(report))
            is_stopped = agreed(stop)
    status = Status.ALMOST_SOLVED if run.unsolved > before else Status.SOLVED
    if run.state.step < steps:
        status = Status.STOPPED
    counts = run.state.step - first, run.unsolved - before, run.worst
    seconds = time.perf_counter() - start
    return Summary(run.state, *counts, run.work, run.external_work, status, seconds)


@contextmanager
def interrupts() -> Iterator[threading.Event]:
    """Context with an event set by Ctrl-C, so that steps are completed; a second Ctrl-C interrupts."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return

    def set_event(number: int, frame: object) -> None:
        if event.is_set():
            raise KeyboardInterrupt
        event.set()

    previous = signal.signal(signal.SIGINT, set_event)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, previous)
