"""Studies of grains: their formulas, and the settings they refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from clapas.errors import SettingsError
from clapas.studies.biaxial import Biaxial, BiaxialCurve
from clapas.studies.drum import Drum, held_from, printed_regime
from clapas.studies.repose import Repose
from clapas.studies.shear import Shear, printed_density, printed_friction


def test_printed_laws_of_shear() -> None:
    assert printed_friction(0.1) == pytest.approx(0.36)
    assert printed_density(0.1) == pytest.approx(0.78)


def test_angles_of_a_biaxial_curve() -> None:
    strain = np.linspace(0.0, 0.2, 5)
    curve = BiaxialCurve(strain, np.array([0.0, 0.5, 0.3, 0.3, 0.3]), np.zeros(5), 100.0)
    assert curve.peak == pytest.approx(math.radians(30))
    assert math.sin(curve.critical) == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("froude", "regime"),
    [(5e-3, "rolling"), (0.05, "cascading"), (0.5, "cataracting"), (1.0, "centrifuging")],
)
def test_printed_regimes_of_drums(froude: float, regime: str) -> None:
    assert printed_regime(froude) == regime


def test_a_ring_is_held_when_friction_carries_it_round() -> None:
    """At the bound, the largest ratio of the pull along the drum to the push against it is mu."""
    mu, filling = 0.5, 0.3
    press = held_from(mu, filling) * math.sqrt(1 - filling)  # ω²r/g on the inner face
    angle = np.linspace(0.0, math.pi, 100001)
    assert np.max(np.sin(angle) / (press - np.cos(angle))) == pytest.approx(mu, rel=1e-8)
    assert held_from(1e6, 0.0) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("study", "settings", "message"),
    [
        (Shear, {"slowest": 0.3}, "slowest must be between 0 and 0.2"),
        (Shear, {"runs": 1}, "runs at least 2"),
        (Biaxial, {"samples": 0}, "one sample of twenty grains is the least"),
        (Drum, {"filling": 0.6}, "0 < filling < 0.5"),
        (Repose, {"length": 2}, "length ≥ 6"),
    ],
)
def test_settings_are_checked(study: type[Any], settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        study(**settings)
