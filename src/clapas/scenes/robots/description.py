"""Format-independent description of a robot: links, joints, motors.

The records do not depend on scenes. Poses of links are in the frame of the parent link.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from clapas.geometry import rotations
from clapas.geometry.checks import Vector
from clapas.geometry.shapes import Shape
from clapas.typing import Array

WORLD = "world"


@dataclass(frozen=True)
class Pose:
    """Pose of a frame relative to another.

    Parameters
    ----------
    position : tuple of 3
        m.
    orientation : tuple of 4
        Unit quaternion (w, x, y, z).
    """

    position: Vector = (0.0, 0.0, 0.0)
    orientation: Vector = (1.0, 0.0, 0.0, 0.0)

    def __matmul__(self, other: Pose) -> Pose:
        """Composition of poses: ``other`` is relative to this frame."""
        turn = rotations.normalise(rotations.product(self.orientation, other.orientation))
        return Pose(self.at(other.position), tuple(map(float, turn)))

    def at(self, point: Vector) -> Vector:
        """Coordinates of a point of this frame in the reference frame."""
        return tuple(map(float, np.add(self.position, rotations.rotate(self.orientation, point))))

    def along(self, direction: Vector) -> Vector:
        """A direction of this frame in the reference frame."""
        return tuple(map(float, rotations.rotate(self.orientation, direction)))

    @property
    def inverse(self) -> Pose:
        """The pose of the other frame in this one."""
        back = rotations.conjugate(self.orientation)
        return Pose(tuple(map(float, -rotations.rotate(back, self.position))), tuple(map(float, back)))


@dataclass(frozen=True, eq=False)
class Inertia:
    """Mass, centre of mass (m) and inertia tensor (3, 3) about it (kg·m²), along the axes of a link."""

    mass: float
    centre: Vector
    tensor: Array

    def seen_from(self, pose: Pose) -> Inertia:
        """The same in the frame in which the link has this pose."""
        turn = rotations.to_matrix(pose.orientation)
        return Inertia(self.mass, pose.at(self.centre), turn @ self.tensor @ turn.T)

    @staticmethod
    def together(parts: list[Inertia]) -> Inertia:
        """Sum of several bodies: tensors about the common centre add up (Huygens, Steiner)."""
        mass = sum(part.mass for part in parts)
        centre = np.sum([part.mass * np.array(part.centre) for part in parts], axis=0) / mass
        tensor = np.zeros((3, 3))
        for part in parts:
            arm = np.array(part.centre) - centre
            tensor += part.tensor + part.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        return Inertia(mass, tuple(map(float, centre)), tensor)


@dataclass(frozen=True)
class Collision:
    """A collision shape of a link.

    Parameters
    ----------
    shape : Shape
        Convex, or a plane.
    pose : Pose
        Of its own frame in the frame of the link.
    mu : float, optional
        Coefficient of friction in the file.
    group, mask : int
        Two shapes touch if the group of one has a bit in common with the mask of the other.
    """

    shape: Shape
    pose: Pose = Pose()
    mu: float | None = None
    group: int = 1
    mask: int = 1


@dataclass(frozen=True, kw_only=True)
class Link:
    """A rigid part of a robot.

    Parameters
    ----------
    name : str
        Its name, unique among links.
    inertia : Inertia, optional
        None for links without mass, which only fixed joints may carry.
    collisions : tuple of Collision
        Its shapes.
    place : str
        File and line, for messages.
    """

    name: str
    inertia: Inertia | None = None
    collisions: tuple[Collision, ...] = ()
    place: str = ""


@dataclass(frozen=True, kw_only=True)
class RobotJoint:
    """A joint between a link and its parent.

    Parameters
    ----------
    name : str
        Its name, unique among joints.
    kind : str
        "fixed", "free", or a kind of :meth:`clapas.Scene.join`: "hinge", "slider", "ball", …
    parent, child : str
        Names of the links; the parent of the first link may be "world".
    pose : Pose
        Of the child in the frame of the parent, where the coordinate is ``zero``.
    anchor, axis, second, third : tuples of 3
        Point, axis, second axis and third axis in the frame of the child.
    which : int
        Of a gimbal, the axis whose angle is meant, from 1.
    zero : float
        Coordinate at that pose (rad, m).
    limits : (lower, upper), optional
        Of the coordinate (rad, m).
    damping, friction, armature : float
        N·m·s/rad, N·m, kg·m²; N·s/m, N, kg.
    spring : (stiffness, rest), optional
        N·m/rad, rad; N/m, m.
    effort : float, optional
        Largest effort of its motor (N·m, N).
    place : str
        File and line, for messages.
    is_exchanged : bool
        Whether the axis is fixed in the child instead of in the parent.
    along : tuple of RobotJoint
        The coordinates of a joint that leaves several free, each a "turn", a "travel" or a "gimbal" with its
        own laws, in the order in which they move the child.
    """

    name: str
    kind: str
    parent: str
    child: str
    pose: Pose = Pose()
    anchor: Vector = (0.0, 0.0, 0.0)
    axis: Vector = (1.0, 0.0, 0.0)
    second: Vector | None = None
    third: Vector | None = None
    which: int = 0
    zero: float = 0.0
    limits: tuple[float, float] | None = None
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    spring: tuple[float, float] | None = None
    effort: float | None = None
    place: str = ""
    is_exchanged: bool = False
    along: tuple[RobotJoint, ...] = ()

    @property
    def own_axis(self) -> Vector:
        """The axis that its coordinate is about, or along."""
        axes = self.axis, self.second, self.third
        return axes[max(self.which - 1, 0)] or self.axis


@dataclass(frozen=True, kw_only=True)
class Follower:
    """A joint that follows another: coordinate = ratio · that of the leader + offset."""

    follower: str
    leader: str
    ratio: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Closure:
    """A joint that closes a loop of links: "ball" or "fixed", at a point of the first (m)."""

    name: str
    kind: str
    a: str
    b: str
    anchor: Vector
    place: str = ""


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """A tendon: the distance of two points of two links, with laws along it.

    Parameters
    ----------
    name : str
        Its name, that of no joint.
    a, b : str
        Names of the links.
    at, to : tuples of 3
        The points, in the frames of a and of b.
    limits, damping, friction, armature, spring, effort, place
        As a :class:`RobotJoint` has them; a lower limit of None is none.
    """

    name: str
    a: str
    b: str
    at: Vector
    to: Vector
    limits: tuple[float | None, float] | None = None
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    spring: tuple[float, float] | None = None
    effort: float | None = None
    place: str = ""


@dataclass(frozen=True, kw_only=True)
class Actuator:
    """A motor on a joint.

    Parameters
    ----------
    name, joint : str
        Its name, and that of the joint or the tendon.
    kind : "torque", "velocity" or "servo"
        As :mod:`clapas.dynamics.joints.laws` has them.
    stiffness, damping : float
        Of a servo.
    damping_ratio : float
        Of a servo, 1 for critical damping, until its damping is known.
    bound : float, optional
        Largest effort (N·m, N).
    least : float, optional
        Least effort of a torque, where it is not −bound.
    scale : float
        Target per unit of its control in the file.
    target : float
        What it aims at from the start.
    """

    name: str
    joint: str
    kind: str
    stiffness: float = 0.0
    damping: float = 0.0
    damping_ratio: float = 0.0
    bound: float | None = None
    least: float | None = None
    scale: float = 1.0
    target: float = 0.0


@dataclass(frozen=True)
class Keyframe:
    """A named pose of a robot, with its velocity and what its motors aim at.

    Parameters
    ----------
    coordinates : dict
        Of its joints, by name (rad, m).
    poses : dict
        Of the links of free joints, by the names of these.
    rates : dict
        Of its joints, by name (rad/s, m/s).
    twists : dict
        Of free joints, by name: velocity of the origin of the link and angular velocity in its frame; of ball
        joints the latter alone.
    targets : dict
        Of its motors, by the names of joints.
    """

    coordinates: dict[str, float]
    poses: dict[str, Pose]
    rates: dict[str, float]
    twists: dict[str, Vector]
    targets: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Robot:
    """Description of a robot.

    Parameters
    ----------
    name : str
        Its name.
    format : "URDF" or "MJCF"
        Of the file.
    links : tuple of Link
        Its links; a link called "world" is the world, with what stands there.
    joints : tuple of RobotJoint
        One for each link but those at the top, parents first.
    followers, closures, stretches, actuators
        Gears, joints that close loops, tendons, motors.
    apart : tuple of (str, str)
        Pairs of links that never touch each other.
    keyframes : dict of Keyframe
        Poses that the file names.
    gravity, dt
        As in the file (m/s², s); None if not set.
    notes : tuple of str
        Unused parts of the file.
    path : Path, optional
        The file.
    """

    name: str
    format: str
    links: tuple[Link, ...]
    joints: tuple[RobotJoint, ...]
    followers: tuple[Follower, ...] = ()
    closures: tuple[Closure, ...] = ()
    stretches: tuple[Stretch, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    apart: tuple[tuple[str, str], ...] = ()
    keyframes: dict[str, Keyframe] = field(default_factory=dict)
    gravity: Vector | None = None
    dt: float | None = None
    notes: tuple[str, ...] = field(default=())
    path: Path | None = None

    def __repr__(self) -> str:
        moving = sum(joint.kind not in ("fixed", "free") for joint in self.joints)
        return f"Robot('{self.name}' from {self.format}: {len(self.links)} links, {moving} moving joints)"
