"""``clapas measure RUN``: numbers of a recording by name."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from clapas.cli import output
from clapas.errors import SettingsError, unknown_name

USUAL = ("coordination", "packing", "stress", "friction", "speed")


def measure(
    recording: Annotated[Path, typer.Argument(metavar="RUN", help="A recording made by 'clapas run'.")],
    what: Annotated[
        list[str] | None,
        typer.Option(
            help="slope, packing, coordination, anisotropy, stress, force, friction, flow, speed, energy or "
            "penetration; may be repeated, or given with commas."
        ),
    ] = None,
    time: Annotated[float | None, typer.Option(help="Time (s); by default the end.")] = None,
    box: Annotated[
        str | None,
        typer.Option(
            metavar="LOW:HIGH", help="Corners of a box (m): 0,0,0:1,1,1; by default inside the grains."
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Height through which a flow is counted (m).")] = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure a run: angle of repose, packing, stress, flow, each with its unit and error."""
    from clapas.analysis import measures
    from clapas.io.recording import Recording

    names = [name.strip() for entry in what or USUAL for name in entry.split(",")]
    for name in names:
        if name not in measures.MEASURES:  # before any measurement
            raise unknown_name("measure", name, measures.MEASURES)
    low, high = _corners(box)
    with Recording(recording) as run:
        if low is not None and high is not None:
            measures.require_box(run, low, high)
        results, failed = [], []
        for name in names:
            corners = (low, high) if what is not None or measures.heeds(name, "box") else (None, None)
            try:
                results.append(
                    measures.measure(run, name, time=time, low=corners[0], high=corners[1], level=level)
                )
            except SettingsError as error:
                failed.append((name, error))
    if not results:
        raise failed[0][1]
    for name, why in failed:
        output.note(f"{name}: {why}")
    if as_json:
        output.print_json({"recording": recording, "measures": [asdict(each) for each in results]})
    else:
        for each in results:
            print(f"{each.name:<14} {each!s:<24} {each.note}")
    if failed and what is not None:
        raise typer.Exit(output.BAD_INPUT)


def _corners(text: str | None) -> tuple[list[float] | None, list[float] | None]:
    if text is None:
        return None, None
    try:
        low, high = ([float(word) for word in corner.split(",")] for corner in text.split(":"))
    except ValueError:
        raise SettingsError(f"--box needs two corners as 0,0,0:1,1,1, got '{text}'") from None
    return low, high
