"""Moreau's time stepping: one step fits on a page.

    q_m             middle of the step, reached at the old velocity
    contacts        those with gap ≤ 0 at q_m, or within reach of it
    problem         M v + f = Hᵀ r, u = H v + w, Coulomb's law, all evaluated at q_m
    solve           new velocity v and impulses r
    q               from q_m at the new velocity

Several collisions inside one step are treated together, and an accumulation of bounces ends in
one step. Reference: Moreau 2003, section 7.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from clapas.bodies.rigid.motion import moved, spin, spins_in_body_frames, work
from clapas.dynamics.assembly import StepProblem, step_problem
from clapas.dynamics.births import with_births, work_of_laying
from clapas.dynamics.following import lead
from clapas.dynamics.held import between_free, with_held
from clapas.dynamics.joints.instep import JointsInStep, apart_from_joined, joints_in_step
from clapas.dynamics.joints.projection import onto_joints
from clapas.dynamics.joints.reactions import Reactions
from clapas.dynamics.model import Impulses, Model, State
from clapas.dynamics.reaching import default_reach, within_reach
from clapas.dynamics.surroundings import Surroundings, touching_gap
from clapas.dynamics.systems import (
    SystemsInStep,
    apart_from_themselves,
    bending_margin,
    mixed_problem,
    on_true_surfaces,
    split_velocity,
    systems_in_step,
    with_carriers,
)
from clapas.errors import SettingsError
from clapas.geometry.colliders import Contacts
from clapas.problems.blocks import BodyBlocks
from clapas.problems.contact import ContactProblem
from clapas.solvers import NSGS, Auto, Solution, solve
from clapas.solvers.loop import Solver
from clapas.typing import Array, Indices, Mask

GYRO_ROUNDS = 4  # problems solved at most in a step in which contacts change the gyroscopic term
GYRO_SHARE = 1e-3  # of what contacts change: less, and the term is put right without solving again
JOINT_ROUNDS = 12  # at most, to find what joints impose and the gyroscopic term without contacts
JOINT_SHARE = 1e-12  # of what joints and contacts change: less is rounding
JOINT_SHARE_IN_CONTACT = 1e-5  # the same where each round is a contact problem


@dataclass(frozen=True, kw_only=True)
class MoreauJean:
    """Moreau and Jean's scheme with parameter θ; θ = ½ is Moreau's midpoint scheme.

    Contacts are found at q_m = q + (1 − θ) h v; positions end at q_m + θ h v⁺.

    Parameters
    ----------
    theta : float
        In ]0, 1]. ½ is second order for smooth motion; 1 is implicit in position.
    inertia : bool
        False forgets velocities at the start of each step: for loads applied slowly, and to bring a
        packing to rest. Motion stops as soon as equilibrium is possible.
    projection : float
        Share of the penetration removed at each step by moving bodies apart, in [0, 1]. The
        displacement is the smallest in the metric of the masses and leaves velocities, hence the
        kinetic energy, untouched; potential energy rises by the lift. 0, the default, is Moreau's scheme.
    travel : float
        Divide a step into 2, 4, 8… equal parts until no body travels further in one than this share of
        its thickness; infinite, the default, never divides. See :mod:`clapas.dynamics.subdivision`.
    halvings : int
        How many times a step may be halved at most.
    reach : float, optional
        Contacts with a gap up to this (m) that close or part slower than reach/h are active too, and may
        close their gap in the step and no more: what touches keeps touching
        (:mod:`clapas.dynamics.reaching`). By default |gravity| h², or 1e-3 of the radius of the smallest
        movable body if that is less. 0 is Moreau's scheme: a contact is active if its gap at q_m is ≤ 0.
    """

    theta: float = 0.5
    inertia: bool = True
    projection: float = 0.0
    travel: float = math.inf
    halvings: int = 8
    reach: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.theta <= 1:
            raise SettingsError(f"theta must be in ]0, 1], got {self.theta}")
        if not 0 <= self.projection <= 1:
            raise SettingsError(f"projection must be in [0, 1], got {self.projection}")
        if not self.travel > 0:
            raise SettingsError(f"travel must be positive, got {self.travel}")
        if not (isinstance(self.halvings, int) and 0 <= self.halvings <= 30):
            raise SettingsError(f"halvings must be a whole number from 0 to 30, got {self.halvings!r}")
        if self.reach is not None and not 0 <= self.reach < math.inf:
            raise SettingsError(f"reach must be a length, zero or more, or None, got {self.reach}")


@dataclass(frozen=True, kw_only=True)
class MoreauMidpoint(MoreauJean):
    """Moreau's midpoint scheme, θ = ½: the default."""


