"""Drift: bodies are put back on their joints at the end of each step.

Velocities obey the joints, positions follow velocities, and are off by h² after a step. The smallest
displacement in the metric of the masses puts them back,

    min ½ δᵀ M δ    such that    g(q ⊕ δ) = 0,

by Newton's method with the rows of the middle of the step, where they are factorised already: δ is along
M⁻¹ Jᵀ, as the impulses of the joints are. Velocities are not touched, so neither is the kinetic energy:
nothing is stored or fed in as by springs (Baumgarte), and no bounce comes of it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clapas.bodies.rigid.motion import moved
from clapas.dynamics.joints.leastmotion import LeastMotion
from clapas.dynamics.joints.rows import JointRows
from clapas.dynamics.model import Model, State
from clapas.errors import ProblemError

ROUNDING = 1e-15  # relative to the coordinates of the bodies
ITERATIONS = 30
STALLED = 0.1  # an iteration that leaves more than this part of the gaps calls for new rows
OPEN = 1e-6  # a joint that stays this far open, relative to the coordinates, cannot be closed


def onto_joints(model: Model, state: State, motion: LeastMotion) -> State:
    """The state with all joints closed, its velocities as they are, and its coordinates as they are then.

    Parameters
    ----------
    model, state
        The bodies, at the end of a step; its coordinates need be right to half a turn.
    motion : LeastMotion
        The joints at its middle.

    Raises
    ------
    ProblemError
        A joint cannot be closed: driven bodies ask more than the joints allow.
    """
    rows, joined = motion.rows, model.linkages.bodies
    extent = 1.0 + float(np.max(np.abs(state.position[joined]), initial=0.0))
    placed = rows.placed(state.position, state.orientation, state.coordinates)
    gap = rows.gap(placed)
    size = float(np.max(np.abs(gap), initial=0.0))
    for _ in range(ITERATIONS):
        if size <= ROUNDING * extent:
            break
        position, orientation = moved(state.position, state.orientation, motion.reach(-gap), 1.0)
        there = rows.placed(position, orientation, state.coordinates)
        gap = rows.gap(there)
        left = float(np.max(np.abs(gap), initial=0.0))
        if left >= size and size <= 1e3 * ROUNDING * extent:
            break  # rounding
        if left > STALLED * size:
            motion = replace(motion, placed=there)
        state = replace(state, position=position, orientation=orientation)
        placed, size = there, left
    if not size <= OPEN * extent:
        worst = int(np.argmax(np.abs(rows.gap(placed))))
        name = rows.names[rows.joint[worst]] if worst < rows.n_closing else _mimic(rows, worst)
        raise ProblemError(
            f"joint '{name}' stays open by {size:.1e} at t = {state.time:.6g} s: the joints cannot all "
            "hold where driven or fixed bodies are. Shorten the motion or the time step, or free a body"
        )
    return replace(state, coordinates=rows.coordinates(placed))


def _mimic(rows: JointRows, row: int) -> str:
    return rows.mimics[row - rows.n_closing].follower
