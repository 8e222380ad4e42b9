"""The biaxial test: angle of internal friction and change of volume of a dense sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clapas.errors import SettingsError
from clapas.io.recording import Recording
from clapas.io.simulation import simulate
from clapas.scenes.examples.biaxial import WALL, biaxial
from clapas.scenes.examples.shear import shear_cell
from clapas.studies.report import Report
from clapas.studies.shear import steady_shear
from clapas.typing import Array

FRICTIONS = (0.2, 0.5)
SMOOTHED = 0.02  # strain over which stresses are averaged
CRITICAL = 0.5  # share of the test, at its end, over which the critical state is averaged


@dataclass(frozen=True)
class BiaxialCurve:
    """A biaxial test, step by step.

    Parameters
    ----------
    strain : array (n,)
        Decrease of the height of the sample, relative to its initial height.
    sine : array (n,)
        (σ₁ − σ₃)/(σ₁ + σ₃) of stresses averaged over a small strain: the sine of the friction angle.
    swelling : array (n,)
        Change of area, relative to the initial area.
    confining : float
        Mean of the stress σ₃ on the side walls (Pa).
    """

    strain: Array
    sine: Array
    swelling: Array
    confining: float

    @property
    def peak(self) -> float:
        """Largest angle of friction (rad)."""
        return math.asin(float(self.sine.max()))

    @property
    def critical(self) -> float:
        """Angle of friction in the critical state (rad)."""
        late = self.strain >= (1 - CRITICAL) * self.strain[-1]
        return math.asin(float(self.sine[late].mean()))


def biaxial_curve(run: Recording) -> BiaxialCurve:
    """Stresses and volume during a run of the scene ``biaxial``."""
    height = run.probe("top")[:, 1] - WALL / 2
    width = run.probe("right")[:, 0] - run.probe("left")[:, 0] - WALL
    strain = 1 - height / height[0]
    count = max(1, round(SMOOTHED / strain[-1] * len(strain)))
    major = _smoothed((run.probe("on top")[:, 1] / width)[1:], count)
    minor = _smoothed(((run.probe("on right")[:, 0] - run.probe("on left")[:, 0]) / (2 * height))[1:], count)
    return BiaxialCurve(
        _smoothed(strain[1:], count),
        (major - minor) / (major + minor),
        _smoothed((width * height / (width[0] * height[0]) - 1)[1:], count),
        float(minor.mean()),
    )


def _smoothed(values: Array, count: int) -> Array:
    """Moving average over ``count`` values."""
    return np.convolve(values, np.full(count, 1 / count), mode="valid")


@dataclass(frozen=True, kw_only=True)
class Biaxial:
    """Dense samples of disks in the biaxial test: friction angles, swelling, and the shear test beside them.

    Parameters
    ----------
    count : int
        Grains of a sample.
    samples : int
        Samples for each coefficient of friction.
    strain : float
        Final axial strain of each.
    inertial : float
        Inertial number of the compression, ε̇ √(m/P).
    sheared : float
        Shear strain of the samples compared with them.
    """

    count: int = 400
    samples: int = 2
    strain: float = 0.2
    inertial: float = 2e-3
    sheared: float = 4.0

    title: ClassVar[str] = "The biaxial test"
    quick: ClassVar[dict[str, int | float]] = {
        "count": 30,
        "samples": 1,
        "strain": 0.05,
        "inertial": 0.02,
        "sheared": 0.5,
    }

    def __post_init__(self) -> None:
        if self.samples < 1 or self.count < 20:
            raise SettingsError(
                f"one sample of twenty grains is the least, got {self.samples} of {self.count}"
            )

    def run(self, report: Report) -> None:
        """Compress the samples, and shear others for comparison."""
        report.say(
            "Disks squeezed without friction, then pressed down with friction mu while the side walls feel a "
            "constant stress: sin φ = (σ₁ − σ₃)/(σ₁ + σ₃). In plane shear stresses along and across the "
            "plates are nearly equal, hence sin φ = shear stress / pressure."
        )
        rows, curves = [], {}
        for mu in FRICTIONS:
            report.tell(f"mu = {mu}")
            curves[mu] = [self._pressed(mu, seed) for seed in range(self.samples)]
            rows.append([f"{mu}", *self._row(curves[mu]), f"{self._sheared(mu):.1f}"])
        report.table(["mu", "peak φ (°)", "critical φ (°)", "swelling (%)", "φ in shear (°)"], rows)
        _draw(report, curves)

    def _pressed(self, mu: float, seed: int) -> BiaxialCurve:
        with simulate(biaxial(self.count, mu, self.strain, self.inertial, seed=seed)) as run:
            return biaxial_curve(run)

    def _sheared(self, mu: float) -> float:
        """Angle of friction of a sheared sample of as many grains (degrees)."""
        side = max(8, round(math.sqrt(self.count)))
        slow = max(0.01, 4 * self.inertial)
        with simulate(shear_cell(slow, mu, side, side, strain=self.sheared)) as run:
            return math.degrees(math.asin(steady_shear(run).friction))

    def _row(self, curves: list[BiaxialCurve]) -> list[str]:
        means = [float(np.mean([getattr(curve, name) for curve in curves])) for name in ("peak", "critical")]
        swelling = float(np.mean([curve.swelling[-1] for curve in curves]))
        return [*(f"{math.degrees(angle):.1f}" for angle in means), f"{100 * swelling:.1f}"]


def _draw(report: Report, curves: dict[float, list[BiaxialCurve]]) -> None:
    with report.figure("curves", "Friction angle and swelling of dense samples", size=(8.0, 4.0)) as figure:
        angle, volume = figure.subplots(1, 2)
        for mu, samples in curves.items():
            for k, curve in enumerate(samples):
                style = {"color": f"C{FRICTIONS.index(mu)}", "label": f"mu = {mu}" if k == 0 else None}
                angle.plot(100 * curve.strain, np.degrees(np.arcsin(curve.sine)), **style)
                volume.plot(100 * curve.strain, 100 * curve.swelling, **style)
        angle.set(xlabel="strain (%)", ylabel="friction angle φ (°)", ylim=(0, None))
        volume.set(xlabel="strain (%)", ylabel="swelling (%)")
        angle.legend()
