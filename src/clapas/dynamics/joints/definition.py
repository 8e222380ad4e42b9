"""A joint as a person describes it: two bodies, a point, an axis.

Each kind is a set of rows, equations that the poses of two bodies obey, of four forms:

    point       P_b − P_a = 0, along the axes of the world
    line        n_a·(P_b − P_a) = 0, with n_a fixed in a
    angle       n_a·m_b = 0, for directions at right angles fixed in a and in b
    distance    |P_b − P_a| = L

where P_a and P_b are the points of a and b that were at the joint at the start. Directions come from the
frame of the joint: its axis first, then those across. Some kinds have a coordinate, an angle or a
displacement (:mod:`clapas.dynamics.joints.laws`). Three kinds are a coordinate and nothing else, without
rows: a *turn*, a *travel* and a *swing*. They put laws on what joints with several freedoms leave free.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from clapas.dynamics.joints.laws import JointLaws, make_laws, make_swing_laws
from clapas.errors import SceneError
from clapas.geometry import checks
from clapas.geometry.checks import Vector
from clapas.typing import Array

WORLD = "world"
PERPENDICULAR = 1e-9  # cosine up to which two axes are at right angles


@dataclass(frozen=True, kw_only=True)
class JointKind:
    """The rows of a kind of joint.

    Parameters
    ----------
    meaning : str
        What it leaves free, in words.
    point : bool
        Whether the points of the two bodies stay together.
    lines : tuple of int
        Directions of the frame, fixed in a, along which they do not part.
    angles : tuple of (int, int)
        Pairs of directions, the first fixed in a, the second in b, that stay at right angles.
    distance : bool
        Whether the points stay as far from each other as at the start.
    axis : bool
        Whether the kind has an axis.
    second : bool or None
        Whether it has a second axis, fixed in b; None if that may be left out.
    coordinate : "angle", "displacement", "swing" or None
        What is measured of the motion left, about, along or from the axis.
    """

    meaning: str
    point: bool = False
    lines: tuple[int, ...] = ()
    angles: tuple[tuple[int, int], ...] = ()
    distance: bool = False
    axis: bool = False
    second: bool | None = False
    coordinate: Literal["angle", "displacement", "swing"] | None = None

    @property
    def holds(self) -> bool:
        """Whether it has rows: a coordinate alone holds nothing."""
        return bool(self.point or self.lines or self.angles or self.distance)


PARALLEL = ((0, 1), (0, 2))
ALIGNED = (*PARALLEL, (1, 2))
KINDS: dict[int, dict[str, JointKind]] = {
    3: {
        "ball": JointKind(meaning="all rotations about a point", point=True),
        "hinge": JointKind(
            meaning="rotation about an axis", point=True, angles=PARALLEL, axis=True, coordinate="angle"
        ),
        "universal": JointKind(
            meaning="rotations about an axis of a and one of b across it",
            point=True,
            angles=((0, 1),),
            axis=True,
            second=True,
        ),
        "slider": JointKind(
            meaning="translation along an axis",
            lines=(1, 2),
            angles=ALIGNED,
            axis=True,
            coordinate="displacement",
        ),
        "cylindrical": JointKind(
            meaning="translation along an axis and rotation about it",
            lines=(1, 2),
            angles=PARALLEL,
            axis=True,
            coordinate="displacement",
        ),
        "planar": JointKind(
            meaning="translations across an axis and rotation about it",
            lines=(0,),
            angles=PARALLEL,
            axis=True,
        ),
        "fixed": JointKind(meaning="nothing", point=True, angles=ALIGNED),
        "distance": JointKind(meaning="all but the distance of two points: a rod", distance=True),
        "turn": JointKind(
            meaning="everything; the angle about an axis is a coordinate",
            axis=True,
            second=None,
            coordinate="angle",
        ),
        "travel": JointKind(
            meaning="everything; the displacement along an axis is a coordinate",
            axis=True,
            coordinate="displacement",
        ),
        "swing": JointKind(
            meaning="everything; the angle between an axis of a and one of b is a coordinate",
            axis=True,
            second=None,
            coordinate="swing",
        ),
    },
    2: {
        "pin": JointKind(meaning="rotation about a point", point=True, coordinate="angle"),
        "slot": JointKind(
            meaning="a point of b along a line of a, and rotation: a pin in a slot",
            lines=(1,),
            axis=True,
            coordinate="displacement",
        ),
        "slider": JointKind(
            meaning="translation along a line",
            lines=(1,),
            angles=((0, 1),),
            axis=True,
            coordinate="displacement",
        ),
        "weld": JointKind(meaning="nothing", point=True, angles=((0, 1),)),
        "distance": JointKind(meaning="all but the distance of two points: a rod", distance=True),
        "turn": JointKind(meaning="everything; the angle is a coordinate", coordinate="angle"),
        "travel": JointKind(
            meaning="everything; the displacement along a line is a coordinate",
            axis=True,
            coordinate="displacement",
        ),
    },
}


@dataclass(frozen=True, kw_only=True)
class Joint:
    """A joint as it was added to a scene; see :meth:`clapas.scenes.scene.Scene.join` for the fields."""

    kind: str
    name: str
    a: int | None
    b: int | None
    at: Vector
    to: Vector
    axis: Vector | None = None
    second: Vector | None = None
    collide: bool = False
    laws: JointLaws = field(default_factory=JointLaws)

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return len(self.at)

    @property
    def rows(self) -> JointKind:
        """Its rows."""
        return KINDS[self.d][self.kind]

    @property
    def frame(self) -> Array:
        """Its frame at the start, (3, 3): axis, second axis, third, one in each row.

        In 2-D the third is out of the plane.
        """
        if self.d == 2:
            x, y = self.axis or (1.0, 0.0)
            return np.array([[x, y, 0.0], [-y, x, 0.0], [0.0, 0.0, 1.0]])
        axis = np.array(self.axis or (1.0, 0.0, 0.0))
        if self.second is not None and self.rows.coordinate != "swing":
            across = np.array(self.second) - (axis @ np.array(self.second)) * axis
        else:
            least = np.eye(3)[int(np.argmin(np.abs(axis)))]
            across = np.cross(axis, least)
        across /= np.linalg.norm(across)
        return np.stack((axis, across, np.cross(axis, across)))

    def to_dict(self) -> dict[str, Any]:
        """Its fields, without those that have their default, as scene files write them."""
        entries: dict[str, Any] = {
            "kind": self.kind,
            "name": self.name,
            "a": WORLD if self.a is None else self.a,
            "b": WORLD if self.b is None else self.b,
            "at": list(self.at),
            "to": list(self.to) if self.rows.distance else None,
            "axis": None if self.axis is None else list(self.axis),
            "second": None if self.second is None else list(self.second),
            "collide": self.collide or None,
            **self.laws.to_dict(),
        }
        return {name: value for name, value in entries.items() if value is not None}


def make_joint(
    d: int,
    kind: str,
    a: int | None,
    b: int | None,
    *,
    name: str,
    at: Any,
    to: Any = None,
    axis: Any = None,
    second: Any = None,
    collide: bool = False,
    **laws: Any,
) -> Joint:
    """A joint from what a person gives, checked; ``laws`` are the fields of :class:`JointLaws`.

    Examples
    --------
    >>> make_joint(3, "hinge", 0, None, name="door", at=(0, 0, 0), axis=(0, 0, 2)).axis
    (0.0, 0.0, 1.0)
    """
    label, known = f"joint '{name}'", KINDS[d]
    if kind not in known:
        other = ", but in another dimension" if kind in KINDS[5 - d] else ""
        raise SceneError(
            f"{label}: unknown kind '{kind}'{other}{checks.did_you_mean(str(kind), known)}; "
            f"in {d}-D there are {', '.join(known)}"
        )
    rows = known[kind]
    if a == b:
        who = "the world" if a is None else f"body {a}"
        raise SceneError(f"{label}: it joins {who} to itself; name two bodies, or one and the world")
    if at is None:
        raise SceneError(f"{label}: at is missing: give the point of the joint, in the world (m)")
    at = checks.vector(label, "at", at, d)
    if rows.distance == (to is None):
        need = "needs to, the point of b" if rows.distance else "has one point: leave out to"
        raise SceneError(f"{label}: a {kind} joint {need}")
    to = at if to is None else checks.vector(label, "to", to, d)
    if rows.distance and to == at:
        raise SceneError(
            f"{label}: the rod has no length, both ends are at {list(at)}; use a "
            f"{'ball' if d == 3 else 'pin'} joint"
        )
    if rows.axis == (axis is None):
        need = "needs axis, a direction in the world" if rows.axis else "has no axis: leave it out"
        raise SceneError(f"{label}: a {kind} joint {need}")
    axis = None if axis is None else checks.unit_vector(label, "axis", axis, d)
    if rows.second is not None and rows.second == (second is None):
        need = "needs second, the axis fixed in b" if second is None else "has no second axis: leave it out"
        raise SceneError(f"{label}: a {kind} joint {need}")
    second = None if second is None else checks.unit_vector(label, "second", second, d)
    is_swing = rows.coordinate == "swing"
    if second is not None and not is_swing and abs(np.dot(axis, second)) > PERPENDICULAR:
        raise SceneError(
            f"{label}: its axes must be at right angles, got {list(axis)} and {list(second)}; "
            "turn one of them"
        )
    if is_swing:
        cosine = 1.0 if second is None else float(np.clip(np.dot(axis, second), -1.0, 1.0))
        checked = make_swing_laws(label, float(np.arccos(cosine)), laws)
    else:
        checked = make_laws(label, kind, rows.coordinate is not None, laws)
    return Joint(
        kind=kind,
        name=name,
        a=a,
        b=b,
        at=at,
        to=to,
        axis=axis,
        second=second,
        collide=collide,
        laws=checked,
    )
