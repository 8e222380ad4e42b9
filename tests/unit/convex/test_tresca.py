from __future__ import annotations

import numpy as np
import pytest

from clapas.convex import ConvexSet, Disc, Interval, TrescaSet
from clapas.errors import ProblemError

from .differences import around, central_differences


def test_interval() -> None:
    interval = Interval([-1.0, 0.0, -np.inf, 2.0], [1.0, np.inf, 0.0, 2.0])
    x = np.array([3.0, 3.0, 3.0, 3.0])
    np.testing.assert_array_equal(interval.project(x), [1.0, 3.0, 0.0, 2.0])
    np.testing.assert_array_equal(interval.distance(x), [2.0, 0.0, 3.0, 1.0])
    np.testing.assert_array_equal(interval.jacobian(x).ravel(), [0.0, 1.0, 0.0, 0.0])
    np.testing.assert_array_equal(interval.project(x[:, None]), interval.project(x)[:, None])


def test_interval_at_its_bounds() -> None:
    interval = Interval([-1.0, -1.0, 2.0], [1.0, 1.0, 2.0])
    x = np.array([-1.0, 1.0, 2.0])
    assert interval.contains(x).all()
    np.testing.assert_array_equal(interval.jacobian(x).ravel(), [1.0, 1.0, 0.0])


def test_disc_of_positive_zero_and_negative_radius() -> None:
    disc = Disc([1.0, 10.0, 0.0, -1.0])
    x = np.tile([3.0, 4.0], (4, 1))
    np.testing.assert_allclose(disc.project(x), [[0.6, 0.8], [3.0, 4.0], [0.0, 0.0], [0.0, 0.0]], rtol=1e-15)
    np.testing.assert_allclose(disc.distance(x), [4.0, 0.0, 5.0, np.inf], rtol=1e-15)
    np.testing.assert_array_equal(disc.contains(np.zeros((4, 2))), [True, True, True, False])
    np.testing.assert_array_equal(disc.jacobian(x)[1:], [np.eye(2), np.zeros((2, 2)), np.zeros((2, 2))])
    across = np.array([-0.8, 0.6])
    np.testing.assert_allclose(disc.jacobian(x)[0], 0.2 * np.outer(across, across), atol=1e-15)


def test_disc_with_an_infinite_radius_or_extreme_sizes() -> None:
    x = np.array([[0.0, 0.0], [1.0, 2.0], [3e200, 4e200], [3e-200, 4e-200]])
    disc = Disc([np.inf, np.inf, 1e-200, 1e200])
    found = disc.project(x)
    np.testing.assert_array_equal(found[[0, 1, 3]], x[[0, 1, 3]])
    np.testing.assert_allclose(found[2], [6e-201, 8e-201])
    assert np.isfinite(disc.jacobian(x)).all()


def test_disc_in_the_plane_is_the_interval() -> None:
    x = np.random.default_rng(1).normal(size=(50, 1))
    radius = np.full(50, 0.7)
    interval, disc = Interval(-radius, radius), Disc(radius)
    np.testing.assert_array_equal(disc.project(x), interval.project(x))
    np.testing.assert_array_equal(disc.jacobian(x), interval.jacobian(x))


@pytest.mark.parametrize("d", [2, 3])
def test_tresca_set(d: int) -> None:
    s = TrescaSet([1.0, 1.0, 1.0])
    x = np.zeros((3, d))
    x[:, 0] = [-2.0, 2.0, 2.0]
    x[:, 1] = [0.5, 0.5, -3.0]
    expected = x.copy()
    expected[0, 0], expected[2, 1] = 0.0, -1.0
    np.testing.assert_array_equal(s.project(x), expected)
    np.testing.assert_array_equal(s.distance(x), [2.0, 0.0, 2.0])


@pytest.mark.parametrize("d", [2, 3])
def test_tresca_jacobian_away_from_kinks(d: int) -> None:
    rng = np.random.default_rng(2)
    x = 2.0 * rng.normal(size=(300, d))
    threshold = rng.uniform(-0.5, 2.0, size=300)
    length = np.linalg.norm(x[:, 1:], axis=1)
    smooth = (np.abs(x[:, 0]) > 1e-3) & (np.abs(length - threshold) > 1e-3) & (length > 0.05)
    assert smooth.sum() > 200
    s = TrescaSet(threshold[smooth])
    expected = central_differences(s.project, x[smooth], 1e-5)
    np.testing.assert_allclose(s.jacobian(x[smooth]), expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    ("vector", "threshold"),
    [
        ([0.0, 0.1, 0.2], 1.0),
        ([1.0, 0.6, 0.8], 1.0),
        ([0.0, 0.6, 0.8], 1.0),
        ([0.0, 0.0, 0.0], 0.0),
        ([1.0, 0.0, 0.0], -1.0),
    ],
)
def test_tresca_jacobian_at_kinks(vector: list[float], threshold: float) -> None:
    nearby = around(np.array(vector), 1e-3, count=2000, seed=3)
    many = TrescaSet(np.full(len(nearby), threshold))
    derivatives = central_differences(many.project, nearby, 1e-7)
    here = TrescaSet([threshold]).jacobian(np.array([vector]))
    assert np.abs(derivatives - here).max(axis=(1, 2)).min() < 5e-3


def test_empty_threshold_contains_nothing() -> None:
    s = TrescaSet([-1.0])
    assert s.distance(np.zeros((1, 3)))[0] == np.inf
    assert not s.contains(np.zeros((1, 3)), tol=1e9)[0]


@pytest.mark.parametrize(
    ("empty", "d"), [(Interval([], []), 1), (Disc([]), 2), (TrescaSet([]), 3), (TrescaSet([]), 2)]
)
def test_no_contacts(empty: ConvexSet, d: int) -> None:
    assert empty.project(np.empty((0, d))).shape == (0, d)
    assert empty.jacobian(np.empty((0, d))).shape == (0, d, d)
    assert empty.distance(np.empty((0, d))).shape == (0,)


def test_slips_are_refused() -> None:
    with pytest.raises(ProblemError, match=r"interval of contact 1 is empty: lower 2.0 > upper 1.0"):
        Interval([0.0, 2.0], [1.0, 1.0])
    with pytest.raises(ProblemError, match=r"must match, got shapes \(1,\) and \(2,\)"):
        Interval([0.0], [1.0, 1.0])
    with pytest.raises(ProblemError, match=r"must have shape \(1, 1\), got \(1, 2\)"):
        Interval([0.0], [1.0]).project(np.ones((1, 2)))
    with pytest.raises(ProblemError, match="radius of contact 0 is NaN"):
        Disc([np.nan])
    with pytest.raises(ProblemError, match=r"must have shape \(2, d\), got \(3, 2\)"):
        Disc([1.0, 1.0]).project(np.ones((3, 2)))
