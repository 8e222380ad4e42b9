"""Simulation of a model: the loop over time steps, and the object that advances them one by one.

All runs go through :class:`Simulation`: a script that controls a robot calls :meth:`Simulation.step`,
:func:`simulate` and the command line call :meth:`Simulation.run`. The changing data are one immutable
:class:`~clapas.dynamics.state.State`; a step replaces it. To branch, keep a state; to go
back, restore it. The same state gives the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from clapas.bodies.kind import Energy
from clapas.dynamics.births import initial_state
from clapas.dynamics.contact_table import ContactTable
from clapas.dynamics.handles import BodyHandle, JointHandle, known_name
from clapas.dynamics.joints.commands import Commands
from clapas.dynamics.joints.instep import coordinates_of, joint_rates, placed_in
from clapas.dynamics.joints.projection import OPEN
from clapas.dynamics.loads import Load
from clapas.dynamics.model import Model
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.probe_readings import read
from clapas.dynamics.representable import require_places, require_speeds
from clapas.dynamics.schemes import MoreauJean, MoreauMidpoint
from clapas.dynamics.sleep import Sleeping
from clapas.dynamics.state import State
from clapas.dynamics.stepping import StepResult
from clapas.dynamics.subdivision import divided_step
from clapas.dynamics.systems import energy_of
from clapas.errors import NotSolved, SceneError, SettingsError
from clapas.scenes.alarms import Alarms
from clapas.scenes.compilation import compile_scene
from clapas.scenes.recorders import RecordedStep, Recorder, Summary, Watcher
from clapas.scenes.running import run_steps
from clapas.scenes.scene import Scene
from clapas.scenes.settings import (
    OnUnsolved,
    check_every,
    check_methods,
    check_run,
    checked_choice,
    checked_step,
    named_scheme,
    named_sleeping,
    named_solver,
)
from clapas.solvers.loop import Solver, is_all_that_rounding_leaves
from clapas.solvers.solution import Solution
from clapas.status import Status
from clapas.typing import Indices
from clapas.units import counted


def energy(model: Model, state: State) -> Energy:
    """Kinetic energy, and potential energy of gravity and springs, of movable bodies, rotors and systems."""
    alive = model.first(state.n_bodies)
    others = energy_of(alive, state)
    moving = alive.movable
    with np.errstate(over="ignore", invalid="ignore"):  # infinity is returned here, and rejected by runs
        kinetic = 0.5 * float(np.sum(alive.masses_of(moving) * state.velocity[moving] ** 2))
    height = state.position[moving] @ alive.gravity
    springs = 0.0
    if alive.joints is not None:
        x, drives = coordinates_of(alive, state), alive.joints.drives
        springs = drives.potential(x)
        if drives.armature.any():
            kinetic += drives.kinetic(joint_rates(alive, state, x))
    potential = others.potential + springs - float(alive.mass[moving] @ height)
    return Energy(kinetic + others.kinetic, potential)


def _require_closed(model: Model, state: State) -> None:
    """Refuse a state in which joints are open: it is that of bodies joined at other points."""
    rows = model.joints
    if rows is None or state.n_bodies < model.n_bodies:
        return
    gap = np.abs(rows.gap(placed_in(model, state, state.coordinates)[0]))
    if not gap.max(initial=0.0) <= OPEN * (1.0 + np.abs(state.position).max(initial=0.0)):
        worst, n = int(np.argmax(gap)), rows.n_closing
        name = rows.names[rows.joint[worst]] if worst < n else rows.mimics[worst - n].follower
        raise SettingsError(
            f"reset: joint '{name}' is open by {gap[worst]:.1e} in this state: bodies are joined elsewhere "
            "in the scene it comes from. Place and turn bodies as joints would (load_robot does, by joints=…)"
        )


@dataclass
class _Attached:
    """An attached recorder: it stores one step in ``every``, counted from step ``origin``."""

    recorder: Recorder
    every: int
    origin: int
    kept: int  # the last recorded step
    worst: float = 0.0  # largest residual since


# -------------------------------------------------------------------- the simulation


@dataclass(frozen=True)
class Snapshot:
    """Simulation data at one time, for :meth:`Simulation.reset`.

    It holds references, no copies: states are never changed, only replaced.

    Parameters
    ----------
    state : State
        Positions, velocities, impulses: all that determines the following steps.
    work, external_work : float
        Work since the start, as in :class:`Simulation`.
    last : tuple of StepResult
        The parts of the last step, for its contacts and reactions.
    targets : mapping
        Targets of motors by names of joints, where they differ from the scene.
    """

    state: State
    work: float = 0.0
    external_work: float = 0.0
    last: tuple[StepResult, ...] = ()
    targets: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Snapshot(step {self.state.step}, t = {self.state.time:.6g} s)"


class Simulation:
    """A simulation advanced step by step, for controllers, games and experiments.

    Parameters
    ----------
    scene : Scene or Model
        The scene, which is compiled, or a model; its ``run`` supplies the defaults.
    dt : float
        Time step (s).
    solver : Solver, optional
        Method for the contact problems; :data:`clapas.dynamics.defaults.STEP_SOLVER` by default.
    scheme : MoreauJean, optional
        Moreau's midpoint scheme by default.
    sleeping : Sleeping, optional
        When bodies may sleep; never by default.
    on_unsolved : "raise" or "record"
        When a contact problem stays above the tolerance: raise :class:`NotSolved` after the step, or count it
        (``unsolved``) and go on. A solution limited by rounding is counted, with one warning.
    state : State or Snapshot, optional
        Initial state; by default that of the scene.

    Attributes
    ----------
    model : Model
        The constant data.
    state : State
        The changing data, never modified in place: keep it, or pass it to :meth:`reset`.
    work, external_work : float
        Since the start: work of the contacts, negative when energy is lost, and work of loads, applied
        forces, guides and walls that move (J).
    unsolved, worst : int, float
        Steps whose contact problem stayed above the tolerance, and the largest residual.

    Examples
    --------
    A ball dropped from 1 m, pushed sideways for one step:

    >>> from clapas.geometry.shapes import Plane, Sphere
    >>> scene = Scene()
    >>> scene.law(mu=0.5)
    >>> floor = scene.add(Plane(), name="floor")
    >>> ball = scene.add(Sphere(0.1), (0, 0, 1.1), mass=2.0, name="ball")
    >>> sim = Simulation(scene, dt=1e-3)
    >>> sim.body("ball").apply(force=(20, 0, 0))
    >>> sim.step(100)
    >>> sim.body("ball").velocity.round(6).tolist()
    [0.01, 0.0, -0.981]
    >>> start = sim.snapshot()
    >>> sim.step(900)
    >>> float(sim.contacts("floor", "ball").force.sum(axis=0)[2].round(6))
    19.62
    >>> sim.reset(start)
    >>> sim
    Simulation(2 bodies in 3-D, step 100, t = 0.1 s)
    """

    state: State
    work: float
    external_work: float
    unsolved: int
    worst: float
    _last: tuple[StepResult, ...]
    _targets: Mapping[str, float]
    _commands: Commands
    _alarms: Alarms

    def __init__(
        self,
        scene: Scene | Model,
        dt: float | None = None,
        solver: Solver | None = None,
        scheme: MoreauJean | None = None,
        *,
        sleeping: Sleeping | None = None,
        on_unsolved: OnUnsolved | None = None,
        state: State | Snapshot | None = None,
    ) -> None:
        if not isinstance(scene, Scene | Model):
            raise SettingsError(
                f"expected a scene or a model to simulate, got {repr(scene)[:80]}: clapas.Scene.load(file) "
                "reads one from a file"
            )
        check_methods(scheme, sleeping)
        self.scene = scene if isinstance(scene, Scene) else None
        if isinstance(scene, Scene):
            run, self.model = scene.run, compile_scene(scene)
            if self.model.n_bodies == 0 and not self.model.systems:
                raise SceneError("the scene has no bodies: add one, there is nothing to simulate")
            dt = run.dt if dt is None else dt
            solver = solver or named_solver(run.solver)
            scheme, sleeping = scheme or named_scheme(run.scheme), sleeping or named_sleeping(run.sleeping)
            on_unsolved = on_unsolved or run.on_unsolved
        else:
            self.model = scene
        if dt is None:
            raise SettingsError("by which step? Give dt, or set it in scene.run")
        self.dt = checked_step(dt)
        self.solver: Solver = solver or named_solver({})
        self.scheme: MoreauJean = scheme or MoreauMidpoint()
        self.sleeping = sleeping
        self.on_unsolved = checked_choice(on_unsolved or "raise")
        if sleeping is not None and self.model.systems:
            raise SettingsError(
                f"sleeping: bodies that touch a system ('{self.model.systems[0].name}') cannot sleep yet: "
                "leave it out"
            )
        self._neighbours = Neighbours(self.model)
        self._attached: list[_Attached] = []
        self._alarms = Alarms()
        self.reset(state)

    def __repr__(self) -> str:
        n, state = self.model.n_bodies - self.model.n_carriers, self.state
        bodies = f"{counted(n, 'body', 'bodies')} in {self.model.d}-D"
        return f"Simulation({bodies}, step {state.step}, t = {state.time:.6g} s)"

    # ---------------------------------------------------------------- steps

    def step(self, count: int = 1) -> None:
        """Advance by some time steps.

        Applied forces act during the first of them.

        Raises
        ------
        NotSolved
            A contact problem stayed above the tolerance, with ``on_unsolved="raise"``. The simulation is
            after that step, which used the best impulses found: go on, or :meth:`reset`.
        SceneError
            A speed is not a finite number, or too large to be squared.
        """
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
            raise SettingsError(f"step: expected a whole number of steps, at least 0, got {count!r}")
        for _ in range(int(count)):
            self._one_step()

    def _one_step(self) -> None:
        self._last = ()  # frees the memory of its problem
        # Grains of sources that begin at once are there before the first step.
        alive = self.state.n_bodies if self.state.step else int(np.sum(self.model.birth == -np.inf))
        with np.errstate(over="ignore"):  # overflow is rejected below
            parts = divided_step(
                self.model,
                self.state,
                self.dt,
                self.solver,
                self.scheme,
                self._neighbours,
                self.sleeping,
                self._commands if self._targets else None,
            )
        self.state, self._last = parts[-1].state, tuple(parts)
        require_speeds(self.model, self.state)
        self._alarms.doubts(self.model, self.state)
        commands = self._commands if self._targets else None
        self._alarms.motors(self.model, parts[-1], commands, self.solver.tol)
        if self.state.n_bodies > alive:
            self._alarms.births(
                self.model, next(part for part in parts if part.state.n_bodies > alive), alive
            )
        for part in parts:
            self.work += part.work
            self.external_work += part.given
            self.worst = max(self.worst, part.residual)
        unsolved = [part.solution for part in parts if not part.status.is_answered]
        self.unsolved += bool(unsolved)
        failed = next((solution for solution in unsolved if not self._is_limited_by_rounding(solution)), None)
        fails = failed is not None and self.on_unsolved == "raise"
        largest = max(part.residual for part in parts)
        for attached in self._attached:
            attached.worst = max(attached.worst, largest)
            self._note(attached)
            if fails or (self.state.step - attached.origin) % attached.every == 0:
                self._keep(attached)
        if failed is not None and fails:
            why = f"{failed.notes[-1]} " if failed.status is Status.NO_SOLUTION else ""
            raise NotSolved(failed, why + self._place_of_last())

    def _place_of_last(self) -> str:
        """Where in the run the last step was, and how to look at its problem alone."""
        before = self.state.step - 1
        return (
            f"It is the problem of the step to t = {self.state.time:.6g} s: on_unsolved='record' goes on "
            f"with the best impulses, and 'clapas export RUN --fclib {before}' writes it to a file."
        )

    def _is_limited_by_rounding(self, solution: Solution) -> bool:
        """Whether a solution is limited by rounding, so that the run goes on; warns once."""
        if not is_all_that_rounding_leaves(solution):
            return False
        self._alarms.rounding(self.state, solution)
        return True

    def run(self, duration: float, progress: Watcher | None = None) -> Summary:
        """Step until ``duration`` seconds from the start of the run.

        Ctrl-C ends it after the current step, as does a progress callback that returns True.

        Parameters
        ----------
        duration : float
            Time from step 0 (s).
        progress : callable, optional
            Called after each step with a :class:`StepProgress`; return True to stop.
        """
        return run_steps(self, round(duration / self.dt), progress)

    # ---------------------------------------------------------------- branching

    def snapshot(self) -> Snapshot:
        """The current data, for :meth:`reset`. No array is copied."""
        return Snapshot(self.state, self.work, self.external_work, self._last, self._targets)

    def reset(self, to: State | Snapshot | None = None) -> None:
        """Go to a state, a snapshot, or back to the start. What follows is the same, to the last bit.

        Work sums restart at zero and motor targets at those of the scene, unless a snapshot has them;
        ``unsolved`` and ``worst`` are reset.
        After a bare state the contacts and reactions of the last step are not known.
        """
        if self._attached:
            raise SettingsError("a recording is under way, and time cannot go back in it: stop it first")
        if to is None:
            to = initial_state(self.model)
        if isinstance(to, State):
            to = Snapshot(to)
        if not isinstance(to, Snapshot):
            raise SettingsError(f"reset: expected a state or a snapshot, got {to!r}")
        sizes = to.state.position.shape, to.state.velocity.shape
        n, model = to.state.n_bodies, self.model
        if n > model.n_bodies or sizes != ((n, model.d), (n, model.velocity.shape[1])):
            raise SettingsError(
                f"reset: the state has {n} bodies in {sizes[0][1]}-D, the simulation {model.n_bodies} in "
                f"{model.d}-D: it belongs to another scene"
            )
        require_speeds(model, to.state)
        _require_closed(model, to.state)
        self.state, self.work, self.external_work, self._last = to.state, to.work, to.external_work, to.last
        self._targets, self._commands = {}, Commands.of(self.model)
        self.command(to.targets)
        self.unsolved, self.worst = 0, 0.0
        self._alarms.restart()

    def copy(self) -> Self:
        """An independent simulation of the same model from the same state."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._neighbours, twin._attached, twin._alarms = Neighbours(self.model), [], replace(self._alarms)
        return twin

    # ---------------------------------------------------------------- access and control

    @property
    def time(self) -> float:
        """Time (s)."""
        return self.state.time

    @property
    def energy(self) -> Energy:
        """Kinetic energy, and potential energy of gravity (J)."""
        return energy(self.model, self.state)

    @property
    def last(self) -> StepResult | None:
        """The last step, or the last part of a divided one; None before the first."""
        return self._last[-1] if self._last else None

    def body(self, name: str | int) -> BodyHandle:
        """A body by its name or its number, to read and to push.

        Raises
        ------
        SceneError
            No body is called so; the message has the nearest names.
        """
        return BodyHandle(self, known_name("body", "bodies", name, self.model.names))

    def joint(self, name: str | int) -> JointHandle:
        """A joint by its name or its number, to read and to drive."""
        names = () if self.model.joints is None else self.model.joints.names
        return JointHandle(self, known_name("joint", "joints", name, names))

    def contacts(self, a: str | int | None = None, b: str | int | None = None) -> ContactTable:
        """The contacts of the last step: all, those of one body or system, or those between two.

        A system is a truss, an elastic body, rods, a Lagrangian system; in the table ``a`` and ``b`` are its
        carriers: members, links, segments. Normals point from ``a`` to ``b``, and impulses act on ``b``; with
        one name only, they are those the others exert on ``a``. Of a divided step they are those of its last
        part.
        """
        first, second = (None if name is None else self._touching(name) for name in (a, b))
        return ContactTable.of(self.model, self.last, first, second)

    def _touching(self, name: str | int) -> Indices:
        """The numbers of a body, or of all carriers of a system."""
        names: Sequence[str] = self.model.names
        if isinstance(name, str) and name not in names:
            systems = [system.name for system in self.model.systems]
            if name in systems:
                return self.model.systems[systems.index(name)].rows
            names = (*names, *systems)
        return np.array(
            [known_name("body or system" if self.model.systems else "body", "bodies", name, names)]
        )

    @property
    def commands(self) -> Mapping[str, float]:
        """Targets of the motors, by the names of their joints."""
        return dict(zip(self._commands.names, self._commands.target.tolist(), strict=True))

    def command(self, targets: Mapping[str, float]) -> None:
        """Set targets of motors by names of joints, from the next step on.

        A target is a rate (rad/s, m/s), a torque (N·m, N) or, of a servo, a coordinate (rad, m).
        """
        self._commands = self._commands.updated(targets)
        self._targets = {**self._targets, **targets}

    def push(self, body: int, load: Load) -> None:
        """Add a force and a torque on a body to those of the next step (see :meth:`BodyHandle.apply`)."""
        state, old = self.state, self.state.applied.get(body)
        load = load if old is None else old.plus(load)
        sleep = None if state.sleep is None else state.sleep.woken_up()
        self.state = replace(state, applied={**state.applied, body: load}, sleep=sleep)

    # ---------------------------------------------------------------- recorders

    def attach(self, recorder: Recorder, every: int = 1, *, resumed: bool = False) -> None:
        """Record steps from now on.

        Parameters
        ----------
        recorder : Recorder
            It receives the current state first, as step 0, then one step in ``every``.
        every : int
            Steps between two recorded ones; the last is always recorded.
        resumed : bool
            The recorder already has the steps from 0 to the current one.
        """
        check_every(every)
        attached = _Attached(recorder, every, 0 if resumed else self.state.step, kept=self.state.step)
        if not resumed:
            self._note(attached)
            self._keep(attached)
        self._attached.append(attached)

    def detach(self, recorder: Recorder) -> None:
        """Record the last step, and stop recording."""
        attached = next(one for one in self._attached if one.recorder is recorder)
        self._attached.remove(attached)
        if attached.kept != self.state.step:
            self._keep(attached)

    def drop(self, recorder: Recorder) -> None:
        """Stop recording without the last step, after a failure of the run or the recorder."""
        self._attached = [one for one in self._attached if one.recorder is not recorder]

    def is_attached(self, recorder: Recorder) -> bool:
        """Whether a recorder keeps steps."""
        return any(one.recorder is recorder for one in self._attached)

    def _note(self, attached: _Attached) -> None:
        if self.model.probes:
            attached.recorder.note(read(self.model, self._last, self.state))

    def _keep(self, attached: _Attached) -> None:
        attached.kept = self.state.step
        state = self.state
        if attached.origin:
            state = replace(state, step=state.step - attached.origin)
        require_places(self.model, self.state, now := self.energy)
        self._alarms.gained_energy(self.model, self.state, now, self.work + self.external_work)
        kept = RecordedStep(self.last, state, now, self.work, self.external_work, attached.worst)
        attached.worst = 0.0
        attached.recorder.keep(kept)


