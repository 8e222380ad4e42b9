"""Contacts that pull with all their cohesion have no mobilised friction: f_N + C is nothing but rounding."""

from __future__ import annotations

import math

import numpy as np
import pytest

import clapas
from clapas.analysis import Instant
from clapas.analysis.distributions import mobilised_friction
from clapas.geometry.shapes import Sphere
from clapas.scenes.scene import Scene


@pytest.mark.parametrize("angle", [0.1, 0.45, 0.87, 1.36, 2.2])
def test_spheres_torn_apart(angle: float) -> None:
    away = np.array(
        [math.sin(angle) * math.cos(2 * angle), math.sin(angle) * math.sin(2 * angle), math.cos(angle)]
    )
    scene = Scene(gravity=(0, 0, 0), overlap=0.05)
    scene.law(mu=0.5, cohesion=0.01, rolling=0.001)
    scene.add(Sphere(0.02), (0, 0, 0), mass=0.03)
    scene.add(Sphere(0.02), tuple(0.02 * away), mass=0.03, velocity=tuple(0.5 * away))
    instant = Instant.of_recording(clapas.simulate(scene, duration=3e-3, dt=1e-3))
    assert instant.normal_force == pytest.approx([-0.01])
    assert np.isnan(mobilised_friction(instant)).all()
