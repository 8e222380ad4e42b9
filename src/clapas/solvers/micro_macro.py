"""Micro-macro LATIN for contacts: the packing cut into substructures, coupled by a coarse problem."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from clapas.errors import SettingsError
from clapas.linalg.factor import factorise
from clapas.multiscale.directions import node_stiffness
from clapas.multiscale.interfaces import WeakPolicy
from clapas.multiscale.latin import MicroMacroLATIN
from clapas.multiscale.laws import Coulomb
from clapas.multiscale.partition import graph_parts, layers
from clapas.multiscale.problem import LinkProblem
from clapas.multiscale.substructured import Substructured
from clapas.problems.blocks import BodyBlocks
from clapas.problems.contact import ContactProblem
from clapas.solvers.latin import LATIN
from clapas.solvers.loop import Iteration, IterativeSolver
from clapas.typing import Array

WORTH_REFACTORING = 2.0  # smallest change of the directions that justifies a factorisation
CONSISTENT = (
    1e-6  # closure error of a loop of bodies, relative to the longest arm, up to which positions are used
)


@dataclass(frozen=True, kw_only=True)
class MicroMacro(IterativeSolver):
    """LATIN on substructures: contacts one by one, bodies by substructures, coupled by a coarse problem.

    The contacts are distributed among substructures; a body whose contacts fall into several of them is
    shared, its mass with it. An iteration is

        linear stage   M v + f = Hᵀ r in each substructure, −r = a + l (u − w), solved with a factor computed
                       once; shared bodies are coupled with the direction d, the mean motions of each
                       interface (translations, rotations, strains) by one coarse problem
        local stage    Coulomb's law at each contact on the line of the direction l

    with l = k/λ_i as in :class:`LATIN` and d = ``direction`` × the diagonal of M + Hᵀ l H. Nothing larger
    than a substructure and the coarse problem is factorised, and a substructure needs only vectors of its
    interfaces: memory grows linearly, and the parts may be in other processes.

    Suits walls and stacks, where information must travel far: some tens of iterations. Slower than
    :class:`NSGS` on packings. Problems without separate bodies (reduced form, joints, deformable bodies) have
    nothing to cut: they are solved by :class:`LATIN`. Not proved to converge with friction.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    k : float
        Direction of contacts, relative to their responses: no unit.
    direction : float
        Direction of interfaces, relative to the stiffness of each component: no unit.
    bodies : int
        Approximate number of bodies per substructure.
    macro : bool or int
        Coarse problem with all vectors, its first 3 or 6, or none.
    weak : "drop", "macro" or "micro"
        Treatment of interfaces with few bodies.
    relaxation : float
        Fraction of each step taken, up to 1.
    balancing : bool
        Scale all directions during the iterations until the distance of the two stages is comparable with
        their change; each scaling costs a factorisation of all substructures.
    threads : int
        Number of threads among which substructures are shared.

    References
    ----------
    Ladevèze 1999; Alart, Dureisseix 2008 (granular media); LMGC thesis on tensegrity, ch. 5 and 7.

    Examples
    --------
    >>> from clapas import gallery, solve
    >>> solve(gallery.get("two-blocks").problem, MicroMacro(tol=1e-6, bodies=1)).status.name
    'SOLVED'
    """

    max_iterations: int = 100_000
    k: float = 10.0
    direction: float = 0.3
    bodies: int = 40
    macro: bool | int = True
    weak: WeakPolicy = "macro"
    relaxation: float = 0.8
    balancing: bool = True
    threads: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("k", "direction"):
            if not 0 < getattr(self, name) < math.inf:
                raise SettingsError(f"{name} must be positive and finite, got {getattr(self, name)}")
        if self.bodies < 1:
            raise SettingsError(f"bodies must be at least 1, got {self.bodies}")
        MicroMacroLATIN(
            weak=self.weak, relaxation=self.relaxation, threads=self.threads
        )  # checks the other settings

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Cut the problem, factorise the substructures and the coarse problem."""
        blocks = problem.blocks if problem.form == "global" else None
        if blocks is None or blocks.n_contacts == 0:
            return LATIN(relaxation=self.relaxation).start(problem, guess)
        return _Stages(self, problem, blocks, guess)


