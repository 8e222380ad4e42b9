"""The schema of scene files: which keys there are, of what kind, in which unit.

These classes know the form of a file; what the numbers may be is checked where they are used, by shapes,
motions and the scene, with the same messages as in Python. Lengths are in metres, masses in kilograms,
times in seconds, angles in radians.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

from pydantic import Field, create_model

from clapas.laws import MEANINGS, Law
from clapas.scenes.body import Body, Wall
from clapas.scenes.definition import definitions
from clapas.scenes.entries import (
    Course,
    Entry,
    Numbers,
    OneOrMore,
    Orientation,
    Radii,
    Tensor,
)
from clapas.scenes.materials import Material
from clapas.scenes.motion_entries import BoxRegionEntry, MotionEntry, MotorEntry, RegionEntry
from clapas.scenes.packing import Fill
from clapas.scenes.shape_entries import ShapeEntry
from clapas.scenes.sources import Source


def _law_fields() -> dict[str, Any]:
    """The fields of the law, whatever they are, as keys of a file."""
    hints = get_type_hints(Law) | {"mu": float | Literal["typical"]}
    return {
        f.name: (
            hints[f.name],
            Field(... if f.default is MISSING else f.default, description=MEANINGS[f.name]),
        )
        for f in fields(Law)
    }


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


class JointEntry(Entry):
    """A joint between two bodies, or a body and the world."""

    kind: str = Field(description="ball, hinge, slider, …; pin, slot, weld, … in 2-D")
    name: str | None = None
    a: int | str = Field(description='number or name of a body, or "world"')
    b: int | str = Field("world", description='number or name of a body, or "world"')
    at: Numbers = Field(description="the point of the joint, in the world (m)")
    to: Numbers | None = Field(None, description="for a distance or a stretch, the end on b (m)")
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
    armature: float = Field(0.0, description="inertia of a geared rotor, seen at the joint (kg·m², kg)")
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
