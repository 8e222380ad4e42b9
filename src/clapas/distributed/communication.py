"""Communication between ranks: bitwise equal sums, and rows between neighbours.

Sums of floating-point numbers depend on their order. Here each rank gathers the numbers of all and adds
them in the order of the ranks, so that all ranks hold the same bits and take the same decisions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from clapas.compiled import kernel
from clapas.errors import Error
from clapas.typing import Array, Indices

ROWS = 7  # tag of messages


@dataclass
class Traffic:
    """Amount and time of communication, for benchmarks and the scaling model.

    Parameters
    ----------
    messages, bytes, collectives : int
        Messages and bytes sent to neighbours, and number of collective operations.
    seconds : float
        Processor time spent sending and waiting.
    phases : dict
        Processor time of each phase of a step, without sending and waiting.
    """

    messages: int = 0
    bytes: int = 0
    collectives: int = 0
    seconds: float = 0.0
    phases: dict[str, float] = field(default_factory=dict)


class EndedElsewhere(Error, RuntimeError):
    """Another rank has ended the run."""


@dataclass
class Ranks:
    """The processes of a run.

    Parameters
    ----------
    comm : mpi4py communicator
        All of them.
    traffic : Traffic
        Communication of this rank so far.
    """

    comm: Any
    traffic: Traffic = field(default_factory=Traffic)

    @cached_property
    def rank(self) -> int:
        """Number of this process."""
        return int(self.comm.rank)

    @cached_property
    def size(self) -> int:
        """Number of processes."""
        return int(self.comm.size)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Context whose processor time, without communication, counts for a phase of the step."""
        began, waited = time.process_time(), self.traffic.seconds
        yield
        spent = time.process_time() - began - (self.traffic.seconds - waited)
        self.traffic.phases[name] = self.traffic.phases.get(name, 0.0) + spent

    def gathered(self, numbers: Any) -> Array:
        """The numbers (k,) of all ranks, (size, k), on all of them."""
        own = np.atleast_1d(np.asarray(numbers, dtype=np.float64))
        self.traffic.collectives += 1
        began = time.process_time()
        everyone = np.empty((self.size, len(own)))
        self.comm.Allgather(own, everyone)
        self.traffic.seconds += time.process_time() - began
        return everyone

    def total(self, numbers: Any) -> Array:
        """Sums (k,) over all ranks, added in their order: the same bits on all."""
        everyone = self.gathered(numbers)
        result: Array = everyone[0].copy()
        for row in everyone[1:]:
            result += row
        return result

    def largest(self, number: float) -> float:
        """The largest of one number of each rank."""
        return float(self.gathered(number).max())

    def any(self, holds: bool) -> bool:
        """Whether something holds on some rank."""
        return self.largest(float(holds)) > 0.0

    def agree(self, error: Exception | None) -> None:
        """Raise an error on all ranks if one of them has one, so that no rank waits for ever.

        Raises
        ------
        Exception
            The rank's own error; where it has none, :class:`EndedElsewhere` with the rank that has.
        """
        failed = np.flatnonzero(self.gathered(float(error is not None))[:, 0])
        if error is not None:
            raise error
        if len(failed):
            raise EndedElsewhere(f"rank {failed[0]} ended the run; its message says why")

    def swapped(self, items: list[Any]) -> list[Any]:
        """Give item k to rank k, and receive one from each; any Python objects. Its own is not copied."""
        self.traffic.collectives += 1
        began = time.process_time()
        others = [None if rank == self.rank else item for rank, item in enumerate(items)]
        received = list(self.comm.alltoall(others))
        received[self.rank] = items[self.rank]
        self.traffic.seconds += time.process_time() - began
        return received

    def exchanged(self, outgoing: Mapping[int, Any], incoming: Mapping[int, Any]) -> None:
        """Send arrays to some ranks and receive into arrays from some, all at once."""
        began = time.process_time()
        requests = [
            self.comm.Irecv(rows, source=rank, tag=ROWS) for rank, rows in incoming.items() if rows.size
        ]
        for rank, rows in outgoing.items():
            if rows.size:
                requests.append(self.comm.Isend(rows, dest=rank, tag=ROWS))
                self.traffic.messages += 1
                self.traffic.bytes += rows.nbytes
        for request in requests:
            request.Wait()
        self.traffic.seconds += time.process_time() - began


