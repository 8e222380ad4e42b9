"""Micro-macro LATIN (LArge Time INcrement): substructures, local and linear stages, a coarse problem.

An iteration goes once to and fro between two sets, along search directions:

    linear stage   equilibrium and compatibility of each substructure, macro forces in balance and macro
                   displacements continuous over the whole structure (one coarse solution)
    local stage    the law of each link, each alone; perfect interfaces, each node alone

Directions: l on links (their stiffness by default), d on the micro part of interfaces, d^M = κ d on their
macro part (infinite by default). One domain (a single label) is the plain LATIN method, an augmented
Lagrangian.

References: Ladevèze 1999; Ladevèze, Nouy 2003; LMGC thesis on tensegrity, 5.2.3; Alart, Dureisseix 2008.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from clapas.errors import ProblemError, SettingsError
from clapas.linalg.threads import one_blas_thread
from clapas.multiscale.coarse import CoarseProblem
from clapas.multiscale.directions import face_stiffness
from clapas.multiscale.interfaces import POLICIES, Interface, Interfaces, WeakPolicy, find_interfaces
from clapas.multiscale.macro_basis import affine_fields, orthonormal, translations
from clapas.multiscale.partition import compact
from clapas.multiscale.problem import LinkProblem
from clapas.multiscale.substructure import LinkSolver, Substructure, Trace
from clapas.multiscale.team import Share, Team, of_processes, of_ranks, one_by_one, pool
from clapas.typing import Array, Indices, Mask

ADAPT_AT = (4, 8, 16, 32)  # iterations after which directions may be adapted
BALANCE_AT = (4, 8)  # those after which d may be, too; later it would follow the tail, and drift
SOFTENED = 0.3  # direction of links without stiffness (slack cables), relative to tight ones
SAMPLE = 24  # interfaces on which the stiffness between faces is computed, at least
ROUNDING = 1e-10  # size of a state, relative to the forces at rest, under which it is nothing
UNBALANCED = 2.0  # quotient of the two jumps at interfaces from which a direction is changed


@dataclass(frozen=True, kw_only=True)
class MicroMacroLATIN:
    """Settings of the micro-macro LATIN method.

    Parameters
    ----------
    direction : "faces", float or array (dofs,)
        Micro search direction d of interfaces: the stiffness of the substructures between opposite faces, per
        node (:func:`~clapas.multiscale.directions.face_stiffness`); or a number (N/m); or one per component.
    link_direction : float
        Search direction l of links, relative to their stiffness.
    macro : bool or int
        Coarse problem with the whole macro basis; with its first 3 or 6 vectors (translations; rotations);
        or without.
    macro_direction : float
        κ = d^M/d; infinite by default.
    weak : "drop", "macro" or "micro"
        Interfaces of few nodes, see :mod:`clapas.multiscale.interfaces`.
    relaxation : float
        Share of each step taken, above 0 and up to 1 (the plain method, as in the thesis). The plain method
        ends in oscillations that hardly decay where cables are slack, and never where κ is finite; a tenth
        less removes them.
    adapt : bool
        Change directions in the first iterations: d until the jumps of displacements and of forces at the
        interfaces are of one size, l of slack cables to a third. Each change costs a factorisation of all
        substructures.
    together : callable, optional
        Local stage of springs by one linear complementarity problem per substructure (l = k): a function of
        (W, q) that returns z with 0 ≤ z ⟂ W z + q ≥ 0. By default each link is treated alone.
    threads : int
        Substructures are shared among so many threads; the answer does not depend on it.
    processes : int
        The same with processes, which are started and sent their substructures at each run: for long ones. A
        script that asks for them needs the line ``if __name__ == "__main__":``.
    comm : mpi4py communicator, optional
        The same with ranks that ``mpirun`` started, such as ``MPI.COMM_WORLD``. All of them make the method
        and run it together; each iterates its share of the substructures and has the whole answer.

    Examples
    --------
    Two springs in series that carry 3 N, one per substructure: the shared node moves by 3 N / (1 + 2) N/m.

    >>> from scipy import sparse
    >>> from clapas.multiscale.laws import Springs
    >>> law = Springs(np.array([1.0, 2.0]), np.zeros(2), np.zeros(2, dtype=bool))
    >>> chain = LinkProblem(
    ...     B=sparse.csr_array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]]), law=law, dofs_per_node=1,
    ...     F=np.array([0.0, 3.0, 0.0]), is_blocked=np.array([True, False, True]))
    >>> method = MicroMacroLATIN(direction=1.0, macro=False, weak="micro").prepare(chain, [0, 1])
    >>> method.run(60).U.round(6).tolist()
    [0.0, 1.0, 0.0]
    """

    direction: Literal["faces"] | float | Array = "faces"
    link_direction: float = 1.0
    macro: bool | int = True
    macro_direction: float = math.inf
    weak: WeakPolicy = "drop"
    relaxation: float = 0.9
    adapt: bool = False
    together: LinkSolver | None = None
    threads: int = 1
    processes: int = 1
    comm: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.direction, str):
            if self.direction != "faces":
                raise SettingsError(
                    f"direction must be 'faces', a number or an array, got {self.direction!r}"
                )
        elif not np.all(np.asarray(self.direction) > 0.0):
            raise SettingsError("direction must be positive")
        for name in ("link_direction", "macro_direction"):
            if not getattr(self, name) > 0.0:
                raise SettingsError(f"{name} must be positive, got {getattr(self, name)}")
        if not 0.0 < self.relaxation <= 1.0:
            raise SettingsError(f"relaxation must be above 0 and at most 1, got {self.relaxation}")
        if self.weak not in POLICIES:
            raise SettingsError(f"weak must be 'drop', 'macro' or 'micro', got {self.weak!r}")
        if self.together is not None and (self.link_direction != 1.0 or self.adapt):
            raise SettingsError("together wants the directions l = k: link_direction=1 and adapt=False")
        for name in ("threads", "processes"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.comm is not None and self.processes > 1:
            raise SettingsError("substructures are shared by processes or by the ranks of comm, not by both")
        if self.is_spread and (self.threads > 1 or self.adapt):
            raise SettingsError(
                "processes hold their substructures for a run: give threads=1 and adapt=False with them"
            )

    @property
    def is_spread(self) -> bool:
        """Whether substructures are held by several processes during a run."""
        return self.processes > 1 or self.comm is not None

    def prepare(self, problem: LinkProblem, labels: npt.ArrayLike) -> Substructured:
        """Cut a problem, factorise its substructures and its coarse problem.

        Parameters
        ----------
        problem : LinkProblem
            The whole.
        labels : array (links,)
            Substructure of each link (:mod:`clapas.multiscale.partition`); all equal for one domain.
        """
        return Substructured(self, problem, labels)


@dataclass(frozen=True)
class History:
    """What was measured after each linear stage.

    Parameters
    ----------
    U : array (dofs,)
        Displacements at the end, mean of the copies at shared nodes.
    indicator : array (iterations,)
        η: distance between the two stages, relative to their size.
    error : array (iterations,)
        e: energy distance of the elongations to a reference; empty without one.
    """

    U: Array
    indicator: Array
    error: Array

    def iterations_to(self, goal: float) -> int | None:
        """Iterations until the error is below a goal; None if it was not reached.

        Examples
        --------
        >>> History(np.zeros(1), np.zeros(3), np.array([0.5, 0.02, 0.008])).iterations_to(0.01)
        3
        """
        below = np.flatnonzero(self.error < goal)
        return int(below[0]) + 1 if len(below) else None


@dataclass
class _Layout:
    """Where the interfaces and substructures keep their numbers."""

    free_of: list[Indices] = field(default_factory=list)  # global numbers of the free components of each
    places: list[Indices] = field(default_factory=list)  # macro components of each
    across: list[list[tuple[int, int]]] = field(default_factory=list)  # (neighbour, its part) per trace
    # Of all that is sent, one substructure after the other: who sends each entry received, and whose it is.
    sender: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    letters: list[slice] = field(default_factory=list)


class Substructured:
    """A problem cut into substructures, factorised; made by :meth:`MicroMacroLATIN.prepare`.

    The values of both stages stay readable in ``parts``: ``U, e, t`` of the linear stage, ``e_hat, t_hat`` of
    the local one. Loads may be changed (:meth:`load`) without a new factorisation.
    """

    def __init__(self, settings: MicroMacroLATIN, problem: LinkProblem, labels: npt.ArrayLike) -> None:
        label = np.asarray(labels)
        if label.shape != (problem.n_links,):
            raise ProblemError(f"labels must have one entry per link, {problem.n_links}, got {label.shape}")
        self.settings, self.problem, self.labels = settings, problem, compact(label)
        self.n_parts = int(self.labels.max(initial=0)) + 1
        self.links_of = [np.flatnonzero(self.labels == i) for i in range(self.n_parts)]
        self.interfaces: Interfaces = find_interfaces(
            problem, self.labels, settings.weak, macro=bool(settings.macro)
        )
        self._share = 1.0 / np.maximum(np.repeat(self.interfaces.sharing, problem.dofs_per_node), 1)
        self.directions = self._directions()
        self._layout = _Layout()
        with one_blas_thread():
            self.parts = self._make_parts()
            self._make_post()
            self._make_coarse()
        self.iterations = 0
        self._moved: list[Array] = []  # signed macro displacements of the last linear stage

    # ------------------------------------------------------------------ construction

    def _directions(self) -> list[Array]:
        """D of the components of each interface.

        By the rule of faces one number for all, the median over some strong interfaces of the larger of both
        sides: ragged interfaces of graph partitions have no face opposite to them, and single values scatter.
        """
        problem, kept, given = self.problem, self.interfaces.kept, self.settings.direction
        sizes = [len(each.nodes) * problem.dofs_per_node for each in kept]
        if not isinstance(given, str):
            numbers = np.asarray(given, dtype=np.float64)
            if numbers.ndim and numbers.shape != problem.F.shape:
                raise SettingsError(
                    f"direction must have one entry per component, {problem.F.shape}, got {numbers.shape}"
                )
            whole = np.broadcast_to(numbers, problem.F.shape)
            return [whole[problem.dofs(each.nodes)] for each in kept]

        strong = [each for each in kept if each.is_strong] or list(kept)
        some = strong[:: max(1, len(strong) // SAMPLE)]
        values = [
            max(face_stiffness(problem, self.links_of[side], each.nodes) for side in (each.a, each.b))
            for each in some
        ]
        return [np.full(size, float(np.median(values))) for size in sizes]

    def _basis(self, interface: Interface, scale: Array, is_free: Mask) -> Array:
        """Macro basis of an interface on its free components."""
        problem = self.problem
        if not interface.has_macro:
            return np.zeros((int(is_free.sum()), 0))
        if problem.points is None:
            fields = translations(len(interface.nodes), problem.dofs_per_node)
        else:
            fields = affine_fields(problem.points[interface.nodes], problem.dofs_per_node)
        if problem.units is not None:
            apart = fields.reshape(len(interface.nodes), problem.dofs_per_node, -1)
            fields = (problem.units[interface.nodes] @ apart).reshape(len(fields), -1)
        if not isinstance(self.settings.macro, bool):
            fields = fields[:, : self.settings.macro]
        return orthonormal(fields, is_free, scale[is_free])

    def _make_parts(self) -> list[Substructure]:
        problem, layout = self.problem, self._layout
        is_free = ~problem.is_blocked
        traces: list[list[Trace]] = [[] for _ in range(self.n_parts)]
        places: list[list[Indices]] = [[] for _ in range(self.n_parts)]
        sides: list[list[tuple[int, int]]] = [[] for _ in range(self.n_parts)]
        number = np.full(len(is_free), -1)
        layout.free_of = [
            problem.dofs(nodes)[is_free[problem.dofs(nodes)]] for nodes in self.interfaces.nodes_of
        ]
        size = 0
        for j, (each, d) in enumerate(zip(self.interfaces.kept, self.directions, strict=True)):
            dofs = problem.dofs(each.nodes)
            kept = is_free[dofs]
            scale = np.sqrt(d)
            basis = self._basis(each, scale, kept)
            macro = np.arange(size, size + basis.shape[1])
            size += basis.shape[1]
            for side, sign in ((each.a, 1.0), (each.b, -1.0)):
                number[layout.free_of[side]] = np.arange(len(layout.free_of[side]))
                traces[side].append(Trace(j, sign, number[dofs[kept]], scale[kept], basis))
                places[side].append(macro)
            sides[each.a].append((each.b, len(traces[each.b]) - 1))
            sides[each.b].append((each.a, len(traces[each.a]) - 1))
        layout.across, self.n_macro = sides, size
        empty = np.zeros(0, dtype=np.int64)
        layout.places = [np.concatenate(each) if each else empty for each in places]
        l = self.settings.link_direction * problem.law.stiffness()
        made = []
        for i, (links, dofs) in enumerate(zip(self.links_of, layout.free_of, strict=True)):
            rows = problem.rows(links)
            mass = None
            if problem.M is not None:
                mass = problem.M[dofs][:, dofs] * self._share[dofs][:, None]
            made.append(
                Substructure(
                    f"substructure {i}",
                    problem.B[rows][:, dofs].tocsr(),
                    problem.law.restrict(links),
                    l[rows],
                    problem.F[dofs] * self._share[dofs],
                    None if mass is None else mass.tocsr(),
                    traces[i],
                )
            )
        return made

    def _make_post(self) -> None:
        """Who sends what each substructure receives."""
        ends = np.cumsum([0] + [len(part.dofs) for part in self.parts])
        self._layout.letters = [slice(a, b) for a, b in pairwise(ends)]
        senders = [
            ends[other] + np.arange(len(self.parts[other].dofs))[self.parts[other].parts[place]]
            for across in self._layout.across
            for other, place in across
        ]
        self._layout.sender = np.concatenate([np.zeros(0, dtype=np.int64), *senders])

    def _make_coarse(self) -> None:
        kappa = self.settings.macro_direction
        self.coarse = CoarseProblem(self.parts, self._layout.places, self.n_macro, kappa)

    def load(self, F: Array) -> None:
        """Change the loads (dofs,); nothing is factorised again."""
        for part, dofs in zip(self.parts, self._layout.free_of, strict=True):
            part.F = F[dofs] * self._share[dofs]

    def reset(self) -> None:
        """Start again from rest."""
        for part in self.parts:
            part.reset()
        self.coarse.f_hat[:] = 0.0
        self.iterations = 0

    # ------------------------------------------------------------------ iterations

    def linear_stage(self, team: Team | None = None, share: Share = one_by_one) -> None:
        """Equilibrium of the substructures, tied by the coarse problem, whose groups ``share`` gives away."""
        team = team or one_by_one(self.parts)
        self._moved = team("correct", self.coarse.solve(team("predict"), share))
        self.iterations += 1

    def local_stage(self, team: Team | None = None) -> None:
        """Laws of the links and of the interfaces."""
        team, relaxation = team or one_by_one(self.parts), self.settings.relaxation
        self.coarse.local(self._moved, relaxation)
        sent = team("local", self._for_all(relaxation), self._for_all(self.settings.together))
        team("receive", self._letters(sent), self._for_all(relaxation))

    def _letters(self, sent: list[Array]) -> list[Array]:
        """What each substructure receives of all that was sent."""
        post = np.concatenate(sent)[self._layout.sender]
        return [post[own] for own in self._layout.letters]

    def advance(self, count: int, team: Team, share: Share = one_by_one) -> None:
        """The stages of some iterations with two calls of the team in each, instead of four.

        Between two calls all wait for the slowest, which costs more than the work of small substructures. The
        local stage of a finite macro direction comes between, so that it has no such form.
        """
        if not count:
            return
        relaxation, together = (
            self._for_all(each) for each in (self.settings.relaxation, self.settings.together)
        )
        answers = team("predict")
        for left in reversed(range(count)):
            letters = self._letters(team("respond", self.coarse.solve(answers, share), relaxation, together))
            answers = team("proceed" if left else "receive", letters, relaxation)
        self.iterations += count

    def _for_all(self, value: Any) -> list[Any]:
        return [value] * self.n_parts

    @contextmanager
    def _team(self) -> Iterator[tuple[Team, Share]]:
        """Those who do the work of the substructures, and that of the coarse problem, as the settings say."""
        settings = self.settings
        if settings.comm is not None:
            with of_ranks(self.parts, settings.comm) as team:
                yield team, one_by_one
        elif settings.processes > 1:
            with of_processes(self.parts, settings.processes) as team:
                yield team, one_by_one
        elif settings.threads > 1:
            with pool(settings.threads) as share:
                yield share(self.parts), share
        else:
            yield one_by_one(self.parts), one_by_one

    def iterate(self, count: int, between: Callable[[Substructured], None] | None = None) -> None:
        """Do some iterations without measuring; ``between`` is called after each linear stage.

        With processes or ranks ``between`` sees the values of the start.
        """
        with one_blas_thread(), self._team() as (team, share):
            if between is None and math.isinf(self.settings.macro_direction):
                self.advance(count, team, share)
                return
            for _ in range(count):
                self.linear_stage(team, share)
                if between:
                    between(self)
                self.local_stage(team)

    def run(
        self,
        iterations: int,
        *,
        reference: Array | None = None,
        goal: float = 0.0,
        indicator: float = 0.0,
        watch: Callable[[Substructured], bool | None] | None = None,
    ) -> History:
        """Iterate; measure after each linear stage.

        Parameters
        ----------
        iterations : int
            How many at most.
        reference : array (dofs,), optional
            Displacements to measure the error against.
        goal : float
            Stop when the error is below.
        indicator : float
            Stop when the indicator is below.
        watch : callable, optional
            Called after each linear stage; True stops. Not with processes, which hold the values.
        """
        if watch and self.settings.is_spread:
            raise SettingsError("watch: values are in other processes until the run ends; take threads")
        etas, errors, size = [], [], 0.0
        with one_blas_thread(), self._team() as (team, share):
            if reference is not None:
                exact = [self.problem.B[self.problem.rows(links)] @ reference for links in self.links_of]
                size = sum(team("aim", exact)) or 1.0
            for _ in range(iterations):
                self.linear_stage(team, share)
                etas.append(_indicator(team("distance")))
                if reference is not None:
                    errors.append(math.sqrt(sum(team("missed")) / size))
                done = bool(errors and errors[-1] < goal) or etas[-1] < indicator
                if done or (watch and watch(self)):
                    break
                if self.settings.adapt and self.iterations in ADAPT_AT:
                    self._adapt()
                self.local_stage(team)
        return History(self.U, np.array(etas), np.array(errors))

    def redirect(self, links: list[Array], factor: float) -> None:
        """Change search directions between a linear and a local stage; factorises all again.

        Parameters
        ----------
        links : list of arrays
            New directions l of the links of each substructure.
        factor : float
            Multiplies d of all interfaces.
        """
        for part, l in zip(self.parts, links, strict=True):
            part.redirect(l, factor)
        self.directions = [d * factor for d in self.directions]
        root, f, f_hat = math.sqrt(factor), self.coarse.f, self.coarse.f_hat
        self._make_coarse()
        self.coarse.f, self.coarse.f_hat = f / root, f_hat / root
        self._moved = [u * root for u in self._moved]

    def balance(self) -> float:
        """Jump of displacements over jump of forces at the interfaces: above 1, d is too small."""
        moved = pulled = 0.0
        for i, part in enumerate(self.parts):
            for own, (other, place) in zip(part.parts, self._layout.across[i], strict=True):
                theirs = self.parts[other].parts[place]
                moved += float(np.sum((part.U_micro[own] - self.parts[other].U_micro[theirs]) ** 2))
                pulled += float(np.sum((part.F_micro[own] + self.parts[other].F_micro[theirs]) ** 2))
        return math.sqrt(moved / pulled) if moved > 0.0 and pulled > 0.0 else 1.0

    def link_balance(self) -> float:
        """How far elongations of the two stages are apart, over their last move: above 1, l is too small."""
        missed = moved = 0.0
        for part in self.parts:
            off, step = part.e - part.e_hat, part.e_hat - part.e_before
            missed += float(off @ (part.l * off))
            moved += float(step @ (part.l * step))
        return math.sqrt(missed / moved) if missed > 0.0 and moved > 0.0 else 1.0

    def _adapt(self) -> None:
        """Smaller l in slack cables; d stiffer while displacements jump more than forces."""
        links = [
            self.settings.link_direction
            * np.maximum(part.law.tangent(part.e), SOFTENED * part.law.stiffness())
            for part in self.parts
        ]
        quotient = self.balance() if self.iterations in BALANCE_AT else 1.0
        is_off = not 1.0 / UNBALANCED < quotient < UNBALANCED
        self.redirect(links, min(max(quotient, 0.25), 4.0) if is_off else 1.0)

    # ------------------------------------------------------------------ what came out

    @property
    def U(self) -> Array:
        """Displacements of the linear stage, mean of the copies at shared nodes (dofs,)."""
        total = np.zeros(len(self.problem.F))
        for part, dofs in zip(self.parts, self._layout.free_of, strict=True):
            total[dofs] += part.U * self._share[dofs]
        return total

    def _gather(self, name: str) -> Array:
        total = np.zeros(self.problem.law.n_rows)
        for part, links in zip(self.parts, self.links_of, strict=True):
            total[self.problem.rows(links)] = getattr(part, name)
        return total

    @property
    def t(self) -> Array:
        """Forces of the linear stage, in equilibrium (rows,)."""
        return self._gather("t")

    @property
    def e(self) -> Array:
        """Elongations of the linear stage (rows,)."""
        return self._gather("e")

    @property
    def t_hat(self) -> Array:
        """Forces of the local stage, which obey the law (rows,)."""
        return self._gather("t_hat")

    @property
    def e_hat(self) -> Array:
        """Elongations of the local stage (rows,)."""
        return self._gather("e_hat")

    def indicator(self) -> float:
        """η = Δη/η̃, from the linear stage and the local stage before it; needs no reference."""
        return _indicator([part.distance() for part in self.parts])

    @property
    def kernels(self) -> list[int]:
        """Rigid motions of each substructure that nothing holds."""
        return [part.rigid.shape[1] for part in self.parts]


def _indicator(distances: list[tuple[float, float, float]]) -> float:
    """η from the squares that each substructure has."""
    far, size, rest = np.sum(distances, axis=0)
    size = max(size, ROUNDING**2 * rest)
    return float(math.sqrt(far / size)) if size > 0.0 else 0.0
