"""Parameters of the micro-macro LATIN: directions, partitions, interfaces, macro bases, modules, size."""

from __future__ import annotations

from typing import Any

import numpy as np

from clapas.bodies.trusses import Truss
from clapas.bodies.trusses.generators import grid
from clapas.errors import ProblemError
from clapas.multiscale import MicroMacroLATIN
from clapas.multiscale.partition import boxes, graph_parts, layers
from clapas.statics.trusses import link_problem, module_blocks
from clapas.studies.latin_grids import (
    DIRECTION,
    GOAL,
    PLAIN,
    Verdicts,
    cut,
    exact_displacements,
    iterations,
    linear_displacements,
    shown,
)
from clapas.studies.report import Report
from clapas.typing import Array, Indices

DIRECTIONS = """\
The direction decides. The thesis takes the stiffness of one module; the rule of Clapas (`direction="faces"`)
is the stiffness of the *substructure* between opposite faces, per node of the face. `adapt=True` changes
directions in the first iterations and repairs a poor choice."""
PARTS = """\
With the direction of the thesis the number of substructures matters much, with the rule little. One module
per substructure has only weak interfaces (3 nodes each)."""
CUTS = """\
The same grid cut by boxes, by METIS and in layers of a breadth-first walk, directions by the rule. A cut that
follows the modules is best; METIS needs no coordinates."""
WEAK = """\
At the nine corners four substructures meet in one node, so that 18 interfaces of one node join substructures
diagonally. Left in with the micro direction alone they hold rigid motions and the method crawls; dropped
where continuity follows from strong interfaces (default), or kept with the 3 macro vectors a node allows,
it works."""
MACRO = """\
Without coarse problem nothing but neighbours talk: the error stands still at 0.98. Translations alone are not
enough, since moments are not balanced over interfaces; rotations are most of the gain. A finite macro
direction d^M = κ d loosens the continuity of macro displacements; without relaxation it never ends (a rigid
motion of the substructures flips from one iteration to the next, invisible in energy)."""
MODIFIED = """\
Two crossed cables in each square remove the mechanism. Printed: the rate improves at first, "not
dramatically"."""
SCALE = """\
Substructures of 4 × 4 modules on larger and larger grids, loads ∝ 1/n² (the same 13 % of slack cables).
Scalability means a bounded count. The direction of the thesis does not give it with slack cables; that of the
substructures nearly does."""


def directions(report: Report, verdicts: Verdicts, truss: Truss, exact: Array) -> None:
    """Search directions of interfaces and links."""
    report.say("## Search directions\n\n" + DIRECTIONS)
    rows = []
    for d, expected in {0.5e6: 27, 1e6: 17, 2e6: 19, DIRECTION: 30, 8e6: 55}.items():
        count = iterations(cut(truss, direction=d, relaxation=1.0), exact)
        verdicts.add(f"iterations, d = {d:.3g} N/m", expected, count)
        relaxed, adapted = (iterations(cut(truss, direction=d, adapt=a), exact) for a in (False, True))
        rows.append([f"{d:.3g}", shown(count), shown(relaxed), shown(adapted)])
    rule = cut(truss, relaxation=1.0)
    value, count = float(np.mean([d.mean() for d in rule.directions])), iterations(rule, exact)
    verdicts.add("d by the rule (N/m)", 1.48e6, value)
    verdicts.add("iterations, d by the rule", 17, count)
    others = [iterations(cut(truss, adapt=adapt), exact) for adapt in (False, True)]
    rows.append([f"rule: {value:.3g}", shown(count), *map(shown, others)])
    report.table(["d (N/m)", "plain", "relaxation 0.9", "relaxation 0.9 and adapt"], rows)
    rows = []
    for scale, expected in {0.25: 27, 0.5: 23, 1.0: 30, 2.0: 41}.items():
        count = iterations(cut(truss, link_direction=scale, **PLAIN), exact)
        verdicts.add(f"iterations, l = {scale:g} k", expected, count)
        rows.append([f"{scale:g}", shown(count)])
    report.table(["l / k", "iterations, d = 3.92e6"], rows)


