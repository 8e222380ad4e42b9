"""Forces of a step piece by piece: the same answers as cables in the contact problem, judged by it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

import clapas
from clapas.bodies.kind import Part, Span
from clapas.bodies.trusses import Actuator, MovingTruss
from clapas.bodies.trusses.generators import grid, prism, six_strut_ball
from clapas.bodies.trusses.line_search import exact_step
from clapas.bodies.trusses.tightening import StepForces
from clapas.dynamics import solving
from clapas.dynamics.births import initial_state
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.schemes import MoreauJean
from clapas.dynamics.state import State
from clapas.dynamics.stepping import step
from clapas.problems.contact import ContactProblem
from clapas.scenes.compilation import compile_scene
from clapas.solvers import Auto, solve
from clapas.typing import Array, Mask


def as_contacts(forces: StepForces) -> ContactProblem:
    """The cables of a step as a contact problem on bars."""
    M, free, links = forces.as_links()
    assert links is not None
    return ContactProblem(
        M=M, H=links.H, f=-(M @ free), w=links.w, mu=links.mu, compliance=links.compliance, d=links.w.shape[1]
    )


def forces_of(moving: MovingTruss, v: Array, h: float, theta: float) -> StepForces:
    span = Span(0.5 * h, h, theta, np.array([0.0, 0.0, -9.81]))
    return moving.pieces(Part(moving.start().q, v), span)


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    speed=st.sampled_from([0.0, 1e-6, 1.0, 30.0]),
    h=st.sampled_from([1e-5, 1e-3, 0.1]),
    theta=st.sampled_from([0.5, 0.7, 1.0]),
    tau=st.sampled_from([0.0, 1e-3]),
)
def test_the_free_motion_solves_the_contact_problem_of_the_cables(
    seed: int, speed: float, h: float, theta: float, tau: float
) -> None:
    """Cables go slack in numbers when nodes are thrown about; the judge of contacts measures the answer."""
    random = np.random.default_rng(seed)
    moving = MovingTruss(truss=six_strut_ball(), damping_time=tau)
    forces = forces_of(moving, speed * random.normal(size=moving.n_dof), h, theta)
    piece, M, v = forces.free()
    problem = as_contacts(forces)
    r = np.zeros((problem.n_contacts, 3))
    r[:, 0] = np.maximum(forces.impulses(v), 0.0)[moving.truss.is_cable]
    assert problem.residual(r) < 1e-8
    np.testing.assert_allclose(problem.motion(r), v, atol=1e-8 * max(1.0, np.abs(v).max()))
    assert forces.piece(v, piece) is piece
    assert abs(M - M.T).max() <= 1e-14 * abs(M).max()
    np.testing.assert_allclose(forces.free_in(piece)[1], v)


def test_all_cables_slack_is_free_fall_and_bars_alone_have_one_piece() -> None:
    ball = six_strut_ball()
    loose = [Actuator(members=np.flatnonzero(ball.is_cable).tolist(), times=[0.0], factors=[2.0])]
    unstressed = ball.with_(prestress=np.zeros(ball.n_members))
    moving = MovingTruss(truss=unstressed, actuators=loose)
    piece, _, v = forces_of(moving, np.zeros(moving.n_dof), 1e-3, 0.5).free()
    assert not piece[ball.is_cable].any()
    np.testing.assert_allclose(v.reshape(-1, 3), np.tile([0, 0, -9.81e-3], (12, 1)), atol=1e-15)
    struts = ball.with_(groups=[replace(group, kind="bar") for group in ball.groups])
    only = MovingTruss(truss=struts)
    piece, _, _ = forces_of(only, np.ones(only.n_dof), 1e-3, 0.5).free()
    assert piece.all()


def scene_of_ball(tension: float) -> tuple[MovingTruss, clapas.Scene]:
    truss = six_strut_ball(tension=tension)
    low = float(truss.nodes[:, 2].min())
    moving = MovingTruss(
        truss=truss, velocity=np.tile([0.5, 0, -4.0], (12, 1)), node_radius=0.02, bar_radius=0.02
    )
    scene = clapas.Scene()
    scene.law(mu=0.5)
    scene.add(clapas.Plane(), position=(0, 0, low - 0.021))
    scene.add_system(moving, name="ball")
    return moving, scene


def states_of(scene: clapas.Scene, steps: int, dt: float) -> list[State]:
    model = compile_scene(scene)
    states, near = [initial_state(model)], Neighbours(model)
    for _ in range(steps):
        done = step(model, states[-1], dt, Auto(tol=1e-12), MoreauJean(theta=0.6), near)
        assert done.status.is_solved
        states.append(done.state)
    return states


def test_a_drop_is_the_same_with_cables_in_the_contact_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weak cables go slack in the shock on rough ground: contacts change the piece.

    The answer is that of one problem with contacts and cables together.
    """
    moving, scene = scene_of_ball(100.0)
    by_pieces = states_of(scene, 25, 2e-3)
    slack = [int((moving.tensions(state.parts[0])[moving.truss.is_cable] == 0).sum()) for state in by_pieces]
    assert max(slack) >= 3
    assert len(set(slack)) > 3
    assert any(len(state.impulses.impulse) for state in by_pieces)
    monkeypatch.setattr(solving, "PIECES", 0)
    together = states_of(scene, 25, 2e-3)
    assert together[-1].links is not None
    for one, other in zip(by_pieces, together, strict=True):
        np.testing.assert_allclose(one.parts[0].q, other.parts[0].q, atol=1e-8)
        assert one.impulses.impulse.sum() == pytest.approx(other.impulses.impulse.sum(), rel=1e-6, abs=1e-8)


def test_a_compiled_factor_and_superlu_give_the_same_step(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for most in (0, 10**6):
        monkeypatch.setattr("clapas.bodies.trusses.tightening.COMPILED", most)
        moving = MovingTruss(truss=grid(3), case="down")
        found.append(forces_of(moving, np.zeros(moving.n_dof), 1e-2, 0.5).free()[2])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9, atol=1e-15)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_exact_step_is_the_minimum_along_the_line(seed: int) -> None:
    random = np.random.default_rng(seed)
    m = int(random.integers(1, 12))
    stiffness, stretch, t = random.uniform(0.1, 10.0, m), random.normal(size=m), random.normal(size=m)
    cable: Mask = random.random(m) < 0.7
    c = random.uniform(0.01, 1.0)
    slope_now = float((t * stretch)[~cable | (t > 0)].sum())
    g = -abs(random.normal()) - slope_now  # a direction of descent

    def derivative(s: float) -> float:
        force = t + s * stiffness * stretch
        return g + s * c + float((np.where(cable, np.maximum(force, 0.0), force) * stretch).sum())

    s = exact_step(t, stiffness * stretch, stretch, cable, g, c)
    assert s == pytest.approx(optimize.brentq(derivative, 0.0, 1e6), rel=1e-7, abs=1e-10)


def test_a_prism_at_rest_stays_and_costs_one_piece() -> None:
    moving = MovingTruss(truss=prism(3))
    forces = moving.pieces(moving.start(), Span(0.0, 1e-2, 0.5, np.zeros(3)))
    piece, _, v = forces.free()
    assert piece.all()
    assert np.abs(v).max() < 1e-10
    assert solve(as_contacts(forces), Auto(tol=1e-10)).status.is_solved
