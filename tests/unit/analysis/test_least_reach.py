"""The shortest ray in sets whose inscribed circle about the origin is known."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from clapas.analysis.least_reach import least_reach


def polygon(normals: list[float], distances: list[float]) -> Callable[[float], float]:
    """Reach in the set of points x with n·x ≤ distance, for unit normals at some angles."""

    def reach(angle: float) -> float:
        slopes = [math.cos(angle - normal) for normal in normals]
        return min(d / slope for d, slope in zip(distances, slopes, strict=True) if slope > 1e-9)

    return reach


@pytest.mark.parametrize("turn", [0.0, 0.1, 0.7, 2.9])
def test_the_nearest_edge_of_a_polygon_is_found_to_rounding(turn: float) -> None:
    normals = [turn + 0.4 * math.pi * k for k in range(5)]
    angle, length = least_reach(polygon(normals, [1.0, 1.2, 0.7, 0.8, 3.0]))
    assert length == pytest.approx(0.7, rel=1e-12)
    assert math.cos(angle - normals[2]) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("turn", [0.0, 0.3, 1.0])
def test_the_short_axis_of_an_ellipse_is_found_within_the_accuracy(turn: float) -> None:
    def reach(angle: float) -> float:
        return 1.0 / math.hypot(math.cos(angle - turn) / 0.5, math.sin(angle - turn) / 4.0)

    _, length = least_reach(reach, 1e-3)
    assert 0.5 <= length <= 0.5 * 1.001


def test_in_a_circle_all_rays_are_as_good_and_an_axis_is_named() -> None:
    assert least_reach(lambda angle: 0.7) == (0.0, 0.7)


def test_a_set_without_the_origin_has_no_reach() -> None:
    assert least_reach(lambda angle: 0.0 if angle < 3.0 else 1.0)[1] == 0.0
