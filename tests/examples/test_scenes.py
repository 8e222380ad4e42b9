"""Every shipped scene runs, and gives the number known of it; large ones in a small edition."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from clapas.io.recording import Frame, Recording
from clapas.io.simulation import simulate
from clapas.scenes import examples
from clapas.scenes.examples import blocks, grains, single
from clapas.scenes.recorders import StepProgress
from clapas.scenes.scene import Scene
from clapas.typing import Array

G = 9.81
OF_STUDIES = {
    *("heap", "pile-of-disks", "pile-of-balls", "silo", "flat-hopper", "tilted-layer"),
    *("buttressed-arch", "settling-wall", "dome"),
    *("ledge", "shear-cell", "biaxial", "rough-drum"),
}
"""Scenes whose numbers are measured, not written on paper: tested with the studies that measure them."""


OF_MECHANISMS = {
    *("pendulum", "double-pendulum", "four-bar", "slider-crank", "chain-on-pulley"),
    *("passive-walker", "gripper", "robot-arm", "tippe-top", "jansen-walker"),
}
"""Scenes with joints and machines: tested in test_mechanisms."""
OF_RODS = {"hair", "strands", "brush", "capstan", "winch", "knot"}
"""Scenes of rods, whose supports move by functions: tests/closed_form/test_rod_scenes has their numbers."""


def shipped(scene: Scene, duration: float | None = None, **changes: object) -> Recording:
    """Run a scene as it says itself, for a while."""
    scene.run = replace(scene.run, **changes)  # type: ignore[arg-type]
    return simulate(scene, duration)


def forces(frame: Frame, a: int, b: int | None = None) -> Array:
    """Sum of the forces (N) of body a on body b, or on all bodies after it."""
    held = frame.state.impulses
    rows = (held.a == a) if b is None else (held.a == a) & (held.b == b)
    return np.asarray(held.impulse[rows].sum(axis=0) / frame.state.dt)


def test_all_are_here() -> None:
    """A scene that joins the shipped ones must join the tests."""
    tested = {name.removeprefix("test_").replace("_", "-") for name in globals() if name.startswith("test_")}
    assert set(examples.names()) - OF_STUDIES - OF_MECHANISMS - OF_RODS <= tested


@pytest.mark.parametrize("name", examples.names())
def test_each_compiles_and_says_what_it_shows(name: str) -> None:
    scene = examples.load(name)
    assert scene.run.duration is not None
    assert scene.run.dt is not None
    assert examples.summary(name).endswith(".")
    assert Scene.from_dict(scene.to_dict()).to_dict() == scene.to_dict()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in examples.names() if name != "heap"])
def test_every_step_of_it_is_solved(name: str) -> None:
    """Steps kept and not kept; of the heap its study tells."""
    worst = 0.0

    def watch(advance: StepProgress) -> None:
        nonlocal worst
        worst = max(worst, advance.residual)

    scene = examples.load(name)
    simulate(scene, progress=watch).close()
    assert worst > 0.0 or name in OF_MECHANISMS
    assert worst <= scene.run.solver.get("tol", 1e-6)


def test_bouncing_ball() -> None:
    restitution, first = 0.5, math.sqrt(2 / G)
    rest = first * (1 + restitution) / (1 - restitution)
    with shipped(single.bouncing_ball(restitution=restitution), rest + 0.1) as run:
        speed = np.abs(run.column("velocity")[:, 1, 2])
        assert run.times[np.flatnonzero(speed > 0.03)[-1]] == pytest.approx(rest, rel=0.03)
        assert run.frame(-1).state.position[1, 2] == pytest.approx(0.1, abs=1e-3)


def test_sliding_block() -> None:
    with shipped(single.sliding_block(), 0.6) as run:
        assert run.frame(-1).state.position[1, 0] == pytest.approx(2.0**2 / (2 * 0.4 * G), abs=1e-3)
        assert np.abs(run.frame(-1).state.velocity[1]).max() < 1e-5


def test_rolling_ball() -> None:
    slowing = 5 / 7 * G * 0.02 / 0.1
    with shipped(single.rolling_ball(), 0.8) as run:
        way = run.probe("way")[:, 0]
        assert way[-1] == pytest.approx(1 / (2 * slowing), abs=1e-4)
        stopped = run.readings()[0][np.flatnonzero(np.diff(way) > 1e-9)[-1] + 1]
        assert stopped == pytest.approx(1 / slowing, abs=2e-3)


def test_two_block_stack() -> None:
    with shipped(single.two_block_stack(), 0.05) as run:
        weight = G * run.model.mass[1]
        assert forces(run.frame(-1), 1, 2)[2] == pytest.approx(weight, rel=1e-3)
        assert forces(run.frame(-1), 0, 1)[2] == pytest.approx(2 * weight, rel=1e-3)


def test_rocking_block() -> None:
    """The angular speed after the first impact is Housner's share of that before."""
    with shipped(single.rocking_block(tilt=0.5), 0.35, every=1) as run:
        spin = np.abs(run.column("velocity")[:, 1, 4])
        impact = int(np.argmax(spin))
        share = 1 - 1.5 * math.sin(math.atan(1 / 4)) ** 2
        assert spin[impact + 2] / spin[impact] == pytest.approx(share, rel=0.01)


