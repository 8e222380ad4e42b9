"""Bodies held by contacts only: M positive semidefinite, so that v does not follow from r.

Along the kernel of M motions cost nothing: rigid bodies in statics (M = 0), an elastic body that no support
holds (M its stiffness, the kernel its rigid motions), a link without mass. For such a motion z, M z = 0,

    z·f = z·Hᵀ r      whatever v is,

a constraint on the impulses, and v may be changed by z as far as the contacts allow. So there is no
W = H M⁻¹ Hᵀ and no u = W r + q: the unknown is the pair (r, v). The law and

    p = M v + f − Hᵀ r − Jᵀ λ = 0

are judged together (:meth:`Semidefinite.residual`). To compare an imbalance p with velocities, and impulses
with them, the free part is given a mass: each contact carries a mass s at its point, of which the diagonal is
kept, B = s diag(Hᵀ H) on the coordinates of the singular blocks of M. It is used only as a unit, and as the
weight of the proximal steps by which :func:`clapas.solvers.semidefinite.solve_semidefinite` solves: neither
changes the solutions.

References
----------
Rockafellar 1976 (the proximal point method); Cadoux 2009, 1.4 (M semidefinite).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph

from clapas.errors import ProblemError
from clapas.linalg.factor import LARGEST_BLOCK, NotDefinite, factorise
from clapas.linalg.norms import norm
from clapas.typing import Array, Mask

if TYPE_CHECKING:
    from clapas.problems.contact import ContactProblem

ROUNDING = 1e-12  # eigenvalues of a block with unit diagonal between −ROUNDING·size and this are zero


def singular_blocks(M: sparse.csr_array) -> Mask:
    """The degrees of freedom (m,) of blocks of M that are singular.

    Raises
    ------
    ProblemError
        M is not positive semidefinite.

    Examples
    --------
    >>> singular_blocks(sparse.csr_array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 2.0]]))
    array([ True,  True, False])
    """
    labels = csgraph.connected_components(M, directed=False)[1]
    singular = np.zeros(M.shape[0], dtype=bool)
    order = np.argsort(labels, kind="stable")
    for dofs in np.split(order, np.cumsum(np.bincount(labels))[:-1]):
        block = sparse.csr_array(M[dofs][:, dofs])
        diagonal = block.diagonal()
        if (diagonal < 0.0).any() or block[np.flatnonzero(diagonal == 0.0)].count_nonzero():
            raise _indefinite(dofs, float(diagonal.min()))
        unit = sparse.diags_array(1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)))
        scaled = sparse.csr_array(unit @ block @ unit)
        if len(dofs) <= LARGEST_BLOCK:
            least = float(np.linalg.eigvalsh(scaled.toarray())[0])
            if least < -ROUNDING * len(dofs):
                raise _indefinite(dofs, least)
            singular[dofs] = least <= ROUNDING * len(dofs)
        else:
            singular[dofs] = not _is_definite(scaled, -ROUNDING)
            if singular[dofs[0]] and not _is_definite(scaled, ROUNDING * len(dofs)):
                raise _indefinite(dofs, -ROUNDING * len(dofs))
    return singular


def _is_definite(block: sparse.csr_array, shift: float) -> bool:
    try:
        factorise(sparse.csr_array(block + shift * sparse.eye_array(block.shape[0])))
    except NotDefinite:
        return False
    return True


def _indefinite(dofs: npt.NDArray[np.int64], value: float) -> ProblemError:
    where = f"{dofs.tolist()}" if len(dofs) <= 12 else f"{dofs[:6].tolist()} and {len(dofs) - 6} more"
    return ProblemError(
        f"M must be symmetric positive semidefinite, but its block on degrees of freedom {where} gives "
        f"{value:.3e}. Check masses, inertias and stiffnesses"
    )


def singular_mass_message(singular: Mask) -> str:
    """Message that W and q do not exist since M is singular, with what to do."""
    dofs = np.flatnonzero(singular)
    where = f"{dofs.tolist()}" if len(dofs) <= 12 else f"{dofs[:6].tolist()} and {len(dofs) - 6} more"
    return (
        f"M is singular on the blocks of degrees of freedom {where}: there v does not follow from r, and "
        "W = H M⁻¹ Hᵀ and q = w − H M⁻¹ f do not exist. Keep the global form and call solve(problem), whose "
        "solution holds r and v; or give these coordinates a mass, a stiffness or a joint"
    )


@dataclass(frozen=True, eq=False)
class Semidefinite:
    """A problem with a singular M, and the measure of a pair (r, v).

    Parameters
    ----------
    problem : ContactProblem
        Global, with a singular M.
    singular : array (m,) of bool
        The degrees of freedom of the singular blocks.
    """

    problem: ContactProblem
    singular: Mask

    @cached_property
    def added(self) -> Array:
        """Diagonal (m,) of B, zero outside the singular blocks."""
        H = self.problem.H
        square = np.asarray(H.multiply(H).sum(axis=0)).ravel()
        # A coordinate that no contact touches is at rest or unbounded: any mass shows which.
        untouched = float(np.mean(square[square > 0.0])) if square.any() else 1.0
        reach = np.where(square > 0.0, square, untouched)
        return np.where(self.singular, self._mass_at_contacts(reach) * reach, 0.0)

    def _mass_at_contacts(self, reach: Array) -> float:
        """The mass s that makes the velocities f/(s Hᵀ H) comparable with those that M or w suggest.

        Without either there is no velocity scale: then v = 0 is a solution wherever one exists, and s
        does not matter.
        """
        problem = self.problem
        diagonal = problem.M.diagonal()
        candidates = []
        if (heavy := diagonal > 0.0).any():
            candidates.append(float(np.median(diagonal[heavy] / reach[heavy])))
        speed, push = norm(problem.w), norm(np.asarray(problem.H @ (problem.f / reach)))
        if speed > 0.0 and push > 0.0:
            candidates.append(push / speed)
        return min(candidates, default=1.0)

    def definite(self, weight: float, v: Array) -> ContactProblem:
        """The problem of a proximal step from v: M + β B for M and f − β B v for f, β the weight."""
        from clapas.problems.contact import ContactProblem

        problem, heavier = self.problem, weight * self.added
        joints = {} if problem.J is None else {"J": problem.J, "b": problem.b}
        return ContactProblem(
            M=problem.M + sparse.diags_array(heavier),
            H=problem.H,
            f=problem.f - heavier * v,
            w=problem.w,
            mu=problem.mu,
            section=problem.section,
            d=problem.d,
            compliance=problem.compliance,
            name=problem.name,
            **joints,
        )

    @cached_property
    def unit(self) -> ContactProblem:
        """The problem with M + B: its response and its free velocity are the units of the residual."""
        return self.definite(1.0, np.zeros(self.problem.n_dof))

    def velocity(self, r: Array, v: Array) -> Array:
        """Velocities u = H v + w + C r at the contacts, (n, d)."""
        problem = self.problem
        u = np.asarray(problem.H @ v).reshape(r.shape) + problem.w
        return u if problem.compliance is None else u + problem.compliance * r

    def imbalance(self, r: Array, v: Array) -> float:
        """Size of p = M v + f − Hᵀ r − Jᵀ λ, in the metric of (M + B)⁻¹, relative to that of f."""
        problem, mass = self.problem, self.unit.mass
        contact_momentum = problem.H.T @ r.ravel()
        p = problem.M @ v + problem.f - contact_momentum
        scale = _energy_norm(mass.solve(problem.f), problem.f) or _energy_norm(
            mass.solve(contact_momentum), contact_momentum
        )
        imbalance = _energy_norm(mass.solve(p), p)
        if problem.J is not None and problem.b is not None:
            imbalance += norm(problem.J @ v + problem.b)
        return imbalance / scale if scale > 0.0 else imbalance

    def residual(self, r: Array, v: Array) -> float:
        """The larger of the imbalance and of the violation of the law, both without unit."""
        unit, u = self.unit, self.velocity(r, v)
        x = unit.response[:, None] * r
        scale = unit.free_speed or norm(x) or norm(u)
        violation = norm(self.problem.cone.violation(u, x))
        result = max(violation / scale if scale > 0.0 else violation, self.imbalance(r, v))
        return result if math.isfinite(result) else math.inf


def _energy_norm(velocity: Array, momentum: Array) -> float:
    """√(p · A p), from p and A p."""
    return math.sqrt(max(float(velocity @ momentum), 0.0))
