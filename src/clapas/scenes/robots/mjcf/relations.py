"""Gears and loops of MJCF, which refer to joints and bodies by name."""

from __future__ import annotations

from clapas.scenes.robots.description import WORLD, Closure, Follower, Link, RobotJoint
from clapas.scenes.robots.xml import Node


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
