"""Lattices and columns: how many neighbours, in which directions, in which chains."""

from __future__ import annotations

import math

import numpy as np
import pytest
from matplotlib.figure import Figure

from clapas.analysis import Instant
from clapas.analysis.network import chains, draw_chains, draw_network, strong
from clapas.analysis.structure import (
    anisotropy,
    coordination,
    directions,
    draw_coordination,
    draw_directions,
    fabric,
)
from clapas.errors import SettingsError
from clapas.geometry.shapes import Plane, Sphere
from clapas.io.simulation import simulate
from clapas.scenes.scene import Scene
from tests.unit.analysis.samples import column, cubic, spheres


def test_a_cubic_lattice_has_six_neighbours_inside_and_an_even_fabric() -> None:
    lattice = cubic(4, 0.5, (1.0, 2.0, 3.0))
    found = coordination(lattice)
    assert found.per_grain.reshape(4, 4, 4)[1:-1, 1:-1, 1:-1].tolist() == np.full((2, 2, 2), 6).tolist()
    assert found.mean == pytest.approx(2 * lattice.n_contacts / 64)
    assert found.rattlers == 0
    assert np.allclose(fabric(lattice), np.eye(3) / 3)
    assert anisotropy(fabric(lattice)) == pytest.approx(0.0, abs=1e-12)
    weighted = fabric(lattice, lattice.normal_force)
    assert np.allclose(weighted, np.diag([1, 2, 3]) / 6)


def test_contacts_without_force_do_not_count() -> None:
    pair = spheres([(0, 0), (2, 0), (4, 0)], 1.0, [(0, 1), (1, 2)], [(1, 0), (0, 0)])
    assert coordination(pair).per_grain.tolist() == [1, 1, 0]
    assert coordination(pair).rattlers == 3
    assert np.allclose(fabric(pair), np.diag([1.0, 0.0]))


def test_rounding_is_no_force() -> None:
    """Sixteen columns of five balls, side by side: the columns bear, and between them is rounding."""
    scene = Scene()
    scene.law(mu=0.3)
    scene.add(Plane())
    for k in range(80):
        scene.add(Sphere(0.01), (0.02 * (k % 4), 0.02 * (k // 4 % 4), 0.01 + 0.02 * (k // 16)), density=2500)
    with simulate(scene, 0.01, 1e-3) as run:
        end = Instant.of_recording(run)
    found = coordination(end)
    assert found.mean == pytest.approx((4 * 2 + 1) / 5)
    assert found.rattlers == 80  # two neighbours at most: held by balance alone
    np.testing.assert_allclose(fabric(end), np.diag([0, 0, 1]), atol=1e-12)


def test_anisotropy_is_the_number_of_the_density() -> None:
    angle = np.linspace(0, np.pi, 100_000, endpoint=False)
    density = 1 + 0.3 * np.cos(2 * (angle - 0.4))
    normal = np.column_stack((np.cos(angle), np.sin(angle)))
    plane = np.einsum("n,ni,nj->ij", density, normal, normal) / density.sum()
    assert anisotropy(plane) == pytest.approx(0.3)
    height = np.linspace(-1, 1, 100_001)  # even in height: even on the sphere
    weight = 1 + 0.2 * (3 * height**2 - 1)
    vertical = float(weight @ height**2 / weight.sum())
    space = np.diag([(1 - vertical) / 2, (1 - vertical) / 2, vertical])
    assert anisotropy(space) == pytest.approx(0.2, rel=1e-3)


def test_directions_of_a_column_are_vertical() -> None:
    edges, density = directions(column(5, 0.5, 1.0), bins=10)
    upright = int(np.digitize(math.pi / 2, edges)) - 1
    assert density[upright] * (edges[1] - edges[0]) == pytest.approx(1.0)


def two_columns() -> tuple[list[tuple[float, ...]], list[tuple[int, int]], list[tuple[float, ...]]]:
    """A loaded column of five and a light one beside it, touching at every level."""
    centre = [(x, 0.0, float(z)) for x in (0.0, 1.0) for z in range(5)]
    pairs = [(5 * k + z, 5 * k + z + 1) for k in range(2) for z in range(4)]
    force: list[tuple[float, ...]] = [(0.0, 0.0, 10.0)] * 4 + [(0.0, 0.0, 1.0)] * 4
    sides = [(z, 5 + z) for z in range(5)]
    return centre, pairs + sides, force + [(0.5, 0.0, 0.0)] * 5


def test_the_loaded_column_is_the_chain() -> None:
    centre, pairs, force = two_columns()
    both = spheres(centre, 0.5, pairs, force)
    found = chains(both)
    assert found.lengths.tolist() == [5]
    assert found.label.tolist() == [0] * 5 + [-1] * 5
    assert np.flatnonzero(found.contacts).tolist() == [0, 1, 2, 3]
    assert np.flatnonzero(strong(both)).tolist() == [0, 1, 2, 3]
    assert chains(both, shortest=6).lengths.size == 0


def test_nothing_makes_no_chain() -> None:
    alone = spheres([(0, 0, 0)], 1.0)
    assert chains(alone).lengths.size == 0
    assert coordination(alone).mean == 0.0
    assert not fabric(alone).any()
    assert not strong(alone).any()


def test_impossible_settings_are_refused() -> None:
    alone = spheres([(0, 0, 0)], 1.0)
    with pytest.raises(SettingsError, match="angle must be"):
        chains(alone, angle=2.0)
    with pytest.raises(SettingsError, match="bins must be"):
        directions(alone, bins=0)


def test_pictures() -> None:
    centre, pairs, force = two_columns()
    both = spheres(centre, 0.5, pairs, force)
    axes = Figure().add_subplot()
    draw_network(axes, both)
    assert len(axes.collections[0].get_segments()) == len(pairs)
    widths = axes.collections[0].get_linewidths()
    assert widths[0] / widths[4] == pytest.approx(10.0)
    axes = Figure().add_subplot()
    draw_chains(axes, both, chains(both))
    assert len(axes.collections[0].get_segments()) == 4
    axes = Figure().add_subplot(projection="polar")
    draw_directions(axes, both, bins=4)
    assert len(axes.patches) == 8
    axes = Figure().add_subplot()
    draw_coordination(axes, coordination(both), both)
    assert sum(bar.get_height() for bar in axes.patches) == 10
