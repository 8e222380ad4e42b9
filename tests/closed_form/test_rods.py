"""Rods without contact: shapes, frequencies and conserved quantities known on paper."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import special
from scipy.integrate import solve_ivp
from scipy.linalg import eigh, null_space
from scipy.optimize import brentq

from clapas.bodies.kind import Part, Span
from clapas.bodies.rods import Rod, Rods, equilibrium
from clapas.errors import SceneError
from clapas.typing import Array

STILL = np.zeros(3)
DOWN = np.array([0.0, 0.0, -9.81])
STEEL: dict[str, Any] = {"length": 1.0, "radius": 0.01, "density": 1000.0, "young": 1e9}
EI = Rod(**STEEL).stiffness[1]


def stepped(rods: Rods, h: float, count: int, gravity: Array, part: Part | None = None) -> tuple[Part, Array]:
    """The part after some free steps of the midpoint scheme, and the energy after each."""
    part, energy = part or rods.start(), np.empty(count)
    for k in range(count):
        middle = rods.drift(part, 0.5 * h)
        part = rods.advance(middle, rods.free(middle, Span((k + 0.5) * h, h, 0.5, gravity))[1], 0.5 * h)
        energy[k] = sum(rods.energy(part, gravity))
    return part, energy


def elastica(load: float) -> tuple[float, float]:
    """Tip of a cantilever of length 1 under a force load·EI across it: θ'' = −load cos θ."""

    def slope(_: float, y: Array) -> list[float]:
        return [y[1], -load * math.cos(y[0]), math.cos(y[0]), math.sin(y[0])]

    def end(bend: float) -> Array:
        return np.asarray(solve_ivp(slope, (0, 1), [0, bend, 0, 0], rtol=1e-10, atol=1e-11).y[:, -1])

    tip = end(brentq(lambda bend: end(bend)[1], 0.0, load + 1.0))
    return float(tip[2]), -float(tip[3])


@pytest.mark.parametrize("load", [1.0, 10.0])
def test_a_cantilever_is_an_elastica_to_second_order_in_the_elements(load: float) -> None:
    x, z = elastica(load)
    errors = []
    for elements in (6, 12, 24):
        rods = Rods([Rod(**STEEL, elements=elements, tip_force=(0, 0, -load * EI))])
        tip = rods.tips(equilibrium(rods))[0]
        errors.append(math.hypot(tip[0] - x, tip[2] - z))
    assert errors[-1] < 5e-4
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.1)


@pytest.mark.parametrize("share", [0.99, 1.05, 1.5])
def test_a_strut_bends_from_eulers_load_on(share: float) -> None:
    """P L²/EI = K(k)², tip at 2E/K − 1 along the strut and 2k/K across it, in units of L (Euler 1744)."""
    load = share * math.pi**2 / 4.0
    rods = Rods([Rod(**STEEL, elements=30, tip_force=(-load * EI, 0, 0))])
    tip = rods.tips(equilibrium(rods))[0]
    if share < 1.0:
        assert tip == pytest.approx([1.0, 0.0, 0.0], abs=1e-9)
        return
    k = brentq(lambda k: special.ellipk(k * k) ** 2 - load, 1e-6, 1.0 - 1e-9)
    K, E = special.ellipk(k * k), special.ellipe(k * k)
    assert tip[0] == pytest.approx(2.0 * E / K - 1.0, abs=2e-3)
    assert math.hypot(tip[1], tip[2]) == pytest.approx(2.0 * k / K, abs=2e-3)


def test_a_column_bends_under_its_weight_from_greenhills_length_on() -> None:
    """L³ = 7.8373 EI/(ρ g A) (Greenhill 1881)."""
    for share in (0.97, 1.03):
        rod = Rod(**{**STEEL, "tangent": (0, 0, 1)}, elements=30)
        gravity = share * 7.8373 * EI / rod.inertia[0]
        rods = Rods([rod])
        tip = rods.tips(equilibrium(rods, (0, 0, -gravity)))[0]
        assert (tip[2] < 1.0 - 1e-3) == (share > 1.0)


def test_a_wrench_along_its_axis_holds_a_helix() -> None:
    """Love 1927, 270: exact for any number of elements, as elements are helices."""
    radius, angle = 0.1, 0.4
    kappa, tau = math.cos(angle) ** 2 / radius, math.sin(angle) * math.cos(angle) / radius
    rod = Rod(**STEEL, elements=3, strain=(tau, 0, kappa))
    GJ = rod.stiffness[0]
    # n₀ = tangent, n₁ = towards the axis, n₂ = binormal: the axis is along τ n₀ + κ n₂ through the centre.
    rods = Rods([rod])
    n = rod.frame
    axis = (tau * n[:, 0] + kappa * n[:, 2]) / math.hypot(tau, kappa)
    centre = np.array(rod.position) + radius * n[:, 1]
    force = (GJ - EI) * math.sin(angle) * math.cos(angle) ** 2 / radius**2 * axis
    couple = (GJ * tau * math.sin(angle) + EI * kappa * math.cos(angle)) * axis
    couple = couple + np.cross(centre - rods.tips(rods.start())[0], force)
    loaded = Rods([Rod(**STEEL, elements=3, strain=(tau, 0, kappa), tip_force=force, tip_couple=couple)])
    left = loaded.inertia(loaded.start(), STILL).force + loaded.stiffness.ravel() * loaded.start().q[:9]
    assert np.abs(left).max() < 1e-12 * EI
    nearby = loaded.start().q.copy()
    nearby[:9] += 1e-3
    found = equilibrium(loaded, part=Part(nearby, np.zeros(9)))
    assert np.allclose(found.q[:9].reshape(3, 3), [tau, 0, kappa], atol=1e-6)


def test_a_twisted_rod_buckles_at_greenhills_couple() -> None:
    """Both ends clamped: ML/EI = 2 x with tan x = x, 8.987 (Greenhill 1883)."""
    exact = 2.0 * brentq(lambda x: math.tan(x) - x, 4.4, 4.6)

    def lowest(couple: float, elements: int) -> float:
        """Least eigenvalue of the tangent stiffness among motions that leave the tip where it is."""
        twist = couple * EI / Rod(**STEEL).stiffness[0]
        rods = Rods([Rod(**STEEL, elements=elements, strain=(twist, 0, 0), tip_couple=(couple * EI, 0, 0))])
        q, m = rods.start().q, rods.n_dof
        tangent = np.diag(rods.stiffness.ravel())
        for k in range(m):
            step = np.zeros(len(q))
            step[k] = 1e-5
            ahead, behind = (rods.inertia(Part(q + s * step, np.zeros(m)), STILL).force for s in (1, -1))
            tangent[:, k] += (ahead - behind) / 2e-5
        at = rods.motion(rods.start())
        chain = rods.chain(at)
        tip = rods.tips(rods.start())[0]
        turn = chain.whole[:, :, 3:].reshape(m, 3)
        move = chain.whole[:, :, :3].reshape(m, 3) + np.cross(turn, tip)
        Z = null_space(np.hstack((move, turn)).T)
        return float(np.linalg.eigvalsh(Z.T @ (tangent + tangent.T) @ Z)[0])

    found = [brentq(lambda couple, n=n: lowest(couple, n), 6.0, 12.0, rtol=1e-4) for n in (12, 24)]
    errors = np.array(found) - exact
    assert abs(errors[1]) < 0.01 * exact
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.15)


def test_small_vibrations_have_the_frequencies_of_beam_theory() -> None:
    """βL = 1.8751, 4.6941, 7.8548: ω = β² √(EI/ρS)."""
    exact = np.array([1.87510407, 4.69409113, 7.85475744]) ** 2
    errors = []
    for elements in (8, 16):
        rods = Rods([Rod(**STEEL, elements=elements)])
        m = rods.n_dof
        M = rods.inertia(rods.start(), STILL).mass.reshape(m, m)
        bending = np.arange(1, m, 3)  # κ₁ alone
        stiff = np.diag(rods.stiffness.ravel()[bending])
        omega = np.sqrt(eigh(stiff, M[np.ix_(bending, bending)])[0][:3] / (EI / rods.rods[0].inertia[0]))
        errors.append(np.abs(omega / exact - 1.0))
    assert errors[1].max() < 0.02
    assert np.all(errors[0] / errors[1] > 3.0)


def test_a_vibrating_rod_keeps_its_period() -> None:
    rod = Rod(**STEEL, elements=10, strain=np.linspace(1e-3, 1e-4, 10)[:, None] * [0, 1, 0])
    rods = Rods([rod])
    period = 2 * math.pi / (1.87510407**2 * math.sqrt(EI / rod.inertia[0]))
    part = rods.start()
    tip = []
    for _ in range(400):
        middle = rods.drift(part, period / 400)
        part = rods.advance(middle, rods.free(middle, Span(0.0, period / 200, 0.5, STILL))[1], period / 400)
        tip.append(rods.tips(part)[0, 2])
    signs = np.flatnonzero(np.diff(np.sign(tip)))
    assert 2 * (signs[-1] - signs[0]) / (len(signs) - 1) == pytest.approx(200, rel=0.02)


def test_energy_of_a_swinging_rod_is_kept_to_second_order() -> None:
    rods = Rods([Rod(length=1.0, radius=0.01, density=1000, young=3e7, elements=4)])
    drift = [np.ptp(stepped(rods, h, round(0.5 / h), DOWN)[1]) for h in (2e-3, 1e-3)]
    assert drift[1] < 5e-3
    assert drift[0] / drift[1] > 3.0


@pytest.mark.slow
def test_energy_does_not_drift_in_ten_thousand_steps() -> None:
    rods = Rods([Rod(length=1.0, radius=0.01, density=1000, young=3e7, elements=4)])
    _, energy = stepped(rods, 5e-4, 10_000, DOWN)
    swing = 1000 * math.pi * 1e-4 * 9.81 * 0.5  # from horizontal to hanging
    assert np.abs(energy).max() < 2e-3 * swing
    late, early = np.abs(energy[-1000:]).max(), np.abs(energy[:1000]).max()
    assert late < 5 * early


def test_momenta_of_a_free_rod_are_kept_to_second_order() -> None:
    strain = np.random.default_rng(0).normal(size=(4, 3))
    rods = Rods(
        [
            Rod(
                length=1.0,
                radius=0.01,
                density=1000,
                young=1e6,
                elements=4,
                root="free",
                velocity=(1, 0.3, -0.2),
                angular_velocity=(1, 2, 3),
                strain=strain,
            )
        ]
    )

    def momenta(part: Part) -> Array:
        p = rods.inertia(part, STILL).momentum[:6]
        p[3:] += np.cross(rods.motion(part).position[0], p[:3])
        return p

    before = momenta(rods.start())
    lost = [np.abs(momenta(stepped(rods, h, round(0.2 / h), STILL)[0]) - before).max() for h in (1e-3, 5e-4)]
    assert lost[1] < 1e-3 * np.abs(before).max()
    assert lost[0] / lost[1] > 3.0


def test_a_free_rod_falls_as_a_stone() -> None:
    rods = Rods([Rod(**STEEL, root="free", velocity=(1, 0, 0))])
    part, _ = stepped(rods, 1e-2, 50, DOWN)
    assert np.allclose(rods.tips(part)[0] - [1.0, 0, 0], [0.5, 0, -0.5 * 9.81 * 0.25], atol=1e-9)


def test_turning_the_whole_changes_nothing() -> None:
    given: dict[str, Any] = {
        "length": 1.0,
        "radius": (0.01, 0.02),
        "density": 1e3,
        "young": 1e7,
        "natural": (1, 2, -1),
    }
    plain = Rods([Rod(**given, tangent=(1, 0, 0), normal=(0, 1, 0))])
    Q = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    Q *= np.sign(np.linalg.det(Q))
    turned = Rods([Rod(**given, tangent=Q[:, 0], normal=Q[:, 1], position=(100.0, 0, 0))])
    a, _ = stepped(plain, 1e-3, 50, DOWN)
    b, _ = stepped(turned, 1e-3, 50, Q @ DOWN)
    assert np.allclose(a.q[:18], b.q[:18], atol=1e-9)
    assert np.allclose(Q @ plain.tips(a)[0] + [100, 0, 0], turned.tips(b)[0], atol=1e-10)


def test_drag_and_damping_bring_a_rod_to_its_equilibrium() -> None:
    rod = Rod(length=0.5, radius=2e-3, density=1000, young=1e7, damping=0.02, drag=0.05)
    rods = Rods([rod])
    part, energy = stepped(rods, 5e-3, 1500, DOWN)
    assert np.allclose(rods.tips(part), rods.tips(equilibrium(rods, DOWN)), atol=1e-5)
    assert energy[-1] < energy[0]


def test_a_heavy_drag_falls_at_the_terminal_speed() -> None:
    rod = Rod(**STEEL, root="free", drag=10.0)
    part, _ = stepped(Rods([rod]), 1e-3, 400, DOWN)
    assert part.v[:3] == pytest.approx([0, 0, -9.81 * rod.inertia[0] / 10.0], abs=1e-4)


def test_rods_without_a_clamp_have_no_equilibrium() -> None:
    with pytest.raises(SceneError, match="free roots"):
        equilibrium(Rods([Rod(**STEEL, root="free")]))
