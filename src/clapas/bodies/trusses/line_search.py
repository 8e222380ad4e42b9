"""The exact minimum of an energy of bars and cables along a direction.

The energy is convex and piecewise quadratic. Along x + s d the force of member m is t_m + s t'_m, and none in
a cable where that is negative. The derivative of the energy,

    φ'(s) = g + s c + Σ_taut (t_m + s t'_m) e'_m,

with g + s c the contribution of all but the members, never decreases, and it is linear between the lengths of
step at which a cable goes slack or taut: sorting these gives its zero. The same search serves statics, where
x are displacements, and time steps, where they are velocities.
"""

from __future__ import annotations

import numpy as np

from clapas.typing import Array, Mask


def exact_step(
    forces: Array, slope: Array, stretch: Array, cable: Mask, value: float, rate: float = 0.0
) -> float:
    """Length of step s where φ' vanishes.

    Parameters
    ----------
    forces, slope : arrays (m,)
        Forces t of the members if all were bilateral, and their change t' along the direction.
    stretch : array (m,)
        Elongation e' of the members along the direction.
    cable : array (m,) of bool
        Which members never push.
    value, rate : float
        g and c: derivative of the rest of the energy along the direction, and its change.

    Examples
    --------
    A cable that pulls with 1 N and one that would push, on a load of 3 N; the second is taut from s = 1 on:

    >>> exact_step(np.array([1.0, -1.0]), np.ones(2), np.ones(2), np.array([True, True]), -3.0)
    1.5
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.where(cable, -forces / slope, np.inf)
    now = ~cable | (forces > 0.0) | ((forces == 0.0) & (slope > 0.0))
    value += float((forces * stretch)[now].sum())
    rate += float((slope * stretch)[now].sum())
    turning = np.flatnonzero((change > 0.0) & np.isfinite(change))
    turning = turning[np.argsort(change[turning], kind="stable")]
    sign = np.where(now[turning], -1.0, 1.0)
    rates = rate + np.concatenate(([0.0], np.cumsum(sign * (slope * stretch)[turning])))
    starts = np.concatenate(([0.0], change[turning]))
    values = value + np.concatenate(([0.0], np.cumsum(rates[:-1] * np.diff(starts))))
    after = np.flatnonzero(values >= 0.0)
    piece = (int(after[0]) - 1) if len(after) else len(values) - 1
    if piece < 0:
        return 1.0  # not a direction of descent, up to rounding: take the Newton step
    if rates[piece] <= 0.0:
        return float(starts[piece]) + 1.0
    return float(starts[piece] - values[piece] / rates[piece])
