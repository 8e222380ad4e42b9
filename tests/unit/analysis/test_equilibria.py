"""Ranges of forces and limits of structures known on paper."""

from __future__ import annotations

import math

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.optimize import linprog

from clapas.analysis.blockwork import Blockwork, draw_blockwork
from clapas.analysis.equilibria import Equilibria, at_rest, bisect
from clapas.analysis.indeterminacy import draw_cloud, draw_ranges, random_starts, shuffled_orders
from clapas.errors import SettingsError
from clapas.geometry.shapes import Box, Clump, Disk, HalfPlane, Plane, Polygon, Shape, Sphere
from clapas.problems import gallery
from clapas.problems.gallery.rigid import contact_frames
from clapas.scenes.examples.blocks import stone_arch
from clapas.scenes.examples.masonry import dome
from clapas.scenes.examples.piles import pile_of_balls, pile_of_disks
from clapas.scenes.scene import Scene
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


def tilted(tangent: float, *shapes: Shape, d: int = 3, height: float = 0.1, **law: float) -> Equilibria:
    """Shapes at a height on a plane that leans by an angle with that tangent."""
    angle = math.atan(tangent)
    down, along = -9.81 * math.cos(angle), 9.81 * math.sin(angle)
    scene = Scene(d=d, gravity=(along, down) if d == 2 else (along, 0, down), overlap=1e-9)
    scene.law(**law)
    scene.add(HalfPlane() if d == 2 else Plane())
    for shape in shapes:
        scene.add(shape, position=(*[0.0] * (d - 1), height), mass=1.0)
    return Equilibria.of_problem(at_rest(scene))


@pytest.mark.parametrize("seed", range(8))
def test_a_block_in_space_stands_below_its_limit_and_falls_above_it(seed: int) -> None:
    """An interior-point method has no answer there: forces of 1e100 N are none."""
    random = np.random.default_rng(seed)
    width, height = random.uniform(0.05, 0.5, 2)
    limit, away = width / height, 10 ** random.uniform(-7, -2)
    for tangent, holds in ((limit * (1 - away), True), (limit * (1 + away), False)):
        held = tilted(tangent, Box((width, 0.2, height)), height=height / 2, mu=3 * limit)
        r = held.one()
        assert (r is not None) == holds
        if r is not None:
            assert np.abs(held.H.T @ r.ravel() - held.f).max() < 1e-7 * 9.81
            assert np.abs(r).max() < 2 * 9.81 * (1 + 3 * limit)
        else:
            with pytest.raises(SettingsError, match="no equilibrium"):
                held.range(0)


def test_the_limit_of_a_block_in_space_is_found_by_bisection() -> None:
    def falls(tangent: float) -> bool:
        return tilted(tangent, Box((0.1, 0.1, 0.4)), height=0.2, mu=2.0).one() is None

    assert bisect(falls, 0.2, 0.3, 1e-8) == pytest.approx(0.25, abs=2e-7)


@pytest.mark.parametrize("away", [-1e-8, 0.0, 4e-10, 4e-8])
def test_ranges_are_finite_up_to_the_accuracy_above_a_limit(away: float) -> None:
    """A block about to turn over stands on two corners: the others carry nothing."""
    low, high = tilted(0.25 * (1 + away), Box((0.1, 0.1, 0.4)), height=0.2, mu=2.0).range(0)
    assert low == pytest.approx(high, abs=1e-4)


def test_the_least_friction_of_a_dome_in_space() -> None:
    """296 contacts: both sides of the limit are decided to 1e-4 of it, and soon.

    Which corners of two faces that touch count is a matter of rounding, and so are some 1e-3 of the limit.
    """

    def holds(mu: float) -> bool:
        return stands(Equilibria.of_problem(at_rest(dome(rings=3, lunes=8, mu=mu))))

    low, high = 0.182, 0.187
    assert [holds(low), holds(high)] == [False, True]
    while high - low > 1e-4 * low:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    assert low == pytest.approx(0.1843, rel=2e-3)
    assert [holds((1.0 - 1e-3) * low), holds((1.0 + 1e-3) * high)] == [False, True]


