"""Accelerated projection: De Saxcé's fixed point with Nesterov's momentum.

At fixed sliding speeds Coulomb's law is a convex minimisation, which Nesterov's momentum accelerates; the
speeds change slowly along the iterations. So they may be updated at every step, in the field of
the projection itself, without inner and outer loops. The method is as simple as a projected
gradient and, on most problems, faster than all nested methods of this kind.

Momentum has one risk. The field is not a gradient, and where contacts alternate between slip and stick an
iterate with much momentum can cycle forever. The momentum is therefore bounded, and the bound follows the
shape of the path: lowered while it winds (the net displacement is a small part of its length), raised while
it is straight, as along a narrow valley, where momentum is beneficial.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clapas.convex.base import FrictionCone
from clapas.errors import SettingsError
from clapas.problems.contact import ContactProblem
from clapas.solvers.loop import Iteration, IterativeSolver
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class AcceleratedProjection(IterativeSolver):
    """De Saxcé's projection with momentum, with sliding speeds updated at every step.

        r⁺ = P_K(y − ρ ũ(y)),    y⁺ = r⁺ + β (r⁺ − r),    ũ = u + mu |u_T| e_N,  u = W y + q,

    with Nesterov's β, dropped when it points against the velocity (ũ(y)·(r⁺ − r) > 0) and bounded as
    described at the head of the file; ρ from the observed curvature. One product by W per iteration.

    A first choice: simple, with little memory, and fast to 1e-8 on problems from one to some thousand
    contacts, hyperstatic ones included. Large packings in which many contacts slide suit Gauss-Seidel
    better; the last digits of walls suit an interior point. No convergence proof.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    window : int
        Iterations between two updates of the bound on the momentum.

    References
    ----------
    De Saxcé, Feng 1998 (the map); Nesterov 1983, O'Donoghue, Candès 2015 (momentum and restart); Mazhar,
    Heyn, Negrut, Tasora 2015 (the same for the convex model of friction).

    Examples
    --------
    >>> from clapas import gallery, solve
    >>> solution = solve(gallery.box_stack(5).problem, AcceleratedProjection(tol=1e-10))
    >>> solution.status.name
    'SOLVED'
    """

    max_iterations: int = 100_000
    window: int = 200

    cones: ClassVar[tuple[type, ...]] = (FrictionCone,)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window < 1:
            raise SettingsError(f"window must be at least 1, got {self.window}")

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Scale the problem and begin at the guess, without momentum."""
        from clapas.solvers.accelerated_projection.iteration import Momentum  # kernels load the compiler

        return Momentum(problem, guess, self.window)
