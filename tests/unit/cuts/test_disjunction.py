"""Disjunctions: what they take, and points they cannot cut off."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.cuts import Disjunction, NothingToSeparate, intersection_cut
from clapas.errors import ProblemError

from .families import TRIANGLE, triangle

BOX = (np.vstack((np.eye(2), -np.eye(2))), np.array([1.5, 1.5, 0.0, 0.0]))


def test_rows_through_the_point_are_exactly_zero() -> None:
    third = Disjunction.split([[3.0], [-1.0]], [1.0, 0.0], [1.0 / 3.0], 0)
    np.testing.assert_array_equal(third.active, [0])
    np.testing.assert_allclose(third.offsets, [1.0 / 3.0, 2.0 / 3.0])


def test_branches_in_the_coordinates_of_the_point() -> None:
    C, h = triangle().branch(1)
    np.testing.assert_array_equal(C.toarray()[-1], [0.0, -1.0])
    np.testing.assert_allclose(h, [0.0, 0.0, 1.0, 1.5, -0.5])


@pytest.mark.parametrize("value", [1.0, 1.0 - 1e-12, 1.0 + 1e-12, 0.0])
def test_an_integer_is_nothing_to_separate(value: float) -> None:
    with pytest.raises(NothingToSeparate, match="nothing to separate: the point satisfies branch"):
        Disjunction.split(*BOX, [value, 0.5], 0)


def test_complementarity_has_two_normals() -> None:
    """x₁ = 0 or x₂ = ½ at (1, 1) in [0, 1] × [½, 1]: the hull is a triangle with the side x₁ + 2x₂ = 2."""
    A, b = np.vstack((np.eye(2), [-1.0, 0.0], [0.0, -1.0])), np.array([1.0, 1.0, 0.0, -0.5])
    disjunction = Disjunction.complementarity(A, b, [1.0, 1.0], 0, [0.0, 1.0], -0.5)
    np.testing.assert_array_equal(disjunction.normals, np.eye(2))
    np.testing.assert_allclose(disjunction.offsets, [1.0, 0.5])
    cut = intersection_cut(disjunction)
    # d·(x − x̄) ≤ −1 is x₁ + 2 x₂ ≤ 2, the long side of the triangle.
    np.testing.assert_allclose(cut.d, [1.0, 2.0])
    assert cut.right(disjunction) == pytest.approx(2.0)
    assert cut.error(disjunction) < 1e-15


def test_a_complementary_point_is_nothing_to_separate() -> None:
    with pytest.raises(NothingToSeparate):
        Disjunction.complementarity(*BOX, [0.0, 1.0], 0, [0.0, 1.0], 0.0)


def test_slips() -> None:
    with pytest.raises(ProblemError, match=r"the point violates row 0 of the relaxation by 0\.5"):
        Disjunction.split(*BOX, [2.0, 0.5], 1)
    with pytest.raises(ProblemError, match=r"A is 4 by 2: b must be \(4,\), the point \(2,\)"):
        Disjunction.of(TRIANGLE[0], [1.0], [0.0, 0.0], np.eye(2), [0.0, 0.0])
