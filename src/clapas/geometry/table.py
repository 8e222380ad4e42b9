"""Build the table of colliders from the shapes of the bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clapas.errors import SceneError
from clapas.geometry import rotations
from clapas.geometry.checks import Vector
from clapas.geometry.colliders import Colliders, Hulls
from clapas.geometry.shapes.base import Hull, Piece, Shape
from clapas.geometry.shapes.clump import moved


class Frame(NamedTuple):
    """The frame of a body in its shape's own frame: centre of mass and principal axes.

    Parameters
    ----------
    centre : tuple of d
        m.
    orientation : tuple of 4, of 1 in 2-D
        Unit quaternion, or angle.
    """

    centre: Vector
    orientation: Vector

    @staticmethod
    def of(shape: Shape) -> Frame:
        """Centre and principal axes of a shape; its own frame if it has no mass."""
        if shape.is_static:
            return Frame.own(shape.d)
        properties = shape.mass_properties
        return Frame(properties.centre, properties.orientation)

    @staticmethod
    def own(d: int) -> Frame:
        """The shape's own frame."""
        return Frame(rotations.origin(d), rotations.identity(d))


def collider_table(
    d: int, rows: Sequence[tuple[int, Shape, int] | tuple[int, Shape, int, Frame]]
) -> Colliders:
    """Table of colliders for collision detection.

    Parameters
    ----------
    d : 2 or 3
        Dimension.
    rows : sequence of (body, shape, material) or (body, shape, material, frame)
        Number of the body, its shape, number of its material, and the body's frame in the frame of the
        shape: by default :meth:`Frame.of` the shape. In any order; a body may have several rows.

    Examples
    --------
    >>> from clapas.geometry.shapes import Plane, Sphere
    >>> table = collider_table(3, [(0, Plane(), 0), (1, Sphere(0.1), 0)])
    >>> table.kind.tolist(), table.size[1].tolist()
    ([1, 0], [0.1, 0.0, 0.0])
    """
    pieces: list[Piece] = []
    bodies: list[int] = []
    materials: list[int] = []
    for body, shape, material, *rest in sorted(rows, key=lambda row: row[0]):
        if shape.d != d:
            raise SceneError(f"body {body}: a {shape.word} is in {shape.d}-D, the table in {d}-D")
        own = _in_body_frame(shape, rest[0] if rest else Frame.of(shape))
        pieces += own
        bodies += [body] * len(own)
        materials += [material] * len(own)
    hulls, rows_of_hulls = _hull_table(d, pieces)
    n, angles = len(pieces), 4 if d == 3 else 1
    return Colliders(
        d=d,
        body=np.array(bodies, dtype=np.int64),
        kind=np.array([piece.kind for piece in pieces], dtype=np.int8),
        position=np.array([piece.position for piece in pieces], dtype=np.float64).reshape(n, d),
        orientation=np.array([piece.orientation for piece in pieces], dtype=np.float64).reshape(n, angles),
        size=np.array([piece.size for piece in pieces], dtype=np.float64).reshape(n, 3),
        bound=np.array([piece.bound for piece in pieces], dtype=np.float64),
        material=np.array(materials, dtype=np.int64),
        hull=rows_of_hulls,
        hulls=hulls,
    )


def _in_body_frame(shape: Shape, frame: Frame) -> tuple[Piece, ...]:
    if frame == Frame.own(shape.d):
        return shape.pieces
    back = rotations.opposite(frame.orientation)
    where = rotations.rotate(back, np.negative(frame.centre))
    return tuple(moved(piece, tuple(map(float, where)), tuple(map(float, back))) for piece in shape.pieces)


def _hull_table(d: int, pieces: Sequence[Piece]) -> tuple[Hulls, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Hulls in compressed arrays, one entry per distinct hull, and the entry of each piece."""
    row_of_hull: dict[int, int] = {}  # by id: bodies with the same shape object share its hull
    hulls: list[Hull] = []
    rows = np.full(len(pieces), -1, dtype=np.int64)
    for k, piece in enumerate(pieces):
        if piece.hull is None:
            continue
        if id(piece.hull) not in row_of_hull:
            row_of_hull[id(piece.hull)] = len(hulls)
            hulls.append(piece.hull)
        rows[k] = row_of_hull[id(piece.hull)]
    loops = [face for hull in hulls for face in hull.faces]
    return (
        Hulls(
            vertices=np.concatenate([np.empty((0, d)), *(hull.vertices for hull in hulls)]),
            vertex_start=_starts([len(hull.vertices) for hull in hulls]),
            normals=np.concatenate([np.empty((0, d)), *(hull.normals for hull in hulls)]),
            face_start=_starts([len(hull.faces) for hull in hulls]),
            face_vertices=np.array([corner for loop in loops for corner in loop], dtype=np.int64),
            loop_start=_starts([len(loop) for loop in loops]),
        ),
        rows,
    )


def _starts(lengths: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
