"""Spheres: the geometric form against the blocks of H."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.compiled import limited_threads
from clapas.errors import ProblemError
from clapas.geometry import rotations
from clapas.problems.blocks import BodyBlocks
from clapas.problems.contact import ContactProblem
from clapas.problems.sphere_blocks import Extremes, SphereBlocks
from clapas.solvers import NSGS, Coloured, solve
from clapas.status import Status
from clapas.typing import Array

N_BODIES, N_CONTACTS = 4000, 6000  # enough for threads


def drawn(seed: int = 0) -> SphereBlocks:
    """Contacts between bodies drawn at random, some with the ground."""
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=(N_CONTACTS, 3))
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    bodies = np.sort(rng.integers(0, N_BODIES + 1, (N_CONTACTS, 2)), axis=1)
    bodies[bodies[:, 0] == bodies[:, 1], 0] = 0
    reach = rng.uniform(0.5, 1.0, (N_CONTACTS, 2))
    rows = np.zeros((N_BODIES + 1, 8))
    rows[:-1, :6] = rng.normal(size=(N_BODIES, 6))
    rows[:-1, 6:] = rng.uniform(0.5, 2.0, (N_BODIES, 2))
    return SphereBlocks(normal, reach, bodies, rows)


def as_blocks(compact: SphereBlocks) -> BodyBlocks:
    return BodyBlocks(compact.G, compact.bodies, compact.y_free, compact.root)


@pytest.fixture
def compact() -> SphereBlocks:
    return drawn(3)


def impulses(seed: int = 1) -> Array:
    return np.random.default_rng(seed).normal(size=(N_CONTACTS, 3))


def test_velocities_are_in_the_frames_of_the_bodies() -> None:
    """As for any rigid body: M v + f = Hᵀ r and u = H v hold with the H that the problem shows."""
    plain, rng = drawn(3), np.random.default_rng(5)
    turn = rng.normal(size=(N_BODIES, 4))
    turn /= np.linalg.norm(turn, axis=1)[:, None]
    turned = SphereBlocks(plain.normal, plain.reach, plain.bodies, plain.x_free, turn)
    problem, r = ContactProblem.from_blocks(turned, mu=0.3), impulses()
    v, world = problem.motion(r).reshape(-1, 6), plain.bodies_velocity(r).reshape(-1, 6)
    np.testing.assert_allclose(rotations.rotate(turn, v[:, 3:]), world[:, 3:], atol=1e-11)
    np.testing.assert_allclose(problem.H @ v.ravel(), problem.velocity(r).ravel(), atol=1e-10)
    np.testing.assert_allclose(problem.M @ v.ravel() + problem.f, problem.H.T @ r.ravel(), atol=1e-9)
    np.testing.assert_allclose(problem.velocity(r), plain.velocity(r, None), atol=1e-11)


def test_both_forms_say_the_same(compact: SphereBlocks) -> None:
    full, r, w = as_blocks(compact), impulses(), impulses(2)
    for name, arguments in {
        "velocity": (r, w),
        "free_velocity": (w,),
        "apply_delassus": (r,),
        "bodies_velocity": (r,),
        "motion": (r,),
        "local_blocks": (),
    }.items():
        np.testing.assert_allclose(
            getattr(compact, name)(*arguments), getattr(full, name)(*arguments), rtol=1e-11, atol=1e-11
        )
    np.testing.assert_allclose(compact.response, full.response, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(
        compact.pushed(r).free_velocity(w), full.pushed(r).free_velocity(w), rtol=1e-11, atol=1e-11
    )


def test_both_forms_have_one_judge(compact: SphereBlocks) -> None:
    r, w = impulses(), impulses(2)
    one, two = (ContactProblem.from_blocks(blocks, mu=0.4, w=w) for blocks in (compact, as_blocks(compact)))
    assert one.residual(r) == pytest.approx(two.residual(r), rel=1e-12)
    plain = ContactProblem(M=two.M, H=two.H, f=two.f, w=w, mu=0.4)
    assert one.residual(r) == pytest.approx(plain.residual(r), rel=1e-12)


def test_the_terms_are_no_smaller_than_their_sum(compact: SphereBlocks) -> None:
    assert np.abs(compact.free_velocity(np.zeros((N_CONTACTS, 3)))).max() <= compact.largest_term()


def test_sweeps_solve_the_problem(compact: SphereBlocks) -> None:
    problem = ContactProblem.from_blocks(compact, mu=0.3)
    solution = solve(problem, NSGS(tol=1e-8, max_iterations=3000))
    assert solution.status is Status.SOLVED
    independent = ContactProblem.from_blocks(as_blocks(compact), mu=0.3)
    assert independent.residual(solution.r) <= 2e-8


def test_the_same_sweeps_as_on_blocks(compact: SphereBlocks) -> None:
    settings = NSGS(tol=1e-14, max_iterations=7, relaxation=0.9, acceleration=0)
    one, two = (
        solve(ContactProblem.from_blocks(blocks, mu=0.3), settings, guess=impulses(5) ** 2, check=False)
        for blocks in (compact, as_blocks(compact))
    )
    np.testing.assert_allclose(one.r, two.r, rtol=1e-8, atol=1e-10)


def test_bits_do_not_depend_on_threads() -> None:
    problem = ContactProblem.from_blocks(drawn(4), mu=0.3)
    solver = NSGS(tol=1e-14, max_iterations=20, order=Coloured(threads=1))
    other = NSGS(tol=1e-14, max_iterations=20, order=Coloured(threads=2))
    one, two = (solve(problem, settings, check=False) for settings in (solver, other))
    assert np.array_equal(one.r, two.r)
    with limited_threads(2, N_CONTACTS):
        residual = problem.residual(one.r)
    with limited_threads(1, N_CONTACTS):
        assert problem.residual(one.r) == residual


def test_bad_numbers_are_refused() -> None:
    compact = drawn(0)
    compact.reach[3, 1] = np.nan
    with pytest.raises(ValueError, match="reach must be finite"):
        ContactProblem.from_blocks(compact, mu=0.3)


def test_extrapolation_saves_sweeps_on_blocks(compact: SphereBlocks) -> None:
    problem = ContactProblem.from_blocks(as_blocks(compact), mu=0.3)
    extrapolated, plain = (
        solve(problem, NSGS(tol=1e-14, max_iterations=60, acceleration=depth), check=False)
        for depth in (3, 0)
    )
    assert extrapolated.residual < 0.3 * plain.residual


@pytest.mark.parametrize("name", ["normal", "reach", "x_free"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_data_that_are_not_finite_are_named(compact: SphereBlocks, name: str, value: float) -> None:
    getattr(compact, name)[17, 1] = value
    with pytest.raises(ProblemError, match=rf"{name} must be finite.*\(1 bad"):
        ContactProblem.from_blocks(compact, mu=0.3)


def test_imposed_velocities_that_are_not_finite_are_named(compact: SphereBlocks) -> None:
    w = np.zeros((N_CONTACTS, 3))
    w[40, 2] = np.nan
    with pytest.raises(ProblemError, match="w must be finite, got nan at entry 122"):
        ContactProblem.from_blocks(compact, mu=0.3, w=w)


def test_extremes_are_those_of_the_arrays(compact: SphereBlocks) -> None:
    x = np.abs(compact.x_free)
    expected = Extremes(x[:, :3].max(), x[:, 3:6].max(), compact.reach.max(), 0.0)
    assert compact.extremes == expected
    with limited_threads(1, N_CONTACTS):
        assert drawn(3).extremes == expected


def test_velocities_asked_again_follow_the_impulses(compact: SphereBlocks) -> None:
    """Motions are kept for whoever asks next; an array that has changed since is not taken for it."""
    r = impulses()
    first = compact.bodies_velocity(r)
    r[5, 0] += 1.0
    assert not np.array_equal(compact.bodies_velocity(r), first)
    r[5, 0] -= 1.0
    np.testing.assert_array_equal(compact.bodies_velocity(impulses()), drawn(3).bodies_velocity(impulses()))


@pytest.mark.parametrize("is_compact", [True, False], ids=["spheres", "blocks"])
def test_lighter_bodies_have_the_same_law_and_free_motion(is_compact: bool) -> None:
    """As ranks need for bodies that they share: nothing is checked or measured again, nothing is wrong."""
    compact, some = drawn(3), np.arange(0, N_BODIES, 7)
    factors = np.full(len(some), 2)
    w, mu = impulses(6), np.linspace(0.0, 1.0, N_CONTACTS)
    if is_compact:
        plain = ContactProblem.from_blocks(compact, mu=mu, w=w)
        light: BodyBlocks = compact.lighter(some, factors)
    else:
        plain, root = ContactProblem.from_blocks(as_blocks(compact), mu=mu, w=w), np.ones(N_BODIES + 1)
        root[some], old = np.sqrt(2.0), as_blocks(compact)
        G = old.G * root[old.bodies][:, :, None, None]
        light = BodyBlocks(G, old.bodies, old.y_free / root[:, None], old.root * root[:-1, None, None])
    changed, afresh = plain.with_masses(light), ContactProblem.from_blocks(light, mu=mu, w=w)
    assert changed.free_speeds == pytest.approx(afresh.free_speeds, rel=1e-14)
    assert changed.residual(r := impulses()) == pytest.approx(afresh.residual(r), rel=1e-12)
    assert abs(changed.residual(r) / plain.residual(r) - 1.0) > 1e-3  # other masses, another answer
    np.testing.assert_array_equal(changed.mu, mu)
    np.testing.assert_array_equal(changed.w, w)
