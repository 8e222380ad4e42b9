"""Elastic bodies on rigid planes: Signorini's problem, friction, and iterations of each method."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clapas.bodies.elastic import Elastic, Obstacle, RigidContact, Solid, Support, block
from clapas.geometry.shapes import HalfPlane
from clapas.solvers.lcp import Lemke, solve_lcp
from clapas.statics.elastic import ElasticContact, OneLoopNewton, condense, follow
from clapas.studies.elastic_block import ElasticBlock
from clapas.studies.fields import draw_field
from clapas.studies.lcp_contact import LONGEST, distances, methods
from clapas.studies.report import Report
from clapas.studies.verdicts import of_number, of_statement

THESIS = "LMGC thesis on tensegrity"
GROWTH = """\
Iterations until the energy distance η to Lemke's answer is 1e-4, from cold starts, under refinement of
the rectangle of the thesis (200 MPa). The thesis says that conjugate gradients grow least. The last
row is the one-loop Newton method on all displacements, to 1e-10."""
PUNCH = """\
A guided block with a curved foot (gap 0.12 x² m): its condensed stiffness is singular, contact alone
holds it. The number of contacts follows the load."""
FRICTION = """\
A flat guided block on a plane with friction, 50 contacts, {n_dof} free displacements (596 in the thesis,
whose mesh is not given): the LCP in stiffness form by Lemke's method against the one-loop Newton method.
Nothing singular is inverted."""
ROWS = """\
Alart's Figure 3 asks rows of unit squares held above; blocks as deep as wide are harder. Random
forces on the lower nodes, cold starts, ν = 0.3; counts are linear solves to 1e-10, the last of which only
confirms."""
PULLED = """\
An elastic square pressed on a plane and pulled by its upper side (000, Figure 2.3): the fraction of its
contacts that slide grows from the rear until the whole slides at mu times the load."""


@dataclass(frozen=True, kw_only=True)
class FESignorini:
    """Contact of elastic rectangles on planes: counts, growth, friction, fields.

    Parameters
    ----------
    largest : int
        Contacts of the largest rectangle.
    samples : int
        Random loads per size in the Newton counts.
    """

    largest: int = 201
    samples: int = 20

    title: ClassVar[str] = "Finite elements in contact: Signorini's problem and friction"
    quick: ClassVar[dict[str, int]] = {"largest": 26, "samples": 2}

    def run(self, report: Report) -> None:
        """All parts."""
        self._growth(report)
        self._punch(report)
        self._rows(report)
        self._pulled(report)

    def _growth(self, report: Report) -> None:
        report.say("## Growth with the number of contacts\n\n" + GROWTH)
        sizes = [n for n in (26, 51, 101, 201) if n <= self.largest]
        names = [*methods(), "one-loop Newton"]
        counts: dict[str, list[str]] = {name: [] for name in names}
        for n in sizes:
            rectangle = ElasticBlock(contacts=n, pressure=200e6)
            problem = rectangle.frictionless()
            reference = solve_lcp(problem, Lemke(tol=1e-10)).z
            for name, solver in methods().items():
                found = distances(problem, solver, reference)
                counts[name].append(f"{len(found) - 1}" if len(found) <= LONGEST else f"> {LONGEST}")
            state = OneLoopNewton().solve(rectangle.stage(0.0))
            counts["one-loop Newton"].append(f"{state.iterations}")
            report.tell(f"{n} contacts")
        report.table(["method", *map(str, sizes)], [[name, *counts[name]] for name in names])
        _judge_growth(report, counts, sizes)
        solid = rectangle.solid
        with report.figure("rectangle", "Von Mises stress, displacements × 200") as figure:
            draw_field(figure.subplots(), solid, state.u, solid.von_mises(state.u) / 1e6, "MPa", 200.0)

    def _punch(self, report: Report) -> None:
        report.say("## Curved punch\n\n" + PUNCH)
        rows = []
        for pressure in (30e6, 300e6, 3000e6):
            punch = ElasticBlock(
                contacts=51,
                held="guided",
                gap=0.0,
                curvature=0.12,
                pressure=pressure,
                loaded=(0.0, 1.0),
                height=0.4,
            )
            found = solve_lcp(punch.frictionless(), Lemke(tol=1e-9))
            active = int((found.w > 1e-6 * found.w.max()).sum())
            rows.append([f"{pressure / 1e6:g}", f"{active}", f"{found.w.sum() / pressure - 1:.0e}"])
        report.table(["pressure (MPa)", "contacts of 51", "load not carried"], rows)
        rows = []
        flat = ElasticBlock(
            contacts=50, rows=5, held="guided", gap=0.0, pressure=30e6, loaded=(0.3, 0.7), height=0.4
        )
        report.say("## Friction punch\n\n" + FRICTION.format(n_dof=flat.n_dof))
        why, quantity = (
            "the mesh is not printed",
            "free displacements of the punch with friction, 50 contacts",
        )
        report.judge(
            of_number(f"{THESIS}, section 3.1", quantity, "596", float(flat.n_dof), within=0.05, why=why)
        )
        for mu in (0.1, 0.3, 0.5):
            stage = flat.stage(mu)
            small = condense(stage)
            lcp = small.friction_lcp()
            pivots = solve_lcp(lcp, Lemke(tol=1e-9), check=False)
            r = small.friction_forces(lcp, pivots.z)
            state = OneLoopNewton().solve(stage, check=False)
            difference = np.abs(state.r - r).max() / np.abs(r).max()
            slides = np.abs(state.r[:, 1]) >= (1 - 1e-9) * mu * state.r[:, 0]
            closed = state.r[:, 0] > 1e-9 * state.r[:, 0].max()
            rows.append(
                [
                    f"{mu:g}",
                    f"{pivots.iterations}",
                    f"{state.iterations}",
                    f"{difference:.0e}",
                    f"{int(closed.sum())}",
                    f"{int((slides & closed).sum())}",
                ]
            )
        report.table(
            ["mu", "pivots of Lemke", "Newton iterations", "difference", "contacts", "of them sliding"], rows
        )

    def _rows(self, report: Report) -> None:
        report.say("## Newton counts\n\n" + ROWS)
        rows = []
        rng = np.random.default_rng(11)
        for label, deep in (("row, 1 cell deep", False), ("block, as deep as wide", True)):
            for n in (3, 8, 16):
                for mu in (0.0, 0.3):
                    counts = [self._count(n, n if deep else 1, mu, rng) for _ in range(self.samples)]
                    solved = [c for c in counts if c > 0]
                    rows.append(
                        [
                            label,
                            f"{n}",
                            f"{mu:g}",
                            f"{min(solved)}-{max(solved)}" if solved else "-",
                            f"{np.mean(solved):.1f}" if solved else "-",
                            f"{len(counts) - len(solved)}",
                        ]
                    )
        report.table(["body", "cells wide", "mu", "iterations", "mean", "not solved"], rows)

    @staticmethod
    def _count(n: int, depth: int, mu: float, rng: np.random.Generator) -> int:
        mesh = block((float(n), float(depth)), (n, depth))
        solid = Solid(mesh=mesh, material=Elastic(young=1.0, poisson=0.3), bbar=False)
        load = np.zeros((mesh.n_nodes, 2))
        load[mesh.group("bottom")] = rng.normal(size=(n + 1, 2))
        stage = ElasticContact(
            solid=solid,
            supports=[Support("top", "xy")],
            load=load.ravel(),
            contacts=[RigidContact(surface="bottom", obstacle=Obstacle(HalfPlane()), mu=mu)],
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # loads of any size: only counts matter
            state = OneLoopNewton().solve(stage, check=False)
        return state.iterations if state.status.is_solved else -1

    def _pulled(self, report: Report) -> None:
        report.say("## A square pulled over a plane\n\n" + PULLED)
        mesh = block((1.0, 1.0), (16, 16))
        solid = Solid(mesh=mesh, material=Elastic(young=1e6, poisson=0.3))
        floor = RigidContact(surface="bottom", obstacle=Obstacle(HalfPlane()), mu=0.4)
        press = ElasticContact(
            solid=solid, supports=[Support("top", "y", -0.01), Support("top", "x")], contacts=[floor]
        )
        pull = ElasticContact(
            solid=solid, supports=[Support("top", "y", -0.01), Support("top", "x", 0.02)], contacts=[floor]
        )
        history = follow(pull, follow(press, increments=2).last, increments=20)
        share, ratio = [], []
        for state in history.states[1:]:
            closed = state.r[:, 0] > 0.0
            slides = closed & (np.abs(state.r[:, 1]) >= (1 - 1e-9) * 0.4 * state.r[:, 0])
            share.append(slides.sum() / closed.sum())
            assert state.forces is not None
            pulled, pressed = state.forces.sum(axis=0)
            ratio.append(-pulled / pressed)
        with report.figure("pulled", "Share of sliding contacts, and pull over load") as figure:
            axes = figure.subplots()
            axes.plot(np.array(history.shares[1:]) * 20.0, share, label="contacts that slide")
            axes.plot(np.array(history.shares[1:]) * 20.0, np.array(ratio) / 0.4, label="pull / (mu load)")
            axes.set_xlabel("pull of the upper side (mm)")
            axes.legend()
        with report.figure("square", "Von Mises stress, displacements × 5") as figure:
            last = history.last
            draw_field(figure.subplots(), solid, last.u, solid.von_mises(last.u) / 1e3, "kPa", 5.0)
        report.say(
            f"At the end {100 * share[-1]:.0f} % slide and the pull is {ratio[-1] / 0.4:.6f} of mu times the "
            f"load; {history.iterations} Newton iterations in {len(share)} increments."
        )


def _judge_growth(report: Report, counts: dict[str, list[str]], sizes: list[int]) -> None:
    """Verdict on which method of the thesis grows least from the last size but one to the last."""
    if len(sizes) < 2:
        return  # a quick run has one size
    growth = {
        name: float(counts[name][-1]) / float(counts[name][-2])
        for name in methods()
        if ">" not in counts[name][-1]
    }
    least = min(growth, key=lambda name: growth[name])
    report.judge(
        of_statement(
            f"{THESIS}, section 2.2",
            f"iterations that grow least, {sizes[-2]} to {sizes[-1]} contacts",
            "conjugate gradient",
            f"{least}, {growth[least]:.1f} times",
            holds=least == "conjugate gradient",
        )
    )
