"""Discs settled in a box: LATIN, conjugate gradients and Gauss-Seidel against the size of the packing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from clapas.problems import ContactProblem, gallery
from clapas.solvers import NSGS, ConjugateGradient, Solution, solve
from clapas.solvers.latin import LATIN
from clapas.solvers.loop import Solver
from clapas.studies.report import Report

CONTACTS = (39, 157, 683)  # 78, 314 and 1366 equations
DIRECTIONS = (10.0, 50.0, 1.0, 0.05, 0.5)
PRINTED = {  # smallest z_N, smallest w_N, z_N·w_N of LATIN on 330 discs
    10.0: (-8.004e-09, -3.5515e-06, 7.1518e-08),
    50.0: (-2.1687e-08, -7.7842e-06, 1.4031e-06),
    1.0: (-3.78e-10, -2.8938e-06, -4.1297e-08),
    0.05: (-1.1624e-08, -8.1878e-04, -4.9084e-06),
    0.5: (-3.1557e-09, -3.7189e-05, -6.0862e-07),
}
INTRODUCTION = """\
One step of packings of discs with {sizes} contacts, mu = {mu:g}. The thesis exported its matrices from
another program; ours are packings of the same size, comparable in kind. It concludes that LATIN is the best
on small problems and that conjugate gradients win when the size grows."""
DIRECTIONS_TEXT = """\
Our LATIN returns the impulses of the local stage, which lie in their cones exactly: the smallest normal
impulse is zero where the thesis prints some −1e-8. Velocities are relative to the largest free velocity; k is
relative to the responses of the contacts."""


@dataclass(frozen=True, kw_only=True)
class GranularLCP:
    """Packings of discs of three sizes: iterations of each method, and LATIN's directions.

    Parameters
    ----------
    sizes : int
        How many of the three sizes, the smallest first.
    mu : float
        Coefficient of friction.
    tol : float
        Residual asked for.
    limit : float
        Seconds per run.
    """

    sizes: int = len(CONTACTS)
    mu: float = 0.3
    tol: float = 1e-8
    limit: float = 20.0

    title: ClassVar[str] = "Granular media: LATIN, conjugate gradients, Gauss-Seidel (Table 4.4)"
    quick: ClassVar[dict[str, int | float]] = {"sizes": 1, "limit": 2.0, "tol": 1e-6}

    def run(self, report: Report) -> None:
        """Compare the methods, then the directions on the largest packing."""
        chosen = CONTACTS[: self.sizes]
        report.say(INTRODUCTION.format(sizes=", ".join(map(str, chosen)), mu=self.mu))
        problems = {n: gallery.sphere_packing(n, d=2, mu=self.mu).problem for n in chosen}
        rows = []
        for n, problem in problems.items():
            cells = [self._cell(report, problem, method) for method in self._methods().values()]
            rows.append([f"{n}", f"{2 * n}", *cells])
        report.table(["contacts", "equations", *self._methods()], rows)
        report.say(f"## Directions of LATIN on {chosen[-1]} contacts\n\n{DIRECTIONS_TEXT}")
        self._directions(report, problems[chosen[-1]])

    def _methods(self) -> dict[str, Solver]:
        limits: dict[str, Any] = {"tol": self.tol, "time_limit": self.limit, "max_iterations": 10**8}
        return {
            "LATIN, k = 10": LATIN(k=10.0, **limits),
            "conjugate gradient": ConjugateGradient(**limits),
            "Gauss-Seidel": NSGS(**limits),
        }

    def _cell(self, report: Report, problem: ContactProblem, method: Solver) -> str:
        solution = solve(problem, method, check=False)
        report.tell(f"{problem.n_contacts} contacts, {type(method).__name__}: {solution}")
        return (
            f"{solution.iterations} ({solution.time:.2g} s)" if solution.status.is_solved else _left(solution)
        )

    def _directions(self, report: Report, problem: ContactProblem) -> None:
        rows = []
        for k in DIRECTIONS:
            solution = solve(problem, LATIN(k=k, tol=self.tol, time_limit=self.limit), check=False)
            z, w = solution.r[:, 0], solution.u[:, 0] / (np.abs(problem.q).max() or 1.0)
            rows.append(
                [
                    f"{k:g}",
                    f"{solution.iterations}",
                    f"{solution.residual:.1e}",
                    f"{z.min():.1e} ({PRINTED[k][0]:.1e})",
                    f"{w.min():.1e} ({PRINTED[k][1]:.1e})",
                    f"{z @ w:.1e} ({PRINTED[k][2]:.1e})",
                ]
            )
        report.table(
            [
                "k",
                "iterations",
                "residual",
                "smallest r_N (printed)",
                "smallest u_N (printed)",
                "r_N·u_N (printed)",
            ],
            rows,
        )


def _left(solution: Solution) -> str:
    return f"not solved ({solution.residual:.0e})"
