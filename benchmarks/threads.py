"""What further cores bring to a whole time step of spheres at rest in a box.

    python -m benchmarks.threads                        # 10 000 spheres, one thread and two
    python -m benchmarks.threads --spheres 100000 --threads 1,2,4

One packing is brought to rest (see ``benchmarks.packings``); its steps then go on in batches, the numbers of
threads in turn, so that a disturbance of the machine meets all of them alike. No frame is written. Results do
not depend on the number of threads, so that every batch goes on where the one before has ended.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from dataclasses import dataclass, field

from benchmarks import machine, packings
from benchmarks.scenes import DT, TOL, UNTIMED
from clapas.compiled import limited_threads
from clapas.dynamics import stepping
from clapas.dynamics.neighbours import Neighbours
from clapas.solvers import NSGS
from clapas.studies.report import markdown_table

BATCH = 40  # steps
WARM = 4  # steps after a change of threads that are not timed


@dataclass
class Packing:
    """Spheres on their way, and the seconds per step of each batch by number of threads."""

    spheres: int
    contacts: float = 0.0
    seconds: dict[int, list[float]] = field(default_factory=dict)

    def measure(self, threads: list[int], rounds: int) -> None:
        """Bring the packing to rest, then time batches of steps with each number of threads in turn."""
        model = packings.spheres(self.spheres)
        neighbours, solver = Neighbours(model), NSGS(tol=TOL)
        with limited_threads(max(threads), self.spheres):
            state = packings.at_rest(model, neighbours)
        self.seconds = {size: [] for size in threads}
        for turn in range(-max(1, UNTIMED // (BATCH * len(threads))), rounds):
            for size in threads:
                with limited_threads(size, self.spheres):
                    for number in range(WARM + BATCH):
                        if number == WARM:
                            start = time.perf_counter()
                        done = stepping.step(model, state, DT, solver, None, neighbours)
                        state = done.state
                    spent = (time.perf_counter() - start) / BATCH
                if turn >= 0:
                    self.seconds[size].append(spent)
        self.contacts = len(done.problem.contacts)

    def table(self) -> str:
        """Milliseconds of a step, best and median, and those of the first row over them."""
        first = next(iter(self.seconds.values()))
        rows = []
        for size, spent in self.seconds.items():
            best, median = min(spent), statistics.median(spent)
            gained = f"{min(first) / best:.2f}", f"{statistics.median(first) / median:.2f}"
            rows.append([f"{size}", f"{1e3 * best:.2f}", f"{1e3 * median:.2f}", *gained])
        return markdown_table(["threads", "best ms", "median ms", "× (best)", "× (median)"], rows)


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.threads", description=__doc__.splitlines()[0])
    parser.add_argument("--spheres", type=int, default=10_000, help="how many (default 10000)")
    parser.add_argument("--threads", default="1,2", help="numbers of threads, e.g. 1,2,4 (default 1,2)")
    parser.add_argument("--rounds", type=int, default=20, help=f"batches of {BATCH} steps (default 20)")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Measure and print the table; return the exit code."""
    given = _arguments(argv)
    print("\n".join(machine.describe().lines()))
    packing = Packing(given.spheres)
    packing.measure([int(size) for size in given.threads.split(",")], given.rounds)
    print(f"{packing.spheres} spheres, {packing.contacts} contacts, steps of {DT} s, NSGS(tol={TOL})\n")
    print(packing.table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
