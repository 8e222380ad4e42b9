"""Probes: quantities recorded at every step, of one body, of a pair, or of a joint.

Positions and velocities are those at the end of the step. Forces, moments, gaps and contacts are those of the
whole step, all parts of a divided one together: forces and moments are means over it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from clapas.errors import SceneError
from clapas.geometry.checks import did_you_mean
from clapas.units import in_dimension

OF_BODIES = {
    "position": "position of the centre of mass (m)",
    "orientation": "unit quaternion, or angle in 2-D (rad)",
    "velocity": "velocity of the centre of mass (m/s)",
    "angular_velocity": "angular velocity in the world (rad/s)",
    "kinetic_energy": "kinetic energy (J)",
    "force": "sum of the contact forces on the body (N)",
    "torque": "sum of their moments about its centre of mass (N·m)",
}
OF_CONTACTS = {
    "contacts": "number of contacts that touch or carry",
    "gap": "smallest gap (m)",
    "normal_force": "sum of the normal forces (N)",
    "tangential_force": "sum of the sizes of the tangential forces (N)",
    "contact_force": "sum of the contact forces on the body (N)",
}
OF_JOINTS = {
    "joint_coordinate": "angle or displacement of a joint, turns counted (rad, m)",
    "joint_rate": "its rate (rad/s, m/s)",
    "joint_effort": "all that acts along it: limits, friction, springs, motors (N·m, N)",
    "joint_force": "force of a joint on its first body (N)",
    "joint_torque": "torque of a joint on its first body, about its point there (N·m)",
}
QUANTITIES = OF_BODIES | OF_CONTACTS | OF_JOINTS


@dataclass(frozen=True)
class Probe:
    """A quantity to record at every step.

    Parameters
    ----------
    name : str
        Name of the column.
    quantity : str
        A key of ``OF_BODIES``, of ``OF_CONTACTS`` for contacts of the body, or of ``OF_JOINTS``.
    body : int
        Number of the body; for joints that of their first one.
    other : int, optional
        For contacts: only those with this body.
    joint : str, optional
        Name of the joint.
    coordinate : "angle" or "displacement", optional
        Type of the joint's coordinate, which decides its unit. Not stored in recordings of early versions.
    """

    name: str
    quantity: str
    body: int
    other: int | None = None
    joint: str | None = None
    coordinate: Literal["angle", "displacement"] | None = None

    def __post_init__(self) -> None:
        if self.quantity not in QUANTITIES:
            raise SceneError(
                f"probe '{self.name}': unknown quantity '{self.quantity}'"
                f"{did_you_mean(self.quantity, QUANTITIES)}; expected {', '.join(QUANTITIES)}"
            )
        if self.other is not None and self.quantity not in OF_CONTACTS:
            raise SceneError(
                f"probe '{self.name}': {self.quantity} is of one body; leave out other, "
                f"or take one of {', '.join(OF_CONTACTS)}"
            )
        if (self.joint is not None) != (self.quantity in OF_JOINTS):
            raise SceneError(
                f"probe '{self.name}': {self.quantity} is of "
                + ("bodies; leave out joint" if self.joint is not None else "a joint; give its name")
            )
        if self.other == self.body:
            raise SceneError(f"probe '{self.name}': body and other are the same body {self.body}")

    def unit(self, d: int) -> str:
        """Its unit in d dimensions, or an empty string.

        >>> Probe("pull", "force", 1).unit(3), Probe("pull", "force", 1).unit(2)
        ('N', 'N/m')
        >>> Probe("effort", "joint_effort", 1, joint="elbow", coordinate="angle").unit(3)
        'N·m'
        """
        words = QUANTITIES[self.quantity]
        if not words.endswith(")") or (self.quantity == "orientation" and d == 3):
            return ""  # counts, and the components of a quaternion
        unit = words.rpartition("(")[2].removesuffix(")")
        if self.coordinate is not None and ", " in unit:
            of_angles, of_displacements = unit.split(", ")
            unit = of_angles if self.coordinate == "angle" else of_displacements
        return in_dimension(unit, d)

    def components(self, d: int) -> tuple[str, ...]:
        """Names of its components in d dimensions; one empty name for a single number.

        >>> Probe("heave", "position", 1).components(2)
        ('x', 'y')
        """
        if self.quantity in ("position", "velocity", "force", "contact_force", "joint_force"):
            return ("x", "y", "z")[:d]
        if self.quantity in ("angular_velocity", "torque", "joint_torque"):
            return ("x", "y", "z") if d == 3 else ("",)
        if self.quantity == "orientation":
            return ("w", "x", "y", "z") if d == 3 else ("",)
        return ("",)

    def to_dict(self) -> dict[str, Any]:
        """Its entry in a scene file."""
        entries: dict[str, Any] = {"name": self.name, "quantity": self.quantity}
        if self.joint is not None:
            return {**entries, "joint": self.joint}
        entries["body"] = self.body
        return entries if self.other is None else {**entries, "other": self.other}
