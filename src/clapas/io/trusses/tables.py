"""A truss as two CSV tables: nodes and members.

    nodes.csv      name, x, y[, z][, support][, fx, fy, fz]          or fx:wind, fy:wind … for load cases by
    name members.csv    a, b[, group, kind, young, area, density, yield_stress, inertia, prestress,
    rest_length]

A heading may carry a unit in brackets, ``x [mm]``, ``young [GPa]``; SI without. Members of one group share
kind, material and section.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clapas.bodies.trusses.structure import Group, Material, Section, Truss
from clapas.bodies.trusses.units import factor
from clapas.errors import Error, FormatError
from clapas.typing import Mask

QUANTITY = {
    **dict.fromkeys(("x", "y", "z", "rest_length"), "length"),
    **dict.fromkeys(("fx", "fy", "fz", "prestress"), "force"),
    **dict.fromkeys(("young", "yield_stress"), "stress"),
    "area": "area",
    "density": "density",
    "inertia": "inertia",
}
NODE_COLUMNS = ("name", "x", "y", "z", "support", "fx", "fy", "fz")
MEMBER_COLUMNS = tuple("a b group kind young area density yield_stress inertia prestress rest_length".split())


@dataclass(frozen=True)
class _Table:
    """Columns by name, and the line of the file each row ends on."""

    path: Path
    lines: list[int]
    columns: dict[str, list[Any]]

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def __len__(self) -> int:
        return len(self.lines)

    def cells(self, name: str, default: Any = "") -> list[Any]:
        """The cells of a column; of one that is not there, the default."""
        return self.columns.get(name) or [default] * len(self)

    def at(self, row: int) -> str:
        """The place of a row, for errors."""
        return f"{self.path}, line {self.lines[row]}"

    def number(self, name: str, row: int) -> float:
        """A cell as a number; an empty one is zero."""
        cell = self.cells(name)[row]
        try:
            return float(cell) if cell != "" else 0.0
        except ValueError:
            raise FormatError(f"{self.at(row)}, column '{name}': expected a number, got '{cell}'") from None

    def numbers(self, name: str) -> Any:
        """A column as numbers, (n,)."""
        return np.array([self.number(name, row) for row in range(len(self))])


def read_tables(nodes_path: Path, members_path: Path) -> Truss:
    """Read the two tables."""
    nodes = _read_table(nodes_path, NODE_COLUMNS, ("x", "y"))
    members = _read_table(members_path, MEMBER_COLUMNS, ("a", "b"))
    axes = [axis for axis in "xyz" if axis in nodes]
    positions = np.column_stack([nodes.numbers(axis) for axis in axes])
    labels = [str(label) for label in nodes.columns.get("name", range(len(nodes)))]
    number: dict[str, int] = {}
    for row, label in enumerate(labels):
        if number.setdefault(label, row) != row:
            raise FormatError(
                f"{nodes.at(row)}: two nodes are called '{label}', the other in line "
                f"{nodes.lines[number[label]]}"
            )
    ends = []
    for row, pair in enumerate(zip(members.cells("a"), members.cells("b"), strict=True)):
        for label in pair:
            if label not in number:
                raise FormatError(
                    f"{members.at(row)} names node '{label}', which is not in the table of nodes"
                )
        ends.append([number[label] for label in pair])
    groups, group = _groups(members)
    truss = Truss(
        nodes=positions,
        members=ends,
        groups=groups,
        group=group,
        prestress=members.numbers("prestress") if "prestress" in members else None,
        is_blocked=_blocked(nodes, axes, labels),
        cases=_cases(nodes, positions.shape),
        labels=labels,
        name=nodes_path.stem,
    )
    return truss.with_rest_lengths(members.numbers("rest_length")) if "rest_length" in members else truss


def _blocked(nodes: _Table, axes: list[str], labels: list[str]) -> Mask:
    """The displacements that supports block, (n, d)."""
    blocked = np.zeros((len(nodes), len(axes)), dtype=bool)
    for row, held in enumerate(nodes.cells("support")):
        wanted = "".join(axes) if held == "all" else held
        if set(wanted) - set(axes):
            raise FormatError(
                f"{nodes.at(row)}: support of node {labels[row]} must be 'all' or axes, got '{held}'"
            )
        blocked[row, [axes.index(axis) for axis in wanted]] = True
    return blocked


def _cases(nodes: _Table, shape: tuple[int, ...]) -> dict[str, Any]:
    """Loads by the name of their case, each (n, d) (N)."""
    cases: dict[str, Any] = {}
    for column in nodes.columns:
        component, _, case = column.partition(":")
        if component in ("fx", "fy", "fz"):
            axis = "xyz".index(component[1])
            if axis >= shape[1]:
                raise FormatError(
                    f"{nodes.path}: column '{column}' in a table of plane nodes: add z, or remove it"
                )
            cases.setdefault(case or "load", np.zeros(shape))[:, axis] = nodes.numbers(column)
    return cases


def write_tables(truss: Truss, nodes_path: Path, members_path: Path) -> None:
    """Write the two tables in SI; :func:`read_tables` reads them back."""
    labels = [truss.label(node) for node in range(truss.n_nodes)]
    axes = "xyz"[: truss.d]
    loads = [
        (f"f{axis}:{case}", values[:, i])
        for case, values in truss.cases.items()
        for i, axis in enumerate(axes)
    ]
    with nodes_path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["name", *axes, "support", *(heading for heading, _ in loads)])
        for n, label in enumerate(labels):
            held = "".join(axes[i] for i in np.flatnonzero(truss.is_blocked[n]))
            rows.writerow(
                [label, *map(repr, truss.nodes[n].tolist()), held, *(repr(float(f[n])) for _, f in loads)]
            )
    with members_path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(
            ["a", "b", "group", "kind", "young", "area", "density", "yield_stress", "inertia", "prestress"]
        )
        for (a, b), place, force in zip(truss.members, truss.group, truss.prestress, strict=True):
            group = truss.groups[place]
            material, section = group.material, group.section
            numbers = (
                material.young,
                section.area,
                material.density,
                material.yield_stress,
                section.inertia,
                force,
            )
            rows.writerow([labels[a], labels[b], group.name, group.kind, *(repr(float(x)) for x in numbers)])


def _read_table(path: Path, known: tuple[str, ...], needed: tuple[str, ...]) -> _Table:
    """Read a table; numbers with a unit in their heading are converted to SI."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"{path}: not a readable CSV file: {error}") from None
    if not rows:
        raise FormatError(f"{path}: the table is empty: expected the columns {', '.join(known)}")
    table = _Table(path, [line for line, _ in rows[1:]], {})
    for place, heading in enumerate(rows[0][1]):
        name, bracket, rest = heading.strip().partition("[")
        name = name.strip()
        name = name.lower() if ":" not in name else name
        plain = name.partition(":")[0]
        if plain not in known:
            raise FormatError(f"{path}: unknown column '{heading.strip()}': expected {', '.join(known)}")
        table.columns[name] = [row[place].strip() if place < len(row) else "" for _, row in rows[1:]]
        if bracket:
            unit = rest.rstrip("] ").strip()
            if plain not in QUANTITY:
                raise FormatError(f"{path}: column '{plain}' has no unit, got '{unit}'")
            times = factor(QUANTITY[plain], unit, f"{path}: column '{plain}'")
            table.columns[name] = [float(value) * times for value in table.numbers(name)]
    for name in needed:
        if name not in table:
            raise FormatError(f"{path}: column '{name}' is missing: got {', '.join(table.columns)}")
    return table


