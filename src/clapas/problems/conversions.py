"""Other forms of the same contact problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse import linalg as sparse_linalg

from clapas.linalg.factor import BlockDiagonalFactor
from clapas.problems.contact import ContactProblem
from clapas.typing import Array, Indices

if TYPE_CHECKING:
    from clapas.problems.packed_bodies import PackedBodies


def reduce(problem: ContactProblem) -> ContactProblem:
    """Eliminate the velocities of the bodies and the joints: W = H M⁻¹ Hᵀ + C and q = w − H M⁻¹ f.

    W is sparse: contacts that share no body, and no cluster of jointed bodies, are not
    coupled. For n contacts on one deformable body it is full and takes 8 (d n)² bytes.

    Raises
    ------
    ProblemError
        M is singular: its kernel has no finite response to an impulse, and W does not exist.
    """
    if problem.form == "reduced":
        return problem
    return type(problem)(
        W=delassus_matrix(problem),
        q=problem.q,
        mu=problem.mu,
        section=problem.section,
        d=problem.d,
        name=problem.name,
        symmetrise=True,
    )


def delassus_matrix(problem: ContactProblem) -> sparse.csr_array | sparse.bsr_array:
    """W, sparse, for any law.

    >>> delassus_matrix(ContactProblem(W=[[2.0, 0.0], [0.0, 1.0]], q=[[-1.0, 0.0]], mu=0.5)).toarray()
    array([[2., 0.],
           [0., 1.]])
    """
    if problem.form == "reduced":
        return problem.W
    if problem.packed is not None:
        return problem.packed.delassus()
    if isinstance(problem.mass, BlockDiagonalFactor) and problem.compliance is None:
        G = problem.H @ problem.mass.inverse_root
        return (G @ G.T).tocsr()
    assert problem.ragged is not None
    return problem.ragged.delassus()


def delassus_operator(problem: ContactProblem) -> sparse_linalg.LinearOperator:
    """W as an operator on flat vectors: products only, W is never formed in the global form."""
    size = problem.n_contacts * problem.d

    def product(r: Array) -> Array:
        return problem.apply_delassus(r).ravel()

    return sparse_linalg.LinearOperator((size, size), matvec=product, rmatvec=product, dtype=float)


FULL = 300  # rows up to which a component of packed bodies gets a full W


@dataclass(frozen=True)
class Component:
    """A part of a problem that shares no body with the rest.

    ``contacts`` and ``dofs`` are its indices in the whole problem (``dofs`` is empty in
    the reduced form).
    """

    problem: ContactProblem
    contacts: Indices
    dofs: Indices


def split(problem: ContactProblem, wanted: Callable[[Indices], bool] | None = None) -> list[Component]:
    """Cut a problem into the connected components of its contact graph.

    Each can be solved alone; the impulses of the whole are those of the parts put back at
    ``component.contacts``. Bodies that touch nothing belong to no component. ``wanted`` tells from the
    contacts of a component whether to make it.
    """
    if problem.packed is not None:
        return _packed_parts(problem, problem.packed, wanted)
    of_contact, of_dof = component_labels(problem)
    parts = [np.flatnonzero(of_contact == k) for k in _groups(of_contact)]
    if wanted is not None:
        parts = [contacts for contacts in parts if wanted(contacts)]
    if problem.form == "reduced":
        place = np.empty(problem.n_contacts, dtype=np.int64)  # of each contact in its part
        for contacts in parts:
            place[contacts] = np.arange(len(contacts))
        return [_reduced_part(problem, contacts, of_contact, place) for contacts in parts]
    return [
        _global_part(problem, contacts, np.flatnonzero(of_dof == of_contact[contacts[0]]))
        for contacts in parts
    ]


def component_labels(problem: ContactProblem) -> tuple[Indices, Indices]:
    """Number of the connected component of each contact and of each degree of freedom.

    In the reduced form the second array is empty. Numbers without a contact are bodies that touch
    nothing.
    """
    n, d = problem.n_contacts, problem.d
    coo = (problem.W if problem.form == "reduced" else problem.H).tocoo()
    nonzero = coo.data != 0
    contact, column = coo.row[nonzero] // d, coo.col[nonzero]
    ones = np.ones(len(contact))
    if problem.form == "reduced":
        links = sparse.coo_array((ones, (contact, column // d)), shape=(n, n))
    else:
        touches = sparse.coo_array((ones, (contact, column)), shape=(n, problem.n_dof))
        links = sparse.block_array([[None, touches], [touches.T, _coupling(problem)]])
    labels = csgraph.connected_components(links, directed=False)[1]
    return labels[:n], labels[n:]


def _packed_parts(
    problem: ContactProblem, bodies: PackedBodies, wanted: Callable[[Indices], bool] | None
) -> list[Component]:
    """Parts of a problem of packed bodies: small ones with a full W, others on the same bodies."""
    labels = bodies.components()
    order = np.argsort(labels, kind="stable")
    parts = []
    for contacts in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
        if wanted is not None and not wanted(contacts):
            continue
        selected, mu, kind = bodies.take(contacts), problem.mu[contacts], type(problem)
        section = None if problem.section is None else problem.section.take(contacts)
        if problem.d * len(contacts) <= FULL:
            part = kind.from_full(selected.in_full(), problem.q[contacts], mu=mu, section=section)
        else:
            part = kind.from_packed(selected, mu=mu, w=problem.w[contacts], section=section)
        parts.append(Component(part, contacts, selected.dofs))
    return parts


def _coupling(problem: ContactProblem) -> sparse.csr_array:
    """Pattern of the degrees of freedom that M or a joint couples."""
    if problem.J is None:
        return abs(problem.M)
    return sparse.csr_array(abs(problem.M) + abs(problem.J).T @ abs(problem.J))


def _groups(labels: Indices) -> Indices:
    """The labels in use, in order of first appearance."""
    values, first = np.unique(labels, return_index=True)
    return np.asarray(values[np.argsort(first)], dtype=np.int64)


def _reduced_part(
    problem: ContactProblem, contacts: Indices, of_contact: Indices, place: Indices
) -> Component:
    """The rows and columns of some contacts.

    They were checked with the whole problem: checking again would cost more than extracting them, and warn
    once for each part of a W that is not symmetric.
    """
    W, d = problem.W, problem.d
    lengths = np.diff(W.indptr)[contacts]
    starts = np.cumsum(lengths) - lengths
    taken = np.repeat(W.indptr[contacts] - starts, lengths) + np.arange(lengths.sum())
    row = np.repeat(np.arange(len(contacts)), lengths)
    inside = of_contact[W.indices[taken]] == of_contact[contacts[0]]  # others are stored zeros
    taken, row = taken[inside], row[inside]
    indptr = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=len(contacts)))))
    blocks = W.data[taken], place[W.indices[taken]], indptr
    part = _unchecked(problem, sparse.bsr_array(blocks, shape=(d * len(contacts),) * 2), contacts)
    return Component(part, contacts, np.empty(0, dtype=np.int64))


def _unchecked(problem: ContactProblem, W: sparse.bsr_array, contacts: Indices) -> ContactProblem:
    part = type(problem).__new__(type(problem))
    part.form, part.name, part._stored_as_blocks = "reduced", "", False
    part.n_contacts, part.d, part.mu = len(contacts), problem.d, problem.mu[contacts]
    part._W, part._q = W, problem.q[contacts]
    part.section = None if problem.section is None else problem.section.take(contacts)
    return part


def _global_part(problem: ContactProblem, contacts: Indices, dofs: Indices) -> Component:
    rows = _rows(contacts, problem.d)
    joints: dict[str, Any] = {}
    if problem.J is not None and problem.b is not None:
        J = sparse.csr_array(problem.J[:, dofs])
        active = np.flatnonzero(np.diff(J.indptr))
        joints = {"J": J[active], "b": problem.b[active]} if active.size else {}
    if problem.compliance is not None:
        joints["compliance"] = problem.compliance[contacts]
    part = type(problem)(
        M=problem.M[dofs][:, dofs],
        H=problem.H[rows][:, dofs],
        f=problem.f[dofs],
        w=problem.w[contacts],
        mu=problem.mu[contacts],
        section=None if problem.section is None else problem.section.take(contacts),
        d=problem.d,
        **joints,
    )
    return Component(part, contacts, dofs)


def _rows(contacts: Indices, d: int) -> Indices:
    return np.asarray((contacts[:, None] * d + np.arange(d)).ravel(), dtype=np.int64)
