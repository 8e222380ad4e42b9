"""Blocks that hold each other: an arch against limit analysis, a wedged bar and its many forces."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from clapas.dynamics.births import initial_state
from clapas.dynamics.model import Model
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.state import Impulses, State
from clapas.geometry.shapes import HalfPlane, Polygon
from clapas.scenes.compilation import compile_scene
from clapas.scenes.examples.blocks import stone_arch
from clapas.scenes.recorders import Memory
from clapas.scenes.scene import Scene
from clapas.scenes.simulation import simulate
from clapas.solvers import NSGS
from clapas.typing import Array
from tests.closed_form.runs import EXACT, SINK, History, run

G = 9.81


# -------------------------------------------------------------------- stone arch


def arch_can_stand(model: Model, mu: float, thickness: float) -> bool:
    """Is there any equilibrium with forces inside the cones at the corners of the joints? A linear program.

    Joint j is the radius at the angle πj/n: stone j − 1 is before it, stone j after, and the ground under
    the first and the last.
    """
    n = model.n_bodies - 1
    points, normals = [], []
    for angle in np.pi * np.arange(n + 1) / n:
        for radius in (1.0 - thickness / 2, 1.0 + thickness / 2):
            points.append((radius * math.cos(angle), radius * math.sin(angle)))
            normals.append((-math.sin(angle), math.cos(angle)))
    point, normal = np.array(points), np.array(normals)
    tangent = np.column_stack((normal[:, 1], -normal[:, 0]))
    balance = np.zeros((n, 3, len(point), 2))
    for stone in range(n):
        for joint, sign in ((stone, 1.0), (stone + 1, -1.0)):
            for corner in (2 * joint, 2 * joint + 1):
                arm = point[corner] - model.position[1 + stone]
                for k, axis in enumerate((normal[corner], tangent[corner])):
                    moment = arm[0] * axis[1] - arm[1] * axis[0]
                    balance[stone, :, corner, k] = (sign * axis[0], sign * axis[1], sign * moment)
    weight = np.zeros((n, 3))
    weight[:, 1] = model.mass[1:] / model.mass[1]
    cone = np.kron(np.eye(len(point)), [[-mu, 1.0], [-mu, -1.0]])
    found = linprog(
        np.zeros(2 * len(point)),
        A_ub=cone,
        b_ub=np.zeros(len(cone)),
        A_eq=balance.reshape(3 * n, -1),
        b_eq=weight.ravel(),
        bounds=[(0.0, None), (None, None)] * len(point),
    )
    return bool(found.status == 0)


def least_friction(model: Model, thickness: float) -> float:
    low, high = 0.0, 1.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if arch_can_stand(model, middle, thickness) else (middle, high)
    return high


def test_arch_needs_the_friction_of_limit_analysis() -> None:
    voussoirs, thickness, duration = 15, 0.15, 0.2
    limit = least_friction(compile_scene(stone_arch(voussoirs, thickness)), thickness)
    assert limit == pytest.approx(0.3484, abs=1e-3)
    crown = 1 + voussoirs // 2
    fallen, kinetic = {}, {}
    for share in (0.57, 0.97, 1.04, 2.0):
        scene = stone_arch(voussoirs, thickness, mu=share * limit)
        history = run(scene, duration, 1e-3, solver=NSGS(tol=1e-6, max_iterations=3000), on_unsolved="record")
        fallen[share] = float(np.diff(history.position(crown)[[0, -1], 1])[0])
        kinetic[share] = history.kept[-1].energy.kinetic
    # Below the limit no equilibrium exists and it must fall; above, it settles and rests.
    assert kinetic[0.57] > 10.0
    assert fallen[0.57] < -0.04
    assert kinetic[0.97] > 0.1
    assert kinetic[1.04] < 1e-4  # just above it settles slowly
    assert kinetic[2.0] < 1e-9
    assert fallen[2.0] > -3e-4


def test_too_thin_an_arch_falls_whatever_the_friction() -> None:
    # Heyman 1969: a semicircular arch needs a thickness of 0.107 of its radius.
    assert not arch_can_stand(compile_scene(stone_arch(15, 0.09)), 10.0, 0.09)
    options = {"solver": NSGS(tol=1e-5, max_iterations=3000), "on_unsolved": "record"}
    thin = run(stone_arch(15, 0.09, mu=2.0), 0.2, 1e-3, **options)
    assert thin.kept[-1].energy.kinetic > 0.1


# -------------------------------------------------------------------- wedged bar


def wedge(slope: float, mu: float) -> Scene:
    """A bar between two walls at an angle from the vertical: negative when they converge upward."""
    scene = Scene(d=2, overlap=1e-6)
    scene.law(mu=mu)
    for side in (-1, 1):
        scene.add(HalfPlane((-side * math.cos(slope), math.sin(slope)), -0.5 * math.cos(slope)))
    low, high = (0.5 + SINK + sign * math.tan(slope) * 0.05 for sign in (-1, 1))
    scene.add(Polygon([(-low, -0.05), (low, -0.05), (high, 0.05), (-high, 0.05)]), density=1000)
    return scene


def squeezed(model: Model, force: float, dt: float) -> State:
    """The start, with a horizontal force of each wall already there."""
    start = initial_state(model)
    touching = Neighbours(model).detect(start, 0.0)
    assert len(touching) == 4
    impulse = np.zeros((4, 2))
    impulse[:, 0] = np.sign(touching.normal[:, 0]) * force * dt / 2
    return replace(start, impulses=Impulses(touching.a, touching.b, touching.feature, impulse))


def wedged(slope: float, mu: float, force: float, dt: float = 1e-3) -> History:
    model, memory = compile_scene(wedge(slope, mu)), Memory()
    simulate(model, 0.05, dt, EXACT, recorder=memory, state=squeezed(model, force, dt))
    return History(model, memory.steps)


def test_bar_wedged_by_forces_stays_and_without_them_falls() -> None:
    """Walls that converge upward (Moreau 2003, figure 1): both futures satisfy the same laws."""
    slope, mu = -0.2, 0.5
    weight = 1000 * 0.1 * G  # of a bar 1 m long
    free = wedged(slope, mu, 0.0)
    np.testing.assert_allclose(free.velocity()[:, 1], -G * free.time, rtol=1e-9)
    forces = []
    for force in (3 * weight, 10 * weight):
        held = wedged(slope, mu, force)
        assert np.abs(held.velocity()).max() < 1e-9
        left, right = (held.force(wall, 2, 1e-3) for wall in (0, 1))
        np.testing.assert_allclose(left + right, (0, weight), atol=1e-6 * weight)
        forces.append(left[0])
    # The state of a frictional system includes its forces: they are as it was squeezed.
    assert forces[1] > 2 * forces[0] > 0


def test_bar_slips_out_when_friction_is_below_the_slope() -> None:
    slope = -0.2
    history = wedged(slope, 0.9 * math.tan(-slope), 1e5)
    assert history.velocity()[-1, 1] < -0.1


@pytest.mark.parametrize("mu", [0.0, 0.3])
def test_bar_between_walls_that_converge_downward_rests_on_them(mu: float) -> None:
    dt = 1e-3
    history = run(wedge(0.3, mu), 0.05, dt)
    assert np.abs(history.velocity()).max() < 1e-9
    weight = history.model.mass[2] * G
    left, right = (history.force(wall, 2, dt) for wall in (0, 1))
    np.testing.assert_allclose(left + right, (0, weight), atol=1e-8 * weight)
    if mu == 0.0:
        assert left[0] == pytest.approx(weight / 2 / math.tan(0.3), rel=1e-8)


# -------------------------------------------------------------------- a lever and a ladder


def ladder(slope: float, mu: float) -> Array:
    """Speed after a while of a thin bar leaning on a smooth wall at an angle from the vertical."""
    scene = Scene(d=2, overlap=1e-6)
    scene.material("wall")
    scene.material("bar", density=100)
    scene.law("bar", "default", mu=mu)
    scene.law("bar", "wall", mu=0.0)
    scene.add(HalfPlane())
    scene.add(HalfPlane((1.0, 0.0), 0.0), material="wall")
    half, thin = 0.5, 1e-4
    # Corners of a thin bar: its low left one stands, its high left one leans.
    axis = np.array([-math.sin(slope), math.cos(slope)])
    across = np.array([math.cos(slope), math.sin(slope)])
    corners = np.array([a * half * axis + b * thin * across for a in (-1, 1) for b in (-1, 1)])
    corners -= corners.min(axis=0) + SINK
    scene.add(Polygon(corners), material="bar")
    return run(scene, 0.02, 1e-3).velocity()[-1]


def test_ladder_slips_when_it_leans_too_far() -> None:
    """On a smooth wall a ladder at an angle a from the vertical stands if tan a ≤ 2 mu."""
    mu = 0.4
    limit = math.atan(2 * mu)
    assert np.abs(ladder(limit - 0.01, mu)).max() < 1e-9
    assert np.abs(ladder(limit + 0.01, mu)).max() > 1e-4
