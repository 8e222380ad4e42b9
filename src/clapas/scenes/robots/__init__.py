"""Robots from files: URDF and MJCF, read into a description and built into a scene."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clapas.errors import FormatError, known_keywords, warn
from clapas.scenes.overlaps import overlapping
from clapas.scenes.robots.build import LoadedRobot, add_robot, friction_name
from clapas.scenes.robots.description import Robot
from clapas.scenes.robots.mjcf import read_mjcf
from clapas.scenes.robots.urdf import read_urdf
from clapas.scenes.robots.xml import read_xml

if TYPE_CHECKING:
    from clapas.scenes.scene import Scene

__all__ = ["LoadedRobot", "Robot", "add_robot", "is_robot_file", "load_robot", "read_robot", "robot_scene"]

MU = 0.8  # default of files without friction
DT = {"URDF": 1e-3, "MJCF": 2e-3}  # the latter is MuJoCo's


def is_robot_file(path: str | os.PathLike[str]) -> bool:
    """Whether the name of a file is that of a robot: it ends in .urdf, .mjcf or .xml."""
    return Path(path).suffix.lower() in (".urdf", ".mjcf", ".xml")


def read_robot(
    path: str | os.PathLike[str],
    *,
    packages: Mapping[str, str | os.PathLike[str]] | None = None,
    strict: bool = True,
) -> Robot:
    """Read a robot from a URDF or MJCF file, distinguished by the root element.

    Parameters
    ----------
    path : path
        The file.
    packages : mapping, optional
        Folders of the ROS packages that ``package://`` names; by default they are searched above the file.
    strict : bool
        Reject unknown or unsupported elements; otherwise they are left out and named in the notes.

    Raises
    ------
    FormatError
        The file is damaged or unsupported; the message names the line.
    """
    root = read_xml(Path(path))
    folders = {name: Path(folder) for name, folder in (packages or {}).items()}
    if root.tag == "robot":
        robot = read_urdf(root, folders, strict)
    elif root.tag == "mujoco":
        robot = read_mjcf(root, strict)
    else:
        raise FormatError(f"{path}: expected a robot, <robot> (URDF) or <mujoco> (MJCF), got <{root.tag}>")
    for word, named in (("links", robot.links), ("joints", robot.joints)):
        counts = Counter(each.name for each in named)
        if twice := [name for name, count in counts.items() if count > 1]:
            raise FormatError(f"{path}: two {word} are called '{twice[0]}'; names are unique")
    return replace(robot, path=Path(path).resolve())


@known_keywords
def load_robot(
    scene: Scene,
    path: str | os.PathLike[str],
    *,
    position: Sequence[float] | None = None,
    orientation: Sequence[float] | None = None,
    fixed_base: bool = True,
    joints: Mapping[str, float] | None = None,
    keyframe: str | None = None,
    motors: Mapping[str, Any] | None = None,
    self_collision: bool = True,
    material: str | None = None,
    prefix: str = "",
    packages: Mapping[str, str | os.PathLike[str]] | None = None,
    strict: bool = True,
) -> LoadedRobot:
    """Add a robot from a URDF or MJCF file: a body for each link, a joint for each joint.

    Links that fixed joints hold together become one body. Limits, friction, damping, springs and motors
    of joints are taken from the file, and so are gravity and time step (MJCF) where the scene has none of
    its own: one given to ``Scene(gravity=...)`` or ``scene.run``, or brought by an earlier robot, stays.
    Unused parts of the file are named in a warning and in the notes; unsupported ones are rejected.
    Walls of the world that coincide with those that the same file brought before are shared.

    Parameters
    ----------
    path : path
        The file.
    position, orientation : floats, optional
        Of the robot's own frame in the world (m; quaternion w, x, y, z).
    fixed_base : bool
        Whether the link at the top stands still (URDF; MJCF says it itself).
    joints : mapping, optional
        Coordinates of joints where the robot starts (rad, m), by name. By default zero, or the nearest
        limit.
    keyframe : str, optional
        A pose of the file to start from (MJCF), by name, or by number if it has none, with its velocities and
        the targets of its motors; ``joints`` and ``motors`` go before.
    motors : mapping, optional
        Motors by the names of joints, instead of those of the file (see :meth:`join`).
    self_collision : bool
        Whether links that no joint joins may touch each other.
    material : str, optional
        Material of all links; by default "default".
    prefix : str
        Put before the names of links and joints: two robots of one file need two prefixes.
    packages : mapping, optional
        Folders of ROS packages, for meshes named ``package://…``.
    strict : bool
        False leaves out what is not supported, and says so, instead of refusing it.

    Returns
    -------
    LoadedRobot
        Numbers of the bodies by link, names of the joints, notes.
    """
    robot = read_robot(path, packages=packages, strict=strict)
    before = {name: copy(value) for name, value in vars(scene).items()}
    try:
        return add_robot(
            scene,
            robot,
            position=position,
            orientation=orientation,
            fixed_base=fixed_base,
            joints=joints,
            keyframe=keyframe,
            motors=motors,
            self_collision=self_collision,
            material=material,
            prefix=prefix,
        )
    except Exception:
        vars(scene).update(before)  # no partial robot is left in the scene
        raise


def robot_scene(path: str | os.PathLike[str], *, fixed_base: bool = True) -> Scene:
    """A scene with a robot alone: what ``clapas run robot.urdf`` simulates.

    Gravity, time step and friction are those of the file. Where it says nothing the coefficient of friction
    is 0.8 and the time step 1 ms (URDF) or 2 ms (MJCF, as in MuJoCo). Links of a URDF file that overlap where
    the robot starts pass through each other, and a warning names them: most such files leave their shapes
    inside one another.
    """
    from clapas.scenes.run import Run
    from clapas.scenes.scene import Scene

    robot = read_robot(path)
    scene = Scene(gravity=robot.gravity, combine="max")
    numbers = {one.mu for link in robot.links for one in link.collisions if one.mu is not None}
    for mu in sorted(numbers):
        scene.material(friction_name(mu))
        scene.law(friction_name(mu), friction_name(mu), mu=mu)
    scene.law("default", "default", mu=MU)
    add_robot(scene, robot, fixed_base=fixed_base)
    if robot.format != "MJCF":
        _ignore_overlapping(scene, robot)
    scene.run = Run(duration=2.0, dt=robot.dt or DT[robot.format], every=10)
    return scene


def _ignore_overlapping(scene: Scene, robot: Robot) -> None:
    """Ignore contacts between links that overlap at the start, with a warning."""
    from clapas.scenes.compilation import at_start, compile_scene

    records = scene.records()
    start = at_start(compile_scene(scene, check_overlaps=False), records)
    is_overlap = overlapping(records, start, scene.overlap)
    pairs = sorted({(int(a), int(b)) for a, b in start.contacts.bodies[is_overlap]})
    for a, b in pairs:
        scene.ignore(a, b)
    if pairs:
        names = ", ".join(f"'{records[a].name}' and '{records[b].name}'" for a, b in pairs)
        warn(f"robot '{robot.name}': links overlap at the start and will pass through each other: {names}")
