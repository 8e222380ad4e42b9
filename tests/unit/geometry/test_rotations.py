"""Quaternions against appendix C of Cadoux 2009, equation by equation, and the plane beside."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from clapas.geometry import rotations as rot
from clapas.typing import Array

RNG = np.random.default_rng(3)
Q = RNG.normal(size=(50, 4))
P = RNG.normal(size=(50, 4))
UNIT = rot.normalise(Q)
VECTORS = RNG.normal(size=(50, 3))
E = np.eye(4)


def close(a: Array, b: Array, tol: float = 1e-13) -> None:
    np.testing.assert_allclose(a, b, rtol=0, atol=tol)


def pure(v: Array) -> Array:
    return np.concatenate((np.zeros((*v.shape[:-1], 1)), v), axis=-1)


def test_product_is_the_printed_one() -> None:  # (C.2)
    expected = [
        np.concatenate(([p[0] * q[0] - p[1:] @ q[1:]], p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:])))
        for p, q in zip(P, Q, strict=True)
    ]
    close(rot.product(P, Q), np.array(expected))


def test_rules_of_the_basis() -> None:
    for i, j, k in [(1, 2, 3), (2, 3, 1), (3, 1, 2)]:
        close(rot.product(E[i], E[j]), E[k])
        close(rot.product(E[j], E[i]), -E[k])
        close(rot.product(E[i], E[i]), -E[0])


def test_product_is_associative_and_distributes() -> None:
    R = RNG.normal(size=(50, 4))
    close(rot.product(rot.product(P, Q), R), rot.product(P, rot.product(Q, R)))
    close(rot.product(P, Q + R), rot.product(P, Q) + rot.product(P, R))
    close(rot.product(E[0], Q), Q)
    close(rot.product(Q, E[0]), Q)


def test_norm_and_inverse() -> None:  # (C.3) (C.4)
    square = rot.product(Q, rot.conjugate(Q))
    close(square, rot.norm(Q)[:, None] ** 2 * E[0])
    close(rot.product(rot.conjugate(Q), Q), square)
    close(rot.product(Q, rot.inverse(Q)), np.tile(E[0], (50, 1)))
    close(rot.product(rot.inverse(Q), Q), np.tile(E[0], (50, 1)))


def test_norm_and_conjugate_of_a_product() -> None:  # (C.5) (C.6)
    close(rot.norm(rot.product(P, Q)), rot.norm(P) * rot.norm(Q))
    close(rot.conjugate(rot.product(P, Q)), rot.product(rot.conjugate(Q), rot.conjugate(P)))


def test_matrices_of_multiplication() -> None:  # (C.7) (C.8)
    close(np.einsum("nij,nj->ni", rot.left_matrix(P), Q), rot.product(P, Q))
    close(np.einsum("nij,nj->ni", rot.right_matrix(P), Q), rot.product(Q, P))
    for matrix in (rot.left_matrix(UNIT), rot.right_matrix(UNIT)):
        close(matrix @ matrix.transpose(0, 2, 1), np.tile(np.eye(4), (50, 1, 1)))


def test_reflections() -> None:  # (C.10), theorem C.3
    n = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)
    v = RNG.normal(size=(50, 3))
    reflected = rot.product(rot.product(pure(n), pure(v)), pure(n))
    close(reflected, pure(v - 2 * n * np.sum(n * v, axis=1, keepdims=True)))


def test_two_reflections_are_a_rotation() -> None:  # theorem C.4
    n_1, n_2 = (x / np.linalg.norm(x) for x in VECTORS[:2])
    half = np.arccos(n_1 @ n_2)
    q = rot.from_axis_angle(np.cross(n_1, n_2), 2 * half)
    close(rot.product(pure(n_2), pure(n_1)), -q)


def test_rotation_is_conjugation() -> None:  # theorem C.5, (C.22)
    expected = rot.product(rot.product(UNIT, pure(VECTORS)), rot.conjugate(UNIT))
    close(pure(rot.rotate(UNIT, VECTORS)), expected)
    close(rot.rotate_back(UNIT, rot.rotate(UNIT, VECTORS)), VECTORS)


def test_conjugation_ignores_the_scale() -> None:  # (C.11)
    scaled = -2.5 * UNIT
    turned = rot.product(rot.product(scaled, pure(VECTORS)), rot.inverse(scaled))
    close(turned, pure(rot.rotate(UNIT, VECTORS)))


def test_cross_matrix() -> None:  # (C.12)
    v = RNG.normal(size=(50, 3))
    close(np.einsum("nij,nj->ni", rot.cross_matrix(VECTORS), v), np.cross(VECTORS, v))


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.3, np.pi / 2, 3.0, np.pi, 5.0])
def test_matrix_is_the_printed_one(angle: float) -> None:  # (C.13)
    p = VECTORS[0] / np.linalg.norm(VECTORS[0])
    expected = (
        np.cos(angle) * np.eye(3) + (1 - np.cos(angle)) * np.outer(p, p) + np.sin(angle) * rot.cross_matrix(p)
    )
    close(rot.to_matrix(rot.from_axis_angle(p, angle)), expected)


def test_body_rotation_vector_gives_the_rate_of_the_matrix() -> None:  # (C.16) (C.21) (C.25), lemma C.7
    q, omega, h = UNIT[0], VECTORS[0], 1e-6
    rate = (rot.integrate(q, omega, h) - rot.integrate(q, omega, -h)) / (2 * h)
    close(rot.derivative(q, omega), rate, 1e-9)
    close(rot.derivative(q, omega), 0.5 * rot.right_matrix(pure(omega)) @ q)
    in_world = pure(rot.rotate(q, omega))
    close(rot.derivative(q, omega), 0.5 * rot.product(in_world, q))
    assert abs(rot.product(rot.derivative(q, omega), rot.conjugate(q))[0]) < 1e-15
    matrices = [rot.to_matrix(rot.integrate(q, omega, t)) for t in (-h, h)]
    close((matrices[1] - matrices[0]) / (2 * h), rot.to_matrix(q) @ rot.cross_matrix(omega), 1e-9)


def test_exponential_is_that_of_the_cross_matrix() -> None:
    vectors = VECTORS * np.array([1e-12, 1e-3, 1.0, 10.0])[:, None, None]
    for v in vectors.reshape(-1, 3)[::17]:
        close(rot.to_matrix(rot.exponential(v)), expm(rot.cross_matrix(v)), 1e-12)
    close(rot.exponential(np.zeros(3)), E[0])


def test_against_an_independent_library() -> None:
    theirs = Rotation.from_quat(UNIT[:, [1, 2, 3, 0]])
    close(rot.to_matrix(UNIT), theirs.as_matrix())
    close(rot.rotate(UNIT, VECTORS), theirs.apply(VECTORS))


def test_matrix_and_quaternion_are_inverse_of_each_other() -> None:
    halves = rot.from_axis_angle(np.vstack((np.eye(3), VECTORS)), np.pi - np.linspace(0, 1e-3, 53))
    for q in (UNIT, halves):
        back = rot.from_matrix(rot.to_matrix(q))
        close(np.abs(np.sum(back * q, axis=1)), np.ones(len(q)))
        assert np.all(back[:, 0] >= 0.0)
    close(rot.from_matrix(np.eye(3)), E[0])


@given(
    arrays(np.float64, (3,), elements=st.floats(-50.0, 50.0)),
    st.floats(1e-4, 1.0),
)
def test_orientation_stays_unit(omega: Array, dt: float) -> None:
    q = UNIT[7]
    for _ in range(100):
        q = rot.integrate(q, omega, dt)
    assert abs(rot.norm(q) - 1.0) < 5e-16
    close(np.abs(q @ rot.product(UNIT[7], rot.exponential(100 * dt * omega))), np.array(1.0), 1e-9)


def test_normalise_survives_extreme_sizes() -> None:
    for scale in (1e-300, 1e-5, 1e300):
        close(rot.normalise(UNIT * scale), UNIT, 1e-15)
    assert np.isnan(rot.normalise([0.0, 0.0, 0.0, 0.0])).all()


def test_plane_follows_the_same_rules() -> None:
    angles, v = RNG.normal(size=(20, 1)), RNG.normal(size=(20, 2))
    cos, sin = np.cos(angles[:, 0]), np.sin(angles[:, 0])
    close(
        rot.rotate(angles, v), np.column_stack((cos * v[:, 0] - sin * v[:, 1], sin * v[:, 0] + cos * v[:, 1]))
    )
    close(rot.rotate_back(angles, rot.rotate(angles, v)), v)
    close(rot.rotate(rot.opposite(angles), v), rot.rotate_back(angles, v))
    close(rot.integrate(angles, np.full((20, 1), 2.0), 0.25), angles + 0.5)
    other = RNG.normal(size=(20, 1))
    close(rot.rotate(rot.compose(angles, other), v), rot.rotate(angles, rot.rotate(other, v)))


def test_compose_is_one_after_the_other() -> None:
    other = rot.normalise(P)
    close(rot.rotate(rot.compose(UNIT, other), VECTORS), rot.rotate(UNIT, rot.rotate(other, VECTORS)))
    close(rot.rotate(rot.opposite(UNIT), VECTORS), rot.rotate_back(UNIT, VECTORS))


@pytest.mark.parametrize("d", [2, 3])
def test_up_to_brings_the_last_axis_onto_the_normal(d: int) -> None:
    normals = np.vstack((RNG.normal(size=(30, d)), np.eye(d), -np.eye(d)))
    normals[:3] = -np.eye(d)[-1] + 1e-9 * normals[:3]
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    turn = rot.up_to(normals)
    close(rot.rotate(turn, np.tile(np.eye(d)[-1], (len(normals), 1))), normals)
    if d == 3:
        close(rot.norm(turn), np.ones(len(turn)), 1e-15)
        assert np.all(turn[:, 3] == 0.0)


def test_everything_takes_no_body_at_all() -> None:
    none_3, none_2 = np.empty((0, 4)), np.empty((0, 1))
    assert rot.integrate(none_3, np.empty((0, 3)), 0.1).shape == (0, 4)
    assert rot.integrate(none_2, np.empty((0, 1)), 0.1).shape == (0, 1)
    assert rot.rotate(none_3, np.empty((0, 3))).shape == (0, 3)
    assert rot.from_matrix(np.empty((0, 3, 3))).shape == (0, 4)
