"""Every solver on a set of problems: who solves what, how fast, how accurately.

    python -m benchmarks.solvers --files FOLDER --tol 1e-4 1e-8 --limit 10 --out results

Each solver starts from zero on each problem with each tolerance and a time limit. An answer counts if
``problem.residual``, recomputed from the data, is at most the tolerance: what the solver says of itself is
only checked against it. The result is a Markdown report, a CSV file with one row per run, which a second
call completes instead of repeating it, and one performance profile per tolerance.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import median

import numpy as np

from clapas.errors import ProblemError
from clapas.io import read_problem
from clapas.problems import ContactProblem, gallery, reduce
from clapas.solvers import registry, solve
from clapas.studies.report import markdown_table

WARM_UP = ("packing-plane-100", "packing-100", "two-blocks", "painleve-up-one", "alea-756-100-by-36")
SHORT = 0.1  # seconds
FACTOR = 3.0  # times the best time that is called "near the best"


@dataclass(frozen=True)
class Run:
    """One solver on one problem."""

    family: str
    problem: str
    contacts: int
    solver: str
    tol: float
    status: str
    residual: float
    seconds: float
    iterations: int

    @property
    def is_solved(self) -> bool:
        """The measured residual is within the tolerance."""
        return self.residual <= self.tol

    @property
    def is_honest(self) -> bool:
        """The solver said what the residual says."""
        return (self.status == "SOLVED") == self.is_solved

    @property
    def key(self) -> tuple[str, str, float]:
        """What distinguishes runs."""
        return self.problem, self.solver, self.tol


@dataclass(frozen=True)
class Case:
    """A problem with its name and where it comes from."""

    family: str
    name: str
    problem: ContactProblem


def cases(folders: Sequence[Path], families: Sequence[str], least: int) -> Iterator[Case]:
    """Contact problems of the files of some folders and of families of the gallery."""
    for folder in folders:
        for path in sorted(folder.iterdir()):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a matrix that is not quite symmetric is used as given
                case = Case("files", path.name, read_problem(path))
            if case.problem.n_contacts >= least:
                yield case
    for family in families:
        for entry in gallery.all_problems(family):
            if entry.problem.n_contacts >= least and entry.known.exists is not False:
                yield Case(family, entry.name, entry.problem)


def measure(case: Case, solver: str, tol: float, limit: float) -> Run:
    """Run one solver from zero and measure its answer; short runs twice, since the first may load kernels."""
    method = registry.make(solver, tol=tol, time_limit=limit, max_iterations=10**9)
    case.problem.residual(np.zeros_like(case.problem.q))  # what a problem computes once, whoever asks first
    seconds = math.inf
    for _ in range(2):
        start = time.perf_counter()
        try:
            solution = solve(case.problem, method, check=False)
        except ProblemError:  # a method that refuses the problem
            r, status, iterations = np.zeros_like(case.problem.q), "REFUSED", 0
        else:
            r, status, iterations = solution.r, solution.status.name, solution.iterations
        seconds = min(seconds, time.perf_counter() - start)
        if seconds > SHORT:
            break
    return Run(
        family=case.family,
        problem=case.name,
        contacts=case.problem.n_contacts,
        solver=solver,
        tol=tol,
        status=status,
        residual=case.problem.residual(r),
        seconds=seconds,
        iterations=iterations,
    )


# -------------------------------------------------------------------------------------- keeping runs


def read(path: Path) -> list[Run]:
    """Runs of an earlier call."""
    if not path.is_file():
        return []
    kinds = {"contacts": int, "tol": float, "residual": float, "seconds": float, "iterations": int}
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


# ------------------------------------------------------------------------------------------ reports


def summary(runs: Sequence[Run]) -> str:
    """A table of solvers: problems solved, near the best time, dishonest answers."""
    best = best_times(runs)
    lines = []
    for solver in dict.fromkeys(run.solver for run in runs):
        mine = [run for run in runs if run.solver == solver]
        solved = [run for run in mine if run.is_solved]
        near = [run for run in solved if run.seconds <= FACTOR * best[run.problem]]
        false = sum(not run.is_honest for run in mine)
        total = sum(run.seconds for run in mine)
        lines.append([solver, f"{len(solved)}/{len(mine)}", f"{len(near)}", f"{total:.1f}", f"{false}"])
    lines.sort(key=lambda line: -int(line[1].split("/")[0]))
    return markdown_table(
        ["solver", "solved", f"within {FACTOR:g}× of the best", "seconds in all", "false claims"], lines
    )


def by_family(runs: Sequence[Run]) -> str:
    """A table of solvers and families: problems solved, and the median of their times."""
    families = list(dict.fromkeys(run.family for run in runs))
    lines = []
    for solver in dict.fromkeys(run.solver for run in runs):
        cells = []
        for family in families:
            mine = [run for run in runs if run.solver == solver and run.family == family]
            times = [run.seconds for run in mine if run.is_solved]
            middle = f" {1e3 * median(times):.3g} ms" if times else ""
            cells.append(f"{len(times)}/{len(mine)}{middle}")
        lines.append([solver, *cells])
    return markdown_table(["solver", *families], lines)


def best_times(runs: Iterable[Run]) -> dict[str, float]:
    """Shortest time in which any solver solved each problem."""
    best: dict[str, float] = {}
    for run in runs:
        if run.is_solved:
            best[run.problem] = min(run.seconds, best.get(run.problem, math.inf))
    return best


def details(runs: Sequence[Run]) -> str:
    """A table of problems and solvers: seconds if solved, else the residual reached."""
    solvers = list(dict.fromkeys(run.solver for run in runs))
    by_key = {(run.problem, run.solver): run for run in runs}
    lines = []
    for problem, contacts in dict.fromkeys((run.problem, run.contacts) for run in runs):
        cells = [by_key.get((problem, solver)) for solver in solvers]
        lines.append([problem, f"{contacts}", *(_cell(run) for run in cells)])
    return markdown_table(["problem", "contacts", *solvers], lines)


def _cell(run: Run | None) -> str:
    if run is None:
        return "–"
    return f"{run.seconds:.2g} s" if run.is_solved else f"({run.residual:.0e})"


def report(runs: Sequence[Run], limit: float) -> str:
    """Both tables for every tolerance."""
    parts = [
        f"Cold starts, {limit:g} s each. By family: problems solved, median time. By problem: seconds where "
        "the measured residual reached the tolerance, else (the residual reached)."
    ]
    for tol in sorted({run.tol for run in runs}, reverse=True):
        some = [run for run in runs if run.tol == tol]
        parts += [f"## Tolerance {tol:g}", summary(some), by_family(some), details(some)]
    return "\n\n".join(parts) + "\n"


def draw_profile(runs: Sequence[Run], path: Path, tol: float) -> None:
    """Performance profile: fraction of problems solved against time over the best time."""
    from matplotlib.figure import Figure

    best = best_times(runs)
    ratios = np.geomspace(1.0, 1000.0, 200)
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for k, solver in enumerate(dict.fromkeys(run.solver for run in runs)):
        mine = np.array([r.seconds / best[r.problem] for r in runs if r.solver == solver and r.is_solved])
        share = [(mine <= ratio).sum() / max(1, len(best)) for ratio in ratios]
        axes.step(
            ratios, share, label=solver, lw=2.5 if solver == "auto" else 1.2, ls=("-", "--", ":")[k % 3]
        )
    axes.set(
        xscale="log", xlabel="time over the best time", ylabel="fraction of problems solved", ylim=(0, 1.02)
    )
    axes.set_title(f"Residual at most {tol:g}; {len(best)} problems that some solver solves")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")
    figure.savefig(path, dpi=110)


# ------------------------------------------------------------------------------------------ command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and write its report."""
    options = _options(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    table = options.out / "runs.csv"
    runs = {run.key: run for run in read(table)}
    todo = list(cases(options.files, options.gallery, options.least))
    for solver in options.solvers:
        for name in WARM_UP:  # compile before the clock counts
            problem = gallery.get(name).problem
            for form in (problem, reduce(problem)):
                measure(Case("", name, form), solver, 1e-10, 1.0)
        for tol in options.tol:
            for case in todo:
                if (case.name, solver, tol) in runs:
                    continue
                run = measure(case, solver, tol, options.limit)
                keep(table, run)
                runs[run.key] = run
                print(f"{case.name:45s} {solver:26s} {tol:.0e}  {_cell(run)}", flush=True)
    kept = [run for run in runs.values() if run.solver in options.solvers and run.tol in options.tol]
    (options.out / "report.md").write_text(report(kept, options.limit))
    for tol in options.tol:
        draw_profile([run for run in kept if run.tol == tol], options.out / f"profile-{tol:.0e}.png", tol)
        print(f"\nTolerance {tol:g}\n{summary([run for run in kept if run.tol == tol])}")
    print(f"\nThe report is in {options.out}.")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="clapas bench solvers", description="Compare the solvers.")
    add = parser.add_argument
    add("--files", type=Path, nargs="*", default=[], help="folders of FCLib or Siconos files")
    add("--gallery", nargs="*", default=list(gallery.families()), help="families of the gallery")
    add("--solvers", nargs="*", default=list(registry.names()), help="names, as 'clapas solvers' lists them")
    add("--tol", type=float, nargs="*", default=[1e-4, 1e-8], help="tolerances")
    add("--limit", type=float, default=10.0, help="seconds allowed per run")
    add("--least", type=int, default=1, help="fewest contacts of a problem")
    add("--out", type=Path, default=Path("bench-solvers"), help="folder of the results")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