def test_dominoes() -> None:
    """They fall one after another: each leans by 45° before the next does."""
    count = 4
    with shipped(blocks.dominoes(count), 0.4, dt=1e-3, every=5) as run:
        turn = run.column("orientation")[:, 1:]  # about y: (cos, 0, sin, 0) of half the lean
        lean = 2 * np.arctan2(np.abs(turn[:, :, 2]), np.abs(turn[:, :, 0]))
        fell = [int(np.argmax(lean[:, k] > math.pi / 4)) for k in range(count)]
        assert min(fell) > 0
        assert fell == sorted(fell)
        assert len(set(fell)) == count


def test_stone_arch() -> None:
    """It stands by its friction of 0.7 and falls with 0.2; the bound is 0.31 to 0.35 (Cochin 2005)."""
    with shipped(blocks.stone_arch(), 0.1) as standing:
        assert standing.frame(-1).kinetic < 1e-3
    with shipped(blocks.stone_arch(mu=0.2), 0.1) as falling:
        assert falling.frame(-1).kinetic > 1.0


def test_wall_of_boxes() -> None:
    with shipped(blocks.wall_of_boxes(4, 3), 0.05) as run:
        assert run.frame(-1).kinetic < 1e-8
        weight = G * run.model.mass[1:].sum()
        assert forces(run.frame(-1), 0)[2] == pytest.approx(weight, rel=1e-3)


def test_wedged_bar() -> None:
    with shipped(blocks.wedged_bar(), 0.05) as run:
        weight = G * run.model.mass[2]
        lifted = forces(run.frame(-1), 0) + forces(run.frame(-1), 1)
        np.testing.assert_allclose(lifted, (0, weight), atol=1e-3 * weight)
        assert np.abs(run.frame(-1).state.velocity[2]).max() < 1e-4


def test_box_of_spheres() -> None:
    """Walls and floor together carry the weight; the floor most of it."""
    scene = grains.box_of_spheres(30)
    for wall in range(5):
        scene.probe("contact_force", wall, name=f"on {wall}")
    with shipped(scene, 0.4, dt=1e-3) as run:
        weight = G * run.model.mass[5:].sum()
        carried = [-run.probe(f"on {wall}")[-100:, 2].mean() for wall in range(5)]
        assert sum(carried) == pytest.approx(weight, rel=0.01)
        assert carried[0] > 0.8 * weight


def test_hopper() -> None:
    """Grains leave by the mouth, and by the mouth only."""
    with shipped(grains.hopper(30), 0.4, dt=1e-3) as run:
        low, mouth = 0.12, 0.045
        grain = run.column("position")[:, 2:]
        passing = np.abs(grain[:, :, 2] - low) < 0.01
        assert passing.sum() > 5
        assert np.abs(grain[passing][:, :2]).max() <= mouth / 2
        assert (grain[-1, :, 2] < low).sum() >= 5


def test_rotating_drum() -> None:
    """Nobody leaves, and the bed is carried along: at the bottom a drum that turns about y goes to −x."""
    with shipped(grains.rotating_drum(), 0.3, dt=1e-3) as run:
        grain, mass = run.frame(-1).state.position[3:], run.model.mass[3:]
        assert (np.hypot(grain[:, 0], grain[:, 2]) < 0.1).all()
        assert (np.abs(grain[:, 1]) < 0.02).all()
        assert mass @ grain[:, 0] / mass.sum() < -0.003


@pytest.mark.parametrize(("frequency", "takes_off"), [(9.0, False), (15.0, True)])
def test_vibrating_plate(frequency: float, takes_off: bool) -> None:
    """Grains leave the plate if its peak acceleration A ω² exceeds g: from 11.1 Hz on, for 2 mm."""
    assert (2e-3 * (2 * math.pi * frequency) ** 2 > G) == takes_off
    scene = grains.vibrating_plate(frequency)
    with shipped(scene, 0.5, dt=1e-3, every=1) as run:
        touching = np.diff(run.column("contact_end"))[350:]
        assert (touching.min() < 20) == takes_off
        assert touching.max() >= 40 or takes_off


