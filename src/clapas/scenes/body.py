"""User description of bodies and walls.

Positions are those of the shape's own frame, angular velocities are in world axes. A body has mass and is
moved by contacts; a wall is not: a shape without mass, or one that is fixed or driven.
:mod:`clapas.scenes.records` converts them to the form of the engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from clapas.dynamics.guides import blocked_axes, free_axes, free_turns, slides_only
from clapas.dynamics.loads import Course, Load, as_course
from clapas.dynamics.motions import Motion, as_motion
from clapas.errors import SceneError, known_keywords
from clapas.geometry import checks, rotations
from clapas.geometry.checks import Vector
from clapas.geometry.shapes import Shape
from clapas.geometry.shapes.clump import orientation_entry
from clapas.scenes.definition import (
    as_entry,
    defined,
    definitions,
    if_so,
    read_flag,
    read_place,
    read_positive,
    read_spin,
    readings,
    unless_zero,
    written,
)
from clapas.scenes.materials import DEFAULT, require_material

if TYPE_CHECKING:
    from clapas.scenes.scene import Scene

OFFERED = 12  # names listed in the error for an unknown one
# Relative excess of one moment over the sum of the two others: rounding of flat bodies.
TRIANGLE = 1e-9


def _vector(label: str, name: str, value: Any, d: int) -> Vector | None:
    return None if value is None else checks.vector(label, name, value, d)


def _dimension(turn: Vector) -> int:
    return 3 if len(turn) == 4 else 2


def _inertia_entry(inertia: tuple[Vector, ...]) -> float | list[list[float]]:
    return inertia[0][0] if len(inertia) == 1 else [list(row) for row in inertia]


TWINS = {
    "plane": "HalfPlane",
    "half-plane": "Plane",
    "sphere": "Disk",
    "disk": "Sphere",
    "polygon": "Polyhedron",
}
"""Counterparts of shapes in the other dimension, for error messages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Placed:
    """Common data of bodies and walls: shape, position, material.

    The fields of :class:`Body` and :class:`Wall` are the single list of their arguments: each field states
    how it is read, how a scene file writes it, its kind there, its meaning and its unit
    (:mod:`clapas.scenes.definition`). :meth:`Scene.add` takes those of both.
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
    motion: Motion | None = defined(
        "motion",
        "velocity in time, whatever touches it; of a guided body, along the axes that are not free",
        None,
        read=lambda label, name, value, d: as_motion(label, value, d),
        write=as_entry,
    )
    group: str = defined("word", "shared by bodies, to find them again", "", write=if_so)

    @property
    def label(self) -> str:
        """Its name in messages."""
        return body_label(self.number, self.name)

    def to_dict(self) -> dict[str, Any]:
        """Its fields, without those that have their default, as scene files write them."""
        entries = written(self)
        first = {"name": entries.pop("name")} if "name" in entries else {}  # first, for readers of files
        return {**first, "shape": self.shape.to_dict(), **entries}


@dataclass(frozen=True, kw_only=True, slots=True)
class Wall(Placed):
    """A shape that no contact moves: it stands still, or moves as its ``motion`` says."""

    fixed: bool = defined("yes or no", "it never moves", False, read=read_flag, write=if_so)

    @property
    def is_wall(self) -> bool:
        """True: walls do not touch one another."""
        return True


@dataclass(frozen=True, kw_only=True, slots=True)
class Body(Placed):
    """A body with mass: free, or guided along some axes."""

    fixed: ClassVar[bool] = False
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
    density: float | None = defined("number", "kg/m³", None, read=read_positive)
    mass: float | None = defined("number", "kg; per metre of depth in 2-D", None, read=read_positive)
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

    @property
    def is_wall(self) -> bool:
        """True for guided bodies that only slide: like walls, they do not touch one another or walls."""
        return slides_only(self.free, self.shape.d)

    @property
    def load(self) -> Load | None:
        """The force and the torque on it, if any."""
        if self.force is None and self.torque is None:
            return None
        return Load(self.shape.d, self.force, self.torque)


def body_label(number: int, name: str | None) -> str:
    """Name of a body in messages."""
    return f"body {number}" if name is None else f"body '{name}'"


def make_body(d: int, number: int, shape: Any, *, name: str | None = None, **arguments: Any) -> Body | Wall:
    """A body or a wall from its arguments, checked on their own."""
    label = body_label(number, name)
    if not isinstance(shape, Shape):
        raise SceneError(f"{label}: expected a shape such as Sphere(0.1), got {shape!r}")
    if shape.d != d:
        twin = TWINS.get(shape.word)
        hint = f": take a {twin}, or Scene(d={shape.d})" if twin else f": take Scene(d={shape.d})"
        raise SceneError(f"{label}: a {shape.word} is in {shape.d}-D, the scene in {d}-D{hint}")
    arguments = {"name": name, **arguments}
    values = {**readings(Body, label, arguments, d), **readings(Wall, label, arguments, d)}
    _refuse_contradictions(label, values)
    is_wall = values["free"] is None and (values["fixed"] or shape.is_static or values["motion"] is not None)
    if is_wall:
        _refuse_on_walls(label, shape, values)
        # The mass of a fixed or driven shape has no effect: it is accepted and dropped.
        return Wall(number=number, shape=shape, **{name: values[name] for name in definitions(Wall)})
    body = Body(number=number, shape=shape, **{name: values[name] for name in definitions(Body)})
    _refuse_contradictions_of_guides(body)
    return body


def _refuse_contradictions(label: str, values: Mapping[str, Any]) -> None:
    if values["fixed"] and values["motion"] is not None:
        raise SceneError(f"{label}: fixed and with an imposed motion; give one of the two")
    if values["fixed"] and values["free"] is not None:
        raise SceneError(f"{label}: fixed and free along {' '.join(values['free'])}; give one of the two")
    if values["density"] is not None and values["mass"] is not None:
        raise SceneError(
            f"{label}: got density {values['density']} and mass {values['mass']}; give one of the two"
        )
    if values["inertia"] is not None and values["mass"] is None:
        raise SceneError(f"{label}: inertia is given without mass; give both, or neither")


def _refuse_on_walls(label: str, shape: Shape, values: Mapping[str, Any]) -> None:
    """Reject arguments that only bodies have."""
    if any(values["velocity"]) or any(values["angular_velocity"]):
        raise SceneError(
            f"{label}: it is fixed or driven, so it cannot start with a velocity; "
            "use motion=ConstantVelocity(…) to move it"
        )
    if shape.is_static and any(values[name] for name in ("density", "mass", "inertia", "centre")):
        raise SceneError(
            f"{label}: a {shape.word} has no mass; leave out density, mass, inertia, centre "
            "(a guided one needs mass)"
        )
    if values["force"] is not None or values["torque"] is not None:
        raise SceneError(
            f"{label}: a force or a torque on a body that cannot move; leave it out, "
            'or free the body along some axes: free="z"'
        )


def _refuse_contradictions_of_guides(body: Body) -> None:
    label, d = body.label, body.shape.d
    if body.free is None:
        return
    if body.shape.is_static and (body.density or body.inertia or body.centre):
        raise SceneError(
            f"{label}: a {body.shape.word} has no mass; leave out density, mass, inertia, centre "
            "(a guided one needs mass)"
        )
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
    """An inertia about the centre along the shape's own axes, checked to be physical.

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


