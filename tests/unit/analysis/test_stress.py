"""Stresses of arrangements whose stress is known on paper."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from clapas.analysis.cells import cell_volumes, packing_fraction
from clapas.analysis.stress import box_stress, draw_pressure, grain_stresses, principal, stress_field
from clapas.errors import SettingsError
from tests.unit.analysis.samples import column, cubic, spheres, uniform


def test_two_grains_pressed_together() -> None:
    pair = spheres([(0, 0, 0), (2, 0, 0)], 1.0, [(0, 1)], [(3.0, 0, 0)])
    volume = 4 / 3 * np.pi
    assert np.allclose(grain_stresses(pair), np.diag([3.0 / volume, 0, 0]))
    assert np.allclose(box_stress(pair, (-1, -1, -1), (3, 1, 1)), np.diag([3.0 * 2 / 16, 0, 0]))


def test_half_a_branch_counts_half() -> None:
    pair = spheres([(0, 0), (2, 0)], 1.0, [(0, 1)], [(3.0, 1.0)])
    assert np.allclose(box_stress(pair, (0, -1), (1, 1)), [[1.5, 0], [0.5, 0]])
    assert np.allclose(box_stress(pair, (0.5, 0.5), (1, 1)), 0.0)


def test_a_column_bears_what_stands_above() -> None:
    radius, weight, count = 0.5, 2.0, 6
    stand = column(count, radius, weight)
    field = stress_field(stand, (-0.5, -0.5, 0.5), (0.5, 0.5, 6.5), (1, 1, count))
    # The cell of sphere k holds half the branch below it and half the one above.
    bears = weight * (count - np.arange(1, count + 1) + 0.5)
    assert np.allclose(field.stress[0, 0, :, 2, 2], bears)
    assert np.allclose(field.pressure, field.stress[..., 2, 2] / 3)
    own = grain_stresses(stand)[1:, 2, 2] * stand.volume[1:]
    assert np.allclose(own, bears)  # the same over a cell of unit volume


@pytest.mark.parametrize("corner", [0.0, 0.3, 1.1])
def test_a_cubic_lattice_is_in_its_uniform_stress(corner: float) -> None:
    lattice = cubic(5, 0.5, (1.0, 2.0, 3.0))
    low = np.full(3, corner)
    assert np.allclose(box_stress(lattice, low, low + 2.0), np.diag([1.0, 2.0, 3.0]))


def test_a_field_shares_branches_without_loss() -> None:
    random = uniform(np.diag([1.0, 2.0, 3.0]), 500, 1.0, 0.3)
    field = stress_field(random, (-2, -2, -2), (2, 2, 2), (7, 3, 5))
    volume = np.prod([np.diff(edges)[0] for edges in field.edges])
    start, end = random.branches
    assert np.allclose(field.stress.sum(axis=(0, 1, 2)) * volume, random.force.T @ (end - start))


def test_cells_of_grains_fill_space() -> None:
    lattice = cubic(4, 0.5, (1.0, 1.0, 1.0))
    box = (-0.5, -0.5, -0.5), (3.5, 3.5, 3.5)
    volume = cell_volumes(lattice, *box, 0.1)
    assert np.allclose(volume, 1.0)
    assert packing_fraction(lattice, *box, 0.05) == pytest.approx(np.pi / 6, rel=1e-2)
    assert np.allclose(grain_stresses(lattice, volume)[21], np.eye(3))  # inside: (1, 1, 1)


def test_unequal_cells_never_cut_a_sphere() -> None:
    pair = spheres([(0.0, 0.0), (3.0, 0.0)], [2.0, 1.0])
    volume = cell_volumes(pair, (-2, -2), (4, 2), 0.05)
    assert volume[0] == pytest.approx(4 * 4.0, rel=0.02)  # the cut is at the contact, x = 2


def test_principal_stresses_come_largest_first() -> None:
    values, directions = principal(np.diag([1.0, 3.0, 2.0]))
    assert np.allclose(values, [3, 2, 1])
    assert np.allclose(np.abs(directions[:, 0]), [0, 1, 0])


def test_no_contact_no_stress() -> None:
    alone = spheres([(0, 0, 0)], 1.0)
    assert not grain_stresses(alone).any()
    assert not box_stress(alone, (-1, -1, -1), (1, 1, 1)).any()


def test_impossible_boxes_are_refused() -> None:
    alone = spheres([(0, 0, 0)], 1.0)
    with pytest.raises(SettingsError, match="3 numbers each"):
        box_stress(alone, (0, 0), (1, 1))
    with pytest.raises(SettingsError, match="must not be empty"):
        box_stress(alone, (0, 0, 0), (1, 1, 0))
    with pytest.raises(SettingsError, match="opposite corners"):
        packing_fraction(alone, (0, 0, 0), (1, 1, 0))
    with pytest.raises(SettingsError, match="resolution"):
        packing_fraction(alone, (0, 0, 0), (1, 1, 1), -1.0)


def test_a_field_is_drawn_cell_by_cell() -> None:
    axes = Figure().add_subplot()
    draw_pressure(axes, stress_field(cubic(3, 0.5, (1.0, 1.0, 1.0)), (0, 0, 0), (2, 2, 2), (2, 1, 4)))
    assert axes.collections[0].get_array().size == 8
