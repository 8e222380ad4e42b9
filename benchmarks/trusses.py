"""Statics of tensegrity grids: seconds, factorisations and memory against the size.

Run as ``python -m benchmarks.trusses`` or ``clapas bench trusses``; ``--large`` adds 64 × 64 modules (49 152
cables). Seconds are those of the processor, the best of some runs; loads are scaled so that every grid has
the same bending (13 % of slack cables). The reference in the same run is one factorisation of the stiffness
matrix with all cables tight: what no method that solves equilibrium can do without.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Sequence

from clapas.bodies.trusses import Assembly
from clapas.bodies.trusses.generators import grid
from clapas.linalg.factor import factorise
from clapas.statics.trusses import LargeDisplacements, SmallDisplacements
from clapas.studies.report import markdown_table

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


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--large", action="store_true", help="add 32 × 32 and 64 × 64 modules")
    parser.add_argument("--repeats", type=int, default=5)
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
    print(f"largest memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
