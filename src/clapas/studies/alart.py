"""Cycles of the generalised Newton method and bounds on the augmentation (Alart 1997)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clapas.errors import SettingsError
from clapas.problems import ContactProblem, reduce
from clapas.problems.gallery.alart import ROWS
from clapas.solvers import solve
from clapas.solvers.newton import AlartCurnierMap, FischerBurmeisterMap, FullStep, SemismoothNewton
from clapas.solvers.newton.augmentation import node_bound
from clapas.solvers.newton.piecewise import node_with_friction, springs_with_friction
from clapas.studies.alart_figures import cones, draw_regions, katzenelson, kinds, plastic_regions
from clapas.studies.alart_limits import A, first_cycles, one_spring, plastic, two_springs, uniqueness, uzawa
from clapas.studies.elastic_block import ElasticBlock
from clapas.studies.regions import cycles, has_cycle, path_from, steps, threshold
from clapas.studies.report import Report
from clapas.studies.strip import strip
from clapas.studies.verdicts import NOT_REPRODUCED, REPRODUCED, UNDETERMINED, WITHIN, Verdict, of_number
from clapas.typing import Array

FRICTIONS = ((0.0, 0.0), (0.3, 0.2), (0.8, 0.2))  # mu, and the shear of rows
BLOCKS = (26, 51, 101)
AUGMENTATIONS = (0.25, 0.75, 1.5, 2.1)


@dataclass(frozen=True, kw_only=True)
class AlartCycles:
    """Alart's figures and bounds: regions, paths and cycles of Newton's method, found and predicted.

    Parameters
    ----------
    loads : int
        Loads tried per direction in the search for a bound.
    seed : int
        Seed of the matrices of the bounds.
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
        katzenelson(report)
        kinds(report)
        self._oscillator(report)
        self._bounds(report)
        cones(report)
        plastic_regions(report)
        self._several_nodes(report)
        _strips(report)
        self._counts(report)

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
            "The data of figure 8 are in its drawing, which the text we have lacks; what follows is a "
            "reconstruction. r_uz = 3 − √5, the bound 2 of figure 12 and the 0.5 of figure 9 (the least "
            "1/(A⁻¹)_ii) fix A⁻¹ = [[1, 1], [1, 2]] up to signs and order, so A = [[2, −1], [−1, 1]]; the "
            "threshold 1 only sets the unit of force. The load is *not* determined. The paper says it was "
            "chosen to show a cycle of order 3, at r = 2.1, and that below r = 2 everything converges. "
            f"{self._selection()} f = ({f[0]:.3g}, {f[1]:.3g}) is the first of those that agree with the "
            f"paper: "
            "it was *selected* to obey the bound, and proves nothing about it."
        )
        report.table(["r", "cycles", "iterations at most before the solution or the cycle"], rows)
        for r, printed in zip(AUGMENTATIONS, ("none", "none", "none", "order 3"), strict=True):
            orders_found = next(row[1] for row in rows if row[0] == f"{r:g}")
            report.judge(
                Verdict(
                    source="Alart 1997, figures 9 to 12",
                    quantity=f"cycles of the double oscillator at r = {r:g}",
                    printed=printed,
                    found=orders_found,
                    grade=UNDETERMINED if orders_found == printed else NOT_REPRODUCED,
                    why="the load is not given; ours is selected to agree",
                )
            )
        caption = "Regions, iterates and paths of the double oscillator"
        with report.figure("double-oscillator", caption, (9, 9)) as figure:
            for axes, (r, map_) in zip(figure.subplots(2, 2).ravel(), maps.items(), strict=True):
                draw_regions(axes, map_, r)

    def _load_of_the_figures(self) -> Array:
        """A load for which the method cycles through three regions at r = 2.1 and nowhere below 2."""
        for f in self._loads(2.5):
            orders = [len(loop) for loop in cycles(steps(springs_with_friction(A, f, 1.0, 2.1)))]
            below = (springs_with_friction(A, f, 1.0, r) for r in np.arange(0.05, 2.0, 0.05))
            if 3 in orders and not has_cycle(below):
                return f
        raise AssertionError("no load on the grid shows a cycle of order 3")

    def _selection(self) -> str:
        """Number of loads of the grid with the cycle of the paper, and of those that cycle below 2 too."""
        shown, obey = 0, 0
        for f in self._loads(2.5):
            if 3 not in [len(loop) for loop in cycles(steps(springs_with_friction(A, f, 1.0, 2.1)))]:
                continue
            shown += 1
            obey += not has_cycle(springs_with_friction(A, f, 1.0, r) for r in np.arange(0.05, 2.0, 0.05))
        return (
            f"Of {self.loads**2} loads tried, {shown} show a cycle of order 3 at r = 2.1, and {shown - obey} "
            f"of "
            "these cycle somewhere below 2 as well."
        )

    def _loads(self, size: float) -> list[Array]:
        line = np.linspace(-size, size, self.loads)
        # Off the symmetry axes of the grid, on which iterates fall on the borders of regions.
        return [np.array([a + 1e-4, b + 3e-4]) for a in line for b in line]

    # -------------------------------------------------------------------- bounds

    def _bounds(self, report: Report) -> None:
        report.say("## Bounds, predicted and found")
        random = np.random.default_rng(self.seed)
        figures = self._load_of_the_figures()
        rows = [
            ["(57) one degree of freedom, r <", *one_spring(3.0)],
            ["(59) Uzawa's method, r <", *uzawa()],
            ["(60) double oscillator, load of the figures, r <", *two_springs([figures])],
            ["(60) double oscillator, all loads, r <", *two_springs(self._loads(3.0))],
        ]
        for label, row in (("(57)", rows[0]), ("(59)", rows[1])):
            report.judge(
                of_number(
                    f"Alart 1997, {label}",
                    row[0].split(" ", 1)[1],
                    row[1].split()[-1],
                    float(row[2]),
                    within=0.01,
                )
            )
        report.judge(
            Verdict(
                source="Alart 1997, (60)",
                quantity="r below which the double oscillator converges, every load",
                printed="2",
                found=rows[3][2],
                grade=NOT_REPRODUCED,
                why="stated for one load; under others the second mass alone cycles from 2/(A⁻¹)_22 = 1 on",
            )
        )
        for _ in range(3):
            root = random.normal(size=(2, 2))
            C = root @ root.T + 0.1 * np.eye(2)
            name = f"A⁻¹ = [{C[0, 0]:.2f}, {C[0, 1]:.2f}; ·, {C[1, 1]:.2f}]"
            for label, symbol, (formula, limit) in (
                ("(66)", "mu", uniqueness(C)),
                ("(74)", "r", self._node(C)),
            ):
                rows.append([f"{label} contact node {name}, {symbol} <", formula, limit])
                quantity = f"{symbol} below which the node {name} behaves"
                report.judge(of_number(f"Alart 1997, {label}", quantity, formula, float(limit), within=0.02))
        for alpha in (1.0, 0.1, 0.01):
            formula, limit = plastic(alpha)
            rows.append([f"(77) plastic oscillator, mu |f_n| = {alpha:g}, r <", formula, limit])
            quantity = f"r of the plastic oscillator at mu |f_n| = {alpha:g}"
            report.judge(of_number("Alart 1997, (77)", quantity, formula, float(limit), within=0.01))
        report.table(["bound", "formula", "found"], rows)
        report.say(
            "Found: the smallest value at which some load shows a cycle (74, 77), at which Uzawa's method "
            "(58), run "
            "from a small start, grows (59), or at which some load has two solutions (66: every mode of the "
            "contact, on 40 000 directions of the load). Bound (60), twice the larger of the two 1/(A⁻¹)_ii, "
            "is "
            "stated for the load of the figures. It does not hold for all loads: where the first mass keeps "
            "sliding, the second is a single oscillator of stiffness 1/(A⁻¹)_22, which by (57) cycles from "
            "r = 2/(A⁻¹)_22 = 1 on. The safe bound is the smaller of the two."
        )

    def _directions(self) -> list[Array]:
        angles = np.linspace(0.0, 2.0 * np.pi, 10 * self.loads, endpoint=False) + 1e-4
        return [np.array([np.cos(angle), np.sin(angle)]) for angle in angles]

    def _several_nodes(self, report: Report) -> None:
        """Orders of the cycles on random nodes with friction, below and above (74) taken node by node."""
        report.say("## Several nodes with friction (section II.2)")
        report.say(
            "Random definite W, mu = 0.2, random starts, full steps on Alart and Curnier's function. The "
            "paper: with "
            "two nodes cycles of order 3, even 4, are met for large r."
        )
        rows, orders = [], set()
        for nodes in (1, 2, 4):
            for share in (0.5, 0.95, 3.0, 8.0):
                found = first_cycles(nodes, share, 5 * self.loads, self.seed)
                if nodes > 1:
                    orders |= set(found)
                words = ", ".join(f"order {k}: {count}" for k, count in sorted(found.items())) or "none"
                rows.append([f"{nodes}", f"{share:g}", words])
        report.table(["nodes", "r / (74)", f"problems of {5 * self.loads} that cycle, by order"], rows)
        high = orders & {3, 4}
        report.judge(
            Verdict(
                source="Alart 1997, section II.2",
                quantity="orders of cycles with several nodes, large r",
                printed="3, even 4",
                found=", ".join(map(str, sorted(orders))) or "none",
                grade=REPRODUCED if high == {3, 4} else f"{WITHIN} the draws",
                why="" if high == {3, 4} else "random problems of two and four nodes, not the paper's",
            )
        )

    def _counts(self, report: Report) -> None:
        """Iterations of Newton's method without line search, with and without friction."""
        report.say("## Iterations")
        report.say(
            "The paper: 2 or 3 iterations in practice without friction, even with many nodes. Its function "
            "is the "
            "projection (*Alart-Curnier*); *Fischer-Burmeister* is the default of the package. A row one "
            "element "
            "deep hardly couples its nodes; the block is 12 elements deep, pressed from a cold start."
        )
        rows = []
        for nodes in (2, 3, 4, 8, 16, 32, 64):
            problems = [strip(nodes - 1, mu=mu, shear=shear) for mu, shear in FRICTIONS]
            rows.append([f"row, {nodes} nodes", *_iterations(problems)])
        for contacts in BLOCKS if self.loads > 20 else BLOCKS[:1]:
            block = ElasticBlock(contacts=contacts, rows=12)
            problems = [block.with_friction(mu) for mu, _ in FRICTIONS]
            rows.append([f"block, {contacts} nodes", *_iterations(problems)])
        header = [f"mu = {mu:g}, {name}" for mu, _ in FRICTIONS for name in ("AC", "FB")]
        report.table(["body", *header], rows)
        smooth = [row[1] for row in rows]
        worst = {
            kind: max(int(n) for row, n in zip(rows, smooth, strict=True) if row[0].startswith(kind))
            for kind in ("row", "block")
        }
        report.judge(
            Verdict(
                source="Alart 1997, section I.3",
                quantity="iterations without friction, elastic rows of 2 to 64 nodes",
                printed="2 to 3",
                found=f"at most {worst['row']}",
                grade=REPRODUCED if worst["row"] <= 3 else NOT_REPRODUCED,
                why="" if worst["row"] <= 3 else "see the table",
            )
        )
        report.judge(
            Verdict(
                source="Alart 1997, section I.3",
                quantity="iterations without friction, even with many nodes, on a block",
                printed="2 to 3",
                found=f"up to {worst['block']}",
                grade=REPRODUCED if worst["block"] <= 3 else NOT_REPRODUCED,
                why="" if worst["block"] <= 3 else "grows with the nodes in contact, from a cold start",
            )
        )

    def _node(self, C: Array) -> list[str]:
        mu = 0.5 * min(1.0, C[0, 0] / abs(C[0, 1]))
        formula = float(node_bound(C[None])[0])
        A, loads = np.linalg.inv(C), self._directions()
        found = threshold(
            lambda r: has_cycle(node_with_friction(A, f, mu, r) for f in loads), 1e-3, 10 * formula, 1e-3
        )
        return [f"{formula:.4f}", f"{found:.4f}"]


