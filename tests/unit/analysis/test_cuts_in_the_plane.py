"""Cuts through bodies in 2-D: densities of a known stress, and reciprocity."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.analysis import Instant
from clapas.analysis.ribbons import Cut, Ribbon, force_density, reciprocity
from clapas.errors import SettingsError

from .samples import spheres


def under_stress(stress: np.ndarray, count: int, reach: float, branch: float) -> Instant:
    """Contacts at random with a given mean stress: forces c σ l on branches l, c = 2 area/(count l²)."""
    random = np.random.default_rng(0)
    point = random.uniform(-reach, reach, (count, 2))
    angle = random.uniform(0.0, 2.0 * np.pi, count)
    direction = branch * np.column_stack((np.cos(angle), np.sin(angle)))
    centre = np.concatenate((point - direction / 2, point + direction / 2))
    force = 2.0 / branch**2 * (2 * reach) ** 2 / count * direction @ stress
    pairs = np.column_stack((np.arange(count), np.arange(count) + count))
    return spheres(centre, branch / 2, pairs, force, point=point)


@pytest.mark.parametrize("angle", [0.0, 0.7, 2.0])
def test_the_density_on_a_cut_is_the_stress_times_its_normal(angle: float) -> None:
    stress = np.array([[3.0, 0.5], [0.5, 1.0]])
    instant = under_stress(stress, 200_000, 1.0, 0.05)
    found = force_density(instant, Cut.about((-0.2, 0.1), angle, 1.0))
    np.testing.assert_allclose(found.density, stress @ found.ribbon.normal, atol=5 * found.error.max())
    assert found.error.max() < 0.1


def test_reciprocal_cuts_agree_under_a_symmetric_stress() -> None:
    instant = under_stress(np.array([[3.0, 0.5], [0.5, 1.0]]), 200_000, 1.0, 0.05)
    assert reciprocity(instant, (0.1, -0.1), 1.0).error < 0.05


def test_one_contact_through_one_cut() -> None:
    pair = spheres([(-1.0, 0.0), (1.0, 0.0)], 1.0, [(0, 1)], [(4.0, 1.0)])
    through = force_density(pair, Cut((0.0, -1.0), (0.0, 1.0)))
    assert (through.contacts, through.density.tolist()) == (1, [2.0, 0.5])
    other_side = force_density(pair, Cut((0.0, 1.0), (0.0, -1.0)))
    assert other_side.density.tolist() == [-2.0, -0.5]
    beside = force_density(pair, Cut((0.0, 0.5), (0.0, 1.5)))
    assert (beside.contacts, beside.density.tolist()) == (0, [0.0, 0.0])


def test_cuts_and_ribbons_are_not_mixed_up() -> None:
    flat, solid = spheres([(0.0, 0.0)], 1.0), spheres([(0.0, 0.0, 0.0)], 1.0)
    with pytest.raises(SettingsError, match="a Ribbon does not cut this scene: this one is in 2-D"):
        force_density(flat, Ribbon((1.0, 0.0), (1.0, 1.0)))
    with pytest.raises(SettingsError, match="a Cut does not cut this scene: this one is in 3-D"):
        force_density(solid, Cut((1.0, 0.0), (1.0, 1.0)))
    with pytest.raises(SettingsError, match="two different points"):
        Cut((1.0, 1.0), (1.0, 1.0))
