"""Whole processes killed at random instants of a run, a resume and an export, flush times as shipped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from clapas import Recording
from clapas.errors import FormatError
from clapas.io.recording import layout
from tests.torture.harness import ROOT, Random, kills, seed

SCENE = """
gravity = [0.0, 0.0, -9.81]
run = {duration = 30.0, dt = 5e-4, every = 10, on_unsolved = "record", solver = {name = "nsgs", tol = 1e-4}}
[[laws]]
mu = 0.5
[[bodies]]
shape = {type = "plane"}
[[fills]]
region = {type = "box", low = [0, 0, 0], high = [0.3, 0.3, 1.0]}
count = 12
radius = [0.03, 0.05]
density = 2000.0
[[probes]]
quantity = "position"
body = 1
name = "way"
"""
EARLY = "before the first flush"


def clapas(*arguments: object) -> subprocess.Popen[bytes]:
    """A process of the command line."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "clapas", *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(*arguments: object) -> str:
    """Run the command line to its end; what it says on standard error."""
    process = clapas(*arguments)
    words = process.communicate(timeout=1200)[1].decode()
    assert process.returncode == 0, words
    return words


def columns(path: Path) -> dict[str, np.ndarray]:
    """All columns but the wall time."""
    with Recording(path) as run:
        found = {name: run.column(name) for name in layout.FRAMES if name != "seconds"}
        rows = [contacts for _, contacts in run.stored()]
        found |= {f"contacts/{n}": np.concatenate([row[n] for row in rows]) for n in layout.CONTACTS}
        return found | {"probes": run.readings()[1]}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """A run that nobody disturbed, and its wall time."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "scene.toml").write_text(SCENE, encoding="utf-8")
    finish("run", folder / "scene.toml", "--out", folder / "whole.h5", "--quiet")  # compiles
    begin = time.monotonic()
    finish("run", folder / "scene.toml", "--out", folder / "whole.h5", "--quiet")
    return folder, time.monotonic() - begin


@pytest.mark.slow
def test_kills(whole: tuple[Path, float], tmp_path: Path) -> None:
    """Killed at any instant, a run keeps what it had, and goes on to the same bits.

    Kills before the first flush, which leave nothing to lose, come on top of the number wanted.
    """
    folder, seconds = whole
    rng, expected = np.random.default_rng([seed(), 7]), columns(folder / "whole.h5")
    counts = dict.fromkeys(("of runs", "of resumes", "of exports", EARLY, "too late"), 0)
    path, done = tmp_path / "run.h5", 0
    while done < kills(1):
        print("\nkills:", ", ".join(f"{count} {name}" for name, count in counts.items()), flush=True)
        path.unlink(missing_ok=True)
        verb: list[object] = ["run", folder / "scene.toml", "--out", path]
        for _ in range(int(rng.integers(1, 5))):  # kills until it is let finish
            kept = _frames(path)
            killed = _kill(verb, rng, 0.9 * seconds)
            left = _frames(path)
            assert left >= kept, "frames were lost"
            counts["too late" if not killed else f"of {verb[0]}s" if left else EARLY] += 1
            done += killed and left > 0
            if left:
                verb = ["resume", path]
        finish(*verb, "--quiet")
        found = columns(path)
        for name, values in expected.items():
            assert found[name].tobytes() == values.tobytes(), f"{name} after {done} kills"
        assert [p.name for p in tmp_path.glob(".*")] == []
        done += _kill_exports(path, tmp_path, rng, counts)
    print("\nkills:", ", ".join(f"{count} {name}" for name, count in counts.items()), f"({done} in all)")


def _kill(verb: list[object], rng: Random, seconds: float) -> bool:
    """Start a command and kill it at a random instant; False if it was over by then."""
    process = clapas(*verb, "--quiet")
    time.sleep(float(rng.uniform(0.0, seconds)))
    is_over = process.poll() is not None
    process.send_signal(signal.SIGKILL)
    words = process.communicate()[1].decode()
    assert "Traceback" not in words, words
    return not is_over


def _frames(path: Path) -> int:
    """Complete frames that agree with their checksums."""
    if not path.exists():
        return 0
    with Recording(path) as run:
        try:
            return run.verify()
        except FormatError as error:
            raise AssertionError(f"a kill left a damaged file: {error}") from error


def _kill_exports(path: Path, folder: Path, rng: Random, counts: dict[str, int]) -> int:
    """Kill an export: the recording is untouched, and an FCLib file is there as a whole or not at all."""
    from clapas import read

    before, target = path.read_bytes(), folder / "step.hdf5"
    target.unlink(missing_ok=True)
    killed = _kill_export(path, target, rng)
    counts["of exports" if killed else "too late"] += 1
    assert path.read_bytes() == before
    if target.exists():
        assert read(target).solution is not None
    finish("export", path, "--fclib", "40", "--out", target)
    for litter in folder.glob(".*"):
        litter.unlink()
    return int(killed)


def _kill_export(path: Path, target: Path, rng: Random) -> bool:
    process = clapas("export", path, "--fclib", "40", "--out", target)
    time.sleep(float(rng.uniform(0.5, 4.0)))
    is_over = process.poll() is not None
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return not is_over
