"""The axis kept from the step before spares work and changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.collision import Detector
from clapas.collision.narrow.solids import UNKNOWN
from clapas.geometry.shapes import Box, Polyhedron, Shape
from clapas.geometry.table import collider_table

ROCK = Polyhedron(np.random.default_rng(1).normal(size=(14, 3)) * 0.3)
KINDS: list[Shape] = [Box((0.5, 0.4, 0.6)), Box((0.3, 0.3, 0.9)), ROCK]


@pytest.mark.parametrize("seed", range(3))
def test_solids_that_move_are_found_as_by_a_new_detector(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shapes = [KINDS[k] for k in rng.integers(0, 3, 40)]
    table = collider_table(3, [(k, shape, 0) for k, shape in enumerate(shapes)])
    position, orientation = rng.uniform(0.0, 2.0, (40, 3)), rng.normal(size=(40, 4))
    kept, counts = Detector(table, skin=0.3), set()
    for _ in range(30):
        position = position + 0.004 * rng.normal(size=(40, 3))
        orientation = orientation + 0.01 * rng.normal(size=(40, 4))
        found, fresh = (which.detect(position, orientation) for which in (kept, Detector(table)))
        for name in ("a", "b", "feature", "point", "normal", "gap"):
            np.testing.assert_array_equal(getattr(found, name), getattr(fresh, name))
        counts.add(len(found))
    assert kept.n_lists < 30
    assert len(counts) > 1
    assert np.any(kept._candidates.separated != UNKNOWN)
