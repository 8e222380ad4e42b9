"""Elimination of bilateral rows, alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from clapas.errors import ProblemError
from clapas.io.bilateral import eliminate


def test_untouched_rows_keep_their_bits_and_zeros() -> None:
    W = sparse.csr_array(np.diag([3.0, 1.0, 0.1, 0.7]))
    V = np.array([[1.0], [0.0], [0.0], [0.5]])
    reduced, q = eliminate(W=W, V=V, R=[[2.0]], q=np.zeros(4), s=np.array([1.0]))
    assert reduced.toarray()[1:3, 1:3].tolist() == [[1.0, 0.0], [0.0, 0.1]]
    np.testing.assert_allclose(reduced.toarray()[[0, 0, 3], [0, 3, 3]], [2.5, -0.25, 0.575])
    np.testing.assert_allclose(q, [-0.5, 0.0, 0.0, -0.25])


def test_a_joint_apart_from_the_contacts_changes_nothing() -> None:
    reduced, q = eliminate(W=np.eye(2), V=np.zeros((2, 1)), R=[[1.0]], q=np.ones(2), s=np.array([4.0]))
    assert reduced.toarray().tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert q.tolist() == [1.0, 1.0]


def test_rows_that_cannot_be_satisfied_are_refused() -> None:
    with pytest.raises(ProblemError, match="the 1 bilateral rows contradict each other"):
        eliminate(W=np.eye(2), V=np.zeros((2, 1)), R=[[0.0]], q=np.ones(2), s=np.array([4.0]))
