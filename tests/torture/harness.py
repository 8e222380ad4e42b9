"""What fuzzers share: how many inputs, isolated workers that may crash or hang, and counts.

A fuzzer makes inputs from a seed and hands each to a worker, a process of its own, so that a crash of a C
library or a loop without end is a verdict and not the end of the test. Verdicts are words; those of ``GOOD``
are promised.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 10.0  # a longer silence is a hang, in seconds of the processor
COMPILING_SECONDS = 120.0
WAITING = 20.0  # times as long a worker may wait for a processor on a busy machine
GOOD = {"accepted", "refused"}

Random = np.random.Generator


def inputs(sample: int, share: float = 1.0) -> int:
    """Number of inputs of a fuzzer: a sample, or its share of ``CLAPAS_TORTURE_INPUTS``."""
    wanted = os.environ.get("CLAPAS_TORTURE_INPUTS")
    return max(1, round(share * int(wanted))) if wanted else sample


def kills(sample: int) -> int:
    """Number of kills: a sample, or ``CLAPAS_TORTURE_KILLS``."""
    return int(os.environ.get("CLAPAS_TORTURE_KILLS", sample))


def seed() -> int:
    """Seed of all fuzzers, ``CLAPAS_TORTURE_SEED``."""
    return int(os.environ.get("CLAPAS_TORTURE_SEED", 0))


def cpu_seconds(pid: int) -> float:
    """Time a process had a processor (s); wall time where the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return time.monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Worker:
    """A process that judges inputs, replaced when it crashes or hangs."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._end()

    def judge(self, kind: str, argument: object) -> tuple[str, str]:
        """The verdict on an input, and what belongs to it: a message, or a trace.

        A silence is a hang only if it comes again: the first time kernels may have been compiled.
        """
        verdict, words = self._judge(kind, argument, COMPILING_SECONDS)
        return self._judge(kind, argument, SECONDS) if verdict == "slow" else (verdict, words)

    def _judge(self, kind: str, argument: object, limit: float) -> tuple[str, str]:
        begun = time.monotonic()
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([kind, argument]).encode() + b"\n")
        process.stdin.flush()
        line, spent = b"", cpu_seconds(process.pid)
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([process.stdout], [], [], 1.0)
            if not ready:
                waited, worked = time.monotonic() - begun, cpu_seconds(process.pid) - spent
                if waited < limit or (worked < limit and waited < WAITING * limit):
                    continue
                self._end()
                return "hang", f"no answer in {limit:g} s"
            part = os.read(process.stdout.fileno(), 1 << 16)
            if not part:
                code = process.wait()
                self._end()
                return "crash", f"exit code {code}"
            line += part
        verdict, words = json.loads(line)
        is_slow = limit > SECONDS and cpu_seconds(process.pid) - spent > SECONDS
        return ("slow", words) if is_slow else (verdict, words)

    def _start(self) -> subprocess.Popen[bytes]:
        environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.torture.worker"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()  # it has loaded everything
        return self._process

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    stream.close()
            self._process = None


class Tally:
    """Counts of verdicts, and the first inputs that broke a promise."""

    def __init__(self, name: str) -> None:
        self.name, self.counts, self.broken = name, Counter[str](), list[str]()

    def add(self, verdict: str, words: str, origin: str) -> None:
        """Count a verdict on the input that ``origin`` describes."""
        self.counts[verdict] += 1
        if verdict not in GOOD and len(self.broken) < 20:
            self.broken.append(f"{verdict} on {origin}: {words}")

    def __str__(self) -> str:
        parts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(self.counts.items()))
        return f"\n{self.name}: {sum(self.counts.values())} inputs: {parts}"


def _keep(argument: object, name: str) -> None:
    """Copy the file of an input that broke a promise to the folder ``CLAPAS_TORTURE_KEEP``, if set."""
    folder = os.environ.get("CLAPAS_TORTURE_KEEP")
    path = Path(str(argument[0] if isinstance(argument, list) and argument else argument))
    if folder and path.is_file():
        shutil.copy(path, Path(folder) / f"{name}{path.suffix}")


def fuzz(name: str, kind: str, count: int, make: Callable[[Random], Iterable[tuple[object, str]]]) -> None:
    """Judge ``count`` inputs; ``make`` gives some inputs and their descriptions from a generator."""
    tally = Tally(name)
    try:
        with Worker() as worker:
            for number in range(count):
                rng = np.random.default_rng([seed(), number])
                for argument, origin in make(rng):
                    verdict, words = worker.judge(kind, argument)
                    tally.add(verdict, words, f"input {number} ({origin})")
                    if verdict not in GOOD:
                        _keep(argument, f"{kind}-{number}")
    finally:
        print(tally, flush=True)  # also when it is interrupted: a long run must not lose its counts
    assert not tally.broken, "\n".join(tally.broken)
