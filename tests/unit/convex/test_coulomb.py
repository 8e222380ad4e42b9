from __future__ import annotations

import numpy as np
import pytest

from clapas.convex import CoulombCone, DualCoulombCone, coulomb
from clapas.errors import ProblemError
from clapas.typing import Array

from .differences import around, central_differences

MU = [0.0, 1e-8, 0.3, 1.0, 7.0, 1e8]


def points(n: int, d: int, seed: int) -> Array:
    return np.random.default_rng(seed).normal(size=(n, d))


def cadoux_projection(x: Array, mu: float) -> Array:
    """Appendix E as it is printed, one vector at a time."""
    normal, tangent = x[0], x[1:]
    length = np.linalg.norm(tangent)
    if length <= mu * normal and normal >= 0:
        return x
    if mu * length <= -normal:
        return np.zeros_like(x)
    p = (normal + mu * length) / (1 + mu**2)
    return np.concatenate(([p], mu * p * tangent / length))


def cadoux_jacobian(x: Array, mu: float) -> Array:
    """Equation (E.11), outside both cones, with the lower left block made symmetric."""
    normal, tangent = x[0], x[1:]
    length = np.linalg.norm(tangent)
    factor = mu / (1 + mu**2)
    result = np.empty((len(x), len(x)))
    result[0, 0] = 1 / (1 + mu**2)
    result[0, 1:] = result[1:, 0] = factor * tangent / length
    result[1:, 1:] = factor * (mu + normal / length) * np.eye(len(x) - 1)
    result[1:, 1:] -= factor * normal / length**3 * np.outer(tangent, tangent)
    return result


def kink_distance(x: Array, mu: Array) -> Array:
    """Distance to the boundaries of K and of its polar cone, where the projection is not smooth."""
    length, size = np.linalg.norm(x[:, 1:], axis=1), np.hypot(1.0, mu)
    to_cone = np.abs(length - mu * x[:, 0]) / size
    to_polar = np.abs(mu * length + x[:, 0]) / size
    return np.minimum(to_cone, to_polar)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("mu", [0.0, 1e-3, 0.3, 1.0, 7.0, 1e3])
