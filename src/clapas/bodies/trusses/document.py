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
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from clapas.bodies.trusses.materials import Group, Material, Section
from clapas.bodies.trusses.structure import ImpossibleTruss, Truss
from clapas.bodies.trusses.units import Units
from clapas.errors import FormatError

TOP = ("name", "units", "nodes", "groups", "supports", "cases", "allow_parallel", "order")
OF_GROUP = tuple(
    "kind young density yield_stress area inertia diameter thickness members prestress rest_length".split()
)


def read_tables(path: Path) -> Mapping[str, Any]:
    """The tables of a TOML or JSON file."""
    try:
        if path.suffix.lower() == ".toml":
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        else:
            content = json.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise FormatError(f"{path}: not a readable {path.suffix.lstrip('.').upper()} file: {error}") from None
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror})") from None
    if not isinstance(content, Mapping):
        raise FormatError(
            f"{path}: expected a table with {', '.join(TOP[2:4])}, got {type(content).__name__}"
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
    units = Units.of(content.get("units", {}), where)
    labels = list(content["nodes"])
    number = {label: place for place, label in enumerate(labels)}
    nodes = np.array(
        [_numbers(content["nodes"][label], where, f"nodes.{label}") for label in labels], dtype=object
    )
    if len({len(row) for row in nodes}) != 1 or len(nodes[0]) not in (2, 3):
        raise FormatError(f"{where}: [nodes] must all have two or all have three coordinates")
    positions = np.array(nodes.tolist(), dtype=np.float64) * units.length
    d = positions.shape[1]

    def node(label: Any, place: str) -> int:
        if str(label) not in number:
            raise FormatError(f"{where}: {place} names node '{label}', which is not in [nodes]")
        return number[str(label)]

    groups, members, group, prestress, rest = [], [], [], [], []
    for place, (name, table) in enumerate(content["groups"].items()):
        groups.append(_group(name, table, units, where))
        pairs = table.get("members", [])
        if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
            raise FormatError(
                f'{where}: groups.{name}.members must be pairs of node names, like [["a", "b"]]'
            )
        members += [[node(a, f"groups.{name}"), node(b, f"groups.{name}")] for a, b in pairs]
        group += [place] * len(pairs)
        prestress += _each(table, "prestress", len(pairs), 0.0, where, name)
        rest += _each(table, "rest_length", len(pairs), np.nan, where, name)
    blocked = np.zeros(positions.shape, dtype=bool)
    for label, axes in content.get("supports", {}).items():
        wanted = "xyz"[:d] if axes == "all" else str(axes)
        if not wanted or set(wanted) - set("xyz"[:d]):
            raise FormatError(
                f"{where}: supports.{label} must be 'all' or axes among '{'xyz'[:d]}', got {axes!r}"
            )
        blocked[node(label, "[supports]"), ["xyz".index(axis) for axis in wanted]] = True
    cases = {}
    for name, table in content.get("cases", {}).items():
        cases[name] = np.zeros(positions.shape)
        for label, load in table.items():
            values = _numbers(load, where, f"cases.{name}.{label}")
            if len(values) != d:
                raise FormatError(f"{where}: cases.{name}.{label} needs {d} components, got {len(values)}")
            cases[name][node(label, f"cases.{name}")] = np.array(values) * units.force
    try:
        truss = Truss(
            nodes=positions,
            members=np.array(members, dtype=np.int64).reshape(-1, 2),
            groups=groups,
            group=group,
            prestress=np.array(prestress) * units.force,
            is_blocked=blocked,
            cases=cases,
            labels=labels,
            allow_parallel=bool(content.get("allow_parallel", False)),
            name=str(content.get("name", "")),
        )
    except ImpossibleTruss as error:
        if error.member is None:
            raise ImpossibleTruss(f"{where}: {error}", node=error.node) from None
        name, row = groups[group[error.member]].name, error.member - group.index(group[error.member])
        pair = [labels[end] for end in members[error.member]]
        raise ImpossibleTruss(
            f"{where}: groups.{name}.members, pair {row + 1} {pair}: {error}", member=error.member
        ) from None
    lengths = np.array(rest) * units.length
    given = np.isfinite(lengths)
    if given.any():
        own = truss.rest_lengths
        truss = truss.with_rest_lengths(np.where(given, lengths, own))
    return truss if "order" not in content else _reordered(truss, content["order"], where)


def _reordered(truss: Truss, order: Any, where: str) -> Truss:
    """The truss with its members, which a document lists by groups, as they were numbered before."""
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
        mine = np.flatnonzero(truss.group == place)
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
            "members": [[labels[a], labels[b]] for a, b in truss.members[mine]],
            "prestress": truss.prestress[mine].tolist(),
        }
    held = np.flatnonzero(truss.is_blocked.any(axis=1))
    order = np.argsort(truss.group, kind="stable")
    numbered = {} if np.array_equal(order, np.arange(len(order))) else {"order": order.tolist()}
    return {
        **numbered,
        "name": truss.name,
        "allow_parallel": truss.allow_parallel,
        "nodes": {label: position.tolist() for label, position in zip(labels, truss.nodes, strict=True)},
        "groups": groups,
        "supports": {labels[n]: "".join("xyz"[a] for a in np.flatnonzero(truss.is_blocked[n])) for n in held},
        "cases": {
            name: {labels[n]: loads[n].tolist() for n in np.flatnonzero(loads.any(axis=1))}
            for name, loads in truss.cases.items()
        },
    }


def _group(name: str, table: Mapping[str, Any], units: Units, where: str) -> Group:
    _only(table, OF_GROUP, f"{where}: groups.{name}")
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


def _numbers(value: Any, where: str, place: str) -> list[float]:
    if not isinstance(value, list | tuple) or not all(isinstance(each, int | float) for each in value):
        raise FormatError(f"{where}: {place} must be a list of numbers, got {value!r}")
    return [float(each) for each in value]


def _only(table: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    unknown = [key for key in table if key not in known]
    if unknown:
        raise FormatError(f"{where}: unknown key '{unknown[0]}': expected {', '.join(known)}")
