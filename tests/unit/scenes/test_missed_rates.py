"""Motors without bound whose rates contradict other conditions are told of, once and by name."""

from __future__ import annotations

import warnings

import pytest

import clapas


def geared(
    rates: tuple[float, float], ratio: float = 1.0, bound: float | None = None, **options: float
) -> clapas.Simulation:
    """Two disks on pins, with a motor each and a gear between them."""
    scene = clapas.Scene(d=2)
    scene.law(mu=0.3)
    for k, rate in enumerate(rates):
        motor = clapas.VelocityMotor(rate) if bound is None else clapas.VelocityMotor(rate, bound)
        scene.add(clapas.Disk(0.1), (k, 0), mass=1, name=f"d{k}")
        scene.join("pin", None, f"d{k}", at=(k, 0), name=f"p{k}", motor=motor)
    scene.mimic("p1", "p0", ratio=ratio)
    return clapas.Simulation(scene, dt=1e-3)


def told(sim: clapas.Simulation, steps: int) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sim.step(steps)
    return [str(one.message) for one in caught if "miss their rates" in str(one.message)]


def test_motors_that_contradict_a_gear_are_named_once() -> None:
    said = told(geared((-1.0, 1.0)), 600)
    assert len(said) == 1
    assert "velocity motors of 'p0', 'p1' miss their rates by up to 0.5" in said[0]
    assert "Give them a bound" in said[0]


@pytest.mark.parametrize(
    ("rates", "ratio", "bound"), [((1.0, 2.0), 2.0, None), ((0.0, 0.0), 1.0, None), ((-1.0, 1.0), 1.0, 0.1)]
)
def test_motors_that_agree_or_have_a_bound_are_not(
    rates: tuple[float, float], ratio: float, bound: float | None
) -> None:
    assert not told(geared(rates, ratio, bound), 300)


def test_a_target_that_is_set_in_the_loop_counts() -> None:
    sim = geared((1.0, 1.0))
    assert not told(sim, 300)
    sim.joint("p1").target = 3.0
    assert len(told(sim, 300)) == 1


def test_a_motor_on_a_joint_that_turns_in_space_keeps_its_rate() -> None:
    """Its axis is another at the end of a step than in the middle, where its rate is given."""
    scene = clapas.Scene()
    scene.law(mu=0.3)
    for k in range(3):
        scene.add(clapas.Box((0.1, 0.2, 0.3)), (0.5 * k, 0, 0), mass=1, name=f"b{k}")
    axes = ((0, 1, 0), (0, 0, 1), (1, 1, 0))
    for k, axis in enumerate(axes):
        before = None if k == 0 else f"b{k - 1}"
        kind = "slider" if k == 2 else "hinge"
        motor = clapas.VelocityMotor(30.0 if k < 2 else 0.2)
        scene.join(kind, before, f"b{k}", at=(0.5 * k, 0, 0), axis=axis, name=f"j{k}", motor=motor)
    scene.ignore("b0", "b2")
    assert not told(clapas.Simulation(scene, dt=1e-3), 300)


def test_a_motor_that_turns_what_something_else_turns_is_named() -> None:
    scene = clapas.Scene(d=2)
    scene.law(mu=0.3)
    scene.add(clapas.Disk(0.1), (0, 0), name="wall", motion=clapas.ConstantVelocity((0, 0), 2.0))
    scene.add(clapas.Disk(0.1), (1, 0), mass=1, name="wheel")
    scene.join("weld", "wall", "wheel", at=(0, 0))
    scene.join("turn", None, "wheel", at=(1, 0), name="brake", motor=clapas.VelocityMotor(0.0))
    said = told(clapas.Simulation(scene, dt=1e-3), 300)
    assert len(said) == 1
    assert "'brake'" in said[0]
