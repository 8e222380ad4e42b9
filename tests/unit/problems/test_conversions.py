"""Reduction, matrix-free products and connected components."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from clapas.problems import ContactProblem, delassus_operator, reduce, split
from tests.random_problems import random_global


def side_by_side(*problems: ContactProblem) -> ContactProblem:
    return ContactProblem(
        M=sparse.block_diag([p.M for p in problems], format="csr"),
        H=sparse.block_diag([p.H for p in problems], format="csr"),
        f=np.concatenate([p.f for p in problems]),
        w=np.concatenate([p.w for p in problems]),
        mu=np.concatenate([p.mu for p in problems]),
    )


def test_operator_is_the_matrix() -> None:
    problem = random_global(4)
    operator = delassus_operator(problem)
    np.testing.assert_allclose(operator @ np.eye(operator.shape[1]), reduce(problem).W.toarray(), atol=1e-12)


def test_reducing_twice_changes_nothing() -> None:
    reduced = reduce(random_global(4))
    assert reduce(reduced) is reduced


@pytest.mark.parametrize("reduced", [False, True])
def test_components_cover_the_problem_and_do_not_interact(reduced: bool) -> None:
    parts = [random_global(seed, n=7, bodies=2) for seed in (1, 2, 3)]
    whole = side_by_side(*parts)
    if reduced:
        whole = reduce(whole)
    components = split(whole)
    assert len(components) == 3
    assert sorted(np.concatenate([c.contacts for c in components])) == list(range(21))
    r = np.random.default_rng(0).normal(size=(21, 3))
    for component in components:
        alone = component.problem.velocity(r[component.contacts])
        np.testing.assert_allclose(alone, whole.velocity(r)[component.contacts], atol=1e-12)
        assert component.dofs.size == (0 if reduced else 12)


def test_a_body_that_touches_nothing_is_in_no_component() -> None:
    problem = ContactProblem(
        M=np.eye(4), H=[[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], f=np.ones(4), mu=[0.1]
    )
    (component,) = split(problem)
    assert component.dofs.tolist() == [0, 1, 2]


def test_split_of_nothing() -> None:
    assert split(ContactProblem(W=np.zeros((0, 0)), q=np.zeros((0, 3)), mu=[])) == []


def test_parts_of_an_asymmetric_matrix_keep_it_and_do_not_warn_again() -> None:
    block = np.diag([2.0, 1.0, 1.0]) + np.diag([0.5, 0.25], k=1)
    W = sparse.block_diag([block, 3.0 * block], format="csr")
    with pytest.warns(UserWarning, match="W is not symmetric"):
        whole = ContactProblem(W=W, q=np.arange(6.0), mu=[0.5, 0.25])
    first, second = split(whole)  # a warning would be an error
    np.testing.assert_array_equal(first.problem.W.toarray(), block)
    np.testing.assert_array_equal(second.problem.W.toarray(), 3.0 * block)
    np.testing.assert_array_equal(second.problem.q, [[3.0, 4.0, 5.0]])
    assert second.problem.mu.tolist() == [0.25]


def test_stored_zeros_join_nothing() -> None:
    W = sparse.bsr_array(
        (np.array([np.eye(2), np.zeros((2, 2)), np.zeros((2, 2)), 2.0 * np.eye(2)]), [0, 1, 0, 1], [0, 2, 4])
    )
    one, two = split(ContactProblem(W=W, q=-np.ones((2, 2)), mu=0.5))
    np.testing.assert_array_equal(one.problem.W.toarray(), np.eye(2))
    np.testing.assert_array_equal(two.problem.W.toarray(), 2.0 * np.eye(2))