@dataclass(frozen=True, kw_only=True)
class QuasiStatic(MoreauJean):
    """Steps without inertia, implicit in position; impulses over the step are the static forces."""

    theta: float = 1.0
    inertia: bool = False


@dataclass(frozen=True)
class Stepped:
    """A step done.

    Parameters
    ----------
    state : State
        Where it led.
    middle : State
        Where contacts were found, with the velocities of the start.
    problem : StepProblem
        The problem that was solved.
    solution : Solution
        Its solution.
    work : float
        Work of the contacts, and of laying grains down (J): negative when energy is lost.
    given : float
        Work of walls that move, also through joints, guides and loads (J): what the world puts in.
    contacts : Contacts
        The contacts that touch or carry an impulse, in the order of the impulses of the state.
    rows : array (n,), or None
        Where each is in the problem, −1 for those between bodies that sleep. None if they are the same.
    joints : Reactions, or None
        What joints did to the bodies, by name; None without joints.
    """

    state: State
    middle: State
    problem: StepProblem
    solution: Solution
    work: float
    given: float
    contacts: Contacts
    rows: Indices | None = None
    joints: Reactions | None = None


def step(
    model: Model,
    state: State,
    dt: float,
    solver: Solver | None = None,
    scheme: MoreauJean | None = None,
    surroundings: Surroundings | None = None,
    *,
    asleep: Mask | None = None,
) -> Stepped:
    """Advance a state by one time step.

    Parameters
    ----------
    model, state
        What moves, and from where.
    dt : float
        Time step (s).
    solver : Solver, optional
        Method for the contact problem; ``Auto(tol=1e-6)`` by default.
    scheme : MoreauJean, optional
        Moreau's midpoint scheme by default.
    surroundings : Surroundings, optional
        Who is near whom, kept from step to step for speed.
    asleep : array of bool, optional
        Bodies to hold during the step, at velocity zero: the contacts between them keep their impulses.
        Bodies beyond its length are awake.
    """
    scheme, surroundings = scheme or MoreauMidpoint(), surroundings or Surroundings(model)
    before, state = state, with_births(model, state)
    alive = model.first(state.n_bodies)
    held = asleep if asleep is not None and asleep.any() else None
    if held is not None:
        alive = alive.holding(np.pad(held, (0, state.n_bodies - len(held))))
    middle, systems = _middle(alive, state, scheme, dt), None
    if scheme.projection > 0.0 and alive.joints is not None:
        raise SettingsError(
            f"projection does not reach jointed bodies yet ('{alive.joints.names[0]}'): leave it out"
        )
    if alive.systems or alive.joints is not None:
        systems, middle = systems_in_step(alive, state, middle, scheme.theta, dt, inertia=scheme.inertia)
    free = free_motion(alive, middle, dt)
    reach = default_reach(model, dt) if scheme.reach is None else scheme.reach
    touching = touching_gap(middle)
    near = max(reach, touching)
    found = surroundings.detect(middle, near + (bending_margin(alive, systems.parts) if systems else 0.0))
    if systems:
        found = on_true_surfaces(alive, middle, found, near)
    treated = found if held is None else between_free(alive, found)
    if systems:
        treated = apart_from_joined(alive, apart_from_themselves(alive, treated))
    treated = within_reach(alive, middle, treated, touching, reach, dt)
    ahead = lead(alive, middle, treated, state.velocity, scheme.theta, dt)

    joints = None
    if alive.joints is not None:
        joints, free = _joined(alive, joints_in_step(alive, middle, scheme.theta, dt), free)
    kick = None  # by joints that are not part of the contact problem
    if joints is not None and not joints.touch(treated):
        kick = joints.velocity(free) - free
        free = free + kick
    in_contact = joints if kick is None else None

    def assembled(free: Array, joints: JointsInStep | None) -> StepProblem:
        if systems and (joints is not None or systems.touch(alive, treated)):
            return mixed_problem(alive, systems, middle, treated, free, dt, touching, ahead, joints)
        return step_problem(alive, middle, treated, free, dt, touching, ahead)

    longer = dt / state.dt if state.dt else 1.0
    solver = solver or Auto(tol=1e-6)
    problem = assembled(free, in_contact)
    solution = solve(problem.problem, solver, problem.guess(state.impulses, longer), check=False)
    velocity, others = _velocities(alive, middle, problem, solution.v, free, systems)
    again = (alive.gyrates or in_contact) and len(problem.contacts)
    for left in range(GYRO_ROUNDS - 1, -1, -1) if again else ():
        if in_contact:
            led, turned, matters = _led(alive, in_contact, free, velocity, JOINT_SHARE_IN_CONTACT)
            if not matters or left == 0:
                break
            joints, in_contact, free = led, led, turned
        else:
            turned, free, matters = gyrated(alive, middle, free, velocity, dt, but=alive.is_joined)
            if not matters or left == 0:
                velocity = turned
                break
        problem = assembled(free, in_contact)
        solution = solve(problem.problem, solver, solution.r, check=False)
        velocity, others = _velocities(alive, middle, problem, solution.v, free, systems)
    position, orientation = moved(middle.position, middle.orientation, velocity, scheme.theta * dt)
    contacts, impulses, rows = problem.contacts, problem.impulses(solution.r), problem.carrying(solution.r)
    if rows is not None:
        contacts, impulses = contacts.take(rows), impulses.take(rows)
    if held is not None:
        among = np.arange(len(problem.contacts)) if rows is None else rows
        contacts, impulses, place = with_held(
            alive, found, contacts, impulses, state.impulses, longer, touching
        )
        rows = np.where(place < 0, -1, np.append(among, -1)[place])
    elif len(treated) and not len(problem.contacts) and alive.blocked is None:
        # What touches and moves together was in no problem: it bears nothing.
        contacts = treated.take(np.flatnonzero(treated.gap <= touching))
        impulses, rows = Impulses.zero(contacts), np.full(len(contacts), -1)
    end = State(
        time=state.time + dt,
        step=state.step + 1,
        position=position,
        orientation=orientation,
        velocity=velocity,
        impulses=impulses,
        dt=dt,
    )
    if scheme.projection > 0.0:
        end = pulled_apart(alive, end, problem, scheme.projection)
    unforced = free if kick is None else free - kick
    done = work(alive.masses, alive.movable, middle.velocity, unforced, velocity)
    if systems:
        end = with_carriers(alive, replace(end, parts=systems.moved(others, scheme.theta * dt)))
        done += systems.work(others)
    reactions, through = None, 0.0
    if joints is not None:
        multipliers = solution.multipliers if kick is None else joints.motion.multipliers(kick)
        assert multipliers is not None
        reactions = joints.reactions(multipliers)
        through = joints.work(multipliers, 0.5 * (middle.velocity + velocity))
        done -= through
        closed = onto_joints(alive, end, joints.motion)
        lift = (end.position - closed.position)[alive.movable] @ alive.gravity
        through += float(alive.mass[alive.movable] @ lift)
        end = closed
    walls = problem.work_of_walls(solution.r)
    done += walls + work_of_laying(model, before, state)
    given = _given(alive, state.velocity, middle, velocity, dt) - walls + through
    return Stepped(end, middle, problem, solution, done, given, contacts, rows, reactions)


