"""The schema of scene files: which keys there are, of what kind, in which unit.

These classes know the form of a file; what the numbers may be is checked where they are used, by shapes,
motions and the scene, with the same messages as in Python. Lengths are in metres, masses in kilograms,
times in seconds, angles in radians.
"""

from __future__ import annotations

import math
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from clapas.dynamics import motions
from clapas.dynamics.joints import laws
from clapas.errors import SceneError
from clapas.geometry import checks, rotations, shapes
from clapas.laws import Law
from clapas.scenes import regions
from clapas.scenes.body import Body, Wall
from clapas.scenes.definition import definitions
from clapas.scenes.materials import Material
from clapas.scenes.packing import Fill
from clapas.scenes.sources import Source


class Entry(BaseModel):
    """A table of a file: no unknown keys, no words for numbers."""

    model_config = ConfigDict(extra="forbid", strict=True)

    def given(self, *without: str) -> dict[str, Any]:
        """The values that were written, by key."""
        return {name: getattr(self, name) for name in self.model_fields_set if name not in {"type", *without}}


class Maker(Entry):
    """A table that stands for an object with the same fields."""

    makes: ClassVar[Any]

    def make(self) -> Any:
        """The object."""
        return type(self).makes(**self.given())


class ShapeMaker(Maker):
    """A table that stands for a shape."""

    def make(self, folder: Path | None = None) -> Any:
        """The shape; ``folder`` is where files are looked for."""
        return super().make()


def _orientation(value: Any) -> Any:
    """Four numbers, an angle, or {axis, angle}."""
    if _is_number(value) or (_are_numbers(value) and len(value) == 4):
        return value
    if not isinstance(value, dict) or set(value) != {"axis", "angle"}:
        raise ValueError(
            f"expected [w, x, y, z], {{axis = [x, y, z], angle = …}}, or an angle in 2-D, got {value!r}"
        )
    try:
        axis = checks.unit_vector("orientation", "axis", value["axis"], 3)
        angle = checks.number("orientation", "angle", value["angle"])
    except SceneError as error:
        raise ValueError(str(error).removeprefix("orientation: ")) from None
    return rotations.from_axis_angle(axis, angle).tolist()


def _one_or_more(value: Any) -> Any:
    if value is None or _is_number(value) or _are_numbers(value):
        return value
    raise ValueError(f"expected a number or a list of numbers, got {value!r}")


def _tensor(value: Any) -> Any:
    if value is None or _is_number(value) or _are_numbers(value):
        return value
    if isinstance(value, list) and all(map(_are_numbers, value)):
        return value
    raise ValueError(f"expected a number, 3 moments, or 3 rows of 3 numbers, got {value!r}")


