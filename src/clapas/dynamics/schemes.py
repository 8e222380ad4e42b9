"""Time-stepping schemes: Moreau and Jean's θ-method and its settings."""

from __future__ import annotations

import math
from dataclasses import dataclass

from clapas.errors import SettingsError


@dataclass(frozen=True, kw_only=True)
class MoreauJean:
    """Moreau and Jean's scheme with parameter θ; θ = ½ is Moreau's midpoint scheme.

    Contacts are found at q_m = q + (1 − θ) h v; positions end at q_m + θ h v⁺.

    Parameters
    ----------
    theta : float
        In ]0, 1]. ½ is second order for smooth motion; 1 is implicit in position.
    inertia : bool
        False forgets velocities at the start of each step: for loads applied slowly, and to bring a
        packing to rest. Motion stops as soon as equilibrium is possible.
    projection : float
        Share of the penetration removed at each step by moving bodies apart, in [0, 1]. The
        displacement is the smallest in the metric of the masses and leaves velocities, hence the
        kinetic energy, untouched; potential energy rises by the lift. 0, the default, is Moreau's scheme.
    travel : float
        Divide a step into 2, 4, 8… equal parts until no body travels further in one than this share of
        its thickness; infinite, the default, never divides. See :mod:`clapas.dynamics.subdivision`.
    halvings : int
        How many times a step may be halved at most.
    reach : float, optional
        Contacts with a gap up to this (m) that close or part slower than reach/h are active too, and may
        close their gap in the step and no more: what touches keeps touching
        (:mod:`clapas.dynamics.reaching`). By default |gravity| h², or 1e-3 of the radius of the smallest
        movable body if that is less. 0 is Moreau's scheme: a contact is active if its gap at q_m is ≤ 0.
    """

    theta: float = 0.5
    inertia: bool = True
    projection: float = 0.0
    travel: float = math.inf
    halvings: int = 8
    reach: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.theta <= 1:
            raise SettingsError(f"theta must be in ]0, 1], got {self.theta}")
        if not 0 <= self.projection <= 1:
            raise SettingsError(f"projection must be in [0, 1], got {self.projection}")
        if not self.travel > 0:
            raise SettingsError(f"travel must be positive, got {self.travel}")
        if not (isinstance(self.halvings, int) and 0 <= self.halvings <= 30):
            raise SettingsError(f"halvings must be a whole number from 0 to 30, got {self.halvings!r}")
        if self.reach is not None and not 0 <= self.reach < math.inf:
            raise SettingsError(f"reach must be a length, zero or more, or None, got {self.reach}")


@dataclass(frozen=True, kw_only=True)
class MoreauMidpoint(MoreauJean):
    """Moreau's midpoint scheme, θ = ½: the default."""


STEP_SCHEME = MoreauMidpoint()
"""The scheme of steps for which none is named."""


@dataclass(frozen=True, kw_only=True)
class QuasiStatic(MoreauJean):
    """Steps without inertia, implicit in position; impulses over the step are the static forces."""

    theta: float = 1.0
    inertia: bool = False
