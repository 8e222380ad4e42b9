"""Checker of proofs that a contact problem has no solution: small, independent of the search, exact.

The proof is a tree. Its root allows every contact any mode; a branch splits the modes of one contact
into parts that together cover them; a leaf shows that no impulse obeys the law within its domains.
The modes allowed at a contact are a :class:`Domain`, from which two cones follow::

                            velocities U                         impulses R
    opens                   u_N ≥ 0, u_T free                    0
    sticks                  u = 0                                K
    slides in an arc        u_N = 0, u_T along the arc           r_N (1, −mu t), t in the arc

(the convex hull of those allowed). The certificate of a leaf is an array y (n, d) with

    y ∈ U*  (y·u ≥ 0 for every u ∈ U),    Wᵀy ∈ R°  (r·Wᵀy ≤ 0 for every r ∈ R),    y·q < 0.

A solution within the domains, u = W r + q, would give 0 ≤ y·u = r·Wᵀy + y·q < 0: there is none. Neither
symmetry nor definiteness of W is used.

The numbers y are doubles, so that Wᵀy is in R° up to ε only, r·Wᵀy ≤ ε Σ r_N: the argument holds for impulses
with Σ r_N below a *radius*, |y·q| / ε. Wᵀy and y·q are computed exactly, in integers, from data
scaled by powers of two; later operations are rounded in the safe direction, and so is the error made when W
was computed from M and H. A certificate is accepted if its radius is at least 1e8 times the impulses that
would cancel the free velocity, beyond which rounding alone leaves a residual of 2e-8. Bodies of very
different masses do carry impulses of that order; the radius is part of the proof, and is reported with it.
(Where W is positive definite a solution exists, so that no bound on r from its energy can help a proof.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from clapas.linalg.exact import Integers, integers
from clapas.typing import Array

CIRCLE = (0.0, 2.0 * math.pi)
EPSILON = float(np.finfo(float).eps)
WIDE_ENOUGH = 1e8  # radius required of a certificate; the data are dimensionless, |q| and W_ii about 1
SAFE = 8.0 * EPSILON  # relative error of the few operations after the exact ones

Arc = tuple[float, float]


class Domain(NamedTuple):
    """Modes allowed at a contact: open, stick, slide along the arc (angles; in 2-D 0 is +, π is −)."""

    opens: bool
    sticks: bool
    arc: Arc | None


ANYTHING = Domain(True, True, CIRCLE)


class Leaf(NamedTuple):
    """A closed branch: number of its certificate."""

    certificate: int


class Branch(NamedTuple):
    """A contact whose domain is split: the parts, and the numbers of their nodes."""

    contact: int
    parts: tuple[Domain, ...]
    children: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Proof:
    """A tree whose leaves are all closed; node 0 is the root.

    ``W`` (d·n × d·n), ``q`` (n, d) and ``mu`` (n,) are its data, dimensionless; ``spread`` is the
    relative error with which they represent those of the problem: zero for a reduced problem, some roundings
    where W was computed from M and H.
    """

    W: Array
    q: Array
    mu: Array
    nodes: tuple[Leaf | Branch, ...]
    certificates: tuple[Array, ...]
    spread: float = 0.0

    @cached_property
    def _exact(self) -> tuple[Integers, Integers]:
        """Wᵀ and q as integers."""
        return integers(self.W).T, integers(self.q.ravel())

    @property
    def leaves(self) -> int:
        """Number of closed branches."""
        return sum(isinstance(node, Leaf) for node in self.nodes)

    def __repr__(self) -> str:
        return f"Proof({self.leaves} closed branches, {len(self.certificates)} certificates)"


class Verification(NamedTuple):
    """Result of a check.

    ``accepted``: every branch is covered and every leaf closed. ``radius``: no solution has Σ r_N below it.
    ``complaint``: what is wrong with a proof that is not accepted.
    """

    accepted: bool
    radius: float
    complaint: str = ""


def check(proof: Proof) -> Verification:
    """Check a proof of non-existence from its data alone."""
    n, d = proof.q.shape
    if proof.W.shape != (n * d, n * d):
        return _refused("W must be square, with a row per component of q")
    radius = math.inf
    visited: set[int] = set()
    stack = [(0, (ANYTHING,) * n)]
    while stack:
        place, domains = stack.pop()
        if place in visited or not 0 <= place < len(proof.nodes):
            return _refused(f"node {place} is missing or used twice")
        visited.add(place)
        node = proof.nodes[place]
        if isinstance(node, Leaf):
            if not 0 <= node.certificate < len(proof.certificates):
                return _refused(f"leaf {place} has no certificate")
            leaf_radius = closing_radius(proof, proof.certificates[node.certificate], domains)
            if leaf_radius < WIDE_ENOUGH:
                return _refused(f"the certificate of leaf {place} does not close it")
            radius = min(radius, leaf_radius)
        else:
            i, parts, children = node
            if not 0 <= i < n or len(parts) != len(children) or not covers(domains[i], parts, d):
                return _refused(f"node {place} leaves something out at contact {i}")
            stack += [
                (child, (*domains[:i], part, *domains[i + 1 :]))
                for part, child in zip(*node[1:], strict=True)
            ]
    return Verification(True, radius)


def _refused(complaint: str) -> Verification:
    return Verification(False, 0.0, complaint)


def covers(whole: Domain, parts: tuple[Domain, ...], d: int) -> bool:
    """Whether parts cover a domain."""
    if whole.opens and not any(part.opens for part in parts):
        return False
    if whole.sticks and not any(part.sticks for part in parts):
        return False
    if whole.arc is None:
        return True
    arcs = sorted(part.arc for part in parts if part.arc is not None)
    if d == 2:
        angles = [angle for angle in (0.0, math.pi) if _within(angle, whole.arc)]
        return all(any(_within(angle, arc) for arc in arcs) for angle in angles)
    reached, end = whole.arc
    for low, high in arcs:
        if low > reached:
            return False
        reached = max(reached, high)
    return reached >= end


def closing_radius(data: Proof, y: Array, domains: tuple[Domain, ...]) -> float:
    """Largest Σ r_N for which the certificate y excludes the domains; 0 if it does not."""
    n = len(data.q)
    if y.shape != data.q.shape or not np.isfinite(y).all():
        return 0.0
    if not all(in_dual(y[i], domains[i], data.mu[i] > 0.0) for i in range(n)):
        return 0.0
    product, hidden, gap = weigh_exactly(data, y)
    if gap <= 0.0:
        return 0.0
    sizes = np.abs(product[:, 0]) + data.mu * np.abs(product[:, 1:]).sum(axis=1)
    worst = max(
        (highest(product[i], data.mu[i], domains[i]) + SAFE * sizes[i] + hidden[i] for i in range(n)),
        default=0.0,
    )
    return float((1.0 - SAFE) * gap / worst) if worst > 0.0 else math.inf


def weigh_exactly(data: Proof, y: Array) -> tuple[Array, Array, float]:
    """Wᵀy rounded once, the uncertainty of r·Wᵀy per r_N due to the spread, and a lower bound of −y·q."""
    W, q = data._exact
    flat = integers(y.ravel())
    product = (W @ flat).nearest().reshape(y.shape)
    power = float((Integers(q.k[None, :], q.exponent) @ flat).nearest()[0])
    # |W_kl| ≤ √(W_kk W_ll) before rounding, for a W that was computed from M and H.
    root = np.sqrt(np.abs(np.diag(data.W)))
    spread = data.spread * (root * float(root @ np.abs(y).ravel())).reshape(y.shape)
    gap = -power - data.spread * float(np.sum(np.abs(y * data.q)))
    return product, spread[:, 0] + data.mu * spread[:, 1:].sum(axis=1), gap


def weigh(data: Proof, y: Array) -> tuple[Array, Array, float]:
    """The same in floating point, faster, with larger uncertainty of Wᵀy and smaller gap."""
    error = 4.0 * y.size * EPSILON + data.spread  # relative error of the sums
    product = (data.W.T @ y.ravel()).reshape(y.shape)
    root = np.sqrt(np.abs(np.diag(data.W)))
    sizes = error * (np.abs(data.W.T) @ np.abs(y).ravel()).reshape(y.shape)
    sizes += data.spread * (root * float(root @ np.abs(y).ravel())).reshape(y.shape)
    gap = -float(np.sum(y * data.q)) - error * float(np.sum(np.abs(y * data.q)))
    return product, sizes[:, 0] + data.mu * sizes[:, 1:].sum(axis=1), gap


def in_dual(y: Array, domain: Domain, rough: bool) -> bool:
    """Whether y·u ≥ 0 for every velocity the domain allows; without friction u_T is free."""
    if domain.opens and y[0] < 0.0:
        return False
    if domain.opens or not rough:
        return not y[1:].any()
    if domain.arc is None:
        return True
    if len(y) == 2:
        return all(y[1] * sign >= 0.0 for sign in signs(domain.arc))
    low, high = domain.arc
    if high - low >= math.pi:
        return not y[1:].any()
    return all(_is_surely_positive(*(y[1:] * _direction(angle))) for angle in (low, high))


def _is_surely_positive(a: float, b: float) -> bool:
    """Whether a + b ≥ 0 despite rounding of either; the sign of one alone is exact."""
    slack = 2.0 * EPSILON * (abs(a) + abs(b)) if a and b else 0.0
    return bool(a + b >= slack)


def highest(c: Array, mu: float, domain: Domain) -> float:
    """Largest c·r among the impulses of the domain with r_N = 1; −∞ if there is none."""
    if domain.sticks:
        return float(c[0] + mu * np.linalg.norm(c[1:]))
    if domain.arc is None:
        return -math.inf
    if len(c) == 2:
        return float(c[0] + mu * max((-sign * c[1] for sign in signs(domain.arc)), default=-math.inf))
    opposite = math.atan2(-c[2], -c[1]) % (2.0 * math.pi)
    if _within(opposite, domain.arc):
        return float(c[0] + mu * np.linalg.norm(c[1:]))
    return float(c[0] + mu * max(-c[1:] @ _direction(angle) for angle in domain.arc))


def signs(arc: Arc) -> list[float]:
    """Directions of sliding in the plane that belong to an arc."""
    return [sign for angle, sign in ((0.0, 1.0), (math.pi, -1.0)) if _within(angle, arc)]


def _within(angle: float, arc: Arc) -> bool:
    return arc[0] <= angle <= arc[1]


def _direction(angle: float) -> Array:
    return np.array([math.cos(angle), math.sin(angle)])
