"""Cohesion, rolling and elliptic friction, moments of inertia, walls and probes; answers on paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from clapas.geometry.shapes import Box, Clump, Disk, HalfPlane, Plane, Polyhedron, Sphere
from clapas.io.simulation import simulate
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from clapas.solvers import NSGS, Auto
from clapas.typing import Array
from tests.closed_form.runs import SINK, run

G = 9.81


@pytest.mark.parametrize("gravity", [G, 0.0])
@pytest.mark.parametrize(("n", "factor"), [(1, 1.001), (2, 2.2), (4, 20.0)])
def test_what_hangs_by_cohesion_hangs_for_good(n: int, factor: float, gravity: float) -> None:
    """A chain of balls under a ceiling, pulled by weights or by forces; its topmost contact bears n m g."""
    weight, chain = G, 0.1 + 0.2 * np.arange(n)
    scene = Scene((0.0, 0.0, -gravity))
    scene.law(mu=0.5, cohesion=factor * weight)
    scene.add(Plane((0, 0, -1)))
    for z in chain:
        pull = None if gravity else (0.0, 0.0, -weight)
        scene.add(Sphere(0.1), (0.0, 0.0, -z), mass=1.0, force=pull)
    history = run(scene, 0.5, 1e-3, solver=Auto(tol=1e-6))
    np.testing.assert_allclose(history.kept[-1].state.position[1:, 2], -chain, rtol=0, atol=1e-8)


def test_a_chain_beyond_its_cohesion_falls_as_one() -> None:
    """The topmost contact yields at once; what is below falls freely, after a step of tension."""
    scene = Scene((0.0, 0.0, -G))
    scene.law(mu=0.5, cohesion=1.5 * G)
    scene.add(Plane((0, 0, -1)))
    for z in (0.1, 0.3):
        scene.add(Sphere(0.1), (0.0, 0.0, -z), mass=1.0)
    history = run(scene, 0.3, 1e-3)
    fallen = history.kept[-1].state.position[1:, 2] + np.array([0.1, 0.3])
    np.testing.assert_allclose(fallen, -0.5 * G * 0.3**2, rtol=0.02)


@pytest.mark.parametrize("d", [2, 3])
def test_a_growing_pull_lifts_a_body_off_a_sticky_floor(d: int) -> None:
    """When it is the weight and the cohesion: k t = m g + C. Then it gains ∫ (k t − m g) dt/m."""
    cohesion, growth, dt, duration = 5.0, 100.0, 1e-4, 0.18
    scene = Scene((*(0.0,) * (d - 1), -G), d=d, overlap=1e-6)
    scene.law(mu=0.5, cohesion=cohesion)
    scene.add(HalfPlane() if d == 2 else Plane())
    place = (*(0.0,) * (d - 1), 0.1 - SINK)
    pull = ([0.0, 1.0], [(0.0,) * d, (*(0.0,) * (d - 1), growth)])
    scene.add(Disk(0.1) if d == 2 else Sphere(0.1), place, mass=1.0, force=pull)
    history = run(scene, duration, dt)
    lift = (G + cohesion) / growth
    v = history.velocity()[:, d - 1]
    assert history.time[int(np.argmax(v > 1e-9))] == pytest.approx(lift, abs=3 * dt)
    gained = growth * (duration**2 - lift**2) / 2 - G * (duration - lift)
    # It is held until it is a nanometre up: a few steps.
    assert v[-1] == pytest.approx(gained, abs=6 * dt * cohesion)


@pytest.mark.parametrize(("d", "k"), [(2, 0.5), (3, 0.4)])
def test_a_ball_slides_then_rolls_against_rolling_resistance(d: int, k: float) -> None:
    """Sliding: v̇ = −mu g, k R ω̇ = (mu − ℓ/R) g, until v = R ω; then (1 + k) v̇ = −g ℓ/R."""
    mu, length, R, v0, duration = 0.3, 0.01, 0.1, 2.0, 0.4
    scene = Scene((*(0.0,) * (d - 1), -G), d=d, overlap=1e-6)
    scene.law(mu=mu, rolling=length)
    scene.add(HalfPlane() if d == 2 else Plane())
    velocity = (v0, *(0.0,) * (d - 1))
    scene.add(
        Disk(R) if d == 2 else Sphere(R), (*(0.0,) * (d - 1), R - SINK), velocity=velocity, density=1000
    )
    history = run(scene, duration, 1e-3)
    slide, roll = mu * G, G * length / R / (1 + k)
    onset = v0 / (slide + (mu - length / R) * G / k)
    assert 0.1 < onset < duration
    slow = v0 - slide * onset
    assert history.velocity()[-1, 0] == pytest.approx(slow - roll * (duration - onset), abs=2e-3)
    left = duration - onset
    gone = v0 * onset - slide * onset**2 / 2 + slow * left - roll * left**2 / 2
    assert history.position()[-1, 0] == pytest.approx(gone, rel=1e-3)


def test_elliptic_friction_bends_the_path() -> None:
    along, across, duration = 0.2, 0.6, 0.3

    def rate(_: float, y: Array) -> Array:
        stretched = np.array([along, across]) * y[2:]
        return np.concatenate((y[2:], -G * np.array([along, across]) * stretched / np.linalg.norm(stretched)))

    exact = solve_ivp(rate, (0, duration), (0, 0, 1.5, 1.0), rtol=1e-9, atol=1e-10).y[:, -1]
    scene = Scene((0, 0, -G), overlap=1e-6)
    scene.law(mu=along, mu_across=across, direction=(1, 0, 0))
    scene.add(Plane())
    scene.add(Sphere(0.1), (0, 0, 0.1 - SINK), velocity=(1.5, 1.0, 0), mass=1.0, inertia=(1e9, 1e9, 1e9))
    history = run(scene, duration, 1e-3)
    found = np.concatenate((history.position()[-1, :2], history.velocity()[-1, :2]))
    assert exact[2] / exact[3] > 3.0  # it began at 1.5
    np.testing.assert_allclose(found, exact, atol=2e-3)


def moments(*args: object, **options: object) -> tuple[float, Array]:
    scene = Scene()
    scene.add(*args, **options)  # type: ignore[arg-type]
    model = compile_scene(scene)
    return float(model.mass[0]), np.sort(model.inertia[0])


def test_moments_of_a_dumbbell() -> None:
    """Two balls: 2 · (2/5) m r² along, and 2 m a² more across."""
    r, a, density = 0.1, 0.3, 1000.0
    mass, found = moments(Clump([(Sphere(r), (0, 0, -a)), (Sphere(r), (0, 0, a))]), density=density)
    m = density * 4 / 3 * np.pi * r**3
    own = 0.8 * m * r**2
    assert mass == pytest.approx(2 * m)
    np.testing.assert_allclose(found, (own, own + 2 * m * a**2, own + 2 * m * a**2), rtol=1e-12)


def test_moments_of_a_corner_of_a_cube() -> None:
    """The tetrahedron (0, e₁, e₂, e₃) of mass 1: 1/10 about the diagonal, 1/16 across."""
    mass, found = moments(Polyhedron([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]), density=6.0)
    assert mass == pytest.approx(1.0)
    np.testing.assert_allclose(found, (1 / 16, 1 / 16, 1 / 10), rtol=1e-12)


def test_moments_of_an_angle_iron_are_those_of_a_fine_grid_of_points() -> None:
    """Two boxes that touch, against the sum over 10⁵ points."""
    parts = [((0.1, 0.1, 0.5), (0.05, 0.05, 0.25)), ((0.3, 0.1, 0.1), (0.25, 0.05, 0.05))]
    mass, found = moments(Clump([(Box(size), place) for size, place in parts]), density=1000.0)
    h = 0.005
    points = []
    for size, place in parts:
        axes = [np.arange(-s / 2 + h / 2, s / 2, h) + p for s, p in zip(size, place, strict=True)]
        points.append(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3))
    x = np.concatenate(points)
    x = x - x.mean(axis=0)
    m = 1000.0 * h**3
    tensor = m * (np.eye(3) * (x**2).sum() - x.T @ x)
    tensor += len(x) * m * h**2 / 6 * np.eye(3)  # of the little cubes themselves
    assert mass == pytest.approx(len(x) * m)
    np.testing.assert_allclose(found, np.linalg.eigvalsh(tensor), rtol=1e-9)


def test_walls_bear_the_weight_of_what_falls_between_them() -> None:
    """Impulses of the walls add up to weight × time and the momentum gained, whatever happens inside."""
    rng = np.random.default_rng(4)
    scene = Scene()
    scene.law(mu=0.3, restitution=0.2)
    walls = [((0, 0, 1), 0.0), ((1, 0, 0), -0.2), ((-1, 0, 0), -0.2), ((0, 1, 0), -0.2), ((0, -1, 0), -0.2)]
    for normal, offset in walls:
        scene.add(Plane(normal, offset))
    for k in range(8):
        place = (0.1 * (-1) ** k, 0.1 * (-1) ** (k // 2), 0.12 + 0.2 * (k // 4))
        scene.add(Sphere(rng.uniform(0.06, 0.09)), place, velocity=rng.normal(size=3), density=2000)
    duration, dt = 0.4, 2e-3
    history = run(scene, duration, dt, solver=NSGS(tol=1e-8, max_iterations=5000), on_unsolved="record")
    total = np.zeros(3)
    for step in history.steps:
        impulses = step.state.impulses
        total += impulses.impulse[impulses.a < len(walls)].sum(axis=0)
    mass, first, last = history.model.mass[len(walls) :], history.kept[0].state, history.kept[-1].state
    gained = mass @ (last.velocity - first.velocity)[len(walls) :, :3]
    gained[2] += mass.sum() * G * duration
    np.testing.assert_allclose(total, gained, atol=1e-10 * mass.sum())
    assert last.position[len(walls) :, 2].min() > 0.05


def test_probes_are_what_frames_say(tmp_path: Path) -> None:
    """Position and velocity to the bit; the force of contacts is m (Δv/Δt − g), the torque ΔL/Δt."""
    dt = 1e-3
    scene = Scene()
    scene.law(mu=0.4, restitution=0.3)
    scene.add(Plane())
    scene.add(
        Box((0.1, 0.2, 0.3)),
        (0, 0, 0.25),
        velocity=(1, 0, -1),
        angular_velocity=(3, 5, 2),
        density=1000,
        name="box",
    )
    for quantity in ("position", "velocity", "angular_velocity", "force", "kinetic_energy"):
        scene.probe(quantity, "box", name=quantity)
    with simulate(scene, 0.1, dt, NSGS(tol=1e-10), out=tmp_path / "run.h5", every=1) as recording:
        position, velocity = recording.column("position")[:, 1], recording.column("velocity")[:, 1]
        read = {name: recording.probe(name) for name in recording.probes}
        mass, kinetic = recording.model.mass[1], recording.column("kinetic")
    np.testing.assert_array_equal(read["position"], position)
    np.testing.assert_array_equal(read["velocity"], velocity[:, :3])
    np.testing.assert_allclose(read["kinetic_energy"], kinetic, rtol=1e-12)
    expected = mass * (np.diff(velocity[:, :3], axis=0) / dt - (0, 0, -G))
    assert np.abs(expected).max() > 100.0  # it hits the floor
    np.testing.assert_allclose(read["force"][1:], expected, atol=1e-9)
    assert np.linalg.norm(read["angular_velocity"], axis=1) == pytest.approx(
        np.linalg.norm(velocity[:, 3:], axis=1)
    )
