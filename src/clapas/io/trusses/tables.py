"""A truss as two CSV tables: nodes and members.

    nodes.csv      name, x, y[, z][, support][, fx, fy, fz]      fx:wind, fy:wind, … for load cases by name
    members.csv    a, b[, name, group, kind, young, area, diameter, thickness, inertia, density,
                   yield_stress, prestress, rest_length, parallel]

A heading may carry a unit in brackets, ``x [mm]``, ``young [GPa]``; SI without. Cells are separated by
commas, semicolons or tabs, as in the heading; with semicolons or tabs 1,5 is one and a half. Lines that start
with # are remarks. Members of one group share kind, material and section; "yes" in the column ``parallel``
says that a member lies beside another one between the same nodes on purpose.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clapas.bodies.trusses.materials import Group, Material, Section
from clapas.bodies.trusses.structure import ImpossibleTruss, Truss
from clapas.bodies.trusses.units import factor
from clapas.errors import FormatError, ProblemError
from clapas.typing import Array

QUANTITY = {
    **dict.fromkeys(("x", "y", "z", "rest_length", "diameter", "thickness"), "length"),
    **dict.fromkeys(("fx", "fy", "fz", "prestress"), "force"),
    **dict.fromkeys(("young", "yield_stress"), "stress"),
    "area": "area",
    "density": "density",
    "inertia": "inertia",
}
NODE_COLUMNS = ("name", "x", "y", "z", "support", "fx", "fy", "fz")
OF_GROUP = tuple("kind young area diameter thickness inertia density yield_stress".split())
MEMBER_COLUMNS = ("a", "b", "name", "group", *OF_GROUP, "prestress", "rest_length", "parallel")


@dataclass(frozen=True)
class Table:
    """A CSV table: cells by column, with line numbers.

    Parameters
    ----------
    path : Path
        The file.
    columns : dict
        Texts of the cells of each column.
    scale : dict
        Factor from the unit of each column to SI.
    lines : list of int
        Line number of each row.
    has_decimal_commas : bool
        Whether 1,5 is one and a half.
    """

    path: Path
    columns: dict[str, list[str]]
    scale: dict[str, float]
    lines: list[int]
    has_decimal_commas: bool

    def __len__(self) -> int:
        return len(self.lines)

    def __contains__(self, column: str) -> bool:
        return column in self.columns

    def where(self, row: int) -> str:
        """The place of a row, for messages."""
        return f"{self.path}: line {self.lines[row]}"

    def text(self, column: str, row: int) -> str:
        """One cell; empty where the table has no such column."""
        return self.columns[column][row] if column in self.columns else ""

    def number(self, column: str, row: int, default: float | None = None) -> float:
        """One cell as a number in SI; ``default`` for an empty cell; without it an empty cell is an error."""
        cell = self.text(column, row)
        if cell == "" and default is not None:
            return default
        try:
            value = float(cell.replace(",", ".") if self.has_decimal_commas else cell)
        except ValueError:
            raise FormatError(
                f"{self.where(row)}, column '{column}': expected a number, got '{cell}'"
            ) from None
        return value * self.scale[column]

    def numbers(self, column: str, default: float | None = None) -> Array:
        """A column as numbers in SI (rows,)."""
        return np.array([self.number(column, row, default) for row in range(len(self))])


def read_tables(nodes_path: Path, members_path: Path) -> Truss:
    """Read the two tables."""
    nodes = _table(nodes_path, NODE_COLUMNS, ("x", "y"))
    members = _table(members_path, MEMBER_COLUMNS, ("a", "b"))
    axes = [axis for axis in "xyz" if axis in nodes]
    positions = np.column_stack([nodes.numbers(axis) for axis in axes])
    labels = nodes.columns.get("name", [str(row) for row in range(len(nodes))])
    number: dict[str, int] = {}
    for row, label in enumerate(labels):
        if label in number:
            raise FormatError(
                f"{nodes.where(row)}: node '{label}' stands in line {nodes.lines[number[label]]} already: "
                "names of nodes must differ"
            )
        number[label] = row
    ends = [[_node(members, end, row, number) for end in ("a", "b")] for row in range(len(members))]
    groups, group = _groups(members)
    try:
        truss = Truss(
            nodes=positions,
            members=np.array(ends, dtype=np.int64).reshape(-1, 2),
            groups=groups,
            group=group,
            prestress=members.numbers("prestress", 0.0) if "prestress" in members else None,
            is_blocked=_supports(nodes, axes),
            cases=_cases(nodes, axes),
            allow_parallel=_has_parallels(members, ends),
            labels=labels,
            name=nodes_path.stem,
        )
        if "rest_length" in members:
            lengths = members.numbers("rest_length", np.nan)
            return truss.with_rest_lengths(np.where(np.isfinite(lengths), lengths, truss.rest_lengths))
    except ImpossibleTruss as error:
        if error.member is not None:
            raise ImpossibleTruss(f"{members.where(error.member)}: {error}", member=error.member) from None
        where = nodes.where(error.node) if error.node is not None else str(members_path)
        raise ImpossibleTruss(f"{where}: {error}", node=error.node) from None
    except ProblemError as error:
        raise ProblemError(f"{members_path}: {error}") from None
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
        rows.writerow("a b group kind young area density yield_stress inertia prestress parallel".split())
        pairs = np.sort(truss.members, axis=1)
        _, place_of, counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
        beside = counts[place_of.ravel()] > 1
        for (a, b), place, force, parallel in zip(
            truss.members, truss.group, truss.prestress, beside, strict=True
        ):
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
            cells = (repr(float(x)) for x in numbers)
            rows.writerow([labels[a], labels[b], group.name, group.kind, *cells, "yes" if parallel else ""])


def _supports(nodes: Table, axes: list[str]) -> Any:
    """Blocked components (n × d)."""
    blocked = np.zeros((len(nodes), len(axes)), dtype=bool)
    for row in range(len(nodes)):
        text = nodes.text("support", row).lower()
        blocked_axes = "".join(axes) if text == "all" else text
        if set(blocked_axes) - set(axes):
            raise FormatError(
                f"{nodes.where(row)}: support must be 'all' or axes like '{''.join(axes)}', got '{text}'"
            )
        blocked[row, [axes.index(axis) for axis in blocked_axes]] = True
    return blocked


def _cases(nodes: Table, axes: list[str]) -> dict[str, Array]:
    """Loads (n × d) by case, from columns like ``fx`` and ``fy:wind``."""
    cases: dict[str, Array] = {}
    for column in nodes.columns:
        component, _, case = column.partition(":")
        if component not in ("fx", "fy", "fz"):
            continue
        if component[1] not in axes:
            raise FormatError(
                f"{nodes.path}: column '{column}' in a table of plane nodes: add z, or remove it"
            )
        loads = cases.setdefault(case or "load", np.zeros((len(nodes), len(axes))))
        loads[:, axes.index(component[1])] = nodes.numbers(column, 0.0)
    return cases


def _node(members: Table, end: str, row: int, number: dict[str, int]) -> int:
    label = members.text(end, row)
    if label not in number:
        raise FormatError(f"{members.where(row)} names node '{label}', which is not in the table of nodes")
    return number[label]


def _has_parallels(members: Table, ends: list[list[int]]) -> bool:
    """Whether there are parallel members; each must be marked as such."""
    first: dict[tuple[int, int], int] = {}
    has_parallels = False
    for row, (a, b) in enumerate(ends):
        before = first.setdefault((min(a, b), max(a, b)), row)
        marks = [members.text("parallel", each).lower() for each in (before, row)]
        if marks[1] not in ("", "yes", "no"):
            raise FormatError(
                f"{members.where(row)}, column 'parallel': expected yes or no, got '{marks[1]}'"
            )
        if before != row and "yes" not in marks:
            raise FormatError(
                f"{members.where(row)}: the member joins the same nodes as that of line "
                f"{members.lines[before]}. Remove one, or write yes in a column 'parallel' if they are meant "
                "to lie side by side"
            )
        has_parallels = has_parallels or before != row
    return has_parallels


def _groups(members: Table) -> tuple[list[Group], list[int]]:
    """Groups in order of appearance, and the group of each member."""
    if "young" not in members or ("area" not in members and "diameter" not in members):
        missing = "young" if "young" not in members else "area"
        raise FormatError(
            f"{members.path}: column '{missing}' is missing: every member needs a material (young) and a "
            "section (area, or diameter with thickness for a tube)"
        )
    first: dict[str, int] = {}
    number: list[int] = []
    for row in range(len(members)):
        name = members.text("group", row) or members.text("kind", row) or "bar"
        before = first.setdefault(name, row)
        for column in OF_GROUP:
            if members.text(column, row) != members.text(column, before):
                raise FormatError(
                    f"{members.where(row)}: group '{name}' has two materials or sections: {column} "
                    f"'{members.text(column, row)}' here and '{members.text(column, before)}' in line "
                    f"{members.lines[before]}. Split it in two groups"
                )
        number.append(list(first).index(name))
    return [_group(members, name, row) for name, row in first.items()], number


def _group(members: Table, name: str, row: int) -> Group:
    """The group whose first member is in this row."""
    kind: Any = members.text("kind", row).lower() or "bar"
    try:
        material = Material(
            young=members.number("young", row),
            density=members.number("density", row, 7850.0),
            yield_stress=members.number("yield_stress", row, np.inf),
        )
        if members.text("diameter", row):
            diameter = members.number("diameter", row)
            section = (
                Section.tube(diameter=diameter, thickness=members.number("thickness", row))
                if members.text("thickness", row)
                else Section.round(diameter=diameter)
            )
        else:
            section = Section(area=members.number("area", row), inertia=members.number("inertia", row, 0.0))
        return Group(name=name, kind=kind, material=material, section=section)
    except FormatError:
        raise
    except ProblemError as error:
        raise FormatError(f"{members.where(row)}: {error}") from None


def _table(path: Path, known: tuple[str, ...], needed: tuple[str, ...]) -> Table:
    """Read a table; its first line that is not a comment holds the headings."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            text = file.read()
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not a readable CSV file: {error}. Save it as UTF-8") from None
    heading = next((line for line in text.splitlines() if line.strip() and line.lstrip()[0] != "#"), "")
    separator = max(",;\t", key=heading.count)
    reader = csv.reader(text.splitlines(), delimiter=separator)
    try:
        rows = [
            (reader.line_num, [cell.strip() for cell in row])
            for row in reader
            if any(cell.strip() for cell in row) and not row[0].lstrip().startswith("#")
        ]
    except csv.Error as error:
        raise FormatError(f"{path}: line {reader.line_num}: not a readable CSV file: {error}") from None
    if not rows:
        raise FormatError(f"{path}: the table is empty: expected the columns {', '.join(known)}")
    if len(rows) == 1:
        raise FormatError(f"{path}: the table has headings and no rows")
    columns: dict[str, list[str]] = {}
    scale: dict[str, float] = {}
    for place, heading in enumerate(rows[0][1]):
        name, unit_factor = _heading(path, heading, known)
        if name in columns:
            raise FormatError(f"{path}: two columns are called '{name}'")
        columns[name] = [row[place] if place < len(row) else "" for _, row in rows[1:]]
        scale[name] = unit_factor
    for line, row in rows[1:]:
        if any(row[len(columns) :]):
            raise FormatError(
                f"{path}: line {line} has {len(row)} cells for {len(columns)} columns separated by "
                f"'{separator}'. A number with a decimal comma needs semicolons between the cells"
            )
    for name in needed:
        if name not in columns:
            raise FormatError(f"{path}: column '{name}' is missing: got {', '.join(columns)}")
    return Table(path, columns, scale, [line for line, _ in rows[1:]], separator != ",")


def _heading(path: Path, heading: str, known: tuple[str, ...]) -> tuple[str, float]:
    """Name of a column, and the factor from its unit to SI."""
    name, bracket, rest = heading.partition("[")
    name = name.strip()
    name = name.lower() if ":" not in name else name
    plain = name.partition(":")[0]
    if plain not in known or (":" in name and plain not in ("fx", "fy", "fz")):
        raise FormatError(f"{path}: unknown column '{heading}': expected {', '.join(known)}")
    if not bracket:
        return name, 1.0
    unit = rest.rstrip("] ").strip()
    if plain not in QUANTITY:
        raise FormatError(f"{path}: column '{plain}' has no unit, got '{unit}'")
    return name, factor(QUANTITY[plain], unit, f"{path}: column '{plain}'")
