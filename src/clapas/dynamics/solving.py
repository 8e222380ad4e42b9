"""The velocities at the end of a step: the contact problem, with what depends on its answer.

Most steps state one problem and solve it. Two things that go into the problem depend weakly on the velocities
that come out of it: the gyroscopic term of bodies that spin, and what joints impose, which is said at the end
of the step (:mod:`clapas.dynamics.joints.instep`). Both are found by repeating, and the repetition ends when
they change less than a small share of what impulses change. A third thing depends on them by jumps: which
cables are taut (:class:`clapas.bodies.kind.Pieces`). There the repetition ends when none has changed, with
the exact answer; where it does not end, the cables join the contact problem as links.

Jointed bodies that nothing touches, and on which no limit, friction or bounded motor acts, are no part of the
contact problem: there the repetition costs little.

Systems whose forces are not linear are linearised about the answer, until the forces there agree: Newton's
method with a contact problem in place of a linear system.

Structures at rest. What a tolerance leaves of a structure at rest adds up. Carried impulses that are out of
balance by a residual ε accelerate it: velocities grow with the number k of steps as k ε, gaps as k² ε / 2.
Two things follow.

*The first impulses are found better than asked for.* Where nothing is carried and nothing moves, the least
impulses that hold all bodies at rest are looked for first, by Newton steps that end at rounding
(:mod:`clapas.solvers.least_impulses`); where nothing holds them, or a factorisation would be dear, the
accelerated projection is tried, down to a millionth of the tolerance. Coordinates are exact then, so that no
gap disturbs. Hundreds of steps that follow cost one residual each.

*Later they are found again, now and then.* Under fixed impulses a body that turns a little is a pendulum
upside down: below the weight of twelve courses what rounding leaves grows by 8 % a step, and after two to
three hundred steps it is as large as the tolerance. Bodies still hardly move then, and the impulses
nearest to the carried ones stop them. A second time is needed in the next step, because impulses that stop a
motion push back if they last (:func:`set_in_motion`). All this is decided by the state alone, so that a
resumed run goes on alike.

*Impulses beyond the tolerance by little are swept*, where bodies move. A dozen plain sweeps, contact after
contact in the given order, mostly put that right. They need nothing but the blocks of the contacts, so that
in the step of few bodies (:mod:`clapas.dynamics.few`) they are part of one compiled call. Here is the same
for the general step, by the same kernels: the impulses are the same, bit by bit. Where a dozen sweeps are not
enough the solver begins from the carried impulses, as if they had not been done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from clapas.bodies.rigid.motion import GYRO_ROUNDS
from clapas.convex.coulomb import CoulombCone
from clapas.dynamics.assembly import StepProblem, step_problem
from clapas.dynamics.condensed import MOST_ROWS, condensed_problem
from clapas.dynamics.evenness import (
    are_shared_anew,
    begins_at_rest,
    holders,
    is_held,
    looks_after,
    solved_evenly,
    tolerance_at_rest,
)
from clapas.dynamics.freemotion import gyrated
from clapas.dynamics.joints.instep import JointsInStep
from clapas.dynamics.mixed import mixed_problem
from clapas.dynamics.model import Model, State
from clapas.dynamics.small_bodies import are_small, small_bodies_problem
from clapas.dynamics.systems import SystemsInStep, split_velocity
from clapas.dynamics.warm_start import followed
from clapas.geometry.colliders import Contacts
from clapas.problems.blocks import BodyBlocks
from clapas.problems.contact import ContactProblem
from clapas.problems.workspace import Workspace
from clapas.solvers import NSGS, AcceleratedProjection, Auto, Solution, solve
from clapas.solvers.least_impulses import LeastImpulses, can_rest
from clapas.solvers.loop import Solver, iterate
from clapas.solvers.nsgs import Given
from clapas.solvers.nsgs.dozen import AT_A_TIME, MEASURED
from clapas.solvers.nsgs.orders import SEVERAL
from clapas.status import Status
from clapas.typing import Array

AT_START, FINEST = 1e-6, 1e-11
"""Share of the tolerance that the first impulses are to reach, and the residual that is always enough."""
EVEN = 0.7
"""Preload from which the departure of impulses is least: of 816 contacts of a wall 82 bear nothing without
it, none with it, so that they are the same contacts from step to step."""
NEWTON_STEPS = 20
"""Steps to the least impulses at the start: five for a wall, one more every now and then for rubble."""
FEW_STEPS = 3
"""Steps from carried impulses to those nearest to them: one, unless contacts begin to bear or to slide."""
PRODUCTS = 3000
"""Steps of the accelerated projection at the start: less than a second for thousands of contacts."""
SLACK = 2.0
"""Tolerances up to which gaps that a step would close are no gaps, beside the free velocity: between bodies
at rest they are what the tolerance left. With 0.1 half of the attempts failed, and long runs took half as
long again. The judge has the last word."""
ROUGH = 1e3
"""Residuals below so many tolerances, and speeds below as large a share of what gravity gives in a step, are
those of bodies at rest whose impulses have become rough."""
STOPPED, STILL = 100.0, 1e-3
"""Bodies are set in motion where speeds grow by this factor in a step, and are then more than this share of
the tolerance beside what gravity gives in a step."""
MOST_AT_REST = 100_000
"""Contacts up to which the start is taken care of."""
NEAR = 10.0
"""Residuals below so many tolerances are nearly good."""
MOST_SWEPT = 5000
"""Contacts up to which this is done; beyond, sweeps of many contacts at a time are faster."""
DOZEN = AT_A_TIME * (MEASURED - 1)


def begins_with_sweeps(solver: Solver) -> bool:
    """Whether a solver begins with plain sweeps and may do a dozen of them."""
    is_plain = isinstance(solver, Auto) or (
        type(solver) is NSGS
        and NSGS(tol=solver.tol, max_iterations=solver.max_iterations, time_limit=solver.time_limit) == solver
    )
    return is_plain and solver.max_iterations >= DOZEN and solver.time_limit == np.inf


def are_at_rest(solver: Solver, n_contacts: int, velocity: Array, gain: float) -> bool:
    """Whether bodies hardly move, and whether that is looked after.

    ``velocity`` (N, size) is that at the start of the step, ``gain`` the speed that gravity gives in it.
    """
    if not (isinstance(solver, Auto) and SEVERAL <= n_contacts <= MOST_AT_REST):
        return False
    if solver.max_iterations < PRODUCTS or solver.time_limit < np.inf:
        return False
    return float(np.abs(velocity).max(initial=0.0)) <= ROUGH * solver.tol * gain


def set_in_motion(before: Array, after: Array, tol: float, gain: float) -> bool:
    """Whether a step set bodies at rest in motion, from velocities before to velocities after (N, size).

    Impulses that brought moving bodies to rest are too strong in the next step: they push them back.
    """
    speed = float(np.abs(after).max(initial=0.0))
    if speed <= STILL * tol * gain:
        return False
    return speed > STOPPED * float(np.abs(before).max(initial=0.0))


def solved_at_rest(
    problem: ContactProblem, solver: Solver, guess: Array, pushes_back: bool = False
) -> Solution | None:
    """The impulses of bodies at rest, better than the tolerance asks; None where they are not found.

    ``guess`` (n, d) is what is carried from before the step; ``pushes_back`` says that they are to be found
    even if it is within the tolerance.
    """
    if not is_between_bodies(problem):
        return None
    begins = not guess.any()
    least = 0.0 if pushes_back else solver.tol
    if not begins and not least < problem.residual(guess) <= ROUGH * solver.tol:
        return None
    goal = max(AT_START * solver.tol, min(FINEST, solver.tol))
    for name, method in _methods(problem, solver.tol, goal, begins):
        found = iterate(problem, method, guess)
        if found.residual <= solver.tol:
            note = f"{name}: {found.iterations} iterations, residual {found.residual:.1e}"
            return replace(found, solver=solver, status=Status.SOLVED, notes=(note,))
    return None


def _methods(problem: ContactProblem, tol: float, goal: float, begins: bool) -> Iterator[tuple[str, Solver]]:
    if can_rest(problem):
        least = LeastImpulses(
            tol=min(FINEST, goal), max_iterations=NEWTON_STEPS, slack=SLACK * tol, preload=EVEN
        )
        if not begins:
            yield "nearest-impulses", replace(least, max_iterations=FEW_STEPS, nearest=True)
        yield "least-impulses", least
    if begins:
        yield "accelerated-projection", AcceleratedProjection(tol=goal, max_iterations=PRODUCTS)


def solved_from_near(problem: ContactProblem, solver: Solver, guess: Array) -> Solution | None:
    """The solution by a dozen sweeps from a guess (n, d) that is nearly good; None where that does not serve.

    Fewer than 64 contacts are swept in the given order by the solver itself.
    """
    if not (SEVERAL <= problem.n_contacts <= MOST_SWEPT and begins_with_sweeps(solver)):
        return None
    if not is_between_bodies(problem):
        return None
    if not solver.tol < problem.residual(guess) < NEAR * solver.tol:
        return None
    sweeps = NSGS(tol=solver.tol, max_iterations=DOZEN, order=Given(), acceleration=0)
    found = iterate(problem, sweeps, guess)
    if not found.status.is_solved:
        return None
    notes = (f"nsgs: {found.iterations} iterations",) if isinstance(solver, Auto) else ()
    return replace(found, solver=solver, notes=notes)


def is_between_bodies(problem: ContactProblem) -> bool:
    """Whether contacts slide and join two bodies of one size each."""
    by_bodies = problem.is_by_blocks and type(problem.blocks) is BodyBlocks
    return by_bodies and isinstance(problem.cone, CoulombCone)


JOINT_ROUNDS = 12  # at most, to find what joints impose and the gyroscopic term without contacts
JOINT_SHARE = 1e-12  # of what joints and contacts change: less is rounding
PIECES = 20  # tried at most, before what changes from piece to piece joins the contact problem
JOINT_SHARE_IN_CONTACT = 1e-5  # the same where each round is a contact problem
Answering = Callable[[ContactProblem, Array], Solution]
"""Solves the contact problem of a step from a guess (n, d)."""
LINEARISATIONS = 12  # of nonlinear systems in one step, at most
BALANCED = 1e-8  # of the largest impulse: what linearised forces may miss


@dataclass(frozen=True, eq=False)
class Instant:
    """What a step knows before it is solved.

    Parameters
    ----------
    model : Model
        The bodies.
    start, middle : State
        The state the step starts from, and its middle with the velocities of the start.
    systems : SystemsInStep
        Bodies of other kinds.
    contacts : Contacts
        Those to treat.
    touching : float
        Gap up to which they touch (m).
    lead : array (n, d), or None
        What the velocities of walls miss at them.
    dt : float
        The step (s).
    kept : Workspace
        What methods keep from step to step.
    solved_by : callable, optional
        Who solves the contact problem in place of the solver; it is then stated with M, H and J.
    """

    model: Model
    start: State
    middle: State
    systems: SystemsInStep
    contacts: Contacts
    touching: float
    lead: Array | None
    dt: float
    kept: Workspace
    solved_by: Answering | None = None

    def problem(self, free: Array, joints: JointsInStep | None) -> StepProblem:
        """The contact problem, given the velocities (N, size) without impulses."""
        stated = self._stated(free, joints)
        stated.problem.kept = self.kept
        return stated

    def _stated(self, free: Array, joints: JointsInStep | None) -> StepProblem:
        model, middle, contacts, others = self.model, self.middle, self.contacts, self.systems
        h, touching, lead = self.dt, self.touching, self.lead
        is_alone = self.solved_by is None
        if is_alone and joints is not None and not others.systems and self._is_small(joints):
            return condensed_problem(model, joints, middle, contacts, free, h, touching, lead)
        if is_alone and joints is None and others.touch(model, contacts) and are_small(model, others):
            return small_bodies_problem(model, others, middle, contacts, free, h, touching, lead)
        if joints is not None or others.are_linked or others.touch(model, contacts):
            return mixed_problem(model, others, middle, contacts, free, h, touching, lead, joints)
        part_of = None if is_alone else len(contacts)
        return step_problem(model, middle, contacts, free, h, touching, lead, part_of=part_of)

    def _is_small(self, joints: JointsInStep) -> bool:
        links = 0 if joints.acting is None else len(joints.acting.coordinate)
        return (len(self.contacts) + links) * self.model.d <= MOST_ROWS


class Solved(NamedTuple):
    """Velocities at the end of a step and what made them.

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
        The joints, as the velocities at the end lead them.
    multipliers : array (j,), or None
        Impulses along their rows.
    systems : SystemsInStep
        Bodies of other kinds, with the forces they have at these velocities.
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
    """The velocities at which the forces of systems, in their pieces, are those of the linearisation."""
    answer = _linear(at, free, joints, solver)
    if at.systems.are_linear:
        return answer
    for _ in range(LINEARISATIONS):
        systems, missing = at.systems.relinearised(answer.others)
        if missing <= BALANCED:
            return answer
        at = replace(at, systems=systems)
        answer = _linear(at, free, joints, solver)
    missing = at.systems.relinearised(answer.others)[1]
    if missing <= BALANCED:
        return answer
    last = replace(
        answer.solution, status=Status.MAX_ITERATIONS, residual=max(answer.solution.residual, missing)
    )
    return answer._replace(solution=last)


