"""Slow settlement of a support until collapse: the largest bearable settlement and the hinges.

The support moves by 2e-4 L in a step, L the length of the structure, and the blocks follow without inertia
(:class:`~clapas.dynamics.schemes.QuasiStatic`): joints open, turn and slide, and velocities are reset
after each step. Along this path limit analysis determines whether equilibrium forces exist *in the displaced
geometry*: the last such state gives the largest bearable settlement. After it the blocks move by themselves;
when one is 10 times faster than the support the structure has collapsed, and the search ends.

Reference: Ochsendorf 2006 (arches on spreading supports: large displacements before collapse, and the
hinges move with them).
"""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import numpy as np

from clapas.analysis.equilibria import Equilibria, Resting
from clapas.analysis.masonry import TOL, Masonry
from clapas.dynamics.model import Model
from clapas.dynamics.motions import ConstantVelocity
from clapas.dynamics.schemes import QuasiStatic
from clapas.dynamics.state import State
from clapas.errors import SettingsError
from clapas.geometry import rotations
from clapas.io.recording.writer import RecordingWriter
from clapas.io.settings import to_plain
from clapas.scenes.body import Wall
from clapas.scenes.compilation import compile_scene
from clapas.scenes.recorders import RecordedStep, StepProgress
from clapas.scenes.simulation import simulate
from clapas.solvers import Auto
from clapas.typing import Array

SLOW = 2e-3  # speed of the support, of √(g L)
STEP = 0.1  # time step, of √(L / g): an unsupported block is then 50 times faster than the support
GONE = 10.0  # speed of a block at collapse, in speeds of the support
ROUGH = 1e-6  # least friction: a run turns blocks by rounding, which faces without friction cannot bear
LOOSE = 10.0  # margin along the path, in margins of the structure at its start
OPEN = 1e-4  # rad: joints that have turned less are closed
LEADING = 0.1  # of the largest turn: joints that have turned less are not hinges


@dataclass(frozen=True)
class MovedJoint:
    """Motion of a joint between two blocks.

    Parameters
    ----------
    a, b : int
        Numbers of the bodies.
    point : array (d,)
        Contact point (m).
    turned : float
        Angle by which they turned about each other (rad).
    slid : float
        Distance that the points in contact have slid on each other (m).
    """

    a: int
    b: int
    point: Array
    turned: float
    slid: float


@dataclass(frozen=True)
class Settlement:
    """Response of a structure to the settlement of a support.

    Parameters
    ----------
    support : str
        Its name.
    direction : tuple of d floats
        Unit vector along which it moved.
    bearable : float
        Largest displacement (m) with equilibrium forces in the displaced geometry.
    collapse : float or None
        Displacement (m) at collapse; None if there was none up to ``reached``.
    reached : float
        Final displacement of the support (m).
    model : Model
        The bodies.
    state : State
        Their state at ``bearable``.
    hinges : tuple of MovedJoint
        Joints that had opened there, the widest first.
    sliding : tuple of MovedJoint
        Joints that had slid by more than a thousandth of the smallest block.
    """

    support: str
    direction: tuple[float, ...]
    bearable: float
    collapse: float | None
    reached: float
    model: Model
    state: State
    hinges: tuple[MovedJoint, ...]
    sliding: tuple[MovedJoint, ...]

    def __repr__(self) -> str:
        fell = "no collapse" if self.collapse is None else f"collapsed at {self.collapse:.4g} m"
        return (
            f"Settlement('{self.support}': bearable {self.bearable:.4g} m, {fell}, {len(self.hinges)} hinges)"
        )


