"""Joints during one step: constraints on the velocity at its end, stated at its middle.

The contact problem of a step is stated at its middle q_m, and so are the rows, J = ∂g/∂q at q_m, along which
joint impulses act. The velocity v⁺ belongs to the end of the step, where the pose is q⁺ = q_m ⊕ θ h v⁺ and
where it must satisfy the joints. If it satisfied them at q_m instead, a pendulum would lose the part
1 − cos φ of its speed in each step, φ the angle of a step: an error of first order. So the rows get a term b,

    J(q_m) v⁺ + b = 0,    b = J(q⁺) v⁺ + J_walls(q⁺) V − J(q_m) v⁺,

which is J(q⁺) v⁺ + J_walls(q⁺) V = 0 with the velocities V of driven bodies at the end of the step. b is
small, of the order of h, and depends weakly on v⁺: it is found by iteration, first without contacts. As
J(q_m)(v⁻ + v⁺) is then zero up to h³, joints do no work but that of driven bodies. The part of b that
contradicts redundant rows is removed, in the sense of least squares.

Coordinates are treated in the same way: their rates at the end of the step are those of the rows at q_m plus
the same kind of term, and their laws (:mod:`clapas.dynamics.joints.drives`) refer to the end.

Joints may hold bodies of other kinds (:mod:`clapas.dynamics.joints.anchors`). ``others`` are the velocities
of all systems; they are used only if there are such joints.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from clapas.bodies.links import Links
from clapas.bodies.rigid.motion import moved
from clapas.dynamics.joints.anchors import Grips, MassFactors, anchors_of
from clapas.dynamics.joints.commands import Commands, targets_of
from clapas.dynamics.joints.drives import LEAST_SHARE, CoordinateLinks, DrivesInStep
from clapas.dynamics.joints.leastmotion import LeastMotion
from clapas.dynamics.joints.rows import TURN, Placed
from clapas.dynamics.model import Model
from clapas.dynamics.state import State
from clapas.dynamics.systems import SystemsInStep
from clapas.geometry.colliders import Contacts
from clapas.problems.workspace import Workspace
from clapas.typing import Array, Mask

Others = tuple[Array, ...]  # velocities of the systems


@dataclass(frozen=True, eq=False)
class JointsInStep:
    """The joints of a model during one step.

    Parameters
    ----------
    model : Model
        The bodies.
    middle : State
        Their state at the middle of the step.
    motion : LeastMotion
        The joints there.
    drives : DrivesInStep
        Laws of their coordinates.
    theta, dt : float
        Of the scheme; the step (s).
    ahead : array (t,)
        Rates of the terms at the end of the step minus those of the rows at its middle.
    active : array (k, 2) of bool
        The limits of coordinates that are part of the problem.
    systems : SystemsInStep
        Bodies of other kinds.
    """

    model: Model
    middle: State
    motion: LeastMotion
    drives: DrivesInStep
    theta: float
    dt: float
    ahead: Array
    active: Mask
    systems: SystemsInStep

    @property
    def hold_systems(self) -> bool:
        """Whether joints hold bodies of other kinds."""
        return bool(self.motion.rows.ends)

    def beside(self, systems: SystemsInStep, kept: Workspace) -> JointsInStep:
        """The joints with the current effective masses of the systems."""
        if not self.hold_systems:
            return self
        anchors = anchors_of(self.motion.rows.ends, systems.systems, systems.parts)
        grips = Grips.on(anchors, systems.mass, kept.of(MassFactors))
        return replace(self, systems=systems, motion=replace(self.motion, grips=grips))

    @cached_property
    def b(self) -> Array:
        """The term b (j,) of the rows J v + b + E λ = 0."""
        rows = self.motion.rows
        b = rows.of_rows(self.ahead)
        b[rows.n_held :] += self.drives.soft_rows[1]
        return self.motion.consistent(b)

    @cached_property
    def push(self) -> Array | float:
        """Changes of the velocities (N, size) by torque motors; 0 without."""
        if not self.drives.push.any():
            return 0.0
        rows, placed = self.motion.rows, self.motion.placed
        changed = np.zeros((self.model.n_bodies, placed.of_a.shape[1]))
        terms = rows.n_closing + np.flatnonzero(self.drives.push)
        impulse = self.drives.push[self.drives.push != 0.0][:, None]
        for body, of in ((rows.a[terms], placed.of_a[terms]), (rows.b[terms], placed.of_b[terms])):
            rigid = body >= 0
            np.add.at(changed, body[rigid], (impulse * of)[rigid])
        return np.asarray(changed * self.model.inverse_root**2)

    @cached_property
    def free_others(self) -> Others:
        """Velocities of the systems without joints but with torque motors; none if joints hold none."""
        if not self.hold_systems:
            return ()
        if not self.drives.push.any():
            return self.systems.free
        impulse = np.zeros(len(self.motion.rows.form))
        impulse[self.motion.rows.n_closing :] = self.drives.push
        pushed = self.motion.moved_along(impulse)
        return tuple(free + change for free, change in zip(self.systems.free, pushed, strict=True))

    def multipliers(self, free: Array) -> Array:
        """Impulses λ (j,) along the rows without contact, from velocities (N, size) without joints."""
        rate = self.motion.rate(free + self.push, self.free_others)
        return self.motion.multipliers(-self.b - rate)

    def velocity(self, free: Array, multipliers: Array | None = None) -> Array:
        """Velocities (N, size) at the end of the step without contact, from those without joints."""
        impulses = self.multipliers(free) if multipliers is None else multipliers
        return np.asarray(free + self.push + self.motion.motion(impulses))

    def others(self, free: Array) -> Others:
        """Velocities of the systems at the same time; none if joints hold none."""
        if not self.hold_systems:
            return ()
        changes = self.motion.others(self.multipliers(free))
        return tuple(v + change for v, change in zip(self.free_others, changes, strict=True))

    def led_by(self, velocity: Array, others: Others = ()) -> JointsInStep:
        """The joints if the step ends with these velocities (N, size)."""
        model, rows, middle, h = self.model, self.motion.rows, self.middle, self.theta * self.dt
        poses, twists = None, None
        if self.hold_systems:
            anchors = anchors_of(rows.ends, self.systems.systems, self.systems.moved(others, h))
            poses, twists = anchors.poses, anchors.twists(others)
        end = rows.placed(*moved(middle.position, middle.orientation, velocity, h), anchors=poses)
        at_end = velocity
        if model.motions:
            at_end = velocity.copy()
            for body in model.motions:
                at_end[body] = model.driven(body, velocity[body], middle.time + self.dt)
        return replace(self, ahead=end.rate(rows, at_end, twists) - self._own_rate(velocity, others))

    def _own_rate(self, velocity: Array, others: Others) -> Array:
        """Rates (t,) of the terms at the middle, by movable bodies and systems."""
        changes, grips = np.where(self.model.inverse_root > 0.0, velocity, 0.0), self.motion.grips
        anchors = None if grips is None else grips.anchors.changes(others)
        return self.motion.placed.rate(self.motion.rows, changes, anchors)

    def change(self, other: JointsInStep) -> float:
        """Kinetic energy (J) of the motion by which b differs."""
        difference = self.b - other.b
        return 0.5 * float(difference @ self.motion.multipliers(difference))

    def rates(self, velocity: Array, others: Others = ()) -> Array:
        """Rates (k,) of the coordinates at the end of the step, from the velocities (N, size) there."""
        return np.asarray((self._own_rate(velocity, others) + self.ahead)[self.motion.rows.n_closing :])

    # ---------------------------------------------------------------- limits, friction, motors

    def watching(self, velocity: Array, others: Others = ()) -> JointsInStep:
        """The joints with the limits that may act if the step ends at about these velocities (N, size)."""
        if not self.drives.drives.has_links:
            return self
        return replace(self, active=self.active | self.drives.near(self.rates(velocity, others)))

    def passed(self, velocity: Array, others: Others = ()) -> Mask:
        """Limits (k, 2) that are not part of the problem and that these velocities (N, size) pass."""
        if not self.drives.drives.has_links:
            return np.zeros_like(self.active)
        return np.asarray(self.drives.passed(self.rates(velocity, others)) & ~self.active)

    @cached_property
    def acting(self) -> CoordinateLinks | None:
        """Limits, friction and bounded motors of the step; None if there are none."""
        if not self.drives.drives.has_links:
            return None
        links, response = self.drives.links(self.active), self._response[0]
        kept = response[links.coordinate] > 0.0
        return links.take(np.flatnonzero(kept)) if kept.any() else None

    @cached_property
    def _response(self) -> tuple[Array, Array]:
        """Responses of coordinates to impulses along them, and the lengths by which rows are multiplied.

        Both (k,): rates per unit of impulse without joints; the radius of gyration of the bodies about the
        axis of a turn, 1 for displacements.
        """
        rows, placed, n = self.motion.rows, self.motion.placed, self.motion.rows.n_closing
        count, size = len(rows.ends), placed.of_a.shape[1]
        root = np.concatenate((self.model.inverse_root, np.zeros((count + 1, size))))
        a, b = rows.a[n:], rows.b[n:]
        response = np.sum((placed.of_a[n:] * root[a]) ** 2 + (placed.of_b[n:] * root[b]) ** 2, axis=1)
        inverse_mass = root[a, 0] ** 2 + root[b, 0] ** 2
        if self.motion.grips is not None:
            G = self.motion.grips.response[np.arange(count), np.arange(count)]
            for body, of in ((a, placed.of_a[n:]), (b, placed.of_b[n:])):
                anchored = np.flatnonzero(body < -1)
                blocks = G[body[anchored] + count + 1]
                response[anchored] += np.einsum("mi,mij,mj->m", of[anchored], blocks, of[anchored])
                inverse_mass[anchored] += blocks[:, 0, 0]
        turns = (rows.form[n:] >= TURN) & (response > 0.0) & (inverse_mass > 0.0)
        length = np.ones(len(response))
        length[turns] = np.sqrt(inverse_mass[turns] / response[turns])
        return response, length

    def links(self, velocity: Array, others: Others = ()) -> Links | None:
        """The rows of the acting laws on the velocities of movable bodies; None if there are none.

        ``velocity`` (N, size) are those without them, from which the size of the impulses is estimated.
        Columns for the systems follow, if joints hold some.
        """
        acting = self.acting
        if acting is None:
            return None
        d, n, k = self.model.d, len(acting.coordinate), acting.coordinate
        response, length = self._response
        soft, reach = response[k] * length[k] ** 2, length[k]
        ahead, before = self.ahead[self.motion.rows.n_closing :], self.drives.before[k]
        w, compliance, mu = np.zeros((n, d)), np.empty((n, d)), np.zeros(n)
        compliance[:] = soft[:, None]
        limit, other = acting.is_limit, ~acting.is_limit
        rate = reach * (acting.w + acting.sign * ahead[k])
        w[limit, 0], compliance[limit, 0] = rate[limit], 0.0
        w[other, 1], compliance[other, 1] = rate[other], (reach**2 * acting.soft)[other]
        # u_N = c (r_N − ρ) fixes r_N = ρ, and mu ρ is the bound. ρ is the expected impulse: a bound that is
        # far from reached must not set the scale of the problem.
        bound = acting.bound[other] / reach[other]
        speed = np.maximum(
            np.abs(reach * (self.rates(velocity, others) - ahead)[k] + rate), np.abs(reach * before)
        )
        rho = np.clip(speed[other] / soft[other], LEAST_SHARE * bound, bound)
        w[other, 0], mu[other] = -soft[other] * rho, bound / rho
        return Links(acting.identity, self._rows_of(acting, reach), w, mu, compliance, acting.account)

    def link_blocks(self) -> tuple[Array, Array]:
        """The rows of the links: blocks (n, 2, d, size) in units of unit mass, and their bodies (n, 2).

        −1 stands for a body that cannot move.
        """
        acting, rows, placed = self.acting, self.motion.rows, self.motion.placed
        assert acting is not None
        d, n, size = self.model.d, len(acting.coordinate), self.model.mass_root.shape[1]
        term = rows.n_closing + acting.coordinate
        scale = (acting.sign * self._response[1][acting.coordinate])[:, None]
        root = np.concatenate((self.model.inverse_root, np.zeros((1, size))))
        blocks, row = np.zeros((n, 2, d, size)), np.where(acting.is_limit, 0, 1)
        bodies = np.column_stack((rows.a[term], rows.b[term]))
        for end, of in enumerate((placed.of_a[term], placed.of_b[term])):
            blocks[np.arange(n), end, row] = scale * of * root[bodies[:, end]]
        return blocks, np.where(np.append(self.model.movable, False)[bodies], bodies, -1)

    def _rows_of(self, acting: CoordinateLinks, reach: Array) -> sparse.csr_array:
        """H (d·n × m): the rows of coordinates, normal for limits, tangential for the others."""
        model, rows, placed = self.model, self.motion.rows, self.motion.placed
        d, n, size = model.d, len(acting.coordinate), model.mass_root.shape[1]
        term = rows.n_closing + acting.coordinate
        scale = (acting.sign * reach)[:, None]
        moves = np.concatenate((model.inverse_root > 0.0, np.zeros((len(rows.ends) + 1, size), bool)))
        data, columns = [], []
        for body, of in ((rows.a[term], placed.of_a[term]), (rows.b[term], placed.of_b[term])):
            data.append(np.where(moves[body], scale * of, 0.0))
            number = np.concatenate((model.number, np.zeros(len(rows.ends) + 1, dtype=np.int64)))[body]
            columns.append(np.where(moves[body].any(axis=1), number, 0)[:, None] * size + np.arange(size))
        row = d * np.arange(n) + np.where(acting.is_limit, 0, 1)
        starts = 2 * size * np.searchsorted(row, np.arange(d * n + 1))
        H = sparse.csr_array(
            (np.hstack(data).ravel(), np.hstack(columns).ravel(), starts),
            shape=(d * n, len(model.roots) * size),
        )
        H.sum_duplicates()
        grips = self.motion.grips
        if grips is None:
            return H
        on = np.zeros((d * n, len(rows.ends), size))
        for body, of in ((rows.a[term], placed.of_a[term]), (rows.b[term], placed.of_b[term])):
            anchored = np.flatnonzero(body < -1)
            np.add.at(on, (row[anchored], body[anchored] + len(rows.ends) + 1), (scale * of)[anchored])
        anchors = grips.anchors
        on_systems = [
            sparse.csr_array(on[:, chosen].reshape(d * n, -1)) @ J
            for chosen, J in zip(anchors.of, anchors.J, strict=True)
        ]
        return sparse.csr_array(sparse.hstack([H, *on_systems], format="csr"))

    def along(self, impulse: Array | None) -> Array:
        """Impulses (k,) of the acting laws along the coordinates, from those (n, d) of their links."""
        total = self.drives.push.copy()
        if impulse is not None and self.acting is not None:
            acting, length = self.acting, self._response[1]
            k, along = acting.coordinate, np.where(acting.is_limit, impulse[:, 0], impulse[:, 1])
            total += np.bincount(k, acting.sign * along * length[k], len(total))
        return total

    # ---------------------------------------------------------------- energy

    def given(self, multipliers: Array, mean: Array, others: Others = ()) -> float:
        """Work (J) of driven bodies and of motors without bound on bodies at these mean velocities (N, size).

        Where nothing is driven it is zero up to h⁴.
        """
        rows, drives = self.motion.rows, self.drives
        rate = self.motion.rate(mean, others)
        motors = rows.n_held + len(drives.drives.springs)
        work = multipliers[: rows.n_held] @ rate[: rows.n_held] + multipliers[motors:] @ rate[motors:]
        if drives.push.any():
            work += drives.push @ self._own_rate(mean, others)[rows.n_closing :]
        return float(work)

    def stored(self, end: State) -> float:
        """Change of the energy of the springs and rotors in the step (J)."""
        assert end.coordinates is not None
        drives = self.drives.drives
        change = drives.potential(end.coordinates) - drives.potential(self.drives.x)
        if drives.armature.any():
            rate = joint_rates(self.model, end, end.coordinates)
            change += drives.kinetic(rate) - drives.kinetic(self.drives.before)
        return change

    # ---------------------------------------------------------------- contacts

    def rows_with_soft(self, n_dof: int) -> sparse.csr_array:
        """J (j × n_dof), the last columns those of soft rows: √E."""
        J, soft = sparse.csr_array(self.motion.J, copy=True), self.motion.soft
        J.resize(J.shape[0], n_dof)
        if not len(soft):
            return J
        last = np.arange(len(soft))
        places = J.shape[0] - len(soft) + last, n_dof - len(soft) + last
        return sparse.csr_array(J + sparse.coo_array((np.sqrt(soft), places), shape=J.shape))

    def touch(self, contacts: Contacts) -> bool:
        """Whether a body with joints, that can move, is in contact."""
        joined = self.model.is_joined
        return bool(joined[contacts.a].any() or joined[contacts.b].any())


def joints_in_step(
    model: Model,
    state: State,
    middle: State,
    theta: float,
    dt: float,
    commands: Commands | None = None,
    systems: SystemsInStep | None = None,
) -> JointsInStep:
    """The joints at the middle of a step from a state."""
    rows = model.joints
    assert rows is not None
    x = coordinates_of(model, state)
    start, twists = placed_in(model, state, x)
    before = start.rate(rows, middle.velocity, twists)[rows.n_closing :]
    placed = placed_in(model, middle, x + (1.0 - theta) * dt * before)[0]
    target = targets_of(rows.drives, commands)
    drives = DrivesInStep(rows.drives, theta, dt, target, x, rows.coordinates(placed), before)
    motion = LeastMotion(model, rows, placed, drives.soft_rows[0])
    nothing = np.zeros(len(rows.form))
    watched = np.zeros((len(rows.moving), 2), dtype=bool)
    others = SystemsInStep.none() if systems is None else systems
    return JointsInStep(model, middle, motion, drives, theta, dt, nothing, watched, others)


def coordinates_of(model: Model, state: State) -> Array:
    """Coordinates (k,) of the joints that have one, turns counted if the state has counted them."""
    assert model.joints is not None
    if state.coordinates is not None:
        return state.coordinates
    return model.joints.coordinates(placed_in(model, state, None)[0])


def joint_rates(model: Model, state: State, near: Array) -> Array:
    """Rates (k,) of the coordinates ``near`` (k,) in a state."""
    assert model.joints is not None
    placed, twists = placed_in(model, state, near)
    return placed.rate(model.joints, state.velocity, twists)[model.joints.n_closing :]


def placed_in(model: Model, state: State, near: Array | None) -> tuple[Placed, Array | None]:
    """The terms of the joints in a state, and the twists (K, size) of anchors on systems; None without."""
    rows = model.joints
    assert rows is not None
    if not rows.ends:
        return rows.placed(state.position, state.orientation, near), None
    anchors = anchors_of(rows.ends, model.systems, state.parts)
    placed = rows.placed(state.position, state.orientation, near, anchors.poses)
    return placed, anchors.twists([part.v for part in state.parts])
