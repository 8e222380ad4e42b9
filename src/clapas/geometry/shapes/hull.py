"""The convex hull of points in space, with coplanar triangles merged into faces.

Qhull gives the hull as triangles. Contacts need the true faces: a box has 6, not 12, and the line between the
two halves of a face is not an edge. Starting from the largest triangle, a face absorbs neighbours as long as
their corners are on its plane. Corners then left inside a face, or on a straight edge, are dropped.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from clapas.errors import SceneError
from clapas.geometry.shapes.base import Hull
from clapas.typing import Array, Indices

Loop = tuple[int, ...]

# A set of points thinner than this fraction of its size is flat.
FLAT = 1e-9


def convex_hull(points: Array, flatness: float, label: str) -> Hull:
    """Faces, corners and normals of the convex hull.

    Parameters
    ----------
    points : array (n, 3)
        Points; those inside the hull are ignored.
    flatness : float
        Height over the plane of a face, relative to the size of the hull, under which a corner is on it.
    label : str
        For messages.
    """
    size = float(np.ptp(points, axis=0).max())
    _refuse_flat(points, size, label)
    centred = points - points.mean(axis=0)  # Qhull's rounding grows with the distance to the origin
    try:
        qhull = ConvexHull(centred)
    except QhullError as error:
        raise SceneError(f"{label}: its {len(points)} points have no hull of positive volume") from error
    triangles = _oriented(centred, qhull.simplices, qhull.neighbors)
    faces = _merged(centred, triangles, qhull.neighbors, flatness * size)
    faces = _without_straight_corners(faces)
    corners = sorted({corner for face in faces for corner in face})
    renumber = {corner: k for k, corner in enumerate(corners)}
    loops = tuple(tuple(renumber[corner] for corner in face) for face in faces)
    vertices = points[corners]
    return Hull(vertices, loops, np.array([loop_normal(vertices[list(loop)]) for loop in loops]))


def fan(loops: tuple[Loop, ...]) -> Indices:
    """Triangles (m, 3) that cover the faces."""
    return np.array([(loop[0], loop[k], loop[k + 1]) for loop in loops for k in range(1, len(loop) - 1)])


def loop_normal(corners: Array) -> Array:
    """Unit normal of a plane polygon in space: the mean over its area (Newell)."""
    arms = corners - corners[0]
    normal = np.cross(arms, np.roll(arms, -1, axis=0)).sum(axis=0)
    return np.asarray(normal / np.linalg.norm(normal))


def _refuse_flat(points: Array, size: float, label: str) -> None:
    _, _, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    extents = np.ptp(points @ axes.T, axis=0)
    if not extents.min() > FLAT * size:
        raise SceneError(
            f"{label}: its {len(points)} points are in one plane (thickness {extents.min():.3g} m "
            f"for a size of {size:.3g} m): the hull has no volume"
        )


def _oriented(points: Array, triangles: Indices, neighbours: Indices) -> Indices:
    """Orient all triangles counterclockwise seen from outside.

    The sign of a thin triangle's area is rounding, so only the largest is oriented by its sign; from it
    the orientation is propagated to neighbours, which run along the common edge in the opposite direction.
    """
    triangles = triangles.copy()
    a, b, c = points[triangles].transpose(1, 0, 2)
    first = int(np.argmax(np.linalg.norm(np.cross(b - a, c - a), axis=1)))
    if np.linalg.det(points[triangles[first]]) < 0.0:
        triangles[first] = triangles[first][::-1]
    visited, stack = {first}, [first]
    while stack:
        here = stack.pop()
        edges = _edges(tuple(triangles[here]))
        for other in neighbours[here]:
            if other in visited:
                continue
            if edges & _edges(tuple(triangles[other])):
                triangles[other] = triangles[other][::-1]
            visited.add(int(other))
            stack.append(int(other))
    return triangles


def _edges(loop: Loop) -> set[tuple[int, int]]:
    return {(int(a), int(b)) for a, b in zip(loop, (*loop[1:], loop[0]), strict=True)}


def _merged(points: Array, triangles: Indices, neighbours: Indices, tolerance: float) -> list[Loop]:
    """Faces made of neighbouring triangles in one plane, from the largest triangle down."""
    a, b, c = points[triangles].transpose(1, 0, 2)
    normals = np.cross(b - a, c - a)
    areas = np.linalg.norm(normals, axis=1)
    taken = np.zeros(len(triangles), dtype=bool)
    faces: list[Loop] = []
    for seed in np.argsort(-areas, kind="stable"):
        if taken[seed]:
            continue
        if areas[seed] == 0.0:  # no plane of its own, and in no other face: keep the hull closed
            faces.append(tuple(map(int, triangles[seed])))
            taken[seed] = True
            continue
        origin, normal = a[seed], normals[seed] / areas[seed]
        region, stack = {int(seed)}, [int(seed)]
        while stack:
            for other in map(int, neighbours[stack.pop()]):
                if other in region or taken[other]:
                    continue
                if np.abs((points[triangles[other]] - origin) @ normal).max() <= tolerance:
                    region.add(other)
                    stack.append(other)
        taken[list(region)] = True
        faces.extend(_outline([tuple(map(int, triangles[k])) for k in sorted(region)]))
    return faces


def _outline(triangles: list[Loop]) -> list[Loop]:
    """Boundary of joined triangles as one loop; the triangles themselves if it is not a single loop."""
    edges = set().union(*map(_edges, triangles))
    follow = {a: b for a, b in edges if (b, a) not in edges}
    if not follow:  # closed: all of a hull that is flat to within the tolerance
        return triangles
    start = min(follow)
    loop = [start]
    while follow[loop[-1]] != start and len(loop) <= len(follow):
        loop.append(follow[loop[-1]])
    return [tuple(loop)] if len(loop) == len(follow) else triangles


def _without_straight_corners(faces: list[Loop]) -> list[Loop]:
    """Drop corners where only two faces meet, as they are inside an edge."""
    count = Counter(corner for face in faces for corner in face)
    kept = [tuple(corner for corner in face if count[corner] > 2) for face in faces]
    return [face for face in kept if len(face) > 2]
