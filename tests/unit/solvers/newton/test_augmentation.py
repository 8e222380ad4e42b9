"""Alart's bounds on the augmentation."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.errors import SettingsError
from clapas.solvers.newton.augmentation import (
    Augmentation,
    Elastoplastic,
    friction_bound,
    node_bound,
    one_spring_bound,
    two_springs_bound,
    uzawa_bound,
)
from tests.random_problems import random_block

OSCILLATOR = [[2.0, -1.0], [-1.0, 1.0]]


def test_bounds_of_the_oscillator():
    assert one_spring_bound(3.0) == 6.0
    assert uzawa_bound(OSCILLATOR) == pytest.approx(3.0 - np.sqrt(5.0))
    assert two_springs_bound(OSCILLATOR) == pytest.approx(2.0)


@pytest.mark.parametrize("d", [2, 3])
def test_bound_of_a_node_is_above_the_simpler_ones(d: int):
    rng = np.random.default_rng(4)
    blocks = np.array([random_block(rng, d) for _ in range(20)])
    bound = node_bound(blocks)
    largest_tangent = np.linalg.eigvalsh(blocks[:, 1:, 1:])[:, -1]
    assert (bound >= 2.0 / largest_tangent * (1 - 1e-12)).all()
    assert (bound >= 2.0 / np.linalg.eigvalsh(blocks)[:, -1] * (1 - 1e-12)).all()


def test_bound_of_a_node_in_the_plane_is_by_the_determinant():
    block = random_block(np.random.default_rng(1), 2)
    np.testing.assert_allclose(node_bound(block[None]), 2.0 * block[0, 0] / np.linalg.det(block))


def test_no_tangential_response_bounds_nothing():
    rigid = np.array([[[1.0, 1.0], [1.0, 1.0]]])
    assert node_bound(rigid)[0] == np.inf
    rho = Augmentation.from_blocks(rigid)
    np.testing.assert_array_equal(rho.tangent, rho.normal)


def test_friction_bound():
    blocks = np.array([[[2.0, -0.5], [-0.5, 1.0]], [[2.0, 0.0], [0.0, 1.0]]])
    np.testing.assert_array_equal(friction_bound(blocks), [4.0, np.inf])


def test_elastoplastic_bound_vanishes_with_the_normal_force():
    forces = np.array([0.0, 1e-6, 1.0, 1e12])
    bound = Elastoplastic(stiffness=2.0, hardening=1.0, yield_force=3.0).bound(0.5, forces)
    assert bound[0] == 0.0
    assert (np.diff(bound) > 0).all()
    assert bound[-1] == pytest.approx(2.0)  # 2k: the spring that has yielded, alone


def test_augmentation_takes_its_share_of_the_bounds():
    rho = Augmentation.from_blocks(np.array([[[2.0, 0.0], [0.0, 4.0]]]), share=0.25)
    np.testing.assert_allclose([rho.normal, rho.tangent, rho.single], [[0.25], [0.125], [0.125]])


def test_safeguard_limits_the_tangents():
    rho = Augmentation(np.ones(3), np.ones(3)).limited(np.array([0.0, 0.5, 2.0]))
    np.testing.assert_allclose(rho.tangent, [1e-3, 0.5, 1.0])
    np.testing.assert_array_equal(rho.normal, np.ones(3))


def test_bad_material():
    with pytest.raises(SettingsError, match="Elastoplastic: hardening must be positive, got 0"):
        Elastoplastic(stiffness=1.0, hardening=0.0, yield_force=1.0)


def test_without_contacts():
    assert Augmentation.from_blocks(np.zeros((0, 3, 3))).single.shape == (0,)
