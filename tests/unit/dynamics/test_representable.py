"""Motion that numbers cannot hold ends a run; nothing of it is recorded as solved."""

from __future__ import annotations

from pathlib import Path

import pytest

from clapas import Plane, Recording, Scene, Simulation, Sphere, simulate
from clapas.dynamics.motions import Table
from clapas.errors import SceneError


def ball(speed: float, density: float = 1000.0) -> Scene:
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Plane())
    scene.add(Sphere(0.1), (0, 0, 0.1), density=density, velocity=(speed, 0, -speed), name="ball")
    return scene


@pytest.mark.parametrize("speed", [1e17, 1e30, 1e100, 1e150])
def test_a_ball_carried_to_where_its_size_is_lost(speed: float, tmp_path: Path) -> None:
    """Its contact with the floor, 1e14 m away, would pass for one at which nothing happens."""
    path = tmp_path / "run.h5"
    with pytest.raises(SceneError, match=r"step 1, .*'ball' is .* m from the origin, where places are"):
        simulate(ball(speed), 3e-3, 1e-3, out=path)
    with Recording(path) as run:
        assert run.n_frames == 1  # the start; nothing after it


def test_an_infinite_energy_is_not_recorded() -> None:
    with pytest.raises(SceneError, match=r"step 0, .*the kinetic energy is inf J"):
        simulate(ball(1e150, density=1e20), 3e-3, 1e-3)


def test_speeds_are_looked_at_without_a_recorder() -> None:
    with pytest.raises(SceneError, match=r"step 0, .* the velocity of 'ball' is \[1e\+200"):
        Simulation(ball(1e200), 1e-3)
    simulation = Simulation(ball(0.0), 1e-3)
    simulation.step()
    simulation.body("ball").apply(force=(1e300, 0, 0))
    with pytest.raises(SceneError, match=r"step 2, .* the velocity of 'ball' is \["):
        simulation.step()


def test_far_bodies_are_welcome() -> None:
    """A grain that left the scene, 1e6 m away: its place is still known to 1e-10 m."""
    scene = ball(0.0)
    scene.add(Sphere(1e-3), (1e6, 0, 1e6), density=1000.0)
    assert simulate(scene, 3e-3, 1e-3).n_frames == 4


def test_walls_may_be_anywhere() -> None:
    scene = ball(0.0)
    scene.add(Sphere(1.0), (0, 0, 1e17), motion=Table([0.0, 1.0], [(0.0, 0, 0), (0, 0, 1.0)]), name="far")
    assert simulate(scene, 3e-3, 1e-3).n_frames == 4


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("density", [1e-315, 1e-299])
def test_a_body_too_light_to_be_divided_by(density: float) -> None:
    with pytest.raises(SceneError, match=r"'ball' has mass .* too small to be divided by"):
        Simulation(ball(0.0, density), dt=1e-3)


@pytest.mark.filterwarnings("error")
def test_a_body_beyond_all_places_is_refused_without_a_warning() -> None:
    scene = ball(0.0)
    scene.add(Sphere(0.1), (1e300, 0, 0.1), density=1.0, name="lost")
    with pytest.raises(SceneError, match="'lost' is 1e"):
        simulate(scene, 1e-3, 1e-3)
