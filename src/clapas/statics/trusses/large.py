"""Large displacements: members with rest lengths in the deformed shape, cables that go slack, damped Newton
steps.

    t = E A (l − l⁰)/l⁰  in bars,  the positive part of it in cables;    Σ ½ t² l⁰/(E A) − F·u  is made
    stationary

with the lengths l of the moved shape. The tangent has a material and a geometric part; it may be indefinite
on the way, and is then shifted until it is definite, so that every step reduces the energy. Where forces
balance but the tangent is indefinite still, as in a straight column under more than its critical load, the
shape is pushed along a motion that releases energy: the result is a stable equilibrium. Unstable branches and
snap-through need :class:`~clapas.statics.trusses.arc_length.ArcLength`.

A mechanism turns far before it bears its load. Newton steps go straight where its nodes go round, and are
halved until stiff members hardly stretch: a bar turns by some √(load/EA) in a step, too little for steel
under a light load. Where steps run out they begin anew with members so soft that few are needed, which then
become stiffer until they are what they are. What is found is judged as ever, with the true stiffness.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from clapas.bodies.trusses.assembly import Assembly
from clapas.bodies.trusses.kinematics import rigid_motions
from clapas.bodies.trusses.stability import Unstable
from clapas.bodies.trusses.structure import Truss
from clapas.linalg.saddles import ROUNDING, buckling_motion, definite_factor, pushed
from clapas.statics.settings import check_loop
from clapas.statics.trusses.equilibrium import Equilibrium, case_loads, force_scale
from clapas.status import Status
from clapas.typing import Array

HALVINGS = 40
FIRST_SHIFT = 1e-9  # relative to the largest stiffness
NEUTRAL = 1e-12  # negative stiffness that counts as none, relative to the largest of a member
SOFT = 1e4  # axial stiffness over load at which a bar turns into its load in some twenty steps
ROUGHLY = 1e-6  # residual of softened structures
STIFFER = 100.0  # from one softened structure to the next
EPSILON = float(np.finfo(float).eps)
ROUNDED = 10.0  # rounding error of a residual, in units of its own
UNBALANCED = 1e-9  # sum of the loads, relative to the sum of their sizes


class Shape:
    """Forces, energy and tangent of a structure in any shape; the rest lengths are those of its prestress.

    All members have a ``share`` of their stiffness.
    """

    def __init__(self, truss: Truss, rest_lengths: Array | None = None, share: float = 1.0) -> None:
        self.truss = truss
        self.rest = truss.rest_lengths if rest_lengths is None else rest_lengths
        self.stiffness = share * truss.axial_stiffness / self.rest
        # Elongation in the given shape: from the prestress, exactly, rather than from a difference of
        # lengths.
        prestrain = truss.prestress * self.rest / truss.axial_stiffness
        self._first = prestrain if rest_lengths is None else truss.lengths - self.rest

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
        # l − L = (l² − L²)/(l + L): no cancellation when displacements are small.
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
        Newton steps, of the structure and of each softened one.

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

        A structure without supports is not turned about to find it: its loads count as turning with it.

        Parameters
        ----------
        truss : Truss
            The structure; its self-stress must balance itself, unless rest lengths are given.
        case : str, optional
            Name of the load case; no load by default.
        factor : float
            Multiplies the loads.
        rest_lengths : array (m,), optional
            Other rest lengths than those of the prestress (m): actuators, tensioning, errors of length. The
            shape then moves without loads, too.
        guess : array (n × d), optional
            Displacements to start from.
        check : bool
            Raise NotSolved unless the residual reached the tolerance.
        """
        if rest_lengths is None:
            truss.check_balance()
        return self._equilibrium(truss, case, factor, rest_lengths, guess, check)

    def _equilibrium(
        self,
        truss: Truss,
        case: str | None,
        factor: float,
        rest_lengths: Array | None,
        guess: Array | None,
        check: bool,
    ) -> Equilibrium:
        """Equilibrium from any shape, balanced or not."""
        began = time.perf_counter()
        loads = case_loads(truss, case, factor)
        _require_supports(truss, loads)
        start = np.zeros(truss.nodes.shape) if guess is None else np.asarray(guess, dtype=np.float64)
        descent = Descent(Shape(truss, rest_lengths), loads.ravel()[truss.free], start.ravel()[truss.free])
        status = self._descend(descent)
        if not status.is_solved:
            descent, status = self._from_softer(descent, status, rest_lengths, start.ravel()[truss.free])
        state = Equilibrium(
            truss=truss,
            model="large",
            case=case or "",
            loads=loads,
            displacements=truss.displacements(descent.U),
            forces=descent.t,
            status=status,
            residual=descent.residual,
            tol=self.tol,
            iterations=descent.iterations,
            time=time.perf_counter() - began,
            remark="" if status.is_solved else descent.advice,
        )
        return state.checked() if check else state

    def _descend(self, descent: Descent) -> Status:
        """Steps until forces balance and no motion releases energy."""
        while True:
            balanced = descent.residual <= self.tol
            if balanced and not descent.is_unstable():
                return Status.SOLVED
            if descent.iterations >= self.max_iterations:
                return Status.MAX_ITERATIONS
            if not (descent.buckle() if balanced else descent.advance()):
                return Status.STALLED

    def _from_softer(
        self, descent: Descent, status: Status, rest_lengths: Array | None, start: Array
    ) -> tuple[Descent, Status]:
        """The descent from the shapes of softened structures, or the one before where it is no better."""
        truss, F = descent.shape.truss, descent.F
        load = max(float(np.abs(F).max(initial=0.0)), float(np.abs(truss.prestress).max(initial=0.0)))
        share = SOFT * load / float(truss.axial_stiffness.max())
        if not 0.0 < share < 1.0:
            return descent, status
        roughly, U, spent = replace(self, tol=max(self.tol, ROUGHLY)), start, descent.iterations
        while share < 1.0:
            softer = Descent(Shape(truss, rest_lengths, share), F, U)
            if not roughly._descend(softer).is_solved:
                return descent, status
            U, share, spent = softer.U, STIFFER * share, spent + softer.iterations
        again = Descent(descent.shape, F, U)
        found = self._descend(again)
        if found.is_solved or again.residual < descent.residual:
            again.iterations += spent
            return again, found
        return descent, status


