"""Self-flexibility of contacts, and the force at which nearby material yields.

The augmentation ρ of Newton's method is taken from these (Alart 1997, equations 74 and 77).
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from clapas.bodies.elastic.contact import ContactRows
from clapas.bodies.elastic.materials import VonMises
from clapas.bodies.elastic.solid import Solid
from clapas.errors import ProblemError
from clapas.linalg.factor import factorise
from clapas.typing import Array, Indices, Mask

EXACT = 64  # contacts up to which flexibilities are computed exactly; above, from the blocks of K
BLOCK_SHARE = 10.0  # ratio of the flexibility of a node with its surroundings to that of its own block of K


def flexibilities(
    K: sparse.csr_array, free: Mask, rows: ContactRows, holding: Mask | None = None, exact: bool = True
) -> Array:
    """Flexibility of each contact under its own force, H_i K⁻¹ H_iᵀ, (n, d, d).

    Exact for few contacts, if ``exact``; else from the block of K at the displacements of the contact,
    times a factor for the surrounding material. Where the supports leave a rigid motion, the contacts
    ``holding`` (n,) are replaced by springs along their normals.
    """
    n, d, m = rows.H.shape
    if not n:
        return np.empty((0, d, d))
    if holding is not None and holding.any():
        normal, at = rows.H[holding, 0], rows.dofs[holding]
        values = float(K.diagonal().mean()) * normal[:, :, None] * normal[:, None, :]
        places = (np.repeat(at, m, axis=1).ravel(), np.tile(at, (1, m)).ravel())
        K = sparse.csr_array(K + sparse.coo_array((values.ravel(), places), shape=K.shape))
    if exact and n <= EXACT and (holding is None or holding.any()):
        try:
            factor = factorise(sparse.csr_array(K[free][:, free]))
        except ProblemError:
            factor = None
        if factor is not None:
            H = np.zeros((n * d, K.shape[0]))
            place = np.broadcast_to(rows.dofs[:, None], (n, d, m)).reshape(n * d, m)
            np.add.at(H, (np.arange(n * d)[:, None], place), rows.H.reshape(n * d, m))
            motion = factor.solve(np.ascontiguousarray(H[:, free].T))
            W = (H[:, free] @ motion).reshape(n, d, n, d)
            blocks = W[np.arange(n), :, np.arange(n)]
            if np.isfinite(blocks).all() and (blocks[:, 0, 0] > 0.0).all():
                return _plausible(blocks)
    flat = (np.repeat(rows.dofs, m, axis=1).ravel(), np.tile(rows.dofs, (1, m)).ravel())
    local = np.asarray(K[flat]).reshape(n, m, m)
    held = ~free[rows.dofs]
    stiff = np.abs(local).max(axis=(1, 2))
    local = local + (held * 1e6 * stiff[:, None])[:, :, None] * np.eye(m)
    local = local + 1e-6 * stiff[:, None, None] * np.eye(m)
    return _plausible(BLOCK_SHARE * (rows.H @ np.linalg.solve(local, rows.H.transpose(0, 2, 1))))


def _plausible(blocks: Array) -> Array:
    """Symmetric blocks whose diagonals are positive, for nodes that supports hold."""
    blocks = 0.5 * (blocks + blocks.transpose(0, 2, 1))
    top = float(np.einsum("nii->ni", blocks).max())
    d = blocks.shape[1]
    return np.asarray(blocks + 1e-9 * top * np.eye(d))


def tangential_stiffness(blocks: Array) -> Array:
    """Tangential stiffness 1/c_tt of each contact, the least where there are two tangents."""
    if not len(blocks):
        return np.empty(0)
    return np.asarray(1.0 / np.linalg.eigvalsh(blocks[:, 1:, 1:]).max(axis=1))


def yield_forces(solid: Solid, nodes: Indices) -> Array:
    """Yield stress times the section V^((d−1)/d) of each node, V being its share of the volume."""
    size = np.zeros(solid.mesh.n_nodes)
    stress = np.zeros(solid.mesh.n_nodes)
    for batch in solid.batches:
        volume = batch.volumes(batch.element.stiffness)
        share = np.repeat(volume.sum(axis=1)[:, None] / batch.cells.shape[1], batch.cells.shape[1], axis=1)
        size += np.bincount(batch.cells.ravel(), share.ravel(), minlength=len(size))
        if isinstance(batch.material, VonMises):
            stress[batch.cells.ravel()] = batch.material.yield_stress
    return np.asarray(stress[nodes] * size[nodes] ** ((solid.d - 1) / solid.d))
