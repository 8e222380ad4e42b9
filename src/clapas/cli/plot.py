"""``clapas plot RUN``: curves of a recording over time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clapas.cli import output


def plot(
    recording: Annotated[Path, typer.Argument(metavar="RUN", help="A recording made by 'clapas run'.")],
    what: Annotated[
        list[str] | None,
        typer.Option(
            help="energy, kinetic, contacts, bodies, residual, iterations, seconds or probe:NAME; may be "
            "repeated."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Image to write; by default NAME-curves.png.", callback=output.picture_path),
    ] = None,
) -> None:
    """Draw curves of a recording over time: energy, contacts, residual, iterations."""
    from clapas.io.recording import Recording
    from clapas.viewer import curves

    chosen = [name for entry in what or curves.USUAL for name in entry.split(",")]
    path = out or Path(f"{recording.stem}-curves.png")
    with Recording(recording) as run, output.writing(path):
        written = curves.plot(run, path, chosen)
    print(written)
