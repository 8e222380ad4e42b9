"""The central path inside the cones, which ends where impulse and velocity are complementary.

In the variables x = S r and y = S⁻¹ ũ, with S = √λ diag(mu, 1, 1) and λ the response of the contact, both
cones of a contact become the Lorentz cone Q and x·y = r·ũ. The law Q ∋ x ⟂ y ∈ Q is x∘y = 0 with the Jordan
product; the points with x∘y = σ e, σ > 0, both inside Q, form a path that ends at a solution when σ → 0. Each
step is Newton's for

    x∘y = σ e,        y = S⁻¹ (u + mu s e_N),        u = W r + q,

first with σ = 0 (a predictor, which gives the possible step length), then with the σ this suggests and the
second-order term neglected by the predictor (Mehrotra's corrector). Both need one factorisation, of
P dr + A W dr = b.

*Sliding speed.* With s frozen these are the optimality conditions of a convex problem, and a fixed point on s
solves Coulomb's (Cadoux 2009). Here s = |u_T| may also be one of the unknowns: one path then replaces the
whole fixed point. Newton's matrix contains the derivative of s, I + mu e_N tᵀ with t = u_T / |u_T|, and is no
longer symmetric. The kink of |u_T| at zero, where contacts stick, is smoothed by an amount that vanishes
with σ:

    s = √(|u_T|² + ε²),        ε = σ / x_0   (the size that y has there on the path).

Without this smoothing the method stops half-way on large packings.

References
----------
Alizadeh, Goldfarb 2003 (second-order cones); Nesterov, Todd 1998 (scaling); Mehrotra 1992 (predictor and
corrector); De Saxcé, Feng 1998 (ũ).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from clapas.linalg.multifrontal import SingularMatrix
from clapas.problems.contact import ContactProblem
from clapas.solvers.contact_system import ContactSystem, Linearised, multiply
from clapas.solvers.interior_point import lorentz
from clapas.solvers.interior_point.directions import Linearisation, PlainDirection, ScaledDirection
from clapas.typing import Array

SHORT = 0.3  # step length below which the other direction is tried
TO_BOUNDARY = 0.995  # fraction of the step to the boundary of the cones
OFF_CENTRE = 1e-3  # smallest gap of a contact relative to the mean gap
SHORTENINGS = 15
SHORTENED = 0.8
PATIENCE = 8  # steps within which ...
WORTH = 0.9  # ... the gap must decrease by this factor


class Step(NamedTuple):
    """A direction in both variables and the step length."""

    length: float
    dx: Array
    dy: Array


class Path:
    """A point inside the cones, which follows the path to a solution.

    Parameters
    ----------
    problem : ContactProblem
        The problem.
    system : ContactSystem
        Solver of its linear systems.
    frozen : array (n, d), optional
        Solve the convex problem min {½ rᵀW r + bᵀr : r ∈ K} with this b, instead of Coulomb's.
    """

    def __init__(self, problem: ContactProblem, system: ContactSystem, frozen: Array | None = None) -> None:
        self._problem, self._system = problem, system
        self._free = problem.q if frozen is None else frozen
        self._coupled = frozen is None
        n, d = problem.n_contacts, problem.d
        self._rough = problem.mu > 0.0  # without friction x and y are scalars: their tangents stay zero
        edge = np.where(self._rough, problem.mu, 1.0)
        self._scale = np.sqrt(problem.response)[:, None] * np.ones((n, d))
        self._scale[:, 0] *= edge
        self._unit = np.zeros((n, d))
        self._unit[:, 0] = 1.0
        speeds = np.linalg.norm(self._free, axis=1) / np.sqrt(problem.response)
        self._size = float(speeds.max(initial=0.0)) or 1.0
        self._gaps: deque[float] = deque(maxlen=PATIENCE + 1)
        self._move_to(self._size * edge[:, None] * self._unit, self._size / edge[:, None] * self._unit)

    @property
    def r(self) -> Array:
        """The impulses, (n, d), inside their cones."""
        return self.x / self._scale

    @property
    def is_stuck(self) -> bool:
        """Whether the last steps brought no progress."""
        return len(self._gaps) > PATIENCE and not self._gaps[-1] < WORTH * self._gaps[0]

    def begin(self, r: Array, depth: float) -> None:
        """Start near the impulses r (n, d), moved inside the cones by ``depth``, a dimensionless number.

        On the boundary itself the first steps would be short. The residual of r is a good depth.
        """
        x, (y, _) = self._scale * r, self._law(r, rounding=0.0)
        x[~self._rough, 1:] = 0.0
        self._move_to(lorentz.inwards(x, depth * self._size), lorentz.inwards(y, depth * self._size))

    def advance(self) -> None:
        """Do a step: one factorisation, or two where the first direction gives a short step.

        Raises
        ------
        SingularMatrix
            Neither direction could be computed.
        """
        step = self._step(PlainDirection)
        if step.length < SHORT:
            step = max(step, self._step(ScaledDirection), key=lambda step: step.length)
        if not step.length > 0.0:
            raise SingularMatrix("no direction can be computed")
        self._move_to(self.x + step.length * step.dx, self.y + step.length * step.dy)

    def _move_to(self, x: Array, y: Array) -> None:
        """Move to x, y; update the mean gap and the difference of y from S⁻¹ ũ."""
        self.x, self.y = x, y
        self._gap = _mean_gap(x, y)
        self._gaps.append(self._gap)
        law, self._slope = self._law(self.r, self._gap / np.maximum(self._size, x[:, 0]))
        self._defect = y - law

    def _law(self, r: Array, rounding: Array | float) -> tuple[Array, Array]:
        """S⁻¹ ũ at the impulses r, with s smoothed by ε, and the derivative of s with respect to S⁻¹ u_T."""
        y = (self._problem.apply_delassus(r) + self._free) / self._scale
        slope = np.zeros_like(y[:, 1:])
        if self._coupled:
            slip = np.sqrt(np.einsum("ij,ij->i", y[:, 1:], y[:, 1:]) + rounding**2)
            slides = self._rough & (slip > 0.0)
            slope[slides] = y[slides, 1:] / slip[slides, None]
            y[slides, 0] += slip[slides]
        y[~self._rough, 1:] = 0.0
        return y, slope

    def _step(self, kind: type[PlainDirection] | type[ScaledDirection]) -> Step:
        """Predictor, corrector and the length of the step; length 0 if there is no direction."""
        law = kind(self.x, self.y)
        try:
            direction = self._direction(law)
        except SingularMatrix:
            return Step(0.0, self.x, self.y)
        dx, dy = direction(-law.product)
        predicted = min(1.0, self._longest_step(dx, dy))
        sigma = (1.0 - predicted) ** 3 * self._gap
        dx, dy = direction(sigma * self._unit - law.product - law.second_order(dx, dy))
        if not (np.isfinite(dx).all() and np.isfinite(dy).all()):
            return Step(0.0, self.x, self.y)
        return Step(self._length(dx, dy), dx, dy)

    def _direction(self, law: Linearisation) -> Callable[[Array], tuple[Array, Array]]:
        """Factorise; return the function that computes dx and dy from a change of the product."""
        # Rows are scaled so that those of contacts with large and with small impulses are comparable.
        row = 1.0 / (np.trace(law.P, axis1=1, axis2=2) + np.trace(law.A, axis1=1, axis2=2))[:, None]
        S, block = self._scale, row[:, :, None]
        derivative = np.tile(np.eye(S.shape[1]), (len(S), 1, 1))
        derivative[:, 0, 1:] = self._slope
        A = block * np.matmul(law.A, derivative) / S[:, None, :]
        A[~self._rough, 1:] = 0.0
        P = block * law.P * S[:, None, :]
        solve = self._system.factorise(Linearised(P, A, lambda: law.P_inverse() / (block * S[:, :, None])))

        def direction(g: Array) -> tuple[Array, Array]:
            b = row * (law.relation(g) + multiply(law.A, self._defect))
            b[~self._rough, 1:] = 0.0
            dr = solve(b)
            # From the bodies, not from the law: errors of dr then do not increase the defect.
            du = self._problem.apply_delassus(dr) / S
            dy = multiply(derivative, du) - self._defect
            dy[~self._rough, 1:] = 0.0
            return dr * S, dy

        return direction

    def _longest_step(self, dx: Array, dy: Array) -> float:
        return min(lorentz.longest_step(self.x, dx), lorentz.longest_step(self.y, dy))

    def _length(self, dx: Array, dy: Array) -> float:
        """Step nearly to the boundary; less if a contact would be much farther off the path than the mean."""
        length = min(1.0, TO_BOUNDARY * self._longest_step(dx, dy))
        for _ in range(SHORTENINGS):
            x, y = self.x + length * dx, self.y + length * dy
            is_inside = lorentz.inside(x) and lorentz.inside(y)
            if is_inside and lorentz.centrality(x, y).min() >= OFF_CENTRE * _mean_gap(x, y):
                break
            length *= SHORTENED
        return length if is_inside else 0.0


def _mean_gap(x: Array, y: Array) -> float:
    return float(np.einsum("ij,ij->", x, y)) / max(len(x), 1)
