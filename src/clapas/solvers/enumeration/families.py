"""Results of an enumeration: isolated solutions, and families of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from clapas.typing import Array


@dataclass(frozen=True, eq=False, kw_only=True)
class Family:
    """Solutions that are not isolated: those of one choice of modes.

    Parameters
    ----------
    modes : tuple of str
        Status of each contact: open, stick, slide, slide+ or slide-.
    dimension : int
        Number of independent directions in which a solution can move within the family.
    samples : tuple of arrays (n, d)
        Some members; in the plane the extreme ones come with points between them.
    directions : array (dimension, n, d)
        Basis of these directions at the first sample.
    is_bounded : bool or None
        Whether impulses are bounded in the family; None if it was not determined (in space).
    contains : callable (r, slack) → bool
        Membership; equations and inequalities may be violated by ``slack`` (N·s).
    """

    modes: tuple[str, ...]
    dimension: int
    samples: tuple[Array, ...]
    directions: Array
    is_bounded: bool | None
    contains: Callable[[Array, float], bool]

    @property
    def description(self) -> str:
        """The family in words."""
        extent = {True: "bounded", False: "unbounded", None: "of unknown extent"}[self.is_bounded]
        return f"{self.dimension}-dimensional, {extent}, modes {' '.join(self.modes)}"

    def __repr__(self) -> str:
        return f"Family({self.description})"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SolutionSet:
    """The solutions of a contact problem.

    Parameters
    ----------
    isolated : tuple of arrays (n, d)
        Solutions without others near them.
    continua : tuple of Family
        Solutions that are not isolated.
    complete : bool
        These are all: proved, up to rounding. Always so in the plane.
    """

    isolated: tuple[Array, ...] = ()
    continua: tuple[Family, ...] = field(default=())
    complete: bool

    @property
    def points(self) -> tuple[Array, ...]:
        """Every impulse listed: isolated ones, then members of the continua."""
        return self.isolated + tuple(r for family in self.continua for r in family.samples)

    @property
    def exists(self) -> bool | None:
        """Whether a solution exists; None if none was found but this is no proof."""
        if self.points:
            return True
        return False if self.complete else None

    @property
    def is_unique(self) -> bool:
        """Whether there is provably exactly one solution."""
        return self.complete and len(self.isolated) == 1 and not self.continua

    def contains(self, r: Array, slack: float) -> bool:
        """Whether r is one of the solutions, to within ``slack`` (N·s)."""
        near = any(float(np.abs(r - other).max(initial=0.0)) <= slack for other in self.isolated)
        return near or any(family.contains(r, slack) for family in self.continua)

    def __repr__(self) -> str:
        continua = "1 continuum" if len(self.continua) == 1 else f"{len(self.continua)} continua"
        extent = "all" if self.complete else "those found"
        return f"SolutionSet({len(self.isolated)} isolated, {continua}, {extent})"


def unit_length(directions: Array) -> Array:
    """Rows scaled to length one."""
    scaled: Array = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return scaled


def distinct(points: list[Array], same: float) -> list[Array]:
    """Points of which no two are nearer than ``same``, relative to their size."""
    kept: list[Array] = []
    for x in points:
        if all(np.abs(x - other).max() > same * (1.0 + np.abs(x).max()) for other in kept):
            kept.append(x)
    return kept
