"""Read and write surfaces of triangles: OBJ, STL, PLY, glTF, DXF, and JSON of COMPAS.

Only the geometry and the names are read: no colours, textures or normals (the order of the corners gives the
outside). The readers are short and without dependencies; they accept what modelling programs write by default
and reject the rest with an error that names it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clapas.errors import FormatError
from clapas.geometry.meshfiles import compas, dxf, gltf, obj, ply, stl
from clapas.geometry.meshfiles.contents import Mesh, MeshFile, NamedMesh

__all__ = [
    "ENDINGS",
    "Mesh",
    "MeshFile",
    "NamedMesh",
    "is_mesh_file",
    "read_mesh",
    "read_objects",
    "write_mesh",
]

READERS: dict[str, Callable[[Path, bytes], MeshFile]] = {
    ".obj": obj.read,
    ".stl": stl.read,
    ".ply": ply.read,
    ".gltf": gltf.read,
    ".glb": gltf.read,
    ".dxf": dxf.read,
    ".json": compas.read,
}
ENDINGS = tuple(READERS)
FURTHEST = 1e50


def is_mesh_file(name: str | os.PathLike[str]) -> bool:
    """Whether a name has the ending of a surface file."""
    return Path(name).suffix.lower() in READERS


def read_objects(path: str | os.PathLike[str]) -> MeshFile:
    """The named meshes of a file; the ending of its name gives the format.

    Raises
    ------
    FormatError
        Another ending, a damaged file, or one without triangles.
    """
    path = Path(path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise FormatError(
            f"{path}: the name of a surface must end in {_listed(ENDINGS)}, got '{path.suffix}'"
        )
    if not path.is_file():
        raise FormatError(f"{path}: {'a folder or a device' if path.exists() else 'there is no such file'}")
    contents = path.read_bytes()
    if not contents.strip():
        raise FormatError(f"{path}: the file is empty")
    try:
        mesh_file = reader(path, contents)
        if not any(len(each.triangles) for each in mesh_file.objects):
            raise FormatError(f"{path}: the file holds no triangle")
    except FormatError as error:
        ending = _likely_ending(contents)
        if ending is None or READERS[ending] is reader:
            raise
        raise FormatError(f"{error}. It begins as a {ending} file does: give it that ending") from None
    for each in mesh_file.objects:
        bad = ~np.isfinite(each.vertices).all(axis=1)
        if bad.any():
            raise FormatError(f"{path}: a vertex is not finite: {each.vertices[bad][0].tolist()}")
        far = np.abs(each.vertices).max(initial=0.0)
        if far > FURTHEST:  # volumes, and their products with positions, must not overflow
            raise FormatError(f"{path}: a vertex is {far:g} from the origin, expected at most {FURTHEST:g}")
    return mesh_file


def read_mesh(path: str | os.PathLike[str]) -> Mesh:
    """Vertices (n, 3) and triangles (m, 3) of all objects of a file together; see :func:`read_objects`."""
    return read_objects(path).merged()


def write_mesh(
    path: str | os.PathLike[str], vertices: npt.ArrayLike, triangles: npt.ArrayLike, *, text: bool = False
) -> None:
    """Write a surface as STL or OBJ, by the name's ending.

    Text keeps every bit of the coordinates; binary STL, the default for ``.stl``, keeps 7 digits.
    """
    path = Path(path)
    points, rows = np.asarray(vertices, dtype=np.float64), np.asarray(triangles, dtype=np.int64)
    if path.suffix.lower() == ".obj":
        path.write_text(obj.written(points, rows), encoding="ascii")
    elif path.suffix.lower() != ".stl":
        raise FormatError(f"{path}: the name of a surface must end in .stl or .obj, got '{path.suffix}'")
    elif text:
        path.write_text(stl.written_as_text(points, rows), encoding="ascii")
    else:
        path.write_bytes(stl.written(points, rows))


def _likely_ending(contents: bytes) -> str | None:
    """The ending that fits the first bytes of a file, or None if they fit none."""
    start = contents[:2000].lstrip()
    words = start.split(maxsplit=2)
    if start.startswith(b"glTF"):
        return ".glb"
    if words[0] == b"ply":
        return ".ply"
    if words[0] == b"solid":
        return ".stl"
    if words[:2] == [b"0", b"SECTION"]:
        return ".dxf"
    if start.startswith(b"{") and b'"asset"' in contents:
        return ".gltf"
    if start.startswith(b"{") and (b'"dtype"' in contents or b'"vertex"' in contents):
        return ".json"
    is_obj = any(line.startswith((b"v ", b"o ", b"g ", b"mtllib ")) for line in start.splitlines())
    return ".obj" if is_obj else None


def _listed(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
