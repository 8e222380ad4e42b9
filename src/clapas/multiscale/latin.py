"""Micro-macro LATIN (LArge Time INcrement): substructures, local and linear stages, a coarse problem.

An iteration alternates between two sets of equations, along search directions:

    linear stage   equilibrium and compatibility of each substructure, macro forces in balance and macro
                   displacements continuous over the whole structure (one coarse solution)
    local stage    the law of each link, each alone; perfect interfaces, each node alone

Directions: l on links (their stiffness by default), d on the micro part of interfaces, d^M = κ d on their
macro part (infinite by default). One domain (a single label) is the plain LATIN method, an augmented
Lagrangian.

References: Ladevèze 1999; Ladevèze, Nouy 2003; LMGC thesis on tensegrity, 5.2.3; Alart, Dureisseix 2008.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from clapas.errors import SettingsError
from clapas.multiscale.interfaces import POLICIES, WeakPolicy
from clapas.multiscale.problem import LinkProblem
from clapas.multiscale.substructure import LinkSolver
from clapas.multiscale.substructured import Substructured
from clapas.typing import Array


@dataclass(frozen=True, kw_only=True)
class MicroMacroLATIN:
    """Settings of the micro-macro LATIN method.

    Parameters
    ----------
    direction : "faces", float or array (dofs,)
        Micro search direction d of interfaces: the stiffness of the substructures between opposite faces, per
        node (:func:`~clapas.multiscale.directions.face_stiffness`); or a number (N/m); or one per component.
    link_direction : float
        Search direction l of links, relative to their stiffness.
    macro : bool or int
        Coarse problem with the whole macro basis; with its first 3 or 6 vectors (translations; rotations);
        or without.
    macro_direction : float
        κ = d^M/d; infinite by default.
    weak : "drop", "macro" or "micro"
        Interfaces of few nodes, see :mod:`clapas.multiscale.interfaces`.
    relaxation : float
        Fraction of each step taken, above 0 and up to 1 (the original method, as in the thesis). The original
        method ends in oscillations that hardly decay where cables are slack, and never where κ is finite; 0.9
        removes them.
    adapt : bool
        Change directions in the first iterations: d until the jumps of displacements and of forces at the
        interfaces are of equal size, l of slack cables to a third. Each change costs a factorisation of all
        substructures.
    together : callable, optional
        Local stage of springs by one linear complementarity problem per substructure (l = k): a function of
        (W, q) that returns z with 0 ≤ z ⟂ W z + q ≥ 0. By default each link is treated alone.
    threads : int
        Number of threads among which substructures are shared; results do not depend on it.
    processes : int
        The same with processes, started and sent their substructures at each run: for long runs. A
        script that uses them needs the line ``if __name__ == "__main__":``.
    comm : mpi4py communicator, optional
        The same with the ranks of ``mpirun``, such as ``MPI.COMM_WORLD``. All of them create the method
        and run it together; each iterates its share of the substructures and gets the whole result.

    Examples
    --------
    Two springs in series that carry 3 N, one per substructure: the shared node moves by 3 N / (1 + 2) N/m.

    >>> from scipy import sparse
    >>> from clapas.multiscale.laws import Springs
    >>> law = Springs(np.array([1.0, 2.0]), np.zeros(2), np.zeros(2, dtype=bool))
    >>> chain = LinkProblem(
    ...     B=sparse.csr_array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]]), law=law, dofs_per_node=1,
    ...     F=np.array([0.0, 3.0, 0.0]), is_blocked=np.array([True, False, True]))
    >>> method = MicroMacroLATIN(direction=1.0, macro=False, weak="micro").prepare(chain, [0, 1])
    >>> method.run(60).U.round(6).tolist()
    [0.0, 1.0, 0.0]
    """

    direction: Literal["faces"] | float | Array = "faces"
    link_direction: float = 1.0
    macro: bool | int = True
    macro_direction: float = math.inf
    weak: WeakPolicy = "drop"
    relaxation: float = 0.9
    adapt: bool = False
    together: LinkSolver | None = None
    threads: int = 1
    processes: int = 1
    comm: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.direction, str):
            if self.direction != "faces":
                raise SettingsError(
                    f"direction must be 'faces', a number or an array, got {self.direction!r}"
                )
        elif not np.all(np.asarray(self.direction) > 0.0):
            raise SettingsError("direction must be positive")
        for name in ("link_direction", "macro_direction"):
            if not getattr(self, name) > 0.0:
                raise SettingsError(f"{name} must be positive, got {getattr(self, name)}")
        if not 0.0 < self.relaxation <= 1.0:
            raise SettingsError(f"relaxation must be above 0 and at most 1, got {self.relaxation}")
        if self.weak not in POLICIES:
            raise SettingsError(f"weak must be 'drop', 'macro' or 'micro', got {self.weak!r}")
        if self.together is not None and (self.link_direction != 1.0 or self.adapt):
            raise SettingsError("together wants the directions l = k: link_direction=1 and adapt=False")
        for name in ("threads", "processes"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.comm is not None and self.processes > 1:
            raise SettingsError("substructures are shared by processes or by the ranks of comm, not by both")
        if self.is_spread and (self.threads > 1 or self.adapt):
            raise SettingsError(
                "processes hold their substructures for a run: give threads=1 and adapt=False with them"
            )

    @property
    def is_spread(self) -> bool:
        """Whether substructures are held by several processes during a run."""
        return self.processes > 1 or self.comm is not None

    def prepare(self, problem: LinkProblem, labels: npt.ArrayLike) -> Substructured:
        """Cut a problem, factorise its substructures and its coarse problem.

        Parameters
        ----------
        problem : LinkProblem
            The whole.
        labels : array (links,)
            Substructure of each link (:mod:`clapas.multiscale.partition`); all equal for one domain.
        """
        return Substructured(self, problem, labels)
