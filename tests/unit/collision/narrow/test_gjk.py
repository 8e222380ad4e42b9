"""Distance of hulls by GJK against nonnegative least squares and the planes of the hull of differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clapas.collision.collider_records import collider_shapes
from clapas.collision.contact_table import Meeting
from clapas.collision.narrow.gjk import APART, BEYOND, OVERLAPPING, Simplex, gjk, new_simplex
from clapas.compiled import kernel
from clapas.geometry.shapes import Polyhedron
from clapas.geometry.table import Frame, collider_table
from tests.unit.collision.oracles import signed_distance


@kernel
def distance_by_gjk(shapes: Any, meeting: Meeting, limit: float, simplex: Simplex) -> tuple[int, int]:
    return gjk(shapes, meeting, limit, simplex)


def solids(rng: np.random.Generator) -> tuple[object, list[np.ndarray]]:
    """Two convex hulls of random points as the kernels see them, and their corners about their centres."""
    hulls = [Polyhedron(rng.normal(size=(9, 3)) * 0.3) for _ in range(2)]
    table = collider_table(3, [(k, one, 0, Frame.own(3)) for k, one in enumerate(hulls)])
    shapes, local = collider_shapes(table)
    for column, name in enumerate(("x", "y", "z")):
        shapes.vertices[name] = local.vertices[:, column]
    first = shapes.pieces["vertex"]
    return shapes, [local.vertices[: first[1]], local.vertices[first[1] :]]


@pytest.mark.parametrize("seed", range(25))
def test_distance_and_nearest_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shapes, (a, b) = solids(rng)
    t = rng.normal(size=3) * (0.2 if seed % 3 == 0 else 0.8)
    meeting, simplex = Meeting(0, 0, 1, *t.tolist(), 10.0), new_simplex()
    distance = signed_distance(a, b + t)
    state, count = distance_by_gjk(shapes, meeting, 10.0, simplex)
    if distance <= 0.0:
        assert state == OVERLAPPING
        return
    assert state == APART
    assert np.linalg.norm(simplex.v) == pytest.approx(distance, abs=1e-10)
    # v is the mean of the points of the simplex with their weights, which are those of a hull.
    points, weight = simplex.points[:count], simplex.points["weight"][:count]
    mean = np.array([weight @ points[name] for name in ("x", "y", "z")])
    np.testing.assert_allclose(mean, simplex.v, atol=1e-12)
    assert weight.min() >= 0.0
    assert weight.sum() == pytest.approx(1.0)
    assert distance_by_gjk(shapes, meeting, 0.5 * distance, simplex)[0] == BEYOND
