"""Shorter steps where bodies are fast: a step divided into equal parts.

A body that moves by more than its own thickness in one step may pass through another undetected. With
``scheme.travel`` = s, a step of length dt is done in 2^k equal parts, k the least number for which

    (|v| + |ω| reach + |g| dt + fastest wall) dt / 2^k ≤ s · thickness

for every movable body and every carrier of a system; k is at most ``scheme.halvings``. Parts are whole
fractions of dt: recorded frames, durations and births are unaffected. The rule depends only on the state at
the start of the step, so a resumed run divides the same steps.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from clapas.dynamics.births import with_births
from clapas.dynamics.joints.commands import Commands
from clapas.dynamics.model import Model
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.schemes import MoreauJean
from clapas.dynamics.sleep import Sleeping, step_with_sleep
from clapas.dynamics.state import State
from clapas.dynamics.stepping import StepResult, step
from clapas.solvers.loop import Solver


def divided_step(
    model: Model,
    state: State,
    dt: float,
    solver: Solver,
    scheme: MoreauJean,
    neighbours: Neighbours | None = None,
    sleeping: Sleeping | None = None,
    commands: Commands | None = None,
) -> list[StepResult]:
    """One time step in the number of parts that the scheme requires; the last part ends the step."""
    count, start, applied = parts(model, state, dt, scheme), state.step, state.applied
    neighbours = neighbours or Neighbours(model)
    results: list[StepResult] = []
    for _ in range(count):
        state = replace(state, step=start, applied=applied)
        arguments = model, state, dt / count, solver, scheme, neighbours
        if sleeping is None:
            part = step(*arguments, commands=commands)
        else:
            part = step_with_sleep(*arguments, sleeping, commands)
        state = part.state
        results.append(part)
    return results


def parts(model: Model, state: State, dt: float, scheme: MoreauJean) -> int:
    """Number of parts into which a step is divided: a power of two."""
    if math.isinf(scheme.travel):
        return 1
    state = with_births(model, state)
    alive = model.first(state.n_bodies)
    speed = np.linalg.norm(state.velocity[:, : alive.d], axis=1)
    spin = np.linalg.norm(state.velocity[:, alive.d :], axis=1)
    for body in alive.motions:
        velocity = alive.driven(body, state.velocity[body], state.time + 0.5 * dt)
        speed[body], spin[body] = (np.linalg.norm(part) for part in np.split(velocity, [alive.d]))
    speed += spin * np.where(np.isfinite(alive.reach), alive.reach, 0.0)
    walls = float(speed[list(alive.motions)].max(initial=0.0))
    gained = dt * alive.acceleration
    travelled = dt * (speed + gained + walls) / (scheme.travel * alive.thickness)
    # Carriers of systems travel too: thin rods pass through each other in long steps.
    moves = alive.movable | (alive.system_of >= 0)
    need = float(travelled[moves].max(initial=0.0))
    return 1 << min(scheme.halvings, math.ceil(math.log2(max(need, 1.0))))
