"""A named contact problem with its known solutions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from clapas.errors import ProblemError
from clapas.problems.contact import ContactProblem
from clapas.typing import Array


@dataclass(frozen=True, eq=False, kw_only=True)
class Continuum:
    """Solutions that are not isolated: a segment, a ray, a polygon of impulses.

    Parameters
    ----------
    description : str
        The set in words or as a formula.
    samples : tuple of arrays (n, d)
        Some of its members, extreme ones where the set is bounded.
    contains : callable (r, slack) → bool
        Membership test; every equation and inequality may be violated by ``slack`` (N·s).
    """

    description: str
    samples: tuple[Array, ...]
    contains: Callable[[Array, float], bool]


@dataclass(frozen=True, eq=False, kw_only=True)
class Known:
    """Known facts on the solutions of a problem, by proof or by construction.

    Parameters
    ----------
    exists : bool or None
        Whether a solution exists; None if unknown.
    solutions : tuple of arrays (n, d)
        Isolated solutions.
    continuum : Continuum, optional
        Solutions that are not isolated.
    complete : bool
        ``solutions`` and ``continuum`` together are all the solutions.
    precision : float
        Largest residual of the listed solutions in double precision. Above its default only where
        the data themselves cost digits (mass ratios).
    """

    exists: bool | None = None
    solutions: tuple[Array, ...] = ()
    continuum: Continuum | None = None
    complete: bool = False
    precision: float = 1e-12

    def __post_init__(self) -> None:
        listed = bool(self.samples)
        if listed and self.exists is not True:
            raise ProblemError("solutions are listed, so exists must be True")
        if self.complete and not listed and self.exists is not False:
            raise ProblemError("complete without any solution means that none exists: set exists=False")

    @property
    def samples(self) -> tuple[Array, ...]:
        """Every impulse listed: the isolated solutions, then members of the continuum."""
        return self.solutions + (self.continuum.samples if self.continuum else ())

    @property
    def is_unique(self) -> bool:
        """Whether there is known to be exactly one solution."""
        return self.complete and self.continuum is None and len(self.solutions) == 1


NO_SOLUTION = Known(exists=False, complete=True)
EXISTS = Known(exists=True)


def only(*solutions: npt.ArrayLike, precision: float = 1e-12) -> Known:
    """All the solutions, each isolated."""
    arrays = tuple(np.asarray(r, dtype=float) for r in solutions)
    return Known(exists=True, solutions=arrays, complete=True, precision=precision)


def among(*solutions: npt.ArrayLike, precision: float = 1e-12) -> Known:
    """Some solutions; there may be others."""
    arrays = tuple(np.asarray(r, dtype=float) for r in solutions)
    return Known(exists=True, solutions=arrays, precision=precision)


@dataclass(frozen=True, eq=False, kw_only=True)
class GalleryProblem:
    """A contact problem with a name, its physics in one sentence and its known solutions.

    Parameters
    ----------
    name : str
        Words joined by hyphens; ``clapas.problems.gallery.get(name)`` builds the problem.
    problem : ContactProblem
        The data.
    reference : str
        Where the problem was published, by section; "" when it is elementary.
    description : str
        One sentence of physics.
    known : Known
        Known facts on the solutions.

    Examples
    --------
    >>> from clapas.problems import gallery
    >>> rod = gallery.get("painleve-up-two")
    >>> [rod.problem.residual(r) < 1e-12 for r in rod.known.solutions]
    [True, True]
    >>> rod.recognises([[1.0, -2.0]]), rod.recognises([[1.0, 0.0]])
    (True, False)
    """

    name: str
    problem: ContactProblem
    reference: str
    description: str
    known: Known = field(default_factory=Known)

    def recognises(self, r: npt.ArrayLike, tol: float = 1e-8) -> bool | None:
        """Whether r is one of the known solutions.

        ``tol`` is relative to the largest known impulse. None means that r is not listed and that
        the list is not complete: measure ``problem.residual(r)`` instead.
        """
        impulse = self.problem.impulse(r)
        slack = tol * self._impulse_scale()
        if any(_distance(impulse, solution) <= slack for solution in self.known.solutions):
            return True
        if self.known.continuum is not None and self.known.continuum.contains(impulse, slack):
            return True
        return False if self.known.complete else None

    def _impulse_scale(self) -> float:
        largest = max((_distance(r, 0.0) for r in self.known.samples), default=0.0)
        if largest > 0:
            return largest
        # Only r = 0 is known: the scale is that of impulses that would cancel the free velocity.
        needed = np.abs(self.problem.q) / self.problem.response[:, None]
        return float(np.max(needed, initial=0.0)) or 1.0


def in_cones(r: Array, mu: npt.ArrayLike, slack: float = 0.0) -> bool:
    """Whether every impulse lies in its friction cone |r_T| ≤ mu r_N."""
    return bool(np.all(np.linalg.norm(r[:, 1:], axis=1) <= np.asarray(mu) * r[:, 0] + slack)) and bool(
        np.all(r[:, 0] >= -slack)
    )


def _distance(r: Array, other: Array | float) -> float:
    return float(np.max(np.abs(r - other), initial=0.0))
