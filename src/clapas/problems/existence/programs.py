"""The conic program of existence: the largest rate at which all contacts can be opened at once.

With e_N the stacked normals, the program and its dual are (Cadoux 2009, (3.36) with corrected signs)::

    σ* = max { σ : G v + b − σ e_N ∈ K*, |v|_∞ ≤ R }
       = min { b·r + R |Gᵀr|_1 : r ∈ K, Σ r_N = 1 }        (without R: Gᵀr = 0)

The minimum is attained, the maximum need not be: motions may have to grow without bound to approach the best
margin (theorem 3.1 of Cadoux 2009 against its corollaries).

K* = {mu |u_T| ≤ u_N} is polyhedral in the plane, where the program is linear and HiGHS solves it to rounding;
in space Clarabel solves it, or HiGHS for a polyhedron inscribed in the cone.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import optimize, sparse

from clapas.errors import ProblemError
from clapas.problems.contact import ContactProblem
from clapas.typing import Array, Mask

Method = Literal["exact", "inscribed", "least-squares"]

MARGINS = (1e-2, 1e-4, 1e-6, 0.0)  # relative to the imposed velocities: depth inside K*, finally its boundary
FACETS = 16  # of the polyhedron inscribed in a cone


class Widest(NamedTuple):
    """Solution: σ, a velocity v that attains it, and the multiplier r (n, d) that bounds it."""

    sigma: float
    v: Array
    r: Array


class Reach(NamedTuple):
    """The velocities u = G v + b that motions v can give to the contacts; b and mu per contact."""

    G: sparse.csr_array
    b: Array
    mu: Array

    @property
    def d(self) -> int:
        """Components of a contact."""
        return int(self.b.shape[1])

    def at(self, v: Array) -> Array:
        """Velocities (n, d) under the motion v."""
        return np.asarray(self.G @ v).reshape(self.b.shape) + self.b

    def terms(self, v: Array) -> Array:
        """Largest sum (n,) of absolute terms in each contact velocity: the scale of its rounding error."""
        sizes = np.asarray(abs(self.G) @ np.abs(v)).reshape(self.b.shape) + np.abs(self.b)
        return np.asarray(sizes.max(axis=1, initial=0.0))

    def margins(self, v: Array) -> Array:
        """u_N − mu |u_T| of each contact under v: positive inside K*."""
        u = self.at(v)
        return np.asarray(u[:, 0] - self.mu * np.linalg.norm(u[:, 1:], axis=1))

    def margin(self, v: Array) -> float:
        """The σ attained by v, the smallest of all margins."""
        return float(np.min(self.margins(v), initial=math.inf))

    def at_rest(self) -> Reach:
        """The same motions without imposed velocities."""
        return self._replace(b=np.zeros_like(self.b))

    def of_normals(self) -> Reach:
        """The same motions without friction: only u_N ≥ 0 is required."""
        return self._replace(mu=np.zeros_like(self.mu))


def reach_of(problem: ContactProblem) -> Reach:
    """The velocities that a Coulomb problem can reach, in either form."""
    if not is_coulomb(problem):
        raise ProblemError(
            f"the criterion of existence is about Coulomb's law, got that of {type(problem.cone).__name__}: "
            "drop the resistance to rolling and spinning, and sections that are not round"
        )
    if problem.form == "global":
        return Reach(sparse.csr_array(problem.H), problem.w, problem.mu)
    return Reach(sparse.csr_array(problem.W), problem.q, problem.mu)


def is_coulomb(problem: ContactProblem) -> bool:
    """Whether the law at all contacts is Coulomb's with round cones, as the criterion requires."""
    return type(problem) is ContactProblem and problem.section is None


def widest(reach: Reach, bound: float, method: Method, time_limit: float) -> Widest | None:
    """The largest margin, by the program of the given method; in the plane facets are exact."""
    if method == "least-squares" and math.isinf(bound):
        return widest_by_least_squares(reach, time_limit)
    if reach.d == 2 or method == "inscribed" or not reach.mu.any():
        return widest_by_facets(reach, bound, FACETS, time_limit)
    return widest_by_cones(reach, bound, time_limit)


