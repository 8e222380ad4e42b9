"""``clapas movie RUN``: a film of a recording, without a display."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from clapas.cli import output
from clapas.cli.snapshot import COLOUR_HELP, FIT_HELP, FORCES_HELP, VIEW_HELP, ZOOM_HELP


def movie(
    recording: Annotated[Path, typer.Argument(metavar="RUN", help="A recording made by 'clapas run'.")],
    out: Annotated[
        Path | None, typer.Option(help="Film to write, .gif or .mp4 (with ffmpeg); by default NAME.gif.")
    ] = None,
    rate: Annotated[float, typer.Option(help="Frames per second.")] = 25.0,
    frames: Annotated[int, typer.Option(min=1, help="Frames at most, evenly over the run.")] = 250,
    view: Annotated[str, typer.Option(help=VIEW_HELP)] = "oblique",
    colour: Annotated[str, typer.Option(help=COLOUR_HELP)] = "speed",
    forces: Annotated[str, typer.Option(help=FORCES_HELP)] = "none",
    fit: Annotated[str, typer.Option(help=FIT_HELP)] = "most",
    zoom: Annotated[float, typer.Option(help=ZOOM_HELP)] = 1.0,
    start: Annotated[float | None, typer.Option("--from", help="Time at which it begins (s).")] = None,
    end: Annotated[float | None, typer.Option("--to", help="Time at which it ends (s).")] = None,
    width: Annotated[int, typer.Option(min=200, max=4000, help="Pixels.")] = 960,
    height: Annotated[int, typer.Option(min=150, max=4000, help="Pixels.")] = 640,
) -> None:
    """Write a film of a recording."""
    from clapas.io.recording import Recording
    from clapas.viewer import pictures

    def show_progress(done: int, total: int) -> None:
        if sys.stderr.isatty():
            print(
                f"\rframe {done} of {total}", end="\n" if done == total else "", file=sys.stderr, flush=True
            )

    path = out or Path(f"{recording.stem}.gif")
    output.require_place(path, "--out")
    with Recording(recording) as run, output.writing(path):
        size = (width, height)
        written = pictures.movie(
            run,
            path,
            rate=rate,
            frames=frames,
            start=start,
            end=end,
            view=view,
            colour=colour,
            forces=forces,
            fit=fit,
            zoom=zoom,
            size=size,
            progress=show_progress,
        )
        print(written)
