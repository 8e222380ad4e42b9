"""Steps in which rank 0 hosts bodies of other kinds and mechanisms.

A truss, a rod, an elastic body or a set of jointed bodies is not divided by borders: rank 0 owns its
carriers and bodies, and every contact with them. It takes the ordinary step
(:func:`clapas.dynamics.stepping.step`) of what it knows, with one difference: where that step solves a
contact problem, all ranks add their contacts to it,

    M = diag(M_host, masses of bodies that the host does not know),    H = [[H_host, 0], [H_1], [H_2], …],

and the host solves the whole by any method. The others follow: in each round of the host they send the
contacts of their rigid bodies and receive impulses and velocities. Detection, free motion, births and the end
of the step are shared by all ranks as in runs of rigid bodies alone; the solution is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from clapas.bodies.rigid.motion import GYRO_ROUNDS, work
from clapas.distributed.communication import Ranks
from clapas.distributed.domain import Domain
from clapas.dynamics.assembly import ContactsInStep
from clapas.dynamics.contact_table import contact_modes
from clapas.dynamics.freemotion import free_motion, gyrated, work_of_loads
from clapas.dynamics.model import Model
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.rigid_problem import rigid_problem
from clapas.dynamics.schemes import MoreauJean
from clapas.dynamics.solving import rigid_velocities
from clapas.dynamics.state import State
from clapas.dynamics.step_problem import StepProblem
from clapas.dynamics.stepping import StepResult, step
from clapas.geometry.colliders import Contacts
from clapas.problems.contact import ROUNDING, ContactProblem
from clapas.solvers import Solution, solve
from clapas.solvers.loop import Solver
from clapas.solvers.solution import History
from clapas.status import Status
from clapas.typing import Array, Indices, Mask

ASKS, ENDS = 1.0, 0.0  # signals of the host before each round


class Share(NamedTuple):
    """Contribution of a rank to the global problem.

    Parameters
    ----------
    bodies : array (k,)
        Numbers in the model of the movable bodies it knows, growing.
    masses, free : arrays (k, size)
        Mass of each of their velocities, and these without impulses.
    pull : array (k, size)
        Momentum that cohesion at its contacts takes from them.
    H : sparse matrix (d·n × k·size)
        Its contacts.
    w, guess : arrays (n, d)
        Imposed velocities and impulses to begin with.
    mu : array (n,)
        Friction.
    largest : float
        The largest term that a free velocity at its contacts is a sum of (m/s).
    """

    bodies: Indices
    masses: Array
    free: Array
    pull: Array
    H: sparse.csr_array
    w: Array
    mu: Array
    guess: Array
    largest: float


class Reply(NamedTuple):
    """Result sent to a rank: its impulses, velocities (k, size) of the bodies it knows, and the status.

    ``n_contacts`` counts the contacts of all ranks.
    """

    r: Array
    velocity: Array
    status: Status
    residual: float
    iterations: int
    seconds: float
    n_contacts: int


# ---------------------------------------------------------------------- the host


class HostNeighbours(Neighbours):
    """The contacts that belong to the host, found in its domain; its steps are the general ones."""

    def __init__(self, domain: Domain) -> None:
        self._domain, self.kept = domain, domain.kept

    def few(self, state: State) -> None:
        """No compiled step: the contacts of other ranks join its problem."""

    def mechanism(self, state: State) -> None:
        """No compiled step either."""

    def detect(self, state: State, distance: float) -> Contacts:
        """The contacts of the host with gap ≤ distance."""
        return self._domain.mine(self._domain.detector.detect(state.position, state.orientation, distance))


class Gathering:
    """Solves the problems of the host's step together with the contacts of the other ranks."""

    def __init__(self, domain: Domain, solver: Solver, asleep: Mask | None) -> None:
        self._ranks, self._solver = domain.ranks, solver
        movable = domain.model.movable
        self._known = domain.ids[movable if asleep is None else movable & ~asleep]
        self._size = domain.model.velocity.shape[1]
        self.iterations, self.seconds, self.n_contacts = 0, 0.0, 0

    def __call__(self, problem: ContactProblem, guess: Array) -> Solution:
        """The host's part of the solution of the global problem."""
        self._ranks.largest(ASKS)
        while True:
            solution = self._round(problem, guess)
            guess = solution.r
            if self._ranks.largest(0.0) == 0.0:  # the gyroscopic terms of the other ranks have converged
                return solution

    def _round(self, problem: ContactProblem, guess: Array) -> Solution:
        shares: list[Share] = [share for share in self._ranks.comm.gather(None) if share is not None]
        global_problem, new = joined(problem, self._known, self._size, shares)
        start = np.concatenate((guess, *(share.guess for share in shares)))
        solution = _solved(
            global_problem, self._solver, start, max((share.largest for share in shares), default=0.0)
        )
        self.iterations += solution.iterations
        self.seconds += solution.time
        self.n_contacts = global_problem.n_contacts
        v = solution.v
        assert v is not None
        n, m = problem.n_contacts, problem.n_dof
        ends = np.cumsum([n, *(len(share.mu) for share in shares)])
        rows = np.concatenate((v[: self._size * len(self._known)], v[m:])).reshape(-1, self._size)
        bodies = np.concatenate((self._known, new))
        place = np.argsort(bodies)
        replies: list[Reply | None] = [None]
        for k, share in enumerate(shares):
            velocities, is_in_problem = share.free.copy(), np.isin(share.bodies, bodies)
            velocities[is_in_problem] = rows[
                place[np.searchsorted(bodies, share.bodies[is_in_problem], sorter=place)]
            ]
            verdict = solution.status, solution.residual, self.iterations, self.seconds, self.n_contacts
            replies.append(Reply(solution.r[ends[k] : ends[k + 1]], velocities, *verdict))
        self._ranks.comm.scatter(replies)
        host_solution = replace(solution, problem=problem, r=solution.r[:n], moved=v[:m])
        host_solution.__dict__["multipliers"] = solution.multipliers  # all joints are on the host
        return host_solution