@dataclass(frozen=True)
class Ghosts:
    """Bodies known to several ranks: owners and copies.

    Both sides list the bodies of a pair of ranks in the same order.

    Parameters
    ----------
    ranks : Ranks
        The processes.
    given : dict
        By rank: own bodies (local numbers) of which it has copies.
    held : dict
        By rank: bodies (local numbers) that are copies of its own.
    """

    ranks: Ranks
    given: dict[int, Indices]
    held: dict[int, Indices]

    def from_owners(self, *tables: Array) -> None:
        """Overwrite the rows of copies by those of their owners, in all tables (2-D, float)."""
        widths = [table.shape[1] for table in tables]
        out = {rank: np.hstack([table[rows] for table in tables]) for rank, rows in self.given.items()}
        new = {rank: np.empty((len(rows), sum(widths))) for rank, rows in self.held.items()}
        self.ranks.exchanged(out, new)
        ends = np.cumsum(widths)
        for rank, rows in self.held.items():
            for table, end, width in zip(tables, ends, widths, strict=True):
                table[rows] = new[rank][:, end - width : end]

    def to_owners(self, table: Array) -> None:
        """Add the rows of copies to those of their owners, in the order of the ranks."""
        out = {rank: table[rows] for rank, rows in self.held.items()}
        new = {rank: np.empty((len(rows), table.shape[1])) for rank, rows in self.given.items()}
        self.ranks.exchanged(out, new)
        for rank in sorted(self.given):
            table[self.given[rank]] += new[rank]

    def shared(self, touched: Any) -> Shared:
        """The bodies that contacts of several ranks push, from those (n,) that contacts of this one push."""
        touched = np.asarray(touched, dtype=np.int64)
        out = {rank: touched[rows] for rank, rows in self.held.items()}
        new = {rank: np.empty(len(rows), dtype=np.int64) for rank, rows in self.given.items()}
        self.ranks.exchanged(out, new)
        # The owner knows which ranks push each of its bodies, and informs them.
        count = touched.copy()
        for rank, rows in self.given.items():
            count[rows] += new[rank]
        pairs: dict[int, list[Indices]] = {}  # by rank: local numbers of bodies shared with it
        me = self.ranks.rank
        items: list[Any] = [None] * self.ranks.size
        holders = {rank: rows[new[rank] > 0] for rank, rows in self.given.items()}
        for rank, rows in holders.items():
            common_bodies = rows[touched[rows] > 0]
            if len(common_bodies):
                pairs.setdefault(rank, []).append(common_bodies)
        pushes = {me: touched > 0}  # by rank: which bodies its contacts push
        for rank, rows in holders.items():
            pushes[rank] = np.zeros(len(touched), dtype=bool)
            pushes[rank][rows] = True
        for rank, rows in self.given.items():
            others = []
            for other, their_pushes in pushes.items():
                if other != rank:
                    others.append((other, np.flatnonzero(their_pushes[rows] & (new[rank] > 0))))
            items[rank] = (count[rows], others)
        copies = np.maximum(count, 1)
        for rank, message in self._exchange_objects(items).items():
            counts, others = message
            rows = self.held[rank]
            copies[rows] = np.maximum(counts, 1)
            for other, common in others:
                if len(common):
                    pairs.setdefault(other, []).append(rows[common])
        return Shared(
            self.ranks, copies, {rank: np.sort(np.concatenate(rows)) for rank, rows in pairs.items()}
        )

    def _exchange_objects(self, items: list[Any]) -> dict[int, Any]:
        """Send an item to each rank that holds copies of ours; return those from owners of copies here."""
        began = time.process_time()
        requests = [self.ranks.comm.isend(items[rank], dest=rank, tag=ROWS + 1) for rank in self.given]
        self.ranks.traffic.messages += len(requests)
        received = {rank: self.ranks.comm.recv(source=rank, tag=ROWS + 1) for rank in self.held}
        for request in requests:
            request.wait()
        self.ranks.traffic.seconds += time.process_time() - began
        return received


