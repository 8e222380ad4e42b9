"""Which kernels the first run of an installation compiles, in order: the list of ``clapas.compiled.ahead``.

``python -m benchmarks.first_kernels`` compares the list with what runs compile, ``--write`` writes it. Each
run has a process and an empty cache of its own; together they take about a minute.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from numba.core import event

import clapas
from clapas.compiled.ahead import LIST, Usual
from clapas.compiled.signatures import encoded
from clapas.scenes import examples

ROOT = Path(__file__).resolve().parents[1]
USUAL: tuple[Usual, ...] = ("few", "many")


class Calls(event.Listener):  # type: ignore[misc]
    """Notes the kernels that compile, not the functions inside them."""

    def __init__(self) -> None:
        self.depth = 0
        self.kernels: list[list[Any]] = []

    def on_start(self, event: Any) -> None:
        """A kernel begins to compile, or a function inside one."""
        if self.depth == 0:
            function, arguments = event.data["dispatcher"].py_func, event.data["args"]
            self.kernels.append(
                [function.__module__, function.__name__, [encoded(kind) for kind in arguments]]
            )
        self.depth += 1

    def on_end(self, event: Any) -> None:
        """It has compiled."""
        self.depth -= 1


def run(usual: Usual) -> None:
    """Do a usual run: a ball that falls on a floor, or the heap of the demo."""
    if usual == "many":
        clapas.simulate(examples.load("heap", grains=200, relaxation=0.25), dt=5e-4)
        return
    scene = clapas.Scene()
    scene.law(mu=0.3)
    scene.add(clapas.Plane())
    scene.add(clapas.Sphere(0.1), (0, 0, 0.15), mass=1.0)
    clapas.simulate(scene, duration=0.3, dt=1e-3)


def found(usual: Usual) -> list[list[Any]]:
    """The kernels of a usual run, by a process that starts with none."""
    with TemporaryDirectory(prefix="clapas-benchmark-") as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder, "CLAPAS_AHEAD": "0"}
        command = [sys.executable, "-m", "benchmarks.first_kernels", usual]
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def text() -> str:
    """The list, one kernel and one type a line; kernels name types by their numbers."""
    kinds: list[Any] = []
    lists = {}
    for usual in USUAL:
        lists[usual] = []
        for module, name, arguments in found(usual):
            kinds += [kind for i, kind in enumerate(arguments) if kind not in kinds + arguments[:i]]
            lists[usual].append([module, name, [kinds.index(kind) for kind in arguments]])
    parts = {**lists, "types": kinds}
    lines = [
        f'"{name}": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]" for name, rows in parts.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> None:
    """Compare or write the list, or be the process of one run."""
    if sys.argv[1:] and sys.argv[1] in USUAL:
        calls = Calls()
        event.register("numba:compile", calls)
        run(sys.argv[1])  # type: ignore[arg-type]
        print(json.dumps(calls.kernels))
    elif sys.argv[1:] == ["--write"]:
        LIST.write_text(text(), encoding="utf-8")
    elif text() != LIST.read_text(encoding="utf-8"):
        sys.exit("the list of first kernels is out of date: python -m benchmarks.first_kernels --write")


if __name__ == "__main__":
    main()
