"""The exact solver of last resort: families of problems by size, with nodes, seconds and what was found.

Run as ``python -m benchmarks.exact`` or ``clapas bench exact``. Next to branch and bound runs plain
enumeration of all choices of modes, in the plane and where there are few enough of them; answers must agree.
Seconds are those of the processor, so that other jobs hardly matter.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from clapas.problems import ContactProblem, gallery
from clapas.solvers import enumerate_solutions
from clapas.solvers.branch_and_bound import BranchAndBound, search, verify
from clapas.studies.report import markdown_table

ENUMERATED = 8  # contacts up to which all choices of modes are tried
HEADER = ["family", "contacts", "seed", "found", "nodes", "seconds", "enumeration", "ratio"]


@dataclass(frozen=True)
class Family:
    """Problems of one kind, by number of contacts and seed."""

    name: str
    sizes: tuple[int, ...]
    make: Callable[[int, int], ContactProblem]


def rough(systems: int, degrees: int, friction: float, d: int) -> Callable[[int, int], ContactProblem]:
    """Contacts on a few random systems, with so many times the friction of the random family."""

    def make(n: int, seed: int) -> ContactProblem:
        drawn = gallery.alea(degrees, systems, n, d=d, seed=seed, condition=10.0)
        mu = friction * drawn.mu
        return ContactProblem(M=drawn.M, H=drawn.H, f=drawn.f, w=drawn.w, mu=mu, d=d)

    return make


def sums(odd: int) -> Callable[[int, int], ContactProblem]:
    """Subset sums of even numbers: to a sum of some of them, or to an odd number."""

    def make(n: int, seed: int) -> ContactProblem:
        numbers = [2 * int(number) for number in np.random.default_rng(seed).integers(1, 50, n - 2)]
        return gallery.subset_sum(numbers, sum(numbers[::2]) + odd, max_listed=1).problem

    return make


def in_space(make: Callable[[int, int], ContactProblem]) -> Callable[[int, int], ContactProblem]:
    """The same problems with a second tangent along which nothing moves."""

    def embedded(n: int, seed: int) -> ContactProblem:
        flat = make(n, seed)
        H = np.zeros((n, 3, flat.n_dof))
        H[:, :2] = flat.H.toarray().reshape(n, 2, flat.n_dof)
        w = np.column_stack((flat.w, np.zeros(n)))
        return ContactProblem(M=flat.M, H=H.reshape(3 * n, -1), f=flat.f, w=w, mu=flat.mu)

    return embedded


FAMILIES = (
    Family("plane, 6 systems of 3", (8, 20, 30, 40), rough(6, 3, 4.0, 2)),
    Family("plane, 4 systems of 6", (8, 20, 30, 40), rough(4, 6, 1.0, 2)),
    Family("subset sums, solvable", (8, 20, 30, 40), sums(0)),
    Family("subset sums, odd", (8, 12, 16), sums(1)),
    Family("space, one system of 6", (6, 8, 10), rough(1, 6, 1.0, 3)),
    Family("space, 3 systems of 3", (6, 8, 10), rough(3, 3, 1.0, 3)),
    Family("space, 2 systems of 4, rough", (6, 8, 10), rough(2, 4, 3.0, 3)),
    Family("subset sums in space, odd", (4, 6), in_space(sums(1))),
)


def measure(family: Family, n: int, seed: int, limit: float) -> list[str]:
    """A row of the table."""
    problem = family.make(n, seed)
    start = time.process_time()
    outcome = search(problem, BranchAndBound(time_limit=limit))
    seconds = time.process_time() - start
    found = outcome.solution.status.name
    if outcome.proof is not None and not verify(problem, outcome.proof).accepted:
        found = "WRONG PROOF"
    row = [family.name, str(n), str(seed), found, str(outcome.nodes), f"{seconds:.2f}"]
    if problem.d == 3 or n > ENUMERATED:
        return [*row, "", ""]
    start = time.process_time()
    exists = enumerate_solutions(problem).exists
    plain = time.process_time() - start
    if exists != outcome.solution.status.is_solved:
        row[3] += ", ENUMERATION DISAGREES"
    return [*row, f"{plain:.2f}", f"{plain / seconds:.2g}"]


def rows(seeds: int, limit: float, largest: int) -> Iterator[list[str]]:
    """Rows of all families up to a size."""
    for family in FAMILIES:
        for n, seed in product((n for n in family.sizes if n <= largest), range(seeds)):
            yield measure(family, n, seed, limit)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(prog="benchmarks.exact", description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="problems of each kind and size")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for each problem")
    parser.add_argument("--largest", type=int, default=40, help="contacts")
    options = parser.parse_args(arguments)
    search(gallery.get("painleve-down-none").problem)  # compile before the clock counts
    search(in_space(sums(1))(4, 0))
    table = []
    for row in rows(options.seeds, options.limit, options.largest):
        print("  ".join(row), flush=True)
        table.append(row)
    print(f"\n{markdown_table(HEADER, table)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
