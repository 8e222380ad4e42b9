"""Surfaces in ASCII DXF drawings: 3DFACE, polyface meshes (POLYLINE) and MESH entities.

Every MESH and every polyface mesh is an object; the 3DFACE entities of a layer are one object (blocks that do
not touch are separated later, as connected pieces). Layers give the names. The unit of a drawing is
``$INSUNITS``.

Reference: Autodesk, DXF Reference (2012), group codes of 3DFACE, POLYLINE, VERTEX and MESH.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from clapas.errors import FormatError
from clapas.geometry.meshfiles.contents import MeshFile, NamedMesh, compacted, fan, shared

Entity = tuple[str, list[tuple[int, str]]]

METRES = {1: 0.0254, 2: 0.3048, 4: 1e-3, 5: 1e-2, 6: 1.0, 14: 0.1}  # $INSUNITS: in, ft, mm, cm, m, dm
POLYFACE, IS_FACE = 64, 128  # flags of POLYLINE and of VERTEX


def read(path: Path, content: bytes) -> MeshFile:
    """The meshes of a drawing."""
    try:
        return _read(path, content)
    except (ValueError, IndexError, OverflowError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{path}: damaged DXF: {error}") from None


def _read(path: Path, content: bytes) -> MeshFile:
    unit = None
    objects: list[NamedMesh] = []
    by_layer: dict[str, list[list[list[float]]]] = {}
    polyline: list[Entity] = []
    for entity in _entities(path, content):
        kind, pairs = entity
        if kind == "$INSUNITS":
            unit = METRES.get(int(_first(pairs, 70, "0")))
        elif kind == "3DFACE":
            by_layer.setdefault(_first(pairs, 8, "0"), []).append(_corners(pairs))
        elif kind == "MESH":
            objects.append(_mesh(pairs))
        elif kind == "POLYLINE" and int(_first(pairs, 70, "0")) & POLYFACE:
            polyline = [entity]
        elif kind == "VERTEX" and polyline:
            polyline.append(entity)
        elif kind == "SEQEND" and polyline:
            objects.append(_polyface(polyline))
            polyline = []
    for layer, faces in by_layer.items():
        halves = [[face[0], face[2], face[3]] for face in faces if face[3] != face[2]]
        triangles = [face[:3] for face in faces] + halves
        objects.append(NamedMesh(layer, *shared(np.array(triangles))))
    return MeshFile(path, [each for each in objects if len(each.triangles)], unit=unit)


def _entities(path: Path, content: bytes) -> Iterator[Entity]:
    """Entities and header variables: a name, and pairs of group code and value."""
    if content.startswith(b"AutoCAD Binary DXF"):
        raise FormatError(f"{path}: a binary DXF: save the drawing as ASCII DXF")
    lines = content.decode("utf-8", errors="replace").splitlines()
    kind, pairs, is_drawing = "", list[tuple[int, str]](), False
    for code, value in zip(lines[0::2], lines[1::2], strict=False):
        number, word = int(code), value.strip()
        if number in (0, 9):
            is_drawing = is_drawing or word == "SECTION"
            if kind:
                yield kind, pairs
            kind, pairs = word, []
        else:
            pairs.append((number, word))
    if not is_drawing:
        raise FormatError(f"{path}: not an ASCII DXF file (no SECTION)")
    if kind:
        yield kind, pairs


def _first(pairs: list[tuple[int, str]], code: int, default: str) -> str:
    return next((value for number, value in pairs if number == code), default)


def _corners(pairs: list[tuple[int, str]]) -> list[list[float]]:
    """The four corners of a 3DFACE; a triangle repeats its third."""
    values = dict(pairs)
    complete = [k for k in range(4) if all(axis + k in values for axis in (10, 20, 30))]
    if len(complete) < sum(10 + k in values for k in range(4)):
        raise ValueError("a corner of a 3DFACE has no y or no z")
    corners = [[float(values[axis + k]) for axis in (10, 20, 30)] for k in complete]
    if len(corners) < 3:
        raise ValueError("a 3DFACE has fewer than three corners")
    return [*corners, corners[2]][:4]


def _polyface(entities: list[Entity]) -> NamedMesh:
    """A polyface mesh: vertices, then faces that number them from 1; a negative number hides an edge."""
    points, triangles = [], list[tuple[int, int, int]]()
    for _, pairs in entities[1:]:
        flags = int(_first(pairs, 70, "0"))
        if flags & POLYFACE:
            points.append([float(_first(pairs, code, "0")) for code in (10, 20, 30)])
        elif flags & IS_FACE:
            numbers = [abs(int(_first(pairs, code, "0"))) for code in (71, 72, 73, 74)]
            triangles += fan([number - 1 for number in numbers if number])
    return _named_mesh(_first(entities[0][1], 8, "0"), points, triangles)


def _mesh(pairs: list[tuple[int, str]]) -> NamedMesh:
    """A MESH: vertices after group 92, faces as lists of numbers after group 93, at the coarsest level."""
    numbers = [code for code, _ in pairs]
    start, middle = numbers.index(92), numbers.index(93)
    axes = {10: list[float](), 20: list[float](), 30: list[float]()}
    for code, value in pairs[start + 1 : middle]:
        if code in axes:
            axes[code].append(float(value))
    size = int(pairs[middle][1])
    entries = [int(value) for _, value in pairs[middle + 1 : middle + 1 + size]]
    triangles, offset = list[tuple[int, int, int]](), 0
    while offset < len(entries):
        count = entries[offset]
        triangles += fan(entries[offset + 1 : offset + 1 + count])
        offset += 1 + count
    points = [list(point) for point in zip(*axes.values(), strict=True)]
    return _named_mesh(_first(pairs, 8, "0"), points, triangles)


def _named_mesh(name: str, points: list[list[float]], triangles: list[tuple[int, int, int]]) -> NamedMesh:
    rows = np.array(triangles, dtype=np.int64).reshape(-1, 3)
    if len(rows) and (rows.min() < 0 or rows.max() >= len(points)):
        raise ValueError(f"a face names the vertex {rows.max() + 1}, there are {len(points)}")
    return NamedMesh(name, *compacted(np.array(points, dtype=float).reshape(-1, 3), rows))
