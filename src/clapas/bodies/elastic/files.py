"""Meshes of finite elements from and to files: Gmsh, VTK, Abaqus and the others that meshio knows.

Physical groups of Gmsh, node sets and element sets of Abaqus become groups of nodes. Cells of lower dimension
(the sides that carry a physical group) name groups and are not kept themselves.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from clapas.bodies.elastic.elements import ELEMENTS, SOLID_ELEMENTS, element
from clapas.bodies.elastic.mesh import Mesh, oriented
from clapas.errors import FormatError, MissingDependency, SceneError
from clapas.typing import Array, Indices

NAMES = {
    "line": "L2",
    "line3": "L3",
    "triangle": "T3",
    "triangle6": "T6",
    "quad": "Q4",
    "quad8": "Q8",
    "tetra": "Tet4",
    "tetra10": "Tet10",
    "hexahedron": "Hex8",
}
# Solid elements of Abaqus in the plane and axisymmetric ones, by their number of nodes, as meshio calls them.
PLANE_OF_ABAQUS = {"3": "CPS3", "4": "CPS4", "6": "CPE6", "8": "S8R"}
FLAT = 1e-12  # of the size of the mesh: largest spread of z in a plane mesh


def read_mesh(path: str | os.PathLike[str]) -> Mesh:
    """Read a mesh with its named groups.

    A mesh without solid cells whose third coordinate is constant is plane. Cells numbered the wrong way
    round are reversed.

    Raises
    ------
    FormatError
        The file cannot be read, or holds an unsupported element or group.
    MissingDependency
        meshio is not installed.
    """
    meshio = _meshio()
    path = Path(path)
    if not path.is_file():
        raise FormatError(f"{path}: there is no such file")
    try:
        return _from_meshio(_read(meshio, path), str(path))
    except FormatError:
        raise
    except SceneError as error:
        raise FormatError(f"{path}: {error}") from None
    except SystemExit:  # how meshio fails, after printing the reason
        raise FormatError(
            f"{path}: meshio cannot read it: an element that it does not know, or not a file of this format"
        ) from None
    except Exception as error:  # a damaged file may raise any exception in meshio
        raise FormatError(f"{path}: damaged, or not what it should be ({error})") from None


def write_mesh(
    path: str | os.PathLike[str], mesh: Mesh, fields: Mapping[str, Array] | None = None, **options: Any
) -> None:
    """Write a mesh, its groups and nodal fields in the format of the file extension.

    Parameters
    ----------
    path : path
        Such as ``block.msh``, ``block.vtu``, ``block.inp``.
    mesh : Mesh
        The mesh. Groups are written if the format has node sets (Abaqus, Gmsh as physical groups of points).
    fields : mapping of name to array (n,) or (n, k), optional
        Nodal fields, such as displacements.
    options
        Passed to meshio, such as ``file_format="gmsh22"``.
    """
    meshio = _meshio()
    meshio_names = {ours: theirs for theirs, ours in NAMES.items()}
    points = np.column_stack((mesh.nodes, np.zeros(mesh.n_nodes))) if mesh.d == 2 else mesh.nodes
    cells = [(meshio_names[name], rows) for name, rows in mesh.cells.items()]
    path = Path(path)
    data: dict[str, Any] = {"point_data": dict(fields or {})}
    if path.suffix == ".msh":
        options.setdefault("file_format", "gmsh22")
        options.setdefault("binary", False)
        tags = [np.zeros(len(rows), dtype=np.int32) for _, rows in cells]
        names = {}
        for number, (name, nodes) in enumerate(mesh.groups.items(), start=1):
            names[name] = np.array([number, 0])
            cells.append(("vertex", nodes[:, None]))
            tags.append(np.full(len(nodes), number, dtype=np.int32))
        data["field_data"] = names
        data["cell_data"] = {"gmsh:physical": tags, "gmsh:geometrical": tags}
    elif path.suffix == ".inp":
        data["point_sets"] = dict(mesh.groups)
    try:
        meshio.Mesh(points, cells, **data).write(path, **options)
    except (Exception, SystemExit) as error:
        raise FormatError(f"{path}: meshio cannot write it: {error}") from None


def _read(meshio: Any, path: Path) -> Any:
    """The file as meshio reads it, with elements of Abaqus that it lacks (CPE4, CAX4R, …) renamed."""
    if path.suffix != ".inp":
        return meshio.read(path)
    plane = re.compile(r"(TYPE\s*=\s*)(?:CPE|CPS|CAX)([3468])[A-Z]*", re.IGNORECASE)
    text = path.read_text(encoding="utf-8", errors="replace")
    with TemporaryDirectory() as folder:
        renamed = Path(folder) / path.name
        renamed.write_text(
            plane.sub(lambda match: match[1] + PLANE_OF_ABAQUS[match[2]], text), encoding="utf-8"
        )
        return meshio.read(renamed)


def _from_meshio(data: Any, where: str) -> Mesh:
    points = np.asarray(data.points, dtype=float)
    if points.ndim != 2 or points.shape[1] not in (2, 3) or not np.isfinite(points).all():
        raise FormatError(f"{where}: nodes must be rows of 2 or 3 finite coordinates, got {points.shape}")
    blocks = [(NAMES.get(block.type, block.type), np.asarray(block.data)) for block in data.cells]
    for name, rows in blocks:
        if rows.size and not 0 <= rows.min() <= rows.max() < len(points):
            raise FormatError(f"{where}: cells '{name}' name nodes that are not there")
        if name not in ELEMENTS and name != "vertex":
            raise FormatError(f"{where}: element '{name}' is not supported: expected {' or '.join(NAMES)}")
    groups: dict[str, list[Indices]] = {}
    labels = {(int(tag), int(d)): name for name, (tag, d) in data.field_data.items()}
    physical = data.cell_data.get("gmsh:physical", [])
    for (name, rows), tags in zip(blocks, physical, strict=False):
        d = 0 if name == "vertex" else element(name).d
        for tag in np.unique(tags):
            if tag:
                label = labels.get((int(tag), d), f"physical {tag}")
                groups.setdefault(label, []).append(rows[np.asarray(tags) == tag].ravel())
    for name, nodes in getattr(data, "point_sets", {}).items():
        groups.setdefault(name, []).append(np.asarray(nodes, dtype=np.int64).ravel())
    for name, parts in getattr(data, "cell_sets", {}).items():
        for (_, rows), chosen in zip(blocks, parts, strict=False):
            if chosen is not None and len(chosen):
                if not 0 <= np.min(chosen) <= np.max(chosen) < len(rows):
                    raise FormatError(f"{where}: set '{name}' names cells that are not there")
                groups.setdefault(name, []).append(rows[np.asarray(chosen, dtype=np.int64)].ravel())
    solid = [(name, rows) for name, rows in blocks if name in SOLID_ELEMENTS and element(name).d == 3]
    if not solid:
        flat = points.shape[1] == 2 or np.ptp(points[:, 2]) <= FLAT * max(float(np.ptp(points)), 1e-300)
        if not flat:
            raise FormatError(
                f"{where}: no solid cells, and the surface cells do not lie in a plane z = const"
            )
        points = points[:, :2]
        solid = [(name, rows) for name, rows in blocks if name in SOLID_ELEMENTS]
    if not solid:
        raise FormatError(f"{where}: the file holds no triangle, quadrilateral, tetrahedron or hexahedron")
    cells: dict[str, Indices] = {}
    for name, rows in solid:
        cells[name] = np.vstack((cells[name], rows)) if name in cells else rows
    used = np.unique(np.concatenate([rows.ravel() for rows in cells.values()]))
    number = np.full(len(points), -1)
    number[used] = np.arange(len(used))
    for name, parts in groups.items():
        for nodes in parts:
            if nodes.size and not 0 <= nodes.min() <= nodes.max() < len(number):
                raise FormatError(f"{where}: group '{name}' names nodes that are not there")
    members = {name: number[np.concatenate(parts)] for name, parts in groups.items()}
    kept = {name: rows[rows >= 0] for name, rows in members.items() if (rows >= 0).any()}
    points = points[used]
    return Mesh(points, oriented(points, {name: number[rows] for name, rows in cells.items()}), kept)


def _meshio() -> Any:
    try:
        import meshio
    except ImportError:
        raise MissingDependency("meshio", "mesh", "reading and writing meshes of finite elements") from None
    return meshio
