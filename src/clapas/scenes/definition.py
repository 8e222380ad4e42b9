"""Definitions: the user-settable fields of scene items, listed once.

A definition is a frozen dataclass whose fields are made by :func:`defined`. They determine how arguments
are checked (:func:`readings`), what a scene file contains (:func:`written`), its allowed keys
(:mod:`clapas.scenes.schema`), and the tables of the documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, fields
from typing import Any, NamedTuple

from clapas.dynamics.motions import spin_vector
from clapas.geometry import checks, rotations
from clapas.geometry.checks import Vector

KEY = "definition"
NEEDED: Any = ...
"""Default of a mandatory field."""


class Definition(NamedTuple):
    """Metadata of a field.

    Parameters
    ----------
    kind : str
        Kind of value in a file: "number", "numbers", "word", … (see ``schema.KINDS``).
    meaning : str
        Meaning, with its unit.
    default : object
        Value if a file does not set it; ``NEEDED`` if it must.
    read : callable
        (label of the thing, name of the field, value, d) ↦ the checked value.
    write : callable
        The value ↦ its entry in a file; None omits it.
    """

    kind: str
    meaning: str
    default: Any
    read: Callable[[str, str, Any, int], Any]
    write: Callable[[Any], Any]


def defined(
    kind: str,
    meaning: str,
    default: Any,
    *,
    read: Callable[[str, str, Any, int], Any] = lambda label, name, value, d: value,
    write: Callable[[Any], Any] = lambda value: value,
) -> Any:
    """A field of a definition."""
    metadata = {KEY: Definition(kind, meaning, default, read, write)}
    return field(metadata=metadata) if default is NEEDED else field(default=default, metadata=metadata)


def definitions(of: type[Any]) -> dict[str, Definition]:
    """The user-settable fields of a class, by name, in order."""
    return {each.name: each.metadata[KEY] for each in fields(of) if KEY in each.metadata}


def readings(of: type[Any], label: str, arguments: Mapping[str, Any], d: int) -> dict[str, Any]:
    """Checked values of all fields, from the arguments."""
    return {
        name: each.read(label, name, arguments.get(name, each.default), d)
        for name, each in definitions(of).items()
    }


def written(thing: Any) -> dict[str, Any]:
    """Entries of an object in a file, without those that are omitted."""
    entries: dict[str, Any] = {}
    for name, each in definitions(type(thing)).items():
        value = getattr(thing, name)
        entry = None if value is None else each.write(value)
        if entry is not None:
            entries[name] = entry
    return entries


# ---------------------------------------------------------------- common readers and writers


def read_place(label: str, name: str, value: Any, d: int) -> Vector:
    """D numbers, zero by default."""
    return rotations.origin(d) if value is None else checks.vector(label, name, value, d)


def read_spin(label: str, name: str, value: Any, d: int) -> Vector:
    """An angular velocity, zero by default."""
    still = rotations.origin(3) if d == 3 else (0.0,)
    return still if value is None else spin_vector(label, value, d)


def read_positive(label: str, name: str, value: Any, d: int) -> float | None:
    """A positive number, or None."""
    return None if value is None else checks.positive(label, name, value)


def read_flag(label: str, name: str, value: Any, d: int) -> bool:
    """Yes or no."""
    return bool(value)


def unless_zero(values: Vector) -> list[float] | None:
    """Numbers; None if all are zero."""
    return list(values) if any(values) else None


def if_so(value: Any) -> Any:
    """The value; None if it is false, zero or empty."""
    return value or None


def as_entry(thing: Any) -> Any:
    """The entry of a definition in scene files."""
    return thing.to_dict()
