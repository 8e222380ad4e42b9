"""The C reference as iterations: the same data, order of visits and interface as those of clapas."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.reference import Reference
from clapas.solvers.local import LocalSolver
from clapas.solvers.local.canonical import turn_tangents
from clapas.solvers.loop import Iteration
from clapas.solvers.nsgs.blocked import arrange
from clapas.solvers.nsgs.delassus import DelassusSweeps
from clapas.solvers.nsgs.structure import BodyContacts
from clapas.typing import Array, Indices


class BodyRival(Iteration):
    """Sweeps on body velocities in C.

    Parameters
    ----------
    reference : Reference
        The compiled C code.
    contacts : BodyContacts
        In the order of the visits.
    place : array (n,)
        Where each contact of the problem stands in that order.
    bounds : array (n_slabs + 1,)
        First contact of each slab.
    local : Exact, AlartCurnier or DeSaxce
        Local solver.
    threads : int
        Threads.
    """

    def __init__(
        self,
        reference: Reference,
        contacts: BodyContacts,
        place: Indices,
        bounds: Indices,
        local: LocalSolver,
        threads: int,
    ) -> None:
        self._reference, self._contacts, self._place, self._bounds = reference, contacts, place, bounds
        self._local, self._threads = local, threads
        self._bodies = contacts.bodies.astype(np.uint32)
        self._r = np.zeros(contacts.w.shape)

    def impulses(self) -> Array:
        """The current impulses in the frames and the order of the problem."""
        return turn_tangents(self._r, self._contacts.turn, back=True)[self._place]

    def advance(self, count: int) -> None:
        """Do ``count`` sweeps, from body velocities computed afresh as clapas does."""
        c = self._contacts
        y = c.velocities(self._r)
        self._reference.sweep_bodies(
            count,
            self._threads,
            self._bounds,
            self._local,
            G=c.G,
            bodies=self._bodies,
            w=c.w,
            coefficients=c.coefficients,
            r=self._r,
            y=y,
        )


def in_slab_order(contacts: BodyContacts) -> tuple[BodyContacts, Indices, Indices]:
    """Contacts as the blocked sweep meets them, lane after lane: (contacts, place, bounds)."""
    blocks = arrange(contacts.bodies, contacts.n_bodies)
    order = np.lexsort((blocks.lane, blocks.block))
    place = np.argsort(order)
    bounds = np.searchsorted(blocks.block[order], blocks.bounds)
    # Each slab has its own copy of the ground, after the bodies.
    y_free = np.zeros((contacts.n_bodies + len(bounds) - 1, contacts.y_free.shape[1]))
    y_free[blocks.number] = contacts.y_free[:-1]
    arranged = replace(
        contacts,
        G=np.ascontiguousarray(contacts.G[order]),
        bodies=blocks.bodies[blocks.block, :, blocks.lane][order].astype(np.int64),
        y_free=y_free,
        w=np.ascontiguousarray(contacts.w[order]),
        coefficients=np.ascontiguousarray(contacts.coefficients[order]),
        turn=contacts.turn[order],
    )
    return arranged, place, bounds


class DelassusRival(Iteration):
    """Sweeps on the blocks of W in C, on the arrays of an iteration of clapas (its r excepted)."""

    def __init__(
        self, reference: Reference, iteration: DelassusSweeps, local: LocalSolver, threads: int
    ) -> None:
        self._reference, self._local, self._threads = reference, local, threads
        self._place, self._turn = iteration._place, iteration._turn
        n = len(iteration._r)
        self._bounds = np.array([0, n]) if iteration._slabs is None else iteration._slabs
        self._arrays = {
            "indptr": iteration._indptr.astype(np.int64),
            "indices": iteration._indices,
            "blocks": iteration._blocks,
            "q": iteration._q,
            "coefficients": iteration._coefficients,
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
