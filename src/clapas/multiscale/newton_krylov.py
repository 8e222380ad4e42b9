"""Newton's method on the same partition, for comparison: conjugate gradients on the interfaces.

The tangent system K(U) ΔU = −g of springs is condensed on the shared nodes, S = Σ S_E, and solved by
conjugate gradients with the balancing Neumann-Neumann preconditioner: each substructure alone (S_E⁺, weighted
by how many share a node), then a coarse correction Q = Z(ZᵀSZ)⁻¹Zᵀ,

    P r = Q r + (1 − Q S) Σ D S_E⁺ D (1 − S Q) r

with Z the macro basis of the interfaces: the coarse space of the LATIN method.

References: Mandel 1993 (balancing); Farhat, Roux 1991 (FETI); Dohrmann 2003 (BDDC).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse

from clapas.compiled.threads import one_blas_thread
from clapas.errors import ProblemError, SettingsError
from clapas.linalg.factor import Factor, factorise
from clapas.multiscale.interfaces import Interface, find_interfaces
from clapas.multiscale.laws import Springs
from clapas.multiscale.macro_basis import affine_fields
from clapas.multiscale.partition import compact
from clapas.multiscale.problem import LinkProblem
from clapas.typing import Array, Indices

SHIFT = 1e-10  # relative to the stiffness: restrains nodes held by slack cables only
KERNEL = 1e-8  # eigenvalues of S_E, relative to the largest, that count as zero
SUFFICIENT = 1e-4  # decrease of the energy, relative to that predicted by the slope
SHORTEST = 1e-6  # shortest step of the line search


@dataclass(frozen=True)
class NewtonKrylovResult:
    """Displacements (dofs,), the residual of equilibrium, and the cost."""

    U: Array
    residual: float
    newton_steps: int
    krylov_iterations: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class NewtonKrylov:
    """Newton's method with a substructured Krylov solver, on springs and cables.

    Parameters
    ----------
    tol : float
        Largest unbalanced force at a free component, relative to the largest of loads and forces.
    krylov_tol : float
        Decrease of the residual on the interfaces required of each tangent system.
    max_iterations : int
        Newton steps.
    max_krylov : int
        Conjugate gradient iterations per step.

    Examples
    --------
    >>> from clapas.bodies.trusses.generators import grid
    >>> from clapas.statics.trusses import link_problem, module_blocks
    >>> truss = grid(4)
    >>> found = NewtonKrylov().solve(link_problem(truss, "down"), module_blocks(truss, 4, 2))
    >>> found.residual < 1e-8
    True
    """

    tol: float = 1e-8
    krylov_tol: float = 1e-6
    max_iterations: int = 50
    max_krylov: int = 200

    def __post_init__(self) -> None:
        if self.tol <= 0.0 or self.krylov_tol <= 0.0 or self.max_iterations < 1 or self.max_krylov < 1:
            raise SettingsError("tol, krylov_tol, max_iterations and max_krylov must be positive")

    def solve(self, problem: LinkProblem, labels: npt.ArrayLike) -> NewtonKrylovResult:
        """Solve from rest."""
        law = problem.law
        if not isinstance(law, Springs):
            raise ProblemError("NewtonKrylov takes springs and cables; contacts have no convex energy")
        began = time.perf_counter()
        parts = _Parts(problem, compact(labels))
        B, free, F = problem.B[:, problem.free].tocsr(), problem.free, problem.F[problem.free]
        transposed = B.T.tocsr()
        U = np.zeros(len(free))
        inner, residual, step = 0, np.inf, 0
        with one_blas_thread():
            for step in range(self.max_iterations + 1):
                e = B @ U
                t = law.forces(e)
                gradient = transposed @ t - F
                size = max(np.abs(F).max(initial=0.0), np.abs(t).max(initial=0.0)) or 1.0
                residual = float(np.abs(gradient).max(initial=0.0) / size)
                if residual <= self.tol or step == self.max_iterations:
                    break
                parts.tangent(law.tangent(e))
                direction, count = parts.solve(-gradient, self.krylov_tol, self.max_krylov)
                inner += count
                U = U + _line_search(law, e, B @ direction, float(F @ direction)) * direction
        whole = np.zeros(len(problem.F))
        whole[free] = U
        return NewtonKrylovResult(whole, residual, step, inner, time.perf_counter() - began)


def _line_search(law: Springs, e: Array, stretch: Array, work: float) -> float:
    """Halve the step until the convex energy decreases enough."""
    start = law.energy(e)
    slope = float(law.forces(e) @ stretch) - work
    length = 1.0
    while length > SHORTEST:
        if law.energy(e + length * stretch) - length * work <= start + SUFFICIENT * length * slope:
            return length
        length *= 0.5
    return 1.0  # only rounding is left


class _Parts:
    """Substructures condensed on the shared nodes."""

    def __init__(self, problem: LinkProblem, labels: Indices) -> None:
        self.problem = problem
        interfaces = find_interfaces(problem, labels, "drop")
        number = np.full(len(problem.F), -1)
        number[problem.free] = np.arange(len(problem.free))
        shared = np.repeat(interfaces.sharing > 1, problem.dofs_per_node)[problem.free]
        self.border = np.flatnonzero(shared)
        place = np.full(len(problem.free), -1)
        place[self.border] = np.arange(len(self.border))
        self.rows = [problem.rows(np.flatnonzero(labels == i)) for i in range(len(interfaces.nodes_of))]
        self.dofs = []
        for nodes in interfaces.nodes_of:
            dofs = number[problem.dofs(nodes)]
            self.dofs.append(dofs[dofs >= 0])
        self.B = [problem.B[r][:, problem.free[d]].tocsr() for r, d in zip(self.rows, self.dofs, strict=True)]
        self.inner = [np.flatnonzero(~shared[d]) for d in self.dofs]
        self.outer = [np.flatnonzero(shared[d]) for d in self.dofs]
        self.places = [place[d[o]] for d, o in zip(self.dofs, self.outer, strict=True)]
        sharing = np.repeat(interfaces.sharing, problem.dofs_per_node)[problem.free][self.border]
        self.weights = [1.0 / sharing[p] for p in self.places]
        self.Z = self._coarse_space(interfaces.kept, number, place)

    def _coarse_space(self, kept: tuple[Interface, ...], number: Indices, place: Indices) -> sparse.csr_array:
        """Macro basis of each interface, divided where a node is in several: a partition of unity."""
        problem = self.problem
        if problem.points is None:
            raise ProblemError("NewtonKrylov needs the points of the nodes for its coarse space")
        multiplicity = np.zeros(problem.n_nodes)
        for each in kept:
            multiplicity[each.nodes] += 1.0
        columns = []
        for each in kept:
            dofs = number[problem.dofs(each.nodes)]
            is_free = dofs >= 0
            fields = affine_fields(problem.points[each.nodes], problem.dofs_per_node)
            fields = fields / np.repeat(multiplicity[each.nodes], problem.dofs_per_node)[:, None]
            basis, r = np.linalg.qr(fields[is_free])
            basis = basis[:, np.abs(np.diag(r)) > 1e-8]
            extended = np.zeros((len(self.border), basis.shape[1]))
            extended[place[dofs[is_free]]] = basis
            columns.append(sparse.csr_array(extended))
        return sparse.hstack(columns, format="csr") if columns else sparse.csr_array((len(self.border), 0))

    def tangent(self, slope: Array) -> None:
        """Condense every substructure with these slopes of the links, and factorise the coarse matrix."""
        shift = SHIFT * float(slope.max())
        self.factors: list[Factor | None] = []
        self.coupling, self.schur, self.inverse = [], [], []
        for rows, B, inner, outer in zip(self.rows, self.B, self.inner, self.outer, strict=True):
            K = sparse.csr_array(
                B.T @ sparse.diags_array(slope[rows]) @ B + shift * sparse.eye_array(B.shape[1])
            )
            across = K[inner][:, outer].toarray()
            block = K[inner][:, inner]
            factor = factorise(sparse.csr_array(0.5 * (block + block.T))) if len(inner) else None
            schur = K[outer][:, outer].toarray()
            if factor is not None:
                schur = schur - across.T @ factor.solve(across)
            schur = 0.5 * (schur + schur.T)
            values, vectors = np.linalg.eigh(schur)
            kept = values > KERNEL * values.max(initial=0.0)
            self.inverse.append((vectors[:, kept] / values[kept]) @ vectors[:, kept].T)
            self.factors.append(factor)
            self.coupling.append(across)
            self.schur.append(schur)
        coarse = (self.Z.T @ self._apply(self.Z.toarray())) if self.Z.shape[1] else np.zeros((0, 0))
        self.coarse = linalg.cho_factor(0.5 * (coarse + coarse.T)) if len(coarse) else None

    def _apply(self, x: Array) -> Array:
        """S x."""
        y = np.zeros_like(x)
        for schur, place in zip(self.schur, self.places, strict=True):
            y[place] += schur @ x[place]
        return y

    def _correct(self, r: Array) -> Array:
        """Q r."""
        if self.coarse is None:
            return np.zeros_like(r)
        return np.asarray(self.Z @ linalg.cho_solve(self.coarse, self.Z.T @ r))

    def _precondition(self, r: Array) -> Array:
        coarse = self._correct(r)
        residual = r - self._apply(coarse)
        z = np.zeros_like(r)
        for inverse, place, weight in zip(self.inverse, self.places, self.weights, strict=True):
            z[place] += weight * (inverse @ (weight * residual[place]))
        return coarse + z - self._correct(self._apply(z))

    def solve(self, load: Array, tol: float, max_iterations: int) -> tuple[Array, int]:
        """Solve the tangent system: substructures exactly, interfaces by conjugate gradients."""
        right = load[self.border].copy()
        parts = list(zip(self.factors, self.coupling, self.dofs, self.inner, self.places, strict=True))
        for factor, across, dofs, inner, place in parts:
            if factor is not None:
                right[place] -= across.T @ factor.solve(load[dofs[inner]])
        x, count = self._conjugate_gradients(right, tol, max_iterations)
        U = np.zeros(len(load))
        U[self.border] = x
        for factor, across, dofs, inner, place in parts:
            if factor is not None:
                U[dofs[inner]] = factor.solve(load[dofs[inner]] - across @ x[place])
        return U, count

    def _conjugate_gradients(self, right: Array, tol: float, max_iterations: int) -> tuple[Array, int]:
        x = np.zeros_like(right)
        if not len(right):
            return x, 0
        r = right.copy()
        z = self._precondition(r)
        p, product, goal = z, float(r @ z), tol * float(np.linalg.norm(right))
        for count in range(1, max_iterations + 1):
            s = self._apply(p)
            step = product / float(p @ s)
            x += step * p
            r -= step * s
            if np.linalg.norm(r) <= goal:
                return x, count
            z = self._precondition(r)
            product, previous = float(r @ z), product
            p = z + (product / previous) * p
        return x, max_iterations
