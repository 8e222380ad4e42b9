"""Motions of negative stiffness of matrices with known eigenvalues, and steps down known energies."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from clapas.errors import ProblemError
from clapas.linalg.saddles import buckling_motion, definite_factor, pushed
from clapas.typing import Array


def rotated(values: list[float], seed: int = 0) -> tuple[sparse.csc_array, Array]:
    """A full matrix with these eigenvalues, and its eigenvectors."""
    size = len(values)
    vectors = np.linalg.qr(np.random.default_rng(seed).standard_normal((size, size)))[0]
    return sparse.csc_array(vectors @ np.diag(values) @ vectors.T), vectors


@pytest.mark.parametrize("lowest", [-1e-9, -1e-5, -0.3, -40.0])
def test_the_motion_of_the_lowest_eigenvalue_is_found(lowest: float) -> None:
    K, vectors = rotated([lowest, 1e-3, 0.5, *np.linspace(1.0, 3.0, 80)])
    motion = buckling_motion(K, 1e-12)
    assert motion is not None
    assert abs(motion @ vectors[:, 0]) > 0.95


@pytest.mark.parametrize("lowest", [-1e-14, 0.0, 1e-6])
def test_neutral_and_stiff_matrices_have_none(lowest: float) -> None:
    assert buckling_motion(rotated([lowest, 0.5, *np.linspace(1.0, 3.0, 80)])[0], 1e-12) is None


def test_rigid_motions_are_left_out() -> None:
    K, vectors = rotated([-0.1, 0.5, 1.0, 2.0])
    assert buckling_motion(K, 1e-12, rigid=vectors[:, :1]) is None


def test_a_double_well_is_left_to_near_its_lower_side() -> None:
    # x⁴ − 2 x² + x³/10 from its top at 0: the well at −1.04 is the lower one.
    ahead = pushed(
        lambda x: float(x[0] ** 4 - 2.0 * x[0] ** 2 + 0.1 * x[0] ** 3),
        np.zeros(1),
        np.ones(1),
        -4.0,
        1.0,
        10.0,
    )
    assert ahead is not None
    assert -2.0 < ahead[0] < -0.5


def test_an_energy_that_does_not_fall_is_not_left() -> None:
    assert pushed(lambda x: float(x[0] ** 4), np.zeros(1), np.ones(1), -1e-9, 1.0, 10.0) is None


def test_the_shift_is_below_all_eigenvalues() -> None:
    K, _ = rotated([-0.3, 0.5, 1.0, 2.0])
    assert 0.3 < definite_factor(K, 0.0, 1e-6)[1] < 3.0
    M = sparse.csc_array(np.diag([2.0, 1.0, 1.0, 1.0]))
    assert definite_factor(sparse.csc_array(np.diag([-1.0, 1.0, 1.0, 1.0])), 1e-6, 1e-6, M=M)[1] > 0.5


def test_what_no_shift_makes_definite_is_refused() -> None:
    with pytest.raises(ProblemError):
        definite_factor(sparse.csc_array((3, 3)), 0.0, 1.0, M=sparse.csc_array((3, 3)))
