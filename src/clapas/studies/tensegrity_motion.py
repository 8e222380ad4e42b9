"""A tensegrity grid in time: preload, load, release and the shock of cables that catch (section 6.2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from clapas.bodies.trusses import Actuator, History, MovingTruss
from clapas.bodies.trusses.generators import bolted_grid, grid
from clapas.bodies.trusses.ties import Ties
from clapas.dynamics.bar_systems import BarSystems
from clapas.dynamics.births import initial_state
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.stepping import step
from clapas.errors import NotSolved
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from clapas.solvers import Auto
from clapas.solvers.lcp import InteriorPoint
from clapas.studies.report import Report
from clapas.studies.verdicts import UNDETERMINED, Verdict, of_number
from clapas.typing import Array

STEP = 1e-3  # s
MARKS = {200: "preloaded", 400: "loaded", 420: "", 440: "printed: violent re-tensioning", 600: "end"}
DAMPING = 1e-4  # s: light damping of the elongation rates of members

MOTION = """\
The thesis runs 8 × 8 modules for 0.6 s with steps of 1 ms: bars are tensioned in time, then nodes are loaded,
then the load is taken away; some 40 steps later cables that were slack catch violently. Masses, times and
amplitudes are not printed. Here: extensible cables in large displacements, assembled without stress; from 0
to 0.2 s bars grow and cables are wound in until they have the printed self-stress; from 0.2 to 0.4 s a load
of {load:.0f} N per node grows; it is released at once at 0.4 s."""
SHOCK = """\
The shock is there: after the release the largest cable force is {peak:.1f} kN, against {before:.1f} kN under
the load, {when} steps after it. At the end of the preload the lower cables carry {lower:.0f} N on the mean
(2000 N printed)."""
BOLTED = """\
The modules as the thesis built them: bars as dynamical systems of their own, modules bolted where their nodes
meet, by the corrected step (`BarSystems`). For 8 × 8 modules these are {cables} cables and {rows} rows of
bolts. The thesis gave bilateral ties up for numerical difficulties and took preloaded one-sided bolts. Here
both are solved, on {n} × {n} modules under {load:.0f} N per node, {steps} steps, by Lemke's method. Bilateral
ties are merged nodes to rounding, and so are bolts with a preload of 100 kN, none of which opens. An interior
point with a residual of 1e-10 follows within that accuracy (last row), provided that a cable which the step
before left taut up to its residual still counts as taut: asked for the sign of e_i alone, it drops half of
the cables at random and leaves the path after two steps. That may be one of the difficulties met."""
UNIQUE = """\
With inextensible cables velocities agree and tensions do not: on 8 × 8 modules the 768 rows have rank 615,
and methods share the force of parallel cables differently. Sorted impulses (figure 6.21) then show the method
as much as the structure; extensible cables have one answer."""


def motion(report: Report, modules: int, bolted: int) -> None:
    """Preload, load and release; bolts."""
    load = 160.0 * (8.0 / modules) ** 2
    report.say("## In time (R15)\n\n" + MOTION.format(load=load))
    _release(report, modules, load)
    _bolts(report, bolted)


def released(n: int, load: float) -> MovingTruss:
    """The grid, assembled without stress, with its preload and load histories.

    Rest lengths go from the lengths of the members to those of the self-stressed grid, group by group: bars
    lengthen, cables shorten.
    """
    stressed = grid(n, load=load)
    winches = []
    for group in range(len(stressed.groups)):
        members = np.flatnonzero(stressed.group == group)
        factor = float((stressed.rest_lengths / stressed.lengths)[members].mean())
        winches.append(Actuator(members=members.tolist(), times=[0.0, 0.2], factors=[1.0, factor]))
    return MovingTruss(
        truss=stressed.with_(prestress=np.zeros(stressed.n_members)),
        case="down",
        history=History(times=[0.2, 0.4, 0.4001], factors=[0.0, 1.0, 0.0]),
        actuators=winches,
        damping_time=DAMPING,
    )


def _release(report: Report, n: int, load: float) -> None:
    moving = released(n, load)
    truss, cable = moving.truss, moving.truss.is_cable
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.law(mu=0.5)
    scene.add_system(moving, name="grid")
    model = compile_scene(scene)
    state, near = initial_state(model), Neighbours(model)
    rows, kept, peaks = [], {}, []
    for i in range(1, 601):
        done = step(model, state, STEP, Auto(tol=1e-8), None, near)
        if not done.status.is_solved:
            raise NotSolved(done.solution)
        state = done.state
        part = state.parts[0]
        forces = moving.tensions(part)
        peaks.append(float(forces[cable].max()))
        if i in MARKS:
            kept[i] = forces[cable]
            energy = moving.energy(part, np.zeros(3))
            u = np.linalg.norm(moving.nodes_at(part) - truss.nodes, axis=1).max()
            slack = f"{100 * float((forces[cable] <= 0).mean()):.1f} %"
            numbers = f"{u:.3f}", slack, f"{peaks[-1] / 1e3:.2f}", f"{energy.kinetic:.2f}"
            rows.append([f"{i}", MARKS[i], *numbers])
    report.table(
        ["step", "", "largest u (m)", "slack", "largest cable force (kN)", "kinetic energy (J)"], rows
    )
    after = np.array(peaks[400:])
    report.judge(
        Verdict(
            source="LMGC thesis on tensegrity, 6.2",
            quantity="steps from the release to the violent re-tensioning",
            printed="about 40",
            found=f"{int(after.argmax()) + 1}",
            grade=UNDETERMINED,
            why="masses, load and times are not printed",
        )
    )
    lower = truss.group == 0
    report.say(
        SHOCK.format(
            peak=after.max() / 1e3,
            before=peaks[399] / 1e3,
            when=int(after.argmax()) + 1,
            lower=float(kept[200][lower[cable]].mean()),
        )
    )
    with report.figure("released", "Cable forces in ascending order at three steps") as figure:
        axes = figure.subplots()
        for i in (200, 400, 440):
            axes.plot(np.sort(kept[i]) / 1e3, label=f"step {i}")
        axes.set(xlabel="cables", ylabel="force (kN)")
        axes.legend()


def _bolts(report: Report, n: int, steps: int = 10) -> None:
    load = 40.0 * (16.0 / n) ** 2
    whole, pairs_of_8 = bolted_grid(8)
    cables = "cables, 8 × 8 modules"
    report.judge(of_number("LMGC thesis on tensegrity, 6.2", cables, "768", whole.n_cables))
    report.say(BOLTED.format(cables=whole.n_cables, rows=3 * len(pairs_of_8), n=n, load=load, steps=steps))
    merged, (apart, pairs) = grid(n, load=load), bolted_grid(n, load=load)
    same = {tuple(np.round(x, 6)): k for k, x in enumerate(merged.nodes)}
    place = np.array([same[tuple(np.round(x, 6))] for x in apart.nodes])
    rows = []
    for is_inextensible in (False, True):
        kind = "inextensible" if is_inextensible else "extensible"
        expected: Array | None = None
        settings: dict[str, dict[str, Any]] = {
            "merged nodes": {},
            "bilateral ties": {"ties": pairs},
            "preloaded bolts": {"ties": pairs, "tie_preload": 1e5},
        }
        if is_inextensible:
            point = InteriorPoint(tol=1e-10)
            settings["preloaded bolts, interior point"] = {**settings["preloaded bolts"], "solver": point}
        for name, own in settings.items():
            truss = apart if own else merged
            systems = BarSystems(truss, h=STEP, is_inextensible=is_inextensible, **own)
            opened, worst = 0, 0.0
            for _ in range(steps):
                done = systems.step(truss.cases["down"])
                opened += int((done.bolts <= -(1.0 - 1e-9) * own.get("tie_preload", np.inf)).sum())
                worst = max(worst, done.residual)
            u = systems.displacements if own else systems.displacements[place]
            expected = u if expected is None else expected
            n_rows = Ties(truss, own.get("ties", ())).J.shape[0]
            size = np.abs(expected).max()
            cells = f"{truss.n_cables} + {n_rows}", f"{1e3 * np.abs(u).max():.3f}"
            rows.append(
                [kind, name, *cells, f"{np.abs(u - expected).max() / size:.0e}", str(opened), f"{worst:.0e}"]
            )
    report.table(
        ["cables", "modules", "rows", "largest u (mm)", "difference", "bolts opened", "residual"], rows
    )
    report.say(UNIQUE)
