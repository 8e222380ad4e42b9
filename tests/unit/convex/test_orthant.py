from __future__ import annotations

import numpy as np

from clapas.convex import Orthant


def test_one_component_per_contact() -> None:
    x = np.array([-2.0, 0.0, 3.0])
    np.testing.assert_array_equal(Orthant().project(x), [0.0, 0.0, 3.0])
    np.testing.assert_array_equal(Orthant().contains(x), [False, True, True])
    np.testing.assert_array_equal(Orthant().distance(x), [2.0, 0.0, 0.0])
    np.testing.assert_array_equal(Orthant().jacobian(x), [[[0.0]], [[1.0]], [[1.0]]])


def test_several_components() -> None:
    x = np.array([[-3.0, -4.0], [1.0, -2.0]])
    np.testing.assert_array_equal(Orthant().project(x), [[0.0, 0.0], [1.0, 0.0]])
    np.testing.assert_array_equal(Orthant().distance(x), [5.0, 2.0])
    np.testing.assert_array_equal(Orthant().contains(x, tol=3.0), [False, True])
    np.testing.assert_array_equal(Orthant().jacobian(x), [np.zeros((2, 2)), np.diag([1.0, 0.0])])


def test_it_is_its_own_dual_and_opposite_to_its_polar() -> None:
    x = np.array([[-3.0, 4.0]])
    np.testing.assert_array_equal(Orthant().dual().project(x), [[0.0, 4.0]])
    np.testing.assert_array_equal(Orthant().polar().project(x), [[-3.0, 0.0]])


def test_no_contacts() -> None:
    assert Orthant().project(np.empty(0)).shape == (0,)
    assert Orthant().jacobian(np.empty((0, 2))).shape == (0, 2, 2)
    assert Orthant().contains(np.empty(0)).shape == (0,)