@pytest.mark.parametrize("d", [2, 3])
def test_contacts_without_friction_do_not_pull(d: int) -> None:
    ceiling = np.array([[0, 0, -1.0], [1, 0, 0], [0, 1, 0]]) if d == 3 else np.array([[0, -1.0], [1, 0]])
    assert Equilibria(ceiling, np.eye(d)[-1] * 10.0, np.zeros(1)).one() is None
    floor = Equilibria(-ceiling, np.eye(d)[-1] * 10.0, np.zeros(1))
    assert floor.range(0) == pytest.approx((10.0, 10.0))
    if d == 3:
        assert tilted(0.0, Box((1, 1, 1)), height=0.5, mu=0.0).range(0) == pytest.approx(
            (0.0, 9.81 / 2), abs=1e-6
        )


@pytest.mark.parametrize("d", [2, 3])
def test_a_ball_that_resists_rolling_stays_up_to_its_own_slope(d: int) -> None:
    """The least of mu and rolling / radius, not a mixture of both."""
    ball = Disk(0.1) if d == 2 else Sphere(0.1)
    for mu, rolling, limit in ((0.5, 0.02, 0.2), (0.15, 0.02, 0.15)):
        for tangent in (0.5 * limit, 0.99999 * limit):
            r = tilted(tangent, ball, d=d, mu=mu, rolling=rolling).one()
            assert r is not None
            normal = 9.81 * math.cos(math.atan(tangent))
            assert r[0, 0] == pytest.approx(normal, rel=1e-6)
            assert np.linalg.norm(r[0, 1:d]) == pytest.approx(tangent * normal, rel=1e-5)
            assert np.linalg.norm(r[0, d:]) == pytest.approx(0.1 * tangent * normal, rel=1e-5)  # N·m
        assert tilted(1.00001 * limit, ball, d=d, mu=mu, rolling=rolling).one() is None


@pytest.mark.parametrize("d", [2, 3])
def test_cohesion_is_no_part_of_the_force(d: int) -> None:
    ball = Disk(0.1) if d == 2 else Sphere(0.1)
    assert tilted(0.0, ball, d=d, mu=0.5, cohesion=100.0).range(0) == pytest.approx((9.81, 9.81))
    under = Scene(d=d, overlap=1e-9)
    under.law(mu=0.5, cohesion=100.0)
    up = np.eye(d)[-1]
    under.add(HalfPlane(-up) if d == 2 else Plane(-up))
    under.add(ball, position=-0.1 * up, mass=1.0)
    assert Equilibria.of_problem(at_rest(under)).range(0) == pytest.approx((-9.81, -9.81))
    heavy = Equilibria.of_problem(at_rest(under)).largest_load([*(-up), *[0.0] * (2 * d - 3)])
    assert heavy == pytest.approx(100.0 - 9.81, rel=1e-6)
    # Friction is that of the cohesion too: mu (weight + C).
    block = Polygon.rectangle(0.4, 0.2) if d == 2 else Box((0.4, 0.4, 0.2))
    push = tilted(0.0, block, d=d, mu=0.3, cohesion=10.0).largest_load(np.eye(3 * d - 3)[0])
    corners = 2 if d == 2 else 4
    assert push == pytest.approx(0.3 * (9.81 + 10.0 * corners), rel=1e-6)


def test_elliptic_friction_has_two_limits() -> None:
    law = {"mu": 0.2, "mu_across": 0.6, "direction": (1, 0, 0)}
    held = tilted(0.0, Box((1, 1, 0.01)), height=0.005, **law)
    along, across, between = np.eye(6)[0], np.eye(6)[1], np.array([1, 1, 0, 0, 0, 0]) / math.sqrt(2)
    assert held.largest_load(along) == pytest.approx(0.2 * 9.81, rel=1e-6)
    assert held.largest_load(across) == pytest.approx(0.6 * 9.81, rel=1e-6)
    oblique = 1 / math.hypot(1 / 0.2, 1 / 0.6) * math.sqrt(2)
    assert held.largest_load(between) == pytest.approx(oblique * 9.81, rel=1e-6)


def polyhedral(held: Equilibria, live: Array, sides: int) -> tuple[float, float]:
    """Largest load with polygons inside and around the discs: own linear programs, contact by contact."""
    n, d = held.n_contacts, held.d
    turn = 2 * math.pi * (np.arange(sides) + 0.5) / sides
    found = []
    for grown in (1.0, 1.0 / math.cos(math.pi / sides)):
        columns = []
        for k in range(n):
            for angle in turn:
                edge = np.zeros(n * d)
                edge[k * d : k * d + 3] = (
                    1.0,
                    *(held.mu[k] * grown * np.array([math.cos(angle), math.sin(angle)])),
                )
                columns.append(held.H.T @ edge)
        A = np.column_stack((*columns, live))
        goal = np.append(np.zeros(A.shape[1] - 1), -1.0)
        found.append(-linprog(goal, A_eq=A, b_eq=held.f, bounds=(0, None)).fun)
    return found[0], found[1]


