"""Wolfe's method: answers known on paper, degenerate input, least squares as an independent judge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import nnls

from clapas.convex.min_norm_point import Extreme, MinNormPoint, min_norm_point, min_norm_point_of
from clapas.errors import ProblemError, SettingsError
from clapas.typing import Array


def by_least_squares(points: Array, rays: Array) -> Array:
    """The same nearest point from min |A v − e_0| over v ≥ 0, by SciPy."""
    size = float(np.abs(points).max()) or 1.0
    top = np.concatenate((np.ones(len(points)), np.zeros(len(rays))))
    columns = np.vstack((top, np.vstack((points / size, rays)).T))
    v, _ = nnls(columns, np.eye(len(columns))[0], maxiter=1000)
    return size * columns[1:] @ v / v[: len(points)].sum()


def check(found: MinNormPoint, size: float = 1.0) -> None:
    """The decomposition is one, and is minimal."""
    np.testing.assert_allclose(found.weights @ found.points, found.x, atol=1e-12 * size)
    assert found.weights[~found.is_ray].sum() == pytest.approx(1.0, abs=1e-12)
    assert (found.weights > 0.0).all()
    assert len(found.weights) <= len(found.x) + 1


def test_a_corner_an_edge_and_a_face() -> None:
    corner = min_norm_point([[1.0, 0.0], [2.0, 1.0], [2.0, -1.0]])
    np.testing.assert_array_equal(corner.x, [1.0, 0.0])
    np.testing.assert_array_equal(corner.places, [0])
    edge = min_norm_point([[1.0, -1.0], [1.0, 3.0], [5.0, 0.0]])
    np.testing.assert_allclose(edge.x, [1.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(sorted(edge.weights), [0.25, 0.75])
    face = min_norm_point(3.0 * np.eye(3))
    np.testing.assert_allclose(face.x, np.ones(3))
    np.testing.assert_allclose(face.weights, np.ones(3) / 3.0)


def test_the_origin_inside() -> None:
    found = min_norm_point([[1.0, 1.0], [-1.0, 1.0], [0.0, -1.0], [7.0, 7.0]])
    check(found)
    assert found.distance < 1e-12


def test_one_point_and_the_origin_itself() -> None:
    assert min_norm_point([[3.0, 4.0]]).distance == 5.0
    assert min_norm_point([[0.0, 0.0]]).distance == 0.0
    assert min_norm_point([[0.0, 0.0], [1.0, 1.0]]).distance == 0.0
    assert min_norm_point([[-2.0], [3.0]]).distance < 1e-15


def test_duplicates_and_collinear_points() -> None:
    line = np.column_stack((np.linspace(-1.0, 2.0, 31), np.ones(31)))
    found = min_norm_point(np.vstack((line, line, line[:5])))
    check(found)
    np.testing.assert_allclose(found.x, [0.0, 1.0], atol=1e-14)
    nearly = line + 1e-13 * np.random.default_rng(0).standard_normal(line.shape)
    np.testing.assert_allclose(min_norm_point(nearly).x, [0.0, 1.0], atol=1e-12)


def test_rays_by_which_the_set_comes_nearer() -> None:
    """A deepest cut that is no combination of facets (Cadoux 2009, figure 7.2)."""
    found = min_norm_point([[2.0, 1.0]], rays=[[-4.0, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(found.x, [0.0, 1.0])
    np.testing.assert_array_equal(found.points, [[2.0, 1.0], [-4.0, 0.0]])
    np.testing.assert_array_equal(found.weights, [1.0, 0.5])  # counted in the ray as it was given
    np.testing.assert_array_equal(found.places, [0, 1])


def test_a_ray_does_not_come_back() -> None:
    """Figure 7.3: after the horizontal ray, rounding must not return it for ever."""
    found = min_norm_point([[3.0, 1.0], [-2.0, 1.0 / 3.0]], rays=[[-1.0, 1e-9], [0.0, 0.0]])
    check(found)
    assert found.calls < 10
    np.testing.assert_allclose(
        found.x, by_least_squares(np.array([[3.0, 1.0], [-2.0, 1 / 3]]), np.array([[-1.0, 1e-9]])), atol=1e-12
    )


@given(
    arrays(float, st.tuples(st.integers(1, 12), st.just(3)), elements=st.integers(-5, 5).map(float)),
    arrays(float, st.tuples(st.integers(0, 3), st.just(3)), elements=st.integers(-3, 3).map(float)),
)
def test_integer_points_agree_with_least_squares(points: Array, rays: Array) -> None:
    """Small integers: duplicates, coplanar points, origins on faces and inside come by themselves."""
    found = min_norm_point(points, rays)
    check(found, 10.0)
    np.testing.assert_allclose(found.x, by_least_squares(points, rays), atol=1e-7)
    np.testing.assert_array_equal(found.points, np.vstack((points, rays))[found.places])
    assert (points @ found.x >= found.x @ found.x - 1e-9).all()
    assert (rays @ found.x >= -1e-9).all()


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
def test_dimension_twenty_at_any_size(size: float) -> None:
    random = np.random.default_rng(3)
    points = size * (random.standard_normal((60, 20)) + 1.0)
    found = min_norm_point(points)
    check(found, size)
    np.testing.assert_allclose(found.x, by_least_squares(points, np.zeros((0, 20))), atol=1e-10 * size)
    assert found.gap <= 1e-12 * size * found.distance * 20


def test_points_of_very_different_lengths() -> None:
    """A far point that hardly matters must not end the method early."""
    points = np.array([[1.0, 1.0], [1.0, -1.0], [2.0, 1e8]])
    np.testing.assert_allclose(min_norm_point(points).x, [1.0, 0.0], atol=1e-9)


def test_an_oracle_in_place_of_the_list() -> None:
    random = np.random.default_rng(1)
    points = random.standard_normal((200, 8)) + 1.5
    listed = min_norm_point(points)
    asked = min_norm_point_of(lambda x: Extreme(points[np.argmin(points @ x)]), points[17])
    check(asked)
    np.testing.assert_allclose(asked.x, listed.x, atol=1e-9)
    assert asked.calls >= len(asked.weights) - 1


def test_a_ball_is_approached_and_the_gap_says_how_near() -> None:
    centre = np.array([2.0, 1.0, -1.0])

    def ball(x: Array) -> Extreme:
        return Extreme(centre - x / np.linalg.norm(x))

    found = min_norm_point_of(ball, centre + np.array([0.0, 0.0, 1.0]), max_calls=20)
    exact = centre * (1.0 - 1.0 / np.linalg.norm(centre))
    assert 0.0 < np.sum((found.x - exact) ** 2) <= found.gap
    assert found.calls <= 20


def test_a_ray_from_an_oracle() -> None:
    """The half-plane y ≥ 1, by one extreme point and two opposite rays."""

    def strip(x: Array) -> Extreme:
        if x[0] < -1e-12:
            return Extreme(np.array([5.0, 0.0]), is_ray=True)
        if x[0] > 1e-12:
            return Extreme(np.array([-5.0, 0.0]), is_ray=True)
        return Extreme(np.array([0.0, 1.0]))

    found = min_norm_point_of(strip, [9.0, 2.0])
    np.testing.assert_allclose(found.x, [0.0, 1.0], atol=1e-12)


def test_slips() -> None:
    with pytest.raises(ProblemError, match=r"points must be \(k, n\) with k ≥ 1 and rays \(l, n\)"):
        min_norm_point([[1.0, 2.0]], rays=[[1.0, 2.0, 3.0]])
    with pytest.raises(ProblemError, match="got \\(1, 0\\)"):
        min_norm_point([])
    with pytest.raises(ProblemError, match="must be finite, got NaN or infinity"):
        min_norm_point([[1.0, np.nan]])
    with pytest.raises(ProblemError, match="start must be a finite vector"):
        min_norm_point_of(lambda x: Extreme(x), [np.inf])
    with pytest.raises(SettingsError, match="tol must be positive, got 0"):
        min_norm_point_of(lambda x: Extreme(x), [1.0], tol=0)
