"""The world of a file that is loaded several times: floors and walls that coincide are added once.

Two planes in one place would double the contacts of all that stands on them: as many unknowns more for the
same motion. A plane has no bounds, so that it coincides with itself after a move along it; other shapes only
where they were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clapas.geometry.shapes import Plane, Shape
from clapas.scenes.body import Body, Wall
from clapas.scenes.robots.description import Pose, Robot

if TYPE_CHECKING:
    from clapas.scenes.scene import Scene

SAME = 1e-12  # of directions and, relative to the distance from the origin, of places: rounding of poses


def add_to_world(
    scene: Scene, robot: Robot, shape: Shape, pose: Pose, name: str, material: dict[str, Any]
) -> int:
    """Number of a wall of the world of a robot: the one that its file brought there before, or a new one."""
    added = scene.add(shape, pose.position, pose.orientation, fixed=True, name=name, **material)
    new = scene.bodies[added]
    for number, path in scene.worlds.items():
        if path == robot.path and coincide(scene.bodies[number], new):
            del scene.bodies[added], scene.numbers[name]
            return number
    if robot.path is not None:
        scene.worlds[added] = robot.path
    return added


def coincide(one: Body | Wall, other: Body | Wall) -> bool:
    """Whether two walls are of the same material and fill the same space."""
    if one.shape != other.shape or one.material != other.material:
        return False
    a, b = Pose(one.position, one.orientation), Pose(other.position, other.orientation)
    rounding = SAME * (1.0 + float(np.linalg.norm((a.position, b.position))))
    between = np.subtract(b.position, a.position)
    if isinstance(one.shape, Plane):
        normal, turned = (np.array(pose.along(one.shape.normal)) for pose in (a, b))
        return bool(np.abs(turned - normal).max() <= SAME and abs(normal @ between) <= rounding)
    turn = 1.0 - abs(np.dot(a.orientation, b.orientation))
    return bool(np.abs(between).max() <= rounding and turn <= SAME)
