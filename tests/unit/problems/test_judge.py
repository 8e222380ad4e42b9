"""The judge: exact at mu = 0, at the apex, on the edge, in the polar cone, for any mu and any scale."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from clapas.convex import coulomb as cone
from clapas.convex.coulomb_kernels import project_3d
from clapas.problems import ContactProblem
from clapas.problems.judge import violation_norm
from clapas.solvers.local.de_saxce import project_once
from clapas.solvers.nsgs.relax import relaxed

NUMBERS = (0.0, 1.0, -1.0, 0.5, -0.25, 1e-3, -1e3, 5e-324, -5e-324)
FRICTION = (0.0, 5e-324, 1e-300, 1e-9, 0.3, 1.0, 2.0, 1e4, 1e16, 1e154, 1e300)
SAFE_NUMBERS = st.sampled_from((0.0, 1.0, -1.0, 0.5, -2.0)) | st.floats(-10, 10)


def plain_violation(u, x, mu):
    """The definition in plain Python, one contact."""
    radius = mu * max(x[0], 0.0)
    wish = [a - b for a, b in zip(x[1:], u[1:], strict=True)]
    size = math.hypot(*wish)
    inside = [radius * (w / size) for w in wish] if size > radius else wish
    return [min(u[0], x[0])] + [a - b for a, b in zip(x[1:], inside, strict=True)]


@pytest.mark.parametrize("mu", FRICTION)
def test_the_definition_and_its_compiled_twin_agree_on_exact_zeros_and_extremes(mu):
    for u_n, u_t, r_n, r_t in itertools.product(NUMBERS, repeat=4):
        u, r = np.array([[u_n, u_t, 0.0]]), np.array([[r_n, 0.0, r_t]])
        expected = plain_violation([u_n, u_t, 0.0], [r_n, 0.0, r_t], mu)
        np.testing.assert_allclose(cone.violation(u, r, np.array([mu]))[0], expected, rtol=1e-12, atol=1e-12)
        size = math.hypot(*expected)
        compiled = violation_norm(u, r, np.array([mu]), np.ones(1))
        assert compiled == pytest.approx(
            max(size, np.finfo(float).eps * math.hypot(r_n, r_t)), rel=1e-7, abs=1e-15
        )


@given(*[SAFE_NUMBERS] * 6, st.sampled_from(FRICTION), st.sampled_from((1e-3, 1.0, 7.0)))
def test_twins_agree_on_random_contacts(u_n, u_1, u_2, r_n, r_1, r_2, mu, response):
    u, r = np.array([[u_n, u_1, u_2]]), np.array([[r_n, r_1, r_2]])
    expected = np.linalg.norm(cone.violation(u, response * r, np.array([mu])))
    compiled = violation_norm(u, r, np.array([mu]), np.array([response]))
    assert compiled == pytest.approx(expected, rel=1e-9, abs=1e-14 * (1 + response * np.abs(r).max()))


def problem_of(q, mu, n=1):
    return ContactProblem(W=sparse.eye_array(3 * n), q=np.tile(q, (n, 1)), mu=mu)


@pytest.mark.parametrize("n", [1, 1000])  # 1000 contacts: the compiled pass
def test_an_open_smooth_contact_is_solved_and_a_pulling_impulse_is_not(n):
    problem = problem_of([0.5, 0.0, 0.0], 0.0, n)
    assert problem.residual(np.zeros((n, 3))) == 0.0
    assert problem.residual(np.tile([-0.5, 0.0, 0.0], (n, 1))) == pytest.approx(1.0)


@pytest.mark.parametrize("mu", [0.3, 2.0, 1e3, 1e4, 1e8, 1e16])
def test_falling_while_sliding_violates_the_law_by_the_fall_whatever_mu(mu):
    problem = problem_of([-0.1, 1.0, 0.0], mu)
    assert problem.residual(np.zeros((1, 3))) == pytest.approx(0.1 / math.hypot(0.1, 1.0))


@pytest.mark.parametrize("mu", FRICTION)
def test_each_part_of_the_law_bounds_the_residual_from_below(mu):
    rng = np.random.default_rng(3)
    for _ in range(200):
        u, x = rng.normal(size=(2, 1, 3))
        e = float(np.linalg.norm(cone.violation(u, x, np.array([mu]))))
        slack = 1 + 1e-12
        assert -u[0, 0] <= e * slack  # penetration
        assert -x[0, 0] <= e * slack  # pull
        assert min(u[0, 0], x[0, 0]) <= e * slack  # complementarity
        assert np.linalg.norm(x[0, 1:]) - mu * max(x[0, 0], 0.0) <= e * slack  # cone


def sign(value):
    return (value > 0) - (value < 0)


@given(
    st.lists(st.fractions(-4, 4, max_denominator=16), min_size=4, max_size=4),
    st.fractions(0, 4, max_denominator=8),
)
def test_zero_exactly_where_the_law_holds_in_the_plane(numbers, mu):
    """Against Coulomb's law by cases, in exact arithmetic."""
    u_n, u_t, r_n, r_t = numbers
    if r_n == 0:
        obeys = u_n >= 0 and r_t == 0
    else:
        slides = u_t != 0 and r_t == -mu * r_n * sign(u_t)
        obeys = r_n > 0 and u_n == 0 and (slides or (u_t == 0 and abs(r_t) <= mu * r_n))
    u, x = np.array([[float(u_n), float(u_t)]]), np.array([[float(r_n), float(r_t)]])
    e = float(np.linalg.norm(cone.violation(u, x, np.array([float(mu)]))))
    if all(Fraction(float(v)) == v for v in (*numbers, mu)):  # else rounding moves the data
        assert (e == 0.0) == obeys or (obeys and e < 1e-15)


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-150, 1.0, 1e150, 1e200, 1e300])
def test_the_residual_does_not_depend_on_the_size_of_the_numbers(scale):
    q = np.array([[-0.3, 1.0, 0.2], [0.1, 0.0, 0.4]])
    r = np.array([[0.2, -0.05, 0.0], [0.01, 0.0, 0.0]])
    reference = ContactProblem(W=np.eye(6), q=q, mu=0.5).residual(r)
    assert ContactProblem(W=np.eye(6), q=scale * q, mu=0.5).residual(scale * r) == pytest.approx(reference)
    stiff = ContactProblem(W=np.eye(6) / scale, q=q, mu=0.5)
    assert stiff.residual(scale * r) == pytest.approx(reference)


