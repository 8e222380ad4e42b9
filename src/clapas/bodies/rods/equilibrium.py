"""Static equilibrium of rods under weight and tip loads, without contact.

At rest K (q − q⁰) = f(q), where f are the forces of weight and tips. Levenberg's method: steps solve
(T + λK) d = f − K (q − q⁰) with the tangent T by differences of f, and λ grows until the potential energy
decreases (or the residual force, where couples act on tips, which have no potential). A balance that is
unstable, such as that of a straight rod pressed by more than Euler's load, is left to the side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from clapas.bodies.kind import Part
from clapas.errors import SceneError
from clapas.geometry import checks
from clapas.linalg.saddles import buckling_motion, pushed
from clapas.typing import Array

if TYPE_CHECKING:
    from clapas.bodies.rods.rods import Rods

DIFFERENCE = 1e-6  # of a turn of a radian per element
NEUTRAL = 1e-6  # negative stiffness that counts as none, relative to that of the rod itself
ROUNDED = 1e-6  # residual accepted where rounding hides the decrease of energy


def equilibrium(
    rods: Rods,
    gravity: Sequence[float] | Array = (0.0, 0.0, 0.0),
    part: Part | None = None,
    *,
    tol: float = 1e-10,
    max_iterations: int = 200,
) -> Part:
    """The part at rest in an equilibrium, stable where no couples act on tips.

    Parameters
    ----------
    rods : Rods
        All clamped.
    gravity : 3 floats
        m/s².
    part : Part, optional
        Initial guess; by default the start.
    tol : float
        Residual forces, as equivalent strains relative to one radian per element.
    max_iterations : int
        Largest number of steps.

    Examples
    --------
    A strip so heavy that it hangs straight down, but for a bend near its clamp:

    >>> from clapas.bodies.rods import Rod, Rods
    >>> rods = Rods([Rod(length=1.0, radius=1e-3, density=1e4, young=1e7, elements=20)])
    >>> bool(rods.tips(equilibrium(rods, (0, 0, -9.81)))[0, 2] < -0.9)
    True
    """
    if rods.table.free.any():
        raise SceneError("rods: an equilibrium is that of clamped rods; these have free roots")
    balance = _Balance(rods, np.array(checks.vector("rods", "gravity", gravity, 3)))
    balance.move((rods.start() if part is None else part).q.copy())
    for _ in range(max_iterations):
        if (balance.angle() <= tol or not balance.descend()) and not balance.buckle():
            break
    rest = balance.angle()
    if rest <= max(tol, ROUNDED):
        return Part(balance.q, np.zeros(rods.n_dof))
    raise SceneError(
        f"rods: no equilibrium found; forces are left that would turn an element by {rest:.2g} rad. Begin "
        "nearer to it, or let a simulation with damping find it"
    )


class _Balance:
    """Forces on clamped rods at rest, and steps towards less of a merit function."""

    def __init__(self, rods: Rods, gravity: Array) -> None:
        self._rods, self._gravity, self._still = rods, gravity, np.zeros(rods.n_dof)
        self.stiffness, self._natural = rods.stiffness.ravel(), rods.natural.ravel()
        self._turn = np.repeat(
            rods.table.length, 3
        )  # strain that turns an element by a radian: one over this
        self._has_couples = bool(rods.loads(float(rods.start().q[-1]))[1].any())
        self._damping = 0.0

    def move(self, q: Array) -> None:
        """Go to some coordinates."""
        self.q, self.residual = q, self.force(q)
        self._best = self.merit(q, self.residual)

    def descend(self) -> bool:
        """A damped Newton step that lowers the merit; False if none does."""
        tangent = self.tangent()
        for _ in range(60):
            d = np.linalg.solve(tangent + self._damping * np.diag(self.stiffness), self.residual)
            trial = self._at(np.asarray(d))
            value = self.merit(trial, self.force(trial))
            if d @ self.residual >= 0.0 and value <= self._best + 1e-14 * abs(self._best):
                self.move(trial)
                self._damping = self._damping / 16.0 if self._damping > 1e-4 else 0.0
                return True
            self._damping = max(4.0 * self._damping, 1e-3)
        return False

    def buckle(self) -> bool:
        """Move out of a balance that is unstable, as far as the energy falls; False if it is stable.

        Couples on tips have no energy, and no such test.
        """
        if self._has_couples or self.angle() > ROUNDED:
            return False
        unit = 1.0 / np.sqrt(self.stiffness)
        scaled = self.tangent() * unit[:, None] * unit
        motion = buckling_motion(sparse.csc_array(scaled), NEUTRAL)
        if motion is None:
            return False
        curvature = float(motion @ scaled @ motion)
        motion *= unit
        widest = float(np.abs(motion * self._turn).max())  # of a multiple 1, in rad
        here = np.zeros(len(motion))
        # Weight and loads have any energy in the world, none too: that of bends of a radian goes with it.
        scale = abs(self._energy(here)) + float(self.stiffness @ self._turn**-2)
        ahead = pushed(self._energy, here, motion, curvature, scale, 1.0 / widest)
        if ahead is None:
            return False
        self.move(self._at(ahead))
        return True

    def _at(self, change: Array) -> Array:
        q = self.q.copy()
        q[: len(change)] += change
        return q

    def _energy(self, change: Array) -> float:
        return self._rods.energy(Part(self._at(change), self._still), self._gravity).potential

    def force(self, q: Array) -> Array:
        """Forces of weight, tips and strains along the strains."""
        pull = self._rods.inertia(Part(q, self._still), self._gravity, with_mass=False).force
        return -pull - self.stiffness * (q[: len(pull)] - self._natural)

    def angle(self) -> float:
        """Largest angle by which the residual forces would turn an element (rad)."""
        return float(np.abs(self.residual / self.stiffness * self._turn).max())

    def merit(self, q: Array, residual: Array) -> float:
        """The potential energy; with couples, which have none, the size of the forces left."""
        if self._has_couples:
            return float(np.sqrt(np.mean((residual / self.stiffness * self._turn) ** 2)))
        return self._rods.energy(Part(q, self._still), self._gravity).potential

    def tangent(self) -> Array:
        """Minus the derivative of the forces, by differences: the same strain of every rod at once."""
        dofs, size = self._rods.table.dof, self._rods.n_dof
        rod = np.repeat(np.arange(len(dofs) - 1), np.diff(dofs))
        inside = np.arange(size) - dofs[rod]
        T = np.zeros((size, size))
        for k in range(int(inside.max()) + 1):
            at = np.flatnonzero(inside == k)
            step = np.zeros(len(self.q))
            step[at] = DIFFERENCE / self._turn[at]
            slope = -(self.force(self.q + step) - self.force(self.q - step)) / 2.0
            column = dofs[rod] + k
            rows = np.flatnonzero(column < dofs[rod + 1])
            T[rows, column[rows]] = slope[rows] / step[column[rows]]
        return T if self._has_couples else 0.5 * (T + T.T)
