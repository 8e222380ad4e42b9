"""HDF5 files that may be damaged: open, look up and read with errors that name the data set.

The library was not made for hostile files. It allocates what a header declares before it looks for the
data, and reports damage by whatever exception its bindings choose. So every reader of the package goes
through these few functions: a declared size is compared with what is stored before anything is allocated,
and all that the library raises becomes a :class:`~clapas.errors.FormatError`.
"""

from __future__ import annotations

import math
import os
import stat
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clapas.errors import Error, FormatError, WriteError

# What h5py raises on damaged files. Nothing here loses a slip of the package itself: the blocks that are
# guarded only call the library.
DAMAGE = (
    OSError,
    RuntimeError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    MemoryError,
    SystemError,
    EOFError,
    SyntaxError,
    tokenize.TokenError,  # in the header of an array of NumPy
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
UNWRITTEN = 1 << 20  # bytes that may be declared and never written: the library then gives zeros
BEST_PACKING = 1100  # bytes that one byte of deflate can stand for, at most


@contextmanager
def reading(where: str) -> Iterator[None]:
    """A block that reads from a file; ``where`` names the file and the place in it."""
    try:
        yield
    except Error:
        raise
    except DAMAGE as error:
        raise FormatError(f"{where}: damaged, or not what it should be ({first_line(error)})") from None


def first_line(error: BaseException) -> str:
    """What an exception of the library says, shortened to a line."""
    text = str(error).strip("'\"").split("\n")[0].strip()
    return text if len(text) <= 200 else f"{text[:199]}…"


def require_regular(path: Path) -> None:
    """Refuse folders, devices and pipes, which have no size and may have no end."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a device or a pipe"
        raise FormatError(f"{path}: {kind}, expected a file")


def writable(path: str | os.PathLike[str]) -> Path:
    """Where a file of this name is to be written: links are followed, nothing but a file is replaced."""
    place = Path(path)
    target = Path(os.path.realpath(place)) if place.is_symlink() else place
    if target.exists() and not target.is_file():
        kind = "a folder: name the file to write in it" if target.is_dir() else "a device or a pipe"
        raise WriteError(f"{path} is {kind}; give the name of a file, such as run.h5")
    return target


def dataset(parent: Any, name: str, where: str) -> Any:
    """The data set of that name, once what it declares is known to be stored.

    Parameters
    ----------
    parent : h5py.Group
        Where it is looked for.
    name : str
        Its name, or its path below the group.
    where : str
        The file and the group, for errors.
    """
    import h5py  # here: reading a text needs no HDF5

    with reading(f"{where}: '{name}'"):
        found = parent.get(name)
        if found is None:
            known = ", ".join(sorted(parent)[:20])
            raise FormatError(f"{where}: no '{name}'; found {known or 'nothing'}")
        if not isinstance(found, h5py.Dataset):
            raise FormatError(f"{where}: '{name}' must be a data set, found a group")
        _check_stored(found, f"{where}: '{name}'")
        return found


def _check_stored(data: Any, where: str) -> None:
    """Compare the declared size of a data set with what the file holds of it."""
    if data.shape is None:
        raise FormatError(f"{where} is empty: it holds no array")
    declared = math.prod(data.shape) * data.dtype.itemsize
    if declared <= UNWRITTEN:
        return
    if data.chunks is not None:
        needed = math.prod(-(-n // c) for n, c in zip(data.shape, data.chunks, strict=True))
        if data.id.get_num_chunks() < needed:
            raise FormatError(f"{where} declares {_shape(data)} values, but most of them are not in the file")
    stored = data.id.get_storage_size()
    if stored * (1 if data.chunks is None else BEST_PACKING) < declared or stored > _file_size(data):
        raise FormatError(
            f"{where} declares {_shape(data)} values, {declared} bytes, but {stored} bytes are stored"
        )


def _file_size(data: Any) -> int:
    return int(data.file.id.get_filesize())


def _shape(data: Any) -> str:
    return "×".join(map(str, data.shape)) or "1"
