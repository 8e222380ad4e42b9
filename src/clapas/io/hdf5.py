"""HDF5 files that may be damaged: open, look up and read with errors that name the data set.

The HDF5 library is not robust against damaged files. It allocates what a header declares before it looks for
the data, and its bindings report damage by exceptions of many types. So every reader of the package uses
these functions: a declared size is compared with the stored size before anything is allocated,
and all exceptions of the library become a :class:`~clapas.errors.FormatError`.
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

# Exceptions of h5py on damaged files. This does not hide programming errors of the package: the guarded
# blocks only call the library.
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
UNWRITTEN = 1 << 20  # bytes that may be declared but not written: HDF5 reads them as zeros
WIDEST = 16  # of a column of zeros that was not written, relative to a written one beside it
BEST_PACKING = 1100  # largest compression ratio of deflate


@contextmanager
def reading(where: str) -> Iterator[None]:
    """Context that reads from a file; ``where`` names the file and the position in it."""
    try:
        yield
    except Error:
        raise
    except DAMAGE as error:
        raise FormatError(f"{where}: damaged, or not what it should be ({first_line(error)})") from None


def first_line(error: BaseException) -> str:
    """First line of an exception's message, at most 200 characters."""
    text = str(error).strip("'\"").split("\n")[0].strip()
    return text if len(text) <= 200 else f"{text[:199]}…"


def require_regular(path: Path) -> None:
    """Reject folders, devices and pipes, which have no definite size."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a device or a pipe"
        raise FormatError(f"{path}: {kind}, expected a file")


def writable(path: str | os.PathLike[str]) -> Path:
    """Path to write to: links are followed, and only a regular file may be replaced."""
    requested = Path(path)
    target = Path(os.path.realpath(requested)) if requested.is_symlink() else requested
    if target.exists() and not target.is_file():
        kind = "a folder: name the file to write in it" if target.is_dir() else "a device or a pipe"
        raise WriteError(f"{path} is {kind}; give the name of a file, such as run.h5")
    return target


def dataset(parent: Any, name: str, where: str) -> Any:
    """The data set of that name, after checking that its declared size is stored.

    Parameters
    ----------
    parent : h5py.Group
        Group to search.
    name : str
        Name, or path below the group.
    where : str
        The file and the group, for errors.
    """
    import h5py  # local import: reading text needs no HDF5

    with reading(f"{where}: '{name}'"):
        member = parent.get(name)
        if member is None:
            known = ", ".join(sorted(parent)[:20])
            raise FormatError(f"{where}: no '{name}'; found {known or 'nothing'}")
        if not isinstance(member, h5py.Dataset):
            raise FormatError(f"{where}: '{name}' must be a data set, found a group")
        _check_stored(member, f"{where}: '{name}'")
        return member


def _check_stored(data: Any, where: str) -> None:
    """Compare the declared size of a data set with its stored size."""
    if data.shape is None:
        raise FormatError(f"{where} is empty: it holds no array")
    declared = _declared(data)
    if declared <= UNWRITTEN:
        return
    if not _is_whole(data):
        if _has_whole_neighbour(data):
            return
        raise FormatError(f"{where} declares {_shape(data)} values, but most of them are not in the file")
    stored = data.id.get_storage_size()
    if stored * (1 if data.chunks is None else BEST_PACKING) < declared or stored > _file_size(data):
        raise FormatError(
            f"{where} declares {_shape(data)} values, {declared} bytes, but {stored} bytes are stored"
        )


def _declared(data: Any) -> int:
    """Bytes that a data set declares."""
    return int(math.prod(data.shape) * data.dtype.itemsize)


def _is_whole(data: Any) -> bool:
    """Whether all chunks of a data set were written."""
    if data.chunks is None:
        return True
    needed = math.prod(-(-n // c) for n, c in zip(data.shape, data.chunks, strict=True))
    return bool(data.id.get_num_chunks() >= needed)


def _has_whole_neighbour(data: Any) -> bool:
    """Whether another data set of the group has as many rows, all written.

    Then so many rows were recorded, and a column of them that is zero was not written: couples where nothing
    resists rolling, velocities of bodies at rest.
    """
    return any(
        getattr(other, "shape", None)
        and other.shape[0] == data.shape[0]
        and _declared(data) <= WIDEST * _declared(other)
        and _is_whole(other)
        for other in data.parent.values()
    )


def _file_size(data: Any) -> int:
    return int(data.file.id.get_filesize())


def _shape(data: Any) -> str:
    return "×".join(map(str, data.shape)) or "1"
