"""The contact problem: construction, derived data, residual."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from clapas.convex import coulomb
from clapas.errors import ProblemError
from clapas.problems import ContactProblem, judge, reduce
from tests.random_problems import particle, random_global


@pytest.mark.parametrize("d", [2, 3])
def test_both_forms_are_the_same_problem(d: int) -> None:
    problem = random_global(1, d=d)
    reduced = reduce(problem)
    r = np.random.default_rng(0).normal(size=(problem.n_contacts, d))
    dense = problem.H.toarray() @ np.linalg.inv(problem.M.toarray()) @ problem.H.toarray().T
    np.testing.assert_allclose(reduced.W.toarray(), dense, atol=1e-13)
    np.testing.assert_allclose(reduced.q, problem.q, atol=1e-13)
    np.testing.assert_allclose(reduced.velocity(r), problem.velocity(r), atol=1e-12)
    np.testing.assert_allclose(reduced.local_blocks, problem.local_blocks, atol=1e-13)
    assert reduced.residual(r) == pytest.approx(problem.residual(r), rel=1e-12)


def test_motion_obeys_the_dynamics() -> None:
    problem = random_global(2)
    r = np.random.default_rng(0).normal(size=(problem.n_contacts, 3))
    v = problem.motion(r)
    np.testing.assert_allclose(problem.M @ v + problem.f, problem.H.T @ r.ravel(), atol=1e-12)
    np.testing.assert_allclose((problem.H @ v).reshape(-1, 3) + problem.w, problem.velocity(r), atol=1e-12)


def test_sparse_mass_gives_the_same_blocks_as_a_dense_one() -> None:
    rng = np.random.default_rng(5)
    m, n = 90, 5
    K = sparse.diags_array([-np.ones(m - 1), 2.5 * np.ones(m), -np.ones(m - 1)], offsets=[-1, 0, 1])
    H = rng.normal(size=(3 * n, m))
    problem = ContactProblem(M=K, H=H, f=rng.normal(size=m), mu=np.full(n, 0.3))
    W = H @ np.linalg.inv(K.toarray()) @ H.T
    expected = [W[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] for i in range(n)]
    np.testing.assert_allclose(problem.local_blocks, expected, atol=1e-12)
    np.testing.assert_allclose(reduce(problem).W.toarray(), W, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 100.0, 1e6])
@pytest.mark.parametrize("kind", ["mass", "length", "time"])
def test_residual_has_no_unit(kind: str, scale: float) -> None:
    """The same number in SI, CGS, or any other system of units."""
    problem = random_global(3)
    r = np.random.default_rng(0).normal(size=(problem.n_contacts, 3))
    mass = scale if kind == "mass" else 1.0
    speed = {"mass": 1.0, "length": scale, "time": 1.0 / scale}[kind]
    # Translational unknowns scale as a speed: M as a mass, f and r as an impulse, w as a speed.
    other = ContactProblem(
        M=problem.M * mass,
        H=problem.H,
        f=problem.f * mass * speed,
        w=problem.w * speed,
        mu=problem.mu,
    )
    assert other.residual(r * mass * speed) == pytest.approx(problem.residual(r), rel=1e-9)


def test_residual_is_zero_only_at_the_solution() -> None:
    problem = particle()
    solution = np.array([[0.0981, -0.04905, 0.0]])
    assert problem.residual(solution) < 1e-16
    for direction in np.eye(3):
        assert problem.residual(solution + 1e-6 * direction) > 1e-8


def test_residual_at_zero_is_measured_relative_to_q() -> None:
    problem = ContactProblem(W=2 * np.eye(3), q=[[-3.0, 0, 0], [1.0, 0, 0]][:1], mu=0.0)
    assert problem.residual(np.zeros((1, 3))) == pytest.approx(1.0)


def test_huge_impulses_do_not_pass_for_a_solution() -> None:
    """Painlevé's rod without solution: along (1, −1) impulses do nothing, and hide ũ when huge."""
    problem = ContactProblem(W=0.5 * np.ones((2, 2)), q=[[-0.5, 0.5]], mu=[2.0])
    for size in 10.0 ** np.arange(0, 40, 4):
        assert problem.residual([[size, -size]]) > 0.1


