"""Micro-macro LATIN on contacts: same answers as other methods, geometry found again, limits."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.errors import SettingsError
from clapas.problems import ContactProblem, gallery, reduce
from clapas.solvers import MicroMacro, solve
from clapas.solvers.micro_macro import contact_links, positions
from clapas.status import Status
from tests.random_problems import random_global


def test_a_wall_stands_in_tens_of_iterations() -> None:
    wall = gallery.brick_wall(8, 6)
    solution = solve(wall.problem, MicroMacro(tol=1e-6, bodies=12, max_iterations=300))
    assert solution.status is Status.SOLVED
    assert wall.problem.residual(solution.r) <= 1e-6
    weight = 9.81 * 0.01 * wall.masses.sum()
    ground = wall.body_a < 0
    assert solution.r[ground, 0].sum() == pytest.approx(weight, rel=1e-4)
    assert "substructures" in solution.notes[0]


def test_substructures_do_not_change_the_velocities() -> None:
    problem = gallery.sphere_packing(60, seed=1).problem
    answers = [
        solve(problem, MicroMacro(tol=1e-8, bodies=bodies, max_iterations=20_000)) for bodies in (8, 1000)
    ]
    for each in answers:
        assert each.residual <= 1e-8
    scale = np.abs(problem.q).max()
    assert problem.velocity(answers[0].r) == pytest.approx(problem.velocity(answers[1].r), abs=1e-5 * scale)


@pytest.mark.parametrize("d", [2, 3])
def test_positions_are_found_again_from_the_jacobian(d: int) -> None:
    packing = gallery.sphere_packing(150, seed=2, d=d)
    blocks = packing.problem.blocks
    assert blocks is not None
    found = positions(blocks, np.linalg.inv(blocks.root))
    assert found is not None
    inner = packing.body_a >= 0
    a, b = packing.body_a[inner], packing.body_b[inner]
    apart = packing.centres[b] - packing.centres[a]
    assert found[b] - found[a] == pytest.approx(apart, abs=1e-6 * packing.radii.mean())


def test_positions_are_refused_where_loops_do_not_close() -> None:
    problem = random_global(0, n=8, bodies=4, d=3)
    blocks = problem.blocks
    assert blocks is not None
    assert positions(blocks, np.linalg.inv(blocks.root)) is None
    assert solve(problem, MicroMacro(tol=1e-6, bodies=2)).status is Status.SOLVED


def test_links_carry_the_problem() -> None:
    problem = gallery.brick_wall(2, 3).problem
    blocks = problem.blocks
    assert blocks is not None
    r = np.abs(np.random.default_rng(0).standard_normal((problem.n_contacts, 3)))
    links = contact_links(problem, blocks, r)
    y = links.F + links.B.T @ r.ravel()
    assert (links.B @ y).reshape(r.shape) == pytest.approx(problem.velocity(r), abs=1e-9)


def test_what_cannot_be_cut_is_solved_all_the_same() -> None:
    problem = random_global(1, n=3, bodies=4, d=3)
    solution = solve(reduce(problem), MicroMacro(tol=1e-6))
    assert solution.residual <= 1e-6
    single = ContactProblem(M=np.eye(3), H=np.eye(3), f=[0.0981, -1.0, 0.0], mu=0.5, d=3)
    assert solve(single, MicroMacro(tol=1e-8)).r == pytest.approx(
        np.array([[0.0981, -0.04905, 0.0]]), abs=1e-6
    )


def test_bad_settings() -> None:
    with pytest.raises(SettingsError, match="k must be positive"):
        MicroMacro(k=0.0)
    with pytest.raises(SettingsError, match="bodies must be at least 1"):
        MicroMacro(bodies=0)
    with pytest.raises(SettingsError, match="relaxation must be above 0"):
        MicroMacro(relaxation=2.0)
