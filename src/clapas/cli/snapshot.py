"""``clapas snapshot RUN``: a picture of one frame of a recording, without a display."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clapas.cli import output

VIEW_HELP = "From where: oblique, front, right, back, left or top (3-D scenes)."
FORCES_HELP = "Contact forces over it: none, chains or arrows, coloured by the friction they use."
FIT_HELP = "What fills the picture: most (what moves, without what went far), all, or names of bodies (a,b)."
ZOOM_HELP = "How many times larger than what fits."
COLOUR_HELP = "Bodies by speed, greys (Moreau's five), spin, pressure, contacts or birth."


def snapshot(
    recording: Annotated[Path, typer.Argument(metavar="RUN", help="A recording made by 'clapas run'.")],
    time: Annotated[float | None, typer.Option(help="Time (s); by default the end.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Image to write; by default NAME.png.", callback=output.picture_path),
    ] = None,
    view: Annotated[str, typer.Option(help=VIEW_HELP)] = "oblique",
    colour: Annotated[str, typer.Option(help=COLOUR_HELP)] = "speed",
    forces: Annotated[str, typer.Option(help=FORCES_HELP)] = "none",
    fit: Annotated[str, typer.Option(help=FIT_HELP)] = "most",
    zoom: Annotated[float, typer.Option(help=ZOOM_HELP)] = 1.0,
    width: Annotated[int, typer.Option(min=200, max=8000, help="Pixels.")] = 960,
    height: Annotated[int, typer.Option(min=150, max=8000, help="Pixels.")] = 640,
) -> None:
    """Write a picture of the frame nearest to a time."""
    from clapas.io.recording import Recording
    from clapas.viewer import pictures

    path = out or Path(f"{recording.stem}.png")
    with Recording(recording) as run:
        look = {"view": view, "colour": colour, "forces": forces, "fit": fit}
        with output.writing(path):
            written = pictures.snapshot(run, path, time=time, zoom=zoom, size=(width, height), **look)
    print(written)
