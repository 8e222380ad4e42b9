"""Keyframes of MJCF: named poses of a robot, as the numbers of all its joints in the order of the file.

A free joint has seven, position and quaternion, a ball joint four, any other coordinate one.
"""

from __future__ import annotations

from collections.abc import Iterable

from clapas.errors import FormatError
from clapas.geometry import rotations
from clapas.scenes.robots.description import Keyframe, Pose, RobotJoint
from clapas.scenes.robots.xml import Node

UNREAD = ("time", "qvel", "act", "ctrl", "mpos", "mquat")  # what has no part in where a robot is placed
TURNED = 1e-9  # of a quaternion: what is less is rounding


def read_keyframes(root: Node, joints: Iterable[RobotJoint], notes: list[str]) -> dict[str, Keyframe]:
    """The keyframes of a file, by name, or by number where they have none.

    What no robot can start from is told in a note: the file may be of use without it.
    """
    found: dict[str, Keyframe] = {}
    for group in root.all("keyframe"):
        for node in group.all("key"):
            node.used.update(UNREAD)
            name = node.text("name", str(len(found)))
            if node.has("qpos"):
                try:
                    found[name] = _keyframe(node, joints)
                except FormatError as error:
                    notes.append(f"keyframe '{name}' is left out: {error}")
    return found


def _keyframe(node: Node, joints: Iterable[RobotJoint]) -> Keyframe:
    values, k = node.numbers("qpos"), 0
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
        elif joint.kind == "ball" and not any(one.kind == "gimbal" for one in joint.along):
            turn, k = values[k : k + 4], k + 4
            if any(abs(part) > TURNED for part in turn[1:]):
                raise node.error(f"the ball joint '{joint.name}' starts turned, which is not supported")
        else:
            for one in joint.along or (joint,):
                if k < len(values):
                    coordinates[one.name] = values[k]
                k += 1
    if k != len(values):
        raise node.error(f"qpos must be {k} numbers, those of all joints, got {len(values)}")
    return Keyframe(coordinates, poses)
