"""Correction of drift: bodies are projected onto their joints at the end of each step.

Velocities satisfy the joints, positions follow velocities, and have an error of order h² after a step. The
smallest displacement in the metric of the masses removes it,

    min ½ δᵀ M δ    such that    g(q ⊕ δ) = 0,

by Newton's method with the rows of the middle of the step, which are factorised already: δ is along M⁻¹ Jᵀ,
as the impulses of the joints are. Velocities are unchanged, hence also the kinetic energy: no energy is
stored or added as by springs (Baumgarte), and bodies do not bounce. Systems that joints hold move in the
metric of their effective masses, as if they had been that much faster since the middle of the step.

Near a pose in which rows are redundant a displacement may go too far, and open joints more: then a part of
it is tried, along the rows of where the bodies are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clapas.bodies.kind import Part
from clapas.bodies.rigid.motion import moved
from clapas.dynamics.joints.anchors import Anchors, Grips, anchors_of
from clapas.dynamics.joints.leastmotion import RANK, LeastMotion
from clapas.dynamics.joints.rows import JointRows, Placed
from clapas.dynamics.model import Model
from clapas.dynamics.state import State
from clapas.dynamics.systems import SystemsInStep, with_carriers
from clapas.errors import ProblemError
from clapas.typing import Array

ROUNDING = 1e-15  # relative to the coordinates of the bodies
ITERATIONS = 30
STALLED = 0.1  # rows are recomputed after an iteration that leaves more than this part of the error
CLOSER = 0.25  # the part of a displacement that is tried after one that opens the joints
OPEN = 1e-6  # a joint that stays this far open, relative to the coordinates, cannot be closed


def onto_joints(model: Model, state: State, motion: LeastMotion, systems: SystemsInStep, h: float) -> State:
    """The state with all joints closed, the same velocities, and the resulting coordinates.

    Parameters
    ----------
    model, state
        The bodies, at the end of a step; its coordinates need be correct only to half a turn.
    motion : LeastMotion
        The joints at its middle.
    systems : SystemsInStep
        Bodies of other kinds at its middle.
    h : float
        The time from there (s).

    Raises
    ------
    ProblemError
        A joint cannot be closed: the motion of driven bodies contradicts the joints, or the time step is so
        long that Newton's method does not lead back to them.
    """
    rows, joined = motion.rows, model.linkages.bodies
    extent = 1.0 + float(np.max(np.abs(state.position[joined]), initial=0.0))
    held = bool(rows.ends)
    shift = tuple(np.zeros_like(part.v) for part in state.parts) if held else ()
    placed, anchors = _placed(rows, model, state)
    gap, share = rows.gap(placed), 1.0
    size = float(np.max(np.abs(gap), initial=0.0))
    for _ in range(ITERATIONS):
        if size <= ROUNDING * extent:
            break
        along = share * motion.multipliers(-gap)
        position, orientation = moved(state.position, state.orientation, motion.motion(along), 1.0)
        further = tuple(map(np.add, shift, motion.others(along))) if held else ()
        closer = replace(state, position=position, orientation=orientation)
        if held:
            closer = replace(closer, parts=_shifted(systems, state, further, h))
        there, there_anchors = _placed(rows, model, closer)
        there_gap = rows.gap(there)
        left = float(np.max(np.abs(there_gap), initial=0.0))
        if left >= size and size <= 1e3 * ROUNDING * extent:
            break  # rounding
        if not left < size:
            # Too far, past a pose in which rows are redundant: closer ones, and the rows of here.
            share *= CLOSER
            motion = replace(motion, placed=placed, grips=_grips(motion, anchors), rank=RANK)
            continue
        share = min(1.0, share / CLOSER)
        state, shift, gap = closer, further, there_gap
        placed, anchors = there, there_anchors
        if left > STALLED * size:
            motion = replace(motion, placed=placed, grips=_grips(motion, anchors), rank=RANK)
        size = left
    if not size <= OPEN * extent:
        worst = int(np.argmax(np.abs(rows.gap(placed))))
        name = rows.names[rows.joint[worst]] if worst < rows.n_closing else _mimic(rows, worst)
        # Without driven bodies the joints can hold, as they did at the start.
        why = "the bodies went too far in one step for the joints to be closed. Take a smaller time step"
        if model.motions:
            why = (
                "the joints cannot all hold where driven or fixed bodies are. Shorten the motion or the time "
                "step, or free a body"
            )
        raise ProblemError(f"joint '{name}' stays open by {size:.1e} at t = {state.time:.6g} s: {why}")
    state = replace(state, coordinates=rows.coordinates(placed))
    return with_carriers(model, state) if held else state


def _placed(rows: JointRows, model: Model, state: State) -> tuple[Placed, Anchors | None]:
    """The terms in a state, and the anchors on systems; None without any."""
    if not rows.ends:
        return rows.placed(state.position, state.orientation, state.coordinates), None
    anchors = anchors_of(rows.ends, model.systems, state.parts)
    return rows.placed(state.position, state.orientation, state.coordinates, anchors.poses), anchors


def _grips(motion: LeastMotion, anchors: Anchors | None) -> Grips | None:
    """The systems that joints hold, where their anchors are; None without any."""
    return None if motion.grips is None or anchors is None else motion.grips.at(anchors)


def _shifted(systems: SystemsInStep, state: State, shift: tuple[Array, ...], h: float) -> tuple[Part, ...]:
    """The parts of a state displaced by a shift, with unchanged velocities."""
    speeds = [part.v for part in state.parts]
    faster = tuple(v + displacement / h for v, displacement in zip(speeds, shift, strict=True))
    return tuple(Part(part.q, v) for part, v in zip(systems.moved(faster, h), speeds, strict=True))


def _mimic(rows: JointRows, row: int) -> str:
    return rows.mimics[row - rows.n_closing].follower
