"""Rods: seconds of a time step against the number of rods, at fixed contacts per rod.

Run as ``python -m benchmarks.rods`` or ``clapas bench rods``; ``--large`` adds 400 rods. The scene is ropes
of four wound strands of six elements each, with about four contacts per rod; the support moves to and fro.
After some steps to settle, steps are timed by the clock of the processor, at tolerances 1e-4 and 1e-8: the
median of them and, since other programs slow down a shared machine, the best; and the median per rod, which
is constant where the cost is linear (the exponent of a power of the rods is printed below). The share of the
rods themselves (mass, forces, places, detection) is in the column *free*: the same rods without contacts.
Free rods beside PyElastica, where it is installed, follow (:mod:`benchmarks.cosserat`).
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from statistics import median

import numpy as np

from benchmarks import cosserat
from clapas.bodies.rods import Support
from clapas.dynamics.births import initial_state
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.schemes import MoreauJean
from clapas.dynamics.stepping import step
from clapas.scenes.compilation import compile_scene
from clapas.scenes.examples.hair import wound
from clapas.scenes.scene import Scene
from clapas.solvers import Auto
from clapas.studies.report import markdown_table

STRANDS = 4
TARGETS = {1e-4: 20.0, 1e-8: 50.0}  # milliseconds for 100 rods and 400 contacts
HEADER = ["rods", "tol", "contacts", "ms per step", "best", "µs per rod", "free", "target", "residual"]
DT = 5e-4


def ropes(rods: int, *, touching: bool = True) -> Scene:
    """Ropes of four strands, 2 cm apart."""
    rng = np.random.default_rng(0)
    scene = Scene()
    scene.law(mu=0.2)
    clamp = Support(motion=lambda t: ((0.02 * math.cos(30.0 * t), 0, 0), (0, 0, 0)))
    made = []
    for k in range(rods // STRANDS):
        made += wound(rng, STRANDS, 6, 0.04, 3.0, 3, clamp, (0.02 * (k % 10), 0.02 * (k // 10), 0.0))
    scene.add_rods(made, touching=touching)
    return scene


def timed(scene: Scene, tol: float, settle: int, steps: int) -> tuple[float, float, float, float]:
    """Median and least milliseconds per step, median of contacts, the worst residual."""
    model = compile_scene(scene)
    state, neighbours = initial_state(model), Neighbours(model)
    scheme, solver = MoreauJean(theta=1.0, reach=1e-4), Auto(tol=tol)
    whole, contacts, worst = [], [], 0.0
    for k in range(settle + steps):
        start = time.process_time()
        done = step(model, state, DT, solver, scheme, neighbours)
        seconds, state = time.process_time() - start, done.state
        if k >= settle:
            whole.append(1e3 * seconds)
            contacts.append(done.problem.problem.n_contacts)
            worst = max(worst, done.solution.residual)
    return median(whole), min(whole), median(contacts), worst


def rows(rods: int, settle: int, steps: int) -> list[list[str]]:
    free, _, _, _ = timed(ropes(rods, touching=False), 1e-4, 3, steps)
    found = []
    for tol, target in TARGETS.items():
        whole, best, contacts, worst = timed(ropes(rods), tol, settle, steps)
        goal = f"{target:g}" if rods == 100 else "-"
        found.append(
            [
                f"{rods}",
                f"{tol:g}",
                f"{contacts:.0f}",
                f"{whole:.1f}",
                f"{best:.1f}",
                f"{1e3 * whole / rods:.0f}",
                f"{free:.1f}",
                goal,
                f"{worst:.0e}",
            ]
        )
    return found


def exponent(table: Sequence[Sequence[str]], tol: float) -> float:
    """Slope of the logarithm of the best time against that of the number of rods: 1 where cost is linear."""
    rows = [dict(zip(HEADER, cells, strict=True)) for cells in table]
    own = [(float(row["rods"]), float(row["best"])) for row in rows if float(row["tol"]) == tol]
    return float(np.polyfit(*np.log(np.array(own)).T, 1)[0])


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--large", action="store_true", help="add 400 rods")
    parser.add_argument("--settle", type=int, default=60, help="steps before the timed ones")
    parser.add_argument("--steps", type=int, default=20, help="timed steps")
    options = parser.parse_args(argv)
    table = []
    for rods in (24, 48, 100, *((400,) if options.large else ())):
        for cells in rows(rods, options.settle, options.steps):
            table.append(cells)
            print(" ".join(cells), flush=True)
    print(markdown_table(HEADER, table))
    for tol in TARGETS:
        print(f"at {tol:g} the cost grows as the rods to the power {exponent(table, tol):.2f}")
    print(markdown_table(cosserat.HEADER, cosserat.rows(100)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
