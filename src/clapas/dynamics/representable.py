"""Checks that states are representable: finite speeds and energies, coordinates finer than the bodies.

Absurd data (a density of 1e300, a time step of a year) lead to speeds whose squares overflow, or carry bodies
to where neighbouring floating-point numbers are a body size apart: contacts found there are meaningless, and
no residual shows it. A run ends at the first such state, and does not record it.
"""

from __future__ import annotations

import math

import numpy as np

from clapas.bodies.kind import Energy
from clapas.dynamics.model import Model
from clapas.dynamics.state import State
from clapas.errors import SceneError
from clapas.typing import Array

COARSE = 0.1
"""Spacing of floating-point numbers over the radius of a body from which its position is meaningless."""
LIGHTEST = 1e-300
"""Mass (kg) and moment of inertia (kg·m²) below which inverses are not finite, or nearly so."""
ADVICE = "look at the time step, and at the densities, velocities and forces of the scene"


def require_masses(model: Model) -> None:
    """Raise a SceneError that names the first movable body whose mass or inertia has no finite inverse."""
    least = np.column_stack((model.mass, model.inertia)).min(axis=1)
    light = np.flatnonzero(model.movable & (least < LIGHTEST))
    if len(light):
        body = int(light[0])
        raise SceneError(
            f"'{_name(model, body)}' has mass {model.mass[body]:.3g} kg and moments of inertia "
            f"{model.inertia[body].tolist()} kg·m², too small to be divided by: look at its density, or its "
            "mass and its size"
        )


def is_fast_beyond_numbers(velocity: Array) -> bool:
    """Whether Σ v² of generalised velocities, of any shape, is not a finite number."""
    flat = velocity.reshape(-1)
    # Not np.vdot: from some thousand bodies on, BLAS would start its threads for this sum at every step.
    return not math.isfinite(np.einsum("i,i->", flat, flat))


def require_speeds(model: Model, state: State) -> None:
    """Raise a SceneError that names the fastest body, if Σ v² is not a finite number."""
    if not is_fast_beyond_numbers(state.velocity):
        return
    size = np.abs(state.velocity).max(axis=1)
    body = int(np.argmax(np.where(np.isnan(size), np.inf, size)))
    raise SceneError(
        f"{_when(state)} the velocity of '{_name(model, body)}' is {state.velocity[body].tolist()}, beyond "
        f"what can be computed with: {ADVICE}"
    )


def require_places(model: Model, state: State, energy: Energy) -> None:
    """Raise a SceneError if energies are not finite, or a movable body is too far away for its size."""
    if not math.isfinite(energy.kinetic + energy.potential):
        raise SceneError(
            f"{_when(state)} the kinetic energy is {energy.kinetic:g} J and the potential energy "
            f"{energy.potential:g} J, beyond what can be computed with: {ADVICE}"
        )
    alive = model.first(state.n_bodies)
    size = np.where(alive.reach > 0.0, alive.reach, np.inf)
    away = np.abs(state.position).max(axis=1, initial=0.0)
    lost = np.flatnonzero(alive.movable & (np.spacing(away) > COARSE * size))
    if len(lost):
        body = int(lost[0])
        raise SceneError(
            f"{_when(state)} '{_name(model, body)}' is {away[body]:.3g} m from the origin, where places "
            f"are {np.spacing(away[body]):.2g} m apart, beside its radius of {alive.reach[body]:.3g} m: "
            f"{ADVICE}"
        )


def _when(state: State) -> str:
    return f"step {state.step}, t = {state.time:.6g} s:"


def _name(model: Model, body: int) -> str:
    return model.names[body] if model.names else f"body {body}"
