"""The velocities at the end of a step: the contact problem, and the data that depend on its solution.

Most steps state one problem and solve it. Two data of the problem depend weakly on its solution: the
gyroscopic term of bodies that spin, and the rows of joints, which are evaluated at the end of the step
(:mod:`clapas.dynamics.joints.instep`). Both are found by fixed-point iteration, which ends when they change
less than a small share of the change by impulses. A third datum changes by jumps: which cables are taut
(:class:`clapas.bodies.nonlinear.Pieces`). There the iteration ends when none has changed, with the exact
solution; where it does not end, the cables join the contact problem as links.

Jointed bodies without contacts, and on which no limit, friction or bounded motor acts, are not part of the
contact problem: there the iteration costs little.

Systems whose forces are not linear are linearised about the solution, until the forces there agree: Newton's
method with a contact problem in place of a linear system.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from clapas.bodies.rigid.motion import GYRO_ROUNDS
from clapas.dynamics.assembly import ContactsInStep
from clapas.dynamics.condensed import MOST_ROWS, condensed_problem
from clapas.dynamics.evenness import (
    applies,
    begins_at_rest,
    holders,
    is_held,
    shared_force_changes,
    solved_evenly,
    tolerance_at_rest,
)
from clapas.dynamics.freemotion import gyrated
from clapas.dynamics.joints.instep import JointsInStep
from clapas.dynamics.mixed import mixed_problem
from clapas.dynamics.model import Model
from clapas.dynamics.resting import (
    are_at_rest,
    is_between_bodies,
    set_in_motion,
    solved_at_rest,
    solved_from_near,
)
from clapas.dynamics.resting_parts import contacts_at_rest, joined, part_of
from clapas.dynamics.rigid_problem import rigid_problem
from clapas.dynamics.small_bodies import are_small, small_bodies_problem
from clapas.dynamics.state import State
from clapas.dynamics.step_problem import StepProblem
from clapas.dynamics.systems import SystemsInStep, split_velocity
from clapas.dynamics.warm_start import followed
from clapas.problems.clusters import ContradictingJoints
from clapas.problems.contact import ContactProblem
from clapas.problems.workspace import Workspace
from clapas.solvers import Solution, solve
from clapas.solvers.loop import Solver
from clapas.status import Status
from clapas.typing import Array, Indices, Mask

JOINT_ROUNDS = 12  # most iterations for the rows of joints and the gyroscopic term without contacts
LET_GO = (1e-4, 1e-3, 1e-2, 1e-1)  # singular values of motions that joints let go, where those vary too much
FARTHEST = 1e3  # times the velocities it starts from: where an iteration that gets there has lost its way
ASTRAY = 1e-2  # of the change of velocities by joints: what leaves more does not converge
JOINT_SHARE = 1e-12  # of the change of velocities by joints and contacts: less is rounding
PIECES = 20  # most pieces tried before piecewise forces join the contact problem as links
JOINT_SHARE_IN_CONTACT = 1e-5  # the same where each iteration is a contact problem
ProblemSolver = Callable[[ContactProblem, Array], Solution]
"""Solves the contact problem of a step from a guess (n, d)."""
LINEARISATIONS = 12  # of nonlinear systems in one step, at most
INERTIAL = 4  # most rounds in which inertial forces of joined systems follow their velocities
FOLLOWED = 1e-6  # of the velocities without impulses: a smaller change of these is none
TOO_MUCH_HELD = (
    "Where both ends of a rod are held, hold one by a slider along its axis: a rod that bends comes shorter"
)
BALANCED = 1e-8  # of the largest impulse: largest imbalance of linearised forces


@dataclass(frozen=True, eq=False)
class Instant:
    """The data of a step before its contact problem is solved.

    Parameters
    ----------
    start : State
        The state the step starts from.
    near : ContactsInStep
        The contacts to treat, with the model, the middle of the step and its length.
    systems : SystemsInStep
        Bodies of other kinds.
    kept : Workspace
        Data that methods keep from step to step.
    solved_by : callable, optional
        Solves the contact problem in place of the solver; it is then stated with M, H and J.
    """

    start: State
    near: ContactsInStep
    systems: SystemsInStep
    kept: Workspace
    solved_by: ProblemSolver | None = None

    @property
    def model(self) -> Model:
        """The model of the bodies born so far."""
        return self.near.model

    @property
    def middle(self) -> State:
        """The middle of the step, with the velocities of its start."""
        return self.near.middle

    @property
    def dt(self) -> float:
        """The step (s)."""
        return self.near.dt

    def problem(self, free: Array, joints: JointsInStep | None) -> StepProblem:
        """The contact problem, from the velocities (N, size) without impulses."""
        try:
            stated = self._stated(free, joints)
        except ContradictingJoints as error:
            if joints is None or not joints.hold_systems:
                raise
            raise ContradictingJoints(f"{error}. {TOO_MUCH_HELD}") from None
        stated.problem.kept = self.kept
        return stated

    def _stated(self, free: Array, joints: JointsInStep | None) -> StepProblem:
        near, systems, is_alone = self.near, self.systems, self.solved_by is None
        model, contacts = near.model, near.contacts
        if is_alone and joints is not None and not systems.systems and self._is_small(joints):
            return condensed_problem(near, joints, free)
        if is_alone and joints is None and systems.touch(model, contacts) and are_small(model, systems):
            return small_bodies_problem(near, systems, free)
        if joints is not None or systems.are_linked or systems.touch(model, contacts):
            return mixed_problem(near, systems, free, joints)
        return rigid_problem(near, free, part_of=None if is_alone else len(contacts))

    def _is_small(self, joints: JointsInStep) -> bool:
        links = 0 if joints.acting is None else len(joints.acting.coordinate)
        return (len(self.near.contacts) + links) * self.model.d <= MOST_ROWS


class Solved(NamedTuple):
    """Velocities at the end of a step, and the problem and solution they follow from.

    Parameters
    ----------
    problem : StepProblem
        The last problem.
    solution : Solution
        Its solution.
    velocity : array (N, size)
        Velocities of the rigid bodies.
    others : tuple of arrays
        Velocities of the systems.
    free : array (N, size)
        Velocities without any impulse.
    joints : JointsInStep, or None
        The joints, with rows evaluated for the velocities at the end.
    multipliers : array (j,), or None
        Impulses along their rows.
    systems : SystemsInStep
        Bodies of other kinds, with their forces at these velocities.
    """

    problem: StepProblem
    solution: Solution
    velocity: Array
    others: tuple[Array, ...]
    free: Array
    joints: JointsInStep | None
    multipliers: Array | None
    systems: SystemsInStep


def solved(at: Instant, free: Array, joints: JointsInStep | None, solver: Solver) -> Solved:
    """Find the velocities at the end of a step, from those (N, size) without impulses."""
    answer = _balanced(at, free, joints, solver)
    for _ in range(PIECES):
        systems = answer.systems.in_piece_of(answer.others)
        if systems is answer.systems:
            return answer
        answer = _balanced(replace(at, systems=systems), free, joints, solver)
    return _balanced(replace(at, systems=at.systems.without_pieces()), free, joints, solver)


def _balanced(at: Instant, free: Array, joints: JointsInStep | None, solver: Solver) -> Solved:
    """The velocities at which the forces of systems agree with their linearisation, in given pieces."""
    rounds = INERTIAL if joints is not None and joints.hold_systems else 0
    if rounds:  # without joints the velocities are far from those of the end: those of the start are nearer
        at = replace(at, systems=at.systems.about(tuple(part.v for part in at.systems.parts))[0])
    answer = _linear(at, free, joints, solver)
    for _ in range(rounds):
        systems, change = at.systems.about(answer.others)
        if change <= FOLLOWED:
            break
        at = replace(at, systems=systems)
        answer = _linear(at, free, joints, solver)
    if at.systems.are_linear:
        return answer
    for _ in range(LINEARISATIONS):
        systems, imbalance = at.systems.relinearised(answer.others)
        if imbalance <= BALANCED:
            return answer
        at = replace(at, systems=systems)
        answer = _linear(at, free, joints, solver)
    imbalance = at.systems.relinearised(answer.others)[1]
    if imbalance <= BALANCED:
        return answer
    residual = max(answer.solution.residual, imbalance)
    if residual <= solver.tol:
        return answer._replace(solution=replace(answer.solution, residual=residual))
    note = (
        f"forces of deformable bodies miss {imbalance:.1e} of the largest impulse after {LINEARISATIONS} "
        "linearisations: a shorter time step helps, more iterations do not"
    )
    last = replace(
        answer.solution,
        status=Status.MAX_ITERATIONS,
        residual=residual,
        notes=(*answer.solution.notes, note),
    )
    return answer._replace(solution=last)


def _linear(at: Instant, free: Array, joints: JointsInStep | None, solver: Solver) -> Solved:
    """The velocities with the current linearisation of the systems."""
    if joints is None:
        return _in_contact(at, free, None, solver)
    joints, free = _joined(joints.beside(at.systems, at.kept), free)
    velocity = joints.velocity(free)
    joints = joints.watching(velocity, joints.others(free))
    if joints.hold_systems or joints.touch(at.near.contacts) or joints.acting is not None:
        return _in_contact(at, free, joints, solver)
    apart = _in_contact(at, velocity, None, solver, skip_joined=True)
    unforced = apart.free - (velocity - free)
    return apart._replace(free=unforced, joints=joints, multipliers=joints.multipliers(free))


def _in_contact(
    at: Instant, free: Array, joints: JointsInStep | None, solver: Solver, skip_joined: bool = False
) -> Solved:
    """State and solve the contact problem until the data that depend on its solution have converged.

    ``skip_joined`` does not update the gyroscopic term of jointed bodies, which are not part of it.
    """
    model, middle, state = at.model, at.middle, at.start
    problem = at.problem(free, joints)
    ratio = at.dt / state.dt if state.dt else 1.0
    guess = problem.guess(followed(model, state.impulses, problem.contacts), ratio, state.links)
    solution = _solution(at, problem, solver, guess)
    velocity, others = _velocities(at, problem, solution, free)
    alone = joints is not None and joints.hold_systems and not problem.problem.n_contacts
    share = JOINT_SHARE if alone else JOINT_SHARE_IN_CONTACT
    again = (model.gyrates or joints is not None) and (problem.problem.n_contacts or alone)
    for left in range(GYRO_ROUNDS - 1, -1, -1) if again else ():
        if joints is not None:
            led, turned, matters = _led(joints, free, velocity, others, share)
            passed = led.passed(velocity, others)
            if not (matters or passed.any()) or left == 0:
                break
            joints, free = replace(led, active=led.active | passed), turned
        else:
            excluded = model.is_joined if skip_joined else None
            turned, free, matters = gyrated(model, middle, free, velocity, at.dt, excluded)
            if not matters or left == 0:
                velocity = turned
                break
        last, r = problem, solution.r
        problem = at.problem(free, joints)
        if problem.problem.n_contacts != len(r):  # a limit was added: match impulses by identity
            r = problem.guess(last.impulses(r), 1.0, last.of_links(r))
        solution = _solution(at, problem, solver, r)
        velocity, others = _velocities(at, problem, solution, free)
    multipliers = None
    if joints is not None:
        condensed = problem.condensed
        multipliers = condensed.multipliers(solution.r) if condensed is not None else solution.multipliers
        if multipliers is not None:  # leave out those of constraints of systems, which follow
            multipliers = multipliers[: len(joints.motion.rows)]
    if problem.crushed is not None:
        solution = problem.crushed.refused(solution, model.names)
    return Solved(problem, solution, velocity, others, free, joints, multipliers, at.systems)


def _solution(at: Instant, stated: StepProblem, solver: Solver, guess: Array) -> Solution:
    """The solution from a guess (n, d): even impulses, bodies at rest, a few sweeps, else the solver."""
    if at.solved_by is not None:
        return at.solved_by(stated.problem, guess)
    gain, before = at.dt * at.model.acceleration, at.middle.velocity
    problem, n, carried = stated.problem, len(stated.contacts), at.start.impulses.impulse
    pairs, movable, between = stated.contacts.bodies, at.model.movable, is_between_bodies(problem)
    evens = is_held(at.model) and applies(solver, n)
    solution = None
    if evens and not guess.any() and begins_at_rest(solver, n, before, carried, gain):
        solution = solved_evenly(problem, solver, pairs)
    elif evens and tolerance_at_rest(solver, n, before, gain) < problem.residual(guess) <= solver.tol:
        solution = solved_evenly(problem, solver, pairs, guess)
    elif between and are_at_rest(solver, pairs, movable, before, carried, gain):
        pushed = _pushed(at, problem, solver, guess, pairs)
        solution = solved_at_rest(problem, solver, guess, pushed)
    if solution is not None:
        return solution
    rests = contacts_at_rest(solver, pairs, movable, before, gain) if between else None
    if rests is None:
        solution = _by_solver(problem, solver, guess)
    else:
        solution = _solved_in_parts(at, stated, solver, guess, rests)
    if evens and shared_force_changes(pairs, guess[:n], solution.r[:n], holders(at.model)):
        return solved_evenly(problem, solver, pairs) or solution
    return solution


def _pushed(at: Instant, problem: ContactProblem, solver: Solver, guess: Array, pairs: Indices) -> bool:
    """Whether the impulses of a guess set the bodies of some contacts in motion, which are at rest."""
    before = at.middle.velocity
    after = rigid_velocities(at.model, problem.motion(guess), before)
    return set_in_motion(before, after, solver.tol, at.dt * at.model.acceleration, pairs)


def _by_solver(problem: ContactProblem, solver: Solver, guess: Array) -> Solution:
    return solved_from_near(problem, solver, guess) or solve(problem, solver, guess, check=False)


def _solved_in_parts(at: Instant, stated: StepProblem, solver: Solver, guess: Array, rests: Mask) -> Solution:
    """The solution where some parts are at rest and others move."""
    problem, gain = stated.problem, at.dt * at.model.acceleration
    pairs, carried = stated.contacts.bodies[rests], guess[rests]
    part, others = part_of(problem, rests), part_of(problem, ~rests)
    still = None
    if are_at_rest(solver, pairs, at.model.movable, at.middle.velocity, carried, gain):
        still = solved_at_rest(part, solver, carried, _pushed(at, problem, solver, guess, pairs))
    still = still or _by_solver(part, solver, carried)
    return joined(problem, solver, rests, still, _by_solver(others, solver, guess[~rests]))


def _joined(joints: JointsInStep, free: Array) -> tuple[JointsInStep, Array]:
    """The rows of the joints, and the velocities without joints, for a step without contacts.

    Both depend on the velocities at the end: the rows by the pose there, the velocities by the gyroscopic
    term. The iteration goes astray where rows become redundant within the step: then the motions that the
    rows hardly hold are let go, as few as make it converge.
    """
    given = joints, free
    for rank in (None, *LET_GO):
        joints, free = given
        if rank is not None:
            joints = replace(joints, motion=joints.motion.letting_go(rank))
        velocity, matters = joints.velocity(free), True
        fastest = FARTHEST * max(np.abs(velocity).max(), np.abs(free).max())
        for _ in range(JOINT_ROUNDS):
            joints, free, matters = _led(joints, free, velocity, joints.others(free), JOINT_SHARE)
            velocity = joints.velocity(free)
            if not matters or not np.abs(velocity).max() <= fastest:
                break
        if not matters or not _led(joints, free, velocity, joints.others(free), ASTRAY)[2]:
            break
    return joints, free


def _led(
    joints: JointsInStep, free: Array, velocity: Array, others: tuple[Array, ...], share: float
) -> tuple[JointsInStep, Array, bool]:
    """The joints and the velocities without impulses if the step ends with these velocities (N, size).

    Also returns whether they differ from the present ones by more than a share of the change by impulses.
    """
    model, led, turned = joints.model, joints.led_by(velocity, others), free
    masses = model.masses[model.movable]
    change = joints.change(led)
    if model.gyrates:
        turned = gyrated(model, joints.middle, free, velocity, joints.dt)[1]
        change += 0.5 * float(np.sum(masses * (turned - free)[model.movable] ** 2))
    by_impulses = 0.5 * float(np.sum(masses * (velocity - free)[model.movable] ** 2))
    if joints.hold_systems:
        for M, v, v_free in zip(joints.systems.mass, others, joints.systems.free, strict=True):
            by_impulses += 0.5 * float((v - v_free) @ (M @ (v - v_free)))
    return led, turned, not change <= share**2 * by_impulses


def _velocities(
    at: Instant, problem: StepProblem, solution: Solution, free: Array
) -> tuple[Array, tuple[Array, ...]]:
    """Velocities of all rigid bodies, walls included, and of the systems, from the solution."""
    if problem.condensed is not None:
        return problem.condensed.velocity(solution.r), at.systems.free
    v = solution.v
    assert v is not None
    others, rigid = at.systems.free, int(at.model.movable.sum()) * free.shape[1]
    if len(v) > rigid:  # those of systems follow, and one for each soft row of joints
        v, others = split_velocity(v, rigid, at.systems)
    return rigid_velocities(at.model, v, free), others


def rigid_velocities(model: Model, v: Array | None, free: Array) -> Array:
    """Velocities (N, size) of the rigid bodies from those (m,) of the movable ones in a problem.

    ``free`` are the velocities of bodies that no impulse changes.
    """
    assert v is not None
    velocity = np.empty_like(free)
    velocity[model.walls] = free[model.walls]
    velocity[model.moving] = v.reshape(-1, free.shape[1])
    if model.blocked is not None:
        velocity = np.where(model.blocked, free, velocity)
    return velocity
