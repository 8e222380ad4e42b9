"""Joints of MJCF: each in the body it moves, several of them as one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from clapas.scenes.robots.description import WORLD, Link, Pose, RobotJoint
from clapas.scenes.robots.mjcf.frames import Frames
from clapas.scenes.robots.xml import Node
from clapas.typing import Array

LIGHT = 1e-7  # of the inertia of a body: that of links between its joints; pivots of 1e-9 are left out
RIGHT = 1e-9  # cosine up to which two axes are at right angles, or aligned


def read_joint(
    node: Node, name: str, parent: str, pose: Pose, number: int, frames: Frames, notes: list[str]
) -> RobotJoint:
    """A joint of a body, the parent and the pose in which it stands; ``number`` among its joints."""
    kind = node.choice("type", ("hinge", "slide", "ball", "free"), "hinge")
    turns = kind == "hinge"
    label = node.text("name", f"{name} {kind}" + (f" {number}" if number else ""))
    anchor, axis = frames.line(node)
    if kind in ("hinge", "slide") and not any(axis):
        raise node.error("the axis is zero; it must be a direction")
    limited = node.flag("limited", node.has("range"))
    node.used.add("range")
    limits = None
    if limited:
        low, high = (
            frames.angle(value) if turns or kind == "ball" else value for value in node.vector("range", 2)
        )
        if kind in ("ball", "free"):
            raise node.error(f"the range of a {kind} joint is not supported; remove it")
        if low >= high:
            raise node.error(f"range must be a lower and an upper limit, got {low:g} and {high:g}")
        limits = (low, high)
    scale = frames.angle if turns else float
    stiffness, rest = node.number("stiffness", 0.0), scale(node.number("springref", 0.0))
    zero = scale(node.number("ref", 0.0))
    damping, friction = node.number("damping", 0.0), node.number("frictionloss", 0.0)
    armature = node.number("armature", 0.0)
    node.used |= {"solreflimit", "solimplimit", "margin"} if limits is None else set()
    if kind == "free" and parent != WORLD:
        raise node.error("a free joint stands in a body of <worldbody>")
    left_out = {"stiffness": stiffness} if kind == "ball" else {}
    if kind == "free":
        left_out = {"stiffness": stiffness, "damping": damping, "frictionloss": friction}
        left_out["armature"] = armature
    notes += [
        f"{word} of the {kind} joint '{label}' is left out: it has no single coordinate"
        for word, value in left_out.items()
        if value
    ]
    joint = RobotJoint(
        name=label,
        kind={"slide": "slider"}.get(kind, kind),
        parent=parent,
        child=name,
        pose=pose,
        anchor=anchor,
        axis=axis,
        zero=zero,
        limits=limits,
        damping=damping,
        friction=friction,
        armature=armature,
        spring=(stiffness, rest) if stiffness else None,
        effort=largest(node, "actuatorfrcrange", "actuatorfrclimited"),
        place=node.place,
    )
    return resisting(joint) if kind == "ball" and (damping or friction or armature) else joint


def resisting(ball: RobotJoint) -> RobotJoint:
    """A ball joint with its damping, friction and armature, which act about three axes of the child."""
    turn = replace(ball, kind="turn", is_exchanged=True)
    axes = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
    turns = tuple(replace(turn, name=f"{ball.name} {name}", axis=axis) for name, axis in axes.items())
    return replace(ball, damping=0.0, friction=0.0, armature=0.0, along=turns)


def largest(node: Node, name: str, flag: str) -> float | None:
    """The largest effort, from a symmetric range."""
    found = bounds(node, name, flag)
    if found is None:
        return None
    low, high = found
    if not math.isclose(low, -high) or high <= 0.0:
        raise node.error(f"{name} must be symmetric about 0, got {low:g} to {high:g}")
    return high


def bounds(node: Node, name: str, flag: str) -> tuple[float, float] | None:
    """A range that may be switched off by a flag; None if it is, or not given."""
    if not node.flag(flag, node.has(name)):
        node.used.add(name)
        return None
    low, high = node.vector(name, 2)
    if low > high:
        raise node.error(f"{name} must be a lower and an upper bound, got {low:g} and {high:g}")
    return low, high


def together(joints: list[RobotJoint], notes: list[str]) -> RobotJoint | None:
    """Several joints of one body as one that holds it, with a coordinate for each; None for other joints.

    They become a cylindrical, a universal, a planar or a ball joint.
    """
    kinds = sorted(joint.kind for joint in joints)
    axes = [np.array(joint.axis) / np.linalg.norm(joint.axis) for joint in joints]
    if sliding := sliding_hinge(joints, kinds, axes):
        return sliding
    first, from_zero = joints[0], not any(joint.zero for joint in joints)
    name = " ".join(joint.name for joint in joints)
    same = all(np.allclose(joint.anchor, first.anchor) for joint in joints)
    if from_zero and kinds == ["hinge", "hinge"] and abs(axes[0] @ axes[1]) < RIGHT and same:
        # The first joint is nearer to the parent: its axis is fixed in it, that of the second in the child.
        one, two = (coordinate(joint) for joint in joints)
        both = (replace(one, second=two.axis), replace(two, second=one.axis, is_exchanged=True))
        return replace(bare(first), kind="universal", second=joints[1].axis, name=name, along=both)
    in_row = len(axes) == 3 and max(abs(axes[0] @ axes[1]), abs(axes[1] @ axes[2])) < RIGHT
    if from_zero and kinds == ["hinge"] * 3 and in_row and same and abs(axes[0] @ axes[2]) < 1.0 - RIGHT:
        axes_of_gimbal = dict(zip(("axis", "second", "third"), (joint.axis for joint in joints), strict=True))
        along = tuple(
            replace(joint, kind="gimbal", which=k + 1, **axes_of_gimbal)  # type: ignore[arg-type]
            for k, joint in enumerate(joints)
        )
        low, high = free_of_lock(axes)
        if joints[1].limits is None or not (low < joints[1].limits[0] and joints[1].limits[1] < high):
            notes.append(
                f"joint '{joints[1].name}' stands between two others: with them it locks at "
                f"{np.degrees(low):.0f}° and {np.degrees(high):.0f}°, beyond which angles are not followed; "
                "give it a range within"
            )
        return replace(bare(first), kind="ball", name=name, along=along)
    return None


def in_a_row(joints: list[RobotJoint], body: Link) -> tuple[list[RobotJoint], list[Link]]:
    """Several joints of one body, one after the other, with a light link between each and the next.

    Rigid bodies need mass. That of the links between is the inertia of the body, times a factor far below the
    error of a time step.
    """
    assert body.inertia is not None
    inertia = replace(body.inertia, mass=LIGHT * body.inertia.mass, tensor=LIGHT * body.inertia.tensor)
    names = [f"{body.name} after {joint.name}" for joint in joints[:-1]]
    links = [Link(name=name, inertia=inertia, place=body.place) for name in names]
    first, *others = joints
    parents, children = [first.parent, *names], [*names, body.name]
    poses = [first.pose, *(Pose() for _ in others)]
    return [
        replace(joint, parent=parent, child=child, pose=pose)
        for joint, parent, child, pose in zip(joints, parents, children, poses, strict=True)
    ], links


def sliding_hinge(joints: list[RobotJoint], kinds: list[str], axes: list[Array]) -> RobotJoint | None:
    """A hinge that slides along its axis, or in the plane across it; None for other joints.

    Slides turn nothing, so that it does not matter where they stand: the child turns about the point of the
    hinge, and how far this point has gone is what its slides measure. Slides before the hinge keep the
    directions they have in the parent, slides after it turn with the child. A slide of each sort would make
    two coordinates that one displacement does not tell apart.
    """
    if kinds not in (["hinge", "slider"], ["hinge", "slider", "slider"]):
        return None
    hinge = next(k for k, joint in enumerate(joints) if joint.kind == "hinge")
    one, *others = (axis for k, axis in enumerate(axes) if k != hinge)
    if is_planar := bool(others):
        pairs = (one, others[0]), (one, axes[hinge]), (others[0], axes[hinge])
        is_possible = hinge != 1 and all(abs(a @ b) < RIGHT for a, b in pairs)
    else:
        is_possible = bool(abs(one @ axes[hinge]) > 1.0 - RIGHT)
    if not is_possible:
        return None
    along = tuple(
        replace(coordinate(joint), anchor=joints[hinge].anchor, is_exchanged=is_planar and k > hinge)
        for k, joint in enumerate(joints)
    )
    kind = "planar" if is_planar else "cylindrical"
    name = " ".join(joint.name for joint in joints)
    return replace(bare(joints[hinge]), kind=kind, name=name, zero=0.0, along=along)


def free_of_lock(axes: list[Array]) -> tuple[float, float]:
    """Angles (rad) of the second of three hinges between which the others are not in line."""
    one, two, three = axes
    start = float(np.arctan2(two @ np.cross(one, three), one @ three))
    return (-start, math.pi - start) if start > 0.0 else (-math.pi - start, -start)


def coordinate(joint: RobotJoint) -> RobotJoint:
    """A joint as a coordinate beside the one that holds the body."""
    return replace(joint, kind="turn" if joint.kind == "hinge" else "travel")


def bare(joint: RobotJoint) -> RobotJoint:
    """A joint without laws."""
    return replace(joint, limits=None, damping=0.0, friction=0.0, armature=0.0, spring=None, effort=None)
