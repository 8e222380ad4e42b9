"""Iterations of the micro-macro LATIN method, and their results."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from clapas.compiled.threads import one_blas_thread
from clapas.errors import SettingsError
from clapas.multiscale.coarse import CoarseProblem
from clapas.multiscale.cutting import Cut
from clapas.multiscale.problem import LinkProblem
from clapas.multiscale.run import MatrixStore, Run
from clapas.multiscale.team import Share, Team, cut, of_processes, of_ranks, one_by_one, pool
from clapas.status import Status
from clapas.typing import Array

if TYPE_CHECKING:
    from clapas.multiscale.latin import MicroMacroLATIN

ADAPT_AT = (4, 8, 16, 32)  # iterations after which directions may be adapted
BALANCE_AT = (4, 8)  # iterations after which d may be adapted too; later it would drift
SOFTENED = 0.3  # direction of links without stiffness (slack cables), relative to tight ones
ROUNDING = 1e-10  # size of a state, relative to the forces at rest, below which it counts as zero
STALLED = 1e-15  # indicator below which the stages differ by rounding only
AT_LEAST = 50  # iterations between two measures of the residual, unless the indicator asks for one
SHARPEST = 1e-3  # least factor from one indicator asked for to the next
UNBALANCED = 2.0  # ratio of the two jumps at interfaces from which a direction is changed


@dataclass(frozen=True)
class History:
    """Measures after each linear stage.

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


@dataclass(frozen=True)
class Convergence:
    """End of :meth:`Substructured.converge`: measures of the iterations, residual of the answer, status."""

    history: History
    residual: float
    status: Status


@dataclass(frozen=True)
class Crew:
    """The team of substructures, and the distribution of the coarse problem.

    Parameters
    ----------
    team : Team
        Its members are substructures, or runs of them.
    cuts : sequence of int
        Number of the first substructure of each member of the team, then the number of substructures.
    share : Share
        Distributes the groups of the coarse problem.
    """

    team: Team
    cuts: Sequence[int]
    share: Share = one_by_one

    @property
    def size(self) -> int:
        """Members of the team."""
        return len(self.cuts) - 1

    def split(self, values: Array, places: list[slice]) -> list[Array]:
        """Split concatenated values of all substructures by member; ``places`` are their slices."""
        return [values[places[a].start : places[b - 1].stop] for a, b in pairwise(self.cuts)]


