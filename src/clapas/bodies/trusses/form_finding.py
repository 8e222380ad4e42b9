"""Form finding by force densities: shapes in equilibrium from a topology and forces per length.

With the force densities q = t/l the equilibrium of a net is linear, axis by axis,

    D x = F,    D = Cᵀ diag(q) C          C the incidence matrix (m × n)

For nets on supports D is definite on the free nodes and one linear solve gives the shape (Schek 1974). A
free-standing structure needs a D whose kernel holds its d coordinates beside the constants, of dimension d +
1: the *adaptive* method moves the densities until that is so (Zhang, Ohsaki 2006).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import linalg as sparse_linalg

from clapas.bodies.trusses.structure import Truss
from clapas.errors import ProblemError
from clapas.typing import Array

KERNEL = 1e-8  # eigenvalue of D, relative to the largest, that counts as zero at the end


def force_densities(truss: Truss, densities: npt.ArrayLike, case: str | None = None) -> Truss:
    """The shape in which members carry forces proportional to their lengths, t = q l.

    Blocked components keep their position. With a load case the loads act while the shape is found: the
    prestress of the result then balances them, not zero.

    Parameters
    ----------
    truss : Truss
        Topology, groups, and the positions of supported nodes.
    densities : array (m,), or one value per group
        Forces per length q (N/m), positive for tension.
    case : str, optional
        Loads during form finding.

    Examples
    --------
    A chain of three equal densities between two supports divides the span evenly:

    >>> from clapas.bodies.trusses.generators.plane import CABLES
    >>> chain = Truss(nodes=[[0, 0], [1, 1], [2, 0.3], [3, 0]], members=[[0, 1], [1, 2], [2, 3]],
    ...               groups=[CABLES], group=[0, 0, 0], is_blocked=[[1, 1], [0, 0], [0, 0], [1, 1]])
    >>> force_densities(chain, [100.0]).nodes.round(9).tolist()
    [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]
    """
    q = _per_member(truss, densities)
    D = _density_matrix(truss, q)
    loads = np.zeros(truss.nodes.shape) if case is None else truss.load(case)
    if case is not None:
        loads = truss.displacements(loads)
    nodes = truss.nodes.copy()
    for axis in range(truss.d):
        free = np.flatnonzero(~truss.is_blocked[:, axis])
        fixed = np.flatnonzero(truss.is_blocked[:, axis])
        if not len(fixed):
            raise ProblemError(
                f"nothing is held along {'xyz'[axis]}: the shape would shrink to a point. Block nodes, or "
                "use adaptive_force_densities for a free-standing structure"
            )
        if len(free):
            try:
                factor = sparse_linalg.splu(D[free][:, free].tocsc())
            except RuntimeError:
                raise ProblemError(
                    "these force densities leave the shape undetermined: some part hangs on no support, or "
                    "densities of both signs cancel. Change the densities or the supports"
                ) from None
            nodes[free, axis] = factor.solve(loads[free, axis] - D[free][:, fixed] @ nodes[fixed, axis])
    shaped = truss.with_(nodes=nodes, prestress=None)
    return shaped.with_(prestress=q * shaped.lengths)


def adaptive_force_densities(
    truss: Truss, densities: npt.ArrayLike, *, tol: float = 1e-12, max_iterations: int = 500
) -> Truss:
    """The shape of a free-standing structure near given force densities.

    The d + 1 smallest eigenvalues of D are set to zero and the densities refitted, in turn, until D has them
    by itself; the shape is the part of the given nodes in its kernel. Groups share one density. The other
    eigenvalues being positive, the result is super-stable, up to conics at infinity.

    Parameters
    ----------
    truss : Truss
        Topology, groups, and rough positions.
    densities : one value per group
        Start (N/m): positive for cables, negative for struts.
    tol : float
        Size of the eigenvalues that shall vanish, relative to the largest.
    max_iterations : int
        Refits.

    Examples
    --------
    From rough densities and rough nodes to the regular prism:

    >>> from clapas.bodies.trusses.generators import prism
    >>> noise = 0.1 * np.random.default_rng(0).standard_normal((6, 3))
    >>> rough = prism(3).with_(nodes=prism(3).nodes + noise, prestress=None)
    >>> found = adaptive_force_densities(rough, [1.0, 1.5, -1.2])
    >>> density = found.prestress / found.lengths
    >>> bool(np.isclose(density[3] / density[0], np.sqrt(3)))  # tendon to ring, the exact ratio
    True
    """
    if truss.is_blocked.any():
        raise ProblemError(
            "the adaptive method is for free-standing structures: use force_densities with supports"
        )
    q = np.asarray(densities, dtype=np.float64)
    if q.shape != (len(truss.groups),):
        raise ProblemError(
            f"densities: {len(truss.groups)} groups need {len(truss.groups)} values, got shape {q.shape}"
        )
    basis = np.stack(
        [_density_matrix(truss, (truss.group == g).astype(float)).toarray() for g in range(len(q))]
    )
    columns = basis.reshape(len(q), -1).T
    kernel = truss.d + 1
    for _ in range(max_iterations):
        values, vectors = np.linalg.eigh(np.tensordot(q, basis, axes=1))
        if np.abs(values[:kernel]).max() <= tol * np.abs(values).max():
            break
        values[:kernel] = 0.0
        q = np.linalg.lstsq(columns, ((vectors * values) @ vectors.T).ravel(), rcond=None)[0]
    else:
        values, vectors = np.linalg.eigh(np.tensordot(q, basis, axes=1))
        if np.abs(values[:kernel]).max() > KERNEL * np.abs(values).max():
            raise ProblemError(
                "no force densities near these make the structure free-standing (smallest eigenvalues "
                f"{values[:kernel]}): start from others, or take finer groups"
            )
    nodes = vectors[:, :kernel] @ (vectors[:, :kernel].T @ truss.nodes)
    shaped = truss.with_(nodes=nodes, prestress=None)
    return shaped.with_(prestress=q[truss.group] * shaped.lengths)


def _per_member(truss: Truss, densities: npt.ArrayLike) -> Array:
    q = np.asarray(densities, dtype=np.float64)
    if q.shape == (len(truss.groups),) and len(truss.groups) != truss.n_members:
        q = q[truss.group]
    if q.shape != (truss.n_members,):
        raise ProblemError(
            f"densities: give {truss.n_members} values (one per member) or {len(truss.groups)} (one per "
            f"group), got {q.shape}"
        )
    return q


def _density_matrix(truss: Truss, q: Array) -> sparse.csr_array:
    m = truss.n_members
    rows = np.repeat(np.arange(m), 2)
    C = sparse.csr_array((np.tile([1.0, -1.0], m), (rows, truss.members.ravel())), shape=(m, truss.n_nodes))
    return (C.T @ sparse.diags_array(q) @ C).tocsr()
