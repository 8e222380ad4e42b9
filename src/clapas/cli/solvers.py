"""``clapas solvers``: the methods, when to use them, and their settings."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clapas.cli import output, settings

if TYPE_CHECKING:
    from clapas.solvers.registry import Entry

COLUMNS = ("setting", "default", "may be")


def solvers(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="One solver, explained.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the solvers and their settings.

    The settings are those of clapas solve --set KEY=VALUE.
    """
    from clapas.solvers import registry

    chosen = registry.entries() if name is None else (registry.find(name),)
    if as_json:
        others = registry.models() if name is None else ()
        documents = {"solvers": [_document(entry) for entry in chosen]}
        output.print_json(documents | {"models": [_document(entry) for entry in others]})
        return
    for entry in chosen:
        print(f"{entry.name}\n  {entry.summary}\n  {entry.when}\n")
        output.print_table(COLUMNS, settings.describe(entry.solver))
        print()
    if name is None:
        print("Models of friction, other laws than Coulomb's, to compare (--solver NAME):\n")
        for entry in registry.models():
            print(f"{entry.name}\n  {entry.summary}\n  {entry.when}\n")
    else:
        print(inspect.getdoc(chosen[0].solver))


def _document(entry: Entry) -> dict[str, Any]:
    rows = settings.describe(entry.solver)
    return {
        "name": entry.name,
        "summary": entry.summary,
        "when": entry.when,
        "settings": [dict(zip(("name", "default", "accepts"), row, strict=True)) for row in rows],
    }