def _groups(members: _Table) -> tuple[list[Group], list[int]]:
    """The groups, each as its first member says, and the group of each member."""
    for column in ("young", "area"):
        if column not in members:
            raise FormatError(
                f"{members.path}: column '{column}' is missing: every member needs a material and a section"
            )
    names = members.columns.get("group") or members.cells("kind", "bar")
    columns = [members.cells(c) for c in ("kind", "young", "area", "density", "yield_stress", "inertia")]
    first: dict[str, int] = {}
    group: list[int] = []
    for row, name in enumerate(names):
        leader = first.setdefault(name, row)
        if any(cells[row] != cells[leader] for cells in columns):
            raise FormatError(
                f"{members.at(row)}: group '{name}' has two materials or sections, the other in line "
                f"{members.lines[leader]}: split it in two groups"
            )
        group.append(list(first).index(name))
    return [_group(members, name, row) for name, row in first.items()], group


def _group(members: _Table, name: str, row: int) -> Group:
    """The group that a row describes."""
    try:
        material = Material(
            young=members.number("young", row),
            density=members.number("density", row) or 7850.0,
            yield_stress=members.number("yield_stress", row) or np.inf,
        )
        section = Section(area=members.number("area", row), inertia=members.number("inertia", row))
        kind: Any = members.cells("kind")[row] or "bar"
        return Group(name=name, kind=kind, material=material, section=section)
    except FormatError:
        raise
    except Error as error:
        raise type(error)(f"{members.at(row)}: {error}") from None
