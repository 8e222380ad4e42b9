"""The rows of joints inside a step: where they are, their factor, and what impulses along them do."""

from __future__ import annotations

import numpy as np

from clapas.compiled import inlined, subroutine
from clapas.dynamics.few.tables import Rigid, Sizes
from clapas.dynamics.jointed.tables import Linked, UnitRows
from clapas.dynamics.joints.leastmotion import WEAK, fill_unit_rows
from clapas.dynamics.joints.rows import FULL_TURN, TURN, place_rows
from clapas.linalg.ldl import factorise_columns
from clapas.typing import Array


@subroutine
def place(
    linked: Linked,
    position: Array,
    orientation: Array,
    first: int,
    near: Array,
    start: Array,
    sizes: Sizes,
    value: Array,
    of_a: Array,
    of_b: Array,
) -> None:
    """Write the values (t,) of the terms from ``first`` on, and their derivatives (t, size).

    Coordinates begin at ``start`` (k,), and angles are counted to within half a turn of ``near`` (k,). Of the
    derivatives only what is not zero is written.
    """
    n, d, count = len(position), len(sizes.components), len(value)
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
    form, a, b = linked.terms[0, first:], linked.terms[1, first:], linked.terms[2, first:]
    arms = linked.frames[0, first:], linked.frames[1, first:]
    axes = linked.frames[2, first:], linked.frames[3, first:], linked.frames[4, first:]
    numbers = linked.numbers[0, first:], linked.numbers[1, first:]
    arm = np.empty((count - first, 3))
    if d == 3:
        place_rows(
            form, a, b, *arms, *axes, *numbers, x, turn, value[first:], of_a[first:], of_b[first:], arm
        )
    else:
        wide_a, wide_b = np.zeros((count - first, 6)), np.zeros((count - first, 6))
        place_rows(form, a, b, *arms, *axes, *numbers, x, turn, value[first:], wide_a, wide_b, arm)
        for i in range(count - first):  # in the plane: two velocities and the spin about its normal
            for k in range(3):
                column = k if k < 2 else 5
                of_a[first + i, k], of_b[first + i, k] = wide_a[i, column], wide_b[i, column]
    for k in range(len(start)):
        i = linked.n_closing + k
        value[i] += start[k]
        if linked.terms[0, i] == TURN:
            value[i] += FULL_TURN * np.rint((near[k] - value[i]) / FULL_TURN)


@inlined
def rate_of(linked: Linked, i: int, of_a: Array, of_b: Array, velocity: Array) -> float:
    """Rate of term i at velocities (N, size); the world does not move."""
    a, b, total = linked.terms[1, i], linked.terms[2, i], 0.0
    for k in range(of_a.shape[1]):
        if a >= 0:
            total += of_a[i, k] * velocity[a, k]
        if b >= 0:
            total += of_b[i, k] * velocity[b, k]
    return total


@inlined
def own_rate_of(linked: Linked, i: int, of_a: Array, of_b: Array, velocity: Array, movable: Array) -> float:
    """Rate of term i at velocities (N, size), of bodies that can move."""
    a, b, total = linked.terms[1, i], linked.terms[2, i], 0.0
    for k in range(of_a.shape[1]):
        if a >= 0 and movable[a]:
            total += of_a[i, k] * velocity[a, k]
        if b >= 0 and movable[b]:
            total += of_b[i, k] * velocity[b, k]
    return total


@subroutine
def factor_rows(linked: Linked, rigid: Rigid, of_a: Array, of_b: Array, soft: Array) -> tuple[bool, UnitRows]:
    """The rows in units of unit mass and size and their factor; False if some of them are redundant."""
    n_rows, n_blocks, pattern = len(linked.offset), linked.blocks.shape[1], linked.pattern
    A, length = np.zeros((n_blocks, of_a.shape[1])), np.zeros(n_rows)
    entries, E = np.zeros(linked.products.shape[1] + n_rows), np.zeros(n_rows)
    for i in range(len(soft)):
        E[n_rows - len(soft) + i] = soft[i]
    fill_unit_rows(
        linked.entries[1],
        linked.factor,
        linked.terms[1],
        linked.terms[2],
        linked.entries[2],
        linked.entries[3],
        of_a,
        of_b,
        rigid.diagonals[2],
        linked.blocks[0],
        linked.products[0],
        linked.products[1],
        E,
        A,
        length,
        entries,
    )
    L, inverse = np.empty(len(pattern.structure)), np.empty(n_rows)
    weak = np.zeros(n_rows, dtype=np.bool_)
    where = pattern.entry_start, pattern.entry_row, pattern.entry
    factorise_columns(*where, entries, pattern.pointers, pattern.structure, WEAK, L, inverse, weak)
    for j in range(n_rows):
        if weak[j]:
            return False, UnitRows(A, length, L, inverse)
    return True, UnitRows(A, length, L, inverse)


@subroutine
def solve_rows(linked: Linked, rows: UnitRows, right: Array) -> None:
    """Solve (A Aᵀ + E) x = right, (j,), in place."""
    pattern, n = linked.pattern, len(right)
    x = np.empty(n)
    for j in range(n):
        x[j] = right[pattern.order[j]]
    for j in range(n):
        for p in range(pattern.pointers[j], pattern.pointers[j + 1]):
            x[pattern.structure[p]] -= rows.L[p] * x[j]
    for j in range(n - 1, -1, -1):
        total = x[j] * rows.inverse[j]
        for p in range(pattern.pointers[j], pattern.pointers[j + 1]):
            total -= rows.L[p] * x[pattern.structure[p]]
        x[j] = total
    for j in range(n):
        right[pattern.order[j]] = x[j]


@subroutine
def along_rows(linked: Linked, rows: UnitRows, y: Array, rate: Array) -> None:
    """Add A y to rates (j,), from velocities y (N, size) in units of unit mass."""
    for p in range(linked.blocks.shape[1]):
        row, body, total = linked.blocks[0, p], linked.blocks[1, p], 0.0
        for k in range(y.shape[1]):
            total += rows.A[p, k] * y[body, k]
        rate[row] += total


@subroutine
def along_bodies(linked: Linked, rows: UnitRows, x: Array, y: Array) -> None:
    """Add Aᵀ x to velocities y (N, size) in units of unit mass, from impulses x (j,) along unit rows."""
    for p in range(linked.blocks.shape[1]):
        row, body = linked.blocks[0, p], linked.blocks[1, p]
        for k in range(y.shape[1]):
            y[body, k] += rows.A[p, k] * x[row]


@subroutine
def hold_back(linked: Linked, rows: UnitRows, y: Array, impulse: Array) -> None:
    """Take off velocities y (N, size), in units of unit mass, what joints do not let pass.

    y ← y − Aᵀ (A Aᵀ + E)⁻¹ A y; the impulses (j,) of the joints, in units, are taken off theirs.
    """
    x = np.zeros(len(linked.offset))
    along_rows(linked, rows, y, x)
    solve_rows(linked, rows, x)
    for j in range(len(x)):
        x[j] = -x[j]
        impulse[j] += x[j] / rows.length[j]
    along_bodies(linked, rows, x, y)
