"""Stresses of arrangements whose stress is known on paper."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from clapas.analysis import Instant
from clapas.analysis.cells import cell_volumes, packing, packing_fraction
from clapas.analysis.stress import box_stress, draw_pressure, grain_stresses, principal, stress_field
from clapas.analysis.structure import coordination
from clapas.dynamics.births import initial_state
from clapas.dynamics.schemes import MoreauJean, MoreauMidpoint, QuasiStatic
from clapas.dynamics.subdivision import divided_step
from clapas.errors import SettingsError
from clapas.geometry.shapes import (
    Box,
    Capsule,
    Clump,
    Cylinder,
    Disk,
    HalfPlane,
    Plane,
    Polygon,
    Polyhedron,
    Sphere,
)
from clapas.io.simulation import simulate
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from clapas.solvers import NSGS
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


def test_the_packing_of_a_lattice_is_exact_whatever_the_box() -> None:
    """Boxes in step with the lattice of spheres, of 6 and of 3, and through its middles; then any box."""
    lattice = cubic(6, 0.01, (1.0, 1.0, 1.0))
    for low, high in ((-0.01, 0.11), (-0.01, 0.05), (0.0, 0.1), (0.0, 0.08)):
        share, error = packing(lattice, (low,) * 3, (high,) * 3)
        assert error is not None
        assert error < 1e-3
        assert share == pytest.approx(np.pi / 6, abs=max(2 * error, 1e-12))
    assert packing(lattice, (-0.01,) * 3, (0.11,) * 3).error == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("d", [2, 3])
def test_spheres_that_overlap_fill_their_union(d: int) -> None:
    rng = np.random.default_rng(d)
    centre, radius = rng.random((60, d)), rng.uniform(0.03, 0.15, 60)
    share, error = packing(spheres(centre.tolist(), radius.tolist()), (0.1,) * d, (0.9,) * d)
    points = rng.uniform(0.1, 0.9, (100_000, d))
    away = np.linalg.norm(points[:, None] - centre, axis=2)
    assert error is not None
    assert 0.0 < error < 2e-3
    assert share == pytest.approx(
        np.mean((away < radius).any(axis=1)), abs=2 * error + 4 * np.sqrt(0.25 / 1e5)
    )
    # Two spheres (disks) that share a lens, by formula.
    lens = np.pi * 5.2 * 0.8**2 / 12 if d == 3 else 2 * np.arccos(0.6) - 0.6 * 1.6
    whole = 4 / 3 * np.pi if d == 3 else np.pi
    place = np.zeros((2, d))
    place[1, 0] = 1.2
    share, error = packing(spheres(place.tolist(), 1.0), (-2,) * d, (4,) * d)
    assert share * 6**d == pytest.approx(2 * whole - lens, abs=2 * (error or 0.0) * 6**d)


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
    figure = Figure()
    axes = figure.add_subplot()
    draw_pressure(axes, stress_field(cubic(3, 0.5, (1.0, 1.0, 1.0)), (0, 0, 0), (2, 2, 2), (2, 1, 4)))
    assert axes.collections[0].get_array().size == 8
    assert figure.axes[1].get_ylabel() == "pressure (Pa)"


def test_a_pressure_in_the_plane_is_per_metre() -> None:
    figure = Figure()
    pair = spheres([(0, 0), (2, 0)], 1.0, [(0, 1)], [(3.0, 0)])
    draw_pressure(figure.add_subplot(), stress_field(pair, (0, -1), (2, 1), (2, 2)))
    assert figure.axes[1].get_ylabel() == "pressure (Pa)"


def periodic_row(moved: float, count: int = 5, radius: float = 0.1, force: float = 5.0) -> Instant:
    """Disks in a row that closes on itself through a period, pressed together by a force."""
    centre = np.column_stack((2 * radius * np.arange(count) + moved, np.zeros(count)))
    a, b = np.arange(count), (np.arange(count) + 1) % count
    shift = np.zeros((count, 2))
    shift[-1, 0] = 2 * radius * count
    row = spheres(centre, radius)
    return replace(
        row,
        a=a,
        b=b,
        point=centre + np.array([radius, 0.0]),
        normal=np.tile([1.0, 0.0], (count, 1)),
        force=np.tile([force, 0.0], (count, 1)),
        mu=np.full(count, 0.5),
        mu_across=np.full(count, 0.5),
        cohesion=np.zeros(count),
        grain=np.zeros((count, 2)),
        shift=shift,
        period=(2 * radius * count, None),
    )


@pytest.mark.parametrize("moved", [0.0, 0.03, 7.0, -1e3 + 0.2])
def test_a_row_through_a_period_has_one_stress_wherever_it_wandered(moved: float) -> None:
    row = periodic_row(moved)
    for low in (0.0, 0.05, -3.3):
        stress = box_stress(row, (low, -0.1), (low + 1.0, 0.1))
        assert stress[0, 0] == pytest.approx(5.0 / 0.2)  # F/(2 r), Pa
        assert stress.ravel()[1:] == pytest.approx([0, 0, 0])
        assert packing_fraction(row, (low, -0.1), (low + 1.0, 0.1)) == pytest.approx(np.pi / 4, rel=5e-3)
        assert cell_volumes(row, (low, -0.1), (low + 1.0, 0.1), 0.005) == pytest.approx(np.full(5, 0.04))
    assert coordination(row).per_grain.tolist() == [2] * 5
    field = stress_field(row, (0.0, -0.1), (2.0, 0.1), (8, 1))  # two periods
    assert field.stress[:, 0, 0, 0] == pytest.approx(np.full(8, 25.0))


def test_two_disks_that_touch_twice_through_a_period_are_each_others_neighbours_twice() -> None:
    assert coordination(periodic_row(0.0, count=2)).per_grain.tolist() == [2, 2]


def test_a_box_of_millions_of_periods_is_refused() -> None:
    with pytest.raises(SettingsError, match="a few periods"):
        box_stress(periodic_row(0.0), (-1e8, -1), (1e8, 1))


def test_a_wall_fills_nothing_and_owns_nothing() -> None:
    """A ball on a fixed box: the ball fills π/6 of its cube, all of which is its cell."""
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Box((1, 1, 0.1)), position=(0, 0, -0.05), fixed=True)
    scene.add(Sphere(0.1), position=(0, 0, 0.1), density=2500)
    with simulate(scene, 0.02, 0.01) as run:
        end = Instant.of_recording(run)
    box = (-0.1, -0.1, 0.0), (0.1, 0.1, 0.2)
    assert packing_fraction(end, *box) == pytest.approx(np.pi / 6, rel=5e-3)
    assert cell_volumes(end, *box, 0.01) == pytest.approx([0.0, 0.008])
    assert packing_fraction(end, (0.2, 0.2, -0.1), (0.4, 0.4, 0.0)) == 0.0  # inside the fixed box


SOLIDS = {
    "box": Box((0.3, 0.2, 0.1)),
    "capsule": Capsule(0.1, 0.3),
    "cylinder": Cylinder(0.1, 0.3),
    "octahedron": Polyhedron(
        [(0.2, 0, 0), (-0.2, 0, 0), (0, 0.2, 0), (0, -0.2, 0), (0, 0, 0.2), (0, 0, -0.2)]
    ),
    "clump": Clump([(Sphere(0.1), (-0.15, 0, 0)), (Box((0.1, 0.1, 0.2)), (0.1, 0, 0))]),
}


@pytest.mark.parametrize("name", SOLIDS)
def test_every_shape_fills_its_own_volume(name: str) -> None:
    """Turned anyhow, across a corner of a periodic cell: mass over density."""
    scene = Scene(gravity=(0, 0, 0), period=(1.4, 1.4))
    scene.law(mu=0.5)
    turn = np.array([0.7, 0.1, -0.5, 0.5])
    scene.add(SOLIDS[name], position=(0.02, 4.18, 0.1), density=1000, orientation=turn / np.linalg.norm(turn))
    with simulate(scene, 1e-3, 1e-3) as run:
        end = Instant.of_recording(run)
    filled = packing_fraction(end, (0, 0, -0.5), (1.4, 1.4, 0.5), 0.01)
    assert filled * 1.96 == pytest.approx(end.mass[0] / 1000, rel=2e-2)
    assert cell_volumes(end, (0, 0, -0.5), (1.4, 1.4, 0.5), 0.1) == pytest.approx([1.96])


def test_a_polygon_fills_its_area() -> None:
    scene = Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.5)
    scene.add(Polygon([(0, 0), (0.4, 0), (0, 0.3)]), position=(0.1, 0.1), density=1.0, orientation=0.6)
    with simulate(scene, 1e-3, 1e-3) as run:
        end = Instant.of_recording(run)
    assert packing_fraction(end, (-1, -1), (1, 1), 2e-3) == pytest.approx(0.06 / 4, rel=1e-2)


def test_no_grain_fills_nothing() -> None:
    fixed = spheres([(0.0, 0.0)], 1.0, fixed=(0,))
    assert packing_fraction(fixed, (-1, -1), (1, 1)) == 0.0
    assert not cell_volumes(fixed, (-1, -1), (1, 1), 0.1).any()


def test_a_ball_that_glides_without_friction_is_in_plain_compression() -> None:
    scene = Scene()
    scene.law(mu=0.0)
    scene.add(Plane())
    scene.add(Sphere(0.01), position=(0, 0, 0.01), velocity=(5.0, 0, 0), density=2500)
    with simulate(scene, 0.01, 1e-3) as run:
        stress = grain_stresses(Instant.of_recording(run))[1]
    assert stress[2, 2] == pytest.approx(2500 * 9.81 * 0.01)
    assert np.abs(stress - np.diag([0, 0, stress[2, 2]])).max() < 1e-9 * stress[2, 2]


@pytest.mark.parametrize("scheme", [MoreauJean(theta=0.8), QuasiStatic(), MoreauMidpoint(travel=0.1)])
def test_centres_at_contact_of_every_scheme(scheme: MoreauJean) -> None:
    """Back from the recorded end of a step, or as the step left them: the same arms."""
    scene = Scene(d=2)
    scene.law(mu=0.2)
    scene.add(HalfPlane())
    scene.add(Disk(0.1), position=(0, 0.1), velocity=(3.0, -1.0), density=1000)
    model = compile_scene(scene)
    stepped = divided_step(model, initial_state(model), 0.01, NSGS(tol=1e-12), scheme)[-1]
    live = Instant.of_step(model, stepped)
    stored = Instant.of(model, stepped.state, stepped.contacts, stepped.state.dt, theta=scheme.theta)
    assert live.n_contacts == 1
    assert stored.middle == pytest.approx(live.middle, abs=1e-15)
    with simulate(scene, 0.01, 0.01, NSGS(tol=1e-12), scheme=scheme) as run:
        assert Instant.of_recording(run).middle == pytest.approx(live.middle, abs=1e-15)


def test_couples_are_what_the_stress_of_grains_at_rest_lacks_of_symmetry() -> None:
    """A ball held on a slope by rolling resistance: V (σ_zx − σ_xz) is the couple on it."""
    slope = 0.1
    scene = Scene(gravity=(9.81 * np.sin(slope), 0, -9.81 * np.cos(slope)))
    scene.law(mu=0.5, rolling=0.02)
    scene.add(Plane())
    scene.add(Sphere(0.1), position=(0, 0, 0.1), density=1000)
    with simulate(scene, 0.05, 1e-3, NSGS(tol=1e-12)) as run:
        end, couple = Instant.of_recording(run), run.frame(-1).state.impulses.couple[0] / run.dt
    stress = grain_stresses(end)[1] * end.volume[1]
    assert abs(couple[1]) == pytest.approx(end.mass[1] * 9.81 * np.sin(slope) * 0.1, rel=1e-6)
    assert abs(stress[2, 0] - stress[0, 2]) == pytest.approx(abs(couple[1]), rel=1e-6)
