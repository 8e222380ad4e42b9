"""Attributes and texts of HDF5 files that may be damaged.

A value of variable length is a number of bytes, the address of a heap and an object in it. The library checks
none of them: one wrong bit in the number makes it copy a gigabyte from a heap of 4 kB, one in the type makes
it crash. Headers of objects, and the attributes in them, have checksums from version 2 of the superblock on:
there the library reads attributes. In older files attributes of variable length count as absent. A text that
is a data set has no checksum in any version: it is read here, without the library.

References
----------
HDF5 File Format Specification, version 3.0, II.A "Superblock", III.E "Global Heap", VIII "Variable-length".
"""

from __future__ import annotations

import os
import struct
from typing import Any

from clapas.errors import FormatError
from clapas.io.hdf5 import dataset, reading
from clapas.io.heaps import HEAD, SIGNATURE

CHECKED = 2
"""Version of the superblock from which headers of objects have checksums."""
REFERENCE = struct.Struct("<IQI")  # bytes of the text, address of the heap, number of the object in it
LONGEST = 1 << 20  # largest heap read (bytes)


def attribute(holder: Any, name: str, where: str) -> Any:
    """The value of an attribute, or None if it is absent or not protected by a checksum.

    Parameters
    ----------
    holder : h5py.Group or h5py.Dataset
        Owner of the attribute.
    name : str
        Its name.
    where : str
        File and position in it, for errors.
    """
    with reading(f"{where}: attribute '{name}'"):
        if name not in holder.attrs:
            return None
        if not (_is_plain(holder.attrs.get_id(name).get_type()) or has_checksums(holder.file)):
            return None
        return holder.attrs[name]


def has_checksums(file: Any) -> bool:
    """Whether headers of objects in a file have checksums."""
    return int(file.id.get_create_plist().get_version()[0]) >= CHECKED


def text(parent: Any, name: str, where: str) -> str:
    """A text that is a data set, of fixed or of variable length.

    Raises
    ------
    FormatError
        It is not a single text, or its heap does not hold it.
    """
    data, where = dataset(parent, name, where), f"{where}: '{name}'"
    with reading(where):
        if data.size == 0:
            return ""
        kind = data.id.get_type()
        if data.size == 1 and _is_plain(kind) and data.dtype.kind == "S":
            stored = data[()].ravel()[0] if data.shape else data[()]
            return str(bytes(stored).decode("utf-8", "replace"))
        if data.size == 1 and not _is_plain(kind):
            return _heap_text(data, where)
    raise FormatError(f"{where} must be a text, found {data.dtype} of shape {data.shape}")


def _is_plain(kind: Any) -> bool:
    """Whether a type is of numbers or of texts of fixed length."""
    import h5py

    type_class = kind.get_class()
    if type_class == h5py.h5t.STRING:
        return not kind.is_variable_str()
    return type_class in (h5py.h5t.INTEGER, h5py.h5t.FLOAT, h5py.h5t.ENUM)


def _heap_text(data: Any, where: str) -> str:
    """The one text of a data set of variable length, from its heap."""
    offset = data.id.get_offset()
    if offset is None:
        return ""  # never written
    with open(os.fsdecode(data.file.filename), "rb") as file:
        length, place, number = REFERENCE.unpack(_read(file, offset, REFERENCE.size))
        if length == 0:
            return ""
        head = _read(file, place, HEAD)
        size = struct.unpack_from("<Q", head, 8)[0]
        if head.startswith(SIGNATURE) and HEAD <= size <= LONGEST:
            content = _object(_read(file, place, size), number)
            if content is not None and length <= len(content):
                return content[:length].decode("utf-8", "replace")
    raise FormatError(f"{where}: damaged: its text is not where it should be")


def _read(file: Any, place: int, size: int) -> bytes:
    """Bytes of a file; raise EOFError if fewer are left."""
    file.seek(place)
    content: bytes = file.read(size)
    if len(content) < size:
        raise EOFError(f"{size} bytes at {place} are beyond the end")
    return content


def _object(heap: bytes, wanted: int) -> bytes | None:
    """The object of a heap with that number."""
    at = HEAD
    while at + HEAD <= len(heap):
        number, size = struct.unpack_from("<H", heap, at)[0], struct.unpack_from("<Q", heap, at + 8)[0]
        if number == 0:
            return None
        if number == wanted:
            return heap[at + HEAD : at + HEAD + size]
        at += HEAD + -(-size // 8) * 8
    return None
