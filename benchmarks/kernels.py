"""How fast the sweeps of NSGS are, against the memory of the machine and against C.

    python -m benchmarks.kernels                       # 2 000, 20 000 and 200 000 contacts
    python -m benchmarks.kernels --quick               # a minute, smaller
    python -m benchmarks.kernels --sizes 2000 --json results.json

For random packings of spheres, each form (bodies, delassus), order (given, coloured), local solver and
number of threads is timed in turn with a scalar C reference on the same data, a loop that only reads the
data, and the memory alone. The C code is compiled at run time; without a compiler its columns stay empty.
Iterates of C and clapas must agree: a benchmark of different answers would mean nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from benchmarks import machine, startup
from benchmarks.layouts import LOCALS, Layout, held_bytes, layouts
from benchmarks.reading import bandwidth_run, loop_run
from benchmarks.reference import Reference, built_reference
from benchmarks.results import NOTES, Row, kernel_table, startup_table, write_json
from benchmarks.timing import Run, seconds_per_sweep
from clapas.compiled import config
from clapas.problems.gallery import sphere_packing
from clapas.solvers.local import LocalSolver
from clapas.solvers.loop import Iteration
from clapas.typing import Array

SIZES = (2_000, 20_000, 200_000)
COMPARED = 10  # sweeps after which C and clapas are compared
MEASURED = 100  # sweeps after which the residual is taken
AGREEMENT = 1e-9
VISITS = 1_000_000  # contact updates per timed run, at least TIMED sweeps
TIMED = 10

Key = tuple[str, LocalSolver | None, int]


def measure(layout: Layout, repeats: int, visits: int) -> list[Row]:
    """Rows of one layout: every local solver and number of threads, timed in turn."""
    n = layout.problem.n_contacts
    ours = {(local, t): layout.ours(local, t) for local in LOCALS for t in layout.threads}
    rivals = {key: layout.rival(*key) for key in ours} if layout.rival else {}
    differences = {key: _compare(ours[key], rivals[key]) for key in rivals}
    residuals = {}
    for key, iteration in ours.items():
        iteration.advance(MEASURED - (COMPARED if rivals else 0))
        residuals[key] = layout.problem.residual(iteration.impulses())
        if rivals:
            rivals[key].advance(MEASURED - COMPARED)  # in step with ours: equal states cost equal work
    runs: dict[Key, Run] = {}
    for threads in layout.threads:
        runs["memory", None, threads] = Run(bandwidth_run(layout.footprint, threads), threads)
        runs["loop", None, threads] = Run(loop_run(layout.reader, layout.n_items, threads), threads)
    for name, iterations in (("ours", ours), ("C", rivals)):
        runs |= {(name, *key): Run(iteration.advance, key[1]) for key, iteration in iterations.items()}
    seconds = seconds_per_sweep(runs, max(TIMED, visits // max(n, 1)), repeats)
    return [
        Row(
            contacts=n,
            form=layout.form,
            order=layout.order,
            local=type(local).__name__,
            threads=threads,
            rate=n / seconds["ours", local, threads],
            bytes_per_contact=layout.bytes_per_contact,
            bandwidth=layout.footprint / seconds["memory", None, threads],
            loop_rate=n / seconds["loop", None, threads],
            c_rate=n / seconds["C", local, threads] if rivals else None,
            difference=differences.get((local, threads)),
            residual=residuals[local, threads],
            held_bytes=held_bytes(ours[local, threads]) / n,
        )
        for local, threads in ours
    ]


def _compare(ours: Iteration, rival: Iteration) -> float:
    """Largest difference after some sweeps, relative to the largest impulse; refuse a large one."""
    ours.advance(COMPARED)
    rival.advance(COMPARED)
    difference = relative_difference(ours.impulses(), rival.impulses())
    if not difference < AGREEMENT:
        raise RuntimeError(
            f"C and clapas differ by {difference:.1e} after {COMPARED} sweeps; expected at most {AGREEMENT}"
        )
    return difference


def relative_difference(a: Array, b: Array) -> float:
    """Largest difference of two arrays over the largest entry."""
    return float(np.max(np.abs(a - b), initial=0.0) / max(np.max(np.abs(b), initial=0.0), 1e-300))


def benchmark(
    sizes: Iterable[int], reference: Reference | None, threads: int, repeats: int, visits: int
) -> Iterator[Row]:
    """Rows of every size, as they are measured."""
    if reference:
        threads = min(threads, reference.threads)
    for size in sizes:
        problem = sphere_packing(size).problem
        for layout in layouts(problem, reference, threads):
            yield from measure(layout, repeats, visits)


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels", description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=_sizes, default=None, help="numbers of contacts, e.g. 2000,20000")
    parser.add_argument("--repeats", type=int, default=None, help="timed runs of each kernel (default 9)")
    parser.add_argument("--threads", type=int, default=2, help="most threads (default 2)")
    parser.add_argument(
        "--quick", action="store_true", help="2000 and 20000 contacts, 3 repeats, no cold start"
    )
    parser.add_argument("--no-startup", action="store_true", help="leave out import and compile times")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers to a file as well")
    return parser.parse_args(argv)


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in text.split(","))


def main(argv: list[str] | None = None) -> int:
    """Measure, print the tables, write the file; return the exit code."""
    given = _arguments(argv)
    sizes = given.sizes or (SIZES[:2] if given.quick else SIZES)
    repeats = given.repeats or (3 if given.quick else 9)
    threads = max(1, min(given.threads, int(config.NUMBA_NUM_THREADS)))
    here = machine.describe()
    print("\n".join(here.lines()))
    rows: list[Row] = []
    with built_reference() as reference:
        print(f"reference: {reference.command if reference else 'no C compiler found'}")
        print(f"sizes: {', '.join(map(str, sizes))} contacts; best of {repeats}; up to {threads} threads\n")
        for row in benchmark(sizes, reference, threads, repeats, VISITS // 4 if given.quick else VISITS):
            rows.append(row)
            print(f"  {row.contacts} {row.form} {row.order} {row.local} {row.threads}", file=sys.stderr)
    print(kernel_table(rows))
    print("\n" + NOTES.format(compared=COMPARED, measured=MEASURED))
    fresh = None if given.quick or given.no_startup else startup.measure(3)
    if fresh:
        print("\n" + startup_table(fresh))
    if given.json:
        write_json(given.json, here, reference.command if reference else None, rows, fresh)
    return 0


if __name__ == "__main__":
    sys.exit(main())
