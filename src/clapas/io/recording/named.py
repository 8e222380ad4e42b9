"""Dictionaries of a recording."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn, TypeVar

from clapas.errors import unknown_name

T = TypeVar("T")


class ByName(dict[str, T]):
    """A dictionary whose error for a missing name lists the existing ones.

    >>> ByName("probe", {"height": 1, "speed": 2})["heigth"]
    Traceback (most recent call last):
    clapas.errors.UnknownName: no probe is called 'heigth' (did you mean 'height'?): expected height or speed
    """

    def __init__(self, kind: str, entries: Mapping[str, T]) -> None:
        super().__init__(entries)
        self._kind = kind

    def __missing__(self, name: str) -> NoReturn:
        raise unknown_name(self._kind, name, self)
