"""Joints between rigid bodies and bodies of other kinds: answers known on paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import clapas
from clapas.bodies.elastic.generators import block
from clapas.bodies.elastic.kind import ElasticBodies
from clapas.bodies.elastic.materials import Elastic
from clapas.bodies.elastic.solid import Solid
from clapas.bodies.elastic.supports import Support
from clapas.bodies.lagrangian import LagrangianSystem
from clapas.bodies.rods import Rod, Rods
from clapas.bodies.trusses import Group, Material, MovingTruss, Section, Truss
from clapas.dynamics.joints.instep import placed_in
from clapas.dynamics.motions import Rotation
from clapas.dynamics.schemes import MoreauJean, QuasiStatic
from clapas.errors import SceneError
from clapas.scenes.compilation import compile_scene
from clapas.scenes.simulation import energy

G = 9.81
STRUT = Group(
    name="strut", kind="bar", material=Material(young=1e8, density=1e-6), section=Section(area=1e-4)
)


def scene_in(d: int) -> clapas.Scene:
    scene = clapas.Scene(d=d)
    scene.law(mu=0.3)
    return scene


def gap(sim: clapas.Simulation) -> float:
    """How far joints are open."""
    rows = sim.model.joints
    assert rows is not None
    return float(np.abs(rows.gap(placed_in(sim.model, sim.state, sim.state.coordinates)[0])).max())


# -------------------------------------------------------------------- elastic bodies

YOUNG, DENSITY, WIDTH, HEIGHT = 1e6, 1000.0, 0.1, 1.0


def hung_weight(mass: float = 100.0) -> clapas.Scene:
    """A plate of rubber that hangs from a ceiling, a weight at its two lower corners."""
    rubber = Elastic(young=YOUNG, poisson=0.0, density=DENSITY)
    solid = Solid(mesh=block((WIDTH, HEIGHT), (1, 4)), material=rubber)
    scene = scene_in(2)
    scene.add_system(ElasticBodies(solid=solid, supports=[Support("top", "xy")]), name="bar")
    scene.add(clapas.Polygon([(-0.1, -0.1), (0.1, -0.1), (0.1, 0.1), (-0.1, 0.1)]), (0.05, -0.1), mass=mass)
    scene.join("pin", len(scene.bodies) - 1, "bar", at=(0.0, 0.0), name="left")
    scene.join("pin", len(scene.bodies) - 1, "bar", at=(WIDTH, 0.0), name="right")
    return scene


def test_a_weight_hung_from_an_elastic_bar_stretches_it_and_is_borne() -> None:
    scene = hung_weight()
    sim = clapas.Simulation(scene, dt=1.0, scheme=QuasiStatic())
    sim.step(30)
    weight = len(scene.bodies) - 1
    sag = -0.1 - sim.body(weight).position[1]
    assert sag == pytest.approx(100.0 * G * HEIGHT / (YOUNG * WIDTH) + DENSITY * G / (2 * YOUNG), rel=1e-6)
    for name in ("left", "right"):
        assert np.allclose(sim.joint(name).reaction.force, (0.0, 50.0 * G), atol=1e-6)
    assert gap(sim) < 1e-14


def test_a_weight_on_an_elastic_bar_bounces_with_its_energy() -> None:
    scene = hung_weight(1000.0)
    sim = clapas.Simulation(scene, dt=5e-3)
    before = sum(energy(sim.model, sim.state))
    worst = 0.0
    for _ in range(100):
        sim.step()
        worst = max(worst, abs(sum(energy(sim.model, sim.state)) - before))
        assert gap(sim) < 1e-13
    assert worst < 1e-8 * 1000.0 * G * 0.1


# -------------------------------------------------------------------- rods


def cantilever(mass: float, **settings: float) -> tuple[clapas.Scene, float]:
    """A rod of 1 m that weighs next to nothing, a bob on its tip; and its stiffness there (N/m)."""
    rod = Rod(length=1.0, radius=0.01, density=1.0, young=1e9, elements=8, **settings)
    scene = scene_in(3)
    scene.add_rods(rod, name="rod")
    scene.add(clapas.Sphere(0.02), (1, 0, 0), mass=mass, name="bob")
    scene.join("ball", "bob", "rod", at=(1, 0, 0), name="tip")
    return scene, 3.0 * rod.stiffness[1]


def test_a_bob_bends_a_rod_as_beams_bend() -> None:
    scene, stiffness = cantilever(0.02)
    sim = clapas.Simulation(scene, dt=1.0, scheme=QuasiStatic())
    sim.step(15)
    own = sim.model.systems[0].bodies
    assert isinstance(own, Rods)
    weight = own.rods[0].inertia[0] * G  # per length, of the rod: it bends it by w L⁴/(8EI)
    sag = 0.02 * G / stiffness + weight / 8.0 / own.rods[0].stiffness[1]
    assert -sim.body("bob").position[2] == pytest.approx(sag, rel=5e-3)
    assert sim.joint("tip").reaction.force == pytest.approx((0.0, 0.0, 0.02 * G), abs=1e-9)
    assert np.allclose(own.tips(sim.state.parts[0])[0], sim.body("bob").position, atol=1e-14)


def test_a_bob_on_a_rod_swings_as_an_oscillator() -> None:
    """√(3EI/(L³ m)); 0.24 of the mass of the rod swings along."""
    scene, stiffness = cantilever(0.5)
    mass = 0.5 + 0.24 * np.pi * 1e-4
    turn = np.sqrt(stiffness / mass)
    scene.gravity = (0.0, 0.0, 0.0)
    sim = clapas.Simulation(scene, dt=2 * np.pi / turn / 80)
    sim.body("bob").apply(force=(0, 0, 0.01 * mass * turn / sim.dt))  # 0.01/turn m of amplitude
    z = []
    for _ in range(80):
        sim.step()
        z.append(sim.body("bob").position[2])
        assert gap(sim) < 1e-13
    assert np.max(z) == pytest.approx(0.01, rel=1e-2)
    for k in (39, 79):  # half a period, and a whole one: the push takes the first of the steps
        assert abs(z[k]) < 0.05 * 0.01


def test_a_rod_welded_to_a_body_turns_with_it() -> None:
    """A fixed joint at the tip holds the section, not only its centre: the beam stays level, 12EI/L³."""
    scene = scene_in(3)
    rod = Rod(length=1.0, radius=0.01, density=1.0, young=1e9, elements=8)
    scene.add_rods(rod, name="rod")
    scene.add(clapas.Box((0.1, 0.1, 0.1)), (1.05, 0, 0), mass=0.02, name="box")
    scene.join("fixed", "box", "rod", at=(1, 0, 0), name="weld")
    # The rod keeps its length: a slider along z would pull at it.
    scene.join("planar", "box", at=(1, 0, 0), axis=(0, 1, 0))
    scene.join("turn", "box", at=(1, 0, 0), axis=(0, 1, 0), motor=clapas.VelocityMotor(0.0))
    sim = clapas.Simulation(scene, dt=1.0, scheme=QuasiStatic())
    sim.step(15)
    own = np.pi * 1e-4 * G  # of the rod: w L⁴/(24EI) where one end is level and free to sink
    sag = 0.02 * G / (12.0 * rod.stiffness[1]) + own / 24.0 / rod.stiffness[1]
    assert -sim.body("box").position[2] == pytest.approx(sag, rel=2e-2)  # curvature is constant in an element
    assert sim.joint("weld").reaction.force[2] == pytest.approx(0.02 * G, rel=1e-6)


# -------------------------------------------------------------------- trusses


def cart_and_bar(speed: float = 0.0) -> clapas.Scene:
    """A cart of 2 kg on a rail, and a bar of 1 m with 1 kg at its lower end, pinned to it."""
    truss = Truss(
        nodes=[[0, 0], [0, -1]], members=[[0, 1]], group=[0], groups=[STRUT], is_blocked=[[False] * 2] * 2
    )
    scene = scene_in(2)
    scene.add(clapas.Disk(0.1), mass=2.0, name="cart")
    moving = MovingTruss(truss=truss, masses=[1e-3, 1.0], velocity=[[0.0, 0.0], [speed, 0.0]])
    scene.add_system(moving, name="bar")
    scene.join("slider", "cart", at=(0, 0), axis=(1, 0), name="rail")
    scene.join("pin", "cart", "bar", at=(0, 0), name="pin")
    return scene


def test_a_straight_rod_is_twisted_by_a_body_that_holds_its_tip() -> None:
    """The tip cannot move along the rod, whose row of the joint holds nothing but rounding."""
    length, radius, young, poisson, spin, retardation = 0.3, 2e-3, 1e7, 0.48, 10.0, 0.05
    torsion = 0.5 * young / (1.0 + poisson) * 0.5 * np.pi * radius**4 / length
    scene = clapas.Scene(gravity=(0, 0, 0))
    scene.law(mu=0.3)
    rod = Rod(length=length, radius=radius, density=1100, young=young, poisson=poisson, damping=retardation)
    scene.add_rods(rod, name="rod")
    turning = Rotation((1, 0, 0), spin)
    scene.add(clapas.Sphere(0.01), (length, 0, 0), density=1000, motion=turning, name="grip")
    scene.join("fixed", "grip", "rod", at=(length, 0, 0), name="end")
    sim = clapas.Simulation(scene, dt=2e-3, scheme=MoreauJean(theta=1.0))
    for _ in range(4):
        sim.step(50)
        torque = sim.joint("end").reaction.torque
        np.testing.assert_allclose(
            torque, [-torsion * spin * (sim.time + retardation), 0.0, 0.0], rtol=1e-6, atol=1e-12
        )


def test_a_bar_pinned_to_a_moving_cart_keeps_momentum_and_energy() -> None:
    sim = clapas.Simulation(cart_and_bar(0.5), dt=5e-3)
    start = sum(energy(sim.model, sim.state))
    for _ in range(400):
        sim.step()
        part, cart = sim.state.parts[0], sim.body("cart").velocity
        momentum = 2.0 * cart[0] + 1e-3 * part.v[0] + 1.0 * part.v[2]
        assert momentum == pytest.approx(0.5, abs=1e-9)
        assert abs(sum(energy(sim.model, sim.state)) - start) < 1e-3
        assert gap(sim) < 1e-13


def test_a_bar_pinned_to_a_cart_swings_faster_than_one_on_a_wall() -> None:
    """Small swings of a pendulum whose support moves: ω² = (g/L)(1 + m/M)."""
    sim = clapas.Simulation(cart_and_bar(1e-3), dt=2e-3)
    turn = np.sqrt(G * (1.0 + 1.0 / 2.001))
    x = []
    for _ in range(round(2 * np.pi / turn / 2e-3)):
        sim.step()
        q = sim.state.parts[0].q
        x.append(q[2] - q[0])
    half = len(x) // 2
    assert np.max(x) == pytest.approx(1e-3 / turn, rel=2e-3)
    assert abs(x[half]) < 5e-3 * np.max(x)
    assert abs(x[-1]) < 1e-2 * np.max(x)


def test_a_block_that_stands_on_the_floor_and_hangs_from_a_truss_shares_its_weight() -> None:
    """The floor bears what a bar with 20 N of prestress does not."""
    truss = Truss(
        nodes=[[0, 0.1], [0, 1.1]],
        members=[[0, 1]],
        group=[0],
        groups=[STRUT],
        is_blocked=[[False] * 2, [True] * 2],
        prestress=[20.0],
    )
    scene = scene_in(2)
    floor = scene.add(clapas.HalfPlane(), name="floor")
    scene.add_system(MovingTruss(truss=truss, masses=[1e-3, 0.0]), name="spring")
    box = clapas.Polygon([(-0.1, -0.1), (0.1, -0.1), (0.1, 0.1), (-0.1, 0.1)])
    scene.add(box, (0, 0.1), mass=10.0, name="block")
    scene.join("pin", "block", "spring", at=(0, 0.1), name="hook")
    sim = clapas.Simulation(scene, dt=1e-2, scheme=QuasiStatic())
    sim.step(5)
    assert sim.joint("hook").reaction.force[1] == pytest.approx(20.0 - 1e-3 * G, rel=1e-6)
    borne = sim.contacts("block", floor).force.sum(axis=0)[1]
    assert abs(borne) == pytest.approx(10.0 * G - 20.0 + 1e-3 * G, rel=1e-4)


# -------------------------------------------------------------------- Lagrangian systems


def pendulum() -> LagrangianSystem:
    """A rod without mass of 1 m with a bob of 1 kg, in one coordinate."""
    return LagrangianSystem(
        mass=lambda q: np.array([[1.0]]),
        force=lambda q, v, t: -G * np.sin(q),
        potential=lambda q: -G * float(np.cos(q[0])),
        frames=lambda q: ([[np.sin(q[0]), -np.cos(q[0])]], [[q[0]]]),
        shapes=[(0, clapas.Disk(0.05))],
        link_names=["bob"],
        q=[0.6],
    )


def on_a_pendulum(rigid: bool) -> clapas.Scene:
    """A disk pinned to the bob of a pendulum, off its centre: a double pendulum."""
    scene = scene_in(2)
    tip = np.array([np.sin(0.6), -np.cos(0.6)])
    if rigid:
        scene.add(clapas.Disk(0.05), tip, mass=1.0, inertia=1e-12, name="first")
        scene.join("pin", "first", at=(0, 0))
    else:
        scene.add_system(pendulum(), name="first")
    scene.add(clapas.Disk(0.1), tip + np.array([0.5, 0.0]), mass=0.5, name="second")
    scene.join("pin", "first" if rigid else "first bob", "second", at=tip, name="elbow")
    return scene


def test_a_body_pinned_to_a_lagrangian_pendulum_moves_as_two_rigid_ones() -> None:
    ends = []
    for rigid in (True, False):
        sim = clapas.Simulation(on_a_pendulum(rigid), dt=1e-3)
        start = sum(energy(sim.model, sim.state))
        sim.step(400)
        assert gap(sim) < 1e-13
        assert abs(sum(energy(sim.model, sim.state)) - start) < 2e-4
        ends.append((*sim.body("second").position, sim.joint("elbow").angle))
    assert np.allclose(ends[0], ends[1], atol=2e-5)


def test_limits_friction_and_motors_act_between_a_link_and_a_body() -> None:
    tip = (np.sin(0.6), -np.cos(0.6))
    made = {}
    for name, laws in {
        "motor": {"motor": clapas.VelocityMotor(3.0)},
        "bounded": {"motor": clapas.VelocityMotor(3.0, max_torque=0.01)},
        "stuck": {"friction": 50.0},
        "stopped": {"limits": (-0.05, 0.05)},
        "sprung": {"spring": (1e4, 0.0), "damping": 10.0},
        "pushed": {"motor": clapas.TorqueMotor(0.2)},
    }.items():
        scene = on_a_pendulum(False)
        scene.joints.clear()
        scene.join("pin", "first bob", "second", at=tip, name="elbow", **laws)
        sim = clapas.Simulation(scene, dt=1e-3, solver=clapas.Auto(tol=1e-10))
        sim.step(60)
        made[name] = sim
    assert made["motor"].joint("elbow").rate == pytest.approx(3.0, abs=1e-9)
    assert abs(made["bounded"].joint("elbow").effort) == pytest.approx(0.01, rel=1e-6)
    assert abs(made["stuck"].joint("elbow").angle) < 1e-7  # what the tolerance leaves of the slip
    assert -0.05 - 1e-9 < made["stopped"].joint("elbow").angle < 0.05 + 1e-9
    assert abs(made["sprung"].joint("elbow").angle) < 1e-2
    assert made["pushed"].joint("elbow").effort == pytest.approx(0.2, rel=1e-9)


# -------------------------------------------------------------------- drift

HELD = {
    "elastic": lambda: hung_weight(1000.0),
    "rod": lambda: cantilever(0.5)[0],
    "truss": lambda: cart_and_bar(0.5),
    "lagrangian": lambda: on_a_pendulum(rigid=False),
}


@pytest.mark.parametrize("kind", list(HELD))
@pytest.mark.parametrize(
    ("steps", "bound"), [(50, 1e-13), pytest.param(10_000, 1e-8, marks=pytest.mark.slow)]
)
def test_joints_to_systems_do_not_drift(kind: str, steps: int, bound: float) -> None:
    """With θ = ½ a rod a thousand times lighter than its bob gains energy and ends the run: there θ = 1."""
    scheme = MoreauJean(theta=1.0) if kind == "rod" else None
    sim, worst = clapas.Simulation(HELD[kind](), dt=5e-3, scheme=scheme), 0.0
    for _ in range(steps // 10):
        sim.step(10)
        worst = max(worst, gap(sim))
    assert worst < bound


# -------------------------------------------------------------------- as a part of the package


def test_a_state_gone_back_to_gives_the_same_bits_and_a_copy_goes_its_own_way() -> None:
    sim = clapas.Simulation(cart_and_bar(0.5), dt=5e-3)
    sim.step(5)
    kept = sim.state
    sim.step(5)
    first = sim.state
    sim.reset(kept)
    sim.step(5)
    assert np.array_equal(first.position, sim.state.position)
    assert np.array_equal(first.parts[0].q, sim.state.parts[0].q)


def test_joints_to_systems_are_written_and_read(tmp_path: Path) -> None:
    for k, scene in enumerate((hung_weight(), cantilever(0.5)[0], cart_and_bar(0.5))):
        path = tmp_path / f"scene{k}.toml"
        scene.save(path)
        again = clapas.Scene.load(path)
        assert [joint.to_dict() for joint in again.joints] == [joint.to_dict() for joint in scene.joints]
        assert again.joints[-1] == scene.joints[-1]


def test_what_is_joined_to_a_system_passes_through_it_unless_it_collides() -> None:
    """The ball is pinned a millimetre inside its rim."""
    for collide in (False, True):
        scene = scene_in(2)
        rubber = Elastic(young=YOUNG, poisson=0.0, density=DENSITY)
        solid = Solid(mesh=block((WIDTH, HEIGHT), (1, 4)), material=rubber)
        scene.add_system(ElasticBodies(solid=solid, supports=[Support("top", "xy")]), name="bar")
        scene.add(clapas.Disk(0.1), (0.0, -0.099), mass=1.0, name="ball")
        scene.join("pin", "ball", "bar", at=(0.0, 0.0), collide=collide)
        if collide:
            with pytest.raises(SceneError, match="'bar node 0' and 'ball' overlap at the start"):
                compile_scene(scene)
        else:
            assert len(compile_scene(scene).apart)


@pytest.mark.parametrize(
    ("kind", "at", "more", "words"),
    [
        (
            "weld",
            (0, 0),
            {},
            "a weld joint holds directions, and node 0 of 'bar' has none",
        ),
        ("pin", (0.03, 0.3), {}, r"'bar': there is nothing to hold at \[0.03, 0.3\]: the nearest is node"),
        (
            "pin",
            (0, 0),
            {"friction": 1.0},
            "needs bodies that turn, and node 0 of 'bar' does not",
        ),
        ("turn", (0, 0), {}, "a turn joint holds directions"),
        ("pin", None, {}, "at is missing: give the point of the joint"),
        ("pin", (0, 0, 0), {}, "the end on 'bar': its point must be 2 numbers, got 3"),
    ],
)
def test_what_nodes_cannot_do_is_said(kind: str, at: object, more: dict[str, float], words: str) -> None:
    scene = hung_weight()
    with pytest.raises(SceneError, match=words):
        scene.join(kind, len(scene.bodies) - 1, "bar", at=at, name="nail", **more)  # type: ignore[arg-type]


def test_the_ends_of_one_rod_are_not_joined_and_two_rods_close_a_ring() -> None:
    """Two half rings, curved by nature, keep their shape and their place."""
    curved = (0.0, 0.0, 1.0 / RADIUS)
    rod = Rod(
        length=2.0 * np.pi * RADIUS, radius=1e-3, density=1100.0, young=1e7, natural=curved, root="free"
    )
    alone = clapas.Scene(gravity=(0, 0, 0))
    alone.law(mu=0.3)
    alone.add_rods(rod, name="ring")
    with pytest.raises(SceneError, match=r"to itself; .* close a ring from two rods, each added alone"):
        alone.join("fixed", "ring", "ring", at=(0, 0, 0), name="close")

    sim = clapas.Simulation(ring(turns=0.0, straight=0.0), dt=1e-3)
    sim.step(50)
    np.testing.assert_allclose(np.linalg.norm(places(sim), axis=1), RADIUS, rtol=1e-6)


RADIUS, POISSON = 0.05, 0.48
MICHELL = np.sqrt(3.0) * (1.0 + POISSON)  # turns of twist, 2 π √3 EI/GJ, at which a ring leaves its plane


def ring(turns: float, straight: float, damping: float = 0.01) -> clapas.Scene:
    """Two half rings with a joint at either end; they are twisted, and straight by nature or not."""
    scene = clapas.Scene(gravity=(0, 0, 0))
    scene.law(mu=0.3)
    for name, side in (("one", 1.0), ("two", -1.0)):
        half = Rod(
            length=np.pi * RADIUS,
            radius=1e-3,
            density=1100.0,
            young=1e7,
            poisson=POISSON,
            natural=(-turns / RADIUS, 1e-3 * side / RADIUS, (1.0 - straight) / RADIUS),
            strain=(0.0, 0.0, 1.0 / RADIUS),
            position=(side * RADIUS, 0, 0),
            tangent=(0, side, 0),
            normal=(-side, 0, 0),
            root="free",
            damping=damping,
        )
        scene.add_rods(half, name=name)
    for x in (-RADIUS, RADIUS):
        scene.join("fixed", "one", "two", at=(x, 0, 0))
    return scene


def places(sim: clapas.Simulation) -> np.ndarray:
    """Points of the centrelines."""
    found = []
    for system, part in zip(sim.model.systems, sim.state.parts, strict=True):
        assert isinstance(system.bodies, Rods)
        found.append(system.bodies.centrelines(part)[0])
    return np.concatenate(found)


@pytest.mark.parametrize(("share", "steps"), [(0.5, 50), pytest.param(0.95, 500, marks=pytest.mark.slow)])
def test_a_twisted_ring_below_michells_limit_rests_in_its_plane(share: float, steps: int) -> None:
    """Its stress is held by joints alone: nothing may drive it, and nothing takes energy from it."""
    sim = clapas.Simulation(ring(share * MICHELL, straight=1.0), dt=2e-3, scheme=MoreauJean(theta=1.0))
    before = sim.energy.potential
    sim.step(steps)
    assert sim.energy.kinetic < 1e-12 * before
    assert sim.energy.potential == pytest.approx(before, rel=1e-3)
    assert np.ptp(places(sim)[:, 2]) < 1e-3 * RADIUS
    np.testing.assert_allclose(places(sim).mean(axis=0), 0.0, atol=1e-3 * RADIUS)


@pytest.mark.slow
def test_a_ring_twisted_beyond_michells_limit_leaves_its_plane() -> None:
    sim = clapas.Simulation(ring(1.5 * MICHELL, straight=1.0), dt=2e-3, scheme=MoreauJean(theta=1.0))
    sim.step(320)
    centred = places(sim) - places(sim).mean(axis=0)
    sizes = np.linalg.svd(centred, compute_uv=False)
    assert sizes[2] > 0.02 * sizes[0]


def test_a_rod_held_at_its_root_by_a_joint_rests_as_a_clamped_one() -> None:
    """Half a ring, twisted and bent, both ends held."""
    for root in ("clamped", "free"):
        scene = clapas.Scene(gravity=(0, 0, 0))
        scene.law(mu=0.3)
        half = Rod(
            length=np.pi * RADIUS,
            radius=1e-3,
            density=1100.0,
            young=1e7,
            elements=4,
            natural=(-1.0 / RADIUS, 0.0, 0.0),
            strain=(0.0, 0.0, 1.0 / RADIUS),
            position=(RADIUS, 0, 0),
            tangent=(0, 1, 0),
            normal=(-1, 0, 0),
            root=root,
            damping=0.002,
        )
        scene.add_rods(half, name="rod")
        scene.join("fixed", None, "rod", at=(-RADIUS, 0, 0))
        if root == "free":
            scene.join("fixed", None, "rod", at=(RADIUS, 0, 0))
        sim = clapas.Simulation(scene, dt=1e-4, scheme=MoreauJean(theta=1.0))
        sim.step(100)
        assert sim.energy.kinetic < 1e-15 * sim.energy.potential


def test_names_of_systems_are_known_to_joints() -> None:
    scene = hung_weight()
    with pytest.raises(SceneError, match=r"no body or system is called 'brr' \(did you mean 'bar'\?\)"):
        scene.join("pin", len(scene.bodies) - 1, "brr", at=(0, 0))
    double = scene.add(clapas.Disk(0.1), (5, 5), mass=1.0, name="bar")
    with pytest.raises(SceneError, match=rf"'bar' is the name of a system and of a body; .* {double}$"):
        scene.join("pin", double - 1, "bar", at=(0, 0))


def test_a_line_is_fixed_in_the_first_body() -> None:
    scene = hung_weight()
    body = len(scene.bodies) - 1
    with pytest.raises(SceneError, match="or name the other body first: the line is fixed in it"):
        scene.join("slot", "bar", body, at=(0, 0), axis=(1, 0))
    assert scene.join("slot", body, "bar", at=(0, 0), axis=(1, 0)).rows.lines


def test_a_lagrangian_system_is_joined_by_its_links() -> None:
    scene = scene_in(2)
    scene.add_system(LagrangianSystem(mass=lambda q: np.eye(1), q=[0.0]), name="point")
    scene.add(clapas.Disk(0.1), (0, -1), mass=1.0, name="disk")
    with pytest.raises(SceneError, match="'point': a Lagrangian system has no links: name the body"):
        scene.join("pin", "disk", "point", at=(0, 0))


def test_efforts_on_a_joint_that_holds_a_system_point_to_motors() -> None:
    sim = clapas.Simulation(on_a_pendulum(False), dt=1e-3)
    with pytest.raises(SceneError, match=r"it holds link bob of 'first', .* give the joint a TorqueMotor"):
        sim.joint("elbow").apply(1.0)
    assert "link bob of 'first'" in repr(sim.joint("elbow"))
