"""Bodies and contact forces at one instant: what every measure looks at."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from clapas.analysis.volumes import body_volumes
from clapas.errors import SettingsError
from clapas.geometry import rotations
from clapas.typing import Array, Indices, Mask

if TYPE_CHECKING:
    from clapas.dynamics.model import Model, State
    from clapas.dynamics.stepping import Stepped
    from clapas.geometry.colliders import Contacts
    from clapas.io.recording import Recording


@dataclass(frozen=True, kw_only=True)
class Instant:
    """Bodies born so far and the contacts between them, with forces.

    Parameters
    ----------
    time : float
        Time (s).
    gravity : array (d,)
        Acceleration of gravity (m/s²).
    mass, volume, reach : arrays (N,)
        Mass (kg), volume (m³; area in 2-D) and radius of each body: that of a sphere, else of the sphere
        about its centre that contains it; infinite for planes (m).
    movable : array (N,) of bool
        False for walls, those that slide under a load included.
    birth : array (N,)
        Time at which each appeared (s), −inf for those there from the start.
    centre, velocity : arrays (N, d)
        Centres of mass (m) and their velocities (m/s).
    spin : array (N, 3), or (N, 1) in 2-D
        Angular velocities in the world (rad/s).
    a, b : arrays (n,)
        The two bodies of each contact.
    point, normal : arrays (n, d)
        Contact points (m) and unit normals from a to b.
    force : array (n, d)
        Forces on b, in the world, mean over the step (N).
    mu : array (n,)
        Coefficients of friction.
    shift : array (n, d)
        What to add to the centre of b to find the image that touches a in a periodic cell (m).

    Examples
    --------
    >>> from clapas.dynamics import examples
    >>> from clapas.io.simulation import simulate
    >>> with simulate(examples.load("two-block-stack")) as run:
    ...     end = Instant.of_recording(run)
    >>> round(float(end.force[end.a == 0, 2].sum() / (end.mass[1:].sum() * 9.81)), 6)
    1.0
    """

    time: float
    gravity: Array
    mass: Array
    volume: Array
    reach: Array
    movable: Mask
    birth: Array
    centre: Array
    velocity: Array
    spin: Array
    a: Indices
    b: Indices
    point: Array
    normal: Array
    force: Array
    mu: Array
    shift: Array

    @staticmethod
    def of_recording(recording: Recording | str | os.PathLike[str], frame: int = -1) -> Instant:
        """A kept frame of a recording (open, or by its path)."""
        if isinstance(recording, str | os.PathLike):
            from clapas.io.recording import Recording

            with Recording(recording) as opened:
                return Instant.of_recording(opened, frame)
        kept = recording.frame(frame)
        return Instant.of(recording.model, kept.state, kept.contacts, kept.state.dt or recording.dt)

    @staticmethod
    def of_step(model: Model, stepped: Stepped) -> Instant:
        """A step just made."""
        return Instant.of(model, stepped.state, stepped.contacts, stepped.state.dt)

    @staticmethod
    def of(model: Model, state: State, contacts: Contacts, dt: float) -> Instant:
        """A state with its contacts; its impulses acted over ``dt`` seconds."""
        if not dt > 0:
            raise SettingsError(f"dt must be positive, got {dt}: forces are impulses divided by it")
        alive, d = model.first(state.n_bodies), model.d
        colliders = alive.colliders
        spin = state.velocity[:, d:]
        reach = np.zeros(state.n_bodies)
        away = np.linalg.norm(colliders.position, axis=1)
        np.maximum.at(reach, colliders.body, away + colliders.bound)
        pair = colliders.material[contacts.collider_a], colliders.material[contacts.collider_b]
        return Instant(
            time=state.time,
            gravity=alive.gravity,
            mass=alive.mass,
            volume=body_volumes(colliders, state.n_bodies),
            reach=reach,
            movable=~alive.is_wall,
            birth=alive.birth,
            centre=state.position,
            velocity=state.velocity[:, :d],
            spin=rotations.rotate(state.orientation, spin) if d == 3 else spin,
            a=contacts.a,
            b=contacts.b,
            point=contacts.point,
            normal=contacts.normal,
            force=state.impulses.impulse / dt,
            mu=alive.laws.mu[pair],
            shift=_shifts(contacts.point, state.position[contacts.b], model.period),
        )

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return len(self.gravity)

    @property
    def n_bodies(self) -> int:
        """Bodies born so far, walls included."""
        return len(self.mass)

    @property
    def n_contacts(self) -> int:
        """Contacts, those without force included."""
        return len(self.a)

    @cached_property
    def normal_force(self) -> Array:
        """Normal parts of the forces (N), (n,)."""
        return np.asarray(np.sum(self.force * self.normal, axis=1))

    @cached_property
    def friction_force(self) -> Array:
        """Sizes of the tangential parts of the forces (N), (n,)."""
        tangential = self.force - self.normal_force[:, None] * self.normal
        return np.asarray(np.linalg.norm(tangential, axis=1))

    @cached_property
    def carrying(self) -> Mask:
        """Contacts that carry a force, (n,)."""
        return np.asarray(np.any(self.force != 0.0, axis=1))

    @cached_property
    def branches(self) -> tuple[Array, Array]:
        """Both ends (n, d) of each branch, from the centre of a to that of b (m).

        A wall has no centre that matters: its end of the branch is the contact point.
        """
        start = np.where(self.movable[self.a, None], self.centre[self.a], self.point)
        end = np.where(self.movable[self.b, None], self.centre[self.b] + self.shift, self.point)
        return start, end


def _shifts(point: Array, centre: Array, period: tuple[float | None, float | None]) -> Array:
    """Whole periods from each centre to its image nearest to the contact point."""
    shift = np.zeros_like(point)
    for axis, length in enumerate(period):
        if length is not None:
            shift[:, axis] = length * np.round((point[:, axis] - centre[:, axis]) / length)
    return shift
