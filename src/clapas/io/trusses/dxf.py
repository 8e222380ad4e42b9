"""Trusses from drawings: lines and polylines of an ASCII DXF file.

A file is pairs of lines, a group code and its value. Code 0 begins an entity, 8 is its layer, 10/20/30 and
11/21/31 are its points; other codes are skipped. Reference: Autodesk, DXF Reference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from clapas.bodies.trusses.materials import Group
from clapas.bodies.trusses.structure import Truss
from clapas.bodies.trusses.units import factor
from clapas.errors import FormatError, warn
from clapas.io.trusses.lines import Drawing, held_axes
from clapas.typing import Array

INSUNITS = {1: "in", 2: "ft", 4: "mm", 5: "cm", 6: "m"}  # $INSUNITS of the header
CURVED = ("ARC", "SPLINE", "ELLIPSE")  # not straight: no member
CLOSED, MESHES = 1, 16 | 64  # bits of code 70 of polylines


@dataclass
class Entity:
    """An entity or a variable of the header: its kind, the line it begins in, and its values by code."""

    kind: str
    section: str
    line: int
    values: dict[int, list[str]] = field(default_factory=dict)

    def text(self, code: int, default: str = "") -> str:
        """First value of a code."""
        return self.values.get(code, [default])[0]

    def numbers(self, code: int, path: Path) -> list[float]:
        """Values of a code as numbers."""
        numbers_read = []
        for value in self.values.get(code, []):
            try:
                numbers_read.append(float(value))
            except ValueError:
                numbers_read.append(math.nan)
            if not math.isfinite(numbers_read[-1]):
                raise FormatError(
                    f"{path}: {self.kind} of line {self.line}: code {code} must be a finite number, got "
                    f"'{value}'"
                )
        return numbers_read

    def point(self, path: Path, first: int = 10) -> Array:
        """A point (3,) by its codes; missing coordinates are zero."""
        return np.array([(self.numbers(first + step, path) or [0.0])[0] for step in (0, 10, 20)])


def read_dxf(path: Path, *, groups: Mapping[str, Group] | None = None, length: str | None = None) -> Truss:
    """Lines of an ASCII DXF drawing: layers are groups; points block the node they lie on.

    Parameters
    ----------
    path : Path
        The drawing. LINE, LWPOLYLINE and POLYLINE of the model space are members, one for each straight
        piece; POINT entities are supports, of the axes that the name of their layer ends with ("support z"),
        of all otherwise. Curves are rejected, block references are counted in a warning.
    groups : mapping from layer names to Group, optional
        Kinds, materials and sections; guessed from the names of the layers otherwise.
    length : str, optional
        Unit of the drawing ("mm", "m", …); by default the one it declares ($INSUNITS).
    """
    drawing, declared, blocks = Drawing(), "", 0
    corners: list[Array] = []
    polyline: Entity | None = None
    for entity in _entities(path):
        if entity.kind == "$INSUNITS":
            declared = INSUNITS.get(int((entity.numbers(70, path) or [0.0])[0]), "")
        if entity.section != "ENTITIES" or entity.text(67) == "1":  # definitions of blocks, paper space
            continue
        layer, place = entity.text(8, "0"), f"line {entity.line}"
        if entity.kind in CURVED:
            raise FormatError(
                f"{path}: {place}: a curve ({entity.kind}) on layer '{layer}': members are straight. Draw it "
                "as lines or a polyline, or remove it"
            )
        if entity.kind == "LINE":
            drawing.add(entity.point(path), entity.point(path, 11), layer, place)
        elif entity.kind == "POINT":
            drawing.supports.append((entity.point(path), held_axes(layer), place))
        elif entity.kind == "LWPOLYLINE":
            flat = [entity.numbers(10, path), entity.numbers(20, path)]
            height = (entity.numbers(38, path) or [0.0])[0]
            points = [np.array([x, y, height]) for x, y in zip(*flat, strict=True)]
            _add_pieces(drawing, entity, points, path)
        elif entity.kind == "POLYLINE":
            polyline, corners = entity, []
        elif entity.kind == "VERTEX":
            corners.append(entity.point(path))
        elif entity.kind == "SEQEND" and polyline is not None:
            _add_pieces(drawing, polyline, corners, path)
            polyline = None
        blocks += entity.kind == "INSERT"
    if blocks:
        warn(f"{path}: {blocks} references to blocks are left out: explode those that hold members")
    if not drawing.ends:
        raise FormatError(
            f"{path}: the drawing has no LINE: draw members as lines or polylines (explode blocks first)"
        )
    unit = length or declared
    if not unit:
        raise FormatError(
            f"{path}: the drawing does not say its unit of length: pass length='mm' (or m, cm, in, ft; "
            "--length mm in the shell), or set $INSUNITS"
        )
    return drawing.truss(factor("length", unit, str(path)), groups, path)


def _add_pieces(drawing: Drawing, entity: Entity, points: list[Array], path: Path) -> None:
    """The straight pieces of a polyline."""
    flags = int((entity.numbers(70, path) or [0.0])[0])
    if flags & MESHES or any(entity.numbers(42, path)):
        kind = "a mesh" if flags & MESHES else "a polyline with arcs"
        raise FormatError(
            f"{path}: line {entity.line}: {kind} on layer '{entity.text(8, '0')}': members are straight "
            "lines. Explode it, or remove it"
        )
    after = [*points[1:], *([points[0]] if flags & CLOSED and len(points) > 2 else [])]
    for a, b in zip(points, after, strict=False):
        drawing.add(a, b, entity.text(8, "0"), f"line {entity.line}")


def _entities(path: Path) -> Iterator[Entity]:
    """Entities and variables of the header, section by section."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror}") from None
    if lines and lines[0].startswith("AutoCAD Binary DXF"):
        raise FormatError(f"{path}: a binary DXF: save the drawing as ASCII DXF")
    section, entity = "", None
    for at in range(0, len(lines) - 1, 2):
        code, value = lines[at].strip(), lines[at + 1].strip()
        if not code.lstrip("-").isdecimal():
            raise FormatError(
                f"{path}: line {at + 1}: not an ASCII DXF file: expected a group code, a number, got "
                f"'{code[:40]}'"
            )
        if code in ("0", "9"):
            if entity is not None:
                yield entity
            entity = Entity(value, section, at + 2)
        elif entity is not None:
            if entity.kind == "SECTION" and code == "2":
                section = value
            entity.values.setdefault(int(code), []).append(value)
    if entity is not None:
        yield entity
    if not section:
        raise FormatError(f"{path}: not an ASCII DXF file (no SECTION)")
