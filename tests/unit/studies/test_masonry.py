"""Limits of arches, piers, walls and domes against known ones."""

from __future__ import annotations

import math

import pytest

from clapas.errors import SettingsError
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
