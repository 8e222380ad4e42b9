"""Bodies that only contacts hold (M positive semidefinite), against statics on paper and against limits."""

import numpy as np
import pytest
from scipy import sparse

from clapas import NSGS, Auto, NotSolved, solve
from clapas.errors import ProblemError
from clapas.problems import ContactProblem, existence, reduce
from clapas.problems.semidefinite import singular_blocks
from clapas.solvers import ADMM, Enumeration, InteriorPoint, ProximalPoint, SemismoothNewton
from clapas.status import Status

METHODS = [
    Auto(tol=1e-9),
    NSGS(tol=1e-9),
    InteriorPoint(tol=1e-9),
    ADMM(tol=1e-9),
    ProximalPoint(tol=1e-9),
    SemismoothNewton(tol=1e-9),
]
EACH_METHOD = pytest.mark.parametrize("solver", METHODS, ids=lambda solver: type(solver).__name__)

WEIGHT, WIDTH = 10.0, 2.0


def block(push: float, height: float = 0.5, mu: float = 0.5) -> ContactProblem:
    """A rigid block without mass in the plane on its two lower corners, pushed at a height."""
    rows = [row for x in (-0.5 * WIDTH, 0.5 * WIDTH) for row in ([0.0, 1.0, x], [1.0, 0.0, 0.5])]
    load = np.array([push, -WEIGHT, -push * (height - 0.5)])
    return ContactProblem(M=np.zeros((3, 3)), H=np.array(rows), f=-load, mu=[mu, mu])


@EACH_METHOD
def test_a_block_without_mass_rests_on_two_corners(solver):
    solution = solve(block(push=2.0), solver)
    moment = 2.0 * 0.5 / WIDTH
    np.testing.assert_allclose(solution.r[:, 0], [WEIGHT / 2 - moment, WEIGHT / 2 + moment], atol=1e-7)
    assert solution.r[:, 1].sum() == pytest.approx(-2.0, abs=1e-7)
    np.testing.assert_allclose(solution.v, 0.0, atol=1e-7)
    np.testing.assert_allclose(solution.u, 0.0, atol=1e-7)


def test_the_friction_limit_of_a_block_is_exact():
    assert solve(block(push=0.5 * WEIGHT)).status is Status.SOLVED
    beyond = solve(block(push=0.501 * WEIGHT), check=False)
    assert beyond.status is Status.NO_SOLUTION
    assert any("balance the loads" in note for note in beyond.notes)


def test_the_tipping_limit_of_a_block_is_exact():
    # Pushed at its top by a little more than W b / (2 h) it turns about a corner, however rough the floor.
    assert solve(block(push=10.0, height=1.0, mu=2.0)).r[0, 0] == pytest.approx(0.0, abs=1e-6)
    assert solve(block(push=10.01, height=1.0, mu=2.0), check=False).status is Status.NO_SOLUTION


def test_failures_say_that_nothing_balances():
    with pytest.raises(NotSolved):
        solve(block(push=6.0))


def test_existence_is_equilibrium():
    held, pushed = existence.check(block(push=4.9)), existence.check(block(push=5.1))
    assert held.verdict is existence.Verdict.CERTIFIED
    assert held.r[:, 0].sum() == pytest.approx(WEIGHT)
    assert block(push=4.9).residual(held.r, held.v) < 1e-8
    assert pushed.verdict is existence.Verdict.IMPOSSIBLE
    assert "driven by them" in pushed.reason


def truss(mu: float, height: float = 1.0, load: float = 3.0, stiffness: float = 50.0) -> ContactProblem:
    """Two rafters and a tie of unit base, free in the plane, on two feet; loaded at the ridge."""
    nodes = np.array([[-0.5, 0.0], [0.5, 0.0], [0.0, height]])
    K = np.zeros((6, 6))
    for a, b in ((0, 2), (1, 2), (0, 1)):
        along = nodes[b] - nodes[a]
        length = np.linalg.norm(along)
        row = np.zeros(6)
        row[2 * a : 2 * a + 2], row[2 * b : 2 * b + 2] = -along / length, along / length
        K += stiffness / length * np.outer(row, row)
    H = np.zeros((4, 6))
    H[0, 1], H[1, 0], H[2, 3], H[3, 2] = 1.0, 1.0, 1.0, 1.0
    f = np.zeros(6)
    f[5] = load
    return ContactProblem(M=K, H=H, f=f, mu=[mu, mu])


