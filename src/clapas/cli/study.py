"""``clapas study NAME``: reproduce published results."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import Annotated

import typer

from clapas.cli import output, settings


def study(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Which one; without, a list.", show_default=False)
    ] = None,
    recordings: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RUN]...",
            help="A recording, for studies of one; more of the same scene with other seeds may follow.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the report; by default 'study-NAME'.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A short run: few problems, little time.")] = False,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the study; may be repeated."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Reproduce published results: a report in Markdown with pictures, our numbers beside theirs."""
    from clapas.studies import registry
    from clapas.studies.report import Report

    if name is None:
        for each in registry.names():
            print(f"{each}\n  {(inspect.getdoc(registry.find(each)) or '').splitlines()[0]}")
        return
    kind = registry.find(name)
    texts = [*(assignments or ()), *_named(recordings or [])]
    configured = settings.read(kind, texts, owner=name, defaults=kind.quick if quick else {})
    command = " ".join(["clapas study", name, *(f"--set {each}" for each in texts), *["--quick"] * quick])
    report = Report(out or Path(f"study-{name}"), kind.title, None if quiet else output.note, command)
    configured.run(report)
    report.close()
    print(f"The report is {report.folder / 'report.md'}.")


def _named(recordings: list[Path]) -> list[str]:
    """Recordings as settings of a study."""
    first, rest = [f"recording={path}" for path in recordings[:1]], recordings[1:]
    return first + ([f"others={os.pathsep.join(map(str, rest))}"] if rest else [])
