"""Write plain data as TOML. Python reads it with ``tomllib``; this module writes it.

Numbers are written so that reading them gives the same bits. Lists of tables at the top are written as
``[[name]]``, tables as ``[name]``, everything deeper in one line.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def to_toml(data: Mapping[str, Any]) -> str:
    r"""The text of a TOML file.

    Examples
    --------
    >>> print(to_toml({"seed": 0, "laws": [{"mu": 0.5}], "materials": {"dry sand": {"rho": 1e3}}}), end="")
    seed = 0
    <BLANKLINE>
    [[laws]]
    mu = 0.5
    <BLANKLINE>
    [materials."dry sand"]
    rho = 1000.0
    """
    lines = [f"{_key(name)} = {_value(value)}" for name, value in data.items() if not _is_section(value)]
    for name, value in data.items():
        if isinstance(value, Mapping):
            lines += _table(_key(name), value)
        elif _is_section(value):
            for entry in value:
                lines += ["", f"[[{_key(name)}]]", *_entries(entry)]
    return "\n".join(lines).lstrip("\n") + "\n"


def _is_section(value: Any) -> bool:
    if isinstance(value, Mapping):
        return True
    return isinstance(value, list) and bool(value) and all(isinstance(entry, Mapping) for entry in value)


def _table(name: str, table: Mapping[str, Any]) -> list[str]:
    """A table; one whose values are all tables becomes one section for each of them."""
    if table and all(isinstance(value, Mapping) for value in table.values()):
        sections = [["", f"[{name}.{_key(key)}]", *_entries(value)] for key, value in table.items()]
        return [line for section in sections for line in section]
    return ["", f"[{name}]", *_entries(table)]


def _entries(table: Mapping[str, Any]) -> list[str]:
    return [f"{_key(name)} = {_value(value)}" for name, value in table.items()]


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(_entries(value)) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    raise TypeError(f"no TOML for {value!r}")


def _text(text: str) -> str:
    # JSON strings are TOML strings, except for U+007F, which only TOML escapes.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
