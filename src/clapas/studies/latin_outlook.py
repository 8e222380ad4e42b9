"""Perspectives of the thesis: dynamics, frictional contact, and a comparison with other methods."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from clapas.bodies.trusses import Truss
from clapas.bodies.trusses.generators import grid
from clapas.dynamics.substructured import SubstructuredMotion
from clapas.linalg.factor import factorise
from clapas.multiscale import MicroMacroLATIN, Springs
from clapas.multiscale.newton_krylov import NewtonKrylov
from clapas.multiscale.substructured import History
from clapas.problems import ContactProblem, gallery
from clapas.solvers import LATIN, NSGS, AcceleratedProjection, InteriorPoint, MicroMacro, solve
from clapas.solvers.loop import Solver
from clapas.statics.trusses import SmallDisplacements, link_problem, module_blocks
from clapas.studies.granular_lcp import deposit
from clapas.studies.latin_grids import Verdicts
from clapas.studies.report import Report
from clapas.typing import Array

MODULE, BLOCK = 3.92e6, 1.48e6  # N/m, directions of one module and of 4 × 4
GOAL = 0.01
TOL = 1e-6  # residual of contact problems
WALLS = ((6, 5), (12, 10), (20, 16), (30, 20))

MOTION = """\
8 × 8 modules in 2 × 2 substructures, extensible cables, implicit steps: the static class with stiffness k h,
M/h added and directions times h (section 6.3; the thesis prints neither directions nor masses). First the
step after the release of a load that left 13 % of the cables slack, as printed by an independent code: at
1 ms the coarse problem buys little, since a substructure hardly feels its neighbours within a step; at 10 ms
it is needed. Without a warm start a fifth of the error is left."""
RUN = """\
Then {steps} steps of 1 ms: a load of 160 N a node grows over the first half and is released; indicator
1e-4 in each step. The implicit scheme dissipates, the method adds or takes nothing visible."""
CONTACT = """\
The outlook of the thesis: the same method on frictional contacts. `MicroMacro` solves a `ContactProblem`; all
are judged by its residual, 1e-6, from cold starts. Brick walls, packings of spheres under their weight, and
discs dropped into a box until they rest. Cells: seconds of the processor (iterations), or the residual
reached within {limit:g} s by the clock."""
CONTACT_SAYS = """\
On walls, whose forces must find their way over many courses, the coarse problem pays: some tens of iterations
that grow slowly with the size, ahead of Gauss-Seidel and of the interior point on the larger ones; the
accelerated projection is faster still. On grains it does not pay. On discs at rest substructures and coarse
problem take ten times fewer iterations than one domain (`LATIN`), on spheres no fewer; sliding contacts keep
the two stages turning about each other, and Gauss-Seidel is far ahead. So the hope of the thesis, granular
media by substructures, holds for structures of blocks and not yet for loose grains."""
RIVALS = """\
The energy of cables and bars is convex, so Newton's method needs a handful of tangents. It runs with a direct
solver on the whole (`SmallDisplacements`) and with conjugate gradients on the interfaces of the same
partition, preconditioned by the substructures and the same coarse space (`NewtonKrylov`, a FETI/BDDC method).
Seconds of one processor; set-up apart where it can be kept. *Second load* is the load upward to 1 %, with
what was kept: LATIN keeps its factors, Newton's methods make new tangents."""
RIVALS_SAY = """\
For one load case on one machine Newton's method with a direct solver wins up to 32 × 32 modules and whenever
more than 1 % is asked; at 64 × 64 LATIN is at 1 % first. For further load cases to 1 % LATIN, which never
factorises again, is two to nine times as fast as Newton's method, the more so the larger the grid; for more
digits it is not. The Krylov rival suffers from slack cables: tangents have soft local mechanisms that no
interface field sees. And LATIN has what the others do not: nothing larger than a substructure and the coarse
problem at one place (on 64 × 64 modules 53 000 and 2.1 million numbers, 15 million in all), one vector per
interface and iteration between parts, and laws without a convex energy (the walls above)."""


