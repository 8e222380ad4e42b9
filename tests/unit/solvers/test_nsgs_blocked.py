"""Blocked sweeps against Gauss-Seidel in plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.compiled.simd import WIDTH
from clapas.problems import ContactProblem, gallery
from clapas.solvers.local import Exact
from clapas.solvers.nsgs.blocked import BlockedSweeps
from clapas.solvers.nsgs.layout import arrange
from clapas.solvers.nsgs.structure import body_contacts
from clapas.solvers.nsgs.sweeps import SweepSettings
from tests.unit.solvers import twins

PROBLEMS = {
    "discs": gallery.sphere_packing(60, seed=2, d=2).problem,
    "spheres": gallery.sphere_packing(60, seed=2).problem,
    "bricks": gallery.brick_wall(3, 3).problem,
}


def begun(problem: ContactProblem, relaxation: float = 1.0) -> tuple[BlockedSweeps, np.ndarray]:
    """Sweeps at impulses that are not zero."""
    contacts = body_contacts(problem)
    assert contacts is not None
    guess = np.abs(np.random.default_rng(4).normal(size=(problem.n_contacts, problem.d)))
    guess *= np.abs(problem.q).max() / np.abs(problem.local_blocks).max()
    return BlockedSweeps(contacts, SweepSettings(Exact().part(), relaxation, 0, 1), guess), guess


def moved(problem: ContactProblem, r: np.ndarray) -> np.ndarray:
    """Body velocities y = y_free + Gᵀ r, contact by contact."""
    blocks = problem.blocks
    assert blocks is not None
    y = blocks.y_free.copy()
    for i, pair in enumerate(blocks.bodies):
        for side, body in enumerate(pair):
            y[body] += blocks.G[i, side].T @ r[i]
    return y


@pytest.mark.parametrize("name", PROBLEMS)
def test_impulses_come_back_as_they_were_put_in(name: str) -> None:
    sweeps, guess = begun(PROBLEMS[name])
    np.testing.assert_allclose(sweeps.impulses(), guess, rtol=1e-13, atol=1e-15 * np.abs(guess).max())


@pytest.mark.parametrize("name", PROBLEMS)
def test_velocities_are_those_under_the_impulses(name: str) -> None:
    problem = PROBLEMS[name]
    sweeps, guess = begun(problem)
    sweeps.refresh()
    blocks = problem.blocks
    assert blocks is not None
    number = arrange(blocks.bodies, blocks.n_bodies).number
    expected = moved(problem, guess)[:-1]
    found = sweeps.y[number, : expected.shape[1]]
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("relaxation", [1.0, 0.7, 1.4])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_sweep_is_that_of_gauss_and_seidel(name: str, relaxation: float) -> None:
    problem = PROBLEMS[name]
    sweeps, r = begun(problem, relaxation)
    blocks = problem.blocks
    assert blocks is not None
    order = twins.visiting_order(arrange(blocks.bodies, blocks.n_bodies), WIDTH)
    sweeps.refresh()
    for _ in range(3):
        y = moved(problem, r)
        y[-1] = 0.0  # the ground does not move
        r = twins.gauss_seidel(blocks.G, blocks.bodies, y, problem.w, problem.mu, r, order, relaxation)
        sweeps.sweep(1)
        np.testing.assert_allclose(sweeps.impulses(), r, rtol=1e-8, atol=1e-9 * np.abs(r).max())
