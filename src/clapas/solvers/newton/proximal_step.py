"""One proximal step: Coulomb's problem with a small compliance at every contact.

With the compliance α at every contact around the impulses x₀ (dimensionless variables, see ``equations``)
the velocity at the contacts is g(x) + α (x − x₀), and the law becomes single-valued (see ``resolvent``): the
problem is

    x = resolvent(x₀ − g(x)/α),    g(x) = W̃ x + g₀,

one equation for the motion of the bodies, since it depends on x through g(x) alone. It is solved by Newton's
method on

    e(p) = p − resolvent(x₀ − g(p)/α) = 0:      (α + D W̃) dp = −α e,     D = derivative of the resolvent,

which never is singular for small friction. Two facts make it work where Newton's method on the law itself
cycles.

*A descent function.* With fixed friction thresholds, e would be the gradient of a convex function
of the motion, with the derivative e·W̃ dp along a step dp. The step is chosen by the sign of this
derivative (stop where it has at least halved, never far beyond the minimum), not by the size of e, which on
stiff structures is a poor measure: it must often grow before it decreases.

*No amplification at the end.* The resolvent multiplies the rounding of g by 1/α. So the iterate kept is p, in
which that noise is removed where it matters, and convergence is measured by the natural map at (g + α (p −
x₀), p), which involves no division by α.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from clapas.convex import coulomb
from clapas.linalg.multifrontal import SingularMatrix
from clapas.problems.coulomb import shifted
from clapas.solvers.newton.equations import Equations
from clapas.solvers.newton.resolvent import resolvent, resolvent_derivative
from clapas.typing import Array

MAX_STEPS = 30
MAX_UPHILL = 3  # largest number of steps along which the energy increases
PATIENCE = 10  # largest number of steps without halving the energy norm of e
MAX_TRIALS = 20
HALVED = 0.5
ROUNDING = 100.0 * float(np.finfo(float).eps)


@dataclass
class ProximalStep:
    """Newton's method on one proximal problem.

    Parameters
    ----------
    equations : Equations
        The problem.
    centre : array (n, d)
        x₀.
    alpha : float
        Compliance.
    accuracy : float
        The step ends when the violation of the law is at most this fraction of the velocity α |x − x₀| it
        adds.
    """

    equations: Equations
    centre: Array
    alpha: float
    accuracy: float

    steps: int = 0
    is_solved: bool = False

    def __post_init__(self) -> None:
        self._move_to(self.centre, self.equations.velocity(self.centre))
        n, d = self.centre.shape
        self._unit = np.broadcast_to(np.eye(d), (n, d, d))

    def run(self) -> Iterator[None]:
        """Newton's steps, one per factorisation."""
        best, since, uphill = self.size, 0, 0
        while self.steps < MAX_STEPS and uphill <= MAX_UPHILL and since <= PATIENCE:
            try:
                descends = self._newton()
            except SingularMatrix:
                return
            self.steps += 1
            uphill += not descends
            self.is_solved = self._has_converged()
            yield
            if self.is_solved:
                return
            best, since = (self.size, 0) if self.size < HALVED * best else (best, since + 1)

    @property
    def candidates(self) -> tuple[Array, Array]:
        """The projected impulses, which are in the cones, and p, which is more accurate at the end."""
        return self.projected, self.p

    def _move_to(self, p: Array, g: Array) -> None:
        """Move to p, whose velocity is g."""
        self.p, self._g = p, g
        self._z = self.centre - g / self.alpha
        self.projected = np.empty_like(p)
        resolvent(self._z, self.equations.mu, self.projected)
        self._e = p - self.projected
        self.size = self._energy_norm(self._e)

    def _energy_norm(self, e: Array) -> float:
        square = float(np.vdot(e, self.equations.scaled.product(e)))
        return math.sqrt(max(square, 0.0))

    def _newton(self) -> bool:
        """One step; return whether the energy decreases along it."""
        equations, alpha = self.equations, self.alpha
        slope = np.empty((*self.p.shape, self.p.shape[1]))
        resolvent_derivative(self._z, equations.mu, slope)
        dp = equations.factorise(slope, alpha * self._unit)(-alpha * self._e)
        if not np.isfinite(dp).all():
            raise SingularMatrix("the step is not finite")
        dg = equations.scaled.product(dp)
        descends = bool(np.vdot(self._e, dg) < 0.0)
        is_noise = self.size <= ROUNDING * float(np.linalg.norm(self.p)) / alpha
        self._move(dp, dg, search=not is_noise)
        return descends or is_noise

    def _move(self, dp: Array, dg: Array, search: bool) -> None:
        """Move along dp until the energy is near its minimum (or, uphill, until e is smaller)."""
        p, g, size = self.p, self._g, self.size
        start = float(np.vdot(self._e, dg))
        behind, ahead, t = (0.0, start), None, 1.0
        for _ in range(MAX_TRIALS):
            self._move_to(p + t * dp, g + t * dg)
            slope = float(np.vdot(self._e, dg))
            if not search or self.size < HALVED * size:
                return
            if start < 0.0 and ((slope <= 0.0 and t == 1.0) or abs(slope) <= HALVED * -start):
                return
            if start >= 0.0 and self.size < size:
                return
            if slope > 0.0:
                ahead = t, slope
            else:
                behind = t, slope
            if ahead is None:
                return
            t = _between(behind, ahead)

    def _has_converged(self) -> bool:
        """Whether (g + α (p − x₀), p) obeys the law well enough."""
        mu, change = self.equations.mu, self.p - self.centre
        g = self._g + self.alpha * change
        violation = self.p - coulomb.project(self.p - shifted(g, mu), mu)
        allowed = self.accuracy * self.alpha * float(np.linalg.norm(change))
        return float(np.linalg.norm(violation)) <= allowed


def _between(behind: tuple[float, float], ahead: tuple[float, float]) -> float:
    """Zero of the slope by the secant (uphill: the midpoint), away from the ends of the bracket."""
    (low, at_low), (high, at_high) = behind, ahead
    fraction = at_low / (at_low - at_high) if at_low < 0.0 else 0.5
    return low + (high - low) * min(max(fraction, 0.1), 0.9)
