"""The first dozen sweeps on few contacts in one compiled call, with their residuals.

From the impulses of the last step a sweep or two are mostly enough, and then a call from Python costs more
than all the sweeps. This kernel does what the loop of all methods (:mod:`clapas.solvers.loop`) does with
:class:`clapas.solvers.nsgs.bodies.BodySweeps` before sweeps are accelerated, by the same kernels: it measures
the guess, then the impulses after every four sweeps, until the residual is at most ``tol``. The impulses
are the same, bit by bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clapas.compiled import kernel, put
from clapas.problems.blocks import add_by_blocks
from clapas.problems.judge import violation_by_blocks
from clapas.solvers.local.canonical import N_COEFFICIENTS
from clapas.solvers.nsgs.bodies import add_turned_impulses, sweep_bodies, turn_contacts, turned_back
from clapas.typing import Array, Indices

AT_A_TIME = 4  # sweeps between two measurements, as in the loop
MEASURED = 4  # number of measurements: the guess, and after 4, 8 and 12 sweeps


@kernel
def residual_of(
    G: Array,
    bodies: Indices,
    y_free: Array,
    w: Array,
    mu: Array,
    response: Array,
    free_speed: float,
    r: Array,
    components: tuple[int, ...],
    size: tuple[int, ...],
) -> float:
    """``problem.residual(r)`` of a problem by blocks whose free speed can be squared; inf in place of NaN."""
    y = np.empty_like(y_free)
    put(y_free, y)
    add_by_blocks(G, bodies, r, y, components, size)
    violation = violation_by_blocks(G, bodies, y, w, r, mu, response, components, size)
    residual = violation / free_speed
    return residual if np.isfinite(residual) else np.inf


@kernel
def dozen_sweeps(
    G: Array,
    bodies: Indices,
    y_free: Array,
    w: Array,
    mu: Array,
    response: Array,
    free_speed: float,
    part: Any,
    tol: float,
    most: float,
    components: tuple[int, ...],
    size: tuple[int, ...],
    r: Array,
    measured: Array,
) -> int:
    """Sweep until the residual is at most ``tol``; replace the guess r (n, d) by the solution.

    Parameters
    ----------
    G, bodies, y_free, w, mu, response, free_speed
        The problem (see :class:`clapas.problems.blocks.BodyBlocks`).
    part : named tuple
        The local solver.
    tol : float
        Residual to be reached.
    most : float
        No sweep is done if the residual of the guess is this or more.
    components, size : tuples
        Their lengths are the numbers of components of a contact and of a body.
    r : array (n, d)
        The guess; left as it is if a dozen sweeps are not enough.
    measured : array (4,)
        Output: the residuals of the guess and after 4, 8 and 12 sweeps, as far as they were done.

    Returns
    -------
    int
        Number of sweeps, −1 if they are not enough.
    """
    n, d, m = len(G), len(components), len(size)
    problem = G, bodies, y_free, w, mu, response, free_speed
    measured[0] = residual_of(*problem, r, components, size)
    if measured[0] <= tol:
        return 0
    if not measured[0] < most:
        return -1
    rows, turned_w, coefficients = np.empty((n, 2 * d * m)), np.empty((n, d)), np.empty((n, N_COEFFICIENTS))
    turn, turned_r, y = np.empty((n, 2)), np.empty((n, d)), np.empty_like(y_free)
    turn_contacts(G, w, mu, r, components, size, rows, turned_w, coefficients, turn, turned_r)
    order, pairs = np.empty(n, dtype=np.uint32), np.empty((n, 2), dtype=np.uint32)
    put(bodies, pairs)
    for i in range(n):
        order[i] = i
    for k in range(1, MEASURED):
        put(y_free, y)
        add_turned_impulses(rows, pairs, turned_r, components, size, y)
        sweep_bodies(
            AT_A_TIME, order, rows, pairs, turned_w, coefficients, part, 1.0, components, size, turned_r, y
        )
        back = turned_back(turned_r, turn)
        measured[k] = residual_of(*problem, back, components, size)
        if measured[k] <= tol:
            put(back, r)
            return AT_A_TIME * k
    return -1
