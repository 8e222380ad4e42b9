"""The viewer as a separate process: beside a running simulation, or for a notebook cell.

It must not slow the run, and HDF5 does not let a process read a file that it is writing.
"""

from __future__ import annotations

import html
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType

from clapas.errors import FormatError, SettingsError


class ViewerProcess:
    """A page in the browser that shows a recording while it grows; it ends with this process.

    Parameters
    ----------
    path : path
        The recording.
    since : float, optional
        Ignore a file last changed before this time (s since 1970); by default now.
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
        # A session of its own, so that Ctrl-C reaches the run only. The pipe closes when this process ends.
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


class InteractivePage:
    """Viewer page with a run, as the value of a notebook cell.

    Parameters
    ----------
    text : str
        The complete page: it needs neither server nor network, and is saved with the notebook.
    height : int
        Pixels.
    """

    def __init__(self, text: str, height: int) -> None:
        self.text, self.height = text, height

    def __repr__(self) -> str:
        return f"InteractivePage({len(self.text) / 1e6:.1f} MB)"

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{self.height}px;border:0"
        return f'<iframe style="{style}" srcdoc="{html.escape(self.text)}"></iframe>'


def show(
    path: str | os.PathLike[str], *, height: int = 560, frames: int = 100
) -> InteractivePage | ViewerProcess:
    """Show a recording: in the cell of a notebook, or else in the browser."""
    for name, number in (("height", height), ("frames", frames)):
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise SettingsError(f"show: {name} must be a whole number from 1 on, got {number!r:.40}")
    if not _in_notebook():
        return ViewerProcess(path, since=1.0)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        command = [sys.executable, "-m", "clapas", "view", str(path), "--export", str(page)]
        export = subprocess.run(
            [*command, "--frames", str(frames)], capture_output=True, text=True, check=False
        )
        if export.returncode != 0:
            raise FormatError(export.stderr.strip().removeprefix("clapas: ") or f"{path}: it cannot be shown")
        return InteractivePage(page.read_text(encoding="utf-8"), height)


def _in_notebook() -> bool:
    """Whether a notebook's kernel runs this process, not a terminal."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return getattr(shell, "kernel", None) is not None
