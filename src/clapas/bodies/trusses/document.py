"""A truss as one document, as TOML and JSON files hold it.

name = "two wires"

[units]                      # optional; SI where nothing is said
length = "mm"
stress = "GPa"

[nodes]
left = [-1000, 1000]         # two or three coordinates
right = [1000, 1000]
foot = [0, 0]

[groups.wire]
kind = "cable"               # or "bar"
young = 200
area = 1e-5                  # or diameter (and thickness, for a tube)
members = [["left", "foot"], ["right", "foot"]]
prestress = 0.0              # one number, or one per member; or rest_length

[supports]
left = "xy"                  # blocked axes, or "all"
right = "all"

[cases.weight]
foot = [0, -100]
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from clapas.bodies.trusses.materials import Group, Material, Section
from clapas.bodies.trusses.structure import ImpossibleTruss, Truss
from clapas.bodies.trusses.units import Units
from clapas.errors import FormatError
from clapas.typing import Array, Mask

TABLES = ("nodes", "groups", "units", "supports", "cases")
TOP = (*TABLES, "name", "allow_parallel", "order")
OF_SECTION = tuple("kind young density yield_stress area inertia diameter thickness".split())
OF_GROUP = (*OF_SECTION, "members", "prestress", "rest_length")


def read_tables(path: Path) -> Mapping[str, Any]:
    """The tables of a TOML or JSON file."""
    try:
        if path.suffix.lower() == ".toml":
            content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        else:
            content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise FormatError(f"{path}: not a readable {path.suffix.lstrip('.').upper()} file: {error}") from None
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror})") from None
    if not isinstance(content, Mapping):
        raise FormatError(
            f"{path}: expected a table with {', '.join(TABLES[:2])}, got {type(content).__name__}"
        )
    return content


def from_document(content: Mapping[str, Any], where: str = "document") -> Truss:
    """A truss from the tables of a document.

    Examples
    --------
    >>> wire = {"kind": "cable", "young": 2e11, "area": 1e-5, "members": [["a", "c"], ["b", "c"]]}
    >>> from_document({"nodes": {"a": [-1, 1], "b": [1, 1], "c": [0, 0]}, "groups": {"wire": wire},
    ...                "supports": {"a": "all", "b": "all"}, "cases": {"weight": {"c": [0, -100]}}})
    Truss(3 nodes, 0 bars, 2 cables, 2 free displacements, cases: weight)
    """
    _only(content, TOP, where)
    for key in ("nodes", "groups"):
        if not content.get(key):
            raise FormatError(
                f"{where}: [{key}] is missing or empty: a truss needs nodes and groups of members"
            )
    tables = {key: _table(content.get(key, {}), where, f"[{key}]") for key in TABLES}
    units = Units.of(tables["units"], where)
    nodes = _nodes(tables["nodes"], units, where)
    listed = _members(tables["groups"], nodes, units)
    try:
        truss = Truss(
            nodes=nodes.positions,
            members=np.array(listed.members, dtype=np.int64).reshape(-1, 2),
            groups=listed.groups,
            group=listed.group,
            prestress=np.array(listed.prestress) * units.force,
            is_blocked=_supports(tables["supports"], nodes),
            cases=_cases(tables["cases"], nodes, units),
            labels=nodes.labels,
            allow_parallel=bool(content.get("allow_parallel", False)),
            name=str(content.get("name", "")),
        )
        lengths = np.array(listed.rest_lengths) * units.length
        if np.isfinite(lengths).any():
            truss = truss.with_rest_lengths(np.where(np.isfinite(lengths), lengths, truss.rest_lengths))
    except ImpossibleTruss as error:
        raise listed.placed(error, nodes) from None
    return truss if "order" not in content else _reordered(truss, content["order"], where)


@dataclass(frozen=True)
class _Nodes:
    """The nodes of a document: names, positions (n × d, m), and the name of the document."""

    labels: list[str]
    positions: Array
    where: str

    @property
    def d(self) -> int:
        return int(self.positions.shape[1])

    @cached_property
    def numbers(self) -> dict[str, int]:
        return {label: place for place, label in enumerate(self.labels)}

    def number(self, label: Any, place: str) -> int:
        """Number of a node by its label; ``place`` appears in errors."""
        if str(label) not in self.numbers:
            raise FormatError(f"{self.where}: {place} names node '{label}', which is not in [nodes]")
        return self.numbers[str(label)]


@dataclass
class _Members:
    """The members of a document, group after group."""

    groups: list[Group] = field(default_factory=list)
    members: list[list[int]] = field(default_factory=list)
    group: list[int] = field(default_factory=list)
    prestress: list[float] = field(default_factory=list)
    rest_lengths: list[float] = field(default_factory=list)

    def placed(self, error: ImpossibleTruss, nodes: _Nodes) -> ImpossibleTruss:
        """The error with the position of its member in the document."""
        if error.member is None:
            return ImpossibleTruss(f"{nodes.where}: {error}", node=error.node)
        number = self.group[error.member]
        row = error.member - self.group.index(number)
        pair = [nodes.labels[end] for end in self.members[error.member]]
        place = f"groups.{self.groups[number].name}.members, pair {row + 1} {pair}"
        return ImpossibleTruss(f"{nodes.where}: {place}: {error}", member=error.member)


def _nodes(table: Mapping[str, Any], units: Units, where: str) -> _Nodes:
    rows = [_numbers(position, where, f"nodes.{label}") for label, position in table.items()]
    if len({len(row) for row in rows}) != 1 or len(rows[0]) not in (2, 3):
        raise FormatError(f"{where}: [nodes] must all have two or all have three coordinates")
    return _Nodes(list(table), np.array(rows, dtype=np.float64) * units.length, where)


def _members(tables: Mapping[str, Any], nodes: _Nodes, units: Units) -> _Members:
    listed, where = _Members(), nodes.where
    for place, (name, table) in enumerate(tables.items()):
        listed.groups.append(_group(name, table, units, where))
        pairs = table.get("members", [])
        if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
            raise FormatError(
                f'{where}: groups.{name}.members must be pairs of node names, like [["a", "b"]]'
            )
        listed.members += [[nodes.number(end, f"groups.{name}") for end in pair] for pair in pairs]
        listed.group += [place] * len(pairs)
        listed.prestress += _each(table, "prestress", len(pairs), 0.0, where, name)
        listed.rest_lengths += _each(table, "rest_length", len(pairs), np.nan, where, name)
    return listed


def _supports(table: Mapping[str, Any], nodes: _Nodes) -> Mask:
    """Blocked components (n × d)."""
    blocked = np.zeros(nodes.positions.shape, dtype=bool)
    known = "xyz"[: nodes.d]
    for label, axes in table.items():
        blocked_axes = known if axes == "all" else str(axes)
        if not blocked_axes or set(blocked_axes) - set(known):
            raise FormatError(
                f"{nodes.where}: supports.{label} must be 'all' or axes among '{known}', got {axes!r}"
            )
        blocked[nodes.number(label, "[supports]"), ["xyz".index(axis) for axis in blocked_axes]] = True
    return blocked


def _cases(tables: Mapping[str, Any], nodes: _Nodes, units: Units) -> dict[str, Array]:
    """Loads (n × d) by case."""
    cases = {}
    for name, table in tables.items():
        cases[name] = np.zeros(nodes.positions.shape)
        for label, load in _table(table, nodes.where, f"cases.{name}").items():
            place = f"cases.{name}.{label}"
            values = _numbers(load, nodes.where, place)
            if len(values) != nodes.d:
                raise FormatError(f"{nodes.where}: {place} needs {nodes.d} components, got {len(values)}")
            cases[name][nodes.number(label, f"cases.{name}")] = np.array(values) * units.force
    return cases


def _reordered(truss: Truss, order: Any, where: str) -> Truss:
    """The truss with its members, listed by groups in a document, in their original order."""
    numbers = np.array(order) if isinstance(order, list) else np.empty(0)
    if numbers.dtype.kind != "i" or not np.array_equal(np.sort(numbers), np.arange(truss.n_members)):
        raise FormatError(f"{where}: 'order' must hold the numbers 0 to {truss.n_members - 1}, each once")
    place = np.argsort(numbers)
    return truss.with_(
        members=truss.members[place], group=truss.group[place], prestress=truss.prestress[place]
    )


def to_document(truss: Truss) -> dict[str, Any]:
    """The tables of a truss, in SI; :func:`from_document` reads them back."""
    labels = [truss.label(node) for node in range(truss.n_nodes)]
    groups = {}
    for place, group in enumerate(truss.groups):
        members = np.flatnonzero(truss.group == place)
        groups[group.name] = {
            "kind": group.kind,
            "young": group.material.young,
            "density": group.material.density,
            **(
                {"yield_stress": group.material.yield_stress}
                if np.isfinite(group.material.yield_stress)
                else {}
            ),
            "area": group.section.area,
            "inertia": group.section.inertia,
            "members": [[labels[a], labels[b]] for a, b in truss.members[members]],
            "prestress": truss.prestress[members].tolist(),
        }
    supported = np.flatnonzero(truss.is_blocked.any(axis=1))
    order = np.argsort(truss.group, kind="stable")
    numbered = {} if np.array_equal(order, np.arange(len(order))) else {"order": order.tolist()}
    return {
        **numbered,
        "name": truss.name,
        "allow_parallel": truss.allow_parallel,
        "nodes": {label: position.tolist() for label, position in zip(labels, truss.nodes, strict=True)},
        "groups": groups,
        "supports": {
            labels[n]: "".join("xyz"[a] for a in np.flatnonzero(truss.is_blocked[n])) for n in supported
        },
        "cases": {
            name: {labels[n]: loads[n].tolist() for n in np.flatnonzero(loads.any(axis=1))}
            for name, loads in truss.cases.items()
        },
    }


def read_groups(path: str | os.PathLike[str]) -> dict[str, Group]:
    """Kinds, materials and sections by name, for files that carry geometry only.

    The tables [groups.NAME] of a document, without members, and its [units].
    """
    content, where = read_tables(Path(path)), str(path)
    _only(content, ("units", "groups"), where)
    tables = _table(content.get("groups", {}), where, "[groups]")
    if not tables:
        raise FormatError(f"{where}: [groups] is missing or empty: expected tables like [groups.strut]")
    units = Units.of(_table(content.get("units", {}), where, "[units]"), where)
    for name, table in tables.items():
        _only(_table(table, where, f"groups.{name}"), OF_SECTION, f"{where}: groups.{name}")
    return {name: _group(name, table, units, where) for name, table in tables.items()}


def _group(name: str, table: Mapping[str, Any], units: Units, where: str) -> Group:
    _only(_table(table, where, f"groups.{name}"), OF_GROUP, f"{where}: groups.{name}")
    if "young" not in table:
        raise FormatError(f"{where}: groups.{name} needs 'young', Young's modulus")
    material = Material(
        young=float(table["young"]) * units.stress,
        density=float(table.get("density", 7850.0)) * units.density,
        yield_stress=float(table.get("yield_stress", np.inf)) * units.stress,
    )
    if "diameter" in table:
        diameter = float(table["diameter"]) * units.length
        thick = table.get("thickness")
        section = (
            Section.round(diameter=diameter)
            if thick is None
            else Section.tube(diameter=diameter, thickness=float(thick) * units.length)
        )
    elif "area" in table:
        section = Section(
            area=float(table["area"]) * units.area, inertia=float(table.get("inertia", 0.0)) * units.inertia
        )
    else:
        raise FormatError(f"{where}: groups.{name} needs 'area', or 'diameter' (with 'thickness' for a tube)")
    return Group(name=name, kind=table.get("kind", "bar"), material=material, section=section)


def _each(
    table: Mapping[str, Any], key: str, count: int, default: float, where: str, name: str
) -> list[float]:
    value = table.get(key, default)
    if isinstance(value, list):
        if len(value) != count:
            raise FormatError(f"{where}: groups.{name}.{key} has {len(value)} values for {count} members")
        return [float(each) for each in value]
    return [float(value)] * count


def _table(value: Any, where: str, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise FormatError(f"{where}: {place} must be a table of names and values, got {value!r:.60}")
    return value


def _numbers(value: Any, where: str, place: str) -> list[float]:
    if not isinstance(value, list | tuple) or not all(isinstance(each, int | float) for each in value):
        raise FormatError(f"{where}: {place} must be a list of numbers, got {value!r}")
    return [float(each) for each in value]


def _only(table: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    unknown = [key for key in table if key not in known]
    if unknown:
        raise FormatError(f"{where}: unknown key '{unknown[0]}': expected {', '.join(known)}")