def simulate(
    model: Model,
    duration: float,
    dt: float,
    solver: Solver | None = None,
    *,
    scheme: MoreauJean | None = None,
    sleeping: Sleeping | None = None,
    every: int = 1,
    on_unsolved: OnUnsolved = "raise",
    recorder: Recorder | None = None,
    state: State | None = None,
    work: float = 0.0,
    given: float = 0.0,
    progress: Watcher | None = None,
) -> Summary:
    """Run a model and record its steps.

    Parameters
    ----------
    model : Model
        The model.
    duration : float
        Time to simulate (s), from the start of the run.
    dt, solver, scheme, sleeping, on_unsolved
        As for :class:`Simulation`.
    every : int
        Steps between two recorded ones (the first and the last are always recorded).
    recorder : Recorder, optional
        Receives the recorded steps.
    state, work, given
        State and work to resume from, if the recorder has the steps before; the initial state by default.
    progress : callable, optional
        Called after each step; return True to stop. Ctrl-C also ends the run after the current step.
    """
    check_run(duration, dt, every, on_unsolved)
    start = None if state is None else Snapshot(state, work, given)
    simulation = Simulation(
        model, dt, solver, scheme, sleeping=sleeping, on_unsolved=on_unsolved, state=start
    )
    if recorder is None:
        return simulation.run(duration, progress)
    simulation.attach(recorder, every, resumed=state is not None)
    summary = simulation.run(duration, progress)
    simulation.detach(recorder)
    return summary
