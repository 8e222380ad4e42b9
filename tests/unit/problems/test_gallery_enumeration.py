"""Solution sets in the plane against brute force: every mode of every contact is tried.

Open, sticking and the two slidings each give two equations per contact, so a mode fixes r unless its
system is singular; then a linear program finds points of its polyhedron in several directions.
"""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import linprog

from clapas.errors import ProblemError
from clapas.problems import ContactProblem, gallery, reduce
from clapas.problems.gallery.alart import uniqueness_bound
from clapas.problems.gallery.small import wedged_bar

OPEN, STICK, FORWARD, BACKWARD = range(4)
LARGEST = 50.0


def mode_system(W, q, mu, mode):
    """Equations E r = e and inequalities G r <= g of one mode."""
    n = len(q)
    E, e, G, g = [], [], [], []
    for i, kind in enumerate(mode):
        normal, tangent = np.eye(2 * n)[2 * i], np.eye(2 * n)[2 * i + 1]
        u_normal, u_tangent = W[2 * i], W[2 * i + 1]
        if kind == OPEN:
            E += [normal, tangent]
            e += [0.0, 0.0]
            G += [-u_normal]
            g += [q[i, 0]]
        elif kind == STICK:
            E += [u_normal, u_tangent]
            e += [-q[i, 0], -q[i, 1]]
            G += [tangent - mu[i] * normal, -tangent - mu[i] * normal]
            g += [0.0, 0.0]
        else:
            sign = 1.0 if kind == FORWARD else -1.0
            E += [u_normal, tangent + sign * mu[i] * normal]
            e += [-q[i, 0], 0.0]
            G += [-normal, -sign * u_tangent]
            g += [0.0, sign * q[i, 1]]
    return np.array(E), np.array(e), np.array(G), np.array(g)


def plane_solutions(problem: ContactProblem) -> list[np.ndarray]:
    """Solutions of a problem in the plane: all isolated ones, some points of each continuum."""
    reduced = reduce(problem)
    W, q, mu = reduced.W.toarray(), reduced.q, reduced.mu
    found: list[np.ndarray] = []
    for mode in product(range(4), repeat=len(q)):
        E, e, G, g = mode_system(W, q, mu, mode)
        if np.linalg.svd(E, compute_uv=False)[-1] > 1e-9:
            points = [np.linalg.solve(E, e)]
        else:
            points = list(polyhedron_points(E, e, G, g))
        for point in points:
            r = point.reshape(q.shape)
            if np.all(G @ point <= g + 1e-9) and problem.residual(r) < 1e-8:
                found.append(r)
    return distinct(found)


def polyhedron_points(E, e, G, g):
    directions = np.random.default_rng(0).standard_normal((6, E.shape[1]))
    for c in directions:
        answer = linprog(c, A_ub=G, b_ub=g, A_eq=E, b_eq=e, bounds=(-LARGEST, LARGEST))
        if answer.status != 0:
            return
        yield answer.x


def distinct(points: list[np.ndarray]) -> list[np.ndarray]:
    kept: list[np.ndarray] = []
    for r in points:
        if all(np.abs(r - other).max() > 1e-7 for other in kept):
            kept.append(r)
    return kept


def assert_agrees(entry: gallery.GalleryProblem) -> None:
    found = plane_solutions(entry.problem)
    known = entry.known
    assert known.complete
    assert bool(found) == known.exists
    for r in found:
        assert entry.recognises(r, 1e-6) is True, r
    for r in known.solutions:
        assert any(np.abs(r - other).max() < 1e-7 for other in found), r
    if known.continuum is None:
        assert len(found) == len(known.solutions)
    else:
        assert len(found) > len(known.solutions) + 1


TOO_MANY_MODES = {"subset-sum-six", "subset-sum-six-none", "subset-sum-twelve"}
PLANE = [
    entry for entry in gallery.small_problems() if entry.problem.d == 2 and entry.name not in TOO_MANY_MODES
]


@pytest.mark.parametrize("entry", PLANE, ids=lambda entry: entry.name)
def test_named_problems_have_the_solutions_they_list(entry: gallery.GalleryProblem):
    assert_agrees(entry)


# ------------------------------------------------------------------------------- Painlevé's rod


