"""Meshes of robots: where their files are, and their convex parts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from clapas.errors import FormatError, SceneError
from clapas.geometry import mass
from clapas.geometry.checks import Vector
from clapas.geometry.meshfiles import read_mesh
from clapas.geometry.shapes import Polyhedron
from clapas.geometry.shapes.polyhedron import FILE_FLATNESS
from clapas.scenes.robots.description import Collision, Inertia
from clapas.scenes.robots.xml import Node
from clapas.typing import Array, Indices

FILLED = 1.02  # volume of the hull over that of the part: above, the part is not convex
PACKAGE = "package://"


def find_mesh(node: Node, name: str, packages: Mapping[str, Path]) -> Path:
    """The file that an element names: a path beside the robot's file, ``file://`` or ``package://``.

    The folder of a package is that given, else the nearest folder of its name above the robot's file, or
    beside one of these.
    """
    folder = node.path.resolve().parent
    if not name.startswith(PACKAGE):
        path = folder / name.removeprefix("file://")
        if path.is_file():
            return path
        raise node.error(f"there is no mesh '{path}'")
    package, _, rest = name.removeprefix(PACKAGE).partition("/")
    places = [Path(packages[package])] if package in packages else []
    for above in () if places else (folder, *folder.parents):
        places += [above] if above.name == package else []
        places += [above / package] if (above / package).is_dir() else []
    for place in places:
        if (place / rest).is_file():
            return place / rest
    if not places:
        raise node.error(
            f"there is no package '{package}' above {folder}, for the mesh '{name}'; say where it is: "
            f"packages={{'{package}': …}}"
        )
    raise node.error(f"there is no mesh '{rest}' in the package '{package}' ({places[0]})")


def convex_parts(node: Node, path: Path, scale: Vector) -> tuple[list[Polyhedron], list[str]]:
    """Hulls of the connected parts of a mesh, and warnings about parts that are not convex."""
    if path.suffix.lower() not in (".stl", ".obj"):
        raise node.error(
            f"meshes are read from .stl and .obj, got '{path.name}'; convert it, or take simple shapes"
        )
    try:
        vertices, triangles = read_mesh(path)
    except FormatError as error:
        raise node.error(str(error)) from None
    vertices = vertices * np.array(scale)
    parts, notes = [], []
    for rows in connected(len(vertices), triangles):
        used = np.unique(triangles[rows])
        try:
            hull = Polyhedron(vertices[used], FILE_FLATNESS)
        except SceneError as error:
            raise node.error(f"mesh {path.name}: {error}") from None
        volume = abs(mass.of_triangles(vertices, triangles[rows])[0])
        if hull.volume > FILLED * volume:
            notes.append(
                f"mesh {path.name}: a part is not convex, and its hull is used, of volume "
                f"{hull.volume:.3g} m³ instead of {volume:.3g}; split it into convex parts"
            )
        parts.append(hull)
    return parts, notes


def connected(n_vertices: int, triangles: Indices) -> list[Indices]:
    """Rows of the triangles of each connected part of a mesh."""
    ends = np.concatenate((triangles[:, :2], triangles[:, 1:]))
    graph = sparse.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n_vertices, n_vertices))
    label = csgraph.connected_components(graph, directed=False)[1][triangles[:, 0]]
    return [np.flatnonzero(label == k) for k in np.unique(label)]


def inertia_of(collision: Collision, density: float | None = None, total: float | None = None) -> Inertia:
    """Mass properties of a shape, filled evenly, in the frame of its link."""
    properties = collision.shape.mass_properties
    if not properties.volume > 0.0:
        raise FormatError(f"a {collision.shape.word} has no volume to be filled: give the link its inertia")
    amount = density * properties.volume if total is None else total  # type: ignore[operator]
    tensor: Array = properties.inertia * (amount / properties.volume)
    return Inertia(float(amount), properties.centre, tensor).seen_from(collision.pose)
