"""Bodies of any size in one problem: a root G of W = G Gᵀ, body by body.

Contacts see only the velocities they touch. Let c be those degrees of freedom of a body or of a
jointed cluster, and R a root of the block of the (projected) inverse of M, (A_J)_cc = R Rᵀ. With G = H_c R,

    u = G y + q,    y = Gᵀ r,    W = G Gᵀ (+ C),    q = H v_free + w,

whatever the body is: a rigid body has at most six columns of G, a rod of six elements eighteen, a finite-
element body as many as contacts touch, a linkage as many as its joints allow. A contact reads the y of
the bodies it touches, of varying lengths (ragged), and an impulse adds Gᵀ r to them. A compliant contact
(C > 0) touches one more, fictitious body.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse

from clapas.compiled import kernel
from clapas.linalg.norms import norm
from clapas.problems.clusters import Cluster, Clusters
from clapas.problems.judge import violation_norm
from clapas.typing import Array, Indices

NEGLIGIBLE = 1e-13  # fraction of the largest eigenvalue of (A_J)_cc below which a motion counts as blocked


class Packed(NamedTuple):
    """The blocks of G in the order in which sweeps read them.

    Parameters
    ----------
    first : array (n + 1,)
        The pairs (contact, body) of contact i are ``first[i]`` to ``first[i + 1]``.
    column : array (pairs,)
        First entry of the body's y.
    size : array (pairs,)
        Number of its entries.
    at : array (pairs,)
        Where the d rows of the block start in ``data``.
    data : array
        The blocks, row after row.
    """

    first: Indices
    column: Indices
    size: Indices
    at: Indices
    data: Array


@dataclass(frozen=True, eq=False)
class RaggedBodies:
    """A contact problem between bodies of any size.

    Parameters
    ----------
    G : sparse matrix (d·n × n_y)
        Root of W: W = G Gᵀ.
    start : array (n_bodies + 1,)
        The columns of body k are ``start[k]`` to ``start[k + 1]``.
    free : array (n, d)
        Velocities at the contacts without impulses, H v_free.
    d : int
        Components at a contact.
    """

    G: sparse.csr_array
    start: Indices
    free: Array
    d: int

    @property
    def n_contacts(self) -> int:
        """Contacts."""
        return len(self.free)

    # Below, w = None stands for zero.

    def free_velocity(self, w: Array | None) -> Array:
        """Velocities at the contacts without impulses."""
        return self.free if w is None else self.free + w

    def free_speeds(self, w: Array | None) -> tuple[float, float]:
        """Size of the free velocities, and their largest component."""
        q = self.free_velocity(w)
        return norm(q), float(np.max(np.abs(q), initial=0.0))

    def apply_delassus(self, r: Array) -> Array:
        """W r."""
        return np.asarray(self.G @ (self.G.T @ r.ravel())).reshape(r.shape)

    def velocity(self, r: Array, w: Array | None) -> Array:
        """Velocities at the contacts under the impulses r."""
        return self.apply_delassus(r) + self.free_velocity(w)

    def delassus(self) -> sparse.csr_array:
        """W, as sparse as the bodies leave it."""
        return sparse.csr_array(self.G @ self.G.T)

    def local_blocks(self) -> Array:
        """Diagonal blocks W_ii, (n, d, d)."""
        blocks = np.empty((self.n_contacts, self.d, self.d))
        for i in range(self.d):
            for j in range(i, self.d):
                product = self.G[i :: self.d].multiply(self.G[j :: self.d]).sum(axis=1)
                blocks[:, i, j] = blocks[:, j, i] = np.asarray(product).ravel()
        return blocks

    def violation_norm(self, r: Array, w: Array | None, mu: Array, response: Array) -> float:
        """Size of the violation of the law: see :func:`clapas.problems.judge.violation_norm`."""
        return float(violation_norm(self.velocity(r, w), r, mu, response))

    @cached_property
    def packed(self) -> Packed:
        """The blocks for sweeps."""
        owner = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        return Packed(*pack(self.G.indptr, self.G.indices, self.G.data, self.d, owner, self.start))


def ragged_bodies(
    parts: Clusters, H: sparse.csr_array, f: Array, d: int, compliance: Array | None = None
) -> RaggedBodies:
    """Condense a problem on the velocities that its contacts touch.

    Parameters
    ----------
    parts : Clusters
        The bodies and jointed clusters.
    H : sparse matrix (d·n × m)
        Contact Jacobian.
    f : array (m,)
        Minus the free momentum.
    d : int
        Components at a contact.
    compliance : array (n, d), optional
        Diagonal of C ≥ 0.
    """
    v_free = parts.imposed - parts.solve(f)
    free = np.asarray(H @ v_free).reshape(-1, d)
    batch = sparse.csr_array(H[:, parts.small] @ parts.bodies.inverse_root)
    order = np.argsort(parts.bodies.labels, kind="stable")
    columns, sizes = [batch[:, order]], [np.bincount(parts.bodies.labels)]
    for cluster in parts.others:
        rows = sparse.csc_array(H[:, cluster.dofs])
        touched = np.flatnonzero(np.diff(rows.indptr))
        if touched.size:
            root = condensed_root(cluster, touched)
            columns.append(sparse.csr_array(rows[:, touched] @ sparse.csr_array(root)))
            sizes.append(np.array([root.shape[1]]))
    if compliance is not None and compliance.any():
        soft = np.flatnonzero(compliance.any(axis=1))
        entries = (soft[:, None] * d + np.arange(d)).ravel()
        root = np.sqrt(compliance[soft].ravel())
        shape = (H.shape[0], len(entries))
        columns.append(sparse.csr_array((root, (entries, np.arange(len(entries)))), shape=shape))
        sizes.append(np.full(len(soft), d))
    G = sparse.csr_array(sparse.hstack(columns, format="csr"))
    G.sort_indices()
    start = np.concatenate(([0], np.cumsum(np.concatenate(sizes)))).astype(np.int64)
    return RaggedBodies(G, start, free, d)


def condensed_root(cluster: Cluster, touched: Indices) -> Array:
    """R (c × k) with R Rᵀ the block of the cluster's inverse on the touched degrees of freedom."""
    small = len(cluster.dofs) <= len(touched) or len(cluster.rows) > 0
    if small and cluster.is_dense and cluster.root.shape[1] <= len(touched):
        return cluster.root[touched]
    if cluster.known is not None:
        return np.asarray(np.linalg.cholesky(cluster.known.block(touched)))
    unit_impulses = np.zeros((len(cluster.dofs), len(touched)))
    unit_impulses[touched, np.arange(len(touched))] = 1.0
    block = cluster.inverse(unit_impulses)[touched]
    block = 0.5 * (block + block.T)
    if not len(cluster.rows):
        return np.asarray(np.linalg.cholesky(block))
    value, vector = linalg.eigh(block)
    is_free = value > NEGLIGIBLE * value.max(initial=0.0)
    return np.asarray(vector[:, is_free] * np.sqrt(value[is_free]))


