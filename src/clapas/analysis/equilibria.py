"""The set of contact forces in equilibrium with given loads.

For bodies at rest under the loads −f the forces at the contacts obey

    Hᵀ r = f,     r + C e_N ∈ K,

with C the cohesion of each contact and K its cone: |r_T| ≤ mu r_N, and where contacts resist rolling and
spinning also |couple across the normal| ≤ rolling r_N and |couple along it| ≤ spinning r_N, one condition
for each. This is a convex set, usually much more than one point. The largest and the smallest value of one
force over it, and the largest load it can bear, are linear programs in 2-D (the cones are polyhedra) and
second-order cone programs in 3-D. This is static limit analysis: without such forces the bodies move.
With them they *may* stay at rest: as sliding by Coulomb's law is not normal to the cone, they may also
slip.

Every result is checked against the equations before it is returned. Just above a limit an interior-point
method may fail; then other programs decide (see :mod:`clapas.analysis.programs`).

References: Moreau 2003, section 8; Livesley 1978; Drucker 1954 (why friction breaks the theorems of limit
analysis).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from clapas.analysis.programs import ConeProgram, Discs
from clapas.convex.rolling import DISCS
from clapas.convex.threshold import Thresholds
from clapas.errors import SettingsError
from clapas.problems.contact import ContactProblem
from clapas.problems.rolling import RollingProblem
from clapas.typing import Array

if TYPE_CHECKING:
    from clapas.dynamics.model import Model
    from clapas.dynamics.state import State
    from clapas.geometry.colliders import Contacts
    from clapas.scenes.scene import Scene


@dataclass(frozen=True)
class Equilibria:
    """The set {r : Hᵀ r = f, r + C e_N ∈ K}.

    Parameters
    ----------
    H : matrix (k·n × m)
        Contact Jacobian. The k components of a contact are normal and tangents, d of them; with ``couples``
        then the rotation in the plane, or spin and two components of rolling in space.
    f : array (m,)
        Minus the loads on the bodies (N, N·m).
    mu : array (n,)
        Coefficients of friction.
    cohesion : array (n,), optional
        Traction C that each contact resists (N); by default 0.
    limits : array (n, k − 1), optional
        Largest value of each component beside the normal one per unit of r_N + C: friction along each
        tangent, then lengths of spinning and rolling resistance (m). By default mu along all tangents.
    couples : bool
        Whether rows of H are those of contacts that resist rolling; then ``limits`` are needed.

    Examples
    --------
    A particle of 10 N in a groove at 45° with mu = 0.5: range of the normal force of a face.

    >>> c = np.sqrt(0.5)
    >>> H = np.array([[c, c], [c, -c], [-c, c], [-c, -c]])
    >>> held = Equilibria(H, np.array([0.0, 10.0]), np.full(2, 0.5))
    >>> [round(bound, 3) for bound in held.range(0)]
    [2.828, 14.142]
    """

    H: Array | sparse.csr_array
    f: Array
    mu: Array
    cohesion: Array | None = None
    limits: Array | None = None
    couples: bool = False

    def __post_init__(self) -> None:
        n, rows = self.n_contacts, self.H.shape[0]
        if (n == 0) != (rows == 0) or (n and rows % n) or self.H.shape[1] != len(self.f):
            raise SettingsError(
                f"H must have the same number of rows for each of {n} contacts and {len(self.f)} columns, "
                f"got {rows} × {self.H.shape[1]}"
            )
        if n and self.size not in ((3, 6) if self.couples else (2, 3)):
            raise SettingsError(f"a contact has 2 or 3 components, 3 or 6 with couples, got {self.size}")
        if self.couples and n and (self.limits is None or self.limits.shape != (n, self.size - 1)):
            raise SettingsError(f"couples need limits of shape ({n}, {self.size - 1})")

    @staticmethod
    def of_problem(problem: ContactProblem) -> Equilibria:
        """Equilibria of a contact problem in global form, as impulses over its step.

        For :func:`at_rest` they are forces (N) and couples (N·m), with cohesion and the scaling of elliptic
        friction and couples removed; for any other problem they are in the units of its unknown.
        """
        couples = isinstance(problem, RollingProblem)
        limits = np.ones((problem.n_contacts, problem.d - 1))
        limits[:, : _tangents(problem.d, couples)] = problem.mu[:, None]
        if not isinstance(problem, ProblemAtRest | RollingProblemAtRest):
            return Equilibria(problem.H, problem.f, problem.mu, limits=limits, couples=couples)
        scale = np.broadcast_to(problem.scale, (problem.n_contacts, problem.d))
        weight = np.divide(
            1.0, scale, out=np.zeros(scale.shape), where=scale > 0.0
        )  # a length of zero: no row
        H = sparse.csr_array(sparse.diags_array(weight.ravel()) @ sparse.csr_array(problem.H))
        pull = np.zeros((problem.n_contacts, problem.d))
        pull[:, 0] = problem.cohesion
        return Equilibria(
            H, problem.f - H.T @ pull.ravel(), problem.mu, problem.cohesion, limits * scale[:, 1:], couples
        )

    @property
    def n_contacts(self) -> int:
        """Number of contacts n."""
        return len(self.mu)

    @property
    def size(self) -> int:
        """Components k of a contact; without contacts those of the limits, or 2."""
        if self.n_contacts:
            return int(self.H.shape[0] // self.n_contacts)
        return 2 if self.limits is None else self.limits.shape[1] + 1

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return _tangents(self.size, self.couples) + 1

    def one(self) -> Array | None:
        """An equilibrium (n, k), or None if there is none."""
        return self._least(np.zeros((self.n_contacts, self.size)))[0]

    def range(self, contact: int, component: int = 0) -> tuple[float, float]:
        """Smallest and largest value of one component of one force; ±inf where it is unbounded."""
        if not (0 <= contact < self.n_contacts and 0 <= component < self.size):
            raise SettingsError(
                f"there is no component {component} of contact {contact}: there are {self.n_contacts} "
                f"contacts of {self.size} components, both counted from 0"
            )
        goal = np.zeros((self.n_contacts, self.size))
        goal[contact, component] = 1.0
        if self.one() is None:
            raise SettingsError("there is no equilibrium: no force has a range")
        low, high = self._least(goal)[1], -self._least(-goal)[1]
        return low, max(low, high)  # where forces are unique, rounding may reverse the order

    def largest_load(self, live: npt.ArrayLike) -> float:
        """Largest factor λ ≥ 0 such that the loads −f and λ live, (m,), are in equilibrium together.

        −inf if the loads −f alone are not, inf if there is no limit.
        """
        live = np.asarray(live, dtype=float)
        # The unknown is the largest added load, a force like the others. Their factor would be as many orders
        # of magnitude from the forces as the loads are from one newton, and programs have absolute errors.
        unit = float(np.abs(live).max(initial=0.0)) or 1.0
        program = self._program(live / unit)
        goal = np.zeros(program.size)
        goal[-1] = -1.0
        return -program.least(goal)[1] / unit

    def _least(self, goal: Array) -> tuple[Array | None, float]:
        """Least goal·r over the set, and where: (None, inf) if it is empty, (None, −inf) without a bound."""
        program = self._program()
        x, value = program.least(goal.ravel() * self._units.ravel())
        if x is None:
            return None, value
        r = x.reshape(self.n_contacts, self.size) * self._units
        r[:, 0] -= self._cohesion
        return r, float(np.sum(goal * r))

    @cached_property
    def _cohesion(self) -> Array:
        return np.zeros(self.n_contacts) if self.cohesion is None else np.asarray(self.cohesion, dtype=float)

    @cached_property
    def _units(self) -> Array:
        """Force per unit of each unknown x, (n, k): K is then |x_part| ≤ x_N for each part.

        The largest is one, so that very rough contacts are as well scaled as others.
        """
        limits = np.repeat(self.mu[:, None], self.size - 1, axis=1) if self.limits is None else self.limits
        units = np.column_stack((np.ones(self.n_contacts), limits))
        return np.asarray(units / units.max(axis=1, keepdims=True))

    def _program(self, live: Array | None = None) -> ConeProgram:
        """The program in x with r = units · x − C e_N; a load factor, if any, is the last unknown."""
        H = sparse.csr_array(self.H)
        pull = np.zeros((self.n_contacts, self.size))
        pull[:, 0] = self._cohesion
        rows = sparse.csr_array(sparse.diags_array(self._units.ravel()) @ H)
        if live is not None:
            rows = sparse.csr_array(sparse.vstack((rows, sparse.csr_array(live[None, :]))))
        parts = DISCS[self.size] if self.couples else (slice(1, self.size),)
        discs = Discs(self.n_contacts, self.size, parts)
        return ConeProgram(
            sparse.csc_array(rows.T), self.f + H.T @ pull.ravel(), discs, self._units.ravel() > 0
        )


def _tangents(size: int, couples: bool) -> int:
    """Tangents of a contact with so many components."""
    return {3: 1, 6: 2}[size] if couples else size - 1


class ProblemAtRest(ContactProblem):
    """The contact problem of a scene at rest; force = ``scale`` · r − ``cohesion`` e_N.

    Parameters
    ----------
    cohesion : array (n,)
        Traction each contact resists (N).
    scale : array (n, d) or (1, d)
        See :class:`clapas.dynamics.step_problem.StepProblem`.
    """

    cohesion: Array
    scale: Array


class RollingProblemAtRest(RollingProblem):
    """The same with contacts that resist rolling or spinning."""

    cohesion: Array
    scale: Array


class Resting(NamedTuple):
    """A model at rest in some state, as input of limit analysis.

    Parameters
    ----------
    model : Model
        The bodies.
    state : State
        Their positions; velocities are ignored.
    contacts : Contacts
        Contacts between bodies that touch.
    frame : array (n, d, d)
        Normal and tangents of each, in rows.
    problem : ProblemAtRest or RollingProblemAtRest
        Their contact problem over one second: impulses are then forces (N).
    """

    model: Model
    state: State
    contacts: Contacts
    frame: Array
    problem: ProblemAtRest | RollingProblemAtRest

    @staticmethod
    def of(model: Model, state: State, margin: float) -> Resting:
        """The contact problem of a model in some state; bodies closer than ``margin`` (m) touch."""
        from clapas.dynamics.assembly import ContactsInStep
        from clapas.dynamics.freemotion import free_motion
        from clapas.dynamics.neighbours import Neighbours
        from clapas.dynamics.rigid_problem import rigid_problem

        still = replace(state, velocity=np.zeros_like(state.velocity))
        contacts = Neighbours(model).detect(still, margin)
        step = rigid_problem(ContactsInStep(model, still, contacts, 1.0), free_motion(model, still, 1.0))
        assert step.problem.blocks is not None
        if (section := step.problem.section) is not None:
            known = "limit analysis knows friction that grows with pressure, round or elliptic; got a law"
            if isinstance(section, Thresholds):
                raise SettingsError(f"{known} with a threshold or a viscosity; leave it out, or simulate")
            raise SettingsError(f"{known} with a polygonal section; leave section out, or simulate")
        kind = RollingProblemAtRest if isinstance(step.problem, RollingProblem) else ProblemAtRest
        problem = kind.from_blocks(step.problem.blocks, mu=step.problem.mu, w=step.problem.imposed)
        assert isinstance(problem, ProblemAtRest | RollingProblemAtRest)
        problem.cohesion, problem.scale = step.cohesion, step.scale
        return Resting(model, still, step.contacts, step.frame, problem)


def at_rest(scene: Scene, margin: float = 1e-9) -> ProblemAtRest | RollingProblemAtRest:
    """The contact problem of a scene in its initial positions, over one second: impulses are then forces (N).

    Parameters
    ----------
    scene : Scene
        Bodies at rest.
    margin : float
        Bodies closer than this touch (m).
    """
    from clapas.dynamics.births import initial_state
    from clapas.scenes.compilation import compile_scene

    model = compile_scene(scene)
    return Resting.of(model, initial_state(model), margin).problem


def bisect(holds: Callable[[float], bool], low: float, high: float, accuracy: float) -> float:
    """Threshold between ``low``, where ``holds`` is false, and ``high``, where it is true."""
    if holds(low) or not holds(high):
        raise SettingsError(f"the limit is not between {low} and {high}")
    while high - low > accuracy:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