@EACH_METHOD
def test_a_free_truss_sticks_on_rough_feet(solver):
    # The rafters push out by P/(4h): friction takes it all, the tie is idle.
    solution = solve(truss(mu=0.8), solver)
    np.testing.assert_allclose(solution.r, [[1.5, 0.75], [1.5, -0.75]], atol=1e-6)
    np.testing.assert_allclose(solution.u, 0.0, atol=1e-6)


@EACH_METHOD
def test_a_free_truss_slides_on_smooth_feet(solver):
    # Friction takes mu P/2; the rest of the thrust stretches the tie, N L / EA.
    solution = solve(truss(mu=0.2), solver)
    np.testing.assert_allclose(solution.r, [[1.5, 0.3], [1.5, -0.3]], atol=1e-6)
    stretch = (0.75 - 0.3) / 50.0
    np.testing.assert_allclose(solution.u[:, 1], [-stretch / 2, stretch / 2], atol=1e-6)


def test_solutions_are_limits_of_definite_problems():
    exact = solve(truss(mu=0.2), tol_of(1e-12))
    errors = []
    for epsilon in (1e-2, 1e-4):
        definite = truss(mu=0.2)
        definite = ContactProblem(
            M=definite.M + epsilon * np.eye(6), H=definite.H, f=definite.f, mu=[0.2] * 2
        )
        errors.append(np.abs(solve(definite, tol_of(1e-12)).v - exact.v).max())
    assert errors[1] < 0.02 * errors[0] < 1e-3


def tol_of(tol: float) -> Auto:
    return Auto(tol=tol)


@EACH_METHOD
def test_a_free_spring_is_squeezed_between_walls(solver):
    # One wall stands, the other comes in by 0.1: r = k δ at both ends.
    k, delta = 7.0, 0.1
    H = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, -1.0], [0.0, 0.0]])
    problem = ContactProblem(
        M=k * np.array([[1.0, -1.0], [-1.0, 1.0]]),
        H=H,
        f=[0.0, 0.0],
        w=[[0.0, 0.0], [-delta, 0.0]],
        mu=[0.0, 0.0],
    )
    solution = solve(problem, solver)
    np.testing.assert_allclose(solution.r[:, 0], k * delta, atol=1e-7)
    np.testing.assert_allclose(solution.v, [0.0, -delta], atol=1e-7)


