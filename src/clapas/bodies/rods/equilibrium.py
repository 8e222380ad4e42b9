"""Shapes of rods at rest under weight and loads at their tips, without contact.

At rest K (q − q⁰) = f(q), where f are the forces of weight and tips. Levenberg's method: steps solve
(T + λK) d = f − K (q − q⁰) with the tangent T by differences of f, and λ grows until the potential energy
falls (or, where couples act on tips, which have no potential, the size of what is left of the forces).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from clapas.bodies.kind import Part
from clapas.errors import SceneError
from clapas.typing import Array

if TYPE_CHECKING:
    from clapas.bodies.rods.rods import Rods

DIFFERENCE = 1e-6  # of a turn of a radian per element
ROUNDED = 1e-6  # what may be left where rounding hides whether the energy still falls


def equilibrium(
    rods: Rods,
    gravity: npt.ArrayLike = (0.0, 0.0, 0.0),
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
        Where to begin.
    tol : float
        Forces left, as the strains they would cause, relative to one radian per element.
    max_iterations : int
        Steps before it is given up.

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
    g = np.asarray(gravity, dtype=float)
    start = rods.start() if part is None else part
    q, still, size = start.q.copy(), np.zeros(rods.n_dof), rods.n_dof
    K, natural = rods.stiffness.ravel(), rods.natural.ravel()
    turn = np.repeat(rods.table.length, 3)  # strain that turns an element by a radian: one over this
    has_couples = bool(rods.loads(float(q[-1]))[1].any())
    dofs, rod = rods.table.dof, np.repeat(np.arange(len(rods.rods)), np.diff(rods.table.dof))
    inside = np.arange(size) - dofs[rod]

    def force(x: Array) -> Array:
        pull = rods.inertia(Part(x, still), g, with_mass=False).force
        return -pull - K * (x[:size] - natural)

    def merit(x: Array, left: Array) -> float:
        if has_couples:
            return float(np.sqrt(np.mean((left / K * turn) ** 2)))
        return rods.energy(Part(x, still), g).potential

    left = force(q)
    best, damping = merit(q, left), 0.0
    for _ in range(max_iterations):
        if float(np.abs(left / K * turn).max()) <= tol:
            return Part(q, still)
        tangent = np.zeros((size, size))
        for k in range(int(inside.max()) + 1):  # the same strain of every rod at once
            at = np.flatnonzero(inside == k)
            step = np.zeros(len(q))
            step[at] = DIFFERENCE / turn[at]
            slope = -(force(q + step) - force(q - step)) / 2.0
            column = dofs[rod] + k
            rows = np.flatnonzero(column < dofs[rod + 1])
            tangent[rows, column[rows]] = slope[rows] / step[column[rows]]
        tangent = 0.5 * (tangent + tangent.T) if not has_couples else tangent
        for _ in range(60):
            d = np.linalg.solve(tangent + damping * np.diag(K), left)
            trial = q.copy()
            trial[:size] += d
            there = force(trial)
            value = merit(trial, there)
            if d @ left >= 0.0 and value <= best + 1e-14 * abs(best):
                break
            damping = max(4.0 * damping, 1e-3)
        else:
            break
        q, left, best, damping = trial, there, value, damping / 16.0 if damping > 1e-4 else 0.0
    rest = float(np.abs(left / K * turn).max())
    if rest <= ROUNDED:
        return Part(q, still)
    raise SceneError(
        f"rods: no equilibrium found; forces are left that would turn an element by {rest:.2g} rad. Begin "
        "nearer to it, or let a simulation with damping find it"
    )
