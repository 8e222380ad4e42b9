"""Deformable solids in frictional contact by the micro-macro LATIN method: substructures of elements.

An element of stiffness K_e = Σ λ_i φ_i φ_iᵀ is a link with the elongations e_i = φ_i·u and the forces
λ_i e_i: linear, so that with the search direction l = λ its two stages coincide, and a substructure has the
stiffness of its elements. A contact is a link with Coulomb's law between H u + w and its force, w the gap. So
only contacts and interfaces iterate.

    K u = f + Hᵀ r,    K* ∋ ũ ⟂ r ∈ K,    u = H u + w

Linear elasticity, contact frames of the last equilibrium, one increment from there: as
:func:`~clapas.statics.elastic.condensed.condense` does. One factorisation of the whole (``condense``, or
:class:`~clapas.statics.elastic.OneLoopNewton`) is faster where it fits in memory; here nothing larger than a
substructure is factorised.

References: Ladevèze, Nouy 2003; Champaney, Cognard, Ladevèze 1999 (contact with friction by LATIN).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy import sparse

from clapas.bodies.elastic.solid import Solid
from clapas.errors import SceneError
from clapas.multiscale.latin import MicroMacroLATIN
from clapas.multiscale.laws import Coulomb, SolidContact, Springs
from clapas.multiscale.partition import boxes
from clapas.multiscale.problem import LinkProblem
from clapas.multiscale.substructured import History, Substructured
from clapas.statics.elastic.problem import ElasticContact, State
from clapas.statics.settings import check_loop
from clapas.status import Status
from clapas.typing import Array, Indices

ACROSS = 0.01  # of all forces: least scale of those along one axis
SCALED_AT = (10, 20, 40, 80, 160)  # iterations after which the direction of contacts may change
UNEVEN = 10.0  # ratio of the two parts of the residual from which it does
RIGID = 1e-10  # relative eigenvalues of an element below which a mode is a rigid motion


@dataclass(frozen=True, eq=False)
class ElementLinks:
    """Elements as links: displacements each touches (m × k), modes (m × n × k), and stiffnesses (m × n)."""

    dofs: Indices
    modes: Array
    stiffness: Array


def element_links(solid: Solid) -> list[ElementLinks]:
    """The elements of each batch of a linear solid as springs along the modes of their stiffness.

    Examples
    --------
    A square has eight displacements, three of them rigid motions.

    >>> from clapas.bodies.elastic import Elastic, block
    >>> square = Solid(mesh=block((1.0, 1.0), (1, 1)), material=Elastic(young=1.0))
    >>> [each.modes.shape for each in element_links(square)]
    [(1, 5, 8)]
    """
    links = []
    for batch in solid.batches:
        history = batch.material.history(batch.n_points, batch.n_components)
        g = len(batch.element.stiffness.weights)
        blocks = []
        for part, B, volume in batch.operators():
            m, _, s, _ = B.shape
            points = slice(part.start * g, part.start * g + m * g)
            part_history = {name: array[points] for name, array in history.items()}
            _, D, _ = batch.material.respond(
                np.zeros((m * g, s)), part_history, batch.kinematics == "plane stress"
            )
            DB = (D.reshape(m, g, s, s) @ B) * volume[:, :, None, None]
            blocks.append(np.einsum("mgsi,mgsj->mij", B, DB))
        K = np.concatenate(blocks)
        values, vectors = np.linalg.eigh(0.5 * (K + K.transpose(0, 2, 1)))
        strains = values > RIGID * values[:, -1:]
        n = int(strains.sum(axis=1).max(initial=0))
        values, modes = values[:, -n:], vectors[:, :, -n:].transpose(0, 2, 1)
        modes = np.where(strains[:, -n:, None], modes, 0.0)
        links.append(ElementLinks(batch.dofs, modes, np.where(strains[:, -n:], values, values[:, -1:])))
    return links


def solid_problem(stage: ElasticContact, state: State | None = None) -> tuple[LinkProblem, Array]:
    """Elements and contacts of a whole stage as links, and displacements that supports impose (n_dof,).

    The unknowns are the other displacements.
    """
    solid, d = stage.solid, stage.solid.d
    if not solid.is_linear:
        raise SceneError("substructures are linear: take materials of small strain, or OneLoopNewton")
    increment = stage.toward(state or stage.start(), 1.0)
    contacts = increment.rows(increment.state.u)
    elements = element_links(solid)
    n_contacts, each = len(contacts.gap), max(d, *(part.modes.shape[1] for part in elements))
    rows, columns, values, stiffness = [], [], [], []
    first = 0
    for part in elements:
        m, n, k = part.modes.shape
        number = each * (first + np.arange(m))[:, None] + np.arange(n)
        rows.append(np.repeat(number.ravel(), k))
        columns.append(np.broadcast_to(part.dofs[:, None, :], (m, n, k)).ravel())
        values.append(part.modes.ravel())
        padded = np.repeat(part.stiffness[:, -1:], each, axis=1)
        padded[:, :n] = part.stiffness
        stiffness.append(padded.ravel())
        first += m
    number = each * (first + np.arange(n_contacts))[:, None] + np.arange(d)
    width = contacts.dofs.shape[1]
    rows.append(np.repeat(number.ravel(), width))
    columns.append(np.broadcast_to(contacts.dofs[:, None, :], (n_contacts, d, width)).ravel())
    values.append(contacts.H.ravel())
    stiffness.append(np.ones(each * n_contacts))
    shape = (each * (first + n_contacts), solid.n_dof)
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    B = sparse.csr_array(sparse.coo_array(entries, shape=shape))
    imposed = np.zeros(solid.n_dof)
    imposed[stage.held.dofs] = increment.values
    K = solid.stiffness
    # Slips are counted from the last equilibrium, gaps are total: both at u = 0 of this problem.
    at_rest = np.column_stack((contacts.gap, contacts.slip))
    w = at_rest + np.einsum("ndk,nk->nd", contacts.H, (imposed - increment.state.u)[contacts.dofs])
    soft = np.einsum("ndk,nk,ndk->n", contacts.H, 1.0 / K.diagonal()[contacts.dofs], contacts.H) / d
    law = SolidContact(
        Springs(np.concatenate(stiffness), np.zeros(shape[0]), np.zeros(shape[0], dtype=bool)),
        Coulomb(
            mu=increment.mu,
            w=w,
            response=soft,
            compliance=np.zeros((n_contacts, d)),
            r=np.zeros((n_contacts, d)),
            u=np.maximum(w, 0.0) * np.eye(1, d)[0],
        ),
        np.arange(first + n_contacts) >= first,
    )
    problem = LinkProblem(
        B=B,
        law=law,
        F=increment.load - K @ imposed,
        dofs_per_node=d,
        rows_per_link=each,
        points=solid.mesh.nodes,
        is_blocked=~stage.held.free,
    )
    return problem, imposed


def assembled_residual(
    problem: LinkProblem, K: sparse.csr_array, imposed: Array, u: Array, r: Array
) -> tuple[float, float]:
    """Balance and law of contact of a whole solid: two residuals of u (n_dof,) and r (n, d), without unit.

    * Balance: forces f + Hᵀ r − K u, summed without their signs along each axis, relative to the sum of
      loads, contact forces or reactions of supports along it (to :data:`ACROSS` of all where it has less).
    * Law of contact: |r/R − P(r/R − u/L)| with the projection P of augmented forces, R the largest contact
      force and L the largest displacement: forces count relative to R, gaps and slips relative to L.

    Sums bound resultants and what errors of many nodes add up to in a slender solid; the largest force at a
    node does not.
    """
    law, d = problem.law, problem.dofs_per_node
    assert isinstance(law, SolidContact)
    contacts, B = law.contacts, problem.B[law.contact_rows]
    pushed = B.T @ r.ravel()
    load = problem.F + K @ imposed
    left = load + pushed - K @ u
    held = problem.is_blocked
    parts = (np.where(held, 0.0, load), pushed, np.where(held, left, 0.0))
    applied = np.max([np.abs(part).reshape(-1, d).sum(axis=0) for part in parts], axis=0)
    applied = np.maximum(applied, ACROSS * applied.sum())
    unbalanced = np.abs(np.where(held, 0.0, left)).reshape(-1, d).sum(axis=0)
    balance = float((unbalanced / np.where(applied > 0.0, applied, 1.0)).max())
    if not len(r):
        return balance, 0.0
    moved = (B @ (u - imposed)).reshape(r.shape) + contacts.w
    force = float(np.abs(r).max()) or 1.0
    trial = r / force - moved / (float(np.abs(u).max()) or 1.0)
    normal = np.maximum(trial[:, 0], 0.0)
    size = np.linalg.norm(trial[:, 1:], axis=1)
    shrink = np.minimum(1.0, contacts.mu * normal / np.where(size > 0.0, size, 1.0))
    projected = np.column_stack((normal, shrink[:, None] * trial[:, 1:]))
    return balance, float(np.abs(r / force - projected).max())


@dataclass(frozen=True, kw_only=True)
class SubstructuredContact:
    """A solid in contact, cut into substructures.

    Parameters
    ----------
    method : MicroMacroLATIN
        Settings of the iterations.
    contact_direction : float
        Search direction of contacts at the start, relative to the stiffness of their nodes. It is changed in
        the first iterations where balance and law converge unevenly (not with processes or ranks, which
        hold their substructures): a slender bar needs a thousandth.
    tol : float
        Largest residual of the assembled answer: balance of the whole solid and law of contact, see
        :func:`assembled_residual`.
    max_iterations : int
        Iterations at most.

    Examples
    --------
    A block of 1 m pressed by 0.1 Pa on a floor, in four substructures (E = 1 Pa, ν = 0):

    >>> from clapas.bodies.elastic import Elastic, Obstacle, RigidContact, Support, block
    >>> from clapas.geometry.shapes import HalfPlane
    >>> solid = Solid(mesh=block((1.0, 1.0), (8, 8)), material=Elastic(young=1.0))
    >>> stage = ElasticContact(
    ...     solid=solid,
    ...     supports=[Support("left", "x")],
    ...     load=solid.pressure("top", 0.1),
    ...     contacts=[RigidContact(surface="bottom", obstacle=Obstacle(HalfPlane()), mu=0.3)],
    ... )
    >>> found = SubstructuredContact(tol=1e-6).solve(stage, (2, 2))
    >>> bool(np.allclose(found.u.reshape(-1, 2)[solid.mesh.group("top"), 1], -0.1, atol=1e-5))
    True
    """

    method: MicroMacroLATIN = field(default_factory=MicroMacroLATIN)
    contact_direction: float = 1.0
    tol: float = 1e-5
    max_iterations: int = 500

    def __post_init__(self) -> None:
        check_loop(self.tol, self.max_iterations)
        if not self.contact_direction > 0.0:
            raise SceneError(f"contact_direction must be positive, got {self.contact_direction}")

    def solve(
        self, stage: ElasticContact, cut: npt.ArrayLike, state: State | None = None
    ) -> SubstructuredState:
        """The equilibrium at the end of a stage.

        Parameters
        ----------
        stage : ElasticContact
            Solid, supports, loads, contacts.
        cut : sequence of d int, or array (links,)
            Boxes along the axes; or the substructure of each element and then of each contact.
        state : State, optional
            Where the stage starts from; at rest by default.
        """
        problem, imposed = solid_problem(stage, state)
        law = problem.law
        assert isinstance(law, SolidContact)
        if self.contact_direction != 1.0:
            stiffer = replace(law.contacts, response=law.contacts.response / self.contact_direction)
            problem = problem.with_(law=replace(law, contacts=stiffer))
        labels = np.asarray(cut)
        if labels.shape == (stage.solid.d,) and problem.n_links != stage.solid.d:
            labels = boxes(problem, [int(count) for count in labels])
        whole = self.method.prepare(problem, labels)
        answer = partial(_assembled, problem, imposed)
        K = stage.solid.stiffness

        def measure(whole: Substructured) -> tuple[float, float]:
            return assembled_residual(problem, K, imposed, *answer(whole))

        watch = None if self.method.is_spread else partial(_scale_direction, measure)
        end = whole.converge(self.max_iterations, self.tol, lambda: max(measure(whole)), watch)
        u, r = answer(whole)
        return SubstructuredState(
            u=u,
            r=r,
            status=end.status,
            residual=end.residual,
            history=end.history,
            whole=whole,
        )


def _assembled(problem: LinkProblem, imposed: Array, whole: Substructured) -> tuple[Array, Array]:
    """Displacements of the linear stage and contact forces of the local stage, of the whole solid."""
    assert isinstance(problem.law, SolidContact)
    r = -whole.t_hat[problem.law.contact_rows].reshape(-1, problem.dofs_per_node)
    return np.where(problem.is_blocked, 0.0, whole.U) + imposed, r


def _scale_direction(measure: Callable[[Substructured], tuple[float, float]], whole: Substructured) -> None:
    """Change the search direction of contacts where one part of the residual is far above the other.

    A direction that is too stiff leaves forces out of balance while the law holds, one that is too soft the
    other way round.
    """
    if whole.iterations not in SCALED_AT:
        return
    balance, law = measure(whole)
    if not (balance > 0.0 and law > 0.0 and max(balance / law, law / balance) > UNEVEN):
        return
    factor = min(max(math.sqrt(law / balance), 0.01), 100.0)
    links = [part.l.copy() for part in whole.parts]
    for part, l in zip(whole.parts, links, strict=True):
        assert isinstance(part.law, SolidContact)
        l[part.law.contact_rows] *= factor
    whole.redirect(links, 1.0)


@dataclass(frozen=True, eq=False)
class SubstructuredState:
    """An equilibrium found by substructures.

    Parameters
    ----------
    u : array (n_dof,)
        Displacements (m).
    r : array (n, d)
        Contact forces along (normal, tangents) (N), from the local stage: they obey Coulomb's law.
    status : Status
        SOLVED if the residual is at most the tolerance.
    residual : float
        Residual of the assembled answer (:func:`assembled_residual`).
    history : History
        Indicator against iterations.
    whole : Substructured
        The substructures, with the values of both stages.
    """

    u: Array
    r: Array
    status: Status
    residual: float
    history: History
    whole: Substructured

    @property
    def note(self) -> str:
        """Residual and iterations, and what to do where the tolerance is not reached."""
        text = (
            f"{self.status.name}: residual {self.residual:.2e} after {len(self.history.indicator)} iterations"
        )
        if self.status.is_solved:
            return text
        return (
            f"{text}. Raise max_iterations, adapt the interfaces (method=MicroMacroLATIN(adapt=True)), cut a "
            "slender solid across rather than along, or take OneLoopNewton, which factorises the whole"
        )
