"""When single precision is enough for sweeps between spheres, and when it is no longer.

Eight singles take half the room of eight doubles and little more than half the time. Their rounding, 1e-7 of
what impulses change, leaves residuals of 1e-4 and more alone, and the judge, who works in double precision,
has the last word: if it refuses what sweeps took for solved, or impulses turn out large beside what is to be
balanced, they go on in doubles.
"""

from __future__ import annotations

import math

import numpy as np

from clapas.problems.contact import ContactProblem
from clapas.problems.sphere_blocks import SphereBlocks
from clapas.typing import Array

COARSE = 1e-4  # residuals from which on single precision is enough
EPSILON = float(np.finfo(np.float32).eps)
MARGIN = 4.0  # roundings of single precision that must fit in a residual
MOST_UNLIKE = 1e4  # ratio of masses that single precision bears
SMALLEST, LARGEST = 1e-13, 1e13  # impulses (N·s) whose squares, and parts of them, single precision holds
NIMBLEST = 1e30  # answer of a body to an impulse or a moment
REFUSALS = 3  # of what single precision takes for solved


def is_coarse(problem: ContactProblem, blocks: SphereBlocks, tol: float, guess: Array) -> bool:
    """Whether sweeps can reach a residual in single precision, as far as the data and a guess (n, 3) tell."""
    answers = blocks.x_free[:-1, 6:]
    if tol < COARSE or not len(answers):
        return False
    heaviest, lightest = answers[:, 0].min(), answers[:, 0].max()
    if not (0.0 < heaviest and lightest <= MOST_UNLIKE * heaviest and answers.max() < NIMBLEST):
        return False
    speed = problem.free_speed
    impulse = speed / math.sqrt(max(1, blocks.n_contacts)) / lightest
    if not SMALLEST < impulse < LARGEST:
        return False
    changed = math.sqrt(np.einsum("i,ij,ij->", problem.response**2, guess, guess))
    return MARGIN * EPSILON * changed <= tol * speed


class Doubts:
    """What speaks against going on in single precision."""

    def __init__(self, tol: float) -> None:
        self._tol, self._refusals = tol, 0

    def note(self, residual: float, rounding: float) -> None:
        """Take note of a residual seen by sweeps, and of what single precision may have added to it."""
        if self._tol < MARGIN * rounding:
            self._refusals = REFUSALS
        elif residual <= self._tol:  # the judge is asked now: if sweeps go on, it did not agree
            self._refusals += 1

    @property
    def are_serious(self) -> bool:
        """Whether sweeps are to go on in double precision."""
        return self._refusals >= REFUSALS
