"""Settings of a solver written as text: ``tol=1e-10``, ``local=alart-curnier``, ``order.seed=3``.

A solver is a frozen dataclass, so its fields and their types define the accepted values: numbers,
words of a ``Literal``, or the name of a part (a dataclass), whose settings follow a dot. New
solvers need no change here.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from clapas.errors import SettingsError, require_settings

if TYPE_CHECKING:
    from clapas.solvers import Solver

AUTO = "auto"  # the text for None: let the solver choose
BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}
NUMBERS = {float: "a number", int: "an integer"}


def make(name: str, assignments: Iterable[str], common: Mapping[str, Any]) -> Solver:
    """The solver of that name with settings ``key=value`` and ``common`` options; None means not set.

    Examples
    --------
    >>> solver = make("nsgs", ["order=shuffled", "order.seed=3"], {"tol": 1e-10, "time_limit": None})
    >>> solver.tol, solver.order
    (1e-10, Shuffled(seed=3, once=False))
    """
    from clapas.solvers import registry

    return registry.make(name, **_arguments(registry.find(name).solver, name, assignments, common))


def changed(solver: Any, assignments: Iterable[str], common: Mapping[str, Any]) -> Any:
    """The same solver with other settings, as :func:`make` takes them.

    Examples
    --------
    >>> from clapas.solvers import NSGS
    >>> changed(NSGS(tol=1e-3), ["max_iterations=5"], {"tol": None})
    NSGS(tol=0.001, max_iterations=5, time_limit=inf, local=Exact(), order=None, relaxation=1.0, \
acceleration=3, form='auto')
    """
    kind = type(solver)
    return replace(solver, **_arguments(kind, kebab(kind), assignments, common))


def _arguments(
    kind: type[Any], name: str, assignments: Iterable[str], common: Mapping[str, Any]
) -> dict[str, Any]:
    texts = _split(assignments)
    options = {key: value for key, value in common.items() if value is not None}
    for key in options:
        if key in texts:
            raise SettingsError(f"{key} is set twice: by --{key.replace('_', '-')} and by --set {key}")
    return options | _read(kind, texts, owner=name, given=options)


def read(kind: type[Any], assignments: Iterable[str], owner: str, defaults: Mapping[str, Any]) -> Any:
    """A dataclass of settings from ``key=value``; ``defaults`` replace its own.

    Examples
    --------
    >>> from clapas.solvers import NSGS
    >>> read(NSGS, ["tol=1e-3"], "nsgs", {"max_iterations": 5}).max_iterations
    5
    """
    return kind(**{**defaults, **_read(kind, _split(assignments), owner=owner)})


def describe(solver: type[Any]) -> list[tuple[str, str, str]]:
    """Rows (setting, default, accepted values) of a solver and of its parts.

    Parts of parts (the two methods of ``inner=relay``) can be set too, but are not listed: parts may be
    nested without end.
    """
    rows = []
    for key, hint in _hints(solver).items():
        rows.append((key, as_text(_default(solver, key)), _accepted(hint)))
        for part in _parts(hint):
            when = f"(with {key}={kebab(part)})"
            for name, part_hint in _hints(part).items():
                rows.append(
                    (f"{key}.{name}", as_text(_default(part, name)), f"{_accepted(part_hint)} {when}")
                )
    return rows


def as_text(value: Any) -> str:
    """A setting as it is written on the command line."""
    if value is None:
        return AUTO
    if value is MISSING:
        return "needed"
    return kebab(type(value)) if is_dataclass(value) else str(value)


def kebab(part: type[Any]) -> str:
    """Name of a part in lower case; functions of the law are named without the word "map".

    >>> kebab(type("AlartCurnier", (), {})), kebab(type("NaturalMap", (), {}))
    ('alart-curnier', 'natural')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", part.__name__.removesuffix("Map")).lower()


# -------------------------------------------------------------------- reading


