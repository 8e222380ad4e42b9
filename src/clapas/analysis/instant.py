"""Bodies and contact forces at one instant: the input of every measure.

Contacts are found at the middle of a step and positions are kept at its end. Arms from centres to contact
points must use one instant: otherwise a body that moves at v has arms wrong by v dt/2, and a ball
that slides without friction has a shear stress. An instant therefore has the centres at both times. The
earlier ones need not be recorded: positions end at q = q_m + θ dt v, so q_m = q − θ dt v.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from clapas.analysis.parts import Parts
from clapas.analysis.volumes import body_volumes
from clapas.bodies.rigid.motion import moved
from clapas.errors import SettingsError
from clapas.geometry import rotations
from clapas.problems.blocks import frames
from clapas.typing import Array, Indices, Mask

if TYPE_CHECKING:
    from clapas.dynamics.model import Model
    from clapas.dynamics.state import State
    from clapas.dynamics.stepping import StepResult
    from clapas.geometry.colliders import Contacts
    from clapas.io.recording import Recording

ROUNDED = 1e-14  # of the largest force: nothing but rounding


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
        Forces on b, in the world (N): impulses over the length of the step, or of the last part of a divided
        step.
    mu : array (n,)
        Coefficients of friction, along ``grain`` where friction is elliptic.
    shift : array (n, d)
        Translation of the centre of b to the image that touches a in a periodic cell (m).
    middle : array (N, d), optional
        Centres of mass where the contacts were found, at the middle of the step (m); by default ``centre``.
    cohesion : array (n,), optional
        Traction each contact resists (N); by default 0.
    mu_across : array (n,), optional
        Coefficients of friction across ``grain``; by default ``mu``.
    grain : array (n, d), optional
        Unit direction of the grain of elliptic friction in the contact plane; zero, the default, where
        friction is the same in all directions.
    period : tuple of two
        Lengths of the periodic cell along x and y (m), None where it does not repeat.
    parts : Parts, optional
        Shapes of the bodies in place; by default spheres of radius ``reach``.

    Examples
    --------
    >>> from clapas.scenes import examples
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
    middle: Array = field(default_factory=lambda: np.empty(0))
    cohesion: Array = field(default_factory=lambda: np.empty(0))
    mu_across: Array = field(default_factory=lambda: np.empty(0))
    grain: Array = field(default_factory=lambda: np.empty(0))
    period: tuple[float | None, float | None] = (None, None)
    parts: Parts | None = None

    def __post_init__(self) -> None:
        defaults = {
            "middle": self.centre,
            "cohesion": np.zeros(self.n_contacts),
            "mu_across": self.mu,
            "grain": np.zeros_like(self.normal),
        }
        for name, values in defaults.items():
            if getattr(self, name).size == 0:
                object.__setattr__(self, name, values)

    @staticmethod
    def of_recording(recording: Recording | str | os.PathLike[str], frame: int = -1) -> Instant:
        """A kept frame of a recording (open, or by its path)."""
        if isinstance(recording, str | os.PathLike):
            from clapas.io.recording import Recording

            with Recording(recording) as opened:
                return Instant.of_recording(opened, frame)
        if recording.n_frames == 0:
            raise SettingsError(f"{recording.path}: no frame is complete, so there is nothing to measure")
        kept = recording.frame(frame)
        dt = kept.state.dt or recording.dt
        return Instant.of(recording.model, kept.state, kept.contacts, dt, theta=theta_of(recording))

    @staticmethod
    def of_step(model: Model, stepped: StepResult) -> Instant:
        """A completed step; of a divided step, its last part."""
        pose = stepped.middle.position, stepped.middle.orientation
        return _build(model, stepped.state, stepped.contacts, stepped.state.dt, *pose)

    @staticmethod
    def of(model: Model, state: State, contacts: Contacts, dt: float, *, theta: float = 0.5) -> Instant:
        """A state with its contacts; its impulses acted over ``dt`` seconds.

        ``theta`` is that of the scheme: contacts were found θ dt before the state. A displacement that
        removes penetrations (``projection``) came after and is not undone.
        """
        if not dt > 0:
            raise SettingsError(f"dt must be positive, got {dt}: forces are impulses divided by it")
        back = -theta * state.dt
        return _build(
            model, state, contacts, dt, *moved(state.position, state.orientation, state.velocity, back)
        )

    def __repr__(self) -> str:
        return (
            f"Instant(t = {self.time:.6g} s, {self.n_bodies} bodies, {self.n_contacts} contacts, {self.d}-D)"
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
        """Contacts that carry a force, (n,): those counted by every measure; see :func:`carries`."""
        return carries(self.force)

    @cached_property
    def arms(self) -> tuple[Array, Array]:
        """Arms (n, d) from the centres of a and of b to the contact points (m), at the middle of the step."""
        return self.point - self.middle[self.a], self.point - self.middle[self.b] - self.shift

    @property
    def is_sized(self) -> Mask:
        """Grains with a size, (N,): bodies that move freely and are not points."""
        return self.movable & (self.reach > 0.0)

    @cached_property
    def branches(self) -> tuple[Array, Array]:
        """Both ends (n, d) of each branch, from the centre of a to that of b where contacts were found (m).

        The centre of a wall is irrelevant: its end of the branch is the contact point.
        """
        start = np.where(self.movable[self.a, None], self.middle[self.a], self.point)
        end = np.where(self.movable[self.b, None], self.middle[self.b] + self.shift, self.point)
        return start, end


def carries(force: Array) -> Mask:
    """Whether each contact carries, (n,), from the forces (n, d) of all: those above what rounding leaves.

    The only definition behind every count of contacts in :mod:`clapas.analysis`. Bodies that are near each
    other, or that touch without a force, do not carry: in a lattice of balls that touch, whose columns alone
    bear, solvers leave 1e-16 of the largest force beside them. A cohesive contact in tension carries: its
    normal force is negative.
    """
    size = np.linalg.norm(force, axis=1)
    return np.asarray(size > ROUNDED * size.max(initial=0.0))


def theta_of(recording: Recording) -> float:
    """Parameter θ of the scheme of a run: the contacts of a frame were found θ dt before it."""
    return float((recording.settings.get("scheme") or {}).get("theta", 0.5))


def _build(
    model: Model, state: State, contacts: Contacts, dt: float, position: Array, orientation: Array
) -> Instant:
    """Instant of a state, with the position and orientation at which its contacts were found."""
    alive, d = model.first(state.n_bodies), model.d
    colliders, laws = alive.colliders, alive.laws
    pair = colliders.material[contacts.collider_a], colliders.material[contacts.collider_b]
    spin = state.velocity[:, d:]
    return Instant(
        time=state.time,
        gravity=alive.gravity,
        mass=alive.mass,
        volume=body_volumes(colliders, state.n_bodies),
        reach=alive.reach,
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
        mu=laws.mu[pair],
        shift=_shifts(contacts.point, position[contacts.b], model.period),
        middle=position,
        cohesion=laws.cohesion[pair],
        mu_across=laws.mu_across[pair],
        grain=_grains(laws.direction[pair], orientation[contacts.a], contacts.normal),
        period=model.period,
        parts=Parts(colliders, state.position, state.orientation),
    )


def _grains(direction: Array, orientation: Array, normal: Array) -> Array:
    """Directions of elliptic friction, fixed to bodies a, along the contact planes: unit vectors.

    Zero where friction is isotropic. A direction along the normal is undefined, and the first tangent of the
    contact frame is used, as in the step.
    """
    if not direction.any():
        return np.zeros_like(normal)
    world = rotations.rotate(orientation, direction)
    along = world - np.sum(world * normal, axis=1, keepdims=True) * normal
    size = np.linalg.norm(along, axis=1, keepdims=True)
    grain = np.where(size > 1e-12, along / np.where(size > 0.0, size, 1.0), frames(normal)[:, 1])
    return np.where(direction.any(axis=1, keepdims=True), grain, 0.0)


def _shifts(point: Array, centre: Array, period: tuple[float | None, float | None]) -> Array:
    """Whole periods from each centre to its image nearest to the contact point."""
    shift = np.zeros_like(point)
    for axis, length in enumerate(period):
        if length is not None:
            shift[:, axis] = length * np.round((point[:, axis] - centre[:, axis]) / length)
    return shift
