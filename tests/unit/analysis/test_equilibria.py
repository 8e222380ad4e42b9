"""Ranges of forces and limits of structures known on paper."""

from __future__ import annotations

import math

import numpy as np
import pytest
from matplotlib.figure import Figure

from clapas.analysis.blockwork import Blockwork, draw_blockwork
from clapas.analysis.equilibria import Equilibria, at_rest, bisect
from clapas.analysis.indeterminacy import draw_cloud, draw_ranges, random_starts, shuffled_orders
from clapas.dynamics.examples.blocks import stone_arch
from clapas.dynamics.examples.piles import pile_of_balls, pile_of_disks
from clapas.dynamics.scene import Scene
from clapas.errors import SettingsError
from clapas.geometry.shapes import Box, HalfPlane, Plane, Polygon
from clapas.problems import gallery
from clapas.typing import Array

SLOPE = math.radians(10.0)
SQUARE = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], dtype=float)


def moved(x: float, y: float) -> Array:
    return SQUARE + np.array([x, y])


def stands(equilibria: Equilibria) -> bool:
    return equilibria.one() is not None


def test_the_wedged_bar_needs_a_least_thrust() -> None:
    problem = gallery.wedged_bar(SLOPE, 0.5).problem
    low, high = Equilibria.of_problem(problem).range(0)
    weight = problem.f[1]
    thrust = 0.5 * weight / math.tan(math.atan(0.5) - SLOPE)
    assert low == pytest.approx(thrust * math.cos(SLOPE) - 0.5 * weight * math.sin(SLOPE))
    assert high == math.inf


def test_a_block_in_space_shares_its_weight_among_four_corners() -> None:
    scene = Scene(overlap=1e-9)
    scene.law(mu=0.5)
    scene.add(Plane())
    scene.add(Box((1, 1, 1)), position=(0, 0, 0.5), mass=4.0)
    equilibria = Equilibria.of_problem(at_rest(scene))
    low, high = equilibria.range(0)
    assert low == pytest.approx(0.0, abs=1e-6)
    assert high == pytest.approx(0.5 * 4.0 * 9.81, rel=1e-6)  # two opposite corners carry all
    r = equilibria.one()
    assert r is not None
    assert r[:, 0].sum() == pytest.approx(4.0 * 9.81)


def test_three_disks_stand_from_their_least_friction_on() -> None:
    least = bisect(lambda mu: stands(Equilibria.of_problem(at_rest(pile_of_disks(2, mu)))), 0.1, 1.0, 1e-5)
    assert least == pytest.approx(2 - math.sqrt(3), abs=1e-5)


def test_five_balls_stand_from_their_least_friction_on() -> None:
    least = bisect(lambda mu: stands(Equilibria.of_problem(at_rest(pile_of_balls(2, mu)))), 0.3, 0.6, 1e-4)
    assert least == pytest.approx(math.tan(math.pi / 8), abs=1e-4)


@pytest.mark.parametrize("d", [2, 3])
def test_a_block_is_pushed_until_it_slides(d: int) -> None:
    scene = Scene(d=d, overlap=1e-9)
    scene.law(mu=0.3)
    if d == 2:
        scene.add(HalfPlane())
        scene.add(Polygon([(-1, 0), (1, 0), (1, 0.2), (-1, 0.2)]), mass=1.0)
    else:
        scene.add(Plane())
        scene.add(Box((2, 2, 0.2)), position=(0, 0, 0.1), mass=1.0)
    push = np.eye(3 * d - 3)[0]
    assert Equilibria.of_problem(at_rest(scene)).largest_load(push) == pytest.approx(0.3 * 9.81, rel=1e-6)
    lift = np.eye(3 * d - 3)[d - 1]
    assert Equilibria.of_problem(at_rest(scene)).largest_load(lift) == pytest.approx(9.81, rel=1e-6)
    assert Equilibria.of_problem(at_rest(scene)).largest_load(-lift) == math.inf


