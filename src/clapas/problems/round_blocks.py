"""Contacts between bodies that turn alike about every axis (spheres, cubes): geometry in place of blocks.

The inertia of such a body is a number, in any frame. With the frame F of a contact and the arms l from
the centres of its two bodies to its point, in the world,

    u = F (v_b + ω_b × l_b − v_a − ω_a × l_a) + w,
    m v += ± Fᵀ r,      J ω += ± l × Fᵀ r,

so a contact needs 15 numbers where its blocks of H have 36, and a body eight: a cache line. Large packings
are bound by memory; every pass over them gains.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from clapas.compiled import inlined, kernel
from clapas.problems.blocks import BodyBlocks
from clapas.problems.judge import ROUNDING, missed_square
from clapas.team import Member, share, team_size, together, wait
from clapas.typing import Array, Indices

STRIDE = 1024  # contacts whose squares are added up before those of others, whatever the number of threads
PARTS = 2  # of the contacts, whose impulses are added up apart
ROW = 8  # v, ω, 1/m, 1/J


class RoundBlocks(BodyBlocks):
    """Blocks of a problem between bodies with isotropic inertia, in 3-D; G is made only if someone asks.

    Parameters
    ----------
    frame : array (n, 3, 3)
        Orthonormal frames: normal, tangents.
    arms : array (n, 2, 3)
        From the centres of the two bodies to the contact (m).
    bodies : array (n, 2)
        The two bodies; the ground is body number ``n_bodies``.
    x_free : array (n_bodies + 1, 8)
        Of each body: velocity and spin without impulses, in the world (m/s, rad/s), 1/m and 1/J. The last
        row, the ground's, is zero.

    Degrees of freedom are velocities and spins in the world.
    """

    frame: Array
    arms: Array
    x_free: Array

    def __init__(self, frame: Array, arms: Array, bodies: Indices, x_free: Array) -> None:
        self.__dict__.update(frame=frame, arms=arms, bodies=bodies, x_free=x_free)  # frozen, as its kin

    @property
    def n_bodies(self) -> int:
        """Bodies that can move."""
        return len(self.x_free) - 1

    @property
    def d(self) -> int:
        """Components at a contact."""
        return 3

    @property
    def size(self) -> int:
        """Degrees of freedom of a body."""
        return 6

    @property
    def given(self) -> dict[str, Array]:
        """The numbers all the others are made of."""
        return {"frame": self.frame, "arms": self.arms, "x_free": self.x_free}

    def moved(self, r: Array) -> Array:
        """The rows of the bodies under the impulses r."""
        x = self.x_free.copy()
        self._push(r, x)
        return x

    def pushed(self, r: Array) -> RoundBlocks:
        """The same bodies whose free motion has felt the impulses r."""
        return RoundBlocks(self.frame, self.arms, self.bodies, self.moved(r))

    def largest_term(self) -> float:
        """Size of the terms that add up to the free velocities at the contacts (m/s)."""
        speed, spin = np.abs(self.x_free[:, :3]).max(), np.abs(self.x_free[:, 3:6]).max()
        longest = max(self.arms.max(initial=0.0), -self.arms.min(initial=0.0))
        return float(2.0 * (speed + 2.0 * spin * longest))

    def motion(self, r: Array) -> Array:
        """Body velocities y under the impulses r; the ground's stay zero."""
        y = np.zeros((len(self.x_free), 6))
        y[:-1] = self.moved(r)[:-1, :6] / self._scale
        return y

    def velocity(self, r: Array, w: Array) -> Array:
        """Velocities at the contacts."""
        return self._at_contacts(self.moved(r), w)

    def free_velocity(self, w: Array) -> Array:
        """Velocities at the contacts without impulses."""
        return self._at_contacts(self.x_free, w)

    def answer(self, r: Array) -> Array:
        """What the impulses r add to the velocities at the contacts, W r."""
        x = self.x_free.copy()
        x[:, :6] = 0.0
        self._push(r, x)
        return self._at_contacts(x, np.zeros_like(r))

    def bodies_velocity(self, r: Array) -> Array:
        """Velocities and spins of the bodies, (m,)."""
        return self.moved(r)[:-1, :6].ravel()

    @cached_property
    def response(self) -> Array:
        """Mean diagonals of the blocks W_ii, (n,)."""
        result = np.empty(len(self.frame))
        self._share_out(lambda member: fill_responses(member, self.arms, self.bodies, self.x_free, result))
        return result

    def missed(self, r: Array, w: Array, mu: Array, response: Array) -> float:
        """By how much the law is missed: see :func:`clapas.problems.judge.missed`."""
        x = self.moved(r)
        squares = np.zeros((-(-len(r) // STRIDE), 2))
        given = self.frame, self.arms, self.bodies, x, w, r, mu, response
        self._share_out(lambda member: missed_squares(member, *given, squares))
        total, hidden = squares.sum(axis=0)
        return float(max(np.sqrt(total), ROUNDING * np.sqrt(hidden)))

    # ---------------------------------------------------------------- as blocks, for those who want them

    @cached_property
    def G(self) -> Array:
        """Blocks of H L⁻ᵀ, (n, 2, 3, 6)."""
        scale = np.sqrt(self.x_free[:, 6:])[self.bodies] * [[-1.0], [1.0]]
        G = np.empty((len(self.frame), 2, 3, 6))
        G[..., :3] = scale[:, :, :1, None] * self.frame[:, None]
        G[..., 3:] = scale[:, :, 1:, None] * np.cross(self.arms[:, :, None, :], self.frame[:, None])
        return G

    @cached_property
    def y_free(self) -> Array:
        """Velocities without impulses in units of unit mass, (n_bodies + 1, 6)."""
        y = np.zeros((len(self.x_free), 6))
        y[:-1] = self.x_free[:-1, :6] / self._scale
        return y

    @cached_property
    def root(self) -> Array:
        """Inverse roots of the masses, (n_bodies, 6, 6)."""
        return np.asarray(self._scale[:, :, None] * np.eye(6))

    # ----------------------------------------------------------------

    @property
    def _scale(self) -> Array:
        return np.repeat(np.sqrt(self.x_free[:-1, 6:]), 3, axis=1)

    def _push(self, r: Array, x: Array) -> None:
        """Let impulses move the bodies."""
        wrench = np.zeros((PARTS, len(x), 6))
        given = self.frame, self.arms, self.bodies, r
        self._share_out(lambda member: add_up(member, *given, wrench, x))

    def _at_contacts(self, x: Array, w: Array) -> Array:
        u = np.empty_like(w)
        given = self.frame, self.arms, self.bodies, x, w
        self._share_out(lambda member: contact_velocities(member, *given, u))
        return u

    def _share_out(self, work: Callable[[Member], None]) -> None:
        n = len(self.frame)
        together(team_size(None, n, max(1, n // STRIDE)), work)


@inlined
def relative_velocity(arms: Array, bodies: Indices, x: Array, i: int) -> tuple[float, float, float]:
    """Velocity of b relative to a at contact i, in the world."""
    a, b = bodies[i, 0], bodies[i, 1]
    p_x, p_y, p_z = arms[i, 0, 0], arms[i, 0, 1], arms[i, 0, 2]
    q_x, q_y, q_z = arms[i, 1, 0], arms[i, 1, 1], arms[i, 1, 2]
    return (
        x[b, 0] - x[a, 0] + (x[b, 4] * q_z - x[b, 5] * q_y) - (x[a, 4] * p_z - x[a, 5] * p_y),
        x[b, 1] - x[a, 1] + (x[b, 5] * q_x - x[b, 3] * q_z) - (x[a, 5] * p_x - x[a, 3] * p_z),
        x[b, 2] - x[a, 2] + (x[b, 3] * q_y - x[b, 4] * q_x) - (x[a, 3] * p_y - x[a, 4] * p_x),
    )


@kernel
def contact_velocities(
    member: Member, frame: Array, arms: Array, bodies: Indices, x: Array, w: Array, u: Array
) -> None:
    """One thread's part of u = F (relative velocity) + w."""
    first, last = share(member, len(frame))
    for i in range(first, last):
        d_x, d_y, d_z = relative_velocity(arms, bodies, x, i)
        for k in range(3):
            u[i, k] = w[i, k] + frame[i, k, 0] * d_x + frame[i, k, 1] * d_y + frame[i, k, 2] * d_z


@kernel
def add_up(
    member: Member, frame: Array, arms: Array, bodies: Indices, r: Array, wrench: Array, x: Array
) -> None:
    """One thread's part of the impulses and moments on the bodies, then of the velocities they make.

    Contacts are taken in PARTS parts, each with sums of its own (PARTS, n_bodies + 1, 6): the same bits for
    any number of threads.
    """
    n = len(frame)
    first, last = share(member, PARTS)
    for part in range(first, last):
        for i in range(n * part // PARTS, n * (part + 1) // PARTS):
            f_x = frame[i, 0, 0] * r[i, 0] + frame[i, 1, 0] * r[i, 1] + frame[i, 2, 0] * r[i, 2]
            f_y = frame[i, 0, 1] * r[i, 0] + frame[i, 1, 1] * r[i, 1] + frame[i, 2, 1] * r[i, 2]
            f_z = frame[i, 0, 2] * r[i, 0] + frame[i, 1, 2] * r[i, 1] + frame[i, 2, 2] * r[i, 2]
            for side in range(2):
                body = bodies[i, side]
                sign = 1.0 if side == 1 else -1.0
                l_x, l_y, l_z = sign * arms[i, side, 0], sign * arms[i, side, 1], sign * arms[i, side, 2]
                wrench[part, body, 0] += sign * f_x
                wrench[part, body, 1] += sign * f_y
                wrench[part, body, 2] += sign * f_z
                wrench[part, body, 3] += l_y * f_z - l_z * f_y
                wrench[part, body, 4] += l_z * f_x - l_x * f_z
                wrench[part, body, 5] += l_x * f_y - l_y * f_x
    wait(member)
    first, last = share(member, len(x))
    for body in range(first, last):
        for k in range(6):
            total = 0.0
            for part in range(PARTS):
                total += wrench[part, body, k]
            x[body, k] += total * x[body, 6 if k < 3 else 7]


@kernel
def fill_responses(member: Member, arms: Array, bodies: Indices, x: Array, response: Array) -> None:
    """One thread's part of trace(W_ii)/3 = Σ over both bodies of 1/m + ⅔ |l|²/J."""
    first, last = share(member, len(arms))
    for i in range(first, last):
        total = 0.0
        for side in range(2):
            body = bodies[i, side]
            square = arms[i, side, 0] ** 2 + arms[i, side, 1] ** 2 + arms[i, side, 2] ** 2
            total += x[body, 6] + 2.0 / 3.0 * square * x[body, 7]
        response[i] = total


@kernel
def missed_squares(
    member: Member,
    frame: Array,
    arms: Array,
    bodies: Indices,
    x: Array,
    w: Array,
    r: Array,
    mu: Array,
    response: Array,
    squares: Array,
) -> None:
    """One thread's part of the squares of what is missed, and of what rounding hides, by strides."""
    first, last = share(member, len(squares))
    u = np.empty(3)
    for stride in range(first, last):
        total, hidden = 0.0, 0.0
        for i in range(stride * STRIDE, min((stride + 1) * STRIDE, len(r))):
            d_x, d_y, d_z = relative_velocity(arms, bodies, x, i)
            for k in range(3):
                u[k] = w[i, k] + frame[i, k, 0] * d_x + frame[i, k, 1] * d_y + frame[i, k, 2] * d_z
                hidden += (response[i] * r[i, k]) ** 2
            total += missed_square(u, r[i], mu[i], response[i])
        squares[stride, 0] = total
        squares[stride, 1] = hidden
