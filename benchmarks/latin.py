"""Micro-macro LATIN on tensegrity grids: seconds after set-up, cost of an iteration, threads, memory, rivals.

Run as ``python -m benchmarks.latin`` or ``clapas bench latin``; ``--large`` adds 32 × 32 and 64 × 64 modules.
Substructures of 4 × 4 modules, defaults of the method, loads of equal bending (13 % of slack cables). Seconds
of the processor, the best of some runs. Threads are timed by the clock, in turns, which needs a machine that
does nothing else; beside it stands what two threads could reach by the processor's time: one thread's over
that of the longest path through two, the caller's own work and the busier thread of each shared call. The
share that one thread does alone bounds it by Amdahl's law. Newton's method with a direct solver and with a
Krylov solver on the same partition stand beside it, in the same run.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from clapas.bodies.trusses.generators import grid
from clapas.compiled.threads import one_blas_thread
from clapas.multiscale import MicroMacroLATIN
from clapas.multiscale.measures import SlackDistance
from clapas.multiscale.newton_krylov import NewtonKrylov
from clapas.multiscale.team import one_by_one
from clapas.statics.trusses import SmallDisplacements, link_problem, module_blocks
from clapas.studies.report import markdown_table

FINE = 1e-4  # η of section 5.2.1, between slack lengths
TARGETS = {16: "≤ 1 s to η = 1e-4", 64: "≤ 20 s to 1 %"}
HEADER = [
    "modules",
    "substructures",
    "set-up",
    "to e = 1 %",
    "iterations",
    "to η = 1e-4",
    "iterations to η",
    "ms per iteration",
    "µs per iteration and module",
    "2 threads, clock",
    "longest path",
    "serial share",
    "Newton, direct",
    "Newton, Krylov",
    "target",
]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What it gives, and processor seconds."""
    began = time.process_time()
    found = work()
    return found, time.process_time() - began


def row(n: int, repeats: int) -> list[str]:
    """One size of grid."""
    truss = grid(n, load=40.0 * (16.0 / n) ** 2)
    problem, labels = link_problem(truss, "down"), module_blocks(truss, n, n // 4)
    exact, direct = timed(lambda: SmallDisplacements().solve(truss, "down"))
    reference = exact.displacements.ravel()
    whole, setup = timed(lambda: MicroMacroLATIN().prepare(problem, labels))
    rough, first = timed(lambda: whole.run(100, reference=reference, goal=0.01))
    distance = SlackDistance(problem)
    slack = distance.slack(problem.B @ reference)
    needed = _iterations_to(whole, lambda: distance(distance.slack(whole.e_hat), slack) < FINE)
    best, fine = float("inf"), float("inf")
    for _ in range(repeats):
        whole.reset()
        best = min(best, timed(lambda: whole.iterate(20))[1] / 20)
        if needed and n <= 16:
            whole.reset()
            fine = min(fine, timed(lambda: whole.iterate(needed))[1])
    krylov = timed(lambda: NewtonKrylov(krylov_tol=1e-4).solve(problem, labels))[1] if n <= 16 else None
    speedup, serial = _two_threads(problem, labels, repeats), _serial_share(whole)
    return [
        f"{n} × {n}", f"{whole.n_parts}", f"{setup:.2f} s", f"{first:.2f} s", f"{rough.iterations_to(0.01)}",
        _seconds(needed, fine if n <= 16 else best * (needed or 0)), str(needed or "not in 400"),
        f"{1e3 * best:.2f}", f"{1e6 * best / n**2:.1f}", f"× {speedup:.2f}",
        f"× {_longest_path(whole, repeats):.2f}", f"{100 * serial:.0f} %",
        f"{direct:.2f} s", "-" if krylov is None else f"{krylov:.2f} s", TARGETS.get(n, "-"),
    ]  # fmt: skip


def _iterations_to(whole: Any, reached: Callable[[], bool], most: int = 400) -> int | None:
    """Iterations until a measure of the local stage is reached, looked at every fifth; None if it is not."""
    whole.reset()
    while whole.iterations < most:
        whole.iterate(5)
        if reached():
            return int(whole.iterations)
    return None


def _seconds(needed: int | None, spent: float) -> str:
    return f"{spent:.2f} s" if needed else "-"


def _two_threads(problem: Any, labels: Any, repeats: int) -> float:
    """How much faster two threads are, by the clock; runs take turns and the best of each counts.

    Long runs, as those people do: threads are started once for each.
    """
    runs = {count: MicroMacroLATIN(threads=count).prepare(problem, labels) for count in (1, 2)}
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(repeats):
        for count, whole in runs.items():
            began = time.perf_counter()
            whole.iterate(40)
            best[count] = min(best[count], time.perf_counter() - began)
    return best[1] / best[2]


def _longest_path(whole: Any, repeats: int, iterations: int = 20) -> float:
    """Processor time of an iteration by one thread over that of the longest path through two.

    Every thread reads its own clock of processor time, so that others on the machine do not count; waiting
    for each other at the end of a call does, since the busier of the two is taken.
    """
    best = float("inf")
    alone = float("inf")
    with one_blas_thread(), ThreadPoolExecutor(1) as other:
        for _ in range(repeats):
            crew, began = whole.crew(), time.thread_time()
            whole.advance(iterations, crew)
            alone = min(alone, time.thread_time() - began)
            path = 0.0

            def share(members: Sequence[Any]) -> Callable[..., list[Any]]:
                half = (len(members) + 1) // 2
                teams = one_by_one(members[:half]), one_by_one(members[half:])

                def call(method: str, *given: Sequence[Any]) -> list[Any]:
                    nonlocal path
                    first, second = (
                        tuple(each[run] for each in given) for run in (slice(half), slice(half, None))
                    )
                    later = other.submit(_with_time, teams[1], method, *second)
                    mine, spent = _with_time(teams[0], method, *first)
                    theirs, busy = later.result()
                    path += max(0.0, busy - spent)  # the caller's clock has its own part already
                    return [*mine, *theirs]

                return call

            crew, began = whole.crew(2, share), time.thread_time()
            whole.advance(iterations, crew)
            best = min(best, path + time.thread_time() - began)
    return alone / best


def _with_time(team: Callable[..., list[Any]], *call: Any) -> tuple[list[Any], float]:
    began = time.thread_time()
    return team(*call), time.thread_time() - began


def _serial_share(whole: Any, iterations: int = 20) -> float:
    """Share of the processor time of an iteration outside the calls that a team shares."""
    inside = 0.0

    def share(parts: Sequence[Any]) -> Callable[..., list[Any]]:
        alone = one_by_one(parts)

        def call(*arguments: Any) -> list[Any]:
            nonlocal inside
            began = time.process_time()
            found = alone(*arguments)
            inside += time.process_time() - began
            return found

        return call

    crew, began = whole.crew(2, share), time.process_time()
    whole.advance(iterations, crew)
    return 1.0 - inside / (time.process_time() - began)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--large", action="store_true", help="add 32 × 32 and 64 × 64 modules")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args(argv)
    rows = []
    for n in (8, 16, *((32, 64) if options.large else ())):
        rows.append(row(n, options.repeats))
        print(" ".join(rows[-1]), flush=True)
    print(markdown_table(HEADER, rows))
    print(f"largest memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
