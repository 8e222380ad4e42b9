"""Trusses as links to be cut into substructures."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from clapas.bodies.trusses.structure import Truss
from clapas.errors import ProblemError
from clapas.multiscale.latin import MicroMacroLATIN
from clapas.multiscale.laws import Springs
from clapas.multiscale.problem import LinkProblem
from clapas.multiscale.substructured import Substructured
from clapas.statics.settings import check_loop
from clapas.statics.trusses.equilibrium import Equilibrium, case_loads, force_scale
from clapas.status import Status
from clapas.typing import Indices


def link_problem(
    truss: Truss, case: str | None = None, *, factor: float = 1.0, linear: bool = False
) -> LinkProblem:
    """A truss in small displacements under a load case, ready to be cut.

    Parameters
    ----------
    truss : Truss
        The structure.
    case : str, optional
        Load case; no load by default.
    factor : float
        Multiplies the loads.
    linear : bool
        Cables as bilateral springs.

    Examples
    --------
    >>> from clapas.bodies.trusses.generators import grid
    >>> problem = link_problem(grid(4), "down")
    >>> problem.n_nodes, problem.n_links
    (65, 256)
    """
    is_cable = np.zeros(truss.n_members, dtype=bool) if linear else truss.is_cable
    return LinkProblem(
        B=truss.full_B,
        law=Springs(truss.stiffness, truss.prestress, is_cable),
        F=case_loads(truss, case, factor).ravel(),
        dofs_per_node=truss.d,
        points=truss.nodes,
        is_blocked=truss.is_blocked.ravel(),
    )


def module_blocks(truss: Truss, n: int, parts: int) -> Indices:
    """Substructure of each member of a grid of n × n modules, cut into parts × parts blocks of modules.

    Members along a wall between two modules stay with their own module.

    Examples
    --------
    >>> from clapas.bodies.trusses.generators import grid
    >>> np.bincount(module_blocks(grid(4), 4, 2)).tolist()
    [64, 64, 64, 64]
    """
    if truss.n_members % (n * n):
        raise ProblemError(f"{truss.n_members} members are not those of {n} × {n} equal modules")
    if not 1 <= parts <= n:
        raise ProblemError(f"parts must be between 1 and {n}, got {parts}")
    j, i = np.divmod(np.arange(n * n), n)
    block = (i * parts // n) + parts * (j * parts // n)
    return np.repeat(block, truss.n_members // (n * n))


@dataclass(frozen=True, kw_only=True)
class SubstructuredDisplacements:
    """Small displacements by the micro-macro LATIN method, judged by the equilibrium of the whole structure.

    :class:`~clapas.statics.trusses.SmallDisplacements` is faster on one machine and exact; use this where
    substructures must be separate (processes, memory), or to study the method.

    Parameters
    ----------
    tol : float
        Largest force left at a free displacement, relative to the largest of loads and member forces, with
        the forces that the law gives to the mean displacements of the substructures.
    max_iterations : int
        Iterations of the method.
    method : MicroMacroLATIN
        Its settings.

    Examples
    --------
    >>> from clapas.bodies.trusses.generators import grid
    >>> truss = grid(4)
    >>> state = SubstructuredDisplacements(tol=1e-6).solve(truss, "down", labels=module_blocks(truss, 4, 2))
    >>> state.status.name
    'SOLVED'
    """

    tol: float = 1e-4
    max_iterations: int = 1000
    method: MicroMacroLATIN = field(default_factory=MicroMacroLATIN)

    def __post_init__(self) -> None:
        check_loop(self.tol, self.max_iterations)

    def solve(
        self,
        truss: Truss,
        case: str | None = None,
        *,
        labels: npt.ArrayLike,
        factor: float = 1.0,
        check: bool = True,
    ) -> Equilibrium:
        """Equilibrium under a load case times a factor.

        Parameters
        ----------
        truss, case, factor, check
            As for :class:`~clapas.statics.trusses.SmallDisplacements`.
        labels : array (members,)
            Substructure of each member (:mod:`clapas.multiscale.partition`, :func:`module_blocks`).
        """
        began = time.perf_counter()
        truss.check_balance()
        problem = link_problem(truss, case, factor=factor)
        assert isinstance(problem.law, Springs)
        law, transposed, F = problem.law, truss.B.T.tocsr(), problem.F[truss.free]
        whole = self.method.prepare(problem, labels)
        best: dict[str, Any] = {}

        def solved(whole: Substructured) -> bool:
            U = whole.U
            t = law.forces(truss.B @ U[truss.free])
            left = float(np.abs(transposed @ t - F).max(initial=0.0)) / force_scale(F, t)
            if left <= best.get("residual", np.inf):
                best.update(residual=left, U=U, t=t)
            return left <= self.tol

        whole.run(self.max_iterations, watch=solved)
        state = Equilibrium(
            truss=truss,
            model="small",
            case=case or "",
            loads=case_loads(truss, case, factor),
            displacements=truss.displacements(best["U"][truss.free]),
            forces=best["t"],
            status=Status.SOLVED if best["residual"] <= self.tol else Status.MAX_ITERATIONS,
            residual=best["residual"],
            tol=self.tol,
            iterations=whole.iterations,
            time=time.perf_counter() - began,
        )
        return state.checked() if check else state