def joined(
    problem: ContactProblem, known: Indices, size: int, shares: Sequence[Share]
) -> tuple[ContactProblem, Indices]:
    """The global problem, and the numbers of its bodies that the host does not know.

    ``known`` are the movable bodies of the host's problem in the order of its velocities, ``size`` to each;
    velocities of other kinds follow, then those of the bodies that it does not know.
    """
    shares = [share for share in shares if len(share.mu)]
    if not shares:
        return problem, np.empty(0, dtype=np.int64)
    bodies = np.concatenate([share.bodies for share in shares])
    new, first = np.unique(bodies[~np.isin(bodies, known)], return_index=True)
    first = np.flatnonzero(~np.isin(bodies, known))[first]
    masses = np.concatenate([share.masses for share in shares])[first]
    free = np.concatenate([share.free for share in shares])[first]
    m = problem.n_dof
    M = sparse.block_diag([problem.M, sparse.diags_array(masses.ravel())], format="csr")
    f = np.concatenate((problem.f, -(masses * free).ravel()))
    H = sparse.csr_array(problem.H, copy=True)
    H.resize(problem.H.shape[0], m + new.size * size)
    rows = [H]
    for share in shares:
        at = np.searchsorted(known, share.bodies)
        is_known = np.isin(share.bodies, known)
        begin = np.where(is_known, size * at, m + size * np.searchsorted(new, share.bodies))
        column = (begin[:, None] + np.arange(size)).ravel()
        np.add.at(f, column, share.pull.ravel())
        moved = share.H.data, column[share.H.indices], share.H.indptr
        rows.append(sparse.csr_array(moved, shape=(share.H.shape[0], len(f))))
    J, C = problem.J, problem.compliance
    if J is not None:
        J = sparse.csr_array(J, copy=True)
        J.resize(J.shape[0], len(f))
    if C is not None:
        C = np.concatenate((C, *(np.zeros_like(share.w) for share in shares)))
    result = type(problem)(
        M=M,
        H=sparse.vstack(rows, format="csr"),
        f=f,
        w=np.concatenate((problem.w, *(share.w for share in shares))),
        mu=np.concatenate((problem.mu, *(share.mu for share in shares))),
        J=J,
        b=problem.b,
        compliance=C,
        d=problem.d,
    )
    result.kept = problem.kept
    return result, new