def test_what_cannot_be_represented_is_never_solved():
    problem = ContactProblem(W=np.eye(3), q=[[-1.7e308, 1.7e308, 1.7e308]], mu=0.5)
    assert problem.residual([[0.0, 0.0, 0.0]]) == math.inf
    assert problem_of([-1.0, 0.0, 0.0], 0.5).residual([[np.inf, 0.0, 0.0]]) == math.inf
    assert problem_of([-1.0, 0.0, 0.0], 0.5).residual([[np.nan, 0.0, 0.0]]) == math.inf


@pytest.mark.parametrize("mu", FRICTION)
def test_every_projection_on_the_cone_is_the_same(mu):
    """Plain and compiled, in the De Saxcé step and in relaxation: apex, edge, polar cone, exact zeros."""
    k = (1.0, 0.0, 0.0, 0.0, 0.0, mu)  # ρ = 1
    for x_n, x_1 in itertools.product(NUMBERS, repeat=2):
        expected = cone.project(np.array([[x_n, x_1, 0.0]]), np.array([mu]))[0]
        close = {"rtol": 1e-12, "atol": 1e-300}
        np.testing.assert_allclose(project_3d(x_n, x_1, 0.0, mu), expected, **close)
        np.testing.assert_allclose(project_once(x_n, x_1, 0.0, 0.0, 0.0, 0.0, k), expected, **close)
        np.testing.assert_allclose(relaxed(1.0, mu, 0.0, 0.0, 0.0, x_n, x_1, 0.0), expected, **close)
