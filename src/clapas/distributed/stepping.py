"""Moreau's time step on many ranks: the step of :mod:`clapas.dynamics.stepping`, each rank on what it knows.

Drift, free motion, detection and assembly are the functions of one rank on the bodies of a domain. Three
things are decided by all ranks together: up to which gap bodies touch, whether anything happens at the
contacts at all, and when the contact problem is solved. At the end owners send the new rows of their bodies
to those who hold copies, so that all copies have the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clapas.bodies.rigid.motion import GYRO_ROUNDS, moved, work
from clapas.distributed.communication import Ghosts
from clapas.distributed.domain import Domain
from clapas.distributed.solving import Answer, BorderedProblem, motion_under_all, solve_on_ranks
from clapas.dynamics.assembly import StepProblem, step_problem
from clapas.dynamics.following import lead
from clapas.dynamics.freemotion import free_motion, given_by_loads, gyrated
from clapas.dynamics.held import between_free, with_held
from clapas.dynamics.model import Impulses, Model, State
from clapas.dynamics.reaching import default_reach, within_reach
from clapas.dynamics.solving import rigid_velocities
from clapas.dynamics.stepping import MoreauJean, drifted
from clapas.dynamics.surroundings import TOUCHING
from clapas.geometry.colliders import Contacts
from clapas.linalg.quaternions import spins_in_body_frames
from clapas.problems.blocks import BodyBlocks
from clapas.problems.contact import ROUNDING
from clapas.problems.report import modes
from clapas.problems.sphere_blocks import SphereBlocks
from clapas.solvers.loop import Solver
from clapas.status import Status
from clapas.typing import Array, Indices, Mask


@dataclass(frozen=True)
class RankStep:
    """A step done, as one rank sees it.

    Parameters
    ----------
    state : State
        Where it led: the bodies known here.
    contacts : Contacts
        The contacts of this rank that touch or carry, in the order of the impulses of the state.
    mode : array (n,)
        Whether each is open (0), sticking (1) or sliding (2).
    status, residual, iterations, seconds
        Of the contact problem of all ranks.
    work, given : float
        What the contacts and bodies of this rank add to the accounts (J).
    n_contacts : int
        Contacts in the problem of all ranks.
    solved : array (n,) of bool, or None
        Contacts that were part of the problem; None for all. The others are between bodies that sleep.
    """

    state: State
    contacts: Contacts
    mode: Indices
    status: Status
    residual: float
    iterations: int
    seconds: float
    work: float
    given: float
    n_contacts: int
    solved: Mask | None = None


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
        What this rank knows. Its bodies are near enough to where its epoch began (``Domain.is_over``).
    state : State
        Of the bodies known here, copies with the same bits as their owners'.
    dt, solver, scheme
        As for one rank.
    asleep : array (n,) of bool, optional
        Bodies to hold, copies alike on all ranks.
    """
    ranks, model = domain.ranks, domain.model
    holds = asleep is not None and ranks.largest(float(asleep.any())) > 0.0
    if holds:
        assert asleep is not None
        model = model.holding(asleep)
        model.__dict__.update({name: getattr(domain.model, name) for name in ("has_spheres", "gyrates")})
    with ranks.phase("detect"):
        middle = drifted(model, state, scheme, dt)[0]
        free = free_motion(model, middle, dt)
        touching = TOUCHING * ranks.largest(float(np.abs(middle.position).max(initial=0.0)))
        reach = reach_of(model, scheme, dt)
        found = domain.mine(domain.detector.detect(middle.position, middle.orientation, max(reach, touching)))
        treated = between_free(model, found) if holds else found
        near = within_reach(model, middle, treated, touching, reach, dt)
        ahead = lead(model, middle, near, state.velocity, scheme.theta, dt)

    total = int(ranks.total(len(near))[0])
    ghosts = _in_problem(model, domain.ghosts)
    moving = domain.ids[model.movable], domain.is_own[model.movable]
    longer = dt / state.dt if state.dt else 1.0
    guess: Array | None = None

    def pushed_by_all(blocks: BodyBlocks, r: Array) -> BodyBlocks:
        return blocks.with_free(motion_under_all(ghosts, blocks, r))

    for left in range(GYRO_ROUNDS - 1, -1, -1):
        with ranks.phase("assemble"):
            part = step_problem(
                model, middle, near, free, dt, touching, ahead, part_of=total, pushed=pushed_by_all
            )
        part.problem.kept = domain.kept
        guess = part.guess(state.impulses, longer) if guess is None else guess
        bordered = BorderedProblem(part.problem, ghosts, total, *moving)
        answer = _answer(bordered, part, guess, solver)
        velocity = _velocity(model, middle, part, answer, free)
        if not model.gyrates or total == 0:
            break
        turned, turned_free, matters = gyrated(model, middle, free, velocity, dt)
        if left == 0 or ranks.largest(float(matters)) == 0.0:
            velocity = turned
            break
        free, guess = turned_free, answer.r

    position, orientation = moved(middle.position, middle.orientation, velocity, scheme.theta * dt)
    domain.ghosts.from_owners(position, orientation, velocity)
    contacts, impulses, mode, solved = _borne(
        domain, model, part, answer, bordered, found, state, touching, longer
    )
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
    done = work(own.masses, own.movable & model.movable, middle.velocity, free, velocity)
    walls = part.work_of_walls(answer.r)
    given = given_by_loads(own, state.velocity, middle, velocity, dt) - walls
    return RankStep(
        end,
        contacts,
        mode,
        answer.status,
        answer.residual,
        answer.iterations,
        answer.seconds,
        done + walls,
        given,
        total,
        solved,
    )


