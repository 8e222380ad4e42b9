"""What is seen while a solver works."""

from __future__ import annotations

import sys
import threading

import pytest
from numba.core import event
from rich.console import Console

from clapas.cli import progress
from clapas.cli.progress import Watch, watching
from clapas.compiled import COMPILING
from clapas.solvers import Progress

from .conftest import Run


def shown(watch: Watch) -> str:
    console = Console(width=100)
    with console.capture() as capture:
        console.print(watch)
    return capture.get()


def test_the_line_tells_iterations_residual_and_seconds() -> None:
    watch = Watch(tol=1e-8)
    assert shown(watch).startswith("preparing")
    assert watch(Progress(120, 3.25e-5, 0.5)) is False
    assert "120 iterations   residual 3.25e-05 (tol 1e-08)" in shown(watch)
    assert shown(watch).rstrip().endswith(" s")
    watch.ask_to_stop()
    assert watch(Progress(130, 3e-5, 0.6)) is True
    assert shown(watch).rstrip().endswith("stopping")


def test_asking_twice_interrupts() -> None:
    watch = Watch(tol=1e-8)
    watch.ask_to_stop()
    with pytest.raises(KeyboardInterrupt):
        watch.ask_to_stop()


def compile_something() -> None:
    with event.trigger_event("numba:compile"):
        pass


def test_compiling_is_told_once_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with watching(1e-8):
        compile_something()
        compile_something()
    assert capsys.readouterr() == ("", COMPILING + "\n")
    with progress.telling_of_compilation():
        pass
    assert capsys.readouterr() == ("", "")


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with watching(1e-8, quiet=True):
        compile_something()
    assert capsys.readouterr() == ("", "")


def test_other_threads_leave_signals_alone() -> None:
    seen = []

    def work() -> None:
        with watching(1e-8, quiet=True) as watch:
            seen.append(watch(Progress(1, 1.0, 0.0)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [False]


def test_on_a_terminal_the_line_goes_to_standard_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    outcome = run("solve", "gallery:tower-10", "--json", "--tol", "1e-4")
    assert outcome.document["status"] == "SOLVED"
    assert "iterations   residual" in outcome.err


def test_without_a_terminal_there_is_no_line(run: Run) -> None:
    assert "iterations" not in run("solve", "gallery:tower-10", "--json", "--tol", "1e-4").err
