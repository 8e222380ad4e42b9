"""Pairs that the kernels read, contact points that they write, and the table of contacts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clapas.collision.records import Records, Shapes, as_int64
from clapas.compiled import subroutine, uncounted_kernel
from clapas.typing import Array, Indices


class Pairs(NamedTuple):
    """List of pairs, with the data that determine their periodic images.

    Parameters
    ----------
    listed : array (n_pairs,) of PAIR
        Two colliders each, and the periods between them when the list was built.
    wraps : array (n_bodies, 2)
        Whole periods by which each body was shifted since; unused unless periodic.
    period : array (2,)
        m.
    is_periodic : bool
        Whether any direction is periodic.
    """

    listed: Records
    wraps: Indices
    period: Array
    is_periodic: bool


class Meeting(NamedTuple):
    """Pair of colliders whose contacts are computed.

    Parameters
    ----------
    p : int
        Number of the pair.
    i, j : int
        The colliders, in the order of the table.
    x, y, z : float
        From the centre of i to that of the image of j (m).
    distance : float
        Largest gap of a contact (m).
    """

    p: int
    i: int
    j: int
    x: float
    y: float
    z: float
    distance: float


@subroutine
def periods(pairs: Pairs, shapes: Shapes, p: int) -> tuple[int, int]:
    """Periods along x and y from the second collider to its image in pair p."""
    pair = pairs.listed[p]
    a, b = shapes.pieces[pair.i].body, shapes.pieces[pair.j].body
    along_x = as_int64(pair.image_x) - pairs.wraps[b, 0] + pairs.wraps[a, 0]
    along_y = as_int64(pair.image_y) - pairs.wraps[b, 1] + pairs.wraps[a, 1]
    return along_x, along_y


@subroutine
def meeting_of(pairs: Pairs, shapes: Shapes, p: int, distance: float) -> Meeting:
    """Colliders of pair p and their relative position."""
    pair = pairs.listed[p]
    c, o = shapes.centres[pair.j], shapes.centres[pair.i]
    x, y, z = c.x - o.x, c.y - o.y, c.z - o.z
    if pairs.is_periodic:
        along_x, along_y = periods(pairs, shapes, p)
        x, y = x + along_x * pairs.period[0], y + along_y * pairs.period[1]
    return Meeting(p, as_int64(pair.i), as_int64(pair.j), x, y, z, distance)


@subroutine
def write(
    rows: Records,
    count: int,
    meeting: Meeting,
    code: int,
    x: float,
    y: float,
    z: float,
    nx: float,
    ny: float,
    nz: float,
    gap: float,
) -> int:
    """Write a contact point of a pair if there is room, and count it in any case."""
    if count < len(rows):
        row = rows[count]
        row.pair, row.code, row.gap = meeting.p, code, gap
        row.x, row.y, row.z = x, y, z
        row.nx, row.ny, row.nz = nx, ny, nz
    return count + 1


class Table(NamedTuple):
    """Columns of the table of contacts; ``shift`` has rows only with periodic images.

    The rows of ``identity`` are a, b and feature. They are kept longer than the rest, as keys of the
    impulses, hence an array of their own.
    """

    identity: Indices
    colliders: Indices
    point: Array
    normal: Array
    gap: Array
    shift: Array


class Numbering(NamedTuple):
    """Numbering of the features of contacts.

    feature = ((place of collider a in its body · colliders of b + place of b) · 10 + image) · n_codes + code

    Parameters
    ----------
    body : array (n_colliders,)
        Body of each collider.
    first, count : arrays (n_bodies,)
        First collider and number of colliders of each body. Empty if none has several: all places are 0.
    n_codes : int
        Codes of the points of one pair are below this.
    """

    body: Indices
    first: Indices
    count: Indices  # type: ignore[assignment]
    n_codes: int


@uncounted_kernel
def deliver(
    rows: Records,
    count: int,
    starts: Indices,
    first_pair: int,
    at: int,
    pairs: Pairs,
    shapes: Shapes,
    distance: float,
    numbering: Numbering,
    table: Table,
) -> bool:
    """Copy contacts to the table, from row ``at`` on, by increasing pair, within a pair in the order written.

    ``rows`` come group by group, of consecutive pairs from ``first_pair``; ``starts`` (n_pairs + 1,) is work
    space. Returns whether the features of two bodies are out of order.
    """
    starts[:] = 0
    starts[0] = at
    for k in range(count):
        starts[rows[k].pair - first_pair + 1] += 1
    for p in range(1, len(starts)):
        starts[p] += starts[p - 1]
    for k in range(count):
        p = rows[k].pair - first_pair
        put_row(rows[k], starts[p], pairs, shapes, distance, numbering, table)
        starts[p] += 1
    a, b, feature = table.identity[0], table.identity[1], table.identity[2]
    falls = 0
    for k in range(max(at, 1), at + count):
        falls += feature[k] < feature[k - 1] and a[k] == a[k - 1] and b[k] == b[k - 1]
    return falls > 0


@subroutine
def put_row(
    row: Any, at: int, pairs: Pairs, shapes: Shapes, distance: float, numbering: Numbering, table: Table
) -> None:
    """Copy a contact to a row of the table, with the periodic image of its second collider."""
    pair = pairs.listed[row.pair]
    a, b = numbering.body[pair.i], numbering.body[pair.j]
    place = 0
    if len(numbering.first) > 0:
        place = as_int64(pair.i - numbering.first[a]) * numbering.count[b] + pair.j - numbering.first[b]
    table.identity[0, at], table.identity[1, at] = a, b
    table.identity[2, at] = place * 10 * numbering.n_codes + row.code
    table.colliders[0, at], table.colliders[1, at] = pair.i, pair.j
    table.gap[at] = row.gap
    table.point[at, 0], table.point[at, 1] = row.x, row.y
    table.normal[at, 0], table.normal[at, 1] = row.nx, row.ny
    if table.point.shape[1] == 3:
        table.point[at, 2], table.normal[at, 2] = row.z, row.nz
    if pairs.is_periodic:
        limit = shapes.centres[pair.i].bound + shapes.centres[pair.j].bound + distance
        if limit < np.inf:  # a half-space is its own image
            along_x, along_y = periods(pairs, shapes, as_int64(row.pair))
            table.identity[2, at] += image_code(along_x, along_y, pairs.period, limit) * numbering.n_codes
            table.shift[at, 0], table.shift[at, 1] = along_x * pairs.period[0], along_y * pairs.period[1]


@subroutine
def image_code(kx: int, ky: int, period: Array, limit: float) -> int:
    """0 where only one image can touch; else the number of the neighbouring image, 1 to 9."""
    several_x, several_y = 0.0 < period[0] <= 2.0 * limit, 0.0 < period[1] <= 2.0 * limit
    code = 1 if several_x or several_y else 0
    if several_x:
        code += 3 * (kx % 3)
    if several_y:
        code += ky % 3
    return code


def sorted_by_feature(table: Table) -> Table:
    """The table with the contacts of the same two bodies sorted by feature."""
    a, b, feature = table.identity
    order = np.lexsort((feature, b, a))
    identity, colliders = (
        np.ascontiguousarray(whole[:, order]) for whole in (table.identity, table.colliders)
    )
    vectors = (column[order] if len(column) else column for column in table[2:])
    return Table(identity, colliders, *vectors)
