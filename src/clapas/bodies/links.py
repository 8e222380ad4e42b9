"""Rows of a kind in the contact problem: links, which have a law, and bilateral constraints."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple, Protocol

import numpy as np
from scipy import sparse

from clapas.bodies.kind import Bodies, Part, Span
from clapas.typing import Array, Indices


class Account(IntEnum):
    """Account of the work of a link in the energy balance.

    LOST: dissipated, as in contacts (stops, friction). GIVEN: external work (motors). STORED: part of the
    potential energy that the kind reports (elastic cables).
    """

    LOST = 0
    GIVEN = 1
    STORED = 2


@dataclass(frozen=True, eq=False)
class Links:
    """Rows with a law that detection does not find: cables, stops, friction and motors in joints.

    To the contact problem a link is a contact,

        u = H v + w + C r,    K* ∋ ũ ⟂ r ∈ K    with the cone of its own mu,

    and is solved with the others. A cable that is taut at length L, longer than that by −g, is a link with
    mu = 0 whose normal row shortens it, w_N = g/h, and whose tangential rows are empty; an extensible one has
    compliance 1/(θ² h² k) along its normal. Empty rows need a positive compliance: their
    impulse is then zero, as u = C r is.

    Parameters
    ----------
    identity : array (n,)
        A unique number for each link of the kind, increasing: impulses are carried from step to step by it.
    H : sparse matrix (d·n × n_dof)
        Its rows, normal and tangents, on the velocities of the kind.
    w : array (n, d)
        Imposed velocities (m/s).
    mu : array (n,)
        Friction; 0 for a unilateral row.
    compliance : array (n, d)
        Diagonal of C (m/s per N·s); positive wherever a row of H is empty.
    account : array (n,) of Account
        Account of its work; LOST by default.

    Examples
    --------
    A cable between a node at rest and one that moves along x, taut now, in 2-D:

    >>> cable = Links(
    ...     identity=np.array([0]),
    ...     H=sparse.csr_array([[-1.0], [0.0]]),
    ...     w=np.zeros((1, 2)),
    ...     mu=np.zeros(1),
    ...     compliance=np.array([[0.0, 1.0]]),
    ... )
    >>> len(cable)
    1
    """

    identity: Indices
    H: sparse.csr_array
    w: Array
    mu: Array
    compliance: Array
    account: Indices = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __post_init__(self) -> None:
        if len(self.account) != len(self.identity):
            object.__setattr__(self, "account", np.full(len(self.identity), Account.LOST))

    def __len__(self) -> int:
        return len(self.identity)

    def take(self, kept: Indices) -> Links:
        """Some of the links."""
        d = self.w.shape[1]
        rows = (kept[:, None] * d + np.arange(d)).ravel()
        return Links(
            self.identity[kept],
            sparse.csr_array(self.H[rows]),
            self.w[kept],
            self.mu[kept],
            self.compliance[kept],
            self.account[kept],
        )


class LinkedBodies(Bodies, Protocol):
    """Bodies with cables, stops or other rows of their own in the contact problem."""

    def links(self, part: Part, span: Span) -> Links | None:
        """The rows that may act during the step, for the part at its middle; None if there are none."""
        ...


class Bindings(NamedTuple):
    """Bilateral rows J v + b = 0 on the velocities at the end of a step, each with a multiplier.

    Parameters
    ----------
    J : sparse matrix (j × n_dof)
        The rows.
    b : array (j,)
        Imposed velocities.
    """

    J: sparse.csr_array
    b: Array


class BoundBodies(Bodies, Protocol):
    """Bodies with constraints on their velocities, holonomic or not."""

    def bindings(self, part: Part, span: Span) -> Bindings:
        """The rows of the step, for the part at its middle; a J without rows if there are none."""
        ...
