"""Sequential reader of the words of a text file, with positions for error messages."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import numpy as np

from clapas.errors import FormatError
from clapas.io.hdf5 import require_regular
from clapas.typing import Array, Indices

DIGITS = 15  # of the longest integer that a double represents exactly


class Tokens:
    """The words of a file and the current position.

    Every method that reads words names in ``what`` what it expects, so that a failure reads
    "file.dat, line 12 (word 40): expected …, got …". Line breaks and spaces are equivalent.

    Examples
    --------
    >>> words = Tokens("3 1  0.5 0.25", Path("demo.dat"))
    >>> words.integer("the dimension"), words.integer("the number of contacts")
    (3, 1)
    >>> words.numbers(2, "mu")
    array([0.5 , 0.25])
    >>> words.remaining
    0
    """

    def __init__(self, text: str, path: Path) -> None:
        self.path = path
        self.words = text.split()
        self.position = 0
        self._text = text

    @classmethod
    def of_file(cls, path: Path) -> Tokens:
        """Read a text file."""
        require_regular(path)
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise FormatError(
                f"{path}: neither HDF5 nor text (byte {error.start} is not a character)"
            ) from None
        return cls(text, path)

    @property
    def remaining(self) -> int:
        """Number of words not yet taken."""
        return len(self.words) - self.position

    def peek(self, ahead: int = 0) -> str:
        """The next word (or one further) without taking it; empty at the end of the file."""
        place = self.position + ahead
        return self.words[place] if place < len(self.words) else ""

    def word(self, what: str) -> str:
        """Take one word."""
        if not self.remaining:
            self.fail(what)
        self.position += 1
        return self.words[self.position - 1]

    def literal(self, text: str) -> None:
        """Take one word that must be ``text``."""
        if self.peek() != text:
            self.fail(f"'{text}'")
        self.position += 1

    def integer(self, what: str) -> int:
        """Take one integer ≥ 0 (a comma behind it is dropped)."""
        value = self.peek().removesuffix(",")
        if not value.isdecimal() or len(value) > DIGITS:
            self.fail(f"{what} (an integer ≥ 0)")
        self.position += 1
        return int(value)

    def integers(self, count: int, what: str) -> Indices:
        """Take ``count`` integers ≥ 0."""
        return self.table(count, "i", what)[0].astype(np.int64)

    def numbers(self, count: int, what: str) -> Array:
        """Take ``count`` finite numbers."""
        return self.table(count, "x", what)[0]

    def table(self, count: int, pattern: str, what: str) -> list[Array]:
        """Take ``count`` rows of words and return their columns.

        Each character of ``pattern`` is a column: ``i`` an integer ≥ 0, ``x`` a finite number, any
        other character itself (and no column of the result).

        >>> Tokens("0 1 : 2.5  1 1 : 3.5", Path("demo.dat")).table(2, "ii:x", "entries")
        [array([0., 1.]), array([1., 1.]), array([2.5, 3.5])]
        """
        width = len(pattern)
        if self.remaining < count * width:
            self.fail(f"{what} ({count}, found {self.remaining // width})", ahead=self.remaining)
        chosen = self.words[self.position : self.position + count * width]
        columns = []
        for offset, symbol in enumerate(pattern):
            words = chosen[offset::width]
            values, bad = _column(words, symbol)
            if bad is not None:
                expected = {"i": "an integer ≥ 0", "x": "a finite number"}.get(symbol, f"'{symbol}'")
                self.fail(f"{expected} in {what}", ahead=bad * width + offset)
            if values is not None:
                columns.append(values)
        self.position += count * width
        return columns

    def fail(self, expected: str, *, ahead: int = 0) -> NoReturn:
        """Raise a FormatError for the current position (or ``ahead`` words further)."""
        place = self.position + ahead
        if place >= len(self.words):
            raise FormatError(
                f"{self.path}: the file ends after {len(self.words)} words; expected {expected}. "
                "It may be truncated, or of another kind"
            )
        raise FormatError(
            f"{self.path}, line {self.line(place)} (word {place + 1}): "
            f"expected {expected}, got '{self.words[place][:40]}'"
        )

    def line(self, place: int) -> int:
        """Line of a word of the file, counted from 1."""
        passed = np.cumsum([len(line.split()) for line in self._text.split("\n")])
        return int(np.searchsorted(passed, place, side="right")) + 1


def _column(words: list[str], symbol: str) -> tuple[Array | None, int | None]:
    """The words of a column as numbers, and the index of the first invalid one."""
    if symbol == "i":
        bad = next((k for k, word in enumerate(words) if not word.isdecimal() or len(word) > DIGITS), None)
        return (np.array(words, dtype=np.float64) if bad is None else None), bad
    if symbol == "x":
        values = _numbers(words)
        infinite = np.flatnonzero(~np.isfinite(values))
        return values, int(infinite[0]) if infinite.size else None
    return None, next((k for k, word in enumerate(words) if word != symbol), None)


def _numbers(words: list[str]) -> Array:
    try:
        return np.array(words, dtype=np.float64)
    except ValueError:
        return np.array([_number(word) for word in words])


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return float("nan")
