"""The solvers by name, for those who choose one in words: the command line, tables, benchmarks.

A new method is added by one line here. In Python a solver is simply called: ``NSGS(tol=1e-10)``.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

from clapas.errors import SettingsError
from clapas.solvers.loop import Solver
from clapas.solvers.nsgs import NSGS


@dataclass(frozen=True)
class Entry:
    """A solver under its name.

    Parameters
    ----------
    name : str
        Lower-case words joined by hyphens.
    solver : type
        The class: a frozen dataclass whose fields are its settings.
    summary : str
        What it does, in one sentence.
    when : str
        When to use it, and when not.
    """

    name: str
    solver: type[Any]
    summary: str
    when: str


_ENTRIES = (
    Entry(
        "nsgs",
        NSGS,
        "Nonsmooth Gauss-Seidel: solves the contacts one after another, in sweeps.",
        "Large packings, moderate accuracy, warm starts. Slow on walls, stacks and large mass ratios.",
    ),
)
_BY_NAME = {entry.name: entry for entry in _ENTRIES}


def names() -> tuple[str, ...]:
    """Names of the solvers.

    Examples
    --------
    >>> "nsgs" in names()
    True
    """
    return tuple(_BY_NAME)


def entries() -> tuple[Entry, ...]:
    """Every solver with its name and its use."""
    return _ENTRIES


def find(name: str) -> Entry:
    """The solver of that name.

    Examples
    --------
    >>> find("nsgs").solver.__name__
    'NSGS'
    """
    if name not in _BY_NAME:
        near = difflib.get_close_matches(name.lower(), _BY_NAME, n=1)
        hint = f" (did you mean '{near[0]}'?)" if near else ""
        raise SettingsError(f"no solver is called '{name}'{hint}: expected {' or '.join(_BY_NAME)}")
    return _BY_NAME[name]


def make(name: str, **settings: Any) -> Solver:
    """A solver from its name and settings.

    Examples
    --------
    >>> make("nsgs", tol=1e-12).tol
    1e-12
    """
    made: Solver = find(name).solver(**settings)
    return made
