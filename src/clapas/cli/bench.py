"""``clapas bench``: run the benchmarks of a source checkout."""

from __future__ import annotations

from typing import Annotated

import typer


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
    from pathlib import Path

    from clapas.errors import SettingsError

    root = Path(__file__).resolve().parents[3]
    if not (root / "benchmarks" / f"{name}.py").is_file():
        raise SettingsError(
            f"no benchmark '{name}' here: benchmarks come with the sources; in a checkout, "
            f"run 'pip install -e .' and then 'clapas bench {name}'"
        )
    sys.path.insert(0, str(root))
    raise typer.Exit(import_module(f"benchmarks.{name}").main(context.args) or 0)
