"""The portfolio against single methods on hyperstatic structures, at 1e-8.

    python -m benchmarks.hyperstatic --limit 10 --out results        # or: clapas bench hyperstatic
    python -m benchmarks.hyperstatic --most 500                      # structures of at most 500 contacts

Every structure of :mod:`benchmarks.structures` is solved from its own guess by ``Auto`` and by single
methods. Residuals are recomputed from the data; seconds are those of the processor. A CSV file keeps the
runs, and a second call completes it. What ``Auto`` does not solve is listed with the best residual of all
methods and what is known on whether a solution exists.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import median

from benchmarks.structures import Snapshot, Structure, get, structures
from clapas.problems import existence
from clapas.solvers import Progress, registry, solve
from clapas.studies.report import markdown_table

METHODS = ("auto", "interior-point", "proximal-point", "nsgs", "accelerated-projection")
PORTFOLIO = METHODS[0]
TOL = 1e-8
SHORT = 0.2  # seconds; shorter runs are repeated
REPEATS = 3


@dataclass(frozen=True)
class Run:
    """One method on one structure."""

    family: str
    structure: str
    contacts: int
    method: str
    status: str
    residual: float
    seconds: float
    by: str  # the member of the portfolio that arrived

    @property
    def is_solved(self) -> bool:
        """The residual, recomputed, is within the tolerance."""
        return self.residual <= TOL

    @property
    def is_honest(self) -> bool:
        """The method said what the residual says."""
        return (self.status == "SOLVED") == self.is_solved


def measure(structure: Structure, snapshot: Snapshot, method: str, limit: float) -> Run:
    """Run a method from the guess of a snapshot and measure its answer; the best of some repeats if short."""
    problem, guess = snapshot
    solver = registry.make(method, tol=TOL, max_iterations=10**9)
    seconds = math.inf
    for _ in range(REPEATS):
        start = time.process_time()
        end = start + limit  # by the processor: a busy machine must not decide who arrives

        def is_late(_: Progress, end: float = end) -> bool:
            return time.process_time() > end

        solution = solve(problem, solver, guess, check=False, progress=is_late)
        seconds = min(seconds, time.process_time() - start)
        if seconds > SHORT:
            break
    return Run(
        family=structure.family,
        structure=structure.name,
        contacts=problem.n_contacts,
        method=method,
        status=solution.status.name,
        residual=problem.residual(solution.r),
        seconds=seconds,
        by=_arrived(solution.notes) if method == PORTFOLIO else method,
    )


def _arrived(notes: Sequence[str]) -> str:
    """The member of the portfolio with the smallest residual; the first one if it was alone."""
    reached = {}
    for note in notes:
        name, _, rest = note.rpartition(": ")
        if "residual " in rest:
            reached[name.rpartition(": ")[2]] = float(rest.split("residual ")[1].split(",")[0])
    return (
        min(reached, key=reached.__getitem__) if reached else (notes[0].split(":")[0] if notes else "guess")
    )


# ------------------------------------------------------------------------------------------ reports


def by_family(runs: Sequence[Run]) -> str:
    """A table of families and methods: structures solved, and the median of the seconds."""
    methods = list(dict.fromkeys(run.method for run in runs))
    lines = []
    for family in (*dict.fromkeys(run.family for run in runs), "all"):
        cells = []
        for method in methods:
            mine = [run for run in runs if run.method == method and family in (run.family, "all")]
            times = [run.seconds for run in mine if run.is_solved]
            cells.append(f"{len(times)}/{len(mine)}" + (f" {median(times):.2g} s" if times else ""))
        lines.append([family, *cells])
    return markdown_table(["", *methods], lines)


def by_structure(runs: Sequence[Run]) -> str:
    """A table of structures and methods: seconds if solved, else (the residual reached)."""
    methods = list(dict.fromkeys(run.method for run in runs))
    found = {(run.structure, run.method): run for run in runs}
    lines = []
    for structure, contacts in dict.fromkeys((run.structure, run.contacts) for run in runs):
        mine = [found.get((structure, method)) for method in methods]
        portfolio = found.get((structure, PORTFOLIO))
        lines.append(
            [structure, f"{contacts}", *(_cell(run) for run in mine), portfolio.by if portfolio else "–"]
        )
    return markdown_table(["structure", "contacts", *methods, "auto arrived by"], lines)


def _cell(run: Run | None) -> str:
    if run is None:
        return "–"
    return f"{run.seconds:.2g} s" if run.is_solved else f"({run.residual:.0e})"


def unsolved(runs: Sequence[Run], advice: dict[str, str]) -> str:
    """What the portfolio did not solve: the best residual of any method, and what is known on existence."""
    left = [run for run in runs if run.method == PORTFOLIO and not run.is_solved]
    if not left:
        return "The portfolio solved all of them."
    lines = []
    for run in left:
        best = min((other for other in runs if other.structure == run.structure), key=lambda r: r.residual)
        reason = advice.get(run.structure, "")
        lines.append([run.structure, run.status, f"{best.residual:.1e}", best.method, reason])
    return markdown_table(["structure", "auto ended", "best residual", "by", "existence"], lines)


def report(runs: Sequence[Run], advice: dict[str, str], limit: float) -> str:
    """All tables."""
    false = sum(not run.is_honest for run in runs)
    return "\n\n".join(
        (
            f"Residual at most {TOL:g}, recomputed from the data; {limit:g} s for each run, ten times as "
            "long for `auto`; processor seconds. In each family: structures solved, median of the times. "
            f"Runs whose status is not what the residual says: {false}.",
            by_family(runs),
            "By structure: seconds where the residual is reached, else (the residual that was).",
            by_structure(runs),
            unsolved(runs, advice),
        )
    )


# ------------------------------------------------------------------------------------------ command


def read(path: Path) -> list[Run]:
    """Runs of an earlier call."""
    if not path.is_file():
        return []
    kinds = {"contacts": int, "residual": float, "seconds": float}
    with path.open(newline="") as file:
        return [
            Run(**{key: kinds.get(key, str)(value) for key, value in row.items()})
            for row in csv.DictReader(file)
        ]


def keep(path: Path, run: Run) -> None:
    """Append one run."""
    is_new = not path.is_file()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Run)])
        if is_new:
            writer.writeheader()
        writer.writerow(asdict(run))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and write its report."""
    options = _options(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    table = options.out / "structures.csv"
    runs = {(run.structure, run.method): run for run in read(table)}
    chosen = [s for s in structures() if any(part in s.name for part in options.only)]
    _compile(options.methods)
    for structure in chosen:
        if all((structure.name, method) in runs for method in options.methods):
            continue
        snapshot = structure.snapshot()
        if snapshot.problem.n_contacts > options.most:
            continue
        for method in options.methods:
            if (structure.name, method) not in runs:
                limit = 10.0 * options.limit if method == PORTFOLIO else options.limit
                run = measure(structure, snapshot, method, limit)
                keep(table, run)
                runs[structure.name, method] = run
                print(
                    f"{structure.name:36s} {run.contacts:5d} {method:24s} {_cell(run)} {run.by}", flush=True
                )
    names = [structure.name for structure in chosen]
    kept = sorted((r for r in runs.values() if r.structure in names), key=lambda r: names.index(r.structure))
    (options.out / "structures.md").write_text(report(kept, _advice(kept, chosen), options.limit) + "\n")
    print(f"\n{by_family(kept)}\n\nThe report is in {options.out}.")
    return 0


def _compile(methods: Iterable[str]) -> None:
    """Let every method load its kernels, in the plane and in space, before the clock counts."""
    for name in ("arch-50x1", "wall-running-4x4"):
        structure = get(name)
        snapshot = structure.snapshot()
        for method in methods:
            measure(structure, snapshot, method, limit=120.0)


def _advice(runs: Iterable[Run], chosen: Sequence[Structure]) -> dict[str, str]:
    """What is known on the existence of a solution of what the portfolio did not solve."""
    left = {run.structure for run in runs if run.method == PORTFOLIO and not run.is_solved}
    return {s.name: existence.advice(s.snapshot().problem) for s in chosen if s.name in left}


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="clapas bench hyperstatic", description="Auto on structures.")
    add = parser.add_argument
    add("--only", nargs="*", default=[""], help="parts of the names of the structures to run")
    add("--methods", nargs="*", default=list(METHODS), help="names, as 'clapas solvers' lists them")
    add(
        "--limit",
        type=float,
        default=10.0,
        help="seconds allowed per run; the portfolio has ten times as long",
    )
    add("--most", type=int, default=10**9, help="most contacts of a structure")
    add("--out", type=Path, default=Path("bench-hyperstatic"), help="folder of the results")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
