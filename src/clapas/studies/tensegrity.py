"""Tensegrity of the LMGC thesis: module and grids, slack cables, complementarity forms and their solvers."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from clapas.analysis import trusses as pictures
from clapas.bodies.trusses import Assembly, Truss, kinematics, modes, stability
from clapas.bodies.trusses.generators import grid, guyed_mast, kite, module
from clapas.linalg.factor import factorise
from clapas.multiscale import MicroMacroLATIN
from clapas.solvers.lcp import (
    LATIN,
    ConjugateProjectedGradient,
    GaussSeidel,
    LCPSolution,
    LCPSolver,
    registry,
    solve_lcp,
)
from clapas.statics.trusses import (
    Equilibrium,
    LargeDisplacements,
    SmallDisplacements,
    cable_lcp,
    check_members,
    link_problem,
    module_blocks,
    solve_cables,
)
from clapas.studies.point_mass import GRAVITY, PointMass, sinking
from clapas.studies.report import Report
from clapas.studies.tensegrity_motion import motion
from clapas.studies.verdicts import NOT_REPRODUCED, REPRODUCED, Verdict, of_number

FACTORS = (0.1, 0.25, 0.5, 0.75, 1.0)
LARGE_FACTORS = (0.5, 1.0, 1.5, 2.0)
METHODS = tuple(name for name in registry.names() if name not in ("enumeration", "mixed-integer"))
DENSE_PROGRAMS = ("quadratic-program", "fischer-burmeister")  # minutes on full matrices of thousands
LARGEST_PROGRAM = 1000
SOURCE = "LMGC thesis on tensegrity"
GRID_LOADS = {3: 1000.0, 9: 120.0, 16: 40.0}  # N per node; those of figure 5.12 are not printed

COUNTED = ("nodes", "displacements", "bars", "cables", "self-stress states", "internal mechanisms")
PRINTED_KERNELS = {"guyed mast": "1", "kite": "3"}
PRINTED_COUNTS = {  # by modules along a side, whether modified, and quantity
    (1, False, "self-stress states"): "1",
    (1, False, "internal mechanisms"): "3",
    (3, False, "cables"): "108",
    (9, False, "cables"): "972",
    (16, False, "cables"): "3072",
    (16, False, "displacements"): "2500",  # "about"
    (16, False, "internal mechanisms"): "1",
    (4, True, "internal mechanisms"): "0",
}

INTRODUCTION = """\
The thesis prints tables of the module and of the grid, the share of slack cables, kernels, and a comparison
of LCP methods whose curves did not survive. Coordinates of the module were found again from its forces; every
count below follows from them."""
SLACK = """\
16 × 16 modules, lower nodes of two opposite edges held, α × 40 N downward on every other node. Printed: 14 %
of the cables slack on average at α = 1. The exact share is 13.28 %; counting forces up to 100 N as slack it
is 14.19 %, which is the likely reading of a printed 14. The load upward gives 8.98 %."""
LARGE = """\
The thesis assumes small displacements, and they are not small: a quarter of a metre on modules of half a
metre in height. In the true shape, from the same rest lengths, more cables are slack and the largest force is
a quarter larger; beyond α = 1 the structure stiffens while the linear model goes on. Large displacements are
the default of Clapas; the linear model is this reproduction."""
BARS = """\
The thesis excludes buckling by hypothesis. Its bars, 2.8 cm² of steel and 1.22 m long, buckle at 8.2 kN if
they are solid and round; at α = 1 the largest compression is more than twice that. A tube of the same area,
48 mm wide, would bear 98 kN: the section, not the steel, decides."""
NO_CRITICAL = """\
Loads far beyond those of the thesis on 3 × 3 modules. With K invertible and a self-stress that is positive in
all cables there is an equilibrium for every load: add enough of the self-stress to the linear answer and all
cables pull; the bars, which are not unilateral, take what that costs. So the linear model has no critical
load, and a "loss of rigidity" can only come from special loads (the mast below) or from geometry. The share
of slack cables tends to a limit."""
MAST = """\
One bar and two guys. Under a load along the bar both guys slacken at the same factor, whatever their angles:
the equilibrium of the tip sideways, τ₁ sin α₁ = τ₂ sin α₂, lets them go only together. Beyond it the tip is
free to move sideways and the slack lengths are not unique (kernel of dimension 1); the forces are."""
SOLVERS = """\
The LCP (5.11), τ = Wλ + q, by every method of the library, to a residual of 1e-8; most of them polish their
answer on the active set they found. The thesis reports that Lemke's method does not converge beyond about 100
constraints. That is not found: it solves every grid, on a plain tableau as well, so rounding does not explain
it. The last row solves the same problem in displacements, without forming W."""
PLAIN = """\
The iterative methods of the thesis as printed, without relaxation and without polishing, to a residual of
1e-6. The directions k of LATIN are multiples of the diagonal of W. As the thesis says, Gauss-Seidel is fast
on the small grid and robust, the best k of LATIN depends on the size, and the conjugate gradient grows
least."""
MODIFIED = """\
Two crossed cables in the lower and two in the upper square, without prestress. From 2 × 2 modules on no
mechanism is left (table above); a single modified module still has one. The crossed cables start on the edge
between slack and tight (q_i = 0 without load): a degenerate LCP. Printed: the substructured LATIN method
converges faster at first, "not dramatically"; independent code gave 30 → 16 iterations to 1 % (13 → 10 with
all links linear) for 4 × 4 substructures of 16 × 16 modules with the direction of the thesis. Both are found;
`clapas study latin` has the rest of that method. Beside it the LATIN method on one domain, directions equal
to the stiffnesses of the links (with all links linear it is exact after one iteration): its first iterations
are faster too with the modified module, and its last ones are not."""
POINT = """\
Section 6.1.2: a unit mass dropped from 1 m; masses, heights and stiffnesses are not printed, so the
statements are in kind. In velocity the rebound is the restitution asked for, whatever the step. In
displacement, θ = 1 is a soft impact over two steps, and θ = ½ rebounds with a restitution that the step
decides; no energy was gained, so the fault is inconsistency rather than a lack of dissipation. On elastic
ground the term min(e, 0)/h keeps the mass near −mg/k, within g h² (it chatters where k h² is large against
the mass); without it the mass sinks for ever. k → ∞ is the soft impact."""
REST = """\
* R4 to R6 (rates of convergence, ratio to one domain, cost model of the substructured LATIN):
  `clapas study latin`.