def motion(report: Report, verdicts: Verdicts, steps: int) -> None:
    """Dynamics of the 8 × 8 grid."""
    report.say("## Dynamics\n\n" + MOTION)
    truss = grid(8, load=160.0)
    expected = {
        (1e-3, MODULE): (37, 45),
        (1e-2, MODULE): (13, None),
        (1e-3, BLOCK): (51, None),
        (1e-2, BLOCK): (21, None),
    }
    rows = []
    for (h, d), (with_macro, without) in expected.items():
        on, off = (_release(truss, h, d, macro=macro) for macro in (True, False))
        counts = [history.iterations_to(GOAL) for history in (on, off)]
        verdicts.add(f"iterations, step {1e3 * h:g} ms after release, d = h × {d:.3g}", with_macro, counts[0])
        if without:
            verdicts.add(f"the same without coarse problem, d = h × {d:.3g}", without, counts[1])
        rows.append(
            [f"{1e3 * h:g} ms", f"h × {d:.3g}", *("not in 80" if c is None else str(c) for c in counts)]
        )
    cold = _release(truss, 1e-3, MODULE, macro=True, warm=False, iterations=60)
    verdicts.add("e after 60, cold start, 1 ms", 0.2, round(float(cold.error[-1]), 1))
    report.table(["step", "d (N s/m)", "iterations", "without coarse problem"], rows)
    report.say(RUN.format(steps=steps))
    labels = module_blocks(truss, 8, 2)
    rows, half = [], steps // 2
    for name, warm in (("warm", True), ("cold", False)):
        moving = SubstructuredMotion(truss, labels, h=1e-3, warm=warm)
        iterations: list[int] = []
        work = worst = 0.0
        for i in range(1, steps + 1):
            result = moving.step(truss.cases["down"] * (i / half if i <= half else 0.0))
            iterations.append(result.iterations)
            work, worst = work + result.work, max(worst, result.residual)
        energy_left = (moving.kinetic + moving.strain) / work if work else 1.0
        rows.append(
            [
                name,
                f"{np.mean(iterations[:half]):.0f}",
                f"{np.mean(iterations[half:]):.0f}",
                f"{worst:.0e}",
                f"{work:.1f}",
                f"{100 * energy_left:.1f} %",
            ]
        )
    report.table(
        [
            "start of a step",
            "iterations, loading",
            "after release",
            "worst residual",
            "work (J)",
            "energy left",
        ],
        rows,
    )


def _release(
    truss: Truss, h: float, d: float, *, macro: bool, warm: bool = True, iterations: int = 80
) -> History:
    """The step after the removal of a static load, compared with Newton's method."""
    method = MicroMacroLATIN(direction=h * d, macro=macro, relaxation=1.0)
    moving = SubstructuredMotion(truss, module_blocks(truss, 8, 2), h=h, method=method)
    moving.U = SmallDisplacements().solve(truss, "down").displacements.ravel().copy()
    law, whole = moving.law(), moving.whole
    reference = _newton_step(truss, law, moving.mass / h)
    for part, links in zip(whole.parts, whole.links_of, strict=True):
        part.law = law.restrict(links)
        part.reset()
        if not warm:  # forces of the linear law, below zero in slack cables
            part.t_hat = part.law.t0 + 0.0
            part.a = part.t_hat
    return whole.run(iterations, reference=reference)


def _newton_step(truss: Truss, law: Springs, mass: Array) -> Array:
    B, M, V = truss.B, mass[truss.free], np.zeros(truss.n_dof)
    for _ in range(50):
        e = B @ V
        gradient = B.T @ law.forces(e) + M * V
        if np.abs(gradient).max() <= 1e-9 * np.abs(law.t0).max():
            break
        K = B.T @ sparse.diags_array(law.tangent(e)) @ B + sparse.diags_array(M)
        V = V - factorise(sparse.csr_array(K)).solve(gradient)
    return truss.displacements(V).ravel()


