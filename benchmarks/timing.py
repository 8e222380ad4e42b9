"""Time several runs fairly on a machine that others may use.

Runs take turns (A B C, A B C, …) and the best time of each is kept: a disturbance meets all of them, and
the best is what the machine can do. One thread is timed by its own processor time, several by the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Run:
    """Something to time: ``run(count)`` does ``count`` sweeps on ``threads`` threads."""

    run: Callable[[int], None]
    threads: int


def seconds_per_sweep(runs: dict[Key, Run], count: int, repeats: int) -> dict[Key, float]:
    """Best seconds per sweep of each run."""
    for run in runs.values():
        run.run(1)  # compile, and load the data once
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(repeats):
        for key, run in runs.items():
            best[key] = min(best[key], _time(run, count) / count)
    return best


def _time(run: Run, count: int) -> float:
    clock = time.thread_time if run.threads == 1 else time.perf_counter
    start = clock()
    run.run(count)
    return clock() - start
