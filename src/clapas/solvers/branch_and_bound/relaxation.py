"""The convex problem of a node: impulses and velocities in the cones of their domains, or a certificate.

Both follow from least squares, min |W r + q − u|² over r ∈ R, u ∈ U. If the minimum is zero, r
is a point of the relaxation; otherwise y = u − W r − q is the certificate: the conditions of optimality are y
∈ U*, Wᵀy ∈ R°, and y·q = −|y|² < 0.

The cones are given by edges (:mod:`~clapas.solvers.branch_and_bound.cones`), so that the problem is one of
nonnegative least squares, exact up to rounding. In space the polyhedron around K gets a new face wherever a
point of a relaxation is found outside K.
"""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass

import numpy as np

from clapas.solvers.branch_and_bound import cones
from clapas.solvers.branch_and_bound.checker import Domain, Proof, signs
from clapas.solvers.branch_and_bound.least_squares import nonnegative_least_squares
from clapas.typing import Array, Mask

FEASIBLE = 1e-9  # |W r + q − u| below which a point counts as feasible
INWARD = 1e-13  # distance by which certificates are moved into U*, against rounding
FINEST = 0.01  # rad between tangents below which no more are added
KEPT = 2000  # domains of a contact whose columns are remembered


@dataclass(frozen=True, eq=False)
class Point:
    """A point of the relaxation: impulses and the velocities they give, both (n, d)."""

    r: Array
    u: Array


@dataclass(frozen=True, eq=False)
class _Part:
    """Contribution of a contact to the least squares of a node: columns, their impulses, free rows."""

    columns: Array
    impulses: Array
    free: Mask


class Relaxation:
    """Relaxations of the nodes of one search, which share edges, columns and tangents."""

    def __init__(self, data: Proof, deadline: float = math.inf) -> None:
        self.data, self.deadline = data, deadline
        self.n, self.d = data.q.shape
        self._tangents = [cones.TANGENTS] * self.n
        self._parts: list[dict[Domain, _Part]] = [{} for _ in range(self.n)]

    def solve(self, domains: tuple[Domain, ...]) -> tuple[Point, Array | None]:
        """A point of the relaxation, or one near it with the certificate y (n, d) of infeasibility."""
        parts = [self._part(i, domain) for i, domain in enumerate(domains)]
        columns = np.concatenate([part.columns for part in parts], axis=1)
        b = -self.data.q.ravel()
        free = np.concatenate([part.free for part in parts])
        columns[free] = 0.0
        b[free] = 0.0
        z, residual, _ = nonnegative_least_squares(columns, b, self.deadline)
        starts = np.cumsum([0] + [len(part.impulses) for part in parts[:-1]])
        impulses = np.concatenate([part.impulses for part in parts])
        r = np.add.reduceat(z[:, None] * impulses, starts, axis=0)
        point = Point(r, (self.data.W @ r.ravel()).reshape(r.shape) + self.data.q)
        size = float(np.linalg.norm(residual))
        if size <= FEASIBLE:
            return point, None
        y = (residual / size).reshape(self.n, self.d)
        return point, np.array([_corrected(y_i, each) for y_i, each in zip(y, domains, strict=True)])

    def _part(self, i: int, domain: Domain) -> _Part:
        known = self._parts[i].get(domain)
        if known is None:
            if len(self._parts[i]) == KEPT:
                self._parts[i].clear()
            known = self._parts[i][domain] = self._make_part(i, domain)
        return known

    def _make_part(self, i: int, domain: Domain) -> _Part:
        mu, rows = float(self.data.mu[i]), slice(self.d * i, self.d * (i + 1))
        edges = cones.impulses(domain, mu, self.d, self._tangents[i])
        moves, free = cones.velocities(domain, mu, self.d)
        columns = np.zeros((self.n * self.d, len(edges) + len(moves)))
        columns[:, : len(edges)] = self.data.W[:, rows] @ edges.T
        columns[rows, len(edges) :] = -moves.T
        return _Part(columns, np.concatenate((edges, np.zeros_like(moves))), free)

    def refine(self, i: int, r: Array) -> bool:
        """Add a face to the polyhedron around K near an impulse r outside; False if there is one already."""
        along = math.atan2(-r[2], -r[1]) % (2.0 * math.pi) if self.d == 3 else 0.0
        tangents = self._tangents[i]
        place = bisect.bisect(tangents, along)
        before, after = tangents[place - 1], tangents[place % len(tangents)]
        if self.d == 2 or min((along - before) % math.tau, (after - along) % math.tau) < FINEST:
            return False
        self._tangents[i] = (*tangents[:place], along, *tangents[place:])
        self._parts[i].clear()
        return True


def _corrected(y: Array, domain: Domain) -> Array:
    """Correct the rounding of a certificate: components that must vanish, signs."""
    y = y.copy()
    if domain.opens:
        y[0] = max(y[0], 0.0)
        y[1:] = 0.0
    elif domain.arc is not None and len(y) == 2:
        allowed = signs(domain.arc)
        y[1] = 0.0 if len(allowed) == 2 else allowed[0] * max(allowed[0] * y[1], 0.0)
    elif domain.arc is not None and domain.arc[1] - domain.arc[0] >= math.pi:
        y[1:] = 0.0
    elif domain.arc is not None:
        middle = 0.5 * (domain.arc[0] + domain.arc[1])
        y[1:] += INWARD * np.array([math.cos(middle), math.sin(middle)])
    return y
