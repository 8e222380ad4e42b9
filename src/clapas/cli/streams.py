"""Standard streams whose reader may leave: ``clapas solve problem.hdf5 | head -3``.

What is printed after the reader has left is dropped, and the command does its work and exits with the code
of what it found. Otherwise that code would depend on how much ``head`` reads: of a solved problem it would be
the 1 of an unsolved one, and a run would end before its time.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class Descriptor(io.RawIOBase):
    """A file descriptor to write to; after the first failure all that is written to it is dropped.

    Parameters
    ----------
    number : int
        The descriptor.
    name : str
        What messages call it.
    """

    def __init__(self, number: int, name: str) -> None:
        self._number, self._name = number, name
        self._is_lost = False

    def writable(self) -> bool:
        """Whether it can be written to: always."""
        return True

    def fileno(self) -> int:
        """The descriptor."""
        return self._number

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return os.isatty(self._number)

    def write(self, data: ReadableBuffer) -> int:
        """Write what the system takes at once; the number of bytes."""
        if not self._is_lost:
            try:
                return os.write(self._number, data)
            except BrokenPipeError:
                self._is_lost = True
            except OSError as error:
                self._is_lost = True  # once told, not again when the interpreter ends
                raise OSError(error.errno, error.strerror, self._name) from None
        return memoryview(data).nbytes


def outlive_readers() -> None:
    """Let the standard streams of this process outlive their readers; Windows has no such pipes."""
    if os.name == "posix":
        sys.stdout = _outliving(sys.stdout, "standard output")
        sys.stderr = _outliving(sys.stderr, "standard error")


def _outliving(stream: TextIO, name: str) -> TextIO:
    if not isinstance(stream, io.TextIOWrapper):  # closed, or replaced by another program
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(Descriptor(stream.fileno(), name)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering or stream.write_through,
    )
