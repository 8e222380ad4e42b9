"""One writer per recording: a lock beside the file, and the removal of what dead writers left.

The lock is the hidden file ``.NAME.lock``, held with ``flock``, which ends with the process however it
ends. Its text names the holder, for the message to a second one. A lock file that nobody holds was left by
a killed process and is taken over. Whoever holds the lock is the only writer, so unfinished files of
earlier ones are dead, unless their process still runs (one that took no lock).
"""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from clapas.errors import WriteError

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows refuses to replace open files, which serves the same end
    fcntl = None


class Lock:
    """The right to write a recording.

    Parameters
    ----------
    path : path
        The recording.

    Raises
    ------
    WriteError
        Another process writes it; the message names it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lock = Lock(Path(folder) / "run.h5")
    ...     try:
    ...         Lock(Path(folder) / "run.h5")
    ...     except WriteError as error:
    ...         print("refused:", "is being written by process" in str(error))
    ...     lock.release()
    ...     os.listdir(folder)
    refused: True
    []
    """

    def __init__(self, path: Path) -> None:
        self._place = path.with_name(f".{path.name}.lock")
        handle, is_held = _take(self._place, path)
        self._handle: int | None = handle
        if is_held:
            os.ftruncate(handle, 0)
            with suppress(OSError):  # a full disk: the lock holds without its text
                os.pwrite(handle, json.dumps(_own_name()).encode(), 0)
            _remove_dead(path)

    def release(self) -> None:
        """Let others write."""
        if self._handle is None:
            return
        self._place.unlink(missing_ok=True)  # before it is released: nobody can hold a file of no name
        os.close(self._handle)
        self._handle = None


def temporary(path: Path) -> Path:
    """Where a writer of this process puts a recording until its first frames are safe."""
    return path.with_name(f".{path.name}.{os.getpid()}.new")


def _take(place: Path, path: Path) -> tuple[int, bool]:
    """Open the lock file and lock it; False where the system or the file system has no locks."""
    while True:
        try:
            handle = os.open(place, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:  # said of the file that was asked for, not of a hidden one beside it
            raise OSError(error.errno, error.strerror, str(path)) from None
        if fcntl is None:
            return handle, False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 4096, 0)
            os.close(handle)
            raise WriteError(
                f"{path} is being written by {_named(holder)}: wait for its end, or write to another file"
            ) from None
        except OSError:  # a file system without locks: better no lock than no run
            return handle, False
        # A holder that ends between our opening and our locking has removed the file: then it locks nobody
        # out.
        if _is_at(handle, place):
            return handle, True
        os.close(handle)


def _is_at(handle: int, place: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(place))
    except FileNotFoundError:
        return False


def _own_name() -> dict[str, Any]:
    return {
        "process": os.getpid(),
        "host": socket.gethostname(),
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])[:200],
        "since": time.strftime("%Y-%m-%d %H:%M:%S"),
    }


def _named(holder: bytes) -> str:
    try:
        told = json.loads(holder)
        return f"process {told['process']} on {told['host']} ({told['command']}), since {told['since']}"
    except (ValueError, KeyError, TypeError):  # not written yet
        return "another process"


def _remove_dead(path: Path) -> None:
    """Remove unfinished files of this recording whose writers are dead."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.(\d+)\.new")
    for other in path.parent.iterdir():
        match = pattern.fullmatch(other.name)
        if match and not _runs(int(match[1])):
            other.unlink(missing_ok=True)


def _runs(process: int) -> bool:
    if process == os.getpid():
        return False  # a number that came round again: this process has not begun to write
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
