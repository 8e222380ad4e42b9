"""Free motion of rigid bodies, and the rows their contacts give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from clapas.bodies.rigid.motion import (
    fill_blocks_2d,
    fill_blocks_3d,
    moved,
    spin_freely,
    work,
    work_on_many,
)
from clapas.compiled import limited_threads
from clapas.problems.blocks import frames


def rotation(q: np.ndarray) -> np.ndarray:
    return Rotation.from_quat(np.roll(q, -1)).as_matrix()


@given(st.integers(0, 10_000))
def test_turning_is_the_exponential_map(seed: int) -> None:
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(3, 4))
    q /= np.linalg.norm(q, axis=1)[:, None]
    velocity = rng.normal(size=(3, 6)) * 10.0 ** rng.integers(-8, 3)
    h = 0.01
    _, turned = moved(np.zeros((3, 3)), q, velocity, h)
    for i in range(3):
        expected = rotation(q[i]) @ Rotation.from_rotvec(h * velocity[i, 3:]).as_matrix()
        np.testing.assert_allclose(rotation(turned[i]), expected, atol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(turned, axis=1), 1.0, atol=1e-15)


def test_free_spin_keeps_energy_and_momentum_over_many_steps() -> None:
    inertia = np.array([[1.0, 2.0, 3.0]])
    velocity = np.array([[0.0, 0.0, 0.0, 0.1, 2.0, 0.05]])  # near the unstable axis: it tumbles
    energy = float(inertia[0] @ velocity[0, 3:] ** 2)
    momentum = float(np.linalg.norm(inertia[0] * velocity[0, 3:]))
    flipped = False
    for _ in range(100_000):
        spin_freely(velocity, inertia, 1e-3)
        flipped |= velocity[0, 4] < -1.9
    assert flipped
    assert abs(float(inertia[0] @ velocity[0, 3:] ** 2) / energy - 1) < 1e-10
    assert abs(float(np.linalg.norm(inertia[0] * velocity[0, 3:])) / momentum - 1) < 1e-10


def test_free_spin_keeps_the_direction_of_the_momentum_to_second_order() -> None:
    inertia = np.array([[1.0, 2.0, 3.0]])
    errors = []
    for steps in (500, 1000, 2000):
        h = 2.0 / steps
        velocity, q = np.array([[0, 0, 0, 0.3, 2.0, 0.5]]), np.array([[1.0, 0, 0, 0]])
        start = inertia[0] * velocity[0, 3:]
        for _ in range(steps):
            _, q = moved(np.zeros((1, 3)), q, velocity, h / 2)
            spin_freely(velocity, inertia, h)
            _, q = moved(np.zeros((1, 3)), q, velocity, h / 2)
        errors.append(np.linalg.norm(rotation(q[0]) @ (inertia[0] * velocity[0, 3:]) - start))
    rates = np.log2(np.divide(errors[:-1], errors[1:]))
    assert (rates > 1.8).all()


def test_spheres_do_not_precess() -> None:
    velocity = np.array([[0.0, 0, 0, 1, 2, 3]])
    spin_freely(velocity, np.ones((1, 3)), 0.1)
    np.testing.assert_array_equal(velocity, [[0, 0, 0, 1, 2, 3]])


@given(st.integers(0, 10_000), st.sampled_from([2, 3]))
def test_frames_are_orthonormal(seed: int, d: int) -> None:
    normal = np.random.default_rng(seed).normal(size=(5, d))
    normal[0] = np.eye(d)[-1] * (1 if seed % 2 else -1)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    frame = frames(normal)
    np.testing.assert_array_equal(frame[:, 0], normal)
    np.testing.assert_allclose(frame @ frame.transpose(0, 2, 1), np.tile(np.eye(d), (5, 1, 1)), atol=1e-14)
    np.testing.assert_allclose(np.linalg.det(frame), 1.0, atol=1e-14)


@given(st.integers(0, 10_000), st.sampled_from([2, 3]))
def test_rows_give_the_relative_velocity_of_the_material_points(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    size, turn = (6, 4) if d == 3 else (3, 1)
    position, orientation = rng.normal(size=(2, d)), rng.normal(size=(2, turn))
    if d == 3:
        orientation /= np.linalg.norm(orientation, axis=1)[:, None]
    velocity, scale = rng.normal(size=(2, size)), rng.uniform(0.5, 2, (2, size))
    movable = rng.random(2) < 0.6
    point, shift = rng.normal(size=(1, d)), rng.normal(size=(1, d))
    normal = rng.normal(size=(1, d))
    frame = frames(normal / np.linalg.norm(normal))
    G, w = np.zeros((1, 2, d, size)), np.zeros((1, d))
    fill = fill_blocks_3d if d == 3 else fill_blocks_2d
    fill(np.array([[0, 1]]), point, shift, frame, position, orientation, velocity, scale, movable, G, w)
    material = []
    for body in range(2):
        arm = point[0] - position[body] - (shift[0] if body else 0.0)
        if d == 3:
            spin = np.cross(rotation(orientation[body]) @ velocity[body, 3:], arm)
        else:
            spin = velocity[body, 2] * np.array([-arm[1], arm[0]])
        material.append(velocity[body, :d] + spin)
    y = np.where(movable[:, None], velocity / scale, 0.0)
    u = np.einsum("sdk,sk->d", G[0], y) + w[0]
    np.testing.assert_allclose(u, frame[0] @ (material[1] - material[0]), atol=1e-12)


@pytest.mark.parametrize("n", [3, 1024, 1025, 20_000])
@pytest.mark.parametrize("d", [2, 3])
def test_work_has_the_same_bits_on_any_number_of_threads(n: int, d: int) -> None:
    rng, turns = np.random.default_rng(n), 1 if d == 2 else 3
    mass, inertia, movable = rng.uniform(1, 2, n), rng.uniform(1, 2, (n, turns)), rng.random(n) < 0.9
    before, free, after = rng.normal(size=(3, n, d + turns))
    after[::5] = free[::5]
    masses = np.hstack((np.repeat(mass[:, None], d, axis=1), inertia))
    expected = 0.5 * np.sum((masses * (after - free) * (before + after))[movable])
    found = set()
    for threads in (1, 2):
        with limited_threads(threads, n):
            found.add(work_on_many(mass, inertia, movable, before, free, after))
    assert found == {work(mass, inertia, movable, before, free, after)}
    assert found.pop() == pytest.approx(expected, rel=1e-12)
