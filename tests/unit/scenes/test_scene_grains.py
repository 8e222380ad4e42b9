"""Packings, sources and regions: where random grains are, and that they are the same each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform

from clapas.errors import SceneError
from clapas.geometry import rotations
from clapas.geometry.shapes import Box, Disk, Plane, Polyhedron, Sphere
from clapas.scenes.grains import random_orientations
from clapas.scenes.regions import BoxRegion, DiscRegion
from clapas.scenes.scene import Scene
from clapas.typing import Array

UNIT = BoxRegion((0, 0, 0), (1, 1, 1))


def positions_and_bounds(scene: Scene) -> tuple[Array, Array]:
    return np.array([b.position for b in scene.bodies]), np.array([b.shape.bound for b in scene.bodies])


def assert_apart_and_inside(scene: Scene, region: BoxRegion) -> None:
    x, r = positions_and_bounds(scene)
    distance = squareform(pdist(x)) + np.diag(np.full(len(x), np.inf))
    assert np.all(distance > r[:, None] + r)
    assert np.all(x - r[:, None] >= region.low)
    assert np.all(x + r[:, None] <= region.high)


@given(
    st.integers(0, 10**6),
    st.integers(0, 60),
    st.tuples(st.floats(0.01, 0.1), st.floats(0.01, 0.1)).map(sorted),
    st.sampled_from([2, 3]),
)
def test_fill_never_overlaps(seed: int, count: int, radius: list[float], d: int) -> None:
    low, high = (-1.0, -2.0, 0.5)[:d], (1.0, 0.5, 3.0)[:d]
    scene = Scene(d=d, seed=seed)
    numbers = scene.fill(BoxRegion(low, high), count, radius=radius, density=1.0, group="grains")
    assert numbers == list(range(count))
    if count:
        assert_apart_and_inside(scene, BoxRegion(low, high))
        assert all(isinstance(b.shape, Sphere if d == 3 else Disk) for b in scene.bodies)
        assert all(radius[0] <= b.shape.bound <= radius[1] for b in scene.bodies)
        assert {b.group for b in scene.bodies} == {"grains"}


def test_fill_takes_all_the_cells() -> None:
    scene = Scene()
    scene.fill(UNIT, 9**3, radius=0.0555, density=1.0)
    assert_apart_and_inside(scene, UNIT)


def test_fill_with_a_shape_turns_it() -> None:
    rock = Box((0.1, 0.2, 0.05))
    scene = Scene()
    scene.fill(UNIT, 40, shape=rock, density=1.0, velocity=(0, 0, -1))
    assert_apart_and_inside(scene, UNIT)
    assert all(body.shape is rock for body in scene.bodies)
    turns = np.array([body.orientation for body in scene.bodies])
    assert len(np.unique(turns, axis=0)) == 40
    np.testing.assert_allclose(rotations.norm(turns), 1.0, atol=1e-15)
    assert {body.velocity for body in scene.bodies} == {(0.0, 0.0, -1.0)}


@pytest.mark.parametrize(
    ("gravity", "axis", "sign"), [((0, 0, -1), 2, 1), ((3, 0, 1), 0, -1), ((0, 0, 0), 2, 1)]
)
def test_fill_from_the_bottom(gravity: tuple[float, ...], axis: int, sign: int) -> None:
    scene = Scene(gravity=gravity)
    scene.fill(UNIT, 30, radius=0.05, density=1.0)
    height = positions_and_bounds(scene)[0][:, axis]
    bottom = height if sign > 0 else 1.0 - height
    assert bottom.max() < 0.2


def test_same_seed_same_grains() -> None:
    def filled(scene_seed: int, **settings: Any) -> Array:
        scene = Scene(seed=scene_seed)
        for _ in range(2):
            scene.fill(UNIT, 10, radius=(0.01, 0.05), density=1.0, **settings)
        return positions_and_bounds(scene)[0]

    np.testing.assert_array_equal(filled(1), filled(1))
    assert np.abs(filled(1) - filled(2)).max() > 0.01
    assert np.abs(filled(1)[:10] - filled(1)[10:]).max() > 0.01
    np.testing.assert_array_equal(filled(1, seed=7)[:10], filled(1, seed=7)[10:])


def test_random_turns_are_even() -> None:
    shares = np.random.default_rng(0).random((4000, 3))
    axes = rotations.rotate(random_orientations(3, shares), np.array([1.0, 0.0, 0.0]))
    np.testing.assert_allclose(axes.mean(axis=0), 0.0, atol=0.05)
    np.testing.assert_allclose(axes.T @ axes / 4000, np.eye(3) / 3, atol=0.03)


# ---------------------------------------------------------------------- sources


def sand(**settings: Any) -> Scene:
    scene = Scene(seed=5)
    scene.law(mu=0.4)
    scene.add(Plane())
    defaults: dict[str, Any] = {
        "rate": 200.0,
        "radius": (0.00125, 0.0025),
        "number": 300,
        "density": 2500.0,
        "name": "sand",
    }
    scene.source(DiscRegion((0, 0, 0.1), 0.008), **(defaults | settings))
    return scene


def test_grains_are_born_at_the_rate_in_the_disc() -> None:
    scene = sand(velocity=(0, 0, -1), group="heap")
    grains = scene.records()[1:]
    assert [g.number for g in grains] == list(range(1, 301))
    np.testing.assert_allclose([g.birth for g in grains], np.arange(300) / 200.0)
    x = np.array([g.position for g in grains])
    distance = np.hypot(x[:, 0], x[:, 1])
    assert distance.max() <= 0.008
    assert np.all(x[:, 2] == 0.1)
    # Even over the area: half of the grains within 1/√2 of the radius.
    assert np.mean(distance < 0.008 / np.sqrt(2)) == pytest.approx(0.5, abs=0.1)
    radii = np.array([g.shape.bound for g in grains])
    assert radii.min() >= 0.00125
    assert radii.max() <= 0.0025
    assert radii.mean() == pytest.approx(0.001875, rel=0.05)
    assert grains[3].mass == pytest.approx(2500 * 4 / 3 * np.pi * radii[3] ** 3)
    assert grains[3].name == "sand 3"
    assert grains[3].velocity == (0, 0, -1, 0, 0, 0)
    assert grains[3].group == "heap"


def test_grains_are_drawn_once_and_for_all() -> None:
    first, again = sand().records(), sand().records()
    assert [r.position for r in first] == [r.position for r in again]
    longer = sand(number=400).records()
    assert [r.position for r in longer[:301]] == [r.position for r in first]


def test_grains_of_several_sources_come_in_the_order_of_birth() -> None:
    scene = sand(number=5, rate=10.0)
    region = BoxRegion((0, 0, 1), (1, 1, 1))
    scene.source(region, rate=4.0, shape=Box((0.1, 0.1, 0.2)), until=0.6, start=0.05, density=1.0)
    births = [r.birth for r in scene.records()]
    assert births == sorted(births)
    assert [r.name for r in scene.records()[1:4]] == ["sand 0", "source 1 0", "sand 1"]
    assert len(births) == 1 + 5 + 3
    assert [r.number for r in scene.records()] == list(range(9))


@pytest.mark.parametrize(
    ("settings", "number"),
    [
        ({"until": 1.0, "number": None}, 200),
        ({"until": 1.0, "number": 50}, 50),
        ({"until": 0.101, "start": 0.1, "number": None}, 1),
        ({"until": 0.1, "start": 0.1, "number": None}, 0),
        ({"number": 0}, 0),
    ],
)
def test_how_many_grains(settings: dict[str, Any], number: int) -> None:
    scene = sand(**settings)
    assert scene.sources[0].number == number
    assert all(r.birth < settings.get("until", np.inf) for r in scene.records())


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: BoxRegion((0, 0), (1, 1, 1)), "box region: high must be 2 numbers, got 3"),
    (lambda: BoxRegion((0,), (1,)), "box region: low must be 2 or 3 numbers, got (0,)"),
    (
        lambda: BoxRegion((0, 2), (1, 1)),
        "box region: low must not be above high, got [0.0, 2.0] and [1.0, 1.0]",
    ),
    (lambda: DiscRegion((0, 0), 1), "disc region: centre must be 3 numbers, got 2"),
    (lambda: DiscRegion((0, 0, 0), 0), "disc region: radius must be positive, got 0.0"),
    (lambda: Scene().fill(DiscRegion((0, 0, 0), 1), 1, radius=1), "fill: region must be a 3-D BoxRegion"),  # type: ignore[arg-type]
    (lambda: Scene().fill(UNIT, 1), "fill: give either radius=(low, high) or shape=…, one of the two"),
    (
        lambda: Scene().fill(UNIT, 1, radius=1, shape=Sphere(1)),
        "fill: give either radius=(low, high) or shape",
    ),
    (lambda: Scene().fill(UNIT, 1, radius=-1), "fill: radius must be positive, got -1.0"),
    (lambda: Scene().fill(UNIT, 1, radius=(2, 1)), "fill: radius must be (low, high), got (2.0, 1.0)"),
    (lambda: Scene().fill(UNIT, 1, shape=Plane()), "fill: shape must be a 3-D shape with mass, got Plane("),
    (
        lambda: Scene().fill(UNIT, -1, radius=0.1),
        "fill: count must be a whole number of grains, at least 0, got -1",
    ),
    (
        lambda: Scene().fill(UNIT, 65, radius=0.12),
        "fill: 65 grains of up to 0.24 m do not fit loosely in a region of 1 × 1 × 1 m, "
        "where 64 (4 × 4 × 4) do; enlarge the region or lower count",
    ),
    (lambda: sand(rate=0), "source 'sand': rate (grains per second) must be positive, got 0.0"),
    (lambda: sand(number=None), "source 'sand': it never ends; give number=… (grains) or until=… (s)"),
    (lambda: sand(number=1.5), "source 'sand': number must be a whole number of grains, got 1.5"),
    (lambda: sand(number=-1), "source 'sand': number must be at least 0, got -1"),
    (lambda: sand(until=1, start=2), "source 'sand': until must be after start, got 1.0 and 2.0"),
    (lambda: sand(density=-1), "source 'sand': density must be positive, got -1.0"),
    (lambda: sand(density=None), "source 'sand': its grains have no mass; give density, or one to 'default'"),
    (lambda: sand(material="sand"), "source 'sand': unknown material 'sand'"),
    (lambda: sand(radius=None), "source 'sand': give either radius=(low, high) or shape=…"),
    (
        lambda: sand().source(UNIT, rate=1, radius=1, number=1, name="sand"),
        "source 'sand': another source has this",
    ),
    (
        lambda: Scene(d=2).source(UNIT, rate=1, radius=1, number=1, density=1),
        "source 'source 0': region must be a 2-D BoxRegion or DiscRegion, got BoxRegion(",
    ),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=[m[:60] for _, m in BAD])
def test_refusals(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(SceneError) as caught:
        make()
    assert str(caught.value).startswith(message)


def test_grains_larger_than_the_period_are_refused() -> None:
    scene = Scene(period=(None, 0.3))
    with pytest.raises(
        SceneError, match=r"source 'source 0': the size of its grains, up to 0\.2 m, is above"
    ):
        scene.source(UNIT, rate=1, radius=0.1, number=1, density=1)


def test_polyhedra_from_a_source_share_their_shape() -> None:
    rock = Polyhedron([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
    scene = sand(radius=None, shape=rock, number=3)
    assert all(r.shape is rock for r in scene.records()[1:])
