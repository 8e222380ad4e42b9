"""Simplified models of friction show the defects they are known for, and are exact where they should be."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.errors import ProblemError
from clapas.problems import ContactProblem, gallery
from clapas.solvers import solve
from clapas.solvers.models import associated, lagged, pyramid


def particle(angle: float = 0.0, mu: float = 0.5) -> ContactProblem:
    """One contact that slides at 3 m/s in a direction; Coulomb: r = (1, mu against the slip)."""
    return ContactProblem(W=np.eye(3), q=[[-1.0, 3.0 * np.cos(angle), 3.0 * np.sin(angle)]], mu=[mu])


def test_the_associated_law_lifts_what_slides() -> None:
    """The projection of −q on K: r_N = (1 + 3 mu)/(1 + mu²) = 2, r_T = −1; u_N = 1 = mu |u_T|."""
    found = associated(particle())
    np.testing.assert_allclose(found.r, [[2.0, -1.0, 0.0]], atol=1e-8)
    np.testing.assert_allclose(found.lifting, [1.0], atol=1e-8)
    assert found.residual > 0.1


def test_the_associated_law_is_exact_at_rest() -> None:
    problem = gallery.box_stack(3).problem
    assert associated(problem, accuracy=1e-11).residual < 1e-7


@pytest.mark.parametrize("facets", [4, 8, 16])
def test_a_pyramid_turns_friction_towards_its_edges(facets: int) -> None:
    edge, between = pyramid(particle(0.0), facets), pyramid(particle(0.8 * np.pi / facets), facets)
    assert edge.deviation[0] == pytest.approx(0.0, abs=1e-7)
    assert edge.residual < 1e-9
    assert 0.0 < between.deviation[0] <= 1.05 * np.pi / facets + 0.1
    assert between.deviation[0] > 0.5 * np.pi / facets
    assert abs(between.lifting[0]) < 1e-9  # it does not lift


def test_thresholds_of_other_impulses() -> None:
    assert lagged(particle()).residual < 1e-8  # r_N does not depend on friction here: exact
    heavy = lagged(particle(), [2.0])
    assert heavy.excess[0] == pytest.approx(0.5)  # |r_T| = 1 for mu r_N = ½
    opened = lagged(ContactProblem(W=np.eye(3), q=[[1.0, 3.0, 0.0]], mu=[0.5]), [2.0])
    np.testing.assert_allclose(opened.r, [[0.0, -1.0, 0.0]], atol=1e-8)  # rubs without touching


def test_all_differ_from_coulomb_on_a_random_problem() -> None:
    problem = gallery.get("alea-42-5").problem
    true = solve(problem).r
    for model in (associated, pyramid, lagged):
        assert np.abs(model(problem).r - true).max() > 1e-3


def test_bad_impulses_are_refused() -> None:
    with pytest.raises(ProblemError, match="normal must be 1 impulses ≥ 0"):
        lagged(particle(), [-1.0])
