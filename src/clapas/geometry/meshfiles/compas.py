"""Meshes in JSON files of COMPAS (versions 1 and 2): a mesh, an assembly of blocks, or a block model.

Whatever the file is, its meshes are the tables with ``vertex`` and ``face``. A block is a support if its
node, its element or its mesh says ``is_support``; elements are moved by their ``transformation``. Blocks of
an assembly that have no name of their own are called by their nodes: "block 0".

Reference: Van Mele and others 2017–, https://compas.dev.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from clapas.errors import FormatError
from clapas.geometry.meshfiles.contents import MeshFile, NamedMesh, fan
from clapas.typing import Array

# Names that COMPAS gives by itself.
ANONYMOUS = ("", "Mesh", "Block", "None", "Graph", "Assembly", "CRA_Assembly", "Model", "BlockModel", "Tree")


@dataclass(frozen=True)
class _Place:
    """What the neighbours of a mesh say of it."""

    name: str = ""
    is_support: bool = False
    pose: Array | None = None


def read(path: Path, content: bytes) -> MeshFile:
    """Every mesh of the document, in its order."""
    try:
        document = json.loads(content)
        meshes = list(_meshes(document, _Place()))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise FormatError(f"{path}: not JSON: {error}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(
            f"{path}: a mesh of this file is damaged: {type(error).__name__}: {error}"
        ) from None
    except RecursionError:
        raise FormatError(f"{path}: nested too deeply") from None
    return MeshFile(path, meshes)


def _meshes(entry: Any, place: _Place) -> Iterator[NamedMesh]:
    if isinstance(entry, list):
        for each in entry:
            yield from _meshes(each, place)
    if not isinstance(entry, Mapping):
        return
    place = _surroundings(entry, place)
    if isinstance(entry.get("vertex"), Mapping) and isinstance(entry.get("face"), Mapping):
        mesh = _mesh(entry, place)
        if mesh is not None:
            yield mesh
        return
    for key, each in entry.items():
        if key == "node" and isinstance(each, Mapping):
            for node, about in each.items():
                yield from _meshes(about, replace(place, name=f"block {node}"))
        elif isinstance(each, Mapping | list) and key not in ("transformation", "frame"):
            yield from _meshes(each, place)


def _surroundings(entry: Mapping[str, Any], place: _Place) -> _Place:
    name = entry.get("name")
    if isinstance(name, str) and name not in ANONYMOUS:
        place = replace(place, name=name)
    attributes = entry.get("attributes")
    for table in (entry, attributes if isinstance(attributes, Mapping) else {}):
        if table.get("is_support") is True:
            place = replace(place, is_support=True)
        own = table.get("name")
        if table is not entry and isinstance(own, str) and own not in ANONYMOUS:
            place = replace(place, name=own)
    moved = entry.get("transformation")
    if isinstance(moved, Mapping):
        data = moved.get("data", moved.get("value", {}))
        matrix = np.array(data["matrix"], dtype=float).reshape(4, 4)
        place = replace(place, pose=matrix if place.pose is None else place.pose @ matrix)
    return place


def _mesh(entry: Mapping[str, Any], place: _Place) -> NamedMesh | None:
    defaults = {"x": 0.0, "y": 0.0, "z": 0.0, **entry.get("default_vertex_attributes", {})}
    rows = {str(key): row for row, key in enumerate(entry["vertex"])}
    points = [[float({**defaults, **at}[axis]) for axis in "xyz"] for at in entry["vertex"].values()]
    faces = [[rows[str(key)] for key in face] for face in entry["face"].values() if face]
    triangles = [triangle for face in faces for triangle in fan(face)]
    if not triangles:
        return None
    vertices = np.array(points)
    if place.pose is not None:
        vertices = vertices @ place.pose[:3, :3].T + place.pose[:3, 3]
    return NamedMesh(place.name, vertices, np.array(triangles, dtype=np.int64), place.is_support)
