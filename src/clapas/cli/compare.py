"""``clapas compare FILE…``: solvers side by side on problems of your own."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clapas.cli import output, progress
from clapas.cli.source import FILE_HELP, load
from clapas.errors import SettingsError

if TYPE_CHECKING:
    from clapas.studies.comparison import Comparison


def compare(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help=FILE_HELP, show_default=False)],
    solvers: Annotated[
        str, typer.Option(help="Names with commas; 'clapas solvers' lists them, 'all' takes every one.")
    ] = "auto,nsgs,accelerated-projection,interior-point",
    tol: Annotated[float, typer.Option(help="Largest residual accepted.")] = 1e-6,
    time_limit: Annotated[float, typer.Option(help="Seconds for one solver on one problem.")] = 10.0,
    picture: Annotated[
        Path | None,
        typer.Option(
            help="Picture to write: performance profile, and residual against time.",
            callback=output.picture_path,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Solve problems by several methods and print who solved what, how fast; compilation is told apart."""
    from clapas.solvers import registry
    from clapas.studies import comparison

    names = list(registry.names()) if solvers == "all" else [word.strip() for word in solvers.split(",")]
    if not tol > 0.0 or not time_limit > 0.0:
        raise SettingsError(f"--tol and --time-limit must be positive, got {tol:g} and {time_limit:g}")
    problems: dict[str, Any] = {}
    for file in files:
        source = load(file)
        label = file if file.partition(":")[0] in ("gallery", "example") else Path(file).name
        problems[label if label not in problems else file] = source.problem
    with progress.telling_of_compilation():
        result = comparison.compare(problems, names, tol=tol, time_limit=time_limit)
    if picture is not None:
        _draw(result, picture)
    if as_json:
        entries = [asdict(each) for each in result.attempts]
        output.print_json({"tol": tol, "attempts": [e | {"history": _history(e)} for e in entries]})
        return
    rows = [
        (
            each.problem,
            str(each.contacts),
            each.solver,
            each.status,
            f"{each.residual:.1e}",
            str(each.iterations),
            f"{each.seconds:.4g}",
            f"{each.compilation:.2g}" if each.compilation else "",
        )
        for each in result.attempts
    ]
    columns = (
        "problem",
        "contacts",
        "solver",
        "status",
        "residual",
        "iterations",
        "seconds",
        "compiling (s)",
    )
    output.print_table(columns, rows)
    print(f"\nsolved: residual at most {tol:g}")
    for name, ratio in result.ratios().items():
        solved, best = int((ratio < float("inf")).sum()), int((ratio == 1.0).sum())
        print(f"{name}: {solved} of {len(result.problems)} solved, fastest on {best}")
    if picture is not None:
        print(f"picture: {picture}")


def _history(entry: dict[str, Any]) -> dict[str, Any]:
    history: dict[str, Any] = entry["history"]
    return history


def _draw(result: Comparison, path: Path) -> None:
    from matplotlib.figure import Figure

    from clapas.io.pictures import save_figure
    from clapas.studies import comparison

    figure = Figure(figsize=(11.0, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    comparison.draw_profile(left, result)
    largest = max(result.attempts, key=lambda each: each.contacts).problem
    comparison.draw_history(right, result, largest)
    save_figure(figure, path, 110)
