"""Read and write surfaces of triangles: STL (text and binary) and OBJ.

Only the geometry is read: no colours, textures, groups or normals (a triangle's own order tells its
outside). STL repeats each corner in each triangle; equal corners become one vertex.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clapas.errors import FormatError
from clapas.typing import Array, Indices

Mesh = tuple[Array, Indices]

_HEADER = 80
_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def read_mesh(path: str | os.PathLike[str]) -> Mesh:
    """Vertices (n, 3) and triangles (m, 3) of an STL or OBJ file, told apart by the name's ending.

    Raises
    ------
    FormatError
        Another ending, a damaged file, or one without triangles.
    """
    path = Path(path)
    if path.suffix.lower() not in (".stl", ".obj"):
        raise FormatError(f"{path}: the name of a surface must end in .stl or .obj, got '{path.suffix}'")
    if not path.is_file():
        raise FormatError(f"{path}: {'a folder or a device' if path.exists() else 'there is no such file'}")
    content = path.read_bytes()
    vertices, triangles = (_read_stl if path.suffix.lower() == ".stl" else _read_obj)(path, content)
    if len(triangles) == 0:
        raise FormatError(f"{path}: the file holds no triangle")
    if not np.isfinite(vertices).all():
        raise FormatError(f"{path}: a vertex is not finite: {_first_bad(vertices).tolist()}")
    return vertices, triangles


def write_mesh(
    path: str | os.PathLike[str], vertices: npt.ArrayLike, triangles: npt.ArrayLike, *, text: bool = False
) -> None:
    """Write a surface as STL or OBJ, by the name's ending.

    Text keeps every bit of the coordinates; binary STL, the default for ``.stl``, keeps 7 digits.
    """
    path = Path(path)
    points, rows = np.asarray(vertices, dtype=np.float64), np.asarray(triangles, dtype=np.int64)
    if path.suffix.lower() == ".obj":
        lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in points.tolist()]
        lines += [f"f {a} {b} {c}" for a, b, c in (rows + 1).tolist()]
        path.write_text("\n".join(lines) + "\n", encoding="ascii")
    elif path.suffix.lower() != ".stl":
        raise FormatError(f"{path}: the name of a surface must end in .stl or .obj, got '{path.suffix}'")
    elif text:
        path.write_text(_stl_text(points, rows), encoding="ascii")
    else:
        path.write_bytes(_stl_bytes(points, rows))


# ------------------------------------------------------------------ STL


def _read_stl(path: Path, content: bytes) -> Mesh:
    # Some binary files begin with the word "solid" too: the length tells.
    if len(content) >= _HEADER + 4:
        (count,) = struct.unpack_from("<I", content, _HEADER)
        if len(content) == _HEADER + 4 + count * _RECORD.itemsize:
            records = np.frombuffer(content, dtype=_RECORD, offset=_HEADER + 4)
            return _shared(records["corners"].astype(np.float64))
    if content.lstrip()[:5].lower() != b"solid":
        if len(content) < _HEADER + 4:
            raise FormatError(f"{path}: {len(content)} bytes are too few for an STL file")
        raise FormatError(
            f"{path}: damaged binary STL: its header promises {count} triangles, "
            f"{_HEADER + 4 + count * _RECORD.itemsize} bytes, but it has {len(content)} bytes"
        )
    return _read_stl_text(path, content)


def _read_stl_text(path: Path, content: bytes) -> Mesh:
    corners: list[list[float]] = []
    in_facet = 0
    for number, line in enumerate(content.decode("ascii", errors="replace").splitlines(), start=1):
        words = line.split()
        word = words[0].lower() if words else ""
        if word == "vertex":
            corners.append(_floats(path, number, words[1:], 3))
            in_facet += 1
        elif word == "endfacet":
            if in_facet != 3:
                raise FormatError(f"{path}, line {number}: a facet has {in_facet} vertices, expected 3")
            in_facet = 0
    if in_facet:
        raise FormatError(f"{path}: the file ends inside a facet")
    return _shared(np.array(corners, dtype=np.float64).reshape(-1, 3, 3))


def _shared(corners: Array) -> Mesh:
    """One vertex for equal corners, in the order in which they first appear."""
    flat = corners.reshape(-1, 3) + 0.0  # −0 and 0 are one place
    vertices, first, which = np.unique(flat, axis=0, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    triangles: Indices = rank[which.reshape(-1)].reshape(-1, 3).astype(np.int64)
    return np.ascontiguousarray(vertices[np.argsort(first)]), triangles


def _stl_bytes(points: Array, triangles: Indices) -> bytes:
    records = np.zeros(len(triangles), dtype=_RECORD)
    records["corners"] = points[triangles]
    records["normal"] = _normals(points, triangles)
    return b"clapas".ljust(_HEADER, b"\0") + struct.pack("<I", len(triangles)) + records.tobytes()


def _stl_text(points: Array, triangles: Indices) -> str:
    lines = ["solid clapas"]
    for corners, normal in zip(points[triangles].tolist(), _normals(points, triangles).tolist(), strict=True):
        lines += [f"facet normal {normal[0]!r} {normal[1]!r} {normal[2]!r}", "outer loop"]
        lines += [f"vertex {x!r} {y!r} {z!r}" for x, y, z in corners]
        lines += ["endloop", "endfacet"]
    return "\n".join([*lines, "endsolid clapas", ""])


def _normals(points: Array, triangles: Indices) -> Array:
    a, b, c = points[triangles].transpose(1, 0, 2)
    normals = np.cross(b - a, c - a)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    return np.asarray(normals / np.where(length > 0.0, length, 1.0))


# ------------------------------------------------------------------ OBJ


def _read_obj(path: Path, content: bytes) -> Mesh:
    vertices: list[list[float]] = []
    triangles: list[tuple[int, int, int]] = []
    for number, line in enumerate(content.decode("utf-8", errors="replace").splitlines(), start=1):
        words = line.split("#", 1)[0].split()
        if words[:1] == ["v"]:
            vertices.append(_floats(path, number, words[1:4], 3))
        elif words[:1] == ["f"]:
            face = [_vertex(path, number, word, len(vertices)) for word in words[1:]]
            if len(face) < 3:
                raise FormatError(f"{path}, line {number}: a face needs at least 3 vertices, got {len(face)}")
            triangles += [(face[0], face[k], face[k + 1]) for k in range(1, len(face) - 1)]
    return (
        np.array(vertices, dtype=np.float64).reshape(-1, 3),
        np.array(triangles, dtype=np.int64).reshape(-1, 3),
    )


def _vertex(path: Path, line: int, word: str, count: int) -> int:
    """Row of a vertex written as 7, 7/2, 7//3 or −1 (the last one so far)."""
    try:
        number = int(word.split("/", 1)[0])
    except ValueError:
        raise FormatError(f"{path}, line {line}: '{word}' is not the number of a vertex") from None
    row = number - 1 if number > 0 else count + number
    if number == 0 or not 0 <= row < count:
        raise FormatError(f"{path}, line {line}: there is no vertex {number}, {count} were given before")
    return row


def _floats(path: Path, line: int, words: list[str], size: int) -> list[float]:
    try:
        values = [float(word) for word in words]
    except ValueError:
        values = []
    if len(values) != size:
        raise FormatError(f"{path}, line {line}: expected {size} numbers, got '{' '.join(words)}'")
    return values


def _first_bad(vertices: Array) -> Array:
    return np.asarray(vertices[~np.isfinite(vertices).all(axis=1)][0])
