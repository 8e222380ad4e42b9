"""Grains that appear inside others are told, once; those that only touch are not."""

from __future__ import annotations

import warnings

import pytest

from clapas.geometry.shapes import Box, Plane
from clapas.scenes.regions import BoxRegion, DiscRegion
from clapas.scenes.scene import Scene
from clapas.scenes.simulation import Simulation


def rain(width: float, rate: float, **given: object) -> Scene:
    """Grains of 2 cm from a disc 60 cm above a floor."""
    scene = Scene()
    scene.law(mu=0.3)
    scene.add(Plane(), name="floor")
    region = DiscRegion((0, 0, 0.6), width)
    scene.source(region, rate=rate, number=4, radius=0.02, density=1000, name="rain", **given)
    return scene


def test_a_crowded_source_is_told_once() -> None:
    simulation = Simulation(rain(1e-3, rate=50.0), dt=1e-3)
    with pytest.warns(UserWarning, match=r"'rain 1' appeared 0\.0378 m deep inside 'rain 0'") as told:
        simulation.step(100)
    assert len(told) == 1


def test_a_source_inside_a_wall_is_told() -> None:
    scene = Scene()
    scene.law(mu=0.3)
    scene.add(Box((1, 1, 1)), fixed=True, name="rock")
    region = BoxRegion((-0.01, -0.01, -0.01), (0.01, 0.01, 0.01))
    scene.source(region, rate=10.0, number=1, radius=0.02, density=1000, name="rain")
    with pytest.warns(UserWarning, match="'rain 0' appeared .* m deep inside 'rock'"):
        Simulation(scene, dt=1e-3).step(2)


@pytest.mark.parametrize("given", [{"velocity": (0, 0, -5.0)}, {"laid": True}])
def test_grains_with_room_are_not_told(given: dict[str, object]) -> None:
    """Fast ones that reach what is below them within their first step, and those that are laid upon it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Simulation(rain(1e-3, rate=4.0, **given), dt=1e-3).step(800)
