"""Certificates found before, tried on every new node before its convex problem is solved.

A conflict between a few contacts closes every node in which they do the same, whatever the others do. In the
plane a contact has ten domains in all: which of them a certificate excludes is written in a table once, and
a node is closed by looking it up. In space arcs are endless and nothing is kept.
"""

from __future__ import annotations

import numpy as np

from clapas.solvers.branch_and_bound.checker import WIDE_ENOUGH, Domain, Proof, highest, in_dual, weigh
from clapas.solvers.branch_and_bound.modes import IN_PLANE
from clapas.typing import Array, Mask

SIZE = 2000  # certificates remembered: the newest
NUMBER = {domain: k for k, domain in enumerate(IN_PLANE)}


class Pool:
    """The newest certificates, by number."""

    def __init__(self, data: Proof) -> None:
        self.data = data
        self.n, d = data.q.shape
        self.size = SIZE if d == 2 else 0
        self._closes = np.zeros((self.size, self.n, len(IN_PLANE)), dtype=bool)
        self._count = 0

    def add(self, y: Array) -> None:
        """Remember a certificate."""
        if self.size:
            self._closes[self._count % self.size] = self.table(y)
        self._count += 1

    def table(self, y: Array) -> Mask:
        """Whether y excludes each domain at each contact, (n, 10)."""
        answer, hidden, gap = weigh(self.data, y)
        allowed = gap / WIDE_ENOUGH - hidden
        closes = np.empty((self.n, len(IN_PLANE)), dtype=bool)
        for i, mu in enumerate(self.data.mu):
            for k, domain in enumerate(IN_PLANE):
                closes[i, k] = (
                    in_dual(y[i], domain, mu > 0.0) and highest(answer[i], mu, domain) <= allowed[i]
                )
        return closes

    def find(self, domains: tuple[Domain, ...]) -> int | None:
        """Number of a certificate that excludes the domains."""
        filled = min(self._count, self.size)
        if filled == 0:
            return None
        columns = [NUMBER[domain] for domain in domains]
        closing = self._closes[:filled, np.arange(self.n), columns].all(axis=1)
        if not closing.any():
            return None
        place = int(np.argmax(closing))
        last = self._count - 1
        return last - (last - place) % self.size
