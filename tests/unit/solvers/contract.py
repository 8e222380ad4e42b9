"""What every iterative solver promises, written once: the test files call these with their settings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clapas.problems import ContactProblem, gallery, reduce
from clapas.solvers import NSGS, Solution, solve
from clapas.solvers.loop import Solver
from clapas.status import Status
from tests.random_problems import random_global

Make = Callable[..., Solver]  # tol and other settings ↦ solver
SEEDS = (0, 2, 3, 5)


def agrees_with_gauss_seidel(make: Make, d: int, tol: float = 1e-9, close: float = 1e-5) -> None:
    """Random problems whose contacts know each other: the same impulses as Gauss-Seidel, in both forms."""
    for seed in SEEDS:
        problem = random_global(seed, n=4, bodies=4, d=d)
        reference = solve(problem, NSGS(tol=1e-13, max_iterations=100_000)).r
        for form in (problem, reduce(problem)):
            r = solve(form, make(tol=tol)).r
            assert np.abs(r - reference).max() <= close * np.abs(reference).max(), f"seed {seed}"


def knows_answers_on_paper(make: Make, tol: float = 1e-9) -> None:
    """One contact, all its modes."""
    for name in ("one-open", "one-stick", "one-slide", "one-cone-edge", "one-no-friction", "one-at-rest"):
        entry = gallery.get(name)
        solution = solve(entry.problem, make(tol=tol))
        assert entry.recognises(solution.r, tol=1e-6), name


def forgets_units(make: Make, tol: float = 1e-6, count: int | None = None) -> None:
    """The same problem in other units takes the same iterations to the same answer."""
    problem = random_global(3, n=4, bodies=4, d=3)
    reduced = reduce(problem)
    speed, mass = 1e3, 1e-5  # millimetres for metres, and so on
    other = ContactProblem(W=reduced.W.toarray() / mass, q=reduced.q * speed, mu=reduced.mu)
    solver = make(tol=tol)
    one, two = solve(reduced, solver), solve(other, solver)
    assert abs(one.iterations - two.iterations) <= max(1, one.iterations // 10)
    assert np.abs(two.r / (speed * mass) - one.r).max() <= 1e-4 * np.abs(one.r).max()


def treats_frictionless_contacts(make: Make, tol: float = 1e-9) -> None:
    """Mu = 0 everywhere: impulses are normal and u_N ⟂ r_N."""
    given = random_global(2, n=4, bodies=4, d=3)
    problem = ContactProblem(M=given.M, H=given.H, f=given.f, w=given.w, mu=np.zeros(4))
    solution = solve(problem, make(tol=tol))
    scale = np.abs(solution.r).max()
    assert np.abs(solution.r[:, 1:]).max() <= 1e-6 * scale
    assert np.abs(solution.r[:, 0] * solution.u[:, 0]).max() <= 1e-6 * scale * np.abs(problem.q).max()


def accepts_no_contact(make: Make) -> None:
    """Zero contacts, solved and startable."""
    problem = gallery.get("no-contact").problem
    assert solve(problem, make()).status is Status.SOLVED
    iteration = make().start(problem, np.zeros((0, 3)))
    assert iteration.impulses().shape == (0, 3)


def starts_from_guesses(make: Make, tol: float = 1e-8) -> None:
    """A solution given as a guess is recognised; a guess nearby spares iterations."""
    problem = random_global(3, n=4, bodies=4, d=3)
    cold = solve(problem, make(tol=tol))
    assert solve(problem, make(tol=tol), guess=cold).iterations == 0
    near = solve(problem, make(tol=100 * tol), guess=cold.r * (1 + 1e-7))
    assert near.iterations < cold.iterations


def tells_the_truth(make: Make) -> Solution:
    """No solution exists: it must not be claimed, and nothing that is not a number escapes."""
    problem = gallery.get("painleve-down-none").problem
    solution = solve(problem, make(max_iterations=60), check=False)
    assert not solution.status.is_solved
    assert np.isfinite(solution.r).all()
    assert solution.residual == problem.residual(solution.r)
    return solution
