"""Velocities of the bodies of a robot from the rates of its joints, from each joint to the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clapas.geometry.checks import Vector
from clapas.scenes.robots.description import Keyframe, Pose, Robot, RobotJoint
from clapas.typing import Array

ZERO = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Twist:
    """Motion of a rigid body: velocity of its point at the origin of the world, and angular velocity."""

    velocity: Array
    turning: Array

    def then(self, velocity: Vector = ZERO, turning: Vector = ZERO, about: Vector = ZERO) -> Twist:
        """The same with a velocity, and a rotation about a point, on top."""
        return Twist(self.velocity + velocity + np.cross(about, turning), self.turning + turning)

    def at(self, point: Vector) -> Vector:
        """Velocity of its point there."""
        return tuple(map(float, self.velocity + np.cross(self.turning, point)))


def twists_of(
    robot: Robot,
    key: Keyframe,
    base: Pose,
    body_of: Mapping[str, str],
    frames_of: Callable[[RobotJoint], Sequence[Pose]],
) -> dict[str, Twist]:
    """Motions of the bodies of a robot at a keyframe, by name.

    Parameters
    ----------
    robot, key : Robot, Keyframe
        The robot, and the rates.
    base : Pose
        Of the robot in the world.
    body_of : mapping
        Names of the bodies by those of their links.
    frames_of : callable
        Frames of the child of a joint in the world before the first of its coordinates has moved it, before
        the next, and after the last.
    """
    twists: dict[str, Twist] = {}
    for joint in robot.joints:
        if joint.kind == "fixed":
            continue
        twist = twists.get(body_of[joint.parent], Twist(np.zeros(3), np.zeros(3)))
        frames = frames_of(joint)
        frame = frames[-1]
        given = key.twists.get(joint.name)
        if given and joint.kind == "free":
            twist = twist.then(base.along(given[:3]), frame.along(given[3:]), frame.position)
        elif given:
            twist = twist.then(turning=frame.along(given), about=frame.at(joint.anchor))
        # The axis of a coordinate is turned by those after it, not by itself.
        for one, after in [(joint, frame), *zip(joint.along, frames[1:], strict=True)]:
            rate = key.rates.get(one.name, 0.0) / float(np.linalg.norm(one.own_axis))
            motion = after.along(tuple(rate * x for x in one.own_axis))
            if one.kind in ("slider", "travel"):
                twist = twist.then(motion)
            else:
                twist = twist.then(turning=motion, about=after.at(one.anchor))
        twists[body_of[joint.child]] = twist
    return twists
