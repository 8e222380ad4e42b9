"""Export a recording as plain tables (CSV), one row per body or contact and frame."""

from __future__ import annotations

import csv
import os
from pathlib import Path

from clapas.io.recording import Recording

AXES = ("x", "y", "z")


def export_csv(recording: Recording, folder: str | os.PathLike[str]) -> list[Path]:
    """Write ``frames.csv``, ``bodies.csv`` and ``contacts.csv`` into a folder (made if needed). SI units.

    ``probes.csv`` too if there are probes: one row per step, kept or not.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = [_frames(recording, folder), _bodies(recording, folder), _contacts(recording, folder)]
    return [*written, _probes(recording, folder)] if recording.probes else written


def _frames(recording: Recording, folder: Path) -> Path:
    names = "step time dt alive kinetic potential work residual iterations seconds".split()
    columns = [recording.column(name) for name in names]
    return _write(folder / "frames.csv", names, zip(*columns, strict=True))


def _bodies(recording: Recording, folder: Path) -> Path:
    d = recording.model.d
    spins = [f"spin_{axis}" for axis in (AXES if d == 3 else ("z",))]
    turns = ["q_w", "q_x", "q_y", "q_z"] if d == 3 else ["angle"]
    header = ["time", "body", *AXES[:d], *turns, *(f"v_{axis}" for axis in AXES[:d]), *spins]
    rows = (
        [
            frame.state.time,
            body,
            *frame.state.position[body],
            *frame.state.orientation[body],
            *frame.state.velocity[body],
        ]
        for frame in recording.frames()
        for body in range(frame.state.n_bodies)
    )
    return _write(folder / "bodies.csv", header, rows)


def _contacts(recording: Recording, folder: Path) -> Path:
    axes = AXES[: recording.model.d]
    header = [
        "time",
        "a",
        "b",
        *axes,
        *(f"n_{x}" for x in axes),
        "gap",
        *(f"impulse_{x}" for x in axes),
        *(f"couple_{x}" for x in (AXES if len(axes) == 3 else ("z",))),
        "mode",
    ]
    rows = (
        [
            frame.state.time,
            c.a[i],
            c.b[i],
            *c.point[i],
            *c.normal[i],
            c.gap[i],
            *held.impulse[i],
            *held.couple[i],
            frame.mode[i],
        ]
        for frame in recording.frames()
        for c, held in [(frame.contacts, frame.state.impulses)]
        for i in range(len(c))
    )
    return _write(folder / "contacts.csv", header, rows)


def _probes(recording: Recording, folder: Path) -> Path:
    names = [
        f"{probe.name} {component}".rstrip()
        for probe in recording.probes.values()
        for component in probe.components(recording.model.d)
    ]
    times, values = recording.readings()
    rows = ([time, *row] for time, row in zip(times, values, strict=True))
    return _write(folder / "probes.csv", ["time", *names], rows)


def _write(path: Path, header: list[str], rows: object) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)  # type: ignore[arg-type]
    return path
