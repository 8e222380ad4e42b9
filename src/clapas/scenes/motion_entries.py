"""Imposed motions, motors of joints, and regions of grains as scene files write them."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from clapas.dynamics import motions
from clapas.dynamics.joints import laws
from clapas.scenes import regions
from clapas.scenes.entries import AngularVelocity, Maker, Numbers, Rows


class ConstantVelocityEntry(Maker):
    """Translation and rotation at constant velocities."""

    makes = motions.ConstantVelocity
    type: Literal["constant-velocity"]
    velocity: Numbers = Field(description="m/s")
    angular_velocity: AngularVelocity = None


class OscillationEntry(Maker):
    """Sinusoidal translation."""

    makes = motions.Oscillation
    type: Literal["oscillation"]
    amplitude: float = Field(description="m")
    frequency: float = Field(description="Hz")
    direction: Numbers
    phase: float = Field(0.0, description="rad")


class RotationEntry(Maker):
    """Rotation about an axis through the origin of the body's frame."""

    type: Literal["rotation"]
    axis: Numbers | None = Field(None, description="left out in 2-D")
    rate: float = Field(description="rad/s")

    def make(self) -> motions.Motion:
        """The motion."""
        return motions.Rotation(self.axis, self.rate)


class TableEntry(Maker):
    """Velocities at given times, linear in between."""

    makes = motions.Table
    type: Literal["table"]
    times: Numbers = Field(description="increasing (s)")
    velocities: Rows = Field(description="one row for each time (m/s)")
    angular_velocities: Rows | None = Field(None, description="one row for each time (rad/s)")


MotionEntry = Annotated[
    ConstantVelocityEntry | OscillationEntry | RotationEntry | TableEntry, Field(discriminator="type")
]


class BoxRegionEntry(Maker):
    """A box along the axes."""

    makes = regions.BoxRegion
    type: Literal["box"]
    low: Numbers = Field(description="lowest corner (m)")
    high: Numbers = Field(description="highest corner (m)")


class DiscRegionEntry(Maker):
    """A horizontal disc."""

    makes = regions.DiscRegion
    type: Literal["disc"]
    centre: Numbers = Field(description="m")
    radius: float = Field(description="m")


RegionEntry = Annotated[BoxRegionEntry | DiscRegionEntry, Field(discriminator="type")]


class VelocityMotorEntry(Maker):
    """A motor that keeps a rate as long as its torque suffices."""

    makes = laws.VelocityMotor
    type: Literal["velocity"]
    rate: float = Field(description="rad/s, m/s")
    max_torque: float = Field(math.inf, description="N·m, N")


class TorqueMotorEntry(Maker):
    """A motor that gives a torque."""

    makes = laws.TorqueMotor
    type: Literal["torque"]
    torque: float = Field(description="N·m, N")
    max_torque: float = Field(math.inf, description="N·m, N")
    min_torque: float | None = Field(None, description="N·m, N; by default −max_torque")


class ServoEntry(Maker):
    """A spring and a damper towards a target, with a bounded torque."""

    makes = laws.Servo
    type: Literal["servo"]
    target: float = Field(description="coordinate to go to (rad, m)")
    stiffness: float = Field(description="N·m/rad, N/m")
    damping: float = Field(0.0, description="N·m·s/rad, N·s/m")
    max_torque: float = Field(math.inf, description="N·m, N")


MotorEntry = Annotated[VelocityMotorEntry | TorqueMotorEntry | ServoEntry, Field(discriminator="type")]
