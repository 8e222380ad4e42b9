"""Choice between single and double precision for sweeps between spheres.

Eight singles take half the memory of eight doubles and little more than half the time. Their rounding, 1e-7
of the velocities that impulses cause, does not affect residuals of 1e-4 and more. The final residual is
measured in double precision: if it is above the tolerance where the sweeps' own estimate was below, or if
impulses turn out large beside the load they balance, sweeps continue in doubles.
"""

from __future__ import annotations

import math

import numpy as np

from clapas.compiled import kernel
from clapas.problems.contact import ContactProblem
from clapas.problems.sphere_blocks import SphereBlocks
from clapas.typing import Array

COARSE = 1e-4  # residuals from which on single precision is enough
EPSILON = float(np.finfo(np.float32).eps)
MARGIN = 4.0  # single-precision rounding errors that must fit in the tolerance
LARGEST_MASS_RATIO = 1e4  # for single precision
SMALLEST, LARGEST = 1e-13, 1e13  # impulses (N·s) whose squares, and parts of them, single precision holds
LARGEST_RESPONSE = 1e30  # of a body to an impulse or a moment
REFUSALS = 3  # residuals within tol in single precision but not in double, before changing to doubles


def is_coarse(problem: ContactProblem, blocks: SphereBlocks, tol: float, guess: Array) -> bool:
    """Whether sweeps can reach a residual in single precision, judging by the data and a guess (n, 3)."""
    responses = blocks.x_free[:-1, 6:]
    if tol < COARSE or not len(responses):
        return False
    heaviest, lightest = responses[:, 0].min(), responses[:, 0].max()
    if not (
        0.0 < heaviest and lightest <= LARGEST_MASS_RATIO * heaviest and responses.max() < LARGEST_RESPONSE
    ):
        return False
    speed = problem.free_speed
    impulse = speed / math.sqrt(max(1, blocks.n_contacts)) / lightest
    if not SMALLEST < impulse < LARGEST:
        return False
    changed = math.sqrt(square_of_changes(problem.response, guess))
    return MARGIN * EPSILON * changed <= tol * speed


@kernel
def square_of_changes(response: Array, r: Array) -> float:
    """Σ |λ r|², the velocities that impulses cause at their own contacts."""
    total = 0.0
    for i in range(len(r)):
        total += response[i] ** 2 * (r[i, 0] ** 2 + r[i, 1] ** 2 + r[i, 2] ** 2)
    return total


class Doubts:
    """Evidence against continuing in single precision."""

    def __init__(self, tol: float) -> None:
        self._tol, self._refusals = tol, 0

    def note(self, residual: float, rounding: float) -> None:
        """Record a residual estimated by sweeps, and its possible error by single precision."""
        if self._tol < MARGIN * rounding:
            self._refusals = REFUSALS
        elif residual <= self._tol:  # the residual is measured next: if sweeps go on, it was above tol
            self._refusals += 1

    @property
    def are_serious(self) -> bool:
        """Whether sweeps should continue in double precision."""
        return self._refusals >= REFUSALS
