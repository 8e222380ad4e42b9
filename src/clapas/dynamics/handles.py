"""Handles by which a controller reads and drives the bodies and joints of a simulation.

Handles are created on request and hold no data of their own: they read the current state of their simulation
and return copies.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clapas.dynamics.joints.coordinates import Coordinate, joint_coordinates
from clapas.dynamics.joints.definition import Joint, SystemEnd
from clapas.dynamics.joints.instep import placed_in
from clapas.dynamics.joints.reactions import Reaction
from clapas.dynamics.joints.rows import Placed
from clapas.dynamics.loads import Constant, Load
from clapas.dynamics.model import Model
from clapas.dynamics.state import State
from clapas.errors import SceneError
from clapas.geometry import checks, rotations
from clapas.typing import Array

if TYPE_CHECKING:
    from clapas.scenes.simulation import Simulation

NEAR = 3  # names suggested for an unknown one


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
            hint = f"did you mean {' or '.join(repr(one) for one in near)}?"
        elif names:
            some = ", ".join(f"'{one}'" for one in names[: 4 * NEAR])
            hint = f"there are {some}{' …' if len(names) > 4 * NEAR else ''}"
        else:
            hint = f"there are no {words}"
        raise SceneError(f"no {word} is called '{name}': {hint}")
    if isinstance(name, bool) or not isinstance(name, int | np.integer) or not 0 <= name < len(names):
        numbered = f"{words} are numbered 0 to {len(names) - 1}" if names else f"there are no {words}"
        raise SceneError(f"there is no {word} {name!r}: {numbered}")
    return int(name)


class _Handle:
    """What is read of a simulation and cannot be set: states are replaced, never changed."""

    __slots__ = ("_simulation", "number")

    def __setattr__(self, name: str, value: Any) -> None:
        one = getattr(type(self), name, None)
        if isinstance(one, property) and one.fset is None:
            raise AttributeError(
                f"{name} is read, not set: states are replaced, never changed. Go to another one by "
                "simulation.reset(state), such as dataclasses.replace(simulation.state, velocity=…) or the "
                "state of a simulation of the same scene placed otherwise"
            )
        object.__setattr__(self, name, value)


class BodyHandle(_Handle):
    """A body of a simulation; see :meth:`clapas.Simulation.body`."""

    __slots__ = ()

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
        """Position (d,) (m) of a point of the body, from its coordinates in the shape's own frame."""
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
            components = (torque,) if np.ndim(torque) == 0 else torque
            turn += checks.vector(label, "torque", components, size)
        if at is not None:
            turn += _moment(np.array(checks.vector(label, "at", at, d)) - self.position, push)
        load = Load(d, Constant(tuple(push.tolist())), Constant(tuple(turn.tolist())))
        self._of("position")  # raises an error if the body is not born yet
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


