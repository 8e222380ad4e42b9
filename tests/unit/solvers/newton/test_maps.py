"""The functions Φ(u, r): zero at the law, regions, derivatives against finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.problems import coulomb
from clapas.solvers.newton.augmentation import Augmentation
from clapas.solvers.newton.maps import (
    OPEN,
    PRESSED,
    SLIDE,
    SLIDE_BACK,
    STICK,
    AlartCurnierMap,
    ContactMap,
    FischerBurmeisterMap,
    JeanMoreauMap,
    NaturalMap,
)

MAPS = [
    AlartCurnierMap(),
    JeanMoreauMap(),
    NaturalMap(),
    FischerBurmeisterMap(),
    FischerBurmeisterMap(smoothing=0.3),
]
SHARP = MAPS[:4]


def augmentation(n: int, normal: float = 0.7, tangent: float = 1.3) -> Augmentation:
    return Augmentation(np.full(n, normal), np.full(n, tangent))


def random_states(seed: int, n: int, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Velocities and impulses in every region, friction from none to much."""
    rng = np.random.default_rng(seed)
    u, r = rng.normal(size=(2, n, d))
    r[: n // 2, 0] = np.abs(r[: n // 2, 0]) + 0.5
    return u, r, rng.uniform(0.0, 1.5, n) * (np.arange(n) % 5 > 0)


def lawful_states(d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Open, sticking, sliding and frictionless contacts that obey Coulomb's law."""
    u, r = np.zeros((5, d)), np.zeros((5, d))
    u[0] = 1.0  # open
    r[1, :2] = 2.0, 0.9  # sticks inside the cone
    r[2, :2] = 2.0, 1.0  # sticks on its edge
    u[3, 1], r[3, :2] = -3.0, (2.0, 1.0)  # slides
    u[4, 1], r[4, 0] = 3.0, 2.0  # slides without friction
    return u, r, np.array([0.5, 0.5, 0.5, 0.5, 0.0])


def unlawful_states(d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Contacts that each break one rule."""
    u, r = np.zeros((6, d)), np.zeros((6, d))
    u[0, 0] = -1.0  # penetrates
    u[1, 0], r[1, 0] = 1.0, 1.0  # pushes from afar
    r[2, 0] = -1.0  # pulls
    r[3, :2] = 1.0, 0.8  # outside the cone
    u[4, 1], r[4, :2] = 1.0, (1.0, 0.5)  # friction along the sliding
    u[5, 1], r[5, 0] = 1.0, 1.0  # slides without using its friction
    return u, r, np.full(6, 0.5)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("function", SHARP, ids=repr)
def test_zero_at_the_law_and_only_there(function: ContactMap, d: int):
    u, r, mu = lawful_states(d)
    np.testing.assert_allclose(function.value(u, r, mu, augmentation(5)), 0.0, atol=1e-7)
    u, r, mu = unlawful_states(d)
    assert (np.linalg.norm(function.value(u, r, mu, augmentation(6)), axis=1) > 0.1).all()


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("function", MAPS, ids=repr)
def test_derivatives_against_finite_differences(function: ContactMap, d: int):
    n, step = 400, 1e-6
    u, r, mu = random_states(7, n, d)
    rho = augmentation(n)
    tangent = function.linearise(u, r, mu, rho)
    np.testing.assert_allclose(tangent.value, function.value(u, r, mu, rho), atol=1e-14)
    for k in range(d):
        e = step * np.eye(d)[k]
        by_u = (function.value(u + e, r, mu, rho) - function.value(u - e, r, mu, rho)) / (2 * step)
        by_r = (function.value(u, r + e, mu, rho) - function.value(u, r - e, mu, rho)) / (2 * step)
        np.testing.assert_allclose(tangent.by_u[:, :, k], by_u, atol=2e-5)
        np.testing.assert_allclose(tangent.by_r[:, :, k], by_r, atol=2e-5)


@pytest.mark.parametrize("d", [2, 3])
def test_same_functions_as_the_formulas_of_the_problem(d: int):
    u, r, mu = random_states(3, 50, d)
    rho = augmentation(50, 0.8, 0.8)
    jean_moreau = JeanMoreauMap().value(u, r, mu, rho)
    np.testing.assert_allclose(jean_moreau, -coulomb.alart_curnier(u, r, mu, rho.single), atol=1e-14)
    natural = NaturalMap().value(u, r, mu, rho)
    np.testing.assert_allclose(natural, coulomb.natural_map(u, r, mu, rho.single), atol=1e-14)


def test_alart_curnier_and_jean_moreau_differ_by_the_disc():
    u, r, mu = np.array([[-1.0, 5.0]]), np.array([[1.0, 0.0]]), np.array([0.5])
    rho = augmentation(1, 1.0, 1.0)
    np.testing.assert_allclose(
        AlartCurnierMap().value(u, r, mu, rho), [[-1.0, 1.0]]
    )  # disc of radius mu (1 + 1)
    np.testing.assert_allclose(JeanMoreauMap().value(u, r, mu, rho), [[-1.0, 0.5]])  # disc of radius mu 1


def test_regions_in_the_plane():
    u = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, -3.0], [0.0, 3.0]])
    r = np.array([[0.0, 0.0], [1.0, 0.1], [1.0, 0.5], [1.0, -0.5]])
    mu, rho = np.full(4, 0.5), augmentation(4)
    expected = np.array([OPEN, STICK, SLIDE, SLIDE_BACK])
    np.testing.assert_array_equal(AlartCurnierMap().regions(u, r, mu, rho), expected)
    np.testing.assert_array_equal(NaturalMap().regions(u, r, mu, rho), expected)
    pressed = np.array([0, PRESSED, PRESSED, PRESSED])
    np.testing.assert_array_equal(JeanMoreauMap().regions(u, r, mu, rho), expected + pressed)


@pytest.mark.parametrize("function", [AlartCurnierMap(), JeanMoreauMap()], ids=repr)
def test_linear_by_regions_in_the_plane(function: ContactMap):
    """Φ is homogeneous of degree one, so that it equals its linear part in its own region."""
    u, r, mu = random_states(5, 200, 2)
    tangent = function.linearise(u, r, mu, augmentation(200))
    linear = np.einsum("nij,nj->ni", tangent.by_u, u) + np.einsum("nij,nj->ni", tangent.by_r, r)
    np.testing.assert_allclose(tangent.value, linear, atol=1e-13)


def test_smoothed_law_is_strictly_inside_the_cones():
    """Φ = 0 with smoothing ε and no slip means x∘y = ε² e: here r_N u_N = ε²."""
    u, r = np.array([[0.2, 0.0, 0.0]]), np.array([[0.45, 0.0, 0.0]])
    value = FischerBurmeisterMap(smoothing=0.3).value(u, r, np.zeros(1), augmentation(1, 1.0, 1.0))
    np.testing.assert_allclose(value, 0.0, atol=1e-15)


@pytest.mark.parametrize("function", MAPS, ids=repr)
def test_no_contact(function: ContactMap):
    none, rho = np.zeros((0, 3)), augmentation(0)
    assert function.value(none, none, np.zeros(0), rho).shape == (0, 3)
    assert function.linearise(none, none, np.zeros(0), rho).by_u.shape == (0, 3, 3)
    assert function.regions(none, none, np.zeros(0), rho).shape == (0,)


@pytest.mark.parametrize("function", MAPS, ids=repr)
def test_finite_at_the_corners(function: ContactMap):
    """At zero impulse and velocity every function has several derivatives: one is returned, finite."""
    zero = np.zeros((2, 3))
    tangent = function.linearise(zero, zero, np.array([0.5, 0.0]), augmentation(2))
    assert all(np.isfinite(part).all() for part in tangent)
