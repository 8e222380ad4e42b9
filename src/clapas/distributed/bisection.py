"""Domains by recursive bisection: space is cut across its longest side in proportion to the work.

The cuts are planes, so the owner of a body follows from its position alone, on any rank. The weight of a
body is a whole number (one, and one more for each of its contacts, say): sums are exact, whatever their
order. Each cut is found by histograms that all ranks add up, the bin of the cut being refined repeatedly: no
rank needs the positions of others.

Reference: Berger, Bokhari 1987 (recursive coordinate bisection).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.distributed.communication import Ranks
from clapas.typing import Array, Indices

BINS = 64
ROUNDS = 6  # of histograms: a cut is found to 64⁻⁶ of the length


@dataclass(frozen=True)
class Bisection:
    """Cuts of space into one domain for each rank.

    Parameters
    ----------
    axis, cut : arrays (n_nodes,)
        Node k assigns positions below ``cut`` along ``axis`` to its first child.
    child : array (n_nodes, 2)
        Next nodes; leaves are −1 − rank.
    """

    axis: Indices
    cut: Array
    child: Indices

    def owner(self, position: Array) -> Indices:
        """The rank whose domain each position (n, d) is in."""
        node = np.zeros(len(position), dtype=np.int64) if len(self.axis) else np.full(len(position), -1)
        while True:
            inside = np.flatnonzero(node >= 0)
            if not len(inside):
                return -1 - node
            at = node[inside]
            beyond = position[inside, self.axis[at]] >= self.cut[at]
            node[inside] = self.child[at, beyond.astype(np.int64)]


def bisection(ranks: Ranks, position: Array, weight: Indices) -> Bisection:
    """Cut space for all ranks from the positions (n, d) and whole weights (n,) of the bodies of each."""
    axis: list[int] = []
    cut: list[float] = []
    child: list[list[int]] = []
    level = [(0, ranks.size, np.arange(len(position)), (-1, 0))]
    while level:
        level = [each for each in level if _is_to_be_cut(each, child)]
        if not level:
            break
        along, cuts = _cuts(
            ranks, [each[2] for each in level], [each[:2] for each in level], position, weight
        )
        next_level = []
        for (first, last, bodies, parent), a, c in zip(level, along, cuts, strict=True):
            number, middle = len(axis), (first + last) // 2
            if parent[0] >= 0:
                child[parent[0]][parent[1]] = number
            axis.append(a)
            cut.append(c)
            child.append([-1, -1])
            beyond = position[bodies, a] >= c
            next_level.append((first, middle, bodies[~beyond], (number, 0)))
            next_level.append((middle, last, bodies[beyond], (number, 1)))
        level = next_level
    return Bisection(
        np.array(axis, dtype=np.int64), np.array(cut), np.array(child, dtype=np.int64).reshape(-1, 2)
    )


def _is_to_be_cut(node: tuple[int, int, Indices, tuple[int, int]], child: list[list[int]]) -> bool:
    """Whether a node is still to be cut; a node of one rank becomes a leaf of its parent."""
    first, last, _, parent = node
    if last - first > 1:
        return True
    if parent[0] >= 0:
        child[parent[0]][parent[1]] = -1 - first
    return False


def _cuts(
    ranks: Ranks, groups: list[Indices], spans: list[tuple[int, int]], position: Array, weight: Indices
) -> tuple[list[int], list[float]]:
    """Axis and position of the cut of each group of bodies, all at once."""
    n, d = len(groups), position.shape[1]
    low = np.array([position[rows].min(axis=0, initial=np.inf) for rows in groups])
    high = np.array([position[rows].max(axis=0, initial=-np.inf) for rows in groups])
    everyone = ranks.gathered(np.concatenate((low.ravel(), high.ravel()))).reshape(ranks.size, 2, n, d)
    low, high = everyone[:, 0].min(axis=0), everyone[:, 1].max(axis=0)
    is_empty = ~np.isfinite(low).all(axis=1)
    low[is_empty], high[is_empty] = 0.0, 0.0
    axis = np.argmax(high - low, axis=1)
    start, end = low[np.arange(n), axis], high[np.arange(n), axis]
    begin = start.copy()
    share = np.array([((first + last) // 2 - first) / (last - first) for first, last in spans])
    goal, before = np.full(n, -1.0), np.zeros(n)
    for _ in range(ROUNDS):
        counts = np.zeros((n, BINS))
        width = (end - start) / BINS
        for k, rows in enumerate(groups):
            x = position[rows, axis[k]]
            inside = (x >= start[k]) & ((x < end[k]) | (width[k] == 0.0) | (end[k] >= high[k, axis[k]]))
            place = np.zeros(int(inside.sum()), dtype=np.int64)
            if width[k] > 0.0:
                place = np.clip(((x[inside] - start[k]) / width[k]).astype(np.int64), 0, BINS - 1)
            counts[k] = np.bincount(place, weight[rows][inside], BINS)
        counts = ranks.total(counts.ravel()).reshape(n, BINS)
        if (goal < 0.0).all():
            goal = share * counts.sum(axis=1)
        sums = before[:, None] + np.cumsum(counts, axis=1)
        for k in range(n):
            chosen = int(min(np.searchsorted(sums[k], goal[k]), BINS - 1))
            before[k] += counts[k, :chosen].sum()
            start[k], end[k] = start[k] + chosen * width[k], start[k] + (chosen + 1) * width[k]
    # Bodies at a single position cannot be cut: all are beyond, and the other side is empty.
    return axis.tolist(), np.where(high[np.arange(n), axis] > begin, end, begin).tolist()
