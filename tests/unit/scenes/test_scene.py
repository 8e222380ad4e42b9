"""Scenes as people write them: records for the engine, laws between materials, every refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clapas.dynamics.motions import ConstantVelocity, InBodyFrame, Rotation
from clapas.dynamics.probes import OF_JOINTS, QUANTITIES
from clapas.errors import SceneError
from clapas.geometry import rotations
from clapas.geometry.shapes import Box, Clump, Disk, HalfPlane, Plane, Polygon, Polyhedron, Shape, Sphere
from clapas.geometry.table import Frame, collider_table
from clapas.scenes.records import BodyRecord
from clapas.scenes.regions import BoxRegion
from clapas.scenes.run import Run
from clapas.scenes.scene import Scene
from clapas.typing import Array

WEDGE = np.array([(0, 0, 0), (3, 0, 0), (0, 2, 0), (0, 0, 1), (3, 0, 0.5)], dtype=float)


def one_record(shape: Shape, d: int = 3, **settings: Any) -> BodyRecord:
    scene = Scene(d=d)
    scene.add(shape, **settings)
    return scene.records()[0]


def test_numbers_names_and_groups() -> None:
    scene = Scene()
    assert scene.add(Plane()) == 0
    assert scene.add(Sphere(1), density=1.0, name="ball", group="grains") == 1
    assert scene.number("ball") == scene.number(1) == 1
    first, second = scene.records()
    assert (first.name, second.name, second.group) == ("body 0", "ball", "grains")
    assert repr(scene) == "Scene(2 bodies in 3-D)"


def test_a_symmetric_body_is_kept_as_given() -> None:
    record = one_record(
        Box((1, 2, 3)), position=(1, 2, 3), orientation=(2, 0, 0, 0), velocity=(4, 5, 6), density=2.0
    )
    assert record.position == (1.0, 2.0, 3.0)
    assert record.orientation == (1.0, 0.0, 0.0, 0.0)
    assert record.velocity == (4.0, 5.0, 6.0, 0.0, 0.0, 0.0)
    assert record.mass == pytest.approx(12.0)
    assert record.inertia == pytest.approx((13.0, 10.0, 5.0))
    assert record.movable
    assert record.birth == -np.inf


def world_points(record: BodyRecord) -> Array:
    """Corners of the only hull of a body, in the world, through the table of colliders."""
    table = collider_table(3, [(0, record.shape, 0, record.frame)])
    local = rotations.rotate(table.orientation[0], table.hulls.vertices) + table.position[0]
    return rotations.rotate(record.orientation, local) + np.array(record.position)


def in_order(points: Array) -> Array:
    return np.array(sorted(points.round(9).tolist()))


@given(st.integers(0, 10**6), st.booleans())
def test_matter_is_where_it_was_put(seed: int, fixed: bool) -> None:
    rng = np.random.default_rng(seed)
    position, turn = rng.normal(size=3), rotations.normalise(rng.normal(size=4))
    record = one_record(Polyhedron(WEDGE), position=position, orientation=turn, density=3.0, fixed=fixed)
    expected = rotations.rotate(turn, WEDGE) + position
    np.testing.assert_allclose(in_order(world_points(record)), in_order(expected), atol=1e-8)


@given(st.integers(0, 10**6))
def test_energy_and_momenta_do_not_depend_on_the_frame(seed: int) -> None:
    rng = np.random.default_rng(seed)
    turn, spin, velocity = rotations.normalise(rng.normal(size=4)), rng.normal(size=3), rng.normal(size=3)
    wedge = Polyhedron(WEDGE)
    record = one_record(wedge, orientation=turn, velocity=velocity, angular_velocity=spin, density=3.0)
    Q = rotations.to_matrix(turn)
    inertia = 3.0 * Q @ wedge.mass_properties.inertia @ Q.T
    own = np.array(record.velocity[3:])
    assert record.velocity[:3] == pytest.approx(velocity)
    assert own @ (record.inertia * own) == pytest.approx(spin @ inertia @ spin)
    in_world = rotations.rotate(record.orientation, record.inertia * own)
    np.testing.assert_allclose(in_world, inertia @ spin, atol=1e-12 * np.trace(inertia))
    centre = rotations.rotate(turn, wedge.mass_properties.centre)
    np.testing.assert_allclose(record.position, centre, atol=1e-13)


def test_walls_have_no_mass_and_keep_their_own_frame() -> None:
    scene = Scene()
    scene.add(Plane((1, 0, 0)))
    scene.add(Polyhedron(WEDGE), fixed=True, position=(1, 2, 3))
    turn = (0.0, 1.0, 0.0, 0.0)
    scene.add(Polyhedron(WEDGE), motion=Rotation((0, 0, 1), 2.0), orientation=turn)
    for record in scene.records():
        assert not record.movable
        assert record.mass == np.inf
        assert record.inertia == (np.inf,) * 3
        assert record.frame == Frame.own(3)
    driven = scene.records()[2]
    assert isinstance(driven.motion, InBodyFrame)
    np.testing.assert_allclose(driven.motion(0.0)[1], (0, 0, -2.0))
    assert scene.records()[1].motion is None
    assert scene.records()[1].position == (1.0, 2.0, 3.0)


def test_mass_can_come_from_four_places() -> None:
    scene = Scene()
    stone = scene.material("stone", density=2000.0)
    scene.add(Box((1, 1, 1)), material=stone)
    scene.add(Box((1, 1, 1)), material=stone, density=10.0)
    scene.add(Box((1, 1, 1)), mass=6.0)
    scene.add(Box((1, 1, 1)), mass=6.0, inertia=(3, 3, 4), centre=(0.1, 0, 0), position=(1, 0, 0))
    a, b, c, d = scene.records()
    assert (a.mass, b.mass, c.mass, d.mass) == (2000.0, 10.0, 6.0, 6.0)
    assert c.inertia == pytest.approx((1.0, 1.0, 1.0))
    assert d.inertia == pytest.approx((3.0, 3.0, 4.0))
    assert d.position == pytest.approx((1.1, 0, 0))
    scene.material("default", density=5.0)
    last = scene.add(Box((1, 1, 2)))
    assert scene.records()[last].mass == 10.0


def test_a_given_tensor_is_brought_to_its_axes() -> None:
    Q = rotations.to_matrix(rotations.from_axis_angle((1, 2, 3), 0.4))
    tensor = (Q * np.array([2.0, 3.0, 4.0])) @ Q.T
    record = one_record(Sphere(1), mass=1.0, inertia=tensor)
    axes = rotations.to_matrix(record.orientation)
    np.testing.assert_allclose((axes * record.inertia) @ axes.T, tensor, atol=1e-14)
    assert record.orientation == pytest.approx(record.frame.orientation)


def test_bodies_in_the_plane() -> None:
    record = one_record(
        Polygon([(0, 0), (3, 0), (0, 3)]),
        d=2,
        position=(1, 1),
        orientation=np.pi / 2,
        mass=2.0,
        velocity=(1, 0),
        angular_velocity=3.0,
    )
    assert record.position == pytest.approx((0.0, 2.0))
    assert record.velocity == (1.0, 0.0, 3.0)
    assert record.orientation == pytest.approx((np.pi / 2,))
    assert record.inertia == pytest.approx((2.0,))  # m (a² + b²)/18 for a right triangle
    assert one_record(Disk(1), d=2, mass=1, inertia=0.25).inertia == (0.25,)
    clump = Clump([(Disk(1), (-2, 0)), (Disk(1), (2, 0))])
    assert one_record(clump, d=2, density=1 / np.pi).inertia == pytest.approx((2 * 0.5 + 2 * 4,))


# ---------------------------------------------------------------------- laws


def two_materials(**settings: Any) -> Scene:
    scene = Scene(**settings)
    scene.material("stone", density=1.0)
    scene.material("wood", density=1.0)
    for name in ("stone", "wood"):
        for _ in range(2):
            scene.add(Sphere(1), material=name)
    return scene


def test_one_law_is_for_all_pairs() -> None:
    scene = two_materials()
    scene.law(mu=0.5, restitution=0.25)
    table = scene.law_table()
    np.testing.assert_array_equal(table.mu, np.full((3, 3), 0.5))
    np.testing.assert_array_equal(table.restitution, np.full((3, 3), 0.25))


def test_a_pair_has_its_own_law_in_both_orders() -> None:
    scene = two_materials()
    scene.law(mu=0.5)
    scene.law("wood", "stone", mu=0.2)
    mu = scene.law_table().mu
    assert mu[1, 2] == mu[2, 1] == 0.2
    assert mu[1, 1] == mu[2, 2] == 0.5


@pytest.mark.parametrize(
    ("rule", "mu"), [("mean", 0.5), ("geometric", 0.4), ("min", 0.2), ("max", 0.8), ("error", 0.7)]
)
def test_rules_of_combination(rule: str, mu: float) -> None:
    scene = two_materials(combine=rule)
    scene.law(mu=0.7)
    scene.law("stone", "stone", mu=0.2, restitution=0.5)
    scene.law("wood", "wood", mu=0.8, restitution=0.5)
    table = scene.law_table()
    assert table.mu[1, 2] == table.mu[2, 1] == pytest.approx(mu)
    assert table.restitution[1, 2] == (0.0 if rule == "error" else 0.5)


def test_a_pair_without_law_is_told_only_if_it_can_meet() -> None:
    scene = two_materials()
    scene.law("stone", "stone", mu=0.1)
    scene.law("wood", "wood", mu=0.1)
    with pytest.raises(SceneError) as caught:
        scene.law_table()
    assert str(caught.value).startswith(
        "no law between the materials 'stone' and 'wood', which can touch; give scene.law('stone', 'wood',"
    )
    walls = Scene()
    walls.material("stone", density=1.0)
    walls.material("wood", density=1.0)
    walls.add(Sphere(1), material="stone")
    walls.add(Plane(), material="wood")
    walls.add(Plane(), material="wood")
    walls.law("wood", "stone", mu=0.3)
    assert walls.law_table().mu[2, 1] == 0.3  # one stone only, and walls do not meet each other


def test_grains_of_sources_meet_others() -> None:
    scene = Scene()
    scene.add(Plane())
    scene.source(BoxRegion((0, 0, 0), (1, 1, 1)), rate=1, radius=0.1, number=2, density=1.0)
    with pytest.raises(SceneError, match="no law between the materials 'default' and 'default'"):
        scene.law_table()


def test_negative_restitution_has_no_geometric_mean() -> None:
    scene = two_materials(combine="geometric")
    scene.law("stone", "stone", mu=0.2, tangential_restitution=-0.5)
    scene.law("wood", "wood", mu=0.8)
    with pytest.raises(SceneError, match=r"no geometric mean of tangential_restitution = -0\.5 and 0\.0"):
        scene.law_table()


# ---------------------------------------------------------------------- refusals


def scene_with_ball() -> Scene:
    scene = Scene()
    scene.material("stone", density=2500.0)
    scene.add(Sphere(0.1), material="stone", name="ball")
    return scene


def bad_body(shape: Any = None, d: int = 3, **settings: Any) -> Callable[[], Any]:
    default = Sphere(0.1) if d == 3 else Disk(0.1)
    return lambda: Scene(d=d).add(default if shape is None else shape, **settings)


NO_INERTIA = "body 0: inertia must be 3 moments or a symmetric (3, 3) tensor, got "
BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: Scene(d=4), "scene: d must be 2 or 3, got 4"),
    (lambda: Scene(gravity=(0, -9.81)), "scene: gravity must be 3 numbers, got 2: [0.0, -9.81]"),
    (lambda: Scene(gravity=(0, 0, np.nan)), "scene: gravity must be finite, got [0.0, 0.0, nan]"),
    (lambda: Scene(seed=-1), "scene: seed must be a whole number, at least 0, got -1"),
    (lambda: Scene(seed=1.5), "scene: seed must be a whole number, at least 0, got 1.5"),  # type: ignore[arg-type]
    (
        lambda: Scene(period=(1, 2, 3)),
        "scene: period must be two lengths, along x and y, None where there is none",
    ),
    (lambda: Scene(period=(0, None)), "scene: period along x must be positive, got 0.0"),
    (
        lambda: Scene(combine="avrage"),
        "scene: combine must be one of error, mean, geometric, min, max, got 'avrage'",
    ),
    (
        lambda: Scene(combine="maen"),
        "scene: combine must be one of error, mean, geometric, min, max, got 'maen' (did you mean 'mean'?)",
    ),
    (lambda: Scene(overlap=-1), "scene: overlap must be at least 0, got -1.0"),
    (
        lambda: Scene().material("stone", density=-2500),
        "material 'stone': density must be positive, got -2500.0",
    ),
    (lambda: Scene().material(""), "material: its name must be a word, got ''"),
    (
        lambda: scene_with_ball().material("stone", density=1),
        "material 'stone' is already defined, with density 2500.0",
    ),
    (bad_body(3), "body 0: expected a shape such as Sphere(0.1), got 3"),
    (bad_body(Disk(1)), "body 0: a disk is in 2-D, the scene in 3-D: take a Sphere, or Scene(d=2)"),
    (bad_body(position=(0, 0)), "body 0: position must be 3 numbers, got 2: [0.0, 0.0]"),
    (bad_body(position="high"), "body 0: position must be 3 numbers, got 'high'"),
    (bad_body(position=(0, np.nan, 0)), "body 0: position must be finite, got [0.0, nan, 0.0]"),
    (bad_body(velocity=(0, np.inf, 0), name="b"), "body 'b': velocity must be finite, got [0.0, inf, 0.0]"),
    (bad_body(angular_velocity=1.0), "body 0: angular velocity must be 3 numbers, got 1.0"),
    (
        bad_body(orientation=(0, 0, 0, 0)),
        "body 0: the orientation quaternion is zero and cannot be normalised; "
        "leave it out, or give (1, 0, 0, 0) for a body that is not turned",
    ),
    (
        bad_body(orientation=(1, 0, 0)),
        "body 0: orientation (a quaternion w, x, y, z) must be 4 numbers, got 3: [1.0, 0.0, 0.0]",
    ),
    (bad_body(orientation=(1, 0, 0, np.nan)), "body 0: orientation (a quaternion w, x, y, z) must be finite"),
    (
        bad_body(d=2, orientation=(1, 0, 0, 0)),
        "body 0: orientation (an angle in 2-D) must be a number, got (1, 0, 0, 0)",
    ),
    (bad_body(density=-2500, name="block 7"), "body 'block 7': density must be positive, got -2500.0"),
    (bad_body(mass=0), "body 0: mass must be positive, got 0.0"),
    (bad_body(mass=1, density=1), "body 0: got density 1.0 and mass 1.0; give one of the two"),
    (bad_body(inertia=(1, 1, 1)), "body 0: inertia is given without mass; give both, or neither"),
    (
        bad_body(mass=1, inertia=(1, 1, -1)),
        "body 0: principal moments of inertia must be positive, got -1, 1, 1",
    ),
    (
        bad_body(mass=1, inertia=(1, 1, 3)),
        "body 0: no body has the principal moments 1, 1, 3: none can exceed the sum of the two others",
    ),
    (bad_body(mass=1, inertia=1.0), "body 0: inertia must be 3 numbers, got 1.0"),
    (bad_body(mass=1, inertia=np.ones((3, 3)) - 2 * np.tri(3)), NO_INERTIA),
    (bad_body(mass=1, inertia=np.ones((4, 3))), NO_INERTIA),
    (bad_body(d=2, mass=1, inertia=-1), "body 0: inertia must be positive, got -1.0"),
    (bad_body(d=2, mass=1, inertia=(1, 2)), "body 0: inertia must be a number, got (1, 2)"),
    (bad_body(Plane(), mass=1), "body 0: a plane has no mass; leave out density, mass, inertia, centre"),
    (
        bad_body(fixed=True, motion=ConstantVelocity((0, 0, 1))),
        "body 0: fixed and with an imposed motion; give one of the two",
    ),
    (
        bad_body(Plane(), velocity=(0, 0, 1)),
        "body 0: it is fixed or driven, so it cannot start with a velocity; use motion=ConstantVelocity(…)",
    ),
    (bad_body(motion=Rotation(None, 1)), "body 0: its motion is in 2-D, the scene in 3-D"),
    (
        bad_body(material="stone"),
        "body 0: unknown material 'stone'; known are default. "
        "Define it first: scene.material('stone', density=…)",
    ),
    (
        lambda: scene_with_ball().add(Sphere(1), material="stnoe"),
        "body 1: unknown material 'stnoe' (did you mean 'stone'?); known are default, stone. Define it first",
    ),
    (
        lambda: scene_with_ball().add(Sphere(1), name="ball"),
        "body 'ball': body 0 already has this name; names are unique",
    ),
    (
        lambda: Scene(period=(1, None)).add(Sphere(0.3), density=1),
        "body 0: its size, up to 0.6 m, is above half the period along x, 1 m; take a longer period",
    ),
    (
        lambda: one_record(Sphere(0.1)),
        "body 0: it has no mass; give mass or density, or give its material 'default' a density, "
        "or make it fixed",
    ),
    (
        lambda: one_record(Sphere(1e-120), density=1.0),
        "body 0: too small or too large for double precision: mass 0 kg, moments of inertia from 0 to 0",
    ),
    (
        lambda: one_record(Sphere(1e100), density=1e10),
        "body 0: too small or too large for double precision: mass inf kg, moments of inertia from inf",
    ),
    (lambda: scene_with_ball().number("bal"), "no body is called 'bal' (did you mean 'ball'?)"),
    (lambda: scene_with_ball().number(1), "there is no body 1: bodies are numbered 0 to 0"),
    (lambda: scene_with_ball().number(-1), "there is no body -1"),
    (lambda: scene_with_ball().law("stone", mu=0.5), "law: got the one material 'stone'; name two, or none"),
    (
        lambda: scene_with_ball().law("stone", "wod", mu=0.5),
        "law between 'stone' and 'wod': unknown material 'wod'; known are default, stone.",
    ),
    (lambda: Scene().law(restitution=0.5), "law for all pairs: mu, the coefficient of friction, is missing"),
    (lambda: Scene().law(mu=-0.5), "law for all pairs: mu must be "),
    (lambda: Scene().law(mu=np.nan), "law for all pairs: mu must be finite, got nan"),
    (lambda: Scene().law(mu="0.5"), "law for all pairs: mu must be a number, got '0.5'"),  # type: ignore[arg-type]
    (lambda: Scene().law(mu=0.5, restitution=1.5), "law for all pairs: restitution must be "),
    (
        lambda: Scene().law(mu=0.5, restituton=0.5),
        "law for all pairs: unknown 'restituton' (did you mean 'restitution'?); expected mu, restitution",
    ),
    (
        lambda: scene_with_ball().probe("forse", "ball"),
        "probe 'forse ball': unknown quantity 'forse' (did you mean",
    ),
    (lambda: scene_with_ball().probe("force", "bal"), "no body is called 'bal'"),
    (lambda: scene_with_ball().number("zebra"), "no body is called 'zebra': there are "),
    (lambda: scene_with_ball().probe("gap", 0, 0), "probe 'gap 0 0': body and other are the same body 0"),
    (lambda: Run(dt=0), "run: dt must be positive, got 0.0"),
    (lambda: Run(every=0), "run: every must be a whole number of steps, at least 1, got 0"),
    (lambda: Run(on_unsolved="ignore"), "run: on_unsolved must be 'raise' or 'record', got 'ignore'"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=[f"{k} {m[:50]}" for k, (_, m) in enumerate(BAD)])
def test_refusals(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(SceneError) as caught:
        make()
    assert str(caught.value).startswith(message)


def test_a_refused_body_leaves_the_scene_as_it_was() -> None:
    scene = scene_with_ball()
    with pytest.raises(SceneError):
        scene.add(Sphere(1), name="other", material="gold")
    assert scene.add(Sphere(1), name="other", material="stone") == 1


def test_laws_are_given_once() -> None:
    scene = scene_with_ball()
    scene.law(mu=0.5)
    with pytest.raises(SceneError, match=r"the law for all pairs is already given: Law\(mu=0\.5"):
        scene.law(mu=0.6)
    scene.law("stone", "default", mu=0.5)
    with pytest.raises(SceneError, match="law between 'default' and 'stone' is already given"):
        scene.law("default", "stone", mu=0.6)


# ---------------------------------------------------------------------- probes


def test_probes() -> None:
    scene = scene_with_ball()
    scene.add(Plane(), name="floor")
    assert scene.probe("position", "ball").name == "position ball"
    probe = scene.probe("normal_force", "ball", "floor", name="weight")
    assert (probe.body, probe.other) == (0, 1)
    assert scene.probes == [scene.probes[0], probe]
    with pytest.raises(SceneError, match="probe 'weight': another probe has this name"):
        scene.probe("force", "ball", name="weight")
    with pytest.raises(
        SceneError, match="probe 'x': force is of one body; leave out other, or take one of contacts"
    ):
        scene.probe("force", "ball", "floor", name="x")
    for quantity in set(QUANTITIES) - set(OF_JOINTS):
        assert scene.probe(quantity, 0, name=f"all {quantity}").quantity == quantity


def test_periods() -> None:
    assert Scene().period == (None, None)
    assert Scene(period=(2, None)).period == (2.0, None)
    assert Scene(period=(np.inf, 3)).period == (None, 3.0)
    scene = Scene(d=2, period=(1, None))
    scene.add(HalfPlane())
    scene.add(Disk(0.25), density=1.0)
    assert len(scene.records()) == 2
