"""Moreau's time step on many ranks: :mod:`clapas.dynamics.stepping`, each rank on the bodies it knows.

Drift, free motion, detection and assembly are the functions of one rank on the bodies of a domain. Three
things are decided by all ranks together: up to which gap bodies touch, whether anything happens at the
contacts at all, and when the contact problem is solved. At the end owners send the new rows of their bodies
to the ranks with copies, so that all copies have the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from clapas.bodies.rigid.motion import GYRO_ROUNDS, moved, work_on_many
from clapas.distributed.communication import Ghosts
from clapas.distributed.domain import Domain
from clapas.distributed.hosting import follow_host, step_of_host
from clapas.distributed.solving import Answer, BorderedProblem, motion_under_all, solve_on_ranks
from clapas.dynamics.assembly import ContactsInStep
from clapas.dynamics.freemotion import free_motion, gyrated, lead, work_of_loads
from clapas.dynamics.held_contacts import between_free, with_held
from clapas.dynamics.joints.reactions import Reactions
from clapas.dynamics.model import Model
from clapas.dynamics.neighbours import TOUCHING
from clapas.dynamics.reaching import default_reach, within_reach
from clapas.dynamics.rigid_problem import rigid_problem
from clapas.dynamics.schemes import MoreauJean
from clapas.dynamics.solving import rigid_velocities
from clapas.dynamics.state import Impulses, State
from clapas.dynamics.step_problem import StepProblem
from clapas.dynamics.stepping import drifted
from clapas.geometry.colliders import Contacts
from clapas.problems.blocks import BodyBlocks
from clapas.problems.contact import ROUNDING
from clapas.problems.report import modes
from clapas.problems.sphere_blocks import SphereBlocks
from clapas.solvers.loop import Solver
from clapas.status import Status
from clapas.typing import Array, Indices, Mask


@dataclass(frozen=True)
class RankStep:
    """A completed step on one rank.

    Parameters
    ----------
    state : State
        State at the end, of the bodies known here.
    contacts : callable
        Returns the contacts of this rank that touch or carry, in the order of the impulses of the state;
        called for recorded frames.
    modes : callable
        Returns the mode of each, open (0), sticking (1) or sliding (2), (n,); likewise.
    status, residual, iterations, seconds
        Of the contact problem of all ranks.
    work, given : float
        Work of the contacts, and external work, on this rank (J).
    n_contacts : int
        Contacts in the problem of all ranks.
    solved : array (n,) of bool, or None
        Contacts that were part of the problem; None for all. The others are between bodies that sleep.
    joints : Reactions, or None
        Reactions of joints, on the rank that has them.
    """

    state: State
    contacts: Callable[[], Contacts]
    modes: Callable[[], Indices]
    status: Status
    residual: float
    iterations: int
    seconds: float
    work: float
    given: float
    n_contacts: int
    solved: Mask | None = None
    joints: Reactions | None = None


def reach_of(model: Model, scheme: MoreauJean, dt: float) -> float:
    """Up to which gap (m) contacts are active."""
    return default_reach(model, dt) if scheme.reach is None else scheme.reach


def step_on_ranks(
    domain: Domain, state: State, dt: float, solver: Solver, scheme: MoreauJean, asleep: Mask | None = None
) -> RankStep:
    """Advance the bodies of a domain by one time step; all ranks call it together.

    Parameters
    ----------
    domain : Domain
        The bodies known here, within the displacement limit of the epoch (``Domain.is_over``).
    state : State
        Of the bodies known here, copies with the same bits as their owners'.
    dt, solver, scheme
        As for one rank.
    asleep : array (n,) of bool, optional
        Bodies to hold, copies alike on all ranks.
    """
    ranks, model = domain.ranks, domain.model
    holds = asleep is not None and ranks.any(bool(asleep.any()))
    if holds:
        assert asleep is not None
        model = model.holding(asleep)
        model.__dict__.update({name: getattr(domain.model, name) for name in ("has_spheres", "gyrates")})
    if domain.is_host:
        return _hosting_step(domain, state, dt, solver, scheme, asleep if holds else None)
    with ranks.phase("detect"):
        middle = drifted(model, state, scheme, dt)[0]
        free = free_motion(model, middle, dt)
        at = _detected(domain, model, state, middle, dt, scheme, holds)
    return _followed(at, free) if domain.layout.has_host else _solved(at, free, solver)


def _detected(
    domain: Domain, model: Model, state: State, middle: State, dt: float, scheme: MoreauJean, holds: bool
) -> _StepData:
    """The contacts of this rank; ``holds`` says whether bodies are held, on this rank or another."""
    largest = float(np.abs(middle.position).max(initial=0.0))
    touching = TOUCHING * (largest if domain.layout.has_host else domain.ranks.largest(largest))
    reach = reach_of(model, scheme, dt)
    found = domain.mine(domain.detector.detect(middle.position, middle.orientation, max(reach, touching)))
    treated = between_free(model, found) if holds else found
    active = within_reach(model, middle, treated, touching, reach, dt)
    if not holds:
        found = active  # frees the memory of the others
    ahead = lead(model, middle, active, state.velocity, scheme.theta, dt)
    return _StepData(domain, ContactsInStep(model, middle, active, dt, touching, ahead), state, found, scheme)


def _followed(at: _StepData, free: Array) -> RankStep:
    """The step where rank 0 hosts bodies of other kinds and joints, and solves the problem of all ranks."""
    part, reply, velocity, free = follow_host(at.domain, at.near, at.start, free)
    verdict = reply.status, reply.residual, reply.iterations, reply.seconds, reply.n_contacts

    def velocity_at_contacts() -> Array:
        u = part.problem.H @ reply.velocity.ravel() + part.problem.w.ravel()
        return np.asarray(u.reshape(reply.r.shape))

    return at.ended(part, reply.r, velocity_at_contacts, velocity, free, *verdict)


def _solved(at: _StepData, free: Array, solver: Solver) -> RankStep:
    """The step whose contact problem all ranks solve together, again while the gyroscopic term changes."""
    domain, near, state, ranks = at.domain, at.near, at.start, at.domain.ranks
    model, middle, dt = near.model, near.middle, near.dt
    total = int(ranks.total(len(near.contacts))[0])
    ghosts = _in_problem(model, domain.ghosts)
    moving = domain.ids[model.movable], domain.is_own[model.movable]
    longer = dt / state.dt if state.dt else 1.0
    guess: Array | None = None

    def pushed_by_all(blocks: BodyBlocks, r: Array) -> BodyBlocks:
        return blocks.with_free(motion_under_all(ghosts, blocks, r))

    for left in range(GYRO_ROUNDS - 1, -1, -1):
        with ranks.phase("assemble"):
            part = rigid_problem(near, free, part_of=total, pushed=pushed_by_all)
        part.problem.kept = domain.kept
        guess = part.guess(state.impulses, longer) if guess is None else guess
        bordered = BorderedProblem(part.problem, ghosts, total, *moving)
        solution = _solve_or_rest(bordered, part, guess, solver)
        velocity = _velocity(model, part, solution, free)
        if not model.gyrates or total == 0:
            break
        turned, free, matters = gyrated(model, middle, free, velocity, dt)
        if left == 0 or not ranks.any(matters):
            velocity = turned
            break
        guess = solution.r

    verdict = solution.status, solution.residual, solution.iterations, solution.seconds, total

    def velocity_at_contacts() -> Array:
        return bordered.velocity(solution.rows) if len(solution.r) else np.empty((0, model.d))

    return at.ended(part, solution.r, velocity_at_contacts, velocity, free, *verdict)


def _hosting_step(
    domain: Domain, state: State, dt: float, solver: Solver, scheme: MoreauJean, asleep: Mask | None
) -> RankStep:
    """The step of the rank that hosts bodies of other kinds and joints."""
    hosted = step_of_host(domain, state, dt, solver, scheme, asleep)
    result, end = hosted.result, hosted.result.state
    domain.ghosts.from_owners(end.position, end.orientation, end.velocity)
    return RankStep(
        end,
        lambda: result.contacts,
        lambda: hosted.mode,
        result.status,
        result.residual,
        hosted.iterations,
        hosted.seconds,
        hosted.work,
        hosted.given,
        hosted.n_contacts,
        hosted.solved,
        result.joints,
    )


@dataclass(frozen=True, eq=False)
class _StepData:
    """Data of a step on a rank before the solve; the model of ``near`` holds sleeping bodies."""

    domain: Domain
    near: ContactsInStep
    start: State
    found: Contacts
    scheme: MoreauJean

    def ended(
        self,
        part: StepProblem,
        r: Array,
        u: Callable[[], Array],
        velocity: Array,
        free: Array,
        status: Status,
        residual: float,
        iterations: int,
        seconds: float,
        n_contacts: int,
    ) -> RankStep:
        """The step with impulses r (n, k), velocities u at the contacts and those (N, size) of the bodies."""
        domain, state, near = self.domain, self.start, self.near
        model, middle, dt = near.model, near.middle, near.dt
        position, orientation = moved(middle.position, middle.orientation, velocity, self.scheme.theta * dt)
        domain.ghosts.from_owners(position, orientation, velocity)
        contacts_of, impulses, modes_of, solved = self._borne(part, r, u)
        end = replace(
            state,
            time=state.time + dt,
            step=state.step + 1,
            position=position,
            orientation=orientation,
            velocity=velocity,
            dt=dt,
            impulses=impulses,
            sleep=None,
            applied={},
        )
        own = domain.own_model
        is_moving = own.movable & model.movable
        contact_work = work_on_many(own.mass, own.inertia, is_moving, middle.velocity, free, velocity)
        walls = part.work_of_walls(r)
        given = work_of_loads(own, state.velocity, middle, velocity, dt) - walls
        verdict = status, residual, iterations, seconds
        return RankStep(end, contacts_of, modes_of, *verdict, contact_work + walls, given, n_contacts, solved)

    def _borne(
        self, part: StepProblem, r: Array, u: Callable[[], Array]
    ) -> tuple[Callable[[], Contacts], Impulses, Callable[[], Indices], Mask | None]:
        """Functions for the contacts and their modes, the impulses, and which contacts were solved."""
        rows = part.carrying(r)
        impulses = part.impulses(r, rows)
        model, state, d = self.near.model, self.start, self.near.model.d

        def solved_modes() -> Indices:
            _, sticking, sliding = modes(part.problem, r[:, :d], u()[:, :d])
            mode = (sticking + 2 * sliding).astype(np.int8)
            return mode if rows is None else mode[rows]

        if model is self.domain.model:
            return lambda: part.contacts_at(rows), impulses, solved_modes, None
        longer = self.near.dt / state.dt if state.dt else 1.0
        contacts, impulses, place = with_held(
            model,
            self.found,
            part.contacts_at(rows),
            impulses,
            state.impulses,
            longer,
            self.near.touching,
        )

        def all_modes() -> Indices:
            mode = np.append(solved_modes(), 0).astype(np.int8)[place]
            mode[place < 0] = impulses.carrying[place < 0]
            return mode

        return lambda: contacts, impulses, all_modes, place >= 0


def _in_problem(model: Model, ghosts: Ghosts) -> Ghosts:
    """The copies, by body numbers of the contact problem."""
    number = model.number
    given = {rank: number[rows] for rank, rows in ghosts.given.items()}
    return Ghosts(ghosts.ranks, given, {rank: number[rows] for rank, rows in ghosts.held.items()})


def _solve_or_rest(bordered: BorderedProblem, part: StepProblem, guess: Array, solver: Solver) -> Answer:
    """Solve; zero impulses if the relative velocity is rounding (see ``assembly.is_rounding``)."""
    problem, ranks = part.problem, bordered.ranks
    wall = 0.0 if part.wall is None else float(np.max(np.abs(part.wall), initial=0.0))
    sizes = (problem.free_speeds[1], bordered.blocks.largest_term() + wall) if len(guess) else (0.0, 0.0)
    fastest, most = ranks.gathered(sizes).max(axis=0)
    if bordered.n_contacts == 0 or fastest <= 16.0 * ROUNDING * most:
        still = np.zeros_like(guess)
        return Answer(still, bordered.motion(still), Status.SOLVED, 0.0, 0, 0.0)
    return solve_on_ranks(bordered, solver, guess)


def _velocity(model: Model, part: StepProblem, solution: Answer, free: Array) -> Array:
    """Velocities (n, size) of the bodies known here from the rows of the problem."""
    blocks = part.problem.blocks
    assert blocks is not None
    if isinstance(blocks, SphereBlocks):  # rows have spins in the world
        v = blocks.velocities_of(solution.rows)
    else:
        v = np.einsum("bij,bj->bi", blocks.root, solution.rows[:-1])
    return rigid_velocities(model, v, free)
