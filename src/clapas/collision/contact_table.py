"""Pairs as the kernels read them, contact points as they write them, and the table of contacts."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from clapas.collision.records import Records, Shapes, wide
from clapas.compiled import subroutine, uncounted_kernel
from clapas.typing import Array, Indices

Found: TypeAlias = tuple[Records, int]
"""Contact points as a kernel wrote them, and how many they are."""


class Pairs(NamedTuple):
    """The pairs the kernels treat, and what they need to find the periodic image.

    Parameters
    ----------
    listed : array (n_pairs,) of PAIR
        Two colliders each, and the periods between them when the list was made.
    wraps : array (n_bodies, 2)
        Whole periods each body has jumped since; unused unless periodic.
    period : array (2,)
        m.
    is_periodic : bool
        Is any direction periodic?
    """

    listed: Records
    wraps: Indices
    period: Array
    is_periodic: bool


class Meeting(NamedTuple):
    """Two colliders that are looked at.

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
    """Periods to add to the second collider along x and y to come to the image of pair p."""
    pair = pairs.listed[p]
    a, b = shapes.pieces[pair.i].body, shapes.pieces[pair.j].body
    along_x = wide(pair.image_x) - pairs.wraps[b, 0] + pairs.wraps[a, 0]
    along_y = wide(pair.image_y) - pairs.wraps[b, 1] + pairs.wraps[a, 1]
    return along_x, along_y


@subroutine
def meeting_of(pairs: Pairs, shapes: Shapes, p: int, distance: float) -> Meeting:
    """What a kernel needs to know of pair p."""
    pair = pairs.listed[p]
    c, o = shapes.centres[pair.j], shapes.centres[pair.i]
    x, y, z = c.x - o.x, c.y - o.y, c.z - o.z
    if pairs.is_periodic:
        along_x, along_y = periods(pairs, shapes, p)
        x, y = x + along_x * pairs.period[0], y + along_y * pairs.period[1]
    return Meeting(p, wide(pair.i), wide(pair.j), x, y, z, distance)


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
    """Write a contact point of a meeting if there is room, count it in any case."""
    if count < len(rows):
        row = rows[count]
        row.pair, row.code, row.gap = meeting.p, code, gap
        row.x, row.y, row.z = x, y, z
        row.nx, row.ny, row.nz = nx, ny, nz
    return count + 1


class Table(NamedTuple):
    """Columns of the table of contacts while it is filled; ``shift`` has rows if there are periodic images.

    Identities are a, b, feature. They outlive the rest, as keys of the impulses: an array of their own.
    """

    identity: Indices
    colliders: Indices
    point: Array
    normal: Array
    gap: Array
    shift: Array


class Numbering(NamedTuple):
    """How the number of a contact is made of its parts.

    feature = ((place of collider a in its body · colliders of b + place of b) · 10 + image) · n_codes + code

    Parameters
    ----------
    first, count : arrays (n_bodies,)
        First collider of each body, and how many it has. Empty if none has several: all places are 0.
    n_codes : int
        Codes of the points of one pair are below this.
    """

    first: Indices
    count: Indices  # type: ignore[assignment]
    n_codes: int


def places_by_pair(found: list[Found]) -> list[Indices]:
    """Row in the table of each contact found, so that contacts come by growing pair, as found in each."""
    n = sum(count for _, count in found)
    places: Indices = np.arange(n, dtype=np.int32)
    if len(found) == 1:
        return [places]
    pair = np.concatenate([rows["pair"][:count] for rows, count in found])
    places[np.argsort(pair, kind="stable")] = np.arange(n, dtype=np.int32)
    return np.split(places, np.cumsum([count for _, count in found])[:-1])


@uncounted_kernel
def deliver(
    rows: Records, places: Indices, pairs: Pairs, shapes: Shapes, numbering: Numbering, table: Table
) -> None:
    """Put contacts in their places in the table."""
    for k in range(len(places)):
        put_row(rows[k], places[k], pairs, shapes, numbering, table)


@uncounted_kernel
def deliver_all(
    rows: Records,
    count: int,
    starts: Indices,
    pairs: Pairs,
    shapes: Shapes,
    numbering: Numbering,
    table: Table,
) -> bool:
    """Put all contacts in the table by growing pair, as found in each; are those of two bodies out of order?

    ``rows`` are those of one sort of pair after another; ``starts`` (n_pairs + 1,) is room to count in.
    """
    starts[:] = 0
    for k in range(count):
        starts[rows[k].pair + 1] += 1
    for p in range(1, len(starts)):
        starts[p] += starts[p - 1]
    for k in range(count):
        p = rows[k].pair
        put_row(rows[k], starts[p], pairs, shapes, numbering, table)
        starts[p] += 1
    a, b, feature = table.identity[0], table.identity[1], table.identity[2]
    falls = 0
    for k in range(1, count):
        falls += feature[k] < feature[k - 1] and a[k] == a[k - 1] and b[k] == b[k - 1]
    return falls > 0


@subroutine
def put_row(row: Any, at: int, pairs: Pairs, shapes: Shapes, numbering: Numbering, table: Table) -> None:
    """Put a contact in its place in the table."""
    pair = pairs.listed[row.pair]
    a, b = shapes.pieces[pair.i].body, shapes.pieces[pair.j].body
    place = 0
    if len(numbering.first) > 0:
        place = wide(pair.i - numbering.first[a]) * numbering.count[b] + pair.j - numbering.first[b]
    table.identity[0, at], table.identity[1, at] = a, b
    table.identity[2, at] = place * 10 * numbering.n_codes + row.code
    table.colliders[0, at], table.colliders[1, at] = pair.i, pair.j
    table.gap[at] = row.gap
    table.point[at, 0], table.point[at, 1] = row.x, row.y
    table.normal[at, 0], table.normal[at, 1] = row.nx, row.ny
    if table.point.shape[1] == 3:
        table.point[at, 2], table.normal[at, 2] = row.z, row.nz


@uncounted_kernel
def add_images(
    rows: Records,
    places: Indices,
    pairs: Pairs,
    shapes: Shapes,
    distance: float,
    numbering: Numbering,
    table: Table,
) -> None:
    """Say of contacts in the table which periodic image of the second collider they are with."""
    for k in range(len(places)):
        p, at = wide(rows[k].pair), places[k]
        pair = pairs.listed[p]
        limit = shapes.pieces[pair.i].bound + shapes.pieces[pair.j].bound + distance
        if limit < np.inf:  # a half-space is its own image
            along_x, along_y = periods(pairs, shapes, p)
            table.identity[2, at] += image_code(along_x, along_y, pairs.period, limit) * numbering.n_codes
            table.shift[at, 0], table.shift[at, 1] = along_x * pairs.period[0], along_y * pairs.period[1]


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


def settle(table: Table) -> Table:
    """Put contacts of the same two bodies in the order of their features; nearly all are already."""
    a, b, feature = table.identity
    falls = np.flatnonzero(feature[1:] < feature[:-1])
    if not len(falls) or not np.any((a[falls] == a[falls + 1]) & (b[falls] == b[falls + 1])):
        return table
    order = np.lexsort((feature, b, a))
    identity, colliders = (
        np.ascontiguousarray(whole[:, order]) for whole in (table.identity, table.colliders)
    )
    vectors = (column[order] if len(column) else column for column in table[2:])
    return Table(identity, colliders, *vectors)
