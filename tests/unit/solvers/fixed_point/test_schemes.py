"""Schemes for fixed points: on maps whose fixed point is known, and Newton's derivative."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clapas.problems import ContactProblem, gallery
from clapas.solvers.conic_fixed_point import ConicFixedPoint
from clapas.solvers.convex import AcceleratedGradient
from clapas.solvers.fixed_point import Anderson, Broyden, Newton, Picard, Scheme
from clapas.solvers.fixed_point import newton as newton_module
from clapas.solvers.fixed_point.base import Evaluation
from clapas.typing import Array
from tests.random_problems import random_global

PROBLEM = gallery.get("one-slide").problem
NOTHING = np.zeros((1, 3))


def gaps(scheme: Scheme, A: Array, b: Array, count: int) -> list[float]:
    """Sizes of F(s) − s along a scheme on the affine map F(s) = A s + b."""

    def evaluate(s: Array) -> Evaluation:
        return Evaluation(s, A @ s + b, NOTHING, NOTHING)

    search, s, sizes = scheme.start(PROBLEM), np.zeros(len(b)), []
    for _ in range(count):
        last = evaluate(s)
        sizes.append(float(np.linalg.norm(last.gap)))
        s = search.advance(last, evaluate)
    return sizes


def random_map(n: int, radius: float, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n))
    return A * (radius / np.abs(np.linalg.eigvals(A)).max()), rng.normal(size=n)


def test_plain_iteration_contracts_at_the_rate_of_the_map() -> None:
    A, b = 0.5 * np.eye(3), np.ones(3)
    sizes = gaps(Picard(), A, b, 10)
    np.testing.assert_allclose(np.array(sizes[1:]) / sizes[:-1], 0.5)


@pytest.mark.parametrize("scheme", [Anderson(), Broyden()], ids=lambda s: type(s).__name__)
def test_acceleration(scheme: Scheme) -> None:
    A, b = random_map(4, 0.95)
    assert gaps(scheme, A, b, 30)[-1] < 1e-3 * gaps(Picard(), A, b, 30)[-1]


def test_broyden_ends_on_affine_maps() -> None:
    """At most 2 n steps (Gay 1979), even where the plain iteration diverges."""
    A, b = random_map(3, 1.5)
    assert gaps(Broyden(), A, b, 8)[-1] < 1e-8


def test_broyden_starts_anew_when_its_memory_is_full() -> None:
    A, b = random_map(6, 0.9)
    assert gaps(Broyden(memory=2), A, b, 200)[-1] < 1e-8


def test_anderson_forgets_what_did_harm() -> None:
    """A map that jumps: the memory is emptied and the plain iteration goes on."""
    search: Any = Anderson().start(PROBLEM)
    for k, gap in enumerate([1.0, 0.5, 0.2, 10.0]):
        s = np.array([float(k)])
        step = search.advance(Evaluation(s, s + gap, NOTHING, NOTHING), lambda s: None)
    assert len(search.past) == 1
    np.testing.assert_allclose(step, [13.0])


def test_newton_direction_is_the_derivative_of_the_map() -> None:
    """Ds solves (I − F'(s)) ds = F(s) − s, F' by finite differences (Cadoux 2009, (4.28) with −E)."""
    problem = random_global(0, n=3, bodies=4)
    problem = ContactProblem(M=problem.M, H=problem.H, f=problem.f, w=problem.w, mu=np.full(3, 0.4))
    solver = ConicFixedPoint(accuracy=1e-13, inner=AcceleratedGradient(max_iterations=20_000))
    iteration: Any = solver.start(problem, np.zeros((3, 3)))
    s = np.array([0.3, 0.2, 0.4])
    point, h = iteration.evaluate(s), 1e-5
    columns = [
        (iteration.evaluate(s + h * e).value - iteration.evaluate(s - h * e).value) / (2 * h)
        for e in np.eye(3)
    ]
    expected = np.linalg.solve(np.eye(3) - np.array(columns).T, point.gap)
    assert np.abs(columns).max() > 1e-2  # the map does depend on s
    direction = Newton().start(problem).direction(point)  # type: ignore[attr-defined]
    np.testing.assert_allclose(direction, expected, rtol=1e-5, atol=1e-8)


def test_newton_by_products_only(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = gallery.get("alea-54-11").problem
    solver = ConicFixedPoint(accuracy=1e-11, inner=AcceleratedGradient(max_iterations=20_000))
    iteration: Any = solver.start(problem, np.zeros((11, 3)))
    point = iteration.evaluate(np.full(11, 0.1))
    full = Newton().start(problem).direction(point)  # type: ignore[attr-defined]
    monkeypatch.setattr(newton_module, "LARGEST_FULL", 0)
    products = Newton().start(problem).direction(point)  # type: ignore[attr-defined]
    np.testing.assert_allclose(products, full, atol=1e-6 * np.abs(full).max())


def test_newton_ends_in_the_plane() -> None:
    """F is piecewise affine in 2-D: the last step is exact (Cadoux 2009, 4.7.7)."""
    problem = random_global(5, n=4, bodies=4, d=2)
    solver = ConicFixedPoint(
        tol=1e-9, scheme=Newton(), accuracy=1e-13, inner=AcceleratedGradient(max_iterations=50_000)
    )
    iteration: Any = solver.start(problem, np.zeros((4, 2)))
    residuals = []
    for _ in range(8):
        iteration.advance(1)
        residuals.append(problem.residual(iteration.impulses()))
    assert min(residuals) <= 1e-9
