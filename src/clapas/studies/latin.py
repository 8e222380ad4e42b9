"""Micro-macro LATIN of the LMGC thesis: substructures of tensegrity grids, and where the method was to go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from clapas.bodies.trusses import Truss
from clapas.bodies.trusses.generators import grid
from clapas.errors import ProblemError
from clapas.linalg.factor import factorise
from clapas.multiscale import MicroMacroLATIN
from clapas.multiscale.measures import SlackDistance, largest_error, modal_errors, softest_modes, stiffness
from clapas.multiscale.partition import boxes, graph_parts, layers
from clapas.multiscale.substructured import History, Substructured
from clapas.problems.lcp import LCP
from clapas.solvers.lcp import BlockPivoting, solve_lcp
from clapas.statics.trusses import SmallDisplacements, link_problem, module_blocks
from clapas.studies import latin_outlook
from clapas.studies.report import Report
from clapas.studies.verdicts import of_number
from clapas.typing import Array, Indices

DIRECTION = 3.92e6  # d of the thesis, N/m: "automatic, not optimal"
PLAIN: dict[str, Any] = {"direction": DIRECTION, "relaxation": 1.0}  # the method as printed
FACTORS = {0.1: 13, 0.5: 15, 0.75: 25, 1.0: 30}  # iterations to 1 % of independent code, by load factor
GOAL = 0.01
STAGES = (10, 20, 30, 50, 100)

INTRODUCTION = """\
Section 5.3 of the thesis: 16 × 16 modules in 4 × 4 substructures of 16 modules, lower nodes of two opposite
edges held, α × 40 N downward on every other node. The thesis prints few numbers (its curves did not survive):
24 strong interfaces, a coarse problem of 216 unknowns, d = 3.92e6 N/m, "a ratio of about 3" to one domain,
and a cost model. The other numbers to meet are those of an independent code of the same method. *Error* is e,
the energy distance of the elongations to the exact solution; iterations are counted to e < 1 %."""
RATES = """\
Printed: at small α the method converges as with linear links; as α grows, two rates appear, the lower one
"after 30 to 40 iterations, where corrections are about 1e-4". Both rates are found, but ours break near
e = 1e-2: not the same curve. The plain method then ends in an oscillation that hardly decays (cables that are
slack in one stage and not in the other): after 300 iterations with d by the rule it stands at 3e-5. With a
relaxation of 0.9, the default of Clapas, the second rate goes on to rounding: 5e-11 after 300."""
TOGETHER = """\
The outlook of the thesis also names one LCP per substructure as the local stage (a direction that holds for
compatible elongations only). It ends at the same solution and saves nothing: the interfaces, not the links,
set the pace."""
COST = """\
The thesis counts operations of band factorisations: n = 2500 unknowns of half-band 200 on one domain, against
16 substructures of 195 and 50 and a coarse problem of 216 and 60. An iteration costs n l, a factorisation
n l²/2. The last row puts half-bands found by the reverse Cuthill-McKee order into the same formulas."""
DIRECTIONS = """\
The direction decides. The thesis takes the stiffness of one module; the rule of Clapas (`direction="faces"`)
is the stiffness of the *substructure* between opposite faces, per node of the face. `adapt=True` changes
directions in the first iterations and repairs a poor choice."""
PARTS = """\
With the direction of the thesis the number of substructures matters much, with the rule little. One module
per substructure has only weak interfaces (3 nodes each)."""
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
MEASURES = """\
Error in energy e; indicator η between the two stages, which needs no reference; η of section 5.2.1 between
slack lengths of the local stage; the largest displacement error; and the energy error on the four softest
modes of the structure, where the coarse problem acts (the last two are the thesis's outlook)."""
CUTS = """\
The same grid cut by boxes, by METIS and in layers of a breadth-first walk, directions by the rule. A cut that
follows the modules is best; METIS needs no coordinates."""


@dataclass
class Verdicts:
    """What was expected, what came, and what to say of it.

    Few of the numbers are printed: those go to the report's own verdicts, too. The others are those of an
    independent code of the same method.
    """

    report: Report
    rows: list[list[str]] = field(default_factory=list)

    def add(
        self, what: str, expected: float, found: float | None, *, printed: str = "", why: str = ""
    ) -> None:
        """Compare one number; ``printed`` has the digits of the thesis."""
        source = "printed" if printed else "independent code"
        if printed and found is not None:
            place = "LMGC thesis on tensegrity, 5.3"
            self.report.judge(of_number(place, what, printed, found, within=0.03, why=why))
        if found is None:
            said = "not reproduced"
        elif found == expected:
            said = "reproduced"
        else:
            off = abs(found - expected) / abs(expected)
            said = f"within {100 * off:.1f} %" if off < 0.15 else "not reproduced"
        shown = "not reached" if found is None else f"{found:.4g}"
        self.rows.append([what, f"{expected:.4g}", source, shown, said])


@dataclass(frozen=True, kw_only=True)
class Latin:
    """Micro-macro LATIN: interfaces, rates, directions, scalability, rivals; contacts and dynamics.

    Parameters
    ----------
    largest : int
        Modules along a side of the largest grid of the scalability table: 16, 32 or 64.
    contacts : int
        Contacts of the largest wall and packing.
    steps : int
        Time steps of the dynamic run.
    limit : float
        Seconds per solver and contact problem.
    sweeps : bool
        Also vary directions, partitions, weak interfaces and macro bases.
    """

    largest: int = 64
    contacts: int = 5000
    steps: int = 120
    limit: float = 10.0
    sweeps: bool = True

    title: ClassVar[str] = "Micro-macro LATIN (chapters 5 and 6.3)"
    quick: ClassVar[dict[str, Any]] = {
        "largest": 8,
        "contacts": 100,
        "steps": 4,
        "limit": 1.0,
        "sweeps": False,
    }

    def run(self, report: Report) -> None:
        """Count, sweep, compare."""
        verdicts = Verdicts(report)
        report.say(INTRODUCTION)
        truss = grid(16)
        exact = _exact(truss)
        self._rates(report, verdicts, truss)
        self._cost(report, verdicts, truss)
        if self.sweeps:
            self._directions(report, verdicts, truss, exact)
            self._parts(report, verdicts, truss, exact)
            self._interfaces(report, verdicts, truss, exact)
        self._modified(report, verdicts)
        self._measures(report, truss, exact)
        self._scale(report, verdicts)
        latin_outlook.motion(report, verdicts, self.steps)
        latin_outlook.contacts(report, self.contacts, self.limit)
        latin_outlook.rivals(report, self.largest)
        report.say("## Number by number")
        report.table(["number", "expected", "source", "here", "verdict"], verdicts.rows)

    # ------------------------------------------------------------------ the thesis

    def _rates(self, report: Report, verdicts: Verdicts, truss: Truss) -> None:
        report.say("## Interfaces, iterations and rates (R4, R5)")
        whole = _cut(truss, **PLAIN)
        verdicts.add("strong interfaces", 24, whole.interfaces.n_strong, printed="24")
        verdicts.add("coarse unknowns", 216, whole.n_macro, printed="216")
        size = max(len(part.F) for part in whole.parts)
        verdicts.add("unknowns of a substructure", 195, size, printed="195")
        kernels = ", ".join(f"{whole.kernels.count(k)} of {k}" for k in sorted(set(whole.kernels)))
        report.say(
            f"{whole.interfaces.n_strong} strong and {whole.interfaces.n_weak} weak interfaces, "
            f"{whole.n_macro} macro unknowns, rigid motions of the substructures: {kernels}."
        )
        rows, curves = [], {}
        for factor, expected in FACTORS.items():
            history = _run(whole, _exact(truss, factor), factor)
            curves[f"α = {factor:g}"] = history
            rows.append([f"substructures, α = {factor:g}", *_counts(history)])
            verdicts.add(f"iterations, α = {factor:g}", expected, history.iterations_to(GOAL))
        many = curves["α = 1"].iterations_to(GOAL)
        linear = _run(_cut(truss, linear=True, **PLAIN), _linear(truss))
        curves["linear links"] = linear
        rows.append(["substructures, linear links", *_counts(linear)])
        verdicts.add("iterations, linear links", 13, linear.iterations_to(GOAL))
        single = _run(_cut(truss, parts=1, **PLAIN), _exact(truss))
        curves["one domain, α = 1"] = single
        rows.append(["one domain, α = 1", *_counts(single)])
        verdicts.add("iterations, one domain", 11, single.iterations_to(GOAL))
        one = single.iterations_to(GOAL)
        ratio = many / one if many and one else None
        verdicts.add("iterations, substructures / one domain", 3.0, ratio, printed="3")
        relaxed = _run(_cut(truss), _exact(truss))
        adapted = _run(_cut(truss, adapt=True), _exact(truss))
        curves["α = 1, defaults of Clapas"] = relaxed
        curves["α = 1, defaults, adapted"] = adapted
        rows.append(["defaults of Clapas, α = 1", *_counts(relaxed)])
        rows.append(["defaults and adapt=True, α = 1", *_counts(adapted)])
        at_once = _run(_cut(truss, together=_lcp, **PLAIN), _exact(truss))
        rows.append(["one LCP per substructure, α = 1", *_counts(at_once)])
        report.table(["", "to 1 %", "to 1e-3", "to 1e-4", "to 1e-6", "e after 100"], rows)
        report.say(RATES)
        report.say(TOGETHER)
        report.table(
            ["curve", "first rate", "second rate", "breaks at e ="],
            [_rate_row(n, h) for n, h in curves.items()],
        )
        with report.figure("rates", "Error against iterations") as figure:
            axes = figure.subplots()
            for name, history in curves.items():
                axes.semilogy(np.arange(1, len(history.error) + 1), history.error, label=name)
            axes.set(xlabel="iterations", ylabel="error e", ylim=(1e-7, 2), xlim=(0, 100))
            axes.legend(fontsize=7)

    def _cost(self, report: Report, verdicts: Verdicts, truss: Truss) -> None:
        report.say("## Cost model (R6)\n\n" + COST)
        printed = _ratios((2500, 200), (16, 195, 50), (216, 60))
        whole = _cut(truss, **PLAIN)
        K = sparse.csr_array(truss.B.T @ truss.B)
        part = whole.parts[5]
        own = sparse.csr_array(part.B.T @ part.B)
        places = whole.cut.places
        coarse = sparse.lil_array((whole.n_macro, whole.n_macro))
        for place in places:
            coarse[np.ix_(place, place)] = 1.0
        sizes = (
            (truss.n_dof, _half_band(K)),
            (16, own.shape[0], _half_band(own)),
            (whole.n_macro, _half_band(coarse.tocsr())),
        )
        found = _ratios(*sizes)
        costs = (("cost of an iteration", 2.96, "2.9"), ("cost of set-up", 11.66, "11.6"))
        for (what, expected, digits), value in zip(costs, printed, strict=True):
            name = f"{what}, one domain / substructures"
            why = "of the printed sizes; cut off, not rounded"
            verdicts.add(name, expected, round(value, 2), printed=digits, why=why)
        report.table(
            ["", "iteration", "set-up"],
            [
                ["printed", "2.9", "11.6"],
                ["printed sizes, exact arithmetic", *(f"{x:.2f}" for x in printed)],
                [f"half-bands {sizes[0][1]}, {sizes[1][2]}, {sizes[2][1]}", *(f"{x:.2f}" for x in found)],
            ],
        )

    def _directions(self, report: Report, verdicts: Verdicts, truss: Truss, exact: Array) -> None:
        report.say("## Search directions\n\n" + DIRECTIONS)
        rows = []
        for d, expected in {0.5e6: 27, 1e6: 17, 2e6: 19, DIRECTION: 30, 8e6: 55}.items():
            count = _iterations(_cut(truss, direction=d, relaxation=1.0), exact)
            verdicts.add(f"iterations, d = {d:.3g} N/m", expected, count)
            relaxed, adapted = (_iterations(_cut(truss, direction=d, adapt=a), exact) for a in (False, True))
            rows.append([f"{d:.3g}", _shown(count), _shown(relaxed), _shown(adapted)])
        rule = _cut(truss, relaxation=1.0)
        value, count = float(np.mean([d.mean() for d in rule.directions])), _iterations(rule, exact)
        verdicts.add("d by the rule (N/m)", 1.48e6, value)
        verdicts.add("iterations, d by the rule", 17, count)
        others = [_iterations(_cut(truss, adapt=adapt), exact) for adapt in (False, True)]
        rows.append([f"rule: {value:.3g}", _shown(count), *map(_shown, others)])
        report.table(["d (N/m)", "plain", "relaxation 0.9", "relaxation 0.9 and adapt"], rows)
        rows = []
        for scale, expected in {0.25: 27, 0.5: 23, 1.0: 30, 2.0: 41}.items():
            count = _iterations(_cut(truss, link_direction=scale, **PLAIN), exact)
            verdicts.add(f"iterations, l = {scale:g} k", expected, count)
            rows.append([f"{scale:g}", _shown(count)])
        report.table(["l / k", "iterations, d = 3.92e6"], rows)

    def _parts(self, report: Report, verdicts: Verdicts, truss: Truss, exact: Array) -> None:
        report.say("## Number of substructures\n\n" + PARTS)
        rows = []
        for parts, expected in {2: 82, 4: 30, 8: 23}.items():
            plain = _cut(truss, parts=parts, **PLAIN)
            count = _iterations(plain, exact)
            verdicts.add(f"iterations, {parts} × {parts} substructures", expected, count)
            rule = _cut(truss, parts=parts, relaxation=1.0)
            best = {2: 21, 4: 17, 8: 16}[parts]
            by_rule = _iterations(rule, exact)
            verdicts.add(f"iterations, {parts} × {parts}, d by the rule", best, by_rule)
            size, d = f"{plain.n_macro}", f"{rule.directions[0][0]:.3g}"
            rows.append(
                [
                    f"{parts} × {parts}",
                    size,
                    _shown(count),
                    d,
                    _shown(by_rule),
                    _shown(_iterations(_cut(truss, parts=parts), exact)),
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
        report.say("### PairKernels to cut\n\n" + CUTS)
        problem, rows = link_problem(truss, "down"), []
        cuts: dict[str, Indices] = {
            "modules": module_blocks(truss, 16, 4),
            "boxes": boxes(problem, (4, 4)),
            "METIS, nodes distributed": graph_parts(problem, 16),
            "layers, nodes distributed": layers(problem, 16),
        }
        for name, labels in cuts.items():
            whole = MicroMacroLATIN(weak="macro").prepare(problem, labels)
            kept = whole.interfaces
            count = whole.run(300, reference=exact, goal=GOAL).iterations_to(GOAL)
            rows.append(
                [
                    name,
                    f"{whole.n_parts}",
                    f"{kept.n_strong} + {kept.n_weak}",
                    f"{whole.n_macro}",
                    _shown(count),
                ]
            )
        report.table(["cut", "substructures", "strong + weak", "coarse unknowns", "iterations"], rows)

    def _interfaces(self, report: Report, verdicts: Verdicts, truss: Truss, exact: Array) -> None:
        report.say("## Weak interfaces\n\n" + WEAK)
        rows = []
        for weak in ("drop", "macro", "micro"):
            history = _cut(truss, weak=weak, **PLAIN).run(200, reference=exact)
            rows.append(
                [
                    weak,
                    _shown(history.iterations_to(GOAL)),
                    f"{history.error[99]:.2g}",
                    f"{history.error[199]:.2g}",
                ]
            )
            if weak == "macro":
                verdicts.add("iterations, weak interfaces with macro basis", 31, history.iterations_to(GOAL))
        slow = _cut(truss, weak="micro", linear=True, **PLAIN).run(200, reference=_linear(truss))
        rows.append(["micro, linear links", "not reached", f"{slow.error[99]:.2g}", f"{slow.error[199]:.2g}"])
        verdicts.add("e after 100, weak interfaces micro only, linear", 0.64, round(float(slow.error[99]), 2))
        verdicts.add("e after 200", 0.41, round(float(slow.error[199]), 2))
        report.table(["policy", "iterations", "e after 100", "e after 200"], rows)
        report.say("## The coarse problem\n\n" + MACRO)
        rows = []
        off = _cut(truss, macro=False, **PLAIN).run(100, reference=exact)
        verdicts.add("e after 100 without coarse problem", 0.98, round(float(off.error[-1]), 2))
        rows.append(["none", "-", f"{off.error[-1]:.2g}"])
        for vectors in (3, 6, 9):
            history = _cut(truss, macro=vectors, relaxation=0.9).run(100, reference=exact)
            rows.append(
                [f"{vectors} vectors", _shown(history.iterations_to(GOAL)), f"{history.error[-1]:.2g}"]
            )
        for kappa in (0.1, 1.0, 10.0, 100.0):
            history = _cut(truss, macro_direction=kappa).run(100, reference=exact)
            rows.append(
                [f"9 vectors, κ = {kappa:g}", _shown(history.iterations_to(GOAL)), f"{history.error[-1]:.2g}"]
            )
        report.table(["macro basis", "iterations", "e after 100"], rows)

    def _modified(self, report: Report, verdicts: Verdicts) -> None:
        report.say("## The modified module (R7)\n\n" + MODIFIED)
        truss, rows = grid(16, modified=True), []
        for name, linear, expected in (("nonsmooth", False, 16), ("linear", True, 10)):
            reference = _linear(truss) if linear else _exact(truss)
            count = _iterations(_cut(truss, linear=linear, **PLAIN), reference)
            verdicts.add(f"iterations, modified module, {name}", expected, count)
            rows.append(
                [
                    name,
                    str(13 if linear else 30),
                    _shown(count),
                    _shown(_iterations(_cut(truss, linear=linear), reference)),
                ]
            )
        report.table(["links", "printed module", "modified module", "modified, defaults of Clapas"], rows)

    def _measures(self, report: Report, truss: Truss, exact: Array) -> None:
        report.say("## Other measures of the error\n\n" + MEASURES)
        problem = link_problem(truss, "down")
        distance, modes = SlackDistance(problem), softest_modes(problem, 4)[1]
        slack, rows = distance.slack(problem.B @ exact), []
        for name, settings in (("as printed", PLAIN), ("defaults", {})):
            whole, done = _cut(truss, **settings), 0
            for stage in STAGES:
                history = whole.run(stage - done, reference=exact)
                done = stage
                parts = modal_errors(problem, modes, whole.U, exact)
                numbers = (
                    history.error[-1],
                    history.indicator[-1],
                    distance(distance.slack(whole.e_hat), slack),
                    largest_error(whole.U, exact),
                    *parts,
                )
                rows.append([name, str(stage), *(f"{x:.1e}" for x in numbers)])
        head = ["method", "iteration", "e", "η of the stages", "η of slack lengths", "max norm"]
        report.table([*head, *(f"mode {i}" for i in range(1, 5))], rows)

    def _scale(self, report: Report, verdicts: Verdicts) -> None:
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
        for i, n in enumerate(n for n in (8, 16, 32, 64) if n <= self.largest):
            truss = grid(n, load=40.0 * (16.0 / n) ** 2)
            exact, smooth = _exact(truss), _linear(truss)
            cells = []
            for name, settings in methods.items():
                count = _iterations(_cut(truss, n=n, parts=n // 4, **settings), exact)
                cells.append(_shown(count))
                if name in expected and i < 3:
                    verdicts.add(f"iterations, {n} × {n} modules, {name}", expected[name][i], count)
            count = _iterations(_cut(truss, n=n, parts=n // 4, linear=True, **PLAIN), smooth)
            if i < 3:
                verdicts.add(f"iterations, {n} × {n} modules, linear", (10, 13, 14)[i], count)
            rule = _iterations(_cut(truss, n=n, parts=n // 4, linear=True), smooth)
            rows.append([f"{n} × {n}", f"{(n // 4) ** 2}", *cells, _shown(count), _shown(rule)])
            report.tell(" ".join(rows[-1]))
        report.table(["modules", "substructures", *methods, "linear, d = 3.92e6", "linear, defaults"], rows)


# ---------------------------------------------------------------------- pieces


def _cut(
    truss: Truss, *, n: int = 16, parts: int = 4, linear: bool = False, **settings: Any
) -> Substructured:
    problem = link_problem(truss, "down", linear=linear)
    return MicroMacroLATIN(**settings).prepare(problem, module_blocks(truss, n, parts))


def _lcp(W: Array, q: Array) -> Array:
    return solve_lcp(LCP(W, q), BlockPivoting(tol=1e-10)).z


def _exact(truss: Truss, factor: float = 1.0) -> Array:
    return SmallDisplacements().solve(truss, "down", factor=factor).displacements.ravel()


def _linear(truss: Truss) -> Array:
    """Displacements with all links linear."""
    problem = link_problem(truss, "down", linear=True)
    U = np.zeros(len(problem.F))
    U[problem.free] = factorise(stiffness(problem)).solve(problem.F[problem.free])
    return U


def _run(whole: Substructured, reference: Array, factor: float = 1.0, iterations: int = 100) -> History:
    whole.reset()
    whole.load(factor * whole.problem.F)
    return whole.run(iterations, reference=reference)


def _iterations(whole: Substructured, reference: Array, most: int = 150) -> int | None:
    return whole.run(most, reference=reference, goal=GOAL).iterations_to(GOAL)


def _shown(count: int | None) -> str:
    return "not reached" if count is None else str(count)


def _counts(history: History) -> list[str]:
    return [
        *(_shown(history.iterations_to(goal)) for goal in (1e-2, 1e-3, 1e-4, 1e-6)),
        f"{history.error[-1]:.1e}",
    ]


def _rate_row(name: str, history: History) -> list[str]:
    """Mean factor per iteration early (5 to 15) and late (60 to 100), and where the two lines cross."""
    log = np.log10(np.maximum(history.error, 1e-15))
    count = np.arange(1, len(log) + 1)
    early = np.polyfit(count[4:15], log[4:15], 1)
    late = np.polyfit(count[59:], log[59:], 1)
    rates = [f"{10 ** early[0]:.3f}", f"{10 ** late[0]:.3f}"]
    if late[0] - early[0] < 0.02 or log[-1] < -8:
        return [name, rates[0], rates[1] if log[-1] > -8 else "the same", "no break"]
    crossing = (late[1] - early[1]) / (early[0] - late[0])
    return [name, *rates, f"{10 ** np.polyval(early, crossing):.0e}"]


def _ratios(
    one: tuple[int, int], parts: tuple[int, int, int], coarse: tuple[int, int]
) -> tuple[float, float]:
    """Operations of one domain over those of substructures: an iteration, and the factorisations."""
    (n, l), (count, n_s, l_s), (size, band) = one, parts, coarse
    iteration = n * l / (count * n_s * l_s + size * band)
    return iteration, n * l**2 / (count * n_s * l_s**2 + size * band**2)


def _half_band(matrix: sparse.csr_array) -> int:
    order = np.asarray(csgraph.reverse_cuthill_mckee(sparse.csr_matrix(matrix), symmetric_mode=True))
    place = np.argsort(order)
    entries = matrix.tocoo()
    return int(np.abs(place[entries.row] - place[entries.col]).max())


def _one_module(truss: Truss, exact: Array) -> list[str]:
    cells: list[str] = []
    whole = None
    for settings in ({**PLAIN, "weak": "macro"}, {"relaxation": 1.0}, {}):
        try:
            whole = _cut(truss, parts=16, **settings)
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
