"""Rounds of cuts at the root of a mixed-integer program, and the integrality gap they close.

A round solves the linear relaxation, makes cuts for splits of fractional variables, keeps some and adds them.
The bound rises from that of the relaxation, f_0, towards the optimum f*; the *gap closed* is (f_k − f_0)/(f*
− f_0). Cuts of earlier rounds are rows of the later ones, so that the rank of the cuts grows with the rounds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from clapas.cuts.cut import Cut
from clapas.cuts.deepest import deepest_cut
from clapas.cuts.disjunction import Disjunction
from clapas.cuts.facets import decompose
from clapas.cuts.intersection import intersection_cut
from clapas.cuts.milp import MILP
from clapas.cuts.most_violated import most_violated_cut
from clapas.cuts.relaxation import NoSolution, Relaxation, Vertex
from clapas.cuts.selection import Selection
from clapas.cuts.strengthening import strengthened
from clapas.errors import ProblemError, SettingsError
from clapas.typing import Array, Indices

Kind = Literal["facets", "deepest", "violated", "intersection"]
KINDS: tuple[Kind, ...] = ("facets", "deepest", "violated", "intersection")

FRACTIONAL = 1e-6  # distance from the integers below which a variable is one
UNPROVED = 1e-6  # error of the multipliers, relative to the cut, above which it is rejected
TINY = 1e-7  # coefficient, relative to the largest, that is replaced by a bound of its variable
SAFETY = 1e-9  # by which right-hand sides are relaxed: linear programs are not exact
CALLS = 2  # linear programs of a decomposition, per variable; the pieces found so far are valid cuts
NO_PROGRESS = 1e-9  # relative rise of the bound that counts as none


@dataclass(frozen=True, kw_only=True)
class CuttingPlanes:
    """Rounds of split cuts on the fractional variables of the relaxation.

    Parameters
    ----------
    kind : "facets", "deepest", "violated" or "intersection"
        Decomposition of the deepest cut, the deepest cut itself, the most violated one (lift-and-project), or
        the intersection cut of the vertex.
    rounds : int
        Largest number; fewer if no variable is fractional or the bound no longer rises.
    splits : int
        Fractional variables taken in a round, the most fractional first.
    factor : float
        Normalisation of "facets" and "violated", in that of the intersection cut; at least 1.
    strengthen : bool
        Use the integrality of the other variables (Balas and Jeroslow).
    selection : Selection
        Which of the cuts of a round are added.
    time_limit : float
        Seconds, after which no round is begun.

    Examples
    --------
    >>> from clapas.cuts.instances import knapsack
    >>> report = CuttingPlanes(kind="violated", rounds=3).run(knapsack(20, seed=0))
    >>> report.bounds[0] < report.bounds[-1]
    True
    """

    kind: Kind = "facets"
    rounds: int = 5
    splits: int = 10
    factor: float = 10.0
    strengthen: bool = False
    selection: Selection = field(default_factory=Selection)
    time_limit: float = math.inf

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise SettingsError(f"kind must be one of {', '.join(KINDS)}, got '{self.kind}'")
        if self.rounds < 1 or self.splits < 1:
            raise SettingsError(f"rounds and splits must be at least 1, got {self.rounds} and {self.splits}")
        if not (self.factor >= 1.0 and math.isfinite(self.factor)):
            raise SettingsError(f"factor must be a number of at least 1, got {self.factor}")

    def run(self, problem: MILP, progress: Callable[[Round], bool] | None = None) -> Report:
        """Do the rounds; ``progress`` is called after each and may return True to stop.

        Raises
        ------
        ProblemError
            The relaxation is infeasible or unbounded, before any cut. Cuts that leave nothing are no error
            but a proof: ``is_infeasible`` of the report.
        """
        start = time.perf_counter()
        relaxation = Relaxation(problem)
        vertex = relaxation.solve()
        bounds, rounds, kept = [vertex.value + problem.offset], [], [np.zeros((0, len(vertex.x) + 1))]
        ending, is_infeasible = f"{self.rounds} rounds done", False
        for number in range(1, self.rounds + 1):
            fractional = _fractional(problem, vertex.x)
            if len(fractional) == 0:
                ending = "nothing to separate: the relaxation has an integer solution"
                break
            if time.perf_counter() - start >= self.time_limit:
                ending = f"time limit of {self.time_limit:g} s reached"
                break
            new_cuts, rejected = self._cuts(problem, vertex, fractional[: self.splits])
            d, right = new_cuts[:, :-1], new_cuts[:, -1]
            chosen = self.selection.choose(d, d @ vertex.x - right)
            if len(chosen) == 0:
                # Two empty branches have no hull from which to be far: a proof, but no cut.
                proof = _empty_split(relaxation, vertex, fractional[: self.splits])
                ending, is_infeasible = proof or "no more cuts: none is deep enough", bool(proof)
                break
            relaxation.add(d[chosen], right[chosen])
            kept.append(new_cuts[chosen])
            before = vertex
            try:
                vertex = relaxation.solve()
            except NoSolution:
                ending = (
                    f"the relaxation with the cuts of round {number} has no solution: the problem has none"
                )
                is_infeasible = True
                break
            relaxation.drop_slack_cuts(vertex.x)
            bounds.append(vertex.value + problem.offset)
            rounds.append(
                Round(
                    number=number,
                    bound=bounds[-1],
                    fractional=len(fractional),
                    cuts_made=len(new_cuts),
                    cuts_kept=len(chosen),
                    cuts_refused=rejected,
                    depth=float((d[chosen] @ before.x - right[chosen]).max()),
                    density=float((np.abs(d[chosen]) > SAFETY).mean()),
                    cuts_present=relaxation.n_cuts,
                    seconds=time.perf_counter() - start,
                )
            )
            if progress is not None and progress(rounds[-1]):
                ending = "stopped"
                break
            if bounds[-1] - bounds[-2] <= NO_PROGRESS * max(1.0, abs(bounds[-1])) and not _moved(
                before, vertex
            ):
                ending = "no more cuts: the vertex stays where it is"
                break
        all_cuts = np.vstack(kept)
        return Report(
            problem=problem,
            settings=self,
            bounds=tuple(bounds),
            rounds=tuple(rounds),
            ending=ending,
            x=vertex.x,
            cuts=all_cuts[:, :-1],
            rights=all_cuts[:, -1],
            seconds=time.perf_counter() - start,
            is_infeasible=is_infeasible,
        )

    def _cuts(self, problem: MILP, vertex: Vertex, variables: Indices) -> tuple[Array, int]:
        """Cuts (d, right) of splits on some variables, of length one, and the number rejected."""
        accepted, rejected = [], 0
        for j in variables:
            disjunction = Disjunction.split(vertex.A, vertex.b, vertex.x, int(j))
            for cut in self._of(disjunction, vertex):
                if cut.error(disjunction) > UNPROVED:
                    rejected += 1
                    continue
                if self.strengthen:
                    d, right = strengthened(cut, disjunction, vertex, problem)
                else:
                    d, right = cut.d, cut.right(disjunction)
                accepted.append(_scaled_and_cleaned(d, right, problem))
        return np.array(accepted).reshape(-1, len(vertex.x) + 1), rejected

    def _of(self, disjunction: Disjunction, vertex: Vertex) -> list[Cut]:
        try:
            if self.kind == "intersection":
                return [intersection_cut(disjunction, vertex.basis)]
            if self.kind == "violated":
                return [most_violated_cut(disjunction, factor=self.factor, basis=vertex.basis)]
            if self.kind == "deepest":
                return [deepest_cut(disjunction)]
            calls = CALLS * len(vertex.x)
            return decompose(disjunction, factor=self.factor, basis=vertex.basis, max_calls=calls).cuts
        except ProblemError:
            # Rounding: a degenerate vertex, or a failure of HiGHS. Other splits may succeed.
            return []


def _empty_split(relaxation: Relaxation, vertex: Vertex, variables: Indices) -> str:
    """Why the problem has no solution, if a split of one of the variables has two empty sides; else empty."""
    for j in variables:
        if relaxation.is_split_empty(int(j), float(vertex.x[j])):
            below = math.floor(vertex.x[j])
            return (
                f"the relaxation has no solution with variable {j + 1} at most {below}, and none "
                f"with at least {below + 1}: the problem has none"
            )
    return ""


@dataclass(frozen=True)
class Round:
    """Statistics of a round.

    Parameters
    ----------
    number : int
        From 1.
    bound : float
        Of the relaxation after it, in the sense of the minimisation.
    fractional : int
        Fractional variables before it.
    cuts_made, cuts_kept, cuts_refused : int
        Cuts found, added, and rejected because rounding spoilt their proof.
    depth : float
        Distance of the deepest of those kept.
    density : float
        Share of nonzeros in those kept.
    cuts_present : int
        Cuts in the relaxation after those without effect were deleted.
    seconds : float
        Since the start.
    """

    number: int
    bound: float
    fractional: int
    cuts_made: int
    cuts_kept: int
    cuts_refused: int
    depth: float
    density: float
    cuts_present: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Report:
    """Rounds of cuts and their bounds.

    Parameters
    ----------
    problem : MILP
        The problem.
    settings : CuttingPlanes
        The settings.
    bounds : tuple of float
        Of the relaxation and after each round, in the sense of the minimisation.
    rounds : tuple of Round
        One each.
    ending : str
        Why there was no further round.
    x : array (n,)
        Solution of the last relaxation.
    cuts, rights : array (k, n), (k,)
        All cuts added, d·x ≤ right, also those deleted later.
    seconds : float
        Wall time.
    is_infeasible : bool
        The cuts, or a split of which both sides are empty, prove that the problem has no solution.
    """

    problem: MILP
    settings: CuttingPlanes
    bounds: tuple[float, ...]
    rounds: tuple[Round, ...]
    ending: str
    x: Array
    cuts: Array
    rights: Array
    seconds: float
    is_infeasible: bool = False

    @property
    def is_integer(self) -> bool:
        """The last relaxation has an integer solution: the problem is solved."""
        return len(_fractional(self.problem, self.x)) == 0

    def gap_closed(self, optimum: float) -> tuple[float, ...]:
        """Share of the gap between relaxation and optimum that is closed at the start and after each round.

        ``optimum`` in the sense of the minimisation. Not a number where there is no gap.
        """
        gap = optimum - self.bounds[0]
        if gap <= NO_PROGRESS * max(1.0, abs(optimum)):
            return tuple(math.nan for _ in self.bounds)
        return tuple((bound - self.bounds[0]) / gap for bound in self.bounds)

    def violation(self, x: Array) -> float:
        """Largest violation of a cut at a point; zero up to rounding at integer solutions."""
        return float((self.cuts @ x - self.rights).max(initial=0.0))


def _fractional(problem: MILP, x: Array) -> Indices:
    """Integer variables with fractional values, the most fractional first."""
    part = np.where(problem.is_integer, np.abs(x - np.round(x)), 0.0)
    order = np.argsort(-part, kind="stable")
    return order[part[order] > FRACTIONAL]


def _scaled_and_cleaned(d: Array, right: float, problem: MILP) -> Array:
    """(d, right) of length one, tiny coefficients replaced by lower bounds of their terms."""
    d = d.copy()
    bound = np.where(d > 0.0, problem.lower, problem.upper)
    tiny = (np.abs(d) <= TINY * np.abs(d).max()) & (d != 0.0) & np.isfinite(bound)
    right -= float(d[tiny] @ bound[tiny])
    d[tiny] = 0.0
    size = float(np.linalg.norm(d))
    return np.append(d / size, right / size + SAFETY * max(1.0, abs(right) / size))


def _moved(before: Vertex, after: Vertex) -> bool:
    return bool(np.abs(before.x - after.x).max() > FRACTIONAL)
