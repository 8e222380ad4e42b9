"""Frames that turn with a body: which pieces have one, and what is seen from it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from clapas.bodies.elastic import Elastic, Solid, Support, block, join
from clapas.bodies.elastic.frames import Frames, frames_of
from clapas.bodies.elastic.rotation import CellRotations
from clapas.bodies.elastic.supports import hold

SOFT = Elastic(young=1.0, poisson=0.3, density=2.0)
TURN = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # a third of a turn about (1, 1, 1)


def in_space() -> Solid:
    return Solid(mesh=block((1.0, 0.5, 0.25), (2, 1, 1)), material=SOFT)


def small_displacements(solid: Solid, size: float = 1e-2) -> np.ndarray:
    return size * np.random.default_rng(0).standard_normal(solid.n_dof)


def moved(solid: Solid, R: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Displacements of a body deformed by e, then turned and carried away."""
    x = (solid.mesh.nodes + e.reshape(-1, solid.d)) @ R.T + 7.0
    return (x - solid.mesh.nodes).ravel()


def test_a_rotation_changes_nothing_that_is_seen_from_the_frame() -> None:
    solid = in_space()
    frames, e = Frames(solid, np.ones(solid.mesh.n_nodes, dtype=bool)), small_displacements(in_space())
    before, after = frames.at(e), frames.at(moved(solid, TURN, e))
    np.testing.assert_allclose(after.e, before.e, atol=1e-13)
    np.testing.assert_allclose(after.R[0], TURN @ before.R[0], atol=1e-13)
    # and the mean rotation leaves no moment of the displacements it sees
    mass = solid.lumped_mass.reshape(-1, 3)
    first = solid.mesh.nodes - (mass * solid.mesh.nodes).sum(axis=0) / mass[:, 0].sum()
    np.testing.assert_allclose(np.cross(first, mass * before.e.reshape(-1, 3)).sum(axis=0), 0.0, atol=1e-13)


def test_a_mirror_image_is_not_taken_for_a_rotation() -> None:
    solid = in_space()
    frames = Frames(solid, np.ones(solid.mesh.n_nodes, dtype=bool))
    R = frames.at(moved(solid, np.diag([1.0, 1.0, -1.0]), np.zeros(solid.n_dof))).R[0]
    assert np.linalg.det(R) == pytest.approx(1.0)


def test_matrices_and_stresses_turn_with_the_frame() -> None:
    solid = in_space()
    turned = Frames(solid, np.ones(solid.mesh.n_nodes, dtype=bool)).at(
        moved(solid, TURN, np.zeros(solid.n_dof))
    )
    K = solid.stiffness
    T = sparse.block_diag([TURN] * solid.mesh.n_nodes).toarray()
    np.testing.assert_allclose(turned.matrix(K).toarray(), T @ K.toarray() @ T.T, atol=1e-13)
    sigma = turned.stresses(np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]), np.array([0]))[0]
    full = TURN @ np.array([[1.0, 4.0, 6.0], [4.0, 2.0, 5.0], [6.0, 5.0, 3.0]]) @ TURN.T
    np.testing.assert_allclose(sigma, full[[0, 1, 2, 0, 1, 2], [0, 1, 2, 1, 2, 0]], atol=1e-13)


@pytest.mark.parametrize("d", [2, 3])
def test_what_is_left_of_forces_has_no_torque(d: int) -> None:
    solid = in_space() if d == 3 else Solid(mesh=block((1.0, 0.5), (2, 1)), material=SOFT)
    frames = Frames(solid, np.ones(solid.mesh.n_nodes, dtype=bool))
    turned = frames.at(small_displacements(solid))
    force = solid.stiffness @ small_displacements(solid)
    left = frames.without_torque(force, turned).reshape(-1, d)
    np.testing.assert_allclose(left.sum(axis=0), 0.0, atol=1e-14)
    torques = np.einsum("ni,nj->nij", turned.arm, left).sum(axis=0)
    np.testing.assert_allclose(torques, torques.T, atol=1e-15)
    assert np.abs(left.ravel() - force).max() < 0.1 * np.abs(force).max()  # of second order


def test_pieces_that_supports_let_turn_have_a_frame() -> None:
    two = join({"low": block((1.0, 0.5), (2, 1)), "high": block((1.0, 0.5), (2, 1), origin=(0.0, 1.0))})
    corner = np.flatnonzero((two.nodes == 0.0).all(axis=1))
    solid = Solid(mesh=two.with_group("corner", corner), material=SOFT)
    low = two.nodes[:, 1] < 0.75

    def turning(*supports: Support) -> np.ndarray:
        frames = frames_of(solid, hold(solid, supports))
        return np.zeros(len(two.nodes), dtype=bool) if frames is None else frames._turns

    np.testing.assert_array_equal(turning(), True)
    np.testing.assert_array_equal(turning(Support("corner", "xy")), True)  # a hinge
    np.testing.assert_array_equal(turning(Support("low/bottom", "y")), ~low)  # a slide
    np.testing.assert_array_equal(turning(Support("low/bottom", "xy"), Support("high/top", "xy")), False)


def test_the_rotation_of_cells_is_found_in_space() -> None:
    solid = in_space()
    assert CellRotations(solid).too_large(moved(solid, TURN, np.zeros(solid.n_dof))) == pytest.approx(
        2.0 * np.pi / 3.0
    )
