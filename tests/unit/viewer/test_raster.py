from __future__ import annotations

import numpy as np
import pytest

from clapas.viewer.raster import Canvas

WHITE, RED, BLUE = np.ones(3), np.array([1.0, 0, 0]), np.array([0, 0, 1.0])


def is_red(colour: np.ndarray) -> bool:
    return bool(colour[0] > 0.3 and colour[2] == 0.0)


def test_the_nearer_ball_hides_the_other_in_any_order() -> None:
    balls = [(np.array([10.0, 10, 5]), RED), (np.array([12.0, 10, 0]), BLUE)]
    pictures = []
    for order in (balls, balls[::-1]):
        canvas = Canvas.blank(24, 20, WHITE)
        for centre, colour in order:
            canvas.ball(centre, 4.0, colour)
        pictures.append(canvas.colour)
    assert np.array_equal(*pictures)
    assert is_red(pictures[0][10, 10])
    assert pictures[0][10, 15, 2] > 0.3
    assert (pictures[0][0, 0] == 1.0).all()


def test_a_ball_has_its_size() -> None:
    canvas = Canvas.blank(100, 100, WHITE)
    canvas.ball(np.array([50.0, 50, 0]), 30.0, RED)
    painted = (canvas.colour != 1.0).any(axis=2).sum()
    assert painted == pytest.approx(np.pi * 900, rel=0.01)
    assert canvas.depth.max() == pytest.approx(30.0, abs=0.1)


def test_a_triangle_has_its_area_and_its_depth() -> None:
    canvas = Canvas.blank(60, 60, WHITE)
    canvas.triangle(np.array([[5.0, 5, 0], [55, 5, 10], [5, 55, 20]]), RED)
    painted = np.isfinite(canvas.depth)
    assert painted.sum() == pytest.approx(1250, rel=0.05)
    assert canvas.depth[5, 54 - 1] == pytest.approx(10.0, abs=0.5)


def test_edges_are_dark_and_glass_hides_nothing() -> None:
    corners = np.array([[5.0, 5, 1], [55, 5, 1], [5, 55, 1]])
    canvas = Canvas.blank(60, 60, WHITE)
    canvas.triangle(corners, RED, edges=np.array([False, False, True]))  # the side opposite to the third
    assert canvas.colour[5, 30, 0] < 0.5
    assert canvas.colour[20, 5, 0] == 1.0
    glass = Canvas.blank(60, 60, WHITE)
    glass.triangle(corners, RED, opacity=0.25)
    assert glass.colour[20, 20].tolist() == [1.0, 0.75, 0.75]
    assert not np.isfinite(glass.depth).any()


def test_what_is_outside_or_nowhere_is_left_out() -> None:
    canvas = Canvas.blank(10, 10, WHITE)
    canvas.ball(np.array([-20.0, 5, 0]), 5.0, RED)
    canvas.ball(np.array([np.nan, 5, 0]), 5.0, RED)
    canvas.triangle(np.array([[1.0, 1, 0], [5, 5, 0], [9, 9, 0]]), RED)  # on one line
    canvas.line(np.array([-5.0, -5, 0]), np.array([-1.0, -1, 0]), RED)
    assert (canvas.colour == 1.0).all()


def test_lines_stop_behind_what_is_nearer() -> None:
    canvas = Canvas.blank(20, 20, WHITE)
    canvas.ball(np.array([10.0, 10, 5]), 4.0, BLUE)
    canvas.line(np.array([1.0, 10, 0]), np.array([19.0, 10, 0]), RED)
    assert is_red(canvas.colour[10, 2])
    assert not is_red(canvas.colour[10, 10])


def test_reduced_is_the_mean() -> None:
    canvas = Canvas.blank(4, 2, WHITE)
    canvas.colour[:, :2] = 0.0
    assert canvas.reduced(2)[..., 0].tolist() == [[0.0, 1.0]]
