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

from clapas.dynamics.model import Impulses, Model, Sleep, State
from clapas.dynamics.probes import Probe
from clapas.errors import FormatError
from clapas.geometry.colliders import Colliders, Contacts, Hulls
from clapas.io.recording import layout
from clapas.io.recording.writer import STATUSES
from clapas.laws import LawTable
from clapas.status import Status
from clapas.typing import Array, Indices

BLOCK = 128  # frames read at once by those who want all


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
    kinetic, potential, work, given : float
        Energies, and since the start the work of the contacts and that of walls, guides and loads (J); files
        of early versions do not know the last one (NaN).
    residual, iterations, status, seconds
        Report of the solver.
    """

    state: State
    contacts: Contacts
    mode: Indices
    kinetic: float
    potential: float
    work: float
    given: float
    residual: float
    iterations: int
    status: Status
    seconds: float


def is_recording(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a recording."""
    if not Path(path).is_file() or not h5py.is_hdf5(path):
        return False
    try:
        with _opened(Path(path)) as file:
            return bool(file.attrs.get("format") == layout.FORMAT)
    except OSError:
        return False


def _opened(path: Path) -> h5py.File:
    """Open a file that is complete, being written, or left by a killed writer.

    A reader beside a writer must ask for HDF5's single-writer mode, which does not see that a file was cut
    short and then waits for the rest for ever. So it is asked for only when the file is marked as being
    written.
    """
    try:
        return h5py.File(path, "r")
    except OSError as error:
        if "already open for write" not in str(error):
            raise
        return h5py.File(path, "r", libver=("v110", "v110"), swmr=True)


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
            self._file = _opened(self.path)
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
        if attributes["version"] < layout.VERSION:
            self._file.close()
            raise FormatError(
                f"{self.path}: version {attributes['version']} of the format, this clapas reads version "
                f"{layout.VERSION}: run the scene again"
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
        return int(self._fresh(f"frames/{layout.LAST_WRITTEN}").shape[0])

    def column(self, name: str) -> Any:
        """A column of the frames as an array: ``time``, ``kinetic``, ``residual`` …"""
        if name not in self._columns:
            raise KeyError(f"no column '{name}' in a recording; there are {', '.join(self._columns)}")
        n = self.n_frames  # first: the other columns are written before
        return self._frames(name)[:n]

    @property
    def times(self) -> Array:
        """Times of the frames (s)."""
        return np.asarray(self.column("time"))

    @cached_property
    def model(self) -> Model:
        """The model that ran, without its imposed motions and loads (they are in the scene)."""
        group = self._file["model"]
        hulls = Hulls(*(group[f"hulls/{name}"][:] for name in layout.HULLS))
        columns = {name: group[f"colliders/{name}"][:] for name in layout.COLLIDERS}
        colliders = Colliders(d=len(group["gravity"]), hulls=hulls, **columns)
        return Model(
            **{name: group[name][:] for name in layout.MODEL},
            colliders=colliders,
            laws=LawTable(*(group[f"laws/{name}"][:] for name in layout.LAWS)),
            **{name: group[name][:] for name in layout.MAYBE if name in group},
            names=tuple(json.loads(self._file.attrs["names"])),
            period=tuple(json.loads(self._file.attrs["period"])),
            probes=tuple(self.probes.values()),
        )

    def frame(self, index: int) -> Frame:
        """The frame of that number; negative ones count from the end."""
        n = self.n_frames
        if not -n <= index < n:
            raise IndexError(f"frame {index} of a recording of {n}")
        return _frame(self.row(index % n), self.contact_rows(index % n))

    def frames(self) -> Iterator[Frame]:
        """All frames, one after another."""
        return (_frame(row, contacts) for row, contacts in self.stored())

    @cached_property
    def probes(self) -> dict[str, Probe]:
        """The probes of the run by name."""
        if "probes" not in self._file:
            return {}
        entries = json.loads(self._file["probes"].attrs["probes"])
        made = (Probe(**{key: e[key] for key in e if key != "components"}) for e in entries)
        return {probe.name: probe for probe in made}

    def probe(self, name: str) -> Array:
        """What a probe read at every step, the start included: (n, k), or (n,) for a single number."""
        if name not in self.probes:
            raise KeyError(
                f"no probe '{name}' in the recording; there are {', '.join(self.probes) or 'none'}"
            )
        widths = {probe.name: len(probe.components(self._d)) for probe in self.probes.values()}
        start = sum(list(widths.values())[: list(widths).index(name)])
        values = self.readings()[1][:, start : start + widths[name]]
        return values[:, 0] if widths[name] == 1 else values

    def readings(self) -> tuple[Array, Array]:
        """Times (n,) and the values (n, k) of all probes at every step, the start included."""
        if not self.probes:
            return np.empty(0), np.empty((0, 0))
        values = self._fresh("probes/values")[:]
        return self._fresh("probes/time")[: len(values)], values

    @cached_property
    def _columns(self) -> list[str]:
        """Names of the columns of the frames."""
        return [*layout.FRAMES, *(name for name in layout.SLEEP if name in self._file["frames"])]

    @property
    def _d(self) -> int:
        return int(self._file["model/gravity"].shape[0])

    def row(self, index: int) -> dict[str, Any]:
        """The columns of one frame as stored."""
        return {name: self._frames(name)[index] for name in self._columns}

    def contact_rows(self, index: int) -> dict[str, Any]:
        """The columns of the contacts of one frame as stored."""
        ends = self._fresh("frames/contact_end")
        start, end = (int(ends[index - 1]) if index else 0), int(ends[index])
        return {name: self._fresh(f"contacts/{name}")[start:end] for name in layout.CONTACTS}

    def stored(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """The columns of each frame and of its contacts as stored, frame after frame, read in blocks."""
        n, row = self.n_frames, 0
        for start in range(0, n, BLOCK):
            stop = min(start + BLOCK, n)
            frames = {name: self._frames(name)[start:stop] for name in self._columns}
            ends = frames["contact_end"]
            first, end = row, int(ends[-1])
            contacts = {name: self._fresh(f"contacts/{name}")[first:end] for name in layout.CONTACTS}
            for i in range(stop - start):
                own = slice(row - first, int(ends[i]) - first)
                row = int(ends[i])
                yield (
                    {name: column[i] for name, column in frames.items()},
                    {name: column[own] for name, column in contacts.items()},
                )

    def _frames(self, name: str) -> Any:
        """A column of the frames; NaN in files of early versions that have it not."""
        if name not in self._file["frames"]:
            return np.full(self.n_frames, np.nan)
        return self._fresh(f"frames/{name}")

    def _fresh(self, name: str) -> Any:
        """A dataset as it is on disk now: a run may still be writing."""
        data = self._file[name]
        data.id.refresh()
        return data


def _sleep(row: dict[str, Any], alive: int) -> Sleep:
    """The memory of sleep of the bodies born so far."""
    columns = {name: row[name][:alive] for name in layout.SLEEP if name != "round"}
    return Sleep(step=int(row["round"]), **columns | {"asleep": columns["asleep"].astype(bool)})


def _frame(row: dict[str, Any], contacts: dict[str, Any]) -> Frame:
    """A frame from its columns as stored."""
    alive = int(row["alive"])
    names = "a b collider_a collider_b feature point normal gap".split()
    return Frame(
        state=State(
            time=float(row["time"]),
            step=int(row["step"]),
            position=row["position"][:alive],
            orientation=row["orientation"][:alive],
            velocity=row["velocity"][:alive],
            impulses=Impulses(*(contacts[name] for name in ("a", "b", "feature", "impulse", "couple"))),
            dt=float(row["dt"]),
            sleep=_sleep(row, alive) if "asleep" in row else None,
        ),
        contacts=Contacts(*(contacts[name] for name in names)),
        mode=contacts["mode"],
        kinetic=float(row["kinetic"]),
        potential=float(row["potential"]),
        work=float(row["work"]),
        given=float(row["given"]),
        residual=float(row["residual"]),
        iterations=int(row["iterations"]),
        status=STATUSES[int(row["status"])],
        seconds=float(row["seconds"]),
    )
