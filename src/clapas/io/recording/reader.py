"""Read a recording, also one that is still being written or whose writer was killed."""

from __future__ import annotations

import itertools
import operator
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import h5py
import numpy as np

from clapas.bodies.drawn import Look
from clapas.dynamics.model import Model
from clapas.dynamics.names import Names
from clapas.dynamics.probes import Probe
from clapas.dynamics.state import Impulses, LinkImpulses, Sleep, State
from clapas.errors import FormatError, OutOfRange, SettingsError, unknown_name
from clapas.geometry.colliders import Colliders, Hulls
from clapas.io.hdf5 import DAMAGE, first_line, reading, require_regular
from clapas.io.heaps import check_heaps
from clapas.io.recording import digest, joints, layout, systems, validation
from clapas.io.recording.contacts import RecordedContacts
from clapas.io.recording.named import ByName
from clapas.io.recording.writer import STATUSES
from clapas.io.texts import attribute, has_checksums
from clapas.io.watching import InteractivePage, ViewerProcess, show
from clapas.laws import LawTable
from clapas.status import Status
from clapas.typing import Array, Indices
from clapas.units import counted

BLOCK = 128  # frames read at a time when all are read
RETRIES, PAUSE = 4, 0.02  # attempts to read a growing file, and seconds between them


@dataclass(frozen=True)
class Frame:
    """One recorded step.

    Parameters
    ----------
    state : State
        Positions, velocities and impulses.
    contacts : RecordedContacts
        The contacts of the step that ended here, with forces and names of bodies.
    mode : array (n,)
        0 open, 1 sticking, 2 sliding.
    kinetic, potential, work, given : float
        Energies, and since the start the work of the contacts and that of walls, guides and loads (J); the
        last is NaN in files of early versions.
    residual, iterations, status, seconds
        Report of the solver.
    looks : tuple
        The skins of each system, for drawing.
    readings : tuple of dictionaries
        The gauges of each system by name: stresses at Gauss points, for instance.
    joints : JointFrames
        Forces and coordinates of the joints by name; empty without joints.
    carriers : int
        Rows of the table of bodies that are frames of systems.
    """

    state: State
    contacts: RecordedContacts
    mode: Indices
    kinetic: float
    potential: float
    work: float
    given: float
    residual: float
    iterations: int
    status: Status
    seconds: float
    looks: tuple[tuple[Look, ...], ...] = ()
    readings: tuple[dict[str, Array], ...] = ()
    joints: joints.JointFrames = field(default_factory=lambda: joints.NO_JOINTS)
    carriers: int = 0

    @property
    def n_bodies(self) -> int:
        """Bodies born so far, without the frames that carry the shapes of systems."""
        return self.state.n_bodies - self.carriers

    def __repr__(self) -> str:
        return (
            f"Frame(t = {self.state.time:.6g} s, {counted(self.n_bodies, 'body', 'bodies')}, "
            f"{counted(len(self.contacts), 'contact')}, {self.status.name})"
        )

    def forces(self, body: int | str, other: int | str | None = None) -> Array:
        """Sum of the contact forces on a body (N), (d,), mean over the step that ended here.

        Parameters
        ----------
        body : int or str
            Number or name of the body.
        other : int or str, optional
            Only the forces from this body.

        Examples
        --------
        >>> from clapas.scenes import examples
        >>> from clapas.io.simulation import simulate
        >>> with simulate(examples.load("two-block-stack")) as run:
        ...     end = run.frame(-1)
        ...     weight = 9.81 * float(run.model.mass[1:].sum())
        >>> round(-float(end.forces(0)[2]) / weight, 6)  # load on the floor
        1.0
        """
        return self.contacts.on(body, other)


class _Ragged(NamedTuple):
    """A table with a varying number of rows per frame: group, column of ends, names, prefix in a row."""

    group: str
    end: str
    names: tuple[str, ...]
    prefix: str


_CONTACTS = _Ragged("contacts", "contact_end", tuple(layout.CONTACTS), "")
_LINKS = _Ragged("links", "link_end", tuple(layout.LINKS), "links/")


