"""Appearance of bodies: at the start, and of grains during the run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clapas.dynamics.deposition import falling, laid_position
from clapas.dynamics.model import Model
from clapas.dynamics.pressing import with_pressure
from clapas.dynamics.state import Impulses, State


def initial_state(model: Model, time: float = 0.0) -> State:
    """The state at the start: the bodies born by then, with their initial contact forces."""
    d = model.d
    empty = State(
        time=time,
        step=0,
        position=np.empty((0, d)),
        orientation=np.empty((0, model.orientation.shape[1])),
        velocity=np.empty((0, model.velocity.shape[1])),
        impulses=Impulses.none(d),
        parts=tuple(system.bodies.start() for system in model.systems),
    )
    start = with_births(model, empty)
    return with_pressure(model, start) if model.pressed else start


def with_births(model: Model, state: State) -> State:
    """The state with the bodies born since the last step, where the model says they appear."""
    old, new = state.n_bodies, int(np.searchsorted(model.birth, state.time, side="right"))
    if new == old:
        return state
    position = np.concatenate((state.position, model.position[old:new]))
    orientation = np.concatenate((state.orientation, model.orientation[old:new]))
    if model.laid is not None:
        free = np.concatenate((falling(model, state), np.zeros(new - old, dtype=bool)))
        for body in (old + np.flatnonzero(model.laid[old:new])).tolist():
            position[body] = laid_position(model, body, position[:body], orientation[:body], free[:body])
    return replace(
        state,
        position=position,
        orientation=orientation,
        velocity=np.concatenate((state.velocity, model.velocity[old:new])),
    )


def work_of_laying(model: Model, before: State, after: State) -> float:
    """Work done on grains lowered when they appeared (J): minus the energy that falling would have given."""
    if model.laid is None:
        return 0.0
    new = slice(before.n_bodies, after.n_bodies)
    down = (after.position[new] - model.position[new]) @ model.gravity
    return -float(model.mass[new][model.laid[new]] @ down[model.laid[new]])
