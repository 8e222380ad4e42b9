"""Sampling of the possible contact forces of bodies at rest.

Gauss-Seidel converges to one of the solutions, depending on its start and on the order of its visits. Many
random starts, or many orders from the same start, map the set of solutions.

Reference: Moreau 2003, section 8.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clapas.errors import SettingsError
from clapas.problems.contact import ContactProblem
from clapas.solvers import NSGS, solve
from clapas.solvers.nsgs import Shuffled
from clapas.typing import Array, Mask


@dataclass(frozen=True)
class Cloud:
    """Solutions of one contact problem.

    Parameters
    ----------
    impulse : array (m, n, d)
        Solutions, those within the tolerance.
    resting : array (m,) of bool
        Those that leave the bodies at rest.
    asked : int
        Number of trials.
    """

    impulse: Array
    resting: Mask
    asked: int

    @property
    def normal_ranges(self) -> Array:
        """Smallest and largest normal impulse of each contact over the solutions at rest, (n, 2)."""
        normal = self.impulse[self.resting, :, 0]
        if len(normal) == 0:
            return np.full((self.impulse.shape[1], 2), np.nan)
        return np.column_stack((normal.min(axis=0), normal.max(axis=0)))


def random_starts(
    problem: ContactProblem, count: int, *, largest: float, tol: float = 1e-8, seed: int = 0
) -> Cloud:
    """Solutions reached from random impulses inside the friction cones.

    Parameters
    ----------
    problem : ContactProblem
        Bodies in contact.
    count : int
        Number of starts.
    largest : float
        Normal impulses of the starts are spread evenly from 0 to this.
    tol : float
        Tolerance on the residual.
    seed : int
        Seed of the starts.
    """
    random = np.random.default_rng(seed)
    return _cloud(
        problem,
        [_start(problem, random, largest) for _ in range(count)],
        [NSGS(tol=tol, max_iterations=20_000)] * count,
    )


def shuffled_orders(
    problem: ContactProblem, count: int, *, start: Array | None = None, tol: float = 1e-8, seed: int = 0
) -> Cloud:
    """Solutions reached from one start (zero by default) by cyclic sweeps, another random order per trial.

    Each of the ``count`` trials keeps its order for all its sweeps, as Moreau's do (2003, section 8.2).
    """
    first = np.zeros((problem.n_contacts, problem.d)) if start is None else start
    orders = [
        NSGS(tol=tol, max_iterations=20_000, order=Shuffled(seed=seed + k, once=True)) for k in range(count)
    ]
    return _cloud(problem, [first] * count, orders)


def _cloud(problem: ContactProblem, starts: list[Array], solvers: list[NSGS]) -> Cloud:
    if not starts:
        raise SettingsError("count must be at least 1: no solution was asked for")
    solutions, resting = [], []
    still = 1e-6 * problem.free_speed
    for start, solver in zip(starts, solvers, strict=True):
        solution = solve(problem, solver, start, check=False)
        if solution.status.is_solved:
            solutions.append(solution.r)
            resting.append(float(np.abs(problem.velocity(solution.r)).max(initial=0.0)) <= still)
    shape = (len(solutions), problem.n_contacts, problem.d)
    return Cloud(np.array(solutions).reshape(shape), np.array(resting, dtype=bool), len(starts))


def _start(problem: ContactProblem, random: np.random.Generator, largest: float) -> Array:
    n, d = problem.n_contacts, problem.d
    normal = random.uniform(0.0, largest, n)
    tangent = random.normal(size=(n, d - 1))
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    share = random.random(n) ** (1.0 / (d - 1))  # evenly over the section of the cone
    return np.column_stack((normal, tangent * (problem.mu * normal * share)[:, None]))


def draw_cloud(axes: Any, cloud: Cloud, contact: int, mu: float, label: str = "") -> None:
    """Draw the possible forces of one contact, normal against friction, with its cone."""
    force = cloud.impulse[cloud.resting, contact]
    friction = force[:, 1] if force.shape[1] == 2 else np.linalg.norm(force[:, 1:], axis=1)
    axes.plot(friction, force[:, 0], ".", ms=3, label=label)
    top = float(force[:, 0].max(initial=0.0))
    axes.plot([-mu * top, 0.0, mu * top], [top, 0.0, top], "k-", lw=0.8)
    axes.set(xlabel="friction", ylabel="normal force", title=f"contact {contact}")


def draw_ranges(axes: Any, exact: Array, sampled: Array) -> None:
    """Draw the exact range (n, 2) of each normal force as a bar and the sampled one inside it."""
    contact = np.arange(len(exact))
    axes.vlines(contact, *exact.T, colors="0.75", lw=4, label="possible")
    axes.vlines(contact, *sampled.T, colors="tab:red", lw=1.5, label="sampled")
    axes.set(xlabel="contact", ylabel="normal force (N)")
    axes.legend()
