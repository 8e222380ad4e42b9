"""The report: every form of Coulomb's law on the same answer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clapas.problems import ContactProblem, coulomb
from clapas.problems.report import modes
from tests.random_problems import particle


def law_abiding(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random pairs (u, r) that obey the law, in the three modes, with their mu."""
    mu = rng.uniform(0.1, 1.5, n)
    u, r = np.zeros((2, n, d))
    mode = rng.integers(3, size=n)
    direction = rng.normal(size=(n, d - 1))
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    for i in range(n):
        if mode[i] == 0:
            u[i, 0], u[i, 1:] = rng.random(), rng.normal(size=d - 1)
        else:
            r[i, 0] = 0.1 + rng.random()
            share = rng.random() if mode[i] == 1 else 1.0
            r[i, 1:] = share * mu[i] * r[i, 0] * direction[i]
            u[i, 1:] = 0.0 if mode[i] == 1 else -rng.random() * direction[i]
    return u, r, mu


@given(st.integers(0, 10_000), st.sampled_from([2, 3]))
def test_every_form_vanishes_on_the_law(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    u, r, mu = law_abiding(rng, 6, d)
    rho = 10.0 ** rng.uniform(-2, 2, 6)
    assert np.abs(coulomb.natural_map(u, r, mu, rho)).max() < 1e-13
    assert np.abs(coulomb.alart_curnier(u, r, mu, rho)).max() < 1e-13
    assert np.abs(coulomb.bipotential(u, r, mu)).max() < 1e-13


@given(st.integers(0, 10_000), st.sampled_from([2, 3]))
def test_every_form_sees_a_violation(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    u, r, mu = law_abiding(rng, 1, d)
    u[0, 0] = -0.1  # approach, which no mode allows
    rho = np.ones(1)
    assert np.abs(coulomb.natural_map(u, r, mu, rho)).max() > 1e-3
    assert np.abs(coulomb.alart_curnier(u, r, mu, rho)).max() > 1e-3


@pytest.mark.parametrize("unit", [1e200, 1e-200])
@pytest.mark.parametrize("of_impulses", [False, True])
def test_every_measure_in_units_whose_squares_are_no_numbers(unit: float, of_impulses: bool) -> None:
    W = np.eye(3) * (1.0 if of_impulses else unit)
    problem = ContactProblem(W=W, q=np.array([[-0.0981, 1.0, 0.0]]) * unit, mu=0.5)
    ordinary = ContactProblem(W=np.eye(3), q=[[-0.0981, 1.0, 0.0]], mu=0.5)
    impulse = unit if of_impulses else 1.0
    for r in (np.array([[0.0981, -0.04905, 0.0]]), np.array([[0.05, 0.0, 0.05]])):
        report, expected = problem.report(r * impulse), ordinary.report(r)
        for name in ("residual", "natural_map", "slip_direction_error"):
            assert getattr(report, name) == pytest.approx(getattr(expected, name), abs=1e-15), name
        assert report.sliding == expected.sliding == 1
        assert report.cone_violation / impulse == pytest.approx(expected.cone_violation)
        assert not np.isnan(list(report.as_dict().values())).any()


def test_particle_by_hand() -> None:
    report = particle().report([[0.0981, -0.04905, 0.0]])
    assert (report.open, report.sticking, report.sliding) == (0, 0, 1)
    assert report.dissipation == pytest.approx(0.04905 * (1 - 0.04905))
    assert max(report.residual, report.natural_map, report.penetration, report.cone_violation) < 1e-15
    wrong = particle().report([[0.05, 0.0, 0.05]])
    assert wrong.penetration == pytest.approx(0.0481)
    assert wrong.cone_violation == pytest.approx((0.05 - 0.025) / np.sqrt(1.25))
    assert wrong.slip_direction_error == pytest.approx(np.arctan2(0.05 * 1.0, -0.05 * 0.05))
    assert wrong.complementarity == pytest.approx(0.0481 * 0.05)
    assert wrong.bipotential_gap == pytest.approx(-0.0481 * 0.05 + 0.0025 + 0.5 * 0.05 * np.hypot(1, 0.05))


def test_thesis_criterion_is_the_printed_formula() -> None:
    problem = ContactProblem(W=np.diag([2.0, 1.0, 1.0]), q=[[-1.0, 0.3, 0.0]], mu=0.5)
    r = np.array([[0.25, 0.1, 0.0]])
    u = problem.velocity(r)
    f_n = max(0.0, r[0, 0] - u[0, 0]) - r[0, 0]
    y = r[0, 1] - u[0, 1]
    f_t = np.clip(y, -0.125, 0.125) - r[0, 1]
    assert problem.report(r).thesis_criterion == pytest.approx((f_n**2 + f_t**2) / 6)


def test_modes_are_counted() -> None:
    q = [[1.0, 0, 0], [-1.0, 0.1, 0], [-1.0, 5.0, 0]]
    problem = ContactProblem(W=np.eye(9), q=q, mu=[0.5, 0.5, 0.5])
    r = [[0, 0, 0], [1.0, -0.1, 0], [1.0, -0.5, 0]]
    report = problem.report(r)
    assert (report.open, report.sticking, report.sliding) == (1, 1, 1)
    assert "1 open, 1 sticking, 1 sliding" in str(report)
    assert report.as_dict()["sliding"] == 1


@pytest.mark.parametrize("k", [-200, -170, 0, 160, 200])
def test_modes_do_not_depend_on_units(k: int) -> None:
    """A contact that slides does so where squares overflow or vanish."""
    problem = ContactProblem(W=10.0**k * np.eye(3), q=[[-(10.0**k), 10.0**k, 0.0]], mu=[0.5])
    r = np.array([[1.0, -0.5, 0.0]])
    assert [mask.tolist() for mask in modes(problem, r)] == [[False], [False], [True]]
