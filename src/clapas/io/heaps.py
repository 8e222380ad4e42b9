"""Global heaps of HDF5 files, checked before the library reads them.

Texts of variable length are stored in global heaps, the only part of a file in the current format
without a checksum. A heap is a row of objects, each with its size before it:

    "GCOL"  version (1 byte)  3 bytes  size of the heap (8 bytes)
    number (2)  references (2)  4 bytes  size (8)  data, up to a multiple of 8
    …
    0           …                          size of the free space, these 16 bytes included

The library adds sizes until the end is reached; a free part of size 0 makes this an endless loop, so one
wrong bit can hang it. The sizes are therefore checked here first.

References
----------
HDF5 File Format Specification, version 3.0, III.E, "Global Heap".
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path

from clapas.errors import FormatError

SIGNATURE = b"GCOL\x01"
HEAD = 16  # bytes before the first object, and before the data of each
SEARCHED = 1 << 29  # bytes searched at either end of a file


def check_heaps(path: Path) -> None:
    """Reject a file with a global heap whose sizes do not add up.

    Raises
    ------
    FormatError
        With the offset of the heap in the file.
    """
    if path.stat().st_size < HEAD:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for start in _heaps(data):
            if not _adds_up(data, start):
                raise FormatError(
                    f"{path}: damaged: the sizes in the heap of texts at byte {start} do not add up"
                )


def _heaps(data: mmap.mmap) -> Iterator[int]:
    """Offsets of the heaps."""
    size = len(data)
    for first, last in ((0, min(size, SEARCHED)), (max(SEARCHED, size - SEARCHED), size)):
        at = data.find(SIGNATURE, first, last)
        while at >= 0:
            yield at
            at = data.find(SIGNATURE, at + 1, last)


def _adds_up(data: mmap.mmap, start: int) -> bool:
    """Whether the objects of a heap fill it exactly."""
    if start + HEAD > len(data):
        return False
    end, at = start + _size(data, start), start + HEAD
    if not at <= end <= len(data):
        return False
    while at + HEAD <= end:
        number, size = struct.unpack_from("<H", data, at)[0], _size(data, at)
        step = size if number == 0 else HEAD + -(-size // 8) * 8
        if step < HEAD or at + step > end:
            return False
        at += step
    return True


def _size(data: mmap.mmap, at: int) -> int:
    return int(struct.unpack_from("<Q", data, at + 8)[0])
