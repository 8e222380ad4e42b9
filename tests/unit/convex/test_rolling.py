"""The cone of impulses and couples: projection against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clapas.convex import coulomb, rolling


def draw(seed: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(20, width)) * rng.choice([0.0, 1e-3, 1.0, 1e3], size=(20, width)), rng.uniform(
        0, 2, 20
    )


def inside(x: np.ndarray, mu: np.ndarray, margin: float) -> np.ndarray:
    return (rolling.sizes(x) <= rolling.coefficients(mu, x.shape[1]) * x[:, :1] + margin).all(axis=1)


@pytest.mark.parametrize("width", [3, 6])
@given(seed=st.integers(0, 10_000))
def test_projection_is_the_nearest_point(width: int, seed: int) -> None:
    """P is in K and x − p is in the polar cone, orthogonal to p (Moreau's decomposition)."""
    x, mu = draw(seed, width)
    p = rolling.project(x, mu)
    scale = 1.0 + np.abs(x).max(axis=1)
    assert inside(p, mu, 1e-12 * scale[:, None]).all()
    rest = x - p
    np.testing.assert_allclose(np.sum(rest * p, axis=1) / scale**2, 0.0, atol=1e-12)
    # Polar of K: x_N + Σ c_k |x_k| ≤ 0.
    support = rest[:, 0] + np.sum(rolling.coefficients(mu, width) * rolling.sizes(rest), axis=1)
    assert (support <= 1e-12 * scale).all()
    np.testing.assert_allclose(rolling.project(p, mu), p, atol=1e-12 * scale.max())


@given(seed=st.integers(0, 10_000))
def test_without_couples_it_is_the_friction_cone(seed: int) -> None:
    x, mu = draw(seed, 6)
    x[:, 3:] = 0.0
    np.testing.assert_allclose(
        rolling.project(x, mu)[:, :3], coulomb.project(x[:, :3], mu), rtol=1e-12, atol=1e-15
    )


def test_no_contact() -> None:
    for width in (3, 6):
        assert rolling.project(np.empty((0, width)), np.empty(0)).shape == (0, width)
