"""Bodies and joints of a simulation as a controller sees them, to read and to drive.

Handles are made when asked for and hold no data of their own: they read the state their simulation has at
that moment. What they return are copies.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clapas.dynamics.joints.definition import Joint
from clapas.dynamics.joints.reactions import Reaction
from clapas.dynamics.loads import Constant, Load
from clapas.dynamics.model import Model, State
from clapas.errors import SceneError
from clapas.geometry import checks, rotations
from clapas.typing import Array

if TYPE_CHECKING:
    from clapas.dynamics.simulation import Simulation

TURNING = {"hinge", "cylindrical", "pin"}
SLIDING_JOINTS = {"slider", "cylindrical", "slot"}
NEAR = 3  # names offered for one that is not known


def known_name(word: str, words: str, name: Any, names: Sequence[str]) -> int:
    """Number of a thing from its name or its number; an unknown name lists the nearest ones.

    >>> known_name("body", "bodies", "cop", ["cup", "table", "cap"])
    Traceback (most recent call last):
    clapas.errors.SceneError: no body is called 'cop': did you mean 'cup' or 'cap'?
    """
    if isinstance(name, str):
        if name in names:
            return names.index(name)
        near = difflib.get_close_matches(name, names, n=NEAR)
        if near:
            offered = f"did you mean {' or '.join(repr(one) for one in near)}?"
        elif names:
            some = ", ".join(f"'{one}'" for one in names[: 4 * NEAR])
            offered = f"there are {some}{' …' if len(names) > 4 * NEAR else ''}"
        else:
            offered = f"there are no {words}"
        raise SceneError(f"no {word} is called '{name}': {offered}")
    if isinstance(name, bool) or not isinstance(name, int | np.integer) or not 0 <= name < len(names):
        numbered = f"{words} are numbered 0 to {len(names) - 1}" if names else f"there are no {words}"
        raise SceneError(f"there is no {word} {name!r}: {numbered}")
    return int(name)


class BodyHandle:
    """A body of a simulation; see :meth:`clapas.Simulation.body`."""

    __slots__ = ("_simulation", "number")

    def __init__(self, simulation: Simulation, number: int) -> None:
        self._simulation, self.number = simulation, number

    def __repr__(self) -> str:
        if self.number >= self._state.n_bodies:
            return f"Body('{self.name}', not born yet)"
        where = ", ".join(f"{x:.6g}" for x in self.position)
        return f"Body('{self.name}' at ({where}))"

    @property
    def name(self) -> str:
        """Its name."""
        return self._model.names[self.number]

    @property
    def mass(self) -> float:
        """kg; infinite for walls."""
        return float(self._model.mass[self.number])

    @property
    def position(self) -> Array:
        """Centre of mass (d,) (m); for walls the origin of the shape's own frame."""
        return self._of("position").copy()

    @property
    def orientation(self) -> Array:
        """Unit quaternion (w, x, y, z) of the principal axes of inertia, or the angle (1,) in 2-D (rad)."""
        return self._of("orientation").copy()

    @property
    def velocity(self) -> Array:
        """Velocity (d,) of the centre of mass (m/s)."""
        return self._of("velocity")[: self._model.d].copy()

    @property
    def angular_velocity(self) -> Array:
        """In the world, (3,), or (1,) in 2-D (rad/s)."""
        spin = self._of("velocity")[self._model.d :]
        return spin.copy() if len(spin) == 1 else rotations.rotate(self.orientation, spin)

    @property
    def kinetic_energy(self) -> float:
        """J; zero for walls."""
        if not self._model.movable[self.number]:
            return 0.0
        return 0.5 * float(self._model.masses[self.number] @ self._of("velocity") ** 2)

    @property
    def origin(self) -> Array:
        """Where the origin of the shape's own frame is, (d,) (m): the link frame of a robot."""
        return self.point(np.zeros(self._model.d))

    def point(self, own: Sequence[float] | Array) -> Array:
        """Where a point of the body is, (d,) (m), given in the shape's own frame, as the scene placed it."""
        d = self._model.d
        local = np.array(checks.vector(self._label, "point", own, d))
        scene = self._simulation.scene
        if scene is None or self.number >= len(scene.bodies):
            raise SceneError(
                f"{self._label}: the shape's own frame is known only of bodies that a scene has; "
                "give Simulation a Scene, not a Model"
            )
        placed = scene.bodies[self.number]
        at_start = np.add(placed.position, rotations.rotate(placed.orientation, local))
        born, turned = self._model.position[self.number], self._model.orientation[self.number]
        arm = rotations.rotate_back(turned, at_start - born)
        return np.asarray(self._of("position") + rotations.rotate(self._of("orientation"), arm))

    def velocity_at(self, point: Sequence[float] | Array) -> Array:
        """Velocity (d,) of the point of the body that is there in the world (m/s)."""
        arm = np.array(checks.vector(self._label, "point", point, self._model.d)) - self.position
        return self.velocity + _turned(self.angular_velocity, arm)

    def apply(
        self,
        force: Sequence[float] | Array | None = None,
        torque: Sequence[float] | Array | float | None = None,
        at: Sequence[float] | Array | None = None,
    ) -> None:
        """Push the body during the next step; several calls add up.

        Parameters
        ----------
        force : d floats, optional
            In the world (N).
        torque : 3 floats, or a number in 2-D, optional
            In the world (N·m), beside the moment of the force.
        at : d floats, optional
            Point of application of the force, in the world (m); by default the centre of mass.

        Raises
        ------
        SceneError
            The body cannot move, or there is nothing to apply.

        Examples
        --------
        A force of 1 N at 0.1 m from the centre turns the body, too:

        >>> from clapas import Box, Scene, Simulation
        >>> scene = Scene(gravity=(0, 0, 0))
        >>> number = scene.add(Box((0.2, 0.2, 0.2)), mass=1.0, name="cube")
        >>> sim = Simulation(scene, dt=0.1)
        >>> sim.body("cube").apply(force=(1, 0, 0), at=(0, 0, 0.1))
        >>> sim.step()
        >>> sim.body("cube").velocity.tolist(), sim.body("cube").angular_velocity.round(6).tolist()
        ([0.1, 0.0, 0.0], [0.0, 1.5, 0.0])
        """
        model, label = self._model, self._label
        if not model.movable[self.number]:
            raise SceneError(
                f"{label}: it cannot move, or is part of a system: no force can be applied to it"
            )
        if force is None and (torque is None or at is not None):
            raise SceneError(f"{label}: there is nothing to apply: give force (N), torque (N·m), or both")
        d, size = model.d, 3 if model.d == 3 else 1
        push = np.zeros(d) if force is None else np.array(checks.vector(label, "force", force, d))
        turn = np.zeros(size)
        if torque is not None:
            given = (torque,) if np.ndim(torque) == 0 else torque
            turn += checks.vector(label, "torque", given, size)
        if at is not None:
            turn += _moment(np.array(checks.vector(label, "at", at, d)) - self.position, push)
        load = Load(d, Constant(tuple(push.tolist())), Constant(tuple(turn.tolist())))
        self._of("position")  # it must be born
        self._simulation.push(self.number, load)

    @property
    def _model(self) -> Model:
        return self._simulation.model

    @property
    def _state(self) -> State:
        return self._simulation.state

    @property
    def _label(self) -> str:
        return f"body '{self.name}'"

    def _of(self, column: str) -> Array:
        rows: Array = getattr(self._state, column)
        if self.number >= len(rows):
            raise SceneError(
                f"{self._label}: it is not born yet at t = {self._state.time:g} s, but appears at "
                f"t = {self._model.birth[self.number]:g} s"
            )
        return np.asarray(rows[self.number])


