"""Other ways to write the same contact problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse import linalg as sparse_linalg

from clapas.linalg.factor import BlockDiagonalFactor
from clapas.problems.contact import ContactProblem
from clapas.typing import Array, Indices


def reduce(problem: ContactProblem) -> ContactProblem:
    """Eliminate the velocities of the bodies: W = H M⁻¹ Hᵀ and q = w − H M⁻¹ f.

    W is sparse when M is block diagonal (contacts that share no body do not meet) and full
    otherwise: for n contacts on one deformable body it takes 8 (d n)² bytes.
    """
    if problem.form == "reduced":
        return problem
    W = _delassus(problem)
    return ContactProblem(W=W, q=problem.q, mu=problem.mu, d=problem.d, name=problem.name, symmetrise=True)


def _delassus(problem: ContactProblem) -> sparse.csr_array | Array:
    H, mass = problem.H, problem.mass
    if isinstance(mass, BlockDiagonalFactor):
        G = H @ mass.inverse_root
        return (G @ G.T).tocsr()
    return np.asarray(H @ mass.solve(H.T.toarray()))


def delassus_operator(problem: ContactProblem) -> sparse_linalg.LinearOperator:
    """W as an operator on flat vectors: products only, W is never formed in the global form."""
    size = problem.n_contacts * problem.d

    def product(r: Array) -> Array:
        return problem.apply_delassus(r).ravel()

    return sparse_linalg.LinearOperator((size, size), matvec=product, rmatvec=product, dtype=float)


@dataclass(frozen=True)
class Component:
    """A part of a problem that shares no body with the rest.

    ``contacts`` and ``dofs`` are the places of its rows in the whole problem (``dofs`` is empty in
    the reduced form).
    """

    problem: ContactProblem
    contacts: Indices
    dofs: Indices


def split(problem: ContactProblem) -> list[Component]:
    """Cut a problem into the connected components of its contact graph.

    Each can be solved alone; the impulses of the whole are those of the parts put back at
    ``component.contacts``. Bodies that touch nothing belong to no component.
    """
    if problem.form == "reduced":
        labels = csgraph.connected_components(_contact_graph(problem), directed=False)[1]
        return [_reduced_part(problem, np.flatnonzero(labels == k)) for k in _groups(labels)]
    coo = problem.H.tocoo()
    touches = sparse.coo_array(
        (np.ones(coo.nnz), (coo.row // problem.d, coo.col)), shape=(problem.n_contacts, problem.n_dof)
    )
    links = sparse.block_array([[abs(problem.M), touches.T], [touches, None]])
    labels = csgraph.connected_components(links, directed=False)[1]
    of_dof, of_contact = labels[: problem.n_dof], labels[problem.n_dof :]
    return [
        _global_part(problem, np.flatnonzero(of_contact == k), np.flatnonzero(of_dof == k))
        for k in _groups(of_contact)
    ]


def _groups(labels: Indices) -> Indices:
    """The labels in use, in order of first appearance."""
    values, first = np.unique(labels, return_index=True)
    return np.asarray(values[np.argsort(first)], dtype=np.int64)


def _contact_graph(problem: ContactProblem) -> sparse.csr_array:
    W, n = problem.W, problem.n_contacts
    linked = np.abs(W.data).max(axis=(1, 2), initial=0.0)
    graph = sparse.csr_array((linked, W.indices, W.indptr), shape=(n, n))
    graph.eliminate_zeros()
    return graph


def _reduced_part(problem: ContactProblem, contacts: Indices) -> Component:
    rows = _rows(contacts, problem.d)
    W = problem.W.tocsr()[rows][:, rows]
    part = ContactProblem(W=W, q=problem.q[contacts], mu=problem.mu[contacts], d=problem.d)
    return Component(part, contacts, np.empty(0, dtype=np.int64))


def _global_part(problem: ContactProblem, contacts: Indices, dofs: Indices) -> Component:
    rows = _rows(contacts, problem.d)
    part = ContactProblem(
        M=problem.M[dofs][:, dofs],
        H=problem.H[rows][:, dofs],
        f=problem.f[dofs],
        w=problem.w[contacts],
        mu=problem.mu[contacts],
        d=problem.d,
    )
    return Component(part, contacts, dofs)


def _rows(contacts: Indices, d: int) -> Indices:
    return np.asarray((contacts[:, None] * d + np.arange(d)).ravel(), dtype=np.int64)
