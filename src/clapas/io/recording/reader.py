"""Read a recording, also one that is still being written or whose writer was killed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

import h5py
import numpy as np

from clapas.dynamics.model import Impulses, Model, State
from clapas.errors import FormatError
from clapas.geometry.colliders import Colliders, Contacts, Hulls
from clapas.io.recording import layout
from clapas.io.recording.writer import STATUSES
from clapas.laws import LawTable
from clapas.status import Status
from clapas.typing import Array, Indices


@dataclass(frozen=True)
class Frame:
    """One kept step.

    Parameters
    ----------
    state : State
        Positions, velocities and impulses.
    contacts : Contacts
        The contacts of the step that led here.
    mode : array (n,)
        0 open, 1 sticking, 2 sliding.
    kinetic, potential, work : float
        Energies and work of the contacts since the start (J).
    residual, iterations, status, seconds
        Report of the solver.
    """

    state: State
    contacts: Contacts
    mode: Indices
    kinetic: float
    potential: float
    work: float
    residual: float
    iterations: int
    status: Status
    seconds: float


def is_recording(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a recording."""
    if not Path(path).is_file() or not h5py.is_hdf5(path):
        return False
    try:
        with h5py.File(path, "r", libver=("v110", "v110"), swmr=True) as file:
            return bool(file.attrs.get("format") == layout.FORMAT)
    except OSError:
        return False


class Recording:
    """A run on disk.

    Examples
    --------
    Open, look, close::

        with Recording("run.h5") as run:
            print(run.n_frames, run.times[-1])
            print(run.frame(-1).state.position)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self._file = h5py.File(self.path, "r", libver=("v110", "v110"), swmr=True)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise FormatError(f"{self.path}: not an HDF5 file, or damaged ({error})") from None
        attributes = dict(self._file.attrs)
        if attributes.get("format") != layout.FORMAT:
            self._file.close()
            raise FormatError(f"{self.path}: an HDF5 file, but not a recording made by clapas run")
        if attributes["version"] > layout.VERSION:
            self._file.close()
            raise FormatError(
                f"{self.path}: version {attributes['version']} of the format, this clapas reads up to "
                f"{layout.VERSION}: upgrade clapas"
            )
        self.dt = float(attributes["dt"])
        self.every = int(attributes["every"])
        self.settings: dict[str, Any] = json.loads(attributes["settings"])
        self.clapas_version = str(attributes["clapas"])
        self.scene_source = str(self._file["scene"].attrs["source"])

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        bodies = self._file["model/mass"].shape[0]
        end = f" to t = {self.times[-1]:.6g} s" if self.n_frames else ""
        return f"Recording('{self.path}', {self.n_frames} frames of {bodies} bodies{end})"

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @property
    def n_frames(self) -> int:
        """Complete frames, counted anew: a run may still be writing."""
        data = self._file[f"frames/{layout.LAST_WRITTEN}"]
        data.id.refresh()
        return int(data.shape[0])

    def column(self, name: str) -> Any:
        """A column of the frames as an array: ``time``, ``kinetic``, ``residual`` …"""
        if name not in layout.FRAMES:
            raise KeyError(f"no column '{name}' in a recording; there are {', '.join(layout.FRAMES)}")
        data = self._file[f"frames/{name}"]
        n = self.n_frames
        data.id.refresh()
        return data[:n]

    @property
    def times(self) -> Array:
        """Times of the frames (s)."""
        return np.asarray(self.column("time"))

    @cached_property
    def model(self) -> Model:
        """The model that ran, without its imposed motions (they are in the scene)."""
        group = self._file["model"]
        hulls = Hulls(*(group[f"hulls/{name}"][:] for name in layout.HULLS))
        columns = {name: group[f"colliders/{name}"][:] for name in layout.COLLIDERS}
        colliders = Colliders(d=len(group["gravity"]), hulls=hulls, **columns)
        return Model(
            **{name: group[name][:] for name in layout.MODEL},
            colliders=colliders,
            laws=LawTable(*(group[f"laws/{name}"][:] for name in layout.LAWS)),
            names=tuple(json.loads(self._file.attrs["names"])),
            period=tuple(json.loads(self._file.attrs["period"])),
        )

    def frame(self, index: int) -> Frame:
        """The frame of that number; negative ones count from the end."""
        n = self.n_frames
        if not -n <= index < n:
            raise IndexError(f"frame {index} of a recording of {n}")
        row = self.row(index % n)
        contacts = self.contact_rows(index % n)
        alive = int(row["alive"])
        names = "a b collider_a collider_b feature point normal gap".split()
        return Frame(
            state=State(
                time=float(row["time"]),
                step=int(row["step"]),
                position=row["position"][:alive],
                orientation=row["orientation"][:alive],
                velocity=row["velocity"][:alive],
                impulses=Impulses(contacts["a"], contacts["b"], contacts["feature"], contacts["impulse"]),
            ),
            contacts=Contacts(*(contacts[name] for name in names)),
            mode=contacts["mode"],
            kinetic=float(row["kinetic"]),
            potential=float(row["potential"]),
            work=float(row["work"]),
            residual=float(row["residual"]),
            iterations=int(row["iterations"]),
            status=STATUSES[int(row["status"])],
            seconds=float(row["seconds"]),
        )

    def frames(self) -> Iterator[Frame]:
        """All frames, one after another."""
        return (self.frame(i) for i in range(self.n_frames))

    def row(self, index: int) -> dict[str, Any]:
        """The columns of one frame as stored."""
        return {name: self._file[f"frames/{name}"][index] for name in layout.FRAMES}

    def contact_rows(self, index: int) -> dict[str, Any]:
        """The columns of the contacts of one frame as stored."""
        ends = self._file["frames/contact_end"]
        start, end = (int(ends[index - 1]) if index else 0), int(ends[index])
        for name in layout.CONTACTS:
            self._file[f"contacts/{name}"].id.refresh()
        return {name: self._file[f"contacts/{name}"][start:end] for name in layout.CONTACTS}
