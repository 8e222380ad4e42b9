"""Angle of repose against friction, on slopes left on a ledge after its side opens."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clapas.analysis import Instant
from clapas.analysis.profile import Incline, draw_profile, incline, surface_line
from clapas.errors import SettingsError
from clapas.io.recording import Recording
from clapas.io.simulation import simulate
from clapas.scenes.examples.ledge import ledge
from clapas.studies.report import Report
from clapas.typing import Array

RADIUS = 5e-3
LOOKED_AT = (0.1, 0.9)  # shares of the ledge away from the wall and the edge


def slope_of_repose(run: Recording, length: int, radius: float = RADIUS) -> tuple[Instant, Array, Incline]:
    """The last frame of a run of the scene ``ledge``, points of its surface, the line through them."""
    end = Instant.of_recording(run)
    low, high = (share * 2 * radius * length for share in LOOKED_AT)
    points = surface_line(end, 2 * radius, low, high)
    return end, points, incline(points)


def repose_angle(mu: float, length: int, seed: int = 0, relaxation: float = 2.0) -> float:
    """Angle of repose on a ledge (degrees)."""
    with simulate(ledge(mu, length, relaxation, seed=seed)) as run:
        return -math.degrees(slope_of_repose(run, length)[2].angle)


@dataclass(frozen=True, kw_only=True)
class Repose:
    """Disks on a ledge whose side opens: the angle of the slope that stays, against friction.

    Parameters
    ----------
    length : int
        Length of the ledge in largest diameters.
    samples : int
        Runs for each coefficient of friction, with other grains.
    frictions : int
        Number of coefficients of friction between 0 and 1, denser near 0.
    relaxation : float
        Duration of the flow (s).
    """

    length: int = 20
    samples: int = 3
    frictions: int = 6
    relaxation: float = 2.0

    title: ClassVar[str] = "Angle of repose against friction"
    quick: ClassVar[dict[str, int | float]] = {
        "length": 8,
        "samples": 1,
        "frictions": 2,
        "relaxation": 0.2,
    }

    def __post_init__(self) -> None:
        if self.length < 6 or self.samples < 1 or self.frictions < 2:
            raise SettingsError(
                "length ≥ 6, samples ≥ 1 and frictions ≥ 2 are needed, "
                f"got {self.length}, {self.samples} and {self.frictions}"
            )

    def run(self, report: Report) -> None:
        """Open the ledge for each coefficient of friction."""
        rows, means = [], []
        frictions = (np.linspace(0.0, 1.0, self.frictions) ** 2).tolist()
        for mu in frictions:
            report.tell(f"mu = {mu:g}")
            angles = [repose_angle(mu, self.length, seed, self.relaxation) for seed in range(self.samples)]
            means.append(float(np.mean(angles)))
            rows.append([f"{mu:.2g}", f"{means[-1]:.1f}", f"{np.std(angles):.1f}"])
        report.table(["mu", "angle of repose (°)", "spread over samples (°)"], rows)
        report.say("It grows with friction and levels off: rough grains roll where they would slide.")
        with report.figure("repose", "Angle of repose against the coefficient of friction") as figure:
            axes = figure.subplots()
            axes.plot(frictions, means, "ko-")
            axes.set(xlabel="mu", ylabel="angle of repose (°)", ylim=(0, None))
        with (
            simulate(ledge(0.5, self.length, self.relaxation)) as run,
            report.figure("slope", "The slope, mu = 0.5") as figure,
        ):
            draw_profile(figure.subplots(), *slope_of_repose(run, self.length))
