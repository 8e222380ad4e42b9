"""Enumeration against solution sets known on paper, and against random problems solved otherwise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from clapas.errors import NotSolved, ProblemError, SettingsError
from clapas.problems import ContactProblem, gallery
from clapas.solvers.enumeration import Enumeration, enumerate_solutions
from clapas.solvers.loop import solve
from clapas.solvers.nsgs import NSGS
from tests.random_problems import random_global

LONG = {"subset-sum-six", "subset-sum-six-none", "subset-sum-twelve"}
SMALL = [entry for entry in gallery.small_problems() if entry.name not in LONG]
PLANE = [entry for entry in SMALL if entry.problem.d == 2]
SPACE = [entry for entry in SMALL if entry.problem.d == 3 and entry.name != "sliding-block"]


def assert_agrees(entry: gallery.GalleryProblem) -> None:
    """The enumeration finds what the gallery lists, and nothing else."""
    found, known = enumerate_solutions(entry.problem), entry.known
    scale = max((float(np.abs(r).max(initial=0.0)) for r in known.samples), default=1.0) or 1.0
    assert found.exists is known.exists
    assert bool(found.continua) == (known.continuum is not None)
    assert len(found.isolated) == len(known.solutions)
    for r in found.points:
        assert entry.problem.residual(r) < 1e-8
        assert entry.recognises(r, 1e-6) is True, r
    for r in known.samples:
        assert found.contains(r, 1e-7 * scale), r


@pytest.mark.parametrize("entry", PLANE, ids=lambda entry: entry.name)
def test_gallery_in_the_plane(entry: gallery.GalleryProblem):
    assert_agrees(entry)
    assert enumerate_solutions(entry.problem).complete


@pytest.mark.parametrize("slope", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("mu", [0.0, 0.5, 5.0])
@pytest.mark.parametrize("g", [1.0, -1.0, 0.0])
@pytest.mark.parametrize("u0", [1.0, 0.0, -0.2])
def test_painleve_in_all_regions(slope: float, mu: float, g: float, u0: float):
    assert_agrees(gallery.painleve_rod(math.atan(slope), mu, u0, g))


@pytest.mark.parametrize("total", [1, 2, 3, 4, 5, 8])
def test_subset_sums(total: int):
    assert_agrees(gallery.subset_sum((1, 3, 3), total))


def test_eight_contacts_are_pruned():
    assert_agrees(gallery.get("subset-sum-six"))


@pytest.mark.parametrize("entry", SPACE, ids=lambda entry: entry.name)
def test_gallery_in_space(entry: gallery.GalleryProblem):
    found = enumerate_solutions(entry.problem)
    assert found.exists is True
    scale = max((float(np.abs(r).max(initial=0.0)) for r in entry.known.samples), default=1.0) or 1.0
    for r in found.points:
        assert entry.problem.residual(r) < 1e-8
        assert entry.recognises(r, 1e-5) is not False, r
    for r in entry.known.samples:
        assert found.contains(r, 1e-6 * scale), r


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_random_problems_have_the_solution_that_sweeps_find(d: int, seed: int):
    problem = random_global(seed, n=3, bodies=3, d=d)
    swept = solve(problem, NSGS(tol=1e-11, max_iterations=20_000), check=False)
    if not swept.status.is_solved:
        pytest.skip("the sweeps do not converge here")
    found = enumerate_solutions(problem)
    assert found.contains(swept.r, 1e-6 * float(np.abs(swept.r).max(initial=1.0)))


def test_sliding_block_is_a_segment_in_space():
    entry = gallery.get("sliding-block")
    found = enumerate_solutions(entry.problem, starts=16)
    assert all(entry.recognises(r, 1e-6) for r in found.points)
    assert all(found.contains(r, 1e-8) for r in entry.known.samples)
    assert [family.dimension for family in found.continua] == [1]
    assert found.continua[0].modes == ("slide",) * 4
    assert not found.isolated
    assert not found.complete


def test_rigid_square_in_words():
    family = enumerate_solutions(gallery.get("rigid-square").problem).continua[0]
    assert family.description == "1-dimensional, bounded, modes stick stick"
    np.testing.assert_allclose(np.abs(family.directions[0, :, 1]), np.sqrt(0.5), atol=1e-9)


def test_wedged_bar_is_a_ray_and_the_apex():
    found = enumerate_solutions(gallery.get("wedged-bar").problem)
    assert [family.is_bounded for family in found.continua] == [False]
    np.testing.assert_allclose(found.isolated[0], 0.0)
    assert repr(found) == "SolutionSet(1 isolated, 1 continuum, all)"


def test_without_contacts():
    found = enumerate_solutions(gallery.get("no-contact").problem)
    assert found.is_unique


def test_units_do_not_matter():
    rod = gallery.get("painleve-up-two").problem
    huge = ContactProblem(M=1e6 * rod.M, H=rod.H, f=1e3 * rod.f, w=1e-3 * rod.w, mu=rod.mu)
    small = enumerate_solutions(rod).isolated
    large = enumerate_solutions(huge).isolated
    np.testing.assert_allclose(np.array(large), 1e3 * np.array(small), rtol=1e-9)


def test_too_many_contacts():
    with pytest.raises(ProblemError, match="stops at 4 contacts in 3-D, got 8: split the problem"):
        enumerate_solutions(gallery.get("two-blocks").problem)


# ------------------------------------------------------------------------------- as a solver


def test_solver_takes_the_solution_nearest_to_the_guess():
    rod = gallery.get("painleve-up-two").problem
    solution = solve(rod, Enumeration(), guess=[[0.9, -1.7]])
    np.testing.assert_allclose(solution.r, [[1.0, -2.0]], atol=1e-12)
    assert solution.notes == ("SolutionSet(2 isolated, 0 continua, all)",)


def test_solver_proves_that_there_is_no_solution():
    with pytest.raises(NotSolved, match="NO_SOLUTION"):
        solve(gallery.get("painleve-down-none").problem, Enumeration())


def test_bad_settings():
    with pytest.raises(SettingsError, match="starts must be at least 1, got 0"):
        Enumeration(starts=0)


@pytest.mark.parametrize("mu", [1e6, 1e9, 1e12, 1e16])
def test_huge_friction_brings_no_false_solutions(mu: float):
    """Sliding would need a normal impulse below rounding; only sticking is left."""
    problem = ContactProblem(W=[[1, 0.5], [0.5, 1]], q=[[-1.0, 3.0]], mu=mu)
    found = enumerate_solutions(problem)
    np.testing.assert_allclose(found.isolated, [[[10 / 3, -14 / 3]]], rtol=1e-9)
    assert found.complete == (mu <= 1e8)
    assert solve(problem, Enumeration()).residual <= 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_with_huge_friction_nothing_is_denied_that_a_method_finds(seed: int):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(4, 4))
    problem = ContactProblem(W=root @ root.T + 0.1 * np.eye(4), q=rng.normal(size=(2, 2)), mu=1e11)
    answer = solve(problem, Enumeration(), check=False)
    assert answer.status.name != "NO_SOLUTION"
    assert all(problem.residual(r) <= 1e-7 for r in enumerate_solutions(problem).isolated)
