"""Cost of the steps of a dense packing on the ranks that run this.

    mpirun -n 2 python -m clapas.distributed.measured GRAINS STEPS

Processor time is counted by phases, without communication: unlike wall time it is meaningful with more ranks
than processors.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from typing import Any

import numpy as np

from clapas.distributed.communication import Ranks, Traffic
from clapas.distributed.launch import world
from clapas.distributed.simulation import RankSimulation
from clapas.geometry.shapes import Plane, Sphere
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from clapas.solvers import NSGS

DT = 1e-3
SETTLING = 10  # steps before those that count
RADIUS = 0.01
FILLED = 0.62  # share of the volume


def packing(grains: int) -> Scene:
    """Spheres at random in a cubic box without lid, some of them overlapping: they push each other apart."""
    rng = np.random.default_rng(0)
    radii = RADIUS * rng.uniform(0.8, 1.2, grains)
    width = float(np.sum(4.0 / 3.0 * np.pi * radii**3) / FILLED) ** (1.0 / 3.0)
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Plane())
    for normal in np.eye(3)[:2]:
        scene.add(Plane(tuple(normal)))
        scene.add(Plane(tuple(-normal), -width))
    for radius, place in zip(radii.tolist(), rng.uniform(0.0, width, (grains, 3)).tolist(), strict=True):
        scene.add(Sphere(radius), place, density=2500.0)
    return scene


def measured(ranks: Ranks, grains: int, steps: int) -> dict[str, Any]:
    """Amounts and processor times of a step, the largest of all ranks; all of them call this together.

    Returns
    -------
    dict
        ``ranks, grains``; ``bodies, contacts, copies`` of a rank; ``sweeps, messages, bytes, collectives``
        of a step; ``phases`` (s); ``own``, the time of a step without sending and waiting (s); ``epochs`` of
        a step; ``memory`` (B); ``worst``, the largest residual.
    """
    model = compile_scene(packing(grains), check_overlaps=False)
    sim = RankSimulation(model, DT, ranks, NSGS(tol=1e-3, max_iterations=1000), on_unsolved="record")
    for _ in range(SETTLING):
        sim.step()
    ranks.traffic, epochs, sweeps = Traffic(), sim.epochs, 0
    began = time.process_time()
    for _ in range(steps):
        sim.step()
        sweeps += sim.verdict.iterations
    traffic, domain = ranks.traffic, sim.domain
    phases = dict(sorted(traffic.phases.items()))
    numbers = {
        "own": (time.process_time() - began - traffic.seconds) / steps,
        "bodies": float(domain.is_own.sum()),
        "contacts": float(len(sim.state.impulses.a)),
        "copies": float(sum(len(rows) for rows in domain.ghosts.held.values())),
        "messages": traffic.messages / steps,
        "bytes": traffic.bytes / steps,
        "collectives": traffic.collectives / steps,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0,
    }
    largest = ranks.gathered([*numbers.values(), *(spent / steps for spent in phases.values())]).max(axis=0)
    return {
        "ranks": ranks.size,
        "grains": grains,
        "sweeps": sweeps / steps,
        "epochs": (sim.epochs - epochs) / steps,
        "worst": sim.worst,
        **dict(zip(numbers, largest.tolist(), strict=False)),
        "phases": dict(zip(phases, largest[len(numbers) :].tolist(), strict=True)),
    }


def main() -> int:
    """Measure one size and print the numbers as JSON."""
    parser = argparse.ArgumentParser(prog="clapas.distributed.measured")
    parser.add_argument("grains", type=int)
    parser.add_argument("steps", type=int)
    arguments = parser.parse_args()
    ranks = Ranks(world())
    results = measured(ranks, arguments.grains, arguments.steps)
    if ranks.rank == 0:
        print(json.dumps(results), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
