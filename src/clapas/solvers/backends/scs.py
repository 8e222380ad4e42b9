"""SCS, a splitting solver for conic programs, as a cross-check of the other convex methods."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, get_args

import numpy as np

from clapas.errors import MissingDependency, SettingsError
from clapas.problems.contact import ContactProblem
from clapas.solvers.backends.programs import Form, formulation
from clapas.solvers.convex.base import ConvexMethod, ConvexProblem, ConvexSolution, admissible_solution
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class SCS:
    """The splitting solver SCS (an optional package): an independent result for comparison.

    Slower and less accurate than the other methods; used to cross-check them.

    Parameters
    ----------
    form : "impulses", "velocities", "norm" or "linear"
        The program posed; see :mod:`clapas.solvers.backends.programs`.
    max_iterations : int
        Iterations of the engine.

    References
    ----------
    O'Donoghue, Chu, Parikh, Boyd 2016.

    Examples
    --------
    >>> SCS(form="velocities", max_iterations=20_000)
    SCS(form='velocities', max_iterations=20000)
    """

    form: Form = "impulses"
    max_iterations: int = 100_000

    def __post_init__(self) -> None:
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
    def __init__(self, contacts: ContactProblem, settings: SCS) -> None:
        self.engine = _module()
        self.settings = settings
        self.formulation = formulation(contacts, settings.form)

    def solve(self, frozen: ConvexProblem, guess: Array, accuracy: float) -> ConvexSolution:
        initial = admissible_solution(frozen, guess, 0)
        if guess.size == 0 or initial.residual <= accuracy:
            return initial
        program = self.formulation.program(frozen)
        data = {"P": program.P, "c": program.c, "A": program.A, "b": program.h}
        cones = {"z": program.cones.zeros, "l": program.cones.rays, "q": list(program.cones.lorentz)}
        # The engine measures its own residuals, on other scales than ours: its tolerance is a little tighter.
        tolerance = max(0.1 * accuracy, 1e-14)
        engine = self.engine.SCS(
            data,
            cones,
            verbose=False,
            eps_abs=tolerance,
            eps_rel=tolerance,
            max_iters=self.settings.max_iterations,
        )
        solution = engine.solve()
        y, multiplier = solution["x"], solution["y"]
        if not (np.isfinite(y).all() and np.isfinite(multiplier).all()):
            return initial
        result = admissible_solution(
            frozen, self.formulation.impulses(y, multiplier), solution["info"]["iter"]
        )
        return result if result.residual < initial.residual else initial


def _module() -> Any:
    try:
        return import_module("scs")
    except ImportError:
        raise MissingDependency("scs", "scs", "The conic solver SCS") from None