class JointHandle:
    """A joint of a simulation; see :meth:`clapas.Simulation.joint`.

    Coordinates are those of body b as seen from body a, zero at the start; those of the body itself where
    the other side is the world.
    """

    __slots__ = ("_simulation", "number")

    def __init__(self, simulation: Simulation, number: int) -> None:
        self._simulation, self.number = simulation, number

    def __repr__(self) -> str:
        a, b = (body.name if body else "world" for body in self.bodies)
        coordinate = ""
        if self.definition.kind in TURNING:
            coordinate = f", angle {self.angle:.6g} rad"
        elif self.definition.kind in SLIDING_JOINTS:
            coordinate = f", position {self.position:.6g} m"
        return f"Joint('{self.name}': {self.definition.kind} of '{a}' and '{b}'{coordinate})"

    @property
    def definition(self) -> Joint:
        """The joint as the scene has it."""
        joints = self._simulation.model.joints
        assert joints is not None
        return joints.joints[self.number]

    @property
    def name(self) -> str:
        """Its name."""
        return self.definition.name

    @property
    def bodies(self) -> tuple[BodyHandle | None, BodyHandle | None]:
        """Its bodies a and b; None for the world."""
        a, b = (
            None if body is None else BodyHandle(self._simulation, body)
            for body in (self.definition.a, self.definition.b)
        )
        return a, b

    @property
    def angle(self) -> float:
        """Rotation about the axis (rad), in ]−π, π] in space: of hinges, pins and cylindrical joints."""
        self._require(TURNING, "angle")
        return joint_motion(self._simulation.model, self._simulation.state, self.definition).angle

    @property
    def position(self) -> float:
        """Translation along the axis (m): of sliders, slots and cylindrical joints."""
        self._require(SLIDING_JOINTS, "position")
        return joint_motion(self._simulation.model, self._simulation.state, self.definition).position

    @property
    def rate(self) -> float:
        """Rate of the angle (rad/s); of the position (m/s) for joints that only slide."""
        self._require(TURNING | SLIDING_JOINTS, "rate")
        motion = joint_motion(self._simulation.model, self._simulation.state, self.definition)
        return motion.turning if self.definition.kind in TURNING else motion.sliding

    @property
    def reaction(self) -> Reaction:
        """Mean force and torque of the joint on its body a during the last step (N, N·m); zero before it."""
        last, d = self._simulation.last, self._simulation.model.d
        if last is None or last.joints is None:
            return Reaction(np.zeros(d), np.zeros(3 if d == 3 else 1))
        return last.joints[self.name]

    def apply(self, effort: float) -> None:
        """Drive the joint during the next step; several calls add up.

        Parameters
        ----------
        effort : float
            Torque about the axis (N·m), of hinges and pins, or force along it (N), of sliders: positive
            efforts increase the coordinate. Body a gets the opposite.
        """
        kind, label = self.definition.kind, f"joint '{self.name}'"
        self._require({"hinge", "pin", "slider"}, "effort")
        effort = checks.number(label, "effort", effort)
        model, state = self._simulation.model, self._simulation.state
        motion = joint_motion(model, state, self.definition)
        for body, sign in zip(self.bodies, (-motion.sign, motion.sign), strict=True):
            if body is None or not model.movable[body.number]:
                continue
            if kind == "slider":
                body.apply(force=sign * effort * motion.axis, at=motion.point)
            else:
                body.apply(torque=sign * effort * (motion.axis if model.d == 3 else np.ones(1)))

    def _require(self, kinds: set[str], what: str) -> None:
        if self.definition.kind not in kinds:
            raise SceneError(
                f"joint '{self.name}': a {self.definition.kind} joint has no {what}; "
                f"{', '.join(sorted(kinds))} joints have"
            )


