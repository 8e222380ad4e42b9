"""Problems of rods and rigid bodies by blocks: the same as by sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clapas.dynamics.solving as solving
from clapas.bodies.rods import Rod, Support
from clapas.dynamics.births import initial_state
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.schemes import MoreauJean
from clapas.dynamics.stepping import StepResult, step
from clapas.geometry.shapes import Plane, Sphere
from clapas.problems import reduce
from clapas.problems.conversions import split
from clapas.problems.packed_bodies import PackedBodies
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from clapas.solvers import NSGS, Auto, InteriorPoint, solve


def heap(restitution: float = 0.0) -> Scene:
    """Rods of different sizes, clamped on a moving support and free, a ball on them, a floor."""
    scene = Scene()
    scene.law(mu=0.4, restitution=restitution)
    scene.add(Plane())
    slide = Support(motion=lambda t: ((0.0, 0.1, 0.0), (0.0, 0.0, 0.3)))
    given: dict[str, Any] = {"radius": 2e-3, "density": 1100.0, "young": 1e8, "damping": 5e-3}
    rods = [
        Rod(
            length=0.1,
            position=(0, 0, 0.0021),
            tangent=(1, 0, -0.001),
            elements=3,
            support=slide,
            bare=0.02,
            **given,
        ),
        Rod(length=0.1, position=(0.05, -0.03, 0.0062), tangent=(0, 1, 0), elements=2, root="free", **given),
        Rod(length=0.08, position=(0.3, 0, 0.002), tangent=(0, 1, 0), elements=4, root="free", **given),
    ]
    scene.add_rods(rods)
    scene.add(Sphere(0.01), (0.05, 0.005, 0.0183), density=2000.0)
    return scene


def last_step(scene: Scene, count: int, solver: Any) -> StepResult:
    model = compile_scene(scene)
    state, neighbours = initial_state(model), Neighbours(model)
    for _ in range(count):
        done = step(model, state, 1e-3, solver, MoreauJean(theta=1.0, reach=2e-4), neighbours)
        state = done.state
    return done


@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_blocks_and_sparse_matrices_make_the_same_step(
    restitution: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 12
    by_blocks = last_step(heap(restitution), count, Auto(tol=1e-11))
    monkeypatch.setattr(solving, "are_small", lambda model, systems: False)
    sparse = last_step(heap(restitution), count, Auto(tol=1e-11))
    ours, theirs = by_blocks.problem.problem, sparse.problem.problem
    assert isinstance(ours.packed, PackedBodies)
    assert theirs.packed is None
    assert ours.n_contacts == theirs.n_contacts > 5
    assert np.allclose(reduce(ours).W.toarray(), reduce(theirs).W.toarray(), rtol=1e-6, atol=1e-8)
    assert np.allclose(ours.q, theirs.q, atol=1e-7)
    assert np.allclose(by_blocks.state.position, sparse.state.position, atol=1e-9)
    assert by_blocks.work == pytest.approx(sparse.work, rel=1e-4, abs=1e-12)


def test_all_forms_of_a_packed_problem_agree() -> None:
    problem = last_step(heap(), 3, Auto(tol=1e-9)).problem.problem
    assert problem.packed is not None
    r = np.random.default_rng(0).normal(size=(problem.n_contacts, 3))
    W = problem.packed.in_full()
    assert np.allclose(problem.packed.delassus().toarray(), W, rtol=1e-11, atol=1e-11 * np.abs(W).max())
    assert np.allclose((W @ r.ravel()).reshape(r.shape), problem.apply_delassus(r), rtol=1e-10)
    assert np.allclose(problem.H @ problem.motion(r), (problem.velocity(r) - problem.w).ravel(), rtol=1e-8)
    assert np.allclose(problem.M @ problem.motion(r) + problem.f, problem.H.T @ r.ravel(), rtol=1e-8)
    blocks = W.reshape(problem.n_contacts, 3, problem.n_contacts, 3)
    own = blocks[np.arange(problem.n_contacts), :, np.arange(problem.n_contacts)]
    assert np.allclose(problem.local_blocks, own, rtol=1e-12)
    for solver in (NSGS(tol=1e-9), InteriorPoint(tol=1e-9)):
        assert solve(problem, solver).residual <= 1e-9


def test_parts_share_no_body_and_make_up_the_whole() -> None:
    problem = last_step(heap(), 3, Auto(tol=1e-9)).problem.problem
    parts = split(problem)
    assert len(parts) == 2  # the rod that lies apart is alone
    r = np.zeros((problem.n_contacts, 3))
    for part in parts:
        r[part.contacts] = solve(part.problem, Auto(tol=1e-11)).r
    assert problem.residual(r) < 1e-9
    assert not set(parts[0].dofs) & set(parts[1].dofs)