# ---------------------------------------------------------------- verbs of a scene


@known_keywords
def add(
    scene: Scene,
    shape: Shape,
    position: Sequence[float] | None = None,
    orientation: Sequence[float] | float | None = None,
    velocity: Sequence[float] | None = None,
    angular_velocity: Sequence[float] | float | None = None,
    *,
    material: str = DEFAULT,
    density: float | None = None,
    mass: float | None = None,
    inertia: Any = None,
    centre: Sequence[float] | None = None,
    fixed: bool = False,
    motion: Any = None,
    free: str | Sequence[str] | None = None,
    force: Any = None,
    torque: Any = None,
    name: str | None = None,
    group: str = "",
) -> int:
    """Add a body or a wall; returns its number.

    A wall is what no contact moves: a shape without mass (:class:`~clapas.Plane`, a mesh), or a shape that
    is ``fixed`` or follows a ``motion``. It takes a place, a material, a name, a group and a motion; loads
    and starting velocities are of bodies.

    Parameters
    ----------
    shape : Shape
        Its form.
    position : d floats, optional
        Where the origin of the shape's own frame is (m): for spheres, boxes, cylinders, capsules and
        disks, the centre. By default the origin.
    orientation : 4 floats, or a number in 2-D, optional
        Quaternion (w, x, y, z) of any length but zero, or angle (rad), of the shape's own frame.
    velocity : d floats, optional
        Velocity of the centre of mass (m/s).
    angular_velocity : 3 floats, or a number in 2-D, optional
        In the world (rad/s).
    material : str
        Name of its material, for its density and the laws of contact.
    density : float, optional
        Instead of that of the material: kg/m³.
    mass : float, optional
        Instead of a density (kg, kg/m in 2-D).
    inertia : 3 floats, array (3, 3), or a number in 2-D, optional
        With ``mass``: moments, or tensor, about the centre of mass along the axes of the shape's own
        frame (kg·m²). By default that of the shape, filled evenly.
    centre : d floats, optional
        Centre of mass in the shape's own frame (m), instead of that of the shape.
    fixed : bool
        It never moves. Shapes without mass are always fixed, or driven.
    motion : Motion, function or table, optional
        Its velocity in time, whatever touches it; see :mod:`clapas.dynamics.motions`.
    free : str or list of str, optional
        For a guided body, the axes along which it is free, "z" or "x z ry": along the others it follows
        ``motion``, or does not move; see :mod:`clapas.dynamics.guides`. By default all or none.
    force, torque : floats, (times, values) or function of time, optional
        Load on it, in the world, at the centre of mass (N, N·m); see :mod:`clapas.dynamics.loads`.
    name : str, optional
        A name no other body has.
    group : str
        A word shared by bodies, to find them again in measures and pictures. No effect on the motion.

    Examples
    --------
    A lid that presses on what is below with 50 N, sliding along the vertical only:

    >>> from clapas import Scene
    >>> from clapas.geometry.shapes import Box
    >>> scene = Scene()
    >>> lid = scene.add(Box((1, 1, 0.1)), (0, 0, 2), mass=1, free="z", force=(0, 0, -50))
    """
    number = len(scene.bodies)
    group = checks.word(f"group of body {number}", group)
    name = None if name is None else checks.word(f"name of body {number}", name)
    if name in scene.numbers:
        raise SceneError(
            f"body '{name}': body {scene.numbers[name]} already has this name; names are unique "
            "(leave it out, or use group=… for what several bodies share)"
        )
    body = make_body(
        scene.d,
        number,
        shape,
        name=name,
        position=position,
        orientation=orientation,
        velocity=velocity,
        angular_velocity=angular_velocity,
        material=material,
        density=density,
        mass=mass,
        inertia=inertia,
        centre=centre,
        fixed=fixed,
        motion=motion,
        free=free,
        force=force,
        torque=torque,
        group=group,
    )
    require_material(scene, body.label, material)
    if not body.is_wall:
        require_room(scene, body.label, "its size", shape.reach)
    scene.bodies.append(body)
    if name is not None:
        scene.numbers[name] = number
    return number


