"""Bodies that pivot, roll and jam: ladders, pencils, spinning disks, wedges, rollers; answers on paper."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from clapas.dynamics.motions import Oscillation
from clapas.geometry import rotations
from clapas.geometry.shapes import Clump, Cylinder, Disk, HalfPlane, Plane, Polygon, Sphere
from clapas.scenes.scene import Scene
from clapas.typing import Array
from tests.closed_form.runs import SINK, run
from tests.closed_form.test_rigid_experiments import flat, rectangle

G = 9.81
TILT = 0.6  # of Euler's disk (rad)


def test_a_block_drifts_down_a_floor_that_shakes_across() -> None:
    """Below the angle of friction: where the floor slides across, friction holds less along the slope."""
    slope, mu, motion, duration = 0.2, 0.5, Oscillation(0.05, 10.0, (0, 1, 0)), 0.3
    scene = Scene((G * np.sin(slope), 0, -G * np.cos(slope)), overlap=1e-6)
    scene.law(mu=mu)
    scene.add(Plane(), motion=motion)
    scene.add(Sphere(0.1), (0, 0, 0.1 - SINK), mass=1.0, inertia=(1e9, 1e9, 1e9))

    def rate(t: float, v: Array) -> Array:
        slip = v - motion(t)[0][:2]
        return G * np.array([np.sin(slope), 0.0]) - mu * G * np.cos(slope) * slip / np.linalg.norm(slip)

    exact = solve_ivp(rate, (0, duration), (0.0, 0.0), rtol=1e-9, atol=1e-10, max_step=1e-3).y[:, -1]
    found = run(scene, duration, 1e-3).velocity()[-1, :2]
    assert exact[0] > 0.1
    np.testing.assert_allclose(found, exact, atol=0.02 * exact[0])


def test_a_smooth_ladder_leaves_the_wall_at_two_thirds_of_its_height() -> None:
    """At sin θ = (2/3) sin θ₀; from then on its speed away from the wall stays."""
    length, start = 1.0, np.pi / 3
    sine = np.sin(start)
    scene = flat(0.0)
    scene.add(HalfPlane((1, 0)), name="wall")
    ladder = Polygon([(-length / 2, 0), (0, -1e-3), (length / 2, 0), (0, 1e-3)])
    middle = 0.5 * length * np.array([np.cos(start), sine])
    scene.add(ladder, middle - SINK, orientation=-start, mass=1.0, inertia=length**2 / 12)
    history = run(scene, 0.56, 2e-3)
    touches = [bool(np.any(step.contacts.a == 1)) for step in history.steps]
    last = max(k for k, touching in enumerate(touches) if touching)
    angle = -history.kept[last].state.orientation[-1, 0]
    assert np.sin(angle) == pytest.approx(2 / 3 * sine, rel=0.03)
    speed = length / 3 * sine * np.sqrt(G / length * sine)
    assert history.velocity()[-1, 0] == pytest.approx(speed, rel=5e-3)


@pytest.mark.parametrize(("mu", "onset", "direction"), [(0.3, 0.42, -1.0), (0.5, 0.91, 1.0)])
def test_the_foot_of_a_falling_pencil_slips_back_or_forward(
    mu: float, onset: float, direction: float
) -> None:
    """Back below mu = 0.37, at 24°; forward above, at 52°; it does not slip before.

    From rest upright, φ̇² = 3 g (1 − cos φ)/L; the ratio of the forces at the foot,
    sin φ (9 cos φ − 6)/(3 cos φ − 1)², has its largest value 0.37 at 35°.
    """
    length, begin = 1.0, onset - 0.1
    spin = np.sqrt(3 * G * (1 - np.cos(begin)) / length)
    scene = flat(mu)
    pencil = Polygon([(-1e-3, 0), (0, -length / 2), (1e-3, 0), (0, length / 2)])
    arm = 0.5 * length * np.array([np.sin(begin), np.cos(begin)])
    scene.add(
        pencil,
        arm - (0, SINK),
        orientation=-begin,
        velocity=(spin * arm[1], -spin * arm[0]),
        angular_velocity=-spin,
        mass=1.0,
        inertia=length**2 / 12,
    )
    history = run(scene, 0.25, 5e-4)
    angle = -np.array([kept.state.orientation[-1, 0] for kept in history.kept])
    foot = history.position()[:, 0] - 0.5 * length * np.sin(angle)
    before, after = int(np.argmax(angle > onset - 0.02)), int(np.argmax(angle > onset + 0.2))
    assert 0 < before < after
    assert abs(foot[before]) < 1e-4
    assert direction * foot[after] > 2e-4


def eulers_disk(steps: int) -> tuple[float, float]:
    """Tilt and turn, after a quarter, of a disk that rolls with its centre at rest: Ω² = 4 g/(a sin θ)."""
    a, tilt, thickness = 0.1, TILT, 1e-5
    rate = np.sqrt(4 * G / (a * np.sin(tilt)))
    turn = rotations.from_axis_angle((0, 1, 0), tilt)
    down = np.array([np.cos(tilt), 0.0, -np.sin(tilt)])
    scene = Scene((0, 0, -G), overlap=1e-6)
    scene.law(mu=1.0)
    scene.add(Plane())
    scene.add(
        Cylinder(a, thickness),
        (0, 0, a * np.sin(tilt) + thickness / 2 * np.cos(tilt) - 1e-7),
        orientation=turn,
        angular_velocity=-rate * np.sin(tilt) * down,
        mass=1.0,
        inertia=(a**2 / 4, a**2 / 4, a**2 / 2),
    )
    duration = 0.5 * np.pi / rate
    history = run(scene, duration, duration / steps)
    state = history.kept[-1].state
    own = np.eye(3)[int(np.argmax(history.model.inertia[-1]))]
    axis = rotations.rotate(state.orientation[-1], own)
    axis = axis * np.sign(axis[2])
    return float(np.arccos(axis[2])), float(np.arctan2(axis[1], axis[0]))


def test_eulers_disk_turns_in_place() -> None:
    """Tilt and rate are those of the formula, with an error of first order in the step and nothing else.

    Rolling is prescribed where the rim touches in the middle of a step, and the disk goes on with that until
    the middle of the next (see docs/computation.md). So half the step halves the error,
    and twice the one answer less the other has none of first order left.
    """
    exact = TILT, np.pi / 2
    coarse, fine = eulers_disk(60), eulers_disk(120)
    for value, better, true in zip(coarse, fine, exact, strict=True):
        assert better == pytest.approx(true, rel=1e-2)
        assert (value - true) / (better - true) == pytest.approx(2.0, rel=0.03)
        assert 2.0 * better - value == pytest.approx(true, rel=3e-4)


@pytest.mark.parametrize(("mu", "d", "share"), [(0.0, 2, 2 / 3), (20.0, 2, 4 / 7), (20.0, 3, 10 / 17)])
def test_a_ball_leaves_a_dome(mu: float, d: int, share: float) -> None:
    """At cos θ = s cos θ₀: s = 2/(3 + k) with inertia k m r² if it rolls, 2/3 if it slides.

    The speed along x stays after: v² = 2 g ρ (1 − s) cos θ₀/(1 + k), times s cos θ₀.
    """
    R, r, start = 1.0, 0.1, 0.3
    k = 0.0 if mu == 0.0 else {2: 0.5, 3: 0.4}[d]
    assert share == pytest.approx(2 / (3 + k))
    up = np.zeros(d)
    up[0], up[-1] = np.sin(start), np.cos(start)
    gravity = np.zeros(d)
    gravity[-1] = -G
    scene = Scene(gravity, d=d, overlap=1e-6)
    scene.law(mu=mu)
    round_ = Disk if d == 2 else Sphere
    scene.add(round_(R), np.zeros(d), fixed=True)
    scene.add(round_(r), (R + r - SINK) * up, mass=1.0)
    history = run(scene, 0.85, 2e-3)
    cosine = share * np.cos(start)
    v = np.sqrt(2 * G * (R + r) * (np.cos(start) - cosine) / (1 + k))
    assert len(history.steps[-1].contacts) == 0
    assert history.velocity()[-1, 0] == pytest.approx(v * cosine, rel=1e-2)


@pytest.mark.parametrize("share", [0.98, 1.02])
def test_a_squeezed_wedge_locks_itself_above_the_tangent_of_half_its_angle(share: float) -> None:
    angle, length = 0.6, 0.4
    half = angle / 2
    width = length * np.tan(half)
    scene = Scene((0, 0), d=2, overlap=1e-6)
    scene.law(mu=share * np.tan(half))
    wedge = Polygon([(0, -2 * length / 3), (width, length / 3), (-width, length / 3)])
    scene.add(wedge, (0, 0), mass=1.0)
    for side in (-1.0, 1.0):
        out = side * np.array([np.cos(half), 0.0]) + np.array([0.0, -np.sin(half)])
        face = np.array([side * width / 2, -length / 6])  # middle of a flank
        scene.add(
            rectangle(0.1, 0.2),
            face + (0.05 - SINK) * out,
            orientation=-side * half,
            mass=1.0,
            free="x",
            force=(-100.0 * side, 0.0),
        )
    speed = run(scene, 0.02, 1e-3).velocity(0)[-1, 1]
    if share > 1.0:
        assert abs(speed) < 1e-9
    else:
        assert speed > 1e-3


def test_an_eccentric_roller_swings_with_the_period_of_its_offset() -> None:
    """T = 2π sqrt((I + m (R − e)²)/(m g e)) for small swings."""
    R, e, inertia, swing = 0.1, 0.03, 0.004, 0.02
    scene = flat(1.0)
    # The centre of mass hangs e below the centre of the disk, turned by the swing.
    place = (e * np.sin(swing), R - e * np.cos(swing) - SINK)
    scene.add(Clump([(Disk(R), (0, e))]), place, orientation=swing, mass=1.0, inertia=inertia, centre=(0, 0))
    period = 2 * np.pi * np.sqrt((inertia + (R - e) ** 2) / (G * e))
    history = run(scene, period, period / 400)
    angle = np.array([kept.state.orientation[-1, 0] for kept in history.kept])
    crossings = np.flatnonzero(np.diff(np.sign(angle)))
    times = [history.time[k] + angle[k] / (angle[k] - angle[k + 1]) * period / 400 for k in crossings]
    assert 2 * (times[1] - times[0]) == pytest.approx(period, rel=1e-3)
    assert angle[-1] == pytest.approx(swing, rel=1e-2)


def test_a_plank_on_rollers_is_slower_by_three_eighths_of_their_mass() -> None:
    """Rollers go at half its speed: M v²/2 + Σ m (v/2)²/2 + m R²/2 (v/2R)²/2."""
    M, m, R, force, duration = 2.0, 1.0, 0.1, 3.0, 0.2
    scene = flat(1.0)
    for x in (-0.3, 0.3):
        scene.add(Disk(R), (x, R - SINK), mass=m)
    scene.add(rectangle(1.0, 0.05), (0, 2 * R + 0.025 - 2 * SINK), mass=M, force=(force, 0))
    history = run(scene, duration, 2e-3)
    expected = force / (M + 2 * 3 / 8 * m) * duration
    assert history.velocity(3)[-1, 0] == pytest.approx(expected, rel=1e-6)
    assert history.velocity(1)[-1, 0] == pytest.approx(expected / 2, rel=1e-6)


@pytest.mark.parametrize("d", [2, 3])
def test_wheels_pressed_together_come_to_one_speed_of_their_rims(d: int) -> None:
    """R₁ ω₁ = −R₂ ω₂ at the end, and I₁ Δω₁/R₁ = I₂ Δω₂/R₂, both from one force."""
    R, I, spins = (0.2, 0.1), (0.04, 0.01), (45.0, 0.0)
    scene = Scene((0.0,) * d, d=d, overlap=1e-6)
    scene.law(mu=0.5)
    up = np.zeros(d)
    up[1] = 1.0
    for k, (radius, inertia, spin) in enumerate(zip(R, I, spins, strict=True)):
        scene.add(
            Disk(radius) if d == 2 else Sphere(radius),
            -k * (sum(R) - SINK) * up,
            mass=1.0,
            inertia=inertia if d == 2 else (inertia,) * 3,
            free="r" if d == 2 and k == 0 else "y r" if d == 2 else "rz" if k == 0 else "y rz",
            angular_velocity=spin if d == 2 else (0, 0, spin),
            force=100.0 * k * up,
        )
    history = run(scene, 0.3, 1e-3)
    found = [history.velocity(k)[-1, 2 if d == 2 else 5] for k in (0, 1)]
    pull = spins[0] * R[0] / (R[0] ** 2 / I[0] + R[1] ** 2 / I[1])
    expected = (spins[0] - pull * R[0] / I[0], -pull * R[1] / I[1])
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("share", [0.99, 1.01])
def test_a_disk_climbs_a_step_above_a_force(share: float) -> None:
    """F = m g sqrt(R² − (R − h)²)/(R − h), at its centre."""
    R, h = 0.2, 0.06
    scene = flat(2.0)
    arm = np.sqrt(R**2 - (R - h) ** 2)
    scene.add(rectangle(0.4, h), (arm + 0.2 - SINK, h / 2), fixed=True)
    force = share * G * arm / (R - h)
    scene.add(Disk(R), (0, R - SINK), mass=1.0, force=(force, 0))
    history = run(scene, 0.1, 1e-3)
    rise = history.position()[-1, 1] - history.position()[0, 1]
    assert (rise > 1e-5) == (share > 1.0)
    assert rise > -1e-8
