"""Impact of elastic bars on a wall and on each other, compared with the exact waves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clapas.bodies.elastic import Elastic, ElasticBodies, Solid, bar
from clapas.dynamics.schemes import MoreauJean
from clapas.geometry.shapes import HalfPlane
from clapas.scenes.compilation import compile_scene
from clapas.scenes.recorders import Memory, RecordedStep
from clapas.scenes.scene import Scene
from clapas.scenes.simulation import simulate
from clapas.solvers import NSGS
from clapas.studies.report import Report
from clapas.studies.verdicts import of_number
from clapas.typing import Array

SPEED, HEIGHT = 0.01, 0.05  # m/s, m
WALL = """\
A bar of 1 m (E = 1 Pa, ρ = 1 kg/m³, ν = 0: waves of c = 1 m/s) strikes a wall at v = 0.01 m/s. Exactly:
contact for 2 L/c = 2 s under the constant force ρ c v A, then the bar leaves at v, without vibration.
Here the nodes of the first layer stop at once, for the impact is inelastic: their share of the energy,
1/(2 · cells), is lost, and 1.4 times that with steps as long as a wave needs for a cell, because an
implicit step stops what is behind them too. With θ = ½ no more is lost and nothing is gained. θ = 1 damps
the waves."""
BARS = """\
Bar 1 (length l₁ = 1 m) strikes bar 2 at rest. For l₂ ≥ 2 l₁ waves say: they part after 2 l₁/c + 2 l₁/c at
the latest, bar 1 stays at rest and bar 2 moves at v l₁/l₂ on average, which Newton's rule calls a
restitution l₁/l₂ though nothing is lost: the rest is vibration of bar 2 (000, 1.1)."""


@dataclass(frozen=True)
class BarOnWall:
    """Impact on a wall: end of contact (s), mean force and speed over the exact ones, energy kept."""

    duration: float
    force: float
    speed: float
    energy: float
    highest: float
    times: Array
    forces: Array


def bar_on_wall(cells: int, theta: float = 0.5, steps_per_cell: float = 1.0) -> BarOnWall:
    """Throw a bar against a wall."""
    body = _bar(1.0, cells, 0.0, -SPEED, "left")
    scene = Scene(d=2, gravity=(0.0, 0.0))
    scene.law(mu=0.0)
    scene.add(HalfPlane((1.0, 0.0), 0.0))
    scene.add_system(body, name="bar")
    dt = 1.0 / (cells * steps_per_cell)
    recorded = _run(scene, 2.6, dt, theta)
    forces = np.array([_push(step, dt) for step in recorded[1:]])
    times = np.array([step.state.time for step in recorded[1:]])
    exact = SPEED * HEIGHT
    in_contact = np.flatnonzero(forces > 1e-3 * exact)
    energy = np.array([sum(step.energy) for step in recorded])
    contact = (times > 0.1) & (times < 1.8)
    return BarOnWall(
        duration=float(times[in_contact[-1]]),
        force=float(forces[contact].mean() / exact),
        speed=_mean_velocity(body, recorded[-1], 0) / SPEED,
        energy=float(energy[-1] / energy[0]),
        highest=float((energy[1:] / energy[0]).max()),
        times=times,
        forces=forces / exact,
    )


def two_bars(ratio: float, cells: int) -> tuple[float, float]:
    """Speeds of bar 1 (length 1) and bar 2 (length ``ratio``), over that of the impact, after separation."""
    one = _bar(1.0, cells, 0.0, SPEED, "right", skin=0.01)
    two = _bar(ratio, round(ratio * cells), 1.0, 0.0, "left", skin=0.01)
    scene = Scene(d=2, gravity=(0.0, 0.0))
    scene.law(mu=0.0)
    scene.add_system(one, name="one")
    scene.add_system(two, name="two")
    kept = _run(scene, 2.0 * max(2.0, ratio) + 0.5, 1.0 / cells, 0.5)
    return _mean_velocity(one, kept[-1], 0) / SPEED, _mean_velocity(two, kept[-1], 1) / SPEED


def _bar(
    length: float, cells: int, at: float, speed: float, surface: str, skin: float | None = None
) -> ElasticBodies:
    mesh = bar(length, cells, height=HEIGHT)
    solid = Solid(
        mesh=mesh.mapped(mesh.nodes + np.array([at, 0.0])),
        material=Elastic(young=1.0, density=1.0),
        kinematics="plane stress",
    )
    return ElasticBodies(solid=solid, velocity=(speed, 0.0), surface=surface, skin=skin)


def _run(scene: Scene, duration: float, dt: float, theta: float) -> list[RecordedStep]:
    memory = Memory()
    simulate(
        compile_scene(scene),
        duration,
        dt,
        solver=NSGS(tol=1e-12, max_iterations=20_000),
        scheme=MoreauJean(theta=theta),
        recorder=memory,
    )
    return memory.steps


def _push(kept: RecordedStep, dt: float) -> float:
    step = kept.stepped
    return 0.0 if step is None or not len(step.contacts) else float(step.solution.r[:, 0].sum()) / dt


def _mean_velocity(body: ElasticBodies, kept: RecordedStep, part: int) -> float:
    m = body.mass.diagonal()[::2]
    return float(m @ kept.state.parts[part].v[::2] / m.sum())


@dataclass(frozen=True, kw_only=True)
class FEImpact:
    """Elastic impacts of bars.

    Parameters
    ----------
    finest : int
        Cells along the bar in the finest mesh.
    """

    finest: int = 80

    title: ClassVar[str] = "Impacts of elastic bars against the exact waves"
    quick: ClassVar[dict[str, int]] = {"finest": 10}

    def run(self, report: Report) -> None:
        """Wall, then bars."""
        report.say("## A bar on a wall\n\n" + WALL)
        rows, curves = [], []
        for cells, theta in ((10, 0.5), (20, 0.5), (40, 0.5), (80, 0.5), (80, 1.0)):
            if cells > self.finest:
                continue
            found = bar_on_wall(cells, theta)
            report.tell(f"wall, {cells} cells, theta {theta:g}")
            rows.append(
                [
                    f"{cells}",
                    f"{theta:g}",
                    f"{found.duration:.3f}",
                    f"{found.force:.4f}",
                    f"{found.speed:.4f}",
                    f"{found.energy:.4f}",
                    f"{1 - 0.5 / cells:.4f}",
                    f"{found.highest:.6f}",
                ]
            )
            curves.append((f"{cells} cells, θ = {theta:g}", found))
        report.table(
            [
                "cells",
                "θ",
                "contact until (s)",
                "force / ρcvA",
                "speed after / v",
                "energy kept",
                "1 − 1/(2 cells)",
                "highest energy",
            ],
            rows,
        )
        finest = curves[-1][1] if curves[-1][0].endswith("0.5") else curves[-2][1]
        theory = "one-dimensional waves (000, 1.1)"
        for quantity, printed, value in (
            ("contact of a bar on a wall, over L/c", "2.000", finest.duration),
            ("force of the wall over ρcvA", "1.000", finest.force),
            ("speed after over speed before", "1.000", finest.speed),
        ):
            report.judge(of_number(theory, quantity, printed, value, within=0.03))
        with report.figure("wall", "Force of the wall over the exact one") as figure:
            axes = figure.subplots()
            for label, found in curves:
                axes.plot(found.times, found.forces, label=label, linewidth=1.0)
            axes.plot([0, 0, 2, 2], [0, 1, 1, 0], "k--", linewidth=1.0, label="exact")
            axes.set_xlabel("time (s)")
            axes.legend()
        report.say("## Two bars\n\n" + BARS)
        rows = []
        for ratio in (1.0, 2.0, 3.0):
            first, second = two_bars(ratio, min(40, self.finest))
            report.tell(f"bars, ratio {ratio:g}")
            rows.append(
                [f"{ratio:g}", f"{first:.4f}", f"{second:.4f}", "0", f"{1 / ratio:.4f}", f"{1 / ratio:.3f}"]
            )
            if ratio > 1.0:
                quantity = f"speed of bar 2 over that of the impact, l₂ = {ratio:g} l₁"
                report.judge(of_number(theory, quantity, f"{1 / ratio:.3f}", second, within=0.05))
        report.table(["l₂ / l₁", "bar 1", "bar 2", "exact 1", "exact 2", "restitution"], rows)
