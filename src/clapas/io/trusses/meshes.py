"""Trusses from meshes: line cells of gmsh, VTK, Abaqus and other files, through meshio."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from clapas.bodies.trusses.materials import Group
from clapas.bodies.trusses.structure import Truss
from clapas.bodies.trusses.units import factor
from clapas.errors import FormatError, MissingDependency
from clapas.io.trusses.lines import Drawing, held_axes


def read_mesh(path: Path, *, groups: Mapping[str, Group] | None = None, length: str = "m") -> Truss:
    """Line cells are members, physical groups of gmsh name their groups; vertex cells are supports.

    A support holds the axes that the name of its physical group ends with ("support z"), all otherwise.
    """
    try:
        import meshio
    except ImportError:
        raise MissingDependency("meshio", "mesh", f"reading '{path.suffix}' meshes") from None
    mesh = meshio.read(path)
    points = np.zeros((len(mesh.points), 3))
    points[:, : mesh.points.shape[1]] = mesh.points
    tags = {tag: name for name, (tag, _) in getattr(mesh, "field_data", {}).items()}
    physical = mesh.cell_data.get("gmsh:physical", [[0] * len(block.data) for block in mesh.cells])
    drawing = Drawing()
    for block, numbers in zip(mesh.cells, physical, strict=True):
        for cell, (corners, tag) in enumerate(zip(block.data, numbers, strict=True)):
            name = tags.get(int(tag), f"group {int(tag)}")
            place = f"{block.type} cell {cell}"
            if block.type == "line":
                drawing.add(points[corners[0]], points[corners[1]], name, place)
            elif block.type == "vertex":
                drawing.supports.append((points[corners[0]], held_axes(name), place))
    if not drawing.ends:
        raise FormatError(f"{path}: the mesh has no line cells: members are lines of two nodes")
    return drawing.truss(factor("length", length, str(path)), groups, path)
