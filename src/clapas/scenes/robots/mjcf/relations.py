"""Motors, gears and loops of MJCF, which refer to joints and bodies by name."""

from __future__ import annotations

from clapas.scenes.robots.description import WORLD, Actuator, Closure, Follower, Link, RobotJoint
from clapas.scenes.robots.mjcf.joints import largest
from clapas.scenes.robots.xml import Node


def read_actuator(node: Node, joints: list[RobotJoint], others: list[Actuator], notes: list[str]) -> Actuator:
    """A motor on one of the joints, that none of the other actuators moves."""
    if not node.has("joint"):
        raise node.error("actuators act on joints: it needs the attribute 'joint'")
    joint = node.text("joint")
    driven = next((one for one in joints if one.name == joint), None)
    if driven is None:
        raise node.error(f"there is no joint '{joint}'")
    gear = node.numbers("gear", (1.0,))
    if not gear or gear[0] == 0.0 or any(gear[1:]):
        raise node.error(f"gear must be one number that is not zero, got {list(gear)}")
    force = largest(node, "forcerange", "forcelimited")
    bounds = [driven.effort] if driven.effort is not None else []
    bounds += [abs(gear[0]) * force] if force is not None else []
    bound = min(bounds, default=None)
    stiffness = damping = 0.0
    kind = {"motor": "torque", "position": "servo", "velocity": "velocity"}[node.tag]
    if kind == "servo":
        stiffness = gear[0] ** 2 * node.number("kp", 1.0)
        damping = gear[0] ** 2 * node.number("kv", 0.0)
    elif kind == "velocity":
        node.used.add("kv")
        notes.append(
            f"velocity actuator of '{joint}': it holds its rate exactly, up to its largest effort, "
            "instead of with the gain kv"
        )
    elif bound is not None:
        notes.append(
            f"largest effort of the motor of '{joint}', {bound:g}, is left out: targets are not cut: "
            "cut them in the loop"
        )
    if gear[0] != 1.0:
        word = {"torque": "effort", "servo": "coordinate", "velocity": "rate"}[kind]
        notes.append(
            f"actuator of '{joint}' with gear {gear[0]:g}: its target is the {word} of the joint itself; in "
            f"terms of the control in MJCF, {word} = {_through_gear(kind, gear[0])}"
        )
    name = node.text("name", f"{joint} {kind}")
    if any(other.joint == joint for other in others):
        raise node.error(f"joint '{joint}' has another actuator; one is allowed")
    return Actuator(name=name, joint=joint, kind=kind, stiffness=stiffness, damping=damping, bound=bound)


def _through_gear(kind: str, gear: float) -> str:
    """The coordinate, rate or effort of a joint in terms of the control of its actuator in MJCF."""
    return f"{gear:g} × control" if kind == "torque" else f"control / {gear:g}"


def read_equality(
    node: Node, number: int, links: list[Link], joints: list[RobotJoint], notes: list[str]
) -> Follower | Closure | None:
    """A gear between two joints, or a joint that closes a loop; None if it is not active."""
    node.used |= {"solref", "solimp"}
    if node.flag("active", True) is False:
        node.used |= set(node.attributes)
        notes.append(f"equality at line {node.line} is left out: it is not active")
        return None
    name = node.text("name", f"{node.tag} {number}")
    if node.tag == "joint":
        if not node.has("joint2"):
            raise node.error("an equality of one joint with a number is not supported; use a fixed joint")
        offset, ratio, *rest = node.numbers("polycoef", (0.0, 1.0))
        if any(rest):
            raise node.error(f"polycoef of more than first degree is not supported, got {rest}")
        follower, leader = node.text("joint1"), node.text("joint2")
        zero = {joint.name: joint.zero for joint in joints}
        for one in (follower, leader):
            if one not in zero:
                raise node.error(f"there is no joint '{one}'")
        # MuJoCo counts from the reference poses: y − y0 = c0 + c1 (x − x0).
        offset += zero[follower] - ratio * zero[leader]
        return Follower(follower=follower, leader=leader, ratio=ratio, offset=offset)
    kind = "ball" if node.tag == "connect" else "fixed"
    if not node.has("body1"):
        raise node.error("it needs the attribute 'body1': sites are not supported")
    a = link_of(node, "body1", links)
    b = link_of(node, "body2", links) if node.has("body2") else WORLD
    if node.tag == "weld" and node.has("relpose") and node.text("relpose") != "0 1 0 0 0 0 0":
        raise node.error("relpose is not supported: place the bodies as they are welded")
    anchor = node.vector("anchor", 3, None if kind == "ball" else (0.0, 0.0, 0.0))
    return Closure(name=name, kind=kind, a=a, b=b, anchor=anchor, place=node.place)


def link_of(node: Node, attribute: str, links: list[Link]) -> str:
    """The name of the body in an attribute."""
    name = node.text(attribute)
    if name != WORLD and all(link.name != name for link in links):
        raise node.error(f"there is no body '{name}'")
    return name