def test_residual_without_free_velocity() -> None:
    problem = ContactProblem(W=np.eye(3), q=np.zeros((1, 3)), mu=0.5)
    assert problem.residual(np.zeros((1, 3))) == 0.0
    assert problem.residual([[1.0, 0.0, 0.0]]) == pytest.approx(1.0)
    assert problem.residual([[1e9, 0.0, 0.0]]) == pytest.approx(1.0)


@given(st.integers(0, 10_000), st.sampled_from([2, 3]))
def test_compiled_judge_equals_its_definition(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    u, r = rng.normal(size=(2, n, d)) * 10.0 ** rng.integers(-8, 8)
    mu, response = rng.uniform(0, 2, n) * (rng.random(n) > 0.3), 10.0 ** rng.uniform(-3, 3, n)
    expected = np.linalg.norm(coulomb.violation(u, response[:, None] * r, mu))
    hidden = 2.3e-16 * np.linalg.norm(response[:, None] * r)
    assert judge.violation_norm(u, r, mu, response) == pytest.approx(expected, rel=1e-11, abs=hidden)


def test_flat_vectors_and_one_mu_are_accepted() -> None:
    problem = ContactProblem(W=np.eye(6), q=np.arange(6.0) - 3, mu=0.5, d=3)
    assert (problem.n_contacts, problem.d) == (2, 3)
    assert ContactProblem(W=np.eye(6), q=np.arange(6.0), mu=[0.1, 0.2, 0.3]).d == 2
    assert problem.residual(np.zeros(6)) == problem.residual(np.zeros((2, 3)))


@pytest.mark.parametrize("d", [2, 3])
def test_no_contact(d: int) -> None:
    for problem in (
        ContactProblem(W=np.zeros((0, 0)), q=np.zeros((0, d)), mu=np.zeros(0)),
        ContactProblem(M=np.eye(3), H=np.zeros((0, 3)), f=np.ones(3), w=np.zeros((0, d)), mu=np.zeros(0)),
    ):
        assert (problem.n_contacts, problem.d) == (0, d)
        assert problem.residual(np.zeros((0, d))) == 0.0
        assert problem.report(np.zeros((0, d))).open == 0
        assert problem.local_blocks.shape == (0, d, d)
    np.testing.assert_array_equal(problem.motion(np.zeros((0, d))), -np.ones(3))


def build(**changes: object) -> ContactProblem:
    data: dict[str, object] = {"W": np.eye(3), "q": np.zeros((1, 3)), "mu": [0.5]}
    return ContactProblem(**(data | changes))  # type: ignore[arg-type]


def build_global(**changes: object) -> ContactProblem:
    data: dict[str, object] = {"M": np.eye(4), "H": np.ones((3, 4)), "f": np.zeros(4), "mu": [0.5]}
    return ContactProblem(**(data | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: build(W=None), "give either W and q"),
        (lambda: build(M=np.eye(3)), "give either W and q"),
        (lambda: build(W=np.ones((3, 4))), r"W must be a square matrix, got shape \(3, 4\)"),
        (lambda: build(q=np.zeros((2, 3))), r"q has shape \(2, 3\), expected \(1, 3\)"),
        (lambda: build(q=[[np.nan, 0, 0]]), "q must be finite, got nan at entry 0"),
        (lambda: build(W=np.diag([1, np.inf, 1])), "W must be finite, got inf"),
        (lambda: build(mu=[-0.1]), "contact 0: mu must be at least 0, got -0.1"),
        (lambda: build(mu="rough"), "mu must be made of numbers, in rows of the same length; got 'rough'"),
        (lambda: build(W=[[1, 0], [0]]), r"W must be made of numbers, in rows of the same length"),
        (lambda: build(W=np.eye(3) * (1 + 1j)), "W must be real, got complex numbers"),
        (lambda: build(W=sparse.eye_array(3, dtype=complex)), "W must be real, got complex numbers"),
        (lambda: build(q=np.zeros((1, 3), dtype=complex)), "q must be real, got complex numbers"),
        (lambda: build().residual([[1j, 0, 0]]), "r must be real, got complex numbers"),
        (lambda: build(mu=[np.nan]), "mu must be finite"),
        (lambda: build(mu=[0.1, 0.2]), r"mu has shape \(2,\), expected \(1,\)"),
        (lambda: build(W=np.diag([1.0, -1.0, 1.0])), "its diagonal entry 1 is -1"),
        (lambda: build(W=np.diag([0.0, 1.0, 1.0])), "contact 0: its normal row of W is zero"),
        (lambda: build(W=np.eye(5), q=np.zeros(5), mu=0.5), "cannot tell 2-D from 3-D"),
        (lambda: build(W=np.eye(5), q=np.zeros(5)), "5 rows do not make contacts of 5 components"),
        (lambda: build_global(H=np.ones((3, 5))), r"H has 5 columns, expected 4 \(the size of M\)"),
        (lambda: build_global(f=np.zeros(3)), r"f has shape \(3,\), expected \(4,\)"),
        (lambda: build_global(M=np.triu(np.ones((4, 4)))), "M must be symmetric"),
        (lambda: build_global(M=np.diag([1.0, 1, -2, 1])), r"degrees of freedom \[2\] gives -2.000e\+00"),
        (lambda: build_global(M=np.ones((4, 4)) - np.eye(4)), "M must be symmetric positive semidefinite"),
        (lambda: build_global(H=np.zeros((3, 4))), "contact 0: its normal row of H is zero"),
        (lambda: build().motion(np.zeros((1, 3))), "needs the global form"),
        (lambda: build_global().W, "W is not stored in the global form"),
        (lambda: build().residual(np.zeros((2, 3))), r"r has shape \(2, 3\), expected \(1, 3\)"),
    ],
)
def test_slips_are_named(make: object, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(("rows", "d"), [(2, 2), (3, 3), (4, 2), (9, 3)])
def test_rows_that_make_contacts_of_one_kind_tell_the_dimension(rows: int, d: int) -> None:
    problem = ContactProblem(W=np.eye(rows), q=-np.ones(rows), mu=0.5)
    assert (problem.d, problem.n_contacts) == (d, rows // d)


def test_asymmetric_delassus_warns_and_symmetrises_on_request() -> None:
    W = np.eye(3) + 1e-3 * np.triu(np.ones((3, 3)), 1)
    with pytest.warns(UserWarning, match="W is not symmetric"):
        kept = ContactProblem(W=W, q=np.zeros((1, 3)), mu=0.5)
    np.testing.assert_array_equal(kept.W.toarray(), W)
    mended = ContactProblem(W=W, q=np.zeros((1, 3)), mu=0.5, symmetrise=True)
    np.testing.assert_array_equal(mended.W.toarray(), (W + W.T) / 2)


def test_it_says_what_it_is() -> None:
    assert repr(particle()) == "ContactProblem(1 contact in 3-D, reduced)"
    assert "4 dof" in repr(build_global())


@pytest.mark.parametrize("d", [2, 3])
def test_a_problem_from_blocks_is_the_one_they_came_from(d: int) -> None:
    problem = random_global(7, d=d)
    blocks = problem.blocks
    assert blocks is not None
    again = ContactProblem.from_blocks(blocks, mu=problem.mu, w=problem.w)
    np.testing.assert_allclose(again.M.toarray(), problem.M.toarray(), atol=1e-11)
    np.testing.assert_allclose(again.H.toarray(), problem.H.toarray(), atol=1e-11)
    np.testing.assert_allclose(again.f, problem.f, atol=1e-11)
    np.testing.assert_allclose(again.q, problem.q, atol=1e-12)
    np.testing.assert_allclose(again.local_blocks, problem.local_blocks, atol=1e-12)
    r = np.random.default_rng(0).normal(size=(problem.n_contacts, d))
    np.testing.assert_allclose(again.velocity(r), problem.velocity(r), atol=1e-12)
    np.testing.assert_allclose(again.motion(r), problem.motion(r), atol=1e-11)
    assert again.residual(r) == pytest.approx(problem.residual(r), rel=1e-11)
    assert (again.n_dof, again.n_contacts, again.d) == (problem.n_dof, problem.n_contacts, d)
    assert reduce(problem).blocks is None
