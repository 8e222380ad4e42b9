"""Large displacements: members with rest lengths in the true shape, cables that go slack, by damped Newton
steps.

    t = E A (l − l⁰)/l⁰  in bars,  the positive part of it in cables;    Σ ½ t² l⁰/(E A) − F·u  is made
    stationary

with the lengths l of the moved shape. The tangent has a material and a geometric part; it may be indefinite
on the way, and is then shifted until it is definite, so that every step goes down in energy: what is found is
a stable equilibrium. Unstable branches and snap-through need
:class:`~clapas.statics.trusses.arc_length.ArcLength`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from clapas.bodies.trusses.assembly import Assembly
from clapas.bodies.trusses.stability import Unstable
from clapas.bodies.trusses.structure import Truss
from clapas.errors import ProblemError
from clapas.linalg.factor import factorise
from clapas.statics.settings import check_loop
from clapas.statics.trusses.equilibrium import Equilibrium, case_loads, force_scale
from clapas.status import Status
from clapas.typing import Array, Indices

FIRST_SHIFT = 1e-9  # relative to the largest stiffness
UNBALANCED = 1e-9  # sum of the loads, relative to the sum of their sizes
ROUNDING = 1e-13  # of the energy, relative to the energy of the members


class Shape:
    """Forces, energy and tangent of a structure in any shape; the rest lengths are those of its prestress."""

    def __init__(self, truss: Truss, rest_lengths: Array | None = None) -> None:
        self.truss = truss
        self.rest = truss.rest_lengths if rest_lengths is None else rest_lengths
        self.stiffness = truss.axial_stiffness / self.rest
        # Elongation in the given shape: from the prestress, exactly, rather than from a difference of
        # lengths.
        own = truss.prestress * self.rest / truss.axial_stiffness
        self._first = own if rest_lengths is None else truss.lengths - self.rest

    @cached_property
    def assembly(self) -> Assembly:
        """Pattern of the tangent."""
        return Assembly(self.truss)

    def forces(self, U: Array) -> tuple[Array, Array, Array]:
        """Directions (m × d), lengths (m) and axial forces (N) after the free displacements U."""
        moved = self.truss.displacements(U)[self.truss.members]
        change = moved[:, 1] - moved[:, 0]
        arrow = self.truss.vectors + change
        length = np.linalg.norm(arrow, axis=1)
        # l − L = (l² − L²)/(l + L): no digits are lost when displacements are small against the members.
        stretch = ((arrow + self.truss.vectors) * change).sum(axis=1) / (length + self.truss.lengths)
        t = self.stiffness * (stretch + self._first)
        t = np.where(self.truss.is_cable, np.maximum(t, 0.0), t)
        return arrow / np.maximum(length, 1e-300)[:, None], length, t

    def energy(self, t: Array) -> float:
        """Strain energy (J)."""
        return float(0.5 * (t * t / self.stiffness).sum())

    def pull(self, direction: Array, t: Array) -> Array:
        """Gradient of the strain energy by the free displacements (N)."""
        pulls = t[:, None] * direction
        a, b = self.truss.members.T
        n = self.truss.n_nodes
        whole = np.column_stack(
            [np.bincount(b, pulls[:, i], n) - np.bincount(a, pulls[:, i], n) for i in range(self.truss.d)]
        )
        return np.asarray(whole.ravel()[self.truss.free])

    def tangent(self, direction: Array, length: Array, t: Array) -> sparse.csc_array:
        """Tangent stiffness (N/m): slack cables add nothing."""
        tight = ~self.truss.is_cable | (t > 0.0)
        return self.assembly.tangent(direction, length, self.stiffness * tight, t)


@dataclass(frozen=True, kw_only=True, slots=True)
class LargeDisplacements:
    """Newton's method in the true shape, damped so that the energy goes down.

    Parameters
    ----------
    tol : float
        Largest force left at a free displacement, relative to the largest of loads and member forces.
    max_iterations : int
        Newton steps.

    Examples
    --------
    A taut string of 2 m under 100 N carries a load across it that small displacements cannot: at equilibrium
    the load equals twice the vertical part of its force.

    >>> from clapas.bodies.trusses import Group, Material, Section
    >>> wire = Group(name="wire", kind="cable", material=Material(young=200e9), section=Section(area=1e-6))
    >>> string = Truss(nodes=[[0, 0], [1, 0], [2, 0]], members=[[0, 1], [1, 2]], groups=[wire], group=[0, 0],
    ...                prestress=[100, 100], is_blocked=[[1, 1], [0, 0], [1, 1]],
    ...                cases={"weight": [[0, 0], [0, -10], [0, 0]]})
    >>> found = LargeDisplacements().solve(string, "weight")
    >>> sine = -found.displacements[1, 1] / found.lengths[0]
    >>> bool(np.isclose(2 * found.forces[0] * sine, 10))
    True
    """

    tol: float = 1e-10
    max_iterations: int = 200

    def __post_init__(self) -> None:
        check_loop(self.tol, self.max_iterations)

    def solve(
        self,
        truss: Truss,
        case: str | None = None,
        *,
        factor: float = 1.0,
        rest_lengths: Array | None = None,
        guess: Array | None = None,
        check: bool = True,
    ) -> Equilibrium:
        """A stable equilibrium under a load case times a factor.

        Parameters
        ----------
        truss : Truss
            The structure. Its self-stress need not balance itself: the shape then moves without loads too.
        case : str, optional
            Name of the load case; no load by default.
        factor : float
            Multiplies the loads.
        rest_lengths : array (m,), optional
            Other rest lengths than those of the prestress (m): actuators, tensioning, errors of length.
        guess : array (n × d), optional
            Displacements to start from.
        check : bool
            Raise NotSolved unless the residual reached the tolerance.
        """
        began = time.perf_counter()
        F = case_loads(truss, case, factor).ravel()[truss.free]
        _require_balance(truss, case_loads(truss, case, factor))
        shape = Shape(truss, rest_lengths)
        start = np.zeros(truss.nodes.shape) if guess is None else np.asarray(guess, dtype=np.float64)
        U: Array = start.ravel()[truss.free]
        status, shift = Status.MAX_ITERATIONS, 0.0
        direction, length, t = shape.forces(U)
        gradient = shape.pull(direction, t) - F
        residual, iteration = float(np.abs(gradient).max(initial=0.0)) / force_scale(F, t, truss.prestress), 0
        while residual > self.tol and iteration < self.max_iterations:
            iteration += 1
            K = shape.tangent(direction, length, t)
            step, shift = _descent(K, gradient, shift, float(shape.stiffness.max()), shape.assembly.order)
            stored, slope = shape.energy(t), float(gradient @ step)
            energy, share, moved = stored - float(F @ U), 1.0, False
            for _ in range(40):
                ahead = U + share * step
                state = shape.forces(ahead)
                left = shape.pull(state[0], state[2]) - F
                lower = shape.energy(state[2]) - float(F @ ahead) <= energy + 1e-4 * share * slope
                # Near the end the energy is flat to rounding and the force left is the better judge.
                flat = abs(share * slope) <= ROUNDING * max(stored, abs(energy))
                if lower or (flat and np.abs(left).max() < np.abs(gradient).max()):
                    moved = True
                    break
                share *= 0.5
            if not moved:
                status = Status.STALLED
                break
            U, (direction, length, t), gradient = ahead, state, left
            residual = float(np.abs(gradient).max(initial=0.0)) / force_scale(F, t, truss.prestress)
        if residual <= self.tol:
            status = Status.SOLVED
        found = Equilibrium(
            truss=truss,
            model="large",
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
        remark = "Try smaller load steps: pass the displacements of a lower factor as guess."
        return found.checked(remark) if check else found


def _require_balance(truss: Truss, loads: Array) -> None:
    """Refuse loads that push the whole along an axis on which nothing is held."""
    floats = ~truss.is_blocked.any(axis=0)
    total = np.where(floats, loads.sum(axis=0), 0.0)
    axis = int(np.argmax(np.abs(total)))
    if abs(total[axis]) <= UNBALANCED * np.abs(loads).sum():
        return
    motion = np.zeros(truss.nodes.shape)
    motion[:, axis] = np.sign(total[axis])
    raise Unstable(
        f"nothing holds the structure along {'xyz'[axis]}, and its loads add up to {total[axis]:.4g} N: it "
        "would move away for ever. Add supports, or loads that balance each other",
        truss,
        motion,
    )


def _descent(
    K: sparse.csc_array, gradient: Array, last: float, top: float, order: Indices | None
) -> tuple[Array, float]:
    """Newton direction of the tangent, shifted until it is definite, and the shift (for the next step)."""
    shift = 0.1 * last if last > FIRST_SHIFT * top else 0.0
    while True:
        try:
            shifted = K if shift == 0.0 else K + shift * sparse.eye_array(K.shape[0])
            return -factorise(sparse.csr_array(shifted), order).solve(gradient), shift
        except ProblemError:
            shift = max(10.0 * shift, FIRST_SHIFT * top)


def settle(
    truss: Truss, rest_lengths: Array | None = None, method: LargeDisplacements | None = None
) -> Truss:
    """The structure in the shape it takes without loads under its rest lengths, in balance there.

    Examples
    --------
    >>> from clapas.bodies.trusses.generators import kite
    >>> moved = kite().with_(nodes=kite().nodes + [[0, 0], [0.01, 0], [0, 0], [0, 0]])
    >>> settle(moved).imbalance() < 1e-6
    True
    """
    found = (method or LargeDisplacements()).solve(truss, rest_lengths=rest_lengths)
    return truss.with_(nodes=found.shape, prestress=found.forces)
