"""Algebra of the Lorentz cone that interior points use."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.convex.jordan import arrow, product
from clapas.solvers.interior_point import lorentz


def inside(seed: int, d: int, n: int = 20) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    x[:, 0] = np.linalg.norm(x[:, 1:], axis=1) + 10.0 ** rng.uniform(-4, 1, n)
    return x


@pytest.mark.parametrize("d", [2, 3])
def test_inverse_and_quotient_of_the_product(d: int):
    x, b = inside(0, d), np.random.default_rng(1).standard_normal((20, d))
    np.testing.assert_allclose(lorentz.arrow_inverse(x) @ arrow(x), np.tile(np.eye(d), (20, 1, 1)), atol=1e-9)
    np.testing.assert_allclose(product(x, lorentz.divide(b, x)), b, atol=1e-9)


@pytest.mark.parametrize("d", [2, 3])
def test_scaling_brings_the_pair_together(d: int):
    x, y = inside(0, d), inside(1, d)
    scaling = lorentz.scaling(x, y)
    np.testing.assert_allclose(scaling.apply(y), scaling.undo(x), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(scaling.undo(scaling.apply(x)), x, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(np.einsum("nij,nj->ni", scaling.square(), y), x, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        scaling.square() @ scaling.inverse_square(), np.tile(np.eye(d), (20, 1, 1)), atol=1e-5
    )


def test_centrality_on_the_path_and_off_it():
    # (2, 1) and its inverse times 3 are on the path x∘y = 3 e; (2, 1) and (1, 0) are not.
    x = np.array([[2.0, 1.0, 0.0]])
    assert lorentz.centrality(x, np.array([[2.0, -1.0, 0.0]])) == pytest.approx([3.0])
    assert lorentz.centrality(x, np.array([[1.0, 0.0, 0.0]]))[0] < 2.0


@pytest.mark.parametrize(
    ("x", "dx", "longest"),
    [
        ([2.0, 0.0, 0.0], [-1.0, 0.0, 0.0], 2.0),
        ([1.0, 0.0, 0.0], [0.0, 0.0, 2.0], 0.5),
        ([1.0, 0.5, 0.0], [1.0, 0.0, 0.0], np.inf),
        ([1.0, 0.0, 0.0], [-1.0, 1.0, 0.0], 0.5),
        ([1.0, 0.0, 0.0], [1.0, 1.0, 0.0], np.inf),
    ],
)
def test_longest_step(x: list[float], dx: list[float], longest: float):
    assert lorentz.longest_step(np.array([x]), np.array([dx])) == pytest.approx(longest)


def test_longest_step_of_no_contact():
    assert lorentz.longest_step(np.zeros((0, 3)), np.zeros((0, 3))) == np.inf


def test_inwards_moves_only_what_is_near_the_border():
    moved = lorentz.inwards(np.array([[3.0, 1.0], [1.0, 1.0], [-5.0, 2.0]]), 0.5)
    np.testing.assert_allclose(moved, [[3.0, 1.0], [1.5, 1.0], [2.5, 2.0]])
    assert lorentz.inside(moved)
    assert not lorentz.inside(np.array([[1.0, 1.0]]))