class JointMotion(NamedTuple):
    """The motion of a joint along its axis.

    Parameters
    ----------
    angle, position : float
        Rotation (rad) and translation (m) since the start.
    turning, sliding : float
        Their rates (rad/s, m/s).
    axis, point : arrays (d,)
        The axis and the point of b, in the world.
    sign : float
        1 where coordinates are those of b seen from a; −1 where b is the world.
    """

    angle: float
    position: float
    turning: float
    sliding: float
    axis: Array
    point: Array
    sign: float


def joint_motion(model: Model, state: State, joint: Joint) -> JointMotion:
    """How far a joint has moved along its axis, and how fast.

    With A and B the rotations of the two bodies since the start, the axis is A n, the angle that of A⁻¹ B
    about n, and the translation n·A⁻¹(P_b − P_a).
    """
    (A, P, v, w), (B, Q, u, s) = (
        _carried(model, state, body, point) for body, point in ((joint.a, joint.at), (joint.b, joint.to))
    )
    n = joint.frame[0] if joint.d == 3 else np.array([0.0, 0.0, 1.0])
    along = rotations.rotate(A, joint.frame[0])
    turn = rotations.product(rotations.conjugate(A), B)
    angle = 2.0 * np.arctan2(turn[1:] @ n, turn[0])
    if joint.d == 2:  # angles are kept whole, turn by turn
        whole = [
            0.0 if k is None else state.orientation[k, 0] - model.orientation[k, 0]
            for k in (joint.a, joint.b)
        ]
        angle = whole[1] - whole[0]
    else:
        angle = np.arctan2(np.sin(angle), np.cos(angle))
    sign = -1.0 if joint.b is None else 1.0
    about = along if joint.d == 3 else n
    sliding = along @ (u - v) + np.cross(w, along) @ (Q - P)
    return JointMotion(
        sign * float(angle) + 0.0,
        sign * float(along @ (Q - P)) + 0.0,
        sign * float((s - w) @ about) + 0.0,
        sign * float(sliding) + 0.0,
        along[: joint.d],
        Q[: joint.d],
        sign,
    )


def _carried(
    model: Model, state: State, body: int | None, start: Sequence[float]
) -> tuple[Array, Array, Array, Array]:
    """Rotation of a body since the start, where the point that was at ``start`` is, its velocity, the spin.

    All in space, also of bodies in the plane.
    """
    zero, point = np.zeros(3), np.zeros(3)
    point[: len(start)] = start
    if body is None:
        return np.array([1.0, 0.0, 0.0, 0.0]), point, zero, zero
    d = model.d
    x, v, spin, arm = zero.copy(), zero.copy(), zero.copy(), point
    x[:d], v[:d] = state.position[body], state.velocity[body, :d]
    arm[:d] -= model.position[body]
    if d == 3:
        turn = rotations.product(state.orientation[body], rotations.conjugate(model.orientation[body]))
        spin = rotations.rotate(state.orientation[body], state.velocity[body, 3:])
    else:
        half = 0.5 * (state.orientation[body, 0] - model.orientation[body, 0])
        turn, spin[2] = np.array([np.cos(half), 0.0, 0.0, np.sin(half)]), state.velocity[body, 2]
    arm = rotations.rotate(turn, arm)
    return turn, x + arm, v + np.cross(spin, arm), spin


def _moment(arm: Array, force: Array) -> Array:
    if len(arm) == 3:
        return np.cross(arm, force)
    return np.array([arm[0] * force[1] - arm[1] * force[0]])


def _turned(spin: Array, arm: Array) -> Array:
    """Velocity (d,) of a point by the rotation about another."""
    if len(arm) == 3:
        return np.cross(spin, arm)
    return np.asarray(spin[0] * np.array([-arm[1], arm[0]]))
