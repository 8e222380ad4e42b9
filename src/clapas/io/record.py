"""Contents of a problem file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from clapas.problems.contact import ContactProblem
from clapas.typing import Array

Kind: TypeAlias = Literal["auto", "local", "global"]


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredSolution:
    """An answer found in a file. It is data, not truth: measure it with ``problem.residual(r)``.

    Parameters
    ----------
    r : array (n, d)
        Impulses at the contacts.
    u : array (n, d), optional
        Velocities at the contacts.
    v : array (m,), optional
        Velocities of the bodies (global problems).
    multipliers : array (p,), optional
        Impulses of the bilateral rows, for files that have such rows.
    """

    r: Array
    u: Array | None = None
    v: Array | None = None
    multipliers: Array | None = None


@dataclass(frozen=True, kw_only=True)
class Info:
    """What the author of a file wrote about it. ``attributes`` are named numbers, e.g. a size."""

    title: str = ""
    description: str = ""
    math_info: str = ""
    attributes: Mapping[str, int | float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class ProblemFile:
    """A file with a contact problem and all that was stored beside it.

    Parameters
    ----------
    problem : ContactProblem
        The problem, in the letters and signs of this package.
    format : "fclib" or "siconos"
        How the file is written: HDF5 of FCLib, or plain text.
    kind : "local" or "global"
        What the file holds: W and q, or M and H. (A global file with bilateral rows gives a
        reduced problem.)
    solution : StoredSolution or None
        The stored answer; often a placeholder, never to be trusted unmeasured.
    guesses : tuple of StoredSolution
        Starting points for solvers.
    info : Info
        Title, description and mathematical remarks.
    notes : tuple of str
        What the reader did or noticed: rows eliminated, an asymmetric W, a placeholder.
    path : Path
        Where it came from.
    """

    problem: ContactProblem
    format: Literal["fclib", "siconos"]
    kind: Literal["local", "global"]
    path: Path
    solution: StoredSolution | None = None
    guesses: tuple[StoredSolution, ...] = ()
    info: Info = field(default_factory=Info)
    notes: tuple[str, ...] = ()
