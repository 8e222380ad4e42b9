"""The convex problem as a conic program, in three forms: data, multipliers, answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clapas.errors import ProblemError
from clapas.problems import ContactProblem, gallery, reduce
from clapas.solvers.backends.clarabel import Clarabel
from clapas.solvers.backends.programs import Cones, Impulses, formulation
from clapas.solvers.convex import AcceleratedGradient, ConvexProblem
from tests.random_problems import random_global

clarabel = pytest.importorskip("clarabel")
FORMS: list[Any] = ["impulses", "velocities", "norm", "linear"]


def reference(frozen: ConvexProblem) -> np.ndarray:
    method = AcceleratedGradient(max_iterations=50_000).start(frozen.contacts)
    return method.solve(frozen, np.zeros(frozen.b.shape), 1e-12).r


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("d", [2, 3])
def test_every_form_gives_the_velocities_of_the_minimum(form: Any, d: int) -> None:
    for seed in range(3):
        problem = random_global(seed, n=6, d=d)
        s = np.abs(np.random.default_rng(seed).normal(size=6))
        frozen = ConvexProblem.conic(problem, s)
        found = Clarabel(form=form).start(problem).solve(frozen, np.zeros(problem.q.shape), 1e-9)
        assert found.residual <= 1e-9
        expected = frozen.velocity(reference(frozen))
        np.testing.assert_allclose(found.u, expected, atol=1e-6 * frozen.scale)


def test_multiplier_of_the_cone_is_the_shifted_velocity() -> None:
    """Cadoux 2009, Lemma 4.24."""
    problem = random_global(4, n=4, bodies=3)
    problem = ContactProblem(M=problem.M, H=problem.H, f=problem.f, w=problem.w, mu=np.full(4, 0.5))
    frozen = ConvexProblem.conic(problem, np.full(4, 0.2))
    formulated = Impulses(problem)
    program = formulated.program(frozen)
    engine: Any = Clarabel().start(problem)
    solution = engine._run(program)
    rows = -program.A.toarray()
    shifted = formulated.scaled.to_velocities((rows.T @ np.array(solution.z)).reshape(4, 3))
    np.testing.assert_allclose(shifted, frozen.velocity(reference(frozen)), atol=1e-4 * frozen.scale)


@pytest.mark.parametrize("form", ["velocities", "norm"])
def test_multiplier_of_the_velocity_is_the_impulse(form: Any) -> None:
    """Cadoux 2009, Lemma 4.25: r itself, or r / |v + f̃| when the objective is the norm."""
    problem = random_global(2, n=3, bodies=4)  # independent contacts: r is unique
    frozen = ConvexProblem.conic(problem, np.full(3, 0.2))
    formulated = formulation(problem, form)
    engine: Any = Clarabel(form=form).start(problem)
    solution = engine._run(formulated.program(frozen))
    r = formulated.impulses(np.array(solution.x), np.array(solution.z))
    expected = reference(frozen)
    # The engine's own multipliers, not polished: good to about the root of its gap, on any processor.
    assert np.abs(r - expected).max() <= 1e-4 * np.abs(expected).max()


def test_the_linear_form_alone_is_the_quadratic_one() -> None:
    """Cadoux 2009, Lemma 4.21: without polishing, t = |G̃ᵀx|² at the end; also from W, by its eigenvectors."""
    problem = random_global(2, n=3, bodies=4)
    frozen = ConvexProblem.conic(problem, np.full(3, 0.2))
    for contacts in (problem, reduce(problem)):
        engine: Any = Clarabel(form="linear").start(contacts)
        program = engine.formulation.program(ConvexProblem.conic(contacts, np.full(3, 0.2)))
        assert program.P.nnz == 0
        solution = engine._run(program)
        y = np.array(solution.x)
        squared = float(np.sum((engine.formulation._root.T @ y[:-1]) ** 2))
        assert y[-1] == pytest.approx(squared, rel=1e-5)
        r = engine.formulation.impulses(y, np.array(solution.z))
        expected = reference(frozen)
        assert np.abs(r - expected).max() <= 1e-4 * np.abs(expected).max()


@pytest.mark.parametrize("form", ["impulses", "linear"])
@pytest.mark.parametrize("d", [2, 3])
def test_tresca(d: int, form: Any) -> None:
    for seed in range(3):
        problem = random_global(seed, n=6, d=d)
        s = np.abs(np.random.default_rng(seed).normal(size=6)) * np.array([0, 1, 1, 0, 1, 1])
        frozen = ConvexProblem.tresca(problem, s)
        found = Clarabel(form=form).start(problem).solve(frozen, np.zeros(problem.q.shape), 1e-9)
        assert found.residual <= 1e-9


def test_rows_are_sorted_by_cone() -> None:
    given = random_global(0, n=4)
    problem = ContactProblem(M=given.M, H=given.H, f=given.f, mu=[0.5, 0.0, 0.2, 0.0])
    cones = Impulses(problem).program(ConvexProblem.conic(problem, np.ones(4))).cones
    assert cones == Cones(zeros=4, rays=2, lorentz=(3, 3))


def test_velocities_need_bodies() -> None:
    with pytest.raises(ProblemError, match="needs the global form with M block diagonal"):
        formulation(reduce(gallery.get("alea-42-5").problem), "velocities")


def test_velocities_need_cones() -> None:
    problem = gallery.get("alea-42-5").problem
    method = Clarabel(form="velocities").start(problem)
    with pytest.raises(ProblemError, match="on velocities minimises over friction cones only"):
        method.solve(ConvexProblem.tresca(problem, np.ones(5)), np.zeros((5, 3)), 1e-9)
