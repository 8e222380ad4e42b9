"""Recorders of a run, and the records passed to them and to callbacks: steps, progress, summary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from clapas.bodies.kind import Energy
from clapas.dynamics.probe_readings import Reading
from clapas.dynamics.state import State
from clapas.dynamics.stepping import StepResult
from clapas.status import Status
from clapas.units import counted


@dataclass(frozen=True)
class RecordedStep:
    """A recorded step.

    Parameters
    ----------
    stepped : StepResult or None
        The step result, or the last part of a divided step; None for the start.
    state : State
        The state after the step.
    energy : Energy
        Its energies.
    work, given : float
        Work of the contacts since the start, and of walls, guides and loads (J).
    worst : float
        Largest residual since the previous recorded step.
    """

    stepped: StepResult | None
    state: State
    energy: Energy
    work: float
    given: float
    worst: float


class Recorder(Protocol):
    """Storage of steps, in memory or on disk."""

    def keep(self, kept: RecordedStep) -> None:
        """Keep a step."""
        ...

    def note(self, reading: Reading) -> None:
        """Store probe readings, at every step; called only if there are probes."""
        ...


@dataclass
class Memory:
    """A recorder in memory."""

    steps: list[RecordedStep] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)

    def keep(self, kept: RecordedStep) -> None:
        """Keep a step."""
        self.steps.append(kept)

    def note(self, reading: Reading) -> None:
        """Store probe readings."""
        self.readings.append(reading)


class StepProgress(NamedTuple):
    """Data passed to a progress callback after each step."""

    step: int
    steps: int
    time: float
    contacts: int
    residual: float
    seconds: float


Watcher = Callable[[StepProgress], bool | None]


@dataclass(frozen=True)
class Summary:
    """Result of a run.

    Parameters
    ----------
    state : State
        The last state.
    steps : int
        Steps done.
    unsolved : int
        Steps whose contact problem stayed above the tolerance.
    worst : float
        Largest residual.
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
        text = f"{counted(self.steps, 'step')} to t = {self.state.time:.6g} s in {self.seconds:.3g} s"
        if self.unsolved:
            text += f"; {counted(self.unsolved, 'step')} above the tolerance, worst residual {self.worst:.1e}"
        return text + ("; stopped" if self.status is Status.STOPPED else "")
