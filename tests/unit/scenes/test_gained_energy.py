"""Energy that long steps give to systems is told; energy from forces is not."""

from __future__ import annotations

import warnings

import pytest

import clapas
from clapas.bodies.rods import Rod, Rods
from clapas.scenes.compilation import compile_scene
from clapas.scenes.recorders import Memory
from clapas.scenes.scene import Scene
from clapas.scenes.simulation import Simulation


def sprung_rod(gravity: float = 0.0) -> Scene:
    """A straight free rod whose natural shape is curved and twisted: it springs, and spins."""
    scene = clapas.Scene(gravity=(0.0, 0.0, -gravity))
    rod = Rod(
        length=0.1,
        radius=2e-3,
        density=1000.0,
        young=1e7,
        elements=4,
        natural=(5, 10, 0),
        strain=(0, 0, 0),
        root="free",
    )
    scene.add_system(Rods([rod]))
    return scene


def told(scene: Scene, dt: float, duration: float = 0.05) -> list[str]:
    """Warnings of a run of which every fifth step is kept."""
    simulation = Simulation(compile_scene(scene), dt)
    simulation.attach(Memory(), every=5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        simulation.run(duration)
    return [str(each.message) for each in caught]


def test_steps_too_long_for_a_rod_are_told_once() -> None:
    bends, gains = sorted(told(sprung_rod(), 5e-4), key=lambda message: "J of energy" in message)
    assert "bends or twists by" in bends
    assert "J of energy come from steps that are too long" in gains
    assert "take dt well below 0.0005 s, or damping" in gains


@pytest.mark.parametrize("gravity", [0.0, 9.81])
def test_short_steps_are_not(gravity: float) -> None:
    assert told(sprung_rod(gravity), 5e-5) == []


def test_a_run_that_begins_anew_has_its_own_start() -> None:
    simulation = Simulation(compile_scene(sprung_rod(9.81)), 1e-4)
    for _ in range(2):
        recorder = Memory()
        simulation.attach(recorder, every=50)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            simulation.run(0.02)
        simulation.detach(recorder)
        simulation.reset()
