"""Structured meshes: blocks, bars, rings, and blocks refined at a contact."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from clapas.bodies.elastic.elements import SOLID_ELEMENTS, element
from clapas.bodies.elastic.mesh import Mesh
from clapas.errors import SceneError, unknown_name
from clapas.geometry import checks
from clapas.typing import Array, Indices

SIDES = {
    2: (("left", "right"), ("bottom", "top")),
    3: (("left", "right"), ("front", "back"), ("bottom", "top")),
}


def block(
    size: Sequence[float],
    divisions: Sequence[int | npt.ArrayLike],
    kind: str | None = None,
    *,
    origin: Sequence[float] | None = None,
) -> Mesh:
    """A rectangle or a box, in equal or in given divisions.

    Parameters
    ----------
    size : d floats
        Lengths of the edges (m).
    divisions : d entries, each an int or an array
        Cells along each axis, or the stations between them as shares of the edge, from 0 to 1.
    kind : str, optional
        Element; Q4 or Hex8 by default.
    origin : d floats, optional
        The corner with the least coordinates (m); the origin by default.

    Returns
    -------
    Mesh
        With groups left, right, bottom, top (and front, back in space: y is the middle axis there).

    Examples
    --------
    >>> block((2.0, 1.0), (4, 2))
    Mesh(15 nodes in 2-D, 8 Q4; groups left, right, bottom, top)
    >>> block((1, 1, 1), (2, 2, 2), "Tet10").n_cells
    48
    """
    d = np.size(size)
    if d not in SIDES or np.ndim(size) != 1 or not np.iterable(divisions) or len(divisions) != d:
        raise SceneError(
            f"block: size and divisions must be 2 or 3 positive numbers each, got {size} and {divisions}"
        )
    for length in size:
        checks.positive("block", "size", length)
    kind = ("Q4" if d == 2 else "Hex8") if kind is None else kind
    if kind not in SOLID_ELEMENTS:
        raise unknown_name("solid element", kind, SOLID_ELEMENTS)
    if element(kind).d != d:
        raise SceneError(f"block: {kind} is an element of {element(kind).d}-D, the block is in {d}-D")
    corner = np.zeros(d) if origin is None else np.array(checks.vector("block", "origin", origin, d))
    stations = [corner[i] + size[i] * _shares(divisions[i]) for i in range(d)]
    counts = [len(line) for line in stations]
    # The first axis runs fastest.
    nodes = np.stack([grid.ravel() for grid in np.meshgrid(*stations[::-1], indexing="ij")[::-1]], axis=1)
    number = np.arange(len(nodes)).reshape(counts[::-1])
    groups = {}
    for axis in range(d):
        along = np.moveaxis(number, d - 1 - axis, 0)
        for name, layer in zip(SIDES[d][axis], (along[0], along[-1]), strict=True):
            groups[name] = layer.ravel()
    linear = {"T6": "T3", "Q8": "Q4", "Tet10": "Tet4"}.get(kind, kind)
    mesh = Mesh(nodes, {linear: _cells(number, linear)}, groups)
    return mesh if linear == kind else mesh.quadratic()


def bar(length: float, divisions: int, *, height: float = 1.0, kind: str = "Q4") -> Mesh:
    """A straight bar along x, one cell high; with Poisson's ratio zero, for one-dimensional waves.

    Examples
    --------
    >>> bar(1.0, 50)
    Mesh(102 nodes in 2-D, 50 Q4; groups left, right, bottom, top)
    """
    return block((length, height), (divisions, 1), kind)


def ring(
    inner: float,
    outer: float,
    divisions: tuple[int, int],
    kind: str = "Q4",
    *,
    angles: tuple[float, float] = (0.0, 0.5 * np.pi),
) -> Mesh:
    """A sector of a ring about the origin, by default the quarter with x, y ≥ 0.

    Parameters
    ----------
    inner, outer : float
        Radii (m).
    divisions : (int, int)
        Cells through the thickness and around.
    kind : str
        Element; quadratic ones get curved sides.
    angles : (float, float)
        From x, counterclockwise (rad); a full turn at most, which closes the ring.

    Returns
    -------
    Mesh
        With groups inner, outer, and start and end (the sides at the first and the last angle) unless it is
        closed.

    Examples
    --------
    >>> ring(0.5, 1.0, (1, 12), angles=(0.0, 2.0 * np.pi))
    Mesh(24 nodes in 2-D, 12 Q4; groups inner, outer)
    """
    begin, end = angles
    turn = 2.0 * np.pi
    if not 0.0 < inner < outer or not 0.0 < end - begin <= turn * (1.0 + 1e-12):
        raise SceneError(
            f"ring: needs 0 < inner < outer and a full turn at most, got radii {inner}, {outer} and "
            f"angles {angles}"
        )
    straight = block((outer - inner, end - begin), divisions, kind, origin=(inner, begin))
    radius, angle = straight.nodes.T
    names = {"left": "inner", "right": "outer", "bottom": "start", "top": "end"}
    if end - begin >= turn * (1.0 - 1e-12):
        return _closed(straight)
    return Mesh(
        np.column_stack((radius * np.cos(angle), radius * np.sin(angle))),
        straight.cells,
        {names[name]: nodes for name, nodes in straight.groups.items()},
    )


def _closed(straight: Mesh) -> Mesh:
    """A strip in (radius, angle) of a full turn, bent to a ring whose last nodes are its first."""
    first, last = straight.group("bottom"), straight.group("top")
    by_radius = (nodes[np.argsort(straight.nodes[nodes, 0])] for nodes in (first, last))
    same = np.arange(straight.n_nodes)
    start, end = by_radius
    same[end] = start
    kept = np.setdiff1d(np.arange(straight.n_nodes), last)
    number = np.full(straight.n_nodes, -1)
    number[kept] = np.arange(len(kept))
    number = number[same]
    radius, angle = straight.nodes[kept].T
    return Mesh(
        np.column_stack((radius * np.cos(angle), radius * np.sin(angle))),
        {name: number[rows] for name, rows in straight.cells.items()},
        {"inner": number[straight.group("left")], "outer": number[straight.group("right")]},
    )


def graded(fine: float, cells: int, growth: float) -> Array:
    """Stations from 0 to 1: ``cells`` equal ones on [0, fine], then cells that grow by the factor ``growth``.

    Examples
    --------
    >>> graded(0.25, 2, 2.0).round(3)
    array([0.   , 0.125, 0.25 , 0.5  , 1.   ])
    """
    if not 0.0 < fine <= 1.0 or cells < 1 or growth < 1.0:
        raise SceneError(
            f"graded: needs 0 < fine ≤ 1, cells ≥ 1 and growth ≥ 1, got {fine}, {cells}, {growth}"
        )
    first = fine / cells
    near = np.linspace(0.0, fine, cells + 1)
    far: list[float] = []
    length = first
    while fine + sum(far) < 1.0 - 1e-12:
        length *= growth
        far.append(length)
    if not far:
        return near
    rest = np.cumsum(far)
    return np.concatenate((near, fine + rest[:-1] * (1.0 - fine) / rest[-1], [1.0]))


def hertz_block(contact: float, size: float, cells: int, kind: str = "Q4", *, growth: float = 1.25) -> Mesh:
    """A square in x ≥ 0, y ≤ 0, refined at the origin for contact with a punch: half of a half-space.

    Parameters
    ----------
    contact : float
        Half-width of the contact (m); the equal fine cells reach 1.5 times as far.
    size : float
        Edge of the square (m): about fifty times the contact, so that the far field matters little.
    cells : int
        Cells along the half-width.
    kind : str
        Element.
    growth : float
        Ratio of neighbouring cells outside.
    """
    fine = 1.5 * contact / size
    stations = graded(fine, int(np.ceil(1.5 * cells)), growth)
    return block((size, size), (stations, 1.0 - stations[::-1]), kind, origin=(0.0, -size))


def _shares(divisions: int | npt.ArrayLike) -> Array:
    if np.ndim(divisions) == 0:
        if isinstance(divisions, bool) or not isinstance(divisions, (int, np.integer)):
            raise SceneError(
                "block: a division must be a whole number of cells, or stations from 0 to 1, got "
                f"{divisions!r}"
            )
        if divisions < 1:
            raise SceneError(f"block: an axis needs at least one cell, got {divisions}")
        return np.linspace(0.0, 1.0, int(divisions) + 1)
    try:
        stations = np.asarray(divisions, dtype=float)
    except (TypeError, ValueError):
        raise SceneError(f"block: stations must be numbers from 0 to 1, got {divisions!r}") from None
    if stations.ndim != 1 or len(stations) < 2 or stations[0] != 0.0 or stations[-1] != 1.0:
        raise SceneError(f"block: stations must go from 0 to 1, got {divisions!r}")
    if (np.diff(stations) <= 0.0).any():
        raise SceneError("block: stations must increase")
    return stations


def _cells(number: Indices, kind: str) -> Indices:
    """Cells of a grid of node numbers whose last axis is x."""
    d = number.ndim
    inner = tuple(slice(None, -1) if s == 0 else slice(1, None) for s in range(2))

    def corner(*shift: int) -> Indices:
        return number[tuple(inner[s] for s in shift[::-1])].ravel()

    if d == 2:
        a, b, c, e = corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)
        if kind == "Q4":
            return np.column_stack((a, b, c, e))
        return np.concatenate((np.column_stack((a, b, c)), np.column_stack((a, c, e))))
    cube = np.column_stack([corner(x, y, z) for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))])
    if kind == "Hex8":
        return cube
    # Kuhn's six tetrahedra about the diagonal 0-6: neighbouring cubes match.
    six = ((0, 1, 2, 6), (0, 2, 3, 6), (0, 3, 7, 6), (0, 7, 4, 6), (0, 4, 5, 6), (0, 5, 1, 6))
    return np.concatenate([cube[:, list(corners)] for corners in six])
