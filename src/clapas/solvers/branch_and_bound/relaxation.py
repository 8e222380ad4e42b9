"""The convex problem of a node: impulses and velocities in the cones of their domains, or why there are none.

Both are asked for at once by least squares, min |W r + q − u|² over r ∈ R, u ∈ U. If the minimum is zero, r
is a point of the relaxation; otherwise y = u − W r − q is the certificate: the conditions of optimality are y
∈ U*, W y ∈ R°, and y·q = −|y|² < 0.

In the plane the cones have at most four generators, and Lawson and Hanson's nonnegative least squares answer
exactly. In space Clarabel does, to about ten digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from scipy import optimize, sparse

from clapas.solvers.branch_and_bound.checker import WIDE_ENOUGH, Domain, Proof, closing_radius, signs
from clapas.typing import Array

MISSED = {2: 1e-9, 3: 1e-7}  # |W r + q − u| below which a point is taken for feasible
INWARD = 1e-13


@dataclass(frozen=True, eq=False)
class Point:
    """A point of the relaxation: impulses and the velocities they give, both (n, d)."""

    r: Array
    u: Array


def relax(data: Proof, domains: tuple[Domain, ...]) -> Point | Array:
    """Find a point of a node's relaxation, or the certificate y (n, d) that it is empty."""
    r, missed = _in_plane(data, domains) if data.q.shape[1] == 2 else _in_space(data, domains)
    size = float(np.linalg.norm(missed))
    if size > MISSED[data.q.shape[1]]:
        y = np.array([_snapped(y_i, each) for y_i, each in zip(missed / size, domains, strict=True)])
        if closing_radius(data, y, domains) >= WIDE_ENOUGH:
            return y
    return Point(r, (data.W @ r.ravel()).reshape(r.shape) + data.q)


def _snapped(y: Array, domain: Domain) -> Array:
    """Put right what rounding did to a certificate: components that must vanish, signs."""
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


def _in_plane(data: Proof, domains: tuple[Domain, ...]) -> tuple[Array, Array]:
    """Nonnegative least squares on the edges of the cones of impulses and velocities: r and y."""
    n = len(data.q)
    edges: list[tuple[int, float]] = []  # contact and tangential part of an edge (1, t)
    rows: list[int] = []
    moves: list[tuple[int, float]] = []  # row of u and sign of its part
    for i, (domain, mu) in enumerate(zip(domains, data.mu, strict=True)):
        slides = signs(domain.arc) if domain.arc is not None else []
        leans = {-mu * sign for sign in ((1.0, -1.0) if domain.sticks else slides)}
        edges += [(i, lean) for lean in sorted(leans)]
        rows.append(2 * i)
        if domain.opens:
            moves.append((2 * i, 1.0))
        elif mu > 0.0 and len(slides) < 2:
            rows.append(2 * i + 1)
            moves += [(2 * i + 1, sign) for sign in slides]
    R = np.zeros((2 * n, len(edges)))
    for k, (i, lean) in enumerate(edges):
        R[2 * i, k], R[2 * i + 1, k] = 1.0, lean
    R /= np.maximum(1.0, np.abs(R[1::2]).sum(axis=0))
    U = np.zeros((2 * n, len(moves)))
    for k, (row, sign) in enumerate(moves):
        U[row, k] = sign
    A = np.concatenate((data.W @ R, -U), axis=1)[rows]
    y = np.zeros(2 * n)
    z, y[rows] = _least_squares(A, -data.q.ravel()[rows])
    return (R @ z[: len(edges)]).reshape(n, 2), y.reshape(n, 2)


def _least_squares(A: Array, b: Array) -> tuple[Array, Array]:
    """Minimise |A z − b| over z ≥ 0: z, and b − A z. Zero if the iterations run out.

    What is missed is orthogonal to the columns in use. Where it is small, rounding hides this: it is made so
    once more, which gives certificates their digits.
    """
    lengths = np.linalg.norm(A, axis=0)
    lengths = np.where(lengths > 0.0, lengths, 1.0)
    A = A / lengths
    try:
        z: Array = optimize.nnls(A, b)[0]
    except RuntimeError:
        return np.zeros(A.shape[1]), b
    missed = b - A @ z
    if np.linalg.norm(missed) > MISSED[2]:
        Q = np.linalg.qr(A[:, z > 0.0])[0]
        missed -= Q @ (Q.T @ missed)
    return z / lengths, missed


