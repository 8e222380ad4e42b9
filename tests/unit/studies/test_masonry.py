"""Limits of arches, piers, walls and domes against known ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

from clapas.errors import SettingsError
from clapas.io.simulation import simulate
from clapas.scenes.examples.masonry import buttressed_arch, dome, settling_wall
from clapas.scenes.scene import Scene
from clapas.studies.masonry import (
    Masonry,
    arch,
    least_dome,
    least_friction,
    least_pier,
    least_thickness,
    lune,
    undermined_wall,
)


def test_least_thickness_of_the_arch() -> None:
    assert least_thickness(61, 1e-4) == pytest.approx(0.1075, abs=2e-4)
    assert least_thickness(9, 1e-4) < least_thickness(31, 1e-4) < 0.1075 + 1e-4


def test_least_friction_of_the_arch() -> None:
    assert least_friction(arch(31, 0.3), 1e-4) == pytest.approx(0.31, abs=0.005)
    assert least_friction(arch(15, 0.05), 1e-2) == math.inf


def test_taller_piers_must_be_wider() -> None:
    assert least_pier(1.0, 1e-3) < least_pier(2.0, 1e-3)


def test_wider_holes_need_more_friction() -> None:
    assert least_friction(undermined_wall(1.0), 1e-3) == 0.0
    assert 0.0 < least_friction(undermined_wall(2.0), 1e-3) < least_friction(undermined_wall(4.0), 1e-3)


def test_least_thickness_of_the_dome() -> None:
    assert least_dome(30, 1e-4) == pytest.approx(0.042, abs=1.5e-3)


def test_a_thick_lune_carries_its_weight() -> None:
    whole = lune(10, 0.2)
    r = whole.one()
    assert r is not None
    base = r[:2] @ [[0, 1], [-1, 0]]  # normal up, tangent outward or inward
    volume = (1.1**3 - 0.9**3) / 3
    assert base[:, 1].sum() == pytest.approx(volume)


def test_settings_are_checked() -> None:
    with pytest.raises(SettingsError, match="voussoirs"):
        Masonry(voussoirs=2)


def fastest(scene: Scene, duration: float) -> float:
    """Largest speed of the stones at the end (m/s)."""
    with simulate(scene, duration) as run:
        return float(np.abs(run.frame(-1).state.velocity[run.model.movable, : run.model.d]).max())


def test_slender_piers_fall_as_limit_analysis_says() -> None:
    assert fastest(buttressed_arch(width=0.5), 0.1) < 0.01
    assert fastest(buttressed_arch(width=0.22), 0.1) > 0.05


def test_a_wall_spans_a_hole_but_for_a_triangle() -> None:
    with simulate(settling_wall(courses=4, length=6, gap=2.0, speed=0.05, mu=0.3), 0.1) as run:
        down = -run.frame(-1).state.velocity[run.model.movable, 1]
    assert np.sort(down)[-3:] == pytest.approx(0.05, abs=1e-3)  # they follow the ground
    assert np.sort(down)[:-3].max() < 1e-3


def test_a_dome_stands() -> None:
    assert fastest(dome(rings=2, lunes=8), 0.02) < 0.01
    assert fastest(dome(rings=4, lunes=8, mu=0.05), 0.05) > 0.05
