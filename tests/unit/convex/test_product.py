from __future__ import annotations

import numpy as np
import pytest

from clapas.convex import CoulombCone, Orthant, ProductCone, ProductSet, TrescaSet
from clapas.errors import ProblemError


def test_each_part_sees_its_contacts() -> None:
    x = np.random.default_rng(1).normal(size=(5, 3))
    friction, threshold = CoulombCone([0.3, 0.7, 0.1], d=3), TrescaSet([0.5, -1.0])
    both = ProductSet((friction, threshold), ([4, 0, 2], [1, 3]))
    for answer in ("project", "jacobian", "distance", "contains"):
        found = getattr(both, answer)(x)
        np.testing.assert_array_equal(found[[4, 0, 2]], getattr(friction, answer)(x[[4, 0, 2]]))
        np.testing.assert_array_equal(found[[1, 3]], getattr(threshold, answer)(x[[1, 3]]))


def test_consecutive_contacts() -> None:
    cone = ProductCone.consecutive((Orthant(), CoulombCone([0.5], d=2)), (2, 1))
    assert cone.n_contacts == 3
    x = np.array([[1.0, -1.0], [-1.0, 1.0], [2.0, -1.0]])
    np.testing.assert_array_equal(cone.project(x), [[1.0, 0.0], [0.0, 1.0], [2.0, -1.0]])


def test_dual_and_polar_are_taken_part_by_part() -> None:
    friction = CoulombCone([0.5], d=2)
    cone = ProductCone((friction, Orthant()), ([1], [0]))
    x = np.random.default_rng(2).normal(size=(2, 2))
    np.testing.assert_array_equal(cone.dual().project(x)[1:], friction.dual().project(x[1:]))
    np.testing.assert_allclose(cone.project(x) + cone.polar().project(x), x, rtol=0, atol=1e-15)


def test_no_contacts_and_no_parts() -> None:
    for empty in (ProductCone((), ()), ProductCone.consecutive((CoulombCone([], d=3),), (0,))):
        assert empty.project(np.empty((0, 3))).shape == (0, 3)
        assert empty.jacobian(np.empty((0, 3))).shape == (0, 3, 3)
        assert empty.contains(np.empty((0, 3))).shape == (0,)


def test_slips_are_refused() -> None:
    with pytest.raises(ProblemError, match="1 sets need as many lists of contacts, got 2"):
        ProductSet((Orthant(),), ([0], [1]))
    with pytest.raises(ProblemError, match=r"must contain 0 to 2 once each, got \[0, 1, 1\]"):
        ProductSet((Orthant(), Orthant()), ([0, 1], [1]))
    with pytest.raises(ProblemError, match=r"3 contacts: points must have shape \(3, d\), got \(2, 2\)"):
        ProductSet.consecutive((Orthant(),), (3,)).project(np.ones((2, 2)))
