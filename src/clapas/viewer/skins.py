"""Deforming surfaces sent to the page: cells once, vertices and fields with each frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from clapas.bodies.drawn import Look, Skin
from clapas.io.recording import Frame
from clapas.io.recording.systems import RecordedSystem
from clapas.typing import Array, Indices

Arrays = dict[str, npt.NDArray[Any]]
WIDEST = 3.0  # largest widening by a field, relative to the radius; the page uses the same value


def worn(systems: Sequence[RecordedSystem]) -> list[Skin]:
    """The skins of all systems, in the order of the page."""
    return [skin for system in systems for skin in system.skins]


def seen(frame: Frame) -> list[Look]:
    """Their vertices and fields in a frame, in the same order."""
    return [look for looks in frame.looks for look in looks]


def clothed(systems: Sequence[RecordedSystem]) -> Indices:
    """Bodies that are carriers of systems with skins: their own shapes are not drawn."""
    rows = [system.rows for system in systems if system.skins]
    return np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)


def radii(skin: Skin, look: Look) -> Array:
    """Radii (k,) with which the segments of a skin are drawn (m): wider where the first field is large."""
    if not skin.doubles_at or not look.values or skin.fields[0].of != "cell":
        return skin.radius
    share = np.nan_to_num(np.abs(look.values[0]) / skin.doubles_at, nan=0.0)
    return np.asarray(skin.radius * (1.0 + np.minimum(share, WIDEST)))


def packed(systems: Sequence[RecordedSystem]) -> tuple[list[dict[str, Any]], Arrays]:
    """Description of the skins for the page, and their arrays."""
    descriptions: list[dict[str, Any]] = []
    arrays: Arrays = {}
    owners = [system.name for system in systems for _ in system.skins]
    for k, (owner, skin) in enumerate(zip(owners, worn(systems), strict=True)):
        fields = [field._asdict() for field in skin.fields]
        shape = "tube" if skin.cells.shape[1] == 2 else "surface"
        entry = {"system": owner, "name": skin.name, "shape": shape, "fields": fields}
        descriptions.append(entry | ({"doublesAt": skin.doubles_at} if skin.doubles_at else {}))
        arrays[f"skin.{k}.cells"] = skin.cells.astype("i4")
        arrays[f"skin.{k}.radius"] = skin.radius.astype("f4")
    return descriptions, arrays


def packed_looks(frame: Frame, origin: Array) -> Arrays:
    """The arrays of a frame; plane vertices get z = 0."""
    arrays: Arrays = {}
    for k, look in enumerate(seen(frame)):
        flat = look.vertices.shape[1] == 2
        vertices = np.pad(look.vertices, ((0, 0), (0, 1))) if flat else look.vertices
        arrays[f"skin.{k}.vertices"] = (vertices - origin).astype("f4")
        arrays |= {f"skin.{k}.field.{i}": values.astype("f4") for i, values in enumerate(look.values)}
    return arrays