def is_recording(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a recording."""
    try:
        if not Path(path).is_file() or not h5py.is_hdf5(path):
            return False
        with _opened(Path(path)) as file:
            return bool(attribute(file, "format", str(path)) == layout.FORMAT)
    except (FormatError, *DAMAGE):
        return False


def _opened(path: Path) -> h5py.File:
    """Open a file that is complete, being written, or left by a killed writer.

    A reader beside a writer needs HDF5's single-writer mode, which does not detect a truncated file and waits
    for its end for ever. So it is used only when the file is marked as being written.
    """
    check_heaps(path)
    try:
        return h5py.File(path, "r")
    except OSError as error:
        if "already open for write" not in str(error):
            raise
        return h5py.File(path, "r", libver=("v110", "v110"), swmr=True)


class Recording:
    """A run on disk.

    Opening it checks presence, types and sizes of all parts; reading a frame checks its indices and counts.
    :meth:`verify` also compares every number with the checksums.

    Raises
    ------
    FormatError
        The file is damaged or of another kind; the message names the data set.

    Examples
    --------
    Open, look, close::

        with Recording("run.h5") as run:
            print(run.n_frames, run.times[-1])
            print(run.frame(-1).state.position)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        require_regular(self.path)
        try:
            self._handle = _opened(self.path)
        except FileNotFoundError:
            raise
        except DAMAGE as error:
            raise FormatError(f"{self.path}: not an HDF5 file, or damaged ({first_line(error)})") from None
        try:
            self._open()
        except BaseException:
            self._handle.close()
            raise

    @property
    def _file(self) -> h5py.File:
        if self.is_closed:  # h5py would report damage
            raise SettingsError(
                f"{self.path}: this recording is closed; read it inside of its 'with' block, or open it "
                f"again: clapas.Recording('{self.path}')"
            )
        return self._handle

    def _open(self) -> None:
        self._grows = bool(self._file.swmr_mode)
        self._opened: dict[str, Any] = {}  # cache of data sets: lookup takes longer than reading a row
        where = str(self.path)
        with reading(where):
            attributes = dict(self._file.attrs) if has_checksums(self._file) else {}
        if not isinstance(form := attributes.get("format"), str) or form != layout.FORMAT:
            raise FormatError(f"{self.path}: an HDF5 file, but not a recording made by clapas run")
        version = int(validation.number(self._file, "version", where))
        if version > layout.VERSION:
            raise FormatError(
                f"{self.path}: version {version} of the format, this clapas reads up to {layout.VERSION}: "
                "upgrade clapas"
            )
        if version < layout.OLDEST:
            raise FormatError(
                f"{self.path}: version {version} of the format, this clapas reads from {layout.OLDEST} on: "
                "run the scene again"
            )
        self.dt = float(validation.number(self._file, "dt", where))
        self.every = int(validation.number(self._file, "every", where))
        settings = validation.text(self._file, "settings", where)
        self.settings: dict[str, Any] = validation.document(settings, dict, "settings", where)
        self.clapas_version = validation.text(self._file, "clapas", where)
        with reading(f"{where}: 'scene'"):
            scene = self._file["scene"]
        self.scene_source = validation.text(scene, "source", where)
        self._sizes = validation.sizes(self._file, where)
        self._sizes["colliders"] = validation.length(self._file, "model/colliders/body", where)
        self.joints = joints.read(self._file, where)
        self._sizes["probes"] = sum(len(probe.components(self._d)) for probe in self.probes.values())
        self.systems = systems.read(self._file, self._sizes["bodies"], where)
        with reading(f"{where}: 'links'"):
            self._has_links = "links" in self._file
        self._more = systems.columns(self.systems, self._d) | joints.columns(self.joints)
        self._more |= layout.LINK_END if self._has_links else {}
        validation.columns(self._file, self._sizes, self._more, where)

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.is_closed:
            return f"Recording('{self.path}', closed)"
        end = f" to t = {self.times[-1]:.6g} s" if self.n_frames else ""
        frames, bodies = counted(self.n_frames, "frame"), counted(self.n_bodies, "body", "bodies")
        return f"Recording('{self.path}', {frames} of {bodies}{end})"

    def show(self, *, height: int = 560, frames: int = 100) -> InteractivePage | ViewerProcess:
        """Show the run: the interactive page in the cell of a notebook, or else in the browser.

        Parameters
        ----------
        height : int
            Of the page in a cell (pixels).
        frames : int
            Largest number of frames in a cell, evenly over the run; the browser shows all.
        """
        return show(self.path, height=height, frames=frames)

    def close(self) -> None:
        """Close the file."""
        self._opened.clear()
        self._handle.close()

    @property
    def is_closed(self) -> bool:
        """Whether the file is closed."""
        return not self._handle

    @property
    def n_frames(self) -> int:
        """Number of complete frames at present: a run may still be writing."""
        return len(self._fresh(f"frames/{layout.LAST_WRITTEN}"))

    @property
    def n_carriers(self) -> int:
        """Rows of the table of bodies that are no bodies: frames that carry the shapes of systems."""
        return sum(len(system.rows) for system in self.systems)

    @property
    def n_bodies(self) -> int:
        """Number of bodies, unborn ones included, without the frames that carry the shapes of systems."""
        return int(self._sizes["bodies"]) - self.n_carriers

    def column(self, name: str) -> Any:
        """A column of the frames as an array: ``time``, ``kinetic``, ``residual`` …"""
        if name not in self._columns:
            raise unknown_name("column of a recording", name, self._columns)
        return self._frames(
            name, slice(0, self.n_frames)
        )  # n_frames first: the other columns are written before

    @property
    def times(self) -> Array:
        """Times of the frames (s)."""
        return np.asarray(self.column("time"))

    def nearest(self, time: float | None = None) -> int:
        """Index of the frame nearest to a time (s) of the run; the last one by default."""
        times = self.times
        if len(times) == 0:
            raise FormatError(f"{self.path}: no frame is complete")
        if time is None:
            return len(times) - 1
        spare = float(np.diff(times).max(initial=0.0))  # a run may end slightly after its last frame
        if not times[0] - spare <= time <= times[-1] + spare:
            raise SettingsError(
                f"time must be one of the run, from {times[0]:g} to {times[-1]:g} s, got {time:g}"
            )
        return int(np.argmin(np.abs(times - time)))

    @cached_property
    def model(self) -> Model:
        """The simulated model, without imposed motions, loads and systems (stored in the scene)."""
        where = str(self.path)
        arrays = validation.model(self._file, self._sizes, where)
        names = validation.document(validation.text(self._file, "names", where), list, "names", where)
        period = validation.document(validation.text(self._file, "period", where), list, "period", where)
        if len(names) != self._sizes["bodies"] or not all(isinstance(name, str) for name in names):
            raise FormatError(f"{where}: 'names' must be {self._sizes['bodies']} texts")
        if len(period) != 2 or not all(each is None or _is_positive(each) for each in period):
            raise FormatError(f"{where}: 'period' must be two lengths or null, got {period}")
        hulls = Hulls(*(arrays[f"hulls/{name}"] for name in layout.HULLS))
        columns = {name: arrays[f"colliders/{name}"] for name in layout.COLLIDERS}
        return Model(
            **{name: arrays[name] for name in layout.MODEL},
            colliders=Colliders(d=self._d, hulls=hulls, **columns),
            laws=LawTable(*(arrays[f"laws/{name}"] for name in layout.LAWS)),
            **{name: arrays[name] for name in layout.MAYBE if name in arrays},
            names=Names(names),
            period=tuple(period),
            probes=tuple(self.probes.values()),
        )

    def frame(self, index: int) -> Frame:
        """The frame of that index; negative indices count from the end."""
        n = self.n_frames
        try:
            index = operator.index(index)
        except TypeError:
            raise SettingsError(
                f"a frame is asked for by its number, got {index!r:.60}; frame(-1) is the last, and "
                "frame(run.nearest(time)) the one nearest to a time"
            ) from None
        if not -n <= index < n:
            numbered = f"frames are numbered 0 to {n - 1}, -1 is the last" if n else "no frame is complete"
            raise OutOfRange(f"there is no frame {index}: {numbered}")
        return self._checked(self.row(index % n), self.contact_rows(index % n))

    def frames(self) -> Iterator[Frame]:
        """All frames, one after another."""
        return (self._checked(row, contacts) for row, contacts in self.stored())

    def verify(self) -> int:
        """Read everything, compare it with the checksums and return the number of frames that agree.

        Files of early versions have no checksums: only structure and ranges are checked, and 0 is returned.

        Raises
        ------
        FormatError
            A checksum or range is wrong; the message names the data.
        """
        where = str(self.path)
        if self.n_frames:
            assert self.model is not None  # reads and checks it
        with reading(where):
            constants = self._file.attrs.get("digest")
            if constants is not None and constants != digest.of_constants(self._file):
                raise FormatError(
                    f"{where}: the settings, the scene or the model do not match their checksum: they were "
                    "changed"
                )
            has_digests = "digest" in self._file["frames"]
        if constants is not None and not has_digests:
            raise FormatError(f"{where}: no 'frames/digest', although the file says that it has checksums")
        times, values = self.readings()
        step, time_before, count = -1, -1.0, 0
        for number, (row, contacts) in enumerate(self.stored()):
            self._checked(row, contacts)
            last, step = step, int(row["step"])
            if step <= last or float(row["time"]) < time_before:
                raise FormatError(f"{where}: frame {number}: 'frames/step' and 'frames/time' must increase")
            time_before = float(row["time"])
            new = slice(last + 1, step + 1)
            if has_digests:
                written = {name: value for name, value in row.items() if name not in self._absent}
                computed = digest.of_frame(written, contacts, times[new], values[new], self._more)
                if computed != int(row["digest"]):
                    raise FormatError(
                        f"{where}: frame {number} (t = {time_before:g} s) does not match its checksum"
                    )
                count += 1
        return count

    @cached_property
    def probes(self) -> dict[str, Probe]:
        """The probes of the run by name."""
        where, kind = str(self.path), "probe of this recording"
        with reading(f"{where}: 'probes'"):
            if "probes" not in self._file:
                return ByName(kind, {})
            group = self._file["probes"]
        entries = validation.document(validation.text(group, "probes", where), list, "probes", where)
        made = [_probe(entry, self._sizes["bodies"], self.joints, where) for entry in entries]
        return ByName(kind, {probe.name: probe for probe in made})

    def probe(self, name: str) -> Array:
        """Values of a probe at every step, the start included: (n, k), or (n,) for a scalar."""
        width = len(self.probes[name].components(self._d))
        before = itertools.takewhile(lambda other: other != name, self.probes)
        start = sum(len(self.probes[other].components(self._d)) for other in before)
        values = self.readings()[1][:, start : start + width]
        return values[:, 0] if width == 1 else values

    def readings(self) -> tuple[Array, Array]:
        """Times (n,) and the values (n, k) of all probes at every step, the start included."""
        if not self.probes:
            return np.empty(0), np.empty((0, 0))
        values = self._slice("probes/values", slice(None))
        return self._slice("probes/time", slice(0, len(values))), values

    @cached_property
    def _names(self) -> Names:
        return self.model.names

    @cached_property
    def _columns(self) -> list[str]:
        """Names of the columns of the frames."""
        with reading(f"{self.path}: 'frames'"):
            sleep = (name for name in layout.SLEEP if name in self._file["frames"])
            return [*layout.FRAMES, *sleep, *self._more]

    @cached_property
    def _absent(self) -> list[str]:
        """Columns missing in this file of an early version."""
        with reading(f"{self.path}: 'frames'"):
            return [name for name in layout.LATER if name not in self._file["frames"]]

    @property
    def _d(self) -> int:
        return self._sizes["d"]

    def row(self, index: int) -> dict[str, Any]:
        """The columns of one frame as stored."""
        return {name: self._frames(name, slice(index, index + 1))[0] for name in self._columns}

    def contact_rows(self, index: int) -> dict[str, Any]:
        """The columns of the contacts of one frame as stored, and those of its links by ``links/…``."""
        columns: dict[str, Any] = {}
        for table in self._ragged:
            first = max(index - 1, 0)
            ends = [0, *self._slice(f"frames/{table.end}", slice(first, index + 1)).tolist()]
            columns |= self._ragged_rows(table, ends[-2], ends[-1], index)
        return columns

    def stored(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """The columns of each frame and of its contacts as stored, frame after frame, read in blocks."""
        n, starts = self.n_frames, dict.fromkeys(self._ragged, 0)
        for start in range(0, n, BLOCK):
            stop = min(start + BLOCK, n)
            frames = {name: self._frames(name, slice(start, stop)) for name in self._columns}
            rows: list[dict[str, Any]] = [{} for _ in range(stop - start)]
            for table, first in starts.items():
                ends = [first, *frames[table.end].tolist()]
                if any(after < before for before, after in itertools.pairwise(ends)):
                    raise FormatError(f"{self.path}: 'frames/{table.end}' must increase from frame to frame")
                block = self._ragged_rows(table, first, ends[-1], stop - 1)
                for frame_rows, begin, end in zip(rows, ends[:-1], ends[1:], strict=True):
                    frame_rows |= {
                        name: column[begin - first : end - first] for name, column in block.items()
                    }
                starts[table] = ends[-1]
            for i, frame_rows in enumerate(rows):
                yield {name: column[i] for name, column in frames.items()}, frame_rows

    def _checked(self, row: dict[str, Any], contacts: dict[str, Any]) -> Frame:
        validation.frame(row, contacts, self._sizes, str(self.path))
        return _frame(row, contacts, self.systems, self.joints, self._names)

    @property
    def _ragged(self) -> list[_Ragged]:
        return [_CONTACTS, _LINKS] if self._has_links else [_CONTACTS]

    def _ragged_rows(self, table: _Ragged, start: int, end: int, frame: int) -> dict[str, Any]:
        """Rows ``start`` to ``end`` of contacts or links, as declared by the frame of that index."""

        def rows(name: str) -> Any:
            data = self._fresh(f"{table.group}/{name}")
            if not 0 <= start <= end <= len(data):
                raise FormatError(
                    f"{self.path}: frame {frame} has the {table.group} {start} to {end} of "
                    f"'{table.group}/{name}', which has {len(data)} rows: 'frames/{table.end}' is damaged"
                )
            with reading(f"{self.path}: '{table.group}/{name}'"):
                return data[start:end]

        return {f"{table.prefix}{name}": self._with_retries(partial(rows, name)) for name in table.names}

    def _frames(self, name: str, rows: slice) -> Any:
        """Rows of a column of the frames; NaN or 0 where a file of an early version has none."""
        if name in self._absent:
            return np.full(rows.stop - rows.start, np.nan if layout.FRAMES[name].dtype == "f8" else 0)
        return self._slice(f"frames/{name}", rows)

    def _slice(self, name: str, rows: slice) -> Any:
        """Rows of a data set."""

        def part() -> Any:
            data = self._fresh(name)
            with reading(f"{self.path}: '{name}'"):
                return data[rows]

        return self._with_retries(part)

    def _with_retries(self, read: Callable[[], Any]) -> Any:
        """Result of ``read``; of a growing file it is repeated on failure, as a flush may have interfered."""
        for _ in range(RETRIES if self._grows else 0):
            with suppress(FormatError):
                return read()
            time.sleep(PAUSE)
        return read()

    def _fresh(self, name: str) -> Any:
        """The current state of a data set on disk: a run may still be writing."""
        with reading(f"{self.path}: '{name}'"):
            if self._grows:  # reopened: HDF5 fails to follow a growing data set kept open for long
                data = self._file[name]
                data.id.refresh()
                return data
            # A complete file does not grow: a resumed run replaces it.
            if name not in self._opened:
                self._opened[name] = self._file[name]
            return self._opened[name]


def _probe(entry: Any, bodies: int, joint_names: joints.JointNames, where: str) -> Probe:
    try:
        arguments = {key: value for key, value in entry.items() if key != "components"}
        if (joint := arguments.get("joint")) is not None:
            arguments.setdefault("body", 0)  # the body of the joint is in the scene
            if joint_names.turning is not None and joint in joint_names.moving:
                arguments["coordinate"] = "angle" if joint in joint_names.turning else "displacement"
        probe = Probe(**arguments)
        numbers = [probe.body] if probe.other is None else [probe.body, probe.other]
        if not isinstance(probe.name, str) or not all(0 <= number < bodies for number in numbers):
            raise ValueError(f"no bodies {numbers}")
    except (TypeError, ValueError, AttributeError) as error:
        raise FormatError(f"{where}: 'probes' holds {str(entry)[:80]}, which is no probe ({error})") from None
    return probe


def _is_positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")


def _links(rows: dict[str, Any]) -> LinkImpulses | None:
    if not len(rows.get("links/owner", ())):
        return None
    return LinkImpulses(*(rows[f"links/{name}"] for name in layout.LINKS))


def _sleep(row: dict[str, Any], alive: int) -> Sleep:
    """Sleep state of the bodies born so far."""
    columns = {name: row[name][:alive] for name in layout.SLEEP if name != "round"}
    return Sleep(step=int(row["round"]), **columns | {"asleep": columns["asleep"].astype(bool)})


def _frame(
    row: dict[str, Any],
    contacts: dict[str, Any],
    others: tuple[systems.RecordedSystem, ...],
    known: joints.JointNames,
    bodies: Names,
) -> Frame:
    """A frame from its columns as stored."""
    alive = int(row["alive"])
    names = "a b collider_a collider_b feature point normal gap".split()
    dt = float(row["dt"])
    force = contacts["impulse"] / (dt if dt > 0.0 else 1.0)  # no impulse at the start
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
            parts=systems.parts(others, row),
            links=_links(contacts),
            coordinates=row.get("joints/coordinate"),
        ),
        contacts=RecordedContacts(
            **{name: contacts[name] for name in names}, force=force, mode=contacts["mode"], names=bodies
        ),
        mode=contacts["mode"],
        kinetic=float(row["kinetic"]),
        potential=float(row["potential"]),
        work=float(row["work"]),
        given=float(row["given"]),
        residual=float(row["residual"]),
        iterations=int(row["iterations"]),
        status=STATUSES[int(row["status"])],
        seconds=float(row["seconds"]),
        looks=systems.looks(others, row),
        readings=systems.readings(others, row),
        joints=joints.frame(known, row),
        carriers=sum(len(system.rows) for system in others),
    )
