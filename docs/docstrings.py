"""Docstrings as reStructuredText: they are written for the eye, with |x| for a size and K* for a dual.

Bars and stars would be markup; they are protected, and formulas set apart by indentation are shown as they
were typed.
"""

from __future__ import annotations

import re
from typing import Any

CODE = re.compile(r"(``.+?``|:[\w:]+:`.+?`)")
MARKUP = re.compile(r"(?<!\\)[|*]|(?<=\w)_(?=\W|$)")
BULLET = re.compile(r"\s*\* ")
HEADING = re.compile(r"-{3,}\s*$")
FIELDS = ("Parameters", "Other Parameters", "Returns", "Yields", "Raises", "Attributes")


def prepare(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Rewrite the lines of a docstring in place."""
    lines[:] = prepared(lines)
    if what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]  # an empty comment: what stands before a colon must not be taken for a type


def prepared(lines: list[str]) -> list[str]:
    """The lines of a docstring as markup."""
    made: list[str] = []
    section, is_formula, is_example, is_table = "", False, False, False
    for place, line in enumerate(lines):
        following = lines[place + 1] if place + 1 < len(lines) else ""
        if HEADING.match(following) and line and not line.startswith(" "):
            section = line.strip()
        indent = len(line) - len(line.lstrip())
        before = _last_told(made)
        is_apart = bool(made) and not made[-1].strip()
        is_table = line.startswith("==") or (is_table and bool(line.strip()))
        if line.lstrip().startswith(">>>"):
            is_example = True
        elif not line.strip():
            is_example = False
        if line.strip() and indent <= _base(section):
            is_formula = False
        elif line.strip() and is_apart and not is_formula and not is_example:
            is_formula = True
            if before and not before.endswith("::"):
                made += [" " * _base(section) + "::", ""]
        plain = is_formula or is_example or is_table or (before.endswith("::") and indent > 0)
        made.append(line if plain else protected(line))
    return made


def protected(line: str) -> str:
    """A line of prose with its bars, stars and trailing underscores shown as they are."""
    bullet = BULLET.match(line)
    start = bullet.group(0) if bullet else ""
    parts = CODE.split(line[len(start) :])
    parts[::2] = [MARKUP.sub(r"\\\g<0>", part) for part in parts[::2]]
    return start + "".join(parts)


def _base(section: str) -> int:
    """How far prose is indented in a section: descriptions of parameters are, the rest is not."""
    return 4 if section in FIELDS else 0


def _last_told(lines: list[str]) -> str:
    return next((line.rstrip() for line in reversed(lines) if line.strip()), "")
