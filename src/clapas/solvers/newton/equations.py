"""Newton's linear equations, in variables without unit.

With D = diag(1/√λ_i), λ_i the response of contact i, and |q| the size of the free velocity,

    x = r √λ / |q|,    g = u / (√λ |q|),    g = W̃ x + g₀,    W̃ = D W D,

the diagonal blocks of W̃ have mean diagonal 1 and every constant of a method is a plain number. A function
Φ(g, x) is linearised at each contact and the bodies close the system:

    ∂Φ/∂g dg + ∂Φ/∂x dx = −Φ,    dg = W̃ dx.

Rigid structures have more contacts than they need (they are hyperstatic): W is singular and so are these
equations wherever all contacts stick. They are then solved with a small *proximal term*, as if dg = (W̃ +
δ) dx, and refined on the equations without it: each refinement is a proximal step on a consistent linear
system and gains a factor of the order of δ. The solution so reached is one of those the singular equations
have.

The equations are factorised in the space of the contacts or in that of the bodies, where W is never formed:
see :mod:`clapas.solvers.contact_system`. Patterns are analysed once.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from clapas.linalg.multifrontal import SingularMatrix
from clapas.problems.contact import ContactProblem
from clapas.solvers.contact_system import ContactSystem, Linearised, Solve, contact_system, multiply
from clapas.solvers.loop import Halt
from clapas.solvers.newton.augmentation import Augmentation
from clapas.solvers.newton.maps import Tangent
from clapas.solvers.products import ScaledDelassus
from clapas.status import Status
from clapas.typing import Array

STRONGER = 100.0  # by how much the proximal term grows when the equations stay singular
LARGEST_TERM = 1.0
FEW_FREEDOMS = 0.75  # freedoms per unknown at the contacts below which the space of the bodies is faster


class Equations:
    """The data of a problem in variables without unit, and its linear solver.

    Parameters
    ----------
    problem : ContactProblem
        Global or reduced.
    """

    def __init__(self, problem: ContactProblem) -> None:
        self.problem = problem
        self.scaled = ScaledDelassus(problem)
        self.mu = problem.mu
        self.shape = (problem.n_contacts, problem.d)
        self.free = self.scaled.from_velocities(problem.q)
        self.blocks = problem.local_blocks / problem.response[:, None, None]
        self._root = self.scaled.root[:, :, None]

    @cached_property
    def _system(self) -> ContactSystem:
        problem = self.problem
        n, d = self.shape
        has_bodies = problem.form == "global" and problem.blocks is not None
        is_wall = has_bodies and problem.n_dof <= FEW_FREEDOMS * n * d
        return contact_system(problem, "bodies" if is_wall else "auto")

    def augmentation(self, share: float) -> Augmentation:
        """ρ of each contact, a share of Alart's bound."""
        return Augmentation.from_blocks(self.blocks, share)

    def velocity(self, x: Array) -> Array:
        """The velocities g = W̃ x + g₀."""
        return self.scaled.product(x) + self.free

    def factorise(self, by_g: Array, by_x: Array) -> Solve:
        """Prepare the solution of ∂Φ/∂g W̃ dx + ∂Φ/∂x dx = b."""
        solve = self._system.factorise(Linearised(by_x * self._root, by_g / self._root))
        return lambda b: self.scaled.root * solve(b)

    def solve(self, tangent: Tangent, term: float, refinements: int) -> Array:
        """The change dx that brings the linearised Φ to zero.

        Parameters
        ----------
        tangent : Tangent
            Φ, ∂Φ/∂g and ∂Φ/∂x.
        term : float
            Proximal term δ, relative to the diagonal of W̃; it grows by itself if the equations stay
            singular.
        refinements : int
            Most refinements on the equations without the term; fewer when they gain nothing.
        """
        value, by_g, by_x = tangent
        if not np.isfinite(value).all():
            raise Halt(Status.NUMERICAL_ERROR)
        solve = self._factorise_with_term(by_g, by_x, term)
        dx = solve(-value)
        missed = -value - multiply(by_x, dx) - multiply(by_g, self.scaled.product(dx))
        size = np.linalg.norm(missed)
        for _ in range(refinements):
            better = dx + solve(missed)
            still = -value - multiply(by_x, better) - multiply(by_g, self.scaled.product(better))
            before, size = size, np.linalg.norm(still)
            if not size < before:
                break
            dx, missed = better, still
        return dx

    def _factorise_with_term(self, by_g: Array, by_x: Array, term: float) -> Solve:
        while term <= LARGEST_TERM:
            try:
                return self.factorise(by_g, by_x + term * by_g)
            except (SingularMatrix, np.linalg.LinAlgError):
                term *= STRONGER
        raise Halt(Status.NUMERICAL_ERROR)
