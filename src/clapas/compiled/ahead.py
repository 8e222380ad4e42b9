"""Kernels compiled by other processes, while a first run compiles those that it needs before them.

A run compiles its kernels one after the other, each when it is called. Which ones a usual run will call is
known beforehand: ``first-kernels.json`` lists them in the order of need, as found by ``python -m
benchmarks.first_kernels --write``. Where cores are free other processes go through the list from its end,
until they meet the run. Each kernel is compiled by one of them and loaded by the others; a list that is out
of date costs time of those cores and nothing else.

The other processes end with the run, whatever ends it: they are killed, and they see the end of their input.
``CLAPAS_AHEAD=0`` forbids it.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np

from clapas.compiled.kernels import IS_SCALAR, cache_directory, config, is_at_work
from clapas.compiled.signatures import decoded

Usual = Literal["few", "many"]
"""What usual runs move: few rigid bodies, or many."""
LIST = Path(__file__).with_name("first-kernels.json")
WORTH_A_PROCESS = 6  # kernels to compile; fewer take no longer than its imports
IDLE_ENOUGH = 0.6  # of a core
MOST = 3  # processes: more would wait for the kernels of each other
PACKAGE = Path(__file__).parents[1]


@contextmanager
def compiling_ahead(usual: Usual | None) -> Iterator[None]:
    """Let other processes compile what a usual run needs during the block, as many as are worth it."""
    helpers = _started(usual) if usual is not None and _is_welcome() else []
    try:
        yield
    finally:
        for helper in helpers:
            helper.kill()
        for helper in helpers:
            helper.communicate()


def _is_welcome() -> bool:
    """Whether this process may start others: none that is one of many itself."""
    if os.environ.get("CLAPAS_AHEAD") == "0" or IS_SCALAR or config.DISABLE_JIT:
        return False
    if config.NUMBA_NUM_THREADS == 1 or not sys.executable or not hasattr(os, "sched_getaffinity"):
        return False
    is_alone = multiprocessing.parent_process() is None
    return is_alone and threading.current_thread() is threading.main_thread()


def _free_cores() -> int:
    """How many cores are free for other processes."""
    others = len(os.sched_getaffinity(0)) - 1
    return min(others, int(_idle_cores() + 1.0 - IDLE_ENOUGH))


def _clocks() -> tuple[float, float]:
    """Seconds that the machine has been up, and that its cores together had nothing to do."""
    try:
        up, idle = map(float, Path("/proc/uptime").read_text().split())
    except (OSError, ValueError):
        return 0.0, 0.0
    return up, idle


_AT_IMPORT = _clocks()


def _idle_cores() -> float:
    """How many cores had nothing to do since the package was imported: this process has been busy since.

    The load average would count what ended a minute ago, such as the installation.
    """
    up, idle = np.subtract(_clocks(), _AT_IMPORT)
    return float(idle / up) if up > 0.1 else 0.0


@cache  # kernels do not vanish: a process that has looked once need not look again
def _started(usual: Usual) -> list[subprocess.Popen[bytes]]:
    missing = sum(not _is_kept(module, name) for module, name in _named(usual))
    # without the folder of work in the path, where files of the user may have the names of packages
    command = [sys.executable, "-P", "-m", __name__, usual]
    helpers: list[subprocess.Popen[bytes]] = []
    with suppress(OSError):  # no memory, no processes left: the run compiles for itself
        for _ in range(min(MOST, missing // WORTH_A_PROCESS, _free_cores())):
            nowhere = subprocess.DEVNULL
            helpers.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere))
    return helpers


def _listed(usual: Usual) -> list[tuple[str, str, list[int]]]:
    return json.loads(LIST.read_text(encoding="utf-8"))[usual]  # type: ignore[no-any-return]


def _named(usual: Usual) -> list[tuple[str, str]]:
    return [(module, name) for module, name, _ in _listed(usual)]


def _is_kept(module: str, name: str) -> bool:
    """Whether machine code of a kernel is on disk; where nothing can be kept there is nothing to wait for."""
    folder = cache_directory(PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py"))
    return folder == Path() or any(folder.glob(f"*{name}*.nbi"))


def compile_listed(usual: Usual) -> None:
    """Compile the kernels of a list, the last one first, but for those that another process compiles."""
    kinds = json.loads(LIST.read_text(encoding="utf-8"))["types"]
    for module, name, arguments in reversed(_listed(usual)):
        with suppress(Exception):  # a list of another version: the run compiles what it needs
            kernel: Any = getattr(import_module(module), name)
            if not is_at_work(kernel):
                kernel.compile(tuple(decoded(kinds[number]) for number in arguments))


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def main() -> None:
    """Compile until the list is done, or the process that asked for it ends."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    gc.disable()  # the compiler leaves hardly any garbage
    compile_listed(sys.argv[1])  # type: ignore[arg-type]
    os._exit(0)  # taking the compiler apart takes half a second


if __name__ == "__main__":
    main()
