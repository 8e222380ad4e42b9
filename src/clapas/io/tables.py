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
from clapas.io.recording import Frame, Recording

AXES = ("x", "y", "z")

Rows: TypeAlias = Iterable[Iterable[Any]]


def export_csv(recording: Recording, folder: str | os.PathLike[str]) -> list[Path]:
    """Write ``frames.csv``, ``bodies.csv`` and ``contacts.csv`` into a folder (made if needed). SI units.

    All vectors are in the world, spins too; ``q_w … q_z`` is the quaternion from body to world.
    ``probes.csv`` too if there are probes: one row per step, kept or not.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = [_frames(recording, folder), _bodies(recording, folder), _contacts(recording, folder)]
    return [*written, _probes(recording, folder)] if recording.probes else written


def _frames(recording: Recording, folder: Path) -> Path:
    names = "step time dt alive kinetic potential work given residual iterations seconds".split()
    columns = [recording.column(name) for name in names]
    return _write(folder / "frames.csv", names, zip(*columns, strict=True))


def _bodies(recording: Recording, folder: Path) -> Path:
    d = recording.model.d
    spins = [f"spin_{axis}" for axis in (AXES if d == 3 else ("z",))]
    turns = ["q_w", "q_x", "q_y", "q_z"] if d == 3 else ["angle"]
    header = ["time", "body", *AXES[:d], *turns, *(f"v_{axis}" for axis in AXES[:d]), *spins]

    def rows(frame: Frame) -> Rows:
        state, spin = frame.state, frame.state.velocity[:, d:]
        spin = rotations.rotate(state.orientation, spin) if d == 3 else spin  # kept in body frames
        numbers = np.arange(state.n_bodies)
        return _rows(state.time, numbers, state.position, state.orientation, state.velocity[:, :d], spin)

    return _write(folder / "bodies.csv", header, chain.from_iterable(map(rows, recording.frames())))


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

    def rows(frame: Frame) -> Rows:
        c, held = frame.contacts, frame.state.impulses
        return _rows(
            frame.state.time, c.a, c.b, c.point, c.normal, c.gap, held.impulse, held.couple, frame.mode
        )

    return _write(folder / "contacts.csv", header, chain.from_iterable(map(rows, recording.frames())))


def _rows(time: float, *arrays: npt.NDArray[Any]) -> Rows:
    """Rows of a time and the entries of arrays (n,) or (n, k)."""
    columns = [column for array in arrays for column in np.atleast_2d(array.T).tolist()]
    return zip(repeat(time), *columns, strict=False)


def _probes(recording: Recording, folder: Path) -> Path:
    names = [
        f"{probe.name} {component}".rstrip()
        for probe in recording.probes.values()
        for component in probe.components(recording.model.d)
    ]
    times, values = recording.readings()
    rows = ([time, *row] for time, row in zip(times, values, strict=True))
    return _write(folder / "probes.csv", ["time", *names], rows)


def _write(path: Path, header: list[str], rows: Rows) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return path
