"""Elastic bodies in scenes: waves in bars, a block that falls, a box that pushes."""

from __future__ import annotations

import numpy as np
import pytest

import clapas
from clapas.bodies.elastic.generators import bar, block
from clapas.bodies.elastic.kind import ElasticBodies
from clapas.bodies.elastic.materials import Elastic, VonMises
from clapas.bodies.elastic.solid import Solid
from clapas.bodies.elastic.supports import Support
from clapas.bodies.kind import Span
from clapas.errors import SceneError
from tests.closed_form.runs import History, run

UNIT = Elastic(young=1.0, density=1.0)  # waves of 1 m/s


def bar_of(
    length: float, cells: int, at: float, speed: float, surface: str, skin: float | None = None
) -> ElasticBodies:
    mesh = bar(length, cells, height=0.05)
    solid = Solid(
        mesh=mesh.mapped(mesh.nodes + np.array([at, 0.0])), material=UNIT, kinematics="plane stress"
    )
    return ElasticBodies(solid=solid, velocity=(speed, 0.0), surface=surface, skin=skin)


def mean_velocity(body: ElasticBodies, history: History, part: int = 0) -> np.ndarray:
    m = body.mass.diagonal()[::2]
    return np.array([(m * kept.state.parts[part].v[::2]).sum() / m.sum() for kept in history.kept])


@pytest.mark.parametrize("cells", [10, 20])
def test_a_bar_leaves_the_wall_after_two_lengths_of_its_wave(cells: int) -> None:
    body = bar_of(1.0, cells, 0.0, -0.01, "left")
    scene = clapas.Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.0)
    scene.add(clapas.HalfPlane((1, 0), 0.0))
    scene.add_system(body, name="bar")
    dt = 1.0 / cells
    history = run(scene, 2.6, dt)
    pushed = [s.state.time for s in history.steps if len(s.contacts) and np.abs(s.solution.r).max() > 1e-9]
    assert pushed[0] <= dt * 1.001
    assert pushed[-1] == pytest.approx(2.0, abs=1.6 * dt)  # 2 L / c
    energy = history.energy / history.energy[0]
    # The wall stops the first layer of nodes for good: half a cell of the bar's energy, and nothing else is
    # lost or made.
    assert (np.diff(energy) < 1e-12).all()
    assert 1.0 - 1.5 / cells < energy[-1] < 1.0
    force = [np.abs(s.solution.r[:, 0]).sum() / dt for s in history.steps]
    assert np.mean(force[2 : int(1.8 * cells)]) == pytest.approx(0.01 * 0.05, rel=0.05)  # ρ c v A
    assert mean_velocity(body, history)[-1] == pytest.approx(0.01, rel=1.5 / cells)


def test_the_longer_of_two_bars_goes_on_at_half_its_speed() -> None:
    """Bar 1 of length 1 at v₀ strikes bar 2 of length 2 at rest: they part after 4 l₁/c, bar 1 at rest."""
    cells = 12
    one = bar_of(1.0, cells, 0.0, 0.01, "right", skin=0.01)
    two = bar_of(2.0, 2 * cells, 1.0, 0.0, "left", skin=0.01)
    scene = clapas.Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.0)
    scene.add_system(one, name="one")
    scene.add_system(two, name="two")
    history = run(scene, 4.5, 1.0 / cells)
    first, second = mean_velocity(one, history), mean_velocity(two, history, 1)
    np.testing.assert_allclose(
        one.mass.diagonal().sum() * first + two.mass.diagonal().sum() * second,
        one.mass.diagonal().sum() * 0.01,
        rtol=1e-9,
    )
    assert first[-1] == pytest.approx(0.0, abs=0.0008)
    assert second[-1] == pytest.approx(0.005, abs=0.0004)  # the restitution l₁/l₂ = ½ comes from waves


