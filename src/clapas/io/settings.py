"""Settings of methods as plain data, for files: a dataclass is its name and its fields."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any

from clapas import solvers
from clapas.dynamics import sleeping, stepping
from clapas.errors import FormatError


def to_plain(value: Any) -> Any:
    """A frozen dataclass of settings as a dictionary that JSON can hold.

    >>> to_plain(solvers.NSGS(tol=1e-4))["type"]
    'NSGS'
    """
    if is_dataclass(value) and not isinstance(value, type):
        entries = {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
        return {"type": type(value).__name__, **entries}
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def from_plain(data: Any) -> Any:
    """The dataclass that :func:`to_plain` wrote.

    >>> from_plain(to_plain(solvers.NSGS(tol=1e-4))) == solvers.NSGS(tol=1e-4)
    True
    """
    if isinstance(data, dict) and "type" in data:
        name = data["type"]
        places = (solvers, stepping, sleeping)
        made = next((getattr(place, name) for place in places if hasattr(place, name)), None)
        if not (isinstance(made, type) and is_dataclass(made)):
            raise FormatError(f"the settings name '{name}', which this version of clapas does not have")
        entries = {key: from_plain(value) for key, value in data.items() if key != "type"}
        if issubclass(made, stepping.MoreauJean):
            entries = _with_reach(entries)
        return made(**entries)
    return float(data) if data in ("inf", "-inf") else data


def _with_reach(entries: dict[str, Any]) -> dict[str, Any]:
    """The settings of a scheme as they are now; recordings made before there was a reach had none."""
    if entries.pop("activation", "gap") != "gap":
        raise FormatError(
            "the recording was made with activation='predicted', which this version of clapas does not have: "
            "run its scene again, contacts within reach do better"
        )
    return {"reach": 0.0} | entries