def test_what_hangs_in_the_air_falls() -> None:
    nothing = Equilibria(np.zeros((2, 3)), np.array([0.0, 1.0, 0.0]), np.array([0.5]))
    assert nothing.one() is None
    assert nothing.largest_load([1.0, 0.0, 0.0]) == -math.inf
    with pytest.raises(SettingsError, match="no equilibrium"):
        nothing.range(0)


def test_a_limit_outside_is_refused() -> None:
    with pytest.raises(SettingsError, match="not between"):
        bisect(lambda x: x > 3, 0.0, 1.0, 1e-3)


def test_joints_are_where_sides_lie_on_sides() -> None:
    work = Blockwork([SQUARE, moved(0.5, 1.0), moved(5.0, 5.0)], [SQUARE - [0, 1]])
    joints = work.joints
    assert joints.a.tolist() == [0, 0, -1, -1]
    assert joints.b.tolist() == [1, 1, 0, 0]
    assert sorted(joints.point[:2, 0].tolist()) == pytest.approx([0.5, 1.0])
    assert np.allclose(joints.normal, [0, 1])
    assert work.equilibria(0.5).one() is None  # the third hangs in the air


def test_a_tower_leans_until_its_weight_leaves_its_foot() -> None:
    def tower(shift: float) -> Blockwork:
        return Blockwork([SQUARE, moved(shift, 1.0)], [SQUARE * [4, 1] - [2, 1]])

    least = bisect(lambda x: not stands(tower(x).equilibria(0.5)), 0.2, 0.9, 1e-6)
    assert least == pytest.approx(0.5, abs=1e-5)


def test_the_scene_of_an_arch_has_all_its_joints() -> None:
    work = Blockwork.of_scene(stone_arch(15, 0.15))
    assert len(work.blocks) == 15
    assert len(work.joints.a) == 2 * 16
    assert stands(work.equilibria(0.7))
    assert not stands(work.equilibria(0.2))
    axes = Figure().add_subplot()
    draw_blockwork(axes, work, work.equilibria(0.7).one())
    assert len(axes.collections[2].get_offsets()) == 16
    with pytest.raises(SettingsError, match="3-D"):
        Blockwork.of_scene(pile_of_balls(2))


def test_samples_stay_inside_the_exact_ranges() -> None:
    problem = at_rest(pile_of_disks(2, 0.5))
    equilibria = Equilibria.of_problem(problem)
    exact = np.array([equilibria.range(k) for k in range(problem.n_contacts)])
    top = float(exact[:, 1].max())
    for cloud in (random_starts(problem, 10, largest=top), shuffled_orders(problem, 10)):
        assert len(cloud.impulse) == cloud.asked == 10
        for r in cloud.impulse[cloud.resting]:
            assert problem.residual(r) <= 1e-8
        low, high = cloud.normal_ranges.T
        assert np.all(low >= exact[:, 0] - 1e-5 * top)
        assert np.all(high <= exact[:, 1] + 1e-5 * top)
    axes = Figure().add_subplot()
    draw_cloud(axes, cloud, 0, 0.5)
    assert len(axes.lines[0].get_xdata()) == cloud.resting.sum()
    axes = Figure().add_subplot()
    draw_ranges(axes, exact, cloud.normal_ranges)
    assert len(axes.collections) == 2
    with pytest.raises(SettingsError, match="at least 1"):
        shuffled_orders(problem, 0)


def test_the_wedged_bar_falls_or_stays() -> None:
    problem = gallery.wedged_bar(SLOPE, 0.5).problem
    least = Equilibria.of_problem(problem).range(0)[0]
    cloud = random_starts(problem, 30, largest=5 * least)
    assert 0 < cloud.resting.sum() < 30
    assert cloud.normal_ranges[0, 0] >= least * (1 - 1e-6)
    falling = random_starts(problem, 1, largest=1e-9)
    assert not falling.resting.any()
    assert np.isnan(falling.normal_ranges).all()
