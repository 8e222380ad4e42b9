"""Broad phase: pairs of colliders near each other, from a hashed grid of cells for each size.

Colliders are sorted into levels by their bound, each level within a factor two, and put into the cell of
their centre in a grid whose cells are as wide as the largest of the level. A collider is then tested only
against those in the 27 cells (9 in the plane) around it, in its own level and in those of larger ones: the work
grows with the number of colliders, whatever the spread of their sizes. Cells are found by hashing, so space is
unbounded and empty space costs nothing.

Along a periodic direction cells divide the period, and cells at one end are neighbours of those at the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.collision.records import PLANE, Records, Shapes, as_int64, record
from clapas.compiled import subroutine, uncounted_kernel
from clapas.typing import Array, Indices, Mask

LEVEL_RATIO = 2.0
FAR = 1e15  # cells are numbered from the origin by integers; those further out share one cell


class Levels(NamedTuple):
    """Size classes of the colliders.

    Parameters
    ----------
    of : array (n,)
        Level of each collider, −1 for a plane.
    bound : array (n_levels,)
        Largest bound in each (m), increasing.
    has_movable, has_fixed : arrays (n_levels,) of bool
        Whether it has colliders of movable bodies; of bodies that cannot move.
    fewer_fixed : array (n_levels,) of bool
        Whether those of bodies that cannot move are the fewer.
    """

    of: Indices
    bound: Array
    has_movable: Mask
    has_fixed: Mask
    fewer_fixed: Mask


class Rules(NamedTuple):
    """Rules of which bodies may touch.

    Parameters
    ----------
    movable : array (n_bodies,) of bool
        Two bodies that cannot move never touch.
    excluded : array, sorted
        a·n_bodies + b for pairs a < b of bodies that never touch.
    period : array (2,)
        Lengths of the periodic cell along x and y (m), 0 if there is none.
    """

    movable: Mask
    excluded: Indices
    period: Array


def levels_of(pieces: Records, movable: Mask) -> Levels:
    """Levels of the colliders, by size."""
    level = np.full(len(pieces), -1, dtype=np.int8)
    rows = np.flatnonzero(pieces["kind"] != PLANE)
    order = rows[np.argsort(pieces["bound"][rows], kind="stable")]
    bounds = pieces["bound"][order]
    tops: list[float] = []
    begin = 0
    while begin < len(order):
        end = int(np.searchsorted(bounds, LEVEL_RATIO * bounds[begin], side="right"))
        level[order[begin:end]] = len(tops)
        tops.append(bounds[end - 1])
        begin = end
    free = movable[pieces["body"][rows]]
    movables, fixed = (np.bincount(level[rows[free == side]], minlength=len(tops)) for side in (True, False))
    return Levels(level, np.array(tops, dtype=np.float64), movables > 0, fixed > 0, fixed < movables)


@uncounted_kernel
def boxes_around(shapes: Shapes, boxes: Array) -> None:
    """Axis-aligned boxes (n, 6) around all colliders, relative to their centres: minima, then maxima."""
    for c in range(len(boxes)):
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
    """Cells of all levels, and the colliders in them.

    Parameters
    ----------
    width : array (n_levels, 3)
        Widths of the cells (m).
    cells : array (n_levels, 3)
        Cells in a period, 0 where there is none.
    start : array
        Colliders in bucket k: spots[start[k]:start[k + 1]]. Their number is a power of two.
    spots : array of SPOT
        Colliders by bucket. Neighbouring cells along x are neighbouring buckets.
    """

    width: Array
    cells: Indices
    start: Indices
    spots: Records


# A collider in the grid: its number, its level, whether its body can move, row of cells and cell in the row;
# centre and bound.
SPOT = record("piece level movable", "x y z bound", long="row cell")


def filled_grid(shapes: Shapes, levels: Levels, rules: Rules, reach: float) -> Grid:
    """Grid of all colliders but planes, in the cells of their levels."""
    width = np.repeat(2.0 * levels.bound[:, None] + reach, 3, axis=1)
    cells = np.zeros(width.shape, dtype=np.int64)
    for m in np.flatnonzero(rules.period):
        cells[:, m] = np.maximum(1, rules.period[m] / width[:, m])
        width[:, m] = rules.period[m] / cells[:, m]
    size = 16
    while size < 2 * len(shapes.pieces):
        size *= 2
    spots = np.empty(np.count_nonzero(levels.of >= 0), dtype=SPOT)
    grid = Grid(width, cells, np.zeros(size + 1, dtype=np.int32), spots)
    fill_grid(shapes, levels, rules, grid)
    return grid


@uncounted_kernel
def fill_grid(shapes: Shapes, levels: Levels, rules: Rules, grid: Grid) -> None:
    """Sort the colliders by bucket (counting sort)."""
    start, size = grid.start, len(grid.start) - 1
    for c in range(len(shapes.pieces)):
        if levels.of[c] >= 0:
            start[bucket_of(*address(shapes, levels, rules, grid, c), size) + 1] += 1
    for k in range(size):
        start[k + 1] += start[k]
    for c in range(len(shapes.pieces) - 1, -1, -1):  # backwards: each bucket in the order of the table
        if levels.of[c] < 0:
            continue
        row, cell = address(shapes, levels, rules, grid, c)
        bucket = bucket_of(row, cell, size)
        start[bucket + 1] -= 1
        spot, p = grid.spots[start[bucket + 1]], shapes.centres[c]
        spot.piece, spot.level, spot.row, spot.cell = c, levels.of[c], row, cell
        spot.movable = rules.movable[shapes.pieces[c].body]
        spot.x, spot.y, spot.z, spot.bound = p.x, p.y, p.z, shapes.pieces[c].bound
    for k in range(size):  # start[k + 1] is now where bucket k begins
        start[k] = start[k + 1]
    start[size] = len(grid.spots)


@subroutine
def address(shapes: Shapes, levels: Levels, rules: Rules, grid: Grid, c: int) -> tuple[int, int]:
    """Row of cells of a collider, and cell in the row."""
    level, p = as_int64(levels.of[c]), shapes.centres[c]
    y = cell_of(p.y, grid.width[level, 1], grid.cells[level, 1])
    z = cell_of(p.z, grid.width[level, 2], grid.cells[level, 2])
    row = row_of(level, as_int64(rules.movable[shapes.pieces[c].body]), y, z)
    return row, cell_of(p.x, grid.width[level, 0], grid.cells[level, 0])


@uncounted_kernel
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
    """Find the pairs whose boxes and bounding spheres are within ``reach``, planes excepted.

    Writes as many as fit and returns the total number.
    """
    count = 0
    for s in range(len(grid.spots)):
        spot = grid.spots[s]
        for level in range(spot.level, len(levels.bound)):
            # A pair with a fixed collider is found from the smaller one; at equal level from the side that has
            # fewer: rough floors, and copies of bodies of other ranks, are few beside what moves.
            is_larger, from_fixed = level > spot.level, levels.fewer_fixed[level]
            if spot.movable and levels.has_fixed[level] and (is_larger or not from_fixed):
                count = search_cells(spot, level, 0, shapes, boxes, rules, grid, d, reach, count, pairs)
            if levels.has_movable[level] and (spot.movable or is_larger or from_fixed):
                count = search_cells(spot, level, 1, shapes, boxes, rules, grid, d, reach, count, pairs)
    return count


@subroutine
def search_cells(
    spot: Records,
    level: int,
    movable: int,
    shapes: Shapes,
    boxes: Array,
    rules: Rules,
    grid: Grid,
    d: int,
    reach: float,
    count: int,
    pairs: Records,
) -> int:
    """Add the pairs of a collider with those of a level, movable or not, in the cells around it.

    Within one class each pair is added once: half of the cells around are enough, or, where a period may
    bring the same cell from both sides, half of the colliders.
    """
    width, cells, size = grid.width[level], grid.cells[level], len(grid.start) - 1
    x, y = cell_of(spot.x, width[0], cells[0]), cell_of(spot.y, width[1], cells[1])
    z = cell_of(spot.z, width[2], cells[2])
    once = level == spot.level and movable == spot.movable
    half = once and cells[0] == 0 and cells[1] == 0
    for dz in range(0 if half else first_step(cells[2], d == 3), last_step(cells[2], d == 3) + 1):
        for dy in range(0 if half and dz == 0 else first_step(cells[1], True), last_step(cells[1], True) + 1):
            row = row_of(level, movable, wrapped(y + dy, cells[1]), z + dz)
            own_row = half and dy == 0 and dz == 0
            for dx in range(0 if own_row else first_step(cells[0], True), last_step(cells[0], True) + 1):
                cell = wrapped(x + dx, cells[0])
                bucket = bucket_of(row, cell, size)
                for entry in range(grid.start[bucket], grid.start[bucket + 1]):
                    other = grid.spots[entry]
                    if other.row != row or other.cell != cell:
                        continue
                    if once and other.piece <= spot.piece and (not half or (own_row and dx == 0)):
                        continue
                    limit = spot.bound + other.bound + reach
                    away_x = to_nearest_image(other.x - spot.x, rules.period[0])
                    away_y = to_nearest_image(other.y - spot.y, rules.period[1])
                    away_z = other.z - spot.z
                    if away_x * away_x + away_y * away_y + away_z * away_z <= limit * limit:
                        count = add_pair_images(spot, other, limit, shapes, boxes, rules, reach, count, pairs)
    return count


@subroutine
def first_step(cells: int, in_dimension: bool) -> int:
    """Offset of the first neighbouring cell: 0 with fewer than three in a period, or normal to the plane."""
    return -1 if in_dimension and (cells == 0 or cells > 2) else 0


@subroutine
def last_step(cells: int, in_dimension: bool) -> int:
    """Offset of the last neighbouring cell: 0 with one in a period, or normal to the plane."""
    return 1 if in_dimension and cells != 1 else 0


@subroutine
def wrapped(cell: int, cells: int) -> int:
    """Number of a cell inside the period."""
    return cell if cells == 0 else cell % cells


@subroutine
def cell_of(x: float, width: float, cells: int) -> int:
    """Cell of a coordinate."""
    return wrapped(int(min(max(np.floor(x / width), -FAR), FAR)), cells)


@subroutine
def row_of(level: int, movable: int, y: int, z: int) -> int:
    """Key of a row of cells along x: 28 bits for each coordinate.

    Rows 2²⁸ apart share a key; distances are tested afterwards, so this only costs time.
    """
    return ((((level & 31) << 1) | movable) << 57) | ((y & 0xFFFFFFF) << 28) | (z & 0xFFFFFFF)


@subroutine
def bucket_of(row: int, cell: int, size: int) -> int:
    """Bucket of a cell; ``size`` is a power of two."""
    mixed = (row ^ (row >> 32)) * 0x1E3779B97F4A7C15
    return ((mixed ^ (mixed >> 29)) + cell) & (size - 1)


@subroutine
def to_nearest_image(x: float, period: float) -> float:
    """Value of least magnitude among x plus whole periods."""
    if period > 0.0:
        x -= period * np.rint(x / period)
    return x


@subroutine
def add_pair_images(
    spot: Records,
    other: Records,
    limit: float,
    shapes: Shapes,
    boxes: Array,
    rules: Rules,
    reach: float,
    count: int,
    pairs: Records,
) -> int:
    """Add the pair, once for each periodic image near enough."""
    i, j, sign = as_int64(spot.piece), as_int64(other.piece), 1.0
    if i > j:
        i, j, sign = j, i, -1.0
    x, y, z = sign * (other.x - spot.x), sign * (other.y - spot.y), sign * (other.z - spot.z)
    one, two = shapes.pieces[i], shapes.pieces[j]
    if one.body == two.body or is_excluded(as_int64(one.body), as_int64(two.body), rules):
        return count
    for k in range(first_image(x, rules.period[0], limit), last_image(x, rules.period[0], limit) + 1):
        for l in range(first_image(y, rules.period[1], limit), last_image(y, rules.period[1], limit) + 1):
            tx, ty = x + k * rules.period[0], y + l * rules.period[1]
            if tx * tx + ty * ty + z * z > limit * limit:
                continue
            if one.n_vertices + two.n_vertices > 0 and (
                are_apart(boxes, i, j, 0, tx, reach)
                or are_apart(boxes, i, j, 1, ty, reach)
                or are_apart(boxes, i, j, 2, z, reach)
            ):
                continue
            count = append_pair(i, j, k, l, count, pairs)
    return count


@subroutine
def append_pair(i: int, j: int, k: int, l: int, count: int, pairs: Records) -> int:
    """Write a pair if there is room, and count it in any case."""
    if count < len(pairs):
        pair = pairs[count]
        pair.i, pair.j, pair.image_x, pair.image_y = i, j, k, l
    return count + 1


@subroutine
def first_image(x: float, period: float, limit: float) -> int:
    """Smallest number of periods that brings a distance x within the limit."""
    return 0 if period == 0.0 else int(np.ceil((-limit - x) / period))


@subroutine
def last_image(x: float, period: float, limit: float) -> int:
    """Largest number of periods that brings a distance x within the limit."""
    return 0 if period == 0.0 else int(np.floor((limit - x) / period))


@subroutine
def are_apart(boxes: Array, i: int, j: int, m: int, t: float, reach: float) -> bool:
    """Whether two boxes, the second moved by t, are more than ``reach`` apart along axis m."""
    return boxes[j, m] + t - boxes[i, m + 3] > reach or boxes[i, m] - boxes[j, m + 3] - t > reach


@subroutine
def is_excluded(a: int, b: int, rules: Rules) -> bool:
    """Whether the pair of bodies a < b is excluded."""
    key = a * len(rules.movable) + b
    low, high = 0, len(rules.excluded)
    while low < high:
        middle = (low + high) // 2
        if rules.excluded[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low < len(rules.excluded) and rules.excluded[low] == key


@uncounted_kernel
def pairs_with_planes(shapes: Shapes, rules: Rules, reach: float, count: int, pairs: Records) -> int:
    """Add the pairs of each plane and the colliders near it."""
    n = len(shapes.pieces)
    for p in range(n):
        plane = shapes.pieces[p]
        if plane.kind != PLANE:
            continue
        o, normal = shapes.centres[p], shapes.faces[plane.face]
        for c in range(n):
            piece, x = shapes.pieces[c], shapes.centres[c]
            a, b = as_int64(min(plane.body, piece.body)), as_int64(max(plane.body, piece.body))
            if piece.kind == PLANE or a == b or not (rules.movable[a] or rules.movable[b]):
                continue
            height = normal.x * (x.x - o.x) + normal.y * (x.y - o.y) + normal.z * (x.z - o.z)
            if height - piece.bound <= reach and not is_excluded(a, b, rules):
                count = append_pair(min(p, c), max(p, c), 0, 0, count, pairs)
    return count
