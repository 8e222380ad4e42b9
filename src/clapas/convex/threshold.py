"""Friction independent of the pressure: with a given threshold (Tresca), or viscous without threshold.

At such a contact the normal part is the usual one, 0 ≤ u_N ⟂ r_N ≥ 0, and

    |r_T| ≤ s,   u_T + κ r_T = −α r_T,   α ≥ 0, and α = 0 where |r_T| < s:

Tresca's law has κ = 0; the viscous law r_T = −u_T / κ has no threshold, s = ∞. Other contacts obey Coulomb's
law: both kinds may occur in one problem. The admissible set R₊ × disc(s) is not a cone, so that only methods
that solve one contact at a time accept it (:class:`clapas.solvers.NSGS`, and Auto).

Reference: Cadoux 2009, sections 1.2.2 and 1.2.3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.convex.base import ConvexSet, length_and_direction, one_per_contact
from clapas.convex.coulomb import CoulombCone
from clapas.convex.tresca import Disc, TrescaSet
from clapas.errors import ProblemError
from clapas.typing import Array, Indices, Mask


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Friction thresholds of the contacts that do not obey Coulomb's law.

    Parameters
    ----------
    limit : array (n,)
        Thresholds s ≥ 0 (N·s); infinite for none.
    softness : array (n,)
        κ ≥ 0 (m/s per N·s).
    is_round : array (n,) of bool
        Contacts of Coulomb's law, whose two numbers are not used.

    Examples
    --------
    >>> Thresholds([2.0, 1.0], [0.0, 0.0], [False, True]).take(np.array([1])).is_round
    array([ True])
    """

    limit: Array
    softness: Array
    is_round: Mask

    def __post_init__(self) -> None:
        limit, softness = one_per_contact("limit", self.limit), one_per_contact("softness", self.softness)
        is_round = np.asarray(self.is_round, dtype=bool)
        if not limit.shape == softness.shape == is_round.shape:
            raise ProblemError(
                f"limit, softness and is_round must match, got shapes {limit.shape}, {softness.shape} and "
                f"{is_round.shape}"
            )
        if (limit < 0.0).any() or (softness < 0.0).any() or not np.isfinite(softness).all():
            raise ProblemError("thresholds must be at least 0, their softness finite and at least 0")
        invalid = ~is_round & np.isinf(limit) & (softness == 0.0)
        if invalid.any():
            raise ProblemError(
                f"contact {int(np.argmax(invalid))}: friction has neither a threshold nor softness: it would "
                "be a weld"
            )
        for name, value in (("limit", limit), ("softness", softness), ("is_round", is_round)):
            object.__setattr__(self, name, value)

    def take(self, contacts: Indices) -> Thresholds:
        """The thresholds of some contacts."""
        return Thresholds(self.limit[contacts], self.softness[contacts], self.is_round[contacts])


@dataclass(frozen=True, eq=False)
class ThresholdFriction(ConvexSet):
    """Contact law with friction thresholds at some contacts, and Coulomb's law at the others.

    Parameters
    ----------
    mu : array (n,)
        Coefficients of friction of Coulomb's contacts.
    thresholds : Thresholds
        The others.
    response : array (n,)
        Velocity per unit of impulse, by which impulses are compared with velocities (m/s per N·s).
    d : 2 or 3
        Components per contact.

    Examples
    --------
    A sliding contact with r_T at its threshold against the slip obeys the law:

    >>> law = ThresholdFriction(np.zeros(1), Thresholds([2.0], [0.0], [False]), np.ones(1), d=2)
    >>> law.violation(np.array([[0.0, 3.0]]), np.array([[1.0, -2.0]]))
    array([[0., 0.]])
    """

    mu: Array
    thresholds: Thresholds
    response: Array
    d: int

    def project(self, x: Array) -> Array:
        """Nearest admissible impulses."""
        coulomb = CoulombCone(self.mu, self.d).project(x)
        others = TrescaSet(self.thresholds.limit).project(x)
        return np.where(self.thresholds.is_round[:, None], coulomb, others)

    def jacobian(self, x: Array) -> Array:
        """Derivative of the projection, (n, d, d)."""
        coulomb = CoulombCone(self.mu, self.d).jacobian(x)
        others = TrescaSet(self.thresholds.limit).jacobian(x)
        return np.where(self.thresholds.is_round[:, None, None], coulomb, others)

    def shift(self, u: Array) -> Array:
        """De Saxcé's shift mu |u_T| at Coulomb's contacts, zero at the others."""
        return np.where(self.thresholds.is_round, self.mu * length_and_direction(u[:, 1:])[0], 0.0)

    def violation(self, u: Array, x: Array) -> Array:
        """Velocity by which each part of the law is violated, (n, d); x = λ r are impulses as velocities."""
        thresholds = self.thresholds
        response = self.response[:, None]
        soft = np.where(thresholds.is_round, 0.0, thresholds.softness)[:, None]
        result = np.empty_like(x)
        result[:, 0] = np.minimum(u[:, 0], x[:, 0])
        trial = x[:, 1:] - (u[:, 1:] + soft * x[:, 1:] / np.where(response > 0.0, response, 1.0))
        result[:, 1:] = x[:, 1:] - Disc(self.radius(x)).project(trial)
        return result

    def radius(self, x: Array) -> Array:
        """Largest |x_T| of each contact, (n,), for impulses as velocities x = λ r."""
        threshold = self.response * np.where(self.thresholds.is_round, 0.0, self.thresholds.limit)
        return np.where(self.thresholds.is_round, self.mu * np.maximum(x[:, 0], 0.0), threshold)
