"""Nodes connected by links: the problem that is cut into substructures."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from clapas.errors import ProblemError
from clapas.multiscale.laws import Law
from clapas.typing import Array, Indices, Mask


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkProblem:
    """Find displacements (or velocities) U of nodes connected by links with unilateral or frictional laws.

        M U + Bᵀ t = F,    e = B U,    t and e obey the law of each link

    Trusses in small displacements (M = 0; nodes are joints, links bars and cables), one implicit step of
    their motion (M/h, velocities, stiffness k h), or one step of a packing (nodes are rigid bodies, links
    contacts with d rows each).

    Parameters
    ----------
    B : sparse (rows × dofs)
        Elongations of the rows of the links; ``rows_per_link`` consecutive rows per link.
    law : Law
        Law of the links.
    F : array (dofs,)
        Loads; entries of blocked components do not matter.
    dofs_per_node : int
        Consecutive components of a node: 2 or 3 for points, 3 or 6 for rigid bodies in the plane or in space.
    rows_per_link : int
        1 for springs, d for contacts.
    points : array (nodes × 2 or 3), optional
        Coordinates of the nodes (m); needed for boxes, for the macro basis beyond translations and for
        automatic search directions.
    is_blocked : array (dofs,) of bool, optional
        Components held by supports.
    M : sparse (dofs × dofs), optional
        Block diagonal by nodes; zero by default.
    units : array (nodes × components × components), optional
        Map from velocities along the axes (and spins) to components of U, U = units · v, where they are
        not the same: bodies in units of unit mass.

    Examples
    --------
    A weight of 3 N between two springs in series, k = 1 and 2 N/m: U = 3/(1 + 2) = 1 m.

    >>> from clapas.multiscale.laws import Springs
    >>> B = sparse.csr_array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]])
    >>> law = Springs(np.array([1.0, 2.0]), np.zeros(2), np.zeros(2, dtype=bool))
    >>> chain = LinkProblem(B=B, law=law, F=np.array([0.0, 3.0, 0.0]), dofs_per_node=1,
    ...                     is_blocked=np.array([True, False, True]))
    >>> chain.n_nodes, chain.n_links, chain.free.tolist()
    (3, 2, [1])
    """

    B: sparse.csr_array
    law: Law
    F: Array
    dofs_per_node: int
    rows_per_link: int = 1
    points: Array | None = None
    is_blocked: Mask = field(default_factory=lambda: np.zeros(0, dtype=bool))
    M: sparse.csr_array | None = None
    units: Array | None = None

    def __post_init__(self) -> None:
        rows, dofs = self.B.shape
        if not len(self.is_blocked):
            object.__setattr__(self, "is_blocked", np.zeros(dofs, dtype=bool))
        if rows % self.rows_per_link or dofs % self.dofs_per_node:
            raise ProblemError(
                f"B of {rows} rows and {dofs} columns cannot be read as links of {self.rows_per_link} rows "
                f"between nodes of {self.dofs_per_node} components"
            )
        for name, value in (("F", self.F), ("is_blocked", self.is_blocked)):
            if value.shape != (dofs,):
                raise ProblemError(f"{name} must have one entry per column of B, {dofs}, got {value.shape}")
        if self.law.n_rows != rows:
            raise ProblemError(f"the law has {self.law.n_rows} rows, B has {rows}")
        if self.points is not None and len(self.points) != self.n_nodes:
            raise ProblemError(f"points must have one row per node, {self.n_nodes}, got {len(self.points)}")

    @property
    def n_nodes(self) -> int:
        """Nodes."""
        return int(self.B.shape[1]) // self.dofs_per_node

    @property
    def n_links(self) -> int:
        """Links."""
        return int(self.B.shape[0]) // self.rows_per_link

    @cached_property
    def free(self) -> Indices:
        """Components that are not blocked."""
        return np.flatnonzero(~self.is_blocked)

    @cached_property
    def incidence(self) -> sparse.csr_array:
        """Incidence matrix (links × nodes) of ones; nodes all of whose components are blocked
        are included.
        """
        entries = self.B.tocoo()
        places = (entries.row // self.rows_per_link, entries.col // self.dofs_per_node)
        touched = sparse.csr_array((np.ones(entries.nnz), places), shape=(self.n_links, self.n_nodes))
        touched.sum_duplicates()
        touched.data[:] = 1.0
        return touched

    def rows(self, links: Indices) -> Indices:
        """Rows of some links."""
        return np.asarray((self.rows_per_link * links[:, None] + np.arange(self.rows_per_link)).ravel())

    def dofs(self, nodes: Indices) -> Indices:
        """Components of some nodes."""
        return np.asarray((self.dofs_per_node * nodes[:, None] + np.arange(self.dofs_per_node)).ravel())

    def with_(self, **changes: Any) -> LinkProblem:
        """A copy with some fields changed."""
        return replace(self, **changes)