@kernel
def pack(
    indptr: Indices, indices: Indices, data: Array, d: int, owner: Indices, start: Indices
) -> tuple[Indices, Indices, Indices, Indices, Array]:
    """Sort the entries of G by contact and body: see :class:`Packed`. Columns of a row must be sorted."""
    n = (len(indptr) - 1) // d
    first = np.zeros(n + 1, dtype=np.int64)
    last_contact = np.full(len(start), -1, dtype=np.int64)
    total = 0
    for i in range(n):
        count = 0
        for p in range(indptr[i * d], indptr[(i + 1) * d]):
            body = owner[indices[p]]
            if last_contact[body] != i:
                last_contact[body] = i
                count += 1
                total += d * (start[body + 1] - start[body])
        first[i + 1] = first[i] + count
    column, size, at = (
        np.empty(first[n], np.int64),
        np.empty(first[n], np.int64),
        np.empty(first[n], np.int64),
    )
    blocks = np.zeros(total)
    pair_of_body = np.full(len(start), -1, dtype=np.int64)  # for the current contact
    last_contact[:] = -1
    pair, end = 0, 0
    for i in range(n):
        for row in range(d):
            for p in range(indptr[i * d + row], indptr[i * d + row + 1]):
                body = owner[indices[p]]
                width = start[body + 1] - start[body]
                if last_contact[body] != i:
                    last_contact[body] = i
                    pair_of_body[body] = pair
                    column[pair], size[pair], at[pair] = start[body], width, end
                    pair += 1
                    end += d * width
                blocks[at[pair_of_body[body]] + row * width + indices[p] - start[body]] = data[p]
    return first, column, size, at, blocks
