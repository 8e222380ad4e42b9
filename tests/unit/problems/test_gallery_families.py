"""Facts of the single families that the enumeration in the plane does not cover."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clapas.errors import ProblemError
from clapas.problems import gallery, reduce
from clapas.problems.gallery.alart import ROWS
from clapas.problems.gallery.one_contact import plane_solutions

# ------------------------------------------------------------------------------- a few contacts


def test_spurious_fixed_point_has_no_impulse():
    problem = gallery.get("spurious-fixed-point").problem
    # v = 0 needs Hᵀ r = f = (0, 1): r_N = −r_T1 and r_T2 = 1, outside the cone for every r_N.
    for normal in (0.5, 1.0, 10.0, 1e6):
        r = np.array([[normal, -normal, 1.0]])
        np.testing.assert_allclose(problem.motion(r), 0.0, atol=1e-12)
        assert np.hypot(normal, 1.0) > problem.mu[0] * normal
        assert problem.residual(r) > 0


def test_rigid_square_has_a_singular_delassus_matrix():
    W = reduce(gallery.get("rigid-square").problem).W.toarray()
    np.testing.assert_allclose(W @ [0.0, 1.0, 0.0, -1.0], 0.0, atol=1e-15)
    assert np.linalg.matrix_rank(W) == 3


@pytest.mark.parametrize("mu", [0.0, 0.3, 5.0])
def test_crushed_disc_penetrates_whatever_the_impulse(mu: float):
    problem = gallery.crushed_disc(mu).problem
    random = np.random.default_rng(0)
    for _ in range(20):
        u = problem.velocity(100.0 * random.standard_normal((2, 2)))
        assert u[:, 0].sum() == pytest.approx(-1.0, abs=1e-10)


def test_mass_spring_stop_rests_on_the_stop():
    entry = gallery.mass_spring_stop(0.05)
    assert entry.known.solutions[0][0, 0] == pytest.approx(9.81 - 100 * 0.05)
    assert entry.problem.motion(entry.known.solutions[0])[0] == pytest.approx(-0.05)
    free = gallery.mass_spring_stop(0.2)
    assert free.known.solutions[0][0, 0] == 0.0
    assert free.problem.velocity(free.known.solutions[0])[0, 0] == pytest.approx(0.2 - 0.0981)


@given(st.floats(0.0, 1.5), st.floats(0.0, 3.0), st.floats(-0.2, 0.2))
@settings(deadline=None, derandomize=True)
def test_inclined_plane_for_any_slope(slope: float, mu: float, speed: float):
    entry = gallery.inclined_plane(slope, mu, speed)
    assert entry.problem.residual(entry.known.solutions[0]) < 1e-12
    if speed == 0 and mu > 1.001 * math.tan(slope):
        np.testing.assert_allclose(entry.problem.motion(entry.known.solutions[0]), 0.0, atol=1e-12)


def test_inclined_plane_gravity_presses_and_pulls_down():
    problem = gallery.inclined_plane(math.radians(30.0), 0.1).problem
    np.testing.assert_allclose(problem.q, [[-0.0981 * math.cos(math.pi / 6), 0.0981 * 0.5, 0.0]])
    assert problem.motion(gallery.inclined_plane(math.radians(30.0), 0.1).known.solutions[0])[2] < 0


def test_sliding_block_slows_by_friction_and_stays_flat():
    entry = gallery.get("sliding-block")
    for r in entry.known.samples:
        np.testing.assert_allclose(entry.problem.motion(r), [1.0 - 0.5 * 0.0981, 0, 0, 0, 0, 0], atol=1e-14)
        assert r[1, 0] + r[2, 0] > r[0, 0] + r[3, 0]


def test_near_singular_judge_is_blind_to_what_costs_nothing():
    entry = gallery.get("near-singular")
    W = reduce(entry.problem).W.toarray()
    assert np.linalg.cond(W) == pytest.approx(2e10, rel=1e-3)
    apart = np.array([[0.1, 0.0, 0.0], [-0.1, 0.0, 0.0]])
    r = entry.known.solutions[0] + apart
    assert entry.problem.residual(r) < 1e-9
    assert entry.recognises(r) is None


def test_singular_block_has_rank_one():
    problem = gallery.get("one-singular-block").problem
    assert np.linalg.matrix_rank(problem.local_blocks[0]) == 1


def test_no_contact_moves_freely():
    entry = gallery.get("no-contact")
    assert entry.problem.residual(np.zeros((0, 3))) == 0.0
    np.testing.assert_allclose(entry.problem.motion(np.zeros((0, 3))), -1.0)


def test_plane_solutions_lists_the_edge_once():
    assert [r.tolist() for r in plane_solutions(np.eye(2), [-1.0, 0.5], 0.5)] == [[[1.0, -0.5]]]
    assert [r.tolist() for r in plane_solutions(np.eye(2), [0.0, 0.0], 0.5)] == [[[0.0, 0.0]]]


@pytest.mark.parametrize("nodes", [2, 3, 4])
def test_elastic_rows_are_stable_and_solved_for_any_load(nodes: int):
    C = np.array(ROWS[nodes])
    assert np.array_equal(C, C.T)
    assert np.linalg.eigvalsh(C)[0] > 0
    for free in np.random.default_rng(3).standard_normal((10, nodes)):
        entry = gallery.elastic_row(nodes, free)
        assert entry.known.is_unique
        assert entry.problem.residual(entry.known.solutions[0]) < 1e-12


# ------------------------------------------------------------------------------- random problems


def blocks(matrix, size: int) -> np.ndarray:
    dense = matrix.toarray()
    count = len(dense) // size
    return np.array([dense[i * size : (i + 1) * size, i * size : (i + 1) * size] for i in range(count)])


@pytest.mark.parametrize("condition", [1.0, 10.0, 1e6])
@pytest.mark.parametrize("m_ss", [2, 6])
def test_alea_mass_blocks_have_the_condition_asked(condition: float, m_ss: int):
    problem = gallery.alea(m_ss, 20, 10, condition=condition, seed=4)
    values = np.linalg.eigvalsh(blocks(problem.M, m_ss))
    np.testing.assert_allclose(values[:, -1] / values[:, 0], condition, rtol=1e-8)
    assert problem.M.nnz <= 20 * m_ss**2


def test_alea_statistics():
    problem = gallery.alea(6, 300, 2000, seed=5)
    assert problem.name == "alea-1800-2000"
    assert problem.mu.min() >= 0.2
    assert problem.mu.max() <= 0.8
    assert problem.mu.mean() == pytest.approx(0.5, abs=0.02)
    for data in (problem.H.data, problem.f, problem.w.ravel()):
        assert data.mean() == pytest.approx(0.0, abs=5 / math.sqrt(data.size))
        assert data.std() == pytest.approx(1.0, abs=5 / math.sqrt(data.size))
    bodies = problem.H.indices.reshape(2000, 3, 12) // 6
    assert np.all(bodies == bodies[:, :1])
    first, second = bodies[:, 0, 0], bodies[:, 0, 6]
    assert np.all(first < second)
    # Pairs are uniform: each subsystem is in a contact with probability 2 / 300.
    uses = np.bincount(np.concatenate((first, second)), minlength=300)
    assert uses.mean() == pytest.approx(4000 / 300)
    assert uses.std() == pytest.approx(math.sqrt(4000 / 300), rel=0.2)


def test_alea_density_is_the_published_one():
    density = [np.mean(reduce(gallery.alea(36, 21, 100, seed=s)).W.toarray() != 0) for s in range(3)]
    assert np.mean(density) == pytest.approx(0.18, abs=0.02)


def test_alea_is_fixed_by_its_seed():
    one, same, other = (gallery.alea(6, 10, 14, seed=s) for s in (7, 7, 8))
    for name in ("M", "H"):
        assert (getattr(one, name) != getattr(same, name)).nnz == 0
        assert (getattr(one, name) != getattr(other, name)).nnz > 0
    for name in ("f", "w", "mu"):
        assert np.array_equal(getattr(one, name), getattr(same, name))
        assert not np.array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize(("m_ss", "n_ss", "n", "d"), [(6, 5, 0, 3), (4, 1, 2, 3), (3, 4, 5, 2), (1, 2, 1, 2)])
def test_alea_limit_sizes(m_ss: int, n_ss: int, n: int, d: int):
    problem = gallery.alea(m_ss, n_ss, n, d=d)
    assert (problem.n_contacts, problem.d, problem.n_dof) == (n, d, m_ss * n_ss)
    assert np.isfinite(problem.residual(np.zeros((n, d))))


def test_alea_refuses_nonsense():
    with pytest.raises(ProblemError, match="m_ss and n_ss must be at least 1"):
        gallery.alea(0, 3, 4)
    with pytest.raises(ProblemError, match="condition must be at least 1"):
        gallery.alea(6, 3, 4, condition=0.5)


def test_alea_published_sizes_and_existence():
    assert {"alea-42-5", "alea-126-47", "alea-1248-500-by-6", "alea-1260-500-by-36"} <= set(
        gallery.names("alea")
    )
    assert gallery.get("alea-42-5").known.exists is True  # H is onto
    assert gallery.get("alea-126-47").known.exists is None  # more rows than columns