@pytest.mark.parametrize("seed", range(4))
def test_loads_in_space_lie_between_two_linear_programs(seed: int) -> None:
    """A particle in a random bowl, pushed sideways."""
    random = np.random.default_rng(seed)
    normal = 0.3 * random.normal(size=(4, 3)) + np.array([0, 0, 1.0])
    frames = contact_frames(normal / np.linalg.norm(normal, axis=1)[:, None])
    held = Equilibria(frames.reshape(-1, 3), np.array([0.0, 0.0, 10.0]), random.uniform(0.1, 0.8, 4))
    live = np.append(random.normal(size=2), 0.0)
    inside, around = polyhedral(held, live, 48)
    assert inside * (1 - 1e-9) <= held.largest_load(live) <= around * (1 + 1e-9)
    assert around < 1.02 * inside


def test_cuts_give_what_the_conic_engine_gives() -> None:
    problem = at_rest(pile_of_balls(2, 0.5))
    held = Equilibria.of_problem(problem)
    program = held._program()
    B, b, scale = program._scaled
    assert b is not None
    for component in (0, 5):
        goal = np.eye(program.size)[component]
        assert scale * program._by_cuts(B, b, goal)[1] == pytest.approx(program.least(goal)[1], abs=1e-5)
    steep = Equilibria.of_problem(at_rest(pile_of_balls(2, 0.41)))._program()
    B, b, _ = steep._scaled
    assert b is not None
    assert steep._by_cuts(B, b, np.zeros(steep.size))[0] is None


@pytest.mark.parametrize("d", [2, 3])
def test_no_contact_holds_nothing_but_what_has_no_weight(d: int) -> None:
    flying = Scene(d=d)
    flying.law(mu=0.5)
    flying.add(Disk(0.1) if d == 2 else Sphere(0.1), position=(0,) * d, mass=1.0)
    held = Equilibria.of_problem(at_rest(flying))
    assert held.n_contacts == 0
    assert held.one() is None
    assert held.largest_load(np.eye(3 * d - 3)[d - 1]) == pytest.approx(9.81)  # the load alone bears it
    nothing = Equilibria(np.zeros((0, 3)), np.zeros(3), np.zeros(0))
    assert nothing.one() is not None


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(SettingsError, match="same number of rows"):
        Equilibria(np.zeros((3, 3)), np.zeros(3), np.zeros(2))
    with pytest.raises(SettingsError, match="2 or 3 components"):
        Equilibria(np.zeros((6, 3)), np.zeros(3), np.zeros(1))
    with pytest.raises(SettingsError, match="couples need limits"):
        Equilibria(np.zeros((6, 3)), np.zeros(3), np.zeros(1), couples=True)


def test_blocks_weigh_what_the_scene_says() -> None:
    scene = Scene(d=2, gravity=(1.0, -5.0), overlap=1e-9)
    scene.law(mu=0.5)
    scene.add(HalfPlane())
    scene.add(Polygon.rectangle(1, 1), position=(0, 0.5), density=500, force=(0.0, -70.0))
    scene.add(Polygon.rectangle(1, 1), position=(0, 1.5), density=5000)
    work = Blockwork.of_scene(scene)
    assert work.masses == pytest.approx([500, 5000])
    assert -work.equilibria(0.5).f.reshape(-1, 3) == pytest.approx(
        np.array([[500, -2570, 0], [5000, -25000, 0]])
    )
    assert Blockwork.of_scene(scene, density=100.0).masses == pytest.approx([100, 100])
    twin = Equilibria.of_problem(at_rest(scene))
    push = np.zeros(6)
    push[3] = 1.0
    assert work.equilibria(0.5).largest_load(push) == pytest.approx(twin.largest_load(push), rel=1e-6)


