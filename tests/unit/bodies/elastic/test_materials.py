"""Plasticity and large strain against closed forms; return mapping is Moreau's catching-up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

from clapas.bodies.elastic.contact import RigidContact
from clapas.bodies.elastic.generators import block, ring
from clapas.bodies.elastic.logarithmic import FiniteVonMises, divided_differences
from clapas.bodies.elastic.materials import Elastic, Material, NeoHookean, VonMises, von_mises
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


def tension(material: Material, *ends: float, increments: int = 8) -> list[float]:
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
    with pytest.raises(SceneError, match="elastic material: young must be a number, got 'a'"):
        Elastic(young="a")  # type: ignore[arg-type]
    with pytest.raises(SceneError, match="elastic material: density must be finite, got inf"):
        Elastic(young=1.0, density=np.inf)
    with pytest.raises(SceneError, match="von Mises material: isotropic must be finite, got nan"):
        VonMises(young=1.0, yield_stress=np.inf, isotropic=np.nan)
    with pytest.raises(SceneError, match="hardening ≥ 0"):
        FiniteVonMises(young=1.0, yield_stress=1.0, isotropic=-1.0)


# ------------------------------------------------------------------ plane stress


MATERIALS: list[Material] = [
    Elastic(young=E, poisson=NU),
    VonMises(young=E, poisson=NU, yield_stress=S0, isotropic=8.0, kinematic=4.0),
    VonMises(young=E, poisson=NU, yield_stress=S0),
    NeoHookean(young=E, poisson=NU),
    FiniteVonMises(young=E, poisson=NU, yield_stress=S0, isotropic=8.0, kinematic=4.0),
]


@pytest.mark.parametrize("material", MATERIALS, ids=lambda m: type(m).__name__)
def test_plane_stress_is_a_thin_plate_with_free_faces(material: Material) -> None:
    """The same path of strain for a plane cell and for a cube whose faces along z are free to move."""
    mesh, cube = block((1.0, 1.0), (1, 1)), block((1.0, 1.0, 1.0), (1, 1, 1))
    plane = Solid(mesh=mesh, material=material, kinematics="plane stress")
    thick = Solid(mesh=cube, material=material, bbar=False)
    across = np.flatnonzero(cube.nodes[:, 2] > 0.5)
    flat_history, history = plane.start(), thick.start()
    u = np.zeros((8, 3))
    large = material.measure == "gradient"
    path = [(0.02, -0.004, 0.006), (0.03, 0.01, 0.02), (-0.01, 0.0, 0.0)]
    if large:
        path.append((0.4, 0.1, 0.3))
    for a, b, c in path:
        gradient = np.array([[a, c], [0.0, b]])
        inner = (mesh.nodes @ gradient.T).ravel()
        response = plane.respond(inner, flat_history)
        u[:, :2] = cube.nodes[:, :2] @ gradient.T
        for _ in range(40):  # Newton's method on the common displacement of the upper face
            full = thick.respond(u.ravel(), history)
            dofs = across * 3 + 2
            out, stiff = full.force[dofs].sum(), full.tangent[dofs][:, dofs].sum()
            u[across, 2] -= out / stiff
            if abs(out) < 1e-13 * stiff:
                break
        upper = full.force.reshape(-1, 3)
        lower = response.force.reshape(-1, 2)
        for k, node in enumerate(mesh.nodes):
            same = np.flatnonzero((cube.nodes[:, :2] == node).all(axis=1))
            np.testing.assert_allclose(upper[same, :2].sum(axis=0), lower[k], atol=1e-9 * E)
        np.testing.assert_allclose(
            plane.stresses(inner, flat_history)[0][0, 0, :2],
            thick.stresses(u.ravel(), history)[0][0, 0, :2],
            atol=1e-9 * E,
        )
        flat_history, history = response.history, full.history
        assert plane.stored_energy(inner, flat_history) == pytest.approx(
            thick.stored_energy(u.ravel(), history), rel=1e-8
        )


def test_a_plate_in_plane_stress_yields_in_tension_and_in_shear() -> None:
    material = VonMises(young=E, poisson=NU, yield_stress=S0, isotropic=10.0)
    history = material.history(1, 4)
    strain = np.array([[0.02, 0.0, 0.0, 0.0]])
    for _ in range(30):  # no stress across either
        stress, tangent, new = material.respond(strain, history, True)
        strain[:, 1] -= stress[:, 1] / tangent[:, 1, 1]
    slope = E * 10.0 / (E + 10.0)
    np.testing.assert_allclose(stress, [[S0 + slope * (0.02 - S0 / E), 0, 0, 0]], atol=1e-12)
    assert new["accumulated"][0] == pytest.approx((0.02 - S0 / E) * E / (E + 10.0))
    perfect = VonMises(young=E, poisson=NU, yield_stress=S0)
    sheared = perfect.respond(np.array([[0, 0, 0, 0.05]]), perfect.history(1, 4), True)[0]
    np.testing.assert_allclose(sheared, [[0, 0, 0, S0 / np.sqrt(3)]], atol=1e-12)


# ------------------------------------------------------------------ logarithmic strains


def test_large_tension_follows_the_hardening_law_in_logarithmic_strain() -> None:
    metal = FiniteVonMises(young=E, poisson=NU, yield_stress=S0, isotropic=5.0)
    (force,) = tension(metal, 0.8, increments=20)
    kirchhoff = S0 + E * 5.0 / (E + 5.0) * (np.log(1.8) - S0 / E)
    assert force == pytest.approx(kirchhoff / 1.8, rel=1e-9)
    # what the elastic part changes of the volume is all there is
    (same,) = tension(VonMises(young=E, poisson=NU, yield_stress=S0, isotropic=5.0), 1e-2)
    (small,) = tension(metal, 1e-2)
    assert small == pytest.approx(same, rel=0.02)


def test_logarithmic_plasticity_does_not_see_rotations_and_keeps_volume() -> None:
    metal = FiniteVonMises(young=E, poisson=NU, yield_stress=S0, isotropic=5.0, kinematic=3.0)
    rng = np.random.default_rng(4)
    F = np.eye(3) + 0.3 * rng.normal(size=(6, 3, 3))
    F[np.linalg.det(F) < 0.2] = np.eye(3)
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    Q *= np.sign(np.linalg.det(Q))
    P, _, new = metal.respond((F - np.eye(3)).reshape(-1, 9), metal.history(6, 9), False)
    turned, _, _ = metal.respond((Q @ F - np.eye(3)).reshape(-1, 9), metal.history(6, 9), False)
    np.testing.assert_allclose(turned.reshape(-1, 3, 3), Q @ P.reshape(-1, 3, 3), atol=1e-9 * E)
    np.testing.assert_allclose(new["plastic_strain"][:, :3].sum(axis=1), 0.0, atol=1e-14)
    inside_out = np.diag([-2.0, 0.0, 0.0]).reshape(1, 9)
    assert np.isnan(metal.respond(inside_out, metal.history(1, 9), False)[0]).all()


@pytest.mark.parametrize("spread", [0.0, 1e-9, 1e-5, 9.9e-5, 1.1e-4, 1e-2, 5.0])
def test_divided_differences_of_the_logarithm_are_smooth_where_eigenvalues_meet(spread: float) -> None:
    mpmath = pytest.importorskip("mpmath")
    log, mp, mpf = mpmath.log, mpmath.mp, mpmath.mpf
    values = np.array([[1.3, 1.3 * (1 + spread), 1.3 * (1 + 2 * spread)]])
    first, second = divided_differences(values)
    mp.dps = 60
    a, b, c = (mpf(float(v)) + mpf(10) ** -25 * k for k, v in enumerate(values[0]))

    def slope(x: Any, y: Any) -> Any:
        return (log(x) - log(y)) / (x - y) / 2

    assert first[0, 0, 1] == pytest.approx(float(slope(a, b)), rel=1e-12)
    exact = float((slope(a, b) - slope(b, c)) / (a - c))
    assert second[0, 0, 1, 2] == pytest.approx(exact, rel=1e-10)
