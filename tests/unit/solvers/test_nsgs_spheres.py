"""Sweeps between spheres against Gauss-Seidel in plain NumPy on their blocks of H."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.compiled.sharing import launch
from clapas.compiled.simd import WIDTH
from clapas.problems.blocks import frames
from clapas.problems.contact import ContactProblem
from clapas.problems.sphere_blocks import STRIDE, SphereBlocks
from clapas.solvers import NSGS, solve
from clapas.solvers.local import Exact
from clapas.solvers.nsgs.layout import arrange
from clapas.solvers.nsgs.momentum import SHARE, Leader, Momentum
from clapas.solvers.nsgs.orders import Coloured, Given
from clapas.solvers.nsgs.precision import REFUSALS, Doubts, find_sizes, is_coarse
from clapas.solvers.nsgs.spheres import SphereSweeps
from clapas.solvers.nsgs.sweeps import SweepSettings
from tests.unit.solvers import twins

N_BODIES, N_CONTACTS = 40, 90
NOTHING = np.zeros((N_CONTACTS, 3))


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


# ------------------------------------------------------------------------ momentum


def test_momentum_repeats_what_the_last_sweep_changed() -> None:
    """Each sweep starts from r + β (r − r_before): the same by hand."""
    blocks = drawn(7)
    problem = ContactProblem.from_blocks(blocks, mu=np.full(N_CONTACTS, 0.4))
    guess = np.zeros((N_CONTACTS, 3))
    led = SphereSweeps(problem, blocks, SweepSettings(Exact().part(), 1.0, 3, 1), guess)
    by_hand = SphereSweeps(problem, blocks, SweepSettings(Exact().part(), 1.0, 0, 1), guess)
    led.advance(3)
    by_hand.refresh()
    before = by_hand.r.copy()
    for j in range(3):
        now = by_hand.r.copy()
        by_hand.r += min(SHARE, j / (j + 3)) * (now - before)
        by_hand.refresh()
        by_hand.sweep(1)
        before = now
    np.testing.assert_allclose(led.impulses(), by_hand.impulses(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("order", [Given(), Coloured()], ids=["one by one", "by vectors"])
def test_one_sweep_ahead_starts_where_momentum_leads(order: Given | Coloured) -> None:
    blocks, share = drawn(8), 0.5
    problem = ContactProblem.from_blocks(blocks, mu=0.3)
    led, plain = (NSGS(acceleration=0, order=order).sweeps(problem, NOTHING, is_single=False) for _ in "ab")
    for sweeps in (led, plain):
        sweeps.refresh()
        sweeps.sweep(1)
    before = Momentum(np.array([share]), 0.0 * led.r.flatten(), 0.0 * led.y.flatten())
    led.sweep_ahead(before)
    plain.r *= 1.0 + share
    plain.y *= 1.0 + share
    plain.sweep(1)
    np.testing.assert_allclose(led.impulses(), plain.impulses(), rtol=1e-12, atol=1e-14)
    assert np.abs(led.impulses()).max() > 0.1


def test_momentum_grows_to_its_share_and_is_taken_back_where_residuals_grow() -> None:
    leader, r = Leader(), np.zeros(3)
    shares = leader.ahead(40, Momentum.none(float), r, r).shares
    np.testing.assert_allclose(shares[:3], [0.0, 1 / 4, 2 / 5])
    assert shares.max() == SHARE
    leader.watch(1e-2)
    leader.watch(1.2e-2)  # some noise is no sign
    assert leader.ahead(1, Momentum.none(float), r, r).shares[0] == SHARE
    leader.watch(3e-2)
    again = leader.ahead(40, Momentum.none(float), r, r).shares
    assert again[0] == 0.0
    assert again.max() == pytest.approx(2 * SHARE - 1)


def test_momentum_is_taken_back_where_residuals_do_not_fall() -> None:
    leader, r = Leader(), np.zeros(3)
    leader.ahead(20, Momentum.none(float), r, r)
    leader.watch(1e-2)
    leader.ahead(100, Momentum.none(float), r, r)
    leader.watch(0.99e-2)
    assert leader.ahead(40, Momentum.none(float), r, r).shares.max() == pytest.approx(2 * SHARE - 1)


def column(count: int) -> ContactProblem:
    """Columns of equal spheres on a floor, each of ``count``: weight travels through all of it."""
    bodies, many = [], 12
    for k in range(many):
        first = k * count
        bodies += [(many * count, first)] + [(first + i, first + i + 1) for i in range(count - 1)]
    x_free = np.zeros((many * count + 1, 8))
    x_free[:-1, 2], x_free[:-1, 6], x_free[:-1, 7] = -0.01, 1.0, 2.5
    normal = np.tile([0.0, 0.0, 1.0], (len(bodies), 1))
    blocks = SphereBlocks(normal, np.full((len(bodies), 2), 1.0), np.array(bodies), x_free)
    return ContactProblem.from_blocks(blocks, mu=np.full(len(bodies), 0.5))


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_momentum_saves_sweeps_where_weight_travels_far(tol: float) -> None:
    problem = column(20)
    led, plain = (
        solve(problem, NSGS(tol=tol, acceleration=depth, max_iterations=20_000)) for depth in (3, 0)
    )
    assert led.residual <= tol
    assert led.iterations < 0.5 * plain.iterations


# ------------------------------------------------------------------------ precision


def test_coarse_residuals_are_reached_in_single_precision() -> None:
    problem = column(20)
    blocks = problem.blocks
    assert isinstance(blocks, SphereBlocks)
    assert is_coarse(problem, blocks, 1e-3, np.zeros((problem.n_contacts, 3)))
    assert not is_coarse(problem, blocks, 1e-5, np.zeros((problem.n_contacts, 3)))
    settings = SweepSettings(Exact().part(), 1.0, 3, 1, 1e-3)
    assert SphereSweeps(problem, blocks, settings, np.zeros((problem.n_contacts, 3))).r.dtype == np.float32


@pytest.mark.parametrize("unit", [1e-20, 1e20], ids=["tiny", "huge"])
def test_impulses_that_singles_cannot_square_are_doubles(unit: float) -> None:
    blocks = drawn(5)
    x_free = blocks.x_free.copy()
    x_free[:, 6:] /= unit
    odd = blocks.with_free(x_free)
    assert not is_coarse(ContactProblem.from_blocks(odd, mu=np.ones(N_CONTACTS)), odd, 1e-3, NOTHING)


def test_masses_that_are_much_unlike_are_doubles() -> None:
    blocks = drawn(5)
    x_free = blocks.x_free.copy()
    x_free[0, 6] *= 1e6
    odd = blocks.with_free(x_free)
    assert not is_coarse(ContactProblem.from_blocks(odd, mu=np.ones(N_CONTACTS)), odd, 1e-3, NOTHING)


def loaded(problem: ContactProblem) -> np.ndarray:
    """Impulses that outweigh what moves millions of times: rounding of singles hides the residual."""
    guess = np.zeros((problem.n_contacts, 3))
    guess[:, 0] = 1e6  # balanced within columns: only their ends feel it
    return guess


def test_impulses_that_hide_the_residual_are_doubles() -> None:
    problem = column(20)
    blocks = problem.blocks
    assert isinstance(blocks, SphereBlocks)
    assert not is_coarse(problem, blocks, 1e-3, loaded(problem))


def test_the_precision_does_not_depend_on_the_number_of_threads() -> None:
    rng = np.random.default_rng(3)
    x, response, r = rng.random((3500, 8)), rng.random(5000), rng.standard_normal((5000, 3))
    found = np.empty((4, 5, 4))
    for k, sizes in enumerate(found):
        launch(k + 1, find_sizes, x, response, r, sizes)
        np.testing.assert_array_equal(sizes, found[0])
    last = found[0, 4]  # contacts without bodies
    assert last[0] == np.inf
    assert last[3] == pytest.approx(np.sum((response[:, None] * r)[4 * STRIDE :] ** 2), rel=1e-12)
    assert found[0, :, 0].min() == x[:, 6].min()
    assert found[0, :, 1].max() == x[:, 6].max()
    assert found[0, :, 2].max() == x[:, 7].max()


def test_sweeps_go_on_in_doubles_where_singles_are_in_doubt() -> None:
    problem = column(20)
    blocks = problem.blocks
    assert isinstance(blocks, SphereBlocks)
    settings = SweepSettings(Exact().part(), 1.0, 3, 1, 1e-3)
    sweeps = SphereSweeps(problem, blocks, settings, np.zeros((problem.n_contacts, 3)))
    assert sweeps.r.dtype == np.float32
    sweeps.r[:] = 1e6  # impulses have become large on the way
    sweeps.glance()
    before = sweeps.impulses()
    sweeps.advance(0)
    assert sweeps.r.dtype == np.float64
    np.testing.assert_allclose(sweeps.impulses(), before, rtol=1e-12, atol=1e-9)


def test_three_refusals_of_the_judge_are_serious() -> None:
    doubts = Doubts(1e-3)
    doubts.note(1e-2, 1e-7)
    for _ in range(REFUSALS):
        assert not doubts.are_serious
        doubts.note(0.9e-3, 1e-7)
    assert doubts.are_serious


@pytest.mark.parametrize("threads", [1, 2])
def test_singles_give_the_same_bits_on_any_number_of_threads(threads: int) -> None:
    problem = column(200)
    blocks = problem.blocks
    assert isinstance(blocks, SphereBlocks)
    guess = np.zeros((problem.n_contacts, 3))
    made = [
        SphereSweeps(problem, blocks, SweepSettings(Exact().part(), 1.0, 3, count, 1e-3), guess)
        for count in (1, threads)
    ]
    for sweeps in made:
        sweeps.advance(17)
    np.testing.assert_array_equal(made[0].impulses(), made[1].impulses())


def test_tiny_impulses_stay_numbers_in_single_precision() -> None:
    """Squares of tangential impulses below what singles hold in full: reciprocals are no estimates."""
    problem = column(20)
    blocks = problem.blocks
    assert isinstance(blocks, SphereBlocks)
    guess = np.zeros((problem.n_contacts, 3))
    guess[:, 1:] = np.geomspace(1e-30, 1e-16, problem.n_contacts)[:, None]
    sweeps = SphereSweeps(problem, blocks, SweepSettings(Exact().part(), 1.0, 3, 1, 1e-3), guess)
    for _ in range(4):
        sweeps.advance(2)
        assert np.isfinite(sweeps.impulses()).all()
        assert sweeps.glance() == pytest.approx(problem.residual(sweeps.impulses()), rel=1e-3)


def test_what_single_precision_drifts_by_is_not_led_on() -> None:
    """Velocities are computed afresh on the way; what is seen at a glance stays what the judge sees."""
    problem = column(20)
    blocks = problem.blocks
    assert isinstance(blocks, SphereBlocks)
    settings = SweepSettings(Exact().part(), 1.0, 3, 1, 1e-3)
    sweeps = SphereSweeps(problem, blocks, settings, np.zeros((problem.n_contacts, 3)))
    for _ in range(9):
        sweeps.advance(16)
        assert sweeps.r.dtype == np.float32
        assert sweeps.squares()[0] ** 0.5 / problem.free_speed == pytest.approx(
            problem.residual(sweeps.impulses()), rel=0.1, abs=1e-4
        )


@pytest.mark.parametrize("is_single", [True, False])
def test_precision_that_is_said_is_not_decided_again(is_single: bool) -> None:
    """Ranks agree on it together, and their messages have it: none may change its mind."""
    problem = column(20)
    for guess in (np.zeros((problem.n_contacts, 3)), loaded(problem)):
        sweeps = NSGS(tol=1e-3).sweeps(problem, guess, is_single=is_single)
        assert sweeps.r.dtype == (np.float32 if is_single else np.float64)
