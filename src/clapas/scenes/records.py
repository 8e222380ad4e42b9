"""Bodies and laws of a scene in the form of the engine.

The engine uses the centre of mass, the principal axes, in which the inertia is constant and diagonal, and
angular velocities along these. Walls have no inertia; they keep the shape's own frame, so that an imposed
rotation turns them about its origin. A guided body has its inertia along the free axes and turns about its
centre of mass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np

from clapas.dynamics.guides import blocked_axes, free_turns, inertia_about_axes
from clapas.dynamics.loads import Load
from clapas.dynamics.motions import InBodyFrame
from clapas.errors import SceneError
from clapas.geometry import rotations
from clapas.geometry.checks import Vector
from clapas.geometry.mass import principal_axes
from clapas.geometry.shapes import Shape
from clapas.geometry.table import Frame
from clapas.laws import LawTable
from clapas.scenes.body import Body, Placed, Wall
from clapas.scenes.materials import Pair
from clapas.typing import Array

if TYPE_CHECKING:
    from clapas.scenes.scene import Scene


@dataclass(frozen=True, kw_only=True, slots=True)
class BodyRecord:
    """A body in the form of the engine.

    Parameters
    ----------
    number : int
        Its number.
    name : str
        Its name, or its label in messages.
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
        Whether it is lowered at birth until it touches something below.
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


def body_records(scene: Scene) -> list[BodyRecord]:
    """Records of the bodies in order of their numbers, then of the grains by birth."""
    numbers = {name: k for k, name in enumerate(scene.materials)}
    densities = {name: material.density for name, material in scene.materials.items()}
    records = [record(body, numbers[body.material], densities[body.material]) for body in scene.bodies]
    grains = [
        (grain.birth, k, j, grain, source)
        for k, source in enumerate(scene.sources)
        for j, grain in enumerate(source.drawn(scene.seed, k))
    ]
    for birth, _, j, grain, source in sorted(grains, key=lambda entry: entry[:3]):
        body = Body(
            number=len(records),
            name=f"{source.name} {j}",
            shape=grain.shape,
            position=grain.position,
            orientation=grain.orientation,
            velocity=source.velocity,
            angular_velocity=source.angular_velocity,
            material=source.material,
            density=source.density,
            group=source.group,
        )
        grain_record = record(body, numbers[source.material], densities[source.material], birth)
        records.append(replace(grain_record, laid=source.laid))
    return records


def table_of_laws(scene: Scene) -> LawTable:
    """Laws by numbers of materials; raises SceneError if two materials can touch without a law."""
    return scene.laws.table(list(scene.materials), _touching_materials(scene))


def _touching_materials(scene: Scene) -> set[Pair]:
    """Pairs of materials that can touch: at least one of the two bodies must not be a wall."""
    moving, walls = dict.fromkeys(scene.materials, 0), set()
    for body in scene.bodies:
        if body.is_wall:
            walls.add(body.material)
        else:
            moving[body.material] += 1
    for source in scene.sources:
        moving[source.material] += source.number
    movable = [name for name, count in moving.items() if count]
    meeting = {(a, b) for a, b in combinations_with_replacement(movable, 2) if a != b or moving[a] > 1}
    return meeting | {(a, b) for a in movable for b in walls}


def record(body: Body | Wall, material: int, density: float | None, birth: float = -math.inf) -> BodyRecord:
    """The record of a body; ``density`` is that of its material."""
    if isinstance(body, Wall):
        return _wall(body, material)
    frame, mass, inertia = _mass_in_frame(body, body.density or density)
    d = body.shape.d
    position, orientation, spin = body.position, body.orientation, body.angular_velocity
    if any(frame.centre):
        position = _tuple(np.add(position, rotations.rotate(orientation, frame.centre)))
    if frame.orientation != rotations.identity(d):
        orientation = _tuple(rotations.normalise(rotations.product(orientation, frame.orientation)))
    if d == 3 and body.free is not None and free_turns(body.free, d) == 1:
        # It turns about a fixed world axis, which is then an axis of the body too.
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


def _in_body_frame(body: Placed, orientation: Vector) -> InBodyFrame | None:
    return None if body.motion is None else InBodyFrame(body.motion, orientation)


def _wall(body: Wall, material: int) -> BodyRecord:
    d = body.shape.d
    return BodyRecord(
        number=body.number,
        name=body.name or f"body {body.number}",
        shape=body.shape,
        frame=Frame.own(d),
        material=material,
        position=body.position,
        orientation=body.orientation,
        velocity=(0.0,) * (6 if d == 3 else 3),
        mass=math.inf,
        inertia=(math.inf,) * (3 if d == 3 else 1),
        movable=False,
        motion=_in_body_frame(body, body.orientation),
        group=body.group,
    )


def _mass_in_frame(body: Body, density: float | None) -> tuple[Frame, float, Vector]:
    """The body's frame in the shape's own, its mass and its principal moments."""
    if body.shape.is_static:  # guided, never turns freely: the moments have no effect
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
