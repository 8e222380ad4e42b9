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
    """A solution stored in a file, not verified: measure it with ``problem.residual(r)``.

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
    """Texts and named numbers (``attributes``, e.g. a size) by the author of a file."""

    title: str = ""
    description: str = ""
    math_info: str = ""
    attributes: Mapping[str, int | float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class ProblemFile:
    """A contact problem and the data stored with it.

    Parameters
    ----------
    problem : ContactProblem
        The problem, in the letters and signs of this package.
    format : "fclib" or "siconos"
        Format of the file: HDF5 of FCLib, or plain text.
    kind : "local" or "global"
        Contents of the file: W and q, or M and H. (A global file with bilateral rows gives a
        reduced problem.)
    solution : StoredSolution or None
        The stored solution; often a placeholder, so measure its residual.
    guesses : tuple of StoredSolution
        Starting points for solvers.
    info : Info
        Title, description and mathematical remarks.
    notes : tuple of str
        Remarks of the reader: rows eliminated, an asymmetric W, a placeholder.
    path : Path
        The file.
    """

    problem: ContactProblem
    format: Literal["fclib", "siconos"]
    kind: Literal["local", "global"]
    path: Path
    solution: StoredSolution | None = None
    guesses: tuple[StoredSolution, ...] = ()
    info: Info = field(default_factory=Info)
    notes: tuple[str, ...] = ()