def _linear(at: Instant, free: Array, joints: JointsInStep | None, solver: Solver) -> Solved:
    """The same where systems are as linear as they are now."""
    if joints is None:
        return _in_contact(at, free, None, solver)
    joints, free = _joined(joints.beside(at.systems, at.kept), free)
    velocity = joints.velocity(free)
    joints = joints.watching(velocity, joints.others(free))
    if joints.hold_systems or joints.touch(at.contacts) or joints.acting is not None:
        return _in_contact(at, free, joints, solver)
    apart = _in_contact(at, velocity, None, solver, but_joined=True)
    unforced = apart.free - (velocity - free)
    return apart._replace(free=unforced, joints=joints, multipliers=joints.multipliers(free))


def _in_contact(
    at: Instant, free: Array, joints: JointsInStep | None, solver: Solver, but_joined: bool = False
) -> Solved:
    """State and solve the contact problem until what depends on its answer has settled.

    ``but_joined`` leaves alone the gyroscopic term of jointed bodies that are no part of it.
    """
    model, middle, state = at.model, at.middle, at.start
    problem = at.problem(free, joints)
    longer = at.dt / state.dt if state.dt else 1.0
    guess = problem.guess(followed(model, state.impulses, problem.contacts), longer, state.links)
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
            but = model.is_joined if but_joined else None
            turned, free, matters = gyrated(model, middle, free, velocity, at.dt, but)
            if not matters or left == 0:
                velocity = turned
                break
        last, r = problem, solution.r
        problem = at.problem(free, joints)
        if problem.problem.n_contacts != len(r):  # a limit has joined: impulses are found by identity
            r = problem.guess(last.impulses(r), 1.0, last.of_links(r))
        solution = _solution(at, problem, solver, r)
        velocity, others = _velocities(at, problem, solution, free)
    multipliers = None
    if joints is not None:
        its = problem.condensed
        multipliers = its.multipliers(solution.r) if its is not None else solution.multipliers
        if multipliers is not None:  # those of constraints of systems follow
            multipliers = multipliers[: len(joints.motion.rows)]
    return Solved(problem, solution, velocity, others, free, joints, multipliers, at.systems)


