"""The contact problem of a step against kinematics and Newton's laws written out in NumPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from clapas.dynamics.assembly import ContactsInStep
from clapas.dynamics.births import initial_state
from clapas.dynamics.freemotion import free_motion
from clapas.dynamics.model import Model
from clapas.dynamics.motions import ConstantVelocity
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.rigid_problem import rigid_problem
from clapas.dynamics.state import Impulses, State
from clapas.dynamics.step_problem import StepProblem
from clapas.geometry import rotations
from clapas.geometry.shapes import Box, Disk, Plane, Polygon, Sphere
from clapas.problems import reduce
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene

DT = 1e-3
LAWS = {
    "friction": {"mu": 0.4},
    "restitution": {"mu": 0.4, "restitution": 0.5, "tangential_restitution": 0.25},
    "cohesion": {"mu": 0.4, "cohesion": 3.0},
    "couples": {"mu": 0.4, "rolling": 0.02, "spinning": 0.01},
}


def assembled(law: str, d: int = 3) -> tuple[Model, State, np.ndarray, StepProblem]:
    """Overlapping bodies of all sorts over a wall that moves, turned and with any velocities."""
    rng = np.random.default_rng(7)
    scene = Scene(d=d, overlap=1.0)
    spins = d == 3  # nothing spins about the normal in the plane
    scene.law(**{name: value for name, value in LAWS[law].items() if spins or name != "spinning"})
    corners = [(0.12, -0.1), (0.1, 0.13), (-0.11, 0.09), (-0.1, -0.12)]
    block = Box((0.2, 0.25, 0.3)) if d == 3 else Polygon(corners)
    ball = Sphere(0.12) if d == 3 else Disk(0.12)
    ground = Box((3.0, 3.0, 0.4)) if d == 3 else Polygon([(-2, -0.2), (2, -0.2), (2, 0.2), (-2, 0.2)])
    scene.add(ground, (0.0,) * d, motion=ConstantVelocity((0.3, -0.2, 0.1)[:d]))
    for k in range(6):
        place = (0.18 * k, *((0.02 * k,) if d == 3 else ()), 0.28 + 0.02 * (k % 3))
        scene.add(
            ball if k % 2 else block,
            place,
            rng.normal(size=4).tolist() if d == 3 else float(rng.normal()),
            rng.normal(size=d).tolist(),
            rng.normal(size=3).tolist() if d == 3 else float(rng.normal()),
            density=1000.0 + 100.0 * k,
        )
    model = compile_scene(scene)
    state = initial_state(model)
    middle = replace(state, velocity=state.velocity.copy())
    for body in model.motions:
        middle.velocity[body] = model.driven(body, middle.velocity[body], 0.0)
    free = free_motion(model, middle, DT)
    contacts = Neighbours(model).detect(middle, 0.0)
    assert len(contacts) >= 8
    return model, middle, free, rigid_problem(ContactsInStep(model, middle, contacts, DT), free)


def rows(model: Model, at: State, problem: StepProblem) -> np.ndarray:
    """H (n·k, N·size): u = F (v_b + ω_b × l_b − v_a − ω_a × l_a), below F (ω_b − ω_a) for couples."""
    d, size = model.d, model.masses.shape[1]
    contacts, n = problem.contacts, len(problem.contacts)
    k = problem.problem.d if problem.problem.d > d else d
    H = np.zeros((n, k, model.n_bodies, size))
    for i in range(n):
        frame = problem.frame[i]
        for body, sign in ((contacts.a[i], -1.0), (contacts.b[i], 1.0)):
            arm = contacts.point[i] - at.position[body]
            H[i, :d, body, :d] += sign * frame
            if d == 3:
                # The axes of the body in the world: spins are along them.
                axes = rotations.rotate(np.tile(at.orientation[body], (3, 1)), np.eye(3))
                H[i, :3, body, 3:] += sign * np.array([frame @ np.cross(axis, arm) for axis in axes]).T
                if k > 3:
                    H[i, 3:, body, 3:] += sign * frame @ axes.T
            else:
                H[i, :2, body, 2] += sign * frame @ (-arm[1], arm[0])
                if k > 2:
                    H[i, 2, body, 2] += sign
    H = H * np.broadcast_to(problem.scale, (n, k))[:, :, None, None]
    return H.reshape(n * k, -1)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("law", LAWS)
def test_velocities_and_answers_at_contacts(law: str, d: int) -> None:
    """Expected: q = H v_free + w and W = H M⁻¹ Hᵀ over the bodies that can move."""
    model, middle, free, made = assembled(law, d)
    n, H = len(made.contacts), rows(model, middle, made)
    inverse = np.where(model.movable[:, None], 1.0 / model.masses, 0.0).ravel()
    W = H * inverse @ H.T
    k = len(H) // n
    q = (H @ free.ravel()).reshape(n, k)
    before = (H @ middle.velocity.ravel()).reshape(n, k)
    numbers = LAWS[law]
    q[:, 0] += numbers.get("restitution", 0.0) * before[:, 0]
    q[:, 1:d] += numbers.get("tangential_restitution", 0.0) * before[:, 1:d]
    pull = np.zeros((n, k))
    pull[:, 0] = -numbers.get("cohesion", 0.0) * DT
    q += (W @ pull.ravel()).reshape(n, k)  # the unknown is the impulse plus the cohesion
    problem = made.problem
    scale = np.abs(q).max()
    np.testing.assert_allclose(problem.velocity(np.zeros((n, k))), q, atol=1e-12 * scale)
    r = np.random.default_rng(1).normal(size=(n, k))
    expected = (W @ r.ravel()).reshape(n, k) + q
    np.testing.assert_allclose(problem.velocity(r), expected, atol=1e-12 * np.abs(expected).max())
    assert np.all(problem.mu == 0.4)


def test_the_delassus_operator_is_that_of_the_bodies() -> None:
    model, middle, _, made = assembled("friction")
    H = rows(model, middle, made)
    inverse = np.where(model.movable[:, None], 1.0 / model.masses, 0.0).ravel()
    W = reduce(made.problem).W
    dense = W.toarray() if hasattr(W, "toarray") else np.asarray(W)
    np.testing.assert_allclose(dense, H * inverse @ H.T, rtol=1e-11, atol=1e-12 * np.abs(dense).max())


@pytest.mark.parametrize("law", LAWS)
def test_a_guess_undoes_what_impulses_do(law: str) -> None:
    """Unknowns to impulses in the world, carried to the same contacts: the same unknowns."""
    _, _, _, made = assembled(law)
    r = np.random.default_rng(2).normal(size=made.problem.q.shape)
    impulses = made.impulses(r)
    np.testing.assert_allclose(made.guess(impulses), r, rtol=1e-11, atol=1e-12)
    force = np.einsum("nij,ni->nj", made.frame, (r * made.scale)[:, :3])
    force -= made.cohesion[:, None] * made.contacts.normal
    np.testing.assert_allclose(impulses.impulse, force, rtol=1e-11, atol=1e-12)


def test_work_of_walls_is_force_times_displacement() -> None:
    model, middle, _, made = assembled("friction")
    r = np.random.default_rng(3).normal(size=made.problem.q.shape)
    f, c = made.impulses(r).impulse, made.contacts
    driven = np.flatnonzero(~model.movable)
    expected = sum(
        sign * f[i] @ middle.velocity[body, :3]
        for i in range(len(c))
        for body, sign in ((c.a[i], -1.0), (c.b[i], 1.0))
        if body in driven
    )
    assert made.work_of_walls(r) == pytest.approx(expected, rel=1e-11)


def test_no_contact_makes_an_empty_problem() -> None:
    scene = Scene()
    scene.law(mu=0.3)
    scene.add(Plane())
    scene.add(Sphere(0.1), (0.0, 0.0, 1.0), density=1000.0)
    model = compile_scene(scene)
    state = initial_state(model)
    contacts = Neighbours(model).detect(state, 0.0)
    made = rigid_problem(ContactsInStep(model, state, contacts, DT), free_motion(model, state, DT))
    assert made.problem.n_contacts == 0
    assert made.guess(Impulses.none(3)).shape == (0, 3)
    assert made.work_of_walls(np.empty((0, 3))) == 0.0
