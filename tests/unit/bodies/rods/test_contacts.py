"""Contacts refined on the curve: against dense samples of the arcs, and at exact places."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from clapas.bodies.rods import Rod, Rods
from clapas.dynamics.births import initial_state
from clapas.dynamics.model import Model
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.schemes import MoreauJean
from clapas.dynamics.state import State
from clapas.dynamics.stepping import step
from clapas.dynamics.systems import bending_margin, on_true_surfaces
from clapas.geometry.colliders import Contacts
from clapas.geometry.shapes import Box, Capsule, Cylinder, Plane, Shape, Sphere, TriangleMesh
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from clapas.typing import Array

HAIR: dict[str, Any] = {"radius": 2e-3, "density": 1100.0, "young": 1e8}


def contacts_of(scene: Scene, distance: float) -> tuple[Contacts, Model, State]:
    """Contacts with gap ≤ distance at the start."""
    model = compile_scene(scene)
    state = initial_state(model)
    found = Neighbours(model).detect(state, distance + bending_margin(model, state.parts))
    return on_true_surfaces(model, state, found, distance), model, state


def samples(rods: Rods, rod: int, count: int = 4001) -> Array:
    """Points of a centreline."""
    s = np.linspace(0.0, rods.rods[rod].length, count)
    return rods.sections(rods.start(), np.full(count, rod), s)[0]


def scene_with(rods: list[Rod], *others: tuple[Shape, tuple[float, ...]], **position: Any) -> Scene:
    scene = Scene(gravity=(0, 0, 0))
    scene.law(mu=0.3)
    for shape, place in others:
        scene.add(shape, place, fixed=not isinstance(shape, Plane | TriangleMesh), **position)
    scene.add_rods(rods)
    return scene


@pytest.mark.parametrize("seed", range(12))
def test_the_nearest_points_of_two_curls_are_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rods = [
        Rod(length=0.3, elements=3, natural=8 * rng.normal(size=(3, 3)), position=(0, 0, 0), **HAIR),
        Rod(
            length=0.3,
            elements=3,
            natural=8 * rng.normal(size=(3, 3)),
            position=(0.02, -0.1, 0.02),
            tangent=(0.2, 1, 0),
            **HAIR,
        ),
    ]
    found, model, _ = contacts_of(scene_with(rods), 0.08)
    kind = model.systems[0].bodies
    assert isinstance(kind, Rods)
    a, b = samples(kind, 0, 1501), samples(kind, 1, 1501)
    distance = np.linalg.norm(a[:, None] - b[None], axis=2)
    between = kind.segments.rod[model.carrier_of[found.a]] != kind.segments.rod[model.carrier_of[found.b]]
    assert between.any()
    assert found.gap[between].min() == pytest.approx(distance.min() - 4e-3, abs=2e-5)
    # Every local minimum well inside both rods is a contact.
    core = distance[1:-1, 1:-1]
    lowest = np.ones_like(core, dtype=bool)
    for i in (0, 1, 2):
        for j in (0, 1, 2):
            lowest &= core <= distance[i : i + 1499, j : j + 1499]
    for value in core[lowest]:
        if value - 4e-3 < 0.075:
            assert np.abs(found.gap[between] - (value - 4e-3)).min() < 2e-5


@pytest.mark.parametrize(
    ("shape", "place", "signed"),
    [
        (Sphere(0.05), (0.15, 0.02, -0.06), lambda x: np.linalg.norm(x - [0.15, 0.02, -0.06], axis=1) - 0.05),
        (Plane(), (0, 0, -0.03), lambda x: x[:, 2] + 0.03),
        (Cylinder(0.05, 1.0), (0.15, 0.07, 0), lambda x: np.hypot(x[:, 0] - 0.15, x[:, 1] - 0.07) - 0.05),
        (Capsule(0.05, 1.0), (0.15, 0.07, 0), lambda x: np.hypot(x[:, 0] - 0.15, x[:, 1] - 0.07) - 0.05),
        (
            Box((0.1, 0.1, 0.1)),
            (0.15, 0.0, -0.08),
            lambda x: np.linalg.norm(np.maximum(np.abs(x - [0.15, 0, -0.08]) - 0.05, 0.0), axis=1),
        ),
    ],
    ids=["sphere", "plane", "cylinder", "capsule", "box"],
)
def test_the_nearest_point_to_a_shape_is_found(shape: Shape, place: tuple[float, ...], signed: Any) -> None:
    rod = Rod(length=0.3, elements=4, natural=(2, -3, -1.5), **HAIR)
    found, model, _ = contacts_of(scene_with([rod], (shape, place)), 0.1)
    kind = model.systems[0].bodies
    assert isinstance(kind, Rods)
    exact = signed(samples(kind, 0)).min() - 2e-3
    assert found.gap.min() == pytest.approx(exact, abs=1e-7)
    deepest = int(np.argmin(found.gap))
    assert np.linalg.norm(found.normal[deepest]) == pytest.approx(1.0, abs=1e-12)
    assert found.b[deepest] > found.a[deepest] == 0  # from the shape, which was added first, to the rod


def test_a_mesh_is_touched_as_the_plane_it_is() -> None:
    corners = [(-1, -1, -0.03), (1, -1, -0.03), (1, 1, -0.03), (-1, 1, -0.03)]
    mesh = TriangleMesh(corners, [(0, 1, 2), (0, 2, 3)])
    rod = Rod(length=0.3, elements=4, natural=(2, -3, -1.5), **HAIR)
    on_mesh, _, _ = contacts_of(scene_with([rod], (mesh, (0, 0, 0))), 0.03)
    on_plane, _, _ = contacts_of(scene_with([rod], (Plane(), (0, 0, -0.03))), 0.03)
    assert on_mesh.gap.min() == pytest.approx(on_plane.gap.min(), abs=1e-9)
    assert len(on_mesh) == len(on_plane)


def test_a_crossing_at_a_joint_of_segments_is_one_contact() -> None:
    """Exact coordinates: the rods cross where segments and elements end."""
    given: dict[str, Any] = {"length": 0.4, "elements": 4, "segments": 2, **HAIR}
    rods = [
        Rod(position=(-0.2, 0, 0), tangent=(1, 0, 0), **given),
        Rod(position=(0, -0.2, 4e-3), tangent=(0, 1, 0), **given),
    ]
    found, _, _ = contacts_of(scene_with(rods), 1e-4)
    assert len(found) == 1
    assert np.allclose(found.point, [[0, 0, 2e-3]])
    assert np.allclose(np.abs(found.normal), [[0, 0, 1]])
    assert found.gap[0] == pytest.approx(0.0, abs=1e-15)


def test_rods_side_by_side_touch_once_per_segment() -> None:
    given: dict[str, Any] = {"length": 0.4, "elements": 4, "segments": 2, **HAIR}
    rods = [Rod(position=(0, y, 0), **given) for y in (0.0, 4e-3)]
    found, _, _ = contacts_of(scene_with(rods), 1e-4)
    assert len(found) == 8
    assert np.allclose(found.point[:, 0], 0.025 + 0.05 * np.arange(8))


def test_a_rod_that_lies_on_a_plane_touches_with_every_segment() -> None:
    rod = Rod(length=0.4, elements=4, position=(0, 0, 2e-3), **HAIR)
    found, _, _ = contacts_of(scene_with([rod], (Plane(), (0, 0, 0))), 1e-9)
    assert len(found) == 16
    tilted = Rod(length=0.4, elements=4, position=(0, 0, 2e-3), tangent=(1, 0, -1e-7), **HAIR)
    found, _, _ = contacts_of(scene_with([tilted], (Plane(), (0, 0, 0))), 1e-6)
    assert len(found) == 16


def test_a_rod_touches_itself_where_a_loop_closes_and_nowhere_else() -> None:
    """A helix whose turns lie on each other: one turn is 2π/ω long and rises by 2π τ/ω²."""
    kappa = 40.0
    rise = 4e-3  # of a turn: twice the radius
    tau = rise * kappa**2 / (2 * math.pi)
    omega = math.hypot(kappa, tau)
    tau *= omega**2 / kappa**2
    turn = 2 * math.pi / math.hypot(kappa, tau)
    rod = Rod(length=1.6 * turn, elements=6, natural=(tau, 0, kappa), **HAIR)
    found, model, _ = contacts_of(scene_with([rod]), 2e-4)
    kind = model.systems[0].bodies
    assert isinstance(kind, Rods)
    assert len(found)
    place = kind.segments.place[model.carrier_of]
    assert np.allclose(np.abs(place[found.a] - place[found.b]), turn, atol=0.6 * turn / 6)
    straight = Rod(length=1.0, elements=6, **HAIR)
    assert not len(contacts_of(scene_with([straight]), 1e-3)[0])


def test_friction_on_the_surface_twists_a_rod() -> None:
    """A plane that slides across a straight rod turns its section by the lever of the radius."""
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Plane(), motion=lambda t: ((0, 1e-3, 0), (0, 0, 0)))
    scene.add_rods(Rod(length=0.2, position=(0, 0, 2e-3), damping=0.01, **HAIR))
    model = compile_scene(scene)
    state, neighbours = initial_state(model), Neighbours(model)
    for _ in range(40):
        done = step(model, state, 1e-3, None, MoreauJean(theta=1.0), neighbours)
        state = done.state
    kind = model.systems[0].bodies
    turned = kind.sections(state.parts[0], np.array([0]), np.array([0.2]))[1][0]  # type: ignore[attr-defined]
    # The plane pulls the bottom of the rod to +y, so the section turns about +x, the tangent.
    angle = math.atan2(turned[2, 1], turned[1, 1])
    assert len(done.contacts)
    assert angle > 1e-5
    assert done.solution.residual < 1e-6


def test_a_bare_length_touches_nothing() -> None:
    rod = Rod(length=0.4, elements=4, segments=2, bare=0.2, position=(0, 0, 2e-3), **HAIR)
    found, _, _ = contacts_of(scene_with([rod], (Plane(), (0, 0, 0))), 1e-9)
    assert np.allclose(found.point[:, 0], [0.225, 0.275, 0.325, 0.375])


def test_a_segment_that_is_bare_in_part_touches_with_the_rest() -> None:
    given: dict[str, Any] = {"length": 0.4, "elements": 4, "segments": 2, "position": (0, 0, 2e-3), **HAIR}
    found, _, _ = contacts_of(scene_with([Rod(bare=0.22, **given)], (Plane(), (0, 0, 0))), 1e-9)
    assert np.allclose(found.point[:, 0], [0.235, 0.275, 0.325, 0.375])  # the first begins at 0.22
    ball = Sphere(0.02), (0.205, 0, -0.02)  # under the bare part of a segment, 0.2 to 0.25
    reached, _, _ = contacts_of(scene_with([Rod(bare=0.2, **given)], ball), 1e-9)
    passed, _, _ = contacts_of(scene_with([Rod(bare=0.22, **given)], ball), 1e-9)
    assert len(reached) == 1
    assert len(passed) == 0
    for bare in (0.4, 0.4 * (1 - 1e-12)):
        assert not Rods([Rod(bare=bare, **given)]).shapes


def test_identities_persist_while_a_contact_stays_in_its_segment() -> None:
    scene = Scene()
    scene.law(mu=0.2)
    scene.add(Sphere(0.03), (0.2, 0, -0.05), fixed=True)
    scene.add_rods(Rod(length=0.3, damping=0.02, **HAIR))
    model = compile_scene(scene)
    state, neighbours = initial_state(model), Neighbours(model)
    names = set()
    for _ in range(150):
        done = step(model, state, 2e-3, None, MoreauJean(theta=1.0), neighbours)
        state = done.state
        names |= set(
            zip(
                done.contacts.a.tolist(),
                done.contacts.b.tolist(),
                done.contacts.feature.tolist(),
                strict=True,
            )
        )
    assert 1 <= len(names) <= 4


def test_the_longest_safe_step_is_radius_over_speed(caplog: pytest.LogCaptureFixture) -> None:
    def pair(one: float, other: float) -> list[Rod]:
        given: dict[str, Any] = {"length": 0.3, "root": "free", **HAIR}
        return [
            Rod(velocity=(0, 0, one), **given),
            Rod(velocity=(0, 0, other), position=(0, 0, 0.1), **given),
        ]

    fast, together = Rods(pair(2.0, -2.0)), Rods(pair(2.0, 2.0))
    assert fast.longest_step(fast.start()) == pytest.approx(2e-3 / 4.0)
    assert fast.longest_step(fast.start(), reach=2e-3) == pytest.approx(2e-3 / 2.0)
    assert together.longest_step(together.start()) == math.inf
    for h, said in ((4e-4, 0), (6e-4, 1)):  # a step that is too long is said once
        model = compile_scene(scene_with(pair(2.0, -2.0)))
        state, neighbours = initial_state(model), Neighbours(model)
        for _ in range(3):
            state = step(model, state, h, None, MoreauJean(reach=0.0), neighbours).state
        assert caplog.text.count("they may pass through each other") == said
