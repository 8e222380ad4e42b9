"""Problems with a few contacts and closed-form solutions: the examples of the theory."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from clapas.errors import ProblemError
from clapas.problems.contact import ContactProblem
from clapas.problems.gallery.entry import (
    NO_SOLUTION,
    Continuum,
    GalleryProblem,
    Known,
    among,
    only,
)
from clapas.problems.gallery.stacks import box_stack
from clapas.typing import Array

GRAVITY = 9.81


def spurious_fixed_point(name: str = "spurious-fixed-point") -> GalleryProblem:
    """A fixed point of Cadoux's map that is not a solution of the problem.

    Freezing the sliding velocity at s = 0 gives a convex problem whose velocity v = 0 reproduces s = 0,
    yet no impulse in the cone balances it: Mv + f = (0, 1) is not in Hᵀ K. The only solution is r = 0,
    which slides without weight at s = 1.

    Examples
    --------
    >>> spurious_fixed_point().known.is_unique
    True
    """
    problem = ContactProblem(
        M=np.eye(2),
        H=[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]],
        f=[0.0, 1.0],
        w=np.zeros((1, 3)),
        mu=[1.0],
        name=name,
    )
    return GalleryProblem(
        name=name,
        problem=problem,
        reference="Cadoux 2009, example 3.21",
        description="A particle that rides up a slope of 45° skims along it sideways.",
        known=only(np.zeros((1, 3))),
    )


def rigid_square(name: str = "rigid-square") -> GalleryProblem:
    """A square at rest on two corners: the friction forces may squeeze it by any amount within the cones.

    All the solutions are r = ((½, a), (½, −a)) with |a| ≤ ½; W is singular along a.
    """
    problem = ContactProblem(
        M=np.eye(3),
        H=[[0.0, 1.0, -1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]],
        f=[0.0, 1.0, 0.0],
        w=np.zeros((2, 2)),
        mu=[1.0, 1.0],
        name=name,
    )

    def member(a: float) -> Array:
        return np.array([[0.5, a], [0.5, -a]])

    def contains(r: Array, slack: float) -> bool:
        near = float(np.abs(r - member(float(r[0, 1]))).max()) <= slack
        return near and abs(float(r[0, 1])) <= 0.5 + slack

    continuum = Continuum(
        description="r = ((1/2, a), (1/2, -a)) for |a| <= 1/2",
        samples=tuple(member(a) for a in (-0.5, -0.2, 0.0, 0.5)),
        contains=contains,
    )
    return GalleryProblem(
        name=name,
        problem=problem,
        reference="Cadoux 2009, 1.4.5 and example D.2",
        description="A rigid square rests on the floor by two corners.",
        known=Known(exists=True, continuum=continuum, complete=True),
    )


def crushed_disc(mu: float, name: str = "crushed-disc") -> GalleryProblem:
    """A disc between the floor and a plane that comes down: penetration cannot be avoided.

    The normal velocities add up to u_N1 + u_N2 = −1 for every motion of the disc, so no impulse helps.
    """
    radius, speed = 1.0, 1.0
    # Floor: normal +y; plane above: normal −y. Tangents so that (normal, tangent) turns to the left.
    H = [[0.0, 1.0, 0.0], [-1.0, 0.0, -radius], [0.0, -1.0, 0.0], [1.0, 0.0, -radius]]
    problem = ContactProblem(
        M=np.diag([1.0, 1.0, 0.5 * radius**2]),
        H=H,
        f=np.zeros(3),
        w=[[0.0, 0.0], [-speed, 0.0]],
        mu=[mu, mu],
        name=name,
    )
    return GalleryProblem(
        name=name,
        problem=problem,
        reference="Cadoux 2009, 3.4.1, figure 3.2",
        description="A rigid disc is crushed between the floor and a plane that comes down.",
        known=NO_SOLUTION,
    )


def mass_spring_stop(drop: float, name: str = "mass-spring-stop") -> GalleryProblem:
    """A mass hangs on a spring over a stop, in static equilibrium.

    Here v is the displacement upward, M the stiffness k, u the gap and r a force (N). The stop is at the
    distance ``drop`` below the rest length: r_N = max(0, m g − k drop).

    References
    ----------
    Cadoux 2009, 0.1.3.

    Examples
    --------
    >>> mass_spring_stop(0.05).known.solutions[0].round(2).tolist()
    [[4.81, 0.0]]
    """
    mass, stiffness = 1.0, 100.0
    weight = mass * GRAVITY
    problem = ContactProblem(
        M=[[stiffness]], H=[[1.0], [0.0]], f=[weight], w=[[drop, 0.0]], mu=[0.0], name=name
    )
    return GalleryProblem(
        name=name,
        problem=problem,
        reference="Cadoux 2009, 0.1.3",
        description=f"A mass hangs on a spring above a stop {drop:g} m below, in static equilibrium.",
        known=only([[max(0.0, weight - stiffness * drop), 0.0]]),
    )


def wedged_bar(
    slope: float = math.radians(10.0), mu: float = 0.5, name: str = "wedged-bar"
) -> GalleryProblem:
    """A heavy bar between two walls that converge upward: it may fall, or stay wedged.

    The bar (1 kg, 1 m) is horizontal and at rest; over a step of 10 ms its weight gives P = m g dt. Falling
    freely it leaves both walls, so r = 0 is a solution. If mu = tan φ exceeds tan(slope), so is every pair of
    impulses that holds it: P/2 upward at each end and the same thrust X against both walls,

        X ≥ (P / 2) / tan(φ − slope).

    The lines of action of the two impulses then meet above the bar on the vertical of its centre: they sweep
    the part of this line inside the triangle of the two friction cones. The more the bar is wedged, the
    lower they meet.

    Parameters
    ----------
    slope : float
        Angle of the walls with the vertical, in ]0, π/2[ (rad).
    mu : float
        Coefficient of friction.
    name : str
        Name of the problem.

    References
    ----------
    Moreau 2003, 8.1, figure 1.
    """
    if not 0.0 < slope < math.pi / 2:
        raise ProblemError(f"slope must be in ]0, π/2[, got {slope}: the walls converge upward")
    mass, length, dt = 1.0, 1.0, 0.01
    inertia, weight = mass * length**2 / 12.0, mass * GRAVITY * dt
    s, c, arm = math.sin(slope), math.cos(slope), length / 2.0
    # Left end: normal (c, −s), tangent (s, c). Right end: normal (−c, −s), tangent (s, −c).
    H = [[c, -s, arm * s], [s, c, -arm * c], [-c, -s, -arm * s], [s, -c, -arm * c]]
    problem = ContactProblem(
        M=np.diag([mass, mass, inertia]),
        H=H,
        f=[0.0, weight, 0.0],
        w=np.zeros((2, 2)),
        mu=[mu, mu],
        name=name,
    )
    # With one end free, the other alone must not hold the bar: Alart's bound of uniqueness (1997, 66).
    bound = (1.0 + 3.0 * s**2) / (3.0 * s * c)
    return GalleryProblem(
        name=name,
        problem=problem,
        reference="Moreau 2003, 8.1",
        description="A heavy bar is wedged between two rough walls that converge upward.",
        known=Known(
            exists=True,
            solutions=(np.zeros((2, 2)),),
            continuum=_thrusts(weight, slope, mu),
            complete=mu < bound,
        ),
    )


def _thrusts(weight: float, slope: float, mu: float) -> Continuum | None:
    if math.atan(mu) <= slope:
        return None
    s, c = math.sin(slope), math.cos(slope)
    least = 0.5 * weight / math.tan(math.atan(mu) - slope)

    def member(thrust: float) -> Array:
        normal, upward = thrust * c - 0.5 * weight * s, thrust * s + 0.5 * weight * c
        return np.array([[normal, upward], [normal, -upward]])

    def contains(r: Array, slack: float) -> bool:
        thrust = float(c * r[0, 0] + s * r[0, 1])
        return thrust >= least - slack and float(np.abs(r - member(thrust)).max()) <= slack

    return Continuum(
        description=f"half the weight at each end and a common thrust of at least {least:.6g}",
        samples=tuple(member(factor * least) for factor in (1.0, 1.5, 4.0)),
        contains=contains,
    )


def inclined_plane(
    slope: float, mu: float, speed: float = 0.0, name: str = "inclined-plane"
) -> GalleryProblem:
    """A particle on an inclined plane, over one step.

    It weighs 2 kg and moves down the slope at ``speed``; in the step of 10 ms gravity adds g dt. The particle
    stops if friction can take all its momentum, otherwise it slides under the friction mu m g dt cos(slope).

    Parameters
    ----------
    slope : float
        Angle with the horizontal, in [0, π/2[ (rad).
    mu : float
        Coefficient of friction.
    speed : float
        Velocity down the slope before the step (m/s).
    name : str
        Name of the problem.

    References
    ----------
    Cadoux 2009, 2.3.5.

    Examples
    --------
    >>> inclined_plane(math.radians(20.0), mu=0.5).problem.motion([[0.0, 0.0, 0.0]]).round(4).tolist()
    [0.0, 0.0, -0.0981]
    """
    mass, dt = 2.0, 0.01
    s, c = math.sin(slope), math.cos(slope)
    # Rows: normal, down the slope, across. The plane falls along +x.
    H = np.array([[s, 0.0, c], [c, 0.0, -s], [0.0, 1.0, 0.0]])
    free = speed * H[1] + np.array([0.0, 0.0, -GRAVITY * dt])
    problem = ContactProblem(M=mass * np.eye(3), H=H, f=-mass * free, w=np.zeros((1, 3)), mu=[mu], name=name)
    normal = mass * GRAVITY * dt * c
    momentum = mass * (GRAVITY * dt * s + speed)
    tangential = -math.copysign(min(abs(momentum), mu * normal), momentum)
    return GalleryProblem(
        name=name,
        problem=problem,
        reference="Cadoux 2009, 2.3.5",
        description=f"A particle on a plane inclined by {math.degrees(slope):g}°, mu = {mu:g}.",
        known=only([[normal, tangential, 0.0]]),
    )


def sliding_block(name: str = "sliding-block") -> GalleryProblem:
    """A block slides on its four corners: one motion, but a segment of impulses.

    Friction acts at the floor, below the centre: the front corners carry more. The balance leaves the
    share of the two diagonals free.
    """
    mu, speed, length, height = 0.5, 1.0, 1.0, 0.5
    rest = box_stack(1, mu=mu, size=(length, length, height)).problem
    momentum = rest.M @ (speed * np.eye(6)[0])
    problem = ContactProblem(M=rest.M, H=rest.H, f=rest.f - momentum, w=rest.w, mu=rest.mu, name=name)
    weight = float(rest.f[2])
    # Pitch: Σ x r_N = mu weight height / 2, corners in the order rear, front, front, rear at x = ∓length / 2.
    forward = mu * height / length * np.array([-1.0, 1.0, 1.0, -1.0])
    even = 0.25 * weight * (1.0 + forward)
    diagonal = np.array([1.0, -1.0, 1.0, -1.0])
    largest = float(even.min())

    def member(e: float) -> Array:
        normal = even + e * diagonal
        return np.column_stack((normal, -mu * normal, np.zeros(4)))

    def contains(r: Array, slack: float) -> bool:
        e = float((r[:, 0] - even) @ diagonal) / 4.0
        return abs(e) <= largest + slack and float(np.abs(r - member(e)).max()) <= slack

    continuum = Continuum(
        description="normal impulses even + e (1, -1, 1, -1), friction fully mobilised against the motion",
        samples=tuple(member(e) for e in (-largest, 0.0, 0.5 * largest, largest)),
        contains=contains,
    )
    return GalleryProblem(
        name=name,
        problem=problem,
        reference="",
        description="A block slides over the floor on its four corners.",
        known=Known(exists=True, continuum=continuum),
    )


def near_singular(gap: float = 1e-10, name: str = "near-singular") -> GalleryProblem:
    """Two particles joined by a stiff spring, both on the floor: W has condition 2 / gap.

    Pulling the two contacts apart costs next to nothing, so impulses far from the solution have a small
    residual. Both stick in the listed solution.
    """
    share = np.array([[1.0, 1.0 - gap], [1.0 - gap, 1.0]])
    W = np.kron(share, np.eye(3))
    r = np.array([[1.0, 0.2, -0.1], [0.7, -0.1, 0.2]])
    q = -(W @ r.ravel()).reshape(2, 3)
    return GalleryProblem(
        name=name,
        problem=ContactProblem(W=W, q=q, mu=[0.5, 0.5], name=name),
        reference="",
        description="Two contacts on a body that is nearly rigid between them.",
        known=among(r),
    )


def catalogue() -> dict[str, Callable[[], GalleryProblem]]:
    """Problems of a few contacts by name."""
    steep, gentle = math.radians(40.0), math.radians(20.0)
    return {
        "spurious-fixed-point": spurious_fixed_point,
        "rigid-square": rigid_square,
        "crushed-disc": partial(crushed_disc, 0.0, "crushed-disc"),
        "crushed-disc-rough": partial(crushed_disc, 0.3, "crushed-disc-rough"),
        "mass-spring-stop": partial(mass_spring_stop, 0.05, "mass-spring-stop"),
        "mass-spring-free": partial(mass_spring_stop, 0.2, "mass-spring-free"),
        "wedged-bar": wedged_bar,
        "wedged-bar-slippery": partial(wedged_bar, mu=0.1, name="wedged-bar-slippery"),
        "inclined-plane-stick": partial(inclined_plane, gentle, 0.5, name="inclined-plane-stick"),
        "inclined-plane-slide": partial(inclined_plane, steep, 0.5, name="inclined-plane-slide"),
        "inclined-plane-stop": partial(inclined_plane, gentle, 0.5, 0.005, name="inclined-plane-stop"),
        "sliding-block": sliding_block,
        "near-singular": near_singular,
    }
