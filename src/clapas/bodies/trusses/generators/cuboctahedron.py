"""The half-cuboctahedron ("quadruplex") module and plane grids of it: 8 nodes, 12 cables and 4 bars a module.

Lower square of side L, upper square turned by 45 degrees through the middles of its sides, at the height H.
With i = 0…3 modulo 4: lower cable i to i+1, upper cable 4+i to 4+i+1, inclined cable i to 4+i, bar i to
4+(i+1).

The coordinates are those that give the forces of tables 5.2 and 5.5 of the LMGC thesis on tensegrity.

References: LMGC thesis on tensegrity, sections 5.1 and 5.3; Motro 2003.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from clapas.bodies.trusses.materials import Group, Material, Section
from clapas.bodies.trusses.structure import Truss
from clapas.errors import ProblemError
from clapas.typing import Array, Indices

CABLE = Material(young=1e11)
BAR = Material(young=2e11, yield_stress=235e6)
CABLE_SECTION, BAR_SECTION = Section(area=0.5e-4), Section(area=2.8e-4)
NAMES = ("lower", "upper", "inclined", "bar", "crossed")


def module(
    *, length: float = 1.0, height: float = 0.5, tension: float = 2000.0, modified: bool = False
) -> Truss:
    """One half-cuboctahedron module, free-standing and self-stressed.

    Parameters
    ----------
    length, height : float
        Side L of the lower square, and H (m).
    tension : float
        Force of the lower cables (N). Upper cables carry √2 of it, inclined ones √(1 + 4H²/L²), bars −√(5 +
        4H²/L²).
    modified : bool
        Add two crossed cables in each square, without prestress.

    Examples
    --------
    >>> module()
    Truss(half-cuboctahedron 1×1: 8 nodes, 4 bars, 12 cables, 24 free displacements, cases: none)
    """
    return grid(
        1, 1, length=length, height=height, tension=tension, modified=modified, supports="none", load=0.0
    )


def grid(
    n: int,
    m: int | None = None,
    *,
    length: float = 1.0,
    height: float = 0.5,
    tension: float = 2000.0,
    modified: bool = False,
    supports: Literal["edges", "none"] = "edges",
    load: float = 40.0,
) -> Truss:
    """A plane grid of n × m modules, merged at coincident nodes.

    The lower cables of neighbouring modules lie side by side and are both kept, as in the thesis: 12 cables a
    module. Supports hold the lower nodes of the two edges x = const; the case "down" puts ``load`` newtons
    downward on every other node, "up" the same upward.

    Examples
    --------
    >>> grid(4)
    Truss(half-cuboctahedron 4×4: 65 nodes, 64 bars, 192 cables, 165 free displacements, cases: down, up)
    """
    sizes = length, height, tension
    return _modules(n, n if m is None else m, sizes, modified, supports, load, is_bolted=False)[0]


def bolted_grid(
    n: int,
    m: int | None = None,
    *,
    length: float = 1.0,
    height: float = 0.5,
    tension: float = 2000.0,
    modified: bool = False,
    supports: Literal["edges", "none"] = "edges",
    load: float = 40.0,
) -> tuple[Truss, Indices]:
    """The same grid with modules that keep their own nodes, and the pairs of nodes (t × 2) that bolts join.

    Where k modules meet there are k nodes and k − 1 bolts, from the first of them to the others; the load of
    the place is on the first. For ``MovingTruss(truss=truss, ties=pairs)``.

    Examples
    --------
    8 × 8 modules: 512 nodes at 225 places, 287 bolts, 861 rows.

    >>> truss, pairs = bolted_grid(8)
    >>> truss.n_nodes, truss.n_nodes - len(pairs), 3 * len(pairs)
    (512, 225, 861)
    """
    sizes = length, height, tension
    return _modules(n, n if m is None else m, sizes, modified, supports, load, is_bolted=True)


def _modules(
    n: int,
    m: int,
    sizes: tuple[float, float, float],
    modified: bool,
    supports: str,
    load: float,
    *,
    is_bolted: bool,
) -> tuple[Truss, Indices]:
    """Modules side by side, merged or with nodes of their own, and the pairs of nodes that bolts join."""
    if n < 1 or m < 1:
        raise ProblemError(f"a grid needs at least one module in each direction, got {n} × {m}")
    if supports not in ("edges", "none"):
        raise ProblemError(f"supports must be 'edges' or 'none', got {supports!r}")
    length, height, tension = sizes
    corners, members, group = _module(length, height, modified)
    j, i = np.divmod(np.arange(n * m), n)
    shifts = np.column_stack((i * length, j * length, np.zeros(n * m)))
    copies = (corners[None] + shifts[:, None]).reshape(-1, 3)
    # Nodes lie on a lattice of half lengths: coincident copies have equal lattice numbers.
    keys = np.rint(copies / (np.array([0.5, 0.5, 1.0]) * (length, length, height))).astype(np.int64)
    _, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))  # in the order in which the modules name them
    main = np.sort(first)[rank[place.ravel()]]  # the first copy at the place of each
    chosen = np.arange(len(copies)) if is_bolted else np.sort(first)
    nodes = copies[chosen]
    number = np.arange(len(copies)) if is_bolted else rank[place.ravel()]
    ends = number.reshape(n * m, -1)[:, members].reshape(-1, 2)
    slope = 4.0 * height**2 / length**2
    forces = tension * np.array([1.0, np.sqrt(2.0), np.sqrt(1.0 + slope), -np.sqrt(5.0 + slope), 0.0])
    x, low = nodes[:, 0], keys[chosen, 2] == 0
    edge = np.isclose(x, x.min()) | np.isclose(x, x.max())
    held = (low & edge) if supports == "edges" else np.zeros(len(nodes), dtype=bool)
    down = np.zeros_like(nodes)
    down[~held & (main[chosen] == chosen), 2] = -load
    groups = tuple(
        Group(
            name=name,
            kind="bar" if name == "bar" else "cable",
            material=BAR if name == "bar" else CABLE,
            section=BAR_SECTION if name == "bar" else CABLE_SECTION,
        )
        for name in NAMES[: 5 if modified else 4]
    )
    joined = np.flatnonzero(main != np.arange(len(copies))) if is_bolted else np.empty(0, dtype=np.int64)
    truss = Truss(
        nodes=nodes,
        members=ends,
        groups=groups,
        group=np.tile(group, n * m),
        prestress=np.tile(forces[group], n * m),
        is_blocked=np.repeat(held[:, None], 3, axis=1),
        cases={"down": down, "up": -down} if load else {},
        allow_parallel=True,
        name=f"half-cuboctahedron {n}×{m}" + ", modified" * modified + ", bolted" * is_bolted,
    )
    return truss, np.column_stack((main[joined], joined))


def _module(length: float, height: float, modified: bool) -> tuple[Array, Indices, Indices]:
    a = 0.5 * length
    low = [(-a, -a, 0.0), (a, -a, 0.0), (a, a, 0.0), (-a, a, 0.0)]
    high = [(0.0, -a, height), (a, 0.0, height), (0.0, a, height), (-a, 0.0, height)]
    i = np.arange(4)
    after = (i + 1) % 4
    pairs = [(i, after), (4 + i, 4 + after), (i, 4 + i)]
    sorts = [0, 1, 2]
    if modified:
        pairs.append((np.array([0, 1, 4, 5]), np.array([2, 3, 6, 7])))
        sorts.append(4)
    pairs.append((i, 4 + after))
    sorts.append(3)
    members = np.concatenate([np.column_stack(pair) for pair in pairs])
    return np.array(low + high), members, np.repeat(sorts, 4)
