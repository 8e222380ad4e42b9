"""Sleep: bodies that hardly move are held for a while, and leave the contact problem.

Steps are grouped in rounds. First all bodies are awake for ``watch`` steps, and their displacements are added
up. Those slower than ``speed`` radii per second, in this watch and on the mean of those before, then sleep
for ``rest`` steps:

    a sleeping body  has velocity zero, and acts on the others as a fixed body
    between two      contacts keep their impulses, and are not solved
    woken at once    a body that has borne, from those awake, more than ``overload`` times its load over a
                     rest, extrapolated from the watch, or in one step a heavy blow (:func:`overloaded`);
                     with it, those that touch it. The step is solved again: a heavy impact never acts on
                     held bodies. Also one that touches a driven body

After the rest all wake, so every body is judged by its own motion among free neighbours. The motion of
sleeping bodies is lost: a body that creeps at a steady pace below ``speed`` falls behind by less than
``speed`` radii per second, one that starts to move during a rest by its motion in that rest. Sleep removes
kinetic energy, which counts as work of the contacts, and never adds any. A watch is a sample: the bound
holds for steady creep, not for every body. ``benchmarks/README.md`` reports on a heap.

Bodies with loads or imposed motions, guided and jointed ones, and those without contacts never sleep.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real

import numpy as np

from clapas.dynamics.joints.commands import Commands
from clapas.dynamics.model import Model
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.schemes import MoreauJean
from clapas.dynamics.state import Sleep, State
from clapas.dynamics.stepping import StepResult, step
from clapas.errors import SettingsError
from clapas.solvers.loop import Solver
from clapas.typing import Array, Mask


@dataclass(frozen=True, kw_only=True)
class Sleeping:
    """Settings of sleep.

    Parameters
    ----------
    speed : float
        Bodies slower than this sleep: radii (distance to their farthest point) per second, plus radians per
        second.
    watch, rest : int
        Steps during which all are awake, and steps that sleeping bodies are held after them.
    overload : float
        Load that wakes a sleeping body, relative to its usual load.

    Examples
    --------
    >>> Sleeping(speed=1e-3)
    Sleeping(speed=0.001, watch=10, rest=90, overload=2.0)
    """

    speed: float = 1e-2
    watch: int = 10
    rest: int = 90
    overload: float = 2.0

    def __post_init__(self) -> None:
        for name in ("speed", "overload"):
            if not (isinstance(getattr(self, name), Real) and getattr(self, name) > 0):
                raise SettingsError(f"sleeping: {name} must be positive, got {getattr(self, name)!r}")
        for name in ("watch", "rest"):
            steps = getattr(self, name)
            if not (isinstance(steps, int) and steps >= 1):
                raise SettingsError(f"sleeping: {name} must be a whole number, at least 1, got {steps!r}")


def step_with_sleep(
    model: Model,
    state: State,
    dt: float,
    solver: Solver | None,
    scheme: MoreauJean | None,
    neighbours: Neighbours,
    sleeping: Sleeping,
    commands: Commands | None = None,
) -> StepResult:
    """Advance a state by one time step with sleeping bodies held; update which bodies sleep."""
    sleep = state.sleep or Sleep.none(state.velocity.shape[1])
    while True:
        result = step(model, state, dt, solver, scheme, neighbours, asleep=sleep.asleep, commands=commands)
        sleep = sleep.of_more(result.state.n_bodies)
        borne = _borne(result, sleep.asleep)
        woken = _woken(model, sleep, borne, result, dt, sleeping)
        if not woken.any():
            break
        sleep = replace(sleep, asleep=sleep.asleep & ~woken)
    return _with_sleep(model, result, sleep, borne, dt, sleeping)


def _borne(result: StepResult, asleep: Mask) -> Array:
    """Sum of the sizes of the impulses each body bears, (N,); a sleeping one only those from bodies awake."""
    contacts, impulses = result.contacts, result.state.impulses.impulse
    size = np.linalg.norm(impulses, axis=1)
    if result.rows is not None:
        size[result.rows < 0] = 0.0
    n = len(asleep)
    return np.asarray(np.bincount(contacts.a, size, n) + np.bincount(contacts.b, size, n))


def _woken(
    model: Model, sleep: Sleep, borne: Array, result: StepResult, dt: float, sleeping: Sleeping
) -> Mask:
    """The sleeping bodies to be woken: overloaded, touching an overloaded one, or touching a driven body."""
    if not sleep.asleep.any():
        return np.zeros_like(sleep.asleep)
    alive = model.first(len(sleep.asleep))
    source = sleep.asleep & overloaded(alive, sleep.load, sleep.borne, borne, dt, sleeping)
    source[[body for body in model.motions if body < len(source)]] = True
    a, b = result.contacts.a, result.contacts.b
    woken = source.copy()
    woken[b[source[a]]] = True
    woken[a[source[b]]] = True
    return np.asarray(woken & sleep.asleep)


def overloaded(model: Model, load: Array, before: Array, borne: Array, dt: float, sleeping: Sleeping) -> Mask:
    """Whether each body bears more than held bodies should, (N,).

    Either over the rest, or in this step. A blow J beyond ``overload`` times the load of a step gives a body
    the velocity J/m, which carries it (J/m)²/2g against its own weight. It is heavy if that is more than the
    distance that sleep may lose anyway: ``speed`` radii per second over a rest.

    Parameters
    ----------
    model : Model
        The bodies.
    load : array (N,)
        Impulses borne in the watch (N·s).
    before, borne : arrays (N,)
        Those from bodies awake in the rest so far, and in this step.
    dt : float
        The step (s).
    sleeping : Sleeping
        Settings.
    """
    overload, usual = sleeping.overload, load / sleeping.watch
    blow = np.maximum(borne - overload * usual, 0.0) / model.mass
    lost = sleeping.speed * sleeping.rest * dt * model.reach
    with np.errstate(invalid="ignore"):  # walls without end where nothing weighs
        is_heavy = blow**2 > 2.0 * model.acceleration * lost
    return np.asarray(is_heavy | (before + borne > overload * sleeping.rest * usual))


def _with_sleep(
    model: Model, result: StepResult, sleep: Sleep, borne: Array, dt: float, sleeping: Sleeping
) -> StepResult:
    """The step with an updated sleep state; at the end of a watch, with newly sleeping bodies."""
    state = result.state
    sleep = replace(sleep, step=sleep.step + 1)
    if sleep.step > sleeping.watch:  # the rest
        sleep = replace(sleep, borne=sleep.borne + borne)
        is_over = sleep.step == sleeping.watch + sleeping.rest
        sleep = sleep.woken_up() if is_over else sleep
        return replace(result, state=replace(state, sleep=sleep))
    sleep = replace(sleep, moved=sleep.moved + dt * state.velocity, load=sleep.load + borne)
    if sleep.step < sleeping.watch:
        return replace(result, state=replace(state, sleep=sleep))
    sleep = judged(model.first(state.n_bodies), sleep, dt, sleeping)
    sleep = sleep if sleep.asleep.any() else sleep.woken_up()
    velocity = np.where(sleep.asleep[:, None], 0.0, state.velocity)
    masses = model.first(state.n_bodies).masses_of(sleep.asleep)
    taken = 0.5 * float(np.sum(masses * state.velocity[sleep.asleep] ** 2))
    return replace(result, state=replace(state, velocity=velocity, sleep=sleep), work=result.work - taken)


def judged(model: Model, sleep: Sleep, dt: float, sleeping: Sleeping) -> Sleep:
    """Decide at the end of a watch which bodies sleep, and update the mean pace of all."""
    d, lasted = model.d, sleeping.watch * dt
    radius = np.where(model.reach > 0.0, model.reach, 1.0)  # without a shape: no contacts, never asleep
    travelled = np.linalg.norm(sleep.moved[:, :d], axis=1) / radius
    pace = (travelled + np.linalg.norm(sleep.moved[:, d:], axis=1)) / lasted
    is_known = np.isfinite(sleep.pace)
    lately = 0.5 * (np.where(is_known, sleep.pace, pace) + pace)
    slow = is_known & (np.maximum(pace, lately) < sleeping.speed)
    asleep = slow & _may_sleep(model) & (sleep.load > 0.0)
    return replace(sleep, asleep=asleep, pace=lately)


def _may_sleep(model: Model) -> Mask:
    free = model.movable.copy()
    free[[*model.motions, *model.loads]] = False
    free &= ~model.is_joined
    return free if model.blocked is None else free & ~model.blocked.any(axis=1)
