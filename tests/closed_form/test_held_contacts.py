"""Contacts that joints, motors or guides hold along the normal: crushed bodies are told, rubbing is felt."""

from __future__ import annotations

import numpy as np
import pytest

import clapas
from clapas.bodies.trusses import Group, Material, MovingTruss, Section, Truss
from clapas.dynamics.motions import ConstantVelocity
from clapas.errors import NotSolved
from clapas.status import Status

DT = 1e-3
CUBE = clapas.Box((0.2, 0.2, 0.2))


def cart() -> clapas.Scene:
    """A cube without weight at the origin."""
    scene = clapas.Scene(gravity=(0, 0, 0))
    scene.law(mu=0.3)
    scene.add(CUBE, (0, 0, 0), mass=1, name="cart")
    return scene


def with_ram(scene: clapas.Scene) -> clapas.Scene:
    """A cube that comes along x at 1 m/s and is there after 0.1 s."""
    scene.add(CUBE, (-0.3, 0, 0), motion=ConstantVelocity((1, 0, 0)), name="ram")
    return scene


def with_wall(scene: clapas.Scene) -> clapas.Scene:
    scene.add(clapas.Box((0.2, 2, 2)), (0.5, 0, 0), fixed=True, name="wall")
    return scene


def motor() -> tuple[clapas.Scene, float, str]:
    scene = with_wall(cart())
    scene.join("slider", None, "cart", at=(0, 0, 0), axis=(1, 0, 0), motor=clapas.VelocityMotor(1.0))
    return scene, 0.3, "wall"


def rail_across() -> tuple[clapas.Scene, float, str]:
    scene = with_ram(cart())
    scene.join("slider", None, "cart", at=(0, 0, 0), axis=(0, 1, 0))
    return scene, 0.1, "ram"


def welded() -> tuple[clapas.Scene, float, str]:
    scene = with_ram(cart())
    scene.join("fixed", None, "cart", at=(0, 0, 0))
    return scene, 0.1, "ram"


def guided_disk() -> tuple[clapas.Scene, float, str]:
    return against_disk(free="r")


def pinned_disk() -> tuple[clapas.Scene, float, str]:
    return against_disk(free=None)


def against_disk(free: str | None) -> tuple[clapas.Scene, float, str]:
    """A square that comes at 1 m/s to a disk that can only turn, by a guide or by a joint."""
    scene = clapas.Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.3)
    scene.add(clapas.Disk(0.1), (0, 0), mass=1, free=free, name="cart")
    if free is None:
        scene.join("pin", None, "cart", at=(0, 0))
    square = clapas.Polygon([(-0.1, -0.1), (0.1, -0.1), (0.1, 0.1), (-0.1, 0.1)])
    scene.add(square, (-0.3, 0), motion=ConstantVelocity((1, 0)), name="ram")
    return scene, 0.1, "ram"


@pytest.mark.parametrize("made", [motor, rail_across, welded, guided_disk, pinned_disk])
def test_what_cannot_yield_is_not_passed_through(made) -> None:
    scene, when, what = made()
    simulation = clapas.Simulation(scene, dt=DT)
    with pytest.raises(NotSolved, match=rf"NO_SOLUTION.*'cart'.*'{what}'.*at 1 m/s|'{what}'.*'cart'") as told:
        simulation.step(1000)
    assert told.value.solution.status is Status.NO_SOLUTION
    assert told.value.solution.residual > told.value.solution.tol
    assert simulation.time == pytest.approx(when, abs=3 * DT)


def test_a_run_that_records_counts_such_steps() -> None:
    scene, when, _ = motor()
    simulation = clapas.Simulation(scene, dt=DT, on_unsolved="record")
    simulation.step(400)
    assert simulation.unsolved == pytest.approx((0.4 - when) / DT, abs=3)
    assert simulation.worst > 0.1


