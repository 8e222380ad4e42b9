"""Masses as full matrices of bodies, against NumPy's factors."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.errors import ProblemError
from clapas.linalg.body_masses import BodyMasses
from clapas.typing import Array

SIZES = [3, 1, 5]


def some() -> tuple[BodyMasses, list[Array]]:
    rng = np.random.default_rng(0)
    blocks = [(a := rng.normal(size=(m, m))) @ a.T + np.eye(m) for m in SIZES]
    start = np.concatenate(([0], np.cumsum(SIZES)))
    return BodyMasses(np.concatenate([block.ravel() for block in blocks]), start), blocks


def test_roots_are_those_of_each_body() -> None:
    masses, blocks = some()
    lower, inverse = masses.roots
    at = 0
    for M in blocks:
        m = len(M)
        L, R = (x[at : at + m * m].reshape(m, m) for x in (lower, inverse))
        assert np.allclose(L, np.linalg.cholesky(M), rtol=1e-13)
        assert np.allclose(R, np.linalg.inv(L).T, rtol=1e-12, atol=1e-14)
        at += m * m


def test_products_and_solutions() -> None:
    masses, _ = some()
    v = np.random.default_rng(1).normal(size=masses.n_dof)
    assert masses.matrix.toarray() == pytest.approx(masses.matrix.toarray().T)
    assert masses.solve(masses @ v) == pytest.approx(v, rel=1e-11)
    assert masses.solve(v) == pytest.approx(np.linalg.solve(masses.matrix.toarray(), v), rel=1e-11)


def test_a_mass_that_is_not_positive_is_refused_by_its_number() -> None:
    with pytest.raises(ProblemError, match="body 1 must be symmetric positive definite"):
        _ = BodyMasses(np.array([1.0, -2.0]), np.array([0, 1, 2])).roots
