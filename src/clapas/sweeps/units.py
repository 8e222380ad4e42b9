"""Units of the columns of a sweep: of parameters and of results."""

from __future__ import annotations

import re
from typing import Any, get_args

from pydantic import BaseModel

from clapas.analysis.measures import Measured
from clapas.dynamics.probes import Probe
from clapas.scenes import examples
from clapas.scenes.schema import SceneEntry
from clapas.units import in_dimension

OF_ENDS = {"time": "s", "kinetic": "J", "potential": "J", "work": "J"}  # numbers of every run
ONE = r"(?:kg|rad|Hz|Pa|[mNJs])(?:[·/²³]|kg|rad|[ms])*"
SEVERAL = rf"{ONE}(?:, {ONE})*"
WHOLE, IN_WORDS = re.compile(rf"({SEVERAL})(?:; .*)?"), re.compile(rf"\(({SEVERAL})\)")


def of_parameters(scene: str, names: list[str], d: int) -> dict[str, str]:
    """Units of the parameters that have one, by name."""
    known = examples.parameters(scene)
    units = {name: known[name].range.unit if name in known else _of_path(name, d) for name in names}
    return {name: unit for name, unit in units.items() if unit}


def of_ends(d: int) -> dict[str, str]:
    """Units of the numbers that every run has."""
    return {name: in_dimension(unit, d) for name, unit in OF_ENDS.items()} | {"seconds": "s"}


def of_probe(probe: Probe, columns: list[str], d: int) -> dict[str, str]:
    """The unit of a probe, for each of its columns."""
    return {column: probe.unit(d) for column in columns if probe.unit(d)}


def of_measure(found: Measured, columns: list[str]) -> dict[str, str]:
    """The unit of a measure, for its value and its error."""
    return {column: found.unit for column in columns if found.unit}


def _of_path(path: str, d: int) -> str:
    """Unit of an entry of a scene file, from the words of the schema; empty if they name none.

    >>> _of_path("bodies.block.mass", 2), _of_path("run.dt", 3), _of_path("laws.0.mu", 3)
    ('kg/m', 's', '')
    >>> _of_path("laws.0.cohesion", 3), _of_path("laws.0.cohesion", 2), _of_path("laws.0.restitution", 3)
    ('N', 'N/m', '')
    """
    tables: list[Any] = [SceneEntry]
    words = ""
    for word in path.split("."):
        fields = [table.model_fields[word] for table in tables if word in table.model_fields]
        if fields:  # otherwise the number or the name of an entry
            words = fields[0].description or ""
            tables = [table for field in fields for table in _tables_in(field.annotation)]
    match = WHOLE.fullmatch(words) or IN_WORDS.search(words)
    return in_dimension(match[1], d) if match else ""


def _tables_in(annotation: Any) -> list[Any]:
    """The tables of a scene file in a type annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [table for part in get_args(annotation) for table in _tables_in(part)]
