"""A solver's result and its convergence history."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from clapas.problems.contact import ContactProblem
from clapas.problems.report import Report
from clapas.status import Status
from clapas.typing import Array, Indices
from clapas.units import counted

if TYPE_CHECKING:
    from clapas.solvers.loop import Solver


@dataclass(frozen=True, eq=False)
class History:
    """Residual against iterations and seconds, one row per measurement."""

    iterations: Indices = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    seconds: Array = field(default_factory=lambda: np.empty(0))
    residuals: Array = field(default_factory=lambda: np.empty(0))

    def __len__(self) -> int:
        return len(self.iterations)

    def __repr__(self) -> str:
        return f"History({counted(len(self), 'measurement')})"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Solution:
    """Impulses and velocities, with their residual and status.

    Parameters
    ----------
    problem : ContactProblem
        The problem.
    solver : Solver
        The method, with its settings.
    r : array (n, d)
        Impulses at the contacts (N·s): the best iterate measured.
    status : Status
        How the solver ended.
    residual : float
        ``problem.residual(r)``, measured from the data.
    iterations : int
        Iterations done.
    time : float
        Seconds spent, compilation of kernels included.
    history : History
        Residual against iterations and seconds.
    notes : tuple of str
        Remarks of the method.
    method : str
        What ran, in words: the method, for Auto the one of its portfolio that converged, and the form of the
        problem it worked on.
    moved : array (m,), optional
        Velocities of the bodies, given where they do not follow from r (M singular): ``v`` is these.
    """

    problem: ContactProblem
    solver: Solver
    r: Array
    status: Status
    residual: float
    iterations: int
    time: float
    history: History
    notes: tuple[str, ...] = ()
    method: str = ""
    moved: Array | None = None

    @cached_property
    def u(self) -> Array:
        """Velocities at the contacts (m/s), (n, d)."""
        return self.problem.velocity(self.r, self.moved)

    @cached_property
    def v(self) -> Array | None:
        """Velocities of the bodies, (m,); None in the reduced form."""
        if self.moved is not None:
            return self.moved
        return self.problem.motion(self.r) if self.problem.form == "global" else None

    @cached_property
    def multipliers(self) -> Array | None:
        """Impulses λ of the joints, (j,); None in the reduced form."""
        return self.problem.multipliers(self.r, self.moved) if self.problem.form == "global" else None

    @property
    def tol(self) -> float:
        """Tolerance of the solver."""
        return self.solver.tol

    def report(self) -> Report:
        """Measures of the impulses by every known form of Coulomb's law."""
        return self.problem.report(self.r, self.moved)

    def as_dict(self) -> dict[str, Any]:
        """Numbers that describe the solution, without the arrays."""
        return {
            "status": self.status.name,
            "residual": self.residual,
            "tol": self.tol,
            "iterations": self.iterations,
            "time": self.time,
            "solver": repr(self.solver),
            "method": self.method,
            "notes": list(self.notes),
            "report": self.report().as_dict(),
        }

    def __repr__(self) -> str:
        return (
            f"Solution({self.status.name}, residual {self.residual:.2e}, "
            f"{counted(self.iterations, 'iteration')}, {self.time:.3g} s)"
        )