class Substructured:
    """A problem cut into substructures, factorised; made by :meth:`MicroMacroLATIN.prepare`.

    The values of both stages stay readable in ``parts``: ``U, e, t`` of the linear stage, ``e_hat, t_hat`` of
    the local one. Loads may be changed (:meth:`load`) without a new factorisation.
    """

    def __init__(self, settings: MicroMacroLATIN, problem: LinkProblem, labels: npt.ArrayLike) -> None:
        self.settings, self.problem = settings, problem
        with one_blas_thread():
            self.cut = Cut(settings, problem, labels)
            self.parts, self.directions = self.cut.parts, self.cut.directions
            self.labels, self.links_of = self.cut.labels, self.cut.links_of
            self.interfaces, self.n_parts, self.n_macro = (
                self.cut.interfaces,
                self.cut.n_parts,
                self.cut.n_macro,
            )
            self._make_coarse()
        self.iterations = 0
        self._runs: list[Run] = []
        self._macro_displacements: list[Array] = []  # signed macro displacements of the last linear stage

    def _make_coarse(self) -> None:
        kappa = self.settings.macro_direction
        self.coarse = CoarseProblem(self.parts, self.cut.places, self.n_macro, kappa)

    def load(self, F: Array) -> None:
        """Change the loads (dofs,); nothing is factorised again."""
        for part, dofs in zip(self.parts, self.cut.free_of, strict=True):
            part.F = F[dofs] * self.cut.share[dofs]

    def reset(self) -> None:
        """Start again from rest."""
        for part in self.parts:
            part.reset()
        self.coarse.f_hat[:] = 0.0
        self.iterations = 0

    # ------------------------------------------------------------------ iterations

    def linear_stage(self, crew: Crew | None = None) -> None:
        """Equilibrium of the substructures, coupled by the coarse problem."""
        crew = crew or self.crew()
        coarse_values = self.coarse.solve(crew.team("predict"), crew.share)
        self._macro_displacements = crew.team("correct", crew.split(coarse_values, self.coarse.slices))
        self.iterations += 1

    def local_stage(self, crew: Crew | None = None) -> None:
        """Laws of the links and of the interfaces."""
        crew, settings = crew or self.crew(), self.settings
        relaxation = [settings.relaxation] * crew.size
        self.coarse.local(self._macro_displacements, settings.relaxation)
        received = self._exchange(crew.team("local", relaxation, [settings.together] * crew.size))
        crew.team("receive", crew.split(received, self.cut.received), relaxation)

    def _exchange(self, sent: list[Array]) -> Array:
        """Vectors received by all substructures, concatenated, from those sent."""
        return np.asarray(np.concatenate(sent)[self.cut.sender])

    def advance(self, count: int, crew: Crew) -> None:
        """Several iterations with two calls of the team in each, instead of four.

        At each call all wait for the slowest, which costs more than the work of small substructures. The
        local stage of a finite macro direction lies in between, so that it does not allow this.
        """
        if not count:
            return
        team, coarse, received = crew.team, self.coarse.slices, self.cut.received
        relaxation = [self.settings.relaxation] * crew.size
        together = [self.settings.together] * crew.size
        predictions = team("predict")
        for remaining in reversed(range(count)):
            coarse_values = crew.split(self.coarse.solve(predictions, crew.share), coarse)
            messages = crew.split(
                self._exchange(team("respond", coarse_values, relaxation, together)), received
            )
            predictions = team("proceed" if remaining else "receive", messages, relaxation)
        self.iterations += count

    def runs(self, count: int) -> list[Run]:
        """The substructures in ``count`` compiled runs; empty where their laws or sizes do not allow runs."""
        if self.settings.together is not None or not all(map(Run.takes, self.parts)):
            return []
        if len(self._runs) != min(count, self.n_parts):
            store = MatrixStore(self.parts)
            self._runs = [Run(self.parts[a:b], store, a) for a, b in pairwise(cut(self.n_parts, count))]
        return self._runs

    def crew(self, count: int = 1, share: Share = one_by_one) -> Crew:
        """The crew of ``count`` threads, made by ``share``: compiled runs of substructures if possible."""
        runs = self.runs(count)
        for each in runs:
            each.join()
        if runs:
            return Crew(share(runs), cut(self.n_parts, count), share)
        return Crew(share(self.parts), range(self.n_parts + 1), share)

    @contextmanager
    def _crew(self) -> Iterator[Crew]:
        """The crew for the substructures and the coarse problem, according to the settings."""
        settings, all_parts = self.settings, range(self.n_parts + 1)
        if settings.comm is not None:
            with of_ranks(self.parts, settings.comm) as team:
                yield Crew(team, all_parts)
        elif settings.processes > 1:
            with of_processes(self.parts, settings.processes) as team:
                yield Crew(team, all_parts)
        elif settings.threads > 1:
            with pool(settings.threads) as share:
                yield self.crew(settings.threads, share)
        else:
            yield self.crew()

    def iterate(self, count: int, between: Callable[[Substructured], None] | None = None) -> None:
        """Do some iterations without measuring; ``between`` is called after each linear stage.

        With processes or ranks ``between`` sees the values of the start.
        """
        with one_blas_thread(), self._crew() as crew:
            if between is None and math.isinf(self.settings.macro_direction):
                self.advance(count, crew)
                return
            for _ in range(count):
                self.linear_stage(crew)
                if between:
                    between(self)
                self.local_stage(crew)

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
            Largest number of iterations.
        reference : array (dofs,), optional
            Displacements to measure the error against.
        goal : float
            Stop when the error is below.
        indicator : float
            Stop when the indicator is below.
        watch : callable, optional
            Called after each linear stage; True stops. Not available with processes, which hold the values.
        """
        if watch and self.settings.is_spread:
            raise SettingsError("watch: values are in other processes until the run ends; take threads")
        etas, errors, size = [], [], 0.0
        with one_blas_thread(), self._crew() as crew:
            if reference is not None:
                references = [self.problem.B[self.problem.rows(links)] @ reference for links in self.links_of]
                by_member = [np.concatenate(references[a:b]) for a, b in pairwise(crew.cuts)]
                size = _total(crew.team("set_reference", by_member)) or 1.0
            for _ in range(iterations):
                self.linear_stage(crew)
                etas.append(_indicator(crew.team("distance")))
                if reference is not None:
                    errors.append(math.sqrt(_total(crew.team("squared_error")) / size))
                converged = bool(errors and errors[-1] < goal) or etas[-1] < indicator
                if converged or (watch and watch(self)):
                    break
                if self.settings.adapt and self.iterations in ADAPT_AT:
                    self._adapt()
                self.local_stage(crew)
        return History(self.U, np.array(etas), np.array(errors))

    def converge(
        self,
        iterations: int,
        tol: float,
        residual: Callable[[], float],
        watch: Callable[[Substructured], bool | None] | None = None,
    ) -> Convergence:
        """Iterate until the residual of the assembled answer is at most ``tol``.

        The indicator compares two stages of an iteration. It is small too where each iteration changes
        little, far from the answer: it only says when it is worth measuring the residual, which is
        measured besides whenever the iterations have grown by half.

        Parameters
        ----------
        iterations : int
            Largest number of iterations.
        tol : float
            Largest residual accepted.
        residual : callable
            Residual of the whole problem at the present values.
        watch : callable, optional
            Called after each linear stage, as in :meth:`run`; without effect on the end.
        """
        etas: list[Array] = []
        goal, done = tol, 0
        while True:
            count = min(iterations - done, max(AT_LEAST, done // 2))
            history = self.run(count, indicator=goal, watch=watch)
            etas.append(history.indicator)
            done += len(history.indicator)
            left, eta = residual(), float(history.indicator[-1])
            if left <= tol:
                status = Status.SOLVED
            elif not math.isfinite(left):
                status = Status.NUMERICAL_ERROR
            elif done >= iterations:
                status = Status.MAX_ITERATIONS
            elif eta <= STALLED:
                status = Status.STALLED
            else:
                if eta < goal:
                    goal = 0.5 * eta * max(tol / left, SHARPEST)
                continue
            return Convergence(History(history.U, np.concatenate(etas), history.error), left, status)

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
        store = MatrixStore(self.parts) if self._runs else None
        for run in self._runs:
            assert store is not None
            run.renew(store)
            run.join()
        self.directions = [d * factor for d in self.directions]
        root, f, f_hat = math.sqrt(factor), self.coarse.f, self.coarse.f_hat
        self._make_coarse()
        self.coarse.f, self.coarse.f_hat = f / root, f_hat / root
        self._macro_displacements = [u * root for u in self._macro_displacements]

    def balance(self) -> float:
        """Jump of displacements over jump of forces at the interfaces: above 1, d is too small."""
        displacement_jump = force_jump = 0.0
        for i, part in enumerate(self.parts):
            for own, (other, place) in zip(part.parts, self.cut.across[i], strict=True):
                theirs = self.parts[other].parts[place]
                displacement_jump += float(
                    np.sum((part.U_micro[own] - self.parts[other].U_micro[theirs]) ** 2)
                )
                force_jump += float(np.sum((part.F_micro[own] + self.parts[other].F_micro[theirs]) ** 2))
        return (
            math.sqrt(displacement_jump / force_jump) if displacement_jump > 0.0 and force_jump > 0.0 else 1.0
        )

    def link_balance(self) -> float:
        """Distance between elongations of the two stages, over their last change: above 1, l is too small."""
        distance = change = 0.0
        for part in self.parts:
            gap, step = part.e - part.e_hat, part.e_hat - part.e_before
            distance += float(gap @ (part.l * gap))
            change += float(step @ (part.l * step))
        return math.sqrt(distance / change) if distance > 0.0 and change > 0.0 else 1.0

    def _adapt(self) -> None:
        """Reduce l in slack cables; increase d while displacements jump more than forces."""
        links = [
            self.settings.link_direction
            * np.maximum(part.law.tangent(part.e), SOFTENED * part.law.stiffness())
            for part in self.parts
        ]
        quotient = self.balance() if self.iterations in BALANCE_AT else 1.0
        is_unbalanced = not 1.0 / UNBALANCED < quotient < UNBALANCED
        self.redirect(links, min(max(quotient, 0.25), 4.0) if is_unbalanced else 1.0)

    # ------------------------------------------------------------------ results

    @property
    def U(self) -> Array:
        """Displacements of the linear stage, mean of the copies at shared nodes (dofs,)."""
        total = np.zeros(len(self.problem.F))
        for part, dofs in zip(self.parts, self.cut.free_of, strict=True):
            total[dofs] += part.U * self.cut.share[dofs]
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
        """Number of unsupported rigid motions of each substructure."""
        return [part.rigid.shape[1] for part in self.parts]


def _total(sums: list[Array]) -> float:
    """Sum over all substructures, in their order however they are distributed."""
    return float(np.concatenate(sums).sum())


def _indicator(distances: list[Array]) -> float:
    """η from the squared distances of each substructure."""
    distance, size, rest = np.concatenate(distances).sum(axis=0)
    size = max(size, ROUNDING**2 * rest)
    return float(math.sqrt(distance / size)) if size > 0.0 else 0.0