@dataclass(frozen=True)
class Shared:
    """Bodies that contacts of several ranks push in one step.

    Parameters
    ----------
    ranks : Ranks
        The processes.
    copies : array (n,)
        How many ranks push each local body; 1 if none does.
    pairs : dict
        By rank: local numbers, growing, of the bodies that it and this rank push.
    """

    ranks: Ranks
    copies: Indices
    pairs: dict[int, Indices]

    @property
    def bodies(self) -> Indices:
        """All bodies shared with any rank, (k,), growing."""
        if not self.pairs:
            return np.empty(0, dtype=np.int64)
        return np.unique(np.concatenate(list(self.pairs.values())))


class Averaging:
    """The mean, over the ranks that push them, of the rows of shared bodies in a table that changes in place.

    Parameters
    ----------
    shared : Shared
        The bodies.
    table : array (n, >= size)
        Rows of numbers, the first ``size`` of which are averaged.
    size : int
        Numbers of a row.
    rows : callable
        Rows of bodies in the table.

    Copies are added in the order of the ranks, so that all have the same bits afterwards. Buffers are
    allocated once, as this is done after each sweep.
    """

    def __init__(
        self, shared: Shared, table: Array, size: int, rows: Callable[[Indices], Indices] = np.asarray
    ) -> None:
        self._ranks, self._table = shared.ranks, table
        neighbours = sorted(shared.pairs)
        lengths = [len(shared.pairs[rank]) for rank in neighbours]
        self._ends = np.cumsum([0, *lengths])
        pairs = [rows(shared.pairs[rank]) for rank in neighbours]
        self._where = np.concatenate([*pairs, np.empty(0, dtype=np.int64)]).astype(np.int64)
        bodies = shared.bodies
        self._at = np.asarray(rows(bodies), dtype=np.int64)
        self._share = (1.0 / shared.copies[bodies]).astype(table.dtype)
        self._of = np.concatenate(  # which of the bodies each received row is of
            [*(np.searchsorted(bodies, shared.pairs[rank]) for rank in neighbours), np.empty(0, np.int64)]
        ).astype(np.int64)
        self._total = np.empty((len(bodies), size), table.dtype)
        self._sent, self._received = (np.empty((len(self._where), size), table.dtype) for _ in range(2))
        spans = [slice(*self._ends[k : k + 2]) for k in range(len(neighbours))]
        self._outgoing = {rank: self._sent[span] for rank, span in zip(neighbours, spans, strict=True)}
        self._incoming = {rank: self._received[span] for rank, span in zip(neighbours, spans, strict=True)}
        self._before = int(self._ends[sum(rank < self._ranks.rank for rank in neighbours)])

    def average(self) -> None:
        """Replace the rows of shared bodies by their means."""
        if len(self._where):
            take_rows(self._table, self._where, self._sent)
            self._ranks.exchanged(self._outgoing, self._incoming)
            mean_rows(self._table, self._at, self._share, self._of, self._received, self._before, self._total)


@kernel
def take_rows(table: Array, where: Indices, taken: Array) -> None:
    """Copy the first columns of some rows of a table."""
    for k in range(len(where)):
        for j in range(taken.shape[1]):
            taken[k, j] = table[where[k], j]


@kernel
def mean_rows(
    table: Array, at: Indices, share: Array, of: Indices, received: Array, before: int, total: Array
) -> None:
    """Rows ``at`` become means over own ones and those received, ``before`` of which are from lower ranks."""
    total[:] = 0.0
    for k in range(before):
        for j in range(total.shape[1]):
            total[of[k], j] += received[k, j]
    for i in range(len(at)):
        for j in range(total.shape[1]):
            total[i, j] += table[at[i], j]
    for k in range(before, len(of)):
        for j in range(total.shape[1]):
            total[of[k], j] += received[k, j]
    for i in range(len(at)):
        for j in range(total.shape[1]):
            table[at[i], j] = share[i] * total[i, j]
