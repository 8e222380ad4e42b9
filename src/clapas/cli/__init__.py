"""The command line: ``clapas VERB``, one file per verb, each a thin call to the Python API.

Exit codes: 0 success (``solve``: solved), 1 not solved, 2 bad input, 130 interrupted. Results go to
standard output; progress, notes and errors go to standard error.

Verbs import the engine only when they run, so that ``clapas --help`` stays fast.
"""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from clapas.cli import (
    bench,
    compare,
    cuts,
    exists,
    gallery,
    info,
    lcp,
    masonry,
    measure,
    movie,
    output,
    plot,
    run,
    snapshot,
    solve,
    solvers,
    study,
    sweep,
    truss,
    view,
    warmup,
)
from clapas.cli.streams import outlive_readers
from clapas.errors import Error
from clapas.version import __version__

# Python arguments in the library's advice, replaced by the command-line equivalents.
CLI_EQUIVALENTS = {"symmetrise=True": "--symmetrise", "gallery.names()": "'clapas gallery'"}
DONE, BAD_INPUT = output.DONE, output.BAD_INPUT

# Plain help: rich markup takes longer to load than everything else together.
app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)
app.command("run", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(run.run)
app.command("resume")(run.resume)
app.command("examples")(run.examples)
app.command("export")(run.export)
app.command("view")(view.view)
app.command("snapshot")(snapshot.snapshot)
app.command("movie")(movie.movie)
app.command("plot")(plot.plot)
app.command("measure")(measure.measure)
app.command("masonry", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(
    masonry.masonry
)
app.command("solve")(solve.solve)
app.command("compare")(compare.compare)
app.command("info")(info.info)
app.command("exists")(exists.exists)
app.command("lcp")(lcp.lcp)
app.command("cuts")(cuts.cuts)
app.command("truss")(truss.truss)
app.command("gallery")(gallery.gallery)
app.command("solvers")(solvers.solvers)
app.command("study")(study.study)
app.command("sweep")(sweep.sweep)
app.command("warm-up")(warmup.warm_up)
app.command(
    "bench",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)(bench.bench)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"clapas {__version__}")
        raise typer.Exit


@app.callback()
def clapas(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Nonsmooth contact dynamics: unilateral contact, Coulomb friction and impacts, treated exactly."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line on ``argv`` (by default that of the process) and return the exit code."""
    if argv is None:
        outlive_readers()
        # Files are closed by then, and to look for garbage in what the compiler left takes half a second.
        atexit.register(gc.freeze)
    _print_in_any_encoding()
    code = _run(None if argv is None else list(argv))
    try:
        if sys.stdout is not None:  # closed by the shell
            sys.stdout.flush()
    except OSError as error:  # a full disk: the answer is lost
        return _refuse(_told(error))
    return code


def _run(arguments: list[str] | None) -> int:
    try:
        with output.as_notes():
            typer.main.get_command(app)(args=arguments, prog_name="clapas")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else DONE
    except Error as error:
        return _refuse(str(error))
    except FileExistsError as error:
        return _refuse(f"{error.filename} is a file, and a folder is to be made there: give another name")
    except OSError as error:
        return _refuse(_told(error))
    except MemoryError:
        return _refuse("not enough memory for this problem")
    return DONE


def _told(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


def _refuse(message: str) -> int:
    for call, option in CLI_EQUIVALENTS.items():
        message = message.replace(call, option)
    typer.echo(f"clapas: {message}", err=True)
    return BAD_INPUT


def _print_in_any_encoding() -> None:
    """Print question marks instead of failing where the terminal cannot encode Greek letters."""
    for stream in (sys.stdout, sys.stderr):
        encoding = (getattr(stream, "encoding", None) or "").lower().replace("-", "")
        if encoding != "utf8" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
