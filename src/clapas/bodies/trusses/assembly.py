"""Stiffness matrices of trusses: fixed pattern, values filled in at each Newton step."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse

from clapas.bodies.trusses.structure import Truss
from clapas.linalg.factor import nested_dissection
from clapas.typing import Array, Indices


class Assembly:
    """Sums of one d×d block per member into a sparse symmetric matrix on the free displacements.

    A member between the nodes a and b with the block S adds +S at (a, a) and (b, b) and −S at (a, b) and (b,
    a). For the stiffness of a member with direction c, force t and length l

        S = k c cᵀ + (t/l) (1 − c cᵀ)        material part and geometric part

    The pattern is reused: filling in costs one pass over the entries, so that factorisation dominates a
    Newton step.
    """

    def __init__(self, truss: Truss) -> None:
        self.truss = truss
        d, ends = truss.d, truss.members
        number = np.full(truss.nodes.size, -1)
        number[truss.free] = np.arange(truss.n_dof)
        dofs = number[d * ends[:, :, None] + np.arange(d)]  # member, end, axis
        shape = (len(ends), 2, 2, d, d)
        rows = np.broadcast_to(dofs[:, :, None, :, None], shape).ravel()
        columns = np.broadcast_to(dofs[:, None, :, None, :], shape).ravel()
        self._is_free_entry = (rows >= 0) & (columns >= 0)
        keys = columns[self._is_free_entry] * np.int64(truss.n_dof) + rows[self._is_free_entry]
        unique, self._slots = np.unique(keys, return_inverse=True)
        self._indices: Indices = unique % truss.n_dof
        self._starts: Indices = np.searchsorted(unique, np.arange(truss.n_dof + 1) * np.int64(truss.n_dof))

    @cached_property
    def order(self) -> Indices | None:
        """Fill-reducing order of the free displacements, found once on the graph of the nodes."""
        n, d = self.truss.n_nodes, self.truss.d
        ends = np.concatenate((self.truss.members, self.truss.members[:, ::-1]))
        graph = sparse.csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n))
        nodes = nested_dissection(graph)
        if nodes is None:
            return None
        number = np.full(n * d, -1)
        number[self.truss.free] = np.arange(self.truss.n_dof)
        dofs = number[(d * nodes[:, None] + np.arange(d)).ravel()]
        return np.asarray(dofs[dofs >= 0])

    def matrix(self, blocks: Array) -> sparse.csc_array:
        """The matrix from one block per member (m × d × d)."""
        signed = blocks[:, None, None] * np.array([[1.0, -1.0], [-1.0, 1.0]])[:, :, None, None]
        data = np.bincount(
            self._slots, weights=signed.ravel()[self._is_free_entry], minlength=len(self._indices)
        )
        size = self.truss.n_dof
        result = sparse.csc_array((data, self._indices.copy(), self._starts.copy()), shape=(size, size))
        result.eliminate_zeros()  # members along an axis leave many zeros, which a factorisation would fill
        return result

    @cached_property
    def _outer(self) -> Array:
        c = self.truss.vectors / self.truss.lengths[:, None]
        return c[:, :, None] * c[:, None, :]

    def material(self, stiffness: Array | None = None) -> sparse.csc_array:
        """K = Bᵀ diag(k) B (N/m) about the given shape; ``stiffness`` replaces that of the members."""
        k = self.truss.stiffness if stiffness is None else stiffness
        return self.matrix(k[:, None, None] * self._outer)

    def geometric(self, forces: Array | None = None) -> sparse.csc_array:
        """Geometric stiffness K_G (N/m) of the axial forces (N, the prestress by default).

        References: Guest 2006.
        """
        t = self.truss.prestress if forces is None else forces
        density = (t / self.truss.lengths)[:, None, None]
        return self.matrix(density * (np.eye(self.truss.d) - self._outer))

    def tangent(self, directions: Array, lengths: Array, stiffness: Array, forces: Array) -> sparse.csc_array:
        """Tangent stiffness (N/m) in another shape: material and geometric part."""
        outer = directions[:, :, None] * directions[:, None, :]
        # A slack cable may end where it begins: no force over no length.
        density = (forces / np.maximum(lengths, 1e-300))[:, None, None]
        return self.matrix(stiffness[:, None, None] * outer + density * (np.eye(self.truss.d) - outer))
