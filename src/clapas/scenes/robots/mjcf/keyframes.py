"""Keyframes of MJCF: named poses of a robot, as the numbers of all its joints in the order of the file.

A free joint has seven, position and quaternion, a ball joint four, any other coordinate one. Its rates, where
they are given, are six, the velocity of the frame of the body in the world and the angular velocity in this
frame, three, an angular velocity in the frame of the body, or one. An actuator has one control.
"""

from __future__ import annotations

from collections.abc import Sequence

from clapas.errors import FormatError
from clapas.geometry import rotations
from clapas.geometry.checks import Vector
from clapas.scenes.robots.description import Actuator, Keyframe, Pose, RobotJoint
from clapas.scenes.robots.xml import Node

UNREAD = ("time", "act", "mpos", "mquat")  # what has no part in where a robot is placed
TURNED = 1e-9  # of a quaternion: what is less is rounding


def read_keyframes(
    root: Node, joints: Sequence[RobotJoint], controls: Sequence[Actuator | None], notes: list[str]
) -> dict[str, Keyframe]:
    """The keyframes of a file, by name, or by number where they have none.

    ``controls`` are the actuators of the file, None for each that is left out. What no robot can start from
    is told in a note: the file may be of use without it.
    """
    found: dict[str, Keyframe] = {}
    for group in root.all("keyframe"):
        for node in group.all("key"):
            node.used.update(UNREAD)
            name = node.text("name", str(len(found)))
            if any(node.has(word) for word in ("qpos", "qvel", "ctrl")):
                try:
                    coordinates, poses = _places(node, joints)
                    rates, twists = _rates(node, joints)
                    targets = _targets(node, controls)
                    found[name] = Keyframe(coordinates, poses, rates, twists, targets)
                except FormatError as error:
                    notes.append(f"keyframe '{name}' is left out: {error}")
    return found


def _places(node: Node, joints: Sequence[RobotJoint]) -> tuple[dict[str, float], dict[str, Pose]]:
    """Coordinates of joints, and poses of the links of free joints."""
    values, k = node.numbers("qpos", ()), 0
    coordinates: dict[str, float] = {}
    poses: dict[str, Pose] = {}
    for joint in joints:
        if joint.kind == "fixed":
            continue
        if joint.kind == "free":
            place, turn, k = values[k : k + 3], values[k + 3 : k + 7], k + 7
            if len(turn) == 4 and not any(turn):
                raise node.error(f"the quaternion of the free joint '{joint.name}' is zero")
            if len(turn) == 4:
                poses[joint.name] = Pose(place, tuple(map(float, rotations.normalise(turn))))
        elif _is_ball(joint):
            turn, k = values[k : k + 4], k + 4
            if any(abs(part) > TURNED for part in turn[1:]):
                raise node.error(f"the ball joint '{joint.name}' starts turned, which is not supported")
        else:
            for one in joint.along or (joint,):
                if k < len(values):
                    coordinates[one.name] = values[k]
                k += 1
    if node.has("qpos") and k != len(values):
        raise node.error(f"qpos must be {k} numbers, those of all joints, got {len(values)}")
    return coordinates, poses


def _rates(node: Node, joints: Sequence[RobotJoint]) -> tuple[dict[str, float], dict[str, Vector]]:
    """Rates of coordinates, and the several numbers of free and ball joints."""
    values, k = node.numbers("qvel", ()), 0
    rates: dict[str, float] = {}
    twists: dict[str, Vector] = {}
    for joint in joints:
        size = {"free": 6, "fixed": 0}.get(joint.kind, 3 if _is_ball(joint) else 1)
        if size == 1:
            names = [one.name for one in joint.along or (joint,)]
            rates |= dict(zip(names, values[k:], strict=False))
            k += len(names)
            continue
        if size:
            twists[joint.name] = values[k : k + size]
        k += size
    if not node.has("qvel"):
        return {}, {}
    if k != len(values):
        raise node.error(f"qvel must be {k} numbers, those of all joints, got {len(values)}")
    return rates, twists


def _targets(node: Node, controls: Sequence[Actuator | None]) -> dict[str, float]:
    """Targets of the motors, by the names of their joints."""
    values = node.numbers("ctrl", (0.0,) * len(controls))
    if len(values) != len(controls):
        raise node.error(f"ctrl must be {len(controls)} numbers, those of all actuators, got {len(values)}")
    both = zip(controls, values, strict=True)
    return {one.joint: one.scale * value for one, value in both if one is not None}


def _is_ball(joint: RobotJoint) -> bool:
    """Whether it is a ball joint of the file, and not three hinges."""
    return joint.kind == "ball" and not any(one.kind == "gimbal" for one in joint.along)