class _Follower:
    """Recorder that keeps states, forwards them to a writer, and stops the run at collapse."""

    def __init__(self, model: Model, speed: float, further: RecordingWriter | None) -> None:
        self.moving = np.flatnonzero(model.movable)
        self.d, self.speed, self.further = model.d, speed, further
        self.states: list[State] = []
        self.fastest: list[float] = []

    def keep(self, kept: RecordedStep) -> None:
        self.states.append(kept.state)
        velocity = kept.state.velocity[self.moving, : self.d]
        self.fastest.append(float(np.linalg.norm(velocity, axis=1).max()))
        if self.further is not None:
            self.further.keep(kept)

    def note(self, reading: object) -> None:
        """Ignore probes."""

    def watch(self, advance: StepProgress) -> bool:
        return self.fastest[-1] > GONE * self.speed


def settle(
    masonry: Masonry,
    support: int | str,
    direction: Sequence[float] | None = None,
    *,
    until: float | None = None,
    out: str | os.PathLike[str] | None = None,
) -> Settlement:
    """Move a support along a direction until the blocks fall.

    Parameters
    ----------
    masonry : Masonry
        The structure.
    support : int or str
        Number or name of a fixed block.
    direction : d floats, optional
        Direction of motion; by default along gravity.
    until : float, optional
        Largest displacement (m); by default a quarter of the length of the structure.
    out : path, optional
        Recording to write, for pictures and films.

    Examples
    --------
    A beam across two supports lies more heavily on the left one and stays on it. When the right one is drawn
    away the beam falls after the 0.1 m that it reached over it:

    >>> from clapas.scenes.scene import Scene
    >>> from clapas.geometry.shapes import Box
    >>> scene = Scene()
    >>> scene.law(mu=0.5)
    >>> left = scene.add(Box((0.4, 1, 1)), (-1.0, 0, -0.5), fixed=True, name="left")
    >>> right = scene.add(Box((0.4, 1, 1)), (1.0, 0, -0.5), fixed=True, name="right")
    >>> beam = scene.add(Box((2.4, 0.5, 0.2)), (-0.3, 0, 0.1), density=2000)
    >>> fall = settle(Masonry(scene), "right", (1, 0, 0), until=0.2)
    >>> round(fall.bearable, 2)
    0.1
    """
    model, d = masonry.model, masonry.model.d
    number = masonry.scene.number(support)
    name = model.names[number] or str(number)
    if model.movable[number] or masonry.scene.bodies[number].motion is not None:
        raise SettingsError(f"'{name}' is no support: only a fixed block settles; name one with fixed=…")
    gravity = np.asarray(model.gravity, dtype=float)
    along = gravity if direction is None else np.asarray(direction, dtype=float)
    if along.shape != (d,) or not np.isfinite(along).all() or not np.linalg.norm(along) > 0.0:
        raise SettingsError(f"direction must be {d} finite numbers, not all zero, got {direction!r}")
    along = along / np.linalg.norm(along)
    spread = float(np.ptp(masonry.start.position[model.movable], axis=0).max())
    length = max(spread, float(model.reach[model.movable].max()))
    g = float(np.linalg.norm(gravity)) or 9.81
    speed, dt = SLOW * math.sqrt(g * length), STEP * math.sqrt(length / g)
    farthest = 0.25 * length if until is None else until
    if not 0.0 < farthest < math.inf:
        raise SettingsError(f"until must be positive (m), got {until}")

    driven = copy.deepcopy(masonry.scene)
    block = driven.bodies[number]
    assert isinstance(block, Wall)  # it does not move
    driven.bodies[number] = replace(block, fixed=False, motion=ConstantVelocity(tuple(speed * along)))
    moved = compile_scene(driven)
    duration = farthest / speed
    with ExitStack() as stack:
        writer = None
        if out is not None:
            solver = to_plain(Auto(tol=TOL))
            scheme = to_plain(QuasiStatic())
            settings = {"duration": duration, "on_unsolved": "record", "solver": solver, "scheme": scheme}
            writer = stack.enter_context(RecordingWriter(out, moved, dt=dt, every=1, settings=settings))
        follower = _Follower(moved, speed, writer)
        simulate(
            moved,
            duration,
            dt,
            Auto(tol=TOL),
            scheme=QuasiStatic(),
            on_unsolved="record",
            recorder=follower,
            progress=follower.watch,
        )
    states = follower.states
    collapsed = follower.fastest[-1] > GONE * speed
    held = _last_held(masonry, moved, states)
    travelled = [float((state.position - states[0].position)[number] @ along) for state in states]
    joints = moved_joints(masonry, moved, states[held])
    widest = max((joint.turned for joint in joints), default=0.0)
    hinges = [joint for joint in joints if joint.turned > max(OPEN, LEADING * widest)]
    sliding = [joint for joint in joints if joint.slid > 1e-3 * moved.smallest]
    return Settlement(
        support=name,
        direction=tuple(map(float, along + 0.0)),
        bearable=travelled[held],
        collapse=travelled[-1] if collapsed else None,
        reached=travelled[-1],
        model=moved,
        state=states[held],
        hinges=tuple(sorted(hinges, key=lambda joint: -joint.turned)),
        sliding=tuple(sorted(sliding, key=lambda joint: -joint.slid)),
    )


