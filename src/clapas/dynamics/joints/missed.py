"""Velocity motors without bound that do not keep their rate.

Nothing else than another condition stops such a motor: a second motor behind a gear, a joint that holds what
it turns. The problem of the step then has rows that contradict each other, and its answer is between them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clapas.dynamics.joints.commands import Commands, targets_of
from clapas.dynamics.joints.instep import coordinates_of, joint_rates
from clapas.typing import Array, Indices

if TYPE_CHECKING:
    from clapas.dynamics.model import Model
    from clapas.dynamics.state import State

MISSED = 1e-2  # of the fastest joint, and of what gravity gives in a step: what is less is rounding
TOLERANCES = 10.0  # of the solver, relative to the fastest body, that an iterative solution may be off


def missed_rates(model: Model, state: State, commands: Commands | None, tol: float) -> tuple[Indices, Array]:
    """Coordinates whose motor has missed its rate in a step by more than the tolerance, and by how much."""
    assert model.joints is not None
    drives = model.joints.drives
    exact = drives.exact
    rates, target = joint_rates(model, state, coordinates_of(model, state)), targets_of(drives, commands)
    fall = float(np.linalg.norm(model.gravity)) * state.dt
    fastest = max(float(np.abs(rates).max()), float(np.abs(target[exact]).max()), fall)
    speed = float(np.abs(state.velocity).max())
    # Axes turn during a step, and the rate is given along where they are on the way.
    allowed = (MISSED + state.dt * speed) * fastest + TOLERANCES * tol * speed
    missed = np.abs(rates[exact] - target[exact])
    over = missed > allowed
    return exact[over], missed[over]
