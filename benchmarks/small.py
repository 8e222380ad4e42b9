"""Small problems: what a call of ``solve`` costs, against another version of the package in the same run.

    python -m benchmarks.small --files FOLDER --reference OTHER-CHECKOUT/src        # or: clapas bench small

Every file of a folder with fewer than ``--most`` contacts is solved at 1e-8 from zero by the default
solver, kernels loaded. Each version runs in a process of its own; they take turns, and the best processor
time of each is kept. Answers are measured by the judge of the version that found them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from clapas.studies.report import markdown_table

TOL = 1e-8
REPEATS = 30
LONG = 0.1  # seconds after which a file is not repeated
ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Timing:
    """The best time of a version on one file."""

    contacts: int
    form: str
    status: str
    seconds: float


def times(folder: Path, most: int) -> dict[str, Timing]:
    """Solve the files of a folder with the package that is imported."""
    from clapas.io import read_problem
    from clapas.solvers import Auto, solve

    found = {}
    for path in sorted(folder.iterdir()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a matrix that is not quite symmetric is used as given
            problem = read_problem(path)
            if problem.n_contacts >= most:
                continue
            solve(problem, Auto(tol=TOL), check=False)  # loads the kernels
            best = float("inf")
            for _ in range(REPEATS):
                start = time.process_time()
                solution = solve(problem, Auto(tol=TOL), check=False)
                best = min(best, time.process_time() - start)
                if best > LONG:
                    break
        found[path.name] = Timing(problem.n_contacts, problem.form, solution.status.name, best)
    return found


def elsewhere(source: Path, folder: Path, most: int) -> dict[str, Timing]:
    """The same with the package of a source folder, in a process of its own."""
    environment = os.environ | {"PYTHONPATH": f"{source}{os.pathsep}{ROOT}"}
    command = [
        sys.executable,
        "-m",
        "benchmarks.small",
        "--files",
        str(folder),
        "--most",
        str(most),
        "--json",
    ]
    answer = subprocess.run(command, env=environment, cwd=ROOT, check=True, capture_output=True, text=True)
    given: dict[str, dict[str, Any]] = json.loads(answer.stdout)
    return {name: Timing(**timing) for name, timing in given.items()}


def table(ours: dict[str, Timing], reference: dict[str, Timing]) -> str:
    """Milliseconds of both and their ratio."""
    lines = []
    for name, mine in ours.items():
        other = reference.get(name)
        cells = [f"{1e3 * other.seconds:.2f}", f"{mine.seconds / other.seconds:.2f}"] if other else ["–", "–"]
        lines.append([name, f"{mine.contacts}", mine.form, mine.status, f"{1e3 * mine.seconds:.2f}", *cells])
    return markdown_table(["file", "contacts", "form", "status", "ms", "reference ms", "ratio"], lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Time both versions and print the table."""
    options = _options(arguments)
    if options.json:
        print(json.dumps({name: vars(timing) for name, timing in times(options.files, options.most).items()}))
        return 0
    sources = {"ours": ROOT / "src"} | ({"reference": options.reference} if options.reference else {})
    best: dict[str, dict[str, Timing]] = {version: {} for version in sources}
    for _ in range(options.rounds):
        for version, source in sources.items():
            for name, timing in elsewhere(source, options.files, options.most).items():
                known = best[version].get(name)
                best[version][name] = min(known or timing, timing, key=lambda t: t.seconds)
    ours, reference = best["ours"], best.get("reference", {})
    print(table(ours, reference))
    if reference:
        ratios = [mine.seconds / reference[name].seconds for name, mine in ours.items() if name in reference]
        print(f"\nmedian ratio {median(ratios):.2f}, faster on {sum(r < 1 for r in ratios)} of {len(ratios)}")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="clapas bench small", description="The cost of small problems.")
    add = parser.add_argument
    add("--files", type=Path, required=True, help="folder of FCLib or Siconos files")
    add("--reference", type=Path, help="source folder of another version of the package")
    add("--most", type=int, default=300, help="contacts from which a problem is not small")
    add("--rounds", type=int, default=3, help="turns of each version")
    add("--json", action="store_true", help="time this version alone, for machines")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
