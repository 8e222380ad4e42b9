"""Progress of a solver: one line on the terminal, and a key to stop it.

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

STOPPING_SIGNALS = (signal.SIGINT, signal.SIGTERM)  # Ctrl-C, and what batch systems send


class Watch:
    """Follows a run: keeps the last measurement, shows it, and passes on the wish to stop."""

    def __init__(self, tol: float) -> None:
        self.tol = tol
        self.last: Progress | None = None
        self.stop_asked = False
        self._start = time.perf_counter()

    def __call__(self, progress: Progress) -> bool:
        """Receive a measurement; True asks the solver to stop."""
        self.last = progress
        return self.stop_asked

    def ask_to_stop(self, number: int = signal.SIGINT, frame: FrameType | None = None) -> None:
        """Stop at the next measurement; asked twice, give up at once."""
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
    """A block in which a solver runs: its progress is shown and signals ask it to stop."""
    watch = Watch(tol)
    with ExitStack() as stack:
        if not quiet:
            stack.enter_context(_shown(watch))
        stack.enter_context(_stopped_by_signals(watch))
        yield watch


@contextmanager
def telling_of_compilation(console: Console | None = None) -> Iterator[None]:
    """Say so on standard error if kernels have to be compiled inside the block."""
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
    # The streams are left alone: what is printed on standard output must not be diverted.
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
    # Python delivers signals to the main thread alone. While a kernel runs they wait for its end,
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
