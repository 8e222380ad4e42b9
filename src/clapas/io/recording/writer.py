"""Write a run to disk so that nothing complete is ever lost.

The file is written in HDF5's single-writer mode: data reach the file in an order that leaves it
readable at every instant, also by a viewer while the run goes on. A process killed at any moment
loses at most the frames since the last flush.

A thread of its own writes what a run has kept, while the run goes on: packing the numbers takes a core for as
long as several steps do.

A disk that fills up is treated as a kill of the file alone: what was flushed stays, the rest is given up,
and the error says so. Left to itself the library would try again at each closing of the file and crash at
the exit.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, NamedTuple

import h5py
import numpy as np

from clapas.dynamics.contact_table import contact_modes
from clapas.dynamics.model import Model
from clapas.dynamics.pressing import pressed_contacts
from clapas.dynamics.probe_readings import Reading
from clapas.dynamics.state import LinkImpulses, Sleep, State
from clapas.errors import WriteError
from clapas.geometry.colliders import Contacts
from clapas.io.hdf5 import first_line, writable
from clapas.io.recording import digest, joints, layout, systems
from clapas.io.recording.lock import Lock, temporary
from clapas.scenes.recorders import RecordedStep
from clapas.status import Status
from clapas.typing import Indices
from clapas.units import in_dimension
from clapas.version import __version__

FLUSH_SECONDS = 2.0
ROWS_PER_CHUNK = 1 << 15  # numbers in a chunk, about
CHUNK_CACHE = 1 << 18  # bytes kept of each column: the chunk that grows, not all that were written
STATUSES = list(Status)
PACKED = {"compression": "gzip", "compression_opts": 1, "shuffle": True}


class Kept(NamedTuple):
    """A frame that waits to be written.

    Parameters
    ----------
    frame, contacts : dict
        Its columns, and those of its contacts and links.
    readings : list of Reading
        Those of the probes since the frame before.
    """

    frame: dict[str, Any]
    contacts: dict[str, Any]
    readings: list[Reading]


class RecordingWriter:
    """A recorder that keeps steps in an HDF5 file.

    Parameters
    ----------
    path : path
        The file; one that exists is replaced when the first frames are safe.
    model : Model
        What runs.
    dt : float
        Time step (s).
    every : int
        One frame per so many steps.
    settings : dict
        What else is needed to go on: solver, scheme (written as JSON). With ``sleeping`` frames keep who
        sleeps.
    scene : str
        The scene as JSON, or empty.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        model: Model,
        *,
        dt: float,
        every: int = 1,
        settings: dict[str, Any] | None = None,
        scene: str = "",
    ) -> None:
        self.path = writable(path)
        self._sizes = {
            "bodies": model.n_bodies,
            "d": model.d,
            "size": model.velocity.shape[1],
            "turn": model.orientation.shape[1],
            "couple": model.inertia.shape[1],
            "probes": sum(len(probe.components(model.d)) for probe in model.probes),
        }
        self._has_sleep = bool((settings or {}).get("sleeping"))
        self._all_move = not self._has_sleep and not (model.birth > 0.0).any()
        self._model, self._systems = model, systems.recorded(model)
        self._has_links = bool(model.systems) or model.joints is not None
        self._joints = joints.recorded(model)
        self._more = systems.columns(self._systems, model.d) | joints.columns(self._joints)
        self._more |= layout.LINK_END if self._has_links else {}
        self._temporary, self._placed = temporary(self.path), False
        self._pending: list[Kept] = []
        self._behind = ThreadPoolExecutor(1, thread_name_prefix="clapas-writer")
        self._written: Future[None] | None = None
        self._noted: list[Reading] = []
        self._readings_written = self._readings_covered = 0  # on disk, and by the digests of frames
        self._rows, self._link_rows, self._frames_safe, self._time_safe = 0, 0, 0, 0.0
        self._flushed = time.monotonic()
        self._lock = Lock(self.path)
        try:
            self._temporary.write_bytes(self._beginning(model, dt, every, settings or {}, scene))
            self._file = h5py.File(self._temporary, "r+", libver=("v110", "v110"), rdcc_nbytes=CHUNK_CACHE)
        except OSError as error:
            self._leave()
            raise self._failure(error) from None
        except BaseException:
            self._leave()
            raise
        with self._writing():
            self._frames, self._contacts, self._links, self._probes = (
                {name: self._file[f"{group}/{name}"] for name in columns}
                for group, columns in self._growing(model).items()
            )
            self._file.swmr_mode = True

    def __enter__(self) -> RecordingWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()

    def keep(self, kept: RecordedStep) -> None:
        """Keep a step; it is on disk after the next flush."""
        contacts = _contact_rows(self._model, kept) | (_link_rows(kept.state) if self._has_links else {})
        self.append(self._frame_row(kept, len(contacts["a"])), contacts)

    def note(self, reading: Reading) -> None:
        """Keep what the probes read; it is on disk with the next frame."""
        self._noted.append(reading)

    def append(self, frame: dict[str, Any], contacts: dict[str, Any]) -> None:
        """Keep a frame given by its columns (``contact_end`` and ``digest`` are computed)."""
        self._hold(frame, contacts)
        if self._is_late():
            self.flush(wait=False)

    def copy(self, frames: Iterable[tuple[dict[str, Any], dict[str, Any]]]) -> None:
        """Keep frames of an older recording, each as for :meth:`append`.

        The file takes its place only after the last: if this is interrupted, the older one is still there.
        """
        try:
            for frame, contacts in frames:
                self._hold(frame, contacts)
                if self._is_late():
                    self._write(*self._taken())
            self.flush()
        except BaseException:
            self.abandon()
            raise

    def flush(self, *, wait: bool = True) -> None:
        """Put what was kept so far on disk.

        Parameters
        ----------
        wait : bool
            Return when it is there. Otherwise it is written while the caller goes on; the next call raises
            what fails.

        Raises
        ------
        WriteError
            The disk is full, or fails. The file is closed; it holds what was flushed before.
        """
        self._settle()
        taken = self._taken()
        if wait:
            self._put(*taken)
        else:
            self._written = self._behind.submit(self._put, *taken)

    def close(self) -> None:
        """Flush and close the file. Without any frame nothing takes the place of what was there."""
        self._settle()
        if self._file:
            if self._pending or self._noted:
                self._readings_covered = self._readings_written + len(self._noted)  # no frame will come
                self.flush()
            self.abandon()

    def abandon(self) -> None:
        """Close the file as it is, and remove it if it has not taken its place yet."""
        with suppress(WriteError):
            self._settle()
        if self._file:
            with self._writing():
                self._file.flush()  # what can fail for lack of room fails here, not in the closing
                self._file.close()
        self._leave()

    # ----------------------------------------------------------------

    def _hold(self, frame: dict[str, Any], contacts: dict[str, Any]) -> None:
        self._rows += len(contacts["a"])
        row = frame | {"contact_end": self._rows}
        if self._has_links:
            self._link_rows += len(contacts["links/owner"])
            row["link_end"] = self._link_rows
        # Row k of the readings is that of step k: those since the frame before belong to this frame.
        end = int(frame["step"]) + 1
        first, self._readings_covered = self._readings_covered, end
        readings = self._noted[first - self._readings_written : end - self._readings_written]
        self._pending.append(Kept(row, contacts, readings))

    def _is_late(self) -> bool:
        return time.monotonic() - self._flushed > FLUSH_SECONDS

    def _settle(self) -> None:
        """Wait until what is being written is on disk; raise what failed."""
        written, self._written = self._written, None
        if written is not None:
            written.result()

    def _taken(self) -> tuple[list[Kept], list[Reading]]:
        """What waits to be written. Readings wait for the frame whose digest covers them."""
        covered = self._readings_covered - self._readings_written
        noted, self._noted = self._noted[:covered], self._noted[covered:]
        pending, self._pending = self._pending, []
        self._readings_written += len(noted)
        self._flushed = time.monotonic()
        return pending, noted

    def _put(self, pending: list[Kept], noted: list[Reading]) -> None:
        """Write frames and readings; with the first the file takes its place."""
        self._write(pending, noted)
        if not self._placed:
            os.replace(self._temporary, self.path)
            self._placed = True

    def _write(self, pending: list[Kept], noted: list[Reading]) -> None:
        frames = [kept.frame | {"digest": self._digest(kept)} for kept in pending]
        with self._writing():
            if noted:
                times, values = zip(*noted, strict=True)
                _extend(self._probes["time"], np.array(times))
                _extend(self._probes["values"], np.stack(values))
            if pending:
                for name, data in self._contacts.items():
                    _extend(data, np.concatenate([kept.contacts[name] for kept in pending]))
                for name, data in self._links.items():
                    _extend(data, np.concatenate([kept.contacts[f"links/{name}"] for kept in pending]))
                for name, data in self._frames.items():
                    _extend(data, np.stack([np.asarray(frame[name], data.dtype) for frame in frames]))
                self._frames_safe += len(frames)
                self._time_safe = float(frames[-1]["time"])

    def _digest(self, kept: Kept) -> int:
        times, values = [reading.time for reading in kept.readings], [each.values for each in kept.readings]
        return digest.of_frame(kept.frame, kept.contacts, times, values, self._more)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A block that writes to the file; when that fails the file is given up, as it is on disk."""
        try:
            yield
        except (OSError, RuntimeError) as error:
            _give_up(self._file)
            self._leave()
            raise self._failure(error) from None

    def _failure(self, error: BaseException) -> WriteError:
        """The error that says what is safe and how to go on."""
        kept = "nothing was kept; make room and start again"
        if self._placed:
            kept = (
                f"the {self._frames_safe} frames up to t = {self._time_safe:g} s are safe in it: make "
                f"room, then 'clapas resume {shlex.quote(str(self.path))}' goes on"
            )
        elif self.path.exists():
            kept = "the file that was there is as it was; make room and start again"
        return WriteError(f"{self.path}: cannot be written ({_cause(error)}); {kept}")

    def _leave(self) -> None:
        """Remove the file if it has not taken its place, and let others write."""
        if not self._placed:
            self._temporary.unlink(missing_ok=True)
        self._lock.release()
        self._behind.shutdown(wait=False)

    def _beginning(self, model: Model, dt: float, every: int, settings: dict[str, Any], scene: str) -> bytes:
        """The file before its first frame, made in memory: there no disk can be full half-way."""
        with h5py.File("beginning", "w", driver="core", backing_store=False, libver=("v110", "v110")) as file:
            self._file = file
            self._describe(model, dt, every, settings, scene)
            for group, columns in self._growing(model).items():
                for name, column in columns.items():
                    self._column(group, name, column)
            if self._systems:
                systems.write(file, self._systems)
            if self._joints.names:
                joints.write(file, self._joints)
            if model.probes:
                file["probes"].attrs["probes"] = _described(model)
            file.attrs["digest"] = digest.of_constants(file)
            file.flush()
            return bytes(file.id.get_file_image())

    def _describe(self, model: Model, dt: float, every: int, settings: dict[str, Any], scene: str) -> None:
        self._file.attrs.update(
            {
                "format": layout.FORMAT,
                "version": layout.VERSION,
                "clapas": __version__,
                "dt": dt,
                "every": every,
                "settings": json.dumps(settings),
                "names": json.dumps(list(model.names)),
                "period": json.dumps(model.period),
                "units": "SI",
            }
        )
        self._file.create_group("scene").attrs["source"] = scene
        group = self._file.create_group("model")
        for name in layout.MODEL:
            group[name] = getattr(model, name)
        for name in layout.MAYBE:
            if getattr(model, name) is not None:
                group[name] = getattr(model, name)
        for name in layout.COLLIDERS:
            group[f"colliders/{name}"] = getattr(model.colliders, name)
        for name in layout.HULLS:
            group[f"hulls/{name}"] = getattr(model.colliders.hulls, name)
        for name in layout.LAWS:
            group[f"laws/{name}"] = getattr(model.laws, name)

    def _growing(self, model: Model) -> dict[str, dict[str, layout.Column]]:
        """The columns that grow, by group, in the order of writing (LAST_WRITTEN: last of the frames)."""
        return {
            "frames": self._more | (layout.SLEEP if self._has_sleep else {}) | layout.FRAMES,
            "contacts": layout.CONTACTS,
            "links": layout.LINKS if self._has_links else {},
            "probes": layout.PROBES if model.probes else {},
        }

    def _column(self, group: str, name: str, column: layout.Column) -> None:
        shape = tuple(self._sizes[n] if isinstance(n, str) else n for n in column.shape)
        numbers = int(np.prod(shape, initial=1))
        chunk = max(1, min(4096, ROWS_PER_CHUNK // max(1, numbers)))
        data = self._file.create_dataset(
            f"{group}/{name}",
            shape=(0, *shape),
            maxshape=(None, *(n or None for n in shape)),  # a length of 0 must not be final: chunks have 1
            chunks=(chunk, *(max(1, n) for n in shape)),
            dtype=column.dtype,
            **({} if column.noisy or (column.moving and self._all_move) else PACKED),
        )
        # Bodies of other kinds say themselves what their fields are measured in.
        unit = column.unit if name.startswith("systems/") else in_dimension(column.unit, self._sizes["d"])
        data.attrs["unit"], data.attrs["meaning"] = unit, column.meaning

    def _frame_row(self, kept: RecordedStep, contacts: int) -> dict[str, Any]:
        state, n = kept.state, self._sizes["bodies"]
        solution = kept.stepped.solution if kept.stepped else None
        row = _sleep_row(state, n) if self._has_sleep else {}
        touching = None if kept.stepped is None or not self._systems else kept.stepped.contacts
        row |= systems.row(self._model, state, touching) | joints.row(self._model, kept)
        return row | {
            "time": state.time,
            "step": state.step,
            "alive": state.n_bodies,
            "position": _padded(state.position, n),
            "orientation": _padded(state.orientation, n),
            "velocity": _padded(state.velocity, n),
            "kinetic": kept.energy.kinetic,
            "potential": kept.energy.potential,
            "work": kept.work,
            "given": kept.given,
            "residual": solution.residual if solution else 0.0,
            "worst": kept.worst,
            "iterations": solution.iterations if solution else 0,
            "status": STATUSES.index(solution.status if solution else Status.SOLVED),
            "seconds": solution.time if solution else 0.0,
            "dt": state.dt,
        }


def _contact_rows(model: Model, kept: RecordedStep) -> dict[str, Any]:
    if kept.stepped is None and kept.state.step == 0 and model.pressed:
        contacts = pressed_contacts(model, kept.state)
        stuck = kept.state.impulses.carrying.astype(np.int8)
        return _of_contacts(contacts, kept.state, stuck)
    if kept.stepped is None:
        d = kept.state.position.shape[1]
        sizes = {"d": d, "couple": 3 if d == 3 else 1}
        return {
            name: np.empty((0, *(sizes[str(size)] for size in column.shape)), dtype=column.dtype)
            for name, column in layout.CONTACTS.items()
        }
    return _of_contacts(kept.stepped.contacts, kept.state, contact_modes(kept.stepped))


def _of_contacts(contacts: Contacts, state: State, mode: Indices) -> dict[str, Any]:
    names = "a b collider_a collider_b feature point normal gap".split()
    columns = {name: getattr(contacts, name) for name in names}
    return columns | {"impulse": state.impulses.impulse, "couple": state.impulses.couple, "mode": mode}


def _link_rows(state: State) -> dict[str, Any]:
    links = state.links or LinkImpulses.none(state.position.shape[1])
    return {f"links/{name}": getattr(links, name) for name in layout.LINKS}


def _sleep_row(state: State, n: int) -> dict[str, Any]:
    """The columns of sleep; those of a state at the start, which has none, say that all are awake."""
    sleep = (state.sleep or Sleep.none(state.velocity.shape[1])).of_more(n)
    columns = {name: getattr(sleep, name) for name in layout.SLEEP if name != "round"}
    return columns | {"round": sleep.step}


def _described(model: Model) -> str:
    """The probes in words."""
    return json.dumps([probe.to_dict() | {"components": probe.components(model.d)} for probe in model.probes])


def _padded(rows: Any, n: int) -> Any:
    """Rows of the bodies born so far, NaN for the others."""
    result = np.full((n, rows.shape[1]), np.nan)
    result[: len(rows)] = rows
    return result


def _extend(data: Any, rows: Any) -> None:
    if len(rows):
        data.resize(len(data) + len(rows), axis=0)
        if rows.view(f"u{rows.itemsize}").any():  # what is never written reads as zero (not as -0.0)
            data[-len(rows) :] = rows
    data.flush()


def _give_up(file: Any) -> None:
    """Close a file whose disk is full: what the library still wants to write goes nowhere.

    What is on disk stays as the last flush left it, which is what a reader finds after a kill. Closing the
    file the usual way would fail, leave it open in the library, and crash at the exit of the process.
    """
    if not file:
        return
    is_linux = hasattr(os, "memfd_create")
    with os.fdopen(os.memfd_create("clapas"), "r+b") if is_linux else tempfile.TemporaryFile() as nowhere:
        os.dup2(nowhere.fileno(), file.id.get_vfd_handle())
        with suppress(OSError, RuntimeError):
            file.close()


def _cause(error: BaseException) -> str:
    """Why a write failed, in the words of the system where it says so."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    number = re.search(r"errno = (\d+)", str(error))
    return os.strerror(int(number[1])) if number else first_line(error)
