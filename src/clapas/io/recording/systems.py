"""Bodies of other kinds in a recording.

    /systems              attribute systems: their names, kinds, sizes, carriers and skins, as JSON
    /systems/k/skin/j     cells and radii of skin j of system k
    /frames/systems/k/q, v              coordinates and velocities, as the kind counts them
    /frames/systems/k/skin/j/vertices   where the vertices are
    /frames/systems/k/skin/j/field/i    values of field i
    /frames/systems/k/gauge/i           values of gauge i: stresses at Gauss points, for instance

A recording can be drawn and measured without the code of the kind of body; resuming the run needs the
scene.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clapas.bodies.drawn import DrawnBodies, Field, Gauge, GaugedBodies, Look, PressedBodies, Skin
from clapas.bodies.kind import Part, Touches
from clapas.dynamics.model import Model, System
from clapas.dynamics.state import Impulses, State
from clapas.errors import FormatError
from clapas.geometry.colliders import Contacts
from clapas.io.hdf5 import dataset, reading
from clapas.io.recording import validation
from clapas.io.recording.layout import Column
from clapas.io.recording.named import ByName
from clapas.typing import Array, Indices


@dataclass(frozen=True)
class RecordedSystem:
    """Description of a system in a recording.

    Parameters
    ----------
    name : str
        Name of the system.
    kind : str
        Name of its kind.
    n_coordinates, n_dof : int
        Numbers of coordinates and of velocities.
    rows : array (k,)
        Bodies of the model that are its carriers.
    skins : tuple of Skin
        Surfaces to draw.
    gauges : tuple of Gauge
        Other recorded quantities.
    """

    name: str
    kind: str
    n_coordinates: int
    n_dof: int
    rows: Indices
    skins: tuple[Skin, ...]
    gauges: tuple[Gauge, ...] = ()


def recorded(model: Model) -> tuple[RecordedSystem, ...]:
    """Descriptions of the systems of a model for its recording."""
    return tuple(_recorded(system) for system in model.systems)


def _recorded(system: System) -> RecordedSystem:
    bodies, start = system.bodies, system.bodies.start()
    skins = tuple(bodies.skins()) if isinstance(bodies, DrawnBodies) else ()
    gauges = tuple(bodies.gauges()) if isinstance(bodies, GaugedBodies) else ()
    return RecordedSystem(system.name, bodies.word, len(start.q), len(start.v), system.rows, skins, gauges)


def columns(systems: Sequence[RecordedSystem], d: int) -> dict[str, Column]:
    """Columns of the systems under ``/frames``, by name."""
    by_name = {}
    for k, system in enumerate(systems):
        q, v = (system.n_coordinates,), (system.n_dof,)
        by_name[f"systems/{k}/q"] = Column(
            q, "f8", "m, rad, …", f"coordinates of '{system.name}'", noisy=True
        )
        by_name[f"systems/{k}/v"] = Column(v, "f8", "SI", f"velocities of '{system.name}'", noisy=True)
        for j, skin in enumerate(system.skins):
            at, label = f"systems/{k}/skin/{j}", f"skin '{skin.name}' of '{system.name}'"
            by_name[f"{at}/vertices"] = Column(
                (skin.n_vertices, d), "f4", "m", f"vertices of {label}", noisy=True
            )
            for i, field in enumerate(skin.fields):
                size = (_size(skin, field),)
                by_name[f"{at}/field/{i}"] = Column(
                    size, "f4", field.unit, f"{field.name} of {label}", noisy=True
                )
        for i, gauge in enumerate(system.gauges):
            meaning = f"{gauge.name} of '{system.name}': {gauge.meaning}"
            by_name[f"systems/{k}/gauge/{i}"] = Column(gauge.shape, "f4", gauge.unit, meaning, noisy=True)
    return by_name


def row(model: Model, state: State, contacts: Contacts | None) -> dict[str, Any]:
    """Values of these columns for a state; ``contacts`` belong to its impulses, None at the start."""
    values_by_name: dict[str, Any] = {}
    for k, (system, part) in enumerate(zip(model.systems, state.parts, strict=True)):
        values_by_name |= {f"systems/{k}/q": part.q, f"systems/{k}/v": part.v}
        for j, look in enumerate(_looks(model, k, state, contacts)):
            values_by_name[f"systems/{k}/skin/{j}/vertices"] = look.vertices
            values_by_name |= {f"systems/{k}/skin/{j}/field/{i}": v for i, v in enumerate(look.values)}
        if isinstance(system.bodies, GaugedBodies):
            readings = system.bodies.readings(part)
            values_by_name |= {f"systems/{k}/gauge/{i}": values for i, values in enumerate(readings)}
    return values_by_name


def _looks(model: Model, k: int, state: State, contacts: Contacts | None) -> Sequence[Look]:
    bodies, part = model.systems[k].bodies, state.parts[k]
    if contacts is not None and len(contacts) and isinstance(bodies, PressedBodies):
        return bodies.pressed_looks(part, *_forces(model, k, contacts, state.impulses, state.dt))
    return bodies.looks(part) if isinstance(bodies, DrawnBodies) else ()


def _forces(model: Model, k: int, contacts: Contacts, impulses: Impulses, dt: float) -> tuple[Touches, Array]:
    """Contact points on the carriers of a system, and the contact forces on them (N)."""
    carriers, points, forces = [], [], []
    for body, sign, shift in ((contacts.a, -1.0, 0.0), (contacts.b, 1.0, 1.0)):
        at = np.flatnonzero(model.system_of[body] == k)
        carriers.append(model.carrier_of[body[at]])
        points.append(contacts.point[at] - shift * contacts.shift[at])
        forces.append(sign * impulses.impulse[at] / (dt or 1.0))
    return Touches(np.concatenate(carriers), np.concatenate(points)), np.concatenate(forces)


def parts(systems: Sequence[RecordedSystem], row: Mapping[str, Any]) -> tuple[Part, ...]:
    """Coordinates and velocities in a row of the frames."""
    return tuple(Part(row[f"systems/{k}/q"], row[f"systems/{k}/v"]) for k in range(len(systems)))


def looks(systems: Sequence[RecordedSystem], row: Mapping[str, Any]) -> tuple[tuple[Look, ...], ...]:
    """The skins of each system in a row of the frames."""
    return tuple(
        tuple(
            Look(
                row[f"systems/{k}/skin/{j}/vertices"].astype(float),
                tuple(row[f"systems/{k}/skin/{j}/field/{i}"].astype(float) for i in range(len(skin.fields))),
            )
            for j, skin in enumerate(system.skins)
        )
        for k, system in enumerate(systems)
    )


def readings(systems: Sequence[RecordedSystem], row: Mapping[str, Any]) -> tuple[dict[str, Array], ...]:
    """The gauges of each system in a row of the frames, by name."""
    return tuple(
        ByName(
            f"gauge of '{system.name}'",
            {
                gauge.name: row[f"systems/{k}/gauge/{i}"].astype(float)
                for i, gauge in enumerate(system.gauges)
            },
        )
        for k, system in enumerate(systems)
    )


def write(file: Any, systems: Sequence[RecordedSystem]) -> None:
    """Describe systems in an open file."""
    group = file.create_group("systems")
    group.attrs["systems"] = json.dumps([_to_dict(system) for system in systems])
    for name, values in _arrays(systems):
        group[name] = values


def read(file: Any, bodies: int, where: str) -> tuple[RecordedSystem, ...]:
    """Read and check the systems of an open file; empty if there are none."""
    with reading(f"{where}: 'systems'"):
        if "systems" not in file:
            return ()
        group = file["systems"]
    entries = validation.document(validation.text(group, "systems", where), list, "systems", where)
    systems = tuple(_from_dict(file, k, entry, where) for k, entry in enumerate(entries))
    for system in systems:
        validation.within(system.rows, 0, bodies, f"systems: carriers of '{system.name}'", where)
    return systems


def digested(file: Any) -> Iterator[str | Any]:
    """Constant data of the systems in an open file, for the checksum: description and arrays."""
    if "systems" in file:
        group = file["systems"]
        yield str(group.attrs["systems"])
        names: list[str] = []
        group.visit(names.append)
        yield from (group[name][()] for name in sorted(names) if hasattr(group[name], "shape"))


def _arrays(systems: Sequence[RecordedSystem]) -> Iterator[tuple[str, Any]]:
    for k, system in enumerate(systems):
        for j, skin in enumerate(system.skins):
            yield f"{k}/skin/{j}/cells", np.asarray(skin.cells, dtype=np.int64)
            yield f"{k}/skin/{j}/radius", np.asarray(skin.radius, dtype=float)


def _to_dict(system: RecordedSystem) -> dict[str, Any]:
    skins = [
        {"name": skin.name, "vertices": skin.n_vertices, "fields": [list(field) for field in skin.fields]}
        | ({"doubles_at": skin.doubles_at} if skin.doubles_at else {})
        for skin in system.skins
    ]
    return {
        "name": system.name,
        "kind": system.kind,
        "coordinates": system.n_coordinates,
        "velocities": system.n_dof,
        "bodies": system.rows.tolist(),
        "skins": skins,
        "gauges": [[*gauge[:2], list(gauge.shape), gauge.meaning] for gauge in system.gauges],
    }


def _from_dict(file: Any, k: int, entry: Any, where: str) -> RecordedSystem:
    try:
        counts = [entry["coordinates"], entry["velocities"], *(skin["vertices"] for skin in entry["skins"])]
        if not all(isinstance(count, int) and 0 <= count < 2**31 for count in counts):
            raise ValueError(f"sizes {counts}")
        skins = [_skin(file, f"systems/{k}/skin/{j}", skin, where) for j, skin in enumerate(entry["skins"])]
        rows = np.array(entry["bodies"], dtype=np.int64).reshape(-1)
        gauges = [
            Gauge(str(name), str(unit), tuple(shape), str(meaning))
            for name, unit, shape, meaning in entry.get("gauges", [])
        ]
        sizes = [size for gauge in gauges for size in gauge.shape]
        if not all(isinstance(size, int) and 0 <= size < 2**31 for size in sizes):
            raise ValueError(f"sizes of gauges {sizes}")
        return RecordedSystem(
            str(entry["name"]), str(entry["kind"]), counts[0], counts[1], rows, tuple(skins), tuple(gauges)
        )
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise FormatError(
            f"{where}: 'systems' holds {str(entry)[:80]}, which is no system ({error})"
        ) from None


def _skin(file: Any, at: str, entry: Any, where: str) -> Skin:
    n_vertices, doubles_at = entry["vertices"], float(entry.get("doubles_at", 0.0))
    if not 0.0 <= doubles_at < np.inf:
        raise ValueError(f"doubles_at {doubles_at}")
    cells, radius = dataset(file, f"{at}/cells", where), dataset(file, f"{at}/radius", where)
    if cells.ndim != 2 or cells.shape[1] not in (2, 3) or cells.dtype.kind != "i":
        raise FormatError(f"{where}: '{at}/cells' must be rows of 2 or 3 vertices, got {cells.shape}")
    expected = len(cells) if cells.shape[1] == 2 else 0
    if radius.shape != (expected,) or radius.dtype.kind != "f":
        raise FormatError(f"{where}: '{at}/radius' must be {expected} numbers, got {radius.shape}")
    with reading(f"{where}: '{at}'"):
        arrays = cells[()], radius[()]
    validation.within(arrays[0], 0, n_vertices, f"{at}/cells", where)
    fields = tuple(Field(str(field), str(unit), of) for field, unit, of in entry["fields"])
    if not all(field.of in ("vertex", "cell") for field in fields):
        raise ValueError(f"fields {entry['fields']}")
    return Skin(str(entry["name"]), n_vertices, *arrays, fields, doubles_at)


def _size(skin: Skin, field: Field) -> int:
    return skin.n_vertices if field.of == "vertex" else len(skin.cells)
