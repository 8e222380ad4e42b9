"""Plasticity and large strain against closed forms; return mapping is Moreau's catching-up."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from clapas.bodies.elastic.contact import RigidContact
from clapas.bodies.elastic.generators import block, ring
from clapas.bodies.elastic.materials import Elastic, NeoHookean, VonMises, von_mises
from clapas.bodies.elastic.obstacles import Obstacle
from clapas.bodies.elastic.solid import Solid
from clapas.bodies.elastic.supports import Support, symmetry
from clapas.dynamics.sweeping import catching_up
from clapas.errors import SceneError
from clapas.geometry.shapes import HalfPlane
from clapas.statics.elastic.loading import follow
from clapas.statics.elastic.newton import OneLoopNewton
from clapas.statics.elastic.problem import ElasticContact

E, NU, S0 = 200.0, 0.3, 1.0


def tension(material: VonMises | NeoHookean, *ends: float, increments: int = 8) -> list[float]:
    """Mean axial stress (force on the undeformed section) of a cube stretched to each end in turn."""
    mesh = block((1.0, 1.0, 1.0), (1, 1, 1))
    solid = Solid(mesh=mesh, material=material)
    sides = [symmetry(mesh, side) for side in ("left", "front", "bottom")]
    state, found = None, []
    for end in ends:
        stage = ElasticContact(solid=solid, supports=[*sides, Support("right", "x", end)])
        state = follow(stage, state, increments=increments).last
        force = solid.respond(state.u, state.history).force
        found.append(float(force.reshape(-1, 3)[mesh.group("right"), 0].sum()))
    return found


@pytest.mark.parametrize(("isotropic", "kinematic"), [(0.0, 0.0), (20.0, 0.0), (0.0, 20.0), (15.0, 5.0)])
def test_simple_tension_and_back(isotropic: float, kinematic: float) -> None:
    material = VonMises(young=E, poisson=NU, yield_stress=S0, isotropic=isotropic, kinematic=kinematic)
    h = isotropic + kinematic
    top, back = tension(material, 0.02, 0.0)
    slope = E * h / (E + h)
    plastic = (0.02 - S0 / E) * E / (E + h)  # plastic strain at the top
    assert top == pytest.approx(S0 + slope * (0.02 - S0 / E), rel=1e-9)
    # unloading is elastic for 2 S₀ + 2 H p, then yields the other way
    elastic_part = 2.0 * (S0 + isotropic * plastic)
    left = 0.02 - elastic_part / E
    assert back == pytest.approx(top - elastic_part - slope * left, rel=1e-6)


class Admissible:
    """Stresses within von Mises's surface, moved by −D ε: the set that sweeps q = σ − D ε."""

    def __init__(self, elastic_stress: np.ndarray) -> None:
        self.elastic_stress = elastic_stress

    def project(self, x: np.ndarray) -> np.ndarray:
        stress = x + self.elastic_stress
        pressure = stress[:, :3].mean(axis=1)[:, None] * np.array([1, 1, 1, 0, 0, 0])
        share = np.minimum(1.0, S0 / von_mises(stress))
        return pressure + share[:, None] * (stress - pressure) - self.elastic_stress


def test_return_mapping_is_the_catching_up_algorithm() -> None:
    """Perfect plasticity is the sweeping process of q = σ − D ε = −D ε_p by C − D ε(t) (Moreau 1976)."""
    material = VonMises(young=E, poisson=NU, yield_stress=S0)
    D = material.elastic.moduli(6)
    rng = np.random.default_rng(4)
    strains = np.cumsum(0.004 * rng.normal(size=(12, 6)), axis=0)
    swept = catching_up(lambda t: Admissible(strains[int(t)] @ D), np.zeros(6), np.arange(12.0))
    history = material.history(1, 6)
    yields = 0
    for strain, q in zip(strains, swept, strict=True):
        trial = (strain - history["plastic_strain"][0]) @ D
        stress, _, history = material.respond(strain[None], history, False)
        np.testing.assert_allclose(stress[0], q + strain @ D, atol=1e-12)
        # and it is the projection in the norm of the elastic energy: (σ_trial − σ)·D⁻¹(τ − σ) ≤ 0 for τ in C
        others = rng.normal(size=(200, 6))
        others *= (S0 * rng.uniform(0, 1, 200) / von_mises(others))[:, None]
        angles = (others - stress) @ np.linalg.solve(D, trial - stress[0])
        assert angles.max() <= 1e-12
        yields += int(von_mises(trial[None])[0] > S0)
    assert 3 <= yields