class _Stages(Iteration):
    repeats_when_stuck: ClassVar[bool] = False  # impulses may stay at zero while the stages still change

    def __init__(
        self, settings: MicroMacro, problem: ContactProblem, blocks: BodyBlocks, guess: Array
    ) -> None:
        links = contact_links(problem, blocks, guess)
        parts = max(1, round(blocks.n_bodies / settings.bodies))
        try:
            labels = graph_parts(links, parts) if parts > 1 else np.zeros(links.n_links, dtype=np.int64)
        except ImportError:
            labels = layers(links, parts)
        method = MicroMacroLATIN(
            direction=settings.direction * node_stiffness(links),
            link_direction=settings.k,
            macro=settings.macro,
            weak=settings.weak,
            relaxation=settings.relaxation,
            threads=settings.threads,
        )
        self.whole = method.prepare(links, labels)
        self._settings, self._shape, self._next = settings, guess.shape, 10
        self._r = guess
        kept = self.whole.interfaces
        where = "with" if links.points is not None else "without"
        self.notes = (
            f"{self.whole.n_parts} substructures, {len(kept.kept)} interfaces, {self.whole.n_macro} macro "
            f"unknowns, {where} positions",
        )

    def impulses(self) -> Array:
        """Impulses r̂ of the local stage, in their cones."""
        return self._r

    def advance(self, count: int) -> None:
        """Do ``count`` iterations of a linear and a local stage."""
        self.whole.iterate(count, self._balance if self._settings.balancing else None)
        self._r = -self.whole.t_hat.reshape(self._shape)

    def _balance(self, whole: Substructured) -> None:
        """Increase all directions where the distance of the two stages exceeds their change."""
        if whole.iterations < self._next:
            return
        # Intervals grow, so that directions settle.
        self._next = whole.iterations + max(10, whole.iterations // 2)
        quotient = whole.link_balance()
        factor = math.sqrt(min(max(quotient, 0.01), 100.0))
        if max(factor, 1.0 / factor) >= WORTH_REFACTORING:
            whole.redirect([part.l * factor for part in whole.parts], factor)


def contact_links(problem: ContactProblem, blocks: BodyBlocks, guess: Array) -> LinkProblem:
    """The contacts as links between bodies, in units of unit mass: y = Gᵀ r + y_free, u = G y + w."""
    n, d, size, count = blocks.n_contacts, blocks.d, blocks.size, blocks.n_bodies
    rows = np.broadcast_to(
        (d * np.arange(n)[:, None] + np.arange(d))[:, None, :, None], (n, 2, d, size)
    ).ravel()
    columns = np.broadcast_to(
        (size * blocks.bodies[:, :, None] + np.arange(size))[:, :, None, :], (n, 2, d, size)
    ).ravel()
    is_moving = columns < size * count
    entries = (blocks.G.ravel()[is_moving], (rows[is_moving], columns[is_moving]))
    u = problem.velocity(guess)
    soft = problem.compliance if problem.compliance is not None else np.zeros((n, d))
    law = Coulomb(problem.mu, _imposed(problem), problem.response, soft, guess, u)
    units = np.asarray(np.linalg.inv(blocks.root), dtype=np.float64)
    return LinkProblem(
        B=sparse.coo_array(entries, shape=(n * d, size * count)).tocsr(),
        law=law,
        F=blocks.y_free[:count].ravel().copy(),
        dofs_per_node=size,
        rows_per_link=d,
        points=positions(blocks, units),
        M=sparse.eye_array(size * count, format="csr"),
        units=units,
    )


def _imposed(problem: ContactProblem) -> Array:
    w = problem.imposed
    return np.zeros((problem.n_contacts, problem.d)) if w is None else w


def positions(blocks: BodyBlocks, units: Array) -> Array | None:
    """Positions of the bodies from the arms in H, up to a translation per connected heap; None if unknown.

    The rows of H hold the frame of a contact, f, and its moments l × f about the two bodies; in space
    Σ f × (l × f) = 2 l. Bodies that touch are arm_a − arm_b apart. Loops must close: they do not where spins
    are measured in axes of the bodies.
    """
    d, size = blocks.d, blocks.size
    if (d, size) not in ((2, 3), (3, 6)):
        return None
    inner = (blocks.bodies < blocks.n_bodies).all(axis=1)
    ends = blocks.bodies[inner]
    H = blocks.G[inner] @ units[ends]
    frame, moment = H[..., :d], H[..., d:]
    if d == 3:
        arm = 0.5 * np.cross(frame, moment).sum(axis=2)
    else:
        arm = (moment * np.stack((frame[..., 1], -frame[..., 0]), axis=-1)).sum(axis=2)
    offset = arm[:, 0] - arm[:, 1]
    m = np.arange(len(ends))
    signs = np.concatenate((-np.ones(len(ends)), np.ones(len(ends))))
    places = (np.concatenate((m, m)), np.concatenate((ends[:, 0], ends[:, 1])))
    steps = sparse.csr_array((signs, places), shape=(len(ends), blocks.n_bodies))
    heap = csgraph.connected_components(steps.T @ steps, directed=False)[1]
    is_unknown = np.ones(blocks.n_bodies, dtype=bool)
    is_unknown[np.unique(heap, return_index=True)[1]] = False  # one body of each heap is at the origin
    points = np.zeros((blocks.n_bodies, d))
    if is_unknown.any():
        kept = steps[:, np.flatnonzero(is_unknown)]
        points[is_unknown] = factorise(sparse.csr_array(kept.T @ kept)).solve(kept.T @ offset)
    gap = np.abs(steps @ points - offset).max(initial=0.0)
    return points if gap <= CONSISTENT * np.abs(arm).max(initial=0.0) or not len(ends) else None
