"""Equilibrium of solids in contact: loading stages, increments and states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from clapas.bodies.elastic.contact import ContactDefinition, ContactRows, Placed
from clapas.bodies.elastic.materials import History
from clapas.bodies.elastic.rotation import CellRotations, too_far
from clapas.bodies.elastic.solid import Solid
from clapas.bodies.elastic.supports import Held, Support, hold, refuse_rigid_motions, unsupported
from clapas.errors import Error, SceneError, warn
from clapas.geometry import checks
from clapas.status import Status
from clapas.typing import Array, Indices

OVERLAP = 1e-9  # of the size of the solid: rounding of coordinates


@dataclass(frozen=True, kw_only=True, eq=False)
class ElasticContact:
    """A stage of loading: the supports, loads and contacts that a solid is to reach.

    From a state, loads, imposed displacements and obstacles change proportionally to the values of the
    stage. A second stage (pull after pressing) is another object, started from the state of the first.

        F_int(u) = f + Hᵀ r,        0 ≤ g(u) ⟂ r_N ≥ 0,        Coulomb's law between Δu_T and r_T

    r are forces (N); gaps are total, slips Δu_T are counted from the last equilibrium.

    Parameters
    ----------
    solid : Solid
        Deformable bodies, one mesh.
    supports : sequence of Support
        Held and imposed displacements.
    load : array (n_dof,), optional
        Forces at the end of the stage (N).
    contacts : sequence of RigidContact or SurfaceContact
        Contact definitions.
    allow_overlap : bool
        Accept surfaces that overlap at the start (a press fit); by default that is an error.

    Examples
    --------
    A block of 1 m pressed by 0.1 Pa on a floor without friction (E = 1 Pa, ν = 0): it shortens by 0.1 m.

    >>> from clapas.bodies.elastic.contact import RigidContact
    >>> from clapas.bodies.elastic.generators import block
    >>> from clapas.bodies.elastic.materials import Elastic
    >>> from clapas.bodies.elastic.obstacles import Obstacle
    >>> from clapas.geometry.shapes import HalfPlane
    >>> from clapas.statics.elastic.newton import OneLoopNewton
    >>> solid = Solid(mesh=block((1.0, 1.0), (2, 2)), material=Elastic(young=1.0))
    >>> stage = ElasticContact(
    ...     solid=solid,
    ...     supports=[Support("left", "x")],
    ...     load=solid.pressure("top", 0.1),
    ...     contacts=[RigidContact(surface="bottom", obstacle=Obstacle(HalfPlane()))],
    ... )
    >>> state = OneLoopNewton().solve(stage)
    >>> state.u.reshape(-1, 2)[solid.mesh.group("top"), 1].round(9)
    array([-0.1, -0.1, -0.1])
    """

    solid: Solid
    supports: Sequence[Support] = ()
    load: Array | None = None
    contacts: Sequence[ContactDefinition] = ()
    allow_overlap: bool = False

    def __post_init__(self) -> None:
        if self.load is not None and np.shape(self.load) != (self.solid.n_dof,):
            raise SceneError(f"load must be ({self.solid.n_dof},), got shape {np.shape(self.load)}")
        if self.load is not None and not np.isfinite(self.load).all():
            raise SceneError("load must be finite")
        for contact in self.contacts:
            if contact.motion is not None:
                checks.vector("obstacle", "motion", contact.motion, self.solid.d)
        _ = self.held

    @cached_property
    def held(self) -> Held:
        """The supports as constrained displacements."""
        return hold(self.solid, self.supports)

    def start(self) -> State:
        """The undeformed solid, without loads."""
        n = self.solid.n_dof
        return State(
            u=np.zeros(n),
            forces=None,
            history=self.solid.start(),
            load=np.zeros(n),
            shifts=np.zeros((len(self.contacts), self.solid.d)),
        )

    def toward(self, state: State, share: float, reached: float = 0.0) -> Increment:
        """The increment to the fraction ``share`` of this stage from a state at the fraction ``reached``."""
        if len(state.shifts) != len(self.contacts):
            raise SceneError(
                f"the state has {len(state.shifts)} contact definitions, the stage {len(self.contacts)}: "
                "stages of one history must keep them, in order"
            )
        target = np.zeros(self.solid.n_dof) if self.load is None else np.asarray(self.load, dtype=float)
        part = (share - reached) / (1.0 - reached)  # of the remaining part
        return Increment(
            stage=self,
            state=state,
            advance=share - reached,
            load=(1.0 - part) * state.load + part * target,
            values=(1.0 - part) * state.u[self.held.dofs] + part * self.held.values,
            placed=self._placed(state, share - reached),
        )

    @cached_property
    def free_motions(self) -> dict[str, Array]:
        """Rigid motions that the supports leave to the contacts, by name: displacements (n_nodes, d).

        As fields of :func:`~clapas.bodies.elastic.write_mesh` they are drawn on the mesh. The largest
        displacement of each is a tenth of the solid.

        Examples
        --------
        >>> from clapas.bodies.elastic import Elastic, block
        >>> solid = Solid(mesh=block((1.0, 1.0), (2, 2)), material=Elastic(young=1.0))
        >>> list(ElasticContact(solid=solid, supports=[Support("left", "x")]).free_motions)
        ['translation along y']
        """
        motions, words = unsupported(self.solid, self.held)
        nodal = motions.T.reshape(-1, self.solid.mesh.n_nodes, self.solid.d)
        size = 0.1 * float(np.ptp(self.solid.mesh.nodes, axis=0).max())
        by_name: dict[str, Array] = {}
        for word, motion in zip(words, nodal, strict=True):
            name = word if word not in by_name else f"{word} ({len(by_name) + 1})"
            largest = motion.ravel()[np.argmax(np.abs(motion))]  # sign convention: positive
            by_name[name] = motion * np.sign(largest) * size / np.linalg.norm(motion, axis=1).max()
        return by_name

    @cached_property
    def _rotations(self) -> CellRotations:
        return CellRotations(self.solid)

    def tell_of_rotations(self, before: State, after: State) -> None:
        """Warn once when a cell of small strain rotates too far."""
        angle = self._rotations.too_large(after.u)
        if angle and not self._rotations.too_large(before.u):
            warn(too_far(angle))

    def check_start(self, state: State) -> None:
        """Raise SceneError if surfaces overlap at the start, or nothing can hold the solid."""
        if not self.contacts:
            refuse_rigid_motions(self.solid, self.held)
        if self.allow_overlap:
            return
        size = float(np.ptp(self.solid.mesh.nodes, axis=0).max())
        for number, placed in enumerate(self._placed(state, 0.0)):
            rows = placed.rows(state.u)
            worst = int(np.argmin(rows.gap)) if len(rows.gap) else 0
            if len(rows.gap) and rows.gap[worst] < -OVERLAP * size:
                raise SceneError(
                    f"contact {number}: node {placed.nodes[worst]} is {-rows.gap[worst]:.3e} m inside at the "
                    "start. Move the obstacle or the mesh, or ask for a press fit with allow_overlap=True"
                )

    def _placed(self, state: State, advance: float) -> tuple[Placed, ...]:
        placed = []
        for contact, shift in zip(self.contacts, state.shifts, strict=True):
            motion = np.zeros(self.solid.d) if contact.motion is None else np.asarray(contact.motion, float)
            placed.append(contact.place(self.solid, state.u, shift, advance * motion))
        return tuple(placed)


@dataclass(frozen=True, kw_only=True, eq=False)
class State:
    """An equilibrium, or the start: the data for the next increment.

    Parameters
    ----------
    u : array (n_dof,)
        Displacements (m).
    forces : array (n, d) or None
        Contact forces on the nodes in the world (N), a guess for the next increment.
    history : tuple of History
        Internal variables of the materials.
    load : array (n_dof,)
        Forces applied (N).
    shifts : array (contacts, d)
        Displacement of each obstacle (m).
    r, gap : arrays (n, d) and (n,)
        Contact forces along (normal, tangents), and gaps.
    status, residual, iterations, cuts
        Report of Newton's method; ``cuts`` counts reductions of ρ on cycles.
    orders : tuple of int
        Orders of the cycles found.
    """

    u: Array
    forces: Array | None
    history: tuple[History, ...]
    load: Array
    shifts: Array
    r: Array = field(default_factory=lambda: np.empty((0, 2)))
    gap: Array = field(default_factory=lambda: np.empty(0))
    nodes: Indices = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    status: Status = Status.SOLVED
    residual: float = 0.0
    iterations: int = 0
    cuts: int = 0
    orders: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Increment:
    """A step from one equilibrium to the next: its loads, imposed displacements and placed contacts.

    Obstacles move by the share ``advance`` of their motion.
    """

    stage: ElasticContact
    state: State
    advance: float
    load: Array
    values: Array
    placed: tuple[Placed, ...]

    def rows(self, u: Array) -> ContactRows:
        """The contacts of all definitions at displacement u, one after another."""
        d = self.stage.solid.d
        parts = [placed.rows(u) for placed in self.placed]
        if not parts:
            zero = np.empty((0, 0), dtype=np.int64)
            return ContactRows(zero, np.empty((0, d, 0)), np.empty(0), np.empty((0, d - 1)))
        if len(parts) == 1:
            return parts[0]
        width = max(part.dofs.shape[1] for part in parts)
        dofs, blocks, bends = [], [], []
        for part in parts:
            n, m = part.dofs.shape
            # A narrower contact repeats its first displacement with coefficient zero.
            extra = np.repeat(part.dofs[:, :1], width - m, axis=1)
            dofs.append(np.concatenate((part.dofs, extra), axis=1))
            blocks.append(np.concatenate((part.H, np.zeros((n, d, width - m))), axis=2))
            if part.bend is None:
                bends.append(np.zeros((n, d, width, width)))
            else:
                bends.append(np.pad(part.bend, ((0, 0), (0, 0), (0, width - m), (0, width - m))))
        curved = any(part.bend is not None for part in parts)
        return ContactRows(
            np.concatenate(dofs),
            np.concatenate(blocks),
            np.concatenate([part.gap for part in parts]),
            np.concatenate([part.slip for part in parts]),
            np.concatenate(bends) if curved else None,
            np.concatenate([part.frames for part in parts]),
        )

    @cached_property
    def mu(self) -> Array:
        """Friction of each contact, (n,)."""
        sizes = [len(placed.nodes) for placed in self.placed]
        return np.repeat([contact.mu for contact in self.stage.contacts], sizes).astype(float)

    @property
    def nodes(self) -> Indices:
        """Node of each contact."""
        parts = [placed.nodes for placed in self.placed]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    @property
    def shifts(self) -> Array:
        """Displacements of the obstacles at its end."""
        moved = self.state.shifts.copy()
        for number, contact in enumerate(self.stage.contacts):
            if contact.motion is not None:
                moved[number] += self.advance * np.asarray(contact.motion, dtype=float)
        return moved


class IncrementFailed(Error, RuntimeError):
    """An increment has no equilibrium that the method finds; the last one is in :attr:`state`."""

    def __init__(self, message: str, state: State, reached: float) -> None:
        self.state, self.reached = state, reached
        super().__init__(message)
