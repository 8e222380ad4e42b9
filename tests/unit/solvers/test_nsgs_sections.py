"""Sweeps over contacts whose friction is not the same in all directions."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.convex import Ellipses, Polygons
from clapas.convex.section import Section
from clapas.problems import ContactProblem, reduce
from clapas.solvers import NSGS, AcceleratedProjection, Given, Shuffled, solve
from clapas.solvers.nsgs.sections import coloured
from clapas.typing import Array, Indices

FINE = 1e-11


class Stadium:
    """A section that people bring: a disc of radius ½ drawn along the first tangent from −a to a."""

    def __init__(self, a: Array, k: int) -> None:
        self.a, self.k = a, k

    def take(self, contacts: Indices) -> Stadium:
        return Stadium(self.a[contacts], self.k)

    def project(self, x: Array, scale: Array) -> Array:
        at, ends = np.zeros_like(x), scale * self.a
        at[:, 0] = np.clip(x[:, 0], -ends, ends)
        length = np.linalg.norm(x - at, axis=1)
        shrink = np.minimum(1.0, 0.5 * scale / np.where(length > 0.0, length, 1.0))
        return np.where((shrink < 1.0)[:, None], at + shrink[:, None] * (x - at), x)

    def support(self, z: Array) -> Array:
        return self.a * np.abs(z[:, 0]) + 0.5 * np.linalg.norm(z, axis=1)

    def jacobian(self, x: Array, scale: Array) -> Array:
        raise NotImplementedError


def section_of(word: str, n: int, d: int) -> Section:
    rng = np.random.default_rng(5)
    axes, angle = rng.uniform(0.4, 1.6, (n, d - 1)), rng.uniform(-2.0, 2.0, n)
    if word == "ellipses":
        return Ellipses(axes, angle)
    if word == "polygons":
        corners = [[2.0, 0.0], [0.0, 0.5], [-0.3, 0.0], [0.0, -0.5]] if d == 3 else [[-0.5], [2.0]]
        return Polygons.same(corners, n)
    return Stadium(axes[:, 0], d - 1)


def problem_of(form: str, word: str, d: int, n: int = 6, seed: int = 2) -> ContactProblem:
    """Bodies that touch one another at random; the first two joined."""
    rng = np.random.default_rng(seed)
    sizes = [6] * 8 if form == "uniform" else [3, 7, 6, 11, 4, 6, 9, 5]
    start = np.concatenate(([0], np.cumsum(sizes)))
    M, H = np.zeros((start[-1], start[-1])), np.zeros((d * n, start[-1]))
    for k, size in enumerate(sizes):
        A = rng.normal(size=(size, size))
        M[start[k] : start[k + 1], start[k] : start[k + 1]] = A @ A.T + size * np.eye(size)
    for i in range(n):
        for k in rng.choice(len(sizes), 2, replace=False):
            H[d * i : d * i + d, start[k] : start[k + 1]] = rng.normal(size=(d, sizes[k]))
    given = {"M": M, "H": H, "f": 3.0 * rng.normal(size=start[-1]), "mu": rng.uniform(0.05, 0.6, n), "d": d}
    if form == "joints":
        J = np.zeros((2, start[-1]))
        J[:, : start[2]] = rng.normal(size=(2, start[2]))
        given |= {"J": J, "b": np.array([0.1, -0.2])}
    problem = ContactProblem(**given, section=section_of(word, n, d))
    return reduce(problem) if form == "reduced" else problem


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("form", ["uniform", "ragged", "joints", "reduced"])
@pytest.mark.parametrize("word", ["ellipses", "polygons", "by projection"])
def test_sweeps_find_what_the_projection_finds(word: str, form: str, d: int) -> None:
    problem = problem_of(form, word, d)
    found = solve(problem, NSGS(tol=FINE))
    reference = solve(problem, AcceleratedProjection(tol=FINE, max_iterations=10**6))
    assert found.residual <= FINE
    np.testing.assert_allclose(found.u, reference.u, rtol=0, atol=1e-9 * np.abs(reference.u).max())
    assert (
        "by projections" if word == "by projection" else "blocks of W" if form == "reduced" else "any size"
    ) in (found.method)


@pytest.mark.parametrize("solver", [NSGS(tol=1e-9, relaxation=0.8), NSGS(tol=1e-9, order=Shuffled(seed=3))])
@pytest.mark.parametrize("word", ["ellipses", "by projection"])
def test_settings_of_sweeps(word: str, solver: NSGS) -> None:
    problem = problem_of("ragged", word, 3)
    np.testing.assert_allclose(solve(problem, solver).u, solve(problem, NSGS(tol=1e-9)).u, atol=1e-6)


def test_round_ellipses_are_coulombs_law() -> None:
    problem = problem_of("uniform", "ellipses", 3)
    n = problem.n_contacts
    data = {"M": problem.M, "H": problem.H, "f": problem.f, "d": 3}
    two = ContactProblem(**data, mu=2.0 * problem.mu, section=None)
    one = ContactProblem(**data, mu=problem.mu, section=Ellipses.same([2.0, 2.0], n, angle=0.7))
    np.testing.assert_allclose(
        solve(one, NSGS(tol=FINE)).u, solve(two, NSGS(tol=FINE, order=Given())).u, atol=1e-9
    )


def test_frictionless_one_contact_and_none() -> None:
    for section in (Ellipses(np.array([[2.0, 0.5]])), Stadium(np.array([2.0]), 2)):
        slides = ContactProblem(W=np.eye(3), q=[[-1.0, 1.0, 0.5]], mu=[0.0], section=section)
        np.testing.assert_array_equal(solve(slides, NSGS()).r, [[1.0, 0.0, 0.0]])
        opens = ContactProblem(W=np.eye(3), q=[[1.0, 1.0, 0.5]], mu=[0.5], section=section)
        np.testing.assert_array_equal(solve(opens, NSGS()).r, [[0.0, 0.0, 0.0]])
    # Along the long axis a box resists twice as much, in closed form.
    along = ContactProblem(
        W=np.eye(3), q=[[-1.0, 3.0, 0.0]], mu=[0.5], section=Ellipses(np.array([[2.0, 0.5]]))
    )
    np.testing.assert_allclose(solve(along, NSGS(tol=1e-13)).r, [[1.0, -1.0, 0.0]], atol=1e-12)
    for none in (Ellipses(np.empty((0, 2))), Stadium(np.empty(0), 2)):
        empty = ContactProblem(W=np.empty((0, 0)), q=np.empty((0, 3)), mu=np.empty(0), d=3, section=none)
        assert solve(empty, NSGS()).r.shape == (0, 3)


def test_colours_share_no_body() -> None:
    W = reduce(problem_of("ragged", "ellipses", 3, n=30)).W
    colours = coloured(W)
    assert sorted(np.concatenate(colours).tolist()) == list(range(30))
    row = np.repeat(np.arange(30), np.diff(W.indptr))
    meets = np.zeros((30, 30), dtype=bool)
    meets[row, W.indices] = True
    for contacts in colours:
        assert not (meets[np.ix_(contacts, contacts)] & ~np.eye(len(contacts), dtype=bool)).any()
