"""Painlevé's rod: number of solutions, and margin of the criterion of existence."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from clapas.errors import SettingsError
from clapas.problems import ContactProblem, existence, gallery
from clapas.solvers import ConicFixedPoint, Solution, solve
from clapas.solvers.branch_and_bound import all_solutions
from clapas.solvers.fixed_point import Picard
from clapas.solvers.fixed_point.frozen import contraction, frozen
from clapas.solvers.newton import FullStep, GoldsteinPrice
from clapas.studies.as_printed import PrintedNewton
from clapas.studies.report import Report
from clapas.studies.verdicts import NOT_REPRODUCED, REPRODUCED, Verdict
from clapas.typing import Array

GRAVITY = {"down": -1.0, "up": 1.0}
HINGE = (-1.0, 0.0, 1.0)  # its velocity u0
STARTS = (-0.3, -0.1, -1e-3, 1e-3, 0.1, 0.3)  # normal impulse added to a solution
MANY = 3  # stands for a continuum in the pictures


@dataclass(frozen=True, kw_only=True)
class Painleve:
    """Number of solutions of the rod over (θ, mu), for each pull of gravity and motion of the hinge.

    Solutions are counted by a search that lists all of them and compared with the analytical ones; the
    margin of Cadoux's criterion is drawn over the same plane.

    Parameters
    ----------
    steps : int
        Values of θ and of mu.
    random : int
        Random problems, the smallest first, whose map F is measured at the solution.
    """

    steps: int = 24
    random: int = 6

    title: ClassVar[str] = "Painlevé's rod (Cadoux 2009, lemmas 1.2 and 1.3, sections 3.4.3 and 3.4.4)"
    quick: ClassVar[dict[str, Any]] = {"steps": 5, "random": 1}

    def __post_init__(self) -> None:
        if self.steps < 2:
            raise SettingsError(f"steps must be at least 2, got {self.steps}")

    def run(self, report: Report) -> None:
        """Count, compare, draw."""
        report.say(
            "Solutions counted by a search through all modes. *Paper* counts the cases in which the number "
            "is that of the lemmas (with the continuum they overlook at u0 = 0); *criterion* those in which "
            "a solution is certified, *needed* those in which one exists."
        )
        rows, pictures = [], {}
        for pull, g in GRAVITY.items():
            for u0 in HINGE:
                counts, margins, agree = self._survey(g, u0)
                pictures[f"gravity {pull}, u0 = {u0:+g}"] = (counts, margins)
                certified = int((margins >= 0.0).sum())
                by_number = (int((counts == k).sum()) for k in range(MANY + 1))
                numbers = (*by_number, f"{agree} of {counts.size}", certified, int((counts > 0).sum()))
                rows.append([pull, f"{u0:+g}", *map(str, numbers)])
                report.tell(f"gravity {pull}, u0 = {u0:+g}: {agree} of {counts.size} as on paper")
        agreeing = sum(int(row[6].split()[0]) for row in rows)
        cases = 6 * self.steps**2
        report.judge(
            Verdict(
                source="Cadoux 2009, lemmas 1.2 and 1.3",
                quantity="number of solutions of the rod, by cases",
                printed="0, 1, 2 by tan θ and mu",
                found=f"{agreeing} of {cases} cases",
                grade=REPRODUCED if agreeing == cases else NOT_REPRODUCED,
                why="" if agreeing == cases else "see the table",
            )
        )
        header = ["gravity", "u0", "none", "one", "two", "continuum", "paper", "criterion", "needed"]
        report.table(header, rows)
        self._draw(
            report, "solutions", "Number of solutions (3: a continuum)", pictures, lambda pair: pair[0]
        )
        self._draw(
            report, "margins", "Margin σ*, cut at ±2", pictures, lambda pair: np.clip(pair[1], -2.0, 2.0)
        )

        _start_and_stability(report)
        _contraction(report, self.random)

    @property
    def _plane(self) -> tuple[Array, Array]:
        """Angles and frictions, avoiding mu = tan θ."""
        return np.linspace(0.1, 1.4, self.steps), np.linspace(0.013, 3.0, self.steps)

    def _survey(self, g: float, u0: float) -> tuple[Array, Array, int]:
        thetas, frictions = self._plane
        counts, margins = np.empty((2, self.steps, self.steps))
        agree = 0
        for i, mu in enumerate(frictions):
            for j, theta in enumerate(thetas):
                rod = gallery.painleve_rod(float(theta), float(mu), u0, g)
                counts[i, j] = _count(rod.problem)
                known = rod.known
                agree += counts[i, j] == (MANY if known.continuum else len(known.solutions))
                margins[i, j] = existence.check(rod.problem).margin
        return counts, margins, agree

    def _draw(
        self,
        report: Report,
        name: str,
        caption: str,
        pictures: dict[str, tuple[Array, Array]],
        shown: Callable[[tuple[Array, Array]], Array],
    ) -> None:
        thetas, frictions = self._plane
        with report.figure(name, caption, size=(11.0, 6.5)) as figure:
            panels = figure.subplots(len(GRAVITY), len(HINGE), sharex=True, sharey=True)
            for axes, (title, pair) in zip(panels.ravel(), pictures.items(), strict=True):
                image = axes.pcolormesh(thetas, frictions, shown(pair), shading="nearest")
                axes.plot(thetas, np.tan(thetas), "w--", lw=1.0)
                axes.set(title=title, ylim=(frictions[0], frictions[-1]))
                figure.colorbar(image, ax=axes)
            for axes in panels[-1]:
                axes.set_xlabel("θ (rad); dashed: mu = tan θ")
            for axes in panels[:, 0]:
                axes.set_ylabel("mu")


def _start_and_stability(report: Report) -> None:
    """Section 5.3.8: limit of Newton's method from both sides of a solution."""
    entry = gallery.get("painleve-up-two")
    sliding = np.array([[1.0, -2.0]])  # r_g, which slides; the other solution is r_d = 0
    rows, returned = [], 0
    for change in STARTS:
        start = sliding + np.array([[change, 0.0]])
        ends = []
        for search in (GoldsteinPrice(), FullStep()):
            solution = solve(entry.problem, PrintedNewton(tol=1e-12, line_search=search), start, check=False)
            ends.append(solution.r.round(9)[0] + 0.0)
        returned += all(np.allclose(end, sliding[0]) for end in ends)
        rows.append([f"{change:+g}", *(f"({end[0]:g}, {end[1]:g})" for end in ends)])
    report.say("## Start and stability (section 5.3.8)")
    report.say(
        "Gravity pulls the rod (θ = π/4, mu = 2) off the floor: r_g = (1, −2) slides, r_d = 0 takes off. The "
        "thesis "
        "states that AC started at r_g with a little more normal impulse comes back to r_g, with a little "
        "less goes to "
        "r_d, and reads stability from it. Newton's method on equations that are linear by regions goes to "
        "the "
        "solution of the region it is in, exactly: it comes back from both sides."
    )
    report.table(["r_N − r_N of r_g", "end, Goldstein-Price", "end, full steps"], rows)
    report.judge(
        Verdict(
            source="Cadoux 2009, section 5.3.8",
            quantity="AC from just below r_g goes to r_d",
            printed="r_d",
            found=f"back to r_g from {returned} of {len(STARTS)} starts on both sides",
            grade=NOT_REPRODUCED,
            why="f_AC is linear around r_g and its Newton step exact: the claim is refuted",
        )
    )


