"""Cuts from complementarity: no solution is cut off, no mode of a solution is excluded."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.cuts.complementarity import MODES, possible_modes, tighten
from clapas.problems import ContactProblem, gallery
from clapas.problems.friction_lcp import reaction_lcp
from clapas.problems.lcp import LCP
from clapas.solvers import enumerate_solutions
from clapas.solvers.lcp import solve_lcp
from clapas.solvers.lcp.mixed_integer import MixedInteger

KINDS = ("intersection", "violated", "deepest")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_solutions_satisfy_every_cut(seed: int, kind: str) -> None:
    """A positive definite matrix has one solution, found by a method that knows nothing of cuts."""
    random = np.random.default_rng(seed)
    B = random.standard_normal((6, 6))
    lcp = LCP(B @ B.T + 0.1 * np.eye(6), random.standard_normal(6))
    z = solve_lcp(lcp, MixedInteger()).z
    found = tighten(lcp, rounds=5, kind=kind)  # type: ignore[arg-type]
    assert not found.is_empty
    assert (found.rows @ z - found.right).max(initial=0.0) <= 1e-7


@pytest.mark.parametrize("kind", KINDS)
def test_cuts_prove_that_there_is_none(kind: str) -> None:
    """−x − 1 ≥ 0 is empty at once; what is called empty has no solution by an exact method either."""
    assert tighten(LCP([[-1.0]], [-1.0]), kind=kind).is_empty  # type: ignore[arg-type]
    lcp = LCP([[-1.0, 0.0], [1.0, 0.0]], [1.0, -0.5])
    found = tighten(lcp, rounds=5, kind=kind)  # type: ignore[arg-type]
    exists = solve_lcp(lcp, MixedInteger(), check=False).status.is_solved
    assert not (found.is_empty and exists)


@pytest.mark.parametrize("name", gallery.names("subset-sum")[:5])
def test_modes_of_solutions_are_kept_on_subset_sums(name: str) -> None:
    entry = gallery.get(name)
    possible = possible_modes(entry.problem)
    for r in entry.known.solutions:
        for contact, impulse in enumerate(r):
            mode = (
                MODES.index("open")
                if impulse[0] <= 1e-12
                else MODES.index("forward" if impulse[1] < 0 else "backward")
            )
            assert possible[contact, mode]


@pytest.mark.parametrize("seed", range(8))
def test_modes_of_solutions_are_kept_on_random_contacts(seed: int) -> None:
    random = np.random.default_rng(seed)
    B = random.standard_normal((6, 8))
    problem = ContactProblem(W=B @ B.T, q=random.standard_normal((3, 2)), mu=random.uniform(0.1, 2.0, 3))
    possible = possible_modes(problem)
    solutions = enumerate_solutions(problem).isolated
    assert solutions or not possible.all()
    for r in solutions:
        u = problem.W @ r.ravel() + problem.q.ravel()
        for contact, (impulse, velocity) in enumerate(zip(r, u.reshape(3, 2), strict=True)):
            if impulse[0] <= 1e-9:
                mode = "open"
            elif abs(velocity[1]) <= 1e-9:
                mode = "stick"
            else:
                mode = "forward" if velocity[1] > 0 else "backward"
            assert possible[contact, MODES.index(mode)], (r, mode)


def test_a_resting_particle_sticks_and_a_rod_has_nowhere_to_go() -> None:
    rest = ContactProblem(W=np.eye(2), q=[[-1.0, 0.0]], mu=0.5)
    assert possible_modes(rest)[0, MODES.index("stick")]
    assert not possible_modes(rest)[0, MODES.index("open")]
    rod = gallery.get("painleve-down-none").problem
    assert not possible_modes(rod).any()


def test_no_contacts() -> None:
    empty = ContactProblem(W=np.zeros((0, 0)), q=np.zeros((0, 2)), mu=np.zeros(0))
    assert possible_modes(empty).shape == (0, 4)


def test_the_letters_of_the_reaction_lcp() -> None:
    """A sliding particle: what must vanish in the mode forward does vanish in its solution."""
    friction = reaction_lcp(ContactProblem(W=np.eye(2), q=[[-1.0, 3.0]], mu=0.5))
    x = solve_lcp(friction.lcp).z
    y = friction.lcp.slack(x)
    r_N, plus, back, u_N, forth, minus = (*x, *y)
    assert r_N > 0
    assert (plus, back, u_N) == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)
    assert forth > 0
    assert minus > 0
