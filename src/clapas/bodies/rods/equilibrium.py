"""Static equilibrium of rods under weight and tip loads, without contact.

At rest K (q − q⁰) = f(q), where f are the forces of weight and tips. Levenberg's method: steps solve
(T + λK) d = f − K (q − q⁰) with the tangent T by differences of f, and λ grows until the potential energy
decreases (or the residual force, where couples act on tips, which have no potential).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from clapas.bodies.kind import Part
from clapas.errors import SceneError
from clapas.geometry import checks
from clapas.typing import Array

if TYPE_CHECKING:
    from clapas.bodies.rods.rods import Rods

DIFFERENCE = 1e-6  # of a turn of a radian per element
ROUNDED = 1e-6  # residual accepted where rounding hides the decrease of energy


def equilibrium(
    rods: Rods,
    gravity: Sequence[float] | Array = (0.0, 0.0, 0.0),
    part: Part | None = None,
    *,
    tol: float = 1e-10,
    max_iterations: int = 200,
) -> Part:
    """The part at rest in an equilibrium, from the start or a given part.

    Parameters
    ----------
    rods : Rods
        All clamped.
    gravity : 3 floats
        m/s².
    part : Part, optional
        Initial guess.
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
    q = (rods.start() if part is None else part).q.copy()
    balance = _Balance(rods, np.array(checks.vector("rods", "gravity", gravity, 3)), float(q[-1]))
    residual = balance.force(q)
    best, damping = balance.merit(q, residual), 0.0
    for _ in range(max_iterations):
        if balance.angle(residual) <= tol:
            break
        tangent = balance.tangent(q)
        for _ in range(60):
            d = np.linalg.solve(tangent + damping * np.diag(balance.stiffness), residual)
            trial = q.copy()
            trial[: rods.n_dof] += d
            there = balance.force(trial)
            value = balance.merit(trial, there)
            if d @ residual >= 0.0 and value <= best + 1e-14 * abs(best):
                break
            damping = max(4.0 * damping, 1e-3)
        else:
            break
        q, residual, best, damping = trial, there, value, damping / 16.0 if damping > 1e-4 else 0.0
    rest = balance.angle(residual)
    if rest <= max(tol, ROUNDED):
        return Part(q, np.zeros(rods.n_dof))
    raise SceneError(
        f"rods: no equilibrium found; forces are left that would turn an element by {rest:.2g} rad. Begin "
        "nearer to it, or let a simulation with damping find it"
    )


class _Balance:
    """Forces on clamped rods at rest, their tangent, and the merit function."""

    def __init__(self, rods: Rods, gravity: Array, time: float) -> None:
        self._rods, self._gravity, self._still = rods, gravity, np.zeros(rods.n_dof)
        self.stiffness, self._natural = rods.stiffness.ravel(), rods.natural.ravel()
        self._turn = np.repeat(
            rods.table.length, 3
        )  # strain that turns an element by a radian: one over this
        self._has_couples = bool(rods.loads(float(rods.start().q[-1]))[1].any())

    def force(self, q: Array) -> Array:
        """Forces of weight, tips and strains along the strains."""
        pull = self._rods.inertia(Part(q, self._still), self._gravity, with_mass=False).force
        return -pull - self.stiffness * (q[: len(pull)] - self._natural)

    def angle(self, residual: Array) -> float:
        """Largest angle by which the residual forces would turn an element (rad)."""
        return float(np.abs(residual / self.stiffness * self._turn).max())

    def merit(self, q: Array, residual: Array) -> float:
        """The potential energy; with couples, which have none, the size of the forces left."""
        if self._has_couples:
            return float(np.sqrt(np.mean((residual / self.stiffness * self._turn) ** 2)))
        return self._rods.energy(Part(q, self._still), self._gravity).potential

    def tangent(self, q: Array) -> Array:
        """Minus the derivative of the forces, by differences: the same strain of every rod at once."""
        dofs, size = self._rods.table.dof, self._rods.n_dof
        rod = np.repeat(np.arange(len(dofs) - 1), np.diff(dofs))
        inside = np.arange(size) - dofs[rod]
        T = np.zeros((size, size))
        for k in range(int(inside.max()) + 1):
            at = np.flatnonzero(inside == k)
            step = np.zeros(len(q))
            step[at] = DIFFERENCE / self._turn[at]
            slope = -(self.force(q + step) - self.force(q - step)) / 2.0
            column = dofs[rod] + k
            rows = np.flatnonzero(column < dofs[rod + 1])
            T[rows, column[rows]] = slope[rows] / step[column[rows]]
        return T if self._has_couples else 0.5 * (T + T.T)
