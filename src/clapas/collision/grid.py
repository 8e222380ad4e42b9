"""Which colliders are near each other: a grid of cells for each size.

Colliders are sorted into levels by their bound, each level within a factor two, and put into the cell of
their centre in a grid whose cells are as wide as the largest of the level. A collider then meets only those
in the 27 cells (9 in the plane) around it, in its own level and in those of larger ones: the work grows
with the number of colliders, whatever the spread of their sizes. Cells are found by hashing, so space is
unbounded and empty space is free.

Along a periodic direction cells divide the period, and cells at one end are neighbours of those at the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.collision.lean import lean_kernel
from clapas.collision.records import PLANE, Records, Shapes
from clapas.compiled import inlined, kernel
from clapas.typing import Array, Indices, Mask

LEVEL_RATIO = 2.0
FAR = 1e15  # cells are counted from the origin in whole numbers; further out all share one cell


class Levels(NamedTuple):
    """Sizes of the colliders in classes.

    Parameters
    ----------
    of : array (n,)
        Level of each collider, −1 for a plane.
    bound : array (n_levels,)
        Largest bound in each (m), growing.
    has_movable, has_fixed : arrays (n_levels,) of bool
        Is a collider of a movable body in it, one of a body that cannot move?
    """

    of: Indices
    bound: Array
    has_movable: Mask
    has_fixed: Mask


class Rules(NamedTuple):
    """Who may meet whom.

    Parameters
    ----------
    movable : array (n_bodies,) of bool
        Two bodies that cannot move never meet.
    excluded : array, sorted
        a·n_bodies + b for pairs a < b of bodies that never meet.
    period : array (2,)
        Lengths of the periodic cell along x and y (m), 0 if there is none.
    """

    movable: Mask
    excluded: Indices
    period: Array


def levels_of(pieces: Records, movable: Mask) -> Levels:
    """Sort sizes into levels."""
    level = np.full(len(pieces), -1, dtype=np.int64)
    rows = np.flatnonzero(pieces["kind"] != PLANE)
    order = rows[np.argsort(pieces["bound"][rows], kind="stable")]
    bounds = pieces["bound"][order]
    tops, begin = [], 0
    while begin < len(order):
        end = int(np.searchsorted(bounds, LEVEL_RATIO * bounds[begin], side="right"))
        level[order[begin:end]] = len(tops)
        tops.append(bounds[end - 1])
        begin = end
    free = movable[pieces["body"][rows]]
    sorts = [np.bincount(level[rows[free == what]], minlength=len(tops)) > 0 for what in (True, False)]
    return Levels(level, np.array(tops, dtype=np.float64), *sorts)


@lean_kernel
def boxes_around(shapes: Shapes, boxes: Array) -> None:
    """Boxes (n, 6) along the axes around all colliders, relative to their centres: lows, then highs."""
    for c in range(len(shapes.pieces)):
        piece = shapes.pieces[c]
        least_x = least_y = least_z = 0.0
        most_x = most_y = most_z = 0.0
        for k in range(piece.vertex, piece.vertex + piece.n_vertices):
            v = shapes.vertices[k]  # the centre is inside, so 0 is between least and most
            least_x, least_y, least_z = min(least_x, v.x), min(least_y, v.y), min(least_z, v.z)
            most_x, most_y, most_z = max(most_x, v.x), max(most_y, v.y), max(most_z, v.z)
        r, box = piece.rounding, boxes[c]
        box[0], box[1], box[2] = least_x - r, least_y - r, least_z - r
        box[3], box[4], box[5] = most_x + r, most_y + r, most_z + r


class Grid(NamedTuple):
    """Cells of all levels, and the colliders in them by bucket.

    Parameters
    ----------
    width : array (n_levels, 3)
        Widths of the cells (m).
    cells : array (n_levels, 3)
        Cells in a period, 0 where there is none.
    keys : array (n,)
        Cell of each collider.
    start, items : arrays
        Colliders in bucket k: items[start[k]:start[k + 1]].
    """

    width: Array
    cells: Indices
    keys: Indices
    start: Indices
    items: Indices


@kernel
def fill_grid(shapes: Shapes, levels: Levels, rules: Rules, reach: float) -> Grid:
    """Put all colliders but planes into the cells of their levels."""
    n, n_levels = len(shapes.pieces), len(levels.bound)
    width, cells = np.empty((n_levels, 3)), np.zeros((n_levels, 3), dtype=np.int64)
    for level in range(n_levels):
        for m in range(3):
            width[level, m] = 2.0 * levels.bound[level] + reach
            if m < 2 and rules.period[m] > 0.0:
                cells[level, m] = max(1, int(rules.period[m] / width[level, m]))
                width[level, m] = rules.period[m] / cells[level, m]
    size = 16
    while size < 2 * n:
        size *= 2
    keys, start = np.zeros(n, dtype=np.int64), np.zeros(size + 1, dtype=np.int64)
    for c in range(n):
        level = levels.of[c]
        if level >= 0:
            p = shapes.centres[c]
            x = cell_of(p.x, width[level, 0], cells[level, 0])
            y = cell_of(p.y, width[level, 1], cells[level, 1])
            z = cell_of(p.z, width[level, 2], cells[level, 2])
            keys[c] = key_of(level, rules.movable[shapes.pieces[c].body], x, y, z)
            start[bucket_of(keys[c], size) + 1] += 1
    for k in range(size):
        start[k + 1] += start[k]
    items = np.empty(start[size], dtype=np.int64)
    for c in range(n - 1, -1, -1):  # backwards: each bucket ends up in the order of the table
        if levels.of[c] >= 0:
            bucket = bucket_of(keys[c], size)
            start[bucket + 1] -= 1
            items[start[bucket + 1]] = c
    for k in range(size):  # start[k + 1] is now where bucket k begins
        start[k] = start[k + 1]
    start[size] = len(items)
    return Grid(width, cells, keys, start, items)


@lean_kernel
def near_pairs(
    shapes: Shapes,
    boxes: Array,
    levels: Levels,
    rules: Rules,
    grid: Grid,
    d: int,
    reach: float,
    pairs: Records,
) -> int:
    """Find pairs whose boxes and bounding spheres are within ``reach``; planes are left out.

    Writes as many as fit and returns how many there are.
    """
    count = 0
    for i in range(len(shapes.pieces)):
        own = levels.of[i]
        if own < 0:
            continue
        free, p = rules.movable[shapes.pieces[i].body], shapes.centres[i]
        for level in range(own, len(levels.bound)):
            width, cells = grid.width[level], grid.cells[level]
            x, y = cell_of(p.x, width[0], cells[0]), cell_of(p.y, width[1], cells[1])
            z = cell_of(p.z, width[2], cells[2])
            for sort in range(2):
                with_movable = sort == 1
                # Pairs in which one cannot move are found by the smaller; of equal level by the movable.
                if not free and (not with_movable or level == own):
                    continue
                if not (levels.has_movable[level] if with_movable else levels.has_fixed[level]):
                    continue
                once = level == own and with_movable
                for dx in range(first_step(cells[0], True), last_step(cells[0], True) + 1):
                    for dy in range(first_step(cells[1], True), last_step(cells[1], True) + 1):
                        for dz in range(first_step(cells[2], d == 3), last_step(cells[2], d == 3) + 1):
                            key = key_of(
                                level, with_movable, wrapped(x + dx, cells[0]), wrapped(y + dy, cells[1]), z + dz
                            )
                            bucket = bucket_of(key, len(grid.start) - 1)
                            for entry in range(grid.start[bucket], grid.start[bucket + 1]):
                                j = grid.items[entry]
                                if grid.keys[j] == key and not (once and j <= i):
                                    count = meet(min(i, j), max(i, j), shapes, boxes, rules, reach, count, pairs)
    return count


@inlined
def first_step(cells: int, in_dimension: bool) -> int:
    """First neighbouring cell: itself when a period has less than three, or across the plane."""
    return -1 if in_dimension and (cells == 0 or cells > 2) else 0


@inlined
def last_step(cells: int, in_dimension: bool) -> int:
    """Last neighbouring cell: itself when a period has one only, or across the plane."""
    return 1 if in_dimension and cells != 1 else 0


@inlined
def wrapped(cell: int, cells: int) -> int:
    """Number of a cell inside the period."""
    return cell if cells == 0 else cell % cells


@inlined
def cell_of(x: float, width: float, cells: int) -> int:
    """Cell of a coordinate."""
    return wrapped(int(min(max(np.floor(x / width), -FAR), FAR)), cells)


@inlined
def key_of(level: int, movable: bool, x: int, y: int, z: int) -> int:
    """Cell, level and sort in one number: 19 bits for each coordinate.

    Cells 2¹⁹ apart share a key; distances are measured after, so this costs time and nothing else.
    """
    place = ((x & 0x7FFFF) << 38) | ((y & 0x7FFFF) << 19) | (z & 0x7FFFF)
    return ((((level & 31) << 1) | movable) << 57) | place


@inlined
def bucket_of(key: int, size: int) -> int:
    """Bucket of a key; ``size`` is a power of two."""
    mixed = (key ^ (key >> 32)) * 0x1E3779B97F4A7C15
    return (mixed ^ (mixed >> 29)) & (size - 1)


@inlined
def meet(
    i: int, j: int, shapes: Shapes, boxes: Array, rules: Rules, reach: float, count: int, pairs: Records
) -> int:
    """Add the pair, once for each periodic image near enough."""
    one, two = shapes.pieces[i], shapes.pieces[j]
    if one.body == two.body:
        return count
    p, q = shapes.centres[i], shapes.centres[j]
    limit = one.bound + two.bound + reach
    x, y, z = q.x - p.x, q.y - p.y, q.z - p.z
    both_round = one.n_vertices == 0 and two.n_vertices == 0
    width, depth = rules.period[0], rules.period[1]
    for k in range(first_image(x, width, limit), last_image(x, width, limit) + 1):
        for l in range(first_image(y, depth, limit), last_image(y, depth, limit) + 1):
            tx, ty = x + k * width, y + l * depth
            if tx * tx + ty * ty + z * z > limit * limit:
                continue
            if not both_round and (
                apart(boxes, i, j, 0, tx, reach)
                or apart(boxes, i, j, 1, ty, reach)
                or apart(boxes, i, j, 2, z, reach)
            ):
                continue
            if not is_excluded(one.body, two.body, rules):
                count = add(i, j, k, l, count, pairs)
    return count


@inlined
def add(i: int, j: int, k: int, l: int, count: int, pairs: Records) -> int:
    """Write a pair if there is room, count it in any case."""
    if count < len(pairs):
        pair = pairs[count]
        pair.i, pair.j, pair.image_x, pair.image_y = i, j, k, l
    return count + 1


@inlined
def first_image(x: float, period: float, limit: float) -> int:
    """Least number of periods that brings a distance x within the limit."""
    return 0 if period == 0.0 else int(np.ceil((-limit - x) / period))


@inlined
def last_image(x: float, period: float, limit: float) -> int:
    """Largest number of periods that brings a distance x within the limit."""
    return 0 if period == 0.0 else int(np.floor((limit - x) / period))


@inlined
def apart(boxes: Array, i: int, j: int, m: int, t: float, reach: float) -> bool:
    """Are two boxes, the second moved by t, more than ``reach`` apart along axis m?"""
    return boxes[j, m] + t - boxes[i, m + 3] > reach or boxes[i, m] - boxes[j, m + 3] - t > reach


@inlined
def is_excluded(a: int, b: int, rules: Rules) -> bool:
    """Was the pair of bodies a < b excluded by the user?"""
    key = a * len(rules.movable) + b
    low, high = 0, len(rules.excluded)
    while low < high:
        middle = (low + high) // 2
        if rules.excluded[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low < len(rules.excluded) and rules.excluded[low] == key


@lean_kernel
def pairs_with_planes(shapes: Shapes, rules: Rules, reach: float, count: int, pairs: Records) -> int:
    """Add the pairs of every plane with all that is near it."""
    n = len(shapes.pieces)
    for p in range(n):
        plane = shapes.pieces[p]
        if plane.kind != PLANE:
            continue
        o, normal = shapes.centres[p], shapes.faces[plane.face]
        for c in range(n):
            piece, x = shapes.pieces[c], shapes.centres[c]
            a, b = min(plane.body, piece.body), max(plane.body, piece.body)
            if piece.kind == PLANE or a == b or not (rules.movable[a] or rules.movable[b]):
                continue
            height = normal.x * (x.x - o.x) + normal.y * (x.y - o.y) + normal.z * (x.z - o.z)
            if height - piece.bound <= reach and not is_excluded(a, b, rules):
                count = add(min(p, c), max(p, c), 0, 0, count, pairs)
    return count
