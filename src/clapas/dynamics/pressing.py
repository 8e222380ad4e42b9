"""Initial contact forces.

With friction, contact forces are indeterminate, and a step starts from the impulses of the one before: the
state of a frictional system includes its contact forces (Moreau 2003, section 8). A bar between walls that
converge upward stands if it was wedged in, and falls if it was not, from the same positions and velocities.
Initial forces are stored as impulses of a very short step before the start, and the first step takes them
for those of the last one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clapas.errors import SceneError

if TYPE_CHECKING:
    from clapas.dynamics.model import Model
    from clapas.dynamics.state import State
    from clapas.geometry.colliders import Contacts

INSTANT = 1e-9  # s, length of the step before the start
NEAR = 1e-6  # of the largest coordinate: largest gap between bodies with initial forces


class Pressed(NamedTuple):
    """Two bodies that press each other at the start.

    Parameters
    ----------
    a, b : int
        Numbers of the bodies.
    force : tuple of float
        Force of a on b (N): one number is along the normals; d numbers are a vector. Their contacts share it
        evenly.
    """

    a: int
    b: int
    force: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Its entry in a scene file."""
        force = self.force[0] if len(self.force) == 1 else list(self.force)
        return {"a": self.a, "b": self.b, "force": force}


def with_pressure(model: Model, state: State) -> State:
    """The state with the forces that bodies exert on each other at the start.

    Raises
    ------
    SceneError
        Bodies that are to press each other do not touch, or are pulled apart.
    """
    from clapas.dynamics.state import Impulses

    contacts = pressed_contacts(model, state)
    impulse = np.zeros(contacts.normal.shape)
    for a, b, force in model.pressed:
        between = ((contacts.a == a) & (contacts.b == b)) | ((contacts.a == b) & (contacts.b == a))
        if not between.any():
            raise SceneError(
                f"'{model.names[a]}' and '{model.names[b]}' are to press each other with {list(force)} N, "
                "but they do not touch at the start: place them against each other"
            )
        share = INSTANT / int(between.sum())
        if len(force) == 1:
            impulse[between] += share * force[0] * contacts.normal[between]
        else:
            on_b = np.where((contacts.b == b)[between, None], force, -np.array(force))
            if (np.sum(on_b * contacts.normal[between], axis=1) < 0).all():
                raise SceneError(
                    f"'{model.names[a]}' is to press on '{model.names[b]}' with {list(force)} N, which pulls "
                    "them apart: contacts only push; give the force of the first on the second"
                )
            impulse[between] += share * on_b
    return replace(
        state,
        impulses=Impulses(contacts.a, contacts.b, contacts.feature, impulse),
        dt=INSTANT,
    )


def pressed_contacts(model: Model, state: State) -> Contacts:
    """The contacts of a state at the start, in the order of its impulses."""
    from clapas.dynamics.neighbours import Neighbours

    near = NEAR * float(np.abs(state.position).max(initial=0.0))
    found = Neighbours(model).detect(state, near)
    pairs = np.array([(a, b) for a, b, _ in model.pressed]).reshape(-1, 2)
    n = model.n_bodies
    pressed_keys = np.sort(pairs, axis=1) @ (n, 1)
    keys = np.minimum(found.a, found.b) * n + np.maximum(found.a, found.b)
    return found.take(np.flatnonzero(np.isin(keys, pressed_keys)))
