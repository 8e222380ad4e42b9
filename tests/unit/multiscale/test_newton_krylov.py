"""The Krylov rival gives the same displacements."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.bodies.trusses.generators import grid
from clapas.errors import ProblemError, SettingsError
from clapas.multiscale import Coulomb
from clapas.multiscale.newton_krylov import NewtonKrylov
from clapas.statics.trusses import SmallDisplacements, link_problem, module_blocks


@pytest.mark.parametrize("parts", [1, 2, 4])
def test_it_ends_where_the_direct_method_does(parts: int) -> None:
    truss = grid(8, load=160.0)
    exact = SmallDisplacements().solve(truss, "down").displacements.ravel()
    found = NewtonKrylov().solve(link_problem(truss, "down"), module_blocks(truss, 8, parts))
    assert found.residual <= 1e-8
    assert found.U == pytest.approx(exact, abs=1e-6 * np.abs(exact).max())
    assert (found.krylov_iterations == 0) == (parts == 1)


def test_what_it_refuses() -> None:
    problem, labels = link_problem(grid(4), "down"), module_blocks(grid(4), 4, 2)
    with pytest.raises(SettingsError, match="must be positive"):
        NewtonKrylov(tol=0.0)
    with pytest.raises(ProblemError, match="needs the points"):
        NewtonKrylov().solve(problem.with_(points=None), labels)
    rows = problem.n_links
    contacts = Coulomb(
        np.zeros(rows),
        *(np.zeros((rows, 1)) for _ in range(1)),
        np.ones(rows),
        *(np.zeros((rows, 1)) for _ in range(3)),
    )
    with pytest.raises(ProblemError, match="takes springs and cables"):
        NewtonKrylov().solve(problem.with_(law=contacts), labels)
