"""The rows of joints inside a step: their values and derivatives, their factor, the effect of impulses."""

from __future__ import annotations

import numpy as np

from clapas.compiled import subroutine
from clapas.dynamics.jointed.tables import Elimination, Filling, Sums, Terms, UnitRows
from clapas.dynamics.joints.leastmotion import WEAK, fill_unit_rows
from clapas.dynamics.joints.rows import FIRST, FULL_TURN, TURN, place_rows
from clapas.linalg.ldl import factorise_columns
from clapas.typing import Array, Indices, Mask

VANISHES = 1e-13  # of the unit diagonal: a smaller pivot is rounding


@subroutine
def place(
    terms: Terms, position: Array, orientation: Array, first: int, near: Array, value: Array, of: Array
) -> None:
    """Write the values (t,) of the terms from ``first`` on, and their derivatives (2, t, size).

    Angles are those within half a turn of ``near`` (k,). Only nonzero derivatives are written.
    """
    ends, frames, numbers, start, n_closing = terms
    (n, d), count = position.shape, len(value)
    x, turn = np.zeros((n + 1, 3)), np.zeros((n + 1, 4))
    turn[n, 0] = 1.0
    for i in range(n):
        for k in range(d):
            x[i, k] = position[i, k]
        if d == 3:
            for k in range(4):
                turn[i, k] = orientation[i, k]
        else:
            turn[i, 0], turn[i, 3] = np.cos(0.5 * orientation[i, 0]), np.sin(0.5 * orientation[i, 0])
    wide, arm = of, np.empty((count - first, 3))
    if d == 2:
        wide = np.zeros((2, count, 6))
    place_rows(
        ends[0, first:], ends[1, first:], ends[2, first:],
        frames[0, first:], frames[1, first:], frames[2, first:], frames[3, first:], frames[4, first:],
        numbers[0, first:], numbers[1, first:],
        x, turn, value[first:], wide[0, first:], wide[1, first:], arm,
    )  # fmt: skip
    if d == 2:  # in the plane: two velocities and the spin about its normal
        for side in range(2):
            for i in range(first, count):
                for k in range(3):
                    of[side, i, k] = wide[side, i, k if k < 2 else 5]
    for k in range(len(start)):
        i = n_closing + k
        value[i] += start[k]
        if ends[0, i] == TURN or ends[0, i] >= FIRST:
            value[i] += FULL_TURN * np.rint((near[k] - value[i]) / FULL_TURN)


@subroutine
def rate_of(ends: Indices, i: int, of: Array, velocity: Array) -> float:
    """Rate of term i at velocities (N, size); the world does not move."""
    total = 0.0
    for side in range(2):
        body = ends[1 + side, i]
        if body >= 0:
            for k in range(of.shape[2]):
                total += of[side, i, k] * velocity[body, k]
    return total


@subroutine
def own_rate_of(ends: Indices, i: int, of: Array, velocity: Array, movable: Mask) -> float:
    """Rate of term i at velocities (N, size), of bodies that can move."""
    total = 0.0
    for side in range(2):
        body = ends[1 + side, i]
        if body >= 0 and movable[body]:
            for k in range(of.shape[2]):
                total += of[side, i, k] * velocity[body, k]
    return total


@subroutine
def factor_rows(
    ends: Indices,
    sums: Sums,
    blocks: Indices,
    filling: Filling,
    elimination: Elimination,
    inverse_root: Array,
    of: Array,
    soft: Array,
) -> tuple[bool, UnitRows]:
    """The rows in units of unit mass and size and their factor; False if that is not reliable.

    Redundant rows are left out of the factor: their pivots vanish up to rounding, and their
    ``inverse`` is zero. A pivot that is small but does not vanish needs singular values.
    """
    entries, factor, offset, _ = sums
    products, start, row, entry = filling
    n_rows = len(offset)
    A, length = np.zeros((blocks.shape[1], of.shape[2])), np.zeros(n_rows)
    values, E = np.zeros(products.shape[1] + n_rows), np.zeros(n_rows)
    for i in range(len(soft)):
        E[n_rows - len(soft) + i] = soft[i]
    fill_unit_rows(
        entries[1], factor, ends[1], ends[2], entries[2], entries[3], of[0], of[1], inverse_root,
        blocks[0], products[0], products[1], E, A, length, values,
    )  # fmt: skip
    L, inverse = np.empty(len(elimination.structure)), np.empty(n_rows)
    weak = np.zeros(n_rows, dtype=np.bool_)
    factorise_columns(
        start, row, entry, values, elimination.pointers, elimination.structure, VANISHES, L, inverse, weak
    )
    clear = True
    for j in range(n_rows):
        clear = clear and WEAK * inverse[j] < 1.0
    return clear, UnitRows(A, length, L, inverse)


@subroutine
def are_redundant(inverse: Array) -> bool:
    """Whether some rows were left out of a factor."""
    left_out = 0
    for j in range(len(inverse)):
        left_out += inverse[j] == 0.0
    return left_out > 0


@subroutine
def solve_rows(elimination: Elimination, L: Array, inverse: Array, right: Array) -> None:
    """Solve (A Aᵀ + E) x = right, (j,), in place."""
    (pointers, structure, order), n = elimination, len(right)
    x = np.empty(n)
    for j in range(n):
        x[j] = right[order[j]]
    for j in range(n):
        for p in range(pointers[j], pointers[j + 1]):
            x[structure[p]] -= L[p] * x[j]
    for j in range(n - 1, -1, -1):
        total = x[j] * inverse[j]
        for p in range(pointers[j], pointers[j + 1]):
            total -= L[p] * x[structure[p]]
        x[j] = total
    for j in range(n):
        right[order[j]] = x[j]


@subroutine
def along_rows(blocks: Indices, A: Array, y: Array, rate: Array) -> None:
    """Add A y to rates (j,), from velocities y (N, size) in units of unit mass."""
    for p in range(blocks.shape[1]):
        row, body, total = blocks[0, p], blocks[1, p], 0.0
        for k in range(y.shape[1]):
            total += A[p, k] * y[body, k]
        rate[row] += total


@subroutine
def along_bodies(blocks: Indices, A: Array, x: Array, y: Array) -> None:
    """Add Aᵀ x to velocities y (N, size) in units of unit mass, from impulses x (j,) along unit rows."""
    for p in range(blocks.shape[1]):
        row, body = blocks[0, p], blocks[1, p]
        for k in range(y.shape[1]):
            y[body, k] += A[p, k] * x[row]


@subroutine
def hold_back(blocks: Indices, elimination: Elimination, rows: UnitRows, y: Array, impulse: Array) -> None:
    """Project velocities y (N, size), in units of unit mass, onto those that joints allow.

    y ← y − Aᵀ (A Aᵀ + E)⁻¹ A y; the corresponding impulses of the joints are added to ``impulse`` (j,).
    """
    A, length, L, inverse = rows
    x = np.zeros(len(length))
    along_rows(blocks, A, y, x)
    solve_rows(elimination, L, inverse, x)
    for j in range(len(x)):
        x[j] = -x[j]
        impulse[j] += x[j] / length[j]
    along_bodies(blocks, A, x, y)
