"""Steps of round bodies in geometric form against the same in blocks of H."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.dynamics import assembly, examples
from clapas.dynamics.births import initial_state
from clapas.dynamics.compilation import compile_scene
from clapas.dynamics.stepping import Stepped, step
from clapas.solvers import NSGS


def stepped(many: int, monkeypatch: pytest.MonkeyPatch) -> Stepped:
    """The 60th step of a box of spheres, in geometric form from ``many`` contacts on."""
    monkeypatch.setattr(assembly, "MANY", many)
    model = compile_scene(examples.load("box-of-spheres", count=40))
    state = initial_state(model)
    for _ in range(60):
        done = step(model, state, 2e-3, NSGS(tol=1e-12, max_iterations=20_000))
        state = done.state
    return done


def test_both_forms_make_the_same_step(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = stepped(1, monkeypatch), stepped(10**9, monkeypatch)
    assert one.problem.is_round
    assert not two.problem.is_round
    assert len(one.problem.contacts) == len(two.problem.contacts) > 0
    np.testing.assert_allclose(one.state.velocity, two.state.velocity, atol=1e-7)
    assert one.work == pytest.approx(two.work, rel=1e-5, abs=1e-12)


def test_the_solution_stays_as_it_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its velocities are those of the problem, spins in the world, also after the step has used them."""
    done = stepped(1, monkeypatch)
    assert done.problem.is_round
    assert np.array_equal(done.solution.v, done.problem.problem.motion(done.solution.r))