def test_a_block_falls_and_rests_under_its_weight() -> None:
    rubber = Elastic(young=1e5, poisson=0.3, density=1000.0)
    mesh = block((0.5, 0.3), (5, 3), origin=(0.0, 0.01))
    body = ElasticBodies(solid=Solid(mesh=mesh, material=rubber), damping=(20.0, 1e-3))
    scene = clapas.Scene(d=2)
    scene.law(mu=0.5)
    scene.add(clapas.HalfPlane())
    scene.add_system(body, name="block")
    history = run(scene, 0.8, 4e-3)
    last = history.steps[-1]
    weight = 0.5 * 0.3 * 1000.0 * 9.81
    assert last.solution.r[:, 0].sum() / 4e-3 == pytest.approx(weight, rel=2e-3)
    part = history.kept[-1].state.parts[0]
    assert np.abs(part.v).max() < 1e-3
    u = body.displacements(part)
    foot = mesh.nodes[mesh.group("bottom"), 1] + u[mesh.group("bottom"), 1]
    assert np.abs(foot).max() < 1e-3  # what it moved in the step of its first touch
    assert np.ptp(foot) < 1e-6
    # the mean shortening is that of a column under its own weight, plane strain: ½ ρ g h² (1 − ν²) / E
    top = (u[mesh.group("top"), 1] + 0.01 - foot.mean()).mean()
    assert top == pytest.approx(-0.5 * 1000 * 9.81 * 0.3**2 * (1 - 0.09) / 1e5, rel=0.1)


def test_a_rigid_box_pushes_a_block_along_the_floor() -> None:
    soft = Elastic(young=1e6, poisson=0.3, density=1000.0)
    mesh = block((0.4, 0.2), (4, 2), origin=(0.0, 0.0))
    body = ElasticBodies(solid=Solid(mesh=mesh, material=soft), damping=(5.0, 5e-4))
    scene = clapas.Scene(d=2)
    scene.law(mu=0.2)
    scene.add(clapas.HalfPlane())
    scene.add_system(body, name="block")
    box = scene.add(
        clapas.Polygon.rectangle(0.2, 0.5), position=(-0.1005, 0.2501), velocity=(0.5, 0.0), mass=200.0
    )
    history = run(scene, 0.25, 2e-3)
    moved = body.displacements(history.kept[-1].state.parts[0])[:, 0]
    assert moved.min() > 0.02  # the whole block went along
    speed = history.velocity(box)[-1, 0]
    assert 0.0 < speed < 0.5
    # momentum: what box and block lost together is friction's, at most mu (weights) t
    m = body.mass.diagonal()[::2]
    now = 200.0 * speed + float(m @ history.kept[-1].state.parts[0].v[::2])
    lost = 200.0 * 0.5 - now
    assert 0.0 < lost <= 0.2 * 9.81 * (200.0 + m.sum()) * 0.25 * 1.02


@pytest.mark.parametrize("theta", [0.5, 0.7, 1.0])
def test_the_theta_scheme_is_that_of_the_oscillator(theta: float) -> None:
    """One step of a free vibration against the scheme written out for a mode."""
    solid = Solid(mesh=bar(1.0, 4), material=UNIT, kinematics="plane stress")
    body = ElasticBodies(solid=solid, supports=[Support("left", "xy")], lumped=False)
    K, M = body.stiffness.toarray(), body.mass.toarray()
    from scipy.linalg import eigh

    values, modes = eigh(K, M)
    mode, omega2 = modes[:, 0], values[0]
    h, q, v = 0.3, 0.02, -0.01
    from clapas.bodies.kind import Part

    half = body.drift(Part(q * mode, v * mode), (1.0 - theta) * h)
    _, new = body.free(half, Span(0.0, h, theta, np.zeros(2)))
    # v⁺ − v = −h ω² (θ q⁺ + (1 − θ) q),  q⁺ = q + h (θ v⁺ + (1 − θ) v)
    right = v - h * omega2 * (q + theta * (1 - theta) * h * v)
    np.testing.assert_allclose(new, right / (1 + theta**2 * h**2 * omega2) * mode, atol=1e-12)


def test_what_cannot_move_in_a_scene_is_refused() -> None:
    mesh = block((1, 1), (1, 1))
    with pytest.raises(SceneError, match="needs a density"):
        ElasticBodies(solid=Solid(mesh=mesh, material=Elastic(young=1.0)))
    with pytest.raises(SceneError, match="only linear elastic"):
        ElasticBodies(solid=Solid(mesh=mesh, material=VonMises(young=1.0, yield_stress=1.0, density=1.0)))
    with pytest.raises(SceneError, match="axisymmetric"):
        ElasticBodies(solid=Solid(mesh=mesh, material=UNIT, kinematics="axisymmetric"))
    solid = Solid(mesh=mesh, material=UNIT)
    with pytest.raises(SceneError, match="supports must hold"):
        ElasticBodies(solid=solid, supports=[Support("left", "x", 1.0)])
    with pytest.raises(SceneError, match="velocity must be"):
        ElasticBodies(solid=solid, velocity=(1.0, 2.0, 3.0))
    with pytest.raises(SceneError, match="damping must not be negative"):
        ElasticBodies(solid=solid, damping=(-1.0, 0.0))
