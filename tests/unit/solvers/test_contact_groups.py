"""Groups of contacts that always have an answer, solved in turn."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.errors import SettingsError
from clapas.problems import existence, gallery, reduce
from clapas.problems.contact import ContactProblem
from clapas.solvers import NSGS, InteriorPoint, solve
from clapas.solvers.contact_groups import ContactGroups, independent_groups


@pytest.mark.parametrize("name", ["alea-126-47", "box-stack-10", "packing-100"])
def test_every_group_has_a_solution_whatever_the_others_do(name: str) -> None:
    """Rows of H are independent in a group: n d ≤ m, and the criterion certifies it for any motion."""
    problem = gallery.get(name).problem
    W = reduce(problem).W
    groups = independent_groups(W, problem.n_contacts, problem.d, 12)
    assert sorted(np.concatenate(groups).tolist()) == list(range(problem.n_contacts))
    assert max(map(len, groups)) > 1
    for contacts in groups[:8]:
        rows = (contacts[:, None] * problem.d + np.arange(problem.d)).ravel()
        own = W.tocsr()[rows][:, rows].toarray()
        assert np.linalg.matrix_rank(own) == len(rows)
        pushed = np.random.default_rng(0).normal(size=(len(contacts), problem.d))
        assert existence.check(
            ContactProblem.from_full(own, pushed, mu=problem.mu[contacts]), quick=True
        ).exists


def test_as_many_contacts_as_bodies_can_answer() -> None:
    """A box on four corners, 12 rows for 6 degrees of freedom: at most two corners to a group."""
    problem = gallery.box_stack(1).problem
    groups = independent_groups(reduce(problem).W, problem.n_contacts, problem.d, 12)
    assert problem.n_contacts == 4
    assert max(map(len, groups)) <= 2


def test_groups_need_fewer_sweeps_than_contacts() -> None:
    problem = gallery.box_stack(2).problem
    groups, one_by_one = (solve(problem, ContactGroups(tol=1e-6, largest=k)) for k in (12, 1))
    assert groups.iterations < one_by_one.iterations
    assert "groups" in groups.method


def test_single_contacts_are_plain_sweeps() -> None:
    problem = gallery.get("alea-42-5").problem
    plain = solve(problem, NSGS(tol=1e-300, max_iterations=5, acceleration=0, form="delassus"), check=False).r
    alone = solve(problem, ContactGroups(tol=1e-12, max_iterations=5, largest=1), check=False).r
    np.testing.assert_allclose(alone, plain, rtol=1e-6, atol=1e-8 * np.abs(plain).max())


def test_another_method_inside() -> None:
    found = solve(gallery.get("alea-42-5").problem, ContactGroups(tol=1e-8, inner=InteriorPoint()))
    assert found.residual <= 1e-8


def test_settings() -> None:
    with pytest.raises(SettingsError, match="largest must be a whole number, at least 1, got 0"):
        ContactGroups(largest=0)
