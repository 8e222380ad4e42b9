"""What a time step costs, phase by phase, in dense packings that come to rest in a box.

    python -m benchmarks.scenes                  # 1 000 and 10 000 spheres, 2 000 boxes
    python -m benchmarks.scenes --large          # 100 000 spheres as well
    python -m benchmarks.scenes --spheres 3000 --steps 20

Each packing is made on the spot (see ``benchmarks.packings``), run for some steps of 1 ms with
NSGS(tol=1e-4) that are not counted, then for those that are, in batches of twenty of which one step is
recorded on disk; the fastest batch counts.
With --threads 1 a step is timed by its processor time, which others on the machine disturb less.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks import machine, packings
from clapas.compiled import limited_threads
from clapas.dynamics import solving, stepping
from clapas.dynamics.model import Model
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.state import State
from clapas.io.recording import RecordingWriter
from clapas.scenes.recorders import RecordedStep
from clapas.scenes.simulation import energy
from clapas.solvers import NSGS
from clapas.solvers.loop import Solver
from clapas.studies.report import markdown_table

DT, TOL, EVERY = 1e-3, 1e-4, 20
UNTIMED = 100
PHASES = ("detect", "assemble", "solve", "advance", "record")


@dataclass(frozen=True)
class Cost:
    """Mean cost of a step. Bytes are those of arrays, at the peak of a step."""

    grains: int
    shape: str
    contacts: float
    sweeps: float
    unsolved: int
    detect: float
    assemble: float
    solve: float
    advance: float
    record: float
    bytes_per_grain: float

    @property
    def step(self) -> float:
        """Seconds of a whole step."""
        return sum(getattr(self, phase) for phase in PHASES)

    @property
    def rate(self) -> float:
        """Contacts treated per second, all phases included."""
        return self.contacts / self.step


class Stopwatch:
    """Seconds spent in functions, by phase."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.seconds = dict.fromkeys(PHASES, 0.0)

    def timed(self, phase: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, its time added to a phase."""

        def run(*args: Any, **settings: Any) -> Any:
            start = self.clock()
            try:
                return function(*args, **settings)
            finally:
                self.seconds[phase] += self.clock() - start

        return run

    @contextmanager
    def watching(self, neighbours: Neighbours) -> Iterator[None]:
        """Time the parts of the general step; what is left of it is to advance."""
        with (
            mock.patch.object(neighbours, "few", return_value=None),
            mock.patch.object(solving, "rigid_problem", self.timed("assemble", solving.rigid_problem)),
            mock.patch.object(solving, "solve", self.timed("solve", solving.solve)),
            mock.patch.object(neighbours, "detect", self.timed("detect", neighbours.detect)),
        ):
            yield


def measure(model: Model, shape: str, steps: int, n_threads: int) -> Cost:
    """Prepare a packing, then time its steps: one thread by its processor time, several by the clock.

    Steps are timed in batches, each with one recorded frame; the cost is that of the fastest batch, which
    others on the machine disturbed least.
    """
    neighbours, solver = Neighbours(model), NSGS(tol=TOL)
    state = packings.at_rest(model, neighbours)
    for _ in range(UNTIMED):
        state = stepping.step(model, state, DT, solver, None, neighbours).state
    peak = _peak_bytes(model, state, solver)
    clock = time.thread_time if n_threads == 1 else time.perf_counter
    batches = []
    with tempfile.TemporaryDirectory() as folder:
        writer = RecordingWriter(Path(folder) / "run.h5", model, dt=DT, every=EVERY)
        for _ in range(max(1, steps // EVERY)):
            batch = Batch(Stopwatch(clock))
            state = batch.run(model, state, solver, neighbours, writer)
            batches.append(batch)
        writer.close()
    best = min(batches, key=lambda batch: sum(batch.watch.seconds.values()))
    return Cost(
        grains=int(model.movable.sum()),
        shape=shape,
        contacts=best.contacts / EVERY,
        sweeps=best.sweeps / EVERY,
        unsolved=sum(batch.unsolved for batch in batches),
        bytes_per_grain=peak / int(model.movable.sum()),
        **{phase: spent / EVERY for phase, spent in best.watch.seconds.items()},
    )


@dataclass
class Batch:
    """Some steps and the frame that is kept of them."""

    watch: Stopwatch
    contacts: int = 0
    sweeps: int = 0
    unsolved: int = 0

    def run(
        self,
        model: Model,
        state: State,
        solver: Solver,
        neighbours: Neighbours,
        writer: RecordingWriter,
    ) -> State:
        """Do the steps; return where they led."""
        start = self.watch.clock()
        with self.watch.watching(neighbours):
            for _ in range(EVERY):
                done = stepping.step(model, state, DT, solver, None, neighbours)
                state = done.state
                self.contacts += len(done.problem.contacts)
                self.sweeps += done.solution.iterations
                self.unsolved += not done.solution.status.is_solved
        self.watch.timed("record", self._keep)(model, done, writer)
        seconds = self.watch.seconds
        seconds["advance"] = self.watch.clock() - start - sum(seconds.values())
        return state

    def _keep(self, model: Model, done: stepping.StepResult, writer: RecordingWriter) -> None:
        writer.keep(RecordedStep(done, done.state, energy(model, done.state), 0.0, 0.0, done.residual))
        writer.flush(wait=False)


def _peak_bytes(model: Model, state: State, solver: Solver) -> float:
    """Most bytes in use during a step: those of a new detector, of the step, and of the state."""
    gc.collect()
    tracemalloc.start()
    neighbours = Neighbours(model)
    for _ in range(2):
        stepping.step(model, state, DT, solver, None, neighbours)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    held = [getattr(state, name) for name in ("position", "orientation", "velocity")]
    return peak + sum(array.nbytes for array in held)


def table(costs: list[Cost]) -> str:
    """The costs as Markdown."""
    header = [
        "grains", "contacts", "sweeps", *(f"{phase} ms" for phase in PHASES), "step ms", "detect share",
        "Mcontact-steps/s", "kB/grain", "unsolved",
    ]  # fmt: skip
    lines = [
        [
            f"{cost.grains} {cost.shape}",
            f"{cost.contacts:.0f}",
            f"{cost.sweeps:.1f}",
            *(f"{1e3 * getattr(cost, phase):.2f}" for phase in PHASES),
            f"{1e3 * cost.step:.1f}",
            f"{cost.detect / cost.step:.0%}",
            f"{cost.rate / 1e6:.2f}",
            f"{cost.bytes_per_grain / 1e3:.2f}",
            f"{cost.unsolved}",
        ]
        for cost in costs
    ]
    return markdown_table(header, lines)


def growth(costs: list[Cost]) -> str:
    """How the cost of a step, and of a step and sweep, grows from the smallest to the largest packing."""
    spheres = sorted((cost for cost in costs if cost.shape == "spheres"), key=lambda cost: cost.grains)
    if len(spheres) < 2:
        return ""
    few, many = spheres[0], spheres[-1]
    power = math.log(many.step / few.step) / math.log(many.grains / few.grains)
    return f"from {few.grains} to {many.grains} spheres the cost of a step grows as N^{power:.2f}"


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scenes", description=__doc__.splitlines()[0])
    parser.add_argument("--spheres", type=_sizes, default=(1_000, 10_000), help="numbers, e.g. 1000,10000")
    parser.add_argument("--boxes", type=_sizes, default=(2_000,), help="numbers, or 0 for none")
    parser.add_argument("--large", action="store_true", help="100 000 spheres as well (minutes)")
    parser.add_argument("--steps", type=int, default=60, help="timed steps (default 60)")
    parser.add_argument("--threads", type=int, default=2, help="threads (default 2)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers to a file as well")
    return parser.parse_args(argv)


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(size for size in map(int, text.split(",")) if size > 0)


def main(argv: list[str] | None = None) -> int:
    """Measure, print the table, write the file; return the exit code."""
    given = _arguments(argv)
    here = machine.describe()
    print("\n".join(here.lines()))
    timed = "processor time of one thread" if given.threads == 1 else f"clock, up to {given.threads} threads"
    print(f"steps of {DT} s, NSGS(tol={TOL}), best {EVERY} of {given.steps} steps, {timed}\n")
    makers = [(packings.spheres, "spheres", size) for size in given.spheres]
    makers += [(packings.spheres, "spheres", 100_000)] if given.large else []
    makers += [(packings.boxes, "boxes", size) for size in given.boxes]
    costs = []
    for make, shape, size in makers:
        print(f"  {size} {shape}", file=sys.stderr)
        with limited_threads(given.threads, size):
            costs.append(measure(make(size), shape, given.steps, given.threads))
        print(f"  {1e3 * costs[-1].step:.1f} ms a step", file=sys.stderr)
    print(table(costs))
    print("\n" + growth(costs))
    if given.json:
        content = {"machine": asdict(here), "scenes": [asdict(cost) for cost in costs]}
        given.json.write_text(json.dumps(content, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
