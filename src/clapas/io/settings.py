"""Settings of methods as plain data for files: name and fields of a dataclass."""

from __future__ import annotations

import math
import sys
from dataclasses import fields, is_dataclass
from typing import Any

from clapas import solvers
from clapas.dynamics import schemes, sleep
from clapas.errors import FormatError
from clapas.solvers import registry


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
    return [to_plain(entry) for entry in value] if isinstance(value, tuple) else value


def from_plain(data: Any) -> Any:
    """The dataclass that :func:`to_plain` wrote.

    >>> from_plain(to_plain(solvers.NSGS(tol=1e-4))) == solvers.NSGS(tol=1e-4)
    True
    """
    if isinstance(data, dict) and "type" in data:
        name = data["type"]
        cls = _class(name)
        if cls is None:
            raise FormatError(f"the settings name '{name}', which this version of clapas does not have")
        entries = {key: from_plain(value) for key, value in data.items() if key != "type"}
        if issubclass(cls, schemes.MoreauJean):
            entries = _with_reach(entries)
        return cls(**entries)
    if isinstance(data, list):
        return tuple(from_plain(entry) for entry in data)
    return float(data) if data in ("inf", "-inf") else data


def _class(name: str) -> type[Any] | None:
    """Settings class of that name: of a method, of a part of a method, of a scheme or of sleep.

    Parts of methods are defined in the modules of the methods, all loaded by the registry.
    """
    package = registry.__name__.rpartition(".")[0] + "."
    modules = [module for path, module in sorted(sys.modules.items()) if path.startswith(package)]
    for place in (solvers, schemes, sleep, *modules):
        candidate = getattr(place, name, None)
        if isinstance(candidate, type) and is_dataclass(candidate):
            return candidate
    return None


def _with_reach(entries: dict[str, Any]) -> dict[str, Any]:
    """Settings of a scheme in their current form; early recordings have no reach."""
    if entries.pop("activation", "gap") != "gap":
        raise FormatError(
            "the recording was made with activation='predicted', which this version of clapas does not have: "
            "run its scene again, contacts within reach do better"
        )
    return {"reach": 0.0} | entries
