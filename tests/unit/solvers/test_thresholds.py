"""Friction that does not follow the pressure: Tresca's and the viscous law, alone and beside Coulomb's."""

from __future__ import annotations

import math

import numpy as np
import pytest

from clapas.convex.threshold import ThresholdFriction, Thresholds
from clapas.errors import ProblemError, SceneError
from clapas.geometry.shapes import Box, Plane
from clapas.laws import Law
from clapas.problems import ContactProblem, reduce
from clapas.problems.report import modes
from clapas.scenes.scene import Scene
from clapas.scenes.simulation import simulate
from clapas.solvers import NSGS, AcceleratedProjection, Auto, solve
from clapas.solvers.convex.base import ConvexProblem
from clapas.solvers.fixed_point.base import default_inner
from tests.random_problems import random_global

G = 9.81


def with_thresholds(problem: ContactProblem, its: Thresholds) -> ContactProblem:
    """The same contacts under other friction."""
    if problem.form == "reduced":
        return ContactProblem(W=problem.W, q=problem.q, mu=problem.mu, section=its, d=problem.d)
    M, H, f, w = problem.M, problem.H, problem.f, problem.w
    return ContactProblem(M=M, H=H, f=f, w=w, mu=problem.mu, section=its, d=problem.d)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_sweeps_find_the_minimum_of_trescas_problem(seed: int, d: int) -> None:
    """Tresca's friction is a convex program: its minimiser by another method has the same velocities."""
    problem = random_global(seed, n=6, d=d)
    limit = np.abs(np.random.default_rng(seed).normal(size=6)) * np.array([0, 1, 1, 0, 1, 1])
    its = Thresholds(limit, np.zeros(6), np.zeros(6, dtype=bool))
    for form in (problem, reduce(problem)):
        found = solve(with_thresholds(form, its), NSGS(tol=1e-10))
        convex = ConvexProblem.tresca(problem, limit)
        expected = default_inner().start(problem).solve(convex, np.zeros(problem.q.shape), 1e-11)
        np.testing.assert_allclose(found.u, expected.u, atol=1e-7 * convex.scale)


def test_a_viscous_contact_resists_as_its_speed() -> None:
    """r_T = −u_T/κ with u_T = q_T + r_T: u_T = κ q_T/(1 + κ)."""
    its = Thresholds([math.inf], [0.5], [False])
    problem = ContactProblem(W=np.eye(3), q=[[-1.0, 3.0, 0.0]], mu=[0.0], section=its)
    found = solve(problem, Auto(tol=1e-12))
    np.testing.assert_allclose(found.r, [[1.0, -2.0, 0.0]], atol=1e-9)
    np.testing.assert_allclose(found.u, [[0.0, 1.0, 0.0]], atol=1e-9)
    assert problem.residual([[1.0, -1.9, 0.0]]) > 0.01


def test_an_open_contact_rubs_up_to_its_threshold() -> None:
    """The defect of the law: the threshold does not know that nothing presses."""
    coupled = np.array([[1.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.5]])
    its = Thresholds([0.4], [0.0], [False])
    problem = ContactProblem(W=coupled, q=[[2.0, 3.0, -1.0]], mu=[0.0], section=its)
    found = solve(problem, NSGS(tol=1e-12))
    assert found.r[0, 0] == 0.0
    assert np.linalg.norm(found.r[0, 1:]) == pytest.approx(0.4)
    across = found.u[0, 1] * found.r[0, 2] - found.u[0, 2] * found.r[0, 1]
    assert abs(across) < 1e-9
    assert found.u[0, 1:] @ found.r[0, 1:] < 0


def test_two_laws_in_one_problem() -> None:
    """Where a contact is Coulomb's its friction follows the pressure; the others keep their threshold."""
    problem = random_global(5, n=8, d=3)
    is_round = np.arange(8) % 2 == 0
    its = Thresholds(np.full(8, 0.3), np.zeros(8), is_round)
    found = solve(with_thresholds(problem, its), NSGS(tol=1e-10))
    size = np.linalg.norm(found.r[:, 1:], axis=1)
    assert (size[~is_round] <= 0.3 * (1 + 1e-9)).all()
    assert (size[is_round] <= problem.mu[is_round] * found.r[is_round, 0] + 1e-7).all()
    all_round = with_thresholds(problem, Thresholds(np.zeros(8), np.zeros(8), np.ones(8, dtype=bool)))
    assert all_round.section is None  # nothing but Coulomb's law


