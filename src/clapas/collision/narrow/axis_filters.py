"""Filters of separating axes, selected at compile time by the type of a named tuple.

Two closed solids may separate along any axis. A triangle may not push where its neighbours in the mesh obstruct
it. For a cylinder the search is restricted to axes near a known one, or away from known ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from clapas.collision.contact_table import Meeting
from clapas.collision.meshes import can_push
from clapas.collision.records import Records, Shapes
from clapas.compiled import chosen_by_type, subroutine
from clapas.typing import Array


class AllAxes(NamedTuple):
    """All axes are allowed."""


class MeshAxes(NamedTuple):
    """Axes along which the neighbours in a mesh let a triangle push."""


class NearAxis(NamedTuple):
    """Of MeshAxes, those whose angle to (x, y, z) has at least this cosine."""

    x: float
    y: float
    z: float
    cosine: float


class AwayFromAxes(NamedTuple):
    """Of MeshAxes, those whose angles to the first ``n_known`` rows of ``known`` all have a smaller cosine."""

    known: Array
    n_known: int
    cosine: float


@subroutine
def any_axis(axis_filter: AllAxes, shapes: Shapes, meeting: Meeting, x: float, y: float, z: float) -> bool:
    """True: every axis is allowed."""
    return True


@subroutine
def axis_can_push(axis_filter: Any, shapes: Shapes, meeting: Meeting, x: float, y: float, z: float) -> bool:
    """Whether both colliders can push along the axis."""
    return can_push(shapes, meeting.i, x, y, z) and can_push(shapes, meeting.j, -x, -y, -z)


@subroutine
def axis_near(axis_filter: NearAxis, shapes: Shapes, meeting: Meeting, x: float, y: float, z: float) -> bool:
    """Whether the axis is near the given one."""
    along = axis_filter.x * x + axis_filter.y * y + axis_filter.z * z
    return along >= axis_filter.cosine and axis_can_push(axis_filter, shapes, meeting, x, y, z)


@subroutine
def axis_away(
    axis_filter: AwayFromAxes, shapes: Shapes, meeting: Meeting, x: float, y: float, z: float
) -> bool:
    """Whether the axis is away from the known ones."""
    for k in range(axis_filter.n_known):
        n = axis_filter.known[k]
        if n[0] * x + n[1] * y + n[2] * z >= axis_filter.cosine:
            return False
    return axis_can_push(axis_filter, shapes, meeting, x, y, z)


FILTERS: dict[type, Callable[..., bool]] = {
    AllAxes: any_axis,
    MeshAxes: axis_can_push,
    NearAxis: axis_near,
    AwayFromAxes: axis_away,
}


def is_allowed(axis_filter: Any, shapes: Shapes, meeting: Meeting, x: float, y: float, z: float) -> bool:
    """Whether the filter allows the axis (x, y, z), from the first solid to the second."""
    return FILTERS[type(axis_filter)](axis_filter, shapes, meeting, x, y, z)


@chosen_by_type(is_allowed)
def _select(axis_filter: Any, shapes: Any, meeting: Any, x: Any, y: Any, z: Any) -> Callable[..., bool]:
    return FILTERS[axis_filter.instance_class]


@subroutine
def any_arc(axis_filter: Any, sign: float, m: Records, n: Records) -> bool:
    """True: no arc can be excluded."""
    return True


@subroutine
def arc_near(axis_filter: NearAxis, sign: float, m: Records, n: Records) -> bool:
    """Whether the shorter arc between two normals, times the sign, comes near the given axis."""
    g = sign * (axis_filter.x * m.x + axis_filter.y * m.y + axis_filter.z * m.z)
    h = sign * (axis_filter.x * n.x + axis_filter.y * n.y + axis_filter.z * n.z)
    if max(g, h) >= axis_filter.cosine:
        return True
    cosine = m.x * n.x + m.y * n.y + m.z * n.z
    if g <= cosine * h or h <= cosine * g:  # the nearest point of the arc is an end
        return False
    return g * g + h * h - 2.0 * cosine * g * h >= axis_filter.cosine**2 * (1.0 - cosine * cosine)


ARC_FILTERS: dict[type, Callable[..., bool]] = {
    AllAxes: any_arc,
    MeshAxes: any_arc,
    NearAxis: arc_near,
    AwayFromAxes: any_arc,
}


def may_be_allowed(axis_filter: Any, sign: float, m: Records, n: Records) -> bool:
    """Whether the filter may allow an axis between two normals; ``sign`` is that of the normals along the axis."""
    return ARC_FILTERS[type(axis_filter)](axis_filter, sign, m, n)


@chosen_by_type(may_be_allowed)
def _select_arc(axis_filter: Any, sign: Any, m: Any, n: Any) -> Callable[..., bool]:
    return ARC_FILTERS[axis_filter.instance_class]
