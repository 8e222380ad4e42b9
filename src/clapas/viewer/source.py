"""The recording shown by the viewer, at any stage of the run that writes it.

The file may not exist yet, grow, be replaced by a new run, or vanish. Requests get bytes for the page, or an
error that states the reason.
"""

from __future__ import annotations

import json
import os
import threading
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from clapas.analysis.instant import theta_of
from clapas.errors import Error, FormatError
from clapas.io.recording import Recording
from clapas.typing import Array, Indices
from clapas.version import __version__
from clapas.viewer import drawables, skins
from clapas.viewer.cell import Cell
from clapas.viewer.frames import pack_frame, single
from clapas.viewer.framing import box_of
from clapas.viewer.packing import pack

COLUMNS = "time kinetic potential work residual iterations".split()
MARGIN = 4.0  # extent of the ground relative to the box; it fades there


class NotThere(Error, FileNotFoundError):
    """The recording does not exist (yet, or any more)."""


class Source:
    """A recording as source of the page.

    Parameters
    ----------
    path : path
        The recording.
    since : float
        Ignore a file last changed before this time (s since 1970): a run is about to replace it.
    """

    def __init__(self, path: str | os.PathLike[str], since: float = 0.0) -> None:
        self.path = Path(path)
        self._since = since
        self._shown: Shown | None = None
        self._lock = threading.Lock()

    def model(self) -> bytes:
        """Constant data: bodies, shapes, materials."""
        with self._lock:
            return self._current().model

    def columns(self, first: int) -> dict[str, Any]:
        """Numbers of all frames from frame ``first`` on."""
        with self._lock:
            return self._current().columns(first)

    def frame(self, index: int) -> bytes:
        """One frame."""
        with self._lock:
            return self._current().frame(index)

    def shown(self) -> Shown:
        """The open recording, for use by one thread alone."""
        return self._current()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._forget()

    def _current(self) -> Shown:
        """The recording as it is now; reopened when the file was replaced."""
        try:
            status = self.path.stat()
        except OSError:
            self._forget()
            raise NotThere(f"{self.path.name} is not there") from None
        if status.st_mtime < self._since:
            raise NotThere(f"{self.path.name}: waiting for the first frames of the run")
        identity = f"{status.st_dev:x}-{status.st_ino:x}"
        if self._shown is None or self._shown.identity != identity:
            self._forget()
            recording = Recording(self.path)
            try:
                self._shown = Shown(recording, identity)
            except FormatError:
                recording.close()
                raise
        return self._shown

    def _forget(self) -> None:
        if self._shown is not None:
            self._shown.recording.close()
            self._shown = None


class Shown:
    """An open recording and data derived from its model."""

    def __init__(self, recording: Recording, identity: str) -> None:
        self.recording, self.identity = recording, identity
        if recording.n_frames == 0:
            raise FormatError(f"{recording.path}: no frame is complete")

    @cached_property
    def model(self) -> bytes:
        """Bytes of the model for the page."""
        recording, model = self.recording, self.recording.model
        low, high = self.bounds
        reach = MARGIN * float(np.linalg.norm(high - low)) / 2.0
        shapes = drawables.drawables(model, self.origin, reach, skins.clothed(recording.systems))
        arrays = {
            "movable": model.movable.astype("u1"),
            "mass": single(model.mass),
            "birth": single(model.birth),
            "material": self._materials().astype("i4"),
            "volume": single(self.volume),
            "reach": single(self.reach),
        }
        for number, shape in enumerate(shapes):
            arrays |= {f"{number}.{name}": values for name, values in shape.packed().items()}
        described, cells = skins.packed(recording.systems)
        arrays |= cells
        header = {
            "run": self.identity,
            "name": recording.path.name,
            "clapas": __version__,
            "d": model.d,
            "dt": recording.dt,
            "every": recording.every,
            "duration": recording.settings.get("duration"),
            "gravity": model.gravity.tolist(),
            "origin": self.origin.tolist(),
            "low": (low - self.origin).tolist(),
            "high": (high - self.origin).tolist(),
            "reach": reach,
            "names": list(model.names),
            "carriers": recording.n_carriers,
            "materials": self._material_names(),
            "period": list(model.period),
            "drawables": [shape.kind for shape in shapes],
            "skins": described,
        }
        return pack(header, arrays)

    def columns(self, first: int) -> dict[str, Any]:
        """Numbers of the frames from ``first`` on, as lists; NaN and infinity as None."""
        n = self.recording.n_frames
        result: dict[str, Any] = {"run": self.identity, "n": n, "first": first}
        if first >= n:  # no new frames, the usual case
            return result | {name: [] for name in (*COLUMNS, "contacts")}
        for name in COLUMNS:
            values = np.asarray(self.recording.column(name)[first:n], dtype=float)
            result[name] = [value if np.isfinite(value) else None for value in values.tolist()]
        ends = self.recording.column("contact_end")[:n]
        result["contacts"] = np.diff(ends, prepend=0)[first:].tolist()
        return result

    def frame(self, index: int) -> bytes:
        """Bytes of one frame."""
        recording = self.recording
        drawn = self.cell.frame(recording.frame(index))
        return pack_frame(recording.model, drawn, self.origin, self.volume, self.theta)

    @cached_property
    def cell(self) -> Cell:
        """The periodic cell that bodies are drawn in."""
        return Cell.of(self.recording, self.reach)

    @cached_property
    def theta(self) -> float:
        """Parameter θ of the scheme of the run."""
        return theta_of(self.recording)

    @cached_property
    def volume(self) -> Array:
        """Volumes of the bodies."""
        return drawables.volumes(self.recording.model)

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """Corners (3,) of the framed box, from some frames of the run (m)."""
        return box_of(self.recording, self.reach)

    @cached_property
    def origin(self) -> Array:
        """Centre of the drawing (m), so that single precision suffices."""
        low, high = self.bounds
        return np.asarray((low + high) / 2.0)

    @cached_property
    def reach(self) -> Array:
        """Radius about the centre of each body that holds all of it (m); infinite for half-spaces."""
        model = self.recording.model
        colliders = model.colliders
        reach = np.zeros(model.n_bodies)
        np.maximum.at(reach, colliders.body, np.linalg.norm(colliders.position, axis=1) + colliders.bound)
        return reach

    def _materials(self) -> Indices:
        """Material of each body: that of its first collider."""
        colliders = self.recording.model.colliders
        material = np.zeros(self.recording.model.n_bodies, dtype=np.int64)
        material[colliders.body[::-1]] = colliders.material[::-1]
        return material

    def _material_names(self) -> list[str]:
        """Names of the materials in the order of the table of laws, as far as the scene names them."""
        count = len(self.recording.model.laws.mu)
        source = self.recording.scene_source
        named = list(json.loads(source).get("materials", {})) if source else []
        names = named if len(named) == count else ["default", *named]
        return (names + [f"material {k}" for k in range(len(names), count)])[:count]