* R10 to R13 (elastic contact, friction, granular deposits): `clapas study lcp-rectangle`, `lcp-punch`,
  `lcp-friction`, `granular-lcp`.
* Dynamics by the substructured LATIN method (6.3): `clapas study latin`."""


@dataclass(frozen=True, kw_only=True)
class Tensegrity:
    """Grids of half-cuboctahedra: kernels, slack cables, LCP forms and solvers, member checks.

    Parameters
    ----------
    modules : int
        Modules along a side of the large grid.
    largest : int
        Modules along a side of the largest grid given to every LCP method: 3, 9 or 16.
    limit : float
        Seconds per method.
    moving : int
        Modules along a side of the grid that is preloaded, loaded and released.
    bolted : int
        Modules along a side of the grid of bolted modules.
    """

    modules: int = 16
    largest: int = 16
    limit: float = 60.0
    moving: int = 8
    bolted: int = 4

    title: ClassVar[str] = "Tensegrity grids with unilateral cables (chapters 5 and 6.1)"
    quick: ClassVar[dict[str, Any]] = {
        "modules": 6,
        "largest": 3,
        "limit": 5.0,
        "moving": 2,
        "bolted": 2,
    }

    def run(self, report: Report) -> None:
        """Count, load, compare."""
        report.say(INTRODUCTION)
        self._kernels(report)
        self._slack(report)
        self._large(report)
        self._modified(report)
        self._forms(report)
        self._loads(report)
        self._solvers(report)
        self._point(report)
        motion(report, self.moving, self.bolted)
        report.say("## What is not here\n\n" + REST)

    def _grid(self, modified: bool = False) -> Truss:
        """The large grid; its load has the same bending for every size, 40 N a node for 16 modules."""
        return grid(self.modules, modified=modified, load=40.0 * (16.0 / self.modules) ** 2)

    def _kernels(self, report: Report) -> None:
        report.say("## Module and grids (R1, R2)")
        rows = []
        plain = [(n, False) for n in (1, 3, 9, self.modules)]
        for n, modified in [*plain, *((n, True) for n in (1, 2, 4))]:
            truss = grid(n, modified=modified, supports="none", load=0.0)
            found = kinematics(truss)
            sizes = (truss.n_nodes, truss.n_dof, truss.n_members - truss.n_cables, truss.n_cables)
            counts = (*sizes, found.n_self_stress, found.internal.shape[1])
            rows.append([f"{n} × {n}" + " modified" * modified, *map(str, counts)])
            report.tell(" ".join(rows[-1]))
            for quantity, value in zip(COUNTED, counts, strict=True):
                printed = PRINTED_COUNTS.get((n, modified, quantity))
                if printed is not None:
                    what = f"{quantity}, {n} × {n} modules" + ", modified" * modified
                    report.judge(of_number(f"{SOURCE}, 5.1 to 5.3", what, printed, value, within=0.001))
        report.table(["grid", *COUNTED], rows)
        report.say(
            "Printed: 1 self-stress and 3 mechanisms for the module, one mechanism for every grid, none for "
            "the modified; 108, 972, 3072 (and 768 for 8 × 8) cables, about 2500 displacements (833 nodes)."
        )
        values = stability(module()).mechanism_stiffness
        report.say(
            f"Prestress makes the module stable: stiffness {', '.join(f'{v:.0f}' for v in values)} N/m on "
            "its three mechanisms, proportional to the self-stress. Its lowest frequencies grow as the "
            "square root of it:"
        )
        rows = []
        for level in (0.25, 1.0, 4.0):
            f = modes(module().with_(prestress=level * module().prestress), 9).frequencies[6:]
            rows.append([f"{level:g}", *(f"{each:.2f}" for each in f)])
        report.table(["self-stress / printed", "f₁ (Hz)", "f₂ (Hz)", "f₃ (Hz)"], rows)

    def _slack(self, report: Report) -> None:
        truss = self._grid()
        report.say("## Slack cables (R3)\n\n" + SLACK)
        states = {}
        rows = []
        for factor in FACTORS:
            state = SmallDisplacements().solve(truss, "down", factor=factor)
            states[f"α = {factor:g}"] = state
            nearly = float(((state.forces <= 100.0) & truss.is_cable).sum()) / truss.n_cables
            shares = [_percent(state.slack_share), _percent(nearly)]
            sizes = [f"{state.forces.max() / 1e3:.2f}", f"{state.largest_displacement:.4f}"]
            rows.append([f"{factor:g}", *shares, *_by_group(state), *sizes, f"{state.iterations}"])
            if factor == 1.0 and self.modules == 16:
                why = f"{100 * nearly:.2f} % with forces up to 100 N counted as slack"
                found = 100.0 * state.slack_share
                verdict = of_number(
                    f"{SOURCE}, 5.3", "slack cables, α = 1", "14", found, within=0.06, unit="%", why=why
                )
                report.judge(verdict)
        measured = ["largest force (kN)", "largest u (m)", "factorisations"]
        report.table(["α", "slack", "≤ 100 N", "lower", "upper", "inclined", *measured], rows)
        up = SmallDisplacements().solve(truss, "up")
        report.say(f"Upward, α = 1: {_percent(up.slack_share)} slack.")
        with report.figure("forces", "Cable forces in ascending order") as figure:
            pictures.draw_sorted_forces(figure.subplots(), states)
        with report.figure("deformed", "Loaded shape at α = 1, displacements × 2", size=(8.0, 5.0)) as figure:
            pictures.draw_state(pictures.axes_for(figure, truss), states["α = 1"], scale=2.0)

    def _large(self, report: Report) -> None:
        report.say("## Small and large displacements\n\n" + LARGE)
        truss, rows, guess = self._grid(), [], None
        for factor in LARGE_FACTORS:
            small = SmallDisplacements().solve(truss, "down", factor=factor)
            large = LargeDisplacements().solve(truss, "down", factor=factor, guess=guess)
            guess = large.displacements
            pair = (small, large)
            cells = [_percent(state.slack_share) for state in pair]
            cells += [f"{state.forces.max() / 1e3:.2f}" for state in pair]
            cells += [f"{state.largest_displacement:.3f}" for state in pair]
            rows.append([f"{factor:g}", *cells])
        names = [
            f"{what}, {model}" for what in ("slack", "force (kN)", "u (m)") for model in ("small", "large")
        ]
        report.table(["α", *names], rows)
        report.say("### The bars\n\n" + BARS)
        checks = check_members(SmallDisplacements().solve(truss, "down"))
        rows = []
        for row in checks.by_group():
            extremes = [f"{float(row[key]) / 1e3:.2f}" for key in ("smallest force", "largest force")]
            used = f"{float(row['utilisation']):.2f}" if row["kind"] == "bar" else "-"
            rows.append([str(row["group"]), *extremes, used, str(row["failed"])])
        report.table(["group", "smallest force (kN)", "largest force (kN)", "utilisation", "failed"], rows)

    def _modified(self, report: Report) -> None:
        report.say("## The modified module (R7)\n\n" + MODIFIED)
        rows = []
        for modified in (False, True):
            truss = self._grid(modified)
            counts = [_substructured_latin(truss, self.modules, linear) for linear in (False, True)]
            counts += [_one_domain_latin(truss, goal) for goal in (1e-2, 1e-4)]
            rows.append(["modified" if modified else "printed", *map(str, counts)])
        report.table(
            [
                "module",
                "substructures, to 1 %",
                "substructures, linear links, to 1 %",
                "one domain, to 1 %",
                "one domain, to 0.01 %",
            ],
            rows,
        )

    def _forms(self, report: Report) -> None:
        report.say("## Complementarity forms (R8)")
        rows = []
        for truss in (guyed_mast(), kite(), grid(3), *([grid(9)] if self.largest >= 9 else [])):
            W = cable_lcp(truss).problem.dense
            values = np.linalg.eigvalsh(W)
            bars = truss.B[np.flatnonzero(~truss.is_cable)].toarray()
            kernel = int((values < 1e-9 * values[-1]).sum())
            free = truss.n_dof - int(np.linalg.matrix_rank(bars, tol=1e-9))
            if truss.name in PRINTED_KERNELS:
                what = f"dimension of ker W, {truss.name}"
                report.judge(of_number(f"{SOURCE}, 5.2", what, PRINTED_KERNELS[truss.name], kernel))
            rows.append(
                [truss.name, str(truss.n_cables), f"{values[0] / values[-1]:.0e}", str(kernel), str(free)]
            )
        report.table(
            ["structure", "size of W", "smallest / largest eigenvalue", "dim ker W", "dim ker K_b"], rows
        )
        report.say(
            "W is symmetric, positive semidefinite and singular; its kernel has the dimension of that of "
            "the bars alone (the thesis states at most that), 1 for the mast and 3 for the kite as printed. "
            "The three forms on 3 × 3 modules at 1000 N, against the displacement form:"
        )
        truss = grid(3, load=1000.0)
        direct = SmallDisplacements().solve(truss, "down")
        rows = []
        for form in ("assembled", "unassembled", "split"):
            found = solve_cables(truss, "down", form=form)
            distance = float(np.abs(found.forces - direct.forces).max() / direct.forces.max())
            rows.append([form, f"{distance:.0e}", str(found.iterations), f"{found.residual:.0e}"])
        report.table(["form", "largest difference of forces", "pivots", "residual of equilibrium"], rows)
        report.say(
            f"With e⁰_c = t⁰_c/k_c in (5.21), as it reads, the unloaded forces are {_naive(truss)} of the "
            "self-stress."
        )

    def _loads(self, report: Report) -> None:
        report.say("## No critical load\n\n" + NO_CRITICAL)
        truss, rows = grid(3), []
        for load in (40.0, 1000.0, 1500.0, 3000.0, 40_000.0):
            state = SmallDisplacements().solve(truss, "down", factor=load / 40.0)
            tight = ~state.is_slack
            K = Assembly(truss).material(truss.stiffness * tight)
            smallest = float(np.linalg.eigvalsh(K.toarray())[0])
            rows.append(
                [f"{load:g}", _percent(state.slack_share), f"{smallest:.2g}", f"{state.residual:.0e}"]
            )
        report.table(["load (N)", "slack", "smallest tangent eigenvalue (N/m)", "residual"], rows)
        report.say("### The mast\n\n" + MAST)
        mast, rows = guyed_mast(load=1.0), []
        for factor in (1e3, 1e4, 3e4, 1e5):
            state = SmallDisplacements().solve(mast, "top", factor=factor)
            rows.append([f"{factor:g}", *(f"{t:.1f}" for t in state.forces)])
        report.table(["load along the bar (N)", "bar (N)", "left guy (N)", "right guy (N)"], rows)

    def _solvers(self, report: Report) -> None:
        report.say("## LCP methods on the grids (R9)\n\n" + SOLVERS)
        sizes = [n for n in GRID_LOADS if n <= self.largest]
        cells: dict[str, list[str]] = {name: [] for name in METHODS}
        for n in sizes:
            truss = grid(n, load=GRID_LOADS[n])
            stated = cable_lcp(truss, "down").problem
            reference = SmallDisplacements().solve(truss, "down").forces[truss.is_cable]
            for name in METHODS:
                if name in DENSE_PROGRAMS and stated.size > LARGEST_PROGRAM:
                    cells[name].append("not tried")
                    continue
                began = time.process_time()
                found = solve_lcp(stated, registry.make(name, tol=1e-8, time_limit=self.limit), check=False)
                spent = time.process_time() - began
                report.tell(f"{n} × {n}, {name}: {found}")
                off = float(np.abs(found.w.clip(min=0.0) - reference).max() / reference.max())
                solved = f"{found.iterations} ({spent:.2g} s, {off:.0e})"
                cells[name].append(solved if found.status.is_solved else f"not solved ({found.residual:.0e})")
                if name == "lemke-tableau" and stated.size > 100:
                    _judge_lemke(report, stated.size, found)
        direct = []
        for n in sizes:
            began = time.process_time()
            state = SmallDisplacements().solve(grid(n, load=GRID_LOADS[n]), "down")
            direct.append(f"{state.iterations} ({time.process_time() - began:.2g} s, -)")
        head = ["method", *(f"{12 * n * n} cables, {GRID_LOADS[n]:g} N" for n in sizes)]
        report.table(head, [*([name, *row] for name, row in cells.items()), ["displacement Newton", *direct]])
        report.say(
            "In each cell: iterations (seconds of the processor, largest difference of a cable force from "
            "that of the displacement form)."
        )
        self._plain(report, sizes)

    def _plain(self, report: Report, sizes: list[int]) -> None:
        report.say("### The iterative methods as printed\n\n" + PLAIN)
        limits: dict[str, Any] = {"tol": 1e-6, "time_limit": self.limit, "polish": False}
        methods: dict[str, LCPSolver] = {
            "Gauss-Seidel": GaussSeidel(**limits),
            "conjugate gradient": ConjugateProjectedGradient(slack=np.inf, **limits),
            **{f"LATIN, k = {k:g}": LATIN(k=k, relaxation=1.0, **limits) for k in (0.1, 0.3, 1.0, 3.0, 10.0)},
        }
        cells: dict[str, list[str]] = {name: [] for name in methods}
        for n in sizes:
            stated = cable_lcp(grid(n, load=GRID_LOADS[n]), "down").problem
            for name, method in methods.items():
                found = solve_lcp(stated, method, check=False)
                cells[name].append(
                    f"{found.iterations}" if found.status.is_solved else f"not in {found.iterations}"
                )
        report.table(
            ["method", *(f"{12 * n * n} cables" for n in sizes)],
            [[name, *row] for name, row in cells.items()],
        )

    def _point(self, report: Report) -> None:
        report.say("## Point mass: laws in velocity and in displacement (R14)\n\n" + POINT)
        rows = []
        for h in (0.05, 0.01, 0.005):
            given = PointMass(h=h).velocity(0.5)[1]
            rebounds = [given, *(PointMass(h=h, theta=theta).displacement()[1] for theta in (1.0, 0.5))]
            rows.append([f"{h:g}", *(f"{rebound:.2f}" for rebound in rebounds)])
        laws = ["velocity law, restitution ½", "displacement law, θ = 1", "displacement law, θ = ½"]
        report.table(["h (s)", *(f"rebound, {law}" for law in laws)], rows)
        rows = []
        for k in (1e2, 1e3, 1e4, 1e8):
            held, free = (PointMass(h=0.05, duration=10.0).elastic(k, correct) for correct in (True, False))
            half = np.array(held[len(held) // 2 :])
            rows.append(
                [
                    f"{k:g}",
                    f"{-GRAVITY / k:.5f}",
                    f"{half.min():.5f}",
                    f"{half.max():.5f}",
                    f"{sinking(free):.1e}",
                ]
            )
        head = [
            "k (N/m)",
            "−mg/k (m)",
            "lowest at the end (m)",
            "highest (m)",
            "drift per step without the term (m)",
        ]
        report.table(head, rows)


def _judge_lemke(report: Report, size: int, found: LCPSolution) -> None:
    """Printed: no convergence beyond about 100 constraints."""
    solved = found.status.is_solved
    report.judge(
        Verdict(
            source=f"{SOURCE}, 5.2.2",
            quantity=f"Lemke's method on a plain tableau, {size} constraints",
            printed="does not converge",
            found=f"{found.iterations} pivots" if solved else "does not converge",
            grade=NOT_REPRODUCED if solved else REPRODUCED,
            why="the program of the thesis is not known; rounding does not explain it" if solved else "",
        )
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _by_group(state: Equilibrium) -> list[str]:
    return [
        str(int(state.is_slack[state.truss.members_of(name)].sum()))
        for name in ("lower", "upper", "inclined")
    ]


def _naive(truss: Truss) -> str:
    """Unloaded cable forces over self-stress when the lack of fit is taken for t⁰_c/k_c."""
    cable = truss.is_cable
    own = truss.prestress[cable]
    Bc = truss.B[np.flatnonzero(cable)]
    U = factorise(Assembly(truss).material().tocsr()).solve(-(Bc.T @ own))
    share = (truss.stiffness[cable] * (Bc @ U) + own) / own
    return f"{share.min():.2f} to {share.max():.2f}"


def _substructured_latin(truss: Truss, n: int, linear: bool) -> int:
    """Iterations of the micro-macro LATIN method of the thesis to 1 %, with blocks of about 4 × 4 modules."""
    problem = link_problem(truss, "down", linear=linear)
    if linear:
        exact = np.zeros(len(problem.F))
        exact[truss.free] = factorise(Assembly(truss).material().tocsr()).solve(truss.load("down"))
    else:
        exact = SmallDisplacements().solve(truss, "down").displacements.ravel()
    method = MicroMacroLATIN(direction=3.92e6, relaxation=1.0)
    whole = method.prepare(problem, module_blocks(truss, n, max(1, n // 4)))
    return len(whole.run(200, reference=exact, goal=1e-2).error)


def _one_domain_latin(truss: Truss, goal: float, most: int = 2000) -> int:
    """Iterations of the LATIN method on the whole structure until the energy distance to the solution is the
    goal.

    Search directions are the stiffnesses l = k of the links, so that the linear stage factorises K once:

        local    (t̂ − t) + l (ê − e) = 0  and the law of each link
        linear   (t − t̂) − l (e − ê) = 0  and equilibrium, Bᵀ (t + t⁰) = F
    """
    B, k, t0, F = truss.B, truss.stiffness, truss.prestress, truss.load("down")
    K = Assembly(truss).material().tocsr()
    factor = factorise(K)
    exact = SmallDisplacements().solve(truss, "down").displacements.ravel()[truss.free]
    size = np.sqrt(exact @ (K @ exact))
    stress, strain = np.zeros(truss.n_members), np.zeros(truss.n_members)
    for iteration in range(1, most + 1):
        U = factor.solve(F - B.T @ (stress + t0 - k * strain))
        e = B @ U
        t = stress + k * (e - strain)
        if np.sqrt((U - exact) @ (K @ (U - exact))) <= goal * size:
            return iteration
        middle = 0.5 * (t + k * e)  # intersection of both lines for a linear link
        stress = np.where(truss.is_cable, np.maximum(middle, -t0), middle)
        strain = e - (stress - t) / k
    return most
