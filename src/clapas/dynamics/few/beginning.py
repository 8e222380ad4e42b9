"""The beginning of a step: drift to its middle, and free motion."""

from __future__ import annotations

import numpy as np

from clapas.bodies.rigid.motion import fall, move
from clapas.compiled import kernel
from clapas.dynamics.few.tables import Placed, Rigid
from clapas.typing import Array


@kernel
def begin(
    start: Placed,
    imposed: Array,
    rigid: Rigid,
    gain: Array,
    keeps_velocity: bool,
    drift: float,
    dt: float,
    middle: Placed,
    free: Array,
) -> float:
    """Write the middle of a step and the velocities (N, size) at its end without contacts.

    Parameters
    ----------
    start : Placed
        The state.
    imposed : array (N, size)
        Velocities of walls in the middle of the step.
    rigid : Rigid
        The bodies.
    gain : array (d,)
        h · gravity (m/s).
    keeps_velocity : bool
        False forgets the velocities of the start.
    drift, dt : float
        Time from the start to the middle, and the step h (s).
    middle, free : Placed and array (N, size)
        To be written.

    Returns
    -------
    float
        Largest coordinate of a centre (m).
    """
    movable, no_push = rigid.flags[0], np.zeros((len(imposed), 3))
    for i in range(len(imposed)):
        for k in range(imposed.shape[1]):
            moves = movable[i] and keeps_velocity
            middle.velocity[i, k] = start.velocity[i, k] if moves else imposed[i, k]
    move(start.position, start.orientation, middle.velocity, drift, middle.position, middle.orientation)
    fall(middle.velocity, gain, rigid.inertia, movable, no_push, dt, free)
    largest = 0.0
    for i in range(len(imposed)):
        for k in range(len(gain)):
            largest = max(largest, abs(middle.position[i, k]))
    return largest
