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
from clapas.compiled.sharing import launch
from clapas.compiled.threads import Worker, chunk, thread_count
from clapas.problems.contact import ContactProblem
from clapas.problems.sphere_blocks import STRIDE, SphereBlocks
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
    if tol < COARSE or not blocks.n_bodies:
        return False
    found = np.empty((-(-max(blocks.n_bodies, len(guess)) // STRIDE), 4))
    size = thread_count(None, len(guess), len(found))
    launch(size, find_sizes, blocks.x_free[:-1], problem.response, guess, found)
    heaviest, lightest, largest = found[:, 0].min(), found[:, 1].max(), found[:, 1:3].max()
    if not (0.0 < heaviest and lightest <= LARGEST_MASS_RATIO * heaviest and largest < LARGEST_RESPONSE):
        return False
    speed = problem.free_speed
    impulse = speed / math.sqrt(max(1, blocks.n_contacts)) / lightest
    if not SMALLEST < impulse < LARGEST:
        return False
    return MARGIN * EPSILON * math.sqrt(found[:, 3].sum()) <= tol * speed


@kernel
def find_sizes(worker: Worker, x: Array, response: Array, r: Array, found: Array) -> None:
    """One thread's part of what decides on the precision, a row of ``found`` for each ``STRIDE`` of both.

    The least and the largest response of a body to an impulse, the largest to a moment, and Σ |λ r|², the
    squares of the velocities that impulses cause at their own contacts.
    """
    first, last = chunk(worker, len(found))
    for k in range(first, last):
        least, most, most_turned, total = np.inf, 0.0, 0.0, 0.0
        for body in range(k * STRIDE, min((k + 1) * STRIDE, len(x))):
            least, most = min(least, x[body, 6]), max(most, x[body, 6])
            most_turned = max(most_turned, x[body, 7])
        for i in range(k * STRIDE, min((k + 1) * STRIDE, len(r))):
            total += response[i] ** 2 * (r[i, 0] ** 2 + r[i, 1] ** 2 + r[i, 2] ** 2)
        found[k, 0], found[k, 1], found[k, 2], found[k, 3] = least, most, most_turned, total


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
