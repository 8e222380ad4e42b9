"""PLY files (Stanford polygon format), text and binary: a header of elements and their properties."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from clapas.errors import FormatError
from clapas.geometry.meshfiles.contents import MeshFile, NamedMesh, compacted, fan

TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2", "ushort": "u2",
    "uint16": "u2", "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4", "float": "f4", "float32": "f4",
    "double": "f8", "float64": "f8",
}  # fmt: skip
ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
FACES = ("vertex_indices", "vertex_index")


@dataclass
class _Element:
    """A table of the file: its properties by name, with the types of (count, entry) for lists."""

    name: str
    count: int
    properties: dict[str, tuple[str, ...]] = field(default_factory=dict)


def read(path: Path, content: bytes) -> MeshFile:
    """The one mesh of a file."""
    order, elements, start = _header(path, content)
    try:
        tables = (
            _text(content[start:], elements) if order == "" else _binary(content[start:], elements, order)
        )
    except (IndexError, ValueError, OverflowError):
        raise FormatError(f"{path}: damaged PLY: the tables end before what the header promises") from None
    points = tables.get("vertex", {})
    missing = [axis for axis in "xyz" if axis not in points]
    if missing:
        raise FormatError(f"{path}: the vertices of this PLY have no {', '.join(missing)}")
    vertices = np.column_stack([np.asarray(points[axis], dtype=np.float64) for axis in "xyz"])
    rows = next((tables["face"][name] for name in FACES if name in tables.get("face", {})), [])
    try:
        triangles = [triangle for face in rows for triangle in fan([int(k) for k in face])]
        table = np.array(triangles, dtype=np.int64)
    except (ValueError, OverflowError):
        raise FormatError(f"{path}: damaged PLY: a face names a vertex by no whole number") from None
    if not triangles:
        return MeshFile(path, [])
    if table.min() < 0 or table.max() >= len(vertices):
        wrong = table.min() if table.min() < 0 else table.max()
        raise FormatError(
            f"{path}: a face names the vertex {wrong}, there are {len(vertices)}, counted from 0"
        )
    return MeshFile(path, [NamedMesh("", *compacted(vertices, table))])


def _header(path: Path, content: bytes) -> tuple[str, list[_Element], int]:
    """Byte order ("" for text), tables, and the offset of the first table."""
    end = content.find(b"end_header")
    if not content.startswith(b"ply") or end < 0:
        raise FormatError(f"{path}: not a PLY file: it has no header from 'ply' to 'end_header'")
    order, elements = None, list[_Element]()
    for line in content[:end].decode("ascii", errors="replace").splitlines():
        words = line.split()
        try:
            if words[:1] == ["format"]:
                order = ORDERS[words[1]]
            elif words[:1] == ["element"]:
                elements.append(_Element(words[1], int(words[2])))
            elif words[:2] == ["property", "list"]:
                elements[-1].properties[words[4]] = (TYPES[words[2]], TYPES[words[3]])
            elif words[:1] == ["property"]:
                elements[-1].properties[words[2]] = (TYPES[words[1]],)
        except (KeyError, IndexError, ValueError):
            raise FormatError(f"{path}: the header of this PLY has a line '{line[:60]}'") from None
    if order is None:
        raise FormatError(f"{path}: the header of this PLY does not say its format")
    return order, elements, content.index(b"\n", end) + 1


def _text(body: bytes, elements: list[_Element]) -> dict[str, dict[str, list[Any]]]:
    words = iter(body.split())
    tables = {}
    for element in elements:
        columns: dict[str, list[Any]] = {name: [] for name in element.properties}
        for _ in range(element.count):
            for name, kinds in element.properties.items():
                first = next(words, None)
                if first is None:
                    raise ValueError("too few words")
                columns[name].append(
                    float(first) if len(kinds) == 1 else [float(next(words, b"")) for _ in range(int(first))]
                )
        tables[element.name] = columns
    return tables


def _binary(body: bytes, elements: list[_Element], order: str) -> dict[str, dict[str, Any]]:
    offset = 0
    tables: dict[str, dict[str, Any]] = {}
    for element in elements:
        kinds = list(element.properties.items())
        if all(len(kind) == 1 for _, kind in kinds):
            record = np.dtype([(name, order + kind[0]) for name, kind in kinds])
            rows = np.frombuffer(body, record, element.count, offset)
            tables[element.name] = {name: rows[name] for name in element.properties}
            offset += element.count * record.itemsize
            continue
        columns: dict[str, list[Any]] = {name: [] for name in element.properties}
        for _ in range(element.count):
            for name, kind in kinds:
                first = np.frombuffer(body, order + kind[0], 1, offset)
                offset += first.itemsize
                if len(kind) == 2:
                    values = np.frombuffer(body, order + kind[1], int(first[0]), offset)
                    offset += values.nbytes
                    columns[name].append(values)
                else:
                    columns[name].append(first[0])
        tables[element.name] = columns
    return tables
