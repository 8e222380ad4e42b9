"""``<replicate>`` of MJCF: what stands in it comes several times, each time further and turned further.

Copy k stands in a frame turned by k times the angles; its place is where k offsets lead, each along the axes
of the frame before. Names get the number of the copy, with as many digits as the last has. Elements that name
what is copied, such as actuators, are copied with it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator

import numpy as np

from clapas.geometry.checks import Vector
from clapas.scenes.robots.mjcf.frames import Frames
from clapas.scenes.robots.xml import Node

REFERRING = ("actuator", "contact", "equality", "tendon", "sensor")
# The kind of element that an attribute names.
REFERENCES = {
    **dict.fromkeys(("joint", "joint1", "joint2", "jointinparent"), "joint"),
    **dict.fromkeys(("body", "body1", "body2"), "body"),
    **dict.fromkeys(("geom", "geom1", "geom2"), "geom"),
    **dict.fromkeys(("site", "site1", "site2"), "site"),
    **dict.fromkeys(("tendon", "tendon1", "tendon2"), "tendon"),
}


def replicate(root: Node, frames: Frames) -> None:
    """Put frames with copies in place of each ``<replicate>`` of the world, the innermost first."""
    for world in root.nodes:
        if world.tag == "worldbody":
            _fill(world, root, frames)


def _fill(node: Node, root: Node, frames: Frames) -> None:
    filled = []
    for inner in node.nodes:
        _fill(inner, root, frames)
        filled += _copies(inner, root, frames) if inner.tag == "replicate" else [inner]
    node.nodes = filled


def _copies(node: Node, root: Node, frames: Frames) -> list[Node]:
    """Frames with the copies of what stands in an element ``<replicate>``."""
    if unknown := [one for one in node.attributes if one not in ("count", "euler", "offset", "sep")]:
        raise node.error(f"the attribute '{unknown[0]}' is not known; known are count, euler, offset and sep")
    count, euler = node.number("count"), node.vector("euler", 3, (0.0, 0.0, 0.0))
    if count < 1.0 or count != int(count):
        raise node.error(f"count must be a whole number, at least 1, got {count:g}")
    offset, separator = node.vector("offset", 3, (0.0, 0.0, 0.0)), node.text("sep", "")
    suffixes = [f"{separator}{k:0{len(str(int(count) - 1))}d}" for k in range(int(count))]
    found: list[Node] = []
    place: Vector = (0.0, 0.0, 0.0)
    for k, suffix in enumerate(suffixes):
        frame = _frame(node, place, tuple(k * np.array(euler)))
        place = frames.pose(frame).at(offset)
        frame.nodes = copy.deepcopy(node.nodes)
        for inner in _within(frame):
            if "name" in inner.attributes:
                inner.attributes["name"] += suffix
        found.append(frame)
    _copy_references(root, _names(node), suffixes)
    return found


def _frame(node: Node, position: tuple[float, ...], euler: tuple[float, ...]) -> Node:
    words = {"pos": position, "euler": euler}
    texts = {name: " ".join(repr(float(value)) for value in values) for name, values in words.items()}
    return Node(node.path, "frame", texts, node.line)


def _within(node: Node) -> Iterator[Node]:
    """All elements in an element, at any depth."""
    for inner in node.nodes:
        yield inner
        yield from _within(inner)


def _names(node: Node) -> set[tuple[str, str]]:
    """The kind and the name of each element in an element."""
    kinds = {"freejoint": "joint"}
    return {
        (kinds.get(one.tag, one.tag), one.attributes["name"])
        for one in _within(node)
        if "name" in one.attributes
    }


def _copy_references(root: Node, names: set[tuple[str, str]], suffixes: list[str]) -> None:
    """Put copies in place of the elements that name one of these; what else they name stays."""
    sections = [section for section in root.nodes if section.tag in REFERRING]
    for section in sorted(sections, key=lambda one: one.tag != "tendon"):  # others name copies of tendons
        copies = [_referring(node, names, suffixes) for node in section.nodes]
        if section.tag == "tendon":
            pairs = zip(section.nodes, copies, strict=True)
            copied = [node for node, twins in pairs if node not in twins]
            names = names | {("tendon", one.attributes["name"]) for one in copied if "name" in one.attributes}
        section.nodes = [one for twins in copies for one in twins]


def _referring(node: Node, names: set[tuple[str, str]], suffixes: list[str]) -> list[Node]:
    def refers(one: Node, attribute: str) -> bool:
        return (REFERENCES.get(attribute, ""), one.attributes[attribute]) in names

    if not any(refers(one, attribute) for one in (node, *_within(node)) for attribute in one.attributes):
        return [node]
    copies = []
    for suffix in suffixes:
        twin = copy.deepcopy(node)
        for one in (twin, *_within(twin)):
            for attribute in one.attributes:
                if refers(one, attribute):
                    one.attributes[attribute] += suffix
        if "name" in twin.attributes:
            twin.attributes["name"] += suffix
        copies.append(twin)
    return copies
