"""Meshes in JSON files of COMPAS (versions 1 and 2): a mesh, an assembly of blocks, or a block model.

In every kind of file, the meshes are the tables with ``vertex`` and ``face``. A block is a support if its
node, its element or its mesh has ``is_support``; elements are moved by their ``transformation``. Unnamed
blocks of an assembly are named by their nodes: "block 0".

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

# Default names of COMPAS.
ANONYMOUS = ("", "Mesh", "Block", "None", "Graph", "Assembly", "CRA_Assembly", "Model", "BlockModel", "Tree")


@dataclass(frozen=True)
class _Context:
    """Name, support and pose of a mesh, from the entries that contain it."""

    name: str = ""
    is_support: bool = False
    pose: Array | None = None


def read(path: Path, content: bytes) -> MeshFile:
    """All meshes of the document, in its order."""
    try:
        document = json.loads(content)
        meshes = list(_meshes(document, _Context()))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise FormatError(f"{path}: not JSON: {error}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(
            f"{path}: a mesh of this file is damaged: {type(error).__name__}: {error}"
        ) from None
    except RecursionError:
        raise FormatError(f"{path}: nested too deeply") from None
    kind = document.get("dtype") if isinstance(document, Mapping) else None
    if not meshes and isinstance(kind, str):
        raise FormatError(
            f"{path}: the file holds a {kind} of COMPAS, without faces: write it as a mesh "
            "(Mesh.from_shape of a shape), or as an assembly of meshes"
        )
    return MeshFile(path, meshes)


def _meshes(entry: Any, context: _Context) -> Iterator[NamedMesh]:
    if isinstance(entry, list):
        for each in entry:
            yield from _meshes(each, context)
    if not isinstance(entry, Mapping):
        return
    context = _context_of(entry, context)
    if isinstance(entry.get("vertex"), Mapping) and isinstance(entry.get("face"), Mapping):
        mesh = _mesh(entry, context)
        if mesh is not None:
            yield mesh
        return
    for key, each in entry.items():
        if key == "node" and isinstance(each, Mapping):
            for node, attributes in each.items():
                yield from _meshes(attributes, replace(context, name=f"block {node}"))
        elif isinstance(each, Mapping | list) and key not in ("transformation", "frame"):
            yield from _meshes(each, context)


def _context_of(entry: Mapping[str, Any], context: _Context) -> _Context:
    name = entry.get("name")
    if isinstance(name, str) and name not in ANONYMOUS:
        context = replace(context, name=name)
    attributes = entry.get("attributes")
    for table in (entry, attributes if isinstance(attributes, Mapping) else {}):
        if table.get("is_support") is True:
            context = replace(context, is_support=True)
        attribute_name = table.get("name")
        if table is not entry and isinstance(attribute_name, str) and attribute_name not in ANONYMOUS:
            context = replace(context, name=attribute_name)
    transformation = entry.get("transformation")
    if isinstance(transformation, Mapping):
        data = transformation.get("data", transformation.get("value", {}))
        matrix = np.array(data["matrix"], dtype=float).reshape(4, 4)
        context = replace(context, pose=matrix if context.pose is None else context.pose @ matrix)
    return context


def _mesh(entry: Mapping[str, Any], context: _Context) -> NamedMesh | None:
    defaults = {"x": 0.0, "y": 0.0, "z": 0.0, **entry.get("default_vertex_attributes", {})}
    rows = {str(key): row for row, key in enumerate(entry["vertex"])}
    points = [[float({**defaults, **at}[axis]) for axis in "xyz"] for at in entry["vertex"].values()]
    faces = [[rows[str(key)] for key in face] for face in entry["face"].values() if face]
    triangles = [triangle for face in faces for triangle in fan(face)]
    if not triangles:
        return None
    vertices = np.array(points)
    if context.pose is not None:
        vertices = vertices @ context.pose[:3, :3].T + context.pose[:3, 3]
    return NamedMesh(context.name, vertices, np.array(triangles, dtype=np.int64), context.is_support)