def widest_by_facets(reach: Reach, bound: float, facets: int, time_limit: float) -> Widest | None:
    """Solve the program with K* replaced by an inscribed polyhedron; exact in the plane."""
    if reach.d == 2:
        directions, narrowing = np.array([[1.0], [-1.0]]), 1.0
    else:
        angles = 2.0 * math.pi * np.arange(facets) / facets
        directions, narrowing = np.column_stack((np.cos(angles), np.sin(angles))), math.cos(math.pi / facets)
    rows = _facet_rows(reach.mu / narrowing, directions)
    m = reach.G.shape[1]
    result = optimize.linprog(
        np.append(np.zeros(m), -1.0),
        A_ub=sparse.hstack((-rows @ reach.G, _normal_part(rows, reach)[:, None]), format="csr"),
        b_ub=rows @ reach.b.ravel(),
        bounds=[(-bound, bound)] * m + [(None, None)],
        method="highs",
        options={"time_limit": min(time_limit, 1e9)},
    )
    if result.status != 0:
        return None
    multiplier = -np.asarray(result.ineqlin.marginals)
    v = np.asarray(result.x)[:m]
    return Widest(reach.margin(v), v, np.asarray(rows.T @ multiplier).reshape(reach.b.shape))


def _facet_rows(mu: Array, directions: Array) -> sparse.csr_array:
    """Rows (1, −mu t) / max(1, mu) per contact and direction t: the polyhedron is where all are nonnegative.

    Without friction one row is enough.
    """
    n, (k, tangents) = len(mu), directions.shape
    d = tangents + 1
    values = np.empty((n, k, d))
    values[:, :, 0] = 1.0
    values[:, :, 1:] = -mu[:, None, None] * directions
    values /= np.maximum(1.0, mu)[:, None, None]
    columns = np.broadcast_to((np.arange(n) * d)[:, None, None] + np.arange(d), values.shape)
    kept = np.broadcast_to(mu[:, None] > 0, (n, k)) | (np.arange(k) == 0)
    count = int(kept.sum())
    entries = (values[kept].ravel(), columns[kept].ravel(), np.arange(count + 1) * d)
    return sparse.csr_array(entries, shape=(count, n * d))


def widest_by_cones(
    reach: Reach, bound: float, time_limit: float, where: Mask | None = None
) -> Widest | None:
    """Solve the program with the true cones, by an interior-point method; None if it fails.

    With ``where`` (n,) only those contacts must open by σ, the others stay in K*.
    """
    engine: Any = import_module("clarabel")
    rows, cones = _cone_rows(reach, engine)
    m = reach.G.shape[1]
    A = sparse.hstack((-rows @ reach.G, _normal_part(rows, reach, where)[:, None]))
    h = rows @ reach.b.ravel()
    if math.isfinite(bound):
        box = sparse.vstack((sparse.eye_array(m), -sparse.eye_array(m)))
        A = sparse.vstack((A, sparse.hstack((box, sparse.csr_array((2 * m, 1))))))
        h = np.concatenate((h, np.full(2 * m, bound)))
        cones.append(engine.NonnegativeConeT(2 * m))
    options = engine.DefaultSettings()
    options.verbose = False
    options.time_limit = min(time_limit, 1e9)
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-11
    objective = np.append(np.zeros(m), -1.0)
    program = (sparse.csc_matrix((m + 1, m + 1)), objective, sparse.csc_matrix(A), h, cones)
    result = engine.DefaultSolver(*program, options).solve()
    v, multiplier = np.array(result.x)[:m], np.array(result.z)[: rows.shape[0]]
    if not (np.isfinite(v).all() and np.isfinite(multiplier).all()):
        return None
    return Widest(reach.margin(v), v, np.asarray(rows.T @ multiplier).reshape(reach.b.shape))


def least_motion(reach: Reach, time_limit: float) -> tuple[Array | None, Array]:
    """Solve min { ½ |v|² : G v + b ∈ K* } and its dual min { ½ |Gᵀr|² + b·r : r ∈ K } (Cadoux 2009, 3.38).

    Returns the least motion, or None where none exists, and the impulses r: in the first case multipliers,
    v = Gᵀ r; in the second a certificate, Gᵀ r ≈ 0 with b·r < 0, scaled to Σ r_N = 1.
    """
    engine: Any = import_module("clarabel")
    rows, cones = _cone_rows(reach, engine)
    m = reach.G.shape[1]
    options = engine.DefaultSettings()
    options.verbose = False
    options.time_limit = min(time_limit, 1e9)
    program = (
        sparse.csc_matrix(sparse.eye_array(m)),
        np.zeros(m),
        sparse.csc_matrix(-rows @ reach.G),
        rows @ reach.b.ravel(),
        cones,
    )
    result = engine.DefaultSolver(*program, options).solve()
    r = np.asarray(rows.T @ np.array(result.z)).reshape(reach.b.shape)
    if str(result.status) in ("Solved", "AlmostSolved"):
        return np.array(result.x), r
    return None, r / max(float(r[:, 0].sum()), 1e-300)


