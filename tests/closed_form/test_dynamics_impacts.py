"""Collisions: the three-parameter law of two spheres, cradles, a bouncing ball, a rocking block."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clapas.geometry import rotations
from clapas.geometry.shapes import Disk, Plane, Sphere
from clapas.laws import Law
from clapas.scenes.examples.single import rocking_block
from clapas.scenes.scene import Scene
from clapas.solvers import NSGS
from clapas.typing import Array
from tests.closed_form.runs import SINK, History, run

G = 9.81
WEIGHTLESS = (0.0, 0.0, 0.0)
INSTANT = 1e-8
"""A step (s) so short that two spheres that touch collide where they are."""


# -------------------------------------------------------------------- two spheres


@dataclass(frozen=True)
class Ball:
    """A sphere: mass, radius, velocity and angular velocity in the world."""

    mass: float
    radius: float
    velocity: Array
    spin: Array

    def struck(self, impulse: Array, arm: Array) -> Ball:
        """The same ball after an impulse at the end of the arm."""
        inertia = 0.4 * self.mass * self.radius**2
        velocity = self.velocity + impulse / self.mass
        return Ball(self.mass, self.radius, velocity, self.spin + np.cross(arm, impulse) / inertia)


def collision(a: Ball, b: Ball, normal: Array, law: Law) -> tuple[Ball, Ball]:
    """The law of Foerster, Louge, Chang and Allia (1994) for two free spheres.

    The velocity of contact U = U_N n + U_T changes to −rho U_N, and to −tau U_T if the impulse this takes
    is inside the cone; if not, the tangential impulse is mu P_N against U_T. With m the reduced mass, the
    normal impulse is −(1 + rho) m U_N; solid spheres answer to a tangential impulse with a mass 2m/7.
    """
    arms = a.radius * normal, -b.radius * normal
    U = b.velocity + np.cross(b.spin, arms[1]) - a.velocity - np.cross(a.spin, arms[0])
    U_N, m = float(U @ normal), 1 / (1 / a.mass + 1 / b.mass)
    U_T = U - U_N * normal
    P_N = -(1 + law.restitution) * m * U_N
    P_T = -(1 + law.tangential_restitution) * 2 / 7 * m * U_T
    if np.linalg.norm(P_T) > law.mu * P_N:
        P_T *= law.mu * P_N / np.linalg.norm(P_T)
    impulse = P_N * normal + P_T
    return a.struck(-impulse, arms[0]), b.struck(impulse, arms[1])


def collided(a: Ball, b: Ball, normal: Array, law: Law) -> tuple[Ball, Ball]:
    """The same by the engine, in one step from touching spheres."""
    scene = Scene(WEIGHTLESS)
    scene.law(mu=law.mu, restitution=law.restitution, tangential_restitution=law.tangential_restitution)
    touching = (a.radius + b.radius - SINK) * normal
    for ball, place in ((a, np.zeros(3)), (b, touching)):
        scene.add(
            Sphere(ball.radius), place, mass=ball.mass, velocity=ball.velocity, angular_velocity=ball.spin
        )
    state = run(scene, INSTANT, INSTANT).kept[-1].state
    after = []
    for k, ball in enumerate((a, b)):
        spin = rotations.rotate(state.orientation[k], state.velocity[k, 3:])
        after.append(Ball(ball.mass, ball.radius, state.velocity[k, :3], spin))
    return after[0], after[1]


@given(
    seed=st.integers(0, 10_000),
    share=st.sampled_from([0.0, 0.3, 0.9, 1.1, 5.0]),
    rho=st.sampled_from([0.0, 0.5, 1.0]),
    tau=st.sampled_from([-0.5, 0.0, 0.4, 1.0]),
)
@settings(max_examples=40)
def test_oblique_impact_of_two_spheres(seed: int, share: float, rho: float, tau: float) -> None:
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=3)
    normal /= np.linalg.norm(normal)
    a, b = (
        Ball(rng.uniform(0.2, 5), rng.uniform(0.05, 0.5), rng.normal(size=3), rng.normal(size=3))
        for _ in range(2)
    )
    if (b.velocity - a.velocity) @ normal > 0:
        a, b = Ball(a.mass, a.radius, b.velocity, a.spin), Ball(b.mass, b.radius, a.velocity, b.spin)
    # Friction as a share of what holds the surfaces together: below one they slip.
    U = b.velocity - a.velocity - np.cross(a.radius * a.spin + b.radius * b.spin, normal)
    U_N = float(U @ normal)
    needed = 2 / 7 * (1 + tau) * np.linalg.norm(U - U_N * normal) / ((1 + rho) * abs(U_N))
    law = Law(mu=share * float(needed), restitution=rho, tangential_restitution=tau)
    expected, found = collision(a, b, normal, law), collided(a, b, normal, law)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(other.velocity, one.velocity, atol=1e-6)
        np.testing.assert_allclose(other.spin * one.radius, one.spin * one.radius, atol=1e-6)
    # Momentum to rounding, angular momentum about the point of contact too.
    linear = sum(ball.mass * ball.velocity for ball in found)
    np.testing.assert_allclose(linear, a.mass * a.velocity + b.mass * b.velocity, atol=1e-13)
    kinetic = [
        sum(0.5 * s.mass * (s.velocity @ s.velocity + 0.4 * s.radius**2 * (s.spin @ s.spin)) for s in pair)
        for pair in ((a, b), found)
    ]
    assert kinetic[1] <= kinetic[0] * (1 + 1e-9)
    if rho == 1.0 and share in (0.0, 5.0) and tau == 1.0:
        assert kinetic[1] == pytest.approx(kinetic[0], rel=1e-6)


@pytest.mark.parametrize("mu", [0.05, 0.5])
def test_ball_with_backspin_bounces_off_a_wall(mu: float) -> None:
    """Against the floor: a = mu(1 + rho) U_N of speed and 5a/2R of spin while it slips, else it rolls."""
    rho, radius, v, w = 0.7, 0.1, np.array([1.0, -2.0]), 30.0
    scene = Scene(WEIGHTLESS)
    scene.law(mu=mu, restitution=rho)
    scene.add(Plane())
    scene.add(
        Sphere(radius),
        (0, 0, radius - SINK),
        mass=1.0,
        velocity=(v[0], 0, v[1]),
        angular_velocity=(0, -w, 0),
    )
    after = run(scene, INSTANT, INSTANT).velocity()[-1]
    slip = v[0] + radius * w  # of the lowest point, forward
    lost = min(mu * (1 + rho) * abs(v[1]), 2 / 7 * slip)
    np.testing.assert_allclose(after[[0, 2]], (v[0] - lost, -rho * v[1]), atol=1e-6)
    assert after[4] == pytest.approx(-w + 2.5 * lost / radius, abs=1e-5)


# -------------------------------------------------------------------- cradles


def cradle(gaps: list[float], restitution: float, d: int = 3, speed: float = 1.0) -> History:
    """Equal balls in a row; the first flies at the others, which are at rest."""
    radius, scene = 0.1, Scene((0.0,) * d, d=d)
    scene.law(mu=0.3, restitution=restitution)
    x = 0.0
    for k in range(len(gaps) + 1):
        place = (x, *(0.0,) * (d - 1))
        velocity = (speed if k == 0 else 0.0, *(0.0,) * (d - 1))
        scene.add(Sphere(radius) if d == 3 else Disk(radius), place, mass=2.0, velocity=velocity)
        x += 2 * radius + (gaps[k] if k < len(gaps) else 0.0)
    return run(scene, 0.1, 1e-3, on_unsolved="record")


def speeds(history: History) -> Array:
    return history.kept[-1].state.velocity[:, 0]


@pytest.mark.parametrize("d", [2, 3])
def test_equal_balls_exchange_their_velocities(d: int) -> None:
    np.testing.assert_allclose(speeds(cradle([0.01], 1.0, d)), (0, 1), atol=1e-12)


def test_balls_hand_the_shock_over_one_by_one_when_they_do_not_touch() -> None:
    np.testing.assert_allclose(speeds(cradle([0.01, 0.01, 0.01], 1.0)), (0, 0, 0, 1), atol=1e-12)


@pytest.mark.parametrize(
    ("restitution", "expected"), [(1.0, (-1 / 3, 2 / 3, 2 / 3)), (0.0, (1 / 3, 1 / 3, 1 / 3))]
)
def test_balls_that_touch_receive_the_shock_together(restitution: float, expected: tuple[float, ...]) -> None:
    """All contacts of a step are in one problem (Moreau 2003, 7.1): the two at rest act as one mass."""
    history = cradle([0.01, -SINK], restitution)
    np.testing.assert_allclose(speeds(history), expected, atol=1e-10)
    kinetic = [kept.energy.kinetic for kept in history.kept]
    assert kinetic[-1] == pytest.approx(kinetic[0] * (1 if restitution else 1 / 3), rel=1e-9)


@pytest.mark.parametrize("tol", [1e-6, 1e-10])
@pytest.mark.parametrize("gravity", [(0.0, 0.0, 0.0), (0.0, 0.0, -9.81)])
def test_bodies_that_move_together_are_no_problem(tol: float, gravity: tuple[float, ...]) -> None:
    """Their free velocity at the contact is the rounding of their motion: nothing to solve, no failure."""
    scene = Scene(gravity)
    scene.law(mu=0.3, restitution=1.0)
    for k, v in enumerate((1.0, 0.0, 0.0)):
        scene.add(
            Sphere(0.1), (0.2 * k - 0.01 * (k == 0) - SINK * (k == 2), 0, 0), mass=2, velocity=(v, 0, 0)
        )
    history = run(scene, 0.05, 1e-3, solver=NSGS(tol=tol))
    assert max(step.solution.iterations for step in history.steps) < 200


# -------------------------------------------------------------------- momentum


@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_a_cloud_of_spheres_keeps_its_momentum_to_rounding(rho: float) -> None:
    rng = np.random.default_rng(3)
    scene = Scene(WEIGHTLESS)
    scene.law(mu=0.4, restitution=rho, tangential_restitution=0.2)
    corners = 0.25 * (np.stack(np.meshgrid(*[range(3)] * 3), axis=-1).reshape(-1, 3) - 1.0)
    for corner in corners:
        velocity = -2.0 * corner + rng.normal(scale=0.3, size=3)  # inward
        scene.add(
            Sphere(rng.uniform(0.08, 0.12)), corner, density=1000, velocity=velocity,
            angular_velocity=rng.normal(scale=5, size=3),
        )  # fmt: skip
    history = run(scene, 0.4, 2e-3)
    assert sum(len(step.problem.contacts) for step in history.steps) > 50
    mass, inertia = history.model.mass, history.model.inertia[:, 0]
    momentum, moment = [], []
    for kept in history.kept:
        state = kept.state
        p = mass[:, None] * state.velocity[:, :3]
        spin = inertia[:, None] * rotations.rotate(state.orientation, state.velocity[:, 3:])
        momentum.append(p.sum(axis=0))
        moment.append((np.cross(state.position, p) + spin).sum(axis=0))
    scale = float(np.abs(mass[:, None] * history.kept[0].state.velocity[:, :3]).sum())
    assert np.abs(np.subtract(momentum, momentum[0])).max() < 1e-13 * scale
    # The scheme keeps that of spheres too: arms are measured at the middle of the step.
    assert np.abs(np.subtract(moment, moment[0])).max() < 1e-13 * scale


def test_balls_collide_across_a_periodic_boundary() -> None:
    scene = Scene(WEIGHTLESS, period=(1.0, None))
    scene.law(mu=0.0, restitution=1.0)
    scene.add(Sphere(0.1), (0.15, 0, 0), mass=1.0, velocity=(-1, 0, 0))
    scene.add(Sphere(0.1), (0.85, 0, 0), mass=1.0)
    np.testing.assert_allclose(speeds(run(scene, 0.2, 1e-3)), (0, -1), atol=1e-12)


# -------------------------------------------------------------------- bouncing ball


@pytest.mark.parametrize("e", [0.5, 0.8])
def test_bouncing_ball_rests_after_its_accumulation(e: float) -> None:
    """Bounces at t_k add up to sqrt(2h/g)(1 + e)/(1 − e), and the scheme passes through in one step."""
    height, dt, radius = 0.2, 5e-4, 0.1
    scene = Scene()
    scene.law(mu=0.3, restitution=e)
    scene.add(Plane())
    scene.add(Sphere(radius), (0, 0, radius + height), density=1000)
    first = math.sqrt(2 * height / G)
    end = first * (1 + e) / (1 - e)
    history = run(scene, end + 0.1, dt)
    t, z, v = history.time, history.position()[:, 2] - radius, history.velocity()[:, 2]
    bounces = np.flatnonzero((v[1:] > 0) & (v[:-1] < 0)) + 1
    # The k-th bounce leaves at e^k of the speed of the fall; its time is off by steps, not by bounces.
    k = np.arange(1, 5)
    falls = first + 2 * first * np.cumsum(np.r_[0.0, e ** np.arange(1, 4)])
    np.testing.assert_allclose(t[bounces[:4]], falls, atol=6 * dt)
    assert (np.abs(v[bounces[:4]] - e**k * G * first) < 2 * k * G * dt).all()
    tops = [z[a:b].max() for a, b in pairwise(bounces[:4])]
    np.testing.assert_allclose(tops, height * e ** (2 * k[:3]), rtol=0.05)
    # At rest: no bounce above the height of one step, no speed above that of one step.
    rest = t[np.flatnonzero(np.abs(v) > 2 * G * dt)[-1]]
    assert rest == pytest.approx(end, rel=0.05)
    assert np.abs(v[-10:]).max() < 1e-6
    assert np.abs(z[t > end + 0.02]).max() < 2 * G * first * dt


# -------------------------------------------------------------------- rocking block

SLENDERNESS, TILT = 4.0, 0.5


@pytest.fixture(scope="module")
def rocking() -> History:
    return run(rocking_block(SLENDERNESS, TILT), 1.0, 5e-4, solver=NSGS(tol=1e-7))


def test_rocking_block_loses_housners_share_at_each_impact(rocking: History) -> None:
    """Between impacts the block turns about one edge as a pendulum; at an impact its speed is multiplied.

    With tan α = width/height and the half diagonal R: ω² = (3g/2R)(cos(α − θ) − cos α) at the impact of a
    block let go at the tilt θ, and 1 − (3/2) sin²α of it after (Housner 1963). Impacts fall between steps
    and edges sink in by them: 1 %.
    """
    alpha = math.atan(1 / SLENDERNESS)
    R = math.hypot(0.2, 0.8) / 2
    spin = rocking.velocity()[:, 4]
    impacts = np.flatnonzero((np.abs(spin[1:]) < 0.98 * np.abs(spin[:-1])) & (np.abs(spin[:-1]) > 0.2))
    assert len(impacts) == 2
    assert np.diff(rocking.time[impacts]) > 0.2
    start = math.cos(alpha - TILT * alpha) - math.cos(alpha)
    assert -spin[impacts[0]] == pytest.approx(math.sqrt(1.5 * G / R * start), rel=0.01)
    expected = 1 - 1.5 * math.sin(alpha) ** 2
    np.testing.assert_allclose(spin[impacts + 1] / spin[impacts], expected, rtol=0.01)
    # The energy of the impact, from which each next tilt follows.
    fall = rocking.energy[impacts + 1] - rocking.energy[impacts]
    before = 0.5 * (rocking.model.inertia[1, 1] + rocking.model.mass[1] * R**2) * spin[impacts] ** 2
    np.testing.assert_allclose(fall / before, expected**2 - 1, atol=0.01)


def test_first_corner_of_a_rocking_block_lifts_at_the_impact(rocking: History) -> None:
    """Newton's rule at each corner would hold it down; Moreau's law lets it go (Moreau 2003, section 6)."""
    points = [step.problem.contacts.point[:, 0] for step in rocking.steps]
    right = np.array([np.any(x > -0.05) for x in points])
    left = np.array([np.any(x < -0.15) for x in points])
    # An edge about which a block turns rises by a hair and is caught again, step after step.
    first = int(np.flatnonzero(left)[0])
    assert right[: first - 1].sum() > first / 4
    assert left[first + 5 : first + 205].sum() > 50
    assert not right[first + 5 : first + 205].any()
    # It does not slide: the right edge was at x = 0, the left one is a width further.
    for x in points[first + 5 : first + 205]:
        np.testing.assert_allclose(x, -0.2, atol=1e-3)