@pytest.mark.parametrize("free_along", [0, 1])
def test_a_held_bar_is_not_passed_through(free_along: int) -> None:
    """With no velocity at all in the problem, and with velocities across the normal only."""
    material = Material(young=1e9, density=1000.0)
    group = Group(name="g", kind="bar", material=material, section=Section(area=1e-4))
    blocked = [[1, 1, 1 - free_along]] * 2
    nodes = [[0, 0, 0], [0, 0, 1.0]]
    truss = Truss(nodes=nodes, members=[[0, 1]], groups=[group], group=[0], is_blocked=blocked, cases={})
    scene = clapas.Scene(gravity=(0, 0, 0))
    scene.law(mu=0.3)
    scene.add_system(MovingTruss(truss=truss, node_radius=0.05, bar_radius=0.05), name="t")
    scene.add(CUBE, (-0.2, 0, 0.5), motion=ConstantVelocity((1, 0, 0)), name="ram")
    with pytest.raises(NotSolved, match="driven into each other"):
        clapas.Simulation(scene, dt=DT).step(100)


def test_a_bounded_motor_stops_at_the_wall() -> None:
    scene = with_wall(cart())
    scene.join("slider", None, "cart", at=(0, 0, 0), axis=(1, 0, 0), motor=clapas.VelocityMotor(1.0, 10.0))
    simulation = clapas.Simulation(scene, dt=DT)
    simulation.step(500)
    assert simulation.body("cart").position[0] == pytest.approx(0.3, abs=DT)


def test_what_turns_in_a_socket_is_not_crushed() -> None:
    """A ball on a hinge turns against a floor: its normal velocity is rounding, and nothing stops it."""
    scene = clapas.Scene()
    scene.law(mu=0.5)
    scene.add(clapas.Plane())
    scene.add(
        clapas.Sphere(0.1), (1, 0, 0.1), mass=1, velocity=(0, 1, 0), angular_velocity=(0, 0, 1), name="b"
    )
    scene.join("hinge", None, "b", at=(0, 0, 0.1), axis=(0, 0, 1))
    simulation = clapas.Simulation(scene, dt=DT)
    simulation.step(200)
    assert np.linalg.norm(simulation.body("b").velocity) == pytest.approx(1.0, rel=1e-9)
    assert simulation.unsolved == 0


# Friction that does not follow the pressure acts where joints carry the weight.

LAWS = [({"threshold": 1.0}, lambda t: t - 0.5 * t**2), ({"viscosity": 1.0}, lambda t: 1.0 - np.exp(-t))]


@pytest.mark.parametrize("kind", ["planar", "slider"])
@pytest.mark.parametrize(("law", "travelled"), LAWS)
def test_a_box_on_a_joint_rubs(kind: str, law: dict[str, float], travelled) -> None:
    """A box of 1 kg at 1 m/s on four contacts, each with 1 N, or 1 N s/m, of friction: four times the law."""
    scene = clapas.Scene()
    scene.law(mu=0.0, **{name: value / 4 for name, value in law.items()})
    scene.add(clapas.Plane())
    scene.add(CUBE, (0, 0, 0.1), mass=1, velocity=(1, 0, 0), name="b")
    axis = (0, 0, 1) if kind == "planar" else (1, 0, 0)
    scene.join(kind, None, "b", at=(0, 0, 0.1), axis=axis, collide=True)
    simulation = clapas.Simulation(scene, dt=DT)
    simulation.step(100)
    assert simulation.body("b").position[0] == pytest.approx(travelled(0.1), rel=1e-3)


@pytest.mark.parametrize(
    ("law", "left"), [({"threshold": 1.0}, 9.0), ({"viscosity": 1.0}, 10 * np.exp(-0.1))]
)
def test_a_disk_on_a_pin_rubs(law: dict[str, float], left: float) -> None:
    """J = 0.01 kg m²: 1 N at 0.1 m slows it by 10 rad/s², 1 N s/m by a share of 1/s."""
    scene = clapas.Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.0, **law)
    scene.add(clapas.HalfPlane())
    scene.add(clapas.Disk(0.1), (0, 0.1), mass=2, angular_velocity=10, name="b")
    scene.join("pin", None, "b", at=(0, 0.1))
    simulation = clapas.Simulation(scene, dt=DT)
    simulation.step(100)
    assert float(simulation.body("b").angular_velocity[0]) == pytest.approx(left, rel=1e-4)
