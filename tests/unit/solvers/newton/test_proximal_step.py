"""One proximal step and the single-valued answer of a compliant contact."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.problems import gallery
from clapas.problems.coulomb import natural_map
from clapas.solvers.newton.augmentation import Augmentation
from clapas.solvers.newton.equations import Equations
from clapas.solvers.newton.maps import AlartCurnierMap
from clapas.solvers.newton.proximal_step import ProximalStep
from clapas.solvers.newton.resolvent import resolvent, resolvent_derivative
from tests.random_problems import random_global


@pytest.mark.parametrize("d", [2, 3])
def test_answer_is_what_alart_and_curnier_project(d: int):
    """With r = 0, u = −z and ρ = 1 their function is −resolvent(z), its derivative by u the answer's by z."""
    rng = np.random.default_rng(6)
    z, mu = rng.normal(size=(200, d)), rng.uniform(0, 1, 200) * (rng.random(200) > 0.2)
    r, by_z = np.empty_like(z), np.empty((200, d, d))
    resolvent(z, mu, r)
    resolvent_derivative(z, mu, by_z)
    tangent = AlartCurnierMap().linearise(-z, np.zeros_like(z), mu, Augmentation(np.ones(200), np.ones(200)))
    np.testing.assert_allclose(r, -tangent.value, atol=1e-15)
    np.testing.assert_allclose(by_z, tangent.by_u, atol=1e-14)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("alpha", [1.0, 1e-3])
def test_step_solves_the_problem_with_compliance(d: int, alpha: float):
    problem = random_global(3, d=d)
    equations = Equations(problem)
    step = ProximalStep(equations, np.zeros(equations.shape), alpha, accuracy=1e-6)
    for _ in step.run():
        pass
    assert step.is_solved
    g = equations.velocity(step.p) + alpha * step.p
    missed = natural_map(g, step.p, problem.mu, np.ones(problem.n_contacts))
    assert np.linalg.norm(missed) <= 1e-6 * alpha * np.linalg.norm(step.p)


def test_answer_stays_in_the_cones():
    problem = gallery.get("box-stack-10").problem
    equations = Equations(problem)
    step = ProximalStep(equations, np.zeros(equations.shape), 0.1, accuracy=0.1)
    for _ in step.run():
        pass
    x = step.projected
    assert (np.linalg.norm(x[:, 1:], axis=1) <= problem.mu * x[:, 0] * (1 + 1e-12)).all()
