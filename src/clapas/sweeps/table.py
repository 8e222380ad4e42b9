"""The results of a sweep as one table, and as a picture."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from clapas.errors import MissingDependency, SettingsError
from clapas.io.pictures import save_figure
from clapas.sweeps.execution import Row, succeeded
from clapas.units import headed

LAST = ("seconds", "message")  # columns on the right
HIDDEN = ("traceback", "units")  # entries of a row that are not columns
FIRST_CHOICES = ("kinetic", "contacts")  # drawn without measures


def columns(rows: Sequence[Row]) -> list[str]:
    """Names of all columns: those of any row, in order, ``seconds`` and ``message`` last.

    >>> columns([{"run": 0, "seconds": 1.0, "message": ""}, {"run": 1, "kinetic": 0.5, "seconds": 2.0}])
    ['run', 'kinetic', 'seconds', 'message']
    """
    names = dict.fromkeys(name for row in rows for name in row if name not in HIDDEN)
    return [name for name in names if name not in LAST] + [name for name in LAST if name in names]


def units(rows: Sequence[Row]) -> dict[str, str]:
    """Units of the columns that have one, from all rows.

    >>> units([{"run": 0, "units": {"time": "s"}}, {"run": 1, "units": {"time": "s", "kinetic": "J"}}])
    {'time': 's', 'kinetic': 'J'}
    """
    return {name: unit for row in rows for name, unit in row.get("units", {}).items()}


def write_csv(path: str | os.PathLike[str], rows: Sequence[Row]) -> None:
    """Write the table as CSV; cells without a value are empty. An existing file is replaced atomically.

    Headings have units: ``kinetic (J)``. Lists are written as JSON: ``[1, 0, 0]``.
    """
    path = Path(path)
    new = path.with_name(f".{path.name}.new")
    with new.open("w", newline="", encoding="utf-8") as file:
        names, known = columns(rows), units(rows)
        writer = csv.DictWriter(file, names, restval="", extrasaction="ignore")
        writer.writerow({name: headed(name, known.get(name, "")) for name in names})
        writer.writerows({name: _plain(value) for name, value in row.items()} for row in rows)
    os.replace(new, path)


def import_parquet() -> tuple[Any, Any]:
    """The modules of Arrow and Parquet; raises MissingDependency without them."""
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise MissingDependency("pyarrow", "tables", "a table in Parquet") from None


def write_parquet(path: str | os.PathLike[str], rows: Sequence[Row]) -> None:
    """Write the table as Parquet; units are in the metadata of the fields, as ``unit``.

    Lists stay lists. A column of several kinds (numbers and words, numbers and lists) becomes text.
    """
    arrow, parquet = import_parquet()

    def column(name: str) -> Any:
        cells = [row.get(name) for row in rows]
        try:
            return arrow.array(cells)
        except (arrow.ArrowInvalid, arrow.ArrowTypeError):  # a column has one type
            return arrow.array([None if cell is None else str(_plain(cell)) for cell in cells])

    table, known = arrow.table({name: column(name) for name in columns(rows)}), units(rows)
    fields = [
        field.with_metadata({"unit": known[field.name]}) if field.name in known else field
        for field in table.schema
    ]
    parquet.write_table(table.cast(arrow.schema(fields)), path)


def draw(
    path: str | os.PathLike[str], rows: Sequence[Row], parameters: Sequence[str], quantity: str | None = None
) -> str | None:
    """Draw a quantity against the first parameter that varies, a line for each value of the next.

    Points are means over all else (seeds, further parameters); bars are standard deviations.

    Parameters
    ----------
    path : path
        The picture (PNG, SVG, PDF).
    rows : sequence of dict
        The table.
    parameters : sequence of str
        Names of the parameters, in order.
    quantity : str, optional
        The column to draw, with its unit or without.

    Returns
    -------
    str or None
        The column drawn; None if no number varies with a number.
    """
    results, known = succeeded(rows), units(rows)
    by_heading = {headed(name, unit): name for name, unit in known.items()}
    quantity = by_heading.get(quantity, quantity) if quantity else None
    varying = [name for name in [*parameters, "seed"] if len({repr(row.get(name)) for row in results}) > 1]
    numeric = [name for name in varying if all(_is_number(row.get(name)) for row in results)]
    if quantity is None:
        quantity = next((name for name in FIRST_CHOICES if results and name in results[0]), None)
    elif results and not any(_is_number(row.get(quantity)) for row in results):
        raise SettingsError(
            f"no run has a number '{quantity}': expected one of {', '.join(columns(results))}"
        )
    if not numeric or quantity is None:
        return None
    from matplotlib.figure import Figure

    along = numeric[0]
    others = [name for name in varying if name not in (along, "seed")][:1]
    figure = Figure(figsize=(7.0, 4.5), layout="constrained")
    axes = figure.subplots()
    for label in dict.fromkeys(tuple(_plain(row.get(name)) for name in others) for row in results):
        group = [row for row in results if tuple(_plain(row.get(name)) for name in others) == label]
        x = sorted({row[along] for row in group})
        samples = [
            [row[quantity] for row in group if row[along] == at and _is_number(row.get(quantity))] for at in x
        ]
        mean = [float(np.mean(values)) if values else np.nan for values in samples]
        spread = [float(np.std(values)) if values else np.nan for values in samples]
        words = ", ".join(
            f"{name} = {value} {known.get(name, '')}".rstrip()
            for name, value in zip(others, label, strict=True)
        )
        axes.errorbar(x, mean, spread, marker="o", capsize=3, label=words or None)
    axes.set(
        xlabel=headed(along, known.get(along, "")),
        ylabel=headed(quantity, known.get(quantity, "")),
    )
    if others:
        axes.legend()
    save_figure(figure, path, 110)
    return quantity


def _plain(value: Any) -> Any:
    """A value as a cell, and as a key of a group: lists and tables as JSON, all else as it is.

    >>> _plain([1, 0, 0]), _plain(0.5)
    ('[1, 0, 0]', 0.5)
    """
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | tuple | dict) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
