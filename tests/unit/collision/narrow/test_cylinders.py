"""Two cylinders where their distance has a formula: parallel, crossed, one on the other."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.geometry.shapes import Cylinder
from tests.unit.collision.narrow.pairs import Pair

R, S, LENGTH = 0.3, 0.2, 1.0
UPRIGHT = np.array((1.0, 0, 0, 0))
ALONG_X = np.array((np.sqrt(0.5), 0, np.sqrt(0.5), 0))


@pytest.fixture(scope="module")
def pair() -> Pair:
    return Pair(Cylinder(R, LENGTH), Cylinder(S, LENGTH))


@pytest.mark.parametrize("angle", [0.0, 0.4, 2.0])
@pytest.mark.parametrize("gap", [-0.02, 0.05])
def test_side_by_side(pair: Pair, angle: float, gap: float) -> None:
    """Parallel axes: the gap of two discs, at both ends of the common length."""
    n = np.array((np.cos(angle), np.sin(angle), 0.0))
    found = pair.touch([(0, 0, 0), (R + S + gap) * n + (0, 0, 0.2)], np.array([UPRIGHT, UPRIGHT]), 0.1)
    deep = found.gap < gap + 1e-6
    np.testing.assert_allclose(found.gap[deep], gap, atol=1e-9)
    np.testing.assert_allclose(found.normal[deep], np.tile(n, (deep.sum(), 1)), atol=1e-4)
    np.testing.assert_allclose(
        (found.point[deep, 2].min(), found.point[deep, 2].max()), (-0.3, 0.5), atol=1e-6
    )


@pytest.mark.parametrize("gap", [-0.02, 0.05])
def test_crossed(pair: Pair, gap: float) -> None:
    """Axes at right angles: one point, on their common perpendicular."""
    found = pair.touch([(0, 0, 0), (0, R + S + gap, 0.1)], np.array([UPRIGHT, ALONG_X]), 0.1)
    np.testing.assert_allclose(found.gap.min(), gap, atol=1e-9)
    k = int(np.argmin(found.gap))
    np.testing.assert_allclose(found.normal[k], (0, 1, 0), atol=1e-4)
    np.testing.assert_allclose(found.point[k], (0, R + gap / 2, 0.1), atol=1e-3)


def test_cap_on_cap(pair: Pair) -> None:
    """Points around the smaller cap, all at the same depth."""
    found = pair.touch([(0, 0, 0), (0.05, 0, LENGTH - 0.01)], np.array([UPRIGHT, UPRIGHT]))
    assert 3 <= len(found) <= 8
    np.testing.assert_allclose(found.gap, -0.01, atol=1e-12)
    np.testing.assert_allclose(found.normal, np.tile((0.0, 0, 1), (len(found), 1)), atol=1e-12)
    assert np.all(np.linalg.norm(found.point[:, :2] - (0.05, 0), axis=1) <= S + 1e-9)
    assert np.ptp(found.point[:, 0]) > 1.5 * S
