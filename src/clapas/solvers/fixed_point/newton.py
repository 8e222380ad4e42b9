"""Newton's method on a fixed point, by differentiating the convex problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.sparse import linalg as sparse_linalg

from clapas.convex import coulomb
from clapas.errors import SettingsError
from clapas.problems.contact import ContactProblem
from clapas.problems.conversions import reduce
from clapas.solvers.fixed_point.base import Evaluation, Search
from clapas.solvers.fixed_point.newton_thresholds import threshold_step
from clapas.solvers.kinds import require_kinds
from clapas.typing import Array

LARGEST_FULL = 1000  # unknowns up to which W is assembled; above, products only
DECREASE = 1e-4
ACCURACY = 1e-12  # of the iterative least squares, relative


@dataclass(frozen=True, kw_only=True)
class Newton:
    """Newton's method on F(s) − s = 0, with Armijo's line search on |F(s) − s|.

    At a solution (r, ũ) of the convex problem at s, with ∂P the Jacobian of the projection on K at
    r − ũ/λ, the changes follow from

        (I − ∂P) dr + (∂P/λ) dũ = 0,    dũ = W dr + E ds,    ds = F − s + Σ dũ,   Σ_i = (0, ũ_T,i / F_i)ᵀ.

    Eliminating ds leaves one system for dr, singular wherever the impulses are not unique: it is solved in
    least squares. Each step of the line search costs a minimisation. In the plane F is piecewise affine
    and Newton's method, when it converges, is finite. Sticking contacts (F_i = 0) have
    no direction of sliding: Σ_i = 0 there.

    On Haslinger's map, s the thresholds, the derivative is that of :mod:`.newton_thresholds`.

    Parameters
    ----------
    halvings : int
        Steps of the line search: 1, ½, ¼, …; the last one is accepted unconditionally.

    References
    ----------
    Cadoux 2009, section 4.7.5, (4.25)-(4.28), where A_s must be (0, −E, 0).
    """

    halvings: int = 12

    def __post_init__(self) -> None:
        require_kinds(self)
        if self.halvings < 1:
            raise SettingsError(f"halvings must be at least 1, got {self.halvings}")

    def start(self, problem: ContactProblem) -> Search:
        """Assemble W for small problems."""
        return _Newton(problem, self.halvings)

    def start_on_thresholds(self, problem: ContactProblem) -> Search:
        """Start on Haslinger's map."""
        return _ThresholdNewton(problem, self.halvings)


class _Newton:
    def __init__(self, problem: ContactProblem, halvings: int) -> None:
        self.problem, self.halvings = problem, halvings
        self.speed = float(np.linalg.norm(problem.q)) or 1.0
        small = problem.n_contacts * problem.d <= LARGEST_FULL
        self.W = reduce(problem).W.toarray() if small else None

    def advance(self, last: Evaluation, evaluate: Callable[[Array], Evaluation]) -> Array:
        direction = self.direction(last)
        size = float(np.linalg.norm(last.gap))
        step, s = 1.0, np.maximum(last.s + direction, 0.0)
        for _ in range(self.halvings - 1):
            if float(np.linalg.norm(evaluate(s).gap)) <= (1.0 - DECREASE * step) * size:
                break
            step *= 0.5
            s = np.maximum(last.s + step * direction, 0.0)
        return s

    def direction(self, point: Evaluation) -> Array:
        """The Newton step ds (n,), dimensionless."""
        law = _Linearised(self.problem, point.s * self.speed, point.r, point.u)
        gap = point.gap * self.speed
        dr = law.solve(self.W, -law.through_projection(law.normal(gap)))
        du = self.problem.apply_delassus(dr)
        return (gap + law.change_of_speed(du)) / self.speed


class _ThresholdNewton(_Newton):
    def direction(self, point: Evaluation) -> Array:
        """The Newton step of the thresholds, dimensionless."""
        return threshold_step(self.problem, point, self.speed, self.W)


class _Linearised:
    """The law at fixed s linearised at one point: products with its blocks."""

    def __init__(self, problem: ContactProblem, s: Array, r: Array, u: Array) -> None:
        self.problem, self.response = problem, problem.response[:, None]
        shifted = u.copy()
        shifted[:, 0] += problem.mu * s
        self.projection = coulomb.jacobian(r - shifted / self.response, problem.mu)
        speed = np.linalg.norm(u[:, 1:], axis=1, keepdims=True)
        sliding = (speed > 0.0) & (problem.mu[:, None] > 0.0)
        self.sliding = np.divide(u[:, 1:], speed, out=np.zeros_like(u[:, 1:]), where=sliding)

    def normal(self, ds: Array) -> Array:
        """E ds."""
        result = np.zeros((len(ds), self.problem.d))
        result[:, 0] = self.problem.mu * ds
        return result

    def change_of_speed(self, du: Array) -> Array:
        """Σ du, the change of |u_T|."""
        change: Array = np.sum(self.sliding * du[:, 1:], axis=1)
        return change

    def through_projection(self, velocity: Array) -> Array:
        """(∂P/λ) times a velocity."""
        return np.asarray(np.einsum("nij,nj->ni", self.projection, velocity / self.response))

    def product(self, dr: Array) -> Array:
        """(I − ∂P + (∂P/λ)(W + E Σ W)) dr."""
        du = self.problem.apply_delassus(dr)
        du = du + self.normal(self.change_of_speed(du))
        projected = np.einsum("nij,nj->ni", self.projection, dr)
        return np.asarray(dr - projected + self.through_projection(du))

    def transposed(self, y: Array) -> Array:
        """The transpose of :meth:`product`; W is taken as symmetric."""
        back = np.einsum("nji,nj->ni", self.projection, y)
        du = back / self.response
        du[:, 1:] += self.sliding * (self.problem.mu * du[:, 0])[:, None]
        return np.asarray(y - back + self.problem.apply_delassus(du))

    def solve(self, W: Array | None, b: Array) -> Array:
        """Least squares, of least norm; by products only where W is not assembled."""
        shape = b.shape
        if W is not None:
            matrix = self._matrix(W)
            return np.asarray(linalg.lstsq(matrix, b.ravel(), lapack_driver="gelsy")[0]).reshape(shape)
        operator = sparse_linalg.LinearOperator(
            (b.size, b.size),
            matvec=lambda x: self.product(x.reshape(shape)).ravel(),
            rmatvec=lambda y: self.transposed(y.reshape(shape)).ravel(),
            dtype=float,
        )
        result = sparse_linalg.lsmr(operator, b.ravel(), atol=ACCURACY, btol=ACCURACY, conlim=0.0)
        return np.asarray(result[0]).reshape(shape)

    def _matrix(self, W: Array) -> Array:
        n, d = len(self.projection), self.problem.d
        rows = W.reshape(n, d, n * d).copy()
        rows[:, 0] += self.problem.mu[:, None] * np.einsum("nk,nkj->nj", self.sliding, rows[:, 1:])
        scaled = np.einsum("nij,njk->nik", self.projection, rows / self.response[:, :, None])
        matrix = scaled.reshape(n * d, n, d)
        contacts = np.arange(n)
        matrix.reshape(n, d, n, d)[contacts, :, contacts, :] += np.eye(d) - self.projection
        return np.asarray(matrix.reshape(n * d, n * d))
