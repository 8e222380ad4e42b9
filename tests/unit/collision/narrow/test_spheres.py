"""Two spheres: gap = |x_b − x_a| − r_a − r_b, the point half-way between their surfaces."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.geometry.shapes import Disk, Sphere
from tests.unit.collision.narrow.pairs import TRIES, Pair


@pytest.mark.parametrize("d", [2, 3])
def test_formula(d: int) -> None:
    r_a, r_b = 0.7, 0.4
    pair = Pair(Sphere(r_a), Sphere(r_b)) if d == 3 else Pair(Disk(r_a), Disk(r_b))
    rng = np.random.default_rng(d)
    touched = 0
    for _ in range(TRIES):
        x = rng.uniform(-0.8, 0.8, (2, d))
        found = pair.touch(x, distance=0.1)
        gap = np.linalg.norm(x[1] - x[0]) - r_a - r_b
        assert len(found) == (gap <= 0.1)
        if len(found):
            n = (x[1] - x[0]) / np.linalg.norm(x[1] - x[0])
            np.testing.assert_allclose(found.gap, [gap], atol=1e-14)
            np.testing.assert_allclose(found.normal, [n], atol=1e-14)
            np.testing.assert_allclose(found.point, [x[0] + (r_a + gap / 2) * n], atol=1e-14)
            touched += 1
    assert 5 < touched < TRIES


def test_exact_touch_is_a_contact_of_gap_zero() -> None:
    found = Pair(Sphere(0.5), Sphere(0.25)).touch([(0, 0, 0), (0, 0.75, 0)])
    assert found.gap.tolist() == [0.0]
    assert found.normal.tolist() == [[0.0, 1.0, 0.0]]


@pytest.mark.parametrize("ratio", [1e-8, 1e8])
def test_far_apart_sizes(ratio: float) -> None:
    found = Pair(Sphere(1.0), Sphere(ratio)).touch([(0, 0, 0), (0.9 * (1 + ratio), 0, 0)])
    np.testing.assert_allclose(found.gap, [-0.1 * (1 + ratio)], rtol=1e-12)


@pytest.mark.parametrize(("d", "axis"), [(3, (0.0, 0.0, 1.0)), (2, (0.0, 1.0))])
def test_coincident_centres_have_a_normal(d: int, axis: tuple[float, ...]) -> None:
    pair = Pair(Sphere(1.0), Sphere(0.5)) if d == 3 else Pair(Disk(1.0), Disk(0.5))
    found = pair.touch(np.zeros((2, d)))
    assert tuple(found.normal[0]) == axis
    assert found.gap[0] == -1.5
