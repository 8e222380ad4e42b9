"""Trusses from lines drawn in other programs: coinciding ends are one node; sections are added here.

Layers, edge attributes or cell sets become groups. A group whose name contains "cable", "tendon", "wire",
"rope" or "net" is one of cables, any other one of bars, with a stock steel section, and a warning says so;
pass ``groups`` to set kinds, materials and sections.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.spatial import cKDTree

from clapas.bodies.trusses.materials import Group, Kind, Material, Section
from clapas.bodies.trusses.structure import ImpossibleTruss, Truss
from clapas.errors import FormatError, warn
from clapas.typing import Array, Indices

STEEL = Material(young=210e9, yield_stress=235e6)
SECTIONS = {"bar": Section.tube(diameter=0.048, thickness=0.003), "cable": Section(area=5e-5)}
STOCK = {  # the same in words
    "bar": "bars, tubes of 48 × 3 mm of steel (210 GPa, yield 235 MPa)",
    "cable": "cables of 50 mm² of steel (210 GPa, yield 235 MPa)",
}
CABLE_WORDS = ("cable", "tendon", "wire", "rope", "net")
MERGED = 1e-6  # distance of ends, relative to the size of the drawing, at which they are one node


@dataclass
class Drawing:
    """Lines and support points, with their layers and positions in the file.

    Parameters
    ----------
    ends : list
        Pairs of points (x, y, z) of the lines.
    layers : list of str
        Layer of each line.
    places : list of str
        Position of each line in the file, for messages.
    supports : list
        Points that support the node they lie on: point, blocked axes, position in the file.
    """

    ends: list[Array] = field(default_factory=list)
    layers: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    supports: list[tuple[Array, str, str]] = field(default_factory=list)

    def add(self, a: Array, b: Array, layer: str, place: str) -> None:
        """Add a line from a to b."""
        self.ends.append(np.array([a, b], dtype=np.float64))
        self.layers.append(layer)
        self.places.append(place)

    def truss(self, scale: float, groups: Mapping[str, Group] | None, path: Path) -> Truss:
        """The truss of these lines, with lengths times ``scale``; flat drawings give plane trusses."""
        ends = scale * np.array(self.ends).reshape(-1, 3)
        size = float(np.ptp(ends, axis=0).max()) or 1.0
        nodes, number = merged(ends, MERGED * size)
        d = 2 if float(np.ptp(nodes[:, 2])) <= MERGED * size else 3
        blocked = np.zeros(nodes.shape, dtype=bool)
        for point, axes, place in self.supports:
            near = np.linalg.norm(nodes - scale * point, axis=1)
            if near.min() > 10 * MERGED * size:
                raise FormatError(
                    f"{path}: {place}: the support point {(scale * point).tolist()} (m) lies on no end of a "
                    "line. Move it there, or end the line there"
                )
            blocked[int(np.argmin(near)), ["xyz".index(axis) for axis in axes]] = True
        kinds = list(dict.fromkeys(self.layers))
        try:
            return Truss(
                nodes=nodes[:, :d],
                members=number.reshape(-1, 2),
                groups=chosen_groups(kinds, groups, path),
                group=[kinds.index(name) for name in self.layers],
                is_blocked=blocked[:, :d],
                name=path.stem,
            )
        except ImpossibleTruss as error:
            if error.member is None:
                raise
            place = f"{self.places[error.member]}, layer '{self.layers[error.member]}'"
            raise ImpossibleTruss(f"{path}: {place}: {error}", member=error.member) from None


def merged(points: Array, distance: float) -> tuple[Array, Indices]:
    """Merge points closer than a distance: the distinct points (k × 3), and the index of each input point.

    Rounding to a lattice would separate neighbours on both sides of a cell wall; here chains of near points
    are merged. The first of each is kept.

    Examples
    --------
    >>> merged(np.array([[0.0, 0, 0], [1, 0, 0], [1 + 1e-9, 0, 0]]), 1e-6)[1]
    array([0, 1, 1])
    """
    pairs = cKDTree(points).query_pairs(distance, output_type="ndarray")
    graph = sparse.coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(len(points),) * 2)
    _, part = csgraph.connected_components(graph, directed=False)
    _, first, number = np.unique(part, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return points[first[order]], rank[number.ravel()]


def chosen_groups(names: Sequence[str], defined: Mapping[str, Group] | None, path: Path) -> list[Group]:
    """The groups of these names: user-defined, or stock steel sections with a warning."""
    chosen = [(defined or {}).get(name) or guessed_group(name) for name in names]
    invented = [group for group in chosen if group.name not in (defined or {})]
    unused = [repr(name) for name in defined or {} if name not in names]
    if unused:
        known = ", ".join(map(repr, names)) or "none"
        warn(f"{path}: no member is in the group {', '.join(unused)}; the groups of its members are {known}")
    for kind, words in STOCK.items():
        guessed = [repr(group.name) for group in invented if group.kind == kind]
        if guessed:
            warn(
                f"{path}: nothing is said of material and section of {', '.join(guessed)}: taken as {words}. "
                "Displacements, weights, member checks and shared forces follow from that: give your own, "
                "with --groups FILE.toml in the shell, groups={...} in Python"
            )
    return chosen


def guessed_group(name: str) -> Group:
    """A group of steel whose kind is guessed from its name.

    Examples
    --------
    >>> guessed_group("Upper cables").kind, guessed_group("struts").kind
    ('cable', 'bar')
    """
    kind: Kind = "cable" if any(word in name.lower() for word in CABLE_WORDS) else "bar"
    return Group(name=name, kind=kind, material=STEEL, section=SECTIONS[kind])


def held_axes(layer: str) -> str:
    """Axes that a support on this layer holds: those its name ends with, or all.

    Examples
    --------
    >>> held_axes("supports"), held_axes("Support_z"), held_axes("rollers xz")
    ('xyz', 'z', 'xz')
    """
    words: Sequence[str] = layer.lower().replace("_", " ").replace("-", " ").split()
    return words[-1] if len(words) > 1 and not set(words[-1]) - set("xyz") else "xyz"
