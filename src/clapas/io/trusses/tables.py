"""A truss as two CSV tables: nodes and members.

    nodes.csv      name, x, y[, z][, support][, fx, fy, fz]          or fx:wind, fy:wind … for load cases by
    name members.csv    a, b[, group, kind, young, area, density, yield_stress, inertia, prestress,
    rest_length]

A heading may carry a unit in brackets, ``x [mm]``, ``young [GPa]``; SI without. Members of one group share
kind, material and section.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from clapas.bodies.trusses.structure import Group, Material, Section, Truss
from clapas.bodies.trusses.units import factor
from clapas.errors import FormatError

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


def read_tables(nodes_path: Path, members_path: Path) -> Truss:
    """Read the two tables."""
    nodes = _table(nodes_path, NODE_COLUMNS, ("x", "y"))
    members = _table(members_path, MEMBER_COLUMNS, ("a", "b"))
    count = len(nodes["x"])
    axes = [axis for axis in "xyz" if axis in nodes]
    positions = np.column_stack([_floats(nodes[axis], nodes_path, axis) for axis in axes])
    labels = [str(label) for label in nodes.get("name", range(count))]
    number = {label: place for place, label in enumerate(labels)}
    if len(number) != count:
        raise FormatError(
            f"{nodes_path}: two nodes are called '{next(n for n in labels if labels.count(n) > 1)}'"
        )
    blocked = np.zeros(positions.shape, dtype=bool)
    for place, held in enumerate(nodes.get("support", [""] * count)):
        wanted = "".join(axes) if held == "all" else held
        if set(wanted) - set(axes):
            raise FormatError(
                f"{nodes_path}: support of node {labels[place]} must be 'all' or axes, got '{held}'"
            )
        blocked[place, [axes.index(axis) for axis in wanted]] = True
    cases: dict[str, Any] = {}
    for column in nodes:
        component, _, case = column.partition(":")
        if component in ("fx", "fy", "fz"):
            axis = "xyz".index(component[1])
            if axis >= len(axes):
                raise FormatError(
                    f"{nodes_path}: column '{column}' in a table of plane nodes: add z, or remove it"
                )
            cases.setdefault(case or "load", np.zeros(positions.shape))[:, axis] = _floats(
                nodes[column], nodes_path, column
            )
    ends = [[_node(label, number, members_path, row) for label in pair]
            for row, pair in enumerate(zip(members["a"], members["b"], strict=True))]  # fmt: skip
    groups, group = _groups(members, members_path)
    truss = Truss(
        nodes=positions,
        members=ends,
        groups=groups,
        group=group,
        prestress=_floats(members["prestress"], members_path, "prestress")
        if "prestress" in members
        else None,
        is_blocked=blocked,
        cases=cases,
        labels=labels,
        name=nodes_path.stem,
    )
    if "rest_length" in members:
        return truss.with_rest_lengths(_floats(members["rest_length"], members_path, "rest_length"))
    return truss


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


def _table(path: Path, known: tuple[str, ...], needed: tuple[str, ...]) -> dict[str, list[Any]]:
    """Columns by name; numbers with a unit in their heading are converted to SI."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if any(cell.strip() for cell in row)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"{path}: not a readable CSV file: {error}") from None
    if not rows:
        raise FormatError(f"{path}: the table is empty: expected the columns {', '.join(known)}")
    columns: dict[str, list[Any]] = {}
    for place, heading in enumerate(rows[0]):
        name, bracket, rest = heading.strip().partition("[")
        name = name.strip()
        name = name.lower() if ":" not in name else name
        plain = name.partition(":")[0]
        if plain not in known:
            raise FormatError(f"{path}: unknown column '{heading.strip()}': expected {', '.join(known)}")
        cells: list[Any] = [row[place].strip() if place < len(row) else "" for row in rows[1:]]
        if bracket:
            unit = rest.rstrip("] ").strip()
            if plain not in QUANTITY:
                raise FormatError(f"{path}: column '{plain}' has no unit, got '{unit}'")
            times = factor(QUANTITY[plain], unit, f"{path}: column '{plain}'")
            cells = [float(value) * times for value in _floats(cells, path, name)]
        columns[name] = cells
    for name in needed:
        if name not in columns:
            raise FormatError(f"{path}: column '{name}' is missing: got {', '.join(columns)}")
    return columns


def _floats(cells: list[Any], path: Path, column: str) -> Any:
    values = np.empty(len(cells))
    for row, cell in enumerate(cells):
        try:
            values[row] = float(cell) if cell != "" else 0.0
        except ValueError:
            raise FormatError(
                f"{path}: row {row + 2}, column '{column}': expected a number, got '{cell}'"
            ) from None
    return values


def _node(label: str, number: dict[str, int], path: Path, row: int) -> int:
    if label not in number:
        raise FormatError(f"{path}: row {row + 2} names node '{label}', which is not in the table of nodes")
    return number[label]


def _groups(members: dict[str, list[Any]], path: Path) -> tuple[list[Group], list[int]]:
    count = len(members["a"])
    names = members.get("group") or members.get("kind") or ["bar"] * count
    for column in ("young", "area"):
        if column not in members:
            raise FormatError(
                f"{path}: column '{column}' is missing: every member needs a material and a section"
            )
    keys: dict[str, tuple[Any, ...]] = {}
    group: list[int] = []
    columns = ("kind", "young", "area", "density", "yield_stress", "inertia")
    for row in range(count):
        key = tuple(members[column][row] if column in members else "" for column in columns)
        name = names[row]
        if keys.setdefault(name, key) != key:
            raise FormatError(
                f"{path}: row {row + 2}: group '{name}' has two materials or sections: split it in two groups"
            )
        group.append(list(keys).index(name))
    found = []
    for name, (kind, young, area, density, strength, inertia) in keys.items():
        young, area = _floats([young, area], path, "young")
        density = float(_floats([density], path, "density")[0]) or 7850.0
        strength = float(_floats([strength], path, "yield_stress")[0]) or np.inf
        section = Section(area=float(area), inertia=float(_floats([inertia], path, "inertia")[0]))
        material = Material(young=float(young), density=density, yield_stress=strength)
        found.append(Group(name=name, kind=kind or "bar", material=material, section=section))
    return found, group
