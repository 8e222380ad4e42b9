"""``clapas gallery``: the problems shipped with the package and their known solutions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from clapas.cli import info, known, output
from clapas.cli.source import GALLERY, examples, load

if TYPE_CHECKING:
    from clapas.problems.gallery import GalleryProblem

COLUMNS = ("name", "contacts", "known", "reference")


def gallery(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A problem or a family.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List known problems, or show one."""
    from clapas.problems import gallery as collection

    name = None if name is None else name.removeprefix(GALLERY)
    if name is None:
        _show_all(as_json)
    elif name in collection.families():
        problems = list(collection.all_problems(name))
        if as_json:
            output.print_json({"family": name, "problems": [known.as_dict(entry) for entry in problems]})
        else:
            output.print_table(COLUMNS, [_row(entry) for entry in problems])
    else:
        info.show(load(GALLERY + name), as_json)


def _show_all(as_json: bool) -> None:
    from clapas.problems import gallery as collection

    listed: dict[str, list[dict[str, Any]]] = {}
    for family in collection.families():
        problems = list(collection.all_problems(family))
        listed[family] = [known.as_dict(entry) for entry in problems]
        if not as_json:
            print(f"\n{family}")
            output.print_table(COLUMNS, [_row(entry) for entry in problems])
    if as_json:
        output.print_json({"families": listed, "examples": list(examples())})
    else:
        print(f"\nFiles that come with the package: {', '.join('example:' + each for each in examples())}")
        print(f"clapas gallery NAME explains one; clapas solve {GALLERY}NAME solves it.")


def _row(entry: GalleryProblem) -> tuple[str, ...]:
    contacts = f"{entry.problem.n_contacts} in {entry.problem.d}-D"
    return (entry.name, contacts, known.in_words(entry.known), entry.reference)
