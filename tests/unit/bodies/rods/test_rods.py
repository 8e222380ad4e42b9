"""Rods as a kind: Jacobians, masses, inertial forces, bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clapas.bodies.rods.arrays as rods_module
from clapas.bodies.kind import Part, Span, Touches
from clapas.bodies.rods import Rod, Rods, Support
from clapas.bodies.rods.equilibrium import equilibrium
from clapas.dynamics.births import initial_state
from clapas.dynamics.motions import ConstantVelocity, Oscillation
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.schemes import MoreauJean
from clapas.dynamics.stepping import step
from clapas.errors import ProblemError, SceneError
from clapas.geometry import rotations
from clapas.geometry.shapes import Box, Sphere
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from clapas.scenes.simulation import Simulation
from clapas.typing import Array

STILL = np.zeros(3)


def some_rods(root: str = "clamped", **others: Any) -> Rods:
    """Two crooked rods of unequal sections and sizes, moving."""
    rng = np.random.default_rng(4)
    return Rods(
        [
            Rod(
                length=1.0 + k,
                radius=(0.01, 0.02),
                density=1000,
                young=1e6,
                elements=3 + k,
                strain=3 * rng.normal(size=(3 + k, 3)),
                position=(k, 0, 0.5),
                tangent=(1, 1, 0.3),
                root=root,
                **others,
            )
            for k in range(2)
        ]
    )


def moving(rods: Rods) -> Part:
    return Part(rods.start().q, np.random.default_rng(5).normal(size=rods.n_dof))


def blocks(rods: Rods, mass: Array) -> list[Array]:
    t = rods.table
    sizes = np.diff(t.dof)
    return [mass[t.entry[k] : t.entry[k + 1]].reshape(m, m) for k, m in enumerate(sizes)]


@pytest.mark.parametrize("root", ["clamped", "free"])
def test_points_on_the_surface_move_as_the_jacobian_says(root: str) -> None:
    rods = some_rods(root)
    part, h = moving(rods), 1e-6
    ahead, behind = rods.advance(part, part.v, h), rods.advance(part, part.v, -h)

    def surface(at: Part) -> Array:
        poses = rods.poses(at)
        return poses.position + rotations.rotate(poses.orientation, np.array([0.015, 0.01, 0.0]))

    touches = Touches(np.arange(rods.n_carriers), surface(part))
    moved = (surface(ahead) - surface(behind)) / (2 * h)
    assert np.allclose(rods.velocities(part, touches), moved, atol=1e-8)
    assert np.allclose((rods.jacobian(part, touches) @ part.v).reshape(-1, 3), moved, atol=1e-8)
    poses = (rods.poses(ahead).position - rods.poses(behind).position) / (2 * h)
    assert np.allclose(rods.twists(part)[:, :3], poses, atol=1e-8)


def test_turns_of_sections_are_those_of_their_frames() -> None:
    rods = some_rods("free")
    part, h = moving(rods), 1e-6
    turn = [
        rotations.to_matrix(rods.poses(rods.advance(part, part.v, s * h)).orientation) for s in (-1, 0, 1)
    ]
    rate = np.einsum("kji,kjl->kil", turn[1], (turn[2] - turn[0]) / (2 * h))
    spin = np.stack((rate[:, 2, 1], rate[:, 0, 2], rate[:, 1, 0]), axis=1)
    assert np.allclose(rods.twists(part)[:, 3:], spin, atol=1e-8)


@pytest.mark.parametrize("root", ["clamped", "free"])
def test_the_mass_matrix_is_that_of_the_kinetic_energy(root: str) -> None:
    rods = some_rods(root)
    part = moving(rods)
    found = rods.inertia(part, STILL)
    for k, M in enumerate(blocks(rods, found.mass)):
        v = part.v[rods.table.dof[k] : rods.table.dof[k + 1]]
        assert np.allclose(M, M.T, atol=1e-15)
        assert np.linalg.eigvalsh(M)[0] > 0.0
        assert 0.5 * v @ M @ v == pytest.approx(found.kinetic[k], rel=1e-12)
        assert np.allclose(M @ v, found.momentum[rods.table.dof[k] : rods.table.dof[k + 1]], rtol=1e-11)


def test_the_mass_matrix_is_the_integral_of_jacobians() -> None:
    """Without the recursion: M = ∫ ρS JᵀJ ds, from Jacobians of points of many thin segments."""
    rod = Rod(length=1.0, radius=1e-5, density=1e9, young=1.0, elements=3, strain=(2, 3, -4), segments=400)
    rods = Rods([rod])
    part = rods.start()
    J = rods.jacobian(part, Touches(np.arange(1200), rods.poses(part).position)).toarray()
    M = blocks(rods, rods.inertia(part, STILL).mass)[0]
    assert np.allclose(rod.inertia[0] / 1200 * J.T @ J, M, rtol=1e-5, atol=1e-6 * np.abs(M).max())


@pytest.mark.parametrize(("turn", "error"), [(0.5, 1e-11), (1.0, 1e-8), (2.0, 2e-5)])
def test_the_quadrature_is_as_good_as_stated(
    turn: float, error: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mass() -> Array:
        strain = turn * 4 / np.sqrt(3) * np.ones((4, 3))
        rods = Rods([Rod(length=1.0, radius=0.01, density=1e3, young=1e6, elements=4, strain=strain)])
        return rods.inertia(rods.start(), STILL).mass

    ours = mass()
    monkeypatch.setattr(rods_module, "NODES", 20)
    exact = mass()
    assert np.abs(ours - exact).max() <= error * np.abs(exact).max()


def test_inertial_forces_follow_from_lagrange() -> None:
    """N = d/dt ∂T/∂v − ∂T/∂q at constant v."""
    rods = some_rods()
    part, h = moving(rods), 1e-6
    rates = np.concatenate((part.v, np.zeros(len(part.q) - len(part.v))))

    def at(q: Array) -> Any:
        return rods.inertia(Part(q, part.v), STILL, with_mass=False)

    change = (at(part.q + h * rates).momentum - at(part.q - h * rates).momentum) / (2 * h)
    slope = np.empty(rods.n_dof)
    for k in range(rods.n_dof):
        step = np.zeros(len(part.q))
        step[k] = h
        slope[k] = (at(part.q + step).kinetic.sum() - at(part.q - step).kinetic.sum()) / (2 * h)
    assert np.allclose(at(part.q).force, change - slope, atol=1e-8)


def test_a_rod_on_a_moving_support_is_a_rod_in_its_frame() -> None:
    """A support that accelerates is gravity the other way; one that turns carries its rods with it."""
    given: dict[str, Any] = {
        "length": 0.3,
        "radius": 0.003,
        "density": 1e3,
        "young": 1e7,
        "natural": (1, 2, 3),
    }
    lift = Support(motion=lambda t: ((0, 0, 5.0 * t), (0, 0, 0)))
    lifted, weighed = Rods([Rod(support=lift, **given)]), Rods([Rod(**given)])
    a, b = lifted.start(), weighed.start()
    for k in range(50):
        a, b = lifted.drift(a, 1e-3), weighed.drift(b, 1e-3)
        _, va = lifted.free(a, Span(2e-3 * k + 1e-3, 2e-3, 0.5, STILL))
        _, vb = weighed.free(b, Span(2e-3 * k + 1e-3, 2e-3, 0.5, np.array([0, 0, -5.0])))
        a, b = lifted.advance(a, va, 1e-3), weighed.advance(b, vb, 1e-3)
    assert np.allclose(a.q[:18], b.q[:18], atol=1e-12)
    assert np.allclose(lifted.tips(a) - weighed.tips(b), [[0, 0, 5.0 * 0.1**2 / 2]], atol=1e-9)


@pytest.mark.parametrize("theta", [0.5, 1.0])
def test_a_support_keeps_to_the_wall_of_the_same_motion(theta: float) -> None:
    shake = Oscillation(0.03, 3.0, (1, 0, 0))
    scene = Scene()
    scene.law(mu=0.2)
    scene.add(Sphere(0.01), (0, 0, 1), motion=shake)
    scene.add_rods(Rod(length=0.1, radius=1e-3, density=1e3, young=1e9, support=Support(motion=shake)))
    model = compile_scene(scene)
    state, neighbours = initial_state(model), Neighbours(model)
    for _ in range(20):
        state = step(model, state, 1e-3, None, MoreauJean(theta=theta), neighbours).state
    kind = model.systems[0].bodies
    assert isinstance(kind, Rods)
    root = kind.motion(state.parts[0]).position[0]
    assert root[0] == pytest.approx(state.position[0, 0], abs=1e-14)
    assert state.parts[0].q[-1] == pytest.approx(state.time)


def test_a_turning_support_throws_its_rod_outward() -> None:
    """Steady spin: in the frame of the support the force on the strains is centrifugal."""
    wheel = Support(motion=lambda t: ((0, 0, 0), (0, 0, 2.0)))
    rods = Rods(
        [Rod(length=1.0, radius=0.01, density=1e3, young=1e6, elements=4, support=wheel, strain=(0, 0, 0.5))]
    )
    part, h = rods.start(), 1e-6

    def energy(q: Array) -> float:  # −½ ∫ ρS Ω² ρ² ds, ρ the distance from the axis, is ∓ the kinetic energy
        return -float(rods.inertia(Part(q, part.v), STILL, with_mass=False).kinetic.sum())

    force = rods.inertia(part, STILL, 1e-3).force
    for k in range(12):
        step = np.zeros(len(part.q))
        step[k] = h
        assert force[k] == pytest.approx((energy(part.q + step) - energy(part.q - step)) / (2 * h), abs=1e-8)


def test_centrelines_pass_through_roots_and_tips() -> None:
    rods = some_rods()
    points, start, radius = rods.centrelines(rods.start(), per_element=5)
    assert start.tolist() == [0, 16, 37]
    assert np.allclose(points[start[:-1]], [[0, 0, 0.5], [1, 0, 0.5]])
    assert np.allclose(points[start[1:] - 1], rods.tips(rods.start()))
    assert np.allclose(radius, 0.02)
    steps = np.linalg.norm(np.diff(points[:16], axis=0), axis=1)
    assert steps.sum() == pytest.approx(1.0, rel=1e-2)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"length": -1.0}, "length must be positive"),
        ({"radius": 0.0}, "radius must be positive"),
        ({"radius": (1.0, 2.0, 3.0)}, "semi-axes"),
        ({"poisson": 0.7}, "poisson must be in"),
        ({"elements": 0}, "elements must be a whole number"),
        ({"natural": np.zeros((5, 3))}, "a row of them for each of the 6 elements"),
        ({"strain": (0, 0, np.nan)}, "strain must be"),
        ({"root": "hinged"}, "'clamped', 'free' or 'held'"),
        ({"normal": (2, 0, 0)}, "must not be along the tangent"),
        ({"tip_force": (1, 2)}, "tip_force"),
        ({"bare": 1.5}, "at most 1 m, got 1.5 m"),
        ({"velocity": (1, 0, 0)}, "velocity is that of a free root, and this one is clamped"),
        ({"angular_velocity": (0, 0, 1)}, "angular_velocity is that of a free root"),
        ({"root": "free", "support": Support(position=(1, 0, 0))}, "a free root has no support"),
    ],
)
def test_wrong_rods_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(SceneError, match=message):
        Rod(**({"length": 1.0, "radius": 0.01, "density": 1e3, "young": 1e9} | wrong))


def test_wrong_supports_and_no_rods_are_refused() -> None:
    with pytest.raises(SceneError, match="must return"):
        Support(motion=lambda t: 3.0)
    with pytest.raises(SceneError, match="one Rod or more"):
        Rods([])
    rod = Rod(length=1.0, radius=0.01, density=1e3, young=1e9)
    with pytest.raises(SceneError, match=r"got one Rod: put it in brackets, Rods\(\[rod\]\)"):
        Rods(rod)  # type: ignore[arg-type]
    with pytest.raises(SceneError, match="gravity must be 3 numbers, got 2"):
        equilibrium(Rods([rod]), (0, 0))


def twisted_between_two_blocks(held_by: str) -> Scene:
    """A straight rod, its ends fixed to a wall and to a block that turns it past its buckling load."""
    scene = Scene()
    scene.law(mu=0.3)
    rod = Rod(length=0.3, radius=2e-3, density=1100, young=1e7, tangent=(1, 0, 0), elements=4, root="free")
    scene.add_rods(rod, name="rod")
    wall = scene.add(Box((0.02, 0.02, 0.02)), (-0.01, 0, 0), fixed=True)
    turning = ConstantVelocity((0, 0, 0), (40.0, 0, 0))
    block = scene.add(Box((0.02, 0.02, 0.02)), (0.31, 0, 0), motion=turning)
    scene.join("fixed", "rod", wall, at=(0, 0, 0))
    scene.join(held_by, "rod", block, at=(0.3, 0, 0), axis=None if held_by == "fixed" else (1, 0, 0))
    return scene


def test_a_rod_held_at_both_ends_says_what_to_free() -> None:
    """It cannot come shorter, as it does where it bends: the advice is one that works."""
    with pytest.raises(ProblemError, match="by a slider along its axis"):
        Simulation(twisted_between_two_blocks("fixed"), dt=2e-3).step(5)
    Simulation(twisted_between_two_blocks("slider"), dt=2e-3).step(5)