def test_modes_know_the_threshold() -> None:
    its = Thresholds([2.0, 2.0], [0.0, 0.0], [False, False])
    W, q = np.eye(6), [[-1.0, 1.0, 0.0], [-1.0, 5.0, 0.0]]
    problem = ContactProblem(W=W, q=q, mu=[0.0, 0.0], section=its)
    r = solve(problem, NSGS(tol=1e-12)).r
    _, sticking, sliding = modes(problem, r)
    assert sticking.tolist() == [True, False]
    assert sliding.tolist() == [False, True]


def test_relaxed_sweeps_arrive_at_the_same_place() -> None:
    its = Thresholds(np.full(6, 0.2), np.zeros(6), np.zeros(6, dtype=bool))
    problem = with_thresholds(random_global(1, n=6, d=3), its)
    plain, relaxed = (solve(problem, NSGS(tol=1e-10, relaxation=omega)).u for omega in (1.0, 1.3))
    np.testing.assert_allclose(plain, relaxed, atol=1e-7)


def brick(angle: float, **law: float) -> Scene:
    """A brick of 1 kg on a slope, its gravity turned instead."""
    scene = Scene(gravity=(G * math.sin(angle), 0.0, -G * math.cos(angle)))
    scene.law(**law)
    scene.add(Plane(), name="floor")
    scene.add(Box((0.2, 0.1, 0.05)), position=(0, 0, 0.025), mass=1.0, name="brick")
    return scene


def test_trescas_brick_stays_below_its_threshold_and_slides_above() -> None:
    """Cadoux 2009, figure 1.9: θ is shared by four corners; a = g sin α − 4 θ/m beyond."""
    angle = math.radians(20.0)
    pull = G * math.sin(angle)
    held = simulate(brick(angle, mu=0.0, threshold=1.01 * pull / 4), 0.1, 1e-3, Auto(tol=1e-9))
    assert np.abs(held.state.velocity[1]).max() < 1e-6
    weak = 0.5 * pull / 4
    slides = simulate(brick(angle, mu=0.0, threshold=weak), 0.1, 1e-3, Auto(tol=1e-9))
    assert slides.state.velocity[1, 0] == pytest.approx(0.5 * pull * 0.1, rel=1e-3)


def test_trescas_brick_does_not_feel_its_weight() -> None:
    """Ten times as heavy, the same threshold: it slides where Coulomb's would stay as before."""
    scene = Scene(gravity=(G * math.sin(0.2), 0.0, -G * math.cos(0.2)))
    scene.law(mu=0.0, threshold=1.0)
    scene.add(Plane(), name="floor")
    scene.add(Box((0.2, 0.1, 0.05)), position=(0, 0, 0.025), mass=10.0, name="brick")
    assert simulate(scene, 0.05, 1e-3).state.velocity[1, 0] > 0.05


def test_a_viscous_brick_never_stays_but_has_a_speed_of_its_own() -> None:
    """Section 1.2.2: four corners, m g sin α = 4 c v in the end."""
    angle, c = math.radians(20.0), 20.0
    last = G * math.sin(angle) / (4 * c)
    end = simulate(brick(angle, mu=0.0, viscosity=c), 0.3, 1e-3, Auto(tol=1e-10)).state
    assert end.velocity[1, 0] == pytest.approx(last, rel=1e-4)
    assert end.position[1, 2] == pytest.approx(0.025, abs=1e-7)  # and it does not sink


def test_files_hold_the_laws() -> None:
    scene = brick(0.1, mu=0.0, threshold=2.5)
    again = Scene.from_dict(scene.to_dict())
    assert again.law_table().threshold.max() == 2.5
    assert Scene.from_dict(brick(0.1, mu=0.3).to_dict()).law_table().has_thresholds is False


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(SceneError, match="threshold takes the place of mu: give mu = 0"):
        Law(mu=0.3, threshold=1.0)
    with pytest.raises(SceneError, match="threshold and viscosity are two laws of friction"):
        Law(mu=0.0, threshold=1.0, viscosity=1.0)
    with pytest.raises(SceneError, match="viscosity must be finite and between 0"):
        Law(mu=0.0, viscosity=-1.0)
    with pytest.raises(ProblemError, match="neither a threshold nor softness"):
        Thresholds([math.inf], [0.0], [False])
    with pytest.raises(ProblemError, match="there are 1 thresholds for 2 contacts"):
        ContactProblem(W=np.eye(6), q=np.zeros((2, 3)), mu=0.0, section=Thresholds([1.0], [0.0], [False]))
    problem = ContactProblem(W=np.eye(3), q=[[-1.0, 0, 0]], mu=0.0, section=Thresholds([1.0], [0.0], [False]))
    with pytest.raises(ProblemError, match=r"does not take the law of these contacts \(ThresholdFriction\)"):
        solve(problem, AcceleratedProjection())
    assert isinstance(problem.cone, ThresholdFriction)
