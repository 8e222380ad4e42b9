"""Orders in which a sweep visits the contacts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from clapas.errors import SettingsError
from clapas.solvers.kinds import require_kinds

# From this number of contacts on, blocked sweeps (a fifth of the time each) pay for arranging the data.
SEVERAL = 64


@dataclass(frozen=True, kw_only=True)
class Given:
    """Visit the contacts as they are numbered, on one thread."""


@dataclass(frozen=True, kw_only=True)
class Shuffled:
    """Visit the contacts in a random order, new at each sweep or the same for all, on one thread.

    A new order at each sweep breaks the bias of a fixed one. With ``once`` the sweeps are cyclic: one order,
    drawn at the start. This is how Moreau (2003, section 8.2) explores the indeterminacy of forces: the
    same start, another cyclic order per trial, hence at most (n − 1)! solutions for n contacts.

    Parameters
    ----------
    seed : int
        Seed of the random orders.
    once : bool
        Draw one order for all sweeps.
    """

    seed: int = 0
    once: bool = False


@dataclass(frozen=True, kw_only=True)
class Coloured:
    """Visit groups of contacts that do not interact at the same time, on several threads.

    Contacts are cut into slabs of a level structure of the contact graph, so that a slab touches
    only its two neighbours: even slabs are swept together, then odd ones. Inside a slab, contacts
    without a common body are grouped by colour and computed side by side in vector registers. The
    groups follow from the data alone: any number of threads gives the same bits.

    Parameters
    ----------
    threads : int, optional
        Threads to use at most; by default one below 5000 contacts, where launching threads costs more
        than it gains, and as many as Numba is configured for above.
    """

    threads: int | None = None

    def __post_init__(self) -> None:
        require_kinds(self)
        if self.threads is not None and self.threads < 1:
            raise SettingsError(f"Coloured: threads must be at least 1, got {self.threads}")


Order: TypeAlias = Given | Shuffled | Coloured
