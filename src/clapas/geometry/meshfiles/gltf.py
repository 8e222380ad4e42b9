"""glTF 2.0 files (.gltf, .glb): meshes placed by a tree of nodes. Metres, y upwards, by the standard.

Only triangles are read, without materials, skins or animations; compressed meshes are rejected. Blocks are
named by their nodes, or else by their meshes.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from clapas.errors import FormatError
from clapas.geometry import rotations
from clapas.geometry.meshfiles.contents import MeshFile, NamedMesh, compacted
from clapas.typing import Array

MAGIC = b"glTF"
JSON_CHUNK, BINARY_CHUNK = 0x4E4F534A, 0x004E4942
COMPONENTS = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
TRIANGLES = 4
DATA = "data:"


def read(path: Path, content: bytes) -> MeshFile:
    """The meshes of the scene of a file, one per node, as placed by the tree of nodes."""
    try:
        document, binary = _document(path, content)
        return MeshFile(path, list(_Reader(path, document, binary).meshes()), unit=1.0, up="y")
    except (KeyError, IndexError, TypeError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{path}: damaged glTF: {type(error).__name__}: {error}") from None


def _document(path: Path, content: bytes) -> tuple[dict[str, Any], bytes]:
    """The JSON part, and the binary part of a .glb file."""
    if not content.startswith(MAGIC):
        return json.loads(content), b""
    chunks: dict[int, bytes] = {}
    offset = 12
    while offset + 8 <= len(content):
        size, kind = struct.unpack_from("<II", content, offset)
        chunks.setdefault(kind, content[offset + 8 : offset + 8 + size])
        offset += 8 + size
    if JSON_CHUNK not in chunks:
        raise FormatError(f"{path}: damaged .glb file: it has no JSON part")
    return json.loads(chunks[JSON_CHUNK]), chunks.get(BINARY_CHUNK, b"")


class _Reader:
    def __init__(self, path: Path, document: dict[str, Any], binary: bytes) -> None:
        self.path, self.document, self.binary = path, document, binary

    def meshes(self) -> Iterator[NamedMesh]:
        """The mesh of every node that has one, in the default scene."""
        nodes = self.document.get("nodes", [])
        scenes = self.document.get("scenes", [])
        roots = scenes[self.document.get("scene", 0)].get("nodes", []) if scenes else range(len(nodes))
        stack = [(int(node), np.eye(4), 0) for node in reversed(list(roots))]
        while stack:
            number, parent, depth = stack.pop()
            if depth > len(nodes):
                raise FormatError(f"{self.path}: the nodes of this glTF are in a circle")
            node = nodes[number]
            pose = parent @ _pose(node)
            if "mesh" in node:
                yield from self._meshes_of(node, pose)
            stack += [(int(child), pose, depth + 1) for child in reversed(node.get("children", []))]

    def _meshes_of(self, node: dict[str, Any], pose: Array) -> Iterator[NamedMesh]:
        mesh = self.document["meshes"][node["mesh"]]
        vertices, triangles, count = [], [], 0
        for primitive in mesh["primitives"]:
            if primitive.get("mode", TRIANGLES) != TRIANGLES or "POSITION" not in primitive["attributes"]:
                continue
            if "KHR_draco_mesh_compression" in primitive.get("extensions", {}):
                raise FormatError(f"{self.path}: a compressed mesh (Draco): export it without compression")
            points = self._accessor(primitive["attributes"]["POSITION"]).astype(np.float64)
            rows = self._accessor(primitive["indices"]) if "indices" in primitive else np.arange(len(points))
            vertices.append(points.reshape(-1, 3))
            triangles.append(rows.astype(np.int64).reshape(-1, 3) + count)
            count += len(points)
        if not triangles:
            return
        points, rows = np.concatenate(vertices), np.concatenate(triangles)
        if rows.max(initial=0) >= count:
            raise FormatError(f"{self.path}: a triangle names the vertex {rows.max()}, there are {count}")
        if np.linalg.det(pose[:3, :3]) < 0.0:  # a reflection turns triangles inside out
            rows = rows[:, ::-1]
        placed = points @ pose[:3, :3].T + pose[:3, 3]
        yield NamedMesh(node.get("name") or mesh.get("name") or "", *compacted(placed, rows))

    def _accessor(self, number: int) -> Array:
        entry = self.document["accessors"][number]
        if "sparse" in entry or "bufferView" not in entry:
            raise FormatError(f"{self.path}: a sparse accessor: export the mesh in full")
        view = self.document["bufferViews"][entry["bufferView"]]
        kind = np.dtype(COMPONENTS[entry["componentType"]])
        width, count = WIDTHS[entry["type"]], entry["count"]
        start = view.get("byteOffset", 0) + entry.get("byteOffset", 0)
        stride = view.get("byteStride") or width * kind.itemsize
        data = self._buffer(view["buffer"])
        if start + (count - 1) * stride + width * kind.itemsize > len(data):
            raise FormatError(f"{self.path}: damaged glTF: a table goes beyond the end of its buffer")
        return np.ndarray((count, width), kind, data, start, (stride, kind.itemsize)).copy()

    def _buffer(self, number: int) -> bytes:
        uri: str | None = self.document["buffers"][number].get("uri")
        if uri is None:
            return self.binary
        if uri.startswith(DATA):
            return base64.b64decode(uri.split(",", 1)[1])
        file = self.path.parent / uri
        if not file.is_file():
            raise FormatError(f"{self.path}: its data are in '{uri}', which is not beside it")
        return file.read_bytes()


def _pose(node: dict[str, Any]) -> Array:
    """The matrix (4, 4) of a node."""
    if "matrix" in node:
        return np.array(node["matrix"], dtype=float).reshape(4, 4).T
    pose = np.eye(4)
    x, y, z, w = node.get("rotation", (0.0, 0.0, 0.0, 1.0))
    pose[:3, :3] = rotations.to_matrix((w, x, y, z)) * np.array(node.get("scale", (1.0, 1.0, 1.0)))
    pose[:3, 3] = node.get("translation", (0.0, 0.0, 0.0))
    return pose
