"""Polyhedra around the cones of a domain hold them, and not much more."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize

from clapas.solvers.branch_and_bound import cones
from clapas.solvers.branch_and_bound.checker import ANYTHING, CIRCLE, Domain
from clapas.solvers.branch_and_bound.modes import BACKWARD, CLOSED, FORWARD, OPEN, QUADRANTS, STICK
from clapas.typing import Array


def distance(edges: Array, x: Array) -> float:
    return float(optimize.nnls(edges.T, x)[1])


def against(angle: float, mu: float) -> Array:
    return np.array([1.0, -mu * math.cos(angle), -mu * math.sin(angle)])


@pytest.mark.parametrize("mu", [0.1, 0.7, 3.0])
@pytest.mark.parametrize(
    "domain",
    [
        STICK,
        CLOSED,
        ANYTHING,
        *QUADRANTS,
        Domain(False, False, (1.0, 1.001)),
        Domain(True, False, (3.0, 4.0)),
    ],
)
def test_impulses_are_inside(domain: Domain, mu: float) -> None:
    edges = cones.impulses(domain, mu, 3)
    low, high = CIRCLE if domain.sticks or domain.arc is None else domain.arc
    for angle in np.linspace(low, high, 41):
        assert distance(edges, against(float(angle), mu)) < 1e-12
    reach = np.linalg.norm(edges[:, 1:], axis=1) / edges[:, 0]
    assert (reach <= 1.09 * mu).all()


def test_narrow_arcs_are_almost_exact() -> None:
    edges = cones.impulses(Domain(False, False, (1.0, 1.01)), 0.5, 3)
    assert distance(edges, against(0.99, 0.5)) > 1e-3
    assert (np.linalg.norm(edges[:, 1:], axis=1) <= 0.5 * edges[:, 0] * (1.0 + 1e-5)).all()


def test_in_the_plane() -> None:
    np.testing.assert_allclose(cones.impulses(FORWARD, 0.5, 2), [[1.0, -0.5]])
    np.testing.assert_allclose(cones.impulses(BACKWARD, 2.0, 2), [[0.5, 1.0]])
    assert len(cones.impulses(STICK, 0.5, 2)) == 2
    assert cones.impulses(OPEN, 0.5, 2).shape == (0, 2)
    np.testing.assert_allclose(cones.impulses(ANYTHING, 0.0, 2), [[1.0, 0.0]])


def test_velocities() -> None:
    edges, free = cones.velocities(OPEN, 0.5, 3)
    assert (edges.tolist(), free.tolist()) == ([[1.0, 0.0, 0.0]], [False, True, True])
    edges, free = cones.velocities(STICK, 0.5, 3)
    assert (len(edges), free.any()) == (0, False)
    edges, free = cones.velocities(QUADRANTS[0], 0.5, 3)
    np.testing.assert_allclose(edges, [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], atol=1e-15)
    assert not free.any()
    edges, free = cones.velocities(CLOSED, 0.5, 3)
    assert (len(edges), free.tolist()) == (0, [False, True, True])
    edges, free = cones.velocities(CLOSED, 0.0, 2)
    assert (len(edges), free.tolist()) == (0, [False, True])
