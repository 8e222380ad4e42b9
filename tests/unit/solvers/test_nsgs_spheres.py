"""Sweeps between spheres against Gauss-Seidel in plain NumPy on their blocks of H."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.compiled.simd import WIDTH
from clapas.problems.blocks import frames
from clapas.problems.contact import ContactProblem
from clapas.problems.sphere_blocks import SphereBlocks
from clapas.solvers.local import Exact
from clapas.solvers.nsgs.layout import arrange
from clapas.solvers.nsgs.spheres import SphereSweeps
from clapas.solvers.nsgs.sweeps import SweepSettings
from tests.unit.solvers import twins

N_BODIES, N_CONTACTS = 40, 90


def drawn(seed: int) -> SphereBlocks:
    """Contacts between spheres drawn at random, a third of them with the ground."""
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=(N_CONTACTS, 3))
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    normal[:3] = np.vstack((np.eye(3)[2], -np.eye(3)[2], np.eye(3)[0]))  # where the tangents switch
    first = rng.integers(0, N_BODIES, N_CONTACTS)
    second = (first + rng.integers(1, N_BODIES, N_CONTACTS)) % N_BODIES
    second[::3] = N_BODIES
    x_free = np.zeros((N_BODIES + 1, 8))
    x_free[:-1, :6] = rng.normal(size=(N_BODIES, 6))
    x_free[:-1, 6:] = rng.uniform(0.5, 2.0, (N_BODIES, 2))
    return SphereBlocks(
        normal, rng.uniform(0.5, 1.0, (N_CONTACTS, 2)), np.column_stack((first, second)), x_free
    )


@pytest.mark.parametrize("relaxation", [1.0, 0.8, 1.3])
@pytest.mark.parametrize("imposed", [False, True], ids=["still", "driven"])
def test_a_sweep_is_that_of_gauss_and_seidel(imposed: bool, relaxation: float) -> None:
    blocks, rng = drawn(1), np.random.default_rng(2)
    mu = rng.choice([0.0 if relaxation == 1.0 else 0.2, 0.1, 0.5, 1.0], N_CONTACTS)
    w = rng.normal(size=(N_CONTACTS, 3)) if imposed else np.zeros((N_CONTACTS, 3))
    problem = ContactProblem.from_blocks(blocks, mu=mu, w=w if imposed else None)
    r = np.array([twins.project(x, m) for x, m in zip(rng.normal(size=(N_CONTACTS, 3)), mu, strict=True)])
    sweeps = SphereSweeps(problem, blocks, SweepSettings(Exact().part(), relaxation, 0, 1), r)
    np.testing.assert_allclose(sweeps.impulses(), r, atol=1e-14)
    sweeps.refresh()
    order = twins.visiting_order(arrange(blocks.bodies, blocks.n_bodies), WIDTH)
    for _ in range(3):
        y = blocks.y_free.copy()
        for i, pair in enumerate(blocks.bodies):
            for side, body in enumerate(pair):
                y[body] += blocks.G[i, side].T @ r[i]
        y[-1] = 0.0
        r = twins.gauss_seidel(blocks.G, blocks.bodies, y, w, mu, r, order, relaxation)
        sweeps.sweep(1)
        np.testing.assert_allclose(sweeps.impulses(), r, rtol=1e-8, atol=1e-9 * np.abs(r).max())


def test_velocities_and_spins_follow_newton() -> None:
    """At each contact m v += ± f, J ω −= ρ n × f, f the impulse in the world on body b."""
    blocks, rng = drawn(3), np.random.default_rng(4)
    problem = ContactProblem.from_blocks(blocks, mu=np.ones(N_CONTACTS))
    r = rng.normal(size=(N_CONTACTS, 3))
    sweeps = SphereSweeps(problem, blocks, SweepSettings(Exact().part(), 1.0, 0, 1), r)
    sweeps.refresh()
    expected = blocks.x_free.copy()
    f = np.einsum("nij,ni->nj", frames(blocks.normal), r)
    for i, (a, b) in enumerate(blocks.bodies):
        turning = np.cross(blocks.normal[i], f[i])
        for body, sign, rho in ((a, -1.0, blocks.reach[i, 0]), (b, 1.0, blocks.reach[i, 1])):
            expected[body, :3] += sign * expected[body, 6] * f[i]
            expected[body, 3:6] -= rho * expected[body, 7] * turning
    number = arrange(blocks.bodies, blocks.n_bodies).number
    np.testing.assert_allclose(sweeps.y[number], expected[:-1], rtol=1e-11, atol=1e-12)


def test_relaxed_sweeps_without_friction_never_pull() -> None:
    blocks, rng = drawn(1), np.random.default_rng(2)
    w = rng.normal(size=(N_CONTACTS, 3))
    problem = ContactProblem.from_blocks(blocks, mu=np.zeros(N_CONTACTS), w=w)
    r = np.zeros((N_CONTACTS, 3))
    r[:, 0] = np.abs(rng.normal(size=N_CONTACTS))
    sweeps = SphereSweeps(problem, blocks, SweepSettings(Exact().part(), 1.3, 0, 1), r)
    sweeps.refresh()
    sweeps.sweep(3)
    assert sweeps.impulses()[:, 0].min() >= -1e-14


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("imposed", [False, True], ids=["still", "driven"])
def test_a_glance_sees_what_the_judge_does(imposed: bool, threads: int) -> None:
    blocks, rng = drawn(5), np.random.default_rng(6)
    w = rng.normal(size=(N_CONTACTS, 3)) if imposed else None
    problem = ContactProblem.from_blocks(blocks, mu=rng.choice([0.0, 0.3, 2.0], N_CONTACTS), w=w)
    guess = rng.normal(size=(N_CONTACTS, 3))  # some of it outside the cones
    sweeps = SphereSweeps(problem, blocks, SweepSettings(Exact().part(), 1.0, 0, threads), guess)
    sweeps.refresh()
    for _ in range(4):
        assert sweeps.glance() == pytest.approx(problem.residual(sweeps.impulses()), rel=1e-10)
        sweeps.sweep(2)


def test_nothing_is_said_at_a_glance_where_squares_do_not_hold() -> None:
    blocks = drawn(5)
    x_free = blocks.x_free.copy()
    x_free[:, :6] *= 1e-200
    slow = blocks.with_free(x_free)
    problem = ContactProblem.from_blocks(slow, mu=np.ones(N_CONTACTS))
    guess = np.zeros((N_CONTACTS, 3))
    assert SphereSweeps(problem, slow, SweepSettings(Exact().part(), 1.0, 0, 1), guess).glance() is None
