"""What all forms of sweeps share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

from clapas.solvers.loop import Iteration
from clapas.typing import Array, Indices


class Manner(NamedTuple):
    """How parallel sweeps are done.

    Parameters
    ----------
    part : named tuple
        The local solver.
    relaxation : float
        Factor on each change of impulse.
    acceleration : int
        Past sweeps to extrapolate from.
    threads : int or None
        Threads; None for as many as the problem is worth.
    """

    part: Any
    relaxation: float
    acceleration: int
    threads: int | None


class Sweeps(Iteration):
    """Sweeps over the contacts of one problem.

    Parameters
    ----------
    form : str
        What they work on, in words.
    r : array
        The impulses as the sweeps store them.
    y : array
        What the impulses have made of the velocities; empty where sweeps compute it at each visit.
    """

    form: ClassVar[str]
    r: Array
    y: Array

    @property
    def ran(self) -> str:
        """What runs, in words."""
        return f"sweeps on {self.form}"

    @abstractmethod
    def refresh(self) -> None:
        """Compute ``y`` from ``r`` afresh: it drifts by rounding."""

    @abstractmethod
    def sweep(self, count: int) -> None:
        """Do ``count`` sweeps on ``r`` and ``y``."""

    def rows(self, bodies: Indices) -> Indices:
        """Rows of ``y`` that belong to some bodies."""
        return bodies

    def advance(self, count: int) -> int:
        """Do ``count`` sweeps, from velocities computed afresh."""
        self.refresh()
        self.sweep(count)
        return count
