"""Blocks that slide and spheres that roll, against the formulas of elementary mechanics.

Forces are constant while a contact keeps its mode, and Moreau's scheme is exact for constant forces: what
remains is rounding, and the step during which a mode changes.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from clapas.dynamics.births import initial_state
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.stepping import step
from clapas.geometry.shapes import Box, Disk, HalfPlane, Plane, Polygon, Shape, Sphere
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from clapas.solvers import NSGS
from tests.closed_form.runs import SINK, run

G = 9.81


def on_floor(shape: Shape, height: float, slope: float = 0.0, speed: float = 0.0, **law: float) -> Scene:
    """A body on a floor along x, in a gravity that leans towards +x as on a slope."""
    d = shape.d
    down = (G * math.sin(slope), *(0.0,) * (d - 2), -G * math.cos(slope))
    scene = Scene(down, d=d)
    scene.law(**law)
    scene.add(Plane() if d == 3 else HalfPlane(), name="floor")
    place = (0.0,) * (d - 1)
    scene.add(shape, (*place, height - SINK), velocity=(speed, *place), density=2000, name="body")
    return scene


BLOCKS = {2: Polygon.rectangle(0.4, 0.1), 3: Box((0.4, 0.3, 0.1))}
ROUND = {2: (Disk(0.1), 1 / 2), 3: (Sphere(0.1), 2 / 5)}


@pytest.mark.parametrize("d", [2, 3])
def test_sliding_block_stops_after_the_known_time_and_distance(d: int) -> None:
    speed, mu, dt = 2.0, 0.4, 1e-3
    stop, reach = speed / (mu * G), speed**2 / (2 * mu * G)
    history = run(on_floor(BLOCKS[d], 0.05, speed=speed, mu=mu), 0.55, dt)
    v, x = history.velocity()[:, 0], history.position()[:, 0]
    moving = history.time < stop - dt
    np.testing.assert_allclose(v[moving], speed - mu * G * history.time[moving], atol=1e-9)
    # It ends its sliding inside one step: that is all the error there is.
    rest = history.time[np.flatnonzero(np.abs(v) > 1e-9)[-1] + 1]
    assert stop <= rest < stop + dt
    assert x[-1] == pytest.approx(reach, abs=mu * G * dt**2 / 8 + 1e-9)
    assert np.ptp(x[history.time >= rest]) < 1e-9
    lost = 0.5 * history.model.mass[-1] * speed**2
    assert history.kept[-1].work == pytest.approx(-lost, rel=1e-9)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("slope", [0.1, 0.5])
def test_block_on_a_slope_slips_only_below_the_friction_angle(d: int, slope: float) -> None:
    dt, limit = 1e-3, math.tan(slope)
    stuck = run(on_floor(BLOCKS[d], 0.05, slope, mu=1.001 * limit), 0.1, dt)
    assert np.abs(stuck.velocity()).max() < 1e-9
    slips = run(on_floor(BLOCKS[d], 0.05, slope, mu=0.999 * limit), 0.1, dt)
    acceleration = G * (math.sin(slope) - 0.999 * limit * math.cos(slope))
    np.testing.assert_allclose(slips.velocity()[:, 0], acceleration * slips.time, atol=1e-9)
    np.testing.assert_allclose(slips.position()[:, 0], acceleration * slips.time**2 / 2, atol=1e-9)


def test_block_topples_when_its_weight_leaves_its_base() -> None:
    # Friction is high: a block of width b and height h topples when tan(slope) > b/h.
    for slope, topples in ((math.atan(0.5) - 0.01, False), (math.atan(0.5) + 0.01, True)):
        history = run(on_floor(Polygon.rectangle(0.1, 0.2), 0.1, slope, mu=2.0), 0.3, 1e-3)
        assert (abs(history.velocity()[-1, 2]) > 1e-2) == topples


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("share", [0.5, 0.98, 1.02, 3.0])
def test_round_body_rolls_or_slips_down_a_slope(d: int, share: float) -> None:
    """A body of inertia k m R² rolls at g sin/(1 + k) if mu ≥ tan·k/(1 + k), else it slips at its limit."""
    slope, dt = 0.4, 1e-3
    shape, k = ROUND[d]
    radius = shape.reach
    mu = share * math.tan(slope) * k / (1 + k)
    history = run(on_floor(shape, radius, slope, mu=mu), 0.2, dt)
    if share > 1:
        acceleration = G * math.sin(slope) / (1 + k)
        spin = acceleration / radius
    else:
        acceleration = G * (math.sin(slope) - mu * math.cos(slope))
        spin = mu * G * math.cos(slope) / (k * radius)
    v, t = history.velocity(), history.time
    np.testing.assert_allclose(v[:, 0], acceleration * t, atol=1e-9)
    np.testing.assert_allclose(history.position()[:, 0], acceleration * t**2 / 2, atol=1e-9)
    # Down +x it turns about +y in space (x forward, z up), clockwise in the plane.
    turning = v[:, 4] if d == 3 else -v[:, 2]
    np.testing.assert_allclose(turning, spin * t, atol=1e-8)


def test_bowling_ball_slides_then_rolls_at_five_sevenths_of_its_speed() -> None:
    speed, mu, dt, radius = 3.0, 0.2, 1e-3, 0.1
    history = run(on_floor(Sphere(radius), radius, speed=speed, mu=mu), 0.6, dt)
    rolls = 2 * speed / (7 * mu * G)
    t, v = history.time, history.velocity()
    sliding = t < rolls - dt
    np.testing.assert_allclose(v[sliding, 0], speed - mu * G * t[sliding], atol=1e-9)
    rolling = t > rolls + dt
    np.testing.assert_allclose(v[rolling, 0], 5 / 7 * speed, atol=1e-9)
    np.testing.assert_allclose(v[rolling, 4], 5 / 7 * speed / radius, atol=1e-8)


def test_two_block_stack_hands_down_its_weight() -> None:
    dt, size = 1e-3, (0.2, 0.2, 0.1)
    scene = Scene()
    scene.law(mu=0.5)
    floor = scene.add(Plane())
    low = scene.add(Box(size), (0, 0, 0.05 - SINK), density=2000)
    high = scene.add(Box(size), (0.01, 0.02, 0.15 - 2 * SINK), density=1000)
    history = run(scene, 0.05, dt)
    weight = G * history.model.mass
    assert np.abs(history.velocity(low)).max() < 1e-9
    for place in (0, -1):
        between, below = history.force(low, high, dt, place), history.force(floor, low, dt, place)
        np.testing.assert_allclose(between, (0, 0, weight[high]), atol=1e-7 * weight[high])
        np.testing.assert_allclose(below, (0, 0, weight[low] + weight[high]), atol=1e-7 * weight[low])


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("share", [0.5, 0.999, 1.001, 2.0])
def test_cohesion_holds_a_hanging_body_up_to_its_strength(d: int, share: float) -> None:
    shape = ROUND[d][0]
    radius, dt = shape.reach, 1e-3
    weight = 2000 * shape.volume * G
    hanging = on_floor(shape, radius, math.pi, mu=0.3, cohesion=weight / share)
    history = run(hanging, 0.05, dt)
    fallen = history.position()[-1, -1] - history.position()[0, -1]
    if share < 1:
        assert abs(fallen) < 1e-12
        assert history.force(0, 1, dt)[-1] == pytest.approx(-weight, rel=1e-9)
    else:
        # The bond resists until the gap opens, during the first steps; then the body falls freely.
        assert 0.5 * G * (0.05 - 2 * dt) ** 2 * 0.9 < fallen <= 0.5 * G * 0.05**2


@pytest.mark.parametrize(("share", "holds"), [(0.99, True), (1.01, False)])
def test_cohesion_presses_for_friction_too(share: float, holds: bool) -> None:
    # Gravity along the wall: friction resists up to mu C at each corner though nothing else presses.
    block, mu = BLOCKS[3], 0.5
    strength = 2000 * block.volume * G / (4 * mu * share)
    history = run(on_floor(block, 0.05, math.pi / 2, mu=mu, cohesion=strength), 0.02, 1e-3)
    assert (np.abs(history.velocity()).max() < 1e-9) == holds


def test_no_friction_and_huge_friction() -> None:
    free = run(on_floor(BLOCKS[3], 0.05, 0.3, mu=0.0), 0.05, 1e-3)
    np.testing.assert_allclose(free.velocity()[:, 0], G * math.sin(0.3) * free.time, atol=1e-10)
    held = run(on_floor(BLOCKS[3], 0.05, 0.3, mu=1e6), 0.05, 1e-3, solver=NSGS(tol=1e-8))
    assert np.abs(held.velocity()).max() < 1e-8


def test_polygonal_friction_slows_each_axis_by_itself() -> None:
    """On a square section both components of the slip lose mu g, until each has stopped."""
    mu, velocity = 0.2, (0.4, 0.1, 0.0)
    scene = Scene()
    scene.law(mu=mu, section=[(1, -1), (1, 1), (-1, 1), (-1, -1)], direction=(1, 0, 0))
    scene.add(Plane())
    scene.add(Box((0.2, 0.2, 0.02)), (0, 0, 0.01), velocity=velocity, density=700.0)
    again = Scene.from_dict(json.loads(json.dumps(scene.to_dict())))
    assert again.laws == scene.laws
    model = compile_scene(again)
    state, near = initial_state(model), Neighbours(model)
    for _ in range(50):
        state = step(model, state, 5e-3, neighbours=near).state
    for k in range(2):
        assert state.position[1, k] == pytest.approx(velocity[k] ** 2 / (2 * mu * G), rel=2e-3)