class JointHandle(_Handle):
    """A joint of a simulation; see :meth:`clapas.Simulation.joint`.

    Coordinates are those of body b as seen from body a; those of the body itself where the other side is the
    world.
    """

    __slots__ = ()

    def __init__(self, simulation: Simulation, number: int) -> None:
        self._simulation, self.number = simulation, number

    def __repr__(self) -> str:
        joint = self.definition
        a, b = (
            str(end) if isinstance(end, SystemEnd) else f"'{body.name if body else 'world'}'"
            for end, body in zip((joint.a, joint.b), self.bodies, strict=True)
        )
        coordinate = ""
        if self._coordinate in ("angle", "gimbal"):
            coordinate = f", angle {self.angle:.6g} rad"
        elif self._coordinate in ("displacement", "separation"):
            coordinate = f", position {self.position:.6g} m"
        return f"Joint('{self.name}': {joint.kind} of {a} and {b}{coordinate})"

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
        """Its bodies a and b; None for the world, and for a system none of whose bodies was named."""
        ends = (
            end.carrier if isinstance(end, SystemEnd) else end
            for end in (self.definition.a, self.definition.b)
        )
        a, b = (None if body is None else BodyHandle(self._simulation, body) for body in ends)
        return a, b

    @property
    def angle(self) -> float:
        """Rotation about the axis (rad), turns counted: of hinges, pins and turns; the angle of a swing."""
        self._require("angle", "swing", "gimbal")
        return self._read.value

    @property
    def position(self) -> float:
        """Translation along the axis (m) of sliders, slots, cylinders, travels; length of a stretch."""
        self._require("displacement", "separation")
        return self._read.value

    @property
    def rate(self) -> float:
        """Rate of the angle (rad/s), or of the position (m/s)."""
        self._require("angle", "displacement", "swing", "gimbal", "separation")
        return self._read.rate

    @property
    def target(self) -> float:
        """Target of its motor: a rate (rad/s, m/s), a torque (N·m, N) or, of a servo, a coordinate.

        Set it to drive the joint from the next step on.
        """
        return self._simulation.commands[self.name]

    @target.setter
    def target(self, value: float) -> None:
        number = checks.number(f"joint '{self.name}'", "target", value)
        self._simulation.command({self.name: number})

    @property
    def reaction(self) -> Reaction:
        """Mean force and torque of the joint on its body a during the last step (N, N·m); zero before it."""
        last, d = self._simulation.last, self._simulation.model.d
        if last is None or last.joints is None:
            return Reaction(np.zeros(d), np.zeros(3 if d == 3 else 1))
        return last.joints[self.name]

    @property
    def effort(self) -> float:
        """All that acted along the coordinate in the last step, as a mean (N·m, N); zero before it.

        Limits, friction, springs, dampers, motors and gears together, less what rotors take to go faster;
        positive where they help the coordinate grow.
        """
        self._require("angle", "displacement", "swing", "gimbal", "separation")
        last = self._simulation.last
        return 0.0 if last is None or last.joints is None else float(last.joints.along[self.number])

    def apply(self, effort: float) -> None:
        """Push along the coordinate during the next step, with or without a motor; several calls add up.

        Parameters
        ----------
        effort : float
            Torque about the axis (N·m) of a hinge or a pin, or force along it (N): positive efforts increase
            the coordinate. Body a gets the opposite.
        """
        self._require("angle", "displacement", "gimbal", "separation")
        effort = checks.number(f"joint '{self.name}'", "effort", effort)
        model, joint = self._simulation.model, self.definition
        for end in (joint.a, joint.b):
            if isinstance(end, SystemEnd):
                raise SceneError(
                    f"joint '{self.name}': it holds {end}, and efforts are applied to rigid bodies; give the "
                    "joint a TorqueMotor and set its target"
                )
        if self._coordinate == "separation":
            self._pull_points(effort)
            return
        axis, point = self._axis_and_point()
        if self._coordinate == "gimbal":
            axis = self._row_of_gimbal() * (-1.0 if joint.b is None else 1.0)
        effort = -effort if joint.b is None else effort
        for body, sign in zip(self.bodies, (-1.0, 1.0), strict=True):
            if body is None or not model.movable[body.number]:
                continue
            if self._coordinate == "displacement":
                body.apply(force=sign * effort * axis, at=point)
            else:
                body.apply(torque=sign * effort * (axis if model.d == 3 else np.ones(1)))

    def _pull_points(self, effort: float) -> None:
        """Push the two points of a stretch apart, along the line between them."""
        model, (placed, term) = self._simulation.model, self._term()
        for body, row in zip(self.bodies, (placed.of_a[term], placed.of_b[term]), strict=True):
            if body is not None and model.movable[body.number]:
                about = row[model.d :] if model.d == 2 else rotations.rotate(body.orientation, row[3:])
                body.apply(force=effort * row[: model.d], torque=effort * about)

    def _row_of_gimbal(self) -> Array:
        """Torque on b per unit of effort along an angle of a gimbal, (3,): normal to the two other axes."""
        rows, (placed, term) = self._simulation.model.joints, self._term()
        assert rows is not None
        return np.asarray(rotations.rotate(placed.turn[rows.b[term]], placed.of_b[term, 3:]))

    def _term(self) -> tuple[Placed, int]:
        """The terms of all joints in the current state, and the number of that of the coordinate."""
        model, state = self._simulation.model, self._simulation.state
        rows = model.joints
        assert rows is not None
        first = int(np.flatnonzero(rows.moving == self.number)[0])
        return placed_in(model, state, state.coordinates)[0], rows.n_closing + first

    @property
    def _coordinate(self) -> str | None:
        return self.definition.rows.coordinate

    @property
    def _read(self) -> Coordinate:
        return joint_coordinates(self._simulation.model, self._simulation.state)[self.name]

    def _axis_and_point(self) -> tuple[Array, Array]:
        """The axis, fixed in a, and the point of b, in the world, (d,)."""
        joint, model, state = self.definition, self._simulation.model, self._simulation.state
        d = model.d
        axis, point = joint.frame[0][:d], np.array(joint.to)
        if isinstance(joint.a, int):
            back = rotations.rotate_back(model.orientation[joint.a], axis)
            axis = rotations.rotate(state.orientation[joint.a], back)
        if isinstance(joint.b, int):
            arm = rotations.rotate_back(model.orientation[joint.b], point - model.position[joint.b])
            point = state.position[joint.b] + rotations.rotate(state.orientation[joint.b], arm)
        return axis, point

    def _require(self, *kinds: str) -> None:
        if self._coordinate not in kinds:
            word = {"angle": "angle", "displacement": "position"}[kinds[0]]
            word = "coordinate" if set(kinds) >= {"angle", "displacement"} else word
            raise SceneError(f"joint '{self.name}': a {self.definition.kind} joint has no {word}")


def _moment(arm: Array, force: Array) -> Array:
    if len(arm) == 3:
        return np.cross(arm, force)
    return np.array([arm[0] * force[1] - arm[1] * force[0]])


def _turned(spin: Array, arm: Array) -> Array:
    """Velocity (d,) of a point by the rotation about another."""
    if len(arm) == 3:
        return np.cross(spin, arm)
    return np.asarray(spin[0] * np.array([-arm[1], arm[0]]))
