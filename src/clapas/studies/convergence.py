"""Residual against iterations and seconds for every method, and time against size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from clapas.errors import SettingsError
from clapas.problems import ContactProblem, gallery
from clapas.solvers import Solution, registry, solve
from clapas.studies.report import Report

PROBLEMS = ("alea-126-47", "alea-756-100-by-36", "box-stack-10", "pyramid-8", "tower-10", "packing-1000")
TOO_SMALL = {"enumeration", "branch-and-bound"}  # methods for a handful of contacts
SIZES = (10, 20, 40, 80, 160, 320)  # contacts
RATIOS = {"1/3": 1.0 / 3.0, "1": 1.0}  # n d / m, contact equations per degree of freedom
SYSTEM = 15  # degrees of freedom of a system
SCALED = ("auto", "nsgs", "accelerated-projection", "conic-fixed-point", "interior-point", "haslinger")


@dataclass(frozen=True, kw_only=True)
class Convergence:
    """How fast each method goes: histories on six problems, and seconds against the number of contacts.

    Parameters
    ----------
    tol : float
        Residual asked for.
    limit : float
        Seconds allowed per run.
    problems : int
        How many of the six named problems.
    sizes : int
        How many of the sizes, the smallest first.
    """

    tol: float = 1e-10
    limit: float = 5.0
    problems: int = len(PROBLEMS)
    sizes: int = len(SIZES)

    title: ClassVar[str] = "Convergence of every method (as in Cadoux 2009, Figures 5.4 to 5.8)"
    quick: ClassVar[dict[str, int | float]] = {"limit": 0.5, "problems": 1, "sizes": 2}

    def __post_init__(self) -> None:
        if not self.limit > 0:
            raise SettingsError(f"limit must be positive, got {self.limit}")

    def run(self, report: Report) -> None:
        """Draw the histories, then the times."""
        report.say(f"Cold starts, {self.limit:g} s each, residual {self.tol:g} asked for.")
        methods = [name for name in registry.names() if name not in TOO_SMALL]
        for name in methods:
            self._solve(gallery.get("two-blocks").problem, name)  # compile
        for name in PROBLEMS[: self.problems]:
            self._histories(report, name, methods)
        report.say("## Time against size")
        for label, ratio in RATIOS.items():
            self._times(report, label, ratio)

    def _solve(self, problem: ContactProblem, method: str) -> Solution:
        settings = {"tol": self.tol, "time_limit": self.limit, "max_iterations": 10**9}
        return solve(problem, registry.make(method, **settings), check=False)

    def _histories(self, report: Report, name: str, methods: list[str]) -> None:
        problem = gallery.get(name).problem
        solutions = {}
        for method in methods:
            solutions[method] = self._solve(problem, method)
            report.tell(f"{name}  {method}  {solutions[method]}")
        report.say(f"## {name}: {problem.n_contacts} contacts")
        report.table(
            ["method", "residual", "iterations", "seconds", "status"],
            [
                [method, f"{s.residual:.1e}", f"{s.iterations}", f"{s.time:.2g}", s.status.name.lower()]
                for method, s in solutions.items()
            ],
        )
        _draw_histories(report, name, solutions)

    def _times(self, report: Report, label: str, ratio: float) -> None:
        times: dict[str, list[tuple[int, float]]] = {method: [] for method in SCALED}
        rows = []
        for n in SIZES[: self.sizes]:
            systems = max(2, round(3 * n / (ratio * SYSTEM)))
            problem = gallery.alea(SYSTEM, systems, n, seed=n)
            row = [f"{n}"]
            for method in SCALED:
                solution = self._solve(problem, method)
                report.tell(f"n d / m = {label}, {n} contacts  {method}  {solution}")
                if solution.status.is_solved:
                    times[method].append((n, solution.time))
                row.append(
                    f"{solution.time:.2g} s" if solution.status.is_solved else f"({solution.residual:.0e})"
                )
            rows.append(row)
        report.say(f"n d / m = {label}: seconds, or (the residual reached).")
        report.table(["contacts", *SCALED], rows)
        with report.figure(f"size-{label.replace('/', '-')}", f"Seconds at n d / m = {label}") as figure:
            axes = figure.subplots()
            for method, points in times.items():
                axes.loglog([n for n, _ in points], [t for _, t in points], "o-", label=method)
            axes.set(xlabel="contacts", ylabel="seconds", title=f"n d / m = {label}")
            axes.legend(fontsize="small")


def _time(solution: Solution) -> str:
    return f"{solution.time:.2g} s" if solution.status.is_solved else f"({solution.residual:.0e})"


def _draw_histories(report: Report, name: str, solutions: Mapping[str, Solution]) -> None:
    with report.figure(name, f"Residuals on {name}", size=(12, 5)) as figure:
        left, right = figure.subplots(1, 2, sharey=True)
        for k, (method, solution) in enumerate(solutions.items()):
            style = {"label": method, "ls": ("-", "--", ":")[k % 3], "lw": 1.3}
            past = solution.history
            left.loglog(past.iterations + 1, past.residuals, **style)
            right.loglog(past.seconds, past.residuals, **style)
        left.set(xlabel="iterations + 1", ylabel="residual", ylim=(1e-12, 10))
        right.set(xlabel="seconds")
        right.legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1.0, 0.5))
