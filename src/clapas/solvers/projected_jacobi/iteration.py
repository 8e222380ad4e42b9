"""One iteration of Jacobi's method: a product by W, then each contact independently."""

from __future__ import annotations

from typing import Any

from clapas.compiled import kernel
from clapas.problems.contact import ContactProblem
from clapas.solvers.local.canonical import canonical_coefficients, coefficients_of, turn_tangents
from clapas.solvers.local.dispatch import solve_contact
from clapas.solvers.loop import Iteration
from clapas.solvers.nsgs.relax import relaxed
from clapas.solvers.products import ScaledDelassus
from clapas.typing import Array


class Jacobi(Iteration):
    """A running Jacobi method."""

    def __init__(self, problem: ContactProblem, part: Any, relaxation: float | None, guess: Array) -> None:
        self.scaled, self.q = ScaledDelassus(problem), problem.q
        self.part = part
        self.relaxation = relaxation or min(1.0, 1.0 / self.scaled.norm)
        self.coefficients, self.turn = canonical_coefficients(problem.local_blocks, problem.mu)
        self.r = guess

    def impulses(self) -> Array:
        """The current impulses."""
        return self.r

    def advance(self, count: int) -> None:
        """Do ``count`` iterations, each of which solves every contact once."""
        for _ in range(count):
            u = self.scaled.to_velocities(self.scaled.product(self.scaled.from_impulses(self.r))) + self.q
            rotated, u = turn_tangents(self.r, self.turn), turn_tangents(u, self.turn)
            solve_contacts(rotated, u, self.coefficients, self.part, self.relaxation)
            self.r = turn_tangents(rotated, self.turn, back=True)


@kernel
def solve_contacts(r: Array, u: Array, coefficients: Array, part: Any, relaxation: float) -> None:
    """Replace each impulse (n, d) by the relaxed solution of its contact, whose velocity is u (n, d)."""
    n, d = r.shape
    for i in range(n):
        k = coefficients_of(coefficients, i)
        r_2, u_2 = 0.0, 0.0
        if d == 3:
            r_2, u_2 = r[i, 2], u[i, 2]
        r_n, r_1 = r[i, 0], r[i, 1]
        x_n, x_1, x_2 = solve_contact(part, r_n, r_1, r_2, u[i, 0], u[i, 1], u_2, k)
        x_n, x_1, x_2 = relaxed(relaxation, k[5], r_n, r_1, r_2, x_n, x_1, x_2)
        r[i, 0], r[i, 1] = x_n, x_1
        if d == 3:
            r[i, 2] = x_2