class Descent:
    """Newton steps down the energy of a shape under loads F (N) on its free displacements U (m)."""

    def __init__(self, shape: Shape, F: Array, U: Array) -> None:
        self.shape, self.F = shape, F
        self._move(U)
        self.iterations, self._shift = 0, 0.0
        # The last motion along which a balanced shape was unstable, and the displacements that it leads to.
        self._motion: Array | None = None
        self._ahead: Array | None = None

    @property
    def residual(self) -> float:
        """Largest force left, relative to the largest of loads and member forces."""
        left = float(np.abs(self.gradient).max(initial=0.0))
        return left / force_scale(self.F, self.t, self.shape.truss.prestress)

    def advance(self) -> bool:
        """One step, halved until the energy falls; False if it never does."""
        shape, F = self.shape, self.F
        self.iterations += 1
        K = shape.tangent(self.direction, self.length, self.t)
        top = float(shape.stiffness.max())
        # Shifted until definite, from a tenth of the last shift: the step reduces the energy.
        shift = 0.1 * self._shift if self._shift > FIRST_SHIFT * top else 0.0
        factor, self._shift = definite_factor(K, shift, FIRST_SHIFT * top, shape.assembly.order)
        step = -factor.solve(self.gradient)
        stored, slope = shape.energy(self.t), float(self.gradient @ step)
        energy, share = stored - float(F @ self.U), 1.0
        for _ in range(HALVINGS):
            ahead = self.U + share * step
            direction, _, t = shape.forces(ahead)
            gradient = shape.pull(direction, t) - F
            lower = shape.energy(t) - float(F @ ahead) <= energy + 1e-4 * share * slope
            # Near the end the energy is constant up to rounding: compare residual forces instead.
            flat = abs(share * slope) <= ROUNDING * max(stored, abs(energy))
            if lower or (flat and np.abs(gradient).max() < np.abs(self.gradient).max()):
                self._move(ahead)
                return True
            share *= 0.5
        return False

    def is_unstable(self) -> bool:
        """Whether a motion releases energy from the present, balanced shape, more than rounding shows."""
        shape = self.shape
        K = shape.tangent(self.direction, self.length, self.t)
        motion = buckling_motion(
            K, NEUTRAL * float(shape.stiffness.max()), shape.assembly.order, self._rigid()
        )
        if motion is None:
            return False
        scale = max(shape.energy(self.t), abs(self._energy(self.U)))
        farthest = float(np.ptp(shape.truss.nodes, axis=0).max())
        stiffness = float(motion @ (K @ motion))
        self._motion = motion
        self._ahead = pushed(self._energy, self.U, motion, stiffness, scale, farthest)
        return self._ahead is not None

    def buckle(self) -> bool:
        """Move out of an unstable shape, along the motion that was found."""
        assert self._ahead is not None
        self.iterations += 1
        self._move(self._ahead)
        return True

    @property
    def advice(self) -> str:
        """What to try where no equilibrium was found."""
        truss = self.shape.truss
        if self.residual <= ROUNDED * self._rounding:
            return (
                f"This is what rounding leaves: displacements of {np.abs(self.U).max():.3g} m are exact to "
                f"{EPSILON:.1e} of themselves, and members are stiff for such a small load. Ask for no less "
                f"than tol={10.0 ** np.ceil(np.log10(2.0 * self.residual)):.0e}"
            )
        smaller = "Try smaller load steps: pass the displacements of a lower factor as guess."
        if self._motion is None:
            return smaller
        node = int(np.argmax(np.linalg.norm(truss.displacements(self._motion), axis=1)))
        return (
            f"Forces balance in a shape that is unstable: it buckles, node {truss.label(node)} most, and no "
            "stable one was reached from there. The load is beyond the critical one, or acts on a mechanism. "
            + smaller
        )

    @property
    def _rounding(self) -> float:
        """The residual that rounding of the displacements leaves."""
        error = EPSILON * float(np.abs(self.U).max(initial=0.0)) * float(self.shape.stiffness.max())
        return error / force_scale(self.F, self.t, self.shape.truss.prestress)

    def _energy(self, U: Array) -> float:
        return self.shape.energy(self.shape.forces(U)[2]) - float(self.F @ U)

    def _rigid(self) -> Array | None:
        """Orthonormal rigid motions of a structure without supports; none of one with supports."""
        truss = self.shape.truss
        if truss.is_blocked.any():
            return None
        return np.linalg.qr(rigid_motions(truss, truss.nodes + truss.displacements(self.U)))[0]

    def _move(self, U: Array) -> None:
        self.U = U
        self.direction, self.length, self.t = self.shape.forces(U)
        self.gradient = self.shape.pull(self.direction, self.t) - self.F


def _require_supports(truss: Truss, loads: Array) -> None:
    """Reject a net load along an axis without supports."""
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


def settle(
    truss: Truss, rest_lengths: Array | None = None, method: LargeDisplacements | None = None
) -> Truss:
    """The structure in the shape it takes without loads under its rest lengths, in balance there.

    For a prestress that is out of balance, which both models reject: the displacements would mix settling
    and loads.

    Examples
    --------
    >>> from clapas.bodies.trusses.generators import kite
    >>> moved = kite().with_(nodes=kite().nodes + [[0, 0], [0.01, 0], [0, 0], [0, 0]])
    >>> settle(moved).imbalance() < 1e-6
    True
    """
    state = (method or LargeDisplacements())._equilibrium(truss, None, 1.0, rest_lengths, None, True)
    return truss.with_(nodes=state.shape, prestress=state.forces)
