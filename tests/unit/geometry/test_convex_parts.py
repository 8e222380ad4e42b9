"""Exact convex parts: they fill the solid, do not overlap, and stay inside."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from clapas.geometry import rotations
from clapas.geometry.convex_parts import exact_parts
from clapas.geometry.pieces import SolidPiece, split
from clapas.typing import Array


def prism(outline: Array, depth: float = 1.0) -> SolidPiece:
    """A prism over an outline that is star-shaped about the origin."""
    n = len(outline)
    flat = np.vstack((outline, np.zeros((1, 2))))
    vertices = np.vstack([np.column_stack((flat, np.full(n + 1, z))) for z in (0.0, depth)])
    around = [(k, (k + 1) % n) for k in range(n)]
    ends = [(n, j, i) for i, j in around] + [(2 * n + 1, n + 1 + i, n + 1 + j) for i, j in around]
    sides = [(i, j, n + 1 + j) for i, j in around] + [(i, n + 1 + j, n + 1 + i) for i, j in around]
    (piece,) = split(vertices, np.array(ends + sides))
    return piece


def star(points: int, seed: int) -> Array:
    """An outline with random radii, at random angles."""
    random = np.random.default_rng(seed)
    angle = (np.arange(points) + random.uniform(-0.3, 0.3, points)) * 2 * np.pi / points
    return random.uniform(0.4, 1.0, points)[:, None] * np.column_stack((np.cos(angle), np.sin(angle)))


def volumes(parts: list[Array]) -> list[float]:
    return [float(ConvexHull(part).volume) for part in parts]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_parts_fill_the_solid_wherever_it_is_turned(seed: int, scale: float) -> None:
    piece = prism(star(7, seed))
    random = np.random.default_rng(seed)
    turn = rotations.from_axis_angle(random.normal(size=3), random.uniform(0, 3))
    moved = scale * (rotations.rotate(turn, piece.vertices) + random.normal(size=3))
    parts = exact_parts(SolidPiece(moved, piece.triangles, True))
    assert parts is not None
    assert sum(volumes(parts)) == pytest.approx(scale**3 * piece.volume, rel=1e-9)
    assert min(volumes(parts)) > 0.0
    assert len(parts) <= 7  # of a star of seven points


def test_a_cross_with_six_digits_as_files_keep_them() -> None:
    """Twelve corners, four notches: three bars."""
    arm = [(0.5, 1.5), (0.5, 0.5), (1.5, 0.5)]
    turned = [(x, y) for x, y in arm] + [(x, -y) for x, y in reversed(arm)]
    outline = np.array([*turned, *((-x, y) for x, y in reversed(turned))])[::-1] / 3.0
    piece = prism(outline.round(6))
    parts = exact_parts(piece)
    assert parts is not None
    assert len(parts) == 3
    assert sum(volumes(parts)) == pytest.approx(5 / 9, rel=1e-5)


def test_a_convex_solid_is_one_part() -> None:
    parts = exact_parts(prism(np.array([(1, -1), (1, 1), (-1, 1), (-1, -1)], dtype=float)))
    assert parts is not None
    assert volumes(parts) == [pytest.approx(4.0)]


def test_open_solids_and_those_of_many_faces_have_none() -> None:
    cube = prism(np.array([(1, -1), (1, 1), (-1, 1), (-1, -1)], dtype=float))
    assert exact_parts(SolidPiece(cube.vertices, cube.triangles[:-1], False)) is None
    assert exact_parts(prism(star(200, 0))) is None
