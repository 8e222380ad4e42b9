"""A body as a person describes it, and as the engine keeps it.

A person places the shape's own frame, and speaks of angular velocity in the world. The engine keeps the
centre of mass, the principal axes of inertia, in which the inertia is constant and diagonal, and angular
velocity along these. Bodies that are fixed or driven have no inertia; they keep the shape's own frame, so
that an imposed rotation turns them about its origin. A guided body has its inertia along the free axes; it
keeps its centre of mass, about which an imposed rotation turns it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from clapas.dynamics.guides import blocked_axes, free_axes, free_turns, inertia_about_axes, slides_only
from clapas.dynamics.loads import Course, Load, as_course
from clapas.dynamics.motions import InBodyFrame, Motion, as_motion
from clapas.errors import SceneError
from clapas.geometry import checks, rotations
from clapas.geometry.checks import Vector
from clapas.geometry.mass import principal_axes
from clapas.geometry.shapes import Shape
from clapas.geometry.shapes.clump import orientation_entry
from clapas.geometry.table import Frame
from clapas.scenes.definition import (
    as_entry,
    defined,
    if_so,
    read_flag,
    read_place,
    read_positive,
    read_spin,
    readings,
    unless_zero,
    written,
)
from clapas.scenes.materials import DEFAULT
from clapas.typing import Array

# Share by which one moment may exceed the sum of the two others: rounding of flat bodies.
TRIANGLE = 1e-9


def _vector(label: str, name: str, value: Any, d: int) -> Vector | None:
    return None if value is None else checks.vector(label, name, value, d)


def _dimension(turn: Vector) -> int:
    return 3 if len(turn) == 4 else 2


def _inertia_entry(inertia: tuple[Vector, ...]) -> float | list[list[float]]:
    return inertia[0][0] if len(inertia) == 1 else [list(row) for row in inertia]


@dataclass(frozen=True, kw_only=True)
class Body:
    """A body as it was added to a scene.

    Its fields are the one list of what a body may be given: each says how it is read from what a person
    gives, how a scene file writes it, of what kind it is there, what it means and in which unit
    (:mod:`clapas.scenes.definition`). :meth:`Scene.add` takes the same.
    """

    number: int
    shape: Shape
    name: str | None = defined("word", "a name no other body has", None)
    material: str = defined("word", "for its density and the laws of contact", DEFAULT)
    position: Vector = defined(
        "numbers", "of the origin of the shape's own frame (m)", None, read=read_place, write=list
    )
    orientation: Vector = defined(
        "orientation",
        "quaternion, {axis, angle}, or angle in 2-D (rad)",
        None,
        read=lambda label, name, value, d: checks.orientation(label, value, d),
        write=lambda turn: None if turn == rotations.identity(_dimension(turn)) else orientation_entry(turn),
    )
    velocity: Vector = defined(
        "numbers", "of the centre of mass (m/s)", None, read=read_place, write=unless_zero
    )
    angular_velocity: Vector = defined(
        "angular velocity",
        "angular velocity in the world (rad/s): 3 numbers, one in 2-D",
        None,
        read=read_spin,
        write=unless_zero,
    )
    density: float | None = defined("number", "kg/m³, kg/m² in 2-D", None, read=read_positive)
    mass: float | None = defined("number", "kg, kg/m in 2-D", None, read=read_positive)
    inertia: tuple[Vector, ...] | None = defined(
        "tensor",
        "about the centre (kg·m²)",
        None,
        read=lambda label, name, value, d: None if value is None else inertia_tensor(label, value, d),
        write=_inertia_entry,
    )
    centre: Vector | None = defined(
        "numbers", "centre of mass in the shape's own frame (m)", None, read=_vector, write=list
    )
    fixed: bool = defined("yes or no", "it never moves", False, read=read_flag, write=if_so)
    motion: Motion | None = defined(
        "motion",
        "it moves as told, whatever touches it",
        None,
        read=lambda label, name, value, d: as_motion(label, value, d),
        write=as_entry,
    )
    free: tuple[str, ...] | None = defined(
        "words",
        "axes along which a guided body is free: x y z rx ry rz",
        None,
        read=lambda label, name, value, d: free_axes(label, value, d),
        write=" ".join,
    )
    force: Course | None = defined(
        "course",
        "at the centre of mass, or {times, values} (N)",
        None,
        read=lambda label, name, value, d: as_course(label, name, value, d),
        write=lambda course: course.to_entry(),
    )
    torque: Course | None = defined(
        "course",
        "in the world, or {times, values} (N·m)",
        None,
        read=lambda label, name, value, d: as_course(label, name, value, 3 if d == 3 else 1),
        write=lambda course: course.to_entry(),
    )
    group: str = defined("word", "shared by bodies, to find them again", "", write=if_so)

    @property
    def label(self) -> str:
        """What messages call it."""
        return body_label(self.number, self.name)

    @property
    def is_movable(self) -> bool:
        """False for walls: shapes without mass, fixed bodies, imposed motions; unless guided."""
        return self.free is not None or not (self.fixed or self.shape.is_static or self.motion is not None)

    @property
    def is_wall(self) -> bool:
        """True for what cannot move and for guided bodies that only slide: walls do not meet one another."""
        return not self.is_movable or slides_only(self.free, self.shape.d)

    @property
    def load(self) -> Load | None:
        """The force and the torque on it, if any."""
        if self.force is None and self.torque is None:
            return None
        return Load(self.shape.d, self.force, self.torque)

    def to_dict(self) -> dict[str, Any]:
        """Its fields, without those that have their default, as scene files write them."""
        entries = written(self)
        first = {"name": entries.pop("name")} if "name" in entries else {}  # for people who read files
        return {**first, "shape": self.shape.to_dict(), **entries}


@dataclass(frozen=True, kw_only=True, slots=True)
class BodyRecord:
    """A body as the engine needs it.

    Parameters
    ----------
    number : int
        Its number.
    name : str
        Its name, or what messages call it.
    shape : Shape
        Its shape, and ``frame``, the body's frame in the shape's own: give both to ``collider_table``.
    material : int
        Number of its material.
    position, orientation : tuples
        Of the body's frame: centre of mass and principal axes, or the shape's own frame for walls.
    velocity : tuple of 6, of 3 in 2-D
        Velocity of the centre in the world and angular velocity in the body frame (m/s, rad/s).
    mass : float
        kg; infinite for walls.
    inertia : tuple of 3, of 1 in 2-D
        Principal moments (kg·m²); infinite for walls.
    movable : bool
        False for walls: fixed, or with imposed motion.
    motion : callable or None
        Imposed motion: time ↦ (velocity in the world, angular velocity in the body frame).
    blocked : tuple of bool
        Components of the velocity of a guided body that follow ``motion``, or stay zero; empty for others.
    load : Load or None
        Force and torque on it.
    birth : float
        Time at which it appears (s); −inf if it is there from the start.
    laid : bool
        Whether it is lowered, when it appears, until it touches what lies below.
    group : str
        Its group.
    """

    number: int
    name: str
    shape: Shape
    frame: Frame
    material: int
    position: Vector
    orientation: Vector
    velocity: Vector
    mass: float
    inertia: Vector
    movable: bool
    motion: InBodyFrame | None = None
    blocked: tuple[bool, ...] = ()
    load: Load | None = None
    birth: float = -math.inf
    laid: bool = False
    group: str = ""


def body_label(number: int, name: str | None) -> str:
    """What messages call a body."""
    return f"body {number}" if name is None else f"body '{name}'"


def make_body(d: int, number: int, shape: Any, *, name: str | None = None, **given: Any) -> Body:
    """A body from what a person gives, checked as far as it can be alone."""
    label = body_label(number, name)
    if not isinstance(shape, Shape):
        raise SceneError(f"{label}: expected a shape such as Sphere(0.1), got {shape!r}")
    if shape.d != d:
        raise SceneError(f"{label}: a {shape.word} is in {shape.d}-D, the scene in {d}-D")
    body = Body(number=number, shape=shape, **readings(Body, label, {"name": name, **given}, d))
    _refuse_contradictions(body)
    _refuse_contradictions_of_guides(body)
    return body


def _refuse_contradictions(body: Body) -> None:
    if body.fixed and body.motion is not None:
        raise SceneError(f"{body.label}: fixed and with an imposed motion; give one of the two")
    if not body.is_movable and (any(body.velocity) or any(body.angular_velocity)):
        raise SceneError(
            f"{body.label}: it is fixed or driven, so it cannot start with a velocity; "
            "use motion=ConstantVelocity(…) to move it"
        )
    weighed = body.density or (body.mass and body.free is None) or body.inertia or body.centre
    if body.shape.is_static and weighed:
        raise SceneError(
            f"{body.label}: a {body.shape.word} has no mass; leave out density, mass, inertia, centre "
            "(a guided one needs mass)"
        )
    if body.density is not None and body.mass is not None:
        raise SceneError(
            f"{body.label}: got density {body.density} and mass {body.mass}; give one of the two"
        )
    if body.inertia is not None and body.mass is None:
        raise SceneError(f"{body.label}: inertia is given without mass; give both, or neither")


def _refuse_contradictions_of_guides(body: Body) -> None:
    label, d = body.label, body.shape.d
    if body.load is not None and not body.is_movable:
        raise SceneError(
            f"{label}: a force or a torque on a body that cannot move; leave it out, "
            'or free the body along some axes: free="z"'
        )
    if body.free is None:
        return
    if body.fixed:
        raise SceneError(f"{label}: fixed and free along {' '.join(body.free)}; give one of the two")
    if body.shape.is_static and (body.mass is None or free_turns(body.free, d)):
        raise SceneError(
            f"{label}: a {body.shape.word} has no mass of its own; to guide it give mass, "
            "and free no rotation"
        )
    velocity = body.velocity + body.angular_velocity
    if any(v for v, blocked in zip(velocity, blocked_axes(body.free, d), strict=True) if blocked):
        raise SceneError(
            f"{label}: it starts with a velocity along an axis that is not free ({' '.join(body.free)} are); "
            "use motion=ConstantVelocity(…) to drive it"
        )
    if body.motion is not None and d == 3 and free_turns(body.free, d) == 1 and body.motion(0.0)[1].any():
        raise SceneError(f"{label}: free to turn about one axis and driven about another; drive no rotation")


def inertia_tensor(label: str, value: Any, d: int) -> tuple[Vector, ...]:
    """An inertia about the centre along the shape's own axes, checked to be that of some body.

    A number in 2-D; in 3-D three moments, or a symmetric (3, 3) tensor. Moments are positive and none
    exceeds the sum of the two others.
    """
    if d == 2:
        return ((checks.positive(label, "inertia", value),),)
    if np.ndim(value) < 2:
        tensor = np.diag(checks.vector(label, "inertia", value, 3))
    else:
        tensor = checks.points(label, "inertia", value, 3, at_least=3)
    if tensor.shape != (3, 3) or not np.allclose(tensor, tensor.T, rtol=0, atol=1e-9 * np.abs(tensor).max()):
        raise SceneError(f"{label}: inertia must be 3 moments or a symmetric (3, 3) tensor, got {value!r}")
    a, b, c = np.linalg.eigvalsh(tensor)
    if a <= 0.0:
        raise SceneError(
            f"{label}: principal moments of inertia must be positive, got {a:.6g}, {b:.6g}, {c:.6g}"
        )
    if c > (1.0 + TRIANGLE) * (a + b):
        raise SceneError(
            f"{label}: no body has the principal moments {a:.6g}, {b:.6g}, {c:.6g}: "
            "none can exceed the sum of the two others"
        )
    return tuple(tuple(map(float, row)) for row in tensor)


def record(body: Body, material: int, density: float | None, birth: float = -math.inf) -> BodyRecord:
    """The body as the engine needs it; ``density`` is that of its material."""
    if not body.is_movable:
        return _wall(body, material)
    frame, mass, inertia = _mass_in_frame(body, body.density or density)
    d = body.shape.d
    position, orientation, spin = body.position, body.orientation, body.angular_velocity
    if any(frame.centre):
        position = _tuple(np.add(position, rotations.rotate(orientation, frame.centre)))
    if frame.orientation != rotations.identity(d):
        orientation = _tuple(rotations.normalise(rotations.product(orientation, frame.orientation)))
    if d == 3 and body.free is not None and free_turns(body.free, d) == 1:
        # It turns about one axis of the world, which is then an axis of the body too.
        inertia = inertia_about_axes(inertia, rotations.to_matrix(orientation))
        frame = Frame(frame.centre, _tuple(rotations.conjugate(body.orientation)))
        orientation = rotations.identity(3)
    if len(spin) == 3 and any(spin):
        spin = _tuple(rotations.rotate_back(orientation, spin))
    return BodyRecord(
        number=body.number,
        name=body.name or f"body {body.number}",
        shape=body.shape,
        frame=frame,
        material=material,
        position=position,
        orientation=orientation,
        velocity=body.velocity + spin,
        mass=mass,
        inertia=inertia,
        movable=True,
        motion=_in_body_frame(body, orientation),
        blocked=() if body.free is None else blocked_axes(body.free, d),
        load=body.load,
        birth=birth,
        group=body.group,
    )


def _in_body_frame(body: Body, orientation: Vector) -> InBodyFrame | None:
    return None if body.motion is None else InBodyFrame(body.motion, orientation)


def _wall(body: Body, material: int) -> BodyRecord:
    d = body.shape.d
    return BodyRecord(
        number=body.number,
        name=body.name or f"body {body.number}",
        shape=body.shape,
        frame=Frame.own(d),
        material=material,
        position=body.position,
        orientation=body.orientation,
        velocity=body.velocity + body.angular_velocity,
        mass=math.inf,
        inertia=(math.inf,) * (3 if d == 3 else 1),
        movable=False,
        motion=_in_body_frame(body, body.orientation),
        group=body.group,
    )


def _mass_in_frame(body: Body, density: float | None) -> tuple[Frame, float, Vector]:
    """The body's frame in the shape's own, its mass and its principal moments."""
    if body.shape.is_static:  # guided, so that it never turns freely: any moments will do
        assert body.mass is not None
        return Frame.own(body.shape.d), body.mass, (body.mass,) * (3 if body.shape.d == 3 else 1)
    if body.mass is None and density is None:
        raise SceneError(
            f"{body.label}: it has no mass; give mass or density, or give its material "
            f"'{body.material}' a density, or make it fixed"
        )
    properties = body.shape.mass_properties
    volume, orientation = properties.volume, properties.orientation
    mass = (density or 0.0) * volume if body.mass is None else body.mass
    if body.inertia is None:
        moments = tuple(mass * moment / volume for moment in properties.moments) if volume > 0.0 else (0.0,)
    elif body.shape.d == 2:
        moments = body.inertia[0]
    else:
        moments, orientation = principal_axes(np.array(body.inertia))
    if not (mass > 0.0 and min(moments) > 0.0 and math.isfinite(mass + sum(moments))):
        raise SceneError(
            f"{body.label}: too small or too large for double precision: mass {mass:.3g} kg, "
            f"moments of inertia from {min(moments):.3g} to {max(moments):.3g} kg·m²"
        )
    centre = properties.centre if body.centre is None else body.centre
    return Frame(centre, orientation), mass, moments


def _tuple(values: Array) -> Vector:
    return tuple(map(float, values))
