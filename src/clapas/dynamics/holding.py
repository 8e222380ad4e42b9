"""Roots of rods clamped in a movable rigid body, with their reaction on it.

The root of a rod at x, with frame F, is fixed in the frame of its holder (centre c, orientation R): at
x* = c + R a with frame F* = R A. The rows constrain the velocities at the end of the step,

    v_root − v_holder(x*) + (x − x*)/h = 0,    ω_root − ω_holder + e/h = 0,    e = ½ Σ F*_i × F_i,

and are solved with the contacts, as joints are. Position errors are removed within a step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from clapas.bodies.joined import RootedBodies
from clapas.bodies.kind import Part
from clapas.dynamics.model import Model, System
from clapas.dynamics.state import State
from clapas.geometry.rotations import cross_matrix, to_matrix
from clapas.typing import Array


class Held(NamedTuple):
    """Rows J v + b = 0 on the velocities of a system and on those of the rigid bodies."""

    own: sparse.csr_array
    rigid: sparse.csr_array
    b: Array


def held(model: Model, system: System, part: Part, middle: State, dt: float) -> Held | None:
    """The rows of a system at the middle of a step; None without a holder."""
    if system.holder < 0:
        return None
    kind, body = system.bodies, system.holder
    assert isinstance(kind, RootedBodies)
    start, now = kind.roots(kind.start()), kind.roots(part)
    before, turn = to_matrix(model.orientation[body]), to_matrix(middle.orientation[body])
    arm = (start.position - model.position[body]) @ before @ turn.T
    frame = turn @ before.T @ start.frame
    away = now.position - middle.position[body] - arm
    tilt = 0.5 * np.cross(frame, now.frame, axisa=1, axisb=1, axisc=1).sum(axis=2)
    rows = np.zeros((len(arm), 6, 6))
    rows[:, :3, :3] = -np.eye(3)
    rows[:, :3, 3:] = cross_matrix(arm) @ turn  # v + ω × a, the spin of a body is along its own axes
    rows[:, 3:, 3:] = -turn
    count, first = len(arm), 6 * int(model.number[body])
    columns = np.tile(first + np.arange(6), 6 * count)
    shape = 6 * count, 6 * int(model.movable.sum())
    rigid = sparse.csr_array((rows.ravel(), columns, np.arange(0, 36 * count + 1, 6)), shape=shape)
    return Held(now.J, rigid, np.concatenate((away, tilt), axis=1).ravel() / dt)
