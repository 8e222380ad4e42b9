"""Removal of penetrations by moving bodies apart, without changing their velocities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clapas.bodies.rigid.motion import moved
from clapas.dynamics.model import Model
from clapas.dynamics.solving import rigid_velocities
from clapas.dynamics.state import State
from clapas.dynamics.step_problem import StepProblem
from clapas.problems.blocks import BodyBlocks
from clapas.problems.contact import ContactProblem
from clapas.solvers import NSGS, solve


def pulled_apart(model: Model, state: State, problem: StepProblem, share: float) -> State:
    """The state with a share of the penetrations removed by the smallest displacement.

    A frictionless problem in displacements: min ½ δᵀ M δ such that gap + H_N δ ≥ 0.
    """
    gap = problem.contacts.gap
    if not (gap < 0.0).any():
        return state
    if problem.condensed is not None:
        return _with_joints(model, state, problem, share)
    blocks = problem.problem.blocks
    if blocks is None:
        return state
    rows = np.ascontiguousarray(blocks.G[:, :, : model.d])
    still = BodyBlocks(rows, blocks.bodies, np.zeros_like(blocks.y_free), blocks.root)
    w = np.zeros((len(gap), model.d))
    w[:, 0] = share * np.minimum(gap, 0.0)
    displacement = solve(
        ContactProblem.from_blocks(still, mu=0.0, w=w), NSGS(tol=1e-3, max_iterations=200), check=False
    )
    zero = np.zeros_like(state.velocity)
    away = rigid_velocities(model, displacement.v, zero)
    position, orientation = moved(state.position, state.orientation, away, 1.0)
    return replace(state, position=position, orientation=orientation)


def _with_joints(model: Model, state: State, problem: StepProblem, share: float) -> State:
    """The same with joints, which were eliminated; links are ignored."""
    n, d, condensed = len(problem.contacts), model.d, problem.condensed
    assert condensed is not None
    w = np.zeros((n, d))
    w[:, 0] = share * np.minimum(problem.contacts.gap, 0.0)
    W = problem.problem.W.toarray()[: n * d, : n * d]
    solution = solve(ContactProblem(W=W, q=w, mu=0.0, d=d), NSGS(tol=1e-3, max_iterations=200), check=False)
    r = np.zeros((len(condensed.G), d))
    r[:n] = solution.r
    position, orientation = moved(state.position, state.orientation, condensed.change(r), 1.0)
    return replace(state, position=position, orientation=orientation)