def _joined(model: Model, joints: JointsInStep, free: Array) -> tuple[JointsInStep, Array]:
    """What the joints impose, and velocities without joints, if there were no contact.

    Both depend on the velocities at the end: what joints impose by the pose there, the others by the
    gyroscopic term.
    """
    velocity = joints.velocity(free)
    for _ in range(JOINT_ROUNDS):
        joints, free, matters = _led(model, joints, free, velocity, JOINT_SHARE)
        velocity = joints.velocity(free)
        if not matters:
            break
    return joints, free


def _led(
    model: Model, joints: JointsInStep, free: Array, velocity: Array, share: float
) -> tuple[JointsInStep, Array, bool]:
    """The joints and the velocities without impulses if the step ends with these velocities (N, size).

    Last whether they differ from those given by more than a share of what impulses change.
    """
    led, turned, own = joints.led_by(velocity), free, model.masses[model.movable]
    if model.gyrates:
        turned = gyrated(model, joints.middle, free, velocity, joints.dt)[1]
    change = joints.change(led) + 0.5 * float(np.sum(own * (turned - free)[model.movable] ** 2))
    kick = 0.5 * float(np.sum(own * (velocity - free)[model.movable] ** 2))
    return led, turned, change > share**2 * kick


def _middle(model: Model, state: State, scheme: MoreauJean, dt: float) -> State:
    """Positions (1 − θ) h later, and the velocities the step starts from (imposed ones at its middle)."""
    velocity = state.velocity.copy() if scheme.inertia else np.zeros_like(state.velocity)
    velocity[model.walls] = 0.0
    for body in model.motions:
        velocity[body] = model.driven(body, velocity[body], state.time + 0.5 * dt)
    position, orientation = moved(state.position, state.orientation, velocity, (1.0 - scheme.theta) * dt)
    return replace(state, position=position, orientation=orientation, velocity=velocity)


