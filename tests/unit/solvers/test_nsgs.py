"""Gauss-Seidel: both forms, all orders, any number of threads, one answer."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from clapas.compiled.simd import WIDTH
from clapas.errors import ProblemError, SettingsError
from clapas.problems import ContactProblem, gallery, reduce
from clapas.solvers import NSGS, AlartCurnier, Coloured, DeSaxce, Exact, Given, Shuffled, solve
from clapas.solvers.local import LocalSolver
from clapas.solvers.nsgs import Order
from clapas.solvers.nsgs.layout import arrange
from clapas.solvers.nsgs.slabs import cut, cuthill_mckee
from clapas.solvers.nsgs.structure import body_contacts
from tests.random_problems import random_global

LOCALS = [Exact(), AlartCurnier(), DeSaxce(projections=3)]
PACKING = gallery.sphere_packing(1500, seed=1).problem
PLANE_PACKING = gallery.sphere_packing(600, seed=1, d=2).problem
WALL = gallery.brick_wall(4, 4).problem


def sweeps(problem: ContactProblem, count: int = 5, **settings: object) -> np.ndarray:
    """Impulses after some sweeps from a non-zero guess."""
    guess = np.abs(np.random.default_rng(0).normal(size=(problem.n_contacts, problem.d))) * 1e-3
    iteration = NSGS(**settings).start(problem, guess)  # type: ignore[arg-type]
    iteration.advance(count)
    return iteration.impulses()


def assert_close(a: np.ndarray, b: np.ndarray, tol: float = 1e-9) -> None:
    assert np.abs(a - b).max() <= tol * np.abs(b).max()


@pytest.mark.parametrize("local", LOCALS, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("order", [Given(), Shuffled(seed=3)], ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("problem", [random_global(1, n=12, d=3), random_global(2, n=12, d=2), PACKING, WALL])
def test_both_forms_agree_to_rounding(problem: ContactProblem, order: Order, local: LocalSolver) -> None:
    settings = {"order": order, "local": local}
    assert_close(sweeps(problem, form="bodies", **settings), sweeps(problem, form="delassus", **settings))


@pytest.mark.parametrize("local", LOCALS, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("problem", [PACKING, PLANE_PACKING, WALL], ids=["spheres", "discs", "wall"])
def test_blocks_do_what_a_sequential_sweep_in_their_order_does(
    problem: ContactProblem, local: LocalSolver
) -> None:
    """The vector kernel against the scalar one, visiting the contacts in the blocked order."""
    contacts = body_contacts(problem)
    assert contacts is not None
    blocks = arrange(contacts.bodies, contacts.n_bodies)
    slab = np.searchsorted(blocks.bounds, blocks.place // WIDTH, side="right") - 1
    order = np.lexsort((blocks.place, slab // 2, slab % 2))  # even slabs first
    permuted = permute(problem, order)
    guess = np.abs(np.random.default_rng(0).normal(size=(problem.n_contacts, problem.d))) * 1e-3
    vector = NSGS(order=Coloured(), form="bodies", local=local).start(problem, guess)
    scalar = NSGS(order=Given(), form="bodies", local=local).start(permuted, guess[order])
    vector.advance(4)
    scalar.advance(4)
    assert_close(vector.impulses()[order], scalar.impulses(), 1e-10)


def permute(problem: ContactProblem, order: np.ndarray) -> ContactProblem:
    rows = (order[:, None] * problem.d + np.arange(problem.d)).ravel()
    return ContactProblem(
        M=problem.M, H=problem.H[rows], f=problem.f, w=problem.w[order], mu=problem.mu[order], d=problem.d
    )


@pytest.mark.parametrize("form", ["bodies", "delassus"])
@pytest.mark.parametrize("local", LOCALS, ids=lambda s: type(s).__name__)
def test_same_bits_for_any_number_of_threads(form: str, local: LocalSolver) -> None:
    if numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip("one thread only on this machine")
    counts = sorted({1, 2, numba.config.NUMBA_NUM_THREADS})
    results = [sweeps(PACKING, form=form, local=local, order=Coloured(threads=k)) for k in counts]
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


@pytest.mark.parametrize("order", [Given(), Shuffled(), Coloured()], ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("form", ["bodies", "delassus"])
def test_all_orders_and_forms_solve_to_the_same_velocities(form: str, order: Order) -> None:
    """Impulses of a packing may differ (it is hyperstatic); velocities do not here."""
    problem = gallery.sphere_packing(300, seed=2).problem
    reference = solve(problem, NSGS(tol=1e-8, order=Given()))
    solution = solve(problem, NSGS(tol=1e-8, order=order, form=form))
    assert problem.residual(solution.r) <= 1e-8
    assert solution.residual == problem.residual(solution.r)
    scale = np.abs(problem.q).max()
    assert np.abs(solution.u - reference.u).max() < 1e-4 * scale


@pytest.mark.parametrize("relaxation", [0.7, 1.3])
@pytest.mark.parametrize("order", [Given(), Coloured()], ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("form", ["bodies", "delassus"])
def test_relaxed_sweeps_find_a_solution(form: str, order: Order, relaxation: float) -> None:
    solver = NSGS(tol=1e-7, form=form, order=order, relaxation=relaxation)
    assert solve(WALL, solver).status.is_solved


def test_reduced_problems_are_solved_on_their_blocks() -> None:
    assert solve(reduce(WALL), NSGS(tol=1e-8)).v is None


def test_warm_start_needs_fewer_sweeps() -> None:
    solver = NSGS(tol=1e-6, order=Given())
    cold = solve(PACKING, solver)
    assert solve(PACKING, solver, guess=cold).iterations == 0
    nudged = cold.r * (1 + 1e-4 * np.random.default_rng(0).normal(size=cold.r.shape))
    assert solve(PACKING, solver, guess=nudged).iterations < cold.iterations


def test_shuffled_orders_repeat_with_their_seed() -> None:
    first, again, other = (sweeps(PACKING, order=Shuffled(seed=s)) for s in (7, 7, 8))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_default_order_is_parallel_for_several_contacts_only() -> None:
    stack = gallery.box_stack(3).problem
    few, many = (
        NSGS(acceleration=0).start(problem, np.zeros((problem.n_contacts, 3))) for problem in (stack, WALL)
    )
    assert type(few).__name__ == "BodySweeps"
    assert type(many).__name__ == "BlockedSweeps"


def test_blocks_never_hold_a_body_twice_and_slabs_touch_only_neighbours() -> None:
    contacts = body_contacts(PACKING)
    assert contacts is not None
    blocks = arrange(contacts.bodies, contacts.n_bodies)
    for pair in blocks.bodies:
        moving = pair[pair < contacts.n_bodies]
        assert len(np.unique(moving)) == len(moving)
    slab = np.searchsorted(blocks.bounds, blocks.place // WIDTH, side="right") - 1
    number = np.append(blocks.number, -1)[contacts.bodies]
    for parity in (0, 1):
        mine = slab % 2 == parity
        touched: dict[int, int] = {}
        for s, body in zip(np.repeat(slab[mine], 2), number[mine].ravel(), strict=True):
            assert body < 0 or touched.setdefault(int(body), int(s)) == s
    assert len(np.unique(blocks.place)) == PACKING.n_contacts


def test_cut_respects_reach() -> None:
    low, high = np.array([0, 0, 1, 4, 5]), np.array([1, 5, 2, 6, 9])
    bounds = cut(10, low, high, 2)
    slab = np.searchsorted(bounds, np.arange(10), side="right") - 1
    assert (slab[high] - slab[low] <= 1).all()
    assert bounds[0] == 0
    assert bounds[-1] == 10


def test_numbering_brings_neighbours_together() -> None:
    rng = np.random.default_rng(0)
    shuffle = rng.permutation(200)
    number = cuthill_mckee(200, shuffle[:-1], shuffle[1:])  # a chain with scrambled names
    assert np.abs(np.diff(number[shuffle])).max() == 1


def test_bodies_form_is_refused_where_it_cannot_be() -> None:
    with pytest.raises(ProblemError, match="at most two bodies per contact"):
        solve(reduce(WALL), NSGS(form="bodies"))
    H = np.random.default_rng(0).normal(size=(3, 18))
    three_bodies = ContactProblem(M=np.eye(18), H=H, f=H[0], mu=[0.3])  # u_N = −|H_N|²: approaching
    assert solve(three_bodies, NSGS(form="bodies")).status.is_solved  # by blocks of any number of bodies


def test_bodies_of_any_size_are_found() -> None:
    problem = random_global(5, n=5, bodies=3, size=15)
    contacts = body_contacts(problem)
    assert contacts is not None
    assert contacts.G.shape == (5, 2, 3, 15)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tol": 0.0}, "tol must be positive, got 0.0"),
        ({"tol": np.nan}, "tol must be positive, got nan"),
        ({"max_iterations": -1}, "max_iterations must be at least 0"),
        ({"time_limit": 0.0}, "time_limit must be positive"),
        ({"relaxation": 2.0}, "relaxation must be between 0 and 2, got 2.0"),
        ({"form": "W"}, "form must be 'auto', 'bodies' or 'delassus', got 'W'"),
    ],
)
def test_bad_settings(settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        NSGS(**settings)  # type: ignore[arg-type]


def test_threads_must_be_positive() -> None:
    with pytest.raises(SettingsError, match="threads must be at least 1, got 0"):
        Coloured(threads=0)


def test_unknown_settings_are_a_type_error() -> None:
    with pytest.raises(TypeError, match="tolerance"):
        NSGS(tolerance=1e-8)  # type: ignore[call-arg]
