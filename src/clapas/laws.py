"""Contact laws between materials, as tables over pairs of materials.

A law gives cones, shifts and bias; solvers see only these. Moreau's law of a contact has three
numbers (mu, rho, tau): Coulomb's law holds between the impulse and the weighted velocities

    U_N = (rho U_N⁻ + U_N⁺) / (1 + rho),     U_T = (tau U_T⁻ + U_T⁺) / (1 + tau)

of before and after the step (Moreau 2003, 33-34), so that rho is the normal and tau the tangential
coefficient of restitution. Positive factors do not matter to Coulomb's law: in the problem u = H v + w
they become w_N = rho U_N⁻, w_T = tau U_T⁻, to which the motion of walls is added (40).

Constant cohesion C (N): the contact resists traction up to C, and friction is |r_T| ≤ mu (r_N + C dt).
With r + (C dt, 0, 0) as unknown this is Coulomb's law again, under the load of C.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.errors import SceneError
from clapas.typing import Array


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

    Notes
    -----
    Restitution with elongated bodies can create energy (Moreau 2003, section 6).
    """

    mu: float
    restitution: float = 0.0
    tangential_restitution: float = 0.0
    cohesion: float = 0.0

    def __post_init__(self) -> None:
        self._require("mu", 0.0, np.inf)
        self._require("restitution", 0.0, 1.0)
        self._require("tangential_restitution", -1.0, 1.0)
        self._require("cohesion", 0.0, np.inf)

    def _require(self, name: str, low: float, high: float) -> None:
        value = getattr(self, name)
        if not (low <= value <= high and np.isfinite(value)):
            raise SceneError(f"law: {name} must be finite and between {low} and {high}, got {value}")


@dataclass(frozen=True)
class LawTable:
    """Laws of all pairs of materials: symmetric arrays (n_materials, n_materials)."""

    mu: Array
    restitution: Array
    tangential_restitution: Array
    cohesion: Array

    @staticmethod
    def of(laws: list[list[Law]]) -> LawTable:
        """Table from a square list of laws."""

        def column(name: str) -> Array:
            return np.array([[getattr(law, name) for law in row] for row in laws], dtype=float)

        return LawTable(*(column(name) for name in LawTable.__dataclass_fields__))
