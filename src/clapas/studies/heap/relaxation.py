"""Relaxation of a heap that was stopped while it grew, without new grains.

A run of the scene ``heap`` relaxes after its last grain. One that was stopped before is a valid heap of fewer
grains, once they have come to rest.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from clapas.io.recording import Recording
from clapas.io.settings import from_plain
from clapas.io.simulation import Simulation


def was_stopped(recording: Recording) -> bool:
    """Whether a run ended before its last grain."""
    birth, times = recording.model.birth, recording.times
    return len(times) > 0 and bool((birth[np.isfinite(birth)] > times[-1]).any())


def relaxed(recording: Recording, seconds: float, path: Path) -> Recording:
    """Relax the heap at the end of a run for some time: a new recording, with the same steps."""
    last, settings = recording.frame(-1), recording.settings
    simulation = Simulation(
        recording.model.first(last.state.n_bodies),
        dt=recording.dt,
        solver=from_plain(settings["solver"]),
        scheme=from_plain(settings["scheme"]),
        sleeping=from_plain(settings.get("sleeping")),
        on_unsolved=settings["on_unsolved"],
        state=last.state,
    )
    live = simulation.record(path, every=recording.every)
    steps = round(seconds / recording.dt)
    simulation.step(steps)
    return live.stop()
