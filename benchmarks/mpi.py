"""Steps of a dense packing on one rank without MPI, on one rank under MPI, and on several.

    clapas bench mpi
    clapas bench mpi --grains 50000 --ranks 1,2 --steps 20 --repeats 3

A packing of spheres in a box settles under its weight for some steps, then steps are timed: the wall time of
the slowest rank (``wall``), its processor time (``busy``), and that without what it spent sending and waiting
(``own``): ranks that wait spin, so on a machine that others use only the last says what the work is. Of each
the best of the repeats is kept. Under mpirun this file is the program that the ranks run. Last come runs
without MPI, side by side: what they gain bounds what ranks can.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import machine, packings
from clapas.distributed.communication import Ranks, Traffic
from clapas.distributed.launch import is_launched, launcher, world
from clapas.distributed.simulation import RankSimulation
from clapas.dynamics.births import initial_state
from clapas.dynamics.model import Model
from clapas.dynamics.state import State
from clapas.scenes.simulation import Simulation
from clapas.solvers import NSGS
from clapas.studies.report import markdown_table

DT = 1e-3
SOLVER = NSGS(tol=1e-3, max_iterations=1000)
SETTLING = 10  # steps before those that are timed


def packing(grains: int) -> tuple[Model, State]:
    """A loose packing and its state at the start: grains overlap a little, and push each other apart."""
    model = packings.spheres(grains)
    return model, initial_state(model)


def measured(grains: int, steps: int, alone: bool) -> dict[str, Any]:
    """Time some steps on the ranks there are, or without MPI."""
    model, state = packing(grains)
    ranks = None if alone else Ranks(world())
    sim: Any
    if ranks is None:
        sim = Simulation(model, DT, SOLVER, on_unsolved="record", state=state)
    else:
        sim = RankSimulation(model, DT, ranks, SOLVER, on_unsolved="record", state=state)
    del state  # of a million grains a tenth of a gigabyte that no run holds
    for _ in range(SETTLING):
        sim.step()
    if ranks is not None:
        ranks.traffic = Traffic()
        ranks.comm.Barrier()
    wall, busy, sweeps = time.perf_counter(), time.process_time(), 0
    for _ in range(steps):
        sim.step()
        sweeps += sim.last.iterations if ranks is not None else sim.last.solution.iterations
    wall, busy = (time.perf_counter() - wall) / steps, (time.process_time() - busy) / steps
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
    sent = 0.0
    contacts = float(len(sim.last.state.impulses.a))
    border, own = 0.0, busy
    if ranks is not None:
        own -= ranks.traffic.seconds / steps
        everyone = ranks.gathered([wall, busy, memory, ranks.traffic.bytes / steps, contacts, own])
        wall, busy, memory = everyone[:, 0].max(), everyone[:, 1].max(), everyone[:, 2].sum()
        sent, contacts, own = everyone[:, 3].sum(), everyone[:, 4].sum(), everyone[:, 5].max()
        border = float(ranks.total(sum(len(rows) for rows in sim.domain.ghosts.held.values()))[0])
    return {
        "ranks": 0 if ranks is None else ranks.size,
        "wall": wall,
        "busy": busy,
        "own": own,
        "sweeps": sweeps / steps,
        "contacts": contacts,
        "worst": sim.worst,
        "memory": memory,
        "bytes": sent,
        "copies": border,
    }


def started(ranks: int, grains: int, steps: int) -> subprocess.Popen[str]:
    """Start the same in a process, or ranks, of its own."""
    command, environment = ([sys.executable], dict(os.environ)) if ranks == 0 else launcher(ranks)
    program = [*command, "-m", "benchmarks.mpi", "--measure", "--grains", grains, "--steps", steps]
    program += ["--alone"] * (ranks == 0)
    environment |= {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    root = Path(__file__).parents[1]
    words, pipe = [str(word) for word in program], subprocess.PIPE
    return subprocess.Popen(words, cwd=root, env=environment, stdout=pipe, stderr=pipe, text=True)


def ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    """What it has measured."""
    output, errors = process.communicate()
    if process.returncode:
        raise SystemExit(errors)
    found: dict[str, Any] = json.loads(next(line for line in output.splitlines() if line[:1] == "{"))
    return found


def side_by_side(count: int, grains: int, steps: int, repeats: int) -> float:
    """How much more so many processes do than one, each with its share of the grains and none of the others.

    They share the machine alone, its memory and what its cores have in common: ranks cannot do better.
    """
    share = grains // count
    alone = min(ended(started(0, share, steps))["wall"] for _ in range(repeats))
    teams = ([started(0, share, steps) for _ in range(count)] for _ in range(repeats))
    together = min(max(ended(process)["wall"] for process in team) for team in teams)
    return count * alone / together


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="clapas bench mpi", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--grains", type=int, default=50_000)
    parser.add_argument("--ranks", default="1,2", help="numbers of ranks, with commas")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.measure:
        result = measured(given.grains, given.steps, given.alone)
        if given.alone or world().rank == 0:
            print(json.dumps({name: float(value) for name, value in result.items()}), flush=True)
        return 0
    assert not is_launched(), "start this without mpirun: it starts its own ranks"
    counts = [0, *(int(word) for word in given.ranks.split(","))]
    best: dict[int, dict[str, Any]] = {}
    for _ in range(given.repeats):
        for count in counts:
            found = ended(started(count, given.grains, given.steps))
            before = best.get(count, found)
            best[count] = found | {each: min(found[each], before[each]) for each in ("wall", "busy", "own")}
    print(machine.describe())
    print(table(best, given.grains))
    if (most := max(counts)) > 1:
        bound = side_by_side(most, given.grains, given.steps, given.repeats)
        print(f"\n{most} runs side by side, which share nothing but the machine: × {bound:.2f} of one")
    return 0


def table(best: dict[int, dict[str, Any]], grains: int) -> str:
    """The results, and their ratios to the run without MPI."""
    alone = best[0]
    rows = []
    for count, found in best.items():
        rows.append(
            [
                "without MPI" if count == 0 else str(count),
                f"{found['contacts']:.0f}",
                f"{found['sweeps']:.1f}",
                f"{1e3 * found['wall']:.0f}",
                f"{1e3 * found['busy']:.0f}",
                f"{1e3 * found['own']:.0f}",
                f"{alone['wall'] / found['wall']:.2f}",
                f"{alone['own'] / found['own']:.2f}",
                f"{found['memory'] / grains / 1e3:.2f}",
                f"{found['copies']:.0f}",
                f"{found['bytes'] / 1e3:.0f}",
            ]
        )
    header = [
        "ranks",
        "contacts",
        "sweeps a step",
        "wall (ms)",
        "busy (ms)",
        "own (ms)",
        "gain",
        "gain by own",
    ]
    return markdown_table([*header, "kB a grain", "copies", "kB sent a step"], rows)


if __name__ == "__main__":
    sys.exit(main())
