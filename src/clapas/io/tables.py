"""Export a recording as plain tables (CSV), one row per body or contact and frame."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable
from itertools import chain, repeat
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from clapas.geometry import rotations
from clapas.io.recording import Frame, Recording, layout
from clapas.units import headed, in_dimension

AXES = ("x", "y", "z")

Rows: TypeAlias = Iterable[Iterable[Any]]


def export_csv(recording: Recording, folder: str | os.PathLike[str]) -> list[Path]:
    """Write ``frames.csv``, ``bodies.csv`` and ``contacts.csv`` into a folder (made if needed).

    Headings have the units (SI, in 2-D those of one metre of depth). All vectors are in the world, spins
    too; ``q_w … q_z`` is the quaternion from body to world.
    ``probes.csv`` too if there are probes: one row per step, kept or not.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = [_frames(recording, folder), _bodies(recording, folder), _contacts(recording, folder)]
    return [*written, _probes(recording, folder)] if recording.probes else written


def _frames(recording: Recording, folder: Path) -> Path:
    names = "step time dt alive kinetic potential work given residual iterations seconds".split()
    columns = [recording.column(name) for name in names]
    alive = names.index("alive")
    columns[alive] = columns[alive] - recording.n_carriers
    d = recording.model.d
    header = [headed(name, in_dimension(layout.FRAMES[name].unit, d)) for name in names]
    return _write(folder / "frames.csv", header, zip(*columns, strict=True))


def _bodies(recording: Recording, folder: Path) -> Path:
    d = recording.model.d
    header = [
        "time (s)",
        "body",
        *(f"{axis} (m)" for axis in AXES[:d]),
        *(["q_w", "q_x", "q_y", "q_z"] if d == 3 else ["angle (rad)"]),
        *(f"v_{axis} (m/s)" for axis in AXES[:d]),
        *(f"spin_{axis} (rad/s)" for axis in (AXES if d == 3 else ("z",))),
    ]

    def rows(frame: Frame) -> Rows:
        state, spin = frame.state, frame.state.velocity[:, d:]
        spin = rotations.rotate(state.orientation, spin) if d == 3 else spin  # stored in body frames
        numbers = np.arange(state.n_bodies)
        return _rows(state.time, numbers, state.position, state.orientation, state.velocity[:, :d], spin)

    return _write(folder / "bodies.csv", header, chain.from_iterable(map(rows, recording.frames())))


def _contacts(recording: Recording, folder: Path) -> Path:
    d, axes = recording.model.d, AXES[: recording.model.d]
    impulse, couple = in_dimension("N·s", d), in_dimension("N·m·s", d)
    header = [
        "time (s)",
        "a",
        "b",
        *(f"{x} (m)" for x in axes),
        *(f"n_{x}" for x in axes),
        "gap (m)",
        *(f"impulse_{x} ({impulse})" for x in axes),
        *(f"couple_{x} ({couple})" for x in (AXES if d == 3 else ("z",))),
        "mode",
    ]

    def rows(frame: Frame) -> Rows:
        c, stored = frame.contacts, frame.state.impulses
        return _rows(
            frame.state.time, c.a, c.b, c.point, c.normal, c.gap, stored.impulse, stored.couple, frame.mode
        )

    return _write(folder / "contacts.csv", header, chain.from_iterable(map(rows, recording.frames())))


def _rows(time: float, *arrays: npt.NDArray[Any]) -> Rows:
    """Rows of a time and the entries of arrays (n,) or (n, k)."""
    columns = [column for array in arrays for column in np.atleast_2d(array.T).tolist()]
    return zip(repeat(time), *columns, strict=False)


def _probes(recording: Recording, folder: Path) -> Path:
    d = recording.model.d
    names = [
        headed(f"{probe.name} {component}".rstrip(), probe.unit(d))
        for probe in recording.probes.values()
        for component in probe.components(d)
    ]
    times, values = recording.readings()
    rows = ([time, *row] for time, row in zip(times, values, strict=True))
    return _write(folder / "probes.csv", ["time (s)", *names], rows)


def _write(path: Path, header: list[str], rows: Rows) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return path
