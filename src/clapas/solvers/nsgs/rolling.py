"""Gauss-Seidel on body velocities where some contacts also carry couples.

A visit solves the contact for its impulse with the couple held, then the couple with the impulse held:
each of its parts p answers to its own change by its own block, and must stay in a disc whose radius is
the normal impulse,

    p ← P_disc(r_N) (p − u_p / λ_p),    λ_p the largest eigenvalue of the block.

The two are strongly tied where a body rolls (stopping the slip of a sphere and stopping its rolling
undo each other by 5/7), so a visit repeats them. At a fixed point nothing is frozen: it is the law of
:class:`clapas.problems.rolling.RollingProblem`.

Contacts without couples (lengths of zero) do not pay for those that have some. Where they are many they are
swept by vectors and threads as if there were no couples (:class:`MixedSweeps`), and those with couples are
visited after each sweep, one after another; where they are few, all are visited in one order
(:class:`RollingSweeps`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clapas.compiled import inlined, kernel
from clapas.convex.rolling import DISCS
from clapas.problems.blocks import add_impulses
from clapas.problems.rolling import RollingProblem
from clapas.simd import aligned_zeros
from clapas.solvers.local.canonical import canonical_coefficients, turn_tangents
from clapas.solvers.local.dispatch import solve_contact
from clapas.solvers.nsgs.arrangement import Arranger
from clapas.solvers.nsgs.blocked import BlockedSweeps
from clapas.solvers.nsgs.orders import SEVERAL, Coloured, Given, Order, Shuffled
from clapas.solvers.nsgs.relax import relaxed
from clapas.solvers.nsgs.structure import BodyContacts
from clapas.solvers.nsgs.sweeps import Manner, Sweeps
from clapas.solvers.nsgs.visits import Visits
from clapas.typing import Array, Indices

REPEATS = 6


class RollingSweeps(Sweeps):
    """Sweeps on body velocities over impulses and couples."""

    form = "bodies of one size, with couples"

    def __init__(
        self, problem: RollingProblem, part: Any, relaxation: float, visits: Visits, guess: Array
    ) -> None:
        blocks = problem.blocks
        assert blocks is not None
        self._d = DISCS[problem.d][0].stop  # normal and tangents; couples come after
        self._part, self._relaxation, self._visits = part, relaxation, visits
        self._bodies, self._y_free = blocks.bodies, blocks.y_free
        local = problem.local_blocks
        sliding = np.ascontiguousarray(local[:, : self._d, : self._d])
        self._coefficients, self._turn = canonical_coefficients(sliding, problem.mu)
        self._G = np.ascontiguousarray(self._turned(blocks.G.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3))
        self._w, self.r = self._turned(problem.w), self._turned(guess)
        self.y = np.empty_like(self._y_free)
        self._response = _responses(local, self._d)

    def impulses(self) -> Array:
        """The current impulses and couples in the frames of the problem."""
        return self._turned(self.r, back=True)

    def refresh(self) -> None:
        """Body velocities under the current impulses and couples."""
        self.y[:] = self._y_free
        add_impulses(self._G, self._bodies, self.r, self.y)

    def sweep(self, count: int) -> None:
        """Do ``count`` sweeps."""
        for _ in range(count):
            sweep_couples(
                self._visits.next(),
                self._G,
                self._bodies,
                self._w,
                self._coefficients,
                self._response,
                self._part,
                self._relaxation,
                (0,) * self._d,
                self.r,
                self.y,
            )

    def _turned(self, vectors: Array, back: bool = False) -> Array:
        return turned_sliding(vectors, self._turn, self._d, back)


class MixedSweeps(Sweeps):
    """Parallel sweeps over the contacts without couples, then a visit to each contact with couples.

    Both work on the velocities of the blocked form, and their impulses are one array, so that what
    accelerates sweeps sees them together.
    """

    form = "bodies of one size, by vectors; contacts with couples one by one"

    def __init__(self, problem: RollingProblem, manner: Manner, guess: Array, arranged: Arranger) -> None:
        blocks = problem.blocks
        assert blocks is not None
        self._d, self._shape = DISCS[problem.d][0].stop, guess.shape
        d, plain, rolling = self._d, *_with_and_without(problem)
        self._chosen = plain, rolling
        local, mu, w = problem.local_blocks, problem.mu, problem.w
        coefficients, turn = canonical_coefficients(np.ascontiguousarray(local[:, :d, :d]), mu)
        rows = np.ascontiguousarray(blocks.G[plain, :, :d])
        contacts = BodyContacts(
            rows, blocks.bodies[plain], blocks.y_free, w[plain, :d], coefficients[plain], turn[plain]
        )
        self._sweeps = BlockedSweeps(contacts, manner._replace(acceleration=0), guess[plain, :d], arranged)
        self.y, own = self._sweeps.y, self._sweeps.r.size
        self.r = aligned_zeros((own + len(rolling) * problem.d,))
        self.r[:own] = self._sweeps.r.ravel()
        self._sweeps.r = self.r[:own].reshape(self._sweeps.r.shape)
        self._couples = self.r[own:].reshape(-1, problem.d)
        self._turn = turn[rolling]
        self._couples[:] = self._turned(guess[rolling])
        self._part, self._relaxation = manner.part, manner.relaxation
        G = self._turned(blocks.G[rolling].transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)
        number = np.append(self._sweeps.number, len(self._sweeps.number))  # the ground stays last
        self._data = (
            np.ascontiguousarray(G),
            number[blocks.bodies[rolling]],
            self._turned(w[rolling]),
            coefficients[rolling],
            _responses(local[rolling], d),
        )
        self._visits = np.arange(len(rolling), dtype=np.uint32)

    def impulses(self) -> Array:
        """The current impulses and couples in the frames of the problem."""
        r, (plain, rolling) = np.zeros(self._shape), self._chosen
        r[plain, : self._d] = self._sweeps.impulses()
        r[rolling] = self._turned(self._couples, back=True)
        return r

    def refresh(self) -> None:
        """Body velocities under the current impulses and couples."""
        self._sweeps.refresh()
        add_to_rows(self._data[0], self._data[1], self._couples, self.y)

    def rows(self, bodies: Indices) -> Indices:
        """Rows of ``y`` that belong to some bodies."""
        return self._sweeps.rows(bodies)

    def sweep(self, count: int) -> None:
        """Do ``count`` sweeps."""
        settings = self._part, self._relaxation, (0,) * self._d
        for _ in range(count):
            self._sweeps.sweep(1)
            sweep_couples(self._visits, *self._data, *settings, self._couples, self.y)

    def _turned(self, vectors: Array, back: bool = False) -> Array:
        return turned_sliding(vectors, self._turn, self._d, back)


def sweeps_with_couples(problem: RollingProblem, manner: Manner, order: Order | None, guess: Array) -> Sweeps:
    """The form of sweeps that suits: by vectors where the contacts without couples are many."""
    plain, _ = _with_and_without(problem)
    if len(plain) >= SEVERAL and (order is None or isinstance(order, Coloured)):
        return MixedSweeps(problem, manner, guess, problem.kept.of(Arranger))
    visits = Visits(problem.n_contacts, order if isinstance(order, Shuffled) else Given())
    return RollingSweeps(problem, manner.part, manner.relaxation, visits, guess)


def _with_and_without(problem: RollingProblem) -> tuple[Indices, Indices]:
    """Contacts without couples (lengths of zero), and those with."""
    diagonals = np.diagonal(problem.local_blocks, axis1=1, axis2=2)
    turns = diagonals[:, DISCS[problem.d][0].stop :].any(axis=1)
    return np.flatnonzero(~turns), np.flatnonzero(turns)


def turned_sliding(vectors: Array, turn: Array, d: int, back: bool = False) -> Array:
    """The same with tangents in canonical coordinates; the axes of the couples stay."""
    result = vectors.copy()
    result[:, :d] = turn_tangents(vectors[:, :d], turn, back)
    return result


def _responses(local: Array, d: int) -> Array:
    """Largest eigenvalues of the blocks of spin and rolling, (n, 2); in the plane there is no spin."""
    if d == 2:
        return np.column_stack((np.zeros(len(local)), local[:, 2, 2]))
    one, other, mixed = local[:, 4, 4], local[:, 5, 5], local[:, 4, 5]
    return np.column_stack((local[:, 3, 3], (one + other) / 2.0 + np.hypot((one - other) / 2.0, mixed)))


@kernel
def add_to_rows(G: Array, bodies: Indices, r: Array, y: Array) -> None:
    """Add Gᵀ r to the rows of y, which may be longer than those of G."""
    for i in range(len(G)):
        for side in range(2):
            for k in range(G.shape[2]):
                for j in range(G.shape[3]):
                    y[bodies[i, side], j] += G[i, side, k, j] * r[i, k]


@inlined
def row_velocity(G: Array, bodies: Indices, w: Array, y: Array, i: int, k: int) -> float:
    """Component k of u at contact i."""
    a, b = bodies[i, 0], bodies[i, 1]
    u = w[i, k]
    for j in range(G.shape[3]):
        u += G[i, 0, k, j] * y[a, j] + G[i, 1, k, j] * y[b, j]
    return float(u)


@inlined
def push(G: Array, bodies: Indices, i: int, k: int, value: float, r: Array, y: Array) -> None:
    """Set component k of the impulse of contact i, and move its bodies accordingly."""
    a, b = bodies[i, 0], bodies[i, 1]
    change = value - r[i, k]
    r[i, k] = value
    for j in range(G.shape[3]):
        y[a, j] += G[i, 0, k, j] * change
        y[b, j] += G[i, 1, k, j] * change


@kernel
def sweep_couples(
    order: Indices,
    G: Array,
    bodies: Indices,
    w: Array,
    coefficients: Array,
    response: Array,
    part: Any,
    relaxation: float,
    components: tuple[int, ...],
    r: Array,
    y: Array,
) -> None:
    """Visit each contact once. The length of ``components`` is d; couples come after."""
    for visit in range(len(order)):
        i = order[visit]
        for _ in range(REPEATS):
            slide(i, G, bodies, w, coefficients[i], part, relaxation, components, r, y)
            roll(i, G, bodies, w, response[i], components, r, y)
            if r[i, 0] == 0.0 or (response[i, 0] == 0.0 and response[i, 1] == 0.0):
                break


@inlined
def slide(
    i: int,
    G: Array,
    bodies: Indices,
    w: Array,
    k: Array,
    part: Any,
    relaxation: float,
    components: tuple[int, ...],
    r: Array,
    y: Array,
) -> None:
    """Solve contact i for its impulse, its couple held."""
    d = len(components)
    r_n, r_1, r_2 = r[i, 0], r[i, 1], 0.0
    u_n, u_1 = row_velocity(G, bodies, w, y, i, 0), row_velocity(G, bodies, w, y, i, 1)
    u_2 = 0.0
    if d == 3:
        r_2, u_2 = r[i, 2], row_velocity(G, bodies, w, y, i, 2)
    n, t_1, t_2 = solve_contact(part, r_n, r_1, r_2, u_n, u_1, u_2, k)
    if relaxation != 1.0:
        n, t_1, t_2 = relaxed(relaxation, k[5], r_n, r_1, r_2, n, t_1, t_2)
    push(G, bodies, i, 0, n, r, y)
    push(G, bodies, i, 1, t_1, r, y)
    if d == 3:
        push(G, bodies, i, 2, t_2, r, y)


@inlined
def roll(
    i: int,
    G: Array,
    bodies: Indices,
    w: Array,
    response: Array,
    components: tuple[int, ...],
    r: Array,
    y: Array,
) -> None:
    """Solve contact i for its couple, its impulse held."""
    limit = r[i, 0]
    if len(components) == 2:
        if response[1] > 0.0:
            wish = r[i, 2] - row_velocity(G, bodies, w, y, i, 2) / response[1]
            push(G, bodies, i, 2, min(max(wish, -limit), limit), r, y)
        return
    if response[0] > 0.0:
        wish = r[i, 3] - row_velocity(G, bodies, w, y, i, 3) / response[0]
        push(G, bodies, i, 3, min(max(wish, -limit), limit), r, y)
    if response[1] > 0.0:
        wish_1 = r[i, 4] - row_velocity(G, bodies, w, y, i, 4) / response[1]
        wish_2 = r[i, 5] - row_velocity(G, bodies, w, y, i, 5) / response[1]
        size = np.sqrt(wish_1 * wish_1 + wish_2 * wish_2)
        shrink = limit / size if size > limit else 1.0
        push(G, bodies, i, 4, shrink * wish_1, r, y)
        push(G, bodies, i, 5, shrink * wish_2, r, y)