@pytest.mark.parametrize("slope", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("mu", [0.0, 0.5, 2.0, 5.0])
@pytest.mark.parametrize("g", [1.0, -1.0, 0.0, 2.5])
@pytest.mark.parametrize("u0", [1.0, 0.0, -1.0, -0.2])
def test_painleve_in_all_regions(slope: float, mu: float, g: float, u0: float):
    assert_agrees(gallery.painleve_rod(math.atan(slope), mu, u0, g))


def count(theta: float, mu: float, u0: float, g: float) -> int:
    return len(gallery.painleve_rod(theta, mu, u0, g).known.solutions)


def test_painleve_lemma_gravity_up():
    for theta in np.linspace(0.1, 1.4, 7):
        assert count(theta, 1.1 * math.tan(theta), 1.0, 1.0) == 2
        assert count(theta, 0.9 * math.tan(theta), 1.0, 1.0) == 1


def test_painleve_lemma_gravity_down():
    for theta in np.linspace(0.1, 1.4, 7):
        for u0 in (0.3, 1.0):
            assert count(theta, 1.1 * math.tan(theta), u0, -1.0) == 0
            assert count(theta, 0.9 * math.tan(theta), u0, -1.0) == 1
            assert count(theta, 1.1 * math.tan(theta), -u0, -1.0) == 1


def test_painleve_published_values():
    values = {
        "painleve-up-two": ([0.0, 0.0], [1.0, -2.0]),
        "painleve-down-forward": ([2.0, -1.0],),
        "painleve-down-backward": ([1.0 / 3.0, 2.0 / 3.0],),
    }
    for name, expected in values.items():
        np.testing.assert_allclose(
            np.vstack(gallery.get(name).known.solutions), np.array(expected), atol=1e-14
        )
    rod = gallery.get("painleve-up-two").problem
    np.testing.assert_allclose(rod.velocity([[0.0, 0.0]]), [[0.5, 1.5]])
    np.testing.assert_allclose(rod.velocity([[1.0, -2.0]]), [[0.0, 1.0]], atol=1e-15)


def test_painleve_edge_of_the_cone_through_the_hinge():
    theta = 0.7
    mu = math.tan(theta)
    assert gallery.painleve_rod(theta, mu, 1.0, -1.0).known.exists is False
    assert count(theta, mu, 1.0, 1.0) == 1
    weightless = gallery.painleve_rod(theta, mu, 1.0, 0.0)
    assert weightless.known.continuum is not None
    for r in weightless.known.samples:
        assert weightless.problem.residual(r) < 1e-12
    assert weightless.recognises([[2.0, 2.0 * mu]]) is False


@pytest.mark.parametrize("theta", [0.0, math.pi / 2, -0.3])
def test_painleve_angle_is_checked(theta: float):
    with pytest.raises(ProblemError, match="theta must be in"):
        gallery.painleve_rod(theta, 0.5, 1.0, 1.0)


# ------------------------------------------------------------------------------- subset sums


@pytest.mark.parametrize("f", [(1, 3), (2, 3), (1, 2), (4, 4)])
@pytest.mark.parametrize("total", [1, 2, 3, 4, 5, 8])
def test_subset_sum_is_solvable_iff_some_sum_fits(f: tuple[int, ...], total: int):
    sums = [sum(chosen) for size in range(3) for chosen in combinations(f, size)]
    entry = gallery.subset_sum(f, total)
    assert entry.known.exists is (total in sums)
    assert len(entry.known.solutions) == sums.count(total)
    assert_agrees(entry)


def test_subset_sum_listing_agrees_with_all_subsets():
    random = np.random.default_rng(1)
    for _ in range(30):
        f = [int(value) for value in random.integers(1, 9, size=random.integers(1, 9))]
        total = int(random.integers(1, 20))
        sums = [sum(chosen) for size in range(len(f) + 1) for chosen in combinations(f, size)]
        entry = gallery.subset_sum(f, total)
        assert len(entry.known.solutions) == sums.count(total)
        assert entry.known.complete
        assert all(entry.problem.residual(r) < 1e-12 for r in entry.known.solutions)


def test_subset_sum_long_lists_are_cut_and_say_so():
    entry = gallery.subset_sum([1] * 30, 15, max_listed=10)
    assert len(entry.known.solutions) == 10
    assert not entry.known.complete
    assert gallery.subset_sum([2] * 400, 401).known.exists is False


@pytest.mark.parametrize(("f", "total"), [((), 1), ((1, 0), 1), ((1, 2), 0)])
def test_subset_sum_wants_positive_integers(f: tuple[int, ...], total: int):
    with pytest.raises(ProblemError, match="positive integers"):
        gallery.subset_sum(f, total)


# ------------------------------------------------------------------------------- Alart's node, wedged bar


def test_elastic_node_against_all_modes():
    random = np.random.default_rng(2)
    several = 0
    for _ in range(60):
        coupling = random.uniform(-0.95, 0.95)
        A = np.linalg.inv([[1.0, coupling], [coupling, random.uniform(1.0, 2.0)]])
        mu = float(random.uniform(0.0, 4.0))
        free = random.standard_normal(2) * [0.2, 1.0]
        entry = gallery.elastic_node(A, A @ free, mu)
        assert_agrees(entry)
        if mu < uniqueness_bound(A):
            assert entry.known.is_unique
        several += len(entry.known.solutions) > 1
    assert several > 0


def test_elastic_node_bound_is_sharp():
    A = np.linalg.inv([[1.0, 0.8], [0.8, 1.0]])
    load = A @ [0.1, 10.0]  # lifted by 0.1, pulled sideways
    bound = uniqueness_bound(A)
    assert len(gallery.elastic_node(A, load, 0.999 * bound).known.solutions) == 1
    assert len(gallery.elastic_node(A, load, 1.01 * bound).known.solutions) == 3
    assert uniqueness_bound(np.eye(2)) == np.inf


@pytest.mark.parametrize(("slope", "mu"), [(10.0, 0.5), (20.0, 0.7), (30.0, 0.3), (5.0, 1.5), (45.0, 0.99)])
def test_wedged_bar_against_all_modes(slope: float, mu: float):
    assert_agrees(wedged_bar(math.radians(slope), mu))


def test_wedged_bar_is_not_called_complete_beyond_the_bound():
    assert not wedged_bar(math.radians(30.0), 2.5).known.complete
    with pytest.raises(ProblemError, match="slope must be in"):
        wedged_bar(0.0)
