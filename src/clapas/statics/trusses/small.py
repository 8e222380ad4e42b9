"""Small displacements: the convex energy of bars and unilateral cables, by Newton's method with an exact line
search.

    minimise  Σ_bars (½ k e² + t⁰ e) + Σ_cables ⟨k e + t⁰⟩₊² / 2k − F·U,      e = B U

is piecewise quadratic in the displacements alone. Its gradient is the equilibrium Bᵀ t − F, its Hessian the
sparse K = Bᵀ diag(k 1_tight) B. Along a direction the derivative is piecewise linear and increasing: sorting
the lengths of step at which cables go slack or tight gives its zero exactly. Some five factorisations solve
grids of any size.

This is the model of the LMGC thesis. Its prestress does not stiffen mechanisms: where displacements are not
small against the members, or a mechanism is loaded, take
:class:`~clapas.statics.trusses.large.LargeDisplacements`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from clapas.bodies.trusses.assembly import Assembly
from clapas.bodies.trusses.line_search import exact_step
from clapas.bodies.trusses.stability import Unstable
from clapas.bodies.trusses.structure import Truss
from clapas.errors import ProblemError
from clapas.linalg.factor import factorise
from clapas.statics.settings import check_loop
from clapas.statics.trusses.equilibrium import Equilibrium, case_loads, force_scale
from clapas.status import Status
from clapas.typing import Array

SHIFT = 1e-12  # of K, relative to its largest entry: fixes nodes held by slack cables only
FAR = 1e3  # sizes of the structure beyond which a displacement is a motion without resistance


@dataclass(frozen=True, kw_only=True, slots=True)
class SmallDisplacements:
    """Newton's method with exact line search on the energy of small displacements.

    Parameters
    ----------
    tol : float
        Largest force left at a free displacement, relative to the largest of loads and member forces.
    max_iterations : int
        Newton steps, one factorisation each.

    Examples
    --------
    A weight on two cables at 45 degrees, and the same weight lifted: both cables slack, nothing resists.

    >>> from clapas.bodies.trusses import Group, Material, Section
    >>> wire = Group(name="wire", kind="cable", material=Material(young=200e9), section=Section(area=1e-5))
    >>> truss = Truss(nodes=[[-1, 1], [1, 1], [0, 0]], members=[[0, 2], [1, 2]], groups=[wire], group=[0, 0],
    ...               is_blocked=[[1, 1], [1, 1], [0, 0]], cases={"weight": [[0, 0], [0, 0], [0, -100]]})
    >>> SmallDisplacements().solve(truss, "weight").forces.round(3)
    array([70.711, 70.711])
    """

    tol: float = 1e-10
    max_iterations: int = 100

    def __post_init__(self) -> None:
        check_loop(self.tol, self.max_iterations)

    def solve(
        self,
        truss: Truss,
        case: str | None = None,
        *,
        factor: float = 1.0,
        guess: Array | None = None,
        check: bool = True,
    ) -> Equilibrium:
        """Equilibrium under a load case times a factor.

        Parameters
        ----------
        truss : Truss
            The structure; its self-stress must balance itself.
        case : str, optional
            Name of the load case; no load by default.
        factor : float
            Multiplies the loads.
        guess : array (n × d), optional
            Displacements to start from, of a neighbouring load say.
        check : bool
            Raise NotSolved unless the residual reached the tolerance.

        Raises
        ------
        Unstable
            The load moves a mechanism, or all that resists it goes slack; the motion is in
            ``error.mechanism``.
        """
        began = time.perf_counter()
        truss.check_balance()
        F = case_loads(truss, case, factor).ravel()[truss.free]
        B, k, t0, cable = truss.B, truss.stiffness, truss.prestress, truss.is_cable
        size = float(np.ptp(truss.nodes, axis=0).max())
        assembly, transposed = Assembly(truss), truss.B.T.tocsr()
        start = np.zeros(truss.nodes.shape) if guess is None else np.asarray(guess, dtype=np.float64)
        U: Array = start.ravel()[truss.free]
        status, residual, iteration = Status.MAX_ITERATIONS, np.inf, 0
        for iteration in range(self.max_iterations + 1):
            trial = t0 + k * (B @ U)
            tight = ~cable | (trial > 0.0)
            t = np.where(tight, trial, 0.0)
            gradient = transposed @ t - F
            residual = float(np.abs(gradient).max(initial=0.0)) / force_scale(F, t)
            if residual <= self.tol:
                status = Status.SOLVED
                break
            if iteration == self.max_iterations:
                break
            # Cables without prestress are at the limit; treat them as tight in the first step, so that a
            # structure that is stiff only with all cables tight starts in a sensible direction.
            model = tight | (trial >= 0.0) if iteration == 0 else tight
            direction = _direction(assembly, k * model, gradient)
            stretch = B @ direction
            U = U + exact_step(trial, k * stretch, stretch, cable, -float(F @ direction)) * direction
            if np.abs(U).max() > FAR * size:
                raise _runaway(truss, U)
        state = Equilibrium(
            truss=truss,
            model="small",
            case=case or "",
            loads=case_loads(truss, case, factor),
            displacements=truss.displacements(U),
            forces=t,
            status=status,
            residual=residual,
            tol=self.tol,
            iterations=iteration,
            time=time.perf_counter() - began,
        )
        return state.checked() if check else state


def _direction(assembly: Assembly, stiffness: Array, gradient: Array) -> Array:
    """Newton direction; the matrix is shifted, more if rounding makes it indefinite."""
    K = assembly.material(stiffness)
    top, unit = float(assembly.truss.stiffness.max()), sparse.eye_array(K.shape[0], format="csc")
    for shift in (SHIFT, 1e-10, 1e-8):
        try:
            factor = factorise((K + shift * top * unit).tocsr(), assembly.order)
            return -factor.solve(gradient)
        except ProblemError:
            continue
    return -gradient / top


def _runaway(truss: Truss, U: Array) -> Unstable:
    motion = truss.displacements(U)
    motion = motion / np.abs(motion).max()
    node = truss.label(int(np.argmax(np.abs(motion).max(axis=1))))
    return Unstable(
        f"nothing resists this load in small displacements: the structure moves without end, node {node} "
        "most. Either the load acts on a mechanism, which prestress stiffens only in large displacements "
        "(LargeDisplacements()), or the cables that held it went slack: add prestress, members or supports; "
        "error.mechanism holds the motion",
        truss,
        motion,
    )
