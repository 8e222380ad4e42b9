"""``clapas sweep FILE``: many runs of one scene into one table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clapas.cli import output
from clapas.units import counted

if TYPE_CHECKING:
    from clapas.sweeps.execution import Progress


def sweep(
    file: Annotated[Path, typer.Argument(metavar="SWEEP", help="A file that says what to run (.toml).")],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results; by default NAME-sweep here.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Runs at a time; by default as many as processors.")
    ] = None,
    executor: Annotated[
        str | None,
        typer.Option(help="'processes', 'threads', 'mpi' (the default under mpirun) or 'dask'."),
    ] = None,
    scheduler: Annotated[str | None, typer.Option(help="Address of the scheduler of Dask.")] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Do runs again that failed before.")] = False,
    plot: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="What to draw; by default the first measure.")
    ] = None,
    parquet: Annotated[bool, typer.Option("--parquet", help="Write table.parquet too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a report.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no report.")] = False,
) -> None:
    """Run a scene for all combinations of some values, in parallel. Started again, it goes on.

    Exit code 1 if some runs failed: the table says why.
    """
    from clapas.distributed.launch import is_launched
    from clapas.sweeps import Sweep, execute, table, write_csv, write_parquet
    from clapas.sweeps.executors import executor as opened
    from clapas.sweeps.running import column_of

    definition = Sweep.load(file)
    if parquet:
        table.import_parquet()  # what is missing is told before the runs, not after
    kind = executor or ("mpi" if is_launched() else "processes")
    folder = out or Path(f"{file.stem}-sweep")
    if kind == "mpi":
        # A single executor, as MPI ranks can be joined only once. Worker ranks return here at the end.
        with opened("mpi") as pool:
            if pool is None:
                return
            with _progress(quiet) as watch:
                rows = execute(definition, folder, pool, retry=retry, watch=watch)
    else:
        with _progress(quiet) as watch:
            open_again = lambda: opened(kind, workers, scheduler)  # type: ignore[arg-type]  # noqa: E731
            rows = execute(definition, folder, open_again, retry=retry, watch=watch)
    write_csv(folder / "table.csv", rows)
    if parquet:
        write_parquet(folder / "table.parquet", rows)
    chosen = plot or next((column_of(name, definition.cases()[0]) for name in definition.measures), None)
    drawn = table.draw(folder / "table.png", rows, list(definition.parameters), chosen)
    failed = [row for row in rows if row["status"] == "failed"]
    if as_json:
        runs = [{name: value for name, value in row.items() if name != "units"} for row in rows]
        units = table.units(rows)
        output.print_json(
            {"table": folder / "table.csv", "units": units, "runs": runs, "failed": len(failed)}
        )
    elif not quiet:
        print(f"{counted(len(rows), 'run')}, {len(failed)} failed")
        for row in failed[:5]:
            output.note(f"run {row['run']}: {row['message']}")
        print(f"table: {folder / 'table.csv'}")
        if drawn:
            print(f"picture of {drawn}: {folder / 'table.png'}")
    if failed:
        raise typer.Exit(1)


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    """A bar on a terminal; elsewhere a line per run."""
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():

        def print_line(progress: Progress) -> None:
            if progress.case is not None:
                words = ", ".join(f"{name} = {value}" for name, value in progress.case.values.items())
                seed = "" if progress.case.seed is None else f", seed {progress.case.seed}"
                output.note(f"{progress.done}/{progress.total} ({progress.failed} failed): {words}{seed}")

        yield print_line
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]} failed"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("sweep", total=None, failed=0)
        yield lambda report: bar.update(task, total=report.total, completed=report.done, failed=report.failed)
