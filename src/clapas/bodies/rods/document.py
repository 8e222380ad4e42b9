"""Rods as plain data (text, numbers, lists, dictionaries) for scene files.

    rods = [{length = 0.15, radius = 4e-5, density = 1300, young = 4e9, support = 0}, …]
    supports = [{position = [0, 0, 0.1], motion = {type = "oscillation", …}}]

A clamped rod names its support by its number; without one it is clamped in the world. Motions are those of
:mod:`clapas.dynamics.motions`, built before by the reader of the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from clapas.bodies.rods.definition import FIXED, Rod, Support
from clapas.errors import SceneError

SETTINGS = "rods", "supports"


def to_document(rods: Sequence[Rod]) -> dict[str, Any]:
    """The document of rods; inverse of :func:`from_document`.

    Raises
    ------
    SceneError
        A load or a motion is a Python function, which no file can hold.
    """
    supports = list(dict.fromkeys(rod.support for rod in rods if rod.support is not FIXED))
    number = {support: k for k, support in enumerate(supports)}
    document: dict[str, Any] = {}
    if supports:
        document["supports"] = [_support(support) for support in supports]
    document["rods"] = [_rod(rod, number) for rod in rods]
    return document


def from_document(settings: Mapping[str, Any]) -> list[Rod]:
    """The rods of a document.

    Raises
    ------
    SceneError
        Something is missing, unknown, or of the wrong kind; the message says in which rod.
    """
    unknown = [name for name in settings if name not in SETTINGS]
    if unknown or "rods" not in settings:
        problem = f"unknown setting '{unknown[0]}'" if unknown else "no 'rods'"
        raise SceneError(f"rods: {problem}; the settings are {', '.join(SETTINGS)}")
    supports = []
    for k, table in enumerate(_tables("supports", settings.get("supports", []))):
        _refuse_unknown(f"supports[{k}]", table, [field.name for field in fields(Support)])
        supports.append(_build(f"supports[{k}]", Support, table))
    rods = []
    known = [field.name for field in fields(Rod)]
    for k, table in enumerate(_tables("rods", settings["rods"])):
        _refuse_unknown(f"rods[{k}]", table, known)
        values = dict(table)
        if "support" in values:
            number = values["support"]
            if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(supports):
                raise SceneError(
                    f"rods[{k}]: support must be the number of one of the {len(supports)} supports, counted "
                    f"from 0, got {number!r}"
                )
            values["support"] = supports[number]
        rods.append(_build(f"rods[{k}]", Rod, values))
    return rods


def _support(support: Support) -> dict[str, Any]:
    table: dict[str, Any] = {"position": [float(x) for x in support.position]}
    if support.motion is not None:
        to_dict = getattr(support.motion, "to_dict", None)
        if to_dict is None:
            raise SceneError(
                "support: its motion is a Python function, which no file can hold; use ConstantVelocity, "
                "Oscillation, Rotation or Table"
            )
        table["motion"] = to_dict()
    return table


def _rod(rod: Rod, number: Mapping[Support, int]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for field in fields(Rod):
        value = getattr(rod, field.name)
        if field.name == "support":
            if value is not FIXED:
                table["support"] = number[value]
        elif callable(value):
            raise SceneError(
                f"rod: {field.name} is a Python function, which no file can hold; give 3 numbers"
            )
        elif value is not None and (
            field.default is MISSING or field.default is None or not np.array_equal(value, field.default)
        ):
            table[field.name] = value if isinstance(value, str) else np.asarray(value).tolist()
    return table


def _tables(name: str, value: Any) -> Sequence[Mapping[str, Any]]:
    if not isinstance(value, list | tuple) or not all(isinstance(table, Mapping) for table in value):
        raise SceneError(f"rods: {name} must be a list of tables, got {value!r:.60}")
    return value


def _refuse_unknown(where: str, table: Mapping[str, Any], known: Sequence[str]) -> None:
    for name in table:
        if name not in known:
            raise SceneError(f"{where}: unknown entry '{name}'; known are {', '.join(known)}")


def _build(where: str, cls: Any, values: Mapping[str, Any]) -> Any:
    try:
        return cls(**values)
    except TypeError as error:  # a required entry is missing
        raise SceneError(f"{where}: {error}") from None
    except SceneError as error:
        raise SceneError(f"{where}: {error}") from None
