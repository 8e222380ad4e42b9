"""Shapes as scene files write them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from clapas.errors import SceneError
from clapas.geometry import shapes
from clapas.scenes.entries import Entry, Numbers, Orientation, Rows, ShapeMaker


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

PartEntry.model_rebuild()
