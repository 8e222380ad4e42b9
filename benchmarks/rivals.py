"""The C reference as iterations: the same data, order of visits and interface as those of clapas."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.reference import Reference
from clapas.compiled.simd import WIDTH
from clapas.problems import ContactProblem
from clapas.solvers.local import LocalSolver
from clapas.solvers.local.canonical import turn_tangents
from clapas.solvers.loop import Iteration
from clapas.solvers.nsgs.delassus import DelassusSweeps
from clapas.solvers.nsgs.layout import arrange
from clapas.solvers.nsgs.structure import body_contacts
from clapas.typing import Array, Indices


@dataclass(frozen=True)
class BodyData:
    """The body form of a problem, contacts in the order of the visits, tangents turned.

    Parameters
    ----------
    G, bodies, y_free, w, coefficients, turn
        As in :class:`clapas.solvers.nsgs.structure.BodyContacts`.
    place : array (n,)
        Where each contact of the problem stands in this order.
    bounds : array (n_slabs + 1,)
        First contact of each slab.
    """

    G: Array
    bodies: Indices
    y_free: Array
    w: Array
    coefficients: Array
    turn: Array
    place: Indices
    bounds: Indices


def in_given_order(problem: ContactProblem) -> BodyData:
    """Contacts as they are numbered, in one slab."""
    contacts = body_contacts(problem)
    assert contacts is not None
    G, w = contacts.turned()
    n = len(G)
    return BodyData(
        G=G,
        bodies=contacts.bodies.astype(np.uint32),
        y_free=contacts.y_free,
        w=w,
        coefficients=contacts.coefficients,
        turn=contacts.turn,
        place=np.arange(n),
        bounds=np.array([0, n]),
    )


def in_slab_order(problem: ContactProblem) -> BodyData:
    """Contacts as the blocked sweep meets them, lane after lane."""
    given = in_given_order(problem)
    n_bodies, size = len(given.y_free) - 1, given.y_free.shape[1]
    blocks = arrange(given.bodies.astype(np.int64), n_bodies)
    order, block, lane = np.argsort(blocks.place), blocks.place // WIDTH, blocks.place % WIDTH
    bounds = np.searchsorted(block[order], blocks.bounds)
    # Each slab has its own copy of the ground, after the bodies.
    y_free = np.zeros((n_bodies + len(bounds) - 1, size))
    y_free[blocks.number] = given.y_free[:-1]
    return BodyData(
        G=np.ascontiguousarray(given.G[order]),
        bodies=np.ascontiguousarray(blocks.bodies[block, :, lane][order], dtype=np.uint32),
        y_free=y_free,
        w=np.ascontiguousarray(given.w[order]),
        coefficients=np.ascontiguousarray(given.coefficients[order]),
        turn=given.turn[order],
        place=np.argsort(order),
        bounds=bounds,
    )


class BodyRival(Iteration):
    """Sweeps on body velocities in C."""

    def __init__(self, reference: Reference, data: BodyData, local: LocalSolver, threads: int) -> None:
        self._reference, self._data, self._local, self._threads = reference, data, local, threads
        self._r = np.zeros(data.w.shape)

    def impulses(self) -> Array:
        """The current impulses in the frames and the order of the problem."""
        return turn_tangents(self._r, self._data.turn, back=True)[self._data.place]

    def advance(self, count: int) -> None:
        """Do ``count`` sweeps, from body velocities computed afresh as clapas does."""
        data = self._data
        self._reference.sweep_bodies(
            count,
            self._threads,
            data.bounds,
            self._local,
            G=data.G,
            bodies=data.bodies,
            w=data.w,
            coefficients=data.coefficients,
            r=self._r,
            y=data.y_free.copy(),
        )


class DelassusRival(Iteration):
    """Sweeps on the blocks of W in C, on the arrays of an iteration of clapas (its r excepted)."""

    def __init__(
        self, reference: Reference, iteration: DelassusSweeps, local: LocalSolver, threads: int
    ) -> None:
        self._reference, self._local, self._threads = reference, local, threads
        self._place, self._turn = iteration._place, iteration._turn
        n = len(iteration.r)
        self._bounds = np.array([0, n]) if iteration._slabs is None else iteration._slabs
        self._arrays = {
            "indptr": iteration._indptr.astype(np.int64),
            "indices": iteration._indices,
            "blocks": iteration._blocks,
            "q": iteration._q,
            "coefficients": iteration._cones.coefficients,
        }
        self._r = np.zeros((n, 3))

    def impulses(self) -> Array:
        """The current impulses in the frames and the order of the problem."""
        return turn_tangents(self._r[self._place], self._turn, back=True)

    def advance(self, count: int) -> None:
        """Do ``count`` sweeps."""
        self._reference.sweep_delassus(
            count, self._threads, self._bounds, self._local, r=self._r, **self._arrays
        )
