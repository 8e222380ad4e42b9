"""The names of many bodies in one string."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import numpy as np

from clapas.typing import Indices


class Names(Sequence[str]):
    """A sequence of names, read like a tuple and stored as one string.

    A million strings take four times the memory. Worse, each lies among the objects from which a scene was
    compiled, and keeps its page of memory from being released when these are gone.

    >>> names = Names(["floor", "body 1", "ball"])
    >>> names[2], names.index("floor"), names == ("floor", "body 1", "ball")
    ('ball', 0, True)
    >>> names[1:]
    Names(['body 1', 'ball'])
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        names = list(names)
        self._text = "".join(names)
        self._ends: Indices = np.cumsum([len(name) for name in names], dtype=np.int64)

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, which: int) -> str: ...
    @overload
    def __getitem__(self, which: slice) -> Names: ...
    def __getitem__(self, which: int | slice) -> str | Names:
        chosen = range(len(self))[which]  # handles negative indices, raises IndexError beyond the end
        if isinstance(chosen, int):
            return self._text[self._start(chosen) : self._ends[chosen]]
        if chosen.step != 1:
            return Names(self[k] for k in chosen)
        part, start = Names(), self._start(chosen.start)
        part._ends = self._ends[chosen.start : chosen.stop] - start
        part._text = self._text[start : start + (part._ends[-1] if chosen else 0)]
        return part

    def _start(self, number: int) -> int:
        return int(self._ends[number - 1]) if number else 0

    def __iter__(self) -> Iterator[str]:
        start = 0
        for end in self._ends.tolist():
            yield self._text[start:end]
            start = end

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Names):
            return self._text == other._text and np.array_equal(self._ends, other._ends)
        return isinstance(other, tuple | list) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return f"Names({list(self)})"
