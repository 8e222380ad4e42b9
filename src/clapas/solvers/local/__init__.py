"""Methods for a single contact, used by Gauss-Seidel.

Each is a frozen dataclass with settings and, through :meth:`part`, a named tuple whose type selects
the compiled code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from clapas.errors import SettingsError
from clapas.solvers.kinds import require_kinds


@dataclass(frozen=True, kw_only=True)
class Exact:
    """Solve each contact exactly by a scalar equation; the default.

    Finds a solution of the one-contact problem to rounding whenever one exists, in the time of
    one or two Newton steps. See :mod:`clapas.solvers.local.exact`.
    """

    def part(self) -> Any:
        """Compile-time form."""
        from clapas.solvers.local.exact import MAX_STEPS, ExactPart

        return ExactPart(MAX_STEPS)


@dataclass(frozen=True, kw_only=True)
class AlartCurnier:
    """Solve each contact by Alart and Curnier's Newton method, with the exact one as a fallback.

    Parameters
    ----------
    max_iterations : int
        Newton steps before the exact method takes over.
    tol : float
        Relative step at which Newton's method has converged.
    """

    max_iterations: int = 15
    tol: float = 1e-15

    def __post_init__(self) -> None:
        require_kinds(self)
        if self.max_iterations < 1:
            raise SettingsError(f"AlartCurnier: max_iterations must be at least 1, got {self.max_iterations}")
        if not 0 < self.tol < 1:
            raise SettingsError(f"AlartCurnier: tol must be between 0 and 1, got {self.tol}")

    def part(self) -> Any:
        """Compile-time form."""
        from clapas.solvers.local.alart_curnier import AlartCurnierPart

        return AlartCurnierPart(self.max_iterations, self.tol)


@dataclass(frozen=True, kw_only=True)
class DeSaxce:
    """Improve each contact by De Saxcé projections, without solving it.

    Parameters
    ----------
    projections : int
        Projections per visit.
    tol : float
        Relative step at which the projections of a visit end early.
    """

    projections: int = 1
    tol: float = 1e-15

    def __post_init__(self) -> None:
        require_kinds(self)
        if self.projections < 1:
            raise SettingsError(f"DeSaxce: projections must be at least 1, got {self.projections}")
        if not 0 < self.tol < 1:
            raise SettingsError(f"DeSaxce: tol must be between 0 and 1, got {self.tol}")

    def part(self) -> Any:
        """Compile-time form."""
        from clapas.solvers.local.de_saxce import DeSaxcePart

        return DeSaxcePart(self.projections, self.tol)


LocalSolver: TypeAlias = Exact | AlartCurnier | DeSaxce