def parts(report: Report, verdicts: Verdicts, truss: Truss, exact: Array) -> None:
    """More and fewer substructures."""
    report.say("## Number of substructures\n\n" + PARTS)
    rows = []
    for parts, expected in {2: 82, 4: 30, 8: 23}.items():
        plain = cut(truss, parts=parts, **PLAIN)
        count = iterations(plain, exact)
        verdicts.add(f"iterations, {parts} × {parts} substructures", expected, count)
        rule = cut(truss, parts=parts, relaxation=1.0)
        best = {2: 21, 4: 17, 8: 16}[parts]
        by_rule = iterations(rule, exact)
        verdicts.add(f"iterations, {parts} × {parts}, d by the rule", best, by_rule)
        size, d = f"{plain.n_macro}", f"{rule.directions[0][0]:.3g}"
        rows.append(
            [
                f"{parts} × {parts}",
                size,
                shown(count),
                d,
                shown(by_rule),
                shown(iterations(cut(truss, parts=parts), exact)),
            ]
        )
    rows.append(_one_module(truss, exact))
    report.table(
        [
            "substructures",
            "coarse unknowns",
            "d = 3.92e6",
            "d by the rule (N/m)",
            "by the rule",
            "and relaxation 0.9",
        ],
        rows,
    )


def _one_module(truss: Truss, exact: Array) -> list[str]:
    cells: list[str] = []
    whole = None
    for settings in ({**PLAIN, "weak": "macro"}, {"relaxation": 1.0}, {}):
        try:
            whole = cut(truss, parts=16, **settings)
            with np.errstate(over="ignore", invalid="ignore"):
                history = whole.run(100, reference=exact, goal=GOAL)
            worst = history.error[-1]
            count = history.iterations_to(GOAL)
            cells.append(
                str(count) if count else ("diverges" if not worst < 1.0 else f"e = {worst:.2g} after 100")
            )
        except ProblemError:
            cells.append("singular")
    size = "-" if whole is None else f"{whole.n_macro}"
    return ["16 × 16", size, cells[0], "-", *cells[1:]]


def cuts(report: Report, truss: Truss, exact: Array) -> None:
    """Partitions by modules, boxes, METIS and layers."""
    report.say("### Ways to cut\n\n" + CUTS)
    problem, rows = link_problem(truss, "down"), []
    partitions: dict[str, Indices] = {
        "modules": module_blocks(truss, 16, 4),
        "boxes": boxes(problem, (4, 4)),
        "METIS, nodes distributed": graph_parts(problem, 16),
        "layers, nodes distributed": layers(problem, 16),
    }
    for name, labels in partitions.items():
        whole = MicroMacroLATIN(weak="macro").prepare(problem, labels)
        kept = whole.interfaces
        count = whole.run(300, reference=exact, goal=GOAL).iterations_to(GOAL)
        rows.append(
            [
                name,
                f"{whole.n_parts}",
                f"{kept.n_strong} + {kept.n_weak}",
                f"{whole.n_macro}",
                shown(count),
            ]
        )
    report.table(["cut", "substructures", "strong + weak", "coarse unknowns", "iterations"], rows)


def interfaces(report: Report, verdicts: Verdicts, truss: Truss, exact: Array) -> None:
    """Treatment of interfaces of one node."""
    report.say("## Weak interfaces\n\n" + WEAK)
    rows = []
    for weak in ("drop", "macro", "micro"):
        history = cut(truss, weak=weak, **PLAIN).run(200, reference=exact)
        rows.append(
            [
                weak,
                shown(history.iterations_to(GOAL)),
                f"{history.error[99]:.2g}",
                f"{history.error[199]:.2g}",
            ]
        )
        if weak == "macro":
            verdicts.add("iterations, weak interfaces with macro basis", 31, history.iterations_to(GOAL))
    slow = cut(truss, weak="micro", linear=True, **PLAIN).run(200, reference=linear_displacements(truss))
    rows.append(["micro, linear links", "not reached", f"{slow.error[99]:.2g}", f"{slow.error[199]:.2g}"])
    verdicts.add("e after 100, weak interfaces micro only, linear", 0.64, round(float(slow.error[99]), 2))
    verdicts.add("e after 200", 0.41, round(float(slow.error[199]), 2))
    report.table(["policy", "iterations", "e after 100", "e after 200"], rows)


