"""Trusses from networks and graphs of COMPAS as JSON (versions 1 and 2)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from clapas.bodies.trusses.materials import Group
from clapas.bodies.trusses.structure import Truss
from clapas.errors import Error, FormatError
from clapas.io.trusses.lines import chosen_groups

SUPPORT_KEYS = ("is_fixed", "is_anchor", "is_support")


def read_compas(path: Path, *, groups: Mapping[str, Group] | None = None) -> Truss:
    """A network or graph of COMPAS.

    Nodes: x, y, z; ``is_fixed``, ``is_anchor`` or ``is_support`` blocks; px, py, pz are loads (N). Edges:
    ``group`` or ``kind`` names the group, ``f`` is the prestress (N), ``q`` the force density (N/m).
    """
    graph = find_graph(json.loads(path.read_text(encoding="utf-8-sig")))
    if graph is None:
        raise FormatError(f"{path}: no COMPAS network in this JSON: expected tables 'node' and 'edge'")
    defaults = {**graph.get("attributes", {}), **graph.get("default_node_attributes", graph.get("dna", {}))}
    labels = list(graph["node"])
    number = {label: place for place, label in enumerate(labels)}
    rows = [{**defaults, **graph["node"][label]} for label in labels]

    def vectors(names: tuple[str, ...]) -> Any:
        return np.array(
            [
                [_number(row.get(name), path, f"node {label}, '{name}'") for name in names]
                for label, row in zip(labels, rows, strict=True)
            ]
        ).reshape(-1, 3)

    nodes, loads = vectors(("x", "y", "z")), vectors(("px", "py", "pz"))
    is_support = [any(bool(row.get(key)) for key in SUPPORT_KEYS) for row in rows]
    members, names, forces = [], [], []
    pairs_read = set()
    for a, others in graph["edge"].items():
        for b, edge in others.items():
            for end in (str(a), str(b)):
                if end not in number:
                    raise FormatError(f"{path}: edge {a}-{b} names node {end}, which is not in 'node'")
            pair = (number[str(a)], number[str(b)])
            if pair[::-1] in pairs_read:
                continue  # an undirected graph may hold both directions
            pairs_read.add(pair)
            attributes = edge or {}
            members.append(pair)
            names.append(str(attributes.get("group") or attributes.get("kind") or "members"))
            span = float(np.linalg.norm(nodes[pair[1]] - nodes[pair[0]]))
            force, density = (_number(attributes.get(key), path, f"edge {a}-{b}, '{key}'") for key in "fq")
            forces.append(force or density * span)
    kinds = list(dict.fromkeys(names))
    try:
        return Truss(
            nodes=nodes,
            members=np.array(members, dtype=np.int64).reshape(-1, 2),
            groups=chosen_groups(kinds, groups, path),
            group=[kinds.index(name) for name in names],
            prestress=forces,
            is_blocked=np.repeat(np.array(is_support, dtype=bool)[:, None], 3, axis=1),
            cases={"load": loads} if loads.any() else {},
            labels=labels,
            name=path.stem,
        )
    except Error as error:
        raise type(error)(f"{path}: {error}") from None


def _number(value: Any, path: Path, place: str) -> float:
    """A finite number; zero for None."""
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise FormatError(f"{path}: {place} must be a finite number, got {value!r}")
    return float(value)


def find_graph(content: Any) -> dict[str, Any] | None:
    """The table with 'node' and 'edge', in any version of COMPAS."""
    if isinstance(content, dict):
        if isinstance(content.get("node"), dict) and isinstance(content.get("edge"), dict):
            return content
        for key in ("data", "value"):
            if key in content:
                return find_graph(content[key])
    return None