def test_tensegrity_ball() -> None:
    """It falls freely until the first strut touches; cables go slack at the blow and are tight before."""
    with shipped(examples.load("tensegrity-ball", rocks=0), 0.5, every=1) as run:
        centre = [frame.looks[0][0].vertices.mean(axis=0)[2] for frame in run.frames()]
        touched = np.array([len(frame.contacts) > 0 for frame in run.frames()])
        slack = [int(np.isnan(frame.looks[0][1].values[0]).sum()) for frame in run.frames()]
    first = int(np.argmax(touched))
    assert 0.002 * first == pytest.approx(math.sqrt(2 * 0.5 / G), abs=4e-3)
    fallen = centre[0] - np.array(centre[:first])
    t = 0.002 * np.arange(first)
    np.testing.assert_allclose(fallen, 0.5 * G * t**2, atol=1e-5)
    assert max(slack[:first]) == 0
    assert max(slack[first:]) > 0


def test_tensegrity_grid() -> None:
    """What swings and is damped ends where statics says."""
    from clapas.bodies.trusses.generators import grid
    from clapas.statics.trusses import LargeDisplacements

    truss = grid(2, load=200.0)
    expected = LargeDisplacements().solve(truss, "down")
    with shipped(examples.load("tensegrity-grid", modules=2), 0.6, every=120) as run:
        moved = run.frame(-1).looks[0][0].vertices - truss.nodes
    np.testing.assert_allclose(moved, expected.displacements, atol=1e-6)
    assert expected.largest_displacement > 1e-4


def test_tensegrity_deployment() -> None:
    """The top rises to the height of the prism, and its cables to the self-stress."""
    with shipped(examples.load("tensegrity-deployment"), 4.0, every=100) as run:
        tops = [frame.looks[0][0].vertices[:, 2].max() for frame in run.frames()]
        last = run.frame(-1)
    assert min(tops) < 0.975
    assert tops[-1] == pytest.approx(1.0, abs=0.01)
    assert np.nanmax(last.looks[0][1].values[0]) == pytest.approx(1000.0, rel=0.25)


def test_elastic_bar() -> None:
    """Contact lasts 2 L/c = 0.2 s under the force ρ c v A, and the bar leaves with its speed."""
    with shipped(examples.load("elastic-bar", cells=20), 0.3, every=1) as run:
        force = np.array([frame.contacts.force.sum(axis=0)[0] for frame in run.frames()])
        time = np.array([frame.state.time for frame in run.frames()])
        last = run.frame(-1)
        loaded = run.frame(20)
    pushed = time[np.abs(force) > 1.0]
    assert pushed[-1] == pytest.approx(0.2, abs=0.008)
    assert np.abs(force[5:36]).mean() == pytest.approx(1000.0 * 10.0 * 0.5 * 0.1, rel=0.02)
    assert last.state.parts[0].v[::2].mean() == pytest.approx(0.5, rel=0.1)
    # The wave has reached the free end: the stress is ρ c v in all of the bar, but for ripples of its front,
    # and so is the pressure at the wall.
    stress = loaded.readings[0]["stress"]
    assert np.median(stress[:, 0]) == pytest.approx(-5000.0, rel=0.1)
    assert loaded.looks[0][0].values[2].max() == pytest.approx(5000.0, rel=0.1)


@pytest.mark.slow
def test_elastic_block() -> None:
    """At rest the floor carries grains and block; a grain between two nodes has not sunk into the block."""
    with shipped(examples.load("elastic-block", cells=4, grains=3, height=0.01), 0.5, every=50) as run:
        frame = run.frame(-1)
        floor = (frame.contacts.a == 0) | (frame.contacts.b == 0)
        weight = 9.81 * (1000.0 * 0.125 + 2000.0 * 3 * math.pi * (0.25 / 3) ** 2)
        assert frame.contacts.force[floor].sum(axis=0)[1] == pytest.approx(weight, rel=0.05)
        assert frame.contacts.gap.min() > -2e-3
        pressure = frame.looks[0][0].values[2]
    assert pressure.max() > 0.0


def test_pulled_square() -> None:
    """Below the limit friction balances the pull."""
    with shipped(examples.load("pulled-square", cells=6), 0.5, every=100) as run:
        frame = run.frame(-1)
    pull, press = frame.contacts.force.sum(axis=0)
    assert abs(press) == pytest.approx(1e4, rel=1e-3)
    assert abs(pull) == pytest.approx(0.8 * 0.3 * 1e4, rel=0.02)


@pytest.mark.slow
def test_elastic_ring() -> None:
    """It arrives after sqrt(2h/g) and is flattened."""
    scene = examples.load("elastic-ring", cells=12, height=0.05)
    with shipped(scene, 0.15, every=2) as run:
        touched = np.array([len(frame.contacts) > 0 for frame in run.frames()])
        width = [np.ptp(frame.looks[0][0].vertices[:, 0]) for frame in run.frames()]
    first = int(np.argmax(touched))
    assert 0.002 * first == pytest.approx(math.sqrt(2 * 0.05 / G), abs=4e-3)
    assert max(width) > 0.402
