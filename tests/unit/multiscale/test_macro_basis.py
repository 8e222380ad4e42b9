"""Affine fields of interfaces."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.multiscale.macro_basis import affine_fields, full_size, orthonormal, translations


@pytest.mark.parametrize(
    ("dimension", "nodes", "rank"), [(3, 1, 3), (3, 2, 6), (3, 3, 9), (3, 6, 9), (2, 1, 2), (2, 5, 4)]
)
def test_rank_is_limited_by_the_nodes(dimension: int, nodes: int, rank: int) -> None:
    points = np.random.default_rng(nodes).standard_normal((nodes, dimension))
    fields = affine_fields(points, dimension)
    assert fields.shape == (nodes * dimension, full_size(dimension))
    basis = orthonormal(fields, np.ones(len(fields), dtype=bool), np.ones(len(fields)))
    # Two points turn about their own line without moving: 5 rigid fields and one extension.
    assert basis.shape[1] == rank
    assert basis.T @ basis == pytest.approx(np.eye(basis.shape[1]), abs=1e-12)


@pytest.mark.parametrize("dimension", [2, 3])
def test_rigid_motions_of_bodies_are_in_the_basis(dimension: int) -> None:
    random = np.random.default_rng(3)
    points = random.standard_normal((5, dimension))
    size = 3 * (dimension - 1)
    scale = random.uniform(0.5, 2.0, 5 * size)
    basis = orthonormal(affine_fields(points, size), np.ones(5 * size, dtype=bool), scale)
    if dimension == 3:
        shift, spin = random.standard_normal(3), random.standard_normal(3)
        motion = np.hstack([np.hstack((shift + np.cross(spin, p), spin)) for p in points])
    else:
        (a, b), w = random.standard_normal(2), 0.7
        motion = np.hstack([(a - w * y, b + w * x, w) for x, y in points])
    scaled = scale * motion
    assert basis @ (basis.T @ scaled) == pytest.approx(scaled, abs=1e-10)


def test_blocked_components_are_left_out() -> None:
    kept = np.array([True, False, True, True])
    basis = orthonormal(translations(2, 2), kept, np.ones(3))
    assert basis.shape == (3, 2)
    assert orthonormal(translations(2, 2), np.zeros(4, dtype=bool), np.zeros(0)).shape == (0, 0)
