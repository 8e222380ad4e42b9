"""Checks of a recording before it is read: structure, types, sizes and ranges.

Kernels do not check their indices, so every index of a file must be checked here before anything is computed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from clapas.errors import FormatError
from clapas.geometry.colliders import Kind
from clapas.io.hdf5 import dataset, reading
from clapas.io.recording import layout
from clapas.status import Status

TURNS = {2: 1, 3: 4}  # numbers of an orientation by dimension
COUPLES = {2: 1, 3: 3}  # components of a couple, and of the principal moments

# Shape and kind (float, int, bool) of each array of the model. "n" counts colliders, "m" materials.
MODEL: dict[str, tuple[tuple[str | int, ...], str]] = {
    "gravity": (("d",), "f"),
    "mass": (("bodies",), "f"),
    "inertia": (("bodies", "couple"), "f"),
    "movable": (("bodies",), "b"),
    "position": (("bodies", "d"), "f"),
    "orientation": (("bodies", "turn"), "f"),
    "velocity": (("bodies", "size"), "f"),
    "birth": (("bodies",), "f"),
    "blocked": (("bodies", "size"), "b"),
    "laid": (("bodies",), "b"),
    "colliders/body": (("n",), "i"),
    "colliders/kind": (("n",), "i"),
    "colliders/position": (("n", "d"), "f"),
    "colliders/orientation": (("n", "turn"), "f"),
    "colliders/size": (("n", 3), "f"),
    "colliders/bound": (("n",), "f"),
    "colliders/material": (("n",), "i"),
    "colliders/hull": (("n",), "i"),
    "hulls/vertices": (("vertices", "d"), "f"),
    "hulls/vertex_start": (("hulls+1",), "i"),
    "hulls/normals": (("faces", "d"), "f"),
    "hulls/face_start": (("hulls+1",), "i"),
    "hulls/face_vertices": (("corners",), "i"),
    "hulls/loop_start": (("faces+1",), "i"),
    "laws/direction": (("m", "m", 3), "f"),
    **{f"laws/{name}": (("m", "m"), "f") for name in layout.LAWS if name != "direction"},
}


def text(holder: Any, name: str, where: str) -> str:
    """A text attribute."""
    with reading(f"{where}: attribute '{name}'"):
        value = holder.attrs.get(name)
        if not isinstance(value, str):
            raise FormatError(f"{where}: attribute '{name}' must be a text, got {value!r:.60}")
        return value


def number(holder: Any, name: str, where: str) -> float:
    """An attribute that is a finite positive number."""
    with reading(f"{where}: attribute '{name}'"):
        value = np.asarray(holder.attrs.get(name))
        if value.shape != () or value.dtype.kind not in "iuf" or not np.isfinite(value) or value <= 0:
            raise FormatError(f"{where}: attribute '{name}' must be a positive number, got {value!r:.60}")
        return float(value)


def document(source: str, kind: type[Any], name: str, where: str) -> Any:
    """A JSON text that must hold a dictionary or a list."""
    try:
        value = json.loads(source)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{where}: '{name}' is not JSON ({error})") from None
    if not isinstance(value, kind):
        raise FormatError(f"{where}: '{name}' must be a JSON {kind.__name__}, got {source[:60]!r}")
    return value


def sizes(file: Any, where: str) -> dict[str, int]:
    """Sizes shared by the columns, by their names in the layout."""
    bodies, d = (length(file, f"model/{name}", where) for name in ("mass", "gravity"))
    if d not in TURNS:
        raise FormatError(f"{where}: 'model/gravity' has {d} components, expected 2 or 3")
    couple = COUPLES[d]
    return {"bodies": bodies, "d": d, "size": d + couple, "turn": TURNS[d], "couple": couple}


def length(file: Any, name: str, where: str) -> int:
    """Length of a data set with one axis."""
    return len(_array(file, name, ("length",), where))


def columns(file: Any, lengths: Mapping[str, int], more: Mapping[str, layout.Column], where: str) -> None:
    """Check presence, type and length of all growing columns.

    ``more`` are the columns of the frames specific to this recording.
    """
    n = length(
        file, f"frames/{layout.LAST_WRITTEN}", where
    )  # read first: the other columns are written before
    with reading(f"{where}: 'frames'"):
        has_sleep = any(name in file["frames"] for name in layout.SLEEP)
    frames = {**layout.FRAMES, **(layout.SLEEP if has_sleep else {}), **more}
    for name, column in frames.items():
        with reading(f"{where}: 'frames/{name}'"):
            if name in layout.LATER and name not in file["frames"]:
                continue
        _column(file, f"frames/{name}", column, lengths, n, where)
    with reading(f"{where}: 'frames/contact_end'"):
        end = int(file["frames/contact_end"][n - 1]) if n else 0
    for name, column in layout.CONTACTS.items():
        _column(file, f"contacts/{name}", column, lengths, end, where)
    if "link_end" in more:
        with reading(f"{where}: 'frames/link_end'"):
            end = int(file["frames/link_end"][n - 1]) if n else 0
        for name, column in layout.LINKS.items():
            _column(file, f"links/{name}", column, lengths, end, where)
    if lengths.get("probes"):
        for name, column in layout.PROBES.items():
            _column(file, f"probes/{name}", column, lengths, 0, where)


def _column(
    file: Any, name: str, column: layout.Column, lengths: Mapping[str, int], at_least: int, where: str
) -> None:
    data = dataset(file, name, where)
    shape = tuple(lengths[size] if isinstance(size, str) else size for size in column.shape)
    if data.dtype != np.dtype(column.dtype) or data.shape[1:] != shape or data.ndim != len(shape) + 1:
        raise FormatError(
            f"{where}: '{name}' has rows of {data.shape[1:]} {data.dtype}, expected {shape} {column.dtype}"
        )
    if len(data) < at_least:
        raise FormatError(f"{where}: '{name}' has {len(data)} rows, but the frames need {at_least}")


def model(file: Any, lengths: Mapping[str, int], where: str) -> dict[str, Any]:
    """The arrays of the model by name, checked."""
    group = file["model"]
    sizes: dict[str, int] = dict(lengths)
    arrays: dict[str, Any] = {}
    for name, (shape, kind) in MODEL.items():
        if name in layout.MAYBE and name not in group:
            continue
        data = _array(file, f"model/{name}", shape, where)
        if kind not in (data.dtype.kind, {"u": "i"}.get(data.dtype.kind)):
            raise FormatError(f"{where}: 'model/{name}' holds {data.dtype}, expected {kind}")
        for size, found in zip(shape, data.shape, strict=True):
            expected = size if isinstance(size, int) else sizes.setdefault(size, found)
            if found != expected:
                raise FormatError(
                    f"{where}: 'model/{name}' has shape {data.shape}, expected {expected} {size}"
                )
        with reading(f"{where}: 'model/{name}'"):
            arrays[name] = data[()]
    _check_ranges(arrays, sizes, where)
    return arrays


def _array(file: Any, name: str, shape: tuple[str | int, ...], where: str) -> Any:
    data = dataset(file, name, where)
    if data.ndim != len(shape):
        raise FormatError(f"{where}: '{name}' has {data.ndim} axes, expected {len(shape)}")
    return data


def _check_ranges(arrays: Mapping[str, Any], sizes: Mapping[str, int], where: str) -> None:
    limits = {
        "colliders/body": (0, sizes["bodies"]),
        "colliders/kind": (0, len(Kind)),
        "colliders/material": (0, sizes["m"]),
        "colliders/hull": (-1, sizes["hulls+1"] - 1),
    }
    for name, (low, high) in limits.items():
        within(arrays[name], low, high, f"model/{name}", where)
    if np.any(np.diff(arrays["colliders/body"]) < 0):
        raise FormatError(f"{where}: 'model/colliders/body' must increase")
    needs_hull = np.isin(arrays["colliders/kind"], (Kind.POLYHEDRON, Kind.TRIANGLE))
    if np.any(needs_hull & (arrays["colliders/hull"] < 0)):
        raise FormatError(f"{where}: 'model/colliders/hull' is missing for a polyhedron or a triangle")
    for name, end in (
        ("vertex_start", sizes["vertices"]),
        ("face_start", sizes["faces"]),
        ("loop_start", sizes["corners"]),
    ):
        starts = arrays[f"hulls/{name}"]
        if len(starts) == 0 or starts[0] != 0 or starts[-1] != end or np.any(np.diff(starts) < 0):
            raise FormatError(f"{where}: 'model/hulls/{name}' must increase from 0 to {end}")
    _check_faces(arrays, where)
    for name in ("gravity", "position", "orientation", "velocity", "mass", "inertia"):
        if name in ("mass", "inertia"):
            good = arrays[name][arrays["movable"]]
            if not (good > 0).all():
                raise FormatError(f"{where}: 'model/{name}' must be positive for bodies that move")
        elif not np.isfinite(arrays[name]).all():
            raise FormatError(f"{where}: 'model/{name}' must be finite")
    if np.isnan(arrays["birth"]).any() or np.any(arrays["birth"][1:] < arrays["birth"][:-1]):
        raise FormatError(f"{where}: 'model/birth' must increase")


def _check_faces(arrays: Mapping[str, Any], where: str) -> None:
    """Check that corners of faces are vertices of their hull."""
    faces = np.diff(arrays["hulls/face_start"])
    corners = np.diff(arrays["hulls/loop_start"])
    count = np.repeat(np.repeat(np.diff(arrays["hulls/vertex_start"]), faces), corners)
    rows = arrays["hulls/face_vertices"]
    if np.any((rows < 0) | (rows >= count)):
        raise FormatError(f"{where}: 'model/hulls/face_vertices' names a vertex that its hull does not have")


def frame(
    row: Mapping[str, Any], contacts: Mapping[str, Any], lengths: Mapping[str, int], where: str
) -> None:
    """Check the indices and counts of one frame."""
    within(row["alive"], 0, lengths["bodies"] + 1, "frames/alive", where)
    within(row["status"], 0, len(Status), "frames/status", where)
    within(row["step"], 0, np.iinfo(np.int64).max, "frames/step", where)
    for name in ("a", "b"):
        within(contacts[name], 0, int(row["alive"]), f"contacts/{name}", where)
    for name in ("collider_a", "collider_b"):
        within(contacts[name], 0, lengths["colliders"], f"contacts/{name}", where)
    within(contacts["mode"], 0, 3, "contacts/mode", where)


def within(values: Any, low: int, high: int, name: str, where: str) -> None:
    """Reject indices outside low ≤ i < high."""
    values = np.asarray(values)
    if values.size and not (low <= int(values.min()) and int(values.max()) < high):
        bad = values[(values < low) | (values >= high)].ravel()[0]
        raise FormatError(f"{where}: '{name}' holds {bad}, expected {low} to {high - 1}")