def free_motion(model: Model, middle: State, dt: float) -> Array:
    """Velocities at the end of the step if there were no contact."""
    free = middle.velocity.copy()
    free[:, : model.d] += dt * model.gravity  # walls too: they are put right below
    pushes = _pushes(model, middle, dt)
    if model.d == 3:
        spin(free, model.inertia, dt, _kicks(model, pushes))
    for body, push in pushes.items():
        # The spin of a body that gyrates has its push already.
        gained = push[:3] if model.gyrates_freely[body] else push
        free[body, : len(gained)] += gained / model.masses[body, : len(gained)]
    free[model.walls] = middle.velocity[model.walls]
    if model.blocked is not None:
        free[model.blocked] = middle.velocity[model.blocked]
    return free


def gyrated(
    model: Model, middle: State, free: Array, velocity: Array, dt: float, but: Mask | None = None
) -> tuple[Array, Array, bool]:
    """The gyroscopic term again, at the mean of the velocities before and after the impulses of contacts.

    ``but`` (N,) are bodies to be left as they are.

    Returns
    -------
    velocity : array (N, 6)
        Velocities under the same impulses.
    free : array (N, 6)
        Those without the impulses of contacts.
    matters : bool
        Is the change more than a thousandth of that made by contacts? Then so are velocities at contacts.
    """
    kick = velocity - free  # by contacts
    turned = middle.velocity.copy()
    spin(turned, model.inertia, dt, kick[:, 3:] + _kicks(model, _pushes(model, middle, dt)))
    turned[:, :3] = velocity[:, :3]
    which = model.gyrates_freely if but is None else model.gyrates_freely & ~but
    turned = np.where(which[:, None], turned, velocity)
    own, change = model.masses[model.movable], (turned - velocity)[model.movable]
    square = float(np.sum(own * change**2))
    matters = square > GYRO_SHARE**2 * float(np.sum(own * kick[model.movable] ** 2))
    return turned, turned - kick, matters


