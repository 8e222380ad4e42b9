"""The samples that ``benchmarks.compare`` times, and the process that times them on request.

The file stands alone: it is run with the sources of another checkout, so it imports nothing of
``benchmarks`` and of clapas what it offers everyone, where that is possible. Run as a program it reads
requests, one per line:

    NAME    prepares a sample the first time (untimed), then times it; answers with one line of JSON

Times are those of the processor for one thread, of the clock for several.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

LEAST = 0.05  # seconds that a timing lasts at least
THREADS = int(os.environ.get("NUMBA_NUM_THREADS", "1"))
clock = time.process_time if THREADS == 1 else time.perf_counter

Prepared = tuple[Callable[[], float], float]
"""How to time a run (seconds), and a number that tells whether two checkouts compute the same."""


@dataclass(frozen=True)
class Sample:
    """Something to time.

    Parameters
    ----------
    group : str
        "kernels", "scenes" or "solvers".
    prepare : function
        Called with a size factor; makes the data, runs once (compiles), returns how to time a run.
    """

    group: str
    prepare: Callable[[float], Prepared]


def repeated(run: Callable[[], Any]) -> Callable[[], float]:
    """A function that times a run, often enough to last a while: seconds of one."""

    def seconds(count: int) -> float:
        start = clock()
        for _ in range(count):
            run()
        return (clock() - start) / count

    count = max(1, min(10_000, int(LEAST / max(seconds(1), 1e-7))))
    return partial(seconds, count)


# ------------------------------------------------------------------------------------------------ kernels


def sweeps(form: str, order: str, d: int, size: float) -> Prepared:
    """Ten sweeps of Gauss-Seidel on a packing, after ten that are not timed."""
    from clapas import NSGS, Coloured, Given, gallery, reduce

    problem = gallery.sphere_packing(round(10_000 * size), seed=1, d=d).problem
    if form == "delassus":
        problem = reduce(problem)
    visits = Coloured(threads=THREADS) if order == "coloured" else Given()
    start = np.zeros((problem.n_contacts, problem.d))
    iteration = NSGS(form=form, order=visits, acceleration=0).start(problem, start)  # type: ignore[arg-type]
    iteration.advance(10)
    return repeated(partial(iteration.advance, 10)), float(np.abs(iteration.impulses()).sum())


def residual(size: float) -> Prepared:
    """The residual of an impulse on a packing."""
    from clapas import gallery

    problem = gallery.sphere_packing(round(10_000 * size), seed=1).problem
    r = np.abs(np.random.default_rng(0).normal(size=(problem.n_contacts, 3)))
    return repeated(partial(problem.residual, r)), problem.residual(r)


def reduction(size: float) -> Prepared:
    """The Delassus form of a packing."""
    from clapas import gallery, reduce

    problem = gallery.sphere_packing(round(3000 * size), seed=1).problem
    return repeated(partial(reduce, problem)), float(np.abs(reduce(problem).q).sum())


def detection(shape: str, size: float) -> Prepared:
    """Contacts of a cloud of bodies whose list of neighbours is known."""
    from clapas.collision import Detector
    from clapas.geometry.shapes import Box, Sphere
    from clapas.geometry.table import collider_table

    n = round((10_000 if shape == "spheres" else 1500) * size)
    rng = np.random.default_rng(2)
    made = Sphere(0.5) if shape == "spheres" else Box((1.0, 0.8, 0.6))
    detector = Detector(collider_table(3, [(k, made, 0) for k in range(n)]))
    position = rng.uniform(0.0, (0.9 * n) ** (1 / 3), (n, 3))
    turn = rng.normal(size=(n, 4))
    turn /= np.linalg.norm(turn, axis=1)[:, None]
    found = detector.detect(position, turn, 0.0)
    return repeated(partial(detector.detect, position, turn, 0.0)), float(found.gap.sum())


# ------------------------------------------------------------------------------------------------- scenes


def scene_of_spheres(size: float) -> Any:
    """Spheres in layers, slightly irregular, that collapse in a box."""
    import clapas

    side = max(2, round((1500 * size) ** (1 / 3)))
    rng = np.random.default_rng(1)
    scene = clapas.Scene(overlap=1e-3)
    scene.law(mu=0.4)
    scene.add(clapas.Plane())
    for normal in ((1, 0, 0), (0, 1, 0)):
        scene.add(clapas.Plane(normal))
        scene.add(clapas.Plane(tuple(-k for k in normal), -0.02 * side))
    grid = np.stack(np.meshgrid(*3 * [np.arange(side)], indexing="ij"), axis=-1).reshape(-1, 3)
    for place in (0.01 + 0.02 * grid + rng.uniform(-2e-4, 2e-4, grid.shape)).tolist():
        scene.add(clapas.Sphere(0.01005), place, density=2500.0)
    return scene


def scene_of_boxes(size: float) -> Any:
    """Walls of bricks side by side."""
    import clapas

    scene = clapas.Scene()
    scene.law(mu=0.5)
    scene.add(clapas.Plane())
    for wall in range(max(1, round(6 * size))):
        for row in range(8):
            for k in range(8):
                scene.add(
                    clapas.Box((0.2, 0.1, 0.1)),
                    (0.2 * k + 0.1 * (row % 2), 0.3 * wall, 0.05 + 0.1 * row),
                    density=2000.0,
                )
    return scene


def scene_of_few(size: float) -> Any:
    """Five boxes in a stack, whatever the size: what a small step costs."""
    import clapas

    scene = clapas.Scene()
    scene.law(mu=0.5)
    scene.add(clapas.Plane())
    for k in range(5):
        scene.add(clapas.Box((0.2, 0.2, 0.2)), (0.0, 0.0, 0.1 + 0.2 * k), density=2500.0)
    return scene


def scene_in_the_plane(size: float) -> Any:
    """Disks in layers on a floor in the plane, with restitution."""
    import clapas

    rng = np.random.default_rng(3)
    scene = clapas.Scene(d=2)
    scene.law(mu=0.3, restitution=0.2)
    scene.add(clapas.HalfPlane())
    for k in range(max(4, round(400 * size))):
        place = np.array((0.021 * (k % 40), 0.0105 + 0.021 * (k // 40))) + rng.uniform(-4e-4, 4e-4, 2)
        scene.add(clapas.Disk(0.01), place.tolist(), velocity=(0.0, -0.5), density=2000.0)
    return scene


def steps(make: Callable[[float], Any], solver: str, dt: float, count: int, size: float) -> Prepared:
    """A time step of a scene, the mean of some after the first; making and recording it are not timed.

    Large packings are swept a bounded number of times: what Auto would do then, the solvers' samples time.
    """
    import clapas

    scene, speeds = make(size), [0.0]
    method = clapas.Auto(tol=1e-6) if solver == "auto" else clapas.NSGS(tol=1e-4, max_iterations=100)

    def run() -> float:
        times: list[float] = []

        def note(done: Any) -> None:
            times.append(clock())

        with clapas.simulate(
            scene, count * dt, dt, method, every=10**9, on_unsolved="record", progress=note
        ) as recording:
            speeds[0] = float(np.abs(recording.frame(-1).state.velocity).sum())
        os.remove(recording.path)
        return (times[-1] - times[0]) / (count - 1)

    run()
    return run, speeds[0]


# ------------------------------------------------------------------------------------------------ solvers


def solving(solver: str, problem: str, tol: float, size: float) -> Prepared:
    """One solver from zero on a problem of the gallery; the size does not matter."""
    from clapas import gallery, solve
    from clapas.solvers import registry

    entry, method = gallery.get(problem).problem, registry.make(solver, tol=tol, time_limit=20.0)
    found = solve(entry, method, check=False)
    return repeated(partial(solve, entry, method, check=False)), float(np.abs(found.u).sum())


SAMPLES = {
    "sweeps bodies given": Sample("kernels", partial(sweeps, "bodies", "given", 3)),
    "sweeps bodies coloured": Sample("kernels", partial(sweeps, "bodies", "coloured", 3)),
    "sweeps bodies coloured 2-D": Sample("kernels", partial(sweeps, "bodies", "coloured", 2)),
    "sweeps W given": Sample("kernels", partial(sweeps, "delassus", "given", 3)),
    "sweeps W coloured": Sample("kernels", partial(sweeps, "delassus", "coloured", 3)),
    "residual": Sample("kernels", residual),
    "reduction": Sample("kernels", reduction),
    "detection spheres": Sample("kernels", partial(detection, "spheres")),
    "detection boxes": Sample("kernels", partial(detection, "boxes")),
    "step five boxes": Sample("scenes", partial(steps, scene_of_few, "auto", 1e-3, 61)),
    "step spheres": Sample("scenes", partial(steps, scene_of_spheres, "nsgs", 1e-3, 21)),
    "step brick walls": Sample("scenes", partial(steps, scene_of_boxes, "nsgs", 1e-3, 21)),
    "step disks": Sample("scenes", partial(steps, scene_in_the_plane, "auto", 1e-3, 41)),
    "nsgs": Sample("solvers", partial(solving, "nsgs", "packing-100", 1e-6)),
    "auto": Sample("solvers", partial(solving, "auto", "box-stack-10", 1e-8)),
    "accelerated-projection": Sample(
        "solvers", partial(solving, "accelerated-projection", "packing-100", 1e-6)
    ),
    "interior-point": Sample("solvers", partial(solving, "interior-point", "packing-100", 1e-6)),
    "semismooth-newton": Sample("solvers", partial(solving, "semismooth-newton", "packing-100", 1e-6)),
    "proximal-point": Sample("solvers", partial(solving, "proximal-point", "packing-100", 1e-6)),
    "conic-fixed-point": Sample("solvers", partial(solving, "conic-fixed-point", "packing-100", 1e-6)),
}


def main() -> None:
    """Answer requests until there are no more."""
    import clapas

    size = float(sys.argv[1])
    ready: dict[str, Prepared] = {}
    print(json.dumps({"clapas": clapas.__file__}), flush=True)
    for line in sys.stdin:
        try:
            name = line.strip()
            if name not in ready:
                ready[name] = SAMPLES[name].prepare(size)
            measure, number = ready[name]
            answer: dict[str, Any] = {"seconds": measure(), "answer": number}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
