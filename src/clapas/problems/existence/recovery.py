"""Impulses recovered from velocities, and whether a fixed point of Cadoux's map is a solution.

The fixed point F(s) = s determines the motion v, not the impulses. These obey Coulomb's law with
ũ = H v + w + mu |u_T| e_N if and only if

    r ∈ K,    r ⟂ ũ,    Hᵀ r = M v + f                                  (Cadoux 2009, 4.7.3)

Contact by contact r ⟂ ũ leaves: nothing where ũ is inside K*; the ray opposite to the slip where ũ ≠ 0 is on
its border; all of K where ũ = 0. What remains is a least-squares problem on rays and cones. Its residual is
zero for a solution. It may tend to zero only as r grows without bound (Hᵀ K need not be closed: example
3.21), so r is sought within a stated size.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from clapas.errors import ProblemError, SettingsError
from clapas.problems.contact import ContactProblem
from clapas.problems.coulomb import shifted
from clapas.problems.existence.programs import Reach, widest_by_cones
from clapas.typing import Array, Indices

ON_BORDER = (
    1e-9  # relative distance of velocities from the boundary of K*, or from zero, attributed to rounding
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Recovery:
    """Impulses recovered from a motion.

    Parameters
    ----------
    r : array (n, d)
        The impulses found.
    mismatch : float
        |Hᵀ r − (M v + f)| relative to |M v + f|: zero when they produce the motion.
    bound : float
        Largest Σ r_N allowed in the search.
    """

    r: Array
    mismatch: float
    bound: float

    def holds(self, tol: float = 1e-6) -> bool:
        """Whether the impulses produce the motion: v and r are then a solution of Coulomb's problem."""
        return self.mismatch <= tol


def impulses_of_motion(
    problem: ContactProblem, v: npt.ArrayLike, *, largest: float = 1e3, accuracy: float = ON_BORDER
) -> Recovery:
    """Find impulses from a motion alone: r ∈ K, r ⟂ ũ, Hᵀ r = M v + f.

    Parameters
    ----------
    problem : ContactProblem
        In the global form.
    v : array (m,)
        Velocities of the bodies; contacts must not approach (ũ ∈ K*), which is not checked.
    largest : float
        Bound on Σ r_N, relative to the size of the momentum M v + f.
    accuracy : float
        Velocities below this share of the largest, of v or of free motion, count as zero.

    References
    ----------
    Cadoux 2009, sections 3.3.3 and 4.7.3.

    Examples
    --------
    Impulses that carry a block at rest, from its velocity alone:

    >>> from clapas.problems import gallery
    >>> problem = gallery.get("rigid-square").problem
    >>> found = impulses_of_motion(problem, np.zeros(problem.n_dof))
    >>> found.holds(), bool(np.isclose(found.r[:, 0].sum(), 1.0))
    (True, True)
    """
    if problem.form != "global":
        raise ProblemError(
            "impulses are recovered from body velocities: the problem must be given by M, H, f, w"
        )
    if not largest > 0:
        raise SettingsError(f"largest must be positive, got {largest}")
    v = np.asarray(v, dtype=float)
    n, d = problem.n_contacts, problem.d
    target = np.asarray(problem.M @ v + problem.f)
    u = np.asarray(problem.H @ v).reshape(n, d) + problem.w
    u_shifted = shifted(u, problem.mu)
    speed = max(float(np.abs(u).max(initial=0.0)), float(np.abs(problem.q).max(initial=0.0)))
    rays, cones = _freedom(u_shifted, problem.mu, accuracy * speed)
    scale = float(np.linalg.norm(target)) or 1.0
    response = float(abs(problem.H).max()) if problem.H.nnz else 1.0
    bound = largest * scale / response
    columns = (cones[:, None] * d + np.arange(d)).ravel()
    columns_of_cones = sparse.eye_array(n * d, format="csc")[:, columns]
    basis = sparse.csc_matrix(sparse.hstack((rays, columns_of_cones)))
    x = _least_squares(
        sparse.csr_array(problem.H.T @ basis), target, rays.shape[1], cones, problem.mu, d, bound
    )
    r = np.asarray(basis @ x).reshape(n, d)
    mismatch = float(np.linalg.norm(problem.H.T @ r.ravel() - target)) / scale if scale else 0.0
    return Recovery(r=r, mismatch=mismatch, bound=bound)


