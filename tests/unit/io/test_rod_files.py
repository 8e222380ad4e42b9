"""Shipped problems of rods: ill-conditioned, with a measured solution, solved by the default method."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.io import read, shipped
from clapas.solvers import Auto, solve

FILES = sorted(shipped().glob("hair-*.hdf5"))


def test_there_are_some() -> None:
    assert len(FILES) >= 10


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_default_method_solves_a_problem_of_rods(path: object) -> None:
    file = read(path)  # type: ignore[arg-type]
    assert file.solution is not None
    assert file.problem.residual(file.solution.r) <= 1e-8
    assert solve(file.problem, Auto(tol=1e-8)).residual <= 1e-8
    assert np.all(file.problem.mu == 0.2)
