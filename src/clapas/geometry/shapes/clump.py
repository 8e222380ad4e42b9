"""Several shapes rigidly joined, for bodies that are not convex."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from clapas.errors import SceneError
from clapas.geometry import checks, rotations
from clapas.geometry.checks import Vector
from clapas.geometry.mass import MassProperties, combined
from clapas.geometry.shapes.base import Piece, Shape, write


class Part(NamedTuple):
    """A shape and the pose of its frame in the frame of the clump.

    Parameters
    ----------
    shape : Shape
        Any shape with mass.
    position : tuple of d
        m.
    orientation : tuple of 4, of 1 in 2-D
        Unit quaternion (w, x, y, z), or angle (rad).
    """

    shape: Shape
    position: Vector
    orientation: Vector


@dataclass(frozen=True, eq=False, init=False)
class Clump(Shape):
    """Shapes rigidly joined into one body.

    Volume, centre and inertia are sums over the parts: overlaps are counted twice. To avoid that, give the
    body its mass, inertia and centre in ``scene.add``.

    Parameters
    ----------
    parts : sequence of (shape, position, orientation)
        All in 2-D or all in 3-D. The position is by default the origin, the orientation that of the clump.

    Examples
    --------
    A dumbbell:

    >>> from clapas.geometry.shapes import Sphere
    >>> dumbbell = Clump([(Sphere(0.1), (0, 0, -1)), (Sphere(0.1), (0, 0, 1))])
    >>> len(dumbbell.pieces), dumbbell.bound
    (2, 1.1)
    """

    word = "clump"
    parts: tuple[Part, ...]

    def __init__(self, parts: Iterable[Any]) -> None:
        if not isinstance(parts, Iterable) or not (entries := list(parts)):
            raise SceneError(f"clump: at least one part is needed, got {parts!r}")
        checked = tuple(_part(k, entry) for k, entry in enumerate(entries))
        dimensions = [part.shape.d for part in checked]
        for k, d in enumerate(dimensions):
            if d != dimensions[0]:
                raise SceneError(f"clump: part {k} is in {d}-D and part 0 in {dimensions[0]}-D")
        write(self, "parts", checked)

    @property
    def d(self) -> int:  # type: ignore[override]
        """Dimension, that of its parts."""
        return self.parts[0].shape.d

    @cached_property
    def mass_properties(self) -> MassProperties:
        """Sum of the parts."""
        return combined([(part.shape.mass_properties, *part[1:]) for part in self.parts])

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces of all parts."""
        return tuple(moved(piece, *part[1:]) for part in self.parts for piece in part.shape.pieces)

    def to_dict(self) -> dict[str, Any]:
        """Type and parts, as in scene files."""
        parts = []
        for part in self.parts:
            entry: dict[str, Any] = {"shape": part.shape.to_dict(), "position": list(part.position)}
            if part.orientation != rotations.identity(self.d):
                entry["orientation"] = orientation_entry(part.orientation)
            parts.append(entry)
        return {"type": self.word, "parts": parts}


def moved(piece: Piece, position: Vector, orientation: Vector) -> Piece:
    """The piece in a frame where its original frame has this position and orientation."""
    if orientation == rotations.identity(len(position)):
        where = tuple(a + b for a, b in zip(position, piece.position, strict=True))
        return Piece(piece.kind, where, piece.orientation, piece.size, piece.bound, piece.hull)
    where = tuple(map(float, np.add(position, rotations.rotate(orientation, piece.position))))
    turn = rotations.compose(orientation, piece.orientation)
    turn = rotations.normalise(turn) if len(turn) == 4 else turn
    return Piece(piece.kind, where, tuple(map(float, turn)), piece.size, piece.bound, piece.hull)


def orientation_entry(orientation: Vector) -> float | list[float]:
    """An orientation as in scene files: four numbers, or the angle alone."""
    return list(orientation) if len(orientation) == 4 else orientation[0]


def _part(number: int, entry: Any) -> Part:
    label = f"clump, part {number}"
    values: Sequence[Any] = entry if isinstance(entry, tuple | list) else (entry,)
    if not 1 <= len(values) <= 3 or not isinstance(values[0], Shape):
        raise SceneError(f"{label}: expected (shape, position, orientation), got {entry!r}")
    shape: Shape = values[0]
    if shape.is_static:
        raise SceneError(f"{label}: a {shape.word} has no mass; add it to the scene as a wall of its own")
    position = values[1] if len(values) > 1 else None
    where = (0.0,) * shape.d if position is None else checks.vector(label, "position", position, shape.d)
    turn = checks.orientation(label, values[2] if len(values) > 2 else None, shape.d)
    return Part(shape, where, turn)