def _solution(at: Instant, stated: StepProblem, solver: Solver, guess: Array) -> Solution:
    """The solution from a guess (n, d): by whoever is told to, evenly, from rest, from near, or solved."""
    if at.solved_by is not None:
        return at.solved_by(stated.problem, guess)
    gain, before = at.dt * float(np.linalg.norm(at.model.gravity)), at.middle.velocity
    problem, n = stated.problem, len(stated.contacts)
    is_looked_after = is_held(at.model) and looks_after(solver, n)
    pairs = np.column_stack((stated.contacts.a, stated.contacts.b))
    found, carried = None, at.start.impulses.impulse
    finer = tolerance_at_rest(solver, n, before, gain)
    if is_looked_after and not guess.any() and begins_at_rest(solver, n, before, carried, gain):
        found = solved_evenly(problem, solver, pairs)
    elif is_looked_after and finer < problem.residual(guess) <= solver.tol:
        found = solved_evenly(problem, solver, pairs, guess)
    elif are_at_rest(solver, problem.n_contacts, before, gain) and is_between_bodies(problem):
        after = problem.motion(guess)
        found = solved_at_rest(problem, solver, guess, set_in_motion(before, after, solver.tol, gain))
    if found is not None:
        return found
    found = solved_from_near(problem, solver, guess) or solve(problem, solver, guess, check=False)
    if is_looked_after and are_shared_anew(pairs, guess[:n], found.r[:n], holders(at.model)):
        return solved_evenly(problem, solver, pairs) or found
    return found


