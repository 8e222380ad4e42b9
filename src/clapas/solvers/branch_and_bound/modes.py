"""Branching: splits of the modes of a contact that give tight relaxations.

In the plane::

    anything                  slides the way it goes, or opens | sticks, or slides the other way
    slides or opens           opens | slides
    sticks or slides          sticks | slides

Separating open from closed contacts first would seem natural, but leaves the whole cone K to the closed
ones. With one direction of sliding, open and sliding contacts share a ray of impulses, whose size u_N ≥ 0
bounds. In space the direction is not so restricted, and the natural order takes fewer nodes::

    anything                  opens | is closed
    closed                    sticks | slides in each of four quadrants
    slides                    each half of the arc
"""

from __future__ import annotations

import math

import numpy as np

from clapas.solvers.branch_and_bound.checker import ANYTHING, CIRCLE, Domain
from clapas.typing import Array

OPEN = Domain(True, False, None)
CLOSED = Domain(False, True, CIRCLE)
STICK = Domain(False, True, None)
FORWARD, BACKWARD = Domain(False, False, (0.0, 0.0)), Domain(False, False, (math.pi, math.pi))
NOT_BACKWARD, NOT_FORWARD = FORWARD._replace(sticks=True), BACKWARD._replace(sticks=True)
FORWARD_OR_OPEN, BACKWARD_OR_OPEN = FORWARD._replace(opens=True), BACKWARD._replace(opens=True)
QUADRANTS = tuple(Domain(False, False, (0.5 * math.pi * k, 0.5 * math.pi * (k + 1))) for k in range(4))


def split(domain: Domain, u: Array, mu: float, narrowest: float) -> tuple[Domain, ...]:
    """Parts of a domain at a contact whose relaxed velocity is u; empty if it is not split further.

    ``narrowest`` is the width (rad) below which an arc is not cut.
    """
    if domain == ANYTHING and mu > 0.0 and len(u) == 2:
        return _by_direction(u)
    if domain.opens:
        return (OPEN, domain._replace(opens=False)) if domain.arc is not None else ()
    if mu == 0.0 or domain.arc is None:
        return ()
    if len(u) == 2:
        return (STICK, domain._replace(sticks=False)) if domain.sticks else ()
    if domain == CLOSED:
        return STICK, *QUADRANTS
    low, high = domain.arc
    if high - low <= narrowest:
        return ()
    middle = 0.5 * (low + high)
    return domain._replace(arc=(low, middle)), domain._replace(arc=(middle, high))


def _by_direction(u: Array) -> tuple[Domain, ...]:
    """Split of a contact with friction in the plane, by the direction of its velocity."""
    return (FORWARD_OR_OPEN, NOT_FORWARD) if u[1] > 0.0 else (BACKWARD_OR_OPEN, NOT_BACKWARD)


def mode(r: Array, u: Array, mu: float) -> Domain:
    """The mode of dimensionless impulses and velocities, from the projection of the natural map.

    The arc of a sliding contact is a point.
    """
    trial = r - u
    trial[0] -= mu * float(np.linalg.norm(u[1:]))
    tangential = float(np.linalg.norm(trial[1:]))
    if mu * tangential <= -trial[0]:
        return OPEN
    if tangential <= mu * trial[0]:
        return STICK
    along = math.atan2(-trial[2], -trial[1]) if len(r) == 3 else (0.0 if trial[1] < 0.0 else math.pi)
    return Domain(False, False, (along % (2.0 * math.pi),) * 2)


def contains(domain: Domain, mode: Domain) -> bool:
    """Whether a mode belongs to a domain."""
    if mode.arc is None:
        return domain.opens if mode.opens else domain.sticks
    return domain.arc is not None and domain.arc[0] <= mode.arc[0] <= domain.arc[1]
