"""Separation: the decomposition of a deepest cut, and what warm starts of its linear programs are worth.

Run as ``python -m benchmarks.cuts`` or ``clapas bench cuts``. For each size: seconds of a complete
decomposition (intersection cut, most violated cut, Wolfe's method), then the questions that Wolfe asked, put
to the same linear program twice, each time from the last basis and each time from nothing. Answers must
agree. Seconds are those of the processor, the best of some repeats.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np

from clapas.convex.min_norm_point import Extreme, min_norm_point_of
from clapas.cuts import decompose, least_normalisation
from clapas.cuts.disjunction import Disjunction
from clapas.cuts.facets import TOLERANCE
from clapas.cuts.instances import dense_program
from clapas.cuts.most_violated import most_violated_cut
from clapas.cuts.program import CutProgram
from clapas.studies.cuts import FACTOR, split_of
from clapas.studies.report import markdown_table
from clapas.typing import Array

HEADER = [
    "n",
    "pieces",
    "calls",
    "decomposition s",
    "warm ms/call",
    "cold ms/call",
    "ratio",
    "pivots warm",
    "cold",
]


def questions(disjunction: Disjunction) -> list[Array]:
    """The directions in which Wolfe's method asks for extreme points."""
    N = FACTOR * least_normalisation(disjunction)
    program, asked = CutProgram(disjunction, N), []

    def oracle(x: Array) -> Extreme:
        asked.append(x.copy())
        return program.oracle(x)

    min_norm_point_of(oracle, most_violated_cut(disjunction, N=N).d, tol=TOLERANCE)
    return asked


def put(disjunction: Disjunction, asked: list[Array], warm: bool) -> tuple[float, int, list[float]]:
    """Seconds and pivots per question, and the answers."""
    program = CutProgram(disjunction, FACTOR * least_normalisation(disjunction))
    program.solve(program.costs(asked[0]))
    program.pivots, values = 0, []
    start = time.process_time()
    for x in asked:
        if not warm:
            program.program.forget()
        values.append(float(x @ program.solve(program.costs(x))[0].d))
    return (time.process_time() - start) / len(asked), program.pivots // len(asked), values


def measure(n: int, repeats: int) -> list[str]:
    """A row of the table."""
    disjunction = split_of(dense_program(n, 0))
    found = decompose(disjunction, factor=FACTOR)
    whole = _best(lambda: decompose(disjunction, factor=FACTOR), repeats)
    asked = questions(disjunction)
    warm, cold = (
        min((put(disjunction, asked, each) for _ in range(repeats)), key=lambda m: m[0])
        for each in (True, False)
    )
    agree = np.allclose(warm[2], cold[2], rtol=1e-6)
    return [
        str(n),
        str(len(found.pieces)),
        str(found.calls),
        f"{whole:.3f}",
        f"{1e3 * warm[0]:.2f}",
        f"{1e3 * cold[0]:.2f}",
        f"{cold[0] / warm[0]:.1f}" if agree else "ANSWERS DIFFER",
        str(warm[1]),
        str(cold[1]),
    ]


def _best(run: Callable[[], object], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return min(seconds)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(prog="benchmarks.cuts", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 50, 90], help="variables")
    parser.add_argument("--repeats", type=int, default=3, help="of which the best counts")
    options = parser.parse_args(arguments)
    print(markdown_table(HEADER, [measure(n, options.repeats) for n in options.sizes]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
