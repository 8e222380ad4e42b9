"""Bodies of any size, joints and compliance: against the dense formulas, and through every solver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, sparse

import clapas
from clapas.errors import ProblemError
from clapas.problems import ContactProblem, reduce
from clapas.problems.conversions import split
from clapas.solvers import registry


def spd(rng, size, tied=True):
    A = rng.normal(size=(size, size)) if tied else np.diag(rng.uniform(1, 2, size))
    return A @ A.T / size + 0.3 * np.eye(size)


def mixed_problem(seed, d=3, sizes=(6, 6, 6, 90, 6, 18), n=20, **more):
    """Rigid bodies, a rod and a body of 90 degrees of freedom; contacts touch one, two or three of them."""
    rng = np.random.default_rng(seed)
    first = np.concatenate(([0], np.cumsum(sizes)))
    M = linalg.block_diag(*(spd(rng, size) for size in sizes))
    H = np.zeros((d * n, first[-1]))
    for i in range(n):
        for body in rng.choice(len(sizes), rng.integers(1, 4), replace=False):
            touched = first[body] + rng.choice(sizes[body], 3, replace=False)
            H[d * i : d * i + d, touched] = rng.normal(size=(d, 3))
    f, w = rng.normal(size=first[-1]), rng.normal(size=(n, d))
    mu = rng.uniform(0, 1, n)
    return {"M": M, "H": H, "f": f, "w": w, "mu": mu, "d": d, **more}


def joints(seed, data, rows, redundant=0):
    rng = np.random.default_rng(seed)
    m = len(data["f"])
    J = np.zeros((rows, m))
    for row in J:
        row[rng.choice(m, 6, replace=False)] = rng.normal(size=6)
    b = rng.normal(size=rows)
    mix = rng.normal(size=(redundant, rows))
    return {"J": np.vstack((J, mix @ J)), "b": np.concatenate((b, mix @ b))}


def dense_answers(data):
    """W, q, v(r) and the momentum of joints, by full matrices."""
    M, H, f = data["M"], data["H"], data["f"]
    J = data.get("J", np.zeros((0, len(f))))
    b = data.get("b", np.zeros(len(J)))
    n = len(data["w"])
    A = np.linalg.inv(M)
    R = np.linalg.pinv(J @ A @ J.T, rcond=1e-10) if len(J) else np.zeros((0, 0))
    projected = A - A @ J.T @ R @ J @ A
    particular = -A @ J.T @ R @ b
    C = data.get("compliance")
    W = H @ projected @ H.T + (0.0 if C is None else np.diag(np.asarray(C).ravel()))
    q = data["w"].ravel() + H @ (particular - projected @ f)
    return W, q.reshape(n, -1), lambda r: particular + projected @ (H.T @ r.ravel() - f)


@settings(max_examples=15)
@given(st.integers(0, 10_000), st.sampled_from([2, 3]), st.booleans(), st.booleans())
def test_all_quantities_are_those_of_the_dense_formulas(seed, d, jointed, soft):
    data = mixed_problem(seed, d, n=8)
    if jointed:
        data |= joints(seed, data, 7, redundant=2)
    if soft:
        data["compliance"] = np.random.default_rng(seed).uniform(0, 1, (8, d))
    problem = ContactProblem(**data)
    W, q, motion = dense_answers(data)
    r = np.random.default_rng(seed + 1).normal(size=(8, d))
    size = np.abs(W).max()
    np.testing.assert_allclose(reduce(problem).W.toarray(), W, atol=1e-8 * size)
    np.testing.assert_allclose(problem.q, q, atol=1e-8 * np.abs(q).max())
    np.testing.assert_allclose(problem.velocity(r).ravel(), W @ r.ravel() + q.ravel(), atol=1e-7 * size)
    np.testing.assert_allclose(problem.motion(r), motion(r), atol=1e-7 * np.abs(motion(r)).max())
    blocks = [W[d * i : d * i + d, d * i : d * i + d] for i in range(8)]
    np.testing.assert_allclose(problem.local_blocks, blocks, atol=1e-8 * size)
    if jointed:
        v, momentum = problem.motion(r), problem.multipliers(r) @ data["J"]
        np.testing.assert_allclose(data["J"] @ v + data["b"], 0, atol=1e-7)
        balance = data["M"] @ v + data["f"] - data["H"].T @ r.ravel()
        np.testing.assert_allclose(momentum, balance, atol=1e-7 * np.abs(balance).max())


@pytest.mark.parametrize("d", [2, 3])
def test_sweeps_on_bodies_equal_sweeps_on_the_matrix(d):
    data = mixed_problem(3, d, n=30)
    data |= joints(4, data, 5)
    problem = ContactProblem(**data)
    for count in (1, 3):
        settings = {"tol": 1e-300, "max_iterations": count, "acceleration": 0}
        by_bodies = clapas.solve(problem, clapas.NSGS(**settings), check=False)
        by_matrix = clapas.solve(problem, clapas.NSGS(**settings, form="delassus"), check=False)
        np.testing.assert_allclose(by_bodies.r, by_matrix.r, atol=1e-8)


MAY_FAIL = {"haslinger", "conjugate-gradient", "levenberg-marquardt", "fischer-burmeister", "merit-function"}
METHODS = [
    name for name in registry.names() if name not in ("branch-and-bound", "enumeration", "bipotential")
]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_takes_joints_and_compliance(name):
    data = mixed_problem(7, n=6, sizes=(6, 6, 20))
    data |= joints(8, data, 4, redundant=1)
    data["compliance"] = 0.1
    problem = ContactProblem(**data)
    solution = clapas.solve(problem, registry.make(name, tol=1e-6, time_limit=20.0), check=False)
    if solution.status.is_solved:
        assert problem.residual(solution.r) <= 1e-6
        assert np.abs(data["J"] @ solution.v + data["b"]).max() < 1e-7
    else:
        assert name in MAY_FAIL


def test_components_keep_their_joints():
    data = mixed_problem(1, sizes=(6, 6, 6, 6), n=4)
    data["H"][:] = 0.0
    for i in range(4):
        data["H"][3 * i : 3 * i + 3, 6 * i : 6 * i + 3] = np.eye(3)
    J = np.zeros((1, 24))
    J[0, [0, 6]] = 1.0, -1.0  # the first two bodies move together along x
    problem = ContactProblem(**data, J=J)
    parts = split(problem)
    assert [part.contacts.tolist() for part in parts] == [[0, 1], [2], [3]]
    whole = clapas.solve(problem, clapas.Auto(tol=1e-10))
    for part in parts:
        alone = clapas.solve(part.problem, clapas.Auto(tol=1e-10))
        np.testing.assert_allclose(alone.u, whole.u[part.contacts], atol=1e-8)


def test_a_pulley_two_masses_on_a_joint():
    """Atwood: v_1 + v_2 = 0 holds masses 1 and 3; the floor under the second stops both."""
    g = 9.81
    problem = ContactProblem(
        M=np.diag([1.0, 3.0]),
        H=np.array([[0.0, 1.0], [0.0, 0.0]]),
        f=np.array([g, 3 * g]),
        J=[[1.0, 1.0]],
        mu=0.0,
        d=2,
    )
    solution = clapas.solve(problem)
    np.testing.assert_allclose(solution.v, 0.0, atol=1e-12)
    np.testing.assert_allclose(solution.r, [[2 * g, 0.0]], atol=1e-8)
    np.testing.assert_allclose(solution.multipliers, [g], atol=1e-8)


def test_an_elastic_cable_is_a_compliant_contact():
    """A mass on a cable of compliance c per unit of impulse: c r = − u of the stretched cable."""
    problem = ContactProblem(M=[[2.0]], H=[[1.0], [0.0]], f=[2.0], mu=0.0, d=2, compliance=[[0.5, 0.0]])
    solution = clapas.solve(problem)
    r = solution.r[0, 0]
    assert r == pytest.approx(1.0)  # (1/2 + 1/2) r = 1
    assert solution.v[0] == pytest.approx(-0.5)


def test_a_long_chain_keeps_its_joints_sparse():
    """900 masses in a row, tied one to the next: they move as one; more than full matrices are used for."""
    n = 900
    J = sparse.diags_array([np.ones(n - 1), -np.ones(n - 1)], offsets=[0, 1], shape=(n - 1, n))
    H = sparse.csr_array(([1.0], ([0], [0])), shape=(2, n))
    problem = ContactProblem(M=sparse.eye_array(n), H=H, f=np.ones(n), J=J, mu=0.5, d=2)
    np.testing.assert_allclose(problem.local_blocks[0, 0, 0], 1 / n)
    solution = clapas.solve(problem)
    np.testing.assert_allclose(solution.v, 0.0, atol=1e-9)
    assert solution.r[0, 0] == pytest.approx(n)
    np.testing.assert_allclose(solution.multipliers, -np.arange(n - 1, 0, -1), rtol=1e-6)


def test_rounding_in_the_imposed_velocity_of_a_row_of_zeros_is_no_contradiction():
    data = {"M": np.eye(2), "H": np.array([[1.0, 0.0], [0.0, 1.0]]), "f": np.zeros(2), "mu": 0.5, "d": 2}
    problem = ContactProblem(**data, J=np.array([[0.0, 1.0], [0.0, 0.0]]), b=np.array([-3.0, 2e-21]))
    np.testing.assert_allclose(clapas.solve(problem).v, [0.0, 3.0], atol=1e-12)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"J": [[1.0, 0.0], [1.0, 0.0]], "b": [0.0, 1.0]}, "the joints contradict each other"),
        (
            {"J": [[0.0, 0.0]], "b": [1.0]},
            "joint row 0 of J is zero but b is 1: no motion obeys it. Something drives",
        ),
        ({"J": [[1.0, 0.0]]}, "contact 0: the joints hold both bodies along its normal"),
        ({"J": [[1.0, 0.0, 0.0]]}, "J has 3 columns, expected 2"),
        ({"J": [[0.0, 1.0]], "b": [0.0, 0.0]}, "b has shape (2,), expected (1,)"),
        ({"b": [0.0]}, "give either W and q"),
        ({"compliance": -1.0}, "contact 0: compliance must be at least 0, got -1.0"),
        ({"compliance": [1.0, 2.0, 3.0]}, "compliance has shape (3,)"),
    ],
)
def test_bad_joints_and_compliance_are_refused(change, text):
    data = {"M": np.eye(2), "H": np.array([[1.0, 0.0], [0.0, 1.0]]), "f": np.zeros(2), "mu": 0.5, "d": 2}
    with pytest.raises(ProblemError) as caught:
        _ = ContactProblem(**(data | change)).q
    assert text in str(caught.value)
