"""The study of the heap: run or open one, measure it, draw and compare."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from clapas.errors import SettingsError
from clapas.io.recording import Recording
from clapas.io.simulation import simulate
from clapas.studies.heap.comparison import compare, say_what_ran
from clapas.studies.heap.figures import draw_all
from clapas.studies.heap.judgement import judge
from clapas.studies.heap.measures import Measures
from clapas.studies.heap.relaxation import relaxed, was_stopped
from clapas.studies.report import Report


@dataclass(frozen=True, kw_only=True)
class Heap:
    """How forces travel in a heap laid grain by grain: Moreau's figures and numbers, ours beside his.

    Parameters
    ----------
    recording : str
        A recording of the scene ``heap``; by default a heap is run first.
    others : str
        Recordings of heaps that differ by their seed, separated as the system separates paths (``:``, or
        ``;`` on Windows): the pressure on the ground is the mean over all.
    relaxed : str
        Recording of the relaxation of the first, if it was stopped while it grew; by default it is computed
        here.
    grains, rate, relaxation, dt
        Of the heap that is run; ``relaxation`` also of one that was stopped.
    """

    recording: str = ""
    others: str = ""
    relaxed: str = ""
    grains: int = 1000
    rate: float = 200.0
    relaxation: float = 1.0
    dt: float = 2e-4

    title: ClassVar[str] = "The heap (Moreau 2003, section 9)"
    quick: ClassVar[dict[str, int | float]] = {"grains": 200, "rate": 400.0, "relaxation": 0.2, "dt": 1e-3}

    def __post_init__(self) -> None:
        for path in filter(None, (self.recording, self.relaxed, *self.others.split(os.pathsep))):
            if not Path(path).is_file():
                raise SettingsError(f"there is no recording '{path}': 'clapas run heap' makes one")

    def run(self, report: Report) -> None:
        """Measure the heap and draw the figures."""
        with ExitStack() as opened:
            recording = opened.enter_context(self._opened(report))
            rest = self._relaxed(report, recording)
            if rest is not None:
                opened.enter_context(rest)
            measured = Measures(recording, tuple(filter(None, self.others.split(os.pathsep))), rest)
            say_what_ran(report, measured)
            draw_all(report, measured)
            compare(report, measured)
            judge(report, measured)

    def _relaxed(self, report: Report, recording: Recording) -> Recording | None:
        """Relaxation of a heap that was stopped; None for a complete run."""
        if not was_stopped(recording):
            return None
        if self.relaxed:
            return Recording(self.relaxed)
        report.tell(f"{recording.path} was stopped while it grew: relaxing it for {self.relaxation:g} s")
        return relaxed(recording, self.relaxation, report.folder / "relaxed.h5")

    def _opened(self, report: Report) -> Recording:
        if self.recording:
            return Recording(self.recording)
        from clapas.scenes.examples.heap import heap

        report.tell(f"running a heap of {self.grains} grains")
        scene = heap(grains=self.grains, rate=self.rate, relaxation=self.relaxation)
        return simulate(scene, dt=self.dt, every=max(1, round(0.05 / self.dt)), out=report.folder / "heap.h5")
