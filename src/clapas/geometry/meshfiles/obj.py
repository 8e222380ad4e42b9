"""OBJ files (Wavefront): vertices and faces in objects (``o``) and groups (``g``).

Rhino writes ``g`` or ``o``, Blender ``o`` and optionally ``g``; Blender's exporter and others also write
both for one object. An object and a group together name a mesh "object group", or with one name where they
are equal. The format does not define the vertical: Blender writes y upwards by default.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from clapas.errors import FormatError
from clapas.geometry.meshfiles.contents import MeshFile, NamedMesh, compacted, fan, floats

NO_GROUP = ("", "default", "off", "(null)")  # what programs write for "in no group"


def read(path: Path, content: bytes) -> MeshFile:
    """The objects and groups of a file that have faces."""
    vertices: list[list[float]] = []
    faces: dict[str, list[tuple[int, int, int]]] = {}
    name = {"o": "", "g": ""}
    for number, line in enumerate(content.decode("utf-8", errors="replace").splitlines(), start=1):
        words = line.split("#", 1)[0].split()
        word = words[0] if words else ""
        if word == "v":
            vertices.append(floats(path, number, words[1:4], 3))
        elif word in name:
            label = " ".join(words[1:])
            name[word] = "" if label in NO_GROUP else label
            if word == "o":
                name["g"] = ""
        elif word == "f":
            face = [_vertex(path, number, each, len(vertices)) for each in words[1:]]
            if len(face) < 3:
                raise FormatError(f"{path}, line {number}: a face needs at least 3 vertices, got {len(face)}")
            mesh_name = " ".join(dict.fromkeys(each for each in name.values() if each))
            faces.setdefault(mesh_name, []).extend(fan(face))
    points = np.array(vertices, dtype=np.float64).reshape(-1, 3)
    objects = [
        NamedMesh(mesh_name, *compacted(points, np.array(rows, dtype=np.int64)))
        for mesh_name, rows in faces.items()
    ]
    writer = "Blender" if content.lstrip().startswith(b"# Blender") else ""
    return MeshFile(path, objects, writer=writer)


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


def written(points: np.ndarray, triangles: np.ndarray, name: str = "") -> str:
    """Text of an OBJ file, with coordinates exact to the last bit."""
    lines = [f"o {name}"] if name else []
    lines += [f"v {x!r} {y!r} {z!r}" for x, y, z in points.tolist()]
    lines += [f"f {a} {b} {c}" for a, b, c in (triangles + 1).tolist()]
    return "\n".join(lines) + "\n"
