"""Search directions of interfaces: the stiffness of the other side.

The best direction of an interface is the stiffness of the substructure behind it, seen from its nodes. The
rule: the stiffness of the substructure between the interface and the face opposite to it, lateral sides free,
divided by the number of nodes of the interface. It decreases with the length of the substructure, as it must:
on 16 × 16 modules of the thesis 3.75e6 N/m for one module, 2.49e6 for 2 × 2, 1.48e6 for 4 × 4 and 0.80e6 for
8 × 8. The thesis takes a single module (3.92e6) whatever the substructure, and needs 30 iterations instead of
17.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from clapas.errors import ProblemError
from clapas.multiscale.problem import LinkProblem
from clapas.typing import Array, Indices

SHIFT = 1e-10  # relative to the stiffness: restrains mechanisms and rigid motions that the test leaves free
FLAT = 1e-6  # inertia across the mean plane of an interface, relative to the largest, below which it is flat


def face_stiffness(problem: LinkProblem, links: Indices, face: Indices) -> float:
    """Stiffness of a substructure between a face and the one opposite to it, per node of the face (N/m).

    The displacement along the normal of the face is 1 on its nodes and 0 on as many nodes at the far end;
    all else is free, supports too.

    Parameters
    ----------
    problem : LinkProblem
        With points whose components are displacements along the axes.
    links : array
        Links of the substructure.
    face : array
        Nodes of the interface.
    """
    if problem.points is None or problem.dofs_per_node != problem.points.shape[1]:
        raise ProblemError(
            "the stiffness between faces needs nodes that are points with coordinates: give a direction as a "
            "number, or per node"
        )
    d = problem.dofs_per_node
    rows = problem.rows(links)
    B_links = problem.B[rows]
    nodes = np.unique(B_links.indices // d)
    B = B_links[:, problem.dofs(nodes)].tocsr()
    k = problem.law.restrict(links).stiffness()
    points = problem.points[nodes]
    on_face = np.isin(nodes, face)
    normal = _normal(points[on_face], points)
    reach = points @ normal
    if reach[on_face].mean() > reach.mean():
        normal, reach = -normal, -reach
    others = np.flatnonzero(~on_face)
    if not len(others):
        return float(np.mean(k))
    far = others[np.argsort(-reach[others], kind="stable")[: on_face.sum()]]
    # u = 1 along the normal on the face and 0 at the far end; the rest minimises the energy. The normal
    # component of the constrained nodes is isolated by a basis of each node whose first axis is the normal.
    stretched = (B.toarray().reshape(-1, len(nodes), d) @ _frame(normal)).reshape(len(rows), -1)
    front = np.flatnonzero(on_face) * d
    free = np.setdiff1d(np.arange(len(nodes) * d), np.concatenate((front, far * d)))
    imposed, part = stretched[:, front].sum(axis=1), stretched[:, free]
    K = part.T @ (k[:, None] * part)
    K[np.diag_indices_from(K)] += SHIFT * float(np.max(k))
    free_displacements = linalg.solve(K, -(part.T @ (k * imposed)), assume_a="pos")
    e = imposed + part @ free_displacements
    return float(e @ (k * e)) / float(on_face.sum())


def _normal(face: Array, all_points: Array) -> Array:
    """Normal of the mean plane of a face; direction to the middle of the substructure if it is not flat."""
    offset = face - face.mean(axis=0)
    values, vectors = np.linalg.eigh(offset.T @ offset)
    if values[1] > FLAT * max(values[-1], 1e-300) and values[0] <= 0.1 * values[1]:
        return np.asarray(vectors[:, 0])
    towards = all_points.mean(axis=0) - face.mean(axis=0)
    length = np.linalg.norm(towards)
    return np.asarray(towards / length) if length > 0.0 else np.asarray(vectors[:, 0])


def _frame(normal: Array) -> Array:
    """Orthonormal columns, the normal first."""
    q, _ = np.linalg.qr(np.column_stack((normal, np.eye(len(normal)))))
    return np.asarray(q)


def node_stiffness(problem: LinkProblem) -> Array:
    """Diagonal of M + BᵀlB with the natural directions l: stiffness of each component with all others held.

    For bodies in contact, where faces are not meaningful; a direction is a multiple of it.
    """
    l = problem.law.stiffness()
    squared = problem.B.multiply(problem.B).tocsr()
    diagonal = np.asarray(squared.T @ l).ravel()
    return diagonal if problem.M is None else diagonal + problem.M.diagonal()
