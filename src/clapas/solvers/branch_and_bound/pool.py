"""Known certificates, tried on every new node before its convex problem is solved.

A conflict between a few contacts closes every node where they have the same modes, whatever the others do.
Whether a certificate excludes that a contact opens, sticks or slides is stored once, and most nodes
are decided by this table; arcs of sliding directions are compared with the certificate itself. The test
is that of the checker, a little stricter; in the plane it is the same with a zero second tangent.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clapas.compiled import inlined, kernel
from clapas.solvers.branch_and_bound.checker import WIDE_ENOUGH, Domain, Proof, weigh
from clapas.typing import Array, Mask

SIZE = 4000  # number of certificates kept, the newest
STRICTER = 1e-15
OPENS, STICKS, SLIDES, TURNS = range(4)  # TURNS: slides in a direction of an arc


class Weights(NamedTuple):
    """Certificates, one per row: y, the product Wᵀy, its angle of largest power, its upper bound.

    ``open_to`` tells for each contact which modes are *not* excluded: to open, to stick, to slide in
    all directions, to slide in some.
    """

    y: Array
    product: Array
    against: Array
    allowed: Array
    open_to: Mask


@cache
def numbers(domain: Domain) -> tuple[float, ...]:
    """A domain as numbers: opens, sticks, slides anywhere, slides in an arc; the ends of the arc."""
    wide = domain.arc is not None and domain.arc[1] - domain.arc[0] >= math.pi
    low, high = domain.arc or (0.0, 0.0)
    ends = (math.cos(low), math.sin(low), math.cos(high), math.sin(high))
    return (domain.opens, domain.sticks, wide, domain.arc is not None and not wide, low, high, *ends)


class Pool:
    """The newest certificates, by number."""

    def __init__(self, data: Proof) -> None:
        self.data = data
        self.n, self.d = data.q.shape
        self.count = 0
        shape = (SIZE, self.n)
        vectors, scalars = np.zeros((2, *shape, 3)), np.zeros((2, *shape))
        nothing = np.zeros((*shape, 4), dtype=bool)
        self._weights = Weights(vectors[0], vectors[1], scalars[0], scalars[1], nothing)

    def add(self, y: Array) -> int:
        """Add a certificate; returns its number."""
        product, hidden, gap = weigh(self.data, y)
        place, w, mu = self.count % SIZE, self._weights, self.data.mu
        w.y[place, :, : self.d] = y
        w.product[place, :, : self.d] = product
        w.against[place] = np.arctan2(-w.product[place, :, 2], -w.product[place, :, 1]) % math.tau
        rounding = STRICTER * (np.abs(product[:, 0]) + mu * np.abs(product[:, 1:]).sum(axis=1))
        w.allowed[place] = gap / WIDE_ENOUGH - hidden - rounding if gap > 0.0 else -math.inf
        size = mu * np.linalg.norm(product[:, 1:], axis=1)
        turns = y[:, 1:].any(axis=1)
        sticks = product[:, 0] + size > w.allowed[place]
        slides = product[:, 0] - size > w.allowed[place]
        w.open_to[place] = np.column_stack(((y[:, 0] < 0.0) | turns, sticks, turns | sticks, slides))
        self.count += 1
        return self.count - 1

    def drop_last(self) -> None:
        """Remove the newest certificate, which closes nothing."""
        self.count -= 1

    def find(self, domains: tuple[Domain, ...], newest: int = SIZE) -> int | None:
        """Number of a certificate, among the ``newest``, that excludes the domains; None if there is none."""
        node = np.array([numbers(domain) for domain in domains])
        modes = np.argwhere(node[:, :4] > 0.0)
        tried = min(self.count, SIZE - 1, newest)  # the oldest may have been overwritten by a dropped one
        place = closing(self._weights, self.data.mu, node, modes, self.count, tried)
        return None if place < 0 else int(place)


@kernel
def closing(
    weights: Weights, mu: Array, node: Array, modes: npt.NDArray[np.integer], count: int, tried: int
) -> int:
    """Number of the newest certificate that excludes all modes of a node, or −1."""
    for number in range(count - 1, count - 1 - tried, -1):
        row = number % len(weights.y)
        excluded = True
        for k in range(len(modes)):
            if weights.open_to[row, modes[k, 0], modes[k, 1]]:
                excluded = False
                break
        if not excluded:
            continue
        for k in range(len(modes)):
            if modes[k, 1] == TURNS and not _excludes_arc(weights, row, modes[k, 0], mu, node):
                excluded = False
                break
        if excluded:
            return number
    return -1


@inlined
def _excludes_arc(weights: Weights, row: int, i: int, mu: Array, node: Array) -> bool:
    """Whether y·t ≥ 0 for the directions t of an arc and r·W y is small enough for impulses against them."""
    a, b = weights.y[row, i, 1], weights.y[row, i, 2]
    least = STRICTER if b != 0.0 else 0.0
    if mu[i] == 0.0 and (a != 0.0 or b != 0.0):
        return False
    if a * node[i, 6] + b * node[i, 7] < least or a * node[i, 8] + b * node[i, 9] < least:
        return False
    normal, a, b = weights.product[row, i, 0], weights.product[row, i, 1], weights.product[row, i, 2]
    if node[i, 4] <= weights.against[row, i] <= node[i, 5]:
        power = np.sqrt(a * a + b * b)
    else:
        power = max(-a * node[i, 6] - b * node[i, 7], -a * node[i, 8] - b * node[i, 9])
    return bool(normal + mu[i] * power <= weights.allowed[row, i])