def number(scene: Scene, body: int | str) -> int:
    """Number of a body from its name or its number.

    >>> from clapas import Scene
    >>> Scene().number("ball")
    Traceback (most recent call last):
    clapas.errors.SceneError: no body is called 'ball'
    """
    if isinstance(body, str):
        if body not in scene.numbers:
            hint = checks.did_you_mean(body, scene.numbers)
            if not hint and scene.numbers:
                more = " …" if len(scene.numbers) > OFFERED else ""
                hint = f": there are {', '.join(list(scene.numbers)[:OFFERED])}{more}"
            raise SceneError(f"no body is called '{body}'{hint}")
        return scene.numbers[body]
    if isinstance(body, bool) or not isinstance(body, int | np.integer) or not 0 <= body < len(scene.bodies):
        raise SceneError(f"there is no body {body!r}: bodies are numbered 0 to {len(scene.bodies) - 1}")
    return int(body)


def require_room(scene: Scene, label: str, what: str, radius: float) -> None:
    """Check that a body cannot touch its own periodic image, nor two images of an equal body at once."""
    for axis, length in zip("xy", scene.period, strict=True):
        if length is not None and 4.0 * radius > length:
            raise SceneError(
                f"{label}: {what}, up to {2 * radius:.6g} m, is above half the period along {axis}, "
                f"{length:.6g} m; take a longer period"
            )