def _strips(report: Report) -> None:
    """Figure 3: normal flexibility of rows of elastic elements."""
    report.say("## Elastic rows (Figure 3): the matrices NᵀK⁻¹N")
    report.say(
        "The printed numbers are those of a row of unit square elements in plane strain, held at its upper "
        "side. For one element the print differs by 0.15 % (2.582 for 2.586): we found no reading that "
        "explains it."
    )
    rows = []
    for nodes, printed in ROWS.items():
        W = reduce(strip(nodes - 1)).W.toarray()[::2, ::2]
        for row, theirs in zip(W, printed, strict=True):
            rows.append([f"{nodes}", _numbers(row), _numbers(theirs)])
        _judge_flexibility(report, nodes, W, printed)
    report.table(["contact nodes", "ours", "printed"], rows)


def _judge_flexibility(report: Report, nodes: int, W: Array, printed: list[list[float]]) -> None:
    """One verdict per distinct printed entry (the matrices are symmetric both ways)."""
    seen: set[float] = set()
    for i in range(nodes):
        for j in range(i, nodes):
            value = printed[i][j]
            if value not in seen:
                seen.add(value)
                quantity = f"flexibility ({i + 1}, {j + 1}) of the row with {nodes} nodes"
                report.judge(
                    of_number(
                        "Alart 1997, figure 3",
                        quantity,
                        f"{value:g}",
                        float(W[i, j]),
                        within=0.01,
                        why="no reading of the figure explains it",
                    )
                )


def _numbers(row: Iterable[float]) -> str:
    return " ".join(f"{x:+.4f}" for x in row)


def _iterations(problems: Iterable[ContactProblem]) -> list[str]:
    """Iterations with Alart and Curnier's function and with Fischer and Burmeister's, problem by problem."""
    cells = []
    for problem in problems:
        for function in (AlartCurnierMap(), FischerBurmeisterMap()):
            newton = SemismoothNewton(tol=1e-8, function=function, line_search=FullStep())
            solution = solve(problem, newton, check=False)
            cells.append(
                f"{solution.iterations}" if solution.status.is_solved else f"({solution.residual:.0e})"
            )
    return cells
