"""Indeterminacy of forces under friction: the wedged bar, a pile of disks, a pile of balls.

Reference: Moreau 2003, section 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from clapas.analysis.equilibria import Equilibria, at_rest
from clapas.analysis.indeterminacy import Cloud, draw_cloud, draw_ranges, random_starts, shuffled_orders
from clapas.errors import SettingsError
from clapas.problems import ContactProblem, gallery
from clapas.scenes.examples.piles import pile_of_balls, pile_of_disks
from clapas.studies.report import Report
from clapas.studies.verdicts import of_statement
from clapas.typing import Array

SOURCE = "Moreau 2003, section 8"
SLOPE = math.radians(10.0)
LENGTH = 1.0  # of the bar (m)


@dataclass(frozen=True, kw_only=True)
class Indeterminacy:
    """Which forces can hold the same bodies at rest: clouds of solutions, and their exact limits.

    Parameters
    ----------
    samples : int
        Random starts, and as many shuffled orders, per structure.
    rows : int
        Rows of the pile of disks.
    mu : float
        Coefficient of friction.
    seed : int
        Seed of starts and orders.
    """

    samples: int = 300
    rows: int = 3
    mu: float = 0.6
    seed: int = 0

    title: ClassVar[str] = "Indeterminacy of forces (Moreau 2003, section 8)"
    quick: ClassVar[dict[str, int | float]] = {"samples": 12, "rows": 2}

    def __post_init__(self) -> None:
        if self.samples < 1 or self.rows < 2:
            raise SettingsError(f"samples ≥ 1 and rows ≥ 2 are needed, got {self.samples} and {self.rows}")
        if not self.mu > math.tan(SLOPE):
            raise SettingsError(
                f"mu must exceed {math.tan(SLOPE):.3f} for the walls to hold the bar, got {self.mu}"
            )

    def run(self, report: Report) -> None:
        """Sample the three structures."""
        self._wedged_bar(report)
        for name, title, problem in (
            ("disks", "A pile of disks", at_rest(pile_of_disks(self.rows, self.mu))),
            ("balls", "A pile of balls", at_rest(pile_of_balls(2, self.mu))),
        ):
            report.tell(f"{title.lower()}: {problem.n_contacts} contacts")
            self._pile(report, name, title, problem)

    def _wedged_bar(self, report: Report) -> None:
        problem = gallery.wedged_bar(SLOPE, self.mu).problem
        weight = float(problem.f[1])
        low, high = Equilibria.of_problem(problem).range(0)
        cloud = random_starts(problem, self.samples, largest=5 * low, seed=self.seed)
        report.say("## The wedged bar")
        report.say(
            "A bar between walls that converge upward may fall, or stay: its wedging is not in its position. "
            f"Of {len(cloud.impulse)} random starts {int(cloud.resting.sum())} stay, the others fall."
        )
        stay = int(cloud.resting.sum())
        report.judge(
            of_statement(
                f"{SOURCE}.1",
                "the bar between walls that converge upward, by the forces at the start",
                "stands or falls",
                f"{stay} of {len(cloud.impulse)} starts stand",
                holds=0 < stay < len(cloud.impulse),
            )
        )
        report.judge(
            of_statement(
                f"{SOURCE}.1, figure 1",
                "where the two forces on the bar may meet",
                "anywhere in a triangle",
                "on the vertical of the centre",
                holds=False,
                why="the triangle is that of the friction cones; three forces that balance meet in one point",
            )
        )
        thrust = 0.5 * weight / math.tan(math.atan(self.mu) - SLOPE)
        expected = thrust * math.cos(SLOPE) - 0.5 * weight * math.sin(SLOPE)
        sampled = cloud.normal_ranges[0]
        report.table(
            ["normal force / weight", "smallest", "largest"],
            [
                ["on paper", f"{expected / weight:.4f}", "no limit"],
                ["linear program", f"{low / weight:.4f}", _limit(high / weight)],
                ["sampled", f"{sampled[0] / weight:.4f}", f"{sampled[1] / weight:.4f}"],
            ],
        )
        with report.figure(
            "wedged-bar", "Where the two forces on the bar may meet (as in figure 1)"
        ) as figure:
            draw_meeting_points(figure.subplots(), cloud, self.mu)

    def _pile(self, report: Report, name: str, title: str, problem: ContactProblem) -> None:
        equilibria = Equilibria.of_problem(problem)
        exact = np.array([equilibria.range(k) for k in range(problem.n_contacts)])
        bounded = exact[np.isfinite(exact[:, 1]), 1]
        largest = float(bounded.max(initial=0.0)) or float(np.abs(problem.f).max())
        clouds = {
            "random starts": random_starts(problem, self.samples, largest=largest, seed=self.seed),
            "shuffled orders": shuffled_orders(problem, self.samples, seed=self.seed),
        }
        widths = np.where(np.isfinite(exact[:, 1]), exact[:, 1] - exact[:, 0], 0.0)
        widest = int(np.argmax(widths))
        report.say(f"## {title}")
        report.say(
            f"{problem.n_contacts} contacts, mu = {self.mu:g}. Solutions that are not at rest collapse, and "
            f"obey the law as well. Normal force of contact {widest} (N):"
        )
        rows = [["all equilibria", f"{exact[widest, 0]:.4g}", _limit(exact[widest, 1]), "", ""]]
        for label, cloud in clouds.items():
            low, high = cloud.normal_ranges[widest]
            share = _covered(exact, cloud.normal_ranges)
            rest = f"{int(cloud.resting.sum())} of {cloud.asked}"
            rows.append([label, f"{low:.4g}", f"{high:.4g}", f"{100 * share:.0f} %", rest])
        report.table(["", "smallest", "largest", "ranges covered", "solutions at rest"], rows)
        orders = clouds["shuffled orders"]
        low, high = orders.normal_ranges[widest]
        report.judge(
            of_statement(
                f"{SOURCE}.2",
                f"{title.lower()}: other cyclic orders of the contacts, same start",
                "other solutions",
                f"{low:.4g} to {high:.4g} N at contact {widest}",
                holds=high - low > 1e-6 * max(high, 1e-300),
            )
        )
        with report.figure(f"{name}-cloud", f"{title}: possible forces of the widest contact") as figure:
            axes = figure.subplots()
            for label, cloud in clouds.items():
                draw_cloud(axes, cloud, widest, self.mu, label)
            axes.legend()
        with report.figure(f"{name}-ranges", f"{title}: exact and sampled ranges of normal forces") as figure:
            draw_ranges(figure.subplots(), exact, clouds["random starts"].normal_ranges)


def _covered(exact: Array, sampled: Array) -> float:
    """Mean share of the exact ranges that samples cover, over the contacts with a finite range."""
    width = exact[:, 1] - exact[:, 0]
    open_ = np.isfinite(width) & (width > 1e-9 * np.nanmax(np.where(np.isfinite(exact), exact, 0.0)))
    if not open_.any():
        return 1.0
    return float(((sampled[open_, 1] - sampled[open_, 0]) / width[open_]).mean())


def _limit(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "no limit"


def friction_polygon(mu: float, slope: float = SLOPE) -> Array:
    """Corners (4, 2) of the intersection of the friction cones at both ends, in lengths of the bar.

    The ends A and B, and the points above and below the middle where the edges of the cones meet. Forces that
    balance the weight meet above AB, on the vertical of the centre.
    """
    angle = math.atan(mu)
    above, below = 0.5 * math.tan(angle - slope), -0.5 * math.tan(angle + slope)
    return np.array([(-0.5, 0.0), (0.0, below), (0.5, 0.0), (0.0, above)])


def meeting_points(cloud: Cloud, slope: float = SLOPE) -> Array:
    """Heights above the bar at which the two forces meet on its middle, in lengths of the bar, (m,)."""
    normal, tangent = cloud.impulse[cloud.resting, 0].T
    outward = normal * math.cos(slope) + tangent * math.sin(slope)
    upward = tangent * math.cos(slope) - normal * math.sin(slope)
    return np.asarray(0.5 * upward / outward)


def draw_meeting_points(axes: Any, cloud: Cloud, mu: float) -> None:
    """Draw the polygon of the friction cones and the intersections of sampled forces."""
    corners = friction_polygon(mu) * LENGTH
    axes.fill(*corners.T, color="0.9", label="both friction cones")
    axes.fill(*corners[[0, 2, 3]].T, color="0.75", label="above the bar")
    axes.plot([-0.5, 0.5], [0, 0], "k-", lw=3, label="bar")
    heights = meeting_points(cloud)
    axes.plot(np.zeros(len(heights)), heights, "r.", ms=3, label="sampled")
    axes.set(xlabel="x (m)", ylabel="y (m)", aspect="equal")
    axes.legend(fontsize="small")
