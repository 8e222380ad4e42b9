"""The flange of a drawn sheet: friction, yielding and Alart's cycles in one Newton loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clapas.bodies.elastic import Obstacle, RigidContact, Solid, Support, VonMises, block
from clapas.geometry.shapes import HalfPlane
from clapas.statics.elastic import ElasticContact, OneLoopNewton, State, follow
from clapas.studies.fields import draw_field
from clapas.studies.report import Report

FLANGE = """\
Alart's motive was deep drawing: when the sheet under the blank holder begins to flow in, nodes that had slid
outwards stick and slide inwards, lightly pressed, while the material yields, and Newton's method goes round
in cycles with r from the elastic stiffness. Neither geometry nor material is in his paper. Here the flange
alone: an axisymmetric sheet (radii 0.5 to 1 m, 40 mm thick, E = 1000 S₀) lies on a die with friction, a blank
holder presses on it without friction (p), its nodes slide outwards, then the punch draws its inner edge
inwards by d, in one increment.

"Elastic r": flexibilities of the elastic tangent, no safeguard. "Current r": those of the current tangent, no
safeguard. "Safeguard": the current tangent, and on the first cycle (77) per node, r cut by ten, and steps as
long as the residual likes. Counts are linear solves to 1e-10; "cycle" gives the order."""
PATH = """\
The case p = {pressure:g} S₀, mu = {mu:g}, hardening {hardening:g} S₀, d = {draw:g} m in one increment and in
many: friction and plasticity depend on the path, so the answers come together as increments shorten, not at
once."""
LIMITS = """\
Not here: punch and die corners. A sheet that is drawn over them stretches because it deflects, which small
strains do not see; finite plasticity is needed."""


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


@dataclass(frozen=True, kw_only=True)
class FEDrawing:
    """Cycles of Newton's method at the start of flow-in, and the safeguard.

    Parameters
    ----------
    cells : int
        Along the radius.
    """

    cells: int = 24

    title: ClassVar[str] = "The flange of a drawn sheet: cycles and the safeguard"
    quick: ClassVar[dict[str, int]] = {"cells": 8}

    def run(self, report: Report) -> None:
        """Cases by three ways, then the path."""
        report.say(FLANGE)
        ways = {
            "elastic r": OneLoopNewton(tangent="elastic", safeguard=False, max_iterations=100),
            "current r": OneLoopNewton(safeguard=False, max_iterations=100),
            "safeguard": OneLoopNewton(max_iterations=100),
        }
        cases = [
            (p, mu, h, d)
            for p in (0.5, 0.05)
            for mu, h in ((0.1, 50.0), (0.5, 50.0))
            for d in (5e-4, 2e-3, 1e-2)
        ]
        rows, shown = [], None
        for pressure, mu, hardening, draw in cases:
            press, drawn = flange(pressure, mu, hardening, draw, self.cells)
            start = OneLoopNewton().solve(press)
            found = {name: way.solve(drawn, start, check=False) for name, way in ways.items()}
            report.tell(f"p = {pressure:g}, mu = {mu:g}, d = {draw:g}")
            rows.append(
                [f"{pressure:g}", f"{mu:g}", f"{hardening:g}", f"{draw:g}"]
                + [_told(state) for state in found.values()]
            )
            cycles = found["elastic r"].orders and found["safeguard"].status.is_solved
            if shown is None and cycles:
                shown = (pressure, mu, hardening, draw)
        report.table(["p / S₀", "mu", "H / S₀", "d (m)", *ways], rows)
        if shown is not None:
            self._path(report, *shown)
        report.say(LIMITS)

    def _path(self, report: Report, pressure: float, mu: float, hardening: float, draw: float) -> None:
        report.say(
            "## One increment and many\n\n"
            + PATH.format(pressure=pressure, mu=mu, hardening=hardening, draw=draw)
        )
        press, drawn = flange(pressure, mu, hardening, draw, self.cells)
        start = OneLoopNewton().solve(press)
        rows, last = [], start
        for increments in (1, 4, 16, 64):
            history = follow(
                drawn, start, increments=increments, newton=OneLoopNewton(max_iterations=100), smallest=1e-4
            )
            last = history.last
            rim = float(last.u[drawn.solid.dofs("right", "r")].mean())
            yielding = float((last.history[0]["accumulated"] > 0.0).mean())
            rows.append(
                [
                    f"{len(history.states) - 1}",
                    f"{history.iterations}",
                    f"{drawing_force(drawn, last):.6f}",
                    f"{rim:.4e}",
                    f"{100 * yielding:.0f}",
                ]
            )
        report.table(
            ["increments", "iterations", "drawing force (S₀ m²)", "rim moves (m)", "points that yielded (%)"],
            rows,
        )
        with report.figure("flange", "Von Mises stress / S₀, displacements × 20", (9.0, 3.0)) as figure:
            stress = drawn.solid.von_mises(last.u, last.history)
            draw_field(figure.subplots(), drawn.solid, last.u, stress, "von Mises / S₀", 20.0)


def _told(state: State) -> str:
    if state.status.is_solved:
        cycles = f", cycle {state.orders[0]}" if state.orders else ""
        return f"{state.iterations}{cycles}"
    if state.orders:
        return f"fails: cycle of {state.orders[0]}"
    return "fails"