def coarse_problem(report: Report, verdicts: Verdicts, truss: Truss, exact: Array) -> None:
    """No coarse problem, smaller ones, and a finite macro direction."""
    report.say("## The coarse problem\n\n" + MACRO)
    rows = []
    off = cut(truss, macro=False, **PLAIN).run(100, reference=exact)
    verdicts.add("e after 100 without coarse problem", 0.98, round(float(off.error[-1]), 2))
    rows.append(["none", "-", f"{off.error[-1]:.2g}"])
    for vectors in (3, 6, 9):
        history = cut(truss, macro=vectors, relaxation=0.9).run(100, reference=exact)
        rows.append([f"{vectors} vectors", shown(history.iterations_to(GOAL)), f"{history.error[-1]:.2g}"])
    for kappa in (0.1, 1.0, 10.0, 100.0):
        history = cut(truss, macro_direction=kappa).run(100, reference=exact)
        rows.append(
            [f"9 vectors, κ = {kappa:g}", shown(history.iterations_to(GOAL)), f"{history.error[-1]:.2g}"]
        )
    report.table(["macro basis", "iterations", "e after 100"], rows)


def modified(report: Report, verdicts: Verdicts) -> None:
    """The module without mechanism."""
    report.say("## The modified module (R7)\n\n" + MODIFIED)
    truss, rows = grid(16, modified=True), []
    for name, linear, expected in (("nonsmooth", False, 16), ("linear", True, 10)):
        reference = linear_displacements(truss) if linear else exact_displacements(truss)
        count = iterations(cut(truss, linear=linear, **PLAIN), reference)
        verdicts.add(f"iterations, modified module, {name}", expected, count)
        rows.append(
            [
                name,
                str(13 if linear else 30),
                shown(count),
                shown(iterations(cut(truss, linear=linear), reference)),
            ]
        )
    report.table(["links", "printed module", "modified module", "modified, defaults of Clapas"], rows)


def scale(report: Report, verdicts: Verdicts, largest: int) -> None:
    """Grids of increasing size."""
    report.say("## Scalability\n\n" + SCALE)
    methods: dict[str, dict[str, Any]] = {
        "d = 3.92e6": PLAIN,
        "d = 1e6": {"direction": 1e6, "relaxation": 1.0},
        "d by the rule": {"relaxation": 1.0},
        "defaults": {},
        "defaults and adapt": {"adapt": True},
    }
    expected = {"d = 3.92e6": (20, 30, 44), "d = 1e6": (16, 17, 18)}
    rows = []
    for i, n in enumerate(n for n in (8, 16, 32, 64) if n <= largest):
        truss = grid(n, load=40.0 * (16.0 / n) ** 2)
        exact, smooth = exact_displacements(truss), linear_displacements(truss)
        cells = []
        for name, settings in methods.items():
            count = iterations(cut(truss, n=n, parts=n // 4, **settings), exact)
            cells.append(shown(count))
            if name in expected and i < 3:
                verdicts.add(f"iterations, {n} × {n} modules, {name}", expected[name][i], count)
        count = iterations(cut(truss, n=n, parts=n // 4, linear=True, **PLAIN), smooth)
        if i < 3:
            verdicts.add(f"iterations, {n} × {n} modules, linear", (10, 13, 14)[i], count)
        rule = iterations(cut(truss, n=n, parts=n // 4, linear=True), smooth)
        rows.append([f"{n} × {n}", f"{(n // 4) ** 2}", *cells, shown(count), shown(rule)])
        report.tell(" ".join(rows[-1]))
    report.table(["modules", "substructures", *methods, "linear, d = 3.92e6", "linear, defaults"], rows)
