"""Measures on recordings and live states of shipped scenes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from clapas.analysis import Instant
from clapas.analysis.distributions import (
    draw_distribution,
    force_distribution,
    friction_distribution,
    mobilised_friction,
    slip_distribution,
    slip_velocities,
)
from clapas.analysis.energy import draw_energy, energy_balance
from clapas.analysis.stress import box_stress
from clapas.dynamics.births import initial_state
from clapas.dynamics.motions import ConstantVelocity
from clapas.dynamics.stepping import step
from clapas.errors import SettingsError
from clapas.geometry.shapes import Box, Clump, Cylinder, Plane, Polygon, Polyhedron, Sphere
from clapas.io.recording import Recording
from clapas.io.simulation import simulate
from clapas.scenes.compilation import compile_scene
from clapas.scenes.examples.heap import heap
from clapas.scenes.examples.single import bouncing_ball, sliding_block, two_block_stack
from clapas.scenes.scene import Scene
from clapas.solvers import NSGS
from tests.unit.analysis.samples import spheres


@pytest.fixture(scope="module")
def stack() -> Recording:
    return simulate(two_block_stack(), duration=0.05)


def test_blocks_press_with_their_weight(stack: Recording) -> None:
    end = Instant.of_recording(stack)
    weight = end.mass[1] * 9.81
    assert end.force[end.a == 0].sum(axis=0) == pytest.approx([0, 0, 2 * weight], abs=1e-3 * weight)
    assert end.force[end.a == 1].sum(axis=0) == pytest.approx([0, 0, weight], abs=1e-3 * weight)
    assert end.volume[1:] == pytest.approx(0.2 * 0.2 * 0.1)
    # Halfway up the lower block passes the weight of one and a half: cut at the contacts, between centres.
    upper = box_stress(end, (-0.1, -0.1, 0.05), (0.1, 0.1, 0.15))
    assert upper[2, 2] * 0.04 == pytest.approx(weight, rel=1e-3)


def test_a_path_reads_like_an_open_recording(stack: Recording) -> None:
    assert np.array_equal(Instant.of_recording(stack.path).force, Instant.of_recording(stack).force)


def test_a_live_step_reads_like_its_recording() -> None:
    scene = two_block_stack()
    model = compile_scene(scene)
    live = Instant.of_step(model, step(model, initial_state(model), 1e-3))
    with simulate(scene, duration=1e-3, dt=1e-3) as run:
        kept = Instant.of_recording(run)
    for name in ("time", "force", "point", "centre", "mu"):
        assert np.array_equal(getattr(live, name), getattr(kept, name)), name


def test_no_step_no_force(stack: Recording) -> None:
    first = stack.frame(0)
    with pytest.raises(SettingsError, match="dt must be positive"):
        Instant.of(stack.model, first.state, first.contacts, 0.0)
    assert Instant.of_recording(stack, 0).n_contacts == 0


def test_a_sliding_block_uses_all_its_friction() -> None:
    with simulate(sliding_block(), duration=0.1) as run:
        end = Instant.of_recording(run)
    assert np.allclose(mobilised_friction(end), 1.0, rtol=1e-4)
    assert friction_distribution(end).mean == pytest.approx(1.0, rel=1e-4)
    speed = 2.0 - 0.4 * 9.81 * 0.1
    assert slip_velocities(end) == pytest.approx(np.tile([speed, 0.0, 0.0], (end.n_contacts, 1)), abs=1e-5)
    assert slip_distribution(end).mean == pytest.approx(speed, rel=1e-5)


def test_a_rolling_disk_does_not_slip() -> None:
    pair = spheres([(0.0, -1.0), (0.0, 1.0)], 1.0, [(0, 1)], [(0.1, 1.0)], fixed=(0,))
    rolling = replace(pair, velocity=np.array([[0.0, 0], [2.0, 0]]), spin=np.array([[0.0], [-2.0]]))
    assert slip_velocities(rolling) == pytest.approx(np.zeros((1, 2)))
    assert mobilised_friction(rolling) == pytest.approx([0.1 / 0.5])


def test_forces_are_spread_about_their_mean() -> None:
    row = spheres([(0, 0), (2, 0), (4, 0)], 1.0, [(0, 1), (1, 2)], [(1, 0), (3, 0)])
    found = force_distribution(row, bins=3)
    assert found.mean == 2.0
    assert found.edges == pytest.approx([0, 0.5, 1.0, 1.5])
    assert found.density == pytest.approx([0, 1.0, 1.0])
    empty = force_distribution(spheres([(0, 0)], 1.0))
    assert empty.mean == 0.0
    assert not empty.density.any()
    with pytest.raises(SettingsError, match="bins"):
        force_distribution(row, bins=0)
    axes = Figure().add_subplot()
    draw_distribution(axes, found, "force", logarithmic=True)
    assert axes.get_yscale() == "log"


def test_energy_is_balanced_to_rounding() -> None:
    with simulate(bouncing_ball(), duration=1.0) as run:
        balance = energy_balance(run)
    start = balance.potential[0]
    assert np.abs(balance.error).max() < 1e-10 * start
    assert balance.dissipated[-1] > 0.1 * start
    axes = Figure().add_subplot()
    draw_energy(axes, balance)
    assert len(axes.lines) == 6


def test_loads_and_guides_are_in_the_balance() -> None:
    """A sphere dragged over the floor, spun up, and pressed by a piston that is driven sideways."""
    scene = Scene()
    scene.law(mu=0.3)
    scene.add(Plane())
    scene.add(Sphere(0.1), (0, 0, 0.1), mass=2.0, force=(10.0, 0, 0), torque=(0, 0, 0.5))
    piston = {"free": "z", "motion": ConstantVelocity((0.5, 0, 0)), "force": (3.0, 0, -20.0)}
    scene.add(Box((0.4, 0.4, 0.1)), (0, 0, 0.25), mass=1.0, **piston)
    with simulate(scene, duration=0.3, dt=1e-3, solver=NSGS(tol=1e-10)) as run:
        balance = energy_balance(run)
    assert balance.kinetic[-1] > 1.0
    assert np.abs(balance.error).max() < 1e-10 * balance.kinetic[-1]


def test_births_bring_their_energy(tmp_path: Path) -> None:
    with simulate(heap(grains=20), duration=0.2, dt=1e-3, out=tmp_path / "heap.h5") as run:
        balance = energy_balance(run)
    assert balance.births[-1] > 0
    assert np.abs(balance.error).max() < 1e-10 * balance.births[-1]


def test_volumes_of_shapes() -> None:
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Plane((0, 0, 1), -10.0))
    tetrahedron = Polyhedron([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
    clump = Clump([(Sphere(0.1), (-0.2, 0, 0)), (Sphere(0.1), (0.2, 0, 0))])
    shapes = [Sphere(0.5), Box((1, 2, 3)), Cylinder(0.5, 2.0), tetrahedron, clump]
    for k, shape in enumerate(shapes):
        scene.add(shape, position=(5.0 * k, 0, 0), density=1000)
    with simulate(scene, duration=1e-3, dt=1e-3) as run:
        volume = Instant.of_recording(run).volume
    masses = np.array([body.mass for body in scene.records()])
    assert volume[0] == 0.0
    assert volume[1:] == pytest.approx(masses[1:] / 1000)


def test_areas_of_plane_shapes() -> None:
    scene = Scene(d=2)
    scene.law(mu=0.5)
    scene.add(Polygon([(0, 0), (2, 0), (0, 1)]), density=1.0)
    with simulate(scene, duration=1e-3, dt=1e-3) as run:
        assert Instant.of_recording(run).volume == pytest.approx([1.0])
