"""The benchmark of detection: copies at the gap it says, the same contacts as in C, sizes as it says."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import collision
from benchmarks.reference import compiler


@pytest.mark.parametrize(("one", "two"), [("sphere", "sphere"), ("box", "rock"), ("capsule", "plane")])
def test_copies_have_one_gap(one: str, two: str) -> None:
    copies = collision.Copies(one, two, 8)
    for state, gap in (("touch", -collision.GAP), ("near", collision.GAP)):
        np.testing.assert_allclose(copies.gaps(copies.distances(state)), gap, atol=1e-6)
        assert copies.nanoseconds(state, 1) > 0.0
        assert copies.detector.n_candidates == 8
    bound = copies.detector.colliders.bound
    apart = copies.distances("apart")
    assert (apart > bound[-1] + (bound[0] if np.isfinite(bound[0]) else 0.0)).all()


@pytest.mark.skipif(compiler() is None, reason="no C compiler")
def test_c_finds_the_same() -> None:
    assert "pairs of spheres" in collision.c_comparison(300, 1)


def test_clouds_have_the_sizes_asked_for() -> None:
    detector, position, _ = collision.cloud(2000, 50.0)
    bound = detector.colliders.bound
    assert bound.max() / bound.min() == pytest.approx(50.0)
    assert position.min() >= 0.0


def test_the_table_of_lists_has_a_line_per_size() -> None:
    lines = collision.list_table((100,), 1).splitlines()
    assert len(lines) == 4
    assert lines[2].split("|")[1:3] == ["     100 ", "          1 "]