def _in_space(data: Proof, domains: tuple[Domain, ...]) -> tuple[Array, Array]:
    """Clarabel on min ½|ρ|² over r ∈ R and ρ, with u = W r + q − ρ ∈ U: r and y = −ρ."""
    size = data.q.size
    zeros, rays, cones = _Rows(size), _Rows(size), _Rows(size)
    for i, (domain, mu) in enumerate(zip(domains, data.mu, strict=True)):
        at = 3 * i
        _constrain_velocity(zeros, rays, data, domain, float(mu), at)
        _constrain_impulse(zeros, rays, cones, domain, float(mu), at)
    engine: Any = import_module("clarabel")
    options = engine.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-12
    P = sparse.diags_array(np.repeat([0.0, 1.0], size), format="csc")
    A = np.concatenate((zeros.matrix(), rays.matrix(), cones.matrix()))
    h = np.concatenate((zeros.right(), rays.right(), cones.right()))
    kinds = [engine.ZeroConeT(len(zeros))] if len(zeros) else []
    kinds += [engine.NonnegativeConeT(len(rays))] if len(rays) else []
    kinds += [engine.SecondOrderConeT(3) for _ in range(len(cones) // 3)]
    program = (sparse.csc_matrix(P), np.zeros(2 * size), sparse.csc_matrix(-A), h, kinds)
    answer = np.array(engine.DefaultSolver(*program, options).solve().x)
    if not np.isfinite(answer).all():
        answer = np.zeros(2 * size)
    r, rho = answer[:size], answer[size:]
    return r.reshape(-1, 3), -rho.reshape(-1, 3)


class _Rows:
    """Rows a·(r, ρ) + k of a conic program: all in the cone of their kind."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.rows: list[Array] = []
        self.constants: list[float] = []

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, on_r: Array, on_rho: Array, constant: float) -> None:
        self.rows.append(np.concatenate((on_r, on_rho)))
        self.constants.append(constant)

    def matrix(self) -> Array:
        return np.array(self.rows).reshape(len(self.rows), 2 * self.size)

    def right(self) -> Array:
        return np.array(self.constants)


def _constrain_velocity(zeros: _Rows, rays: _Rows, data: Proof, domain: Domain, mu: float, at: int) -> None:
    """u_i = (W r + q − ρ)_i in the cone of velocities."""

    def along(weights: Array) -> tuple[Array, Array, float]:
        on_rho = np.zeros(data.q.size)
        on_rho[at : at + 3] = -weights
        return weights @ data.W[at : at + 3], on_rho, float(weights @ data.q.ravel()[at : at + 3])

    normal, first, second = np.eye(3)
    (rays if domain.opens else zeros).add(*along(normal))
    if domain.opens or mu == 0.0:
        return
    if domain.arc is None:
        zeros.add(*along(first))
        zeros.add(*along(second))
        return
    low, high = domain.arc
    if high - low < math.pi:
        rays.add(*along(-math.sin(low) * first + math.cos(low) * second))
        rays.add(*along(math.sin(high) * first - math.cos(high) * second))


def _constrain_impulse(zeros: _Rows, rays: _Rows, cones: _Rows, domain: Domain, mu: float, at: int) -> None:
    """r_i in the cone of impulses: zero, K, or the part of K beyond the chord of the arc."""
    nothing = np.zeros(zeros.size)
    unit = np.eye(zeros.size)[at : at + 3]
    if not domain.sticks and domain.arc is None:
        for row in unit:
            zeros.add(row, nothing, 0.0)
        return
    if mu == 0.0:
        rays.add(unit[0], nothing, 0.0)
        zeros.add(unit[1], nothing, 0.0)
        zeros.add(unit[2], nothing, 0.0)
        return
    scale = 1.0 / max(1.0, mu)
    for row in (mu * unit[0], unit[1], unit[2]):
        cones.add(scale * row, nothing, 0.0)
    if domain.sticks or domain.arc is None or domain.arc[1] - domain.arc[0] >= math.pi:
        return
    half, middle = 0.5 * (domain.arc[1] - domain.arc[0]), 0.5 * (domain.arc[0] + domain.arc[1])
    chord = -math.cos(middle) * unit[1] - math.sin(middle) * unit[2] - mu * math.cos(half) * unit[0]
    rays.add(scale * chord, nothing, 0.0)
