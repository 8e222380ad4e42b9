"""Lines drawn in other programs: DXF, COMPAS networks, meshes. They carry geometry; sections are added here.

Layers, edge attributes or cell sets become groups. A group whose name contains "cable", "tendon", "wire",
"rope" or "net" is one of cables, any other one of bars; pass ``groups`` to say it yourself, with materials
and sections.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from clapas.bodies.trusses.structure import Group, Kind, Material, Section, Truss
from clapas.bodies.trusses.units import factor
from clapas.errors import FormatError, MissingDependency
from clapas.typing import Array

STEEL = Material(young=210e9, yield_stress=235e6)
SECTIONS = {"bar": Section.tube(diameter=0.048, thickness=0.003), "cable": Section(area=5e-5)}
CABLE_WORDS = ("cable", "tendon", "wire", "rope", "net")
INSUNITS = {1: "in", 2: "ft", 4: "mm", 5: "cm", 6: "m"}  # $INSUNITS of DXF
MERGED = 1e-6  # distance of ends, relative to the size of the drawing, at which they are one node


def read_dxf(path: Path, *, groups: Mapping[str, Group] | None = None, length: str | None = None) -> Truss:
    """Lines of an ASCII DXF drawing: layers are groups; points block the node they lie on.

    Parameters
    ----------
    path : Path
        The drawing. LINE entities are members, POINT entities supports (all axes).
    groups : mapping from layer names to Group, optional
        Kinds, materials and sections; guessed from the names of the layers otherwise.
    length : str, optional
        Unit of the drawing ("mm", "m", …); by default the one it declares ($INSUNITS).
    """
    segments, layers, points, declared = [], [], [], None
    for kind, fields in _entities(path):
        if kind == "$INSUNITS":
            declared = INSUNITS.get(int(_coordinate(fields, "70", path)), "")
        elif kind == "LINE":
            segments.append(
                [
                    [_coordinate(fields, code, path) for code in ends]
                    for ends in (("10", "20", "30"), ("11", "21", "31"))
                ]
            )
            layers.append(fields["8"][0] if "8" in fields else "0")
        elif kind == "POINT":
            points.append([_coordinate(fields, code, path) for code in ("10", "20", "30")])
    if not segments:
        raise FormatError(
            f"{path}: the drawing has no LINE: draw members as lines (explode polylines and blocks first)"
        )
    unit = length or declared
    if not unit:
        raise FormatError(
            f"{path}: the drawing does not say its unit of length: pass length='mm' (or m, cm, in, ft), or "
            "set $INSUNITS"
        )
    scale = factor("length", unit, str(path))
    return _from_segments(
        scale * np.array(segments), layers, scale * np.array(points).reshape(-1, 3), groups, path
    )


def _coordinate(fields: Mapping[str, tuple[str, int]], code: str, path: Path) -> float:
    """The finite number of a group code; zero where it is left out."""
    value, line = fields.get(code, ("0", 0))
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise FormatError(f"{path}, line {line}: expected a finite number, got '{value}'")
    return number


def _entities(path: Path) -> Iterator[tuple[str, dict[str, tuple[str, int]]]]:
    """Entities and the unit variable of a DXF file: pairs of lines, a group code and its value.

    Values come with the number of their line.
    """
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror}") from None
    if lines and lines[0].startswith("AutoCAD Binary DXF"):
        raise FormatError(f"{path}: a binary DXF: save the drawing as ASCII DXF")
    pairs = [(lines[i].strip(), lines[i + 1].strip(), i + 2) for i in range(0, len(lines) - 1, 2)]
    if not any(pair[:2] == ("0", "SECTION") for pair in pairs):
        raise FormatError(f"{path}: not an ASCII DXF file (no SECTION)")
    kind, fields = "", dict[str, tuple[str, int]]()
    for code, value, line in [*pairs, ("0", "EOF", 0)]:
        if code in ("0", "9"):
            if kind:
                yield kind, fields
            kind, fields = value, {}
        else:
            fields.setdefault(code, (value, line))


def _from_segments(
    segments: Array, names: list[str], points: Array, groups: Mapping[str, Group] | None, path: Path
) -> Truss:
    ends = segments.reshape(-1, 3)
    size = float(np.ptp(ends, axis=0).max()) or 1.0
    keys = np.rint(ends / (MERGED * size)).astype(np.int64)
    _, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    nodes = ends[first]
    blocked = np.zeros(nodes.shape, dtype=bool)
    for point in points:
        near = np.linalg.norm(nodes - point, axis=1)
        if near.min() > 10 * MERGED * size:
            raise FormatError(f"{path}: the support point {point.tolist()} (m) lies on no end of a line")
        blocked[int(np.argmin(near))] = True
    flat = float(np.ptp(nodes[:, 2])) == 0.0
    d = 2 if flat else 3
    kinds = list(dict.fromkeys(names))
    return Truss(
        nodes=nodes[:, :d],
        members=place.reshape(-1, 2),
        groups=[(groups or {}).get(name) or guessed_group(name) for name in kinds],
        group=[kinds.index(name) for name in names],
        is_blocked=blocked[:, :d],
        name=path.stem,
    )


def guessed_group(name: str) -> Group:
    """A group of steel whose kind is guessed from its name.

    Examples
    --------
    >>> guessed_group("Upper cables").kind, guessed_group("struts").kind
    ('cable', 'bar')
    """
    kind: Kind = "cable" if any(word in name.lower() for word in CABLE_WORDS) else "bar"
    return Group(name=name, kind=kind, material=STEEL, section=SECTIONS[kind])


def read_compas(path: Path, *, groups: Mapping[str, Group] | None = None) -> Truss:
    """A network or graph of COMPAS as JSON (versions 1 and 2).

    Nodes: x, y, z; ``is_fixed``, ``is_anchor`` or ``is_support`` blocks; px, py, pz are loads (N). Edges:
    ``group`` or ``kind`` names the group, ``f`` is the prestress (N), ``q`` the force density (N/m).
    """
    content = json.loads(path.read_text(encoding="utf-8"))
    graph = find_graph(content)
    if graph is None:
        raise FormatError(f"{path}: no COMPAS network in this JSON: expected tables 'node' and 'edge'")
    defaults = {**graph.get("attributes", {}), **graph.get("default_node_attributes", graph.get("dna", {}))}
    labels = list(graph["node"])
    number = {label: place for place, label in enumerate(labels)}
    rows = [{**defaults, **graph["node"][label]} for label in labels]

    def number_of(table: Mapping[str, Any], key: str, owner: str) -> float:
        value = table.get(key) or 0.0
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise FormatError(f"{path}: {owner}: {key} must be a finite number, got {value!r}")
        return float(value)

    nodes = np.array(
        [
            [number_of(row, axis, f"node {label}") for axis in "xyz"]
            for label, row in zip(labels, rows, strict=True)
        ]
    )
    blocked = np.repeat(
        [[any(bool(row.get(key)) for key in ("is_fixed", "is_anchor", "is_support"))] for row in rows],
        3,
        axis=1,
    )
    loads = np.array(
        [
            [number_of(row, f"p{axis}", f"node {label}") for axis in "xyz"]
            for label, row in zip(labels, rows, strict=True)
        ]
    )
    members, names, forces = [], [], []
    seen = set()
    for a, others in graph["edge"].items():
        for b, found in others.items():
            for label in (str(a), str(b)):
                if label not in number:
                    raise FormatError(f"{path}: edge {a}-{b} names node '{label}', which is not there")
            pair = (number[str(a)], number[str(b)])
            attributes = found or {}
            if pair[::-1] in seen:
                continue  # an undirected graph may hold both directions
            seen.add(pair)
            members.append(pair)
            names.append(str(attributes.get("group") or attributes.get("kind") or "members"))
            span = float(np.linalg.norm(nodes[pair[1]] - nodes[pair[0]]))
            force, density = (number_of(attributes, key, f"edge {a}-{b}") for key in ("f", "q"))
            forces.append(force or density * span)
    kinds = list(dict.fromkeys(names))
    return Truss(
        nodes=nodes,
        members=np.array(members, dtype=np.int64).reshape(-1, 2),
        groups=[(groups or {}).get(name) or guessed_group(name) for name in kinds],
        group=[kinds.index(name) for name in names],
        prestress=forces,
        is_blocked=blocked,
        cases={"load": loads} if loads.any() else {},
        labels=labels,
        name=path.stem,
    )


def find_graph(content: Any) -> dict[str, Any] | None:
    """The table with 'node' and 'edge', wherever the version of COMPAS puts it."""
    if isinstance(content, dict):
        if isinstance(content.get("node"), dict) and isinstance(content.get("edge"), dict):
            return content
        for key in ("data", "value"):
            if key in content:
                return find_graph(content[key])
    return None


def read_mesh(path: Path, *, groups: Mapping[str, Group] | None = None, length: str = "m") -> Truss:
    """Line cells of a mesh (gmsh, VTK, Abaqus, …) through meshio; physical groups name the groups."""
    try:
        import meshio
    except ImportError:
        raise MissingDependency("meshio", "mesh", f"reading '{path.suffix}' meshes") from None
    mesh = meshio.read(path)
    scale = factor("length", length, str(path))
    pairs, names = [], []
    tags = {tag: name for name, (tag, _) in getattr(mesh, "field_data", {}).items()}
    for place, block in enumerate(mesh.cells):
        if block.type != "line":
            continue
        physical = mesh.cell_data.get("gmsh:physical", [[0] * len(b.data) for b in mesh.cells])[place]
        pairs.append(block.data)
        names += [tags.get(int(tag), f"group {int(tag)}") for tag in physical]
    if not pairs:
        raise FormatError(f"{path}: the mesh has no line cells: members are lines of two nodes")
    points = np.zeros((len(mesh.points), 3))
    points[:, : mesh.points.shape[1]] = mesh.points
    return _from_segments(scale * points[np.concatenate(pairs)], names, np.zeros((0, 3)), groups, path)
