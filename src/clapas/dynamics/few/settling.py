"""From free velocities and a guess to impulses, or to the news that the solver must be asked."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clapas.bodies.rigid.motion import plus_multiple
from clapas.compiled import kernel, rounded
from clapas.dynamics.few.tables import Posed, Rigid, Sizes
from clapas.linalg.norms import SAFE
from clapas.problems.blocks import extent_of, size_and_largest, velocities_by_blocks
from clapas.solvers.nsgs.dozen import dozen_sweeps
from clapas.typing import Array

ROUNDING = 16.0 * float(np.finfo(float).eps)

SETTLED, UNSETTLED, STILL, REFUSED = 0, 1, 2, 3
"""How it ends: the impulses meet the tolerance; they do not; nothing happens at the contacts; the numbers are
not finite, or their squares are not."""


class Way(NamedTuple):
    """How impulses are looked for.

    Parameters
    ----------
    part : named tuple
        The local solver.
    tol : float
        Residual to be reached.
    most, most_if_near : int
        Contacts up to which sweeps are done from any guess, and from one that is nearly good.
    near : float
        Residual below which a guess is nearly good.
    """

    part: Any
    tol: float
    most: int
    most_if_near: int
    near: float


@kernel
def settle(
    posed: Posed, free: Array, rigid: Rigid, way: Way, sizes: Sizes, r: Array, measured: Array
) -> tuple[int, int]:
    """Measure the impulses r (n, d) under free velocities (N, size), and sweep where that may be enough.

    Returns how it ends and the number of sweeps; ``measured`` (4,) are the residuals on the way.
    """
    movable, mass_root = rigid.flags[0], rigid.diagonals[1]
    for body in range(len(movable)):
        if movable[body]:
            for k in range(len(sizes.body)):
                posed.y_free[rigid.number[body], k] = free[body, k] * mass_root[body, k]
    if len(r) == 0:
        measured[0] = 0.0
        return SETTLED, 0
    response, row, y, is_finite = extent_of(posed.G, posed.y_free, sizes.components, sizes.body)
    for i in range(len(r)):
        posed.response[i] = response[i]
    q = velocities_by_blocks(posed.G, posed.bodies, posed.y_free, posed.w, sizes.components, sizes.body)
    speed, fastest = size_and_largest(q)
    if not is_finite or not np.isfinite(speed):
        return REFUSED, 0
    if fastest <= ROUNDING * plus_multiple(size_and_largest(posed.wall)[1], row, y):
        return STILL, 0
    if not SAFE < speed < 1.0 / SAFE:
        return REFUSED, 0
    problem = posed.G, posed.bodies, posed.y_free, posed.w, posed.mu, posed.response, speed
    worth_sweeping = 0.0
    if len(r) <= way.most:
        worth_sweeping = np.inf
    elif len(r) <= way.most_if_near:
        worth_sweeping = way.near
    dimensions = sizes.components, sizes.body
    done = dozen_sweeps(*problem, way.part, way.tol, worth_sweeping, *dimensions, r, measured)
    if done < 0:
        return UNSETTLED, 0
    for i in range(len(r)):
        for k in range(len(sizes.components)):
            r[i, k] = plus_zero(r[i, k])
    return SETTLED, done


@rounded
def plus_zero(x: float) -> float:
    """The number, zero without its sign."""
    return x + 0.0
