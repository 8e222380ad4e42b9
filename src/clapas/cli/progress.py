"""Progress of a solver: one line on the terminal, and signals to stop it.

Nothing here touches standard output. On a stream that is not a terminal only the note about
compiling is written, so that logs stay short.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from clapas.solvers import Progress

STOPPING_SIGNALS = (signal.SIGINT, signal.SIGTERM)  # Ctrl-C, and the signal of batch systems


class Watch:
    """Progress callback: keeps and shows the last measurement, and requests a stop."""

    def __init__(self, tol: float) -> None:
        self.tol = tol
        self.last: Progress | None = None
        self.stop_asked = False
        self._start = time.perf_counter()

    def __call__(self, progress: Progress) -> bool:
        """Receive a measurement; return True to stop the solver."""
        self.last = progress
        return self.stop_asked

    def ask_to_stop(self, number: int = signal.SIGINT, frame: FrameType | None = None) -> None:
        """Stop at the next measurement; on a second request, interrupt at once."""
        if self.stop_asked:
            raise KeyboardInterrupt
        self.stop_asked = True

    def __rich__(self) -> Text:
        from rich.text import Text

        seconds = f"{time.perf_counter() - self._start:.1f} s"
        if self.last is None:
            return Text(f"preparing   {seconds}", style="dim")
        end = "   stopping" if self.stop_asked else ""
        return Text(
            f"{self.last.iterations} iterations   residual {self.last.residual:.2e} (tol {self.tol:.0e})   "
            f"{seconds}{end}"
        )


@contextmanager
def watching(tol: float, quiet: bool = False) -> Iterator[Watch]:
    """Context in which the progress of a solver is shown and signals stop it."""
    watch = Watch(tol)
    with ExitStack() as stack:
        if not quiet:
            stack.enter_context(_shown(watch))
        stack.enter_context(_stopped_by_signals(watch))
        yield watch


@contextmanager
def telling_of_compilation(console: Console | None = None) -> Iterator[None]:
    """Context that reports the compilation of kernels on standard error."""
    from rich.console import Console

    from clapas.compiled import COMPILING, on_compile

    console = console or Console(stderr=True)
    with on_compile(lambda: console.print(COMPILING, style="dim", highlight=False)):
        yield


@contextmanager
def _shown(watch: Watch) -> Iterator[None]:
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    # Not redirected: results printed on standard output must reach it unchanged.
    line = Live(
        watch,
        console=console,
        transient=True,
        refresh_per_second=8,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with line if sys.stderr.isatty() else nullcontext(), telling_of_compilation(console):
        yield


@contextmanager
def _stopped_by_signals(watch: Watch) -> Iterator[None]:
    # Python delivers signals to the main thread only, and not before the running kernel returns,
    # which is also the next measurement.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = {number: signal.signal(number, watch.ask_to_stop) for number in STOPPING_SIGNALS}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
