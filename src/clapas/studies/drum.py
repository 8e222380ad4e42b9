"""Grains in a rotating drum: regimes from rolling to centrifuging by the Froude number.

Reference: Mellmann 2001 (the regimes and their bounds).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clapas.analysis import Instant
from clapas.analysis.profile import draw_profile, incline, surface_line
from clapas.errors import SettingsError
from clapas.io.recording import Recording
from clapas.io.simulation import simulate
from clapas.scenes.examples.drum import GRAVITY, rough_drum
from clapas.studies.report import Report
from clapas.studies.verdicts import of_statement

RADIUS = 5e-3
STEADY = 0.5  # share of a run that is left out
ALONG = 0.1  # a grain turns with the drum if it is this slow against it, relative to the drum
FEW, SOME, MOST = 0.05, 0.2, 0.9  # shares of the grains that distinguish regimes
FROUDES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 6.0)
BOUNDS = ((1e-2, "rolling"), (1e-1, "cascading"), (1.0, "cataracting"), (math.inf, "centrifuging"))


@dataclass(frozen=True)
class Turning:
    """Measures of a drum in steady rotation.

    Parameters
    ----------
    angle : float
        Mean slope of the free surface about the axis, positive where the bed is lifted (rad).
    carried : float
        Mean share of the grains that turn with the drum.
    flying : float
        Mean share of the grains without contact.
    """

    angle: float
    carried: float
    flying: float


def printed_regime(froude: float) -> str:
    """The regime of a rough drum, above those of avalanches (Mellmann 2001; the bounds overlap)."""
    return next(word for bound, word in BOUNDS if froude < bound)


def turning(run: Recording, froude: float, size: float, radius: float = RADIUS) -> Turning:
    """Measure the last half of a run of the scene ``rough-drum``."""
    frames = range(int(STEADY * run.n_frames), run.n_frames)
    inner = size * radius
    rate = math.sqrt(froude * GRAVITY / inner)
    angles, carried, flying = [], [], []
    for k in frames:
        instant = Instant.of_recording(run, k)
        grains = instant.movable
        points = surface_line(instant, 2 * radius, -inner / 2, inner / 2)
        if len(points) >= 3:
            angles.append(-incline(points).angle)
        x, y = instant.centre[grains].T
        slip = np.hypot(instant.velocity[grains, 0] - rate * y, instant.velocity[grains, 1] + rate * x)
        carried.append(np.mean(slip < ALONG * rate * inner))
        touched = np.zeros(instant.n_bodies, dtype=bool)
        touched[instant.a[instant.carrying]] = touched[instant.b[instant.carrying]] = True
        flying.append(np.mean(~touched[grains]))
    return Turning(*(float(np.mean(each)) if each else math.nan for each in (angles, carried, flying)))


@dataclass(frozen=True, kw_only=True)
class Drum:
    """Disks in a rough drum: angle of the bed, grains in the air and grains held, as the speed grows.

    Parameters
    ----------
    size : float
        Diameter of the drum in largest diameters of a grain.
    filling : float
        Share of the drum filled by the bed.
    slowest, fastest : float
        Smallest and largest Froude numbers.
    turns : float
        Number of turns; a fifth of it below Fr = 0.1.
    """

    size: float = 20.0
    filling: float = 0.3
    slowest: float = 0.003
    fastest: float = 6.0
    turns: float = 3.0

    title: ClassVar[str] = "Regimes of a rotating drum"
    quick: ClassVar[dict[str, float]] = {"size": 8.0, "slowest": 0.1, "fastest": 0.3, "turns": 0.2}

    def __post_init__(self) -> None:
        if not (self.size >= 6 and 0 < self.filling < 0.5 and self.turns > 0):
            raise SettingsError(
                "size ≥ 6, 0 < filling < 0.5 and turns > 0 are needed, "
                f"got {self.size}, {self.filling} and {self.turns}"
            )

    def run(self, report: Report) -> None:
        """Turn the drum at each speed."""
        report.say(
            "Fr = ω²R/g. Below Fr = 1 no grain can stay at the top of the drum. Above, a ring of grains is "
            "held if friction carries it up the side too: Fr √(1 − filling) ≥ √(1 + 1/mu²), here Fr ≥ "
            f"{held_from(0.5, self.filling):.1f}."
        )
        rows, measured = [], {}
        for froude in (each for each in FROUDES if self.slowest <= each <= self.fastest):
            report.tell(f"Fr = {froude:g}")
            turns = self.turns / 5 if froude < 0.1 else self.turns
            with simulate(rough_drum(froude, self.filling, self.size, turns=turns)) as run:
                steady = turning(run, froude, self.size)
                if froude == 0.01:
                    self._draw(report, run)
            measured[froude] = steady
            angle = f"{math.degrees(steady.angle):.0f}" if froude < 0.3 else "none"
            rows.append(
                [
                    f"{froude:g}",
                    angle,
                    f"{100 * steady.flying:.0f}",
                    f"{100 * steady.carried:.0f}",
                    printed_regime(froude),
                ]
            )
        report.table(
            ["Fr", "angle of the bed (°)", "in the air (%)", "carried along (%)", "printed regime"], rows
        )

        _judge(report, measured)

    def _draw(self, report: Report, run: Recording) -> None:
        end, inner = Instant.of_recording(run), self.size * RADIUS
        points = surface_line(end, 2 * RADIUS, -inner / 2, inner / 2)
        with report.figure("bed", "The bed of a drum that turns clockwise, Fr = 0.01") as figure:
            axes = figure.subplots()
            draw_profile(axes, end, points, incline(points))
            axes.set(xlim=(-1.1 * inner, 1.1 * inner), ylim=(-1.1 * inner, 1.1 * inner))


def _judge(report: Report, measured: Mapping[float, Turning]) -> None:
    """Verdicts on the regimes: few grains fly when rolling, few do not turn along when centrifuging."""
    for froude, found in measured.items():
        regime = printed_regime(froude)
        seen = f"{100 * found.flying:.0f} % in the air, {100 * found.carried:.0f} % carried along"
        fits = {
            "rolling": found.flying < FEW and found.carried < MOST,
            "cascading": found.flying < SOME and found.carried < MOST,
            "cataracting": found.flying >= SOME and found.carried < MOST,
            "centrifuging": found.carried >= MOST,
        }[regime]
        why = "" if fits else "the bounds of the regimes overlap, and depend on filling and friction"
        quantity = f"regime of a rough drum at Fr = {froude:g}"
        report.judge(of_statement("Mellmann 2001", quantity, regime, seen, holds=fits, why=why))


def held_from(mu: float, filling: float) -> float:
    """Froude number from which friction holds a full ring of grains.

    At an angle α from the top, on the inner face of the ring, r = R √(1 − filling), a grain is pressed by
    m (ω²r − g cos α) and drawn along by m g sin α: the ratio is largest where cos α = g/(ω²r).
    """
    return math.sqrt(1 + 1 / mu**2) / math.sqrt(1 - filling)
