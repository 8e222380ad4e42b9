"""Packings and heaps of spheres at rest with contacts within reach and without: sweeps, creep, cost.

    python -m benchmarks.reach                            # or: clapas bench reach
    python -m benchmarks.reach --grains 1000,10000,100000 --heaps 1000,4000 --steps 40

Spheres brought to rest in a box (:mod:`benchmarks.packings`), or in a cone on Moreau's paved floor
(:mod:`benchmarks.heap`) on which nothing more is laid, take steps of 1 ms, heaps of 0.2 ms, with
``NSGS(tol=1e-4)``, once by Moreau's rule alone (reach = 0), once with the default reach, from the same state.
The second half of the steps counts. *Creep* is the mean speed of the grains over these steps, from where they
were to where they are, in radii per second; *contacts* those in the problem of the last step.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import NamedTuple

import numpy as np

from benchmarks import heap, packings
from clapas.dynamics.model import Model
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.schemes import MoreauMidpoint
from clapas.dynamics.state import State
from clapas.dynamics.stepping import step
from clapas.solvers import NSGS
from clapas.studies.report import markdown_table

DT, TOL, MOST_SWEEPS = 1e-3, 1e-4, 2000
RADII = {"packing": 0.5 * packings.SIZE, "heap": 1.875e-3}  # mean, m


class Cost(NamedTuple):
    """Of a step in the second half of a run: sweeps, ms, creep (radii/s), contacts, residual."""

    sweeps: float
    ms: float
    creep: float
    contacts: int
    worst: float


def measure(model: Model, state: State, dt: float, radius: float, reach: float | None, steps: int) -> Cost:
    """Let grains of a mean radius (m) stand for some steps."""
    near, scheme = Neighbours(model), MoreauMidpoint(reach=reach)
    solver = NSGS(tol=TOL, max_iterations=MOST_SWEEPS)
    sweeps, worst, spent, half = 0, 0.0, 0.0, steps // 2
    before = state
    for k in range(steps):
        if k == half:
            sweeps, worst, spent, before = 0, 0.0, 0.0, state
        began = time.process_time()
        done = step(model, state, dt, solver, scheme, near)
        spent += time.process_time() - began
        sweeps, worst = sweeps + done.solution.iterations, max(worst, done.residual)
        state = done.state
    count = steps - half
    moved = np.linalg.norm(state.position - before.position, axis=1)
    creep = float(moved[model.first(state.n_bodies).movable].mean()) / (count * dt) / radius
    return Cost(sweeps / count, 1e3 * spent / count, creep, len(done.problem.contacts), worst)


def main(argv: list[str] | None = None) -> int:
    """Measure, print the table; return the exit code."""
    parser = argparse.ArgumentParser(prog="clapas bench reach", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--grains", default="1000,10000", help="sizes of the packings")
    parser.add_argument("--heaps", default="1000", help="sizes of the heaps; an empty word for none")
    parser.add_argument("--steps", type=int, default=100)
    given = parser.parse_args(argv)
    asked = [("packing", size) for size in _sizes(given.grains)] + [("heap", s) for s in _sizes(given.heaps)]
    rows = []
    for sort, grains in asked:
        model = packings.spheres(grains) if sort == "packing" else heap.cone(grains)
        state, dt = packings.at_rest(model, Neighbours(model)), DT if sort == "packing" else heap.DT
        for name, reach in (("0", 0.0), ("default", None)):
            cost = measure(model, state, dt, RADII[sort], reach, given.steps)
            figures = f"{cost.sweeps:.1f}", f"{cost.ms:.3g}", f"{cost.creep:.2g}", f"{cost.worst:.1e}"
            rows.append([f"{sort} of {grains}", name, str(cost.contacts), *figures])
            print(f"  {sort} of {grains}, reach {name}: {cost}", file=sys.stderr, flush=True)
    names = ["grains at rest", "reach", "contacts", "sweeps", "ms a step", "creep radii/s", "worst residual"]
    print(markdown_table(names, rows))
    return 0


def _sizes(text: str) -> list[int]:
    return [int(size) for size in text.split(",") if size]


if __name__ == "__main__":
    sys.exit(main())
