"""Islands: sets of bodies connected by contacts and joints, and the storage of their rows and matrices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.compiled import inlined, subroutine
from clapas.dynamics.jointed.tables import Elimination, Trees, UnitRows
from clapas.typing import Array, Indices


class Islands(NamedTuple):
    """The m contacts and links of a step, island by island.

    Parameters
    ----------
    order : array (m,)
        The contact or link at each place.
    start : array (i + 1,)
        First place of each island.
    matrix : array (i + 1,)
        First entry of its matrix W in the array of all matrices.
    labels, label_start : arrays (l,) and (i + 1,)
        Linkages of each island, one island after another.
    """

    order: Indices
    start: Indices
    matrix: Indices
    labels: Indices
    label_start: Indices


@inlined
def root_of(parent: Indices, body: int) -> int:
    """The representative of all bodies connected with one."""
    while parent[body] != body:
        parent[body] = parent[parent[body]]
        body = parent[body]
    return body


@subroutine
def islands_of(leader: Indices, of_linkage: Indices, bodies: Indices, d: int) -> Islands:
    """Connect bodies by contacts and links between ``bodies`` (m, 2), −1 for those that cannot move.

    ``leader`` and ``of_linkage`` are ``leader`` and ``of_label`` of :class:`Trees`.
    """
    m, parent = len(bodies), np.empty(len(leader), dtype=np.int64)
    for body in range(len(parent)):
        parent[body] = leader[body]
    for i in range(m):
        if bodies[i, 0] >= 0 and bodies[i, 1] >= 0:
            a, b = root_of(parent, bodies[i, 0]), root_of(parent, bodies[i, 1])
            parent[max(a, b)] = min(a, b)
    number, island, count = np.full(len(parent), -1, dtype=np.int64), np.empty(m, dtype=np.int64), 0
    for i in range(m):
        root = root_of(parent, bodies[i, 0] if bodies[i, 0] >= 0 else bodies[i, 1])
        if number[root] < 0:
            number[root] = count
            count += 1
        island[i] = number[root]
    start, order = np.zeros(count + 1, dtype=np.int64), np.empty(m, dtype=np.int64)
    of_label = np.full(len(of_linkage), -1, dtype=np.int64)
    label_start = np.zeros(count + 1, dtype=np.int64)
    for i in range(m):
        start[island[i] + 1] += 1
    for label in range(len(of_label)):
        if of_linkage[label] >= 0:
            of_label[label] = number[root_of(parent, of_linkage[label])]
            if of_label[label] >= 0:
                label_start[of_label[label] + 1] += 1
    matrix = np.zeros(count + 1, dtype=np.int64)
    for i in range(count):
        matrix[i + 1] = matrix[i] + (d * start[i + 1]) ** 2
        start[i + 1] += start[i]
        label_start[i + 1] += label_start[i]
    place, label_place = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    for i in range(count):
        place[i], label_place[i] = start[i], label_start[i]
    for i in range(m):
        order[place[island[i]]] = i
        place[island[i]] += 1
    labels = np.empty(label_start[count], dtype=np.int64)
    for label in range(len(of_label)):
        if of_label[label] >= 0:
            labels[label_place[of_label[label]]] = label
            label_place[of_label[label]] += 1
    return Islands(order, start, matrix, labels, label_start)


@subroutine
def eliminate(
    trees: Trees,
    elimination: Elimination,
    row: Indices,
    rows: UnitRows,
    G: Array,
    bodies: Indices,
    labels: Indices,
    W: Array,
    without_joints: Array,
) -> None:
    """Write W = G Gᵀ − Yᵀ D⁻¹ Y of an island, L Y = A Gᵀ, and the diagonal of W without joints.

    ``row`` (p,) are the rows of the blocks of A; ``G`` (m, 2, d, size) on ``bodies`` (m, 2) are the rows of
    the island, ``labels`` its linkages.
    """
    columns, label_start, place, row_place, by_body, body_start, leaders, of_label = trees
    pointers, structure, _ = elimination
    A, _, L, inverse = rows
    m, _, d, size = G.shape
    width = m * d
    for i in range(m):
        for j in range(i + 1):
            for k in range(d):
                for l in range(d):
                    total = 0.0
                    for s in range(2):
                        for t in range(2):
                            if bodies[i, s] >= 0 and bodies[i, s] == bodies[j, t]:
                                for e in range(size):
                                    total += G[i, s, k, e] * G[j, t, l, e]
                    W[i * d + k, j * d + l] = total
                    W[j * d + l, i * d + k] = total
    for i in range(width):
        without_joints[i] = W[i, i]
    for which in range(len(labels)):
        first, last = label_start[labels[which]], label_start[labels[which] + 1]
        Y = np.zeros((last - first, width))
        leader = of_label[labels[which]]
        for i in range(m):
            for s in range(2):
                body = bodies[i, s]
                if body < 0 or leaders[body] != leader:
                    continue
                for e in range(body_start[body], body_start[body + 1]):
                    p = by_body[e]
                    at = row_place[row[p]]
                    for k in range(d):
                        total = 0.0
                        for c in range(size):
                            total += A[p, c] * G[i, s, k, c]
                        Y[at, i * d + k] += total
        for q in range(first, last):
            j, y = columns[q], Y[q - first]
            is_zero = True
            for c in range(width):
                if y[c] != 0.0:
                    is_zero = False
                    break
            if is_zero:
                continue
            for p in range(pointers[j], pointers[j + 1]):
                add_multiple(-L[p], y, Y[place[structure[p]]])
            for c in range(width):
                if y[c] != 0.0:
                    add_multiple(-inverse[j] * y[c], y, W[c])


@inlined
def add_multiple(factor: float, row: Array, target: Array) -> None:
    """Add factor · row to target."""
    for c in range(len(target)):
        target[c] += factor * row[c]