def test_projection_is_the_printed_one(mu: float, d: int) -> None:
    x = points(200, d, seed=1)
    expected = np.array([cadoux_projection(row, mu) for row in x])
    np.testing.assert_allclose(coulomb.project(x, np.full(200, mu)), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("mu", [1e-3, 0.3, 1.0, 7.0])
def test_jacobian_outside_is_the_printed_one(mu: float, d: int) -> None:
    x = points(300, d, seed=2)
    length = np.linalg.norm(x[:, 1:], axis=1)
    x = x[(length > mu * x[:, 0]) & (mu * length > -x[:, 0])]
    assert len(x) > 20
    expected = np.array([cadoux_jacobian(row, mu) for row in x])
    np.testing.assert_allclose(coulomb.jacobian(x, np.full(len(x), mu)), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dual", [False, True])
@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("mu", MU)
def test_jacobian_is_the_derivative_away_from_kinks(mu: float, d: int, dual: bool) -> None:
    x = points(400, d, seed=3)
    friction = np.full(400, mu)
    # The boundaries of K* and of its polar are those of K's polar and of K, mirrored.
    smooth = kink_distance(-x if dual else x, friction) > 1e-3
    smooth &= np.linalg.norm(x[:, 1:], axis=1) > 0.05
    assert smooth.sum() > 200
    x, friction = x[smooth], friction[smooth]
    project = coulomb.project_dual if dual else coulomb.project
    jacobian = coulomb.jacobian_dual if dual else coulomb.jacobian
    expected = central_differences(lambda y: project(y, friction), x, 1e-5)
    np.testing.assert_allclose(jacobian(x, friction), expected, rtol=0, atol=2e-7)


KINKS = {
    "boundary of the cone": ([2.0, 0.6, 0.8], 0.5),
    "boundary of the polar cone": ([-0.5, 0.6, 0.8], 0.5),
    "origin": ([0.0, 0.0, 0.0], 0.5),
    "origin without friction": ([0.0, 0.0, 0.0], 0.0),
    "the ray without friction": ([1.0, 0.0, 0.0], 0.0),
    "edge of the half-space without friction": ([0.0, 0.6, 0.8], 0.0),
    "opposite ray without friction": ([-1.0, 0.0, 0.0], 0.0),
    "axis": ([1.0, 0.0, 0.0], 0.5),
    "opposite axis": ([-1.0, 0.0, 0.0], 0.5),
    "huge friction": ([0.0, 0.6, 0.8], 1e8),
}


@pytest.mark.parametrize("dual", [False, True])
@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("where", KINKS)
def test_jacobian_at_a_kink_is_a_limit_of_derivatives_nearby(where: str, d: int, dual: bool) -> None:
    vector, mu = KINKS[where]
    x = np.array(vector) if d == 3 else np.array([vector[0], np.hypot(vector[1], vector[2])])
    x = -x if dual else x
    project = coulomb.project_dual if dual else coulomb.project
    jacobian = coulomb.jacobian_dual if dual else coulomb.jacobian
    nearby = around(x, 1e-3, count=3000, seed=4)
    friction = np.full(len(nearby), mu)
    derivatives = central_differences(lambda y: project(y, friction), nearby, 1e-7)
    here = jacobian(x[None], np.array([mu]))
    closest = np.abs(derivatives - here).max(axis=(1, 2)).min()
    assert closest < 5e-3  # the derivatives themselves turn by about the radius


def test_boundary_counts_as_inside() -> None:
    boundary = np.array([[2.0, 1.0, 0.0], [-1.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
    expected = np.stack((np.eye(3), np.zeros((3, 3)), np.eye(3)))
    np.testing.assert_array_equal(coulomb.jacobian(boundary, np.full(3, 0.5)), expected)


def test_without_friction_the_cone_is_a_ray_and_the_dual_a_half_space() -> None:
    x = np.array([[2.0, 1.0, 3.0], [-2.0, 1.0, 3.0], [-2.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    mu = np.zeros(4)
    np.testing.assert_array_equal(coulomb.project(x, mu), [[2, 0, 0], [0, 0, 0], [0, 0, 0], [2, 0, 0]])
    half_space = [[2, 1, 3], [0, 1, 3], [0, 0, 0], [2, 0, 0]]
    np.testing.assert_allclose(coulomb.project_dual(x, mu), half_space, rtol=1e-15)
    normal, tangential = np.diag([1.0, 0.0, 0.0]), np.diag([0.0, 1.0, 1.0])
    zero, unit = np.zeros((3, 3)), np.eye(3)
    np.testing.assert_array_equal(coulomb.jacobian(x, mu), [normal, zero, zero, normal])
    np.testing.assert_array_equal(coulomb.jacobian_dual(x, mu), [unit, tangential, tangential, unit])
    assert not CoulombCone([0.0], d=3).contains(np.array([[-1.0, 0.0, 0.0]]))[0]


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e150, 1e300])
@pytest.mark.parametrize("mu", [0.0, 1e-300, 0.5, 1e8, 1e200, 1e300])
def test_size_of_the_vectors_does_not_matter(size: float, mu: float) -> None:
    x = points(60, 3, seed=5)
    friction = np.full(60, mu)
    for project in (coulomb.project, coulomb.project_dual):
        expected = project(x, friction)
        np.testing.assert_allclose(project(size * x, friction) / size, expected, rtol=0, atol=1e-13)
    for jacobian in (coulomb.jacobian, coulomb.jacobian_dual):
        expected = jacobian(x, friction)
        np.testing.assert_allclose(jacobian(size * x, friction), expected, rtol=0, atol=1e-13)


def test_components_of_very_different_sizes() -> None:
    x = np.array([[1e200, 1e-200, 0.0], [1e-200, 1e200, 0.0], [-1e200, 1e-200, 1e-200]])
    mu = np.zeros(3)
    np.testing.assert_array_equal(coulomb.project(x, mu), [[1e200, 0, 0], [1e-200, 0, 0], [0, 0, 0]])
    normal = np.diag([1.0, 0.0, 0.0])
    np.testing.assert_array_equal(coulomb.jacobian(x, mu), [normal, normal, np.zeros((3, 3))])


def test_huge_friction_is_the_half_space() -> None:
    x = np.array([[1.0, 5.0, 2.0], [-1.0, 5.0, 2.0]])
    found = coulomb.project(x, np.full(2, 1e300))
    np.testing.assert_allclose(found, [[1.0, 5.0, 2.0], [0.0, 5.0, 2.0]], rtol=0, atol=1e-14)


def test_a_tiny_projection_is_still_on_the_cone() -> None:
    # −x is outside K by 1e-12 of its length, so that P_K*(x) is a trillion times shorter than x.
    mu = np.random.default_rng(7).uniform(0.1, 2.0, size=50)
    x = np.column_stack((-np.ones(50), mu * (1.0 + 1e-12)))
    found = coulomb.project_dual(x, mu)
    assert (np.abs(found) > 0.0).all()
    np.testing.assert_allclose(mu * found[:, 1], found[:, 0], rtol=1e-15)
    by_moreau = x + coulomb.project(-x, mu)
    np.testing.assert_allclose(found, by_moreau, rtol=0, atol=1e-15)
    assert (np.abs(mu * by_moreau[:, 1] - by_moreau[:, 0]) > 1e-6 * by_moreau[:, 0]).any()


@pytest.mark.parametrize("d", [2, 3])
def test_no_contacts(d: int) -> None:
    empty, mu = np.empty((0, d)), np.empty(0)
    for cone in (CoulombCone(mu, d), DualCoulombCone(mu, d), CoulombCone(mu, d).polar()):
        assert cone.project(empty).shape == (0, d)
        assert cone.jacobian(empty).shape == (0, d, d)
        assert cone.distance(empty).shape == (0,)
        assert cone.contains(empty).shape == (0,)


def test_what_is_not_finite_stays_so_in_silence() -> None:
    x = np.array([[np.nan, 1.0, 0.0], [1.0, np.inf, 0.0], [np.inf, 1.0, 0.0], [-np.inf, 1.0, 0.0]])
    found = coulomb.project(x, np.full(4, 0.5))
    assert np.isnan(found[0]).any()
    assert not np.isfinite(found[1]).all()
    assert found[2, 0] == np.inf
    np.testing.assert_array_equal(found[3], 0.0)


def test_membership_and_distance() -> None:
    cone = CoulombCone([0.5, 0.5, 0.5, 0.5], d=2)
    x = np.array([[2.0, 1.0], [2.0, -1.0], [0.0, np.sqrt(1.25)], [-3.0, 0.0]])
    np.testing.assert_array_equal(cone.contains(x), [True, True, False, False])
    np.testing.assert_allclose(cone.distance(x), [0.0, 0.0, 1.0, 3.0], atol=1e-15)
    np.testing.assert_array_equal(cone.contains(x, tol=1.0 + 1e-12), [True, True, True, False])


def test_dual_and_polar_come_back() -> None:
    cone = CoulombCone([0.3], d=3)
    x = points(1, 3, seed=6)
    for again in (cone.dual().dual(), cone.polar().polar(), cone.dual().polar().dual().polar()):
        np.testing.assert_array_equal(again.project(x), cone.project(x))


def test_mu_is_copied_and_read_only() -> None:
    mu = np.array([0.5])
    cone = CoulombCone(mu, d=2)
    mu[0] = 3.0
    assert cone.mu[0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        cone.mu[0] = 1.0


@pytest.mark.parametrize("bad", [-0.1, np.inf])
def test_friction_out_of_range_is_refused(bad: float) -> None:
    with pytest.raises(ProblemError, match=r"mu of contact 1 must be finite and ≥ 0.*1e8"):
        CoulombCone([0.5, bad], d=3)


def test_other_slips_are_refused() -> None:
    with pytest.raises(ProblemError, match="mu of contact 0 is NaN"):
        DualCoulombCone([np.nan], d=3)
    with pytest.raises(ProblemError, match=r"shape \(n,\), one number per contact, got \(1, 1\)"):
        CoulombCone([[0.5]], d=3)
    with pytest.raises(ProblemError, match="d = 2 or 3 components, got d = 4"):
        CoulombCone([0.5], d=4)
    with pytest.raises(ProblemError, match=r"2 contacts: points must have shape \(2, 3\), got \(2, 2\)"):
        CoulombCone([0.5, 0.5], d=3).project(np.ones((2, 2)))
    with pytest.raises(ProblemError, match=r"must have shape \(1, 3\), got \(3,\)"):
        CoulombCone([0.5], d=3).jacobian(np.ones(3))
