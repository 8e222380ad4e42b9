"""Exceptions of the package, by cause.

Every message says what was given, what was expected and how to fix it. Errors of the user raise one of
these; errors inside the package are assertions.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from clapas.units import counted

if TYPE_CHECKING:
    from clapas.solvers.solution import Solution


P = ParamSpec("P")
R = TypeVar("R")

LISTED = 60  # names that an error lists in full


class Error(Exception):
    """Root of all errors raised on purpose by clapas."""


class SceneError(Error, ValueError):
    """A scene describes something impossible: a negative radius, overlapping bodies."""


class ProblemError(Error, ValueError):
    """The data of a problem do not fit together: shapes, NaN, an indefinite mass matrix."""


class SettingsError(Error, ValueError):
    """A solver was given a setting outside its range."""


class FormatError(Error, ValueError):
    """A file does not have the format that its name or header says."""


class WriteError(Error, OSError):
    """A file cannot be written: the disk is full, or another process is writing it."""


class UnknownName(SettingsError, KeyError):
    """An unknown name; also a KeyError, which ``in`` and ``get`` of mappings rely on."""

    def __str__(self) -> str:
        return Exception.__str__(self)  # a KeyError would put its message in quotes


class UnknownKeyword(SettingsError, TypeError):
    """A keyword that a function does not take; also a TypeError, which Python raises for it."""


class OutOfRange(SettingsError, IndexError):
    """An index beyond the end of a sequence; also an IndexError, which loops over sequences rely on."""


def warn(message: str) -> None:
    """Warn the user, with the line of user code that called the package, at any depth inside it."""
    package = str(Path(__file__).parent)
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, stacklevel=depth)


def unknown_name(kind: str, name: object, known: Collection[str]) -> UnknownName:
    """The error for an unknown name, with the closest known one.

    >>> print(unknown_name("probe", "heigth", ["speed", "height"]))
    no probe is called 'heigth' (did you mean 'height'?): expected speed or height
    >>> print(unknown_name("body", "grain", [f"g {k}" for k in range(500)] + ["grains"]))
    no body is called 'grain' (did you mean 'grains'?): expected grains or one of 500 others
    >>> print(unknown_name("probe", "height", []))
    no probe is called 'height': there is none
    """
    if not known:
        return UnknownName(f"no {kind} is called '{name}': there is none")
    by_lower = {each.lower(): each for each in reversed(list(known))}
    near = [by_lower[each] for each in difflib.get_close_matches(str(name).lower(), by_lower)]
    hint = f" (did you mean '{near[0]}'?)" if near else ""
    words = list(known)
    if len(words) > LISTED:
        words = near or words[: LISTED // 2]
        words.append(f"one of {len(known) - len(words)} others")
    return UnknownName(f"no {kind} is called '{name}'{hint}: expected {' or '.join(words)}")


def require_settings(owner: str, given: Iterable[str], known: Collection[str]) -> None:
    """Check that every setting given to a solver, a scheme or a part of one is one that it has.

    >>> require_settings("nsgs", ["tole"], ["tol", "max_iterations"])
    Traceback (most recent call last):
    ...
    clapas.errors.SettingsError: nsgs has no setting 'tole' (did you mean tol?): it has tol, max_iterations
    """
    for key in given:
        if key not in known:
            raise SettingsError(_no_setting(owner, key, known))


def require_keywords(owner: str, given: Iterable[str], known: Collection[str]) -> None:
    """Check that a function takes every keyword given to it."""
    for key in given:
        if key not in known:
            raise UnknownKeyword(_no_setting(owner, key, known))


def _no_setting(owner: str, key: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    return f"{owner} has no setting '{key}'{hint}: it has {', '.join(known) or 'none'}"


def known_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function refuse keywords that it does not take with the closest one that it does.

    >>> @known_keywords
    ... def add(position, *, mass=None): ...
    >>> add(positon=(0, 0, 1))
    Traceback (most recent call last):
    ...
    clapas.errors.UnknownKeyword: add has no setting 'positon' (did you mean position?): it has position, mass
    """
    known = list(inspect.signature(function).parameters)
    if known[:1] == ["scene"]:  # a verb: what it is a method of
        known = known[1:]

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        require_keywords(function.__name__, kwargs, known)
        return function(*args, **kwargs)

    return checked


class MissingDependency(Error, ImportError):
    """An optional package is needed for this call and is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(f"{purpose} needs the package '{package}': pip install 'clapas[{extra}]'")


class NotSolved(Error, RuntimeError):
    """A solver stopped above its tolerance; the best iterate is in :attr:`solution`.

    ``solve(..., check=False)`` returns the same solution instead of raising. ``remark`` is an additional
    sentence, for instance on whether a solution is known to exist.
    """

    def __init__(self, solution: Solution, remark: str = "") -> None:
        self.solution = solution
        super().__init__(
            f"{solution.status.name}: residual {solution.residual:.3e} after "
            f"{counted(solution.iterations, 'iteration')}, tolerance {solution.tol:.1e}. "
            f"{solution.status.cause} {solution.status.advice} {remark}".rstrip()
        )