def _course(value: Any) -> Any:
    """Numbers, or a table of them in time as the pair (times, values)."""
    if value is None or _is_number(value) or _are_numbers(value):
        return value
    if isinstance(value, dict) and set(value) == {"times", "values"}:
        return value["times"], value["values"]
    raise ValueError(f"expected numbers, or {{times = […], values = […]}}, got {value!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_number, value))


Numbers = list[float]
Rows = list[list[float]]
Orientation = Annotated[Any, BeforeValidator(_orientation)]
OneOrMore = Annotated[Any, BeforeValidator(_one_or_more)]
Course = Annotated[Any, BeforeValidator(_course)]
Tensor = Annotated[Any, BeforeValidator(_tensor)]
AngularVelocity = Annotated[
    OneOrMore, Field(description="angular velocity in the world (rad/s): 3 numbers, one in 2-D")
]
Radii = Annotated[OneOrMore, Field(description="radius, or [low, high] (m)")]


# ------------------------------------------------------------------ shapes


class SphereEntry(ShapeMaker):
    """A ball."""

    makes = shapes.Sphere
    type: Literal["sphere"]
    radius: float = Field(description="radius (m)")


class DiskEntry(ShapeMaker):
    """A disk in 2-D."""

    makes = shapes.Disk
    type: Literal["disk"]
    radius: float = Field(description="radius (m)")


class BoxEntry(ShapeMaker):
    """A rectangular box."""

    makes = shapes.Box
    type: Literal["box"]
    size: Numbers = Field(description="full edge lengths along x, y, z (m)")


class CapsuleEntry(ShapeMaker):
    """A cylinder along z closed by half balls."""

    makes = shapes.Capsule
    type: Literal["capsule"]
    radius: float = Field(description="radius (m)")
    length: float = Field(description="length of the cylinder part (m)")


class CylinderEntry(ShapeMaker):
    """A solid cylinder along z."""

    makes = shapes.Cylinder
    type: Literal["cylinder"]
    radius: float = Field(description="radius (m)")
    length: float = Field(description="length (m)")


class PolyhedronEntry(Entry):
    """The convex hull of points, or of the vertices of a file."""

    type: Literal["polyhedron"]
    points: Rows | None = Field(None, description="points (m)")
    file: str | None = Field(None, description="STL or OBJ file, beside the scene file")
    scale: float = Field(1.0, description="metres per unit of the file")
    flatness: float = Field(1e-9, description="relative height under which a corner is on a face")

    def make(self, folder: Path) -> shapes.Shape:
        """The shape."""
        if (self.points is None) == (self.file is None):
            raise SceneError("polyhedron: give either points or file, one of the two")
        if self.file is None:
            if "scale" in self.model_fields_set:
                raise SceneError("polyhedron: scale goes with file; points are in metres")
            return shapes.Polyhedron(**self.given("file"))
        return shapes.Polyhedron.from_file(folder / self.file, **self.given("file", "points"))


class MeshEntry(Entry):
    """A surface of triangles, for walls."""

    type: Literal["mesh"]
    vertices: Rows | None = Field(None, description="corners (m)")
    triangles: list[list[int]] | None = Field(None, description="three vertices each, numbered from 0")
    file: str | None = Field(None, description="STL or OBJ file, beside the scene file")
    scale: float = Field(1.0, description="metres per unit of the file")

    def make(self, folder: Path) -> shapes.Shape:
        """The shape."""
        if (self.vertices is None or self.triangles is None) == (self.file is None):
            raise SceneError("mesh: give either vertices and triangles, or file")
        if self.file is not None:
            return shapes.TriangleMesh.from_file(folder / self.file, **self.given("file"))
        if "scale" in self.model_fields_set:
            raise SceneError("mesh: scale goes with file; vertices are in metres")
        return shapes.TriangleMesh(**self.given("file"))


class PlaneEntry(ShapeMaker):
    """A half-space, for walls."""

    makes = shapes.Plane
    type: Literal["plane"]
    normal: Numbers = Field([0.0, 0.0, 1.0], description="out of the solid")
    offset: float = Field(0.0, description="distance from the origin along the normal (m)")


class HalfPlaneEntry(ShapeMaker):
    """A half-plane in 2-D, for walls."""

    makes = shapes.HalfPlane
    type: Literal["half-plane"]
    normal: Numbers = Field([0.0, 1.0], description="out of the solid")
    offset: float = Field(0.0, description="distance from the origin along the normal (m)")


class PointEntry(ShapeMaker):
    """A body without form: its mass and inertia are given, and it touches nothing."""

    makes = shapes.Point
    type: Literal["point"]
    d: int = Field(3, description="dimension, 2 or 3")


class PolygonEntry(ShapeMaker):
    """A convex polygon in 2-D."""

    makes = shapes.Polygon
    type: Literal["polygon"]
    points: Rows = Field(description="corners (m)")


class PartEntry(Entry):
    """A part of a clump."""

    shape: ShapeEntry
    position: Numbers | None = Field(None, description="in the frame of the clump (m)")
    orientation: Orientation = Field(None, description="quaternion, {axis, angle}, or angle in 2-D (rad)")


class ClumpEntry(Entry):
    """Shapes rigidly joined."""

    type: Literal["clump"]
    parts: list[PartEntry]

    def make(self, folder: Path) -> shapes.Shape:
        """The shape."""
        parts = [(part.shape.make(folder), part.position, part.orientation) for part in self.parts]
        return shapes.Clump(parts)


ShapeEntry = Annotated[
    SphereEntry
    | DiskEntry
    | BoxEntry
    | CapsuleEntry
    | CylinderEntry
    | PolyhedronEntry
    | MeshEntry
    | PlaneEntry
    | HalfPlaneEntry
    | PolygonEntry
    | PointEntry
    | ClumpEntry,
    Field(discriminator="type"),
]


# ------------------------------------------------------------------ motions and regions


class ConstantVelocityEntry(Maker):
    """Translation and rotation at constant velocities."""

    makes = motions.ConstantVelocity
    type: Literal["constant-velocity"]
    velocity: Numbers = Field(description="m/s")
    angular_velocity: AngularVelocity = None


class OscillationEntry(Maker):
    """Sinusoidal translation."""

    makes = motions.Oscillation
    type: Literal["oscillation"]
    amplitude: float = Field(description="m")
    frequency: float = Field(description="Hz")
    direction: Numbers
    phase: float = Field(0.0, description="rad")


class RotationEntry(Maker):
    """Rotation about an axis through the origin of the body's frame."""

    type: Literal["rotation"]
    axis: Numbers | None = Field(None, description="left out in 2-D")
    rate: float = Field(description="rad/s")

    def make(self) -> motions.Motion:
        """The motion."""
        return motions.Rotation(self.axis, self.rate)


class TableEntry(Maker):
    """Velocities at given times, linear in between."""

    makes = motions.Table
    type: Literal["table"]
    times: Numbers = Field(description="increasing (s)")
    velocities: Rows = Field(description="one row for each time (m/s)")
    angular_velocities: Rows | None = Field(None, description="one row for each time (rad/s)")


MotionEntry = Annotated[
    ConstantVelocityEntry | OscillationEntry | RotationEntry | TableEntry, Field(discriminator="type")
]


class BoxRegionEntry(Maker):
    """A box along the axes."""

    makes = regions.BoxRegion
    type: Literal["box"]
    low: Numbers = Field(description="lowest corner (m)")
    high: Numbers = Field(description="highest corner (m)")


class DiscRegionEntry(Maker):
    """A horizontal disc."""

    makes = regions.DiscRegion
    type: Literal["disc"]
    centre: Numbers = Field(description="m")
    radius: float = Field(description="m")


RegionEntry = Annotated[BoxRegionEntry | DiscRegionEntry, Field(discriminator="type")]


# ------------------------------------------------------------------ the scene


def _law_fields() -> dict[str, Any]:
    """The fields of the law, whatever they are, as keys of a file."""
    hints = get_type_hints(Law) | {"mu": float | Literal["typical"]}
    return {f.name: (hints[f.name], ... if f.default is MISSING else f.default) for f in fields(Law)}


if TYPE_CHECKING:

    class LawEntry(Entry):
        """A law of contact, between two materials or for all pairs."""

        between: list[str] | None
else:
    LawEntry = create_model(
        "LawEntry",
        __base__=Entry,
        __doc__="A law of contact, between two materials or for all pairs.",
        between=(list[str] | None, Field(None, description="two materials; left out for all pairs")),
        **_law_fields(),
    )


KINDS: dict[str, Any] = {
    "word": str,
    "words": str | list[str],
    "number": float,
    "whole number": int,
    "numbers": Numbers,
    "radii": Radii,
    "yes or no": bool,
    "orientation": Orientation,
    "angular velocity": OneOrMore,
    "tensor": Tensor,
    "course": Course,
    "motion": MotionEntry,
    "shape": ShapeEntry,
    "region": RegionEntry,
    "box region": BoxRegionEntry,
}
"""How the kinds of values of definitions are checked in files."""


def _keys(of: type[Any]) -> dict[str, Any]:
    """The fields of a definition as keys of a file."""
    return {
        name: (
            KINDS[each.kind] | None if each.default is None else KINDS[each.kind],
            Field(each.default, description=each.meaning),
        )
        for name, each in definitions(of).items()
    }


if TYPE_CHECKING:

    class MaterialEntry(Entry):
        """A material."""

        density: float | None

    class BodyEntry(Entry):
        """A body or a wall."""

        shape: ShapeEntry
        motion: MotionEntry | None

    class WallEntry(Entry):
        """The keys of a wall."""

    class FillEntry(Entry):
        """Grains that fill a box loosely."""

        region: BoxRegionEntry
        shape: ShapeEntry | None

    class SourceEntry(Entry):
        """Grains that appear during the run."""

        region: RegionEntry
        shape: ShapeEntry | None
else:
    MaterialEntry = create_model("MaterialEntry", __base__=Entry, __doc__="A material.", **_keys(Material))
    BodyEntry = create_model(
        "BodyEntry",
        __base__=Entry,
        __doc__="A body or a wall.",
        shape=(ShapeEntry, ...),
        **{**_keys(Body), **_keys(Wall)},
    )
    WallEntry = create_model(
        "WallEntry",
        __base__=Entry,
        __doc__="The keys of a body that no contact moves: without mass, fixed, or driven and not guided.",
        shape=(ShapeEntry, ...),
        **_keys(Wall),
    )
    FillEntry = create_model(
        "FillEntry", __base__=Entry, __doc__="Grains that fill a box loosely.", **_keys(Fill)
    )
    SourceEntry = create_model(
        "SourceEntry", __base__=Entry, __doc__="Grains that appear during the run.", **_keys(Source)
    )


class VelocityMotorEntry(Maker):
    """A motor that keeps a rate as long as its torque suffices."""

    makes = laws.VelocityMotor
    type: Literal["velocity"]
    rate: float = Field(description="rad/s, m/s")
    max_torque: float = Field(math.inf, description="N·m, N")


class TorqueMotorEntry(Maker):
    """A motor that gives a torque."""

    makes = laws.TorqueMotor
    type: Literal["torque"]
    torque: float = Field(description="N·m, N")


class ServoEntry(Maker):
    """A spring and a damper towards a target, with a bounded torque."""

    makes = laws.Servo
    type: Literal["servo"]
    target: float = Field(description="coordinate to go to (rad, m)")
    stiffness: float = Field(description="N·m/rad, N/m")
    damping: float = Field(0.0, description="N·m·s/rad, N·s/m")
    max_torque: float = Field(math.inf, description="N·m, N")


MotorEntry = Annotated[VelocityMotorEntry | TorqueMotorEntry | ServoEntry, Field(discriminator="type")]


class JointEntry(Entry):
    """A joint between two bodies, or a body and the world."""

    kind: str = Field(description="ball, hinge, slider, …; pin, slot, weld, … in 2-D")
    name: str | None = None
    a: int | str = Field(description='number or name of a body, or "world"')
    b: int | str = Field("world", description='number or name of a body, or "world"')
    at: Numbers = Field(description="the point of the joint, in the world (m)")
    to: Numbers | None = Field(None, description="for a distance, the end of the rod on b (m)")
    axis: Numbers | None = Field(None, description="direction in the world, fixed in a")
    second: Numbers | None = Field(
        None, description="of a universal joint, a turn or a swing, fixed in b; of a gimbal"
    )
    third: Numbers | None = Field(None, description="of a gimbal, fixed in b")
    which: int | None = Field(None, description="of a gimbal, the axis whose angle is meant: 1, 2 or 3")
    collide: bool = Field(False, description="whether the two bodies may touch each other")
    start: float = Field(0.0, description="coordinate where the bodies are placed (rad, m)")
    limits: Numbers | None = Field(None, description="lower and upper, inf for none (rad, m)")
    restitution: float = Field(0.0, description="of the limits")
    friction: float = Field(0.0, description="largest force of dry friction (N·m, N)")
    damping: float = Field(0.0, description="viscous (N·m·s/rad, N·s/m)")
    spring: Numbers | None = Field(None, description="stiffness (N·m/rad, N/m) and rest (rad, m)")
    motor: MotorEntry | None = None


class MimicEntry(Entry):
    """A joint whose coordinate follows that of another."""

    follower: str = Field(description="name of a joint")
    leader: str = Field(description="name of a joint")
    ratio: float = 1.0
    offset: float = Field(0.0, description="rad, m")


class PressedEntry(Entry):
    """A force between two bodies when the run begins."""

    a: int | str = Field(description="number or name of a body")
    b: int | str = Field(description="number or name of the body on which it presses")
    force: float | Numbers = Field(description="along the normals, or a vector; shared by the contacts (N)")


class MotionSetting(Entry):
    """A motion among the settings of a kind."""

    motion: MotionEntry


class SystemEntry(Entry):
    """Bodies of another kind: a truss, rods, elastic bodies."""

    kind: str = Field(description="truss, rods")
    name: str = "system"
    material: str | None = Field(None, description="of the shapes with which it touches")
    self_contact: bool = Field(False, description="whether its own shapes may touch each other")
    holder: int | str | None = Field(None, description="body in which its roots are fixed: number or name")
    after: int | None = Field(None, description="bodies of the file before its own; all by default")
    settings: dict[str, Any] = Field(default_factory=dict, description="what the kind needs")


class ProbeEntry(Entry):
    """A quantity to record at every step."""

    quantity: str
    body: int | str | None = Field(None, description="number or name; or give a joint")
    other: int | str | None = Field(None, description="number or name")
    joint: str | None = Field(None, description="name, instead of a body")
    name: str | None = None


class RunEntry(Entry):
    """How to run the scene."""

    duration: float | None = Field(None, description="s")
    dt: float | None = Field(None, description="time step (s)")
    every: int = Field(1, description="steps between two kept ones")
    on_unsolved: Literal["raise", "record"] = "raise"
    solver: dict[str, Any] = Field(default_factory=dict, description="name and settings")
    scheme: dict[str, Any] = Field(default_factory=dict, description="name and settings")
    sleeping: dict[str, Any] = Field(default_factory=dict, description="speed below which bodies sleep, …")


class PeriodEntry(Entry):
    """Lengths of the periodic cell."""

    x: float | None = Field(None, description="m")
    y: float | None = Field(None, description="m")


class SceneEntry(Entry):
    """A scene file."""

    version: Literal[1] = 1
    dimension: Literal[2, 3] = 3
    gravity: Numbers | None = Field(None, description="m/s²")
    period: PeriodEntry | None = None
    seed: int = 0
    combine: str = Field("error", description="rule for two materials without a law between them")
    overlap: float | None = Field(None, description="depth allowed at the start (m)")
    run: RunEntry | None = None
    materials: dict[str, MaterialEntry] = Field(default_factory=dict)
    laws: list[LawEntry] = Field(default_factory=list)
    bodies: list[BodyEntry] = Field(default_factory=list)
    fills: list[FillEntry] = Field(default_factory=list)
    sources: list[SourceEntry] = Field(default_factory=list)
    systems: list[SystemEntry] = Field(default_factory=list)
    joints: list[JointEntry] = Field(default_factory=list)
    mimics: list[MimicEntry] = Field(default_factory=list)
    ignored: list[list[int | str]] = Field(default_factory=list, description="pairs that never touch")
    pressed: list[PressedEntry] = Field(default_factory=list)
    probes: list[ProbeEntry] = Field(default_factory=list)


PartEntry.model_rebuild()
