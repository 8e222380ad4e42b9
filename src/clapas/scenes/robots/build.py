"""Conversion of a robot description into bodies and joints of a scene.

Links that fixed joints hold together become one body: a link without mass, a tool or a sensor is part of the
link that carries it. Links fixed to the world become walls. Joints keep their names and coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from clapas.dynamics.joints.laws import Servo, TorqueMotor, VelocityMotor
from clapas.errors import FormatError, SceneError, warn
from clapas.geometry import checks, rotations
from clapas.geometry.shapes import Clump, Plane, Point, Shape
from clapas.scenes.robots.description import (
    WORLD,
    Collision,
    Inertia,
    Keyframe,
    Link,
    Pose,
    Robot,
    RobotJoint,
    Stretch,
)
from clapas.scenes.robots.leftovers import NO_PART
from clapas.scenes.robots.velocities import Twist, twists_of
from clapas.scenes.robots.worlds import add_to_world

if TYPE_CHECKING:
    from clapas.scenes.scene import Scene

OPEN = 1e-3  # part of its way, or angle (rad), by which a loop may fail to close: coordinates are rounded
WITH_LAWS = ("hinge", "slider", "turn", "travel", "gimbal")


@dataclass
class Composite:
    """Links that fixed joints hold together, one body of the scene.

    Parameters
    ----------
    name : str
        Name of the first link.
    pose : Pose
        Of the first link in the world.
    links : list of (Link, Pose)
        The links, with their poses in the frame of the first.
    is_fixed : bool
        Whether it stands still.
    """

    name: str
    pose: Pose
    is_fixed: bool
    links: list[tuple[Link, Pose]] = field(default_factory=list)

    @property
    def inertia(self) -> Inertia | None:
        """Mass properties in the frame of the first link; None without mass."""
        parts = [link.inertia.seen_from(pose) for link, pose in self.links if link.inertia is not None]
        return Inertia.together(parts) if parts else None

    @property
    def collisions(self) -> list[tuple[Collision, Pose]]:
        """All shapes, with their poses in the frame of the first link."""
        return [(one, pose @ one.pose) for link, pose in self.links for one in link.collisions]


@dataclass(frozen=True)
class LoadedRobot:
    """A robot in a scene.

    Parameters
    ----------
    name : str
        Its name.
    bodies : dict
        Number of the body of each link; links that stand still without shapes have none.
    joints : tuple of str
        Names of the joints that move, as in the scene.
    notes : tuple of str
        Unused parts of the file.
    """

    name: str
    bodies: dict[str, int]
    joints: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        counts = [(len(set(self.bodies.values())), "bod", "y", "ies"), (len(self.joints), "joint", "", "s")]
        words = ", ".join(f"{n} {word}{one if n == 1 else many}" for n, word, one, many in counts)
        return f"LoadedRobot('{self.name}': {words})"


def add_robot(
    scene: Scene,
    robot: Robot,
    *,
    position: Any = None,
    orientation: Any = None,
    fixed_base: bool = True,
    joints: Mapping[str, float] | None = None,
    keyframe: str | None = None,
    motors: Mapping[str, Any] | None = None,
    self_collision: bool = True,
    material: str | None = None,
    prefix: str = "",
) -> LoadedRobot:
    """Add a robot to a scene; see :meth:`clapas.Scene.load_robot`."""
    label, key = f"robot '{robot.name}'", None
    if scene.d != 3:
        raise SceneError(f"{label}: robots are in 3-D, the scene in {scene.d}-D")
    if keyframe is not None:
        robot, key = _at_keyframe(robot, label, keyframe)
        joints = key.coordinates | dict(joints or {})
    base = Pose(
        (0.0, 0.0, 0.0) if position is None else checks.vector(label, "position", position, 3),
        checks.orientation(label, orientation, 3),
    )
    coordinates = _coordinates(robot, label, joints or {})
    composites, carrier = _composites(robot, base, fixed_base, coordinates)
    _check_loops(robot, _poses(carrier), _poses(_composites(robot, base, fixed_base, {})[1]))
    planes = [plane for one in composites for plane in _add_planes(scene, robot, one, material, prefix)]
    twists = {}
    if key is not None:
        body_of = {link: composite.name for link, (composite, _) in carrier.items()}
        twists = twists_of(robot, key, base, body_of, lambda joint: _before(joint, carrier, coordinates))
    added = {one.name: _add(scene, robot, one, twists.get(one.name), material, prefix) for one in composites}
    numbers = {name: number for name, number in added.items() if number is not None}
    of_link = {link: numbers.get(carrier[link][0].name) for link in carrier}
    names, notes = [], list(robot.notes)
    for joint in robot.joints:
        if joint.kind not in ("fixed", "free"):
            before = _before(joint, carrier, coordinates)
            _join(scene, robot, joint, carrier, of_link, coordinates, dict(motors or {}), prefix, before)
            names.append(prefix + joint.name)
        before = _before(joint, carrier, coordinates)
        for own in joint.along:
            _join(scene, robot, own, carrier, of_link, coordinates, dict(motors or {}), prefix, before)
            names.append(prefix + own.name)
    own_names = {one.name for joint in robot.joints for one in (joint, *joint.along)}
    unknown = set(motors or {}) - own_names - {one.name for one in robot.stretches}
    if unknown:
        raise SceneError(f"{label}: motors for {sorted(unknown)}, which are no joints of it")
    for one in robot.followers:
        try:
            scene.mimic(prefix + one.follower, prefix + one.leader, ratio=one.ratio, offset=one.offset)
        except SceneError as error:
            raise SceneError(f"{label}: {error}") from None
    for closure in robot.closures:
        link, pose = carrier[closure.a] if closure.a in carrier else (None, Pose())
        at = (link.pose @ pose).at(closure.anchor) if link else closure.anchor
        scene.join(
            closure.kind, of_link.get(closure.a), of_link.get(closure.b), at=at, name=prefix + closure.name
        )
        names.append(prefix + closure.name)
    for tendon in robot.stretches:
        _stretch(scene, robot, tendon, carrier, of_link, dict(motors or {}), prefix)
        names.append(prefix + tendon.name)
    # Planes are walls of their own beside the body of the world, and part of no link that is fixed to it.
    of_name = {link: [number] for link, number in of_link.items() if number is not None}
    of_name[WORLD] = of_name.get(WORLD, []) + planes
    pairs = [pair for a, b in robot.apart for pair in product(of_name.get(a, []), of_name.get(b, []))]
    if not self_collision:
        pairs += combinations(sorted(set(numbers.values())), 2)
    for first, second in pairs:
        if first != second:
            scene.ignore(first, second)
    notes += [*_also_apart(robot, carrier), *_settings(scene, robot)]
    changes = [note for note in notes if not note.startswith(NO_PART)]
    if changes:
        warn(f"{label}: " + "; ".join(changes))
    bodies = {link: number for link, number in of_link.items() if number is not None}
    return LoadedRobot(robot.name, bodies, tuple(names), tuple(notes))


def _at_keyframe(robot: Robot, label: str, name: str) -> tuple[Robot, Keyframe]:
    """The robot with its free links where a keyframe has them and its motors set, and the keyframe."""
    if name not in robot.keyframes:
        known = ", ".join(f"'{one}'" for one in robot.keyframes) or "none"
        near = checks.did_you_mean(name, robot.keyframes)
        raise SceneError(f"{label}: there is no keyframe '{name}'{near}; there are {known}")
    key = robot.keyframes[name]
    moved = [replace(joint, pose=key.poses.get(joint.name, joint.pose)) for joint in robot.joints]
    driven = [replace(one, target=key.targets.get(one.joint, one.target)) for one in robot.actuators]
    return replace(robot, joints=tuple(moved), actuators=tuple(driven)), key


def _also_apart(robot: Robot, carrier: Mapping[str, tuple[Composite, Pose]]) -> list[str]:
    """Links that could touch, but are of one body with links that never do."""

    def with_shapes(name: str) -> list[str]:
        links = carrier[name][0].links if name in carrier else []
        return [
            link.name for link, _ in links if any(not isinstance(one.shape, Plane) for one in link.collisions)
        ]

    apart = {frozenset(pair) for pair in robot.apart}
    notes: dict[frozenset[str], str] = {}
    for a, b in robot.apart:
        for pair in product(with_shapes(a), with_shapes(b)):
            if frozenset(pair) not in apart and carrier[a][0] is not carrier[b][0]:
                first, second = pair
                notes[frozenset(pair)] = (
                    f"'{first}' and '{second}' pass through each other too: they are of one body with '{a}' "
                    f"and '{b}', which never touch"
                )
    return list(notes.values())


def _settings(scene: Scene, robot: Robot) -> list[str]:
    """Take gravity and time step of the file where the scene has none of its own; what is left out."""
    notes = []
    if robot.gravity is not None:
        if not scene.is_gravity_given:
            scene.gravity = robot.gravity
        elif scene.gravity != robot.gravity:
            ours, theirs = (", ".join(f"{x:g}" for x in g) for g in (scene.gravity, robot.gravity))
            notes.append(f"gravity ({theirs}) m/s² is left out: the scene has its own, ({ours}) m/s²")
    if robot.dt is not None:
        if scene.run.dt is None:
            scene.run = replace(scene.run, dt=robot.dt)
        elif scene.run.dt != robot.dt:
            notes.append(f"time step {robot.dt:g} s is left out: the scene has its own, {scene.run.dt:g} s")
    return notes


def _coordinates(robot: Robot, label: str, initial: Mapping[str, float]) -> dict[str, float]:
    """Coordinates of the joints where the robot is placed: zero, or the nearest limit, unless set."""
    all_joints = [one for joint in robot.joints for one in (joint, *joint.along)]
    moving = {
        joint.name: joint for joint in all_joints if joint.kind in WITH_LAWS and not is_about_ball(joint)
    }
    for name in initial:
        if name not in moving:
            known = ", ".join(moving) or "none"
            raise SceneError(
                f"{label}: joints has '{name}'{checks.did_you_mean(name, moving)}, which is no joint with "
                f"one coordinate; those are {known}"
            )
    leaders = {one.follower: one for one in robot.followers}
    coordinates: dict[str, float] = {}

    def value(name: str, visited: tuple[str, ...] = ()) -> float:
        if name in visited:
            raise FormatError(f"{label}: joints that follow each other in a circle: {', '.join(visited)}")
        joint = moving[name]
        if name in initial:
            result = checks.number(label, f"coordinate of '{name}'", initial[name])
        elif name in leaders and leaders[name].leader in moving:
            one = leaders[name]
            result = one.ratio * value(one.leader, (*visited, name)) + one.offset
        else:
            low, high = joint.limits or (-math.inf, math.inf)
            result = min(max(joint.zero, low), high)
        return result

    for name in moving:
        coordinates[name] = value(name)
    return coordinates


def _composites(
    robot: Robot, base: Pose, fixed_base: bool, coordinates: Mapping[str, float]
) -> tuple[list[Composite], dict[str, tuple[Composite, Pose]]]:
    """The bodies, and for each link its body and its pose in the frame of that."""
    links = {link.name: link for link in robot.links}
    children = {joint.child for joint in robot.joints}
    carrier: dict[str, tuple[Composite, Pose]] = {}
    composites: list[Composite] = []

    def begin(link: Link, pose: Pose, is_fixed: bool) -> None:
        one = Composite(link.name, pose, is_fixed, [(link, Pose())])
        composites.append(one)
        carrier[link.name] = (one, Pose())

    for link in robot.links:
        if link.name not in children:
            begin(link, base, link.name == WORLD or fixed_base)
    if WORLD not in carrier and any(joint.parent == WORLD for joint in robot.joints):
        begin(Link(name=WORLD), base, True)
    for joint in robot.joints:
        above, own = carrier[joint.parent]
        pose = own @ joint.pose
        for one in (joint, *joint.along):
            pose = pose @ _moved(one, coordinates.get(one.name, one.zero) - one.zero)
        child = links[joint.child]
        if joint.kind == "fixed":
            above.links.append((child, pose))
            carrier[child.name] = (above, pose)
        else:
            begin(child, above.pose @ pose, False)
    return composites, carrier


def _poses(carrier: Mapping[str, tuple[Composite, Pose]]) -> dict[str, Pose]:
    """Poses of links in the world."""
    return {name: composite.pose @ own for name, (composite, own) in carrier.items()}


def _check_loops(robot: Robot, start: Mapping[str, Pose], reference: Mapping[str, Pose]) -> None:
    """Refuse to start where a loop is open: its links are joined where they meet at the reference."""
    for closure in robot.closures:
        poses = [(of.get(closure.a, Pose()), of.get(closure.b, Pose())) for of in (reference, start)]
        (a, b), (a_now, b_now) = poses
        point = a.at(closure.anchor)
        now = np.array(a_now.at(closure.anchor)), np.array(b_now.at(b.inverse.at(point)))
        gap, moved = np.linalg.norm(now[1] - now[0]), max(np.linalg.norm(one - point) for one in now)
        rounding = 1e-12 * (np.linalg.norm(point) + np.linalg.norm(b.position))
        advice = "give coordinates of all its joints with which it closes (joints=…)"
        if gap > OPEN * moved + rounding:
            raise SceneError(
                f"{closure.place}: the loop is open where the robot starts, its points {gap:.3g} m apart; "
                + advice
            )
        turned = (b.inverse @ a).inverse @ (b_now.inverse @ a_now)
        angle = 2.0 * math.atan2(math.hypot(*turned.orientation[1:]), abs(turned.orientation[0]))
        if closure.kind == "fixed" and angle > OPEN:
            raise SceneError(
                f"{closure.place}: the loop is open where the robot starts, what it welds turned by "
                f"{angle:.3g} rad; " + advice
            )


def is_about_ball(joint: RobotJoint) -> bool:
    """Whether it is friction about an axis of a ball joint, which has no coordinate of its own."""
    return joint.kind == "turn" and joint.is_exchanged and joint.second is None


def _before(
    joint: RobotJoint, carrier: Mapping[str, tuple[Composite, Pose]], coordinates: Mapping[str, float]
) -> list[Pose]:
    """Frames of the child in the world before the first of its coordinates has moved it, and before the next.

    Where none has moved it they are its frame.
    """
    composite, own = carrier[joint.child]
    moves = [_moved(one, coordinates.get(one.name, one.zero) - one.zero) for one in joint.along]
    frames = [composite.pose @ own]
    if all(move == Pose() for move in moves):
        return frames * (len(moves) + 1)
    for move in reversed(moves):
        frames.insert(0, frames[0] @ move.inverse)
    return frames


def _moved(joint: RobotJoint, travel: float) -> Pose:
    """The pose of a link after its joint has moved, in the frame it had before."""
    if travel == 0.0:
        return Pose()
    axis = np.array(joint.own_axis) / np.linalg.norm(joint.own_axis)
    if joint.kind in ("slider", "travel"):
        return Pose(tuple(map(float, travel * axis)))
    turn = rotations.from_axis_angle(axis, travel)
    anchor = np.array(joint.anchor)
    back = anchor - rotations.rotate(turn, anchor)  # the anchor stays where it is
    return Pose(tuple(map(float, back)), tuple(map(float, turn)))


def _options(scene: Scene, one: Composite, material: str | None) -> dict[str, Any]:
    """The material of a composite: the one that is asked for, or that of its friction in the file."""
    chosen = material or _material(scene, one)
    return {"material": chosen} if chosen else {}


def _add_planes(scene: Scene, robot: Robot, one: Composite, material: str | None, prefix: str) -> list[int]:
    """Add its planes, each of which is a wall of its own."""
    planes = [(part.shape, one.pose @ pose) for part, pose in one.collisions if isinstance(part.shape, Plane)]
    options = _options(scene, one, material)
    return [
        add_to_world(scene, robot, plane, where, f"{prefix}{one.name} plane {k}", options)
        for k, (plane, where) in enumerate(planes)
    ]


def _add(
    scene: Scene, robot: Robot, one: Composite, twist: Twist | None, material: str | None, prefix: str
) -> int | None:
    """Add a body; None for one that stands still and has no shape but planes."""
    parts = [
        (collision.shape, pose.position, pose.orientation)
        for collision, pose in one.collisions
        if not isinstance(collision.shape, Plane)
    ]
    options = _options(scene, one, material)
    if one.is_fixed:
        if not parts:
            return None
        if one.name == WORLD:
            return add_to_world(scene, robot, Clump(parts), one.pose, prefix + one.name, options)
        return scene.add(
            Clump(parts),
            one.pose.position,
            one.pose.orientation,
            fixed=True,
            name=prefix + one.name,
            **options,
        )
    inertia, place = one.inertia, one.links[0][0].place
    if inertia is None:
        raise FormatError(
            f"{place}: the link has no mass, but moves; give it <inertial>, or fix it to a link that has one"
        )
    shape: Shape = Clump(parts) if parts else Point()
    if twist is not None:
        options["velocity"] = twist.at(one.pose.at(inertia.centre))
        options["angular_velocity"] = twist.turning
    try:
        return scene.add(
            shape,
            one.pose.position,
            one.pose.orientation,
            mass=inertia.mass,
            inertia=inertia.tensor,
            centre=inertia.centre,
            name=prefix + one.name,
            **options,
        )
    except SceneError as error:
        raise SceneError(f"{place}: {error}") from None


def _material(scene: Scene, one: Composite) -> str | None:
    """The material for the coefficient of friction in the file, if the scene has one of that name."""
    numbers = {collision.mu for collision, _ in one.collisions if collision.mu is not None}
    if not numbers:
        return None
    name = friction_name(max(numbers))
    return name if name in scene.materials else None


def friction_name(mu: float) -> str:
    """Name of the material of bodies whose file has a coefficient of friction."""
    return f"friction {mu:g}"


def _join(
    scene: Scene,
    robot: Robot,
    joint: RobotJoint,
    carrier: Mapping[str, tuple[Composite, Pose]],
    of_link: Mapping[str, int | None],
    coordinates: Mapping[str, float],
    motors: dict[str, Any],
    prefix: str,
    before: list[Pose],
) -> None:
    """Add a joint; ``before`` are the frames of the child before each of its coordinates moved it."""
    composite, own = carrier[joint.child]
    frame = composite.pose @ own
    in_a, in_b = (frame, before[0]) if joint.is_exchanged else (before[0], frame)
    kind: dict[str, Any] = {}
    a, b, axis = of_link[joint.parent], of_link[joint.child], joint.axis
    if joint.is_exchanged:  # how far the parent goes back from the child
        a, b, axis = b, a, axis if a is None else (-axis[0], -axis[1], -axis[2])
    if joint.kind != "ball":
        kind["axis"] = in_a.along(axis)
    if joint.third is not None:
        assert joint.second is not None
        kind |= {"second": before[1].along(joint.second), "third": frame.along(joint.third)}
        kind["which"] = joint.which
    elif joint.second is not None:
        kind["second"] = in_b.along(joint.second)
    laws: dict[str, Any] = {}
    if joint.kind in WITH_LAWS:
        laws = {"start": coordinates.get(joint.name, 0.0), **_laws(robot, joint, motors)}
    try:
        scene.join(
            joint.kind,
            a,
            b,
            at=in_b.at(joint.anchor),  # the point is one of the second body, which the coordinates move
            name=prefix + joint.name,
            **kind,
            **laws,
        )
    except SceneError as error:
        raise SceneError(f"{joint.place}: {error}") from None


def _stretch(
    scene: Scene,
    robot: Robot,
    tendon: Stretch,
    carrier: Mapping[str, tuple[Composite, Pose]],
    of_link: Mapping[str, int | None],
    motors: dict[str, Any],
    prefix: str,
) -> None:
    """Add a tendon."""
    ends = ((tendon.a, tendon.at), (tendon.b, tendon.to))
    at, to = ((carrier[link][0].pose @ carrier[link][1]).at(point) for link, point in ends)
    a, b = of_link[tendon.a], of_link[tendon.b]
    laws = _laws(robot, tendon, motors)
    try:
        scene.join("stretch", a, b, at=at, to=to, name=prefix + tendon.name, **laws)
    except SceneError as error:
        raise SceneError(f"{tendon.place}: {error}") from None


def _laws(robot: Robot, joint: RobotJoint | Stretch, motors: Mapping[str, Any]) -> dict[str, Any]:
    """The laws along a joint or a tendon that it has."""
    laws = {
        "limits": joint.limits,
        "friction": joint.friction or None,
        "damping": joint.damping or None,
        "armature": joint.armature or None,
        "spring": joint.spring,
        "motor": motors.get(joint.name) or _motor(robot, joint.name),
    }
    return {name: value for name, value in laws.items() if value is not None}


def _motor(robot: Robot, joint: str) -> Any:
    """The motor that the file puts on a joint; None without."""
    actuator = next((one for one in robot.actuators if one.joint == joint), None)
    if actuator is None:
        return None
    bound = math.inf if actuator.bound is None else actuator.bound
    if actuator.kind == "torque":
        return TorqueMotor(actuator.target, bound, actuator.least)
    if actuator.kind == "velocity":
        return VelocityMotor(actuator.target, bound)
    return Servo(actuator.target, actuator.stiffness, actuator.damping, bound)
