"""Arches, piers, walls and domes without mortar: conditions of stability on geometry and friction.

Reference: Heyman 1966, 1967, 1969; Milankovitch 1907 (the exact least thickness of the arch).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from clapas.analysis.blockwork import GRAVITY, Blockwork, draw_blockwork
from clapas.analysis.equilibria import Equilibria, at_rest, bisect
from clapas.errors import SettingsError
from clapas.problems.gallery.rigid import contact_frames, contact_jacobian
from clapas.scenes.examples.blocks import stone_arch
from clapas.scenes.examples.masonry import buttressed_arch, dome, settling_wall
from clapas.studies.report import Report
from clapas.studies.verdicts import of_number
from clapas.typing import Array

PRINTED_THICKNESS = "0.1075"  # of the mean radius (Milankovitch 1907)
PRINTED_FRICTION = "0.31"  # of a sufficiently thick semicircular arch
PRINTED_DOME = "0.042"  # of the mean radius (Heyman 1967)
ROUGH = 10.0  # coefficient of friction taken as infinite
FINER = "stones of finite number; ever finer ones tend to the print"
THICKNESSES = (0.11, 0.13, 0.15, 0.2, 0.3)
GAPS = (1.0, 2.0, 4.0, 6.0)


@dataclass(frozen=True, kw_only=True)
class Masonry:
    """When arches, piers, walls and domes of dry stones stand: least thickness, friction, largest load.

    Parameters
    ----------
    voussoirs : int
        Stones of the finest arch.
    accuracy : float
        Accuracy of the limits found by bisection.
    """

    voussoirs: int = 121
    accuracy: float = 1e-5

    title: ClassVar[str] = "Masonry without mortar (Heyman 1966)"
    quick: ClassVar[dict[str, int | float]] = {"voussoirs": 15, "accuracy": 1e-3}

    def __post_init__(self) -> None:
        if self.voussoirs < 5 or not self.accuracy > 0:
            raise SettingsError(
                f"voussoirs ≥ 5 and accuracy > 0 are needed, got {self.voussoirs}, {self.accuracy}"
            )

    def run(self, report: Report) -> None:
        """Find the limits of each structure."""
        report.say(
            "Static limit analysis: a structure that no forces can hold falls; one that some can hold may "
            "stand. Sliding by Coulomb's law is not normal to the friction cone: the latter is no promise."
        )
        for part in (
            self._arch_thickness,
            self._arch_friction,
            self._arch_load,
            self._piers,
            self._wall,
            self._dome,
        ):
            report.tell(part.__name__.strip("_").replace("_", " "))
            part(report)

    def _arch_thickness(self, report: Report) -> None:
        report.say("## Semicircular arch: least thickness")
        counts = sorted({count for count in (9, 15, 31, 61) if count < self.voussoirs} | {self.voussoirs})
        found = [least_thickness(count, self.accuracy) for count in counts]
        rows = [[f"{count}", f"{value:.5f}"] for count, value in zip(counts, found, strict=True)]
        report.table(
            ["stones", "least thickness / mean radius"], [*rows, ["printed, ∞", f"{PRINTED_THICKNESS}"]]
        )
        quantity = f"least thickness of a semicircular arch / mean radius, {counts[-1]} stones"
        report.judge(
            of_number("Milankovitch 1907", quantity, PRINTED_THICKNESS, found[-1], within=0.05, why=FINER)
        )
        work = Blockwork.of_scene(
            stone_arch(min(31, self.voussoirs), 1.002 * found[-1] + self.accuracy, ROUGH)
        )
        with report.figure(
            "arch", "The arch at its least thickness: the thrust touches both faces"
        ) as figure:
            draw_blockwork(figure.subplots(), work, work.equilibria(ROUGH).one())

    def _arch_friction(self, report: Report) -> None:
        report.say("## Semicircular arch: least friction")
        found = [least_friction(arch(31, thickness), self.accuracy) for thickness in THICKNESSES]
        rows = [[f"{each:g}", f"{mu:.4f}"] for each, mu in zip(THICKNESSES, found, strict=True)]
        quantity = f"least friction of a semicircular arch of thickness {THICKNESSES[-1]:g}"
        report.judge(of_number("Heyman 1966", quantity, PRINTED_FRICTION, found[-1], within=0.02))
        report.table(
            ["thickness / mean radius", "least mu"], [*rows, ["printed, thick", f"about {PRINTED_FRICTION}"]]
        )

    def _arch_load(self, report: Report) -> None:
        report.say("## Semicircular arch: largest load at a quarter of the span")
        rows = []
        for thickness in THICKNESSES:
            work = arch(31, thickness)
            weight = GRAVITY * work.masses.sum()
            stone = int(np.argmin(np.abs(work.centres[:, 0] - 0.5)))
            load = np.zeros((len(work.blocks), 3))
            load[stone, 1] = -1.0
            factors = [work.equilibria(mu).largest_load(load.ravel()) / weight for mu in (0.5, ROUGH)]
            rows.append([f"{thickness:g}", *(_written(factor) for factor in factors)])
        report.table(["thickness / mean radius", "load / weight, mu = 0.5", "no sliding"], rows)

    def _piers(self, report: Report) -> None:
        report.say("## Arch on piers: least width of the piers")
        heights = (1.0, 1.5, 2.0, 3.0)
        found = [least_pier(height, self.accuracy) for height in heights]
        report.table(
            ["height of the piers / radius", "least width / radius"],
            [[f"{height:g}", f"{width:.4f}"] for height, width in zip(heights, found, strict=True)],
        )
        work = Blockwork.of_scene(buttressed_arch(height=heights[0], width=found[0] + 2 * self.accuracy))
        with report.figure(
            "piers", "An arch on piers about to turn over: the thrust runs down to the toes"
        ) as figure:
            draw_blockwork(figure.subplots(), work, work.equilibria(0.7).one())

    def _wall(self, report: Report) -> None:
        report.say("## Wall over ground that has sunk: least friction")
        rows = []
        for gap in GAPS:
            work = undermined_wall(gap)
            rows.append([f"{gap:g}", _written(least_friction(work, self.accuracy))])
        report.table(["width of the hole / brick", "least mu"], rows)
        work = undermined_wall(GAPS[2])
        with report.figure("wall", "A wall that spans a hole of four bricks") as figure:
            draw_blockwork(figure.subplots(), work, work.equilibria(0.7).one())

    def _dome(self, report: Report) -> None:
        report.say("## Dome")
        counts = (9, 30, 90) if self.accuracy < 1e-3 else (9, 30)
        limits = [least_dome(count, self.accuracy) for count in counts]
        rows = [[f"{count}", f"{value:.5f}"] for count, value in zip(counts, limits, strict=True)]
        quantity = f"least thickness of a hemispherical dome / mean radius, {counts[-1]} stones in a lune"
        why = "ever finer stones stay at 0.0428; why the print has 0.042 is not known"
        report.judge(of_number("Heyman 1967", quantity, PRINTED_DOME, limits[-1], within=0.05, why=why))
        report.table(
            ["stones in a lune of a hemisphere", "least thickness / mean radius"],
            [*rows, ["printed, ∞", f"{PRINTED_DOME}"]],
        )
        problem = at_rest(dome(rings=3, lunes=8))
        quantifier = "some" if Equilibria.of_problem(problem).one() is not None else "no"
        report.say(
            "The dome with an eye of the scene ``dome`` (three rings of eight stones, "
            f"{problem.n_contacts} contacts in space, mu = 0.7): {quantifier} forces can hold it."
        )


def arch(voussoirs: int, thickness: float) -> Blockwork:
    """The blockwork of the scene ``stone-arch``."""
    return Blockwork.of_scene(stone_arch(voussoirs, thickness))


def least_thickness(voussoirs: int, accuracy: float) -> float:
    """Least thickness, relative to the mean radius, of a semicircular arch that cannot slide."""
    return bisect(lambda t: arch(voussoirs, t).equilibria(ROUGH).one() is not None, 0.03, 0.3, accuracy)


def least_friction(work: Blockwork, accuracy: float) -> float:
    """Least coefficient of friction with equilibrium forces; inf if there is none up to 10, 0 if always."""
    if work.equilibria(0.0).one() is not None:
        return 0.0
    if work.equilibria(ROUGH).one() is None:
        return math.inf
    return bisect(lambda mu: work.equilibria(mu).one() is not None, 0.0, ROUGH, accuracy)


def least_pier(height: float, accuracy: float) -> float:
    """Least width of the piers of an arch 0.2 thick, of mean radius 1, with mu = 0.7."""

    def holds(width: float) -> bool:
        return (
            Blockwork.of_scene(buttressed_arch(height=height, width=width)).equilibria(0.7).one() is not None
        )

    return bisect(holds, 0.2, 3.0, accuracy)


def undermined_wall(gap: float) -> Blockwork:
    """The wall of the scene ``settling-wall`` without the ground under ``gap`` bricks."""
    whole = Blockwork.of_scene(settling_wall(gap=gap))
    return replace(whole, supports=whole.supports[:2])


def least_dome(stones: int, accuracy: float) -> float:
    """Least thickness, relative to the mean radius, of a hemispherical dome that cannot slide."""
    return bisect(lambda t: lune(stones, t).one() is not None, 0.01, 0.2, accuracy)


def lune(stones: int, thickness: float, mu: float = ROUGH) -> Equilibria:
    """A thin slice of a hemispherical dome between two meridians, which carries its share of the weight.

    Stones are numbered from the base up. Neighbouring lunes may push on its sides, not pull: by symmetry
    these forces are normal to the sides, with a resultant away from the axis. They act at the four
    corners of a stone. Forces are per radian of azimuth and unit of weight density.
    """
    inner, outer = 1 - thickness / 2, 1 + thickness / 2
    angle = np.linspace(0.0, math.pi / 2, stones + 1)  # elevation of the joints
    weight = (outer**3 - inner**3) / 3 * np.diff(np.sin(angle))
    quarter = (outer**4 - inner**4) / 4
    away = quarter * (np.diff(angle) / 2 + np.diff(np.sin(2 * angle)) / 4) / weight
    up = quarter * np.diff(np.sin(angle) ** 2) / 2 / weight
    centre = np.column_stack((away, up))
    radius = np.tile([inner, outer], stones)
    level = np.repeat(angle[:-1], 2)
    joint = radius[:, None] * np.column_stack((np.cos(level), np.sin(level)))
    across = np.column_stack((-np.sin(level), np.cos(level)))  # from a stone to the one above
    above = np.repeat(np.arange(stones), 2)
    corner = _corners(inner, outer, angle)
    side = np.repeat(np.arange(stones), 4)
    outward = np.tile([1.0, 0.0], (len(side), 1))
    a = np.concatenate((above - 1, np.full(len(side), -1)))
    b = np.concatenate((above, side))
    point, normal = np.concatenate((joint, corner)), np.concatenate((across, outward))
    arms = point - centre[a], point - centre[b]
    H = contact_jacobian(contact_frames(normal), (a, b), arms, stones)
    f = np.column_stack((np.zeros(stones), weight, np.zeros(stones))).ravel()
    return Equilibria(H, f, np.concatenate((np.full(len(above), mu), np.zeros(len(side)))))


def _corners(inner: float, outer: float, angle: Array) -> Array:
    """The four corners of the meridian section of each stone, (4 stones, 2)."""
    places = [(r, angle[k + j]) for k in range(len(angle) - 1) for r in (inner, outer) for j in (0, 1)]
    return np.array([(r * math.cos(turn), r * math.sin(turn)) for r, turn in places])


def _written(value: float) -> str:
    if value == -math.inf:
        return "falls by itself"
    return f"{value:.4f}" if math.isfinite(value) else "no limit"