def contacts(report: Report, largest: int, limit: float) -> None:
    """Walls and packings by several solvers."""
    report.say("## Frictional contact\n\n" + CONTACT.format(limit=limit))
    problems: dict[str, ContactProblem] = {}
    for courses, bricks in WALLS:
        wall = gallery.brick_wall(courses, bricks).problem
        if wall.n_contacts <= max(largest, 220):
            problems[f"wall {courses} × {bricks}"] = wall
    for count in (200, 1000, 4000):
        if count <= largest:
            packing = gallery.sphere_packing(count, seed=3, agitation=0.0)
            problems[f"{count} contacts, spheres"] = packing.problem
    for discs in (84, 330):
        if discs <= largest / 2:
            problems[f"{discs} discs at rest"] = deposit(discs, 0.3)
    limits: dict[str, Any] = {"tol": TOL, "time_limit": limit, "max_iterations": 10**7}
    methods: dict[str, Solver] = {
        "NSGS": NSGS(**limits),
        "AcceleratedProjection": AcceleratedProjection(**limits),
        "InteriorPoint": InteriorPoint(tol=TOL, time_limit=limit),
        "LATIN": LATIN(**limits),
        "MicroMacro": MicroMacro(**limits),
    }
    curves: dict[str, dict[str, tuple[Array, Array]]] = {}
    rows = []
    for method in methods.values():  # compile
        solve(next(iter(problems.values())), method, check=False)
    for name, problem in problems.items():
        cells = []
        for label, method in methods.items():
            began = time.process_time()
            found = solve(problem, method, check=False)
            spent = time.process_time() - began
            solved = f"{spent:.2f} ({found.iterations})"
            cells.append(solved if found.status.is_solved else f"{found.residual:.0e}")
            curves.setdefault(name, {})[label] = (found.history.seconds, found.history.residuals)
        rows.append([name, str(problem.n_contacts), *cells])
        report.tell(" ".join(rows[-1]))
    report.table(["problem", "contacts", *methods], rows)
    report.say(CONTACT_SAYS)
    shown = [[n for n in problems if "wall" in n][-1], *[n for n in problems if "spheres" in n][-1:]]
    with report.figure("contacts", "Residual against seconds", size=(9.0, 4.0)) as figure:
        for axes, name in zip(np.atleast_1d(figure.subplots(1, len(shown))), shown, strict=True):
            for label, (seconds, residuals) in curves[name].items():
                axes.loglog(np.maximum(seconds, 1e-3), np.maximum(residuals, 1e-9), label=label)
            axes.set(title=name, xlabel="seconds", ylabel="residual")
            axes.legend(fontsize=7)


def rivals(report: Report, largest: int) -> None:
    """LATIN against Newton's method with a direct and with a Krylov solver."""
    report.say("## Rivals\n\n" + RIVALS)
    rows = []
    for n in (n for n in (8, 16, 32, 64) if n <= largest):
        truss = grid(n, load=40.0 * (16.0 / n) ** 2)
        problem, labels = link_problem(truss, "down"), module_blocks(truss, n, n // 4)
        exact, direct = _timed(SmallDisplacements().solve, truss, "down")
        other, anew = _timed(SmallDisplacements().solve, truss, "up")
        reference, second = exact.displacements.ravel(), other.displacements.ravel()
        rows.append(
            [
                f"{n} × {n}",
                "Newton, direct",
                "-",
                f"{direct:.2f}",
                f"{direct:.2f}",
                f"{anew:.2f}",
                f"{exact.iterations} tangents, then {other.iterations}",
            ]
        )
        for name, settings in (("LATIN", {}), ("LATIN, adapted", {"adapt": True})):
            method = MicroMacroLATIN(**settings)  # type: ignore[arg-type]
            whole, setup = _timed(method.prepare, problem, labels)
            rough, first = _timed(whole.run, 60, reference=reference, goal=GOAL)
            fine, more = _timed(whole.run, 300, reference=reference, goal=1e-6)
            whole.reset()
            whole.load(link_problem(truss, "up").F)
            again, once = _timed(whole.run, 60, reference=second, goal=GOAL)
            counts = f"{len(rough.error)} and {len(rough.error) + len(fine.error)} iterations"
            counts += f", then {len(again.error)}"
            if fine.error[-1] >= 1e-6:
                counts += f", e = {fine.error[-1]:.0e}"
            rows.append(
                [
                    f"{n} × {n}",
                    name,
                    f"{setup:.2f}",
                    f"{setup + first:.2f}",
                    f"{setup + first + more:.2f}",
                    f"{once:.2f}",
                    counts,
                ]
            )
        if n <= 32:
            found, spent = _timed(NewtonKrylov(krylov_tol=1e-4).solve, problem, labels)
            _, anew = _timed(NewtonKrylov(krylov_tol=1e-4).solve, link_problem(truss, "up"), labels)
            rows.append(
                [
                    f"{n} × {n}",
                    "Newton, Krylov",
                    "-",
                    f"{spent:.2f}",
                    f"{spent:.2f}",
                    f"{anew:.2f}",
                    f"{found.newton_steps} tangents, {found.krylov_iterations} iterations",
                ]
            )
        report.tell(" ".join(rows[-1]))
    report.table(
        ["modules", "method", "set-up (s)", "to 1 % (s)", "to 1e-6 (s)", "second load (s)", "work"], rows
    )
    report.say(RIVALS_SAY)


def _timed(work: Callable[..., Any], *arguments: Any, **options: Any) -> tuple[Any, float]:
    began = time.process_time()
    found = work(*arguments, **options)
    return found, time.process_time() - began
