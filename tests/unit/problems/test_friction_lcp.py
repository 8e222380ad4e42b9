"""Friction as linear complementarity: both forms in the plane, pyramids in space."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clapas.errors import ProblemError
from clapas.problems import ContactProblem, gallery
from clapas.problems.friction_lcp import FrictionLCP, polyhedral_lcp, reaction_lcp, velocity_lcp
from clapas.solvers.enumeration import enumerate_solutions
from clapas.solvers.lcp import Lemke, MixedInteger, enumerate_lcp, solve_lcp
from clapas.status import Status

PLANE = [e.name for e in gallery.small_problems() if e.problem.d == 2 and e.problem.n_contacts <= 3]


def lemke(friction: FrictionLCP) -> np.ndarray:
    return friction.impulses(solve_lcp(friction.lcp, Lemke()).z)


@pytest.mark.parametrize("name", PLANE)
def test_every_known_solution_of_the_gallery(name: str) -> None:
    """The LCP in impulses has the solutions of Coulomb's law and no others."""
    entry = gallery.get(name)
    friction = reaction_lcp(entry.problem)
    found = [friction.impulses(z) for z in enumerate_lcp(friction.lcp)]
    assert bool(found) == entry.known.exists
    for r in found:
        assert entry.recognises(r, tol=1e-6)
    for known in entry.known.solutions:
        assert any(np.abs(r - known).max() < 1e-6 * (1 + np.abs(known).max()) for r in found), known


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_the_two_forms_of_the_plane_agree(seed: int) -> None:
    """All solutions, by trying all active sets of both forms and all modes of Coulomb's law."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(4, 4))
    problem = ContactProblem(W=A @ A.T + 0.05 * np.eye(4), q=rng.normal(size=(2, 2)), mu=2 * rng.random(2))
    modes = sorted(r.round(7).tolist() for r in enumerate_solutions(problem).isolated)
    for form in (reaction_lcp, velocity_lcp):
        friction = form(problem)
        # Different multipliers may stand for the same impulses.
        found = {tuple(friction.impulses(z).ravel().round(6)) for z in enumerate_lcp(friction.lcp)}
        assert len(found) == len(modes)
        np.testing.assert_allclose(sorted(found), [np.ravel(r) for r in modes], atol=1e-5)


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_lemke_solves_random_problems_with_walls_at_rest(seed: int) -> None:
    """Stewart and Trinkle: q = −H M⁻¹ f suffices, whatever mu and W."""
    rng = np.random.default_rng(seed)
    for d in (2, 3):
        H = rng.normal(size=(4 * d, 5))
        problem = ContactProblem(M=np.eye(5), H=H, f=rng.normal(size=5), mu=rng.random(4), d=d)
        friction = polyhedral_lcp(problem, facets=6)
        solution = solve_lcp(friction.lcp, Lemke())
        assert solution.residual < 1e-8
        if d == 2:
            assert friction.residual(solution.z) < 1e-7


def test_painleve_rod_without_solution() -> None:
    """The inequalities have solutions, complementarity has none: only a search over active sets proves it."""
    friction = reaction_lcp(gallery.get("painleve-down-none").problem)
    assert solve_lcp(friction.lcp, MixedInteger(), check=False).status is Status.NO_SOLUTION
    blind = solve_lcp(friction.lcp, Lemke(), check=False)
    assert blind.status is Status.STALLED
    assert blind.ray is not None


@pytest.mark.parametrize("name", ["subset-sum-both", "subset-sum-none"])
def test_subset_sums_are_decided_exactly(name: str) -> None:
    entry = gallery.get(name)
    friction = reaction_lcp(entry.problem)
    solution = solve_lcp(friction.lcp, MixedInteger(), check=False)
    assert solution.status is (Status.SOLVED if entry.known.exists else Status.NO_SOLUTION)
    if entry.known.exists:
        assert entry.recognises(friction.impulses(solution.z), tol=1e-6)


def test_pyramids_approach_the_cone() -> None:
    """A particle that slides between the edges: the error falls as 1/k, and is reported."""
    problem = ContactProblem(W=np.eye(3), q=[[-1.0, 3.0 * np.cos(0.35), 3.0 * np.sin(0.35)]], mu=0.5)
    errors = []
    for facets in (4, 16, 64, 256):
        friction = polyhedral_lcp(problem, facets)
        solution = solve_lcp(friction.lcp, Lemke())
        assert solution.residual < 1e-10
        errors.append(friction.residual(solution.z))
        assert errors[-1] <= 0.5 * np.pi / facets
    assert errors[-1] < 0.05 * errors[0]


def test_pyramids_inside_and_around() -> None:
    """Pulled towards the middle of a face: the pyramid around holds as the cone does, that inside yields."""
    angle = np.pi / 4
    problem = ContactProblem(W=np.eye(3), q=[[-1.0, 0.45 * np.cos(angle), 0.45 * np.sin(angle)]], mu=0.5)
    exact = -problem.q
    assert np.abs(lemke(polyhedral_lcp(problem, 4, around=True)) - exact).max() < 1e-12
    assert np.linalg.norm(lemke(polyhedral_lcp(problem, 4))[0, 1:]) < 0.44


@pytest.mark.parametrize("name", ["one-open", "one-stick", "one-no-friction", "sliding-block"])
def test_pyramids_on_known_problems(name: str) -> None:
    entry = gallery.get(name)
    assert entry.recognises(lemke(polyhedral_lcp(entry.problem)), tol=1e-6)


def test_units_cancel() -> None:
    A = np.random.default_rng(1).normal(size=(4, 4))
    problem = ContactProblem(W=A @ A.T, q=np.ones((2, 2)), mu=0.3)
    other = ContactProblem(W=1e6 * A @ A.T, q=1e-3 * np.ones((2, 2)), mu=0.3)
    for form in (reaction_lcp, velocity_lcp, polyhedral_lcp):
        one, two = form(problem).lcp, form(other).lcp
        np.testing.assert_allclose(one.dense, two.dense, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(one.q, two.q, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("form", [reaction_lcp, velocity_lcp, polyhedral_lcp])
def test_no_contact(form: object) -> None:
    assert callable(form)
    friction = form(ContactProblem(W=np.empty((0, 0)), q=np.empty((0, 2)), mu=[]))
    assert friction.impulses([]).shape == (0, 2)


def test_refusals() -> None:
    space = gallery.get("one-stick").problem
    with pytest.raises(ProblemError, match="take polyhedral_lcp"):
        reaction_lcp(space)
    with pytest.raises(ProblemError, match="at least 3 facets"):
        polyhedral_lcp(space, 2)
    with pytest.raises(ProblemError, match="take reaction_lcp"):
        velocity_lcp(ContactProblem(W=np.ones((2, 2)), q=[[1.0, 0.0]], mu=0.5))
