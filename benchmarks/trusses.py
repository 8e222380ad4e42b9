"""Statics and time steps of tensegrity grids: seconds, factorisations and memory against the size.

Run as ``python -m benchmarks.trusses`` or ``clapas bench trusses``; ``--large`` adds 64 × 64 modules (49 152
cables). Seconds are those of the processor, the best of some runs; loads are scaled so that every grid has
the same bending (13 % of slack cables). The reference in the same run is one factorisation of the stiffness
matrix with all cables tight: what no method that solves equilibrium can do without.

Time steps of 1 ms follow the release of a load on extensible cables, some of which go slack; the reference is
the same factorisation. Their residual is that of the cables as a contact problem, at the velocities found.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Sequence

import numpy as np
from scipy import sparse

from clapas.bodies.kind import Part, Span
from clapas.bodies.trusses import Assembly, MovingTruss
from clapas.bodies.trusses.generators import grid
from clapas.dynamics.births import initial_state
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.stepping import step
from clapas.linalg.factor import factorise
from clapas.problems.contact import ContactProblem
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from clapas.solvers import Auto
from clapas.statics.trusses import LargeDisplacements, SmallDisplacements
from clapas.studies.report import markdown_table
from clapas.typing import Array

STEP_TARGET = {8: 10.0}  # milliseconds of a time step
TARGETS = {(16, "small"): 0.15, (16, "large"): 0.5, (64, "small"): 10.0}  # seconds
METHODS = {"small": SmallDisplacements(), "large": LargeDisplacements()}
HEADER = [
    "modules",
    "cables",
    "model",
    "factorisations",
    "slack",
    "residual",
    "seconds",
    "target",
    "one factorisation",
]


def best(work: Callable[[], object], repeats: int) -> float:
    """Least processor time of several runs."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def row(n: int, model: str, repeats: int) -> list[str]:
    truss = grid(n, load=40.0 * (16.0 / n) ** 2)
    method = METHODS[model]
    state = method.solve(truss, "down")
    seconds = best(lambda: method.solve(truss, "down"), repeats)
    K = Assembly(truss).material().tocsr()
    once = best(lambda: factorise(K), repeats)
    target = TARGETS.get((n, model))
    return [
        f"{n} × {n}", f"{truss.n_cables}", model, f"{state.iterations}", f"{100 * state.slack_share:.2f} %",
        f"{state.residual:.0e}", f"{seconds:.3g}", "-" if target is None else f"{target:g}", f"{once:.3g}",
    ]  # fmt: skip


STEP_HEADER = [
    "modules",
    "cables",
    "slack",
    "ms, best",
    "ms, median",
    "residual",
    "target",
    "one factorisation",
]


def step_row(n: int, steps: int) -> list[str]:
    """Time steps of a grid that gets its load at once."""
    truss = grid(n, load=40.0 * (16.0 / n) ** 2)
    moving = MovingTruss(truss=truss, case="down", damping_time=1e-3)
    scene = Scene()
    scene.law(mu=0.5)
    scene.add_system(moving, name="grid")
    model = compile_scene(scene)
    state, near, spent, worst = initial_state(model), Neighbours(model), [], 0.0
    for i in range(steps):
        start = time.process_time()
        done = step(model, state, 1e-3, Auto(tol=1e-8), None, near)
        spent.append(time.process_time() - start)
        if i % 20 == 19:
            worst = max(worst, cable_residual(moving, state.parts[0], done.state.parts[0].v, model.gravity))
        state = done.state
    tension = moving.tensions(state.parts[0])[truss.is_cable]
    K = sparse.csr_array(moving._mass + 1e-6 * Assembly(truss).material())
    once = best(lambda: factorise(K), 5)
    best_of, median = 1e3 * min(spent[5:]), 1e3 * float(np.median(spent[5:]))
    return [
        f"{n} × {n}", f"{truss.n_cables}", f"{100 * float((tension <= 0).mean()):.1f} %", f"{best_of:.2f}",
        f"{median:.2f}", f"{worst:.0e}", f"{STEP_TARGET.get(n, '-')}", f"{1e3 * once:.2f}",
    ]  # fmt: skip


def cable_residual(moving: MovingTruss, start: Part, v: Array, gravity: Array) -> float:
    """Residual of the cables of a step of 1 ms as a contact problem, at velocities v of its end."""
    half = moving.drift(start, 0.5e-3)
    forces = moving.pieces(half, Span(float(start.q[-1]) + 0.5e-3, 1e-3, 0.5, gravity))
    M, free, links = forces.as_links()
    assert links is not None
    problem = ContactProblem(
        M=M, H=links.H, f=-(M @ free), w=links.w, mu=links.mu, compliance=links.compliance, d=3
    )
    r = np.zeros((problem.n_contacts, 3))
    r[:, 0] = np.maximum(forces.impulses(v), 0.0)[moving.truss.is_cable]
    return problem.residual(r)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--large", action="store_true", help="add 32 × 32 and 64 × 64 modules")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--steps", type=int, default=100, help="time steps")
    options = parser.parse_args(argv)
    sizes = (4, 8, 16, *((32, 64) if options.large else ()))
    rows = []
    for n in sizes:
        for model in (
            METHODS if n <= 32 else ("small",)
        ):  # beyond, the load bends the true shape out of all proportion
            rows.append(row(n, model, options.repeats if n <= 16 else 1))
            print(" ".join(rows[-1]), flush=True)
    print(markdown_table(HEADER, rows))
    moves = [step_row(n, options.steps) for n in (4, 8, *((16,) if options.large else ()))]
    print(markdown_table(STEP_HEADER, moves))
    print(f"largest memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
