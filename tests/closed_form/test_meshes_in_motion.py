"""Bodies that fall, rest and roll on meshes move as they do on a plane; cylinders that meet gain no spin."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.geometry import rotations
from clapas.geometry.shapes import Box, Capsule, Cylinder, Plane, Shape, Sphere, TriangleMesh
from clapas.scenes.scene import Scene
from clapas.solvers import Auto
from tests.closed_form.runs import History, run
from tests.unit.collision.oracles import random_quaternion
from tests.unit.collision.test_meshes import grid, slab
from tests.unit.collision.test_seams import rounded

G = 9.81
LYING = rotations.from_axis_angle((0, 1, 0), np.pi / 2)


def dropped(floor: Shape, dt: float = 1e-3) -> History:
    scene = Scene((0, 0, -G))
    scene.law(mu=0.0)
    scene.add(floor)
    scene.add(Box((0.2, 0.2, 0.2)), (0.03, 0.01, 0.3), orientation=(0.939, 0.15, 0.3, 0.075), mass=1)
    return run(scene, 0.4, dt)


def test_a_smooth_cube_dropped_on_two_triangles_goes_straight_down() -> None:
    square = TriangleMesh([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], [(0, 1, 2), (0, 2, 3)])
    on_mesh, on_plane = dropped(square), dropped(Plane())
    np.testing.assert_allclose(on_mesh.velocity()[:, :2], 0.0, atol=1e-9)
    np.testing.assert_allclose(on_mesh.position(), on_plane.position(), atol=1e-9)
    assert min(step.contacts.gap.min(initial=0.0) for step in on_mesh.steps) > -2e-3


@pytest.mark.parametrize("tol", [1e-6, 1e-8])
def test_a_capsule_at_rest_on_a_mesh_does_not_sink(tol: float) -> None:
    scene = Scene((0, 0, -G), overlap=1e-6)
    scene.law(mu=0.3)
    scene.add(grid(20))
    turn = rotations.product(rotations.from_axis_angle((0, 0, 1), 0.3), LYING)
    scene.add(Capsule(0.05, 0.4), (0.03, 0.013, 0.05 - 9e-8), orientation=turn, density=1000)
    history = run(scene, 0.1, 1e-3, solver=Auto(tol=tol))
    assert history.position()[-1, 2] == pytest.approx(0.05, abs=2e-7)
    assert {len(step.contacts) for step in history.steps} == {2}


ROLLING: dict[str, tuple[Shape, float]] = {
    "sphere": (Sphere(0.05), 0.05),
    "capsule": (Capsule(0.05, 0.2), 0.05),
    "cylinder": (Cylinder(0.05, 0.2), 0.05),
}


@pytest.mark.parametrize("name", ROLLING)
def test_round_bodies_roll_over_seams_as_over_a_plane(name: str) -> None:
    shape, radius = ROLLING[name]
    ends = []
    for floor in (grid(20), Plane()):
        scene = Scene((0, 0, -G), overlap=1e-6)
        scene.law(mu=0.3)
        scene.add(floor)
        turn = (1.0, 0.0, 0.0, 0.0) if name == "sphere" else LYING
        scene.add(shape, (0.013, -0.3, radius - 9e-8), orientation=turn, velocity=(0, 1, 0), density=1000)
        ends.append(run(scene, 0.3, 1e-3).position()[-1])
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-7)


@pytest.mark.parametrize(
    "floor", [grid(1), grid(6), slab(), Plane()], ids=["square", "grid", "slab", "plane"]
)
def test_an_upright_cylinder_slides_on_a_mesh_until_friction_stops_it(floor: Shape) -> None:
    """It stops after v²/(2 μ g), and no step is without contact."""
    scene = Scene((0, 0, -G))
    scene.law(mu=0.3)
    scene.add(floor, fixed=True)
    scene.add(Cylinder(0.1, 0.2), (0.3, -0.3, 0.1), velocity=(0.3, 0, 0), density=1000)
    history = run(scene, 0.2, 1e-3)
    np.testing.assert_allclose(history.position()[-1], (0.3 + 0.3**2 / (0.6 * G), -0.3, 0.1), atol=1e-6)
    assert min(len(step.contacts) for step in history.steps) > 0


@pytest.mark.parametrize("angle", [0.0, 0.3, 1.0472, 2.0])
def test_parallel_cylinders_that_meet_head_on_gain_no_spin(angle: float) -> None:
    across = np.array([np.cos(angle), np.sin(angle), 0.0])
    scene = Scene((0, 0, 0))
    scene.law(mu=0.5, restitution=0.5)
    for sign in (-1.0, 1.0):
        scene.add(Cylinder(0.1, 0.3), sign * 0.101 * across, velocity=-sign * across, density=1000)
    history = run(scene, 0.01, 1e-3)
    v = history.velocity(1)[-1]
    np.testing.assert_allclose(v[:3], 0.5 * across, atol=1e-10)
    np.testing.assert_allclose(v[3:], 0.0, atol=1e-10)  # solved to 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.98, 1.02])
def test_a_pyramid_of_three_cylinders_stands_above_its_friction_only(share: float) -> None:
    """Two that touch carry a third; the floor needs mu ≥ tan(15°)/3, the cylinders tan(15°)."""
    least = np.tan(np.pi / 12)
    scene = Scene((0, 0, -G), overlap=1e-6)
    scene.material("floor")
    scene.material("cylinder")
    scene.law("floor", "cylinder", mu=share * least / 3)
    scene.law("cylinder", "cylinder", mu=2 * least)
    scene.add(Plane(), material="floor")
    turn = rotations.from_axis_angle((1, 0, 0), np.pi / 2)
    r, d = 0.1, 1e-9
    for x, z in ((-r, r - d), (r - d, r - d), (0.0, r + np.sqrt(3.0) * r - 3 * d)):
        scene.add(Cylinder(r, 0.3), (x, 0, z), orientation=turn, density=1000, material="cylinder")
    history = run(scene, 0.1, 1e-3, solver=Auto(tol=1e-9))
    sunk = history.position(3)[0, 2] - history.position(3)[-1, 2]
    assert (sunk < 1e-8) == (share > 1.0)


@pytest.mark.parametrize("name", ["box", "sphere"])
def test_a_smooth_body_slides_straight_over_a_flat_mesh_of_rounded_corners(name: str) -> None:
    """Corners of 32 bits on a slope: seams bend by up to 1e-6 rad, 9 cells are crossed."""
    turn = random_quaternion(np.random.default_rng(3))
    up, ahead = (rotations.rotate(turn, np.array(e)) for e in ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0)))
    floor, _, _ = rounded(20, turn)
    scene = Scene(-G * up)
    scene.law(mu=0.0)
    scene.add(floor)
    shape = Box((0.2, 0.2, 0.2)) if name == "box" else Sphere(0.1)
    scene.add(
        shape,
        rotations.rotate(turn, np.array((-0.5, 0.13, 0.1))),
        orientation=turn,
        mass=1,
        velocity=3.0 * ahead,
    )
    history = run(scene, 0.3, 1e-3, solver=Auto(tol=1e-8))
    np.testing.assert_allclose(history.velocity()[:, :3] @ ahead, 3.0, atol=1e-4)
    np.testing.assert_allclose(history.position() @ up, 0.1, atol=1e-6)
