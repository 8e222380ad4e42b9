"""What Moreau's heap of 14 000 grains costs: steps per second while it grows, and the whole run projected.

    python -m benchmarks.heap
    python -m benchmarks.heap --grains 1000,4000 --steps 100
    python -m benchmarks.heap --sleeping 1e-2   # again with grains slower than 1e-2 radii/s asleep

A cone of each size is put together on the paved floor at once (see ``benchmarks.packings``), shaken down for
some steps, then timed while grains are laid on it, 200 a second, with steps of 2e-4 s and the solver of the
scene (residual at most 1e-3). The cost of the run of 360 000 steps is the integral of the cost of a step over
the sizes, from nothing to 14 000 grains in 70 s, and two more seconds at rest.

With ``--sleeping`` a batch is a round of watch and rest. These cones have just begun to flow: in a heap that
has grown grain by grain fewer grains sleep.
"""

from __future__ import annotations

import argparse
import math
import resource
import sys
import time
from dataclasses import dataclass, replace

import numpy as np

from benchmarks import machine, packings
from clapas.compiled import limited_threads
from clapas.dynamics.model import Model
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.sleep import Sleeping, step_with_sleep
from clapas.dynamics.stepping import step
from clapas.geometry.shapes import Sphere
from clapas.scenes.compilation import compile_scene
from clapas.scenes.examples.heap import SLOPE, heap
from clapas.solvers import NSGS
from clapas.studies.report import markdown_table

DT, RATE = 2e-4, 200.0
PRINTED_GRAINS, PRINTED_STEPS = 14_000, 360_000
LATER = 100.0  # s: when the first grain is laid
UNTIMED, BATCH = 400, 25  # steps; 25 bring one grain
SOLVER = NSGS(tol=1e-3, max_iterations=2000)


@dataclass(frozen=True)
class Cost:
    """Mean cost of a step in the fastest batch, and what the problems were like."""

    grains: int
    contacts: float
    sweeps: float
    worst: float
    seconds: float
    asleep: float


def cone(grains: int, seed: int = 1) -> Model:
    """A heap put together at once, on which grains are then laid as in the scene."""
    scene = heap(grains=grains, seed=seed)
    rng = np.random.default_rng(seed)
    source = scene.sources[0] = replace(scene.sources[0], start=LATER)
    height = (source.region.centre[2] - 4 * 2 * source.grains.radius[1]) / 2
    radii = rng.uniform(*source.grains.radius, grains)
    up = height * (1.0 - rng.random(grains) ** (1 / 3))  # evenly in a cone
    out = (height - up) / math.tan(SLOPE) * np.sqrt(rng.random(grains))
    angle = rng.uniform(0.0, 2.0 * math.pi, grains)
    places = np.column_stack((out * np.cos(angle), out * np.sin(angle), up + 1e-3))
    for radius, place in zip(radii.tolist(), places.tolist(), strict=True):
        scene.add(Sphere(radius), position=place, material="grain")
    return compile_scene(scene, check_overlaps=False)


def measure(model: Model, grains: int, steps: int, sleeping: Sleeping | None = None) -> Cost:
    """Let a cone settle, then time its steps."""
    neighbours = Neighbours(model)
    state = replace(packings.at_rest(model, neighbours), time=LATER)
    for _ in range(UNTIMED):
        state = step(model, state, DT, SOLVER, None, neighbours).state
    if sleeping is not None:  # the first watch tells nothing yet, the first rest is its own
        for _ in range(2 * sleeping.watch + sleeping.rest):
            state = step_with_sleep(model, state, DT, SOLVER, None, neighbours, sleeping).state
    batch = BATCH if sleeping is None else sleeping.watch + sleeping.rest
    batches = []
    for _ in range(max(1, steps // batch)):
        start, contacts, sweeps, worst, asleep = time.perf_counter(), 0, 0, 0.0, 0
        for _ in range(batch):
            given = model, state, DT, SOLVER, None, neighbours
            done = step(*given) if sleeping is None else step_with_sleep(*given, sleeping)
            state = done.state
            contacts, sweeps = contacts + len(done.problem.contacts), sweeps + done.solution.iterations
            worst = max(worst, done.solution.residual)
            asleep += int(state.sleep.asleep.sum()) if state.sleep else 0
        seconds = (time.perf_counter() - start) / batch
        batches.append(
            Cost(grains, contacts / batch, sweeps / batch, worst, seconds, asleep / batch / grains)
        )
    return min(batches, key=lambda cost: cost.seconds)


def projected(costs: list[Cost]) -> float:
    """Seconds of the printed run, the cost of a step read between the sizes measured."""
    grains = np.minimum(np.arange(PRINTED_STEPS) * DT * RATE, PRINTED_GRAINS)
    known = sorted(costs, key=lambda cost: cost.grains)
    sizes, seconds = [0, *(cost.grains for cost in known)], [0.0, *(cost.seconds for cost in known)]
    beyond = np.maximum(grains / sizes[-1], 1.0)  # in proportion beyond the largest
    return float(np.sum(np.interp(grains, sizes, seconds) * beyond))


def main(argv: list[str] | None = None) -> int:
    """Measure, print the table and the projection; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.heap", description=__doc__.splitlines()[0])
    parser.add_argument("--grains", default="1000,4000,14000", help="sizes (default 1000,4000,14000)")
    parser.add_argument("--steps", type=int, default=200, help="timed steps of each (default 200)")
    parser.add_argument("--threads", type=int, default=2, help="threads (default 2)")
    parser.add_argument("--sleeping", type=float, help="measure with sleep below this speed too (radii/s)")
    given = parser.parse_args(argv)
    print("\n".join(machine.describe().lines()))
    print(f"steps of {DT} s, {SOLVER}, best batch of {given.steps}")
    sizes = [int(size) for size in given.grains.split(",")]
    choices = [None] if given.sleeping is None else [None, Sleeping(speed=given.sleeping)]
    for sleeping in choices:
        costs = []
        for size in sizes:
            with limited_threads(given.threads, size):
                costs.append(measure(cone(size), size, given.steps, sleeping))
            print(f"  {size} grains: {1e3 * costs[-1].seconds:.1f} ms a step", file=sys.stderr)
        print(f"\n{sleeping or 'all awake'}\n")
        print(table(costs))
        print(f"\nthe printed run, {PRINTED_STEPS} steps: {projected(costs) / 3600:.1f} h")
    print(f"memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")
    return 0


def table(costs: list[Cost]) -> str:
    """The costs in Markdown."""
    header = ["grains", "contacts solved", "sweeps", "worst residual", "asleep", "ms a step", "steps/s"]
    rows = [
        [
            f"{cost.grains}",
            f"{cost.contacts:.0f}",
            f"{cost.sweeps:.0f}",
            f"{cost.worst:.1e}",
            f"{cost.asleep:.2f}",
            f"{1e3 * cost.seconds:.1f}",
            f"{1 / cost.seconds:.0f}",
        ]
        for cost in costs
    ]
    return markdown_table(header, rows)


if __name__ == "__main__":
    sys.exit(main())
