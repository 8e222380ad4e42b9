"""Systems in groups and a border, and the coarse problem that uses them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from clapas.bodies.trusses.generators import grid
from clapas.errors import ProblemError
from clapas.multiscale import MicroMacroLATIN, coarse
from clapas.multiscale.bordered import Bordered
from clapas.multiscale.team import pool
from clapas.statics.trusses import link_problem, module_blocks


@pytest.mark.parametrize("seed", range(4))
def test_groups_and_border_solve_the_whole(seed: int) -> None:
    random = np.random.default_rng(seed)
    group = random.integers(-1, 3, 40)
    matrix = random.standard_normal((40, 40)) * (random.random((40, 40)) < 0.4)
    apart = (group[:, None] != group) & (group[:, None] >= 0) & (group >= 0)
    matrix[apart] = 0.0
    matrix += 10.0 * np.eye(40)
    right = random.standard_normal(40)
    factor = Bordered(sparse.csc_array(matrix), group)
    expected = np.linalg.solve(matrix, right)
    np.testing.assert_allclose(factor.solve(right), expected, atol=1e-12)
    with pool(2) as share:
        np.testing.assert_array_equal(factor.solve(right, share), factor.solve(right))


def test_without_a_border_and_with_nothing_else() -> None:
    matrix = sparse.csc_array(np.diag([1.0, 2.0, 4.0]))
    for group in ([0, 0, 1], [-1, -1, -1]):
        np.testing.assert_allclose(Bordered(matrix, np.array(group)).solve(np.ones(3)), [1.0, 0.5, 0.25])


def test_a_group_that_only_its_border_holds_is_refused() -> None:
    matrix = sparse.csc_array([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(ProblemError, match="singular without its border"):
        Bordered(matrix, np.array([0, -1]))


@pytest.mark.parametrize("adapt", [False, True])
def test_a_coarse_problem_in_groups_changes_nothing(monkeypatch: pytest.MonkeyPatch, adapt: bool) -> None:
    truss = grid(8, load=160.0)
    problem, labels = link_problem(truss, "down"), module_blocks(truss, 8, 4)
    whole = MicroMacroLATIN(adapt=adapt).prepare(problem, labels)
    assert whole.coarse._groups is None
    expected = whole.run(12)
    monkeypatch.setattr(coarse, "MANY", 1)
    monkeypatch.setattr(coarse, "BORDER", 1.0)
    found = []
    for threads in (1, 2):
        cut = MicroMacroLATIN(adapt=adapt, threads=threads).prepare(problem, labels)
        assert cut.coarse._groups is not None
        found.append(cut.run(12))
    np.testing.assert_allclose(found[0].U, expected.U, atol=1e-9 * np.abs(expected.U).max())
    np.testing.assert_array_equal(found[0].U, found[1].U)


def test_two_calls_in_one_change_no_bit() -> None:
    truss = grid(4, load=600.0)
    problem, labels = link_problem(truss, "down"), module_blocks(truss, 4, 2)
    at_once, apart = (MicroMacroLATIN().prepare(problem, labels) for _ in range(2))
    at_once.iterate(7)
    apart.iterate(7, between=lambda whole: None)
    assert at_once.iterations == apart.iterations == 7
    at_once.iterate(0)
    for one, two in zip(at_once.parts, apart.parts, strict=True):
        np.testing.assert_array_equal(one.h, two.h)
        np.testing.assert_array_equal(one.t_hat, two.t_hat)
