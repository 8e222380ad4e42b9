"""Bodies of any size stored as the blocks of their contacts: no matrix is formed.

The problem of :mod:`clapas.problems.ragged_bodies` for bodies whose masses are small full matrices, M = L Lᵀ
per body, as a time step provides them. With R = L⁻ᵀ, y = Lᵀ v and G = H R,

    u = G y + w,    y = Gᵀ r + y_free,    v = R y.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from clapas.compiled import kernel
from clapas.linalg.body_masses import times_blocks
from clapas.linalg.norms import norm
from clapas.problems.judge import violation_norm
from clapas.problems.ragged_bodies import Packed
from clapas.typing import Array, Indices


@dataclass(frozen=True, eq=False)
class PackedBodies:
    """A contact problem between bodies of a few velocities each.

    Parameters
    ----------
    packed : Packed
        Blocks of G of each contact on the bodies it touches.
    start : array (n_bodies + 1,)
        The velocities of body k, and its y, are ``start[k]`` to ``start[k + 1]``.
    y_free : array (m,)
        Velocities without impulses, in units of unit mass.
    lower, root : arrays
        L and R of each body, row by row, one after another.
    d : int
        Components at a contact.
    """

    packed: Packed
    start: Indices
    y_free: Array
    lower: Array
    root: Array
    d: int

    @property
    def n_contacts(self) -> int:
        """Contacts."""
        return len(self.packed.first) - 1

    @property
    def n_dof(self) -> int:
        """Velocities of the bodies."""
        return len(self.y_free)

    @property
    def primary_arrays(self) -> dict[str, Array]:
        """Primary arrays by name, from which all others follow."""
        return {"G": self.packed.data, "y_free": self.y_free}

    @property
    def is_finite(self) -> bool:
        """Whether all numbers are finite, and their squares too."""
        data, y = self.packed.data, self.y_free  # not BLAS, which would start its threads
        return bool(np.isfinite(np.einsum("i,i->", data, data) + np.einsum("i,i->", y, y)))

    def pushed(self, r: Array) -> PackedBodies:
        """The same bodies with the impulses r added to their free motion."""
        return replace(self, y_free=self.motion(r))

    def motion(self, r: Array) -> Array:
        """Velocities y (m,) under the impulses r."""
        y = self.y_free.copy()
        add_packed(*self.packed, np.ascontiguousarray(r), y)
        return y

    # Below, w = None stands for zero.

    def free_velocity(self, w: Array | None) -> Array:
        """Velocities at the contacts without impulses, G y_free + w."""
        return self._rates(self.y_free, w)

    def free_speeds(self, w: Array | None) -> tuple[float, float]:
        """Size of the free velocities, and their largest component."""
        q = self.free_velocity(w)
        return norm(q), float(np.max(np.abs(q), initial=0.0))

    def velocity(self, r: Array, w: Array | None) -> Array:
        """Velocities at the contacts under the impulses r."""
        return self._rates(self.motion(r), w)

    def apply_delassus(self, r: Array) -> Array:
        """W r."""
        y = np.zeros(self.n_dof)
        add_packed(*self.packed, np.ascontiguousarray(r), y)
        return self._rates(y, None)

    def _rates(self, y: Array, w: Array | None) -> Array:
        u = np.zeros((self.n_contacts, self.d)) if w is None else w.copy()
        add_rates(*self.packed, y, u)
        return u

    def bodies_velocity(self, r: Array) -> Array:
        """Velocities v = R y(r) of the bodies, (m,)."""
        v = np.empty(self.n_dof)
        times_blocks(self.root, self.start, self.motion(r), v)
        return v

    def local_blocks(self) -> Array:
        """Diagonal blocks W_ii, (n, d, d)."""
        blocks = np.zeros((self.n_contacts, self.d, self.d))
        add_local_blocks(*self.packed, blocks)
        return blocks

    def violation_norm(self, r: Array, w: Array | None, mu: Array, response: Array) -> float:
        """Size of the violation of the law: see :func:`clapas.problems.judge.violation_norm`."""
        return float(violation_norm(self.velocity(r, w), r, mu, response))

    def largest_term(self) -> float:
        """Size of the terms that add up to the free velocities at the contacts (m/s)."""
        entries = self.packed.data
        return float(np.abs(entries).max(initial=0.0) * np.abs(self.y_free).max(initial=0.0))

    def components(self) -> Indices:
        """Number of the connected component of each contact: contacts of one body are in one component."""
        contact = np.repeat(np.arange(self.n_contacts), np.diff(self.packed.first))
        body = self.n_contacts + np.searchsorted(self.start, self.packed.column, side="right")
        size = self.n_contacts + len(self.start) + 1
        links = sparse.coo_array((np.ones(len(body)), (contact, body)), shape=(size, size))
        return np.asarray(csgraph.connected_components(links, directed=False)[1][: self.n_contacts])

    def take(self, contacts: Indices) -> PackedBodies:
        """The same bodies with a subset of the contacts."""
        first, column, size, at, data = self.packed
        counts = np.diff(first)[contacts]
        ends = np.concatenate(([0], np.cumsum(counts)))
        pairs = np.repeat(first[contacts] - ends[:-1], counts) + np.arange(ends[-1])
        lengths = self.d * size[pairs]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        entries = np.repeat(at[pairs] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return replace(self, packed=Packed(ends, column[pairs], size[pairs], offsets[:-1], data[entries]))

    @property
    def dofs(self) -> Indices:
        """Velocities of the bodies that some contact touches."""
        begin, end = self.packed.column, self.packed.column + self.packed.size
        size = self.n_dof + 1
        touched = np.cumsum(np.bincount(begin, minlength=size) - np.bincount(end, minlength=size))
        return np.flatnonzero(touched[:-1])

    def in_full(self) -> Array:
        """W as a full matrix (d·n × d·n)."""
        W = np.zeros((self.d * self.n_contacts, self.d * self.n_contacts))
        fill_delassus(*self.packed, self.d, W)
        return W

    # ---------------------------------------------------------------- as matrices, for methods that need them

    @cached_property
    def G(self) -> sparse.csr_array:
        """Root of W: W = G Gᵀ."""
        first, column, size, at, data = self.packed
        contact = np.repeat(np.arange(self.n_contacts), np.diff(first))
        pair = np.repeat(np.arange(len(size)), self.d * size)
        inside = np.arange(len(data)) - at[pair]
        row = contact[pair] * self.d + inside // size[pair]
        entries = data, (row, column[pair] + inside % size[pair])
        return sparse.coo_array(entries, shape=(self.n_contacts * self.d, self.n_dof)).tocsr()

    def delassus(self) -> sparse.csr_array:
        """W, as sparse as the bodies leave it."""
        return sparse.csr_array(self.G @ self.G.T)

    def jacobian(self) -> sparse.csr_array:
        """H = G Lᵀ."""
        return sparse.csr_array(self.G @ self._lower.T)

    def mass(self) -> sparse.csr_array:
        """M = L Lᵀ, block diagonal."""
        return sparse.csr_array(self._lower @ self._lower.T)

    def momentum(self) -> Array:
        """Minus the free momentum, f = −L y_free, (m,)."""
        return np.asarray(-(self._lower @ self.y_free))

    @cached_property
    def _lower(self) -> sparse.csr_array:
        """L of all bodies."""
        size = np.diff(self.start)
        body = np.repeat(np.arange(len(size)), size * size)
        inside = np.arange(len(self.lower)) - np.repeat(np.cumsum(size * size) - size * size, size * size)
        places = self.start[body] + inside // size[body], self.start[body] + inside % size[body]
        lower = sparse.coo_array((self.lower, places), shape=(self.n_dof, self.n_dof)).tocsr()
        lower.eliminate_zeros()
        return lower


def packed_pairs(G: Array, bodies: Indices, n_bodies: int) -> Packed:
    """Pack blocks (n, 2, d, size) between bodies of one size; the ground is body ``n_bodies``."""
    start = G.shape[3] * np.arange(n_bodies + 1)
    return Packed(*pack_pairs(G, np.where(bodies < n_bodies, bodies, -1), start))


@kernel
def add_packed(
    first: Indices, column: Indices, size: Indices, at: Indices, data: Array, r: Array, y: Array
) -> None:
    """Add Gᵀ r to y."""
    for i in range(len(r)):
        for pair in range(first[i], first[i + 1]):
            m, g, o = size[pair], at[pair], column[pair]
            for k in range(r.shape[1]):
                amount = r[i, k]
                for j in range(m):
                    y[o + j] += data[g + k * m + j] * amount


@kernel
def add_rates(
    first: Indices, column: Indices, size: Indices, at: Indices, data: Array, y: Array, u: Array
) -> None:
    """Add G y to u."""
    for i in range(len(u)):
        for pair in range(first[i], first[i + 1]):
            m, g, o = size[pair], at[pair], column[pair]
            for k in range(u.shape[1]):
                total = 0.0
                for j in range(m):
                    total += data[g + k * m + j] * y[o + j]
                u[i, k] += total


@kernel
def add_local_blocks(
    first: Indices, column: Indices, size: Indices, at: Indices, data: Array, blocks: Array
) -> None:
    """Add the diagonal blocks of G Gᵀ."""
    d = blocks.shape[1]
    for i in range(len(blocks)):
        for pair in range(first[i], first[i + 1]):
            m, g = size[pair], at[pair]
            for k in range(d):
                for l in range(k + 1):
                    total = 0.0
                    for j in range(m):
                        total += data[g + k * m + j] * data[g + l * m + j]
                    blocks[i, k, l] += total
                    if l < k:
                        blocks[i, l, k] += total


@kernel
def fill_delassus(
    first: Indices, column: Indices, size: Indices, at: Indices, data: Array, d: int, W: Array
) -> None:
    """Add G Gᵀ to W."""
    n = len(first) - 1
    for i in range(n):
        for j in range(i + 1):
            for p in range(first[i], first[i + 1]):
                for q in range(first[j], first[j + 1]):
                    if column[p] != column[q]:
                        continue
                    m, g, h = size[p], at[p], at[q]
                    for k in range(d):
                        for l in range(d):
                            total = 0.0
                            for c in range(m):
                                total += data[g + k * m + c] * data[h + l * m + c]
                            W[i * d + k, j * d + l] += total
                            if i != j:
                                W[j * d + l, i * d + k] += total


@kernel
def pack_pairs(
    raw: Array, bodies: Indices, start: Indices
) -> tuple[Indices, Indices, Indices, Indices, Array]:
    """Pack blocks (n, 2, d, most) of the two sides of contacts: see ``Packed``.

    Bodies (n, 2) are −1 where nothing moves. Two sides on one body are one pair, the sum of both.
    """
    n, d = len(raw), raw.shape[2]
    first = np.zeros(n + 1, dtype=np.int64)
    total = 0
    for i in range(n):
        count = 0
        for side in range(2):
            b = bodies[i, side]
            if b >= 0 and not (side == 1 and b == bodies[i, 0]):
                count += 1
                total += d * (start[b + 1] - start[b])
        first[i + 1] = first[i] + count
    column, size, at = (
        np.empty(first[n], np.int64),
        np.empty(first[n], np.int64),
        np.empty(first[n], np.int64),
    )
    data = np.empty(total)
    pair, end = 0, 0
    for i in range(n):
        for side in range(2):
            b = bodies[i, side]
            if b < 0:
                continue
            m = start[b + 1] - start[b]
            if side == 1 and b == bodies[i, 0]:
                for k in range(d):
                    for j in range(m):
                        data[at[pair - 1] + k * m + j] += raw[i, 1, k, j]
                continue
            column[pair], size[pair], at[pair] = start[b], m, end
            for k in range(d):
                for j in range(m):
                    data[end + k * m + j] = raw[i, side, k, j]
            pair += 1
            end += d * m
    return first, column, size, at, data
