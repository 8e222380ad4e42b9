"""Measures of nothing, of the wrong dimension, of runs without frames: said, not a traceback."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from clapas.analysis import Instant
from clapas.analysis.cells import fraction_below
from clapas.analysis.distributions import force_distribution, mobilised_friction
from clapas.analysis.fossils import draw_slice, in_slice, layer_profile
from clapas.analysis.ground import ring_pressure
from clapas.analysis.oblique import draw_oblique
from clapas.analysis.profile import incline, surface_line
from clapas.analysis.ribbons import Ribbon, force_density
from clapas.analysis.structure import coordination, fabric
from clapas.analysis.surface import slope, surface_samples
from clapas.cli.run import describe
from clapas.errors import FormatError, SettingsError
from clapas.geometry.shapes import Plane, Sphere
from clapas.io.recording import Recording, RecordingWriter
from clapas.io.replay import export_problem
from clapas.io.simulation import simulate
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from clapas.studies.heap import Measures
from clapas.viewer.notebook import recording_html
from clapas.viewer.pictures import movie, snapshot
from tests.unit.analysis.samples import spheres

FLAT = spheres([(0.0, 0.0), (2.0, 0.0)], 1.0, [(0, 1)], [(1.0, 0.0)])


@pytest.mark.parametrize(
    "measure",
    [
        lambda: surface_samples(FLAT, 2.0),
        lambda: in_slice(FLAT, 1.0),
        lambda: layer_profile(FLAT, FLAT.movable, np.array([0.0, 1.0])),
        lambda: draw_slice(Figure().add_subplot(), FLAT, 1.0),
        lambda: draw_oblique(Figure().add_subplot(), FLAT),
        lambda: fraction_below(FLAT, 1.0, 1.0, 0.1),
        lambda: ring_pressure(FLAT, 1.0, 2),
        lambda: force_density(FLAT, Ribbon((1.0, 0.0), (1.0, 1.0))),
    ],
)
def test_measures_of_space_refuse_the_plane(measure: Callable[[], object]) -> None:
    with pytest.raises(SettingsError, match="this one is in 2-D"):
        measure()


def test_a_surface_line_is_of_the_plane() -> None:
    with pytest.raises(SettingsError, match="this one is in 3-D"):
        surface_line(spheres([(0, 0, 0)], 1.0), 2.0, 0.0, 1.0)


def test_a_slope_needs_points() -> None:
    with pytest.raises(SettingsError, match=r"too few points \(0\)"):
        slope(np.empty((0, 3)))
    with pytest.raises(SettingsError, match="different abscissae"):
        incline(np.array([(1.0, 0.0), (1.0, 1.0), (1.0, 2.0)]))


def heap_of_layers(diameter: float = 0.05, degrees: float = 26.0) -> Instant:
    """Hard spheres on a square lattice under a cone: each column of the lattice is full to its surface."""
    side = np.arange(-1.2, 1.2, diameter)
    x, y = (axis.ravel() for axis in np.meshgrid(side, side))
    top = 0.5 - np.hypot(x, y) * math.tan(math.radians(degrees))
    centre = [(x[k], y[k], top[k] - level * diameter) for k in range(len(x)) for level in range(3)]
    return spheres([each for each in centre if each[2] > 0.0], diameter / 2)


def test_columns_narrower_than_a_grain_are_refused() -> None:
    heap = heap_of_layers()
    for spacing in (0.05, 0.075, 0.15):
        found = slope(surface_samples(heap, spacing))
        assert math.degrees(found.angle) == pytest.approx(26.0, abs=0.7)
    for spacing in (0.0125, 0.025, 0.049, 0.0, -1.0, math.nan):
        with pytest.raises(SettingsError, match="at least the mean diameter"):
            surface_samples(heap, spacing)


def test_a_surface_line_sees_images() -> None:
    row = spheres([(0.5, 0.0), (11.5, 0.2), (-7.5, 0.4)], 0.5)
    periodic = replace(row, period=(3.0, None))
    points = surface_line(periodic, 1.0, 0.0, 3.0)
    assert points == pytest.approx(np.array([(0.5, 0.5), (1.5, 0.9), (2.5, 0.7)]))
    assert len(surface_line(row, 1.0, 0.0, 3.0)) == 1


def test_rings_and_ribbons_see_images() -> None:
    """One grain on the floor of a cell of 1 m by 1 m presses once per square metre."""
    ball = spheres([(5.3, 0.0, -0.1), (5.3, 0.0, 0.1)], 0.1, [(0, 1)], [(0.0, 0.0, 7.0)], fixed=(0,))
    periodic = replace(ball, period=(1.0, 1.0))
    found = ring_pressure(periodic, 20.0, 1)
    assert found.pressure[0] == pytest.approx(7.0, rel=0.02)
    disc = force_density(periodic, Ribbon((20.0, 0.05), (0.0, 0.05)))
    cut = replace(periodic, point=periodic.point + np.array([0, 0, 0.01]), movable=np.array([True, True]))
    disc = force_density(cut, Ribbon((20.0, 0.05), (0.0, 0.05)))
    assert disc.density[1] == pytest.approx(7.0, rel=0.02)
    assert abs(disc.density[0]) < 1.0
    assert disc.contacts == found.contacts[0]


def test_bodies_within_reach_that_carry_nothing_do_not_count() -> None:
    row = spheres([(0, 0), (2, 0), (4.01, 0)], 1.0, [(0, 1), (1, 2)], [(3.0, 1.0), (0.0, 0.0)])
    assert row.carrying.tolist() == [True, False]
    assert coordination(row).per_grain.tolist() == [1, 1, 0]
    assert np.isnan(mobilised_friction(replace(row, cohesion=np.full(2, 5.0))))[1]
    assert force_distribution(row).mean == 3.0
    assert np.trace(fabric(row)) == pytest.approx(1.0)


def test_friction_of_cohesive_and_elliptic_contacts() -> None:
    pair = spheres([(0, 0, 0), (0, 0, 2)], 1.0, [(0, 1)], [(0.3, 0.4, -1.0)])
    assert np.isnan(mobilised_friction(pair)).all()  # it pulls
    sticky = replace(pair, cohesion=np.array([3.0]))
    assert mobilised_friction(sticky) == pytest.approx([0.5 / (0.5 * 2.0)])
    grooved = replace(
        sticky, mu=np.array([0.2]), mu_across=np.array([0.6]), grain=np.array([(1.0, 0.0, 0.0)])
    )
    assert mobilised_friction(grooved) == pytest.approx([math.hypot(0.3 / 0.2, 0.4 / 0.6) / 2.0])
    smooth = replace(sticky, mu=np.zeros(1), mu_across=np.zeros(1))
    assert np.isnan(mobilised_friction(smooth)).all()


def test_pulls_are_in_the_distribution_of_forces() -> None:
    row = spheres([(0, 0), (2, 0), (4, 0)], 1.0, [(0, 1), (1, 2)], [(3.0, 0), (-1.0, 0)])
    found = force_distribution(row, bins=4)
    assert found.edges[0] == -1.0
    assert np.sum(found.density * np.diff(found.edges)) == pytest.approx(1.0)


@pytest.fixture
def empty(tmp_path: Path) -> Recording:
    """A recording that was placed before its first frame."""
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Plane())
    scene.add(Sphere(0.1), (0, 0, 1), density=1000)
    with RecordingWriter(tmp_path / "empty.h5", compile_scene(scene), dt=1e-3) as writer:
        writer.flush()
    return Recording(tmp_path / "empty.h5")


def test_a_recording_without_frames_says_so(empty: Recording, tmp_path: Path) -> None:
    with empty:
        assert empty.n_frames == 0
        with pytest.raises(FormatError, match="no frame is complete"):
            describe(empty)
        with pytest.raises(FormatError, match="no frame is complete"):
            export_problem(empty, 0, tmp_path / "step.hdf5")
        with pytest.raises(FormatError, match="no frame is complete"):
            snapshot(empty, tmp_path / "end.png")
        with pytest.raises(FormatError, match="no frame is complete"):
            movie(empty, tmp_path / "run.gif")
        with pytest.raises(SettingsError, match="no frame is complete"):
            Instant.of_recording(empty)
        with pytest.raises(SettingsError, match="no frame is complete"):
            Measures(empty)
        assert "none complete" in recording_html(empty)
        assert empty.n_frames == 0  # still open


@pytest.mark.parametrize("time", [math.nan, math.inf])
def test_a_picture_needs_a_finite_time(time: float, tmp_path: Path) -> None:
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Sphere(0.1), (0, 0, 1), density=1000)
    with (
        simulate(scene, 0.01, 0.01) as run,
        pytest.raises(SettingsError, match="time must be one of the run"),
    ):
        snapshot(run, tmp_path / "never.png", time=time)


def test_a_heap_in_the_air_has_no_slope() -> None:
    falling = spheres(np.random.default_rng(0).uniform(-1, 1, (50, 3)), 0.01)
    moving = replace(falling, velocity=np.full((50, 3), 3.0))
    with pytest.raises(SettingsError, match="no grain at rest"):
        slope(surface_samples(moving, 0.05, slowest=0.05))
