"""Contacts with couples: the law, its judge and its solver."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from clapas.convex.rolling import RollingCone
from clapas.errors import ProblemError
from clapas.problems.blocks import BodyBlocks
from clapas.problems.conversions import reduce
from clapas.problems.rolling import RollingProblem
from clapas.solvers import (
    ADMM,
    NSGS,
    AcceleratedProjection,
    AlartCurnier,
    Auto,
    DeSaxce,
    DeSaxceFixedPoint,
    Extragradient,
    Haslinger,
    solve,
)
from clapas.solvers.nsgs import Coloured, Given, Shuffled
from clapas.status import Status


def packing(seed: int, d: int, n_bodies: int = 12, n_contacts: int = 30) -> RollingProblem:
    """Random contacts between bodies of unit mass, some with the ground, some lengths zero."""
    rng = np.random.default_rng(seed)
    size, width = (6, 6) if d == 3 else (3, 3)
    G = np.zeros((n_contacts, 2, width, size))
    bodies = np.empty((n_contacts, 2), dtype=np.int64)
    for i in range(n_contacts):
        a, b = rng.choice(n_bodies + 1, 2, replace=False)
        bodies[i] = a, b
        frame = np.linalg.qr(rng.normal(size=(d, d)))[0]
        for side, body in enumerate((a, b)):
            sign = 1.0 if side else -1.0
            if body == n_bodies:
                continue
            G[i, side, :d, :d] = sign * frame
            G[i, side, :d, d:] = 0.5 * rng.normal(size=(d, size - d))
            lengths = rng.choice([0.0, 0.05, 0.2], size=1 if d == 2 else 2)
            if d == 2:
                G[i, side, 2, 2] = sign * lengths[0]
            else:
                turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
                G[i, side, 3, 3:] = sign * lengths[0] * turn[0]
                G[i, side, 4:, 3:] = sign * lengths[1] * turn[1:]
    y = np.zeros((n_bodies + 1, size))
    y[:-1] = rng.normal(size=(n_bodies, size))
    blocks = BodyBlocks(G, bodies, y, np.tile(np.eye(size), (n_bodies, 1, 1)))
    problem = RollingProblem.from_blocks(blocks, mu=rng.uniform(0.0, 1.0, n_contacts))
    assert isinstance(problem, RollingProblem)
    return problem


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("seed", [0, 2, 3, 5])
@pytest.mark.parametrize(
    "settings", [{}, {"order": Shuffled(seed=1)}, {"order": Coloured()}, {"local": AlartCurnier()}]
)
def test_the_answer_obeys_every_part_of_the_law(d: int, seed: int, settings: dict[str, object]) -> None:
    problem = packing(seed, d)
    solution = solve(problem, NSGS(tol=1e-10, max_iterations=20_000, **settings))  # type: ignore[arg-type]
    r, u, mu = solution.r, solution.u, problem.mu
    assert problem.residual(r) <= 1e-10
    assert (u[:, 0] > -1e-8).all()
    assert np.abs(u[:, 0] * r[:, 0]).max() < 1e-8
    parts = ((slice(1, d), mu), (slice(2, 3) if d == 2 else slice(4, 6), 1.0), (slice(3, 4), 1.0))
    for part, c in parts[: 2 if d == 2 else 3]:
        size, speed = np.linalg.norm(r[:, part], axis=1), np.linalg.norm(u[:, part], axis=1)
        limit = c * r[:, 0]
        assert (size <= limit + 1e-8).all()
        # What slides or turns is resisted by all there is, straight against it.
        power = -np.sum(r[:, part] * u[:, part], axis=1)
        np.testing.assert_allclose(power, limit * speed, atol=1e-7)


def test_a_part_that_is_wrong_is_seen() -> None:
    """The judge looks at couples: one too large, missing or turned the wrong way is no answer."""
    problem = packing(0, 3)
    right = solve(problem, NSGS(tol=1e-10, max_iterations=20_000)).r
    turning = np.flatnonzero(np.abs(right[:, 4:]).max(axis=1) > 1e-3)
    assert len(turning) > 3
    for change in (0.0, -1.0, 1.5):
        wrong = right.copy()
        wrong[turning[0], 4:] *= change
        assert problem.residual(wrong) > 1e-6


@pytest.mark.parametrize("d", [2, 3])
def test_the_compiled_judge_is_the_judge(d: int) -> None:
    problem = packing(4, d, n_bodies=300, n_contacts=1000)
    r = np.random.default_rng(1).normal(size=(1000, problem.d))
    r[:50, 0] = 0.0
    assert problem.residual(r) * problem.free_speed == pytest.approx(
        np.linalg.norm(problem.violation(r)), rel=1e-12
    )


def test_projections_and_relaxation_reach_it_too() -> None:
    problem = packing(1, 3)
    for solver in (
        NSGS(tol=1e-7, local=DeSaxce(projections=3), max_iterations=20_000),
        NSGS(tol=1e-7, relaxation=0.8, max_iterations=20_000),
    ):
        assert solve(problem, solver).residual <= 1e-7


def test_sliding_part_holds_couples_as_loads() -> None:
    problem = packing(2, 3)
    solution = solve(problem, NSGS(tol=1e-10, max_iterations=20_000))
    plain, r = problem.sliding_part(solution.r)
    assert r.shape == (30, 3)
    np.testing.assert_allclose(plain.velocity(r), solution.u[:, :3], atol=1e-12)
    assert plain.residual(r) <= 1e-9
    assert solution.report().cone_violation < 1e-8


@pytest.mark.parametrize("d", [2, 3])
def test_no_contact(d: int) -> None:
    solution = solve(packing(0, d, n_contacts=0))
    assert solution.r.shape == (0, 3 if d == 2 else 6)
    assert solution.residual == 0.0


@pytest.mark.parametrize("d", [2, 3])
def test_the_portfolio_solves_it(d: int) -> None:
    problem = packing(3, d)
    solution = solve(problem, Auto(tol=1e-10))
    assert problem.residual(solution.r) <= 1e-10


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize(
    "solver",
    [
        AcceleratedProjection(tol=1e-7),
        Extragradient(tol=1e-5),
        DeSaxceFixedPoint(tol=1e-5),
        ADMM(tol=1e-7),
        ADMM(tol=1e-7, space="contacts"),
    ],
)
def test_projection_methods_solve_it_and_agree(d: int, solver: Any) -> None:
    """Velocities are those of Gauss-Seidel: the couple is part of the same law."""
    problem = packing(0, d)
    solution = solve(problem, solver)
    assert problem.residual(solution.r) <= solver.tol
    reference = solve(problem, NSGS(tol=1e-10, max_iterations=20_000))
    np.testing.assert_allclose(solution.u, reference.u, atol=1e-3)


@pytest.mark.parametrize("d", [3, 6])
def test_derivative_of_the_projection_on_the_cone(d: int) -> None:
    rng = np.random.default_rng(d)
    cone = RollingCone(rng.uniform(0.2, 1.5, 200), d)
    x = rng.normal(size=(200, d))
    h = 1e-6
    differences = np.stack(
        [(cone.project(x + h * e) - cone.project(x - h * e)) / (2 * h) for e in np.eye(d)], 2
    )
    close = np.abs(differences - cone.jacobian(x)).max(axis=(1, 2)) < 1e-6
    assert close.mean() > 0.98  # not where a difference crosses a kink


@pytest.mark.parametrize("d", [2, 3])
def test_contacts_without_couples_do_not_pay_for_those_with(d: int) -> None:
    """Few rolling contacts among many: the answer of all in one order, the others swept by vectors."""
    mixed = packing(7, d, n_bodies=60, n_contacts=120)
    blocks = mixed.blocks
    assert blocks is not None
    blocks.G[8:, :, d:] = 0.0  # lengths of zero
    problem = RollingProblem.from_blocks(blocks, mu=mixed.mu)
    by_vectors = solve(problem, NSGS(tol=1e-9, max_iterations=50_000))
    one_by_one = solve(problem, NSGS(tol=1e-9, max_iterations=50_000, order=Given()))
    assert "by vectors; contacts with couples one by one" in by_vectors.method
    assert "by vectors" not in one_by_one.method
    assert not by_vectors.r[8:, d:].any()
    np.testing.assert_allclose(by_vectors.u, one_by_one.u, atol=1e-6)
    plain = solve(problem, NSGS(tol=1e-9, max_iterations=50_000, acceleration=0))
    np.testing.assert_allclose(plain.u, one_by_one.u, atol=1e-6)


def test_what_gauss_seidel_cannot_reach_ends_too() -> None:
    stopped = solve(packing(3, 2), Auto(tol=1e-30), check=False)
    assert stopped.status in (Status.STALLED, Status.ALMOST_SOLVED)  # the floor of rounding is far above


def test_other_methods_say_so() -> None:
    said = "Haslinger does not take the law of these contacts (RollingCone); these do: auto, nsgs, "
    with pytest.raises(ProblemError, match=re.escape(said)):
        solve(packing(0, 2), Haslinger())


@pytest.mark.parametrize("d", [2, 3])
def test_every_form_is_the_same_problem(d: int) -> None:
    """Blocks, matrices, W, and W by blocks: one law, one answer."""
    blocks = packing(3, d)
    matrices = RollingProblem(
        M=blocks.M, H=blocks.H, f=blocks.f, w=blocks.w, mu=blocks.mu, d=blocks.d, compliance=0.0
    )
    reduced = reduce(blocks)
    full = RollingProblem.from_full(reduced.W.toarray(), reduced.q, mu=blocks.mu)
    assert isinstance(reduced, RollingProblem)
    assert repr(full) == f"RollingProblem(30 contacts in {d}-D, reduced)"
    answer = solve(blocks, NSGS(tol=1e-10))
    for problem in (matrices, reduced, full):
        assert problem.residual(answer.r) < 1e-9
        again = solve(problem, NSGS(tol=1e-10))
        np.testing.assert_allclose(again.u, answer.u, atol=1e-6)
    sliding, r = blocks.sliding_part(answer.r)
    other, same = full.sliding_part(answer.r)
    assert sliding.d == other.d == d
    np.testing.assert_array_equal(r, same)
    assert abs(sliding.residual(r) - other.residual(r)) < 1e-12


def test_joints_and_couples_in_one_problem() -> None:
    """A wheel whose axle a joint holds cannot roll: the couple has nothing to do, the impulse carries."""
    H = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.5], [0.0, 0.0, 0.1]])  # of a disc: N, T, R
    data: dict[str, Any] = {"M": np.eye(3), "H": H, "f": [0.0, 1.0, 2.0], "mu": [0.5], "d": 3}
    free = solve(RollingProblem(**data), NSGS(tol=1e-12))
    held = solve(RollingProblem(**data, J=[[0.0, 0.0, 1.0]], b=[0.0]), NSGS(tol=1e-12))
    assert free.r[0, 2] == pytest.approx(1.0)  # it turns against all the couple there is
    assert held.multipliers == pytest.approx([2.0])
    assert held.v == pytest.approx([0.0, 0.0, 0.0])


def test_sections_beside_couples_are_refused() -> None:
    with pytest.raises(ProblemError, match="contacts with couples have round friction cones"):
        RollingProblem(W=np.eye(6), q=np.zeros((1, 6)), mu=[0.5], section=[[1, -1], [0, 1], [-1, -1]])
