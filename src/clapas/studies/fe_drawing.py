"""A drawn sheet: friction, yielding, large strain and Alart's cycles in one Newton loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from clapas.bodies.elastic import FiniteVonMises, Obstacle, RigidContact, Solid, Support, VonMises, block
from clapas.geometry.shapes import HalfPlane, Polygon
from clapas.statics.elastic import ElasticContact, OneLoopNewton, State, follow
from clapas.studies.fields import draw_field
from clapas.studies.report import Report
from clapas.studies.verdicts import NOT_REPRODUCED, REPRODUCED, WITHIN, Verdict

Case = tuple[float, float, float]  # pressure, friction, depth of drawing

FLANGE = """\
Alart's motive was deep drawing: when the sheet under the blank holder begins to flow in, nodes that had slid
outwards stick and slide inwards, lightly pressed, while the material yields, and Newton's method goes round
in cycles with r from the elastic stiffness. Neither geometry nor material is in his paper. Here the flange
alone: an axisymmetric sheet (radii 0.5 to 1 m, 40 mm thick, E = 1000 S₀, H = 50 S₀) lies on a die with
friction, a blank holder presses on it without friction (p), its nodes slide outwards, then the punch draws
its inner edge inwards by d, in one increment.

"Elastic r": flexibilities of the elastic tangent. "Current r": those of the current tangent. "(77) and cuts":
the current tangent, and on a cycle (77) per node and r cut by ten. "Damped", the default: in addition, steps
that do not reduce the residual are halved. Counts are linear solves to 1e-10, 100 at most; "wanders" means
that 100 were not enough, without a cycle."""
TOOLS = """\
A blank (radius 1 m, 40 mm thick, E = 500 S₀, H = 5 S₀, plasticity in logarithmic strains, Q8) lies on a die
whose edge is rounded; a blank holder presses on it (pressure p, without friction), and a punch with a rounded
edge draws it in by d in one increment, both with friction mu. All starts as it touches: nothing but contact
holds the blank along the axis."""
PATH = """\
The case {case} in one increment and in many. Friction and plasticity depend on the path, so the answers come
together as increments shorten, not at once."""
LESSON = """\
What Alart saw is there: with r from the elastic stiffness one increment fails, in the flange by a cycle, in
the bending blank also by wandering from region to region without coming back. A smaller r, from the current
tangent or by (77), breaks some cycles and not others. Shortened steps pass them all; which of the other three
columns fails, and how, is a matter of rounding in the bent blank."""
SOURCE = "Alart 1997, II.3"
OURS = "geometry and material are ours, the paper has none"


def flange(
    pressure: float, mu: float, hardening: float, draw: float, cells: int = 24
) -> tuple[ElasticContact, ElasticContact]:
    """The two stages: the holder presses, the inner edge is drawn. Stresses in units of S₀ = 1."""
    mesh = block((0.5, 0.04), (cells, 2), origin=(0.5, 0.0))
    solid = Solid(
        mesh=mesh,
        material=VonMises(young=1000.0, poisson=0.3, yield_stress=1.0, isotropic=hardening),
        kinematics="axisymmetric",
    )
    die = RigidContact(surface="bottom", obstacle=Obstacle(HalfPlane()), mu=mu)
    load = solid.pressure("top", pressure)
    press = ElasticContact(solid=solid, contacts=[die], load=load)
    drawn = ElasticContact(solid=solid, contacts=[die], load=load, supports=[Support("left", "r", -draw)])
    return press, drawn


def drawing_force(stage: ElasticContact, state: State) -> float:
    """Radial force on the inner edge (N), inwards."""
    force = stage.solid.respond(state.u, state.history, tangent=False).force
    return -float(force[stage.solid.dofs("left", "r")].sum())


def tools(pressure: float, mu: float, draw: float, cells: int = 16) -> tuple[ElasticContact, ElasticContact]:
    """Blank, die, punch and holder, the punch moving by ``draw`` in the second stage. Stresses over S₀."""
    high, thick = 0.6, 0.04
    mesh = block((1.0, thick), (cells, 1), "Q8")
    r, top, bottom = mesh.nodes[:, 0], mesh.group("top"), mesh.group("bottom")
    mesh = mesh.with_group("under punch", top[r[top] < 0.47])
    mesh = mesh.with_group("under holder", top[r[top] > 0.6 - 1e-9])
    mesh = mesh.with_group("on die", bottom[r[bottom] > 0.45])
    metal = FiniteVonMises(young=500.0, poisson=0.3, yield_stress=1.0, isotropic=5.0)
    solid = Solid(mesh=mesh, material=metal, kinematics="axisymmetric")
    punch = Obstacle(Polygon.rectangle(0.8, high), (0.0, thick + 0.5 * high), rounding=0.1)
    die = Obstacle(Polygon.rectangle(1.0, high), (1.0, -0.5 * high), rounding=0.1)
    resting = RigidContact(surface="under punch", obstacle=punch, mu=mu)
    moving = replace(resting, motion=(0.0, -draw))
    below = RigidContact(surface="on die", obstacle=die, mu=mu)
    load, axis = solid.pressure("under holder", pressure), [Support("left", "r")]
    press = ElasticContact(solid=solid, supports=axis, contacts=[resting, below], load=load)
    return press, replace(press, contacts=[moving, below])


def punch_force(stage: ElasticContact, state: State) -> float:
    """Force of the punch along the axis (N)."""
    assert state.forces is not None
    return -float(state.forces[: len(stage.solid.mesh.group("under punch")), 1].sum())


@dataclass(frozen=True, kw_only=True)
class FEDrawing:
    """Cycles of Newton's method at the start of flow-in, and the safeguard.

    Parameters
    ----------
    cells : int
        Along the radius of the flange.
    draws : int
        Number of depths of drawing, of 0.5, 2 and 10 mm.
    finest : int
        Increments of the finest path.
    """

    cells: int = 24
    draws: int = 3
    finest: int = 64

    title: ClassVar[str] = "A drawn sheet: cycles and the safeguard"
    quick: ClassVar[dict[str, int]] = {"cells": 8, "draws": 1, "finest": 4}

    def run(self, report: Report) -> None:
        """The flange, then all tools: each case by four methods, one case along its path."""
        depths = (5e-4, 2e-3, 1e-2)[: self.draws]
        report.say("## The flange\n\n" + FLANGE)
        on_flange = [(p, mu, d) for p in (0.5, 0.05) for mu in (0.1, 0.5) for d in depths]
        sheet = _Drawing(lambda p, mu, d: flange(p, mu, 50.0, d, self.cells), drawing_force)
        shown = sheet.compare(report, on_flange)
        if shown is not None:
            sheet.path(report, shown, self.finest, "flange", 20.0)
        report.say("## Blank, punch, die and holder\n\n" + TOOLS)
        with_tools = [(p, mu, d) for p, mu in ((0.05, 0.1), (0.5, 0.1), (0.5, 0.5)) for d in depths]
        blank = _Drawing(tools, punch_force)
        blank.compare(report, with_tools)
        blank.path(report, (0.5, 0.1, depths[-1]), self.finest, "tools", 5.0)
        report.say(LESSON)


class _Drawing(NamedTuple):
    """A family of drawing steps: two stages from (pressure, mu, draw), and the drawing force."""

    stages: Callable[[float, float, float], tuple[ElasticContact, ElasticContact]]
    force: Callable[[ElasticContact, State], float]

    def compare(self, report: Report, cases: list[Case]) -> Case | None:
        """Each case in one increment by each method; a case that cycles with elastic r and then passes."""
        methods = {
            "elastic r": OneLoopNewton(tangent="elastic", safeguard=False, max_iterations=100),
            "current r": OneLoopNewton(safeguard=False, max_iterations=100),
            "(77) and cuts": OneLoopNewton(damping=False, max_iterations=100),
            "damped": OneLoopNewton(max_iterations=100),
        }
        rows, cycling, failed, passed = [], [], 0, 0
        for case in cases:
            press, drawn = self.stages(*case)
            start = OneLoopNewton().solve(press)
            found = {name: method.solve(drawn, start, check=False) for name, method in methods.items()}
            report.tell(f"p = {case[0]:g}, mu = {case[1]:g}, d = {case[2]:g}")
            rows.append([f"{number:g}" for number in case] + [_outcome(state) for state in found.values()])
            plain, safe = found["elastic r"], found["damped"].status.is_solved
            failed += not plain.status.is_solved
            passed += safe
            if plain.orders and not plain.status.is_solved and safe:
                cycling.append(case)
        report.table(["p / S₀", "mu", "d (m)", *methods], rows)
        for verdict in (
            Verdict(
                source=SOURCE,
                quantity=f"{len(cases)} drawing steps with r from the elastic stiffness",
                printed="fail in a cycle",
                found=f"{failed} fail, {len(cycling)} of them in a cycle",
                grade=REPRODUCED if cycling else NOT_REPRODUCED,
                why=OURS,
            ),
            Verdict(
                source=SOURCE,
                quantity="the same with the safeguard",
                printed="pass",
                found=f"{passed} of {len(cases)} pass, once steps are damped too",
                grade=REPRODUCED if passed == len(cases) else NOT_REPRODUCED,
                why=OURS,
            ),
        ):
            report.judge(verdict)
        return cycling[0] if cycling else None

    def path(self, report: Report, case: Case, finest: int, picture: str, magnify: float) -> None:
        """One increment and many, and a picture of the end."""
        report.say(PATH.format(case="p = {:g} S₀, mu = {:g}, d = {:g} m".format(*case)))
        press, drawn = self.stages(*case)
        solid, start = drawn.solid, OneLoopNewton().solve(press)
        rows, forces, last = [], [], start
        for increments in (1, 4, 16, 64):
            if increments > finest:
                break
            history = follow(drawn, start, increments=increments, newton=OneLoopNewton(max_iterations=100))
            last = history.last
            forces.append(self.force(drawn, last))
            rows.append(
                [
                    f"{len(history.states) - 1}",
                    f"{history.iterations}",
                    f"{forces[-1]:.6f}",
                    f"{float(last.u[solid.dofs('right', 'r')].mean()):.4e}",
                    f"{float(last.history[0]['accumulated'].max()):.5f}",
                ]
            )
        headers = ["increments", "iterations", "force (S₀ m²)", "rim moves (m)", "largest plastic strain"]
        report.table(headers, rows)
        off = abs(forces[0] / forces[-1] - 1.0)
        report.judge(
            Verdict(
                source=SOURCE,
                quantity="force after one increment over that after many",
                printed="the same",
                found=f"{forces[0] / forces[-1]:.4f}",
                grade=f"{WITHIN} {100 * off:.2g} %",
                why="friction and plasticity depend on the path",
            )
        )
        title = f"Von Mises stress / S₀, displacements × {magnify:g}"
        with report.figure(picture, title, (9.0, 3.0)) as figure:
            stress = solid.von_mises(last.u, last.history)
            draw_field(figure.subplots(), solid, last.u, stress, "von Mises / S₀", magnify)


def _outcome(state: State) -> str:
    if state.status.is_solved:
        return f"{state.iterations}" + (f", cycle of {state.orders[0]}" if state.orders else "")
    return f"fails: cycle of {state.orders[0]}" if state.orders else "fails: wanders"