def test_coordinates_with_and_without_mass_in_one_problem():
    # A mass falls at 1 m/s on a plate without mass that lies on the floor.
    H = np.array([[-1.0, 1.0], [0.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    problem = ContactProblem(M=np.diag([0.0, 2.0]), H=H, f=[0.0, 2.0], mu=[0.0, 0.0])
    solution = solve(problem)
    np.testing.assert_allclose(solution.r[:, 0], [2.0, 2.0], atol=1e-7)
    np.testing.assert_allclose(solution.v, 0.0, atol=1e-7)


def test_bodies_without_mass_in_a_joint():
    # Two plates tied together, the second pressed down by 4 N: the floor under the first carries it.
    H = np.array([[1.0, 0.0], [0.0, 0.0]])
    problem = ContactProblem(M=np.zeros((2, 2)), H=H, f=[0.0, 4.0], J=[[1.0, -1.0]], mu=[0.3])
    solution = solve(problem)
    assert solution.r[0, 0] == pytest.approx(4.0)
    np.testing.assert_allclose(solution.multipliers, [-4.0], atol=1e-6)


def test_a_block_in_space_on_four_corners():
    # Hyperstatic: only the sum and the moments are known.
    corners = [(x, y) for x in (-1.0, 1.0) for y in (-1.0, 1.0)]
    rows = []
    for x, y in corners:
        for direction in np.eye(3)[[2, 0, 1]]:
            rows.append(np.concatenate((direction, np.cross([x, y, -0.5], direction))))
    f = np.array([0.0, 0.0, 20.0, 0.0, 0.0, 0.0])
    problem = ContactProblem(M=np.zeros((6, 6)), H=np.array(rows), f=f, mu=[0.5] * 4)
    solution = solve(problem, InteriorPoint(tol=1e-10))
    assert solution.r[:, 0].sum() == pytest.approx(20.0)
    assert existence.check(problem).verdict is existence.Verdict.CERTIFIED
    assert solution.report().sticking == 4


def test_a_coordinate_that_nothing_holds():
    free = ContactProblem(M=np.zeros((3, 3)), H=np.eye(3)[:2], f=[1.0, 0.0, 0.0], mu=[0.5])
    assert solve(free).v[2] == 0.0
    driven = ContactProblem(M=np.zeros((3, 3)), H=np.eye(3)[:2], f=[1.0, 0.0, 0.1], mu=[0.5])
    assert solve(driven, check=False).status is Status.NO_SOLUTION


def test_no_contact_at_all():
    nothing = ContactProblem(M=np.zeros((2, 2)), H=np.zeros((0, 2)), f=[0.0, 0.0], mu=[], d=2)
    assert solve(nothing).status is Status.SOLVED
    loaded = ContactProblem(M=np.zeros((2, 2)), H=np.zeros((0, 2)), f=[0.0, 1.0], mu=[], d=2)
    assert solve(loaded, check=False).status is Status.NO_SOLUTION


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_units_do_not_matter(scale):
    reference, problem = truss(mu=0.2), truss(mu=0.2)
    other = ContactProblem(M=scale * problem.M, H=problem.H, f=scale * problem.f, mu=[0.2, 0.2])
    r, v = solve(reference).r, solve(reference).v
    assert other.residual(scale * r, v) == pytest.approx(reference.residual(r, v), abs=1e-12)
    np.testing.assert_allclose(solve(other).r, scale * r, rtol=1e-6)


def test_what_needs_the_inverse_of_a_singular_mass_says_why():
    problem = block(push=1.0)
    for ask in (
        lambda: reduce(problem),
        lambda: problem.q,
        lambda: problem.blocks,
        lambda: problem.motion([0] * 4),
    ):
        with pytest.raises(
            ProblemError, match=r"M is singular on the blocks of degrees of freedom \[0, 1, 2\]"
        ):
            ask()
    with pytest.raises(ProblemError, match=r"problem.residual\(r, v\)"):
        problem.residual(np.zeros((2, 2)))
    with pytest.raises(ProblemError, match=r"v has shape \(2,\), expected \(3,\)"):
        problem.residual(np.zeros((2, 2)), np.zeros(2))


def test_indefinite_masses_are_refused():
    for M in ([[1.0, 0.0], [0.0, -1.0]], [[0.0, 1.0], [1.0, 0.0]], [[1.0, 2.0], [2.0, 1.0]]):
        with pytest.raises(ProblemError, match="M must be symmetric positive semidefinite"):
            ContactProblem(M=M, H=np.eye(2), f=[1.0, 0.0], mu=[0.5])


def test_a_large_singular_block_is_recognised():
    # A chain of springs that nothing holds: one rigid motion.
    n = 200
    chain = sparse.diags_array(
        [np.r_[1.0, np.full(n - 2, 2.0), 1.0], -np.ones(n - 1), -np.ones(n - 1)], offsets=[0, 1, -1]
    )
    assert singular_blocks(sparse.csr_array(chain)).all()
    held = sparse.csr_array(chain + sparse.diags_array(np.r_[1e-3, np.zeros(n - 1)]))
    assert not singular_blocks(held).any()
    with pytest.raises(ProblemError, match="positive semidefinite"):
        singular_blocks(sparse.csr_array(chain - 0.1 * sparse.eye_array(n)))


def test_a_step_that_has_no_solution_proves_nothing():
    solution = solve(block(push=2.0), Enumeration(tol=1e-9))
    assert solution.status is Status.SOLVED


def test_the_limits_of_the_method_are_for_all_steps():
    stopped = solve(truss(mu=0.2), NSGS(tol=1e-12, max_iterations=3), check=False)
    assert stopped.status is Status.MAX_ITERATIONS
    assert stopped.iterations <= 3
    seen = []
    halted = solve(truss(mu=0.2), NSGS(tol=1e-12), check=False, progress=lambda p: seen.append(p) or True)
    assert halted.status is Status.STOPPED
    assert len(seen) == 1
