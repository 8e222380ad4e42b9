"""Base class of shapes: mass properties, and the convex pieces used in collision detection."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from clapas.errors import SceneError
from clapas.geometry.checks import Vector
from clapas.geometry.colliders import Kind
from clapas.geometry.mass import MassProperties
from clapas.geometry.rotations import identity, origin
from clapas.typing import Array


@dataclass(frozen=True, eq=False)
class Hull:
    """A convex polyhedron, a polygon in 2-D, or one triangle.

    Parameters
    ----------
    vertices : array (n, d)
        Corners in the frame of the piece (m).
    faces : tuple of tuples of int
        Corners of each face, counterclockwise seen from outside; the two ends of each edge in 2-D.
    normals : array (m, d)
        Outward unit normal of each face.
    """

    vertices: Array
    faces: tuple[tuple[int, ...], ...]
    normals: Array


@dataclass(frozen=True, eq=False, slots=True)
class Piece:
    """One convex piece of a shape: a row of the collider table without its body.

    Position and orientation are in the shape's own frame; for ``kind`` and ``size`` see :class:`Kind`.
    """

    kind: Kind
    position: Vector
    orientation: Vector
    size: Vector
    bound: float
    hull: Hull | None = None


class Shape(ABC):
    """The geometry of a body in its own frame, at unit density. Lengths in metres.

    Shapes are immutable values: equal when their numbers are.
    """

    d: ClassVar[int]
    """Dimension, 2 or 3."""
    word: ClassVar[str]
    """Name of the shape in files and messages."""
    is_static: ClassVar[bool] = False
    """True for shapes without mass, which only fixed bodies and walls can have."""

    @property
    @abstractmethod
    def mass_properties(self) -> MassProperties:
        """Volume, centre of mass, principal moments and axes at density 1."""

    @property
    @abstractmethod
    def pieces(self) -> tuple[Piece, ...]:
        """The convex pieces it is made of."""

    @property
    def volume(self) -> float:
        """Volume (m³), area in 2-D (m²)."""
        return self.mass_properties.volume

    @property
    def bound(self) -> float:
        """Radius about the origin of its frame that contains the shape (m); infinite for half-spaces."""
        return max(math.hypot(*piece.position) + piece.bound for piece in self.pieces)

    @property
    def reach(self) -> float:
        """Radius about its centre of mass that contains the shape (m)."""
        centre = self.mass_properties.centre
        return max(math.dist(piece.position, centre) + piece.bound for piece in self.pieces)

    def to_dict(self) -> dict[str, Any]:
        """Type and numbers as plain lists, as in scene files."""
        entries: dict[str, Any] = {"type": self.word}
        for field in fields(self):  # type: ignore[arg-type]  # every shape is a dataclass
            value = getattr(self, field.name)
            if field.default is MISSING or value != field.default:
                entries[field.name] = plain(value)
        return entries

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shape) and type(self) is type(other) and self._key == other._key

    def __hash__(self) -> int:
        return hash((type(self), self._key))

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        values = (getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]
        return tuple((v.shape, v.tobytes()) if isinstance(v, np.ndarray) else v for v in values)


class StaticShape(Shape):
    """A shape without mass, for bodies that are fixed or whose motion is prescribed."""

    is_static = True

    @cached_property
    def mass_properties(self) -> MassProperties:
        """Not available: raises SceneError."""
        raise SceneError(f"{self.word}: it has no mass; it stands still, or moves by an imposed motion")

    @property
    def reach(self) -> float:
        """Radius about the origin, as there is no centre of mass (m)."""
        return self.bound


def write(shape: Shape, name: str, value: object) -> None:
    """Set a checked field during construction of a frozen shape."""
    object.__setattr__(shape, name, value)


def plain(value: Any) -> Any:
    """The value as lists, numbers and strings.

    >>> plain((1.0, np.array([2.0])))
    [1.0, [2.0]]
    """
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [plain(entry) for entry in value]
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    return value


def centred_piece(kind: Kind, d: int, size: tuple[float, float, float], bound: float) -> tuple[Piece]:
    """The single piece of a shape whose frame is that of the piece."""
    return (Piece(kind, origin(d), identity(d), size, bound),)
