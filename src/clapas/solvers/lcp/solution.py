"""The result of a method for linear complementarity, with its proofs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clapas.problems.lcp import LCP, Infeasibility, LCPReport
from clapas.solvers.solution import History
from clapas.status import Status
from clapas.typing import Array
from clapas.units import counted

if TYPE_CHECKING:
    from clapas.solvers.lcp.loop import LCPSolver
    from clapas.solvers.lcp.refutation import Refutation


@dataclass(frozen=True, eq=False)
class Ray:
    """The half-line on which Lemke's method ended: z + t dz, w + t dw, z₀ + t dz₀ for all t ≥ 0.

    All of it obeys w = M z + q + z₀ d, stays nonnegative and complementary, and has z₀ > 0. For positive
    semidefinite and other copositive-plus matrices its direction proves that no solution exists
    (:meth:`infeasibility`); for others it only says that this method cannot continue.

    Parameters
    ----------
    z, w, z0, dz, dw, dz0
        The start and the direction of the half-line.
    cover : array (n,)
        The vector d > 0 that z₀ multiplies.
    """

    z: Array
    w: Array
    z0: float
    dz: Array
    dw: Array
    dz0: float
    cover: Array

    def infeasibility(self, problem: LCP) -> Infeasibility | None:
        """The proof that no solution exists, where the ray is one."""
        return Infeasibility(self.dz.clip(min=0.0)).established(problem)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LCPSolution:
    """Unknowns and slacks, with their residual and status.

    Parameters
    ----------
    problem : LCP
        The problem.
    solver : LCPSolver
        The method, with its settings.
    z, w : arrays (n,)
        The best iterate measured, and w = M z + q of it.
    status : Status
        How the solver ended.
    residual : float
        ``problem.residual(z)``, measured from the data.
    iterations : int
        Iterations done: pivots, sweeps, Newton steps.
    time : float
        Seconds spent, compilation of kernels included.
    history : History
        Residual against iterations and seconds.
    notes : tuple of str
        Remarks of the method.
    ray : Ray or None
        Ray on which Lemke's method ended, if not at a solution.
    infeasibility : Infeasibility or None
        A checked proof that no z ≥ 0 has M z + q ≥ 0.
    refutation : Refutation or None
        A checked proof, by cases, that no solution exists.
    """

    problem: LCP
    solver: LCPSolver
    z: Array
    w: Array
    status: Status
    residual: float
    iterations: int
    time: float
    history: History
    notes: tuple[str, ...] = ()
    ray: Ray | None = None
    infeasibility: Infeasibility | None = None
    refutation: Refutation | None = None

    @property
    def tol(self) -> float:
        """Tolerance of the solver."""
        return self.solver.tol

    def report(self) -> LCPReport:
        """All measures of the unknowns."""
        return self.problem.report(self.z)

    def as_dict(self) -> dict[str, Any]:
        """Numbers that describe the solution, without the arrays."""
        return {
            "status": self.status.name,
            "residual": self.residual,
            "tol": self.tol,
            "iterations": self.iterations,
            "time": self.time,
            "solver": repr(self.solver),
            "notes": list(self.notes),
            "is_proved_infeasible": self.infeasibility is not None or self.refutation is not None,
            "report": self.report().as_dict(),
        }

    def __repr__(self) -> str:
        return (
            f"LCPSolution({self.status.name}, residual {self.residual:.2e}, "
            f"{counted(self.iterations, 'iteration')}, {self.time:.3g} s)"
        )