def test_a_thick_tube_yields_at_the_limit_load() -> None:
    """Perfectly plastic in plane strain: the pressure tends to (2/√3) S₀ ln(b/a)."""
    a, b = 1.0, 2.0
    mesh = ring(a, b, (8, 6))
    solid = Solid(mesh=mesh, material=VonMises(young=E, poisson=0.3, yield_stress=S0))
    held = [Support("start", "y"), Support("end", "x")]
    limit = 2.0 / np.sqrt(3.0) * S0 * np.log(b / a)
    below = ElasticContact(solid=solid, supports=held, load=solid.pressure("inner", 0.97 * limit))
    found = follow(below, increments=6)
    assert found.last.history[0]["accumulated"].min() >= 0.0
    assert (found.last.history[0]["accumulated"] > 0).mean() > 0.5
    above = ElasticContact(solid=solid, supports=held, load=solid.pressure("inner", 1.05 * limit))
    with pytest.raises(RuntimeError, match="no equilibrium found beyond"):
        follow(above, increments=6, smallest=0.02)


def test_newton_with_the_consistent_tangent_is_quadratic() -> None:
    mesh = ring(1.0, 2.0, (4, 4))
    solid = Solid(mesh=mesh, material=VonMises(young=E, poisson=0.3, yield_stress=S0, isotropic=5.0))
    stage = ElasticContact(
        solid=solid,
        supports=[Support("start", "y"), Support("end", "x")],
        load=solid.pressure("inner", 0.75),
    )
    residuals = [
        OneLoopNewton(tol=1e-30, max_iterations=k).solve(stage, check=False).residual for k in range(1, 9)
    ]
    falling = [x for x in residuals if x > 1e-13]
    last, before = falling[-1], falling[-2]
    assert last < 50.0 * before**2 or last < 1e-10


@pytest.mark.parametrize("stretch", [0.6, 1.5, 3.0])
def test_neo_hookean_tension(stretch: float) -> None:
    material = NeoHookean(young=3.0, poisson=0.3)
    G, lame = material.elastic.shear, material.elastic.bulk - 2 / 3 * material.elastic.shear
    (found,) = tension(material, stretch - 1.0, increments=10)
    # lateral stretch t: G (t − 1/t) + λ ln(J)/t = 0, J = stretch t²
    t = brentq(lambda t: G * (t - 1 / t) + lame * np.log(stretch * t**2) / t, 0.2, 3.0, xtol=1e-14)
    exact = G * (stretch - 1 / stretch) + lame * np.log(stretch * t**2) / stretch
    assert found == pytest.approx(exact, rel=1e-9)


def test_a_rubber_block_is_squeezed_between_plates_that_stick() -> None:
    mesh = block((1.0, 1.0), (6, 6))
    solid = Solid(mesh=mesh, material=NeoHookean(young=1.0, poisson=0.4))
    plate = Obstacle(HalfPlane((0.0, -1.0), -1.0))
    stage = ElasticContact(
        solid=solid,
        supports=[Support("left", "x")],
        contacts=[
            RigidContact(surface="bottom", obstacle=Obstacle(HalfPlane()), mu=0.4),
            RigidContact(surface="top", obstacle=plate, mu=0.4, motion=(0.0, -0.35)),
        ],
    )
    history = follow(stage, increments=10)
    last = history.last
    half = len(last.r) // 2
    np.testing.assert_allclose(last.r[:half, 0].sum(), last.r[half:, 0].sum(), rtol=1e-9)
    bulge = last.u.reshape(-1, 2)[mesh.group("right"), 0]
    assert bulge.max() > 1.15 * bulge.min()  # friction holds the ends: the side bulges
    assert bulge.min() > 0
    # plane strain, nearly incompressible: the area is kept within what ν = 0.4 allows
    position = mesh.nodes + last.u.reshape(-1, 2)
    x, y = position[mesh.cells["Q4"]].transpose(2, 0, 1)
    area = 0.5 * (x * np.roll(y, -1, axis=1) - y * np.roll(x, -1, axis=1)).sum()
    assert 0.7 < area < 1.0


def test_materials_refuse_what_they_cannot_do() -> None:
    with pytest.raises(SceneError, match="Incompressible material: poisson"):
        Elastic(young=1.0, poisson=0.5)
    with pytest.raises(SceneError, match="yield_stress > 0"):
        VonMises(young=1.0, yield_stress=0.0)
    flat = Solid(
        mesh=block((1, 1), (1, 1)), material=VonMises(young=1.0, yield_stress=1.0), kinematics="plane stress"
    )
    with pytest.raises(SceneError, match="plane stress is not supported"):
        _ = flat.stiffness
