"""Ribbons, rings, surfaces and layers of heaps made by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from matplotlib.figure import Figure

from clapas.analysis import Instant
from clapas.analysis.fossils import draw_slice, in_slice, layer, layer_profile
from clapas.analysis.ground import average, draw_rings, ring_pressure
from clapas.analysis.ribbons import Ribbon, draw_densities, force_density, reciprocity
from clapas.analysis.surface import draw_surface, slope, surface_samples
from clapas.errors import SettingsError
from clapas.typing import Array
from tests.unit.analysis.samples import spheres, uniform

# Symmetric about the axis: a meridian stress with σ_rz = 0.
STRESS = np.diag([200.0, 200.0, 500.0])


@pytest.fixture(scope="module")
def medium() -> Instant:
    return uniform(STRESS, 200_000, 1.0, 0.1)


def one_contact(low: Array, high: Array, force: Array) -> Instant:
    return spheres([low, high], 0.5, [(0, 1)], [force])


def test_a_single_contact_through_a_disc() -> None:
    contact = one_contact(np.array([0.3, 0.4, 0.0]), np.array([0.3, 0.4, 1.0]), np.array([3.0, 4.0, 7.0]))
    disc = Ribbon((1.0, 0.5), (0.0, 0.5))  # from the rim inward: its right is up
    assert disc.normal.tolist() == [0.0, 1.0]
    found = force_density(contact, disc)
    assert np.allclose(found.density, np.array([5.0, 7.0]) / math.pi)
    assert found.contacts == 1
    assert force_density(contact, Ribbon((2.0, 0.5), (1.0, 0.5))).contacts == 0
    assert force_density(contact, Ribbon((1.0, 1.5), (0.0, 1.5))).contacts == 0


def test_the_other_side_feels_the_opposite() -> None:
    contact = one_contact(np.array([1.0, 0, 0]), np.array([2.0, 0, 0]), np.array([5.0, 0, 0]))
    out = force_density(contact, Ribbon((1.5, -1.0), (1.5, 1.0))).density
    back = force_density(contact, Ribbon((1.5, 1.0), (1.5, -1.0))).density
    assert out[0] > 0
    assert np.allclose(out, -back)


@pytest.mark.parametrize("angle", [0.0, 0.6, math.pi / 2, -0.9])
def test_ribbons_see_the_stress_of_a_uniform_medium(medium: Instant, angle: float) -> None:
    ribbon = Ribbon.about((0.5, 0.1), angle, 0.5)
    found = force_density(medium, ribbon)
    expected = np.array([200.0, 500.0]) * ribbon.normal
    assert np.all(np.abs(found.density - expected) < 4 * found.error + 2.0)
    assert np.linalg.norm(found.density - expected) < 0.05 * np.linalg.norm(expected)


def test_reciprocal_cuts_of_a_uniform_medium(medium: Instant) -> None:
    assert reciprocity(medium, (0.5, 0.0), 0.5, (0.3, 1.2)).error < 0.05
    lemma = reciprocity(medium, (0.5, 0.0), 0.5)
    assert abs(lemma.first.density @ lemma.second.ribbon.normal) < 1e-9 * np.linalg.norm(lemma.first.density)
    assert lemma.error < 0.05


def test_ribbons_that_make_no_sense_are_refused() -> None:
    with pytest.raises(SettingsError, match="r ≥ 0"):
        Ribbon((-1.0, 0.0), (1.0, 0.0))
    plane = spheres([(0, 0), (1, 0)], 0.5)
    with pytest.raises(SettingsError, match="2-D"):
        force_density(plane, Ribbon((1.0, 0.0), (1.0, 1.0)))
    with pytest.raises(SettingsError, match="2-D"):
        ring_pressure(plane, 1.0, 2)


def cone(angle: float, noise: float = 0.0, count: int = 4000) -> Instant:
    """Small spheres spread over a cone of height 1, and as many below it."""
    random = np.random.default_rng(3)
    foot = 1.0 / math.tan(angle)
    r, turn = foot * np.sqrt(random.random(count)), random.uniform(0, 2 * math.pi, count)
    z = 1.0 - r * math.tan(angle) + noise * random.normal(size=count)
    centre = np.column_stack((r * np.cos(turn), r * np.sin(turn), z))
    below = centre - [0, 0, 10.0]
    return spheres(np.concatenate((centre, below)), 1e-9)


@pytest.mark.parametrize("degrees", [10.0, 26.0, 40.0])
def test_the_slope_of_a_cone(degrees: float) -> None:
    samples = surface_samples(cone(math.radians(degrees)), 0.05)
    found = slope(samples)
    # The highest grain of a column is on its uphill side, the same everywhere on a flank.
    assert math.degrees(found.angle) == pytest.approx(degrees, abs=1e-6)
    assert found.low <= found.angle <= found.high
    assert found.summit == pytest.approx(1.0)
    assert found.foot == pytest.approx(1.0 / math.tan(math.radians(degrees)))


def test_the_interval_of_a_rough_cone_holds_its_slope() -> None:
    found = slope(surface_samples(cone(math.radians(26.0), noise=0.02), 1e-6))
    assert found.low < math.radians(26.0) < found.high
    assert 0.01 < math.degrees(found.high - found.low) < 2.0


def test_no_heap_no_slope() -> None:
    bowl = cone(math.radians(26.0))
    upside_down = np.column_stack((bowl.centre[:4000, :2], 1.0 - bowl.centre[:4000, 2]))
    with pytest.raises(SettingsError, match="no heap"):
        slope(upside_down)
    with pytest.raises(SettingsError, match="impossible sectors"):
        slope(upside_down, sectors=1)
    with pytest.raises(SettingsError, match="spacing"):
        surface_samples(bowl, 0.0)


def resting(radius: Array, force: Array) -> Instant:
    """Grains on a fixed floor body, one at each distance from the axis."""
    n = len(radius)
    turn = np.arange(n) * 2.4
    centre = np.column_stack((radius * np.cos(turn), radius * np.sin(turn), np.full(n, 0.5)))
    floor = np.array([[0.0, 0.0, -0.5]])
    pairs = [(0, k + 1) for k in range(n)]
    upward = np.column_stack((np.zeros((n, 2)), force))
    point = centre - [0, 0, 0.5]
    return spheres(np.concatenate((floor, centre)), 0.5, pairs, upward, point=point, fixed=(0,))


def test_ring_pressure_is_force_over_area() -> None:
    heap = resting(np.array([0.5, 1.5, 1.7, 9.0]), np.array([2.0, 3.0, 4.0, 100.0]))
    found = ring_pressure(heap, 1.0, 2)
    assert np.allclose(found.pressure, [2.0 / math.pi, 7.0 / (3 * math.pi)])
    assert found.contacts.tolist() == [1, 2]


def test_equal_sectors_leave_no_error() -> None:
    turn = (np.arange(6) + 0.5) * math.pi / 3
    heap = resting(np.ones(6), np.ones(6))
    point = np.column_stack((np.cos(turn), np.sin(turn), np.zeros(6)))
    even = spheres(heap.centre, 0.5, np.column_stack((heap.a, heap.b)), heap.force, point=point, fixed=(0,))
    assert ring_pressure(even, 2.0, 1, sectors=6).error[0] == pytest.approx(0.0, abs=1e-12)


def test_pressures_of_several_heaps_are_averaged() -> None:
    one = ring_pressure(resting(np.array([0.5, 1.5]), np.array([2.0, 6.0])), 1.0, 2)
    two = ring_pressure(resting(np.array([0.5, 1.5]), np.array([4.0, 6.0])), 1.0, 2)
    mean = average([one, two])
    np.testing.assert_allclose(mean.pressure, (one.pressure + two.pressure) / 2)
    np.testing.assert_allclose(average([one] * 4).error, one.error / 2)
    assert mean.contacts.tolist() == (one.contacts + two.contacts).tolist()
    with pytest.raises(SettingsError, match="the same rings"):
        average([one, ring_pressure(resting(np.ones(1), np.ones(1)), 2.0, 2)])


def test_layers_are_grains_by_birth() -> None:
    grains = spheres([(0, 0, 0), (1, 0, 0), (2, 3, 0)], 0.5, birth=[-np.inf, 1.0, 2.0])
    assert layer(grains, 1.0, 2.0).tolist() == [False, True, False]
    assert in_slice(grains, 2.0).tolist() == [True, True, False]
    with pytest.raises(SettingsError, match="start < end"):
        layer(grains, 2.0, 1.0)


def test_the_profile_of_a_conical_layer() -> None:
    heap = cone(math.radians(20.0))
    on_top = np.arange(heap.n_bodies) < 4000
    found = layer_profile(heap, on_top, np.linspace(0.2, 2.0, 7))
    assert np.allclose(found.slope, math.radians(20.0))
    assert np.allclose(found.height, 1.0 - found.radius * math.tan(math.radians(20.0)))
    beyond = layer_profile(heap, on_top, np.array([5.0, 6.0]))
    assert np.isnan(beyond.slope).all()
    assert beyond.count.tolist() == [0]


def test_pictures(medium: Instant) -> None:
    heap = cone(math.radians(26.0), noise=0.02)
    samples = surface_samples(heap, 0.1)
    axes = Figure().add_subplot()
    draw_surface(axes, samples, slope(samples))
    assert len(axes.lines) == 2
    axes = Figure().add_subplot()
    draw_slice(axes, heap, 0.5, layer(heap, -1.0, 1.0))
    assert len(axes.collections[0].get_offsets()) == in_slice(heap, 0.5).sum()
    axes = Figure().add_subplot()
    draw_densities(axes, [force_density(medium, Ribbon.about((0.5, 0.0), 0.0, 0.2))])
    assert len(axes.patches) == 1
    axes = Figure().add_subplot()
    draw_rings(axes, ring_pressure(resting(np.ones(3), np.ones(3)), 1.0, 2), hydrostatic=1.0)
    assert axes.get_legend() is not None
