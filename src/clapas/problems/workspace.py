"""Workspace: data that methods keep from one problem to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Thing = TypeVar("Thing")


class Workspace:
    """Objects that methods create for one problem and may reuse for the next; owned by the caller.

    A run of time steps passes the same workspace to all its problems (``problem.kept``), since the contact
    graph hardly changes; a problem without one creates its own. It never changes a result: it only saves
    work, and runs that do not share one are independent.

    Examples
    --------
    >>> kept = Workspace()
    >>> kept.of(list) is kept.of(list)
    True
    """

    def __init__(self) -> None:
        self._things: dict[Any, Any] = {}

    def of(self, kind: Callable[[], Thing]) -> Thing:
        """The object of this kind, created at first use."""
        if kind not in self._things:
            self._things[kind] = kind()
        thing: Thing = self._things[kind]
        return thing
