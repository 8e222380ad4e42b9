"""URDF, the Unified Robot Description Format of ROS: read into a :class:`Robot`.

Links are joined into a tree. The frame of a child is that of its joint; rotations are given as roll, pitch,
yaw about fixed axes. Reference: wiki.ros.org/urdf/XML.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from clapas.errors import SceneError
from clapas.geometry import rotations
from clapas.geometry.shapes import Box, Capsule, Cylinder, Shape, Sphere
from clapas.scenes.robots.description import Collision, Follower, Inertia, Link, Pose, Robot, RobotJoint
from clapas.scenes.robots.leftovers import notes_of
from clapas.scenes.robots.meshes import convex_parts, find_mesh
from clapas.scenes.robots.xml import Node

KINDS = {
    "revolute": "hinge",
    "continuous": "hinge",
    "prismatic": "slider",
    "fixed": "fixed",
    "floating": "free",
    "planar": "planar",
}
# What has no part in the motion of rigid bodies under given forces.
IGNORED = {
    "<visual>": "looks",
    "<material>": "looks",
    "<transmission>": "how motors are wired",
    "<gazebo>": "settings of another simulator",
    "<mujoco>": "settings of another simulator",
    "<calibration>": "how encoders are set to zero",
    "<safety_controller>": "a controller",
    "<verbose>": "",
    "version of <robot>": "",
}
UNUSED = {
    "velocity of <limit>": "speeds of joints are not limited",
}


def read_urdf(root: Node, packages: Mapping[str, Path], strict: bool = True) -> Robot:
    """The robot of a file whose root element is ``<robot>``."""
    reader = _Reader(packages)
    links = [reader.link(node) for node in root.all("link")]
    joints = [reader.joint(node) for node in root.all("joint")]
    name = root.text("name", root.path.stem)
    if not links:
        raise root.error("a robot needs at least one <link>")
    _refuse_twins(root, [link.name for link in links], "link")
    _refuse_twins(root, [joint.name for joint in joints], "joint")
    return Robot(
        name=name,
        format="URDF",
        links=tuple(links),
        joints=_tree(root, links, joints),
        followers=tuple(reader.followers),
        notes=(*reader.notes, *notes_of(root, IGNORED, UNUSED, strict)),
    )


class _Reader:
    def __init__(self, packages: Mapping[str, Path]) -> None:
        self.packages = packages
        self.notes: list[str] = []
        self.followers: list[Follower] = []

    def link(self, node: Node) -> Link:
        inertial = node.one("inertial")
        collisions = [one for shape in node.all("collision") for one in self.collisions(shape)]
        inertia = None if inertial is None else _inertia(inertial)
        return Link(name=node.text("name"), inertia=inertia, collisions=tuple(collisions), place=node.place)

    def collisions(self, node: Node) -> list[Collision]:
        node.used.add("name")
        pose, geometry = _origin(node), node.need("geometry")
        found = geometry.all("box", "sphere", "cylinder", "capsule", "mesh")
        if len(found) != 1:
            others = ", ".join(f"<{one.tag}>" for one in geometry.nodes) or "nothing"
            raise geometry.error(f"expected one of box, sphere, cylinder, capsule, mesh; got {others}")
        return [Collision(shape, pose) for shape in self.shapes(found[0])]

    def shapes(self, node: Node) -> list[Shape]:
        try:
            match node.tag:
                case "box":
                    return [Box(node.vector("size", 3))]
                case "sphere":
                    return [Sphere(node.number("radius"))]
                case "cylinder":
                    return [Cylinder(node.number("radius"), node.number("length"))]
                case "capsule":
                    return [Capsule(node.number("radius"), node.number("length"))]
            path = find_mesh(node, node.text("filename"), self.packages)
            parts, notes = convex_parts(node, path, node.vector("scale", 3, (1.0, 1.0, 1.0)))
        except SceneError as error:
            raise node.error(str(error)) from None
        self.notes += notes
        return list(parts)

    def joint(self, node: Node) -> RobotJoint:
        name, word = node.text("name"), node.choice("type", list(KINDS))
        axis = node.one("axis")
        limit, dynamics, mimic = node.one("limit"), node.one("dynamics"), node.one("mimic")
        direction = (1.0, 0.0, 0.0) if axis is None else axis.vector("xyz", 3)
        if not any(direction):
            raise (axis or node).error("the axis is zero; it must be a direction")
        if mimic is not None:
            self.followers.append(
                Follower(
                    follower=name,
                    leader=mimic.text("joint"),
                    ratio=mimic.number("multiplier", 1.0),
                    offset=mimic.number("offset", 0.0),
                )
            )
        limits = None
        if word in ("revolute", "prismatic"):
            if limit is None:
                raise node.error(f"a {word} joint needs <limit lower upper>; a continuous one has none")
            limits = (limit.number("lower", 0.0), limit.number("upper", 0.0))
            if limits[0] > limits[1]:
                raise limit.error(f"lower, {limits[0]:g}, is above upper, {limits[1]:g}")
        elif limit is not None:
            limit.used |= {"lower", "upper"}
        return RobotJoint(
            name=name,
            kind=KINDS[word],
            parent=node.need("parent").text("link"),
            child=node.need("child").text("link"),
            pose=_origin(node),
            axis=direction,
            limits=limits,
            damping=0.0 if dynamics is None else dynamics.number("damping", 0.0),
            friction=0.0 if dynamics is None else dynamics.number("friction", 0.0),
            effort=None if limit is None or not limit.has("effort") else limit.number("effort"),
            place=node.place,
        )


def _inertia(node: Node) -> Inertia | None:
    """Mass properties in the frame of the link; None for a mass of zero."""
    pose, mass = _origin(node), node.need("mass")
    amount, tensor = mass.number("value"), node.one("inertia")
    if amount < 0.0:
        raise mass.error(f"value must be at least 0, got {amount:g}")
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    values = [0.0] * 6
    if tensor is not None:
        values = [tensor.number(name, 0.0 if name in ("ixy", "ixz", "iyz") else None) for name in names]
    if amount == 0.0:
        return None
    if tensor is None:
        raise node.error("it needs an element <inertia>: ixx, iyy, izz (kg·m²)")
    xx, xy, xz, yy, yz, zz = values
    return Inertia(amount, (0.0, 0.0, 0.0), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])).seen_from(
        pose
    )


def _origin(node: Node) -> Pose:
    """The element ``<origin xyz rpy>`` of another; straight at the origin without."""
    origin = node.one("origin")
    if origin is None:
        return Pose()
    roll, pitch, yaw = origin.vector("rpy", 3, (0.0, 0.0, 0.0))
    turn = np.array([1.0, 0.0, 0.0, 0.0])
    for axis, angle in zip(np.eye(3), (roll, pitch, yaw), strict=True):  # about axes that stay
        turn = rotations.product(rotations.from_axis_angle(axis, angle), turn)
    return Pose(origin.vector("xyz", 3, (0.0, 0.0, 0.0)), tuple(map(float, turn)))


def _refuse_twins(root: Node, names: list[str], word: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise root.error(f"two {word}s are called '{name}'; names are unique")


def _tree(root: Node, links: list[Link], joints: list[RobotJoint]) -> tuple[RobotJoint, ...]:
    """The joints, parents first; refuses what is no tree with one link at the top."""
    names = [link.name for link in links]
    above: dict[str, RobotJoint] = {}
    for joint in joints:
        for link in (joint.parent, joint.child):
            if link not in names:
                raise root.error(f"joint '{joint.name}' names the link '{link}', which is not in the file")
        if joint.child in above:
            raise root.error(
                f"link '{joint.child}' is the child of two joints, '{above[joint.child].name}' and "
                f"'{joint.name}': URDF knows trees only"
            )
        above[joint.child] = joint
    tops = [name for name in names if name not in above]
    if len(tops) != 1:
        found = "a loop of joints" if not tops else "links that nothing joins: " + ", ".join(tops)
        raise root.error(f"the links must be one tree, with one link at the top; got {found}")
    order, reached = [], tops
    while reached:
        found_joints = [joint for joint in joints if joint.parent in reached]
        order += found_joints
        reached = [joint.child for joint in found_joints]
    if len(order) != len(joints):
        raise root.error("the links must be one tree, with one link at the top; got a loop of joints")
    return tuple(order)
