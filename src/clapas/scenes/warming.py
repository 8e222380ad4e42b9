"""Compile kernels in advance by a few steps of small scenes."""

from __future__ import annotations

from typing import Any

from clapas.compiled import count_compilations
from clapas.dynamics.births import initial_state
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.stepping import step
from clapas.scenes import examples
from clapas.scenes.compilation import compile_scene
from clapas.scenes.settings import named_solver
from clapas.scenes.simulation import simulate

USUAL = ("bouncing-ball", "box-of-spheres", "heap", "two-block-stack", "stone-arch", "wall-of-boxes")
SMALL: dict[str, dict[str, Any]] = {
    "heap": {"grains": 30, "rate": 1e4, "relaxation": 0.0},
    "box-of-spheres": {"count": 60},
    "wall-of-boxes": {"courses": 2, "length": 2},
    "stone-arch": {"voussoirs": 5},
}
STEPS = 12


def warm(scene: str) -> int:
    """Run a few steps of a small shipped scene and return the number of kernels compiled.

    This includes the kernels for few bodies, which only long runs compile. Kernels are kept in the user's
    cache: a second call compiles none.
    """
    small_scene = examples.load(scene, **SMALL.get(scene, {}))
    solver = named_solver(small_scene.run.solver)
    dt = small_scene.run.dt or 1e-3
    with count_compilations() as counter:
        model = compile_scene(small_scene)
        simulate(model, STEPS * dt, dt, solver, on_unsolved="record")
        state, near = initial_state(model), Neighbours(model, patience=0)
        for _ in range(STEPS):
            state = step(model, state, dt, solver, None, near).state
    return counter.count
