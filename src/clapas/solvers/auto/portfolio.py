"""The portfolio under way: Gauss-Seidel alone, a race on the whole, then one for each part that is left."""

from __future__ import annotations

import math
import time
from itertools import islice
from typing import ClassVar

import numpy as np

from clapas.convex import CoulombCone
from clapas.problems.contact import ContactProblem
from clapas.problems.conversions import Component, split
from clapas.solvers.auto.contenders import OPENING, contenders, opening
from clapas.solvers.auto.race import Race, Runner
from clapas.solvers.loop import Halt, Iteration
from clapas.typing import Array, Indices

WORTH_SPLITTING = 0.7  # share of the contacts that is left, from which the whole goes on as it is
TOGETHER = 300.0  # work on the whole before parts are told apart, which costs as much as some of it


class Portfolio(Iteration):
    """Gauss-Seidel alone, then races one after the other; the current impulses are the best of each."""

    repeats_when_stuck: ClassVar[bool] = False

    def __init__(
        self, problem: ContactProblem, guess: Array, tol: float, time_limit: float = math.inf
    ) -> None:
        self._problem, self._tol = problem, tol
        self._deadline = time.perf_counter() + time_limit
        self._guess = self._r = guess
        first = opening(problem, tol)
        self._first = Runner(first, first.solver.start(problem, guess))
        self._whole: Race | None = None
        self._parts: list[tuple[Component, Race]] | None = None

    @property
    def ran(self) -> str:
        """The methods whose impulses these are."""
        if self._whole is None:
            return self._first.ran
        races = [self._whole, *(race for _, race in self._parts or ())]
        return "; ".join(dict.fromkeys(race.leader.ran for race in races if race.leader is not None))

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]  # made when they are read, not at every turn
        """What the methods did, on the whole and on parts of it."""
        if self._whole is None:
            return (str(self._first),)
        parts = (f"{len(c.contacts)} contacts: {note}" for c, on in self._parts or () for note in on.notes)
        return (*self._whole.notes, *islice(parts, 20))

    def impulses(self) -> Array:
        """The best impulses of every part."""
        if self._whole is None:
            return self._first.impulses()
        if not self._parts:
            return self._whole.r
        for component, race in self._parts:
            self._r[component.contacts] = race.r
        return self._r

    def advance(self, count: int) -> int:
        """Some sweeps, or a turn of a race; the number of iterations it took."""
        if self._whole is None and self._first.work < OPENING:
            return self._first.advance(count)
        race = self._current()
        done = race.run()
        if self._parts and self._problem.packed:  # measuring the whole costs more than a turn of a part
            done += sum(other.run() for _, other in self._parts if other is not race and not other.is_solved)
        if not race.is_solved and (verdict := race.verdict):
            raise Halt(verdict)
        return done

    def _current(self) -> Race:
        if self._whole is None:
            best = self._first.impulses().copy()
            field = contenders(self._problem, self._tol)
            self._whole = Race(self._problem, self._guess, self._tol, field, best, self._deadline)
            self._whole.let_in(self._first)
        # Parts of rods and the like are told apart at little cost, and Newton's method suits small ones.
        together = 0.0 if self._problem.packed else TOGETHER
        if self._parts is None and sum(runner.work for runner in self._whole.runners) >= together:
            self._parts = self._unsolved_parts(self._whole)
        if not self._parts:
            return self._whole
        return next((race for _, race in self._parts if not race.is_solved), self._parts[-1][1])

    def _unsolved_parts(self, whole: Race) -> list[tuple[Component, Race]]:
        """Races for the components that are not solved; none if this is nearly all of the problem."""
        packed = self._problem.packed is not None
        if len(whole.runners) == 1 and not packed:  # nobody to hand them over to
            return []
        if not isinstance(self._problem.cone, CoulombCone):  # parts are problems of Coulomb's law
            return []
        r = self._r = whole.r.copy()
        violation = np.linalg.norm(self._problem.violation(r), axis=1)
        speed = self._problem.free_speed or 1.0
        n = self._problem.n_contacts

        def goal_of(contacts: Indices) -> float:
            return float(self._tol * speed * np.sqrt(len(contacts) / n))

        def is_unsolved(contacts: Indices) -> bool:
            return bool(np.linalg.norm(violation[contacts]) > goal_of(contacts))

        parts = []
        for component in split(self._problem, is_unsolved):
            goal = goal_of(component.contacts)
            tol = goal / component.problem.free_speed if component.problem.free_speed else self._tol
            part, at = component.problem, component.contacts
            guess = r[at] if packed else self._guess[at]
            race = Race(part, guess, tol, contenders(part, tol), r[at], self._deadline)
            parts.append((component, race))
        left = sum(len(component.contacts) for component, _ in parts)
        largest = max((len(component.contacts) for component, _ in parts), default=0)
        worth = left <= WORTH_SPLITTING * n or (packed and largest <= WORTH_SPLITTING * n)
        return parts if worth else []
