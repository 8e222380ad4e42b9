"""Kinds of the settings of a solver: what its fields may hold, by their annotations.

Python does not check annotations. Without a check ``NSGS(local="alart-curnier")`` fails inside the
sweeps, and ``max_iterations=2.5`` counts to 2.5.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from numbers import Integral, Real
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from clapas.errors import SettingsError

WORDS: Mapping[Any, str] = {float: "a number", int: "an integer", bool: "True or False", str: "text"}
PLAIN = (str, Real, list, tuple, dict, type, type(None))  # no part of a solver is one of these


def require_kinds(settings: Any) -> None:
    """Raise unless each field of a dataclass of settings, and of its parts, holds what it is annotated with.

    A float of whole value, 1e4, passes for an integer and is stored as one. NaN is left to tests of ranges.

    Raises
    ------
    SettingsError
        It names the setting, what it may hold and what it got.
    """
    kind: Any = type(settings)
    for name, hint in _hints(kind).items():
        value = getattr(settings, name)
        if not any(_fits(value, member) for member in members(hint)):
            raise SettingsError(f"{name} must be {_allowed(hint)}, got {_given(value)}")
        if isinstance(value, float) and int in members(hint) and float not in members(hint):
            object.__setattr__(settings, name, int(value))
        if is_dataclass(value):
            require_kinds(value)


def members(hint: Any) -> tuple[Any, ...]:
    """The kinds that an annotation allows: those of a union, or itself."""
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


@functools.cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    """Annotations of the fields; none where they name what only a type checker imports."""
    try:
        hints = get_type_hints(kind)
    except NameError:
        return {}
    return {field.name: hints[field.name] for field in fields(kind) if field.init}


def _fits(value: Any, kind: Any) -> bool:
    if kind is Any or kind is type(None):
        return kind is Any or value is None
    if get_origin(kind) is Literal:
        return any(value == word and type(value) is type(word) for word in get_args(kind))
    if kind is float:
        return not isinstance(value, bool) and isinstance(value, Real)
    if kind is int:
        is_whole = isinstance(value, Integral) or (isinstance(value, float) and value.is_integer())
        return is_whole and not isinstance(value, bool)
    origin = get_origin(kind) or kind
    if getattr(origin, "_is_protocol", False):  # any object with its methods
        return not isinstance(value, PLAIN)
    return not isinstance(origin, type) or isinstance(value, origin)


def _allowed(hint: Any) -> str:
    """What a setting may be: "an integer", "'auto', 'bodies' or 'delassus'", "Exact(...) or DeSaxce(...)"."""
    *others, last = [word for kind in members(hint) for word in _words(kind)]
    return f"{', '.join(others)} or {last}" if others else last


def _words(kind: Any) -> list[str]:
    from clapas.solvers.parts import parts_of  # imports all solvers

    if kind in WORDS:
        return [WORDS[kind]]
    if get_origin(kind) is Literal:
        return [repr(word) for word in get_args(kind)]
    if kind is type(None):
        return ["None"]
    if not isinstance(kind, type):
        return [f"a {getattr(get_origin(kind), '__name__', kind)}"]
    return [f"{part.__name__}(...)" for part in parts_of(kind) or (kind,)]


def _given(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else repr(value)[:80]
