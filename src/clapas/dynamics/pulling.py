"""Penetrations removed by moving bodies apart, their velocities as they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clapas.bodies.rigid.motion import moved
from clapas.dynamics.assembly import StepProblem
from clapas.dynamics.model import Model, State
from clapas.dynamics.solving import rigid_velocities
from clapas.problems.blocks import BodyBlocks
from clapas.problems.contact import ContactProblem
from clapas.solvers import NSGS, solve


def pulled_apart(model: Model, state: State, problem: StepProblem, share: float) -> State:
    """The state with a share of the penetrations removed by the smallest displacement.

    A frictionless problem in displacements: min ½ δᵀ M δ such that gap + H_N δ ≥ 0.
    """
    blocks, gap = problem.problem.blocks, problem.contacts.gap
    deep = gap < 0.0
    if blocks is None or not deep.any():
        return state
    rows = np.ascontiguousarray(blocks.G[:, :, : model.d])
    still = BodyBlocks(rows, blocks.bodies, np.zeros_like(blocks.y_free), blocks.root)
    w = np.zeros((len(gap), model.d))
    w[:, 0] = share * np.minimum(gap, 0.0)
    displacement = solve(
        ContactProblem.from_blocks(still, mu=0.0, w=w), NSGS(tol=1e-3, max_iterations=200), check=False
    )
    zero = np.zeros_like(state.velocity)
    away = rigid_velocities(model, state, problem, displacement.v, zero)
    position, orientation = moved(state.position, state.orientation, away, 1.0)
    return replace(state, position=position, orientation=orientation)
