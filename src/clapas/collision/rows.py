"""Contact points as the kernels write them, and their way into the table of contacts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.collision.lean import lean_kernel
from clapas.collision.records import Records, Shapes
from clapas.compiled import subroutine
from clapas.typing import Array, Indices


class Pairs(NamedTuple):
    """The pairs the kernels treat, and what they need to find the periodic image.

    Parameters
    ----------
    listed : array (n_pairs,) of PAIR
        Two colliders each, and the periods between them when the list was made.
    wraps : array (n_bodies, 2)
        Whole periods each body has jumped since.
    period : array (2,)
        m.
    is_periodic : bool
        Is any direction periodic?
    """

    listed: Records
    wraps: Indices
    period: Array
    is_periodic: bool


@subroutine
def periods_x(pairs: Pairs, shapes: Shapes, p: int) -> int:
    """Periods to add to the second collider along x to come to the image of pair p."""
    pair = pairs.listed[p]
    a, b = shapes.pieces[pair.i].body, shapes.pieces[pair.j].body
    return pair.image_x - pairs.wraps[b, 0] + pairs.wraps[a, 0]


@subroutine
def periods_y(pairs: Pairs, shapes: Shapes, p: int) -> int:
    """The same along y."""
    pair = pairs.listed[p]
    a, b = shapes.pieces[pair.i].body, shapes.pieces[pair.j].body
    return pair.image_y - pairs.wraps[b, 1] + pairs.wraps[a, 1]


@subroutine
def between(pairs: Pairs, shapes: Shapes, p: int) -> tuple[float, float, float]:
    """Vector from the centre of the first collider of pair p to the image of that of the second."""
    pair = pairs.listed[p]
    c, o = shapes.centres[pair.j], shapes.centres[pair.i]
    x, y, z = c.x - o.x, c.y - o.y, c.z - o.z
    if pairs.is_periodic:
        x += periods_x(pairs, shapes, p) * pairs.period[0]
        y += periods_y(pairs, shapes, p) * pairs.period[1]
    return x, y, z


@subroutine
def write(
    rows: Records,
    count: int,
    pair: int,
    code: int,
    x: float,
    y: float,
    z: float,
    nx: float,
    ny: float,
    nz: float,
    gap: float,
) -> int:
    """Write a contact point if there is room, count it in any case."""
    if count < len(rows):
        row = rows[count]
        row.pair, row.code, row.gap = pair, code, gap
        row.x, row.y, row.z = x, y, z
        row.nx, row.ny, row.nz = nx, ny, nz
    return count + 1


class Table(NamedTuple):
    """Columns of the table of contacts while it is filled: a, b, collider a, collider b, feature; vectors."""

    whole: Indices
    point: Array
    normal: Array
    gap: Array
    shift: Array


def blank_table(n: int, d: int) -> Table:
    """Room for n contacts."""
    return Table(
        np.empty((5, n), dtype=np.int64), np.empty((n, d)), np.empty((n, d)), np.empty(n), np.zeros((n, d))
    )


class Numbering(NamedTuple):
    """How the number of a contact is made of its parts.

    feature = ((place of collider a in its body · colliders of b + place of b) · 10 + image) · n_codes + code

    Parameters
    ----------
    first, count : arrays (n_bodies,)
        First collider of each body, and how many it has.
    n_codes : int
        Codes of the points of one pair are below this.
    """

    first: Indices
    count: Indices  # type: ignore[assignment]
    n_codes: int


@lean_kernel
def count_by_pair(rows: Records, n: int, start: Indices) -> None:
    """Add the contacts of each pair p to start[p + 1]."""
    for k in range(n):
        start[rows[k].pair + 1] += 1


@lean_kernel
def deliver(
    rows: Records,
    n: int,
    start: Indices,
    pairs: Pairs,
    shapes: Shapes,
    distance: float,
    numbering: Numbering,
    table: Table,
) -> None:
    """Put the contacts of one group in their places; ``start`` moves on as they are filled."""
    d = table.point.shape[1]
    for k in range(n):
        row = rows[k]
        pair = pairs.listed[row.pair]
        at = start[row.pair]
        start[row.pair] += 1
        a, b = shapes.pieces[pair.i].body, shapes.pieces[pair.j].body
        limit = shapes.pieces[pair.i].bound + shapes.pieces[pair.j].bound + distance
        place = (pair.i - numbering.first[a]) * numbering.count[b] + pair.j - numbering.first[b]
        image = 0
        if pairs.is_periodic and limit < np.inf:  # a half-space is its own image
            kx, ky = periods_x(pairs, shapes, row.pair), periods_y(pairs, shapes, row.pair)
            image = image_code(kx, ky, pairs.period, limit)
            table.shift[at, 0], table.shift[at, 1] = kx * pairs.period[0], ky * pairs.period[1]
        table.whole[0, at], table.whole[1, at], table.whole[2, at], table.whole[3, at] = a, b, pair.i, pair.j
        table.whole[4, at] = (place * 10 + image) * numbering.n_codes + row.code
        table.gap[at] = row.gap
        table.point[at, 0], table.point[at, 1] = row.x, row.y
        table.normal[at, 0], table.normal[at, 1] = row.nx, row.ny
        if d == 3:
            table.point[at, 2], table.normal[at, 2] = row.z, row.nz


@subroutine
def image_code(kx: int, ky: int, period: Array, limit: float) -> int:
    """0 where only one image can touch; else which of the neighbouring images it is, from 1 to 9."""
    several_x, several_y = 0.0 < period[0] <= 2.0 * limit, 0.0 < period[1] <= 2.0 * limit
    code = 1 if several_x or several_y else 0
    if several_x:
        code += 3 * (kx % 3)
    if several_y:
        code += ky % 3
    return code


@lean_kernel
def settle(table: Table) -> None:
    """Put contacts of the same two bodies in the order of their features; nearly all are already."""
    whole = table.whole
    for k in range(1, len(table.gap)):
        row = k
        while (
            row > 0
            and whole[0, row] == whole[0, row - 1]
            and whole[1, row] == whole[1, row - 1]
            and whole[4, row] < whole[4, row - 1]
        ):
            swap(table, row)
            row -= 1


@subroutine
def swap(table: Table, row: int) -> None:
    """Exchange a row with the one before."""
    for m in range(2, 5):
        table.whole[m, row], table.whole[m, row - 1] = table.whole[m, row - 1], table.whole[m, row]
    table.gap[row], table.gap[row - 1] = table.gap[row - 1], table.gap[row]
    for m in range(table.point.shape[1]):
        table.point[row, m], table.point[row - 1, m] = table.point[row - 1, m], table.point[row, m]
        table.normal[row, m], table.normal[row - 1, m] = table.normal[row - 1, m], table.normal[row, m]
        table.shift[row, m], table.shift[row - 1, m] = table.shift[row - 1, m], table.shift[row, m]
