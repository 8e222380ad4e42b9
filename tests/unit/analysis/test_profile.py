"""The free surface in the plane: lines found where they were laid."""

from __future__ import annotations

import math

import numpy as np
import pytest
from matplotlib.figure import Figure

from clapas.analysis import Instant
from clapas.analysis.profile import draw_profile, incline, surface_line
from clapas.dynamics.births import initial_state
from clapas.dynamics.stepping import step
from clapas.errors import SettingsError
from clapas.geometry.shapes import Disk, HalfPlane
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene


def slope_of_disks(angle: float) -> Instant:
    """Disks of radius 0.4 along a line, others below, and a wall above that is no grain."""
    scene = Scene((0, 0), d=2)
    scene.law(mu=0.5)
    for k in range(10):
        y = k * math.tan(angle)
        scene.add(Disk(0.4), (k, y), density=1)
        scene.add(Disk(0.3), (k + 0.1, y - 1), density=1)
    scene.add(Disk(0.4), (5, 40), fixed=True)
    model = compile_scene(scene)
    return Instant.of_step(model, step(model, initial_state(model), 1e-3))


@pytest.mark.parametrize("angle", [-0.5, 0.0, 0.3])
def test_the_slope_of_a_line_of_disks(angle: float) -> None:
    instant = slope_of_disks(angle)
    points = surface_line(instant, 1.0, -0.5, 9.5)
    assert points.shape == (10, 2)
    np.testing.assert_allclose(points[:, 0], np.arange(10))
    found = incline(points)
    assert found.angle == pytest.approx(angle)
    assert found.error == pytest.approx(0.0, abs=1e-7)
    assert found.height == pytest.approx(0.4)


def test_only_columns_that_were_asked_for() -> None:
    assert surface_line(slope_of_disks(0.2), 1.0, 2.5, 6.5)[:, 0].tolist() == [3, 4, 5, 6]


def test_scatter_gives_an_error() -> None:
    rng = np.random.default_rng(1)
    x = np.linspace(0, 1, 400)
    found = incline(np.column_stack((x, 0.5 * x + 0.1 * rng.normal(size=400))))
    assert abs(found.angle - math.atan(0.5)) < 4 * found.error
    expected = 0.1 / math.sqrt(400 / 12) / (1 + 0.25)  # of a straight-line fit
    assert found.error == pytest.approx(expected, rel=0.15)


def test_what_is_refused() -> None:
    with pytest.raises(SettingsError, match="three points of the surface at least, got 2"):
        incline(np.zeros((2, 2)))
    with pytest.raises(SettingsError, match="spacing must be positive and at least"):
        surface_line(slope_of_disks(0.0), 0.0, 0.0, 1.0)


def test_no_grain_no_line() -> None:
    scene = Scene(d=2)
    scene.add(HalfPlane())
    model = compile_scene(scene)
    nothing = Instant.of_step(model, step(model, initial_state(model), 1e-3))
    assert surface_line(nothing, 1.0, 0.0, 1.0).shape == (0, 2)


def test_a_picture_is_drawn() -> None:
    instant = slope_of_disks(0.2)
    points = surface_line(instant, 1.0, -0.5, 9.5)
    axes = Figure().subplots()
    draw_profile(axes, instant, points, incline(points))
    legend = axes.get_legend()
    assert legend is not None
    assert legend.get_texts()[0].get_text() == "11.5°"
