"""Write a run to disk so that complete frames are never lost.

The file is written in HDF5's single-writer mode: data reach the file in an order that leaves it
readable at every instant, also by a viewer while the run goes on. A process killed at any moment
loses at most the frames since the last flush.

A separate thread writes the recorded steps while the run goes on: compression takes a core for as long as
several steps do.

When the disk is full or a limit on file sizes is reached, the flushed data stay, the rest is discarded, and
the error says so. The HDF5 library alone would retry whenever the file is closed and crash at exit.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
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
ROWS_PER_CHUNK = 1 << 15  # numbers in a chunk, approximately
CHUNK_CACHE = 1 << 18  # bytes cached per column: the growing chunk only
STATUSES = list(Status)
PACKED = {"compression": "gzip", "compression_opts": 1, "shuffle": True}


class PendingFrame(NamedTuple):
    """A frame waiting to be written.

    Parameters
    ----------
    frame, contacts : dict
        Columns of the frame, and of its contacts and links.
    readings : list of Reading
        Probe readings since the previous frame.
    """

    frame: dict[str, Any]
    contacts: dict[str, Any]
    readings: list[Reading]


class RecordingWriter:
    """A recorder that writes steps to an HDF5 file.

    Parameters
    ----------
    path : path
        The file; an existing one is replaced when the first frames are on disk.
    model : Model
        The simulated model.
    dt : float
        Time step (s).
    every : int
        Steps per frame.
    settings : dict
        Other data needed to resume: solver, scheme (written as JSON). With ``sleeping``, frames include the
        sleep state.
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
        # Where collider k is that of body k their columns are the same, under two names.
        is_same = np.array_equal(model.colliders.body, np.arange(len(model.colliders)))
        self._shared = {"collider_a": "a", "collider_b": "b"} if is_same else {}
        self._model, self._systems = model, systems.recorded(model)
        self._has_links = bool(model.systems) or model.joints is not None
        self._joints = joints.recorded(model)
        self._more = systems.columns(self._systems, model.d) | joints.columns(self._joints)
        self._more |= layout.LINK_END if self._has_links else {}
        self._temporary, self._is_in_place = temporary(self.path), False
        self._pending: list[PendingFrame] = []
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="clapas-writer")
        self._writing_task: Future[None] | None = None
        self._failed: WriteError | None = None
        self._readings_pending: list[Reading] = []
        self._readings_written = self._readings_covered = (
            0  # rows on disk, and rows covered by the digests of frames
        )
        self._rows, self._link_rows, self._frames_safe, self._time_safe = 0, 0, 0, 0.0
        self._flushed = time.monotonic()
        self._lock = Lock(self.path)
        try:
            self._temporary.write_bytes(self._beginning(model, dt, every, settings or {}, scene))
            self._file = h5py.File(self._temporary, "r+", libver=("v110", "v110"), rdcc_nbytes=CHUNK_CACHE)
        except OSError as error:
            self._release()
            raise self._failure(error) from None
        except BaseException:
            self._release()
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
        """Record a step; it is on disk after the next flush."""
        contacts = _contact_rows(self._model, kept) | (_link_rows(kept.state) if self._has_links else {})
        self.append(self._frame_row(kept, len(contacts["a"])), contacts)

    def note(self, reading: Reading) -> None:
        """Record probe readings; they are on disk with the next frame."""
        self._readings_pending.append(reading)

    def append(self, frame: dict[str, Any], contacts: dict[str, Any]) -> None:
        """Record a frame from its columns (``contact_end`` and ``digest`` are computed)."""
        self._append(frame, contacts)
        if self._is_late():
            self.flush(wait=False)

    def copy(self, frames: Iterable[tuple[dict[str, Any], dict[str, Any]]]) -> None:
        """Copy frames of an older recording, each as for :meth:`append`.

        The new file replaces the older one only after the last frame, so that an interruption does no harm.
        """
        try:
            for frame, contacts in frames:
                self._append(frame, contacts)
                if self._is_late():
                    self._write(*self._take_pending())
            self.flush()
        except BaseException:
            self.abandon()
            raise

    def flush(self, *, wait: bool = True) -> None:
        """Write all recorded steps to disk.

        Parameters
        ----------
        wait : bool
            Wait until they are written. Otherwise a thread writes them, and the next call raises its errors.

        Raises
        ------
        WriteError
            The disk is full or fails, or the file would be larger than allowed. The file is closed; it holds
            the data flushed before.
        """
        self._wait()
        if self._failed:
            raise self._failed
        taken = self._take_pending()
        if wait:
            self._write_and_place(*taken)
        else:
            self._writing_task = self._executor.submit(self._write_and_place, *taken)

    def close(self) -> None:
        """Flush and close the file. Without any frame an existing file is not replaced."""
        self._wait()
        if self._file and not self._failed:
            if self._pending or self._readings_pending:
                self._readings_covered = self._readings_written + len(
                    self._readings_pending
                )  # no frame follows
                self.flush()
            self.abandon()

    def abandon(self) -> None:
        """Close the file without flushing, and remove it if it is still temporary."""
        with suppress(WriteError):
            self._wait()
        if self._file and not self._failed:
            with self._writing():
                self._file.flush()  # a full disk fails here, not in close()
                self._file.close()
        self._release()

    # ----------------------------------------------------------------

    def _append(self, frame: dict[str, Any], contacts: dict[str, Any]) -> None:
        self._rows += len(contacts["a"])
        row = frame | {"contact_end": self._rows}
        if self._has_links:
            self._link_rows += len(contacts["links/owner"])
            row["link_end"] = self._link_rows
        # Row k of the readings belongs to step k: those since the previous frame belong to this one.
        end = int(frame["step"]) + 1
        first, self._readings_covered = self._readings_covered, end
        readings = self._readings_pending[first - self._readings_written : end - self._readings_written]
        self._pending.append(PendingFrame(row, contacts, readings))

    def _is_late(self) -> bool:
        return time.monotonic() - self._flushed > FLUSH_SECONDS

    def _wait(self) -> None:
        """Wait for the writing thread; raise its error, if any."""
        written, self._writing_task = self._writing_task, None
        if written is not None:
            written.result()

    def _take_pending(self) -> tuple[list[PendingFrame], list[Reading]]:
        """Take the pending frames and readings. Readings wait for the frame whose digest covers them."""
        covered = self._readings_covered - self._readings_written
        noted, self._readings_pending = self._readings_pending[:covered], self._readings_pending[covered:]
        pending, self._pending = self._pending, []
        self._readings_written += len(noted)
        self._flushed = time.monotonic()
        return pending, noted

    def _write_and_place(self, pending: list[PendingFrame], noted: list[Reading]) -> None:
        """Write frames and readings; move the temporary file to its place after the first."""
        self._write(pending, noted)
        if not self._is_in_place:
            os.replace(self._temporary, self.path)
            self._is_in_place = True

    def _write(self, pending: list[PendingFrame], noted: list[Reading]) -> None:
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

    def _digest(self, kept: PendingFrame) -> int:
        times, values = [reading.time for reading in kept.readings], [each.values for each in kept.readings]
        return digest.of_frame(kept.frame, kept.contacts, times, values, self._more)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Context that writes to the file; on failure the file is closed as it is on disk."""
        try:
            yield
        except (OSError, RuntimeError) as error:
            self._failed = self._failed or self._failure(error)  # what follows a failure is no cause
            _close_discarding(self._file)
            self._release()
            raise self._failed from None

    def _failure(self, error: BaseException) -> WriteError:
        """The error message: what is on disk and how to continue."""
        remedy = _remedy(error)
        kept = f"nothing was kept; {remedy} and start again"
        if self._is_in_place:
            kept = (
                f"the {self._frames_safe} frames up to t = {self._time_safe:g} s are safe in it: {remedy}, "
                f"then 'clapas resume {shlex.quote(str(self.path))}' goes on"
            )
        elif self.path.exists():
            kept = f"the file that was there is as it was; {remedy} and start again"
        return WriteError(f"{self.path}: cannot be written ({_cause(error)}); {kept}")

    def _release(self) -> None:
        """Remove the file if it is still temporary, and release the lock."""
        if not self._is_in_place:
            self._temporary.unlink(missing_ok=True)
        self._lock.release()
        self._executor.shutdown(wait=False)

    def _beginning(self, model: Model, dt: float, every: int, settings: dict[str, Any], scene: str) -> bytes:
        """The file before its first frame, built in memory so that a full disk cannot interrupt it."""
        with h5py.File("beginning", "w", driver="core", backing_store=False, libver=("v110", "v110")) as file:
            self._file = file
            self._describe(model, dt, every, settings, scene)
            for group, columns in self._growing(model).items():
                for name, column in columns.items():
                    self._column(group, name, column)
            for name, same in self._shared.items():
                file[f"contacts/{name}"] = file[f"contacts/{same}"]
            if self._systems:
                systems.write(file, self._systems)
            if self._joints.names:
                joints.write(file, self._joints)
            if model.probes:
                file["probes"].attrs["probes"] = _probes_json(model)
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
        """The growing columns by group, in the order of writing (LAST_WRITTEN: last of the frames)."""
        return {
            "frames": self._more | (layout.SLEEP if self._has_sleep else {}) | layout.FRAMES,
            "contacts": {
                name: column for name, column in layout.CONTACTS.items() if name not in self._shared
            },
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
            maxshape=(None, *(n or None for n in shape)),  # a size of 0 must stay extensible: chunks have 1
            chunks=(chunk, *(max(1, n) for n in shape)),
            dtype=column.dtype,
            **({} if column.noisy or (column.moving and self._all_move) else PACKED),
        )
        # Systems state the units of their fields themselves.
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
    """The columns of sleep; at the start all bodies are awake."""
    sleep = (state.sleep or Sleep.none(state.velocity.shape[1])).of_more(n)
    columns = {name: getattr(sleep, name) for name in layout.SLEEP if name != "round"}
    return columns | {"round": sleep.step}


def _probes_json(model: Model) -> str:
    """The probes as JSON."""
    return json.dumps([probe.to_dict() | {"components": probe.components(model.d)} for probe in model.probes])


def _padded(rows: Any, n: int) -> Any:
    """Rows of the bodies born so far, NaN for the others."""
    result = np.full((n, rows.shape[1]), np.nan)
    result[: len(rows)] = rows
    return result


def _extend(data: Any, rows: Any) -> None:
    if len(rows):
        data.resize(len(data) + len(rows), axis=0)
        if rows.view(f"u{rows.itemsize}").any():  # unwritten data read as zero (not as -0.0)
            data[-len(rows) :] = rows
    data.flush()


def _close_discarding(file: Any) -> None:
    """Close a file that cannot be written, discarding what HDF5 has not written.

    The data on disk stay as of the last flush, as after a kill. Closing the file normally would fail, leave
    it open in the library, and crash at the exit of the process. So the library writes the rest to the null
    device: a temporary file would be full, or under a limit on file sizes, as well.
    """
    if not file:
        return
    with open(os.devnull, "r+b") as nowhere:
        os.dup2(nowhere.fileno(), file.id.get_vfd_handle())
        with suppress(OSError, RuntimeError):
            file.close()


def _error_number(error: BaseException) -> int | None:
    """The system's number of the error, where HDF5 states it only in the text too."""
    if isinstance(error, OSError) and error.errno:
        return error.errno
    number = re.search(r"errno = (\d+)", str(error))
    return int(number[1]) if number else None


def _remedy(error: BaseException) -> str:
    """What to do before the run can go on."""
    if _error_number(error) == errno.EFBIG:
        return "allow larger files ('ulimit -f' shows the limit)"
    return "make room"


def _cause(error: BaseException) -> str:
    """Cause of a failed write, as named by the system where possible."""
    number = _error_number(error)
    return os.strerror(number) if number else first_line(error)
