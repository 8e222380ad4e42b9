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
