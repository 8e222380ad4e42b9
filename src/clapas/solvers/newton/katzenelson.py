"""Katzenelson's damping: Newton's method that stops at every boundary between linear regions."""

from __future__ import annotations

import numpy as np

from clapas.errors import ProblemError
from clapas.problems.contact import ContactProblem
from clapas.solvers.newton.augmentation import Augmentation
from clapas.solvers.newton.maps import (
    OPEN,
    PRESSED,
    SLIDE,
    SLIDE_BACK,
    STICK,
    AlartCurnierMap,
    ContactMap,
    JeanMoreauMap,
    Regions,
)
from clapas.solvers.newton.piecewise import first_crossing
from clapas.typing import Array, Mask


def require_piecewise_linear(problem: ContactProblem) -> None:
    """Raise an error for a problem whose equations are not piecewise linear."""
    if problem.d == 3 and (problem.mu > 0.0).any():
        raise ProblemError(
            "Katzenelson's damping needs equations that are linear by regions: in 3-D with friction sliding "
            f"turns, and {problem!r} has {np.count_nonzero(problem.mu)} contacts with friction. Take another "
            "line search, such as Armijo"
        )


class Borders:
    """Position of the iterate relative to the boundaries of its regions.

    A face of contact i is a linear function of (u_i, r_i) whose sign gives the side of the contact.
    The side is stored as a flag, because on a boundary the height is zero.
    """

    def __init__(self, function: ContactMap, mu: Array) -> None:
        assert isinstance(function, AlartCurnierMap | JeanMoreauMap)
        self._function, self._mu = function, mu
        self._sides: Mask | None = None

    def regions(self, u: Array, r: Array, rho: Augmentation) -> Regions:
        """Regions of the contacts, by the flags of those on a boundary."""
        if self._sides is None:
            self._sides = self._heights(u, r, rho) > 0.0
        return self._regions(self._sides)

    def advance(self, u: Array, r: Array, du: Array, dr: Array, rho: Augmentation) -> float:
        """Fraction of the step until a contact enters another region; 1 if none does. Flags are updated."""
        assert self._sides is not None
        here = self._regions(self._sides)
        heights, slopes = self._heights(u, r, rho), self._heights(du, dr, rho)
        while True:
            t, crossed = first_crossing(heights, slopes, self._sides)
            if t >= 1.0:
                return 1.0
            self._sides = self._sides != crossed
            if not np.array_equal(self._regions(self._sides), here):
                return t
            # A face that does not bound the region (the disc of an open contact) is ignored.

    def forget(self) -> None:
        """Recompute the sides at the next call, after the augmentation changed."""
        self._sides = None

    def _heights(self, u: Array, r: Array, rho: Augmentation) -> Array:
        """Heights (n, 4): z_N, the normal impulse of the disc, and z_T beyond the disc on either side."""
        pressed = r[:, 0] - rho.normal * u[:, 0]
        carrier = pressed if isinstance(self._function, AlartCurnierMap) else r[:, 0]
        trial = r[:, 1] - rho.tangent * u[:, 1] if r.shape[1] == 2 else np.zeros(len(r))
        radius = self._mu * carrier
        return np.column_stack((pressed, carrier, trial - radius, -trial - radius))

    def _regions(self, sides: Mask) -> Regions:
        pressed, carried, beyond, behind = sides.T
        result = np.where(beyond, SLIDE, np.where(behind, SLIDE_BACK, STICK))
        result = np.where(self._mu > 0.0, result, SLIDE)
        result = np.where(carried, result, OPEN)
        if isinstance(self._function, JeanMoreauMap):
            result = result + np.where(pressed, PRESSED, 0)
        return result.astype(np.int8)
