"""The least impulses that hold bodies at rest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clapas.errors import ProblemError, SettingsError
from clapas.problems import ContactProblem, gallery, reduce
from clapas.problems.blocks import BodyBlocks
from clapas.solvers import Auto, ProximalPoint, solve
from clapas.solvers.contact_system.bodies import KeptGraph
from clapas.solvers.least_impulses import LeastImpulses, can_rest
from clapas.status import Status


def particles(
    normals: np.ndarray, mu: float | np.ndarray, push: np.ndarray, w: np.ndarray | None = None
) -> ContactProblem:
    """One particle of unit mass in space that touches n planes of the given normals, pushed by ``push``."""
    n = len(normals)
    G = np.zeros((n, 2, 3, 3))
    for i, normal in enumerate(normals):
        first = np.linalg.svd(normal[None])[2][1:]
        G[i, 0] = np.vstack((normal, first))
    bodies = np.tile([0, 1], (n, 1))
    blocks = BodyBlocks(G, bodies, np.vstack((push, np.zeros(3))), np.eye(3)[None])
    return ContactProblem.from_blocks(blocks, mu=np.broadcast_to(mu, n), w=w)


def test_a_particle_on_a_plane() -> None:
    problem = particles(np.array([[0.0, 0.0, 1.0]]), 0.5, np.array([0.0, 0.0, -2.0]))
    solution = solve(problem, LeastImpulses(tol=1e-12))
    assert solution.r[0] == pytest.approx([2.0, 0.0, 0.0], abs=1e-12)


def test_equal_planes_share_the_load_equally() -> None:
    """Three contacts at one place: infinitely many answers, the least is a third each."""
    problem = particles(np.tile([0.0, 0.0, 1.0], (3, 1)), 0.5, np.array([0.3, 0.0, -3.0]))
    r = solve(problem, LeastImpulses(tol=1e-12)).r
    assert r[:, 0] == pytest.approx([1.0, 1.0, 1.0], abs=1e-12)
    assert np.hypot(r[:, 1], r[:, 2]) == pytest.approx([0.1, 0.1, 0.1], abs=1e-12)


@pytest.mark.parametrize("mu", [0.0, 0.2])
def test_a_wedge_with_and_without_friction(mu: float) -> None:
    """Two planes at 45°: without friction W/√2 each; with friction no more, and the sum still carries."""
    normals = np.array([[1.0, 0.0, 1.0], [-1.0, 0.0, 1.0]]) / np.sqrt(2.0)
    problem = particles(normals, mu, np.array([0.0, 0.0, -1.0]))
    solution = solve(problem, LeastImpulses(tol=1e-12))
    assert np.abs(problem.velocity(solution.r)).max() <= 1e-12
    assert (solution.r[:, 0] <= np.sqrt(0.5) + 1e-12).all()
    if mu == 0.0:
        assert solution.r[:, 0] == pytest.approx([np.sqrt(0.5)] * 2, abs=1e-12)
        assert np.abs(solution.r[:, 1:]).max() == 0.0


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_no_other_impulses_at_rest_are_smaller(seed: int) -> None:
    """Beside what another method finds, in the norm it minimises; rest is recognised in both."""
    rng = np.random.default_rng(seed)
    normals = rng.normal(size=(5, 3)) + np.array([0.0, 0.0, 1.5])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    problem = particles(normals, 0.5, np.array([*0.1 * rng.normal(size=2), -1.0]))
    least = solve(problem, LeastImpulses(tol=1e-10), check=False)
    other = solve(problem, ProximalPoint(tol=1e-10), check=False)
    if not (other.status.is_solved and np.abs(other.u).max() <= 1e-9):
        return
    assert least.status.is_solved
    size = [float(np.linalg.norm(np.sqrt(problem.response)[:, None] * s.r)) for s in (least, other)]
    assert size[0] <= size[1] * (1 + 1e-7)


@pytest.mark.parametrize("name", ["box-stack-10", "brick-wall-6-5", "pyramid-8"])
def test_structures_of_the_gallery_to_rounding(name: str) -> None:
    problem = gallery.get(name).problem
    solution = solve(problem, LeastImpulses(tol=1e-11))
    assert solution.iterations <= 15
    assert problem.residual(solution.r) == solution.residual <= 1e-11


def test_a_preload_spreads_the_load() -> None:
    """A floor and a smooth side wall: without preload the wall bears nothing, with it c/2.

    That minimises (r_N − c)² at the wall plus the square of the friction on the floor that balances it; c is
    the preload times the mean impulse of the first step, (1 + 0) / 2.
    """
    normals, mu = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]), np.array([0.5, 0.0])
    problem = particles(normals, mu, np.array([0.0, 0.0, -1.0]))
    assert solve(problem, LeastImpulses(tol=1e-12)).r[:, 0] == pytest.approx([1.0, 0.0], abs=1e-10)
    even = solve(problem, LeastImpulses(tol=1e-12, preload=0.4)).r
    assert np.abs(problem.velocity(even)).max() <= 1e-12
    assert even[1, 0] == pytest.approx(0.1, abs=1e-8)


def test_what_cannot_rest_is_not_solved() -> None:
    slides = particles(np.array([[0.0, 0.0, 1.0]]), 0.2, np.array([1.0, 0.0, -1.0]))
    solution = solve(slides, LeastImpulses(), check=False)
    assert not solution.status.is_solved
    assert np.isfinite(solution.r).all()
    flies = particles(np.array([[0.0, 0.0, 1.0]]), 0.2, np.array([0.0, 0.0, 1.0]))
    assert solve(flies, LeastImpulses()).status is Status.SOLVED  # zero impulses are the solution


def test_contacts_apart_bear_nothing_beyond_the_slack() -> None:
    normals, push = np.tile([0.0, 0.0, 1.0], (2, 1)), np.array([0.0, 0.0, -1.0])
    w = np.zeros((2, 3))
    w[1, 0] = 1e-6
    problem = particles(normals, 0.5, push, w)
    assert solve(problem, LeastImpulses(tol=1e-10)).r[:, 0] == pytest.approx([1.0, 0.0], abs=1e-12)
    both = solve(problem, LeastImpulses(tol=1e-5, slack=1e-5)).r[:, 0]
    assert both == pytest.approx([0.5, 0.5], abs=1e-9)


def test_problems_of_another_kind_are_refused() -> None:
    reduced = reduce(gallery.get("brick-wall-6-5").problem)
    driven = particles(
        np.array([[0.0, 0.0, 1.0]]), 0.5, np.array([0.0, 0.0, -1.0]), np.array([[0.0, 1.0, 0.0]])
    )
    for problem in (reduced, driven):
        assert not can_rest(problem)
        with pytest.raises(ProblemError, match="take Auto"):
            solve(problem, LeastImpulses())
        assert solve(problem, Auto()).status.is_solved
    with pytest.raises(SettingsError, match="slack"):
        LeastImpulses(slack=-1.0)
    with pytest.raises(SettingsError, match="preload"):
        LeastImpulses(preload=-1.0)


def test_a_body_that_touches_nothing_does_not_matter() -> None:
    wall = particles(np.array([[0.0, 0.0, 1.0]]), 0.5, np.array([0.0, 0.0, -1.0])).blocks
    assert wall is not None
    bodies = np.array([[0, 2]])
    y_free = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, -1.0], [0.0, 0.0, 0.0]])
    problem = ContactProblem.from_blocks(
        BodyBlocks(wall.G, bodies, y_free, np.tile(np.eye(3), (2, 1, 1))), mu=[0.5]
    )
    assert solve(problem, LeastImpulses(tol=1e-12)).r[0, 0] == pytest.approx(1.0, abs=1e-12)


def test_from_a_guess_that_is_nearly_good_one_step_finds_the_nearest_impulses() -> None:
    problem = gallery.brick_wall(6, 5).problem
    even = solve(problem, LeastImpulses(tol=1e-12, preload=0.7)).r
    guess = even * (1.0 + 1e-6 * np.random.default_rng(3).normal(size=even.shape))
    near = solve(problem, LeastImpulses(tol=1e-12, nearest=True), guess)
    assert near.status is Status.SOLVED
    assert near.iterations == 1
    assert 0.0 < np.abs(near.r - guess).max() <= 1e-5 * np.abs(even).max()
    least = solve(problem, LeastImpulses(tol=1e-12)).r  # far away: a wall has many ways to stand
    assert np.abs(least - guess).max() > 1e-2 * np.abs(even).max()


def test_the_graph_of_the_same_contacts_is_analysed_once() -> None:
    kept = KeptGraph()
    bodies = np.array([(0, 1), (1, 2), (2, 3)])
    graph = kept.of(bodies, 3, 6)
    assert kept.of(bodies.copy(), 3, 6) is graph
    assert kept.of(bodies[:2], 3, 6) is not graph
    assert kept.of(bodies, 3, 6) is not graph  # only the last is kept
