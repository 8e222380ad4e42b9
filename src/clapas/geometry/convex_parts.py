"""Exact convex decomposition of a solid with few faces: a corbel, a lintel with a notch, an L.

The hull of the solid is cut by the planes of all faces that do not bound it. Each cell is then inside or
outside the solid, and cells whose union is convex are joined. The parts fill the solid to rounding, so that a
block which touches a notch in the drawing touches the parts.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from clapas.geometry.pieces import SAME_FACE, SolidPiece
from clapas.typing import Array

MOST_PLANES = 32  # cutting planes: each may double the number of cells
MOST_CELLS = 256
FLAT = 1e-5  # of the size of the solid: points nearer than this to a plane are on it; files have 6 digits
EXACT = 1e-6  # tolerance of the volume of the parts, relative to that of the solid


def exact_parts(piece: SolidPiece) -> list[Array] | None:
    """Corners of convex parts that fill a closed solid; None if it has too many faces for that.

    Examples
    --------
    >>> from clapas.geometry.pieces import split
    >>> outline = np.array([(0, 0), (4, 0), (4, 1), (1, 1), (1, 3), (0, 3)], dtype=float)
    >>> prism = np.vstack([np.column_stack((outline, np.full(6, z))) for z in (0.0, 2.0)])
    >>> bottom = [(0, 2, 1), (0, 3, 2), (0, 4, 3), (0, 5, 4)]
    >>> top = [tuple(6 + k for k in reversed(each)) for each in bottom]
    >>> sides = [[(i, j, 6 + j), (i, 6 + j, 6 + i)] for i, j in zip(range(6), [1, 2, 3, 4, 5, 0])]
    >>> (solid,) = split(prism, np.array(bottom + top + sum(sides, [])))
    >>> sorted(round(ConvexHull(part).volume, 9) for part in exact_parts(solid))
    [6.0, 6.0]
    """
    if not piece.is_closed:
        return None
    size = float(piece.extent.max())
    planes = _cutting_planes(piece, FLAT * size)
    if len(planes) > MOST_PLANES:
        return None
    cells = [piece.vertices]
    for normal, offset in planes:
        cells = [half for cell in cells for half in _halves(cell, normal, offset, FLAT * size)]
        if len(cells) > MOST_CELLS:
            return None
    inside = [cell for cell in cells if _is_inside(cell.mean(axis=0), piece)]
    volume = sum(_volume(cell) for cell in inside)
    return _joined(inside) if abs(volume - piece.volume) <= EXACT * piece.volume else None


def _cutting_planes(piece: SolidPiece, near: float) -> list[tuple[Array, float]]:
    """Planes of faces with part of the solid in front of them, each once: normal and offset."""
    corners = piece.vertices[piece.triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    planes: list[tuple[Array, float]] = []
    for k in np.argsort(-np.linalg.norm(normals, axis=1)):  # the normals of the largest are the most accurate
        length = float(np.linalg.norm(normals[k]))
        if length <= near**2:
            continue
        normal = normals[k] / length
        offset = float(normal @ corners[k].mean(axis=0))
        is_on_the_hull = np.all(piece.vertices @ normal - offset <= near)
        is_known = any(
            min(np.linalg.norm(normal - other), np.linalg.norm(normal + other)) <= SAME_FACE
            and np.all(np.abs(corners[k] @ other - at) <= near)
            for other, at in planes
        )
        if not is_on_the_hull and not is_known:
            planes.append((normal, offset))
    return planes


def _halves(cell: Array, normal: Array, offset: float, near: float) -> list[Array]:
    """The parts of a convex cell, given by its corners, on either side of a plane."""
    height = cell @ normal - offset
    above, below = height > near, height < -near
    if not above.any() or not below.any():
        return [cell]
    # The edges that the plane cuts are among the chords from one side to the other.
    high, low = cell[above][:, None], cell[below][None]
    fraction = height[above][:, None, None] / (height[above][:, None] - height[below][None])[..., None]
    cut = (high + fraction * (low - high)).reshape(-1, 3)
    on = cell[~above & ~below]
    halves = [_corners(np.vstack((cell[side], on, cut))) for side in (above, below)]
    return [half for half in halves if half is not None]


def _corners(points: Array) -> Array | None:
    """Corners of the hull of some points; None if they are flat."""
    try:
        return np.asarray(points[ConvexHull(points - points.mean(axis=0)).vertices])
    except QhullError:
        return None


def _volume(cell: Array) -> float:
    return float(ConvexHull(cell - cell.mean(axis=0)).volume)


def _is_inside(point: Array, piece: SolidPiece) -> bool:
    """Whether the surface encloses a point: by the solid angles of its triangles."""
    a, b, c = np.moveaxis(piece.vertices[piece.triangles] - point, 1, 0)
    la, lb, lc = (np.linalg.norm(each, axis=1) for each in (a, b, c))
    triple = np.einsum("ij,ij->i", a, np.cross(b, c))
    ab, bc, ca = (np.einsum("ij,ij->i", *pair) for pair in ((a, b), (b, c), (c, a)))
    angle = 2.0 * np.arctan2(triple, la * lb * lc + ab * lc + bc * la + ca * lb)
    return bool(abs(angle.sum()) > 2.0 * np.pi)


def _joined(cells: list[Array]) -> list[Array]:
    """Cells merged pairwise where their union is convex."""
    cells = list(cells)
    volumes = [_volume(cell) for cell in cells]
    k = 0
    while k < len(cells):
        for j in range(k + 1, len(cells)):
            both = _corners(np.vstack((cells[k], cells[j])))
            volume = volumes[k] + volumes[j]
            if both is not None and _volume(both) <= (1.0 + EXACT) * volume:
                cells[k], volumes[k] = both, volume
                del cells[j], volumes[j]
                k = -1  # the merged cell may join the first ones
                break
        k += 1
    return cells
