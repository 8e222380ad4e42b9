"""``clapas exists FILE``: whether a solution exists, decided without solving."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clapas.cli import known, output
from clapas.cli.source import FILE_HELP, Kind, Source, load
from clapas.errors import SettingsError

if TYPE_CHECKING:
    from clapas.problems.existence import Existence


def exists(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP, show_default=False)],
    tol: Annotated[float, typer.Option(help="Relative margin below which the answer is fragile.")] = 1e-7,
    bound: Annotated[
        float | None, typer.Option(help="Also the margin among motions with |v| at most this (m/s).")
    ] = None,
    inscribed: Annotated[
        bool, typer.Option("--inscribed", help="Linear programs on inscribed polyhedra instead of cones.")
    ] = False,
    least_squares: Annotated[
        bool, typer.Option("--least-squares", help="The least motion that opens contacts, not the widest.")
    ] = False,
    kind: Annotated[Kind, typer.Option(help="What to expect in the file.")] = Kind.AUTO,
    symmetrise: Annotated[
        bool, typer.Option("--symmetrise", help="Replace an asymmetric matrix by its symmetric part.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Tell whether a solution exists, by Cadoux's criterion.

    A solution exists if the bodies can move so that u_N ≥ mu |u_T| at every contact. Exit code 0: a solution
    exists; 1: not known, or none does; 2: bad input.
    """
    from clapas.problems import existence

    source = load(file, kind, symmetrise)
    if inscribed and least_squares:
        raise SettingsError("--inscribed and --least-squares are two methods: give one of them")
    method: existence.Method = "inscribed" if inscribed else "least-squares" if least_squares else "exact"
    result = existence.check(source.problem, tol=tol, method=method)
    bounded = None if bound is None else existence.bounded_margin(source.problem, bound, method=method)
    if as_json:
        output.print_json(_document(source, result, bounded))
    else:
        output.print_rows(_rows(source, result, bounded))
    raise typer.Exit(0 if result.exists else 1)


def _document(source: Source, result: Existence, bounded: float | None) -> dict[str, Any]:
    return {
        "source": source.name,
        "verdict": result.verdict.name.lower(),
        "exists": result.exists,
        "reason": result.reason,
        "margin": result.margin,
        "relative_margin": result.relative_margin,
        "bounded_margin": bounded,
        "opening": result.opening,
        "speed": result.speed,
        "v": result.v,
        "r": result.r,
        "notes": source.notes,
    }


def _rows(source: Source, result: Existence, bounded: float | None) -> Iterator[tuple[str, str]]:
    yield "problem", str(source.problem)
    yield "verdict", f"{result.verdict.name.lower()}: {result.verdict.meaning}"
    yield "because", result.reason
    yield "margin", f"{result.margin:.6g} m/s ({result.relative_margin:.3g} of the imposed motion)"
    if bounded is not None:
        yield "bounded", f"{bounded:.6g} m/s"
    yield "opening", f"{result.opening:.3g}"
    if source.entry is not None and source.entry.known.exists is not None:
        yield "known", known.in_words(source.entry.known)
    for text in source.notes:
        yield "note", text