def _split(assignments: Iterable[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        key = key.strip().replace("-", "_")
        if not equals or not key or not value.strip():
            raise SettingsError(f"--set needs KEY=VALUE, got '{assignment}'")
        if key in texts:
            raise SettingsError(f"{key} is set twice: {texts[key]} and {value.strip()}")
        texts[key] = value.strip()
    return texts


def _read(
    owner_type: type[Any], texts: Mapping[str, str], owner: str, given: Iterable[str] = ()
) -> dict[str, Any]:
    """Values of the fields of a dataclass from their texts; dotted keys go to its parts."""
    hints = _hints(owner_type)
    require_settings(owner, [key.partition(".")[0] for key in (*given, *texts)], list(hints))
    values: dict[str, Any] = {}
    for key, hint in hints.items():
        inner = {name.partition(".")[2]: text for name, text in texts.items() if name.startswith(key + ".")}
        if key in texts or inner:
            values[key] = _value(owner_type, key, hint, texts.get(key), inner)
    return values


def _value(owner_type: type[Any], key: str, hint: Any, text: str | None, inner: Mapping[str, str]) -> Any:
    chosen = _default(owner_type, key) if text is None else _convert(key, text, hint)
    if not inner and not isinstance(chosen, type):
        return chosen
    part = chosen if isinstance(chosen, type) else type(chosen)
    if part not in _parts(hint):
        words = " or ".join(kebab(each) for each in _parts(hint)) or "nothing"
        first = next(iter(inner))
        raise SettingsError(f"{key}.{first} is a setting of a part: set {key} first ({key} may be {words})")
    values = _read(part, inner, owner=f"{key}={kebab(part)}")
    if not isinstance(chosen, type):  # the default part with other settings
        return replace(chosen, **values)
    for name in _hints(part):
        if _default(part, name) is MISSING and name not in values:
            raise SettingsError(f"{key}={kebab(part)} needs {key}.{name}: set it too")
    return part(**values)


def _convert(key: str, text: str, hint: Any) -> Any:
    """The value a text stands for; a part is returned as its class."""
    by_name = {kebab(part): part for part in _parts(hint)}
    if text.replace("_", "-") in by_name:
        return by_name[text.replace("_", "-")]
    for kind in _members(hint):
        if kind is type(None) and text == AUTO:
            return None
        if get_origin(kind) is Literal and text in get_args(kind):
            return text
        if kind is bool and text.lower() in BOOLEANS:
            return BOOLEANS[text.lower()]
        if kind is str:
            return text
        if kind in NUMBERS:
            try:
                return kind(text)
            except ValueError:
                continue
    raise SettingsError(f"{key} must be {_accepted(hint)}, got '{text}'")


# -------------------------------------------------------------------- types


def _hints(owner_type: type[Any]) -> dict[str, Any]:
    hints = get_type_hints(owner_type)
    return {field.name: hints[field.name] for field in fields(owner_type) if field.init}


def _default(owner_type: type[Any], key: str) -> Any:
    field = next(field for field in fields(owner_type) if field.name == key)
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _parts(hint: Any) -> tuple[type[Any], ...]:
    """Dataclasses accepted by a type hint: its members, and implementations of its protocols."""
    from clapas.solvers.parts import parts_of

    parts: list[type[Any]] = []
    for kind in _members(hint):
        parts += [kind] if isinstance(kind, type) and is_dataclass(kind) else parts_of(kind)
    return tuple(parts)


def _accepted(hint: Any) -> str:
    words: list[str] = []
    for kind in _members(hint):
        if get_origin(kind) is Literal:
            words += [str(word) for word in get_args(kind)]
        elif kind is bool:
            words += ["true", "false"]
        elif kind is type(None):
            words.insert(0, AUTO)
        elif kind in NUMBERS or kind is str:
            words.append(NUMBERS.get(kind, "text"))
        else:
            words += [kebab(part) for part in _parts(kind)] or [kebab(kind)]
    return " or ".join(words)
