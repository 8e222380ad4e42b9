"""Joints in a scene, joints that follow others, and pairs of bodies that never touch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from clapas.bodies.joined import JoinedBodies
from clapas.dynamics.joints.definition import WORLD, Joint, SystemEnd, make_joint
from clapas.dynamics.joints.laws import Mimic, Motor
from clapas.errors import SceneError, known_keywords
from clapas.geometry import checks

if TYPE_CHECKING:
    from clapas.scenes.scene import Scene


@known_keywords
def join(
    scene: Scene,
    kind: str,
    a: int | str | None,
    b: int | str | None = None,
    *,
    at: Sequence[float] | None = None,
    to: Sequence[float] | None = None,
    axis: Sequence[float] | None = None,
    second: Sequence[float] | None = None,
    third: Sequence[float] | None = None,
    which: int | None = None,
    collide: bool = False,
    name: str | None = None,
    start: float = 0.0,
    limits: tuple[float | None, float | None] | None = None,
    restitution: float = 0.0,
    friction: float = 0.0,
    damping: float = 0.0,
    armature: float = 0.0,
    spring: tuple[float, float] | None = None,
    motor: Motor | None = None,
) -> Joint:
    """Join two bodies, or a body and the world; returns the joint.

    Bodies are joined where they are in the scene. Walls, fixed and driven bodies may be joined to bodies
    that move. Joints hold exactly, together with the contacts; loops may be closed, and rows may be
    redundant. See :mod:`clapas.dynamics.joints.definition` for what each kind leaves free.

    Parameters
    ----------
    kind : str
        In 3-D "ball", "hinge", "universal", "slider", "cylindrical", "planar", "fixed" or "distance"; in
        2-D "pin", "slot", "slider", "weld" or "distance". A "turn", a "travel", a "stretch" and, in 3-D, a
        "swing" or a "gimbal" hold nothing: each is a coordinate between two bodies, for laws on joints that
        leave several. A stretch is the distance of two points: a rope (limits), a spring, a winch (motor).
    a, b : int, str or None
        Numbers or names of the bodies; None or "world" for the world. The name of a system stands for what it
        has at the point of the joint: a node of a truss or of an elastic body, a point of a bar, a section of
        a rod, a link. Nodes do not turn: they take ball, pin and distance joints.
    at : d floats
        The point of the joint, in the world (m); for a distance or a stretch, its end on a.
    to : d floats, optional
        For a distance or a stretch, its other end, on b (m).
    axis : d floats, optional
        Direction in the world of the axis, or of the line, fixed in a. Any length but zero.
    second : 3 floats, optional
        For a universal joint, the axis fixed in b, at right angles to the first. For a turn, a direction
        of b that stays across the axis; for a swing, the axis of b if it is not aligned at the start. For a
        gimbal, the axis in the middle, at right angles to the others.
    third : 3 floats, optional
        For a gimbal, the axis fixed in b.
    which : 1, 2 or 3, optional
        For a gimbal, the axis whose angle is the coordinate: b turns about the first, then about the second,
        then about the third.
    collide : bool
        Whether the two bodies may touch each other; by default they pass through one another.
    name : str, optional
        A name no other joint has; by default the kind and a number.
    start : float
        The coordinate where the bodies are placed (rad for a hinge or a pin, m for a slider, a slot or a
        cylindrical joint). What follows acts along it: see :mod:`clapas.dynamics.joints.laws`.
    limits : (lower, upper), optional
        Between which it stays; None for no limit on one side.
    restitution : float
        Of its limits, in [0, 1].
    friction : float
        Largest force of dry friction (N·m, N): below it the joint sticks.
    damping : float
        Viscous damping (N·m·s/rad, N·s/m).
    armature : float
        Inertia of a rotor that turns with it through gears, seen at the joint: that of the rotor times the
        square of the gear ratio (kg·m², kg).
    spring : (stiffness, rest), optional
        Spring (N·m/rad, N/m) and the coordinate at which it is at rest.
    motor : VelocityMotor, TorqueMotor or Servo, optional
        What drives it.

    Examples
    --------
    A door of 1 m that turns about a vertical axis:

    >>> from clapas import Scene
    >>> from clapas.geometry.shapes import Box
    >>> scene = Scene()
    >>> door = scene.add(Box((1, 0.05, 2)), (0.5, 0, 0), mass=20, name="door")
    >>> scene.join("hinge", "door", at=(0, 0, 0), axis=(0, 0, 1)).name
    'hinge 0'
    """
    name = f"{kind} {len(scene.joints)}" if name is None else checks.word("name of a joint", name)
    if any(other.name == name for other in scene.joints):
        raise SceneError(f"joint '{name}': another joint has this name; names are unique")
    try:
        first, second_body = _end(scene, a, at), _end(scene, b, at if to is None else to)
    except SceneError as error:
        raise SceneError(f"joint '{name}': {error}") from None
    joint = make_joint(
        scene.d,
        kind,
        first,
        second_body,
        name=name,
        at=at,
        to=to,
        axis=axis,
        second=second,
        third=third,
        which=which,
        collide=collide,
        start=start,
        limits=limits,
        restitution=restitution,
        friction=friction,
        damping=damping,
        armature=armature,
        spring=spring,
        motor=motor,
    )
    scene.joints.append(joint)
    return joint


@known_keywords
def mimic(scene: Scene, follower: str, leader: str, *, ratio: float = 1.0, offset: float = 0.0) -> Mimic:
    """Let the coordinate of a joint follow that of another: gears, the two fingers of a gripper.

    follower = ratio · leader + offset holds exactly, and both joints feel each other. Both have a
    coordinate, an angle (rad) or a displacement (m); the ratio may turn one into the other.

    Examples
    --------
    >>> from clapas import Scene
    >>> from clapas.geometry.shapes import Box
    >>> scene = Scene(gravity=(0, 0, 0))
    >>> for k in (0, 1):
    ...     wheel = scene.add(Box((0.1, 0.1, 0.1)), (k, 0, 0), mass=1)
    ...     joint = scene.join("hinge", wheel, at=(k, 0, 0), axis=(0, 0, 1), name=f"wheel {k}")
    >>> scene.mimic("wheel 1", "wheel 0", ratio=-2.0).ratio
    -2.0
    """
    label = f"mimic '{follower}'"
    known = {joint.name: joint for joint in scene.joints}
    for name in (follower, leader):
        if name not in known:
            hint = checks.did_you_mean(str(name), known)
            raise SceneError(f"{label}: no joint is called '{name}'{hint}; join it first")
        if known[name].rows.coordinate is None:
            raise SceneError(
                f"{label}: '{name}' is a {known[name].kind} joint, which has no coordinate of its own; "
                "hinge, slider and cylindrical joints have one, in 2-D pin, slot and slider"
            )
    if follower == leader:
        raise SceneError(f"{label}: it would follow itself; name two joints")
    ratio = checks.number(label, "ratio", ratio)
    offset = checks.number(label, "offset", offset)
    expected = ratio * known[leader].laws.start + offset
    if abs(known[follower].laws.start - expected) > checks.ALREADY_UNIT * (1.0 + abs(expected)):
        raise SceneError(
            f"{label}: it starts at {known[follower].laws.start}, but ratio {ratio} and offset {offset} "
            f"put it at {expected}; change the offset, or the start of a joint"
        )
    gear = Mimic(follower, leader, ratio, offset)
    scene.mimics.append(gear)
    return gear


def _end(scene: Scene, body: int | str | None, point: Sequence[float] | None) -> int | SystemEnd | None:
    """Body number at the end of a joint, or the anchor on a system; None for the world."""
    if body is None or (body == WORLD and WORLD not in scene.numbers):
        return None
    by_name = {system.name: k for k, system in enumerate(scene.systems)}
    if isinstance(body, str) and body in by_name:
        if body in scene.numbers:
            raise SceneError(
                f"'{body}' is the name of a system and of a body; rename one of them, or give the body by "
                f"its number, {scene.numbers[body]}"
            )
        return _system_end(scene, by_name[body], None, point)
    if isinstance(body, str) and body not in scene.numbers:
        hint = checks.did_you_mean(body, [*scene.numbers, *by_name])
        raise SceneError(f"no body or system is called '{body}'{hint}")
    number = scene.number(body)
    for k, system in enumerate(scene.systems):
        if number in system.rows:
            return _system_end(scene, k, number, point)
    return number


def _system_end(scene: Scene, k: int, body: int | None, point: Sequence[float] | None) -> SystemEnd:
    """The anchor of a system at a point, on the carrier of ``body`` if it is not None."""
    system = scene.systems[k]
    if not isinstance(system.bodies, JoinedBodies):
        raise SceneError(
            f"'{system.name}' is of the kind '{system.bodies.word}', which joints cannot hold: it has no "
            "method 'anchor'; see clapas.bodies.joined.JoinedBodies"
        )
    if point is None:
        raise SceneError("at is missing: give the point of the joint, in the world (m)")
    where = np.array(checks.vector(f"the end on '{system.name}'", "its point", point, scene.d))
    carrier = None
    if body is not None:
        carrier = int(system.carrier[list(system.rows).index(body)])
    try:
        anchor = system.bodies.anchor(where, carrier)
    except SceneError as error:
        raise SceneError(f"'{system.name}': {error}") from None
    return SystemEnd(k, system.name, body, anchor)


@known_keywords
def ignore(scene: Scene, a: int | str, b: int | str) -> None:
    """Let two bodies pass through each other: contacts between them are ignored.

    Joined bodies do so already, unless their joint says ``collide=True``.
    """
    first, second = sorted((scene.number(a), scene.number(b)))
    if first == second:
        raise SceneError(f"ignore: body {first} twice; name two bodies")
    scene.ignored.add((first, second))