def widest_by_least_squares(reach: Reach, time_limit: float) -> Widest:
    """Find the least motion that keeps the contacts inside K* by a margin, decreasing to zero.

    The least motion itself is on the boundary of K* (Cadoux 2009, 3.5.4), which decides (H̄) only: with a
    positive margin it decides (H). Where no motion exists, the impulses bound σ from above.
    """
    normal = np.eye(reach.d)[0]
    for margin in MARGINS:
        v, r = least_motion(reach._replace(b=reach.b - margin * normal), time_limit)
        if v is not None:
            return Widest(reach.margin(v), v, r)
    return Widest(float(np.vdot(reach.b, r)), np.zeros(reach.G.shape[1]), r)


def least_power(reach: Reach, time_limit: float) -> Widest | None:
    """Solve the dual: the least b·r of self-balanced impulses in K with Σ r_N = 1; None if it fails.

    The velocity returned is the multiplier of the balance, a motion whose margin is near σ* or below.
    """
    engine: Any = import_module("clarabel")
    n, d = reach.b.shape
    m = reach.G.shape[1]
    size = n * d
    normals = sparse.csr_array(np.tile(np.eye(d)[0], n)[None, :])
    # (mu r_N, r_T) is in a Lorentz cone; without friction r_N ≥ 0 and r_T = 0.
    smooth = reach.mu == 0.0
    column = np.arange(size).reshape(n, d)
    frozen = column[smooth, 1:].ravel()
    weights = np.ones((n, d))
    weights[:, 0] = np.where(smooth, 1.0, reach.mu)
    weights /= np.maximum(1.0, reach.mu)[:, None]
    selected = np.concatenate((column[smooth, 0], column[~smooth].ravel()))
    entries = (weights.ravel()[selected], (np.arange(len(selected)), selected))
    rows = sparse.csr_array(sparse.coo_array(entries, shape=(len(selected), size)))
    still = sparse.csr_array(sparse.eye_array(size, format="csr")[frozen])
    A = sparse.vstack((reach.G.T, normals, still, -rows))
    h = np.zeros(A.shape[0])
    h[m] = 1.0
    cones = [engine.ZeroConeT(m + 1 + len(frozen))]
    cones += [engine.NonnegativeConeT(int(smooth.sum()))] if smooth.any() else []
    cones += [engine.SecondOrderConeT(d) for _ in range(n - int(smooth.sum()))]
    options = engine.DefaultSettings()
    options.verbose = False
    options.time_limit = min(time_limit, 1e9)
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-11
    program = (sparse.csc_matrix((size, size)), reach.b.ravel(), sparse.csc_matrix(A), h, cones)
    result = engine.DefaultSolver(*program, options).solve()
    r, v = np.array(result.x), np.array(result.z)[:m]
    if str(result.status) not in ("Solved", "AlmostSolved") or not np.isfinite(r).all():
        return None
    return Widest(float(reach.b.ravel() @ r), v, r.reshape(n, d))


def _normal_part(rows: sparse.csr_array, reach: Reach, where: Mask | None = None) -> Array:
    """The rows applied to the stacked normals, of all contacts or of some."""
    normals = np.zeros_like(reach.b)
    normals[:, 0] = 1.0 if where is None else where
    return np.asarray(rows @ normals.ravel())


def _cone_rows(reach: Reach, engine: Any) -> tuple[sparse.csr_array, list[Any]]:
    """Rows S with S u in rays and Lorentz cones for u ∈ K*: (u_N, mu u_T) / max(1, mu)."""
    n, d = reach.b.shape
    smooth = reach.mu == 0.0
    weights = np.repeat(reach.mu[:, None], d, axis=1)
    weights[:, 0] = 1.0
    weights /= np.maximum(1.0, reach.mu)[:, None]
    column = np.arange(n * d).reshape(n, d)
    selected = np.concatenate((column[smooth, 0], column[~smooth].ravel()))
    entries = (weights.ravel()[selected], (np.arange(len(selected)), selected))
    rows = sparse.csr_array(sparse.coo_array(entries, shape=(len(selected), n * d)))
    rays = int(smooth.sum())
    cones = [engine.NonnegativeConeT(rays)] if rays else []
    return rows, cones + [engine.SecondOrderConeT(d) for _ in range(n - rays)]
