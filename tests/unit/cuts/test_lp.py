"""Linear programs: answers on paper, rays, rows added and deleted, warm starts, the missing package."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from clapas.cuts.lp import LinearProgram, Outcome
from clapas.errors import MissingDependency

INFINITE = np.inf


def wedge(costs: list[float]) -> LinearProgram:
    """x₁ − x₂ ≤ 1, x ≥ 0."""
    return LinearProgram(costs, [[1.0, -1.0]], [-INFINITE], [1.0], np.zeros(2), np.full(2, INFINITE))


def test_optimum_ray_and_emptiness() -> None:
    program = wedge([-1.0, 2.0])
    answer = program.solve()
    assert answer.outcome is Outcome.OPTIMAL
    np.testing.assert_allclose(answer.x, [1.0, 0.0])
    unbounded = program.solve(np.array([-1.0, 0.5]))
    assert (unbounded.outcome, unbounded.value) == (Outcome.UNBOUNDED, -INFINITE)
    np.testing.assert_allclose(unbounded.x / unbounded.x[0], [1.0, 1.0])  # along the edge of the wedge
    program.add_rows([[1.0, 1.0]], [-INFINITE], [-1.0])
    assert program.solve(np.zeros(2)).outcome is Outcome.INFEASIBLE


def test_rows_come_and_go() -> None:
    program = LinearProgram(
        -np.ones(2), [[1.0, 2.0]], [-INFINITE], [2.0], np.zeros(2), np.ones(2), simplex="dual"
    )
    np.testing.assert_allclose(program.solve().x, [1.0, 0.5])
    program.add_rows([[1.0, 1.0]], [-INFINITE], [1.2])
    assert program.solve().value == pytest.approx(-1.2)
    program.delete_rows([0, 1])
    np.testing.assert_allclose(program.solve().x, [1.0, 1.0])


def test_the_basis_names_the_vertex() -> None:
    program = LinearProgram(-np.ones(2), [[1.0, 2.0]], [-INFINITE], [2.0], np.zeros(2), np.ones(2))
    program.solve()
    low, high, row_low, row_high = program.nonbasic()
    assert (low.tolist(), high.tolist()) == ([False, False], [True, False])
    assert (row_low.tolist(), row_high.tolist()) == ([False], [True])


def test_a_warm_start_takes_fewer_pivots() -> None:
    random = np.random.default_rng(0)
    A, c = random.uniform(size=(40, 60)), -random.uniform(size=60)
    program = LinearProgram(c, A, np.full(40, -INFINITE), A.sum(axis=1) / 3.0, np.zeros(60), np.ones(60))
    program.solve()
    cold = program.pivots
    program.solve(c + 1e-3 * random.standard_normal(60))
    warm = program.pivots
    program.forget()
    program.solve()
    assert warm < cold / 2
    assert program.pivots > warm


def test_without_highs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(MissingDependency, match=r"needs the package 'highspy': pip install 'clapas\[cuts\]'"):
        wedge([0.0, 0.0])