def _last_held(masonry: Masonry, model: Model, states: Sequence[State]) -> int:
    """The last state with equilibrium forces, by bisection."""

    def holds(k: int) -> bool:
        resting = Resting.of(model, states[k], LOOSE * masonry.margin)
        found = Equilibria.of_problem(resting.problem)
        limits = None if found.limits is None else found.limits.copy()
        if limits is not None:
            limits[:, : found.d - 1] = np.maximum(limits[:, : found.d - 1], ROUGH)
        return replace(found, mu=np.maximum(found.mu, ROUGH), limits=limits).one() is not None

    low, high = 0, len(states) - 1
    if holds(high):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def moved_joints(masonry: Masonry, model: Model, state: State) -> list[MovedJoint]:
    """Rotation and sliding of the joints of a structure since its start."""
    contacts, start = masonry.resting.contacts, masonry.start
    current = Resting.of(model, state, LOOSE * masonry.margin).contacts
    joints = []
    for a, b in dict.fromkeys(zip(contacts.a.tolist(), contacts.b.tolist(), strict=True)):
        pair = (contacts.a == a) & (contacts.b == b)
        normal = contacts.normal[pair].mean(axis=0)
        normal = normal / np.linalg.norm(normal)
        touching = (current.a == a) & (current.b == b)
        turns = [_turn(start, state, k) for k in (a, b)]
        if touching.any():
            point = current.point[touching].mean(axis=0)
        else:
            point = _displaced(start, state, a, turns[0], contacts.point[pair].mean(axis=0))
        # Initial positions of the two material points now in contact: their distance is the sliding.
        before = [
            start.position[k] + rotations.rotate(rotations.opposite(turn), point - state.position[k])
            for k, turn in zip((a, b), turns, strict=True)
        ]
        apart = before[1] - before[0]
        slid = float(np.linalg.norm(apart - (apart @ normal) * normal)) if touching.any() else 0.0
        between = rotations.compose(turns[1], rotations.opposite(turns[0]))
        joints.append(MovedJoint(a, b, point, _angle(between), slid))
    return joints


def _turn(start: State, state: State, body: int) -> Array:
    """Rotation of a body in the world since the start."""
    return rotations.compose(state.orientation[body], rotations.opposite(start.orientation[body]))


def _displaced(start: State, state: State, body: int, turn: Array, point: Array) -> Array:
    """Current position of a point of a body."""
    return np.asarray(state.position[body] + rotations.rotate(turn, point - start.position[body]))


def _angle(turn: Array) -> float:
    """Angle of a rotation (rad), at least 0."""
    if len(turn) == 1:
        return abs(float(turn[0]))
    return 2.0 * math.atan2(float(np.linalg.norm(turn[1:])), abs(float(turn[0])))
