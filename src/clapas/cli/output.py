"""Printing of results: aligned rows for people, JSON for machines."""

from __future__ import annotations

import json
import math
import os
import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from clapas.errors import SettingsError

PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".eps")

DONE, BAD_INPUT, INTERRUPTED = 0, 2, 130  # exit codes
WIDE = 1000  # columns where no terminal sets a limit: a row stays on one line for grep


def print_json(document: Mapping[str, Any]) -> None:
    """Print one JSON document on standard output. NaN and infinity, which JSON lacks, become null."""
    print(json.dumps(_plain(document), indent=2, allow_nan=False))


def print_rows(rows: Iterable[tuple[str, str]]) -> None:
    """Print lines "name   value" with the values aligned; a value of several lines is indented."""
    rows = list(rows)
    width = max((len(name) for name, _ in rows), default=0) + 3
    for name, value in rows:
        print(f"{name:<{width}}" + f"\n{'':<{width}}".join(value.splitlines() or [""]))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table with a heading, as wide as the terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else WIDE)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for place, column in enumerate(columns):
        table.add_column(column, no_wrap=place == 0, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))  # brackets are not markup here
    console.print(table)


def note(text: str) -> None:
    """Print a remark on standard error."""
    print(f"note: {text}", file=sys.stderr)


@contextmanager
def as_notes() -> Iterator[None]:
    """Print warnings of the library as notes on standard error, each text once."""
    printed = set()

    def print_once(message: Warning | str, *position: object, **options: object) -> None:
        if str(message) not in printed:
            printed.add(str(message))
            note(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)  # warnings of other libraries are left alone
        warnings.showwarning = print_once
        yield


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "tolist"):  # arrays and numbers of NumPy
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value) if isinstance(value, Path) else value


def typed(command: str, file: object) -> str:
    """A command line for a file, quoted for the shell.

    >>> typed("resume", "long run.h5")
    "clapas resume 'long run.h5'"
    """
    return f"clapas {command} {shlex.quote(str(file))}"


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name the file or folder in errors of the system that name none: a disk that is full."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None


def require_place(path: Path | None, option: str) -> None:
    """Raise an error before the computation if the path cannot be written."""
    if path is None:
        return
    folder = Path(os.path.realpath(path)).parent
    if path.is_dir():
        raise SettingsError(f"{option}: '{path}' is a folder; give the name of a file in it")
    if not folder.is_dir():
        raise SettingsError(f"{option}: there is no folder '{folder}'; make it first")
    if not os.access(folder, os.W_OK):
        raise SettingsError(f"{option}: the folder '{folder}' may not be written to")


def picture_path(option: typer.CallbackParam, path: Path | None) -> Path | None:
    """Check the suffix and the folder of a picture before the computation."""
    if path is not None and path.suffix.lower() not in PICTURES:
        raise typer.BadParameter(f"'{path}': a picture ends in {', '.join(PICTURES)}")
    require_place(path, f"--{option.name}".replace("_", "-"))
    return path
