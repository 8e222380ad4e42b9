"""Painlevé's rod: one contact, one degree of freedom, and no, one, two or infinitely many solutions.

A rod hangs from a hinge that travels above the floor at the velocity u0; its lower end touches the
floor. A sliding contact turns the rod about its hinge by its normal and its friction force together:
up when tan(theta) is above mu, down when it is below. In the second case the contact force presses
the rod on the floor that pushes it, and existence and uniqueness are lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from clapas.errors import ProblemError
from clapas.problems.contact import ContactProblem
from clapas.problems.gallery.entry import NO_SOLUTION, Continuum, GalleryProblem, Known, in_cones
from clapas.typing import Array

REFERENCE = "Cadoux 2009, 1.4.4"
EDGE = 1e-12  # relative difference of mu and tan(theta) below which the edge of the cone is along the rod


def painleve_rod(theta: float, mu: float, u0: float, g: float, name: str = "painleve-rod") -> GalleryProblem:
    """Build Painlevé's rod and all its solutions.

    With the mass, the length and the step chosen so that M = 1 (normal component first)::

        M = 1,   f = −g sin θ,   H = (sin θ, cos θ)ᵀ,   w = (0, u0)ᵀ

    For g ≥ 0 the end can take off, r = 0. Otherwise the rod stands still, v = 0 and u = (0, u0): its
    torque balance is r_T + tan θ (r_N + g) = 0. When u0 ≠ 0 the contact slides, which leaves
    r_N = g tan θ / (mu sign(u0) − tan θ) if that is positive; when u0 = 0 it sticks and every point of
    the balance inside the cone is a solution.

    Parameters
    ----------
    theta : float
        Angle of the rod from the downward vertical, in ]0, π/2[ (rad).
    mu : float
        Coefficient of friction, ≥ 0.
    u0 : float
        Velocity of the hinge along the floor.
    g : float
        Gravity, positive upward: it lifts the end of the rod.
    name : str
        Name of the problem.

    References
    ----------
    Cadoux 2009, 1.4.4, lemmas 1.2 (g = 1, u0 = 1) and 1.3 (g = −1); the latter overlooks that the
    force is not unique at u0 = 0.

    Examples
    --------
    Gravity down, friction large, hinge moving towards the contact: no impulse obeys the law.

    >>> painleve_rod(math.pi / 4, mu=2.0, u0=1.0, g=-1.0).known.exists
    False
    """
    if not 0.0 < theta < math.pi / 2:
        raise ProblemError(
            f"theta must be in ]0, π/2[, got {theta}: the rod neither hangs straight nor lies flat"
        )
    sine, cosine = math.sin(theta), math.cos(theta)
    problem = ContactProblem(
        M=[[1.0]], H=[[sine], [cosine]], f=[-g * sine], w=[[0.0, u0]], mu=[mu], name=name
    )
    known = _solutions(math.tan(theta), mu, u0, g)
    return GalleryProblem(
        name=name, problem=problem, reference=REFERENCE, description=_describe(mu, u0, g), known=known
    )


def _solutions(slope: float, mu: float, u0: float, g: float) -> Known:
    if abs(mu - slope) <= EDGE * slope:
        mu = slope
    isolated = [np.zeros((1, 2))] if g >= 0 else []
    continuum = None
    if u0 == 0:
        low, high = _sticking_range(slope, mu, g)
        if low < high:
            continuum = _sticking(slope, mu, g, low, high)
        elif low == high > 0:
            isolated.append(np.array([[low, -slope * (low + g)]]))
    elif mu == slope and u0 > 0 and g == 0:
        continuum = _torque_free_edge(mu)
    else:
        isolated += _sliding(slope, mu, math.copysign(1.0, u0), g)
    if continuum is not None and continuum.contains(np.zeros((1, 2)), 0.0):
        isolated = []  # the apex belongs to the ray
    if not isolated and continuum is None:
        return NO_SOLUTION
    return Known(exists=True, solutions=tuple(isolated), continuum=continuum, complete=True)


def _sliding(slope: float, mu: float, direction: float, g: float) -> list[Array]:
    lever = mu * direction - slope
    if lever == 0 or g / lever <= 0:
        return []
    normal = g * slope / lever
    return [np.array([[normal, -mu * direction * normal]])]


def _sticking_range(slope: float, mu: float, g: float) -> tuple[float, float]:
    """Range of r_N for which the balance r_T = −slope (r_N + g) is inside the cone; empty if low > high."""
    if g < 0:
        return -g * slope / (slope + mu), (-g * slope / (slope - mu) if slope > mu else math.inf)
    if g > 0:
        return (g * slope / (mu - slope), math.inf) if mu > slope else (math.inf, 0.0)
    return 0.0, (math.inf if mu >= slope else 0.0)


def _sticking(slope: float, mu: float, g: float, low: float, high: float) -> Continuum:
    def contains(r: Array, slack: float) -> bool:
        return in_cones(r, mu, slack) and abs(float(r[0, 1] + slope * (r[0, 0] + g))) <= slack

    top = high if math.isfinite(high) else 4.0 * low + 1.0
    return Continuum(
        description=f"r_T = -{slope:.6g} (r_N + {g:g}) for {low:.6g} <= r_N <= {high:.6g}",
        samples=tuple(np.array([[n, -slope * (n + g)]]) for n in (low, 0.5 * (low + top), top)),
        contains=contains,
    )


def _torque_free_edge(mu: float) -> Continuum:
    """Without gravity, an impulse along the rod has no effect: the whole edge of the cone is a solution."""

    def contains(r: Array, slack: float) -> bool:
        return float(r[0, 0]) >= -slack and abs(float(r[0, 1] + mu * r[0, 0])) <= slack

    samples = tuple(np.array([[n, -mu * n]]) for n in (0.0, 1.0, 3.0))
    return Continuum(description=f"r_T = -{mu:.6g} r_N for r_N >= 0", samples=samples, contains=contains)


def _describe(mu: float, u0: float, g: float) -> str:
    pull = "up" if g > 0 else "down" if g < 0 else "nowhere"
    motion = "pushed into its lean" if u0 > 0 else "dragged along" if u0 < 0 else "held"
    return f"A hinged rod touches the floor and is {motion}; gravity pulls {pull}, mu = {mu:g}."


def catalogue() -> dict[str, Callable[[], GalleryProblem]]:
    """Named rods at theta = π/4, one for each kind of solution set."""
    cases = {
        "painleve-up-two": (2.0, 1.0, 1.0),
        "painleve-up-one": (0.5, 1.0, 1.0),
        "painleve-up-held": (2.0, 0.0, 1.0),
        "painleve-down-none": (2.0, 1.0, -1.0),
        "painleve-down-edge": (1.0, 1.0, -1.0),
        "painleve-down-forward": (0.5, 1.0, -1.0),
        "painleve-down-backward": (2.0, -1.0, -1.0),
        "painleve-down-held": (0.5, 0.0, -1.0),
        "painleve-down-jammed": (2.0, 0.0, -1.0),
    }
    return {name: partial(painleve_rod, math.pi / 4, mu, u0, g, name) for name, (mu, u0, g) in cases.items()}
