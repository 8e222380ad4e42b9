"""Export a recording for ParaView: VTK files, one set per frame, and an index in time.

    DIR/bodies.pvd       centres with radius, velocity, angular velocity, orientation, mass, number
    DIR/spheres.pvd      spheres (disks) that are parts of clumps, with radius, body and its velocity
    DIR/surfaces.pvd     triangles of all other shapes but planes, with the body's velocity
    DIR/contacts.pvd     contact points with normal, gap, impulse, force, couple and mode
    DIR/NAME.pvd         skins of systems (trusses, rods, elastic bodies) with their fields; stresses of
                         elastic bodies as tensors

Open the .pvd files. Show grains with the glyph filter (sphere, scaled by ``radius``), forces with
arrows along ``force``. ``radius`` of a body is that of a single sphere at its centre of mass, else 0: the
glyphs of clumps are those of ``spheres``. Velocities and angular velocities are in the world; ``orientation``
is the quaternion w x y z from body to world, or the angle. Capsules and cylinders are drawn with 24 sides.
SI units.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clapas.bodies.elastic.solid import full_tensors
from clapas.dynamics.model import Model
from clapas.geometry import rotations
from clapas.geometry.colliders import Kind
from clapas.io.recording import Frame, Recording
from clapas.io.recording.systems import RecordedSystem
from clapas.typing import Array, Indices, Mask

SIDES = 24  # of capsules and cylinders

TYPES = {"f8": "Float64", "i8": "Int64", "i4": "Int32", "i1": "Int8"}


@dataclass(frozen=True)
class PolyData:
    """Points, optional triangles (k, 3) or segments (k, 2), and named arrays on the points and cells."""

    points: Array
    arrays: dict[str, Any]
    triangles: Indices | None = None
    cells: dict[str, Any] | None = None


def export_vtk(
    recording: Recording, folder: str | os.PathLike[str], frames: Iterable[int] | None = None
) -> list[Path]:
    """Write the frames of a recording as VTK files.

    Parameters
    ----------
    recording : Recording
        The run.
    folder : path
        Output folder; created if needed.
    frames : iterable of int, optional
        Which frames; all by default.

    Returns
    -------
    list of Path
        The ``.pvd`` files to open.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    surfaces, spheres = Surfaces(recording.model), _spheres_of_clumps(recording.model)
    makers: dict[str, Callable[[Frame], PolyData]] = {
        "bodies": lambda frame: _bodies(recording.model, frame),
        "contacts": _contacts,
    }
    if len(spheres):
        makers["spheres"] = lambda frame: _spheres(recording.model, spheres, frame)
    if len(surfaces.triangles):
        makers["surfaces"] = surfaces.of_frame
    for k, system in enumerate(recording.systems):
        for j, skin in enumerate(system.skins):
            name = _file_name(system.name if len(system.skins) == 1 else f"{system.name} {skin.name}")
            name = name if name not in makers else f"{name} {k}"
            makers[name] = lambda frame, k=k, j=j, system=system: _skin(system, frame, k, j)  # type: ignore[misc]
    written: dict[str, list[tuple[float, str]]] = {name: [] for name in makers}
    for number in range(recording.n_frames) if frames is None else frames:
        frame = recording.frame(number)
        for name, make in makers.items():
            file = f"{name}-{number:06d}.vtp"
            write_polydata(folder / file, make(frame))
            written[name].append((frame.state.time, file))
    return [_write_index(folder / f"{name}.pvd", entries) for name, entries in written.items()]


def _file_name(name: str) -> str:
    """The name with characters that are not allowed in file names replaced."""
    return "".join(letter if letter.isalnum() or letter in " -_." else "_" for letter in name)


def _skin(system: RecordedSystem, frame: Frame, k: int, j: int) -> PolyData:
    """A skin of a system: its cells, its fields, and stresses at its vertices as tensors."""
    skin, look = system.skins[j], frame.looks[k][j]
    named = {field.name: values for field, values in zip(skin.fields, look.values, strict=True)}
    points = {field.name: named[field.name] for field in skin.fields if field.of == "vertex"}
    cells = {field.name: named[field.name] for field in skin.fields if field.of == "cell"}
    for name, values in frame.readings[k].items():
        if values.shape in ((skin.n_vertices, 4), (skin.n_vertices, 6)):
            points[name] = full_tensors(values)
    return PolyData(_three(look.vertices), points, skin.cells, cells)


