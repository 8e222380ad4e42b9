"""Laws along the coordinate of a joint: stops, friction, springs, dampers, rotors, motors.

A hinge or a pin has an angle (rad), a slider, a slot and a cylindrical joint a displacement (m): how far b
has gone relative to a, positive about or along the axis (in 2-D, counterclockwise). Where b is the world it
is the other way round, how far a has gone.

Joints with more freedoms get further coordinates beside them: a turn, a travel or a swing
(:mod:`clapas.dynamics.joints.definition`), each with its own laws. A turn needs an axis that a keeps and a
direction of b that stays across it: for the first axis of a universal joint its second; for the second axis,
the bodies are exchanged and the axis is reversed. Where b tilts freely, as in a ball joint, its rate is still
that about the axis, so that friction, damping and motors mean what they say, but its angle is no rotation.

Below, *force* means a force along a displacement (N) or a torque about an axis (N·m).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

from clapas.errors import SceneError
from clapas.geometry import checks


@dataclass(frozen=True)
class VelocityMotor:
    """A motor that keeps a rate as long as its torque suffices, and otherwise applies its largest torque.

    Parameters
    ----------
    rate : float
        Rate of the coordinate to keep (rad/s, m/s).
    max_torque : float
        Largest torque (N·m), or force (N) on a displacement; infinite by default.
    """

    rate: float
    max_torque: float = math.inf

    def checked(self, label: str) -> VelocityMotor:
        """The motor, its numbers checked."""
        rate = checks.number(label, "rate of the motor", self.rate)
        return VelocityMotor(rate, _bound(label, self.max_torque))

    @property
    def target(self) -> float:
        """The value that commands change: the rate."""
        return self.rate


@dataclass(frozen=True)
class TorqueMotor:
    """A motor that applies a given torque, cut at the largest it can apply.

    Parameters
    ----------
    torque : float
        Torque on b (N·m), or force (N) on a displacement, in the positive sense of the coordinate.
    max_torque : float
        Largest torque (N·m), or force (N); infinite by default.
    min_torque : float, optional
        Least torque, with its sign; by default −max_torque.
    """

    torque: float
    max_torque: float = math.inf
    min_torque: float | None = None

    def checked(self, label: str) -> TorqueMotor:
        """The motor, its numbers checked."""
        torque = checks.number(label, "torque of the motor", self.torque)
        if self.min_torque is None:
            return TorqueMotor(torque, _bound(label, self.max_torque))
        least = checks.number(label, "min_torque of the motor", self.min_torque)
        most = self.max_torque
        if most != math.inf:
            most = checks.number(label, "max_torque of the motor", most)
        if least > most:
            raise SceneError(f"{label}: min_torque of the motor, {least}, is above max_torque, {most}")
        return TorqueMotor(torque, most, least)

    @property
    def target(self) -> float:
        """The value that commands change: the torque."""
        return self.torque


@dataclass(frozen=True)
class Servo:
    """A position servo: a spring and a damper towards a target, with a bounded torque.

    torque = −stiffness (x − target) − damping x', cut at ±max_torque, with x and x' at the end of the step:
    it does not overshoot by itself, whatever its stiffness and the time step.

    Parameters
    ----------
    target : float
        Coordinate to go to (rad, m).
    stiffness : float
        Torque per unit of the coordinate (N·m/rad, N/m).
    damping : float
        Torque per unit of its rate (N·m·s/rad, N·s/m).
    max_torque : float
        Largest torque (N·m), or force (N); infinite by default.
    """

    target: float
    stiffness: float
    damping: float = 0.0
    max_torque: float = math.inf

    def checked(self, label: str) -> Servo:
        """The servo, its numbers checked."""
        target = checks.number(label, "target of the servo", self.target)
        stiffness = checks.at_least_zero(label, "stiffness of the servo", self.stiffness)
        damping = checks.at_least_zero(label, "damping of the servo", self.damping)
        if stiffness == 0.0 and damping == 0.0:
            raise SceneError(f"{label}: a servo needs a stiffness or a damping, both are 0; give one of them")
        return Servo(target, stiffness, damping, _bound(label, self.max_torque))


Motor = VelocityMotor | TorqueMotor | Servo
_BESIDE = {"ball": ", or a 'swing' for a cone", "distance": ", or, in its place, by a 'stretch'"}
MOTORS: dict[str, type[Motor]] = {"velocity": VelocityMotor, "torque": TorqueMotor, "servo": Servo}


@dataclass(frozen=True)
class Mimic:
    """A gear: the coordinate of one joint follows that of another.

    follower = ratio · leader + offset, as a bilateral row that acts on both.

    Parameters
    ----------
    follower, leader : str
        Names of the joints.
    ratio : float
        Travel of the follower per unit of that of the leader.
    offset : float
        Coordinate of the follower where that of the leader is zero (rad, m).
    """

    follower: str
    leader: str
    ratio: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, kw_only=True)
class JointLaws:
    """The laws of the coordinate of a joint; see :meth:`clapas.scenes.scene.Scene.join`."""

    start: float = 0.0
    limits: tuple[float, float] | None = None
    restitution: float = 0.0
    friction: float = 0.0
    damping: float = 0.0
    armature: float = 0.0
    spring: tuple[float, float] | None = None
    motor: Motor | None = None

    def __bool__(self) -> bool:
        return self != JointLaws()

    def to_dict(self) -> dict[str, Any]:
        """Its entries in a scene file: the fields that do not have their default."""
        entries: dict[str, Any] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if value == one.default:
                continue
            entries[one.name] = list(value) if isinstance(value, tuple) else value
        if self.motor is not None:
            word = next(name for name, kind in MOTORS.items() if isinstance(self.motor, kind))
            settings = {one.name: getattr(self.motor, one.name) for one in fields(self.motor)}
            finite = {name: value for name, value in settings.items() if value not in (None, math.inf)}
            entries["motor"] = {"type": word, **finite}
        return entries


def make_laws(label: str, kind: str, has_coordinate: bool, given: dict[str, Any]) -> JointLaws:
    """The laws from the arguments of the user, checked; None counts as not given.

    Examples
    --------
    >>> make_laws("joint 'elbow'", "hinge", True, {"limits": (-1, 2), "friction": 0.5}).limits
    (-1.0, 2.0)
    """
    given = {name: value for name, value in given.items() if value is not None}
    default = JointLaws()
    if not has_coordinate and any(value != getattr(default, name) for name, value in given.items()):
        name = next(name for name, value in given.items() if value != getattr(default, name))
        raise SceneError(
            f"{label}: {name} acts along one coordinate, which a {kind} joint does not have; hinge, slider "
            "and cylindrical joints have one, in 2-D pin, slot and slider. Beside this one, join the same "
            f"bodies by a 'turn' or a 'travel'{_BESIDE.get(kind, '')} with {name}, for each freedom"
        )
    laws: dict[str, Any] = {}
    if "start" in given:
        laws["start"] = checks.number(label, "start", given["start"])
    for name in ("friction", "damping", "armature"):
        if name in given:
            laws[name] = checks.at_least_zero(label, name, given[name])
    if "restitution" in given:
        laws["restitution"] = checks.at_least_zero(label, "restitution", given["restitution"])
        if laws["restitution"] > 1.0:
            raise SceneError(f"{label}: restitution must be in [0, 1], got {laws['restitution']}")
    if "limits" in given:
        advice = "" if kind == "stretch" else ", or give start, the coordinate where they are placed"
        laws["limits"] = _limits(label, given["limits"], laws.get("start", 0.0), advice)
    elif laws.get("restitution"):
        raise SceneError(f"{label}: restitution is that of its limits; give limits, or leave it out")
    if "spring" in given:
        k, rest = _two(label, "spring", given["spring"], "(stiffness, rest)")
        laws["spring"] = (
            checks.at_least_zero(label, "stiffness of the spring", k),
            checks.number(label, "rest of the spring", rest),
        )
    if "motor" in given:
        motor = given["motor"]
        if not isinstance(motor, VelocityMotor | TorqueMotor | Servo):
            raise SceneError(
                f"{label}: motor must be a VelocityMotor, a TorqueMotor or a Servo, got {motor!r}"
            )
        laws["motor"] = motor.checked(label)
    return JointLaws(**laws)


def make_swing_laws(label: str, start: float, given: dict[str, Any]) -> JointLaws:
    """The laws of a swing that starts at an angle: only an upper limit, the half-angle of a cone."""
    given = {name: value for name, value in given.items() if value is not None}
    default = JointLaws()
    for name, value in given.items():
        if name not in ("limits", "restitution") and value != getattr(default, name):
            raise SceneError(
                f"{label}: {name} does not act along a swing, which has no direction where its axes are "
                "aligned; give it to a 'turn' about each axis across"
            )
    if "limits" not in given:
        raise SceneError(f"{label}: a swing needs limits=(None, angle), the half-angle of its cone (rad)")
    lower, upper = _two(label, "limits", given["limits"], "(None, angle)")
    if lower is not None and lower != -math.inf:
        raise SceneError(f"{label}: a swing has no lower limit, got {lower!r}; give limits=(None, angle)")
    upper = checks.positive(label, "upper limit", upper)
    if upper >= math.pi:
        raise SceneError(f"{label}: the half-angle of a cone is below pi, got {upper}; leave the swing out")
    checked = make_laws(label, "swing", True, {**given, "limits": (None, upper), "start": start})
    return replace(checked, start=0.0)  # the angle itself, not one counted from where bodies are placed


def make_stretch_laws(label: str, length: float, given: dict[str, Any]) -> JointLaws:
    """The laws of a stretch of a length at the start, which is its coordinate."""
    if given.get("start"):
        raise SceneError(
            f"{label}: a stretch starts at the distance of its points, {length:g} m; leave out start"
        )
    return replace(make_laws(label, "stretch", True, {**given, "start": length}), start=0.0)


def _limits(label: str, value: Any, start: float, advice: str) -> tuple[float, float]:
    ends = _two(label, "limits", value, "(lower, upper)")
    lower, upper = (-math.inf if ends[0] is None else ends[0], math.inf if ends[1] is None else ends[1])
    for name, end in (("lower", lower), ("upper", upper)):
        if isinstance(end, bool) or not isinstance(end, int | float) or math.isnan(end):
            raise SceneError(f"{label}: the {name} limit must be a number, or None for no limit, got {end!r}")
    if lower >= upper:
        raise SceneError(f"{label}: the lower limit, {lower}, must be below the upper one, {upper}")
    if not lower <= start <= upper:
        raise SceneError(
            f"{label}: it starts at {start}, outside of its limits {lower} to {upper}; place the bodies "
            f"within them{advice}"
        )
    return float(lower), float(upper)


def _two(label: str, name: str, value: Any, form: str) -> tuple[Any, Any]:
    try:
        first, second = value
    except (TypeError, ValueError):
        raise SceneError(f"{label}: {name} must be {form}, got {value!r}") from None
    return first, second


def _bound(label: str, value: Any) -> float:
    if value == math.inf:
        return math.inf
    return float(checks.positive(label, "max_torque of the motor", value))
