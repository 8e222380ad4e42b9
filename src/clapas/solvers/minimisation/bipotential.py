"""De Saxcé's bipotential minimised under its constraints, by augmented Lagrangians and L-BFGS."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from clapas.convex import coulomb
from clapas.errors import SettingsError
from clapas.problems.contact import ContactProblem
from clapas.solvers.loop import Iteration, IterativeSolver
from clapas.solvers.products import ScaledDelassus
from clapas.typing import Array

SMOOTHING, SHRINK, LEAST = 1e-2, 0.2, 1e-12  # of |u_T|: first, factor, last; dimensionless
STIFFER, STIFFEST = 3.0, 1e4  # factor on the penalties when the constraints hardly improve, and their limit
BETTER = 0.5


@dataclass(frozen=True, kw_only=True)
class Bipotential(IterativeSolver):
    """Minimise De Saxcé's bipotential: Coulomb's law as a nonlinear program.

        min  Σ u·r + mu r_N |u_T|    subject to  u_N ≥ 0,  r ∈ K,    u = W r + q,

    whose minimum is zero exactly at the solutions of the law. Not convex. The constraints are treated by
    augmented Lagrangians, |u_T| is smoothed at zero by a decreasing ε, and each subproblem is minimised by
    SciPy's L-BFGS-B. One iteration is one subproblem.

    A reference from the literature: slow, accurate to some digits, and it may end in a local minimum above
    zero, which the residual shows.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    penalty : float
        First weight of the constraints, dimensionless.
    inner_iterations : int
        Iterations of L-BFGS-B in one subproblem.

    References
    ----------
    De Saxcé, Feng 1998 (the bipotential); Cadoux 2009, (4.12); Hestenes 1969, Powell 1969 (multipliers).

    Examples
    --------
    >>> from clapas import gallery, solve
    >>> solution = solve(gallery.get("one-slide").problem, Bipotential(tol=1e-6))
    >>> solution.status.name
    'SOLVED'
    """

    max_iterations: int = 200
    penalty: float = 10.0
    inner_iterations: int = 500

    measures_each_iteration = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.penalty > 0:
            raise SettingsError(f"penalty must be positive, got {self.penalty}")
        if self.inner_iterations < 1:
            raise SettingsError(f"inner_iterations must be at least 1, got {self.inner_iterations}")

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Begin at the guess with multipliers zero."""
        return _Program(problem, self, guess)


class _Program(Iteration):
    """The augmented Lagrangian in scaled variables x (impulses) and u (velocities).

        B_ε(x) + Σ (max(0, a − σ u_N)² − a²)/2σ + Σ (|P_K*(z − σ x)|² − |z|²)/2σ

    a and z are the multipliers of u_N ≥ 0 and of x ∈ K, σ their common penalty.
    """

    def __init__(self, problem: ContactProblem, solver: Bipotential, guess: Array) -> None:
        self.solver, self.mu = solver, problem.mu
        self.scaled = ScaledDelassus(problem)
        self.free = self.scaled.from_velocities(problem.q)
        self.x = self.scaled.from_impulses(guess)
        self.a, self.z = np.zeros(len(self.mu)), np.zeros(self.scaled.shape)
        self.sigma, self.eps, self.violation = solver.penalty, SMOOTHING, np.inf
        self.deadline = time.perf_counter() + solver.time_limit

    def impulses(self) -> Array:
        """The impulses of the current point, projected on the cones."""
        return self.scaled.to_impulses(coulomb.project(self.x, self.mu))

    def advance(self, count: int) -> None:
        """Do ``count`` minimisations, each followed by an update of the multipliers."""
        for _ in range(count):
            result = optimize.minimize(
                self._lagrangian,
                self.x.ravel(),
                jac=True,
                method="L-BFGS-B",
                callback=self._check_time,
                options={"maxiter": self.solver.inner_iterations, "ftol": 1e-16, "gtol": 1e-12},
            )
            if np.isfinite(result.x).all():
                self.x = result.x.reshape(self.scaled.shape)
            self._update_multipliers()

    def _check_time(self, x: Array) -> None:
        """End a subproblem early at the time limit; the point reached is still measured."""
        if time.perf_counter() > self.deadline:
            raise StopIteration

    def _update_multipliers(self) -> None:
        u = self.scaled.product(self.x) + self.free
        inside = coulomb.project(self.x, self.mu)
        violation = float(np.hypot(np.linalg.norm(np.minimum(u[:, 0], 0.0)), np.linalg.norm(self.x - inside)))
        self.a = np.maximum(0.0, self.a - self.sigma * u[:, 0])
        self.z = coulomb.project_dual(self.z - self.sigma * self.x, self.mu)
        if violation > BETTER * self.violation:
            self.sigma = min(STIFFER * self.sigma, STIFFEST)
        self.violation = violation
        self.eps = max(SHRINK * self.eps, LEAST)

    def _lagrangian(self, flat: Array) -> tuple[float, Array]:
        x = flat.reshape(self.scaled.shape)
        u = self.scaled.product(x) + self.free
        slip = np.sqrt(np.einsum("ij,ij->i", u[:, 1:], u[:, 1:]) + self.eps**2)
        normal_multiplier = np.maximum(0.0, self.a - self.sigma * u[:, 0])
        cone_multiplier = coulomb.project_dual(self.z - self.sigma * x, self.mu)
        value = float(np.vdot(u, x)) + float(np.dot(self.mu * x[:, 0], slip))
        value += (
            float(np.vdot(normal_multiplier, normal_multiplier))
            + float(np.vdot(cone_multiplier, cone_multiplier))
        ) / (2.0 * self.sigma)
        by_u = x.copy()
        by_u[:, 0] -= normal_multiplier
        by_u[:, 1:] += (self.mu * x[:, 0] / slip)[:, None] * u[:, 1:]
        gradient = u + self.scaled.product_transposed(by_u) - cone_multiplier
        gradient[:, 0] += self.mu * slip
        return value, gradient.ravel()
