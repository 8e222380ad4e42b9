"""Plane shear of grains under a pressure: effective friction and density against the inertial number.

References: GDR MiDi 2004; da Cruz et al. 2005 (the printed laws, for disks with mu = 0.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clapas.analysis import Instant
from clapas.errors import SettingsError
from clapas.io.recording import Recording
from clapas.io.simulation import simulate
from clapas.scenes.examples.shear import inertial_time, shear_cell
from clapas.studies.report import Report
from clapas.studies.verdicts import of_number
from clapas.typing import Array

MU = 0.4
SOURCE = "da Cruz et al. 2005, mu = 0.4"
SAMPLE = "one small sample at each rate; the printed laws are fits too"
RADIUS = 5e-3
FASTEST = 0.2
STEADY = 0.5  # share of a run that is left out as transient
CORE = (0.2, 0.8)  # shares of the height away from the plates


@dataclass(frozen=True)
class SteadyShear:
    """Measures of a steady shear flow.

    Parameters
    ----------
    inertial : float
        Inertial number I = γ̇ √(m/P), with the rate of shear away from the plates.
    friction : float
        Shear stress over pressure, on the upper plate.
    density : float
        Share of the area filled by grains, away from the plates.
    """

    inertial: float
    friction: float
    density: float


def printed_friction(inertial: float) -> float:
    """Shear stress over pressure, for mu = 0.4 (da Cruz et al. 2005)."""
    return 0.25 + 1.1 * inertial


def printed_density(inertial: float) -> float:
    """Share of the area filled (da Cruz et al. 2005)."""
    return 0.81 - 0.3 * inertial


def steady_shear(run: Recording, radius: float = RADIUS) -> SteadyShear:
    """Measure a run of the scene ``shear-cell`` with grains up to that radius (m)."""
    time = inertial_time(radius)
    start = STEADY * float(run.times[-1])
    force = run.probe("on the plate")[run.readings()[0] >= start]
    frames = np.flatnonzero(run.times >= start).tolist()
    rates, densities = zip(*(_core(Instant.of_recording(run, k), run) for k in frames), strict=True)
    return SteadyShear(
        float(np.mean(rates)) * time,
        float(-force[:, 0].mean() / force[:, 1].mean()),
        float(np.mean(densities)),
    )


def _core(instant: Instant, run: Recording) -> tuple[float, float]:
    """Rate of shear (1/s) and share of the area filled, away from the plates."""
    top = instant.centre[run.model.names.index("upper plate"), 1]
    low, high = (share * top for share in CORE)
    y = instant.centre[:, 1]
    core = instant.movable & (y > low) & (y < high)
    period = run.model.period[0]
    assert period is not None
    rate = np.polyfit(y[core], instant.velocity[core, 0], 1)[0]
    grains = instant.movable
    share = _below(high, y[grains], instant.reach[grains]) - _below(low, y[grains], instant.reach[grains])
    return float(rate), float(share @ instant.volume[grains] / (period * (high - low)))


def _below(level: float, y: Array, radius: Array) -> Array:
    """Share of the area of each disk that is below a level."""
    t = np.clip((level - y) / radius, -1.0, 1.0)
    return np.asarray(0.5 + (t * np.sqrt(1 - t**2) + np.arcsin(t)) / np.pi)


@dataclass(frozen=True, kw_only=True)
class Shear:
    """Disks sheared between rough plates under a pressure: effective friction against inertial number.

    Parameters
    ----------
    slowest : float
        Smallest inertial number; the largest is 0.2.
    runs : int
        Number of inertial numbers.
    length, depth : int
        Size of the sample in largest diameters.
    strain : float
        Shear strain of a slow sample; see :meth:`strain_at`.
    """

    slowest: float = 0.01
    runs: int = 5
    length: int = 20
    depth: int = 14
    strain: float = 5.0

    title: ClassVar[str] = "Plane shear under a pressure (da Cruz et al. 2005)"
    quick: ClassVar[dict[str, int | float]] = {
        "slowest": 0.1,
        "runs": 2,
        "length": 8,
        "depth": 5,
        "strain": 0.5,
    }

    def __post_init__(self) -> None:
        if not 0 < self.slowest < FASTEST or self.runs < 2:
            raise SettingsError(
                f"slowest must be between 0 and {FASTEST} and runs at least 2, "
                f"got {self.slowest} and {self.runs}"
            )

    def strain_at(self, inertial: float) -> float:
        """Shear strain of a sample, larger for fast ones.

        The motion of the plates diffuses to the middle of the sample, H deep, in the time ρ H²/η with
        η = 0.25 P/γ̇ at least: a strain of (I H/d)²/0.25. Before, the plates also accelerate grains, and
        the apparent friction on them is too large.
        """
        return self.strain + 2.0 * (inertial * self.depth) ** 2 / printed_friction(0.0)

    def run(self, report: Report) -> None:
        """Shear a sample at each rate."""
        report.say(
            f"Disks, mu = {MU}, no restitution, between plates of the same disks; the upper plate is free "
            "across and carries the pressure P. The inertial number is I = γ̇ √(m/P)."
        )
        found = []
        for inertial in np.geomspace(self.slowest, FASTEST, self.runs).tolist():
            report.tell(f"I = {inertial:.3g}")
            strain = self.strain_at(inertial)
            scene = shear_cell(inertial, MU, self.length, self.depth, strain, RADIUS)
            with simulate(scene) as run:
                found.append(steady_shear(run))
        report.table(
            ["I", "friction", "printed", "density", "printed"],
            [
                [
                    f"{each.inertial:.4f}",
                    f"{each.friction:.3f}",
                    f"{printed_friction(each.inertial):.3f}",
                    f"{each.density:.3f}",
                    f"{printed_density(each.inertial):.3f}",
                ]
                for each in found
            ],
        )
        inertial, friction = np.array([(each.inertial, each.friction) for each in found]).T
        slope, start = np.polyfit(inertial, friction, 1)
        report.say(f"Fit: friction = {start:.3f} + {slope:.2f} I; printed 0.25 + 1.1 I.")
        thinning, dense = np.polyfit(inertial, [each.density for each in found], 1)
        for quantity, printed, ours in (
            ("effective friction of slow flow", "0.25", start),
            ("slope of the friction against I", "1.1", slope),
            ("density of slow flow", "0.81", dense),
            ("slope of the density against I", "-0.3", thinning),
        ):
            report.judge(of_number(SOURCE, quantity, printed, float(ours), within=0.2, why=SAMPLE))
        _draw(report, inertial, friction)


def _draw(report: Report, inertial: Array, friction: Array) -> None:
    with report.figure("friction", "Shear stress over pressure against the inertial number") as figure:
        axes = figure.subplots()
        axes.plot(inertial, friction, "ko", label="measured")
        line = np.linspace(0.0, 1.1 * float(inertial.max()), 2)
        axes.plot(line, [printed_friction(each) for each in line], "r-", label="da Cruz et al. 2005")
        axes.set(xlabel="inertial number I", ylabel="shear stress / pressure", xlim=(0, None), ylim=(0, None))
        axes.legend()