def test_a_clump_of_polygons_is_one_body() -> None:
    """A T stands on its stem; taken to pieces its arms would fall."""
    bar = Polygon.rectangle(0.2, 0.2)
    tee = Clump(
        [(bar, (0, 0)), (Polygon.rectangle(0.4, 0.2), (-0.2, 0.2)), (Polygon.rectangle(0.4, 0.2), (0.2, 0.2))]
    )
    scene = Scene(d=2, overlap=1e-9)
    scene.law(mu=0.5)
    scene.add(HalfPlane())
    scene.add(tee, position=(0.0, 0.1), density=1000)  # the frame of a clump is that of its parts
    work = Blockwork.of_scene(scene)
    assert (len(work.blocks), work.n_bodies) == (3, 1)
    assert work.masses == pytest.approx([200.0])
    assert stands(work.equilibria(0.5))
    r = work.equilibria(0.5).one()
    assert r is not None
    assert r[:, 0].sum() == pytest.approx(200 * 9.81)


def test_what_is_no_polygon_is_no_blockwork() -> None:
    scene = Scene(d=2)
    scene.law(mu=0.5)
    scene.add(HalfPlane())
    scene.add(Disk(0.1), position=(0, 0.1), density=1000, name="pebble")
    with pytest.raises(SettingsError, match="'pebble' has a round part"):
        Blockwork.of_scene(scene)


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


def test_outlines_go_round_either_way_and_may_be_closed() -> None:
    closed = np.vstack((SQUARE, SQUARE[:1]))
    for block, support in ((SQUARE[::-1], SQUARE), (SQUARE, SQUARE[::-1]), (closed, closed)):
        work = Blockwork([block], [support - [0, 1]], density=1.0)
        assert work.equilibria(0.5).range(0) == pytest.approx((4.905, 4.905))


@pytest.mark.parametrize("angle", [0.3, 1.1, 2.0])
def test_drawings_of_six_digits_have_their_joints(angle: float) -> None:
    c, s = np.cos(angle), np.sin(angle)
    turned = [
        np.round(0.31 * shape @ [[c, s], [-s, c]], 6)
        for shape in (SQUARE, moved(0.3, 1.0), moved(0.1, 2.0), SQUARE * [6, 1] - [3, 1])
    ]
    work = Blockwork(turned[:3], turned[3:], density=1.0, gravity=(9.81 * s, -9.81 * c))
    assert len(work.joints.a) == 6
    assert stands(work.equilibria(0.1))


def test_sides_that_are_apart_or_turned_are_no_joint() -> None:
    lifted = Blockwork([moved(0.0, 1e-4)], [SQUARE - [0, 1]])
    leaning = Blockwork([SQUARE + np.array([[0, 0], [0, 2e-4], [0, 0], [0, 0]])], [SQUARE - [0, 1]])
    assert len(lifted.joints.a) == len(leaning.joints.a) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"blocks": []}, "at least one block"),
        ({"blocks": [SQUARE[:2]]}, r"blocks\[0\] must be at least 3 corners \(k, 2\), got shape \(2, 2\)"),
        ({"supports": [SQUARE * np.nan]}, r"supports\[0\] must be finite"),
        ({"blocks": [SQUARE * [1, 0]]}, r"blocks\[0\] has no area"),
        ({"blocks": [SQUARE * 0]}, r"blocks\[0\] has no area"),
        ({"density": -1.0}, "density must be one positive number, or one for each of 1 blocks"),
        ({"density": [1.0, 2.0]}, "density must be one positive number"),
        (
            {"loads": np.zeros((1, 2))},
            r"loads must be finite numbers .* of shape \(1, 3\), got shape \(1, 2\)",
        ),
    ],
)
def test_what_is_no_blockwork_is_refused(change: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"blocks": [SQUARE], "supports": [SQUARE - [0, 1]], **change}
    with pytest.raises(SettingsError, match=message):
        Blockwork(**given)  # type: ignore[arg-type]


def test_questions_beyond_the_blockwork_are_refused() -> None:
    work = Blockwork([SQUARE], [SQUARE - [0, 1]])
    with pytest.raises(SettingsError, match=r"mu must be at least 0, got -0\.5"):
        work.equilibria(-0.5)
    with pytest.raises(SettingsError, match="live must be finite numbers"):
        work.equilibria(0.5, np.zeros(3))
    with pytest.raises(
        SettingsError, match="no component 0 of contact 9: there are 2 contacts of 2 components"
    ):
        work.equilibria(0.5).range(9)


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