def _pushes(model: Model, middle: State, dt: float) -> dict[int, Array]:
    """Impulses of the loads, forces in the world and torques in body frames; none along blocked axes."""
    pushes = {}
    for body, load in model.loads.items():
        pushes[body] = dt * load.in_body_frame(middle.time + 0.5 * dt, middle.orientation[body])
        if model.blocked is not None:
            pushes[body][model.blocked[body]] = 0.0
    return pushes


def _kicks(model: Model, pushes: dict[int, Array]) -> Array:
    """What loads change of the spins (N, 3) of the bodies that gyrate (rad/s)."""
    kicks = np.zeros((len(model.mass), 3))
    for body, push in pushes.items():
        if model.gyrates_freely[body]:
            kicks[body] = push[3:] / model.inertia[body]
    return kicks


def _given(model: Model, before: Array, middle: State, after: Array, dt: float) -> float:
    """Work of loads, and of guides on the bodies they guide, during the step (J)."""
    given = 0.0
    for body, push in _pushes(model, middle, dt).items():
        given += 0.5 * float(push @ (middle.velocity[body] + after[body]))
    if model.blocked is not None:
        guided = np.flatnonzero(model.movable & model.blocked.any(axis=1))
        gained = 0.5 * model.masses[guided] * (after[guided] ** 2 - before[guided] ** 2)
        fallen = 0.5 * dt * (middle.velocity + after)[guided, : model.d] * model.gravity
        gained[:, : model.d] -= model.mass[guided, None] * fallen
        given += float(gained[model.blocked[guided]].sum())
    return given


def _velocities(
    model: Model,
    at: State,
    problem: StepProblem,
    v: Array | None,
    free: Array,
    systems: SystemsInStep | None = None,
) -> tuple[Array, tuple[Array, ...]]:
    """Velocities of all rigid bodies, walls included, and of the systems, from the answer of the problem.

    ``free`` are the velocities of bodies that no impulse changes.
    """
    assert v is not None
    others = () if systems is None else systems.free
    size = free.shape[1]
    if systems is not None and len(v) > model.movable.sum() * size:
        v, others = split_velocity(v, systems)
    moving = v.reshape(-1, size)
    if problem.has_spheres:  # its spins are in the world
        moving = moving.copy()  # v belongs to the solution
        spins_in_body_frames(at.orientation[model.moving], moving)
    velocity = free.copy()
    velocity[model.moving] = moving
    if model.blocked is not None:
        velocity = np.where(model.blocked, free, velocity)
    return velocity, others


def pulled_apart(model: Model, state: State, problem: StepProblem, share: float) -> State:
    """The state with a share of the penetrations removed by the smallest displacement.

    A frictionless problem in displacements: min ½ δᵀ M δ such that gap + H_N δ ≥ 0.
    """
    blocks, gap = problem.problem.blocks, problem.contacts.gap
    deep = gap < 0.0
    if blocks is None or not deep.any():
        return state
    rows = np.ascontiguousarray(blocks.G[:, :, : model.d])
    still = BodyBlocks(rows, blocks.bodies, np.zeros_like(blocks.y_free), blocks.root)
    w = np.zeros((len(gap), model.d))
    w[:, 0] = share * np.minimum(gap, 0.0)
    displacement = solve(
        ContactProblem.from_blocks(still, mu=0.0, w=w), NSGS(tol=1e-3, max_iterations=200), check=False
    )
    zero = np.zeros_like(state.velocity)
    away, _ = _velocities(model, state, problem, displacement.v, zero)
    position, orientation = moved(state.position, state.orientation, away, 1.0)
    return replace(state, position=position, orientation=orientation)