def _solved(whole: ContactProblem, solver: Solver, guess: Array, most: float) -> Solution:
    """The solution; zero impulses if the relative velocity is rounding (see ``assembly.is_rounding``)."""
    if whole.n_contacts == 0 or whole.free_speeds[1] > 16.0 * ROUNDING * most:
        return solve(whole, solver, guess, check=False)
    return Solution(
        problem=whole,
        solver=solver,
        r=np.zeros_like(guess),
        status=Status.SOLVED,
        residual=0.0,
        iterations=0,
        time=0.0,
        history=History(),
    )


# ---------------------------------------------------------------------- the step


class HostedStep(NamedTuple):
    """A step of the host as :class:`clapas.distributed.stepping.RankStep` needs it."""

    result: StepResult
    mode: Indices
    solved: Mask | None
    work: float
    given: float
    iterations: int
    seconds: float
    n_contacts: int


def step_of_host(
    domain: Domain, state: State, dt: float, solver: Solver, scheme: MoreauJean, asleep: Mask | None
) -> HostedStep:
    """The step of rank 0. Work on copies is counted by their owners."""
    gathering, model = Gathering(domain, solver, asleep), domain.model
    result = step(
        model, state, dt, solver, scheme, HostNeighbours(domain), asleep=asleep, solved_by=gathering
    )
    domain.ranks.largest(ENDS)
    copies = ~domain.is_own
    loads = {body: load for body, load in model.loads.items() if copies[body]}
    others = replace(model, movable=model.movable & copies, loads=loads)
    free, velocity = free_motion(model, result.middle, dt), result.state.velocity
    if model.gyrates:
        free = gyrated(model, result.middle, free, velocity, dt)[1]
    taken = work(model.mass, model.inertia, others.movable, result.middle.velocity, free, velocity)
    given = work_of_loads(others, state.velocity, result.middle, velocity, dt)
    solved = None if result.rows is None or asleep is None else result.rows >= 0
    return HostedStep(
        result,
        contact_modes(result),
        solved,
        result.work - taken,
        result.given - given,
        gathering.iterations,
        gathering.seconds,
        gathering.n_contacts,
    )


class Followed(NamedTuple):
    """The state of a rank that is not the host after the rounds of the host."""

    part: StepProblem
    reply: Reply
    velocity: Array
    free: Array


def follow_host(domain: Domain, near: ContactsInStep, state: State, free: Array) -> Followed:
    """State the contacts of this rank in each round of the host; the last solution counts."""
    ranks, model, middle, dt = domain.ranks, near.model, near.middle, near.dt
    longer = dt / state.dt if state.dt else 1.0
    guess: Array | None = None
    last: Followed | None = None
    while ranks.largest(0.0) == ASKS:
        for left in range(GYRO_ROUNDS - 1, -1, -1):
            part = rigid_problem(near, free, part_of=len(near.contacts))
            part.problem.kept = domain.kept
            guess = part.guess(state.impulses, longer) if guess is None else guess
            reply = _exchanged(ranks, _share(domain, model, part, free, guess))
            velocity = rigid_velocities(model, reply.velocity.ravel(), free)
            matters, guess = False, reply.r
            if model.gyrates:
                velocity, free, matters = gyrated(model, middle, free, velocity, dt)
            last = Followed(part, reply, velocity, free)
            if not ranks.any(matters and left > 0):
                break
    assert last is not None, "the host solves at least once in every step"
    return last


def _share(domain: Domain, model: Model, part: StepProblem, free: Array, guess: Array) -> Share:
    problem, movable = part.problem, model.movable
    masses, without = model.masses[movable], free[movable]
    pull = problem.f.reshape(masses.shape) + masses * without
    blocks = problem.blocks
    assert blocks is not None
    wall = 0.0 if part.wall is None else float(np.max(np.abs(part.wall), initial=0.0))
    largest = blocks.largest_term() + wall if len(guess) else 0.0
    bodies = domain.ids[movable]
    return Share(bodies, masses, without, pull, problem.H, problem.w, problem.mu, guess, largest)


def _exchanged(ranks: Ranks, share: Share) -> Reply:
    ranks.comm.gather(share)
    reply: Reply = ranks.comm.scatter(None)
    return reply
