"""What touches keeps touching: structures placed at exact coordinates stand still, and nothing creeps."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from clapas.dynamics.births import initial_state
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.reaching import default_reach
from clapas.dynamics.schemes import MoreauJean, MoreauMidpoint, QuasiStatic
from clapas.dynamics.state import State
from clapas.dynamics.stepping import StepResult, step
from clapas.geometry.shapes import Box, Capsule, Cylinder, Disk, HalfPlane, Plane, Polygon, Sphere
from clapas.scenes import examples
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from clapas.scenes.simulation import energy
from clapas.solvers import NSGS, Auto
from tests.closed_form.runs import run

G = 9.81
H = 1e-3
DENSITY = 2000.0


# -------------------------------------------------------------------- structures


def on_floor(d: int = 3, mu: float = 0.5, slope: float = 0.0, **law: Any) -> Scene:
    """An empty scene with a floor; gravity leans towards +x as on a slope."""
    scene = Scene((G * math.sin(slope), *(0.0,) * (d - 2), -G * math.cos(slope)), d=d)
    scene.law(mu=mu, **law)
    scene.add(Plane() if d == 3 else HalfPlane())
    return scene


def pyramid_of_balls(courses: int = 3) -> Scene:
    """14 balls on a square base, each in the hollow of four."""
    scene, r = on_floor(mu=0.7), 0.05
    for k in range(courses):
        side = courses - k
        for i in range(side):
            for j in range(side):
                place = (r * (2 * i + k), r * (2 * j + k), r * (1 + k * math.sqrt(2.0)))
                scene.add(Sphere(r), place, density=DENSITY)
    return scene


def pyramid_of_disks(courses: int = 4) -> Scene:
    scene, r = on_floor(2, mu=0.7), 0.05
    for k in range(courses):
        for i in range(courses - k):
            scene.add(Disk(r), (r * (2 * i + k), r * (1 + k * math.sqrt(3.0))), density=DENSITY)
    return scene


def blocks(places: list[tuple[Any, Any]], mu: float = 0.5) -> Scene:
    scene = on_floor(mu=mu)
    for centre, size in places:
        scene.add(Box(size), centre, density=DENSITY)
    return scene


def stack(count: int = 10) -> Scene:
    return blocks([((0, 0, 0.1 + 0.2 * k), (0.2, 0.2, 0.2)) for k in range(count)])


def wall(courses: int, length: int) -> Scene:
    """Running bond, half bricks at the ends of every other course."""
    places = []
    for k in range(courses):
        ends = [0.0, *np.arange(0.5, length), length] if k % 2 else list(range(length + 1))
        for low, high in pairwise(ends):
            centre, size = (0.1 * (low + high), 0.0, 0.05 + 0.1 * k), (0.2 * (high - low), 0.1, 0.1)
            places.append((centre, size))
    return blocks(places)


def tower(layers: int) -> Scene:
    """Three planks in each layer, crossed."""
    places: list[tuple[Any, Any]] = []
    for k in range(layers):
        for i in (-1, 0, 1):
            at, size = ((0, i * 0.1), (0.3, 0.08)) if k % 2 == 0 else ((i * 0.1, 0), (0.08, 0.3))
            places.append(((*at, 0.03 + 0.06 * k), (*size, 0.06)))
    return blocks(places)


def wall_of_squares() -> Scene:
    """Running bond in the plane."""
    scene = on_floor(2)
    brick = Polygon([(-0.1, -0.05), (0.1, -0.05), (0.1, 0.05), (-0.1, 0.05)])
    for k in range(5):
        for i in range(4 - k % 2):
            scene.add(brick, (0.2 * i + 0.1 * (k % 2), 0.05 + 0.1 * k), density=DENSITY)
    return scene


def drums() -> Scene:
    """Cylinders standing on each other, as the drums of a column."""
    scene = on_floor()
    for k in range(4):
        scene.add(Cylinder(0.1, 0.1), (0, 0, 0.05 + 0.1 * k), density=DENSITY)
    return scene


def steps(
    scene: Scene,
    count: int,
    tol: float = 1e-6,
    scheme: MoreauJean | None = None,
    method: type[Auto | NSGS] = Auto,
) -> list[StepResult]:
    model = compile_scene(scene)
    state, near, done = initial_state(model), Neighbours(model), []
    for _ in range(count):
        done.append(step(model, state, H, method(tol=tol), scheme, near))
        assert done[-1].solution.status.is_solved
        state = done[-1].state
    return done


STRUCTURES = {
    "box": lambda: blocks([((0, 0, 0.05), (0.2, 0.2, 0.1))]),
    "stack": stack,
    "wall": lambda: wall(4, 3),
    "tower": lambda: tower(4),
    "pyramid of balls": pyramid_of_balls,
    "pyramid of disks": pyramid_of_disks,
    "wall of squares": wall_of_squares,
    "drums": drums,
    "arch": lambda: examples.load("stone-arch"),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_structure_at_exact_coordinates_stands_still(name: str) -> None:
    """Kinetic energy below 1e-12 m g L in every step."""
    scene = STRUCTURES[name]()
    model = compile_scene(scene)
    start = initial_state(model)
    moving = model.movable
    high = float(np.abs(start.position[moving]).max())
    scale = float(model.mass[moving].sum()) * G * high
    for done in steps(scene, 40):
        assert energy(model, done.state).kinetic < 1e-12 * scale
    moved = np.abs(done.state.position[moving] - start.position[moving]).max()
    assert moved < 1e-8 * high


@pytest.mark.parametrize("name", ["stack", "wall", "tower", "wall of squares"])
def test_the_contacts_of_a_structure_at_rest_are_the_same_in_every_step(name: str) -> None:
    """Same number, same identities, same places; and the impulses carried are nearly the answer."""
    tol = 1e-4
    done = steps(STRUCTURES[name](), 60, tol)
    first = done[0].problem.contacts
    for one in done[1:]:
        contacts = one.problem.contacts
        np.testing.assert_array_equal(contacts.feature, first.feature)
        np.testing.assert_array_equal(contacts.a, first.a)
        np.testing.assert_array_equal(contacts.b, first.b)
        np.testing.assert_allclose(contacts.point, first.point, atol=1e-5)
    for one in done[20:]:
        assert one.solution.history.residuals[0] < 10 * tol


@pytest.mark.slow
@pytest.mark.parametrize("scene", [stack(10), wall(12, 6), tower(20), wall(20, 10)])
def test_large_structures_move_by_less_than_a_micron(scene: Scene) -> None:
    done = steps(scene, 200, 1e-4)
    start = initial_state(compile_scene(scene)).position
    assert np.abs(done[-1].state.position - start).max() < 1e-6
    assert len({len(one.problem.contacts) for one in done}) == 1


# -------------------------------------------------------------------- one block on a slope


def block_on_slope(degrees: float) -> Scene:
    scene = on_floor(slope=math.radians(degrees))
    scene.add(Box((0.2, 0.2, 0.1)), (0, 0, 0.05), density=DENSITY)
    return scene


def test_a_block_below_the_angle_of_friction_does_not_creep() -> None:
    """At a coarse tolerance: less than 1e-3 µm/s (Moreau's rule alone: 3.2 µm/s)."""
    done = steps(block_on_slope(20.0), 500, 1e-4)
    assert abs(done[-1].state.position[-1, 0]) < 1e-9 * 0.5
    # Plain sweeps from nothing: impulses that Auto finds for bodies at rest hold it by any rule.
    moreau = steps(block_on_slope(20.0), 100, 1e-4, MoreauMidpoint(reach=0.0), NSGS)
    assert moreau[-1].state.position[-1, 0] > 1e-7


@pytest.mark.slow
def test_a_block_does_not_creep_in_ten_seconds() -> None:
    assert abs(steps(block_on_slope(20.0), 10_000, 1e-4)[-1].state.position[-1, 0]) < 1e-8


@pytest.mark.parametrize("theta", [0.5, 0.75, 1.0])
def test_a_block_above_the_angle_of_friction_slides_as_on_paper(theta: float) -> None:
    """The path is x = a t²/2 with a = g (sin α − μ cos α); one step of the scheme is exact for θ = ½ only."""
    angle, count = math.radians(27.5), 1000 if theta == 0.5 else 200
    done = steps(block_on_slope(27.5), count, 1e-6, MoreauJean(theta=theta))
    rate, t = G * (math.sin(angle) - 0.5 * math.cos(angle)), count * H
    expected = 0.5 * rate * t**2 + (theta - 0.5) * rate * t * H
    assert done[-1].state.position[-1, 0] == pytest.approx(expected, rel=1e-6)
    assert abs(done[-1].state.position[-1, 2] - 0.05) < 1e-8


# -------------------------------------------------------------------- what reach is, and is not


def falling_ball(restitution: float) -> Scene:
    scene = on_floor(mu=0.3, restitution=restitution)
    scene.add(Sphere(0.05), (0, 0, 0.55), density=DENSITY, angular_velocity=(3.0, 0.0, 1.0))
    return scene


def flying_brick() -> Scene:
    """Torque-free, about its middle axis of inertia, over a floor it does not reach."""
    scene = on_floor()
    velocity, spin = (0.3, 0.2, 4.0), (0.01, 5.0, 0.01)
    scene.add(Box((0.3, 0.2, 0.1)), (0, 0, 1.0), density=DENSITY, velocity=velocity, angular_velocity=spin)
    return scene


def spinning_top() -> Scene:
    """A capsule that spins on its rounded tip, leaning; pressed 0.1 mm into the floor, where it stays."""
    scene, lean = on_floor(mu=0.5), 0.3
    turn = (math.cos(lean / 2), math.sin(lean / 2), 0.0, 0.0)
    height = 0.05 + 0.05 * math.cos(lean) - 1e-4
    spin = (0.0, -100.0 * math.sin(lean), 100.0 * math.cos(lean))
    scene.add(Capsule(0.05, 0.1), (0, 0, height), density=DENSITY, orientation=turn, angular_velocity=spin)
    return scene


@pytest.mark.parametrize(
    ("scene", "duration"),
    [(falling_ball(0.9), 1.5), (flying_brick(), 0.5), (spinning_top(), 0.1)],
    ids=["ball", "brick", "top"],
)
def test_impacts_flight_and_lasting_contact_have_the_same_bits_with_and_without_reach(
    scene: Scene, duration: float
) -> None:
    scene = Scene.from_dict(scene.to_dict() | {"overlap": 1e-3})
    with_reach, without = (run(scene, duration, H, scheme=MoreauMidpoint(reach=reach)) for reach in (None, 0))
    np.testing.assert_array_equal(with_reach.position(), without.position())
    np.testing.assert_array_equal(with_reach.velocity(), without.velocity())


def test_without_reach_only_contacts_that_touch_are_active() -> None:
    for done in steps(stack(3), 20, scheme=MoreauMidpoint(reach=0.0)):
        assert done.problem.contacts.gap.max(initial=0.0) < 1e-14
        assert not done.problem.apart.any()
        assert not done.problem.problem.w.any()


def test_the_default_reach_is_a_step_of_fall_or_a_share_of_the_smallest_body() -> None:
    scene = on_floor()
    scene.add(Sphere(0.05), (0, 0, 0.05), density=DENSITY)
    scene.add(Sphere(2e-3), (1, 0, 2e-3), density=DENSITY)
    model = compile_scene(scene)
    assert default_reach(model, 1e-4) == pytest.approx(G * 1e-8)
    assert default_reach(model, 1e-2) == pytest.approx(2e-6)
    floating = Scene((0.0, 0.0, 0.0))
    floating.add(Sphere(0.05), density=DENSITY)
    assert default_reach(compile_scene(floating), 1e-3) == 0.0


def at_height(gap: float, **options: Any) -> State:
    scene = Scene((0, 0, -G), overlap=1e-3)
    scene.law(mu=0.5)
    scene.add(Plane())
    scene.add(Box((0.2, 0.2, 0.2)), (0, 0, 0.1 + gap), density=DENSITY)
    return steps(scene, 50, 1e-8, **options)[-1].state


@pytest.mark.parametrize(
    "scheme", [MoreauJean(), MoreauJean(theta=0.75), MoreauJean(theta=1.0), QuasiStatic()]
)
def test_a_small_gap_closes_and_no_more(scheme: MoreauJean) -> None:
    """From 5 µm above the floor; Moreau's rule ends some microns inside it."""
    assert abs(at_height(5e-6, scheme=scheme).position[-1, 2] - 0.1) < 1e-11


def test_penetration_is_left_as_it_is() -> None:
    """Pushing out would give energy; `projection` is there for that."""
    assert at_height(-1e-4).position[-1, 2] == pytest.approx(0.1 - 1e-4, abs=1e-11)


def test_a_body_comes_to_rest_in_steps_of_two_lengths() -> None:
    """Short and long steps in turn: it enters the floor by less than the reach, and stays there."""
    scene = on_floor()
    scene.add(Box((0.2, 0.2, 0.2)), (0, 0, 0.1 + 4e-6), density=DENSITY)
    model = compile_scene(scene)
    state, near = initial_state(model), Neighbours(model)
    heights = []
    for k in range(60):
        state = step(model, state, H if k % 2 else H / 4, Auto(tol=1e-8), None, near).state
        heights.append(state.position[-1, 2] - 0.1)
    assert min(heights) > -0.5 * G * H**2
    np.testing.assert_allclose(heights[20:], heights[-1], atol=1e-11)


@pytest.mark.parametrize(("acceleration", "bound"), [(0.0, 1e-11), (2.0, 0.5 * H * 0.2 * 1.01)])
def test_a_body_rests_on_a_floor_that_moves(acceleration: float, bound: float) -> None:
    """Lifted evenly it stays at the same gap; shaken, within (1 − θ) h times the change of velocity."""
    rate, speed = 20.0, 0.05 if acceleration == 0.0 else acceleration / 20.0

    def motion(t: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
        return (0.0, 0.0, speed * (math.cos(rate * t) if acceleration else 1.0)), (0.0, 0.0, 0.0)

    scene = Scene((0, 0, -G))
    scene.law(mu=0.5)
    scene.add(Box((1, 1, 0.1)), (0, 0, -0.05), motion=motion)
    scene.add(Box((0.2, 0.2, 0.2)), (0, 0, 0.1), density=DENSITY, velocity=(0, 0, speed))
    history = run(scene, 0.2, H)
    apart = history.position(1)[:, 2] - history.position(0)[:, 2] - 0.15
    assert np.abs(apart).max() < bound


def test_energy_never_rises_without_restitution() -> None:
    """A tilted box that falls and comes to rest, and a stack that is hit."""
    scene = on_floor(mu=0.3)
    turn = (math.cos(0.2), 0.6 * math.sin(0.2), 0.8 * math.sin(0.2), 0.0)
    scene.add(Box((0.2, 0.2, 0.2)), (0, 0, 0.2), density=DENSITY, orientation=turn)
    scene.add(Box((0.1, 0.1, 0.1)), (0.5, 0, 0.05), density=DENSITY)
    scene.add(Box((0.1, 0.1, 0.1)), (0.5, 0, 0.15), density=DENSITY)
    scene.add(Sphere(0.03), (0.3, 0, 0.14), density=DENSITY, velocity=(2.0, 0, 0))
    history = run(scene, 0.5, H, solver=Auto(tol=1e-8))
    change = np.diff(history.energy)
    assert change.max() < 2e-5 * history.energy[0]
    assert history.energy[-1] < history.energy[0]


def test_a_step_reports_the_contacts_that_touch_or_carry() -> None:
    """Bricks side by side 3 µm apart are within reach; the contact between them is in the problem alone."""
    scene = blocks([((0, 0, 0.05), (0.2, 0.1, 0.1)), ((0.2 + 3e-6, 0, 0.05), (0.2, 0.1, 0.1))])
    for done in steps(scene, 10):
        assert len(done.problem.contacts) == 12
        assert len(done.contacts) == len(done.state.impulses.a) == 8
        assert done.rows is not None
        np.testing.assert_array_equal(done.problem.contacts.feature[done.rows], done.contacts.feature)
        assert not ((done.contacts.a == 1) & (done.contacts.b == 2)).any()


def test_cohesion_does_not_act_at_a_distance() -> None:
    scene = on_floor(mu=0.5, cohesion=1.0)
    scene.add(Box((0.2, 0.2, 0.2)), (0, 0, 0.1 + 5e-6), density=DENSITY)
    first = steps(scene, 1)[0]
    assert len(first.problem.contacts) == 0
