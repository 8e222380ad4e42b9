"""Random command lines: an exit code of 0, 1 or 2, and no traceback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clapas import Plane, Scene, Sphere, simulate
from clapas.io import shipped
from clapas.scenes import examples
from tests.torture.harness import Random, fuzz, inputs
from tests.torture.mutations import WORDS

VALUES = [
    *WORDS,
    "1",
    "2",
    "0.5",
    "1e-3",
    "auto",
    "nsgs",
    "tol=1e-3",
    "tol=",
    "=",
    "",
    "x" * 300,
    "--",
    "-",
    "/",
]
OPTIONS = {
    "run": "--out --duration --dt --every --solver --set --tol --on-unsolved --sleeping --json".split(),
    "resume": "--duration --json --quiet".split(),
    "info": "--kind --symmetrise --verify --json".split(),
    "solve": "--solver --set --tol --time-limit --kind --json --quiet --out".split(),
    "lcp": "--solver --set --tol --json".split(),
    "export": "--fclib --out --csv --vtk".split(),
    "exists": ["--json"],
    "examples": [],
    "gallery": ["--json"],
    "solvers": ["--json"],
}
# Small, so that a command that is accepted ends soon.
SCENES = ["bouncing-ball", "sliding-block", "two-block-stack", "pile-of-disks", "dominoes", "wedged-bar"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("files")
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Plane())
    scene.add(Sphere(0.1), position=(0, 0, 0.1), density=1000)
    simulate(scene, 0.02, 2e-3, out=folder / "run.h5").close()
    (folder / "nothing.toml").write_text("", encoding="utf-8")
    (folder / "text.h5").write_text("no HDF5", encoding="utf-8")
    made = [str(path) for path in folder.iterdir()]
    return [
        *made,
        str(shipped("two-blocks.hdf5")),
        str(shipped("disc-column.dat")),
        str(folder),
        "/dev/zero",
        "",
    ]


def _is_long(value: str) -> bool:
    """Whether a duration is one that a run may well go on for, longer than a test."""
    try:
        return 1.0 < float(value) < 1e13
    except ValueError:
        return False


def test_command_lines(files: list[str], tmp_path: Path) -> None:
    def make(rng: Random) -> Iterator[tuple[object, str]]:
        verb = str(rng.choice(list(OPTIONS)))
        words = [verb]
        if rng.random() < 0.95:
            choices = [*files, *VALUES] if rng.random() < 0.5 else files
            scenes = SCENES if verb in ("run", "examples") and rng.random() < 0.7 else choices
            words.append(str(scenes[int(rng.integers(0, len(scenes)))]))
        if verb == "run":
            words += ["--duration", "0.004", "--dt", "2e-3", "--quiet"]
            words += _parameters(words[1], rng)
        for _ in range(int(rng.integers(0, 4))):
            if OPTIONS[verb]:
                words.append(str(rng.choice(OPTIONS[verb])))
            if rng.random() < 0.8:
                value = str(VALUES[int(rng.integers(0, len(VALUES)))])
                words.append("0.05" if words[-1] == "--duration" and _is_long(value) else value)
        yield words, " ".join(words)[:300]

    fuzz("command lines", "command", inputs(60, 0.01), make)


def _parameters(scene: str, rng: Random) -> list[str]:
    words = []
    for name, parameter in examples.parameters(scene).items():
        if rng.random() < 0.3:
            limits = parameter.range
            numbers = [limits.low, -1, 0, limits.high * 1.01, 1e300, "nan", "1e400", "x", "", "9" * 5000]
            words += [f"--{name.replace('_', '-')}", str(numbers[int(rng.integers(0, len(numbers)))])]
    return words
