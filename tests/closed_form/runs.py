"""Runs kept in memory, as arrays over time, to compare with what is known on paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clapas.dynamics.model import Model
from clapas.dynamics.stepping import StepResult
from clapas.scenes.compilation import compile_scene
from clapas.scenes.recorders import Memory, RecordedStep
from clapas.scenes.scene import Scene
from clapas.scenes.simulation import simulate
from clapas.solvers import NSGS
from clapas.typing import Array

SINK = 1e-9
"""Depth (m) at which bodies meant to touch are placed: contact holds from the first step, whatever the
last bit of the gap. Scenes forgive it."""

EXACT = NSGS(tol=1e-12, max_iterations=20_000)
"""Answers of the contact problems to rounding, so that only the scheme is seen."""


@dataclass(frozen=True)
class History:
    """A run, step by step: row 0 is the start, row k the end of step k."""

    model: Model
    kept: list[RecordedStep]

    @property
    def time(self) -> Array:
        """Times (s)."""
        return np.array([kept.state.time for kept in self.kept])

    def position(self, body: int = -1) -> Array:
        """Centres of mass of a body (n, d)."""
        return np.array([kept.state.position[body] for kept in self.kept])

    def velocity(self, body: int = -1) -> Array:
        """Velocities of a body, then its angular velocity in its own frame (n, size)."""
        return np.array([kept.state.velocity[body] for kept in self.kept])

    @property
    def energy(self) -> Array:
        """Kinetic plus potential energy (J)."""
        return np.array([sum(kept.energy) for kept in self.kept])

    @property
    def steps(self) -> list[StepResult]:
        """The steps, in order."""
        return [kept.stepped for kept in self.kept if kept.stepped is not None]

    def force(self, a: int, b: int, dt: float, step: int = -1) -> Array:
        """Force (N) of body a on body b during a step."""
        impulses = self.steps[step].state.impulses
        rows = (impulses.a == a) & (impulses.b == b)
        return np.asarray(impulses.impulse[rows].sum(axis=0) / dt)


def run(scene: Scene, duration: float, dt: float, **options: Any) -> History:
    """Run a scene with exact answers and keep every step."""
    model, memory = compile_scene(scene), Memory()
    simulate(model, duration, dt, **{"solver": EXACT, "recorder": memory, **options})
    return History(model, memory.steps)
