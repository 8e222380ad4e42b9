"""Cycles of the generalised Newton method and bounds on the augmentation (Alart 1997)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from clapas.errors import SettingsError
from clapas.problems import reduce
from clapas.problems.gallery.alart import SQUARES
from clapas.solvers import solve
from clapas.solvers.newton import FullStep, SemismoothNewton
from clapas.solvers.newton.augmentation import (
    Elastoplastic,
    node_bound,
    one_spring_bound,
    two_springs_bound,
    uzawa_bound,
)
from clapas.solvers.newton.piecewise import (
    PiecewiseLinear,
    elastoplastic_spring,
    node_with_friction,
    springs_with_friction,
)
from clapas.studies.regions import Steps, cycles, has_cycle, path_from, solutions, steps, threshold
from clapas.studies.report import Report
from clapas.studies.strip import strip
from clapas.typing import Array

A = np.array([[2.0, -1.0], [-1.0, 1.0]])  # the double oscillator: r_uz = 3 − √5
AUGMENTATIONS = (0.25, 0.75, 1.5, 2.1)
MATERIAL = Elastoplastic(stiffness=10.0, hardening=1.0, yield_force=1.0)


@dataclass(frozen=True, kw_only=True)
class AlartCycles:
    """Alart's figures and bounds: regions, paths and cycles of Newton's method, found and predicted.

    Parameters
    ----------
    loads : int
        Loads tried per direction when a bound is looked for.
    seed : int
        Draws the matrices of the bounds.
    """

    loads: int = 41
    seed: int = 0

    title: ClassVar[str] = "The generalised Newton method: regions, cycles, bounds (Alart 1997)"
    quick: ClassVar[dict[str, int]] = {"loads": 9}

    def __post_init__(self) -> None:
        if self.loads < 3:
            raise SettingsError(f"loads must be at least 3, got {self.loads}")

    def run(self, report: Report) -> None:
        """All the figures and bounds."""
        self._oscillator(report)
        self._bounds(report)
        _strips(report)
        _counts(report)

    # -------------------------------------------------------------------- figures 9 to 12

    def _oscillator(self, report: Report) -> None:
        report.say("## The double oscillator (Figures 8 to 12)")
        f = self._load_of_the_figures()
        maps = {r: steps(springs_with_friction(A, f, 1.0, r)) for r in AUGMENTATIONS}
        rows = []
        for r, map_ in maps.items():
            longest = max(len(path_from(region, map_)) - 2 for region in map_)
            orders = ", ".join(f"order {len(loop)}" for loop in cycles(map_)) or "none"
            rows.append([f"{r:g}", orders, f"{longest}"])
        report.say(
            f"A = [[2, −1], [−1, 1]], thresholds 1, f = ({f[0]:.3g}, {f[1]:.3g}), chosen as in the paper to "
            "show a cycle of order 3. The paper finds convergence at r = 0.25, 0.75 and 1.5, a cycle of "
            "order 3 at r = 2.1, and states convergence for r < 2."
        )
        report.table(["r", "cycles", "iterations at most before the solution or the cycle"], rows)
        caption = "Regions, iterates and paths of the double oscillator"
        with report.figure("double-oscillator", caption, (9, 9)) as figure:
            for axes, (r, map_) in zip(figure.subplots(2, 2).ravel(), maps.items(), strict=True):
                _draw_regions(axes, map_, r)

    def _load_of_the_figures(self) -> Array:
        """A load for which the method cycles through three regions at r = 2.1 and nowhere below 2."""
        for f in self._loads(2.5):
            orders = [len(loop) for loop in cycles(steps(springs_with_friction(A, f, 1.0, 2.1)))]
            below = (springs_with_friction(A, f, 1.0, r) for r in np.arange(0.05, 2.0, 0.05))
            if 3 in orders and not has_cycle(below):
                return f
        raise AssertionError("no load on the grid shows a cycle of order 3")

    def _loads(self, size: float) -> list[Array]:
        line = np.linspace(-size, size, self.loads)
        # Off the grid's symmetry axes, where iterates fall on the borders of regions.
        return [np.array([a + 1e-4, b + 3e-4]) for a in line for b in line]

    # -------------------------------------------------------------------- bounds

    def _bounds(self, report: Report) -> None:
        report.say("## Bounds, predicted and found")
        random = np.random.default_rng(self.seed)
        figures = self._load_of_the_figures()
        rows = [
            ["(57) one degree of freedom, r <", *_single(3.0)],
            ["(59) Uzawa's method, r <", *_uzawa()],
            ["(60) double oscillator, load of the figures, r <", *_double([figures])],
            ["(60) double oscillator, all loads, r <", *_double(self._loads(3.0))],
        ]
        for _ in range(3):
            root = random.normal(size=(2, 2))
            C = root @ root.T + 0.1 * np.eye(2)
            name = f"A⁻¹ = [{C[0, 0]:.2f}, {C[0, 1]:.2f}; ·, {C[1, 1]:.2f}]"
            rows.append([f"(66) contact node {name}, mu <", *self._uniqueness(C)])
            rows.append([f"(74) contact node {name}, r <", *self._node(C)])
        for alpha in (1.0, 0.1, 0.01):
            rows.append([f"(77) plastic oscillator, mu |f_n| = {alpha:g}, r <", *_plastic(alpha)])
        report.table(["bound", "formula", "found"], rows)
        report.say(
            "Found: the smallest value at which some load shows a cycle (uniqueness: two solutions). Bound "
            "(60), twice the larger of the two 1/(A⁻¹)_ii, is stated for the load of the figures and holds "
            "there. It does not hold for all loads: where the first mass keeps sliding, the second is a "
            "single oscillator of stiffness 1/(A⁻¹)_22, which by (57) cycles from r = 2/(A⁻¹)_22 = 1 on. The "
            "safe bound is the smaller of the two."
        )

    def _directions(self) -> list[Array]:
        angles = np.linspace(0.0, 2.0 * np.pi, 10 * self.loads, endpoint=False) + 1e-4
        return [np.array([np.cos(angle), np.sin(angle)]) for angle in angles]

    def _uniqueness(self, C: Array) -> list[str]:
        formula = C[0, 0] / abs(C[0, 1])  # normal component first
        A, loads = np.linalg.inv(C), self._directions()

        def has_two_solutions(mu: float) -> bool:
            return any(solutions(steps(node_with_friction(A, f, mu, 1e-3))) > 1 for f in loads)

        return [f"{formula:.4f}", f"{threshold(has_two_solutions, 1e-3, 10 * formula, 1e-3):.4f}"]

    def _node(self, C: Array) -> list[str]:
        mu = 0.5 * min(1.0, C[0, 0] / abs(C[0, 1]))
        formula = float(node_bound(C[None])[0])
        A, loads = np.linalg.inv(C), self._directions()
        found = threshold(
            lambda r: has_cycle(node_with_friction(A, f, mu, r) for f in loads), 1e-3, 10 * formula, 1e-3
        )
        return [f"{formula:.4f}", f"{found:.4f}"]


def _single(a: float) -> list[str]:
    def equations(r: float) -> Iterable[PiecewiseLinear]:
        return (springs_with_friction([[a]], [f], 1.0, r) for f in np.linspace(-1.0, 1.0, 21))

    found = threshold(lambda r: has_cycle(equations(r)), 1e-3, 10 * a)
    return [f"{one_spring_bound(a):.4f}", f"{found:.4f}"]


def _double(loads: list[Array]) -> list[str]:
    found = threshold(
        lambda r: has_cycle(springs_with_friction(A, f, 1.0, r) for f in loads), 1e-3, 10.0, 1e-3
    )
    return [f"{two_springs_bound(A):.4f}", f"{found:.4f}"]


def _uzawa() -> list[str]:
    """Spectral radius of I − r A⁻¹ reaches one."""
    C = np.linalg.inv(A)
    found = threshold(lambda r: float(np.abs(np.linalg.eigvalsh(np.eye(2) - r * C)).max()) >= 1.0, 1e-3, 10.0)
    return [f"3 − √5 = {uzawa_bound(A):.4f}", f"{found:.4f}"]


def _plastic(alpha: float) -> list[str]:
    formula = float(MATERIAL.bound(1.0, alpha))
    found = threshold(lambda r: _jumps_between_slips(alpha, r), 1e-6, 100.0)
    return [f"{formula:.4g}", f"{found:.4g}"]


def _jumps_between_slips(alpha: float, r: float) -> bool:
    """The cycle (P−, S−) ↔ (P+, S+) of the paper."""
    map_ = steps(elastoplastic_spring(MATERIAL, alpha, 0.0, r), size=100.0)
    on, back = (True, True, True, True), (False, False, False, False)
    return map_[on].region == back and map_[back].region == on


def _draw_regions(axes: Any, map_: Steps, r: float) -> None:
    """Regions in the plane of γ, the iterate each leads to, the arrows between them, one path in full."""
    points = {region: step.point[2:] + r * step.point[:2] for region, step in map_.items()}
    for edge in (-1.0, 1.0):
        axes.axhline(edge, color="0.8", lw=1)
        axes.axvline(edge, color="0.8", lw=1)
    for region, step in map_.items():
        _arrow(axes, points[region], points[step.region], color="0.6", ls=":")
    loops = cycles(map_)
    start = loops[0][0] if loops else max(map_, key=lambda region: len(path_from(region, map_)))
    for here, there in pairwise(path_from(start, map_)):
        _arrow(axes, points[here], points[there], color="C3" if loops else "C0", ls="-")
    axes.plot(*np.array(list(points.values())).T, "ko", ms=4)
    title = f"cycle of order {len(loops[0])}" if loops else "converges from everywhere"
    axes.set(title=f"r = {r:g}: {title}", xlabel="γ₁", ylabel="γ₂")


def _arrow(axes: Any, start: Array, end: Array, color: str, ls: str) -> None:
    if not np.allclose(start, end):
        axes.annotate("", xy=end, xytext=start, arrowprops={"arrowstyle": "->", "color": color, "ls": ls})


def _strips(report: Report) -> None:
    """Figure 3: normal flexibility of rows of elastic elements."""
    report.say("## Elastic rows (Figure 3): the matrices NᵀK⁻¹N")
    report.say(
        "The printed numbers are those of a row of unit square elements in plane strain, held at its upper "
        "side. For one element the print differs by 0.15 % (2.582 for 2.586): we found no reading that "
        "explains it."
    )
    rows = []
    for nodes, printed in SQUARES.items():
        W = reduce(strip(nodes - 1)).W.toarray()[::2, ::2]
        for row, theirs in zip(W, printed, strict=True):
            rows.append([f"{nodes}", _numbers(row), _numbers(theirs)])
    report.table(["contact nodes", "ours", "printed"], rows)


def _numbers(row: Iterable[float]) -> str:
    return " ".join(f"{x:+.4f}" for x in row)


def _counts(report: Report) -> None:
    """Iterations of Newton's method without line search, with and without friction."""
    report.say("## Iterations on elastic rows")
    report.say("The paper: 2 or 3 iterations in practice without friction, whatever the number of nodes.")
    rows = []
    for nodes in (2, 3, 4, 8, 16, 32, 64):
        row = [f"{nodes}"]
        for mu, shear in ((0.0, 0.0), (0.3, 0.2), (0.8, 0.2)):
            problem = strip(nodes - 1, mu=mu, shear=shear)
            solution = solve(problem, SemismoothNewton(tol=1e-10, line_search=FullStep()), check=False)
            row.append(
                f"{solution.iterations}" if solution.status.is_solved else f"({solution.residual:.0e})"
            )
        rows.append(row)
    report.table(["contact nodes", "mu = 0", "mu = 0.3", "mu = 0.8"], rows)
