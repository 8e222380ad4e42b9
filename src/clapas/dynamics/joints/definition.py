"""Definitions of joints: two bodies, a point, an axis.

Each kind is a set of rows, equations between the poses of two bodies, of four forms:

    point       P_b − P_a = 0, along the axes of the world
    line        n_a·(P_b − P_a) = 0, with n_a fixed in a
    angle       n_a·m_b = 0, for directions at right angles fixed in a and in b
    distance    |P_b − P_a| = L

where P_a and P_b are the points of a and b that were at the joint at the start. Directions come from the
frame of the joint: its axis first, then those across. Some kinds have a coordinate, an angle or a
displacement (:mod:`clapas.dynamics.joints.laws`).

Five kinds are only a coordinate, without rows: a *turn*, a *travel*, a *swing*, a *gimbal* and a *stretch*.
They add laws to the freedoms of joints with several degrees of freedom, and the stretch, |P_b − P_a|, to
bodies that nothing else joins: a rope is one with an upper limit. A gimbal is one of three successive angles
of b, as of three hinges in one place: the first axis is fixed in a, the third in b, and the second, at right
angles to both, turns with the first angle. Where the first and the third axis coincide it locks, and no law
acts along it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from clapas.bodies.joined import Anchor
from clapas.dynamics.joints.laws import JointLaws, make_laws, make_stretch_laws, make_swing_laws
from clapas.errors import SceneError
from clapas.geometry import checks
from clapas.geometry.checks import Vector
from clapas.typing import Array

WORLD = "world"
PERPENDICULAR = 1e-9  # cosine up to which two axes are at right angles
LOCKED = 1e-3  # sine between the first and the third axis of a gimbal below which it starts locked


@dataclass(frozen=True, kw_only=True)
class JointKind:
    """The rows of a kind of joint.

    Parameters
    ----------
    meaning : str
        The freedoms it leaves, in words.
    point : bool
        Whether the points of the two bodies stay together.
    lines : tuple of int
        Directions of the frame, fixed in a, along which the points do not separate.
    angles : tuple of (int, int)
        Pairs of directions, the first fixed in a, the second in b, that stay at right angles.
    distance : bool
        Whether the points stay as far from each other as at the start.
    axis : bool
        Whether the kind has an axis.
    second : bool or None
        Whether it has a second axis, fixed in b; None if that may be left out.
    third : bool
        Whether it has three axes, and ``which`` says which of their angles is meant.
    coordinate : "angle", "displacement", "swing", "gimbal", "separation" or None
        The coordinate of the remaining motion, about, along or from the axis, or between two points.
    """

    meaning: str
    point: bool = False
    lines: tuple[int, ...] = ()
    angles: tuple[tuple[int, int], ...] = ()
    distance: bool = False
    axis: bool = False
    second: bool | None = False
    third: bool = False
    coordinate: Literal["angle", "displacement", "swing", "gimbal", "separation"] | None = None

    @property
    def holds(self) -> bool:
        """Whether it has rows: a coordinate without rows constrains nothing."""
        return bool(self.point or self.lines or self.angles or self.distance)

    @property
    def measure(self) -> Literal["angle", "displacement"] | None:
        """Type of its coordinate, in rad or in m; None without one."""
        if self.coordinate is None:
            return None
        return "displacement" if self.coordinate in ("displacement", "separation") else "angle"

    @property
    def has_two_points(self) -> bool:
        """Whether each body has a point of its own."""
        return self.distance or self.coordinate == "separation"


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
        "gimbal": JointKind(
            meaning="everything; one of three angles about axes in a row is a coordinate",
            axis=True,
            second=True,
            third=True,
            coordinate="gimbal",
        ),
        "stretch": JointKind(
            meaning="everything; the distance of two points is a coordinate: a rope, a spring, a jack",
            coordinate="separation",
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
        "stretch": JointKind(
            meaning="everything; the distance of two points is a coordinate: a rope, a spring, a jack",
            coordinate="separation",
        ),
    },
}


class SystemEnd(NamedTuple):
    """An end of a joint on a body of another kind.

    Parameters
    ----------
    system : int
        Number of its system.
    name : str
        Name of the system.
    carrier : int or None
        Number of the body of the scene that was named: one of its carriers.
    anchor : Anchor
        The part of the system that the joint holds.
    """

    system: int
    name: str
    carrier: int | None
    anchor: Anchor

    def __str__(self) -> str:
        return f"{self.anchor.word} of '{self.name}'"


@dataclass(frozen=True, kw_only=True)
class Joint:
    """A joint as it was added to a scene; see :meth:`clapas.scenes.scene.Scene.join` for the fields."""

    kind: str
    name: str
    a: int | SystemEnd | None
    b: int | SystemEnd | None
    at: Vector
    to: Vector
    axis: Vector | None = None
    second: Vector | None = None
    third: Vector | None = None
    which: int = 0
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
        """Its entry in a scene file: its fields, without those that have their default."""
        entries: dict[str, Any] = {
            "kind": self.kind,
            "name": self.name,
            "a": _written(self.a),
            "b": _written(self.b),
            "at": list(self.at),
            "to": list(self.to) if self.rows.has_two_points else None,
            "axis": None if self.axis is None else list(self.axis),
            "second": None if self.second is None else list(self.second),
            "third": None if self.third is None else list(self.third),
            "which": self.which or None,
            "collide": self.collide or None,
            **self.laws.to_dict(),
        }
        return {name: value for name, value in entries.items() if value is not None}


def _written(end: int | SystemEnd | None) -> int | str:
    """The entry of an end in a scene file."""
    if isinstance(end, SystemEnd):
        return end.name if end.carrier is None else end.carrier
    return WORLD if end is None else end


def make_joint(
    d: int,
    kind: str,
    a: int | SystemEnd | None,
    b: int | SystemEnd | None,
    *,
    name: str,
    at: Any,
    to: Any = None,
    axis: Any = None,
    second: Any = None,
    third: Any = None,
    which: Any = None,
    collide: bool = False,
    **laws: Any,
) -> Joint:
    """A joint from the arguments of the user, checked; ``laws`` are the fields of :class:`JointLaws`.

    Examples
    --------
    >>> make_joint(3, "hinge", 0, None, name="door", at=(0, 0, 0), axis=(0, 0, 2)).axis
    (0.0, 0.0, 1.0)
    """
    label, known = f"joint '{name}'", KINDS[d]
    if kind not in known:
        other = f" (it is a joint of {5 - d}-D)" if kind in KINDS[5 - d] else ""
        raise SceneError(
            f"{label}: unknown kind '{kind}'{other}{checks.did_you_mean(str(kind), known)}; "
            f"in {d}-D there are {', '.join(known)}"
        )
    rows = known[kind]
    if a == b:
        body = "the world" if a is None else f"body {a}" if isinstance(a, int) else str(a)
        closing = ". Ends of one rod that meet are one place: close a ring from two rods, each added alone"
        raise SceneError(
            f"{label}: it joins {body} to itself; name two bodies, or one and the world"
            f"{closing if isinstance(a, SystemEnd) and a.anchor.turns else ''}"
        )
    if at is None:
        raise SceneError(f"{label}: at is missing: give the point of the joint, in the world (m)")
    at = checks.vector(label, "at", at, d)
    if rows.has_two_points == (to is None):
        need = "needs to, the point of b" if rows.has_two_points else "has one point: leave out to"
        raise SceneError(f"{label}: a {kind} joint {need}")
    to = at if to is None else checks.vector(label, "to", to, d)
    if rows.has_two_points and to == at:
        instead = f"use a {'ball' if d == 3 else 'pin'} joint"
        if not rows.distance:
            instead = "which leaves it without direction; place the bodies, or the points, apart"
        what = "rod" if rows.distance else "stretch"
        raise SceneError(f"{label}: the {what} has no length, both ends are at {list(at)}; {instead}")
    if rows.axis == (axis is None):
        need = "needs axis, a direction in the world" if rows.axis else "has no axis: leave it out"
        raise SceneError(f"{label}: a {kind} joint {need}")
    axis = None if axis is None else checks.unit_vector(label, "axis", axis, d)
    if rows.second is not None and rows.second == (second is None):
        need = "needs second, the axis fixed in b" if second is None else "has no second axis: leave it out"
        raise SceneError(f"{label}: a {kind} joint {need}")
    second = None if second is None else checks.unit_vector(label, "second", second, d)
    if rows.third == (third is None) or rows.third == (which is None):
        need = (
            "needs third, the axis fixed in b, and which, the angle that is meant: 1, 2 or 3"
            if rows.third
            else "has neither third nor which: leave them out"
        )
        raise SceneError(f"{label}: a {kind} joint {need}")
    if which is not None and which not in (1, 2, 3):
        raise SceneError(f"{label}: which must be 1, 2 or 3, got {which!r}")
    third = None if third is None else checks.unit_vector(label, "third", third, d)
    if third is not None:
        _check_gimbal(label, axis, second, third)
    is_swing = rows.coordinate == "swing"
    if second is not None and not is_swing and abs(np.dot(axis, second)) > PERPENDICULAR:
        raise SceneError(
            f"{label}: its axes must be at right angles, got {list(axis)} and {list(second)}; "
            "turn one of them"
        )
    if is_swing:
        cosine = 1.0 if second is None else float(np.clip(np.dot(axis, second), -1.0, 1.0))
        checked = make_swing_laws(label, float(np.arccos(cosine)), laws)
    elif rows.coordinate == "separation":
        checked = make_stretch_laws(label, float(np.linalg.norm(np.subtract(to, at))), laws)
    else:
        checked = make_laws(label, kind, rows.coordinate is not None, laws)
    _refuse_what_does_not_turn(label, d, kind, a, b, checked)
    return Joint(
        kind=kind,
        name=name,
        a=a,
        b=b,
        at=at,
        to=to,
        axis=axis,
        second=second,
        third=third,
        which=which or 0,
        collide=collide,
        laws=checked,
    )


def _check_gimbal(label: str, axis: Vector, second: Vector, third: Vector) -> None:
    """Raise an error if the axes of a gimbal do not define its angles."""
    if abs(np.dot(second, third)) > PERPENDICULAR:
        raise SceneError(
            f"{label}: the second axis must be at right angles to the third, got {list(second)} and "
            f"{list(third)}; turn one of them"
        )
    if np.linalg.norm(np.cross(axis, third)) < LOCKED:
        raise SceneError(
            f"{label}: its first and third axis are in line, {list(axis)} and {list(third)}: it is locked, "
            "and their angles cannot be told apart; place the bodies otherwise"
        )


def _refuse_what_does_not_turn(
    label: str, d: int, kind: str, a: int | SystemEnd | None, b: int | SystemEnd | None, laws: JointLaws
) -> None:
    """Raise an error if a joint needs directions at an end that does not turn."""
    rows, point = KINDS[d][kind], "ball" if d == 3 else "pin"
    still = [end for end in (a, b) if isinstance(end, SystemEnd) and not end.anchor.turns]
    if not still:
        return
    is_first = isinstance(a, SystemEnd) and not a.anchor.turns
    holds = bool(rows.angles) or (not rows.holds and rows.coordinate in ("angle", "swing", "gimbal"))
    along = is_first and (bool(rows.lines) or rows.coordinate == "displacement")
    if holds or along:
        swap = "" if holds else ", or name the other body first: the line is fixed in it"
        raise SceneError(
            f"{label}: a {kind} joint holds directions, and {still[0]} has none: it does not turn. Use a "
            f"{point} or a distance joint{swap}; two or three of them hold a body fast"
        )
    if rows.coordinate == "angle" and laws:
        raise SceneError(
            f"{label}: what acts about an axis needs bodies that turn, and {still[0]} does not; leave out "
            f"the laws of the {kind} joint, or give them to a joint beside it on bodies that turn"
        )
