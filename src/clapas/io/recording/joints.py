"""Joints in a recording: forces, torques and coordinates.

/joints                     attributes names, moving, turning: all joints, those with a coordinate, and those
                            whose coordinate is an angle, as JSON; early versions do not have the last
/frames/joints/force        mean force of each joint on its body a during the step
/frames/joints/torque       mean torque about the point of the joint
/frames/joints/coordinate   angle (turns counted) or displacement of those that have one
/frames/joints/rate         its rate
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from clapas.dynamics.joints.coordinates import joint_coordinates
from clapas.dynamics.model import Model
from clapas.errors import FormatError, unknown_name
from clapas.io.hdf5 import reading
from clapas.io.recording import validation
from clapas.io.recording.layout import Column
from clapas.scenes.recorders import RecordedStep
from clapas.typing import Array


class JointNames(NamedTuple):
    """Names of all joints, of those with a coordinate, and of those whose coordinate is an angle.

    The last is None in files of early versions.
    """

    names: tuple[str, ...] = ()
    moving: tuple[str, ...] = ()
    turning: tuple[str, ...] | None = None


class JointFrame(NamedTuple):
    """A joint in a frame.

    Parameters
    ----------
    force, torque : arrays (d,), and (3,) or (1,)
        Mean force (N) and torque (N·m) on body a during the step, in world axes; b gets the opposite.
    coordinate, rate : float
        Angle (rad) or displacement (m), and its rate; NaN for joints without a coordinate.
    """

    force: Array
    torque: Array
    coordinate: float
    rate: float


@dataclass(frozen=True, eq=False)
class JointFrames(Mapping[str, JointFrame]):
    """Joints of a frame by name."""

    known: JointNames
    force: Array
    torque: Array
    coordinate: Array
    rate: Array

    def __getitem__(self, name: str) -> JointFrame:
        if name not in self.known.names:
            raise unknown_name("joint", name, self.known.names)
        k = self.known.names.index(name)
        value, rate = float("nan"), float("nan")
        if name in self.known.moving:
            position = self.known.moving.index(name)
            value, rate = float(self.coordinate[position]), float(self.rate[position])
        return JointFrame(self.force[k], self.torque[k], value, rate)

    def __iter__(self) -> Iterator[str]:
        return iter(self.known.names)

    def __len__(self) -> int:
        return len(self.known.names)


NO_JOINTS = JointFrames(JointNames(), np.empty((0, 0)), np.empty((0, 0)), np.empty(0), np.empty(0))


def recorded(model: Model) -> JointNames:
    """The joints of a model."""
    rows = model.joints
    if rows is None:
        return JointNames()
    angles = [joint.name for joint in rows.joints if joint.rows.measure == "angle"]
    return JointNames(tuple(rows.names), tuple(rows.drives.names), tuple(angles))


def columns(joints: JointNames) -> dict[str, Column]:
    """Columns of the joints under ``/frames``, by name."""
    if not joints.names:
        return {}
    n, moving = len(joints.names), (len(joints.moving),)
    return {
        "joints/force": Column((n, "d"), "f8", "N", "mean force of joints on their bodies a", noisy=True),
        "joints/torque": Column((n, "couple"), "f8", "N·m", "mean torque about their points", noisy=True),
        "joints/coordinate": Column(moving, "f8", "rad, m", "angles and displacements", noisy=True),
        "joints/rate": Column(moving, "f8", "rad/s, m/s", "their rates", noisy=True),
    }


def row(model: Model, kept: RecordedStep) -> dict[str, Any]:
    """Values of these columns for a recorded step."""
    if model.joints is None:
        return {}
    current, step_joints = joint_coordinates(model, kept.state), kept.stepped.joints if kept.stepped else None
    n, d = len(model.joints.names), model.d
    return {
        "joints/force": np.zeros((n, d)) if step_joints is None else step_joints.force,
        "joints/torque": np.zeros((n, 3 if d == 3 else 1)) if step_joints is None else step_joints.torque,
        "joints/coordinate": current.value,
        "joints/rate": current.rate,
    }


def frame(joints: JointNames, row: Mapping[str, Any]) -> JointFrames:
    """The joints in a row of the frames; empty without joints."""
    if not joints.names:
        return NO_JOINTS
    return JointFrames(joints, *(row[f"joints/{name}"] for name in ("force", "torque", "coordinate", "rate")))


def write(file: Any, joints: JointNames) -> None:
    """Write the names of the joints to an open file."""
    group = file.create_group("joints")
    for name, values in joints._asdict().items():
        group.attrs[name] = json.dumps(values)


def read(file: Any, where: str) -> JointNames:
    """Read the names of the joints of an open file; empty if there are none."""
    with reading(f"{where}: 'joints'"):
        if "joints" not in file:
            return JointNames()
        group = file["joints"]
        fields = [name for name in JointNames._fields if name != "turning" or name in group.attrs]
    texts = (
        validation.document(validation.text(group, name, where), list, f"joints/{name}", where)
        for name in fields
    )
    known = JointNames(*(tuple(map(str, each)) for each in texts))
    if not set(known.moving) <= set(known.names):
        raise FormatError(f"{where}: 'joints/moving' names joints that 'joints/names' does not have")
    if not set(known.turning or ()) <= set(known.moving):
        raise FormatError(f"{where}: 'joints/turning' names joints that 'joints/moving' does not have")
    return known


def digested(file: Any) -> Iterator[str]:
    """Constant data of the joints in an open file, for the checksum."""
    if "joints" in file:
        attributes = file["joints"].attrs
        yield from (str(attributes[name]) for name in JointNames._fields if name in attributes)
