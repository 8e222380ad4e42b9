"""Sweeps, conjugate gradients and LATIN."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.errors import ProblemError
from clapas.problems.gallery import elastic_rectangle
from clapas.problems.lcp import LCP
from clapas.solvers.lcp import LATIN, ConjugateProjectedGradient, GaussSeidel, LCPSolver, Lemke, solve_lcp
from clapas.status import Status
from tests.unit.solvers.lcp import families


def gauss_seidel_by_the_book(problem: LCP, sweeps: int, omega: float) -> np.ndarray:
    z = np.zeros(problem.size)
    for _ in range(sweeps):
        for i in range(problem.size):
            w = problem.dense[i] @ z + problem.q[i]
            z[i] = max(0.0, z[i] - omega * w / problem.dense[i, i])
    return z


@pytest.mark.parametrize("omega", [0.7, 1.0, 1.4])
def test_the_compiled_sweep_is_the_one_of_the_book(omega: float) -> None:
    for problem in (families.definite(1, 9), families.membrane(4)):
        method = GaussSeidel(relaxation=omega).start(problem, np.zeros(problem.size))
        method.advance(5)
        np.testing.assert_allclose(
            method.unknowns(), gauss_seidel_by_the_book(problem, 5, omega), rtol=1e-12, atol=1e-14
        )


def test_overrelaxation_pays_on_a_membrane() -> None:
    problem = families.membrane(16)
    solvers = (GaussSeidel(tol=1e-6, relaxation=omega, polish=False) for omega in (1.0, 1.7))
    plain, over = (solve_lcp(problem, solver) for solver in solvers)
    assert over.iterations < 0.4 * plain.iterations


def latin_by_the_book(problem: LCP, k: np.ndarray, steps: int) -> np.ndarray:
    """The two stages as published, with hats for the local one."""
    z_hat, w_hat = np.zeros(problem.size), np.maximum(problem.q, 0.0)
    for _ in range(steps):
        z = np.linalg.solve(problem.dense + np.diag(k), k * z_hat + w_hat - problem.q)
        s = w_hat + k * z_hat - 2.0 * k * z
        w_hat, z_hat = np.maximum(0.0, s), np.maximum(0.0, -s) / k
    return z_hat


def test_latin_is_the_one_of_the_book() -> None:
    for problem in (families.p_matrix(4, 8), families.membrane(4)):
        for direction in ("scalar", "diagonal"):
            solver = LATIN(k=0.3, direction=direction, relaxation=1.0)  # type: ignore[arg-type]
            k = 0.3 * problem.response
            k = np.full(problem.size, k.mean()) if direction == "scalar" else k
            method = solver.start(problem, np.zeros(problem.size))
            method.advance(6)
            np.testing.assert_allclose(
                method.unknowns(), latin_by_the_book(problem, k, 6), rtol=1e-9, atol=1e-12
            )


def test_conjugate_directions_end_when_nothing_is_projected() -> None:
    """All unknowns stay positive: as many steps as unknowns, at most."""
    problem = families.definite(6, 15)
    pushed = LCP(problem.dense, -problem.dense @ np.full(15, 10.0))
    assert solve_lcp(pushed, ConjugateProjectedGradient(tol=1e-9), guess=np.full(15, 9.0)).iterations <= 16


def test_refusals() -> None:
    with pytest.raises(ProblemError, match="diagonal of M, whose entry 1 is -1"):
        solve_lcp(LCP([[1.0, 0.0], [0.0, -1.0]], [-1.0, -1.0]), GaussSeidel())


@pytest.mark.parametrize("solver", [GaussSeidel(), ConjugateProjectedGradient(), LATIN()], ids=str)
def test_an_unknown_that_moves_nothing(solver: LCPSolver) -> None:
    """A zero row and column: its slack is given, its unknown free."""
    z = solve_lcp(LCP([[2.0, 0.0], [0.0, 0.0]], [-1.0, 3.0]), solver).z
    np.testing.assert_allclose(z, [0.5, 0.0])


@pytest.mark.parametrize("solver", [GaussSeidel(), ConjugateProjectedGradient()], ids=str)
def test_rotations_are_monotone(solver: LCPSolver) -> None:
    """M = [[0, 1], [−1, 0]] turns the unknowns: plain sweeps would go round for ever."""
    z = solve_lcp(LCP([[0.0, 1.0], [-1.0, 0.0]], [-2.0, 3.0]), solver).z
    np.testing.assert_allclose(z, [3.0, 2.0])


def test_gauss_seidel_says_that_it_changed_its_sweeps() -> None:
    solution = solve_lcp(families.monotone(5, 12), GaussSeidel())
    assert solution.notes == ("the plain sweeps did not contract: corrected ones were taken",)


def test_latin_looks_for_a_direction_where_a_problem_is_not_monotone() -> None:
    solution = solve_lcp(families.copositive_symmetric(3, 30), LATIN(k=0.1))
    assert "k was doubled" in solution.notes[0]


@pytest.mark.parametrize("solver", [LATIN(), GaussSeidel(), ConjugateProjectedGradient()], ids=str)
def test_iterates_that_run_away_have_a_proof_sought_early(solver: LCPSolver) -> None:
    """The way they go needs thousands of iterations to be one itself."""
    solution = solve_lcp(families.infeasible(7, 400), solver, check=False)
    assert solution.status is Status.NO_SOLUTION
    assert solution.iterations < 500


def test_polishing_is_a_choice() -> None:
    """The same iterates: the polished ones end as soon as the active set is right."""
    problem = families.membrane(16)
    plain = solve_lcp(problem, GaussSeidel(polish=False, tol=1e-6))
    fine = solve_lcp(problem, GaussSeidel(tol=1e-6))
    assert fine.iterations < plain.iterations
    np.testing.assert_allclose(fine.z, plain.z, atol=1e-5 * plain.z.max())


@pytest.mark.parametrize(
    ("solver", "printed"),
    [
        (GaussSeidel(polish=False), 182),
        (ConjugateProjectedGradient(polish=False), 41),
        (LATIN(k=0.2, relaxation=1.0, polish=False), 36),
        (LATIN(k=0.3, relaxation=1.0, polish=False), 59),
        (LATIN(k=0.5, relaxation=1.0, polish=False), 91),
        (LATIN(k=0.7, relaxation=1.0, polish=False), 127),
    ],
    ids=lambda x: str(x)[:20],
)
def test_published_iteration_counts(solver: LCPSolver, printed: int) -> None:
    """Steps to an energy distance of 1e-4 on an elastic rectangle with 26 contacts."""
    problem = elastic_rectangle()
    reference = solve_lcp(problem, Lemke(tol=1e-12)).z
    method = solver.start(problem, np.zeros(problem.size))
    steps = 0
    while problem.energy_distance(method.unknowns(), reference) > 1e-4:
        method.advance(1)
        steps += 1
    assert abs(steps - printed) <= 0.13 * printed
