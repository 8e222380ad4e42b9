"""Workspace: data that methods keep from one problem to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Thing = TypeVar("Thing")


class Workspace:
    """Things that methods made for one problem and may use again for the next; owned by the caller.

    A run of time steps hands the same one to all its problems (``problem.kept``), since who touches whom
    hardly changes; a problem without one starts its own. Nothing in it changes an answer: it only saves work,
    and two runs that do not share one do not see each other.

    Examples
    --------
    >>> kept = Workspace()
    >>> kept.of(list) is kept.of(list)
    True
    """

    def __init__(self) -> None:
        self._things: dict[Any, Any] = {}

    def of(self, kind: Callable[[], Thing]) -> Thing:
        """The object of this kind, made at first use."""
        if kind not in self._things:
            self._things[kind] = kind()
        thing: Thing = self._things[kind]
        return thing