def write_polydata(path: Path, data: PolyData) -> None:
    """Write one VTK PolyData file (XML, binary)."""
    n = len(data.points)
    triangles = data.triangles if data.triangles is not None else np.empty((0, 3), dtype=np.int64)
    none = np.empty((0, 2), dtype=np.int64)
    lines, triangles = (triangles, none) if triangles.shape[1] == 2 else (none, triangles)
    vertices = 0 if len(triangles) or len(lines) else n
    of_cells = {} if data.cells is None else data.cells
    parts = [
        '<VTKFile type="PolyData" version="1.0" byte_order="LittleEndian" header_type="UInt64"><PolyData>',
        f'<Piece NumberOfPoints="{n}" NumberOfVerts="{vertices}" NumberOfLines="{len(lines)}" '
        'NumberOfStrips="0" '
        f'NumberOfPolys="{len(triangles)}">',
        f"<Points>{_array('points', _three(data.points))}</Points>",
        f"<Verts>{_cells(np.arange(vertices)[:, None])}</Verts>",
        f"<Lines>{_cells(lines)}</Lines>",
        f"<Polys>{_cells(triangles)}</Polys>",
        f"<PointData>{''.join(_array(name, values) for name, values in data.arrays.items())}</PointData>",
        f"<CellData>{''.join(_array(name, values) for name, values in of_cells.items())}</CellData>",
        "</Piece></PolyData></VTKFile>",
    ]
    path.write_text("\n".join(parts))


class Surfaces:
    """The triangles of all colliders but spheres and planes, carried by their bodies."""

    def __init__(self, model: Model) -> None:
        self.model = model
        points, triangles, body = [], [], []
        count = 0
        colliders = model.colliders
        for row in range(len(colliders)):
            local, faces = _faces(model, row)
            if len(faces) == 0:
                continue
            turn = _turns(colliders.orientation[row][None])[0]
            points.append(local @ turn.T + _three(colliders.position[row][None]))
            triangles.append(faces + count)
            body.append(np.full(len(local), colliders.body[row]))
            count += len(local)
        self.points = np.concatenate(points) if points else np.empty((0, 3))
        self.triangles: Indices = np.concatenate(triangles) if triangles else np.empty((0, 3), dtype=np.int64)
        self.body: Indices = np.concatenate(body) if body else np.empty(0, dtype=np.int64)

    def of_frame(self, frame: Frame) -> PolyData:
        """The surfaces at the positions of a frame."""
        state, d = frame.state, self.model.d
        born = self.body < state.n_bodies
        keep = born[self.triangles].all(axis=1)
        body = np.where(born, self.body, 0)
        turn = _turns(state.orientation)
        points = np.einsum("nij,nj->ni", turn[body], self.points) + _three(state.position)[body]
        arrays = {"body": self.body, "velocity": _three(state.velocity[:, :d])[body]}
        return PolyData(points, arrays, self.triangles[keep])


def _faces(model: Model, row: int) -> tuple[Array, Indices]:
    """Local vertices and triangles of one collider (none for spheres and planes)."""
    colliders, hulls = model.colliders, model.colliders.hulls
    if colliders.kind[row] in (Kind.CAPSULE, Kind.CYLINDER):
        radius, half = colliders.size[row, :2]
        return _turned_about_z(*_profile(radius, half, bool(colliders.kind[row] == Kind.CAPSULE)))
    if colliders.kind[row] == Kind.BOX:
        corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
        quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
        return corners * colliders.size[row], np.concatenate([_fan(np.array(q)) for q in quads])
    hull = int(colliders.hull[row])
    if hull < 0:
        return np.empty((0, 3)), np.empty((0, 3), dtype=np.int64)
    vertices = _three(hulls.vertices[hulls.vertex_start[hull] : hulls.vertex_start[hull + 1]])
    if model.d == 2 or colliders.kind[row] == Kind.TRIANGLE:
        return vertices, _fan(np.arange(len(vertices)))
    loops = [
        hulls.face_vertices[hulls.loop_start[k] : hulls.loop_start[k + 1]]
        for k in range(hulls.face_start[hull], hulls.face_start[hull + 1])
    ]
    return vertices, np.concatenate([_fan(np.asarray(loop)) for loop in loops])


def _fan(loop: Indices) -> Indices:
    """Triangles of a convex polygon."""
    return np.column_stack((np.repeat(loop[0], len(loop) - 2), loop[1:-1], loop[2:])).astype(np.int64)


