"""Branching: the modes of a contact, divided so that relaxations are tight.

In the plane::

    anything                  slides the way it goes, or opens | sticks, or slides the other way
    slides or opens           opens | slides
    sticks or slides          sticks | slides

To separate open from closed contacts first would seem natural, but leaves the whole cone K to the closed
ones. With one direction of sliding, open and sliding contacts share a ray of impulses, whose size u_N ≥ 0
bounds. In space a direction is never that certain, and the natural order takes fewer nodes::

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
    """Parts of a domain at a contact whose relaxed velocity is u; empty if nothing is left to decide.

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
    """Parts of what a contact with friction may do in the plane, by the direction in which it goes."""
    return (FORWARD_OR_OPEN, NOT_FORWARD) if u[1] > 0.0 else (BACKWARD_OR_OPEN, NOT_BACKWARD)


def mode(r: Array, u: Array, mu: float) -> Domain:
    """The mode that impulses and velocities (without unit) suggest: where the natural map projects them.

    The arc of a sliding contact is a point.
    """
    wish = r - u
    wish[0] -= mu * float(np.linalg.norm(u[1:]))
    tangential = float(np.linalg.norm(wish[1:]))
    if mu * tangential <= -wish[0]:
        return OPEN
    if tangential <= mu * wish[0]:
        return STICK
    along = math.atan2(-wish[2], -wish[1]) if len(r) == 3 else (0.0 if wish[1] < 0.0 else math.pi)
    return Domain(False, False, (along % (2.0 * math.pi),) * 2)


def contains(domain: Domain, seen: Domain) -> bool:
    """Whether a mode belongs to a domain."""
    if seen.arc is None:
        return domain.opens if seen.opens else domain.sticks
    return domain.arc is not None and domain.arc[0] <= seen.arc[0] <= domain.arc[1]
