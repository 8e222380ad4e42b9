"""Clarabel, an interior-point solver for conic programs, as a method for the convex problem."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, get_args

import numpy as np

from clapas.errors import MissingDependency, SettingsError
from clapas.problems.contact import ContactProblem
from clapas.solvers.backends.programs import Cones, Form, Program, formulation
from clapas.solvers.convex.accelerated_gradient import AcceleratedGradient
from clapas.solvers.convex.base import (
    ConvexMethod,
    ConvexProblem,
    ConvexSolution,
    ConvexSolver,
    admissible_solution,
)
from clapas.solvers.kinds import require_kinds
from clapas.typing import Array

# Walls and stacks are hyperstatic: the default regularisation (1e-8, and
# more with the size of the data) then hides the last digits, and the engine stops some orders too early.
REGULARISATION = 1e-12
SMALLEST_TOLERANCE = 1e-16  # on the gap; at grazing contacts the residual is about its square root


@dataclass(frozen=True, kw_only=True)
class Clarabel:
    """The interior-point solver Clarabel, refined by gradient steps.

    The program is solved to the limit of the engine, from a cold start: interior-point methods gain
    nothing from a guess near the boundary. Where a contact neither slides nor presses, both factors of
    r·ũ = gap are small and the error is about the square root of the gap; a few accelerated gradient
    steps from there reduce it at the cost of products by W.

    The most accurate method for hyperstatic problems (walls, stacks); some tens of factorisations
    per call. Gradient methods alone are cheaper for large packings.

    Parameters
    ----------
    form : "impulses", "velocities", "norm" or "linear"
        The program posed; see :mod:`clapas.solvers.backends.programs`. The second and third need the
        global form and friction cones.
    max_iterations : int
        Iterations of the engine.
    polish : ConvexSolver or None
        Method that refines the result of the engine.

    References
    ----------
    Goulart, Chen 2024 (the engine); Cadoux 2009, sections 4.7.2-4.7.4.

    Examples
    --------
    >>> particle = ContactProblem(W=np.eye(3), q=[[-1.0, 3.0, 0.0]], mu=[0.5])
    >>> frozen = ConvexProblem.conic(particle, np.array([2.0]))
    >>> Clarabel().start(particle).solve(frozen, np.zeros((1, 3)), accuracy=1e-10).r.round(9)
    array([[ 1.2, -0.6,  0. ]])
    """

    form: Form = "impulses"
    max_iterations: int = 60
    polish: ConvexSolver | None = field(default_factory=lambda: AcceleratedGradient(max_iterations=300))

    def __post_init__(self) -> None:
        require_kinds(self)
        if self.form not in get_args(Form):
            raise SettingsError(
                f"form must be 'impulses', 'velocities', 'norm' or 'linear', got '{self.form}'"
            )
        if self.max_iterations < 1:
            raise SettingsError(f"max_iterations must be at least 1, got {self.max_iterations}")

    def start(self, contacts: ContactProblem) -> ConvexMethod:
        """Form the matrices of the program."""
        return _Engine(contacts, self)


class _Engine:
    def __init__(self, contacts: ContactProblem, settings: Clarabel) -> None:
        self.engine = _module()
        self.settings = settings
        self.formulation = formulation(contacts, settings.form)
        self.polish = settings.polish.start(contacts) if settings.polish else None

    def solve(self, frozen: ConvexProblem, guess: Array, accuracy: float) -> ConvexSolution:
        if guess.size == 0:
            return admissible_solution(frozen, guess, 0)
        initial = admissible_solution(frozen, guess, 0)
        if initial.residual <= accuracy:
            return initial
        best = initial
        solution = self._run(self.formulation.program(frozen))
        y, multiplier = np.array(solution.x), np.array(solution.z)
        if np.isfinite(y).all() and np.isfinite(multiplier).all():
            result = admissible_solution(frozen, self.formulation.impulses(y, multiplier), 0)
            best = result if result.residual < initial.residual else initial
        if self.polish is not None and best.residual > accuracy:
            best = self.polish.solve(frozen, best.r, accuracy)
        return best._replace(iterations=solution.iterations + best.iterations)

    def _run(self, program: Program) -> Any:
        parts = (program.P, program.c, program.A, program.h, self._cones(program.cones))
        return self.engine.DefaultSolver(*parts, self._options()).solve()

    def _cones(self, cones: Cones) -> list[Any]:
        kinds = self.engine
        simple = [kinds.ZeroConeT(cones.zeros)] if cones.zeros else []
        simple += [kinds.NonnegativeConeT(cones.rays)] if cones.rays else []
        return simple + [kinds.SecondOrderConeT(size) for size in cones.lorentz]

    def _options(self) -> Any:
        options = self.engine.DefaultSettings()
        options.verbose = False
        options.max_iter = self.settings.max_iterations
        options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = SMALLEST_TOLERANCE
        options.static_regularization_constant = REGULARISATION
        options.static_regularization_proportional = 0.0
        options.direct_solve_method = _fastest_factorisation(self.engine)
        return options


def _module() -> Any:
    try:
        return import_module("clarabel")
    except ImportError:
        raise MissingDependency("clarabel", "conic", "The conic solver Clarabel") from None


def _fastest_factorisation(engine: Any) -> str:
    """Faer's parallel factorisation where the engine was built with it."""
    options = engine.DefaultSettings()
    try:
        options.direct_solve_method = "faer"
    except ValueError:
        return str(options.direct_solve_method)
    return "faer"
