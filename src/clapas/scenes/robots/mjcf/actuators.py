"""Actuators of MJCF, which act on joints and on tendons through a gear.

What an actuator exerts is gain · control + b0 + b1 · gear · x + b2 · gear · x', times the gear, for a
coordinate x. Without the terms in x it is a motor with a torque, with b1 < 0 a servo of stiffness −gear² b1
and damping −gear² b2. Its target is the coordinate where it exerts nothing, whatever gain and control are.

A damping ratio ζ stands for the damping 2 ζ √(k I), where I is the inertia of all that the joint moves, seen
at its coordinate in the reference pose: what the diagonal of the mass matrix has there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clapas.scenes.robots.description import Actuator, Link, Pose, RobotJoint, Stretch
from clapas.scenes.robots.mjcf.joints import bounds, largest
from clapas.scenes.robots.xml import Node

KINDS = ("motor", "position", "velocity", "general")
TARGETS = {"torque": "effort", "servo": "coordinate", "velocity": "rate"}
MOST_NAMED = 4  # joints in a note
ADVICE = "drive the joint by a motor of your own: motors={'%s': …} of load_robot, or its effort in the loop"


def read_actuator(
    node: Node, joints: Sequence[RobotJoint], tendons: Sequence[Stretch], others: Sequence[Actuator]
) -> Actuator:
    """A motor on one of the joints or tendons, that none of the other actuators moves."""
    word = "tendon" if node.has("tendon") else "joint"
    if not node.has(word):
        raise node.error("actuators act on joints and tendons: it needs the attribute 'joint' or 'tendon'")
    joint, known = node.text(word), tendons if word == "tendon" else joints
    driven = next((one for one in known if one.name == joint), None)
    if driven is None:
        what = "tendon between two sites called" if word == "tendon" else "joint"
        raise node.error(f"there is no {what} '{joint}'")
    gears = node.numbers("gear", (1.0,))
    if not gears or gears[0] == 0.0 or any(gears[1:]):
        raise node.error(f"gear must be one number that is not zero, got {list(gears)}")
    gear = gears[0]
    gain, bias, ratio = _terms(node, joint)
    if ratio and isinstance(driven, Stretch):
        raise node.error("a damping ratio along a tendon is not supported; give the damping, kv")
    kind = "servo" if bias[1] else "velocity" if bias[2] else "torque"
    # What the target is per unit of control.
    scale = gear * gain if kind == "torque" else gain / (gear * -(bias[1] or bias[2]))
    least, bound = _efforts(node, driven, gear, scale if kind == "torque" else None)
    name = node.text("name", f"{joint} {kind}")
    if any(other.joint == joint for other in others):
        raise node.error(f"{word} '{joint}' has another actuator; one is allowed")
    return Actuator(
        name=name,
        joint=joint,
        kind=kind,
        stiffness=-(gear**2) * bias[1],
        damping=-(gear**2) * bias[2] if kind == "servo" else 0.0,
        damping_ratio=ratio,
        bound=bound,
        least=least,
        scale=scale,
    )


def _efforts(
    node: Node, joint: RobotJoint | Stretch, gear: float, scale: float | None
) -> tuple[float | None, float | None]:
    """The least effort, if it is not minus the largest, and the largest; None where there is none.

    Efforts of a torque are also cut where its control is; ``scale`` is the effort per unit of it.
    """
    most = math.inf if joint.effort is None else joint.effort
    if scale is None:
        force = largest(node, "forcerange", "forcelimited")
        most = min(most, math.inf if force is None else abs(gear) * force)
        return None, most if most < math.inf else None
    low, high = -most, most
    for name, flag, factor in (("forcerange", "forcelimited", gear), ("ctrlrange", "ctrllimited", scale)):
        ends = bounds(node, name, flag)
        if ends is not None:
            first, last = sorted(factor * end for end in ends)
            low, high = max(low, first), min(high, last)
            if low > high:
                raise node.error(f"{name} leaves no effort that the other ranges allow")
    return None if low == -high else low, None if high == math.inf else high


def notes_on(actuators: Sequence[Actuator]) -> list[str]:
    """What is to be known of actuators, one line for all of a sort."""
    notes, meanings = [], dict[str, list[str]]()
    rates = [one.joint for one in actuators if one.kind == "velocity"]
    if rates:
        notes.append(
            f"velocity actuators of {_named(rates)}: they hold their rates exactly, up to their largest "
            "efforts, instead of with the gain kv"
        )
    for one in actuators:
        if one.scale != 1.0:
            control = f"{one.scale:g} × control" if one.kind == "torque" else f"control / {1.0 / one.scale:g}"
            meanings.setdefault(f"{TARGETS[one.kind]} = {control}", []).append(one.joint)
    if meanings:
        notes.append(
            "targets of actuators are those of the joints themselves: in terms of the control in MJCF, "
            + ", ".join(f"{meaning} (of {_named(joints)})" for meaning, joints in meanings.items())
        )
    return notes


def _named(joints: Sequence[str]) -> str:
    """Joints by name, or some of them where there are many."""
    more = len(joints) - MOST_NAMED
    names = ", ".join(f"'{name}'" for name in joints[:MOST_NAMED])
    return names + (f" and {more} more" if more > 0 else "")


def _terms(node: Node, joint: str) -> tuple[float, tuple[float, float, float], float]:
    """The gain, the bias (b0, b1, b2) and the damping ratio of an actuator."""
    if node.tag == "motor":
        return 1.0, (0.0, 0.0, 0.0), 0.0
    if node.tag == "velocity":
        gain = node.number("kv", 1.0)
        return gain, (0.0, 0.0, -gain), 0.0
    if node.tag == "position":
        gain, damping, ratio = (
            node.number(name, default) for name, default in (("kp", 1.0), ("kv", 0.0), ("dampratio", 0.0))
        )
        if damping and ratio:
            raise node.error("kv and dampratio both say how it is damped; give one of them")
        return gain, (0.0, -gain, -damping), ratio
    return _general(node, joint)


def _general(node: Node, joint: str) -> tuple[float, tuple[float, float, float], float]:
    """The same of a ``<general>``, whose control and state must act linearly."""
    for name, kinds in (("dyntype", ("none",)), ("gaintype", ("fixed",)), ("biastype", ("none", "affine"))):
        kind = node.text(name, kinds[0])
        if kind not in kinds:
            only = " and ".join(kinds)
            raise node.error(f"{name} '{kind}' is not supported, only {only}; " + ADVICE % joint)
    node.used.add("dynprm")  # of a state that it does not have
    gain, *rest = node.numbers("gainprm", (1.0,))
    bias = tuple((*node.numbers("biasprm", (0.0,)), 0.0, 0.0, 0.0)[:3])
    if node.text("biastype", "none") == "none":
        bias = (0.0, 0.0, 0.0)
    # MuJoCo: a positive last number of an actuator of positions is a damping ratio.
    ratio = bias[2] if bias[2] > 0.0 and 0.0 < gain == -bias[1] else 0.0
    bias = (bias[0], bias[1], 0.0 if ratio else bias[2])
    rates = bias[1] == 0.0 and bias[2] != 0.0 and gain != -bias[2]
    if gain == 0.0 or any(rest) or bias[0] or bias[1] > 0.0 or bias[2] > 0.0 or rates:
        raise node.error(
            f"gainprm {gain:g} and biasprm {bias[0]:g} {bias[1]:g} {bias[2]:g} are not those of a motor (no "
            "bias), a servo (0 -stiffness -damping) or a motor with a rate (0 0 -gain); " + ADVICE % joint
        )
    return gain, bias, ratio


def damped(
    actuators: Sequence[Actuator], joints: Sequence[RobotJoint], links: Sequence[Link]
) -> tuple[Actuator, ...]:
    """The actuators, with dampings in place of damping ratios."""

    def of(one: Actuator) -> Actuator:
        if not one.damping_ratio:
            return one
        inertia = moved_inertia(one.joint, joints, links)
        damping = 2.0 * one.damping_ratio * math.sqrt(one.stiffness * inertia)
        return replace(one, damping=damping, damping_ratio=0.0)

    return tuple(map(of, actuators))


def moved_inertia(name: str, joints: Sequence[RobotJoint], links: Sequence[Link]) -> float:
    """Inertia (kg·m², kg) of all that a coordinate moves, in the reference pose, with its armature."""
    own = next(one for joint in joints for one in (joint, *joint.along) if one.name == name)
    poses = {own.child: Pose()}  # in the frame of its child
    for joint in joints:  # parents first
        if joint.parent in poses:
            poses[joint.child] = poses[joint.parent] @ joint.pose
    axis = np.array(own.own_axis) / np.linalg.norm(own.own_axis)
    total = own.armature
    for link in links:
        if link.name in poses and link.inertia is not None:
            inertia = link.inertia.seen_from(poses[link.name])
            if own.kind in ("slider", "travel"):
                total += inertia.mass
                continue
            arm = np.cross(axis, np.subtract(inertia.centre, own.anchor))
            total += float(axis @ inertia.tensor @ axis) + inertia.mass * float(arm @ arm)
    return total
