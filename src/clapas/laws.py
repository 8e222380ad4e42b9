"""Contact laws between materials, as tables over pairs of materials.

A law gives cones, shifts and bias; solvers see only these. Moreau's law of a contact has three
numbers (mu, rho, tau): Coulomb's law holds between the impulse and the weighted velocities

    U_N = (rho U_N⁻ + U_N⁺) / (1 + rho),     U_T = (tau U_T⁻ + U_T⁺) / (1 + tau)

of before and after the step (Moreau 2003, 33-34), so that rho is the normal and tau the tangential
coefficient of restitution. Positive factors do not matter to Coulomb's law: in the problem u = H v + w
they become w_N = rho U_N⁻, w_T = tau U_T⁻, to which the motion of walls is added (40).

Constant cohesion C (N): the contact resists traction up to C, and friction is |r_T| ≤ mu (r_N + C dt).
With r + (C dt, 0, 0) as unknown this is Coulomb's law again, under the load of C.

Elliptic friction: along a material direction the coefficient is mu, across it mu_across,

    (r_1 / mu)² + (r_2 / mu_across)² ≤ r_N²,

and slip is normal to the ellipse (Moreau 2003, section 5). Measured in r_k' = r_k max(mu)/mu_k and
u_k' = u_k mu_k/max(mu) the ellipse is a circle and this is Coulomb's law again, with max(mu).

Polygonal friction: the section of the cone is a convex polygon S, r_T ∈ mu r_N S, with coordinates along a
material direction and across it: treads, lays, crystals. See :mod:`clapas.convex.section`.

Thresholds: friction independent of the pressure, |r_T| ≤ θ dt whatever r_N (Tresca), or r_T = −α u_T dt
without a threshold (viscous): a film of lubricant, glue that yields, comparison with textbook laws. See
:mod:`clapas.convex.threshold`.

Rolling and spinning resistance: a contact also carries a couple, at most ``rolling`` r_N across the
normal and ``spinning`` r_N along it, against the relative rotation. The two lengths are of the size of
the small patch of a real contact. See :class:`clapas.problems.rolling.RollingProblem`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Real

import numpy as np

from clapas.convex.section import Polygons
from clapas.errors import SceneError
from clapas.geometry import checks
from clapas.typing import Array

LISTS = {"section": "the corners of a polygon, [[x, y], …]", "direction": "a vector"}
"""Fields of a law that are not numbers, and what they are."""


MEANINGS = {
    "mu": "coefficient of friction",
    "restitution": "normal restitution, 0 to 1",
    "tangential_restitution": "-1 to 1",
    "cohesion": "traction that a contact resists (N)",
    "rolling": "resistance: largest couple across the normal per normal force (m)",
    "spinning": "resistance: largest couple along the normal per normal force (m)",
    "mu_across": "coefficient of friction across direction",
    "direction": "of the grain of the surface, in the body added first",
    "section": "corners of a convex polygon around the origin, against the clock",
    "threshold": "largest force of friction, whatever the pressure (N)",
    "viscosity": "force of friction per speed, whatever the pressure (N·s/m)",
}
"""Short descriptions of the fields of a law, with units, for scene files and tables of sweeps."""


@dataclass(frozen=True, kw_only=True)
class Law:
    """Law of contact between two materials.

    Parameters
    ----------
    mu : float
        Coefficient of friction, ≥ 0.
    restitution : float
        Normal restitution rho in [0, 1].
    tangential_restitution : float
        Tangential restitution tau in [-1, 1].
    cohesion : float
        Traction the contact resists (N), ≥ 0.
    rolling : float
        Rolling resistance (m), ≥ 0: largest couple across the normal per unit of normal force.
    spinning : float
        Spinning resistance (m), ≥ 0: largest couple along the normal per unit of normal force. In 2-D
        nothing spins.
    mu_across : float, optional
        Coefficient of friction across ``direction``, where ``mu`` is that along it. Only in 3-D.
    section : pairs of floats, optional
        Corners of a convex polygon around the origin, against the clock, along ``direction`` and across it:
        friction is r_T ∈ mu r_N S. Only in 3-D; not together with mu_across, rolling or spinning.
    threshold : float
        Largest force of friction (N), ≥ 0, whatever the pressure (Tresca); 0 for Coulomb's law. With mu = 0.
    viscosity : float
        Force of friction per speed (N·s/m), ≥ 0, whatever the pressure; 0 for Coulomb's law. With mu = 0.
    direction : 3 floats, optional
        Direction of the grain of the surface, in the frame of the body that was added first of the two
        (a floor comes before what lies on it). Only its component in the contact plane counts.

    Notes
    -----
    Restitution with elongated bodies can create energy (Moreau 2003, section 6).

    Examples
    --------
    >>> Law(mu=0.2, mu_across=0.6, direction=(2, 0, 0)).direction
    (1.0, 0.0, 0.0)
    """

    mu: float
    restitution: float = 0.0
    tangential_restitution: float = 0.0
    cohesion: float = 0.0
    rolling: float = 0.0
    spinning: float = 0.0
    mu_across: float | None = None
    direction: Sequence[float] | None = None
    section: Sequence[Sequence[float]] | None = None
    threshold: float = 0.0
    viscosity: float = 0.0

    def __post_init__(self) -> None:
        self._require("mu", 0.0, np.inf)
        self._require("restitution", 0.0, 1.0)
        self._require("tangential_restitution", -1.0, 1.0)
        self._require("cohesion", 0.0, np.inf)
        self._require("rolling", 0.0, np.inf)
        self._require("spinning", 0.0, np.inf)
        self._require("threshold", 0.0, np.inf)
        self._require("viscosity", 0.0, np.inf)
        for name, words in LISTS.items():
            value = getattr(self, name)
            if isinstance(value, str) or not (value is None or isinstance(value, Iterable)):
                raise SceneError(f"law: {name} must be {words}, got {value!r}")
        self._require_one_friction()
        if (self.mu_across is None and self.section is None) != (self.direction is None):
            raise SceneError("law: mu_across, or section, and direction go together; give both, or none")
        if self.section is not None:
            self._require_section()
        if self.mu_across is not None:
            self._require("mu_across", 0.0, np.inf)
        if self.direction is not None:
            direction = checks.unit_vector("law", "direction", self.direction, 3)
            object.__setattr__(self, "direction", tuple(float(x) for x in direction))

    def _require_one_friction(self) -> None:
        """Raise an error if more than one law of friction is given: mu, a threshold or a viscosity."""
        if not (self.threshold or self.viscosity):
            return
        if self.threshold and self.viscosity:
            raise SceneError("law: threshold and viscosity are two laws of friction; give one of them")
        if self.mu or self.mu_across or self.section or self.rolling or self.spinning or self.cohesion:
            word = "threshold" if self.threshold else "viscosity"
            raise SceneError(
                f"law: {word} takes the place of mu: give mu = 0, and no section, mu_across, rolling, "
                "spinning or cohesion"
            )

    def _require_section(self) -> None:
        if self.mu_across is not None or self.rolling or self.spinning:
            raise SceneError("law: section goes neither with mu_across nor with rolling or spinning")
        try:
            corners = np.array(self.section, dtype=float)
            Polygons.same(corners, 1)
        except (TypeError, ValueError) as error:  # ProblemError is a ValueError
            reason = str(error).removeprefix("contact 0: ")
            raise SceneError(f"law: section: {reason}") from None
        if corners.shape[1] != 2:
            raise SceneError(f"law: section must be pairs of numbers, got shape {corners.shape}")
        object.__setattr__(self, "section", tuple(tuple(float(x) for x in corner) for corner in corners))

    def _require(self, name: str, low: float, high: float) -> None:
        value = getattr(self, name)
        if not isinstance(value, Real | np.number):
            raise SceneError(f"law: {name} must be a number, got {value!r}")
        if not (low <= float(value) <= high and np.isfinite(float(value))):
            raise SceneError(f"law: {name} must be finite and between {low} and {high}, got {value}")
        object.__setattr__(self, name, float(value))  # files hold no numbers of NumPy


TYPICAL_FRICTION: dict[tuple[str, str], tuple[float, float]] = {
    ("concrete", "concrete"): (0.5, 1.0),
    ("concrete", "sand"): (0.35, 0.6),
    ("concrete", "steel"): (0.2, 0.4),
    ("metal", "wood"): (0.3, 0.65),
    ("wood", "wood"): (0.4, 1.0),
    ("rubber", "steel"): (0.15, 0.65),
    ("steel", "steel"): (0.2, 0.8),
    ("steel", "teflon"): (0.04, 0.06),
    ("ice", "steel"): (0.015, 0.03),
}
"""Coefficients of friction of pairs of materials, from … to (Wriggers 2006, in Cadoux 2009, table 1.3)."""


def typical_friction(a: str, b: str) -> tuple[float, float]:
    """Smallest and largest usual coefficient of friction between two materials.

    The range is wide: friction depends on surfaces more than on names of materials. Measure it if you can.

    Examples
    --------
    >>> typical_friction("steel", "ice")
    (0.015, 0.03)
    """
    interval = TYPICAL_FRICTION.get((a, b)) or TYPICAL_FRICTION.get((b, a))
    if interval is None:
        pairs = ", ".join(f"{first}-{second}" for first, second in TYPICAL_FRICTION)
        raise SceneError(f"no typical friction is known between '{a}' and '{b}'; known are {pairs}")
    return interval


@dataclass(frozen=True)
class LawTable:
    """Laws of all pairs of materials: symmetric arrays (n_materials, n_materials).

    ``mu_across`` is ``mu`` where friction is the same in all directions; ``direction``, with a third
    axis of length 3, is zero there. ``section`` (n_materials, n_materials, k, 2) holds the corners of
    polygonal sections, zero where friction has none; k = 0 if none has. ``threshold`` and ``viscosity`` are
    zero where friction is Coulomb's.
    """

    mu: Array
    restitution: Array
    tangential_restitution: Array
    cohesion: Array
    rolling: Array
    spinning: Array
    mu_across: Array
    direction: Array
    section: Array = field(default_factory=lambda: np.zeros((0, 0, 0, 2)))
    threshold: Array = field(default_factory=lambda: np.zeros((0, 0)))
    viscosity: Array = field(default_factory=lambda: np.zeros((0, 0)))

    @staticmethod
    def of(laws: list[list[Law]]) -> LawTable:
        """Table from a square list of laws."""

        def column(name: str) -> Array:
            return np.array([[_value(law, name) for law in row] for row in laws], dtype=float)

        names = [name for name in LawTable.__dataclass_fields__ if name != "section"]
        return LawTable(**{name: column(name) for name in names}, section=_sections(laws))

    @property
    def has_couples(self) -> bool:
        """Whether some contacts resist rolling or spinning."""
        return bool(self.rolling.any() or self.spinning.any())

    @property
    def has_sections(self) -> bool:
        """Whether the section of some friction cones is a polygon."""
        return bool(self.section.any())

    @property
    def has_thresholds(self) -> bool:
        """Whether some friction is independent of the pressure."""
        return bool(self.threshold.any() or self.viscosity.any())

    @property
    def has_restitution(self) -> bool:
        """Whether some contacts have restitution."""
        return bool(self.restitution.any() or self.tangential_restitution.any())

    @property
    def is_elliptic(self) -> bool:
        """Whether some friction depends on the direction."""
        return bool((self.mu_across != self.mu).any())


def _sections(laws: list[list[Law]]) -> Array:
    """Corners of all sections, (m, m, k, 2); shorter ones are padded with their last corner."""
    most = max((len(law.section or ()) for row in laws for law in row), default=0)
    table = np.zeros((len(laws), len(laws), most, 2))
    for i, row in enumerate(laws):
        for j, law in enumerate(row):
            if law.section is not None:
                corners = np.array(law.section)
                table[i, j] = corners[np.minimum(np.arange(most), len(corners) - 1)]
    return table


def _value(law: Law, name: str) -> float | Sequence[float]:
    """A number or the direction of a law."""
    if name == "mu_across":
        return law.mu if law.mu_across is None else law.mu_across
    if name == "direction":
        return (0.0, 0.0, 0.0) if law.direction is None else law.direction
    return float(getattr(law, name))
