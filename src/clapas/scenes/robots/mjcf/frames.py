"""Angles and poses of MJCF: degrees unless the compiler element sets radians, orientations in five forms.

An element may stand in a ``<frame>``: its pose is meant in that frame, which has no part otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from clapas.geometry import rotations
from clapas.geometry.checks import Vector
from clapas.scenes.robots.description import Pose
from clapas.scenes.robots.xml import Node

SEQUENCES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


@dataclass
class Frames:
    """How a file writes angles: in degrees or not, the order of Euler's; and which frames elements are in."""

    degrees: bool = True
    sequence: str = "xyz"
    around: dict[Node, Pose] = field(default_factory=dict)

    def angle(self, value: float) -> float:
        """An angle of the file (rad)."""
        return math.radians(value) if self.degrees else value

    def put_in(self, frame: Node) -> None:
        """Let all that stands in an element ``<frame>`` be meant in its frame."""
        self.around |= dict.fromkeys(frame.nodes, self.pose(frame))

    def placed(self, node: Node, pose: Pose) -> Pose:
        """A pose that an element gives, seen from its body."""
        return self.around[node] @ pose if node in self.around else pose

    def line(self, node: Node) -> tuple[Vector, Vector]:
        """Point and axis of a joint, seen from its body."""
        point, axis = node.vector("pos", 3, (0.0, 0.0, 0.0)), node.vector("axis", 3, (0.0, 0.0, 1.0))
        around = self.around.get(node)
        return (point, axis) if around is None else (around.at(point), around.along(axis))

    def pose(self, node: Node) -> Pose:
        """Pose of an element, seen from its body."""
        return self.placed(node, self._own(node))

    def _own(self, node: Node) -> Pose:
        """Position and orientation of an element, in any of the five forms of orientation."""
        words = [word for word in ("quat", "axisangle", "euler", "xyaxes", "zaxis") if node.has(word)]
        if len(words) > 1:
            raise node.error(f"one orientation is enough, got {', '.join(words)}")
        position = node.vector("pos", 3, (0.0, 0.0, 0.0))
        read: dict[str, Callable[[Node], Vector]] = {
            "quat": lambda one: one.vector("quat", 4),
            "axisangle": self._axisangle,
            "euler": self._euler,
            "xyaxes": _xyaxes,
            "zaxis": lambda one: tuple(map(float, rotations.up_to(unit(one, one.vector("zaxis", 3))))),
        }
        if not words:
            return Pose(position)
        turn = np.array(read[words[0]](node))
        if not turn.any():
            raise node.error("the quaternion is zero")
        return Pose(position, tuple(map(float, rotations.normalise(turn))))

    def _axisangle(self, node: Node) -> Vector:
        *axis, angle = node.vector("axisangle", 4)
        return tuple(map(float, rotations.from_axis_angle(unit(node, tuple(axis)), self.angle(angle))))

    def _euler(self, node: Node) -> Vector:
        """Rotations one after another: about axes that turn with the body (xyz) or stay (XYZ)."""
        turn = np.array([1.0, 0.0, 0.0, 0.0])
        for letter, angle in zip(self.sequence, node.vector("euler", 3), strict=True):
            one = rotations.from_axis_angle(SEQUENCES[letter.lower()], self.angle(angle))
            turn = rotations.product(turn, one) if letter.islower() else rotations.product(one, turn)
        return tuple(map(float, turn))


def _xyaxes(node: Node) -> Vector:
    values = node.vector("xyaxes", 6)
    x = np.array(unit(node, values[:3]))
    y = np.array(values[3:]) - (x @ np.array(values[3:])) * x
    y = np.array(unit(node, tuple(y)))
    return tuple(map(float, rotations.from_matrix(np.column_stack((x, y, np.cross(x, y))))))


def unit(node: Node, vector: Vector) -> Vector:
    """A direction of unit length."""
    length = math.hypot(*vector)
    if length == 0.0:
        raise node.error("a direction is zero")
    return tuple(x / length for x in vector)


def from_to(node: Node, frames: Frames) -> tuple[Pose, float]:
    """Pose and half length of a shape between two points: its z axis goes from the first to the second."""
    values = np.array(node.vector("fromto", 6))
    start, end = values[:3], values[3:]
    length = float(np.linalg.norm(end - start))
    if length == 0.0:
        raise node.error("fromto gives one point twice")
    turn = rotations.up_to((end - start) / length)
    pose = Pose(tuple(map(float, (start + end) / 2.0)), tuple(map(float, turn)))
    return frames.placed(node, pose), length / 2.0
