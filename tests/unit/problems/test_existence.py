"""Cadoux's criterion: verdicts, margins and certificates, against values known on paper."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from clapas.errors import NotSolved, ProblemError, SettingsError
from clapas.problems import ContactProblem, existence, gallery, reduce
from clapas.problems.blocks import BodyBlocks
from clapas.problems.existence import Verdict
from clapas.problems.existence.factor import factor_of
from clapas.problems.existence.programs import Reach, widest_by_cones, widest_by_facets
from clapas.problems.rolling import RollingProblem
from clapas.solvers import NSGS, registry, solve
from clapas.typing import Array

QUARTER = math.pi / 4


def rod(mu: float, u0: float, g: float = -1.0, theta: float = QUARTER) -> ContactProblem:
    return gallery.painleve_rod(theta, mu, u0, g).problem


def margin_reached(problem: ContactProblem, v: Array) -> float:
    """The least u_N − mu |u_T| under the certificate v, from the data."""
    if problem.form == "global":
        u = (problem.H @ v).reshape(-1, problem.d) + problem.w
    else:
        u = (problem.W @ v).reshape(-1, problem.d) + problem.q
    return float(np.min(u[:, 0] - problem.mu * np.linalg.norm(u[:, 1:], axis=1)))


def assert_wedge(problem: ContactProblem, r: Array) -> None:
    """Check that r ∈ K, Hᵀ r = 0 and w·r < 0."""
    assert (np.linalg.norm(r[:, 1:], axis=1) <= problem.mu * r[:, 0] + 1e-9).all()
    np.testing.assert_allclose(problem.H.T @ r.ravel(), 0.0, atol=1e-8 * np.abs(r).max())
    assert float(np.sum(problem.w * r)) < 0.0


@pytest.mark.parametrize("g", [-1.0, 1.0])
@pytest.mark.parametrize("mu", [0.3, 0.9, 1.5, 4.0])
@pytest.mark.parametrize("u0", [-2.0, -0.1, 0.0, 0.1, 2.0])
@pytest.mark.parametrize("theta", [0.4, QUARTER, 1.3])
def test_margin_of_the_rod(theta: float, mu: float, u0: float, g: float) -> None:
    problem = rod(mu, u0, g, theta)
    answer = existence.check(problem)
    slope = math.tan(theta)
    expected = -u0 * slope if slope <= mu else math.inf
    assert answer.margin == pytest.approx(expected, abs=1e-9)
    assert (answer.exists is True) == (u0 <= 0 or slope > mu)
    if answer.v is not None:
        assert margin_reached(problem, answer.v) >= min(0.999 * expected, 0.0) - 1e-12
    else:
        assert answer.r is not None
        assert_wedge(problem, answer.r)


def test_criterion_is_necessary_with_gravity_down_but_not_up() -> None:
    assert existence.check(rod(2.0, 1.0, g=-1.0)).verdict is Verdict.UNKNOWN
    assert gallery.get("painleve-down-none").known.exists is False
    assert existence.check(rod(2.0, 1.0, g=1.0)).verdict is Verdict.UNKNOWN
    assert len(gallery.get("painleve-up-two").known.solutions) == 2


def test_bounded_margin_of_the_rod() -> None:
    expected = 10 * math.sin(QUARTER) - 0.5 * abs(1 + 10 * math.cos(QUARTER))
    assert existence.bounded_margin(rod(0.5, 1.0), 10.0) == pytest.approx(expected, abs=1e-9)
    assert expected == pytest.approx(3.03553, abs=1e-5)
    assert existence.bounded_margin(rod(2.0, 1.0), 1e3) == pytest.approx(-1.0, abs=1e-9)


@pytest.mark.parametrize("name", ["spurious-fixed-point", "painleve-up-held", "wedged-bar"])
def test_nothing_imposed_is_certified_on_the_border(name: str) -> None:
    answer = existence.check(gallery.get(name).problem)
    assert (answer.verdict, answer.margin, answer.speed) == (Verdict.CERTIFIED, 0.0, 0.0)
    assert "w = 0" in answer.reason
    assert answer.opening == pytest.approx(0.0, abs=1e-9)


def test_rigid_square_opens_whatever_the_floor_does() -> None:
    problem = gallery.get("rigid-square").problem
    moved = ContactProblem(M=problem.M, H=problem.H, f=problem.f, w=[[-3.0, 1.0], [-1.0, 7.0]], mu=problem.mu)
    for each in (problem, moved):
        answer = existence.check(each)
        assert (answer.verdict, answer.margin) == (Verdict.CERTIFIED, math.inf)
        assert answer.v is not None
        assert margin_reached(each, answer.v) > 0


@pytest.mark.parametrize("mu", [0.0, 0.3])
def test_crushed_disc_is_impossible(mu: float) -> None:
    problem = gallery.crushed_disc(mu).problem
    answer = existence.check(problem)
    assert answer.verdict is Verdict.IMPOSSIBLE
    assert answer.exists is False
    assert answer.margin == pytest.approx(-0.5, abs=1e-9)
    assert answer.r is not None
    assert_wedge(problem, answer.r)
    np.testing.assert_allclose(answer.r[:, 1], 0.0)


def in_a_press(speed: float) -> ContactProblem:
    """A sphere between two plates that move along each other without closing (3-D)."""
    H = np.array(
        [[[0, 0, 1, 0, 0, 0], [1, 0, 0, 0, -1, 0], [0, 1, 0, 1, 0, 0]],
         [[0, 0, -1, 0, 0, 0], [1, 0, 0, 0, 1, 0], [0, 1, 0, -1, 0, 0]]], dtype=float
    )  # fmt: skip
    w = np.array([[0.0, 0.0, 0.0], [0.0, speed, 0.0]])
    return ContactProblem(M=np.eye(6), H=H.reshape(6, 6), f=np.zeros(6), w=w, mu=[0.5, 0.5])


def test_one_rigid_motion_of_all_that_is_outside() -> None:
    problem = in_a_press(0.0)
    turned = ContactProblem(
        M=problem.M, H=problem.H, f=problem.f, mu=problem.mu,
        w=(problem.H @ np.array([0.3, -0.2, 0.9, 0.1, -0.5, 0.4])).reshape(2, 3),
    )  # fmt: skip
    answer = existence.check(turned)
    assert answer.verdict is Verdict.CERTIFIED
    assert "rigid" in answer.reason
    assert answer.margin == 0.0
    quick = existence.check(turned, quick=True)
    assert quick.verdict is Verdict.CERTIFIED
    assert math.isnan(quick.opening)


def test_sphere_rolls_between_sliding_plates_but_no_more() -> None:
    answer = existence.check(in_a_press(1.0))
    assert answer.margin == pytest.approx(0.0, abs=1e-7)
    assert answer.verdict is Verdict.CERTIFIED  # rolling undoes the sliding: as if nothing were imposed


def test_fragile_where_the_border_is_reached_and_not_undone() -> None:
    # u_N1 = v, u_N2 = w − v: with w = 0 in the normals and a sliding that no motion undoes.
    problem = ContactProblem(
        M=[[1.0]], H=[[1.0], [0.0], [-1.0], [0.0]], f=[0.0], w=[[0.0, 0.0], [0.6, 0.3]], mu=[0.5, 2.0]
    )
    answer = existence.check(problem)
    assert answer.verdict is Verdict.FRAGILE
    assert answer.exists is None
    assert answer.v is not None
    assert margin_reached(problem, answer.v) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    "name", gallery.names("painleve") + gallery.names("small") + gallery.names("subset-sum")
)
def test_reduced_problems_get_the_same_answer(name: str) -> None:
    entry = gallery.get(name)
    given, reduced = existence.check(entry.problem), existence.check(reduce(entry.problem))
    assert given.verdict is reduced.verdict
    assert given.margin == pytest.approx(reduced.margin, rel=1e-5, abs=1e-6)
    if given.exists is not None:
        assert entry.known.exists in (None, given.exists)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_answers_do_not_depend_on_units(scale: float) -> None:
    problem = gallery.get("painleve-down-none").problem
    scaled = ContactProblem(M=problem.M, H=scale * problem.H, f=problem.f, w=1e3 * problem.w, mu=problem.mu)
    one, other = existence.check(problem), existence.check(scaled)
    assert other.verdict is one.verdict
    assert other.relative_margin == pytest.approx(one.relative_margin)
    assert other.margin == pytest.approx(1e3 * one.margin)


@pytest.mark.parametrize("seed", range(4))
def test_cones_and_inscribed_polyhedra_in_space(seed: int) -> None:
    random = np.random.default_rng(seed)
    problem = gallery.alea(3, 3, 8, seed=seed)
    reach = Reach(problem.H, problem.w, problem.mu * random.choice([0.0, 1.0, 1e4], 8))
    exact = widest_by_cones(reach, 5.0, math.inf)
    coarse, fine = (widest_by_facets(reach, 5.0, facets, math.inf) for facets in (8, 64))
    assert exact is not None
    assert coarse is not None
    assert fine is not None
    assert coarse.sigma <= fine.sigma + 1e-7
    assert fine.sigma <= exact.sigma + 1e-6
    # Weak duality with the bound: σ ≤ b·r + R |Gᵀr|_1 for r ∈ K with Σ r_N = 1, an equality at the optimum.
    for found in (exact, fine):
        assert found.r[:, 0].sum() == pytest.approx(1.0, abs=1e-6)
        bound = float(np.sum(reach.b * found.r)) + 5.0 * float(np.abs(reach.G.T @ found.r.ravel()).sum())
        assert bound >= found.sigma - 1e-6 * (1 + abs(bound))
    assert float(np.sum(reach.b * exact.r)) + 5.0 * float(
        np.abs(reach.G.T @ exact.r.ravel()).sum()
    ) == pytest.approx(exact.sigma, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("method", ["exact", "inscribed", "least-squares"])
def test_every_method_certifies_a_stack(method: existence.Method) -> None:
    answer = existence.check(gallery.get("box-stack-10").problem, method=method)
    assert answer.verdict is Verdict.CERTIFIED


@pytest.mark.parametrize(
    "name",
    ["painleve-down-forward", "painleve-down-none", "crushed-disc", "spurious-fixed-point", "alea-126-47"],
)
def test_the_least_motion_decides_as_the_widest_does(name: str) -> None:
    """Cadoux 2009, (3.38): margins are lower bounds, verdicts the same."""
    problem = gallery.get(name).problem
    widest, least = (existence.check(problem, method=method) for method in ("exact", "least-squares"))
    assert least.verdict is widest.verdict
    assert least.margin <= widest.margin + 1e-6 * max(1.0, widest.speed)
    if least.v is not None and least.margin > 0:
        assert margin_reached(problem, least.v) > 0


def test_full_row_rank_needs_no_program() -> None:
    problem = gallery.get("alea-42-5").problem
    answer = existence.check(problem)
    assert answer.reason == "H has full row rank"
    assert answer.v is not None
    assert margin_reached(problem, answer.v) > 0


def test_no_contact() -> None:
    problem = ContactProblem(M=np.eye(2), H=np.zeros((0, 2)), f=np.ones(2), w=np.zeros((0, 3)), mu=[])
    assert existence.check(problem).exists
    assert existence.bounded_margin(problem, 1.0) == math.inf


def test_no_time() -> None:
    answer = existence.check(gallery.get("painleve-down-none").problem, time_limit=0.0)
    assert answer.verdict is Verdict.UNKNOWN


def test_bad_questions() -> None:
    problem = rod(0.5, 1.0)
    with pytest.raises(SettingsError, match=r"tol must be positive, got 0"):
        existence.check(problem, tol=0)
    with pytest.raises(
        SettingsError, match=r"method must be 'exact', 'inscribed' or 'least-squares', got 'guess'"
    ):
        existence.check(problem, method="guess")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match=r"bound must be positive and finite, got inf"):
        existence.bounded_margin(problem, math.inf)


def test_rolling_is_another_law() -> None:
    blocks = BodyBlocks(np.ones((1, 2, 3, 3)), np.array([[0, 0]]), np.zeros((1, 3)), np.eye(3)[None])
    problem = RollingProblem.from_blocks(blocks, mu=0.5)
    with pytest.raises(ProblemError, match=r"about Coulomb's law, got that of RollingCone"):
        existence.check(problem)
    assert existence.advice(problem) == ""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("box-stack-10", "A solution is known to exist"),
        ("crushed-disc", "No solution exists"),
        ("subset-sum-both", "It is not known whether a solution exists"),
    ],
)
def test_failures_tell_whether_there_was_something_to_find(name: str, words: str) -> None:
    with pytest.raises(NotSolved, match=words):
        solve(gallery.get(name).problem, NSGS(tol=1e-300, max_iterations=0))


@pytest.mark.parametrize("name", [name for name in registry.names() if name != "enumeration"])
def test_every_method_tells_it(name: str) -> None:
    with pytest.raises(NotSolved, match="A solution is known to exist"):
        solve(gallery.get("box-stack-10").problem, registry.make(name, tol=1e-300, max_iterations=1))


def test_advice_is_cheap_or_absent() -> None:
    assert existence.advice(gallery.get("packing-1000").problem) == ""
    crowded = gallery.alea(6, 1, 10, seed=0)
    assert "Cadoux's criterion does not hold" in existence.advice(crowded, time_limit=10.0)
    assert "could not be decided" in existence.advice(crowded, time_limit=1e-9)


@pytest.mark.parametrize("name", gallery.names("alea")[:15])
def test_certificates_of_the_random_family_by_hand(name: str) -> None:
    """u_N > mu |u_T| at every contact for the velocity returned, n d / m below and above one alike."""
    problem = gallery.get(name).problem
    answer = existence.check(problem)
    assert answer.verdict is Verdict.CERTIFIED
    assert answer.v is not None
    u = (problem.H @ answer.v).reshape(-1, 3) + problem.w
    assert (u[:, 0] > problem.mu * np.hypot(u[:, 1], u[:, 2])).all()


def test_wedges_of_the_random_family_by_hand() -> None:
    """Far above the limit: impulses in K that balance by themselves and on which w works."""
    for seed in range(5):
        problem = gallery.alea(6, 1, 12, seed=seed)
        answer = existence.check(problem)
        assert answer.exists is not True
        r = answer.r
        assert r is not None
        assert (np.hypot(r[:, 1], r[:, 2]) <= problem.mu * r[:, 0] + 1e-6).all()
        assert np.abs(problem.H.T @ r.ravel()).max() < 1e-6
        assert float(np.sum(problem.w * r)) < 0.0


def random_plane_problem(random: np.random.Generator) -> ContactProblem:
    """Small whole numbers, more contacts than motions, so that the reduced W is singular."""
    n, m = int(random.integers(1, 5)), int(random.integers(1, 4))
    H = random.integers(-3, 4, (2 * n, m)).astype(float)
    H[::2][~H[::2].any(axis=1), 0] = 1.0  # a normal row must not be empty
    w = random.integers(-3, 4, (n, 2)).astype(float)
    mass = np.diag(2.0 ** random.integers(-2, 3, m))
    return ContactProblem(
        M=mass, H=H, f=random.integers(-3, 4, m), w=w, mu=random.choice([0.0, 0.5, 1.0, 3.0], n)
    )


def test_reduced_problems_with_a_singular_matrix_get_the_margin_of_the_global_form() -> None:
    random = np.random.default_rng(3)
    singular = 0
    for _ in range(150):
        problem = random_plane_problem(random)
        whole, part = existence.check(problem), existence.check(reduce(problem))
        singular += np.linalg.matrix_rank(reduce(problem).W.toarray()) < 2 * problem.n_contacts
        assert part.verdict is whole.verdict, problem
        assert part.margin == pytest.approx(whole.margin, abs=1e-6 * (1.0 + np.abs(problem.w).max()))
    assert singular > 100


def of_unequal_masses(random: np.random.Generator) -> ContactProblem:
    """Small whole numbers and masses from 1e-3 to 1e3; W may be singular or not."""
    d, n = int(random.integers(2, 4)), int(random.integers(1, 6))
    m = int(random.integers(2, 3 * n * d // 2 + 2))
    H = random.integers(-2, 3, (n * d, m)).astype(float)
    H[::d][~H[::d].any(axis=1), 0] = 1.0
    w = random.integers(-3, 4, (n, d)).astype(float)
    M = np.diag(random.choice([1.0, 1e-3, 1e3], m))
    return ContactProblem(M=M, H=H, f=np.zeros(m), w=w, mu=float(random.choice([0.0, 0.3, 1.0, 3.0])))


def test_reduced_problems_of_unequal_masses_get_the_verdict_of_the_global_form() -> None:
    random = np.random.default_rng(7)
    for _ in range(200):
        problem = of_unequal_masses(random)
        part = existence.check(reduce(problem))
        assert part.verdict is existence.check(problem).verdict, problem
        if part.verdict is Verdict.CERTIFIED and part.v is not None and part.margin > 0.0:
            assert margin_reached(reduce(problem), part.v) > 0.0


def test_light_and_heavy_bodies_do_not_hide_that_the_contacts_can_open() -> None:
    H = np.array(
        [[0, -1, 2, -2, 2, 1], [1, -1, 1, 1, 0, -1], [-1, 2, 2, 2, -1, 0],
         [2, 2, 1, 1, -1, 0], [-1, 1, 1, 0, 1, -1], [0, -1, 0, 2, -1, -2]], dtype=float
    )  # fmt: skip
    inverse_masses = np.diag([1.0, 1.0, 1.0, 1e3, 1e-3, 1e-3])
    problem = ContactProblem(W=H @ inverse_masses @ H.T, q=[[3.0, -3.0, 0.0], [3.0, 3.0, 2.0]], mu=3.0)
    answer = existence.check(problem)
    assert (answer.verdict, answer.margin) == (Verdict.CERTIFIED, math.inf)
    assert answer.v is not None
    assert margin_reached(problem, answer.v) > 0.0


@pytest.mark.parametrize("rank", [1, 4, 7])
def test_a_factor_gives_impulses_of_any_motion(rank: int) -> None:
    columns = np.random.default_rng(rank).normal(size=(7, rank)) * 10.0 ** np.arange(-3, 4)[:, None]
    W = sparse.csr_array(columns @ columns.T)
    factor = factor_of(W)
    assert factor is not None
    assert factor.G.shape == (7, rank)
    v = np.random.default_rng(9).normal(size=rank)
    np.testing.assert_allclose(W @ factor.impulses(v), factor.G @ v, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "W",
    [
        pytest.param([[1.0, 5.0], [5.0, 1.0]], id="indefinite"),
        pytest.param([[1.0, 0.5], [0.2, 1.0]], id="not symmetric"),
        pytest.param([[0.0, 1.0], [1.0, 0.0]], id="nothing on the diagonal"),
        pytest.param([[1.0, 1.0], [1.0, 1.0 + 1e-13]], id="of rank one or two"),
    ],
)
def test_no_factor_that_cannot_be_trusted(W: list[list[float]]) -> None:
    assert factor_of(sparse.csr_array(W)) is None


def test_singular_matrix_of_one_contact() -> None:
    answer = existence.check(ContactProblem(W=[[4.0, -6.0], [-6.0, 9.0]], q=[[0.0, 1.0]], mu=1.0))
    assert answer.margin == pytest.approx(2 / 3, abs=1e-9)


@pytest.mark.parametrize("f", [1.0, -1.0])
def test_closure_is_enough_where_no_motion_reaches_the_cone(f: float) -> None:
    # u = (v, v, 1): v − √(v² + 1) < 0 tends to 0; w·r = 0 on the self-balanced impulses (1, −1, 0).
    problem = ContactProblem(M=[[1.0]], H=[[1.0], [1.0], [0.0]], f=[f], w=[[0.0, 0.0, 1.0]], mu=[1.0])
    answer = existence.check(problem)
    assert answer.verdict is Verdict.FRAGILE
    assert "theorem 3.1" in answer.reason
    assert answer.margin == pytest.approx(0.0, abs=1e-7)
    assert solve(problem).status.is_solved


@pytest.mark.parametrize("normal", [-0.1, 0.1])
def test_margin_that_no_motion_attains(normal: float) -> None:
    problem = ContactProblem(M=[[1.0]], H=[[1.0], [1.0], [0.0]], f=[1.0], w=[[normal, 0.0, 1.0]], mu=[1.0])
    answer = existence.check(problem)
    assert answer.margin == pytest.approx(normal, abs=1e-6)
    assert answer.verdict is (Verdict.CERTIFIED if normal > 0 else Verdict.UNKNOWN)


@pytest.mark.filterwarnings("ignore:W is not symmetric")
@pytest.mark.parametrize(
    ("W", "why"),
    [([[0.5, 5.5], [1.5, 22.5]], "not symmetric"), ([[1.0, 5.0], [5.0, 1.0]], "not positive semidefinite")],
)
def test_nothing_is_certified_outside_the_theorem(W: list[list[float]], why: str) -> None:
    answer = existence.check(ContactProblem(W=W, q=[[-4.0, 2.0]], mu=10.0))
    assert (answer.verdict, answer.exists) == (Verdict.UNKNOWN, None)
    assert why in answer.reason
    assert "outside the theorem" in answer.reason


@pytest.mark.filterwarnings("ignore:W is not symmetric")
def test_penetration_needs_no_theorem() -> None:
    W = [[1.0, 0.0, -1.0, 0.0], [3.0, 1.0, 0.0, 0.0], [-1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 2.0, 1.0]]
    answer = existence.check(ContactProblem(W=W, q=[[-1.0, 0.0], [-1.0, 0.0]], mu=0.3))
    assert answer.verdict is Verdict.IMPOSSIBLE


@pytest.mark.parametrize("ratio", [1e6, 1e9, 1e12, 1e14])
def test_a_heavy_body_on_a_light_one_has_a_solution(ratio: float) -> None:
    W = np.diag([1.0, 1.0, 1.0 + 1.0 / ratio, 1.0])
    W[0, 2] = W[2, 0] = -1.0
    assert existence.check(ContactProblem(W=W, q=[[-1.0, 0.0], [0.0, 0.0]], mu=0.5)).exists is True


def of_other_units(W: Array, q: Array, mu: list[float], units: list[float]) -> ContactProblem:
    """A problem in the plane whose contacts have units of their own, powers of two: nothing rounds."""
    unit = np.repeat(2.0 ** np.array(units), 2)
    return ContactProblem(W=unit[:, None] * W * unit, q=(unit * q).reshape(-1, 2), mu=mu)


@pytest.mark.parametrize("units", [(0, 0), (-15, 22), (-30, 8), (22, -15)])
def test_solutions_are_not_denied_whatever_the_units_of_contacts(units: list[float]) -> None:
    """One contact closes by itself, which opens the other more than it is."""
    W = np.zeros((4, 4))
    W[np.ix_([0, 2], [0, 2])] = 1.0
    problem = of_other_units(W, np.array([-1.5, 0.5, 3.0, 0.0]), [0.5, 1.0], units)
    assert existence.check(problem).verdict is not Verdict.IMPOSSIBLE


@pytest.mark.parametrize("units", [(0, 0), (-26, 34), (30, -30)])
def test_no_solution_is_promised_where_units_hide_a_contact(units: list[float]) -> None:
    """W has rank 3 and no impulses undo q at the first contact; in the unit of the second it is nothing."""
    W = np.array([[1.0, 1, 0, -1], [1, 1, 0, -1], [0, 0, 2, -2], [-1, -1, -2, 4]])
    problem = of_other_units(W, np.array([-3.0, 3.0, 0.0, -3.0]), [1.0, 0.5], units)
    assert existence.check(problem).verdict is not Verdict.CERTIFIED
