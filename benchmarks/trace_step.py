"""Which Python code of the package runs in one time step: files, functions, calls.

    python -m benchmarks.trace_step              # five boxes in a stack; or: clapas bench trace_step
    python -m benchmarks.trace_step spheres many # ten spheres on a plane, 1 296 of them
    python -m benchmarks.trace_step --json

A reader of the step has to open that many files. Compiled kernels are not counted, only the Python around
them. The step traced is the second of a run, made twice: everything is imported and compiled, and the list of
neighbours is there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import clapas
from clapas.dynamics.births import initial_state
from clapas.dynamics.neighbours import PATIENCE, Neighbours
from clapas.dynamics.stepping import step
from clapas.scenes.compilation import compile_scene
from clapas.studies.report import markdown_table

PACKAGE = Path(clapas.__file__).parent
DT = 1e-3


@dataclass(frozen=True)
class Trace:
    """The Python functions of the package that ran.

    Parameters
    ----------
    scene : str
        What made a step.
    contacts : int
        Contacts of the step.
    calls : dict
        How often each function was called, by file, in the order of the first calls.
    """

    scene: str
    contacts: int
    calls: dict[str, dict[str, int]]

    @property
    def n_files(self) -> int:
        """Files whose code ran."""
        return len(self.calls)

    @property
    def n_functions(self) -> int:
        """Functions that ran."""
        return sum(len(functions) for functions in self.calls.values())

    @property
    def n_calls(self) -> int:
        """Calls of all of them."""
        return sum(sum(functions.values()) for functions in self.calls.values())


def boxes() -> clapas.Scene:
    """Five boxes in a stack on a plane."""
    return _scene(clapas.Box((0.2, 0.2, 0.2)), [(0.0, 0.0, 0.1 + 0.2 * k - 1e-9 * k) for k in range(5)])


def spheres() -> clapas.Scene:
    """Ten spheres side by side on a plane."""
    return _scene(clapas.Sphere(0.1), [(0.21 * k, 0.0, 0.1 - 1e-9) for k in range(10)])


def many() -> clapas.Scene:
    """1 296 spheres side by side on a plane: the form of the problem for many spheres."""
    return _scene(clapas.Sphere(0.1), [(0.2 * i, 0.2 * j, 0.1 - 1e-9) for i in range(36) for j in range(36)])


def _scene(shape: Any, places: Sequence[tuple[float, float, float]]) -> clapas.Scene:
    scene = clapas.Scene()
    scene.law(mu=0.5)
    scene.add(clapas.Plane())
    for place in places:
        scene.add(shape, position=place, density=2500.0)
    return scene


SCENES: dict[str, Callable[[], clapas.Scene]] = {"boxes": boxes, "spheres": spheres, "many": many}


def trace(name: str, after: int = 1, patience: int = PATIENCE) -> Trace:
    """Make some steps of a scene, then list what runs in the next.

    ``patience`` is that of :class:`clapas.dynamics.neighbours.Neighbours`.
    """
    model = compile_scene(SCENES[name]())
    state, neighbours = initial_state(model), Neighbours(model, patience=patience)
    for _ in range(after):
        state = step(model, state, DT, neighbours=neighbours).state
    step(model, state, DT, neighbours=neighbours)  # compiling runs Python of its own
    ran: Counter[tuple[str, str]] = Counter()

    def note(frame: FrameType, event: str, argument: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and PACKAGE in path.parents:
            ran[path.relative_to(PACKAGE).as_posix(), frame.f_code.co_qualname] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        done = step(model, state, DT, neighbours=neighbours)
    finally:
        sys.setprofile(before)
    calls: dict[str, dict[str, int]] = {}
    for (file, function), count in ran.items():
        calls.setdefault(file, {})[function] = count
    return Trace(name, len(done.contacts), calls)


def report(found: Trace) -> str:
    """A trace as text."""
    lines = [[file, f"{len(of)}", f"{sum(of.values())}"] for file, of in found.calls.items()]
    head = (
        f"{found.scene}, {found.contacts} contacts: Python code of {found.n_files} files, "
        f"{found.n_functions} functions, {found.n_calls} calls"
    )
    return f"{head}\n\n{markdown_table(['file', 'functions', 'calls'], lines)}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Trace, print; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.trace_step", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help=f"some of {', '.join(SCENES)}")
    parser.add_argument("--after", type=int, default=1, help="steps before the one that is traced")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.scenes) - set(SCENES)):
        parser.error(f"no scene {', '.join(unknown)}; there are {', '.join(SCENES)}")
    found = [trace(name, options.after) for name in options.scenes or ["boxes"]]
    if options.json:
        print(json.dumps([{**asdict(one), "files": one.n_files} for one in found], indent=1))
    else:
        print("\n".join(report(one) for one in found), end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
