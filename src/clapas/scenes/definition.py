"""Definitions: what a person can write of a thing, listed once.

A definition is a frozen dataclass whose fields are made by :func:`defined`. From them follow how values
that people give are checked (:func:`readings`), what a scene file writes (:func:`written`), the keys that
files may have (:mod:`clapas.scenes.schema`), and the tables of the documentation.
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
"""Default of a field that must be given."""


class Definition(NamedTuple):
    """What is known of a field.

    Parameters
    ----------
    kind : str
        Kind of value in a file: "number", "numbers", "word", … (see ``schema.KINDS``).
    meaning : str
        What it is, with its unit.
    default : object
        What stands where a file says nothing; ``NEEDED`` if it must say something.
    read : callable
        (label of the thing, name of the field, value, d) ↦ the checked value.
    write : callable
        The value ↦ what a file holds; None leaves it out.
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
    known = {KEY: Definition(kind, meaning, default, read, write)}
    return field(metadata=known) if default is NEEDED else field(default=default, metadata=known)


def definitions(of: type[Any]) -> dict[str, Definition]:
    """The fields of a class that people write, by name, in order."""
    return {each.name: each.metadata[KEY] for each in fields(of) if KEY in each.metadata}


def readings(of: type[Any], label: str, given: Mapping[str, Any], d: int) -> dict[str, Any]:
    """Checked values of all fields, from the arguments."""
    return {
        name: each.read(label, name, given.get(name, each.default), d)
        for name, each in definitions(of).items()
    }


def written(thing: Any) -> dict[str, Any]:
    """What a file holds of a thing: its fields without those that are left out."""
    entries: dict[str, Any] = {}
    for name, each in definitions(type(thing)).items():
        value = getattr(thing, name)
        entry = None if value is None else each.write(value)
        if entry is not None:
            entries[name] = entry
    return entries


# ---------------------------------------------------------------- ways to read and write that things share


def read_place(label: str, name: str, value: Any, d: int) -> Vector:
    """D numbers, zero by default."""
    return rotations.origin(d) if value is None else checks.vector(label, name, value, d)


def read_spin(label: str, name: str, value: Any, d: int) -> Vector:
    """An angular velocity, zero by default."""
    still = rotations.origin(3) if d == 3 else (0.0,)
    return still if value is None else spin_vector(label, value, d)


def read_positive(label: str, name: str, value: Any, d: int) -> float | None:
    """A number above zero, if given."""
    return None if value is None else checks.positive(label, name, value)


def read_flag(label: str, name: str, value: Any, d: int) -> bool:
    """Yes or no."""
    return bool(value)


def unless_zero(values: Vector) -> list[float] | None:
    """Numbers, left out if all are zero."""
    return list(values) if any(values) else None


def if_so(value: Any) -> Any:
    """A value, left out if it is false, zero or empty."""
    return value or None


def as_entry(thing: Any) -> Any:
    """The entry of a definition in scene files."""
    return thing.to_dict()
