"""A cylinder over a plane: the lowest point of a cap is height ± half·cos − r·sin of the tilt."""

from __future__ import annotations

import numpy as np

from clapas.geometry import rotations
from clapas.geometry.shapes import Cylinder, Plane
from tests.unit.collision.narrow.pairs import TRIES, Pair, turns

R, HALF = 0.3, 0.5


def test_the_lowest_points_of_both_caps() -> None:
    pair, rng = Pair(Plane(), Cylinder(R, 2 * HALF)), np.random.default_rng(1)
    for _ in range(TRIES):
        q, height = turns(rng), rng.uniform(0.2, 0.6)
        q[0] = (1.0, 0.0, 0.0, 0.0)
        axis = rotations.rotate(q[1], np.array((0.0, 0.0, 1.0)))
        sine = np.hypot(axis[0], axis[1])
        lowest = sorted(height + end * axis[2] - R * sine for end in (-HALF, HALF))
        found = pair.touch([(0, 0, 0), (0, 0, height)], q)
        assert (len(found) > 0) == (lowest[0] <= 0)
        if not len(found):
            continue
        np.testing.assert_allclose(found.gap.min(), lowest[0], atol=1e-13)
        # The lower cap has its lowest point and those a quarter turn away; the upper one its lowest.
        low_cap = height - HALF * abs(axis[2])
        candidates = [*lowest, low_cap, low_cap + R * sine]
        for gap in found.gap:
            assert np.abs(np.array(candidates) - gap).min() < 1e-13
        np.testing.assert_allclose(found.point[:, 2], found.gap / 2, atol=1e-13)
        from_centre = found.point - (0, 0, height)
        along = from_centre @ axis
        # Half-way between the rim and the plane: half the gap above or below the rim.
        rim = from_centre + found.gap[:, None] / 2 * (0, 0, 1)
        np.testing.assert_allclose(np.abs(rim @ axis), HALF, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(rim - np.outer(rim @ axis, axis), axis=1), R, atol=1e-12)
        assert np.all(np.abs(along) < HALF + np.abs(found.gap))


def test_upright_and_lying() -> None:
    pair = Pair(Plane(), Cylinder(R, 2 * HALF))
    standing = pair.touch([(0, 0, 0), (0.1, 0.2, HALF - 0.01)])
    assert len(standing) == 4
    np.testing.assert_allclose(standing.gap, -0.01, atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(standing.point[:, :2] - (0.1, 0.2), axis=1), R, atol=1e-14)
    lying = np.array([(1.0, 0, 0, 0), (np.sqrt(0.5), 0, np.sqrt(0.5), 0)])
    found = pair.touch([(0, 0, 0), (0, 0, R - 0.01)], lying)
    np.testing.assert_allclose(np.sort(found.gap)[:2], -0.01, atol=1e-14)
    np.testing.assert_allclose(np.sort(found.point[np.argsort(found.gap)[:2], 0]), (-HALF, HALF), atol=1e-12)
