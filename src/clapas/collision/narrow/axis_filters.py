"""Which separating axes are tried: chosen at compile time, by the type of a named tuple.

Two closed solids may separate along any axis. A triangle may not push where its neighbours in the mesh are in the
way. A cylinder is looked at from near an axis that is known, or from elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from clapas.collision.contact_table import Meeting
from clapas.collision.meshes import can_push
from clapas.collision.records import Records, Shapes
from clapas.compiled import chosen_by_type, subroutine
from clapas.typing import Array


class Anywhere(NamedTuple):
    """All axes are tried."""


class Seams(NamedTuple):
    """Axes are tried along which neighbours in a mesh let a triangle push."""


class Guide(NamedTuple):
    """Of these, only axes at an angle to (x, y, z) of at least this cosine are tried."""

    x: float
    y: float
    z: float
    cosine: float


class Elsewhere(NamedTuple):
    """Of these, only axes at an angle to all the first ``count`` rows of ``known`` below this cosine."""

    known: Array
    n_known: int
    cosine: float


@subroutine
def any_axis(choice: Anywhere, shapes: Shapes, meeting: Meeting, x: float, y: float, z: float) -> bool:
    """Every axis is allowed."""
    return True


@subroutine
def axis_over_seams(choice: Any, shapes: Shapes, meeting: Meeting, x: float, y: float, z: float) -> bool:
    """Can both colliders push along the axis?"""
    return can_push(shapes, meeting.i, x, y, z) and can_push(shapes, meeting.j, -x, -y, -z)


@subroutine
def axis_near(choice: Guide, shapes: Shapes, meeting: Meeting, x: float, y: float, z: float) -> bool:
    """Is the axis near the guide?"""
    along = choice.x * x + choice.y * y + choice.z * z
    return along >= choice.cosine and axis_over_seams(choice, shapes, meeting, x, y, z)


@subroutine
def axis_elsewhere(choice: Elsewhere, shapes: Shapes, meeting: Meeting, x: float, y: float, z: float) -> bool:
    """Is the axis away from those known?"""
    for k in range(choice.n_known):
        n = choice.known[k]
        if n[0] * x + n[1] * y + n[2] * z >= choice.cosine:
            return False
    return axis_over_seams(choice, shapes, meeting, x, y, z)


CHOICES: dict[type, Callable[..., bool]] = {
    Anywhere: any_axis,
    Seams: axis_over_seams,
    Guide: axis_near,
    Elsewhere: axis_elsewhere,
}


def is_allowed(choice: Any, shapes: Shapes, meeting: Meeting, x: float, y: float, z: float) -> bool:
    """Is the axis (x, y, z), from the first solid to the second, one to try?"""
    return CHOICES[type(choice)](choice, shapes, meeting, x, y, z)


@chosen_by_type(is_allowed)
def _select(choice: Any, shapes: Any, meeting: Any, x: Any, y: Any, z: Any) -> Callable[..., bool]:
    return CHOICES[choice.instance_class]


@subroutine
def any_arc(choice: Any, sign: float, m: Records, n: Records) -> bool:
    """Nothing is known of an arc."""
    return True


@subroutine
def arc_near(choice: Guide, sign: float, m: Records, n: Records) -> bool:
    """Does the shorter arc between two normals, times the sign, come near the guide?"""
    g = sign * (choice.x * m.x + choice.y * m.y + choice.z * m.z)
    h = sign * (choice.x * n.x + choice.y * n.y + choice.z * n.z)
    if max(g, h) >= choice.cosine:
        return True
    cosine = m.x * n.x + m.y * n.y + m.z * n.z
    if g <= cosine * h or h <= cosine * g:  # nearest to the guide at an end
        return False
    return g * g + h * h - 2.0 * cosine * g * h >= choice.cosine**2 * (1.0 - cosine * cosine)


ARCS: dict[type, Callable[..., bool]] = {
    Anywhere: any_arc,
    Seams: any_arc,
    Guide: arc_near,
    Elsewhere: any_arc,
}


def may_be_allowed(choice: Any, sign: float, m: Records, n: Records) -> bool:
    """May an axis between two normals be one to try? The sign is that of the normals along the axis."""
    return ARCS[type(choice)](choice, sign, m, n)


@chosen_by_type(may_be_allowed)
def _select_arc(choice: Any, sign: Any, m: Any, n: Any) -> Callable[..., bool]:
    return ARCS[choice.instance_class]
