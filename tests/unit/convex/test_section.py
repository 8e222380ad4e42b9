"""Cones with sections of any convex shape: projections, derivatives, laws solved with them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clapas.convex import CoulombCone, Ellipses, Polygons, PolyhedralCone, Section, SectionCone
from clapas.errors import ProblemError
from clapas.problems import ContactProblem, existence, reduce
from clapas.solvers import (
    ADMM,
    NSGS,
    AcceleratedProjection,
    Auto,
    DeSaxceFixedPoint,
    Extragradient,
    solve,
)
from tests.random_problems import random_global

SQUARE = [[1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]]
KITE = [[2.0, 0.0], [0.0, 0.5], [-0.3, 0.0], [0.0, -0.5]]


def points(seed: int, n: int, d: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d)) * 3.0


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.floats(0.01, 10.0))
def test_the_projection_is_that_of_the_polyhedral_cone(seed: int, mu: float) -> None:
    x = points(seed, 30)
    cone = SectionCone(np.full(30, mu), Polygons.same(KITE, 30), 3)
    edges = np.column_stack((np.ones(4), mu * np.array(KITE)))
    np.testing.assert_allclose(
        cone.project(x), PolyhedralCone(generators=edges).project(x), atol=1e-9 * max(1.0, mu)
    )


def test_moreau_and_idempotence() -> None:
    x = points(1, 200)
    cone = SectionCone(np.full(200, 0.7), Polygons.same(KITE, 200), 3)
    p, q = cone.project(x), cone.polar().project(x)
    np.testing.assert_allclose(p + q, x, atol=1e-12)
    np.testing.assert_allclose(np.sum(p * q, axis=1), 0.0, atol=1e-11)
    np.testing.assert_allclose(cone.project(p), p, atol=1e-12)


def test_discs_among_polygons_are_coulombs_cones() -> None:
    x, mu = points(2, 100), np.full(100, 0.6)
    section = Polygons(np.tile(KITE, (100, 1, 1)), np.arange(100) % 2 == 0)
    cone, round_cone = SectionCone(mu, section, 3), CoulombCone(mu, 3)
    u = points(3, 100)
    for mixed, expected in (
        (cone.project(x), round_cone.project(x)),
        (cone.jacobian(x), round_cone.jacobian(x)),
        (cone.shift(u), round_cone.shift(u)),
        (cone.violation(u, x), round_cone.violation(u, x)),
    ):
        np.testing.assert_allclose(mixed[::2], expected[::2], atol=1e-11)
        assert not np.allclose(mixed[1::2], expected[1::2])


@pytest.mark.parametrize("d", [2, 3])
def test_derivatives_are_those_of_differences(d: int) -> None:
    corners = KITE if d == 3 else [[-0.5], [1.5]]
    x, h = points(4, 300, d), 1e-6
    cone = SectionCone(np.full(300, 0.8), Polygons.same(corners, 300), d)
    differences = np.stack(
        [(cone.project(x + h * e) - cone.project(x - h * e)) / (2 * h) for e in np.eye(d)], 2
    )
    close = np.abs(differences - cone.jacobian(x)).max(axis=(1, 2)) < 1e-5
    assert close.mean() > 0.98  # not where a difference crosses a kink


def test_zero_friction_and_the_axis() -> None:
    cone = SectionCone(np.zeros(3), Polygons.same(SQUARE, 3), 3)
    x = np.array([[1.0, 2.0, 3.0], [-1.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(cone.project(x), [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])


def test_a_particle_on_a_tread() -> None:
    """It slides at an angle; friction takes the corner that resists most, and need not be opposite."""
    problem = ContactProblem(W=np.eye(3), q=[[-1.0, 2.0, 0.3]], mu=[0.5], section=SQUARE)
    solution = solve(problem)
    np.testing.assert_allclose(solution.r, [[1.0, -0.5, -0.3]], atol=1e-7)  # stops across, slides along
    assert solution.method == "Auto: nsgs, sweeps on blocks of W"
    faster = ContactProblem(W=np.eye(3), q=[[-1.0, 2.0, 0.9]], mu=[0.5], section=SQUARE)
    np.testing.assert_allclose(solve(faster).r, [[1.0, -0.5, -0.5]], atol=1e-7)


def test_a_ratchet_in_the_plane() -> None:
    """Friction that resists one direction three times as much as the other."""
    ratchet = [[-1.0], [3.0]]
    for slip, friction in ((2.0, -0.5), (-2.0, 1.5)):
        problem = ContactProblem(W=np.eye(2), q=[[-1.0, slip]], mu=[0.5], section=ratchet)
        np.testing.assert_allclose(solve(problem).r, [[1.0, friction]], atol=1e-7)


@pytest.mark.parametrize(
    "solver",
    [
        Auto(tol=1e-8),
        NSGS(tol=1e-8),
        AcceleratedProjection(tol=1e-8),
        ADMM(tol=1e-8),
        Extragradient(tol=1e-6),
        DeSaxceFixedPoint(tol=1e-6),
    ],
    ids=lambda solver: type(solver).__name__,
)
def test_projection_methods_agree(solver: Auto) -> None:
    given = reduce(random_global(7))
    problem = ContactProblem(W=given.W, q=given.q, mu=given.mu, section=KITE)
    solution = solve(problem, solver)
    reference = solve(problem, AcceleratedProjection(tol=1e-10))
    np.testing.assert_allclose(solution.u, reference.u, atol=1e-4)
    report = solution.report()
    assert report.cone_violation < 1e-5
    assert report.open + report.sticking + report.sliding == 6


def test_a_polygon_of_many_sides_is_a_disc() -> None:
    given = reduce(random_global(3, n=5))
    angle = 2.0 * np.pi * np.arange(200) / 200
    corners = np.column_stack((np.cos(angle), np.sin(angle)))
    polygon = ContactProblem(W=given.W, q=given.q, mu=given.mu, section=corners)
    np.testing.assert_allclose(solve(polygon).u, solve(given).u, atol=2e-3)


def test_sections_follow_the_problem_through_conversions() -> None:
    M, H = np.eye(6), np.vstack((np.eye(6)[:3], np.eye(6)[3:]))
    problem = ContactProblem(M=M, H=H, f=[1.0, -2.0, 0.1, 1.0, 0.0, 0.0], mu=[0.5, 0.5], section=KITE)
    reduced = reduce(problem)
    r = solve(problem).r
    assert reduced.residual(r) <= 1e-8
    assert isinstance(reduced.cone, SectionCone)
    with pytest.raises(ProblemError, match="about Coulomb's law, got that of SectionCone"):
        existence.check(problem)
    assert "bodies of any size" in solve(problem, NSGS()).method


class Stadium:
    """A section that people bring: a square with round corners, as a disc added to a smaller square."""

    def __init__(self, inner: Polygons) -> None:
        self.inner = inner

    def project(self, x: np.ndarray, scale: np.ndarray) -> np.ndarray:
        at = self.inner.project(x, 0.5 * scale)
        away = x - at
        length = np.linalg.norm(away, axis=1, keepdims=True)
        return at + away * np.minimum(1.0, 0.5 * scale[:, None] / np.where(length > 0.0, length, 1.0))

    def support(self, z: np.ndarray) -> np.ndarray:
        return 0.5 * self.inner.support(z) + 0.5 * np.linalg.norm(z, axis=1)

    def jacobian(self, x: np.ndarray, scale: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def take(self, contacts: np.ndarray) -> Stadium:
        return Stadium(self.inner.take(contacts))


def test_sections_that_people_bring_are_solved_by_projection() -> None:
    given = reduce(random_global(5))
    section = Stadium(Polygons.same(SQUARE, given.n_contacts))
    problem = ContactProblem(W=given.W, q=given.q, mu=given.mu, section=section)
    solution = solve(problem, Auto(tol=1e-6))
    assert "accelerated-projection" in solution.method


@pytest.mark.parametrize(
    ("corners", "message"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], "at least three corners"),
        (SQUARE[::-1], "against the clock"),
        ([[1.0, 0.0], [2.0, 1.0], [1.0, 1.0]], "origin inside"),
        ([[1.0, -1.0], [0.1, 0.0], [1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]], "convex"),
        ([[np.nan, 0.0], [0.0, 1.0], [-1.0, 0.0]], "finite"),
        ([1.0, 2.0], r"section has shape \(2,\)"),
        ("square", r"section is 'square', expected a Section, or corners: \(k, 2\) in space"),
    ],
)
def test_bad_sections_are_refused(corners: list[list[float]], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        ContactProblem(W=np.eye(3), q=[[-1.0, 0.0, 0.0]], mu=[0.5], section=corners)


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.floats(1e-3, 1e3))
def test_the_nearest_point_of_an_ellipse(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    axes, angle = rng.uniform(0.05, 3.0, (5, 2)), rng.uniform(-4.0, 4.0, 5)
    section, size = Ellipses(axes, angle), np.full(5, scale)
    x = scale * rng.normal(size=(5, 2)) * rng.choice([0.1, 1.0, 100.0])
    p = section.project(x, size)
    inside = np.linalg.norm(np.linalg.solve(section.stretch, p[:, :, None])[:, :, 0], axis=1)
    assert (inside <= scale * (1.0 + 1e-12)).all()
    # The rest is normal to the set at p: no point of it is further along the rest.
    np.testing.assert_allclose(
        scale * section.support(x - p), np.sum((x - p) * p, axis=1), rtol=1e-9, atol=1e-12 * scale**2
    )
    step = 1e-6 * scale
    for k in range(2):
        ahead, behind = x.copy(), x.copy()
        ahead[:, k] += step
        behind[:, k] -= step
        slope = (section.project(ahead, size) - section.project(behind, size)) / (2.0 * step)
        np.testing.assert_allclose(section.jacobian(x, size)[:, :, k], slope, atol=1e-4)


def test_limits_of_ellipses() -> None:
    section = Ellipses(np.array([[2.0, 1.0], [2.0, 1.0], [2.0, 1.0], [1e-9, 1.0]]))
    x = np.array([[0.0, 0.0], [0.0, 5.0], [3.0, 0.0], [1.0, 2.0]])
    np.testing.assert_array_equal(section.project(x, np.zeros(4)), 0.0)
    p = section.project(x, np.ones(4))
    np.testing.assert_allclose(p, [[0, 0], [0, 1], [2, 0], [0, 1]], atol=1e-8)
    one = Ellipses(np.array([[2.0]]))
    np.testing.assert_array_equal(one.project(np.array([[-5.0]]), np.array([0.5])), [[-1.0]])
    np.testing.assert_array_equal(one.support(np.array([[-3.0]])), [6.0])


@pytest.mark.parametrize(
    ("axes", "angle", "message"),
    [
        (np.ones(2), None, r"ellipses have axes \(n, 2\), or \(n, 1\) in the plane, got \(2,\)"),
        (np.ones((2, 2)), np.zeros(3), r"ellipses have one angle each, \(2,\), got \(3,\)"),
        (
            [[1.0, 0.0]],
            None,
            r"contact 0: the axes of an ellipse must be positive .* got \[1.0, 0.0\] and 0.0",
        ),
    ],
)
def test_ellipses_that_are_none_are_refused(axes: np.ndarray, angle: np.ndarray | None, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        Ellipses(axes, angle)


@pytest.mark.parametrize(
    "section",
    [Polygons(np.tile([[1.0, -1], [1, 1], [-1, 1], [-1, -1]], (4, 1, 1))), Ellipses.same([2.0, 1.0], 4)],
    ids=["square", "ellipse"],
)
def test_without_friction_a_cone_of_any_section_is_the_same_ray(section: Section) -> None:
    """Derivatives too, where the tangential part vanishes and where all does."""
    mu, x = np.zeros(4), np.array([[1.0, 0.5, 0.2], [1.0, 0, 0], [0, 0, 0], [-1.0, 0.3, 0.1]])
    cone, ray = SectionCone(mu, section, 3), CoulombCone(mu, 3)
    np.testing.assert_array_equal(cone.project(x), ray.project(x))
    np.testing.assert_array_equal(cone.jacobian(x), ray.jacobian(x))


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.floats(1e-6, 1e3), st.sampled_from([2, 3]))
def test_the_formula_for_polygons_finds_the_root(seed: int, mu: float, d: int) -> None:
    """Against the bisection that serves any section; zero friction and discs among them."""
    rng = np.random.default_rng(seed)
    n, k = 12, int(rng.integers(3, 9))
    if d == 3:
        angle = (np.arange(k) / k + rng.uniform(0.0, 0.4 / k, (n, k))) * 2.0 * np.pi
        corners = np.stack((np.cos(angle), rng.uniform(0.2, 5.0) * np.sin(angle)), axis=2)
    else:
        corners = np.stack((-rng.uniform(0.1, 2.0, (n, 1)), rng.uniform(0.1, 2.0, (n, 1))), axis=1)
    section = Polygons(corners, is_round=np.arange(n) % 5 == 4)
    friction = np.where(np.arange(n) % 7 == 6, 0.0, mu)
    cone, x = SectionCone(friction, section, d), points(seed, n, d)
    found = cone.project(x)
    searched = np.where((found == x).all(axis=1), x[:, 0], cone._height(x))
    np.testing.assert_allclose(found[:, 0], searched, atol=1e-13 * np.abs(x).max())