def opens_where_stuck(problem: ContactProblem, s: npt.ArrayLike) -> bool:
    """Whether theorem 3.20 makes a fixed point s of Cadoux's map a solution.

    It does if some motion keeps every contact in K* and those with s_i = 0 in its interior. This is
    sufficient, not necessary: :func:`impulses_of_motion` decides the other cases.

    Examples
    --------
    >>> from clapas.problems import gallery
    >>> opens_where_stuck(gallery.get("spurious-fixed-point").problem, [0.0])
    False
    """
    s = np.asarray(s, dtype=float)
    stuck = s <= 0.0
    if not stuck.any():
        return True
    is_global = problem.form == "global"
    G, b = (problem.H, problem.w) if is_global else (problem.W, problem.q)
    reach = Reach(sparse.csr_array(G), b, problem.mu)
    size = max(float(np.abs(b).max(initial=0.0)), 1.0)
    best = widest_by_cones(reach, 1e3 * size, 60.0, where=stuck)
    if best is None:
        return False
    u = reach.at(best.v)
    inside = u[:, 0] - problem.mu * np.linalg.norm(u[:, 1:], axis=1)
    return bool((inside[stuck] > 1e-6 * size).all() and (inside >= -1e-6 * size).all())


def _freedom(u_shifted: Array, mu: Array, zero: float) -> tuple[sparse.csc_matrix, Indices]:
    """Rays (n d, k) of the contacts that slide, and indices of those that stick."""
    n, d = u_shifted.shape
    size = np.linalg.norm(u_shifted, axis=1)
    slip = np.linalg.norm(u_shifted[:, 1:], axis=1)
    sticks = size <= zero
    on_border = ~sticks & (u_shifted[:, 0] - mu * slip <= zero)
    slides = np.flatnonzero(on_border)
    rays = np.zeros((n * d, len(slides)))
    for k, i in enumerate(slides):
        rays[i * d, k] = 1.0
        if slip[i] > zero:
            rays[i * d + 1 : (i + 1) * d, k] = -mu[i] * u_shifted[i, 1:] / slip[i]
    return sparse.csc_matrix(rays), np.flatnonzero(sticks)


def _least_squares(
    A: sparse.csr_array, b: Array, n_rays: int, cones: Indices, mu: Array, d: int, bound: float
) -> Array:
    """Minimise |A x − b| with rays ≥ 0, (mu x_N, x_T) in Lorentz cones, and Σ x_N ≤ bound.

    The norm itself is minimised, as t with (t, A x − b) in a Lorentz cone: its square would be lost in
    the accuracy of the optimiser. Unknowns are in units of |b|.
    """
    engine: Any = import_module("clarabel")
    size = A.shape[1]
    if size == 0:
        return np.zeros(0)
    entries: list[tuple[int, int, float]] = [(k, k, -1.0) for k in range(n_rays)]
    row, kinds = n_rays, [engine.NonnegativeConeT(n_rays)] if n_rays else []
    total = np.zeros(size)
    total[:n_rays] = 1.0
    for k, contact in enumerate(cones):
        first = n_rays + k * d
        total[first] = 1.0
        if mu[contact] > 0.0:
            entries.append((row, first, -float(mu[contact])))
            entries += [(row + j, first + j, -1.0) for j in range(1, d)]
            kinds.append(engine.SecondOrderConeT(d))
        else:
            entries.append((row, first, -1.0))
            entries += [(row + j, first + j, 1.0) for j in range(1, d)]
            kinds += [engine.NonnegativeConeT(1), engine.ZeroConeT(d - 1)]
        row += d
    entries += [(row, k, float(value)) for k, value in enumerate(total) if value]
    kinds.append(engine.NonnegativeConeT(1))
    unit = float(np.linalg.norm(b)) or 1.0
    rows, columns, values = zip(*entries, strict=True)
    limits = sparse.csc_matrix((values, (rows, columns)), shape=(row + 1, size + 1))
    norm = sparse.bmat([[None, sparse.csr_array([[-1.0]])], [-A, None]])
    G = sparse.csc_matrix(sparse.vstack((limits, norm)))
    h = np.concatenate((np.zeros(row), [bound / unit, 0.0], -b / unit))
    kinds.append(engine.SecondOrderConeT(len(b) + 1))
    P = sparse.csc_matrix((size + 1, size + 1))
    options = engine.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-12
    result = engine.DefaultSolver(P, np.append(np.zeros(size), 1.0), G, h, kinds, options).solve()
    x = unit * np.array(result.x)[:size]
    return x if np.isfinite(x).all() else np.zeros(size)
