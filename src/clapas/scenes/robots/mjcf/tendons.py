"""Tendons of MJCF between two sites: the distance of two points, with laws along it.

Those over geoms, pulleys or more sites are left unread. Fixed ones, which are sums of coordinates, are named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from clapas.scenes.robots.description import WORLD, Pose, RobotJoint, Stretch
from clapas.scenes.robots.mjcf.frames import Frames, from_to
from clapas.scenes.robots.mjcf.joints import bounds, largest
from clapas.scenes.robots.xml import Node

Sites = Mapping[str, tuple[str, Node]]  # name of the body and element, by name


def is_between_two_sites(node: Node) -> bool:
    """Whether a tendon is a straight line from one site to another."""
    return [one.tag for one in node.nodes] == ["site", "site"]


def read_spatial(
    node: Node, number: int, sites: Sites, frames: Frames, joints: Sequence[RobotJoint], names: Sequence[str]
) -> Stretch:
    """A tendon between two sites, with a name that none of ``names`` is."""
    name = node.text("name", f"tendon {number}")
    if name in names:
        raise node.error(f"a joint or a tendon is called '{name}'; tendons become joints: give another name")
    (a, at), (b, to) = (_point(one, sites, frames) for one in node.all("site"))
    limits = bounds(node, "range", "limited")
    if limits is not None and not limits[0] < limits[1]:
        raise node.error(f"range must be a lower and an upper limit, got {limits[0]:g} and {limits[1]:g}")
    stiffness, lengths = node.number("stiffness", 0.0), node.numbers("springlength", (-1.0,))
    if stiffness and len(set(lengths)) != 1:
        raise node.error(
            f"a spring that is slack between two lengths is not supported, got springlength {list(lengths)}; "
            "give one length, or a range"
        )
    rest = lengths[0]
    if rest < 0.0:  # MuJoCo: the length in the reference pose
        poses = {WORLD: Pose()}
        for joint in joints:  # parents first
            poses[joint.child] = poses[joint.parent] @ joint.pose
        rest = float(np.linalg.norm(np.subtract(poses[b].at(to), poses[a].at(at))))
    # A distance is never below zero: a limit there would be one more unknown for nothing.
    return Stretch(
        name=name,
        a=a,
        b=b,
        at=at,
        to=to,
        limits=None if limits is None else (limits[0] if limits[0] > 0.0 else None, limits[1]),
        damping=node.number("damping", 0.0),
        friction=node.number("frictionloss", 0.0),
        armature=node.number("armature", 0.0),
        spring=(stiffness, rest) if stiffness else None,
        effort=largest(node, "actuatorfrcrange", "actuatorfrclimited"),
        place=node.place,
    )


def _point(node: Node, sites: Sites, frames: Frames) -> tuple[str, tuple[float, ...]]:
    """The body of the site that an element names, and the point in its frame."""
    name = node.text("site")
    if name not in sites:
        raise node.error(f"there is no site '{name}'")
    body, site = sites[name]
    site.is_used = True
    site.used |= set(site.attributes)  # of looks
    if site.has("fromto"):
        return body, from_to(site, frames)[0].position
    return body, frames.placed(site, Pose(site.vector("pos", 3, (0.0, 0.0, 0.0)))).position