def _profile(radius: float, half: float, is_capsule: bool) -> tuple[Array, Array]:
    """Half a section about z, from the lower to the upper pole: distances from the axis, heights (m)."""
    if not is_capsule:
        return np.array([0.0, radius, radius, 0.0]), np.array([-half, -half, half, half])
    angle = np.linspace(0.0, 0.5 * np.pi, SIDES // 4 + 1)
    r, z = radius * np.cos(angle), half + radius * np.sin(angle)
    r[-1] = 0.0
    return np.concatenate((r[::-1], r)), np.concatenate((-z[::-1], z))


def _turned_about_z(r: Array, z: Array) -> tuple[Array, Indices]:
    """Vertices and outward triangles of the surface of revolution of a profile about z."""
    turn = 2.0 * np.pi * np.arange(SIDES) / SIDES
    rings = np.stack((r[1:-1, None] * np.cos(turn), r[1:-1, None] * np.sin(turn)), axis=-1).reshape(-1, 2)
    ring = np.column_stack((rings, np.repeat(z[1:-1], SIDES)))
    vertices = np.concatenate((ring, [(0.0, 0.0, z[0]), (0.0, 0.0, z[-1])]))
    this, following = np.arange(SIDES), (np.arange(SIDES) + 1) % SIDES
    bottom, top = np.full(SIDES, len(ring)), np.full(SIDES, len(ring) + 1)
    last = len(ring) - SIDES
    triangles = [
        np.column_stack((bottom, following, this)),
        np.column_stack((top, last + this, last + following)),
    ]
    for low in range(0, last, SIDES):
        a, b, c, e = low + this, low + following, low + SIDES + following, low + SIDES + this
        triangles += [np.column_stack((a, b, c)), np.column_stack((a, c, e))]
    return vertices, np.concatenate(triangles).astype(np.int64)


def _single_spheres(model: Model) -> Mask:
    """Colliders that are the only part of their body, and spheres about its centre of mass."""
    colliders = model.colliders
    parts = np.bincount(colliders.body, minlength=model.n_bodies)
    centred = ~colliders.position.any(axis=1)
    return np.asarray((colliders.kind == Kind.SPHERE) & centred & (parts[colliders.body] == 1))


def _spheres_of_clumps(model: Model) -> Indices:
    """Rows of the colliders that are spheres among other parts, or away from the centre of mass."""
    return np.flatnonzero((model.colliders.kind == Kind.SPHERE) & ~_single_spheres(model))


def _spheres(model: Model, rows: Indices, frame: Frame) -> PolyData:
    state, table, d = frame.state, model.colliders, model.d
    rows = rows[table.body[rows] < state.n_bodies]
    body = table.body[rows]
    away = rotations.rotate(state.orientation[body], table.position[rows])
    arrays = {"body": body, "radius": table.size[rows, 0], "velocity": _three(state.velocity[body, :d])}
    return PolyData(_three(state.position[body] + away), arrays)


def _bodies(model: Model, frame: Frame) -> PolyData:
    state, d = frame.state, model.d
    n = state.n_bodies
    radius = np.zeros(model.n_bodies)
    single = _single_spheres(model)
    radius[model.colliders.body[single]] = model.colliders.size[single, 0]
    spin = state.velocity[:, d:]
    arrays = {
        "body": np.arange(n),
        "radius": radius[:n],
        "mass": model.mass[:n],
        "birth": np.where(np.isfinite(model.birth[:n]), model.birth[:n], 0.0),
        "velocity": _three(state.velocity[:, :d]),
        "angular_velocity": rotations.rotate(state.orientation, spin) if d == 3 else spin,
        "orientation": state.orientation,
    }
    return PolyData(_three(state.position), arrays)


def _contacts(frame: Frame) -> PolyData:
    impulse, dt = _three(frame.state.impulses.impulse), frame.state.dt or 1.0  # no contacts at the start
    arrays = {
        "a": frame.contacts.a,
        "b": frame.contacts.b,
        "normal": _three(frame.contacts.normal),
        "gap": frame.contacts.gap,
        "impulse": impulse,
        "force": impulse / dt,
        "couple": frame.state.impulses.couple / dt,
        "normal_force": np.sum(frame.state.impulses.impulse * frame.contacts.normal, axis=1) / dt,
        "mode": frame.mode,
    }
    return PolyData(_three(frame.contacts.point), arrays)


def _three(vectors: Array) -> Array:
    """Vectors with a zero third component in 2-D."""
    if vectors.shape[1] == 3:
        return vectors
    return np.column_stack((vectors, np.zeros(len(vectors))))


def _turns(orientation: Array) -> Array:
    """Rotation matrices (n, 3, 3), about z in 2-D."""
    turns = rotations.to_matrix(orientation)
    if turns.shape[1] == 3:
        return turns
    in_space = np.zeros((len(turns), 3, 3))
    in_space[:, :2, :2], in_space[:, 2, 2] = turns, 1.0
    return in_space


def _cells(cells: Indices) -> str:
    flat = np.ascontiguousarray(cells, dtype=np.int64)
    ends = (np.arange(len(flat)) + 1) * (flat.shape[1] if flat.ndim == 2 else 1)
    return _array("connectivity", flat.ravel()) + _array("offsets", ends)


def _array(name: str, values: npt.ArrayLike) -> str:
    data = np.ascontiguousarray(values)
    kind = TYPES[data.dtype.str[1:]]
    components = f' NumberOfComponents="{data.shape[1]}"' if data.ndim == 2 else ""
    raw = data.tobytes()
    text = base64.b64encode(np.uint64(len(raw)).tobytes() + raw).decode()
    return f'<DataArray type="{kind}" Name="{name}"{components} format="binary">{text}</DataArray>'


def _write_index(path: Path, entries: list[tuple[float, str]]) -> Path:
    rows = [f'<DataSet timestep="{t!r}" part="0" file="{file}"/>' for t, file in entries]
    path.write_text(
        '<VTKFile type="Collection" version="0.1" byte_order="LittleEndian"><Collection>\n'
        + "\n".join(rows)
        + "\n</Collection></VTKFile>\n"
    )
    return path