def _contraction(report: Report, random: int) -> None:
    """Figure 5.9: slopes of Cadoux's map F at fixed points, attractive or not for the plain iteration."""
    rod = gallery.get("painleve-up-two").problem
    report.say("## Does the map F contract? (figure 5.9)")
    report.say(
        "s ← F(s) holds a fixed point if the spectral radius of the slopes of F there is below 1. The rod "
        "has both kinds: at s = 1, where it slides, F leaves at twice the distance, and no plain iteration "
        "ends there; at s = 3/2, where it takes off, F is constant. On the random problems the radius is "
        "measured by differences at the solution that the iteration found."
    )
    fixed = {"rod, sliding": (rod, np.array([1.0])), "rod, taking off": (rod, np.array([1.5]))}
    for name in gallery.names("alea")[:random]:
        problem = gallery.get(name).problem
        found = solve(problem, ConicFixedPoint(tol=1e-9), check=False)
        fixed[name] = problem, np.linalg.norm(found.u[:, 1:], axis=1)
    radii = {name: contraction(problem, s) for name, (problem, s) in fixed.items()}
    rows = []
    for name, (problem, s) in fixed.items():
        plain = solve(problem, ConicFixedPoint(tol=1e-8, scheme=Picard(), max_iterations=500), check=False)
        slides = int((s > 1e-9 * problem.free_speed).sum())
        rows.append([name, f"{problem.n_contacts}", f"{slides}", f"{radii[name]:.3f}", _iterations(plain)])
    report.table(["fixed point", "contacts", "sliding", "spectral radius", "plain iterations to 1e-8"], rows)
    with report.figure("map", "F of the rod: it leaves s = 1 and stays at 3/2") as figure:
        axes, s = figure.subplots(), np.linspace(0.0, 2.0, 81)
        axes.plot(s, [float(frozen(rod, [x]).value[0]) for x in s], label="F(s)")
        axes.plot(s, s, "0.7", label="s")
        axes.plot([1.0, 1.5], [1.0, 1.5], "ko")
        axes.set(xlabel="s (m/s)", ylabel="F(s) (m/s)")
        axes.legend()
    repelled = radii["rod, sliding"]
    report.judge(
        Verdict(
            source="Cadoux 2009, figure 5.9",
            quantity="a fixed point at which F does not contract",
            printed="drawn",
            found=f"spectral radius {repelled:.2f} at the sliding rod",
            grade=REPRODUCED if repelled > 1.0 else NOT_REPRODUCED,
            why="" if repelled > 1.0 else "F contracts there",
        )
    )


def _iterations(solution: Solution) -> str:
    return str(solution.iterations) if solution.status.is_solved else f"not in {solution.iterations}"


def _count(problem: ContactProblem) -> float:
    found = all_solutions(problem)
    return math.nan if not found.complete else MANY if found.continua else len(found.isolated)
