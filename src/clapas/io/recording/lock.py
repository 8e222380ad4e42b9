"""One writer per recording: a lock beside the file, and the removal of files left by killed writers.

The lock is the hidden file ``.NAME.lock``, held with ``flock``, which the system releases when the process
ends. Its text names the holder, for the error message of a second writer. A lock file without a holder was
left by a killed process and is taken over. The holder is the only writer, so unfinished files of earlier
writers are stale unless their process still runs (a writer without a lock).
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
except ImportError:  # Windows does not replace open files, which has the same effect
    fcntl = None


class Lock:
    """Exclusive lock for writing a recording.

    Parameters
    ----------
    path : path
        The recording.

    Raises
    ------
    WriteError
        Another process is writing it; the message names that process.

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
            with suppress(OSError):  # disk full: the lock works without its text
                os.pwrite(handle, json.dumps(_holder_record()).encode(), 0)
            _remove_stale(path)

    def release(self) -> None:
        """Release the lock."""
        if self._handle is None:
            return
        self._place.unlink(missing_ok=True)  # first: a removed file cannot be locked
        os.close(self._handle)
        self._handle = None


def temporary(path: Path) -> Path:
    """Temporary path of a recording until its first frames are on disk."""
    return path.with_name(f".{path.name}.{os.getpid()}.new")


def _take(place: Path, path: Path) -> tuple[int, bool]:
    """Open the lock file and lock it; False where the system or the file system has no locks."""
    while True:
        try:
            handle = os.open(place, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:  # name the requested file, not the hidden lock file
            raise OSError(error.errno, error.strerror, str(path)) from None
        if fcntl is None:
            return handle, False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 4096, 0)
            os.close(handle)
            raise WriteError(
                f"{path} is being written by {_holder(holder)}: wait for its end, or write to another file"
            ) from None
        except OSError:  # file system without locks: run without a lock
            return handle, False
        # A holder that ended between our opening and our locking has removed the file: our lock would be
        # ineffective.
        if _is_at(handle, place):
            return handle, True
        os.close(handle)


def _is_at(handle: int, place: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(place))
    except FileNotFoundError:
        return False


def _holder_record() -> dict[str, Any]:
    return {
        "process": os.getpid(),
        "host": socket.gethostname(),
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])[:200],
        "since": time.strftime("%Y-%m-%d %H:%M:%S"),
    }


def _holder(holder: bytes) -> str:
    try:
        info = json.loads(holder)
        return f"process {info['process']} on {info['host']} ({info['command']}), since {info['since']}"
    except (ValueError, KeyError, TypeError):  # not written yet
        return "another process"


def _remove_stale(path: Path) -> None:
    """Remove unfinished files of this recording whose writers no longer run."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.(\d+)\.new")
    for other in path.parent.iterdir():
        match = pattern.fullmatch(other.name)
        if match and not _runs(int(match[1])):
            other.unlink(missing_ok=True)


def _runs(process: int) -> bool:
    if process == os.getpid():
        return False  # a reused process number: this process has not begun to write
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
