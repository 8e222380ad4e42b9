"""One loop over pairs for all shapes; the kernel of a pair is selected at compile time by the type of its method.

A pair *method* is a named tuple: its type says what the two colliders are, its fields are the work space of the
kernel. So each type of pair has its own machine code, compiled when a scene first has such a pair, and the loop
is written once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clapas.collision.contact_table import Meeting, Pairs, meeting_of
from clapas.collision.narrow.capsules_triangles import Thin, touch_thin
from clapas.collision.narrow.cylinder_plane import CylinderOnPlane, touch_cylinder_plane
from clapas.collision.narrow.cylinders import Cylinders, touch_cylinders
from clapas.collision.narrow.planes import (
    CornersOnPlane,
    HullOnPlane,
    SphereOnPlane,
    touch_corners_plane,
    touch_hull_plane,
    touch_sphere_plane,
)
from clapas.collision.narrow.polygons import Polygons, touch_polygons
from clapas.collision.narrow.segments import Capsules, touch_capsules
from clapas.collision.narrow.solids import Solids, touch_solids
from clapas.collision.narrow.sphere_solid import (
    SphereOnCapsule,
    SphereOnCylinder,
    SphereOnFaces,
    SphereOnTriangle,
    touch_sphere_capsule,
    touch_sphere_cylinder,
    touch_sphere_faces,
    touch_sphere_triangle,
)
from clapas.collision.narrow.spheres import Spheres, touch_spheres
from clapas.collision.records import Records, Shapes, as_int64
from clapas.compiled import chosen_by_type, uncounted_kernel
from clapas.typing import Indices

KERNELS: dict[type, Callable[..., int]] = {
    Spheres: touch_spheres,
    SphereOnPlane: touch_sphere_plane,
    CornersOnPlane: touch_corners_plane,
    HullOnPlane: touch_hull_plane,
    CylinderOnPlane: touch_cylinder_plane,
    SphereOnCapsule: touch_sphere_capsule,
    SphereOnCylinder: touch_sphere_cylinder,
    SphereOnFaces: touch_sphere_faces,
    SphereOnTriangle: touch_sphere_triangle,
    Capsules: touch_capsules,
    Solids: touch_solids,
    Thin: touch_thin,
    Cylinders: touch_cylinders,
    Polygons: touch_polygons,
}


def touch(method: Any, rows: Records, count: int, meeting: Meeting, shapes: Shapes) -> int:
    """Write the contacts of a pair; returns the count so far (plain twin of the compiled selection)."""
    return KERNELS[type(method)](method, rows, count, meeting, shapes)


@chosen_by_type(touch)
def _select(method: Any, rows: Any, count: Any, meeting: Any, shapes: Any) -> Callable[..., int]:
    return KERNELS[method.instance_class]


@uncounted_kernel
def touch_pairs(
    selected: Indices, pairs: Pairs, shapes: Shapes, distance: float, method: Any, rows: Records, count: int
) -> int:
    """Contacts of the selected pairs whose bounds are near: writes as many as fit, counts all.

    ``count`` rows of other pairs are there already.
    """
    for k in range(len(selected)):
        meeting = meeting_of(pairs, shapes, as_int64(selected[k]), distance)
        x, y, z = meeting.x, meeting.y, meeting.z
        limit = shapes.centres[meeting.i].bound + shapes.centres[meeting.j].bound + distance
        if limit >= 0.0 and x * x + y * y + z * z <= limit * limit:
            count = touch(method, rows, count, meeting, shapes)
    return count