def _in_problem(model: Model, ghosts: Ghosts) -> Ghosts:
    """The same copies by the numbers of bodies in the contact problem."""
    number = model.number
    given = {rank: number[rows] for rank, rows in ghosts.given.items()}
    return Ghosts(ghosts.ranks, given, {rank: number[rows] for rank, rows in ghosts.held.items()})


def _answer(bordered: BorderedProblem, part: StepProblem, guess: Array, solver: Solver) -> Answer:
    """Solve, unless bodies that touch move together: then nothing happens (see ``assembly.is_rounding``)."""
    problem, ranks = part.problem, bordered.ranks
    wall = 0.0 if part.wall is None else float(np.max(np.abs(part.wall), initial=0.0))
    sizes = (problem.free_speeds[1], bordered.blocks.largest_term() + wall) if len(guess) else (0.0, 0.0)
    fastest, most = ranks.gathered(sizes).max(axis=0)
    if bordered.n_contacts == 0 or fastest <= 16.0 * ROUNDING * most:
        still = np.zeros_like(guess)
        return Answer(still, bordered.motion(still), Status.SOLVED, 0.0, 0, 0.0)
    return solve_on_ranks(bordered, solver, guess)


def _velocity(model: Model, middle: State, part: StepProblem, answer: Answer, free: Array) -> Array:
    """Velocities (n, size) of the bodies known here from the rows of the problem."""
    blocks = part.problem.blocks
    assert blocks is not None
    if isinstance(blocks, SphereBlocks):  # rows have spins in the world
        v = np.ascontiguousarray(answer.rows[:-1, :6])
        spins_in_body_frames(np.ascontiguousarray(middle.orientation[model.moving]), v)
    else:
        v = np.einsum("bij,bj->bi", blocks.root, answer.rows[:-1])
    return rigid_velocities(model, v, free)


def _borne(
    domain: Domain,
    model: Model,
    part: StepProblem,
    answer: Answer,
    bordered: BorderedProblem,
    found: Contacts,
    state: State,
    touching: float,
    longer: float,
) -> tuple[Contacts, Impulses, Indices, Mask | None]:
    """The contacts that count, their impulses and modes, and which were solved."""
    r, problem = answer.r, part.problem
    contacts, impulses, rows = part.contacts, part.impulses(r), part.carrying(r)
    d = model.d
    u = bordered.velocity(answer.rows) if len(r) else np.empty((0, d))
    _, sticking, sliding = modes(problem, r[:, :d], u[:, :d])
    mode = (sticking + 2 * sliding).astype(np.int8)
    if rows is not None:
        contacts, impulses, mode = contacts.take(rows), impulses.take(rows), mode[rows]
    if model is domain.model:
        return contacts, impulses, mode, None
    contacts, impulses, place = with_held(model, found, contacts, impulses, state.impulses, longer, touching)
    mode = np.append(mode, 0).astype(np.int8)[place]
    mode[place < 0] = impulses.carrying[place < 0]
    return contacts, impulses, mode, place >= 0
