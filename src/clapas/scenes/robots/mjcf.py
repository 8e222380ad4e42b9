"""MJCF, the XML format of MuJoCo: read into a :class:`Robot`.

Bodies are nested, joints stand in the body they move, attributes come from classes of defaults, angles are in
degrees unless the compiler says otherwise. Masses follow from geoms where no ``<inertial>`` is given.
Contacts are rigid here: what MuJoCo says of their softness has no meaning.

Reference: mujoco.readthedocs.io, XML reference.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np

from clapas.errors import SceneError
from clapas.geometry import rotations
from clapas.geometry.checks import Vector
from clapas.geometry.shapes import Box, Capsule, Cylinder, Plane, Shape, Sphere
from clapas.scenes.robots.description import (
    WORLD,
    Actuator,
    Closure,
    Collision,
    Follower,
    Inertia,
    Link,
    Pose,
    Robot,
    RobotJoint,
)
from clapas.scenes.robots.leftovers import notes_of
from clapas.scenes.robots.meshes import convex_parts, find_mesh, inertia_of
from clapas.scenes.robots.xml import Node

DENSITY = 1000.0
GRAVITY = (0.0, 0.0, -9.81)
FRICTION = 1.0
GEOMS = ("plane", "sphere", "capsule", "cylinder", "box", "mesh", "ellipsoid", "hfield", "sdf")
RIGHT = 1e-9  # cosine up to which two axes are at right angles, or aligned

_LOOKS = (
    *"light camera site texture material visual statistic sensor keyframe custom".split(),
    *"size text numeric skin".split(),
)
IGNORED = {
    **{f"<{tag}>": "looks and sensors" for tag in _LOOKS},
    **{f"{name} of <geom>": "" for name in ("rgba", "material", "group", "name", "fitscale", "user")},
    **{f"{name} of <mesh>": "" for name in ("name", "maxhullvert", "inertia", "smoothnormal")},
    **{f"{name} of <joint>": "" for name in ("group", "user", "pos", "axis")},
    **{f"{name} of <body>": "" for name in ("user", "sleep")},
    **{
        f"{name} of <compiler>": ""
        for name in "autolimits texturedir assetdir discardvisual fusestatic strippath usethread "
        "convexhull boundmass boundinertia inertiafromgeom balanceinertia alignfree".split()
    },
    **{
        f"{name} of <option>": ""
        for name in "integrator cone jacobian solver iterations tolerance ls_iterations ls_tolerance "
        "impratio "
        "noslip_iterations noslip_tolerance ccd_iterations ccd_tolerance".split()
    },
    "<flag>": "switches of MuJoCo",
    "<user>": "",
}
UNUSED = {
    "armature of <joint>": "inertia of rotors is not modelled",
    **{
        f"{name} of <geom>": "contacts are rigid"
        for name in ("solref", "solimp", "margin", "gap", "solmix", "priority")
    },
    **{
        f"{name} of <joint>": "limits and friction in joints are exact"
        for name in ("solreflimit", "solimplimit", "solreffriction", "solimpfriction", "margin")
    },
    "springdamper of <joint>": "give stiffness and damping",
    "condim of <geom>": "friction against sliding only",
    **{
        f"{name} of <{tag}>": "targets are not cut: cut them in the loop"
        for name in ("ctrlrange", "ctrllimited")
        for tag in ("motor", "position", "velocity")
    },
}
SEQUENCES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def read_mjcf(root: Node, strict: bool = True) -> Robot:
    """The robot of a file whose root element is ``<mujoco>``."""
    reader = _Reader(root)
    reader.read()
    return Robot(
        name=root.text("model", root.path.stem),
        format="MJCF",
        links=tuple(reader.links),
        joints=tuple(reader.joints),
        followers=tuple(reader.followers),
        closures=tuple(reader.closures),
        actuators=tuple(reader.actuators),
        apart=tuple(reader.apart),
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
        self.actuators: list[Actuator] = []
        self.apart: list[tuple[str, str]] = []
        self.notes: list[str] = []
        self.defaults: dict[str, dict[str, dict[str, str]]] = {}
        self.meshes: dict[str, Node] = {}
        self.gravity: Vector = GRAVITY
        self.dt = 2e-3

    def read(self) -> None:
        root = self.root
        self._compiler([*root.all("compiler")])
        for option in root.all("option"):
            self.gravity = option.vector("gravity", 3, self.gravity)
            self.dt = option.number("timestep", self.dt)
        for default in root.all("default"):
            self._default(default, {})
        for asset in root.all("asset"):
            for mesh in asset.all("mesh"):
                self._filled(mesh, "")
                name = mesh.text("name", Path(mesh.text("file", "")).stem)
                self.meshes[name] = mesh
        worlds = root.all("worldbody")
        if not worlds:
            raise root.error("it needs an element <worldbody>")
        for world in worlds:
            self._geoms_of_world(world)
            for body in world.all("body"):
                self._body(body, WORLD, "")
        for actuators in root.all("actuator"):
            for node in actuators.all("motor", "position", "velocity"):
                self._actuator(node)
        for contact in root.all("contact"):
            for exclude in contact.all("exclude"):
                exclude.used.add("name")
                self.apart.append((self._link(exclude, "body1"), self._link(exclude, "body2")))
        for equality in root.all("equality"):
            for node in equality.all("joint", "connect", "weld"):
                self._equality(node)
        self._masks()

    # ---------------------------------------------------------------- settings and defaults

    def _compiler(self, nodes: list[Node]) -> None:
        self.degrees, self.sequence, self.meshdir = True, "xyz", ""
        for node in nodes:
            self.degrees = (
                node.choice("angle", ("degree", "radian"), "degree" if self.degrees else "radian") == "degree"
            )
            self.sequence = node.text("eulerseq", self.sequence)
            self.meshdir = node.text("meshdir", node.text("assetdir", self.meshdir))
            if node.choice("coordinate", ("local", "global"), "local") == "global":
                raise node.error("global coordinates are of old versions of the format; write local ones")
        if len(self.sequence) != 3 or set(self.sequence.lower()) - set("xyz"):
            raise nodes[0].error(f"eulerseq must be three of the letters xyz or XYZ, got '{self.sequence}'")

    def _default(self, node: Node, above: dict[str, dict[str, str]]) -> None:
        """Attributes by element, of a class and of those inside it."""
        name = node.text("class", "main")
        own = {tag: dict(values) for tag, values in above.items()}
        for one in node.nodes:
            if one.tag == "default":
                continue
            one.is_used = True
            one.used |= set(one.attributes)  # they count where they are used
            own[one.tag] = own.get(one.tag, {}) | one.attributes
        self.defaults[name] = own
        for inner in node.all("default"):
            if not inner.has("class"):
                raise inner.error("a <default> inside another needs the attribute 'class'")
            self._default(inner, own)

    def _filled(self, node: Node, childclass: str) -> Node:
        """An element with the attributes of its class."""
        name = node.text("class", childclass or "main")
        if name not in self.defaults and name != "main":
            raise node.error(f"there is no class '{name}' among the defaults")
        for key, value in self.defaults.get(name, {}).get(node.tag, {}).items():
            if key != "class":
                node.attributes.setdefault(key, value)
        return node

    # ---------------------------------------------------------------- bodies

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
        geoms = [self._geom(self._filled(geom, childclass)) for geom in node.all("geom")]
        inertial = node.one("inertial")
        if inertial is not None:
            inertia: Inertia | None = self._inertial(inertial)
        else:
            masses = [found for _, own in geoms for found in own]
            inertia = Inertia.together(masses) if masses else None
        pose = self._pose(node)
        self.links.append(
            Link(
                name=name,
                inertia=inertia,
                collisions=tuple(one for found, _ in geoms for one in found),
                place=node.place,
            )
        )
        self._joints_of(node, name, parent, pose, childclass)
        for child in node.all("body"):
            self._body(child, name, childclass)

    def _joints_of(self, node: Node, name: str, parent: str, pose: Pose, childclass: str) -> None:
        joints = [self._filled(joint, childclass) for joint in node.all("joint")]
        free = node.all("freejoint")
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
        made = [self._joint(joint, name, parent, pose, k) for k, joint in enumerate(joints)]
        self.joints.append(made[0] if len(made) == 1 else _together(joints, made))

    def _joint(self, node: Node, name: str, parent: str, pose: Pose, number: int) -> RobotJoint:
        kind = node.choice("type", ("hinge", "slide", "ball", "free"), "hinge")
        turns = kind == "hinge"
        label = node.text("name", f"{name} {kind}" + (f" {number}" if number else ""))
        axis = node.vector("axis", 3, (0.0, 0.0, 1.0))
        if kind in ("hinge", "slide") and not any(axis):
            raise node.error("the axis is zero; it must be a direction")
        limited = node.flag("limited", node.has("range"))
        node.used.add("range")
        limits = None
        if limited:
            low, high = (
                self._angle(value) if turns or kind == "ball" else value for value in node.vector("range", 2)
            )
            if kind in ("ball", "free"):
                raise node.error(f"the range of a {kind} joint is not supported; remove it")
            if low >= high:
                raise node.error(f"range must be a lower and an upper limit, got {low:g} and {high:g}")
            limits = (low, high)
        scale = self._angle if turns else float
        stiffness, rest = node.number("stiffness", 0.0), scale(node.number("springref", 0.0))
        zero = scale(node.number("ref", 0.0))
        damping, friction = node.number("damping", 0.0), node.number("frictionloss", 0.0)
        node.used |= {"solreflimit", "solimplimit", "margin"} if limits is None else set()
        if kind in ("ball", "free"):
            if kind == "free" and parent != WORLD:
                raise node.error("a free joint stands in a body of <worldbody>")
            for word, value in (("stiffness", stiffness), ("damping", damping), ("frictionloss", friction)):
                if value:
                    self.notes.append(
                        f"{word} of the {kind} joint '{label}' is left out: it has no single coordinate"
                    )
            stiffness = damping = friction = 0.0
        if node.attributes.get("armature", "0").strip() in ("0", "0.0"):
            node.used.add("armature")
        return RobotJoint(
            name=label,
            kind={"slide": "slider"}.get(kind, kind),
            parent=parent,
            child=name,
            pose=pose,
            anchor=node.vector("pos", 3, (0.0, 0.0, 0.0)),
            axis=axis,
            zero=zero,
            limits=limits,
            damping=damping,
            friction=friction,
            spring=(stiffness, rest) if stiffness else None,
            effort=_largest(node, "actuatorfrcrange", "actuatorfrclimited"),
            place=node.place,
        )

    def _inertial(self, node: Node) -> Inertia:
        pose, mass = self._pose(node), node.number("mass")
        if mass <= 0.0:
            raise node.error(f"mass must be positive, got {mass:g}")
        if node.has("fullinertia"):
            xx, yy, zz, xy, xz, yz = node.vector("fullinertia", 6)
            tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        else:
            tensor = np.diag(node.vector("diaginertia", 3))
        return Inertia(mass, (0.0, 0.0, 0.0), tensor).seen_from(pose)

    # ---------------------------------------------------------------- geoms

    def _geoms_of_world(self, world: Node) -> None:
        found = [self._geom(self._filled(geom, ""), of_world=True)[0] for geom in world.all("geom")]
        shapes = tuple(one for group in found for one in group)
        if shapes:
            self.links.append(Link(name=WORLD, collisions=shapes, place=world.place))

    def _geom(self, node: Node, of_world: bool = False) -> tuple[list[Collision], list[Inertia]]:
        """The shapes of a geom that touch things, and the masses of all of them."""
        group, mask = int(node.number("contype", 1)), int(node.number("conaffinity", 1))
        friction = node.numbers("friction", (FRICTION,))
        if int(node.number("condim", 3)) == 1:
            friction = (0.0,)
        if node.attributes.get("condim") not in ("4", "6"):
            node.used.add("condim")
        else:
            node.used.discard("condim")  # named as not used
        pose, shapes = self._shapes(node)
        density, total = node.number("density", DENSITY), node.number("mass") if node.has("mass") else None
        made = [Collision(shape, pose, friction[0], group, mask) for shape in shapes]
        masses = []
        if any(isinstance(shape, Plane) for shape in shapes):
            if not of_world:
                raise node.error("a plane stands in <worldbody>, it cannot move")
        elif not of_world and (density if total is None else total) > 0.0:
            volume = sum(shape.volume for shape in shapes)
            amounts = [None if total is None else total * shape.volume / volume for shape in shapes]
            masses = [inertia_of(one, density, amount) for one, amount in zip(made, amounts, strict=True)]
        return (made if group or mask else []), masses

    def _shapes(self, node: Node) -> tuple[Pose, list[Shape]]:
        kind = node.choice("type", GEOMS, "sphere")
        if node.has("mesh") and kind != "mesh":
            raise node.error(f"a {kind} fitted to a mesh is not supported; write type='mesh', or its size")
        pose, half = self._pose(node), None
        if node.has("fromto"):
            if kind not in ("capsule", "cylinder", "box"):
                raise node.error(f"fromto is for capsules, cylinders and boxes, not for a {kind}")
            pose, half = _from_to(node)
        size = node.numbers("size", ())
        need = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3}.get(kind, 0) - (half is not None)
        if kind == "box" and half is not None:
            need = 1
        if len(size) < need:
            raise node.error(f"size of a {kind} must be at least {need} numbers, got {len(size)}")
        try:
            match kind:
                case "plane":
                    return pose, [Plane()]
                case "sphere":
                    return pose, [Sphere(size[0])]
                case "capsule":
                    return pose, [Capsule(size[0], 2.0 * (size[1] if half is None else half))]
                case "cylinder":
                    return pose, [Cylinder(size[0], 2.0 * (size[1] if half is None else half))]
                case "box":
                    if half is not None:
                        size = (size[0], size[1] if len(size) > 1 else size[0], half)
                    return pose, [Box(tuple(2.0 * x for x in size[:3]))]
                case "mesh":
                    return pose, self._mesh(node)
        except SceneError as error:
            raise node.error(str(error)) from None
        raise node.error(
            f"a geom of type {kind} is not supported; replace it by simple shapes or a convex mesh"
        )

    def _mesh(self, node: Node) -> list[Shape]:
        name = node.text("mesh")
        if name not in self.meshes:
            raise node.error(f"there is no mesh '{name}' in <asset>")
        asset = self.meshes[name]
        scale = asset.vector("scale", 3, (1.0, 1.0, 1.0))
        if asset.has("vertex"):
            values = asset.numbers("vertex")
            if len(values) < 12 or len(values) % 3:
                raise asset.error(
                    f"vertex must be at least 4 points, 3 numbers each, got {len(values)} numbers"
                )
            from clapas.geometry.shapes import Polyhedron

            return [Polyhedron(np.reshape(values, (-1, 3)) * np.array(scale))]
        path = find_mesh(asset, str(Path(self.meshdir) / asset.text("file")), {})
        parts, notes = convex_parts(asset, path, scale)
        self.notes += notes
        return list(parts)

    # ---------------------------------------------------------------- motors, gears, loops

    def _actuator(self, node: Node) -> None:
        self._filled(node, "")
        if not node.has("joint"):
            raise node.error("actuators act on joints: it needs the attribute 'joint'")
        joint = node.text("joint")
        found = next((one for one in self.joints if one.name == joint), None)
        if found is None:
            raise node.error(f"there is no joint '{joint}'")
        gear = node.numbers("gear", (1.0,))
        if gear[0] == 0.0 or any(gear[1:]):
            raise node.error(f"gear must be one number that is not zero, got {list(gear)}")
        force = _largest(node, "forcerange", "forcelimited")
        bound = found.effort if force is None else abs(gear[0]) * force
        stiffness = damping = 0.0
        kind = {"motor": "torque", "position": "servo", "velocity": "velocity"}[node.tag]
        if kind == "servo":
            stiffness = gear[0] ** 2 * node.number("kp", 1.0)
            damping = gear[0] ** 2 * node.number("kv", 0.0)
        elif kind == "velocity":
            node.used.add("kv")
            self.notes.append(
                f"velocity actuator of '{joint}': it holds its rate exactly, up to its largest effort, "
                "instead of with the gain kv"
            )
        if gear[0] != 1.0:
            self.notes.append(
                f"actuator of '{joint}': targets are those of the joint, not divided by its gear {gear[0]:g}"
            )
        name = node.text("name", f"{joint} {kind}")
        if any(other.joint == joint for other in self.actuators):
            raise node.error(f"joint '{joint}' has another actuator; one is allowed")
        self.actuators.append(
            Actuator(name=name, joint=joint, kind=kind, stiffness=stiffness, damping=damping, bound=bound)
        )

    def _equality(self, node: Node) -> None:
        self._filled(node, "")
        node.used |= {"solref", "solimp"}
        if node.flag("active", True) is False:
            node.used |= set(node.attributes)
            self.notes.append(f"equality at line {node.line} is left out: it is not active")
            return
        name = node.text("name", f"{node.tag} {len(self.closures) + len(self.followers)}")
        if node.tag == "joint":
            if not node.has("joint2"):
                raise node.error("an equality of one joint with a number is not supported; use a fixed joint")
            offset, ratio, *rest = node.numbers("polycoef", (0.0, 1.0))
            if any(rest):
                raise node.error(f"polycoef of more than first degree is not supported, got {rest}")
            follower, leader = node.text("joint1"), node.text("joint2")
            zero = {joint.name: joint.zero for joint in self.joints}
            for one in (follower, leader):
                if one not in zero:
                    raise node.error(f"there is no joint '{one}'")
            # MuJoCo counts from the reference poses: y − y0 = c0 + c1 (x − x0).
            offset += zero[follower] - ratio * zero[leader]
            self.followers.append(Follower(follower=follower, leader=leader, ratio=ratio, offset=offset))
            return
        kind = "ball" if node.tag == "connect" else "fixed"
        if not node.has("body1"):
            raise node.error("it needs the attribute 'body1': sites are not supported")
        a = self._link(node, "body1")
        b = self._link(node, "body2") if node.has("body2") else WORLD
        if node.tag == "weld" and node.has("relpose") and node.text("relpose") != "0 1 0 0 0 0 0":
            raise node.error("relpose is not supported: place the bodies as they are welded")
        anchor = node.vector("anchor", 3, None if kind == "ball" else (0.0, 0.0, 0.0))
        self.closures.append(Closure(name=name, kind=kind, a=a, b=b, anchor=anchor, place=node.place))

    def _link(self, node: Node, attribute: str) -> str:
        name = node.text(attribute)
        if name != WORLD and all(link.name != name for link in self.links):
            raise node.error(f"there is no body '{name}'")
        return name

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

    # ---------------------------------------------------------------- frames

    def _angle(self, value: float) -> float:
        return math.radians(value) if self.degrees else value

    def _pose(self, node: Node) -> Pose:
        words = [word for word in ("quat", "axisangle", "euler", "xyaxes", "zaxis") if node.has(word)]
        if len(words) > 1:
            raise node.error(f"one orientation is enough, got {', '.join(words)}")
        position = node.vector("pos", 3, (0.0, 0.0, 0.0))
        read: dict[str, Callable[[Node], Vector]] = {
            "quat": lambda one: one.vector("quat", 4),
            "axisangle": self._axisangle,
            "euler": self._euler,
            "xyaxes": _xyaxes,
            "zaxis": lambda one: tuple(map(float, rotations.up_to(_unit(one, one.vector("zaxis", 3))))),
        }
        if not words:
            return Pose(position)
        turn = np.array(read[words[0]](node))
        if not turn.any():
            raise node.error("the quaternion is zero")
        return Pose(position, tuple(map(float, rotations.normalise(turn))))

    def _axisangle(self, node: Node) -> Vector:
        *axis, angle = node.vector("axisangle", 4)
        return tuple(map(float, rotations.from_axis_angle(_unit(node, tuple(axis)), self._angle(angle))))

    def _euler(self, node: Node) -> Vector:
        """Rotations one after another: about axes that turn with the body (xyz) or stay (XYZ)."""
        turn = np.array([1.0, 0.0, 0.0, 0.0])
        for letter, angle in zip(self.sequence, node.vector("euler", 3), strict=True):
            one = rotations.from_axis_angle(SEQUENCES[letter.lower()], self._angle(angle))
            turn = rotations.product(turn, one) if letter.islower() else rotations.product(one, turn)
        return tuple(map(float, turn))


def _xyaxes(node: Node) -> Vector:
    values = node.vector("xyaxes", 6)
    x = np.array(_unit(node, values[:3]))
    y = np.array(values[3:]) - (x @ np.array(values[3:])) * x
    y = np.array(_unit(node, tuple(y)))
    return tuple(map(float, rotations.from_matrix(np.column_stack((x, y, np.cross(x, y))))))


def _unit(node: Node, vector: Vector) -> Vector:
    length = math.hypot(*vector)
    if length == 0.0:
        raise node.error("a direction is zero")
    return tuple(x / length for x in vector)


def _from_to(node: Node) -> tuple[Pose, float]:
    """Pose and half length of a shape between two points: its z axis goes from the first to the second."""
    values = np.array(node.vector("fromto", 6))
    start, end = values[:3], values[3:]
    length = float(np.linalg.norm(end - start))
    if length == 0.0:
        raise node.error("fromto gives one point twice")
    turn = rotations.up_to((end - start) / length)
    return Pose(tuple(map(float, (start + end) / 2.0)), tuple(map(float, turn))), length / 2.0


def _largest(node: Node, name: str, flag: str) -> float | None:
    """The largest effort, from a symmetric range."""
    if not node.flag(flag, node.has(name)):
        node.used.add(name)
        return None
    low, high = node.vector(name, 2)
    if not math.isclose(low, -high) or high <= 0.0:
        raise node.error(f"{name} must be symmetric about 0, got {low:g} to {high:g}")
    return high


def _together(nodes: list[Node], joints: list[RobotJoint]) -> RobotJoint:
    """Several joints of one body as one: cylindrical, universal or planar."""
    kinds = sorted(joint.kind for joint in joints)
    axes = [np.array(joint.axis) / np.linalg.norm(joint.axis) for joint in joints]
    plain = all(
        joint.limits is None and joint.spring is None and not (joint.damping or joint.friction or joint.zero)
        for joint in joints
    )
    first = joints[0]
    if plain and kinds == ["hinge", "slider"] and abs(axes[0] @ axes[1]) > 1.0 - RIGHT:
        return replace(first, kind="cylindrical", name=" ".join(joint.name for joint in joints))
    same = all(np.allclose(joint.anchor, first.anchor) for joint in joints)
    if plain and kinds == ["hinge", "hinge"] and abs(axes[0] @ axes[1]) < RIGHT and same:
        # The first joint is nearer to the parent: its axis is fixed in it.
        return replace(
            first, kind="universal", second=joints[1].axis, name=" ".join(joint.name for joint in joints)
        )
    if plain and kinds == ["hinge", "slider", "slider"]:
        hinge = next(k for k, joint in enumerate(joints) if joint.kind == "hinge")
        others = [axis for k, axis in enumerate(axes) if k != hinge]
        if all(abs(axes[hinge] @ axis) < RIGHT for axis in others) and abs(others[0] @ others[1]) < RIGHT:
            return replace(joints[hinge], kind="planar", name=" ".join(joint.name for joint in joints))
    raise nodes[1].error(
        f"joints {' and '.join(kinds)} in one body are not supported, save a cylindrical, a universal or a "
        "planar joint without limits, springs, damping and friction; put a body with mass between them"
    )
