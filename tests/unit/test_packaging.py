"""What the package says of itself agrees with what is there."""

from __future__ import annotations

import tomllib
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_numba_is_within_its_bounds() -> None:
    """Lanes and thread layers lean on Numba's internals: a version beyond the bound was never tried."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (bound,) = (line for line in project["dependencies"] if line.startswith("numba"))
    low, high = (tuple(map(int, part.strip("><=").split("."))) for part in bound[5:].split(","))
    installed = tuple(map(int, metadata.version("numba").split(".")[:2]))
    assert low <= installed < high


def test_classifiers_begin_with_the_oldest_python() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [line.rpartition(" ")[2] for line in project["classifiers"] if ":: 3." in line]
    assert named[0] == project["requires-python"].strip(">=")
    assert (ROOT / "src" / "clapas" / "scenes" / "examples" / "arch.obj").is_file()
