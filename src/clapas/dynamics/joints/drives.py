"""Springs, dampers, rotors, friction, limits and motors of joints as arrays, and their rows in one step.

For a coordinate x of rate ẋ = a·v, with ẋ⁻ and ẋ⁺ at the two ends of a step:

*Springs and dampers* are implicit, with x at the start of the step:

    p = −h [k (x + θ h ẋ_θ − rest) + c ẋ⁺],    ẋ_θ = (1 − θ) ẋ⁻ + θ ẋ⁺,

which is a soft bilateral row, ẋ⁺ + P/s + p/s = 0 with s = h (θ² h k + c). With θ = ½ a spring keeps its
energy exactly. A damper takes the rate at the end: at ẋ_θ a stiff one would turn the rate round in each step.
A *rotor* that gears turn with the coordinate, of inertia a seen through them (armature), resists by
−a (ẋ⁺ − ẋ⁻), which adds a to s and −a ẋ⁻ to P: what it takes is its kinetic energy, ½ a ẋ².
A *servo* takes both the rate and the coordinate at the end, p = −h [k (x⁺ − target) + c ẋ⁺]. A velocity motor
without bound is a row that is not soft, ẋ⁺ = rate.

*Limits* are contacts without friction. A coordinate that would pass its limit within the step comes to it and
no further, 0 ≤ ẋ⁺ + g/h ⟂ p ≥ 0 with the gap g at the middle of the step, so that it is exactly at the limit
at the next middle. With restitution e > 0 it passes first (by less than a step) and the bounce is Moreau's,
ẋ⁺ ≥ −e ẋ⁻, unless its rate is less than the loads give in one step.

*Bounded* friction and motors need no law but Coulomb's: the normal row is empty, u_N = c (r_N − ρ), so that
always r_N = ρ, and the tangential row is that of the coordinate, u_T = ẋ⁺ − rate. Its cone is
|p| ≤ mu ρ = h τ_max (ρ is of the size of the expected impulse), with the sign against u_T where it
slides: friction with rate 0, a motor with another. A bounded servo has a compliance 1/s on that row as a
spring has.

Rows of angles are multiplied by a length, the radius of gyration of the bodies about the axis, and count as
velocities of points like those of contacts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from clapas.bodies.links import Account
from clapas.dynamics.joints.definition import Joint
from clapas.dynamics.joints.laws import Servo, TorqueMotor, VelocityMotor
from clapas.typing import Array, Indices, Mask

AT_LIMIT = 16.0 * float(np.finfo(float).eps)  # relative to the limit: a gap that counts as zero
PASSED = 1e-12  # relative to the limit: a larger violation adds the limit to the problem
LEAST_SHARE = 1e-9  # of a bound: the least impulse that a normal row fixes
LOWER, UPPER, FRICTION, MOTOR = range(4)  # laws of links on coordinates
LAWS_PER_COORDINATE = 4


@dataclass(frozen=True, eq=False)
class Drives:
    """The laws of all coordinates, (k,) each.

    Parameters
    ----------
    names : tuple of str
        Names of their joints.
    start, lower, upper, restitution
        Coordinates where bodies were placed; limits, infinite where there are none; restitution at them.
    friction, stiffness, rest, damping, armature
        Largest force of dry friction; spring; damper; inertia of the rotor.
    is_torque, is_velocity, is_servo : arrays of bool
        Which motor there is, if any.
    target, bound, least
        Its default target, its largest force and, of a torque motor, its least.
    servo_stiffness, servo_damping
        Of servos, else zero.
    """

    names: tuple[str, ...]
    start: Array
    lower: Array
    upper: Array
    restitution: Array
    friction: Array
    stiffness: Array
    rest: Array
    damping: Array
    armature: Array
    is_torque: Mask
    is_velocity: Mask
    is_servo: Mask
    target: Array
    bound: Array
    least: Array
    servo_stiffness: Array
    servo_damping: Array

    @cached_property
    def springs(self) -> Indices:
        """Coordinates with a spring, a damper or a rotor."""
        return np.flatnonzero((self.stiffness > 0.0) | (self.damping > 0.0) | (self.armature > 0.0))

    @cached_property
    def unbounded(self) -> Indices:
        """Coordinates with a velocity motor or a servo without bound."""
        return np.flatnonzero((self.is_velocity | self.is_servo) & np.isinf(self.bound))

    @cached_property
    def exact(self) -> Indices:
        """Coordinates with a velocity motor without bound, whose rate is given."""
        return np.flatnonzero(self.is_velocity & np.isinf(self.bound))

    @cached_property
    def bounded(self) -> Indices:
        """Coordinates with a velocity motor or a servo that has a bound."""
        return np.flatnonzero((self.is_velocity | self.is_servo) & np.isfinite(self.bound))

    @cached_property
    def cut(self) -> Indices:
        """Coordinates with a torque motor that has a bound."""
        return np.flatnonzero(self.is_torque & (np.isfinite(self.bound) | np.isfinite(self.least)))

    @cached_property
    def motors(self) -> Indices:
        """Coordinates with a motor."""
        return np.flatnonzero(self.is_torque | self.is_velocity | self.is_servo)

    @cached_property
    def soft(self) -> Indices:
        """Coordinate of each bilateral row that fixes no position: springs, dampers, rotors, then motors."""
        return np.concatenate((self.springs, self.unbounded))

    @cached_property
    def has_links(self) -> bool:
        """Whether there are links: limits, friction or bounded motors."""
        limited = np.isfinite(self.lower) | np.isfinite(self.upper)
        return bool(limited.any() or self.friction.any() or len(self.bounded))

    def potential(self, x: Array) -> float:
        """Energy of the springs (J) at coordinates x."""
        return 0.5 * float(self.stiffness @ (x - self.rest) ** 2)

    def kinetic(self, rate: Array) -> float:
        """Energy of the rotors (J) at rates of the coordinates."""
        return 0.5 * float(self.armature @ rate**2)


def drives_of(joints: Sequence[Joint]) -> Drives:
    """The laws of joints with a coordinate, as arrays."""
    laws = [joint.laws for joint in joints]
    motors = [law.motor for law in laws]
    servos = [motor if isinstance(motor, Servo) else Servo(0.0, 0.0) for motor in motors]
    bounds = [getattr(motor, "max_torque", np.inf) for motor in motors]
    least = [getattr(motor, "min_torque", None) for motor in motors]
    limits = [law.limits or (-np.inf, np.inf) for law in laws]
    springs = [law.spring or (0.0, 0.0) for law in laws]
    numbers = {
        "start": [law.start for law in laws],
        "lower": [lower for lower, _ in limits],
        "upper": [upper for _, upper in limits],
        "restitution": [law.restitution for law in laws],
        "friction": [law.friction for law in laws],
        "stiffness": [k for k, _ in springs],
        "rest": [rest for _, rest in springs],
        "damping": [law.damping for law in laws],
        "armature": [law.armature for law in laws],
        "target": [0.0 if motor is None else motor.target for motor in motors],
        "bound": bounds,
        "least": [-most if low is None else low for low, most in zip(least, bounds, strict=True)],
        "servo_stiffness": [servo.stiffness for servo in servos],
        "servo_damping": [servo.damping for servo in servos],
    }
    kinds = {"is_torque": TorqueMotor, "is_velocity": VelocityMotor, "is_servo": Servo}
    return Drives(
        names=tuple(joint.name for joint in joints),
        **{name: np.array(values, dtype=float) for name, values in numbers.items()},
        **{name: np.array([isinstance(m, kind) for m in motors], bool) for name, kind in kinds.items()},
    )


class CoordinateLinks(NamedTuple):
    """Links on coordinates, without the rows of bodies.

    Parameters
    ----------
    coordinate, law : arrays (n,)
        Which coordinate; LOWER, UPPER, FRICTION or MOTOR.
    sign : array (n,)
        −1 for upper limits.
    w : array (n,)
        Imposed velocity of the row, sign times the rate (rad/s, m/s).
    bound : array (n,)
        Largest impulse (N·m·s, N·s); zero for limits.
    soft : array (n,)
        Compliance of that row, of servos.
    account : array (n,)
        Account of its work.
    """

    coordinate: Indices
    law: Indices
    sign: Array
    w: Array
    bound: Array
    soft: Array
    account: Indices

    def take(self, kept: Indices) -> CoordinateLinks:
        """Some of the links."""
        columns = {name: getattr(self, name)[kept] for name in self._fields}
        return CoordinateLinks(**columns)

    @property
    def is_limit(self) -> Mask:
        """Which are limits."""
        return self.law <= UPPER

    @property
    def identity(self) -> Indices:
        """A unique number of each, increasing."""
        return self.coordinate * LAWS_PER_COORDINATE + self.law


@dataclass(frozen=True, eq=False)
class DrivesInStep:
    """The laws during one step.

    Parameters
    ----------
    drives : Drives
        The laws.
    theta, dt : float
        Of the scheme; the step (s).
    target : array (k,)
        Targets of the motors.
    x, middle : arrays (k,)
        Coordinates at the start and at the middle of the step.
    before : array (k,)
        Rates at the start.
    """

    drives: Drives
    theta: float
    dt: float
    target: Array
    x: Array
    middle: Array
    before: Array

    @cached_property
    def soft_rows(self) -> tuple[Array, Array]:
        """Compliance 1/s and imposed rate P/s of the rows of ``drives.soft``."""
        drives, h, theta, k = self.drives, self.dt, self.theta, self.drives.springs
        stiffness = drives.stiffness[k]
        s = h * (theta * theta * h * stiffness + drives.damping[k]) + drives.armature[k]
        ahead = self.x[k] + theta * (1.0 - theta) * h * self.before[k]
        P = h * stiffness * (ahead - drives.rest[k]) - drives.armature[k] * self.before[k]
        compliance, imposed = self._motors(drives.unbounded)
        return np.concatenate((1.0 / s, compliance)), np.concatenate((P / s, imposed))

    def _motors(self, k: Indices) -> tuple[Array, Array]:
        """Compliance and imposed rate of velocity motors, which are not soft, and servos on coordinates k."""
        drives, h = self.drives, self.dt
        s = h * (self.theta * h * drives.servo_stiffness[k] + drives.servo_damping[k])
        P = h * drives.servo_stiffness[k] * (self.middle[k] - self.target[k])
        servo = drives.is_servo[k]
        s = np.where(servo, s, 1.0)
        return np.where(servo, 1.0 / s, 0.0), np.where(servo, P / s, -self.target[k])

    @cached_property
    def push(self) -> Array:
        """Impulses (k,) of torque motors."""
        return np.where(self.drives.is_torque, self.dt * self.target, 0.0)

    def gaps(self) -> Array:
        """Distances of coordinates from their lower and upper limits, (k, 2)."""
        return np.column_stack((self.middle - self.drives.lower, self.drives.upper - self.middle))

    def near(self, rate: Array) -> Mask:
        """Limits (k, 2) that may act if the step ends at about these rates (k,) without them."""
        gap = self.gaps()
        fast = np.maximum(np.abs(rate), np.abs(self.before))[:, None]
        near = gap <= 2.0 * self.dt * fast + self._nothing
        # With restitution a limit acts only once it is passed.
        bounces = (self.drives.restitution > 0.0)[:, None] & (gap > self._nothing)
        slow = np.abs(self.before) <= np.abs(rate - self.before)
        return np.asarray(near & ~(bounces & ~slow[:, None]) & np.isfinite(gap))

    def passed(self, rate: Array) -> Mask:
        """Limits (k, 2), without restitution, that the rates (k,) at the end of the step pass."""
        gap = self.gaps()
        travel = self.dt * np.column_stack((rate, -rate))
        inelastic = (self.drives.restitution == 0.0)[:, None]
        return np.asarray(
            inelastic
            & (np.maximum(gap, 0.0) + travel < -PASSED / AT_LIMIT * self._nothing)
            & np.isfinite(gap)
        )

    def links(self, active: Mask) -> CoordinateLinks:
        """The links of the step, of the limits those ``active`` (k, 2)."""
        drives, h, gap = self.drives, self.dt, self.gaps()
        k, side = np.nonzero(active)
        sign = np.where(side == 0, 1.0, -1.0)
        touch = gap[active] <= self._nothing[active]
        w = np.where(touch, sign * drives.restitution[k] * self.before[k], np.maximum(gap[active], 0.0) / h)
        rubbing, motors = np.flatnonzero(drives.friction > 0.0), drives.bounded
        soft, towards = self._motors(motors)
        none = np.zeros(len(k))
        still = np.zeros(len(rubbing))
        links = CoordinateLinks(
            coordinate=np.concatenate((k, rubbing, motors)),
            law=np.concatenate((side, np.full(len(rubbing), FRICTION), np.full(len(motors), MOTOR))),
            sign=np.concatenate((sign, np.ones(len(rubbing) + len(motors)))),
            w=np.concatenate((w, still, towards)),
            bound=np.concatenate((none, h * drives.friction[rubbing], h * drives.bound[motors])),
            soft=np.concatenate((none, still, soft)),
            account=np.concatenate(
                (
                    np.full(len(k) + len(rubbing), Account.LOST),
                    np.full(len(motors), Account.GIVEN),
                )
            ),
        )
        return links.take(np.argsort(links.identity, kind="stable"))

    @property
    def _nothing(self) -> Array:
        """Gaps (k, 2) that count as zero."""
        limit = np.column_stack((self.drives.lower, self.drives.upper))
        return AT_LIMIT * np.maximum(1.0, np.where(np.isfinite(limit), np.abs(limit), 0.0))