def _joined(joints: JointsInStep, free: Array) -> tuple[JointsInStep, Array]:
    """What the joints impose, and velocities without joints, if there were no contact.

    Both depend on the velocities at the end: what joints impose by the pose there, the others by the
    gyroscopic term.
    """
    velocity = joints.velocity(free)
    for _ in range(JOINT_ROUNDS):
        joints, free, matters = _led(joints, free, velocity, joints.others(free), JOINT_SHARE)
        velocity = joints.velocity(free)
        if not matters:
            break
    return joints, free


def _led(
    joints: JointsInStep, free: Array, velocity: Array, others: tuple[Array, ...], share: float
) -> tuple[JointsInStep, Array, bool]:
    """The joints and the velocities without impulses if the step ends with these velocities (N, size).

    Last whether they differ from those given by more than a share of what impulses change.
    """
    model, led, turned = joints.model, joints.led_by(velocity, others), free
    own = model.masses[model.movable]
    change = joints.change(led)
    if model.gyrates:
        turned = gyrated(model, joints.middle, free, velocity, joints.dt)[1]
        change += 0.5 * float(np.sum(own * (turned - free)[model.movable] ** 2))
    kick = 0.5 * float(np.sum(own * (velocity - free)[model.movable] ** 2))
    if joints.hold_systems:
        for M, v, own_free in zip(joints.systems.mass, others, joints.systems.free, strict=True):
            kick += 0.5 * float((v - own_free) @ (M @ (v - own_free)))
    return led, turned, change > share**2 * kick


def _velocities(
    at: Instant, problem: StepProblem, solution: Solution, free: Array
) -> tuple[Array, tuple[Array, ...]]:
    """Velocities of all rigid bodies, walls included, and of the systems, from the answer of the problem."""
    if problem.condensed is not None:
        return problem.condensed.velocity(solution.r), at.systems.free
    v = solution.v
    assert v is not None
    rigid, others = int(at.model.movable.sum()) * free.shape[1], at.systems.free
    if len(v) > rigid:
        v, others = split_velocity(v, rigid, at.systems)
    return rigid_velocities(at.model, v, free), others


def rigid_velocities(model: Model, v: Array | None, free: Array) -> Array:
    """Velocities (N, size) of the rigid bodies from those (m,) of the movable ones in a problem.

    ``free`` are the velocities of bodies that no impulse changes.
    """
    assert v is not None
    velocity = free.copy()
    velocity[model.moving] = v.reshape(-1, free.shape[1])
    if model.blocked is not None:
        velocity = np.where(model.blocked, free, velocity)
    return velocity
