"""Contents of a surface file: named meshes, unit of length and vertical axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from clapas.errors import FormatError
from clapas.typing import Array, Indices

Mesh = tuple[Array, Indices]
Axis = Literal["x", "y", "z"]


@dataclass(frozen=True)
class NamedMesh:
    """A named mesh of a file.

    Parameters
    ----------
    name : str
        Name of the object, group, layer or node; "" where the file gives none.
    vertices : array (n, 3)
        In units of the file.
    triangles : array (m, 3)
        Rows of vertices, counterclockwise seen from outside.
    is_support : bool
        Whether the file marks it as a support (COMPAS).
    """

    name: str
    vertices: Array
    triangles: Indices
    is_support: bool = False


@dataclass(frozen=True)
class MeshFile:
    """The meshes of a file.

    Parameters
    ----------
    path : Path
        The file.
    objects : sequence of NamedMesh
        In the order of the file.
    unit : float, optional
        Metres per unit, where the file or its format defines it.
    up : str
        The axis that points upwards by the rules of the format: y for glTF, z otherwise.
    writer : str
        The program that wrote it, if it is one that puts y upwards by default; "" otherwise.
    """

    path: Path
    objects: Sequence[NamedMesh]
    unit: float | None = None
    up: Axis = "z"
    writer: str = ""

    def merged(self) -> Mesh:
        """All objects as one mesh."""
        counts = np.cumsum([0, *(len(each.vertices) for each in self.objects)])
        triangles = [each.triangles + start for each, start in zip(self.objects, counts[:-1], strict=True)]
        return np.concatenate([each.vertices for each in self.objects]), np.concatenate(triangles)


def compacted(vertices: Array, triangles: Indices) -> Mesh:
    """The same triangles with only the vertices that they use, in their order."""
    used, rows = np.unique(triangles, return_inverse=True)
    return vertices[used], rows.reshape(-1, 3).astype(np.int64)


def shared(corners: Array) -> Mesh:
    """A mesh from the corners (m, 3, 3) of its triangles; equal corners become one vertex."""
    flat = corners.reshape(-1, 3) + 0.0  # so that −0 equals 0
    vertices, first, which = np.unique(flat, axis=0, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    triangles: Indices = rank[which.reshape(-1)].reshape(-1, 3).astype(np.int64)
    return np.ascontiguousarray(vertices[np.argsort(first)]), triangles


def fan(face: Sequence[int]) -> list[tuple[int, int, int]]:
    """Triangles of a plane face given by its corners in order."""
    return [(face[0], face[k], face[k + 1]) for k in range(1, len(face) - 1)]


def floats(path: Path, line: int, words: list[str], size: int) -> list[float]:
    """``size`` numbers from the words of a line."""
    try:
        values = [float(word) for word in words]
    except ValueError:
        values = []
    if len(values) != size:
        raise FormatError(f"{path}, line {line}: expected {size} numbers, got '{' '.join(words)}'")
    return values
