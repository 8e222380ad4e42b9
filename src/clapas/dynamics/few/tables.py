"""The arrays that the kernels of a step of few bodies read and write, and a model bound to them.

A call from Python costs a tenth of a microsecond for every array, so related quantities are rows of one
array. Constant arrays are built once (:class:`FewBodies`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from clapas.compiled import bound, plain, subroutine
from clapas.dynamics.model import Model
from clapas.dynamics.reaching import default_reach
from clapas.dynamics.state import State
from clapas.geometry.colliders import Contacts, zeros_without_room
from clapas.typing import Array, Indices, Mask


class Rigid(NamedTuple):
    """Constant data of the N bodies; see the properties of :class:`Model`.

    Parameters
    ----------
    flags : array (2, N) of bool
        ``movable`` and ``gyrates_freely``.
    number : array (N,)
        Number of each movable body among the movable ones; their count for the others.
    diagonals : array (3, N, size)
        ``masses``, ``mass_root`` and ``inverse_root``.
    inertia : array (N, 3), or (N, 1)
        Moments of inertia (kg·m²).
    """

    flags: Mask
    number: Indices
    diagonals: Array
    inertia: Array

    @staticmethod
    def of(model: Model) -> Rigid:
        """The arrays of a model."""
        return Rigid(
            np.stack((model.movable, model.gyrates_freely)),
            model.number,
            np.stack((model.masses, model.mass_root, model.inverse_root)),
            np.ascontiguousarray(model.inertia),
        )


class Laws(NamedTuple):
    """Laws of contacts that only slide.

    Parameters
    ----------
    material : array (n_colliders,)
        Material of each collider.
    tables : array (3, m, m)
        Friction, normal and tangential restitution by pairs of materials.
    has_restitution : bool
        Whether any of the last two is not zero.
    """

    material: Indices
    tables: Array
    has_restitution: bool

    @staticmethod
    def of(model: Model) -> Laws:
        """The laws of a model with isotropic sliding friction only."""
        laws = model.laws
        tables = np.stack((laws.mu, laws.restitution, laws.tangential_restitution))
        return Laws(model.colliders.material, tables, laws.has_restitution)


class Placed(NamedTuple):
    """Positions, orientations and velocities of the bodies (see :class:`clapas.dynamics.state.State`)."""

    position: Array
    orientation: Array
    velocity: Array

    @staticmethod
    def blank(like: Placed) -> Placed:
        """Uninitialised arrays of the same shapes."""
        x, q, v = like
        return Placed(np.empty(x.shape), np.empty(q.shape), np.empty(v.shape))

    def state(self, before: State) -> State:
        """The state ``before`` with these positions, orientations and velocities."""
        return replace(before, **self._asdict())


class ContactArrays(NamedTuple):
    """Contacts (see :class:`clapas.geometry.colliders.Contacts`).

    ``identity`` (3, n) are a, b and feature, ``colliders`` (2, n) those of a and of b.
    """

    identity: Indices
    colliders: Indices
    point: Array
    normal: Array
    gap: Array

    @staticmethod
    def of(contacts: Contacts) -> ContactArrays:
        """The arrays of some contacts."""
        c = contacts
        identity, colliders = np.stack((c.a, c.b, c.feature)), np.stack((c.collider_a, c.collider_b))
        return ContactArrays(identity, colliders, c.point, c.normal, c.gap)

    def take(self, rows: Indices) -> ContactArrays:
        """Some of the contacts, in the given order."""
        columns = np.ascontiguousarray(self.identity[:, rows]), np.ascontiguousarray(self.colliders[:, rows])
        return ContactArrays(*columns, self.point[rows], self.normal[rows], self.gap[rows])

    def as_contacts(self) -> Contacts:
        """The contacts of the arrays."""
        a, b, feature = self.identity
        return Contacts(a, b, *self.colliders, feature, self.point, self.normal, self.gap)  # type: ignore[call-arg]


class CarriedImpulses(NamedTuple):
    """Impulses of the last step (:class:`clapas.dynamics.state.Impulses`), and the ratio of time steps."""

    a: Indices
    b: Indices
    feature: Indices
    impulse: Array
    ratio: float


class Posed(NamedTuple):
    """The contact problem of a step.

    Parameters
    ----------
    G, bodies, y_free
        See :class:`clapas.problems.blocks.BodyBlocks`.
    frame : array (n, d, d)
        Normals and tangents.
    wall, w : arrays (n, d)
        Velocities of walls at the contacts, and all imposed velocities (m/s).
    mu, response : arrays (n,)
        Friction, and mean diagonals of W_ii.
    apart : array (n,) of bool
        Contacts that do not touch.
    """

    G: Array
    bodies: Indices
    y_free: Array
    frame: Array
    wall: Array
    w: Array
    mu: Array
    response: Array
    apart: Mask


@subroutine
def blank_problem(n: int, d: int, n_movable: int, size: int) -> Posed:
    """Arrays for a problem of n contacts; blocks and the velocities of the ground are zero."""
    return Posed(
        np.zeros((n, 2, d, size)),
        np.empty((n, 2), dtype=np.int64),
        np.zeros((n_movable + 1, size)),
        np.empty((n, d, d)),
        np.zeros((n, d)),
        np.empty((n, d)),
        np.empty(n),
        np.empty(n),
        np.empty(n, dtype=np.bool_),
    )


class Sizes(NamedTuple):
    """Numbers known at compile time, as lengths of tuples: components of a contact and of a body."""

    components: tuple[int, ...]
    body: tuple[int, ...]


class BoundModel:
    """Constant arrays of a model, and the machine code of kernels for them.

    Parameters
    ----------
    model : Model
        All its bodies are born.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.sizes = Sizes((0,) * model.d, (0,) * model.velocity.shape[1])
        self.no_lead = np.empty((0, model.d))
        self.last: State | None = None  # the state at the end of the last step
        self._of_dt = -1.0, np.empty(0), 0.0
        self._no_couples = zeros_without_room((0, 1))
        self._gravity = model.acceleration
        self._entries: dict[Any, Callable[..., Any]] = {}

    def __reduce__(self) -> tuple[type[BoundModel], tuple[Model]]:
        return type(self), (self.model,)  # machine code cannot be pickled

    def call(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        """Call a kernel; its arguments always have the same types (see :func:`clapas.compiled.bound`)."""
        entry = self._entries.get(kernel)
        if entry is None:
            entry = self._entries[kernel] = bound(kernel, *arguments)
        return entry(*arguments)

    def gain_and_reach(self, dt: float) -> tuple[Array, float]:
        """Change of velocity by gravity in a step (m/s), and the default reach (m)."""
        if dt != self._of_dt[0]:
            self._of_dt = dt, dt * self.model.gravity, default_reach(self.model, dt)
        return self._of_dt[1:]

    def speed_gained(self, dt: float) -> float:
        """Speed that gravity gives in a step (m/s)."""
        return dt * self._gravity

    def no_couples(self, n: int) -> Array:
        """Zero couples of n contacts."""
        if len(self._no_couples) != n:
            self._no_couples = zeros_without_room((n, 3 if self.model.d == 3 else 1))
        return self._no_couples

    @cached_property
    def _still(self) -> Array:
        return np.zeros(self.model.velocity.shape)

    def imposed(self, time: float) -> Array:
        """Velocities (N, size) of walls at a time."""
        if not self.model.motions:
            return self._still
        velocity = self._still.copy()
        for body in self.model.motions:
            velocity[body] = self.model.driven(body, velocity[body], time)
        return velocity


def has_plain_contacts(model: Model) -> bool:
    """Whether contacts have only isotropic sliding friction, without periods: the laws of these kernels."""
    laws = model.laws
    is_plain = not (laws.has_couples or laws.is_elliptic or laws.has_sections or laws.cohesion.any())
    is_plain &= not laws.has_thresholds
    return is_plain and all(length is None for length in model.period)


MOST = 256
"""Most movable bodies for which all steps are done here. Beyond, only steps of bodies at rest are: where the
solver is needed, the Python code between the kernels costs little."""


class FewBodies(BoundModel):
    """The arrays of a model, and whether its steps can be done by the kernels of few bodies.

    Parameters
    ----------
    model : Model
        All its bodies are born.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.is_supported = is_supported(model)
        self.are_few = are_few(model)
        if self.is_supported:
            self.rigid, self.laws = Rigid.of(model), Laws.of(model)
            self.no_spin_change = np.zeros((model.n_bodies, 3))

    def arrays_of(self, state: State, dt: float) -> tuple[Placed, CarriedImpulses]:
        """Arrays of a state and its impulses, for a step of length dt, of the types of the bound kernels."""
        ratio, old, last = float(dt / state.dt) if state.dt else 1.0, state.impulses, self.last
        placed = Placed(state.position, state.orientation, state.velocity)
        carried = CarriedImpulses(old.a, old.b, old.feature, old.impulse, ratio)
        if (
            last is not None
            and last.position is state.position
            and last.orientation is state.orientation
            and last.velocity is state.velocity
            and last.impulses is old
        ):
            return placed, carried  # arrays of the last step: their types are right
        a, b, feature = (plain(column, np.int64) for column in carried[:3])
        carried = CarriedImpulses(a, b, feature, plain(old.impulse, float), ratio)
        return Placed(*(plain(column, float) for column in placed)), carried


def are_few(model: Model) -> bool:
    """Whether the movable bodies are few enough for every step to be done here."""
    return int(model.movable.sum()) <= MOST


def is_supported(model: Model) -> bool:
    """Whether the kernels cover all features of a model: rigid bodies that slide, loads on them, and walls.

    Many spheres have a form of their own (:mod:`clapas.problems.sphere_blocks`).

    Cohesion is left to the general step because it changes the unknown of the problem, guides because their
    bodies are walls along some axes: both would complicate every kernel from ``pose`` on, for few scenes.
    """
    is_rigid = not model.systems and model.joints is None and model.blocked is None
    fits = model.ignored is None and (are_few(model) or not model.has_spheres)
    return has_plain_contacts(model) and is_rigid and fits
