"""Classic experiments on grains: shear, biaxial test, drum, repose, hopper, with their known numbers.

Small samples here; the marks ``slow`` hold the full ones. Tolerances are those of the samples' size.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from clapas.io.simulation import simulate
from clapas.scenes.examples.biaxial import STRESS, biaxial, squeezed
from clapas.scenes.examples.drum import rough_drum
from clapas.scenes.examples.grains import hopper
from clapas.scenes.examples.shear import PRESSURE, shear_cell
from clapas.scenes.examples.silos import OPENING, flat_hopper
from clapas.studies.biaxial import BiaxialCurve, biaxial_curve
from clapas.studies.drum import Turning, held_from, turning
from clapas.studies.repose import repose_angle
from clapas.studies.shear import SteadyShear, printed_density, printed_friction, steady_shear


def sheared(inertial: float, length: int, depth: int, strain: float, mu: float = 0.4) -> SteadyShear:
    with simulate(shear_cell(inertial, mu, length, depth, strain)) as run:
        return steady_shear(run)


def pressed(count: int, mu: float, strain: float, inertial: float, seed: int = 0) -> BiaxialCurve:
    with simulate(biaxial(count, mu, strain, inertial, seed=seed)) as run:
        return biaxial_curve(run)


def turned(froude: float, filling: float, size: float, turns: float, mu: float = 0.5) -> Turning:
    with simulate(rough_drum(froude, filling, size, mu, turns)) as run:
        return turning(run, froude, size)


# ------------------------------------------------------------------ shear


def test_a_shear_cell_carries_its_pressure_and_resists_by_the_printed_law() -> None:
    with simulate(shear_cell(0.1, length=10, depth=8, strain=1.0)) as run:
        found = steady_shear(run)
        period = run.model.period[0]
        assert period is not None
        late = run.probe("on the plate")[-400:, 1]
        assert late.mean() == pytest.approx(PRESSURE * period, rel=0.05)
    assert found.inertial == pytest.approx(0.1, abs=0.03)
    assert found.friction == pytest.approx(printed_friction(found.inertial), abs=0.06)
    assert found.density == pytest.approx(printed_density(found.inertial), abs=0.05)


@pytest.mark.slow
def test_effective_friction_grows_with_the_inertial_number() -> None:
    """Da Cruz et al. 2005: 0.25 + 1.1 I."""
    found = [sheared(inertial, 14, 10, 4.0) for inertial in (0.03, 0.07, 0.15)]
    for each in found:
        assert each.friction == pytest.approx(printed_friction(each.inertial), abs=0.05)
        assert each.density == pytest.approx(printed_density(each.inertial), abs=0.04)
    frictions = [each.friction for each in found]
    assert frictions == sorted(frictions)
    start = np.polyfit([each.inertial for each in found], frictions, 1)[1]
    assert start == pytest.approx(0.25, abs=0.05)


# ------------------------------------------------------------------ biaxial test


def test_a_dense_sample_swells_and_its_friction_falls_from_a_peak() -> None:
    """Small samples differ much from each other: the mean of some tells."""
    curves = [pressed(80, mu=0.5, strain=0.1, inertial=5e-3, seed=seed) for seed in range(3)]
    for curve in curves:
        assert curve.confining == pytest.approx(STRESS, rel=0.02)
    assert np.mean([curve.swelling[-1] for curve in curves]) > 0.01
    critical = float(np.mean([curve.critical for curve in curves]))
    assert 12 < math.degrees(critical) < 24
    assert np.mean([curve.peak for curve in curves]) > critical + math.radians(3)


def test_a_squeezed_sample_is_dense_and_kept() -> None:
    centres, radii, width, height = squeezed(80, 5e-3, 0)
    assert np.pi * np.sum(radii**2) / (width * height) > 0.75
    assert (np.abs(centres[:, 0]) < width / 2).all()
    assert squeezed(80, 5e-3, 0)[0] is centres


@pytest.mark.slow
def test_pressing_and_shearing_agree_on_the_angle_of_friction() -> None:
    """Sine of the critical angle against shear stress over pressure in slow flow, for the same disks.

    Small samples between smooth walls are a few degrees stronger than the endless layer.
    """
    curve = pressed(250, mu=0.4, strain=0.2, inertial=3e-3)
    slow = sheared(0.02, 14, 10, 3.0)
    assert math.sin(curve.critical) == pytest.approx(slow.friction, abs=0.09)
    assert curve.peak > curve.critical


# ------------------------------------------------------------------ drum


def test_grains_are_held_by_a_fast_drum_and_fall_in_a_slower_one() -> None:
    """Below Fr = 1 none can stay at the top; well above the bound with friction all turn with the drum."""
    assert held_from(mu=0.5, filling=0.2) == pytest.approx(2.5)
    assert turned(5.0, 0.2, 8.0, turns=2.2).carried > 0.95
    falling = turned(0.8, 0.2, 8.0, turns=0.4)
    assert falling.carried < 0.3
    assert falling.flying > 0.2


@pytest.mark.slow
def test_regimes_of_a_drum() -> None:
    rolling, cascading, cataracting = (turned(froude, 0.3, 20.0, turns) for froude, turns in REGIMES)
    assert 20 < math.degrees(rolling.angle) < 36
    assert rolling.flying < 0.15
    assert rolling.angle < cascading.angle < math.radians(50)
    assert rolling.carried > cascading.carried
    assert rolling.flying < cascading.flying < cataracting.flying
    assert turned(1.0, 0.3, 20.0, turns=2.0).carried < 0.5
    assert turned(6.0, 0.3, 20.0, turns=4.0).carried > 0.97


REGIMES = ((0.005, 0.8), (0.05, 2.0), (0.3, 2.0))


# ------------------------------------------------------------------ repose


def test_a_ledge_keeps_a_slope() -> None:
    """Small samples scatter by ten degrees: the mean of three is asked."""
    angles = [repose_angle(0.5, length=10, seed=seed, relaxation=0.8) for seed in range(3)]
    assert 15 < np.mean(angles) < 32


@pytest.mark.slow
def test_the_angle_of_repose_grows_with_friction_and_levels_off() -> None:
    smooth, rough, rougher, roughest = (
        float(np.mean([repose_angle(mu, length=18, seed=seed, relaxation=2.5) for seed in range(3)]))
        for mu in (0.0, 0.3, 0.6, 1.2)
    )
    assert smooth < rough < rougher + 1.0
    assert rough - smooth > 4.0
    assert abs(roughest - rougher) < 3.0
    assert 18 < roughest < 32


# ------------------------------------------------------------------ hopper


@pytest.mark.slow
def test_beverloos_law_in_space() -> None:
    """Grains per second go as (mouth − k d)^(5/2), k about 1.4."""
    mouths, rates = np.array([3.5, 4.5, 6.0]), []
    for mouth in mouths:
        scene = hopper(500, mouth=mouth)
        scene.run = replace(scene.run, solver={"name": "nsgs", "tol": 1e-3, "max_iterations": 50})
        with simulate(scene, 1.0, 1e-3, every=10) as run:
            passed = (run.column("position")[:, 2:, 2] < 0.12).sum(axis=1)
            flowing = (passed > 50) & (passed < 300)
            rates.append(np.polyfit(run.times[flowing], passed[flowing], 1)[0])
    exponent = np.polyfit(np.log(mouths - 1.4), np.log(rates), 1)[0]
    assert exponent == pytest.approx(2.5, abs=0.3)


@pytest.mark.slow
def test_beverloos_law_in_the_plane() -> None:
    """Grains per second go as (mouth − k d)^(3/2), k about 1.4."""
    mouths, rates = np.array([4.0, 5.5, 7.0, 9.0]), []
    for mouth in mouths:
        with simulate(flat_hopper(count=500, width=18.0, mouth=mouth), duration=0.9) as run:
            passed = np.array([(frame.state.position[:, 1] < -0.03).sum() for frame in run.frames()])
            flowing = (run.times > OPENING + 0.1) & (passed < 250)
            rates.append(np.polyfit(run.times[flowing], passed[flowing], 1)[0])
    exponent = np.polyfit(np.log(mouths - 1.4), np.log(rates), 1)[0]
    assert exponent == pytest.approx(1.5, abs=0.2)
