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
    answer = existence.check(source.problem, tol=tol, method=method)
    bounded = None if bound is None else existence.bounded_margin(source.problem, bound, method=method)
    if as_json:
        output.print_json(_document(source, answer, bounded))
    else:
        output.print_rows(_rows(source, answer, bounded))
    raise typer.Exit(0 if answer.exists else 1)


def _document(source: Source, answer: Existence, bounded: float | None) -> dict[str, Any]:
    return {
        "source": source.name,
        "verdict": answer.verdict.name.lower(),
        "exists": answer.exists,
        "reason": answer.reason,
        "margin": answer.margin,
        "relative_margin": answer.relative_margin,
        "bounded_margin": bounded,
        "opening": answer.opening,
        "speed": answer.speed,
        "v": answer.v,
        "r": answer.r,
        "notes": source.notes,
    }


def _rows(source: Source, answer: Existence, bounded: float | None) -> Iterator[tuple[str, str]]:
    yield "problem", str(source.problem)
    yield "verdict", f"{answer.verdict.name.lower()}: {answer.verdict.meaning}"
    yield "because", answer.reason
    yield "margin", f"{answer.margin:.6g} m/s ({answer.relative_margin:.3g} of the imposed motion)"
    if bounded is not None:
        yield "bounded", f"{bounded:.6g} m/s"
    yield "opening", f"{answer.opening:.3g}"
    if source.entry is not None and source.entry.known.exists is not None:
        yield "known", known.in_words(source.entry.known)
    for text in source.notes:
        yield "note", text
