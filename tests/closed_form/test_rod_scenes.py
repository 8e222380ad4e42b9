"""Scenes of rods in contact, each with the number it is known by."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from clapas.bodies.rods import Rod, Rods
from clapas.dynamics.births import initial_state
from clapas.dynamics.model import Model
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.schemes import MoreauJean
from clapas.dynamics.stepping import StepResult, step
from clapas.dynamics.warm_start import followed
from clapas.geometry.shapes import Sphere
from clapas.scenes.compilation import compile_scene
from clapas.scenes.examples.hair import HEAD, brush, capstan, hair, strands, winch
from clapas.scenes.examples.knots import knot, least_friction
from clapas.scenes.run import Run
from clapas.scenes.scene import Scene
from clapas.scenes.simulation import Simulation
from clapas.solvers import Auto
from clapas.typing import Array


def run(scene: Scene, steps: int) -> tuple[Model, list[StepResult]]:
    model = compile_scene(scene)
    state, neighbours = initial_state(model), Neighbours(model)
    scheme = MoreauJean(**{name: value for name, value in scene.run.scheme.items() if name != "name"})
    assert scene.run.dt is not None
    done = []
    for _ in range(steps):
        done.append(step(model, state, scene.run.dt, Auto(tol=1e-8), scheme, neighbours))
        state = done[-1].state
    return model, done


def force_on_rods(done: StepResult) -> Array:
    """Force of the first body of the scene on the rods (N)."""
    sign = np.where(done.contacts.a == 0, 1.0, -1.0)[:, None]
    return np.asarray((sign * done.state.impulses.impulse).sum(axis=0) / done.state.dt)


@pytest.mark.parametrize("spin", [1.0, -1.0])
def test_a_capstan_multiplies_tension_by_the_exponential_of_its_angle(spin: float) -> None:
    """Euler and Eytelwein: the clamp holds the pull times e^(± mu π)."""
    pull, mu = 0.05, 0.3
    _, done = run(capstan(mu=mu, pull=pull, spin=spin), 80)
    clamp = force_on_rods(done[-1])[2] - pull
    assert clamp / pull == pytest.approx(math.exp(math.copysign(mu * math.pi, spin)), rel=0.01)
    assert done[-1].solution.residual < 1e-8


def test_a_rod_whose_steps_are_too_long_is_told_once_before_it_overflows() -> None:
    """Twelve thousand times the pull on a light rope."""
    sim = Simulation(capstan(mu=3.0), dt=1e-3)
    with pytest.warns(
        UserWarning, match=r"rods 'rope' at t = .* s: element \d+ of rod 0 bends or twists by"
    ) as told:
        sim.step(80)
    assert len(told) == 1
    assert np.abs(sim.state.parts[0].v).max() < 1e6


def test_friction_on_the_surface_of_a_thick_rope_weakens_the_capstan() -> None:
    """The lever r of friction is shear Q = −f r in the rope: the exponent is mu π R/(R + r + mu² r)."""
    drum, radius, mu, pull = 0.05, 2e-3, 0.3, 5.0
    _, done = run(capstan(mu=mu, pull=pull, radius=radius), 80)
    clamp = force_on_rods(done[-1])[2] - pull
    exponent = mu * math.pi * drum / (drum + radius + mu**2 * radius)
    assert clamp / pull == pytest.approx(math.exp(exponent), rel=0.002)


@pytest.mark.slow
def test_a_winch_lifts_its_load_by_the_length_of_rope_on_the_drum() -> None:
    """The rope lies at the distance R + r of its middle from the axis; it swings by 2 cm, so 1 %."""
    model, done = run(winch(turns=0.75), 600)
    rods, angle = model.systems[0].bodies, 0.75 * 2.0 * math.pi * 0.6
    assert isinstance(rods, Rods)
    rise = rods.tips(done[-1].state.parts[0])[0, 2] + 0.3
    assert rise == pytest.approx(0.0305 * angle, rel=0.01)
    assert max(each.solution.residual for each in done) < 1e-8


def test_contacts_keep_their_impulses_over_the_borders_of_segments() -> None:
    """A ball rolls along a rod that lies fixed: no step begins without the impulse that bears the ball."""
    scene = Scene()
    scene.law(mu=0.5)
    rail = Rod(
        length=0.4, radius=2e-3, density=1000, young=1e13, elements=2, segments=8, position=(-0.2, 0, 0)
    )
    scene.add_rods(rail)
    ball = scene.add(Sphere(0.01), (-0.11, 0, 0.012), density=1000, velocity=(1.0, 0, 0))
    model = compile_scene(scene)
    state, neighbours = initial_state(model), Neighbours(model)
    segments, carried = set(), []
    for k in range(120):
        done = step(model, state, 1e-3, Auto(tol=1e-10), MoreauJean(theta=1.0, reach=1e-4), neighbours)
        if k:
            kept = followed(model, state.impulses, done.problem.contacts)
            carried.append(done.problem.guess(kept)[0, 0] * done.problem.scale[0, 0])
        state = done.state
        segments.add(int(model.carrier_of[done.contacts.a].max()))
    assert len(segments) >= 5
    weight = 9.81 * model.mass[ball] * 1e-3
    assert min(carried[20:]) > 0.5 * weight


def test_a_brush_slides_with_its_coefficient_of_friction() -> None:
    mu = 0.4
    _, done = run(brush(bristles=3, mu=mu), 150)
    force = force_on_rods(done[-1])
    assert force[2] > 0.0
    assert -force[0] / force[2] == pytest.approx(mu, rel=1e-6)


def test_wound_strands_press_on_each_other_and_do_not_pass() -> None:
    model, done = run(strands(rods=3), 60)
    assert sum(len(each.contacts) >= 3 for each in done) > 30
    assert min(float(each.contacts.gap.min(initial=0.0)) for each in done) > -0.1 * 2.5e-4
    assert max(each.solution.residual for each in done) < 1e-8
    rods = model.systems[0].bodies
    assert isinstance(rods, Rods)


def test_hair_stays_outside_the_head_that_shakes() -> None:
    scene = hair(rods=5, curl=60.0, seed=1)
    model, done = run(scene, 150)
    rods, state = model.systems[0].bodies, done[-1].state
    assert isinstance(rods, Rods)
    points, start, _ = rods.centrelines(state.parts[0], 16)
    from_head = np.linalg.norm(points - state.position[0], axis=1)
    assert from_head.min() > HEAD - 1e-4
    length = [np.linalg.norm(np.diff(points[a:b], axis=0), axis=1).sum() for a, b in pairwise(start)]
    assert np.allclose(length, 0.15, rtol=2e-3)
    assert max(each.solution.residual for each in done) < 1e-8


def test_a_rod_and_a_ball_exchange_momentum() -> None:
    """A free rod that strikes a ball at its middle: what one gains the other loses."""
    scene = Scene(gravity=(0, 0, 0))
    scene.law(mu=0.0)
    ball = scene.add(Sphere(0.02), (0.25, 0, 0.0245), density=1000)
    scene.add_rods(
        Rod(length=0.5, radius=2e-3, density=1000, young=1e9, elements=4, root="free", velocity=(0, 0, 1.0))
    )
    scene.run = Run(duration=0.01, dt=1e-4)
    model, done = run(scene, 60)
    rods, state = model.systems[0].bodies, done[-1].state
    assert isinstance(rods, Rods)
    gained = model.mass[ball] * state.velocity[ball, 2]
    left = rods.inertia(state.parts[0], np.zeros(3)).momentum[2]
    total = rods.rods[0].inertia[0] * 0.5 * 1.0
    assert gained > 0.1 * total
    assert gained + left == pytest.approx(total, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("mu", "holds"), [(0.0, False), (0.03, False), (0.4, True)])
def test_friction_decides_whether_a_knot_holds(mu: float, holds: bool) -> None:
    """Pulled, then let go: it opens below the least friction of a loose knot, and holds above it."""
    scene = knot(mu=mu)
    rods = scene.systems[0].bodies
    assert isinstance(rods, Rods)
    rope = rods.rods[0]
    pull = np.array(rope.load("tip_force", 0.0))
    pulled = Scene(gravity=(0, 0, 0))
    pulled.law(mu=mu)
    pulled.add_rods(replace(rope, tip_force=lambda t: tuple(pull if t < 0.3 else 0.0 * pull)))
    pulled.run = scene.run
    model, done = run(pulled, 700)
    rods = model.systems[0].bodies
    assert isinstance(rods, Rods)

    def reach(k: int) -> float:
        along = rods.tips(done[k].state.parts[0])[0] - np.asarray(rope.position)
        return float(along @ pull / np.linalg.norm(pull))

    def bend(k: int) -> float:
        return float(np.linalg.norm(rods.split(done[k].state.parts[0].q)[0][:, 1:], axis=1).max())

    assert (least_friction(bend(299)) < mu) == holds
    slipped = reach(399) - reach(699)
    assert slipped < 0.012 if holds else slipped > 0.025
    assert min(float(each.contacts.gap.min(initial=0.0)) for each in done) > -0.4 * rope.axes[0]
