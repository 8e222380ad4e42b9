"""Constant data of a model for steps with joints, built once."""

from __future__ import annotations

import numpy as np

from clapas.compiled import plain
from clapas.dynamics.few.tables import BoundModel, CarriedImpulses, Laws, Placed, Rigid, has_plain_contacts
from clapas.dynamics.freemotion import load_impulses, spin_changes
from clapas.dynamics.jointed.advancing import After, Before, Constants
from clapas.dynamics.jointed.meeting import PosedContacts
from clapas.dynamics.jointed.tables import Driven, DriveTable, Linked, Scheme
from clapas.dynamics.joints.commands import Commands, targets_of
from clapas.dynamics.joints.drives import LAWS_PER_COORDINATE
from clapas.dynamics.joints.instep import coordinates_of
from clapas.dynamics.model import Model
from clapas.dynamics.state import State
from clapas.typing import Array


class Mechanism(BoundModel):
    """The arrays of a model with joints, and whether its steps can be done by kernels only.

    Parameters
    ----------
    model : Model
        Its bodies are all born.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.is_supported = is_supported(model)
        self.no_contact = PosedContacts.none(self.sizes)
        self._no_spin_change = np.zeros((model.n_bodies, 3))
        self._no_links = np.empty(0, dtype=np.int64), np.empty((0, model.d))
        self.is_driven = np.zeros(model.n_bodies, dtype=bool)
        self.is_driven[list(model.motions)] = True
        if self.is_supported:
            assert model.joints is not None
            self.rigid, self.laws = Rigid.of(model), Laws.of(model)
            self.linked, drives = Linked.of(model), DriveTable.of(model)
            gravity = plain(model.gravity, float)
            self.constants = Constants(self.linked, drives, self.rigid, gravity)
            self._most_links = LAWS_PER_COORDINATE * len(drives.motor) if drives.has_links else 0
            self.drives = model.joints.drives
            self.target: Array = plain(targets_of(self.drives, None), float)

    def arrays_of(self, state: State, dt: float) -> tuple[Before, CarriedImpulses]:
        """Arrays of a state for a step of length dt, of the types of the bound kernels; contact impulses."""
        ratio, old, links, last = (
            float(dt / state.dt) if state.dt else 1.0,
            state.impulses,
            state.links,
            self.last,
        )
        identity, linked = self._no_links if links is None else (links.identity, links.impulse)
        placed = Placed(state.position, state.orientation, state.velocity)
        carried = CarriedImpulses(old.a, old.b, old.feature, old.impulse, ratio)
        if (
            last is not None
            and last.coordinates is not None
            and last.position is state.position
            and last.orientation is state.orientation
            and last.velocity is state.velocity
            and last.impulses is old
            and last.links is links
            and last.coordinates is state.coordinates
        ):  # arrays of the last step: their types are right
            return Before(placed, last.coordinates, identity, linked, ratio), carried
        a, b, feature = (plain(column, np.int64) for column in carried[:3])
        before = Before(
            Placed(*(plain(column, float) for column in placed)),
            plain(coordinates_of(self.model, state), float),
            plain(identity, np.int64),
            plain(linked, float),
            ratio,
        )
        return before, CarriedImpulses(a, b, feature, plain(old.impulse, float), ratio)

    def room(self, n: int) -> After:
        """Arrays for the output of a step with n contacts."""
        model, k, most = self.model, len(self.target), self._most_links
        x, turn, v = model.position.shape, model.orientation.shape, model.velocity.shape
        return After(
            Placed(np.empty(x), np.empty(turn), np.empty(v)),
            np.empty(v),
            np.empty(k),
            np.empty(self.linked.terms.ends.shape[1]),
            np.empty((k, 2), dtype=np.bool_),
            np.empty(len(self.linked.sums.offset)),
            np.empty(most, dtype=np.int64),
            np.empty((n + most, model.d)),
            np.empty((n, model.d)),
            np.empty(n, dtype=np.bool_),
            np.empty(8),
        )

    def targets(self, commands: Commands | None) -> Array:
        """Targets of the motors, (k,)."""
        return self.target if commands is None else targets_of(self.drives, commands)

    def scheme(self, theta: float, dt: float) -> Scheme:
        """The step as an argument of kernels."""
        return Scheme((1.0 - theta) * dt, theta * dt, dt, theta, bool(self.model.gyrates))

    def driven(self, middle: State, dt: float) -> Driven:
        """Driven walls and loads of a step."""
        spin_change = self._no_spin_change
        if self.model.loads or middle.applied:
            spin_change = spin_changes(self.model, load_impulses(self.model, middle, dt))
        return Driven(self.is_driven, self.imposed(middle.time + dt), spin_change)


def is_supported(model: Model) -> bool:
    """Whether the kernels cover a model: rigid bodies with joints, sliding contacts, walls."""
    is_rigid = model.joints is not None and not model.systems and model.blocked is None
    return has_plain_contacts(model) and is_rigid and bool(model.movable.any())
