"""STL files, text and binary: triangles without names, each with its own corners."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from clapas.errors import FormatError
from clapas.geometry.meshfiles.contents import MeshFile, NamedMesh, floats, shared
from clapas.typing import Array, Indices

_HEADER = 80
_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def read(path: Path, content: bytes) -> MeshFile:
    """The solids of a file; a binary file has one, without a name."""
    # Some binary files begin with the word "solid" too: the length decides.
    if len(content) >= _HEADER + 4:
        (count,) = struct.unpack_from("<I", content, _HEADER)
        if len(content) == _HEADER + 4 + count * _RECORD.itemsize:
            records = np.frombuffer(content, dtype=_RECORD, offset=_HEADER + 4)
            return MeshFile(path, [NamedMesh("", *shared(records["corners"].astype(np.float64)))])
    if content.lstrip()[:5].lower() != b"solid":
        if len(content) < _HEADER + 4:
            raise FormatError(f"{path}: {len(content)} bytes are too few for an STL file")
        raise FormatError(
            f"{path}: damaged binary STL: its header promises {count} triangles, "
            f"{_HEADER + 4 + count * _RECORD.itemsize} bytes, but it has {len(content)} bytes"
        )
    return _read_text(path, content)


def _read_text(path: Path, content: bytes) -> MeshFile:
    solids: list[tuple[str, list[list[float]]]] = []
    in_facet = 0
    for number, line in enumerate(content.decode("utf-8", errors="replace").splitlines(), start=1):
        words = line.split()
        word = words[0].lower() if words else ""
        if word == "solid":
            if in_facet:
                raise FormatError(f"{path}, line {number}: a solid begins inside a facet")
            solids.append((" ".join(words[1:]), []))
        elif word == "vertex":
            if not solids:
                raise FormatError(f"{path}, line {number}: a vertex before the first 'solid'")
            solids[-1][1].append(floats(path, number, words[1:], 3))
            in_facet += 1
        elif word == "endfacet":
            if in_facet != 3:
                raise FormatError(f"{path}, line {number}: a facet has {in_facet} vertices, expected 3")
            in_facet = 0
    if in_facet:
        raise FormatError(f"{path}: the file ends inside a facet")
    return MeshFile(
        path, [NamedMesh(name, *shared(np.array(rows).reshape(-1, 3, 3))) for name, rows in solids if rows]
    )


def written(points: Array, triangles: Indices) -> bytes:
    """Content of a binary STL file."""
    records = np.zeros(len(triangles), dtype=_RECORD)
    records["corners"] = points[triangles]
    records["normal"] = _normals(points, triangles)
    return b"clapas".ljust(_HEADER, b"\0") + struct.pack("<I", len(triangles)) + records.tobytes()


def written_as_text(points: Array, triangles: Indices) -> str:
    """Text of an STL file, with coordinates exact to the last bit."""
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
