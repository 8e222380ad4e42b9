"""``clapas bench``: run the benchmarks of a source checkout."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

BENCHMARK = re.compile(r"^def main\(\w", re.MULTILINE)  # one that takes arguments; others are parts


def bench(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(help="Which one: kernels, scenes, collision, solvers, heap, trusses, compare…")
    ] = "kernels",
) -> None:
    """Measure speed against a reference in the same run (in a source checkout).

    Further options go to the benchmark: clapas bench kernels --help shows its own.
    """
    if name in ("--help", "-h"):
        print(context.get_help())
        return
    import sys
    from importlib import import_module

    from clapas.errors import SettingsError, unknown_name

    root = Path(__file__).resolve().parents[3]
    known = _benchmarks(root / "benchmarks")
    if not known:
        raise SettingsError(
            "there are no benchmarks here: they come with the sources; in a checkout, "
            f"run 'pip install -e .' and then 'clapas bench {name}'"
        )
    if name not in known:
        raise unknown_name("benchmark", name, known)
    sys.path.insert(0, str(root))
    raise typer.Exit(import_module(f"benchmarks.{name}").main(context.args) or 0)


def _benchmarks(folder: Path) -> list[str]:
    """Names of the benchmarks in a folder, without their parts."""
    files = sorted(folder.glob("*.py"))
    return [file.stem for file in files if BENCHMARK.search(file.read_text(encoding="utf-8"))]
