"""The iterations of the accelerated projection, in dimensionless variables."""

from __future__ import annotations

import math

import numpy as np

from clapas.convex import CoulombCone
from clapas.convex.base import FrictionCone
from clapas.problems.contact import ContactProblem
from clapas.solvers.accelerated_projection.kernels import curvature, extrapolate, projected_step
from clapas.solvers.convex.projections import projection
from clapas.solvers.loop import Iteration
from clapas.solvers.products import ScaledDelassus
from clapas.typing import Array

SHORTEST = 1e-12
RELAX = 0.95  # factor on the estimate of the largest curvature after a step
WINDING, STRAIGHT = 0.3, 0.6  # net displacement over length of the path
FRICTION = (1e-3, 1e-4, 0.5)  # one minus the bound on the momentum: initial, least, largest
MORE, LESS = 2.0, 0.7


class Momentum(Iteration):
    """Points x and y with their velocities u and u_y, the age θ of the momentum, the step ρ."""

    def __init__(self, problem: ContactProblem, guess: Array, window: int) -> None:
        self.scaled = ScaledDelassus(problem)
        assert isinstance(problem.cone, FrictionCone)
        self.cone = problem.cone
        self.components = (0,) * problem.d
        self.free = self.scaled.from_velocities(problem.q)
        self.x = np.ascontiguousarray(self.scaled.from_impulses(guess))
        self.x = np.ascontiguousarray(projection(self.cone, self.scaled.root.ravel())(self.x))
        self.u = self.scaled.product(self.x) + self.free
        self.y, self.u_y, self.trial = self.x.copy(), self.u.copy(), np.empty_like(self.x)
        self.theta, self.rho = 1.0, 1.0
        self.bound = Bound(window)

    def impulses(self) -> Array:
        """The impulses of the current point."""
        return self.scaled.to_impulses(self.x)

    def advance(self, count: int) -> None:
        """Do accepted steps; each takes two trials where the momentum is dropped."""
        for _ in range(count):
            u_trial, slope = self._step()
            if self.theta < 1.0 and slope > 0.0:
                self.y[:], self.u_y[:], self.theta = self.x, self.u, 1.0
                u_trial, _ = self._step()
            theta = 0.5 * self.theta * (math.sqrt(self.theta**2 + 4.0) - self.theta)
            beta = min(self.theta * (1.0 - self.theta) / (self.theta**2 + theta), self.bound.momentum)
            # u is affine: the velocity at the new y follows from two others.
            length = extrapolate(self.trial, u_trial, self.x, self.u, beta, self.y, self.u_y)
            self.bound.follow(self.x, self.trial, length)
            self.x, self.trial = self.trial, np.empty_like(self.x)
            self.u, self.theta = u_trial, theta
            self.rho /= RELAX

    def _step(self) -> tuple[Array, float]:
        """Step from y, limited by the observed curvature; returns the velocity there and the slope from x."""
        while True:
            square, slope = self._project()
            u_trial = self.scaled.product(self.trial) + self.free
            if not self.rho * curvature(self.trial, self.y, u_trial, self.u_y) > square:
                return u_trial, slope
            if self.rho < SHORTEST:
                return u_trial, slope
            self.rho *= 0.5

    def _project(self) -> tuple[float, float]:
        """Write P_K(y − ρ ũ) into ``trial``; return |trial − y|² and the slope ũ·(trial − x)."""
        cone = self.cone
        if isinstance(cone, CoulombCone):
            point = self.y, self.u_y, cone.mu, self.rho, self.x, self.components, self.trial
            return projected_step(*point)
        shifted = self.u_y.copy()
        shifted[:, 0] += cone.shift(self.u_y)
        self.trial[:] = cone.project(self.y - self.rho * shifted)
        step = self.trial - self.y
        return float(np.vdot(step, step)), float(np.vdot(shifted, self.trial - self.x))


class Bound:
    """The largest momentum allowed, from the straightness of the path in consecutive windows."""

    def __init__(self, window: int) -> None:
        self.window, self.count = window, 0
        self.friction = FRICTION[0]
        self.length, self.origin = 0.0, np.empty(0)

    @property
    def momentum(self) -> float:
        """Largest factor β."""
        return 1.0 - self.friction

    def follow(self, before: Array, after: Array, length: float) -> None:
        """Add the path from one point to the next, of length ``length``."""
        if self.count % self.window == 0:
            self.length, self.origin = 0.0, before
        self.count += 1
        self.length += length
        if self.count % self.window == 0:
            net = float(np.linalg.norm(after - self.origin))
            straightness = net / self.length if self.length > 0.0 else 1.0
            factor = MORE if straightness < WINDING else LESS if straightness > STRAIGHT else 1.0
            self.friction = min(max(self.friction * factor, FRICTION[1]), FRICTION[2])
