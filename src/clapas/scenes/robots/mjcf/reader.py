"""MJCF, the XML format of MuJoCo: read into a :class:`Robot`.

Bodies are nested, joints stand in the body they move, attributes come from classes of defaults, angles are in
degrees unless the compiler says otherwise. Masses follow from geoms where no ``<inertial>`` is given.

Reference: mujoco.readthedocs.io, XML reference.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np

from clapas.geometry.checks import Vector
from clapas.scenes.robots.description import (
    WORLD,
    Actuator,
    Closure,
    Follower,
    Inertia,
    Link,
    Pose,
    Robot,
    RobotJoint,
    Stretch,
)
from clapas.scenes.robots.leftovers import notes_of
from clapas.scenes.robots.mjcf.actuators import KINDS, damped, notes_on, read_actuator
from clapas.scenes.robots.mjcf.frames import Frames
from clapas.scenes.robots.mjcf.geoms import Geoms
from clapas.scenes.robots.mjcf.includes import put_in_place
from clapas.scenes.robots.mjcf.joints import LIGHT, in_a_row, read_joint, together
from clapas.scenes.robots.mjcf.keyframes import read_keyframes
from clapas.scenes.robots.mjcf.masses import Masses
from clapas.scenes.robots.mjcf.relations import link_of, read_equality
from clapas.scenes.robots.mjcf.replicas import replicate
from clapas.scenes.robots.mjcf.tendons import is_between_two_sites, read_spatial
from clapas.scenes.robots.mjcf.unread import IGNORED, UNUSED
from clapas.scenes.robots.xml import Node

# Flags that would change the motion if they were off; the others are about the solver of MuJoCo.
SWITCHES = frozenset(
    "constraint equality frictionloss limit passive spring damper actuation filterparent".split()
)


def is_off(flags: Node, name: str) -> bool:
    """Whether an element ``<flag>`` switches something off."""
    return flags.choice(name, ("enable", "disable"), "enable") == "disable"


def read_mjcf(root: Node, strict: bool = True) -> Robot:
    """The robot of a file whose root element is ``<mujoco>``."""
    put_in_place(root)
    reader = _Reader(root)
    reader.read()
    links = reader.masses.scaled(reader.links)
    keyframes = read_keyframes(root, reader.joints, reader.controls, reader.notes)
    return Robot(
        name=root.text("model", root.path.stem),
        format="MJCF",
        links=links,
        joints=tuple(reader.joints),
        followers=tuple(reader.followers),
        closures=tuple(reader.closures),
        stretches=tuple(reader.stretches),
        actuators=damped(reader.actuators, reader.joints, links),
        apart=tuple(reader.apart),
        keyframes=keyframes,
        gravity=reader.gravity,
        dt=reader.dt,
        notes=(*dict.fromkeys(reader.notes), *notes_of(root, IGNORED, UNUSED, strict)),
    )


class _Reader:
    def __init__(self, root: Node) -> None:
        self.root = root
        self.links: list[Link] = []
        self.joints: list[RobotJoint] = []
        self.followers: list[Follower] = []
        self.closures: list[Closure] = []
        self.sites: dict[str, tuple[str, Node]] = {}
        self.stretches: list[Stretch] = []
        self.actuators: list[Actuator] = []
        self.controls: list[Actuator | None] = []  # of all actuators, also of those that are left out
        self.apart: list[tuple[str, str]] = []
        self.notes: list[str] = []
        self.defaults: dict[str, dict[str, dict[str, str]]] = {}
        self.frames = Frames()
        self.geoms = Geoms(self.frames, self.notes, root.path.resolve().parent)
        self.masses = Masses()
        self.gravity: Vector | None = None
        self.dt: float | None = None

    def read(self) -> None:
        root = self.root
        self._compiler([*root.all("compiler")])
        replicate(root, self.frames)
        for option in root.all("option"):
            if option.has("gravity"):
                self.gravity = option.vector("gravity", 3)
            if option.has("timestep"):
                self.dt = option.number("timestep")
        self._switches([flag for option in root.all("option") for flag in option.all("flag")])
        for default in root.all("default"):
            self._default(default, {})
        for asset in root.all("asset"):
            for mesh in asset.all("mesh"):
                self._filled(mesh, "")
                name = mesh.text("name", Path(mesh.text("file", "")).stem)
                self.geoms.meshes[name] = mesh
        worlds = root.all("worldbody")
        if not worlds:
            raise root.error("it needs an element <worldbody>")
        self._geoms_of_world(worlds)
        for world in worlds:
            self._sites(world, WORLD, "")
            for body, childclass in self._within(world, "", "body"):
                self._body(body, WORLD, childclass)
        for tendons in root.all("tendon"):
            self._tendons(tendons)
        for actuators in root.all("actuator"):
            known = actuators.all(*KINDS)
            for node in actuators.nodes:
                if node in known:
                    self._filled(node, "")
                    known_to = self._coordinates, self.stretches, self.actuators
                    self.actuators.append(read_actuator(node, *known_to))
                self.controls.append(self.actuators[-1] if node in known else None)
        self.notes += notes_on(self.actuators)
        for contact in root.all("contact"):
            for exclude in contact.all("exclude"):
                exclude.used.add("name")
                pair = (link_of(exclude, name, self.links) for name in ("body1", "body2"))
                first, second = pair
                self.apart.append((first, second))
        for equality in root.all("equality"):
            for node in equality.all("joint", "connect", "weld"):
                self._filled(node, "")
                number = len(self.closures) + len(self.followers)
                relation = read_equality(node, number, self.links, self._coordinates, self.notes)
                if isinstance(relation, Follower):
                    self.followers.append(relation)
                elif relation is not None:
                    self.closures.append(relation)
        self._masks()

    # ---------------------------------------------------------------- settings and defaults

    def _compiler(self, nodes: list[Node]) -> None:
        frames, geoms = self.frames, self.geoms
        for node in nodes:
            frames.degrees = (
                node.choice("angle", ("degree", "radian"), "degree" if frames.degrees else "radian")
                == "degree"
            )
            frames.sequence = node.text("eulerseq", frames.sequence)
            self.masses.read(node)
            geoms.meshdir = node.text("meshdir", node.text("assetdir", geoms.meshdir))
            if node.choice("coordinate", ("local", "global"), "local") == "global":
                raise node.error("global coordinates are of old versions of the format; write local ones")
        if len(frames.sequence) != 3 or set(frames.sequence.lower()) - set("xyz"):
            raise nodes[0].error(f"eulerseq must be three of the letters xyz or XYZ, got '{frames.sequence}'")

    def _switches(self, flags: list[Node]) -> None:
        """Switch off gravity or contacts; switches of other parts of the motion stay unread."""
        off = {name for node in flags for name in ("gravity", "contact") if is_off(node, name)}
        self.gravity = (0.0, 0.0, 0.0) if "gravity" in off else self.gravity
        self.geoms.touch = "contact" not in off
        for node in flags:
            unread = {name for name in SWITCHES & set(node.attributes) if is_off(node, name)}
            if node.has("override") and not is_off(node, "override"):  # one law for all contacts
                unread.add("override")
            node.used = set(node.attributes) - unread

    def _default(self, node: Node, above: dict[str, dict[str, str]]) -> None:
        """Attributes by element, of a class and of those inside it."""
        name = node.text("class", "main")
        own = {tag: dict(values) for tag, values in above.items()}
        for one in node.nodes:
            if one.tag == "default":
                continue
            one.is_used = True
            one.used |= set(one.attributes)  # checked where they are applied
            own[one.tag] = own.get(one.tag, {}) | one.attributes
        self.defaults[name] = own
        for inner in node.all("default"):
            if not inner.has("class"):
                raise inner.error("a <default> inside another needs the attribute 'class'")
            self._default(inner, own)

    def _filled(self, node: Node, childclass: str, tag: str | None = None) -> Node:
        """An element with the attributes of its class, where it may have another name."""
        name = node.text("class", childclass or "main")
        if name not in self.defaults and name != "main":
            raise node.error(f"there is no class '{name}' among the defaults")
        for key, value in self.defaults.get(name, {}).get(tag or node.tag, {}).items():
            if key != "class":
                node.attributes.setdefault(key, value)
        return node

    def _tendons(self, tendons: Node) -> None:
        """Read tendons between two sites; note the fixed ones, sums of coordinates, as left out."""
        for node in tendons.nodes:
            if node.tag == "spatial" and is_between_two_sites(node):
                node.is_used = True
                self._filled(node, "", "tendon")
                names = [one.name for one in self._coordinates] + [one.name for one in self.stretches]
                number = len(self.stretches)
                read = read_spatial(node, number, self.sites, self.frames, self.joints, names)
                self.stretches.append(read)
        for node in tendons.all("fixed"):
            for inner in (node, *node.all("joint")):
                inner.used |= set(inner.attributes)
            self.notes.append(
                f"the fixed tendon '{node.text('name', '')}' is left out: nothing acts along a sum of angles"
            )

    # ---------------------------------------------------------------- bodies

    def _within(self, node: Node, childclass: str, tag: str) -> list[tuple[Node, str]]:
        """The elements of a body with a name, in frames too, and the class of defaults that holds there."""
        found = []
        for inner in node.nodes:
            if inner.tag == tag:
                inner.is_used = True
                found.append((inner, childclass))
            elif inner.tag == "frame":
                inner.is_used = True
                inner.used.add("name")
                self.frames.put_in(inner)
                found += self._within(inner, inner.text("childclass", childclass), tag)
        return found

    def _body(self, node: Node, parent: str, childclass: str) -> None:
        name = node.text("name", f"body {len(self.links)}")
        if any(link.name == name for link in self.links):
            raise node.error("another body has this name; names are unique")
        childclass = node.text("childclass", childclass)
        if node.flag("mocap", False):
            raise node.error(
                "a mocap body is moved from outside; add it to the scene as a body with a motion"
            )
        if node.number("gravcomp", 0.0) != 0.0:
            raise node.error("gravcomp, weight taken off a body, is not supported; give gravity, or a force")
        geoms = [self.geoms.read(self._filled(*found)) for found in self._within(node, childclass, "geom")]
        inertial = node.one("inertial")
        given = None if inertial is None else self._inertial(inertial)
        inertia = self.masses.of_body(given, [found for _, own in geoms for found in own])
        self._sites(node, name, childclass)
        pose = self.frames.pose(node)
        self.links.append(
            Link(
                name=name,
                inertia=inertia,
                collisions=tuple(one for found, _ in geoms for one in found),
                place=node.place,
            )
        )
        self._joints_of(node, name, parent, pose, childclass)
        for child, own in self._within(node, childclass, "body"):
            self._body(child, name, own)

    def _joints_of(self, node: Node, name: str, parent: str, pose: Pose, childclass: str) -> None:
        joints = [self._filled(*found) for found in self._within(node, childclass, "joint")]
        free = [joint for joint, _ in self._within(node, childclass, "freejoint")]
        if free:
            free[0].used |= {"group", "align"}
            if joints or len(free) > 1 or parent != WORLD:
                raise free[0].error("a free joint stands alone, in a body of <worldbody>")
            free_name = free[0].text("name", f"{name} free")
            self.joints.append(
                RobotJoint(name=free_name, kind="free", parent=WORLD, child=name, pose=pose, place=node.place)
            )
            return
        if not joints:
            self.joints.append(
                RobotJoint(
                    name=f"{name} fixed", kind="fixed", parent=parent, child=name, pose=pose, place=node.place
                )
            )
            return
        context = self.frames, self.notes
        read = [read_joint(joint, name, parent, pose, k, *context) for k, joint in enumerate(joints)]
        one = read[0] if len(read) == 1 else together(read, self.notes)
        self.joints += [one] if one is not None else self._in_a_row(joints, read)

    def _in_a_row(self, nodes: list[Node], joints: list[RobotJoint]) -> list[RobotJoint]:
        """Joints of the last body that no single joint stands for, through links between them."""
        body = self.links[-1]
        if body.inertia is None:
            raise nodes[0].error(f"the body '{body.name}' has no mass, but moves; give it <inertial>")
        if any(joint.kind == "free" for joint in joints):
            raise nodes[1].error("a free joint stands alone in its body")
        row, between = in_a_row(joints, body)
        for link in between:
            if any(other.name == link.name for other in self.links):
                raise nodes[0].error(f"the name '{link.name}' is that of a link between joints; give another")
        self.links[-1:] = [*between, body]
        if row[0].parent != WORLD:
            self.apart.append((row[0].parent, body.name))  # as if one joint held both
        self.notes.append(
            f"the {len(joints)} joints of body '{body.name}' are joined through links of {LIGHT:g} of its "
            "inertia"
        )
        return row

    @property
    def _coordinates(self) -> list[RobotJoint]:
        """The joints, and the coordinates of those that have several."""
        return [one for joint in self.joints for one in (joint, *joint.along)]

    def _inertial(self, node: Node) -> Inertia:
        pose, mass = self.frames.pose(node), node.number("mass")
        if mass <= 0.0:
            raise node.error(f"mass must be positive, got {mass:g}")
        if node.has("fullinertia"):
            xx, yy, zz, xy, xz, yz = node.vector("fullinertia", 6)
            tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        else:
            tensor = np.diag(node.vector("diaginertia", 3))
        return Inertia(mass, (0.0, 0.0, 0.0), tensor).seen_from(pose)

    def _sites(self, node: Node, body: str, childclass: str) -> None:
        """Keep the sites of a body for the tendons that name them; as looks they stay unread."""
        for site, own in self._within(node, childclass, "site"):
            site.is_used = False
            if site.has("name"):
                self.sites[site.attributes["name"]] = body, self._filled(site, own)

    # ---------------------------------------------------------------- geoms

    def _geoms_of_world(self, worlds: list[Node]) -> None:
        geoms = [self._filled(*found) for world in worlds for found in self._within(world, "", "geom")]
        found = [self.geoms.read(geom, of_world=True)[0] for geom in geoms]
        shapes = tuple(one for group in found for one in group)
        if shapes:
            self.links.append(Link(name=WORLD, collisions=shapes, place=worlds[0].place))

    def _masks(self) -> None:
        """Pairs of bodies none of whose geoms may touch, by contype and conaffinity."""
        for a, b in combinations(self.links, 2):
            pairs = [(one, other) for one in a.collisions for other in b.collisions]
            touch = [bool(one.group & other.mask or other.group & one.mask) for one, other in pairs]
            if pairs and not any(touch):
                self.apart.append((a.name, b.name))
            elif not all(touch):
                self.notes.append(
                    f"bodies '{a.name}' and '{b.name}': contype and conaffinity let some of their geoms "
                    "touch; here all do"
                )
