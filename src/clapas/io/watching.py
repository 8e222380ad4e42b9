"""The viewer in a process of its own, for recordings that are being written.

It must not slow the run, and HDF5 lets no process read a file that it is writing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType


class ViewerProcess:
    """A page in the browser that shows a recording while it grows; it ends with this process.

    Parameters
    ----------
    path : path
        The recording.
    since : float, optional
        Ignore a file last changed before this time (s since 1970): by default one written before now.
    browser : bool
        Whether to open the browser; the address is printed either way.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, since: float | None = None, browser: bool = True
    ) -> None:
        self.path = Path(path)
        command = [sys.executable, "-m", "clapas", "view", str(self.path)]
        command += ["--since", repr(time.time() if since is None else since)]
        if not browser:
            command.append("--no-browser")
        # Its own session: Ctrl-C is for the run. The pipe closes with this process, however it ends.
        self._process = subprocess.Popen(command, start_new_session=True, stdin=subprocess.PIPE)

    def __enter__(self) -> ViewerProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ViewerProcess('{self.path}', {'open' if self.is_open else 'closed'})"

    @property
    def is_open(self) -> bool:
        """Whether the page is still served."""
        return self._process.poll() is None

    def wait(self) -> None:
        """Wait until the page is closed from outside, by Ctrl-C for instance."""
        self._process.wait()

    def close(self) -> None:
        """End the page."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
