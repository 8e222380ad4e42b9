"""Helical arcs: closed forms against the matrix exponential, integration and differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from clapas.bodies.rods.arcs import arc_at, arc_through
from clapas.bodies.rods.helix import arc_frame, arc_twist, arc_twist_rate, stumpff
from clapas.geometry.rotations import cross_matrix
from clapas.typing import Array

strains = st.tuples(*[st.floats(-10.0, 10.0)] * 3)


def generator(u: Array) -> Array:
    """The matrix (4, 4) of the twist (e₀, u)."""
    X = np.zeros((4, 4))
    X[:3, :3], X[0, 3] = cross_matrix(u), 1.0
    return X


def as_twist(X: Array) -> Array:
    """Velocity and angular velocity of a matrix of the algebra."""
    return np.array([X[0, 3], X[1, 3], X[2, 3], X[2, 1], X[0, 2], X[1, 0]])


@pytest.mark.parametrize("x", [0.0, 1e-12, 0.5, 3.999999, 4.0, 50.0])
def test_stumpff_functions_are_their_series(x: float) -> None:
    for k, value in enumerate(stumpff(x), start=1):
        exact = math.fsum((-x) ** j / math.factorial(2 * j + k) for j in range(60))
        assert value == pytest.approx(exact, rel=1e-11, abs=1e-15)


@given(u=strains, s=st.floats(-2.0, 2.0))
def test_an_arc_is_the_exponential_of_its_twist(u: tuple[float, float, float], s: float) -> None:
    exact = expm(s * generator(np.array(u)))
    p, R = arc_frame(u, s)
    assert np.allclose(np.array(R).T, exact[:3, :3], atol=1e-11)
    assert np.allclose(p, exact[:3, 3], atol=1e-11)


@given(u=strains, s=st.floats(-2.0, 2.0))
def test_a_curve_is_what_its_sections_are(u: tuple[float, float, float], s: float) -> None:
    """Point and tangent without the frame, for searches, and the derivative of the tangent."""
    frame = tuple(map(tuple, expm(cross_matrix(np.array([0.3, -1.0, 0.5]))).T.tolist()))
    arc = arc_through((1.0, 2.0, 3.0), frame, u, 1.0, 0.1)  # type: ignore[arg-type]
    point, tangent, bend = arc_at(arc, s)
    p, R = arc_frame(u, s)
    turn = np.array(frame).T
    assert np.allclose(point, [1.0, 2.0, 3.0] + turn @ p, atol=1e-11)
    assert np.allclose(tangent, turn @ R[0], atol=1e-11)
    assert np.allclose(bend, turn @ (u[2] * np.array(R[1]) - u[1] * np.array(R[2])), atol=1e-10)


def test_an_arc_follows_the_integrated_frame() -> None:
    u = np.array([3.0, -5.0, 7.0])

    def slope(s: float, y: Array) -> Array:
        R = y[3:].reshape(3, 3)
        return np.concatenate((R[:, 0], (R @ cross_matrix(u)).ravel()))

    end = solve_ivp(slope, (0, 1), np.r_[np.zeros(3), np.eye(3).ravel()], "DOP853", rtol=1e-12, atol=1e-13)
    p, R = arc_frame((3.0, -5.0, 7.0), 1.0)
    assert np.allclose(p, end.y[:3, -1], atol=1e-9)
    assert np.allclose(np.array(R).T.ravel(), end.y[3:, -1], atol=1e-9)


@pytest.mark.parametrize("size", [0.0, 1e-7, 0.3, 3.0, 12.0])
def test_twists_and_their_rates_are_derivatives(size: float) -> None:
    rng = np.random.default_rng(3)
    u, w, s, h = size * rng.normal(size=3), rng.normal(size=3), 0.8, 1e-5

    def at(v: Array) -> tuple[Array, Array]:
        f = s * v
        given = tuple(f), s, stumpff(float(f @ f)), tuple(w)
        return np.ravel(arc_twist(*given)), np.ravel(arc_twist_rate(*given))

    moved = (expm(s * generator(u + h * w)) - expm(s * generator(u - h * w))) / (2 * h)
    eta, rate = at(u)
    assert np.allclose(eta, as_twist(moved @ expm(-s * generator(u))), atol=1e-9)
    assert np.allclose(rate, (at(u + h * w)[0] - at(u - h * w)[0]) / (2 * h), atol=1e-9)
