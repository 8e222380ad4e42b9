"""Systems in coordinates of one's own, alone and among rigid bodies: answers known on paper."""

from __future__ import annotations

import math

import numpy as np
import pytest

import clapas
from clapas.bodies.kind import Span
from clapas.bodies.lagrangian import LagrangianSystem, from_symbols
from clapas.bodies.lagrangian.symbolic import Link
from clapas.errors import SceneError, SettingsError
from clapas.problems import reduce
from clapas.scenes.compilation import compile_scene
from tests.closed_form.runs import History, run

sympy = pytest.importorskip("sympy")
G = 9.81
AUTO = clapas.Auto(tol=1e-10)


def simple_pendulum(angle=1.0, speed=0.0, length=1.0, mass=1.0, radius=0.05, gravity=G):
    a, w = sympy.symbols("a w")
    bob = Link((length * sympy.sin(a), -length * sympy.cos(a)), a, clapas.Disk(radius), "bob")
    return from_symbols(
        coordinates=[a],
        velocities=[w],
        kinetic=mass * (length * w) ** 2 / 2,
        potential=-mass * gravity * length * sympy.cos(a),
        links=[bob],
        q=[angle],
        v=[speed],
    )


def double_pendulum(angles=(2.0, 2.5), ground=None):
    """Cadoux 2009, appendix A: two rods without mass of 1 m, bobs of 1 kg and 2 kg."""
    a, b, u, v = sympy.symbols("a b u v")
    x1, y1 = sympy.sin(a), -sympy.cos(a)
    x2, y2 = x1 + sympy.sin(b), y1 - sympy.cos(b)

    def rate(x):
        return sympy.diff(x, a) * u + sympy.diff(x, b) * v

    kinetic = (rate(x1) ** 2 + rate(y1) ** 2) / 2 + (rate(x2) ** 2 + rate(y2) ** 2)
    return from_symbols(
        coordinates=[a, b],
        velocities=[u, v],
        kinetic=kinetic,
        potential=G * y1 + 2 * G * y2,
        links=[Link((x2, y2), b, clapas.Disk(0.1), "tip")],
        q=angles,
    )


def scene_with(system, mu=0.3, restitution=0.0, gravity=(0, -G), floor=None):
    scene = clapas.Scene(d=2, gravity=gravity)
    scene.law(mu=mu, restitution=restitution)
    if floor is not None:
        scene.add(clapas.HalfPlane(), position=(0, floor))
    scene.add_system(system, name="system")
    return scene


def parts(history: History) -> np.ndarray:
    return np.array([[*kept.state.parts[0].q, *kept.state.parts[0].v] for kept in history.kept])


def test_mass_and_velocity_terms_of_the_double_pendulum():
    """M and N as printed: masses 1 and 2, lengths 1."""
    system = double_pendulum()
    (a, b), (u, v) = (0.4, -0.7), (1.3, -2.1)
    M = [[3.0, 2 * math.cos(a - b)], [2 * math.cos(a - b), 2.0]]
    N = [2 * math.sin(a - b) * v**2, -2 * math.sin(a - b) * u**2]
    np.testing.assert_allclose(system.mass_matrix(np.array([a, b])), M, rtol=1e-14)
    np.testing.assert_allclose(system.inertial_force(np.array([a, b]), np.array([u, v])), N, rtol=1e-12)


def test_velocity_terms_follow_from_the_mass_matrix():
    exact = double_pendulum()
    derived = LagrangianSystem(mass=exact.mass, frames=exact.frames, shapes=exact.shapes, q=exact.q)
    q, v = np.array([0.4, -0.7]), np.array([1.3, -2.1])
    np.testing.assert_allclose(derived.inertial_force(q, v), exact.inertial_force(q, v), rtol=1e-8)
    np.testing.assert_allclose(derived.link_jacobian(q), exact.link_jacobian(q), atol=1e-9)


def test_the_period_of_a_pendulum_is_second_order_in_dt():
    from scipy.special import ellipk

    exact = 4 * math.sqrt(1 / G) * ellipk(math.sin(0.5) ** 2)  # from an angle of 1 rad
    errors = []
    for dt in (4e-3, 2e-3):
        q = parts(run(scene_with(simple_pendulum()), duration=2.5, dt=dt))[:, 0]
        down = np.flatnonzero((q[:-1] > 0) & (q[1:] <= 0))[0]
        up = np.flatnonzero((q[:-1] < 0) & (q[1:] >= 0))[0]
        crossing = [dt * (k + q[k] / (q[k] - q[k + 1])) for k in (down, up)]
        errors.append(abs(2 * (crossing[1] - crossing[0]) - exact))
    assert errors[1] < 1e-5
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.15)


def test_energy_of_a_double_pendulum_in_free_flight():
    """2 000 steps through chaotic motion: the energy stays within 1e-4 of its range and does not drift."""
    energy = run(scene_with(double_pendulum()), duration=2.0, dt=1e-3).energy
    span = 3 * G * 2
    assert np.ptp(energy) < 2e-4 * span
    assert abs(energy[-500:].mean() - energy[:500].mean()) < 1e-4 * span


def test_a_double_pendulum_that_rubs_the_ground_loses_energy_to_it_alone():
    """Cadoux 2009, section 2.1: the tip slides along the floor; the balance closes."""
    history = run(scene_with(double_pendulum((1.2, 1.0)), floor=-1.6), duration=1.5, dt=1e-3, solver=AUTO)
    tip = np.array([kept.state.position[-1, 1] for kept in history.kept])
    assert (tip > -1.6 + 0.1 - 5e-3).all()  # rests on the floor, up to one impact step
    assert (tip < -1.5 + 1e-4).sum() > 200
    work = np.array([kept.work for kept in history.kept])
    balance = history.energy - work
    assert work[-1] < -1.0
    assert np.ptp(balance) < 2e-3 * abs(work[-1])


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_a_pendulum_hits_a_wall(e):
    """At the bottom at speed w its bob meets a vertical wall: w becomes −e w."""
    scene = clapas.Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.0, restitution=e)
    scene.add(clapas.HalfPlane(), position=(0.0505, 0), orientation=math.pi / 2)
    scene.add_system(simple_pendulum(angle=0.0, speed=1.0, gravity=0.0))
    end = run(scene, duration=0.01, dt=1e-3, solver=AUTO).kept[-1].state.parts[0]
    assert end.v[0] == pytest.approx(-e, abs=1e-9)


def test_a_pendulum_strikes_a_free_disk():
    """Equal masses, no friction, restitution 1: the bob stops, the disk takes its velocity."""
    scene = clapas.Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.0, restitution=1.0)
    ball = scene.add(clapas.Disk(0.05), position=(0.1005, -1.0), mass=1.0)
    scene.add_system(simple_pendulum(angle=0.0, speed=1.0, gravity=0.0))
    history = run(scene, duration=0.01, dt=1e-4, solver=AUTO)
    end = history.kept[-1].state
    assert end.parts[0].v[0] == pytest.approx(0.0, abs=1e-4)
    assert end.velocity[ball, 0] == pytest.approx(1.0, abs=1e-4)
    np.testing.assert_allclose(history.energy, 0.5, rtol=1e-7)


def test_the_pendulum_in_one_coordinate_and_with_a_joint_gives_the_same_problem():
    """Cadoux 2009, 2.1.2: W and q of (angle) are those of (x, y) with the rod as a row of J."""
    angle, speed, h = 0.7, 1.1, 1e-3
    system = simple_pendulum(angle, speed)
    scene = scene_with(system, floor=-1.0)
    model = compile_scene(scene, check_overlaps=False)
    s, c = math.sin(angle), math.cos(angle)
    M, v_free = system.free(system.start(), Span(0.0, h, 0.5, model.gravity))
    P = np.array([[c], [s]])  # velocity of the bob per unit of angular velocity
    frame = np.array([[0.0, 1.0], [1.0, 0.0]])
    H = frame @ P
    one = clapas.ContactProblem(M=M, H=H, f=-(M @ v_free), mu=0.5, d=2)
    v = P.ravel() * speed
    free = v + h * np.array([0.0, -G])
    J = np.array([[s, -c]])
    # The rod holds the end velocity perpendicular; centrifugal terms are of second order in h here.
    two = clapas.ContactProblem(M=np.eye(2), H=frame, f=-free, J=J, mu=0.5, d=2)
    np.testing.assert_allclose(reduce(one).W.toarray(), reduce(two).W.toarray(), atol=1e-14)
    np.testing.assert_allclose(one.q, two.q, atol=1e-12)


@pytest.mark.parametrize("dt", [1e-2, 1e-3, 1e-4])
def test_painleves_rod_jams_in_one_step_whatever_the_step(dt):
    """At 60° with mu = 2, pushed into the floor: from −2 to −1.12 m/s, an impact without collision."""
    theta, mass = math.radians(60), 1.0
    inertia = mass / 12  # a rod of 1 m
    rod = LagrangianSystem(
        mass=lambda q: np.diag([mass, mass, inertia]),
        force=lambda q, v, t: np.array([0.0, -mass * G, 0.0]),
        velocity_terms=lambda q, v: np.zeros(3),
        frames=lambda q: (
            [[q[0] - 0.5 * math.cos(q[2]), q[1] - 0.5 * math.sin(q[2])]],
            [[q[2]]],
        ),
        shapes=[(0, clapas.Disk(1e-9))],
        q=[0.0, 0.5 * math.sin(theta) + 1e-9, theta],
        v=[-2.0, 0.0, 0.0],
    )
    scene = scene_with(rod, mu=2.0, floor=0.0)
    state = run(scene, duration=dt, dt=dt, solver=AUTO).kept[-1].state
    assert state.parts[0].v[0] == pytest.approx(-1.12, abs=0.01 + 5 * dt)


def test_a_slider_crank_keeps_its_energy_and_stops_at_a_wall():
    """One coordinate; the slider, at cos a + √(4 − sin² a), meets a wall before its end of stroke."""
    a, w = sympy.symbols("a w")
    x = sympy.cos(a) + sympy.sqrt(4 - sympy.sin(a) ** 2)
    kinetic = (w**2 + (sympy.diff(x, a) * w) ** 2) / 2  # crank of unit inertia, slider of unit mass
    crank = from_symbols(
        coordinates=[a],
        velocities=[w],
        kinetic=kinetic,
        links=[Link((x, 0), 0, clapas.Polygon([(-0.1, -0.1), (0.1, -0.1), (0.1, 0.1), (-0.1, 0.1)]))],
        q=[math.pi],
        v=[2.0],
    )
    free = run(scene_with(crank, gravity=(0, 0)), duration=4.0, dt=4e-3)
    assert np.ptp(free.energy) < 2e-4 * free.energy[0]
    scene = scene_with(crank, gravity=(0, 0), mu=0.0)
    scene.add(clapas.HalfPlane(), position=(2.5, 0), orientation=math.pi / 2)
    stopped = run(scene, duration=4.0, dt=4e-3, solver=AUTO).kept[-1].state
    assert stopped.parts[0].v[0] == pytest.approx(0.0, abs=1e-9)
    assert stopped.position[0, 0] == pytest.approx(2.4, abs=2e-2)


def test_links_pass_through_each_other_unless_told():
    disk = clapas.Disk(0.1)
    system = LagrangianSystem(
        mass=lambda q: np.eye(2),
        frames=lambda q: ([[q[0], 0.0], [q[1], 0.0]], [[0.0], [0.0]]),
        shapes=[(0, disk), (1, disk)],
        q=[0.0, 0.3],
        v=[1.0, -1.0],
    )
    for touch in (False, True):
        scene = clapas.Scene(d=2, gravity=(0, 0))
        scene.law(mu=0.0)
        scene.add_system(system, self_contact=touch)
        v = run(scene, duration=0.3, dt=1e-2).kept[-1].state.parts[0].v
        np.testing.assert_allclose(v, [0.0, 0.0] if touch else [1.0, -1.0], atol=1e-9)


def test_a_link_in_space_falls_on_a_plane_and_lies_there():
    """A free body in 3 + 4 … as translations only: the same as a sphere that cannot turn."""
    system = LagrangianSystem(
        mass=lambda q: 2.0 * np.eye(3),
        force=lambda q, v, t: np.array([0.0, 0.0, -2 * G]),
        frames=lambda q: ([q], [[1.0, 0.0, 0.0, 0.0]]),
        shapes=[(0, clapas.Box((0.2, 0.2, 0.2)))],
        q=[0.0, 0.0, 0.1],
        v=[1.0, 0.0, 0.0],
    )
    scene = clapas.Scene()
    scene.law(mu=0.5)
    scene.add(clapas.Plane())
    scene.add_system(system)
    history = run(scene, duration=0.1, dt=1e-3, solver=AUTO)
    end = history.kept[-1].state.parts[0]
    assert end.q[2] == pytest.approx(0.1, abs=1e-9)
    assert end.v[0] == pytest.approx(1.0 - 0.5 * G * 0.1, abs=1e-9)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"mass": lambda q: np.eye(2)}, "mass(q) must be a (1, 1) matrix, got shape (2, 2)"),
        ({"force": lambda q, v, t: [1.0, 2.0]}, "force(q, v, t) must be 1 numbers, got shape (2,)"),
        ({"velocity_terms": lambda q, v: 0.0}, "velocity_terms(q, v) must be 1 numbers, got shape ()"),
        ({"mass": lambda q: [[-1.0]]}, "mass(q) must be symmetric positive definite"),
        ({"mass": lambda q: [[math.nan]]}, "mass(q) must be finite numbers; at q = [0.0] it is [[nan]]"),
        (
            {"mass": lambda q: [[2.0, 0.5], [-0.5, 2.0]], "q": [0.0, 0.0]},
            "mass(q) must be symmetric; at q = [0.0, 0.0] its entries [0, 1] and [1, 0] are 0.5 and -0.5",
        ),
        ({"v": [1.0, 2.0]}, "q and v must be lists of m numbers each"),
        ({"shapes": [(0, clapas.Disk(0.1))]}, "shapes need links"),
        ({"frames": lambda q: ([0.0], [0.0])}, "frames(q) must give positions (k, d)"),
        (
            {"frames": lambda q: ([[0.0, 0.0]], [[0.0]]), "shapes": [(2, clapas.Disk(0.1))]},
            "a shape is on link 2, but frames(q) has 1 links",
        ),
    ],
)
def test_what_is_wrong_is_said(change, text):
    with pytest.raises(SceneError) as caught:
        LagrangianSystem(**({"mass": lambda q: [[1.0]], "q": [0.0]} | change))
    assert text in str(caught.value)


@pytest.mark.parametrize("d", [2, 3])
def test_a_system_without_links_moves_in_scenes_of_any_dimension(d):
    """1 kg on a spring of 1 N/m: q = cos t. By midpoint steps q = cos ωt with ω = (2/h) asin(h/2)."""
    scene = clapas.Scene(d=d)
    scene.add_system(
        LagrangianSystem(mass=lambda q: [[1.0]], force=lambda q, v, t: -q, q=[1.0]), name="spring"
    )
    h = 1e-2
    q, v = parts(run(scene, duration=1.0, dt=h))[-1]
    omega = 2.0 / h * math.asin(h / 2.0)
    assert q == pytest.approx(math.cos(omega), abs=1e-12)
    assert v == pytest.approx(-math.sin(omega) / math.sqrt(1.0 - h * h / 4.0), abs=1e-12)
    assert q == pytest.approx(math.cos(1.0), abs=h * h / 12)


def test_scenes_with_systems_refuse_what_does_not_reach_them():
    scene = clapas.Scene(d=2)
    scene.law(mu=0.5, rolling=0.01)
    scene.add_system(simple_pendulum())
    with pytest.raises(SceneError, match="rolling or spinning resistance do not reach systems"):
        compile_scene(scene)
    scene = scene_with(simple_pendulum())
    with pytest.raises(SceneError, match="made of Python functions, which no file can hold"):
        scene.to_dict()
    with pytest.raises(SceneError, match="names are unique"):
        scene.add_system(simple_pendulum(), name="system")
    with pytest.raises(SettingsError, match="cannot sleep yet"):
        run(scene, duration=0.1, dt=0.01, sleeping=clapas.Sleeping())
    with pytest.raises(SceneError, match="its links are in 2-D, the scene is in 3-D"):
        clapas.Scene().add_system(simple_pendulum())
    a, w, k = sympy.symbols("a w k")
    with pytest.raises(SceneError, match="symbols without a value: k"):
        from_symbols(coordinates=[a], velocities=[w], kinetic=k * w**2, q=[0.0])


def test_a_body_in_euler_angles_turns_as_one_with_a_quaternion():
    """Free rotation of an uneven body, away from gimbal lock: they differ by an error of second order."""
    from clapas.bodies.lagrangian import euler_body
    from clapas.bodies.lagrangian.euler import angular_rates

    moments, q = (0.02, 0.05, 0.06), np.array([0.0, 0.0, 0.0, 0.3, 0.2, -0.1])
    spin = np.array([1.0, 0.6, -0.5])  # in the body frame
    v = np.concatenate(([0.1, 0.0, 0.2], np.linalg.solve(angular_rates(q), spin)))
    apart = []
    for dt in (2e-2, 1e-2):
        scene = clapas.Scene(gravity=(0, 0, 0))
        scene.law(mu=0.3)
        system = euler_body(1.5, moments, q=q, v=v, gravity=(0, 0, 0), shape=clapas.Box((0.1, 0.1, 0.1)))
        scene.add_system(system, name="angles")
        start = system.poses(system.start())
        from clapas.geometry.rotations import rotate

        scene.add(
            clapas.Box((0.1, 0.1, 0.1)), (5, 0, 0), start.orientation[0], velocity=v[:3], mass=1.5,
            angular_velocity=rotate(start.orientation[0], spin), inertia=moments,
        )  # fmt: skip
        state = run(scene, duration=0.4, dt=dt).kept[-1].state
        np.testing.assert_allclose(state.position[0], state.position[1] - [5, 0, 0], atol=1e-12)
        apart.append(min(np.linalg.norm(state.orientation[0] - s * state.orientation[1]) for s in (1, -1)))
    assert apart[1] < 1e-4
    assert apart[0] / apart[1] == pytest.approx(4.0, rel=0.3)


def test_gimbal_lock_is_reported():
    from clapas.bodies.lagrangian import euler_body

    system = euler_body(
        1.0, (1.0, 1.0, 1.0), q=[0] * 6, v=[0, 0, 0, 0, 1.0, 0], gravity=(0, 0, 0), shape=clapas.Sphere(0.1)
    )
    scene = clapas.Scene(gravity=(0, 0, 0))
    scene.law(mu=0.3)
    scene.add_system(system)
    with pytest.raises(SceneError, match=r"Euler angles fail at a pitch of (89|90)\.\d\d° \(gimbal lock\)"):
        run(scene, duration=2.0, dt=math.pi / 200)


def skate(dt, duration):
    """A sleigh on a blade, its centre above it (Chaplygin): x, y and heading; it does not slip aside."""
    sleigh = LagrangianSystem(
        mass=lambda q: np.diag([2.0, 2.0, 0.1]),
        velocity_terms=lambda q, v: np.zeros(3),
        constraints=lambda q: [[-math.sin(q[2]), math.cos(q[2]), 0.0]],
        frames=lambda q: ([[q[0], q[1]]], [[q[2]]]),
        shapes=[(0, clapas.Disk(0.05))],
        q=[0.0, 0.0, 0.0],
        v=[1.5, 0.0, 0.8],
    )
    return parts(run(scene_with(sleigh, gravity=(0, 0)), duration=duration, dt=dt))


def test_a_skate_goes_round_in_a_circle_at_constant_speed():
    """A constraint that is not holonomic, by a multiplier: speed and spin stay, the path is a circle."""
    errors = []
    for dt in (4e-2, 2e-2):
        end = skate(dt, 4.0)[-1]
        x, y, angle, u, w, rate = end
        assert rate == pytest.approx(0.8, abs=1e-12)
        assert -math.sin(angle) * u + math.cos(angle) * w == pytest.approx(0.0, abs=1e-12)
        assert math.hypot(u, w) == pytest.approx(1.5, rel=1e-4)
        radius = 1.5 / 0.8
        exact = radius * math.sin(3.2), radius * (1.0 - math.cos(3.2))
        errors.append(math.hypot(x - exact[0], y - exact[1]))
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.2)


def test_a_skate_stops_at_a_wall_and_multipliers_share_the_load():
    scene = clapas.Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.0)
    scene.add(clapas.HalfPlane(), position=(0.5, 0), orientation=math.pi / 2)
    sleigh = LagrangianSystem(
        mass=lambda q: np.diag([2.0, 2.0, 0.1]),
        constraints=lambda q: [[-math.sin(q[2]), math.cos(q[2]), 0.0]],
        frames=lambda q: ([[q[0], q[1]]], [[q[2]]]),
        shapes=[(0, clapas.Disk(0.05))],
        q=[0.0, 0.0, 0.5],
        v=[math.cos(0.5), math.sin(0.5), 0.0],
    )
    scene.add_system(sleigh)
    end = run(scene, duration=1.0, dt=1e-2, solver=AUTO).kept[-1].state.parts[0]
    np.testing.assert_allclose(end.v, 0.0, atol=1e-9)  # it can only go along its blade
    assert end.q[0] == pytest.approx(0.45, abs=2e-2)


def test_constraints_are_checked():
    given = {"mass": lambda q: np.eye(2), "q": [0.0, 0.0]}
    with pytest.raises(SceneError, match=r"constraints\(q\) must be rows of 2 numbers, got shape \(1, 3\)"):
        LagrangianSystem(**given, constraints=lambda q: [[1.0, 0.0, 0.0]])
    with pytest.raises(SceneError, match=r"v at the start does not obey the constraints: A v = \[1.0\]"):
        LagrangianSystem(**given, v=[1.0, 0.0], constraints=lambda q: [[1.0, 0.0]])
    with pytest.raises(SceneError, match=r"constraints\(q\) must be finite numbers; at q = \[0.0, 0.0\]"):
        LagrangianSystem(**given, constraints=lambda q: [[math.nan, 0.0]])


def test_constraints_that_fail_later_are_refused_where_they_do():
    """The row is 0/0 past q₀ = 0.3, which the system reaches at 1 m/s."""
    system = LagrangianSystem(
        mass=lambda q: np.eye(2),
        constraints=lambda q: [[0.0, 1.0 if q[0] < 0.3 else math.nan]],
        q=[0.0, 0.0],
        v=[1.0, 0.0],
    )
    with pytest.raises(SceneError, match=r"constraints\(q\) must be finite numbers; at q = \[0\.3"):
        run(scene_with(system, gravity=(0, 0)), duration=1.0, dt=0.02)


def test_mass_matrices_that_rounding_alone_makes_uneven_are_taken():
    """Kilograms beside kg·m² of 1e-6: the tolerance goes by the units of each entry."""
    M = np.array([[1.0, 1e-4], [1e-4 * (1 + 1e-12), 1e-6]])
    system = LagrangianSystem(mass=lambda q: M, q=[0.0, 0.0])
    np.testing.assert_array_equal(system.mass_matrix(np.zeros(2)), system.mass_matrix(np.zeros(2)).T)
    with pytest.raises(SceneError, match="must be symmetric"):
        LagrangianSystem(mass=lambda q: [[1.0, 1e-6], [2e-6, 1e-6]], q=[0.0, 0.0])


def test_a_pole_on_a_cart_falls_against_a_wall():
    """Cart–pole: the tip meets a wall, and the cart, held by nothing, backs away under it."""
    x, a, u, w = sympy.symbols("x a u w")
    tip = (x + sympy.sin(a), sympy.cos(a))
    speed = [sum(sympy.diff(c, s) * r for s, r in ((x, u), (a, w))) for c in tip]
    cart = from_symbols(
        coordinates=[x, a],
        velocities=[u, w],
        kinetic=2 * u**2 / 2 + (speed[0] ** 2 + speed[1] ** 2) / 2,
        potential=G * tip[1],
        links=[Link(tip, a, clapas.Disk(0.05), "tip"), Link((x, 0), 0, clapas.Disk(0.05), "cart")],
        q=[0.0, 0.1],
    )
    scene = scene_with(cart, mu=0.0)
    scene.add(clapas.HalfPlane(), position=(0.5, 0), orientation=math.pi / 2)
    history = run(scene, duration=0.9, dt=5e-3, solver=AUTO)
    reach = np.array([kept.state.position[0, 0] for kept in history.kept])
    assert reach.max() < 0.45 + 2e-2  # the wall holds the tip
    assert (reach > 0.45 - 1e-4).sum() > 5
    balance = history.energy - np.array([kept.work for kept in history.kept])
    assert np.ptp(balance) < 5e-3 * G
    x, a, u, w = parts(run(scene_with(cart, mu=0.0), duration=0.4, dt=5e-3)).T
    np.testing.assert_allclose(3.0 * u + np.cos(a) * w, 0.0, atol=1e-3)  # no horizontal force


def test_a_pinned_body_in_one_coordinate_and_in_three_with_two_rows_gives_the_same_problem():
    """Cadoux 2009, 2.1.2: W and q of a pendulum in its angle, and in x, y, angle with two rows of its pin."""
    from clapas.dynamics.births import initial_state
    from clapas.dynamics.stepping import step

    angle, h, own = 0.6, 1e-3, 0.5 * 0.1**2
    s, c = math.sin(angle), math.cos(angle)
    scene = clapas.Scene(d=2, overlap=1.0)
    scene.law(mu=0.5)
    scene.add(clapas.HalfPlane(), position=(0, -c - 0.1))
    scene.add(clapas.Disk(0.1), (s, -c), mass=1.0)
    scene.join("pin", 1, at=(0, 0))
    model = compile_scene(scene)
    done = step(model, initial_state(model), h, AUTO)
    three = done.problem.problem
    assert three.n_contacts == 1
    # In its angle: the point of the disk that touches turns about the pivot.
    arm = np.array([s, -c - 0.1])
    P = np.array([[-arm[1]], [arm[0]]])
    normal = done.problem.frame[0]
    sign = 1.0 if done.contacts.b[0] == 1 else -1.0
    M = np.array([[1.0 + own]])
    v = -h * G * s / (1.0 + own)
    one = clapas.ContactProblem(M=M, H=sign * normal @ P, f=-(M @ [v]), mu=0.5, d=2)
    np.testing.assert_allclose(three.W.toarray(), reduce(one).W.toarray(), atol=1e-13)
    np.testing.assert_allclose(three.q, one.q, atol=1e-7)  # up to b, of second order in h


def test_a_slider_crank_with_clearance_strikes_its_guide_and_loses_energy_there_alone():
    """The piston is a free body pinned to the rod, with 1 mm of clearance between the walls of its guide."""
    from clapas.dynamics.births import initial_state
    from clapas.dynamics.stepping import step
    from clapas.scenes.simulation import energy

    scene = clapas.Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.0)
    gap, half = 1e-3, 0.1
    rail = clapas.Polygon([(-0.6, -0.1), (0.6, -0.1), (0.6, 0.1), (-0.6, 0.1)])
    for side in (-1.0, 1.0):
        scene.add(rail, (2.1, side * (half + gap + 0.1)), fixed=True)
    piston = clapas.Polygon([(-0.15, -half), (0.15, -half), (0.15, half), (-0.15, half)])
    # Crank and rod move in planes of their own: small disks, off the guide, with the moments of bars.
    scene.add(clapas.Disk(0.01), (0.15, 0), (0), (0, 0.45), 3.0, mass=1.0, inertia=0.3**2 / 12, name="crank")
    scene.add(clapas.Disk(0.01), (1.3, 0), (0), (0, 0.45), -0.45, mass=0.5, inertia=0.5 * 4 / 12, name="rod")
    scene.add(piston, (2.3, 0), mass=1.0, name="piston")
    scene.join("pin", "crank", at=(0, 0))
    scene.join("pin", "crank", "rod", at=(0.3, 0))
    scene.join("pin", "rod", "piston", at=(2.3, 0))
    model = compile_scene(scene)
    state = initial_state(model)
    touched, start, lost = 0, sum(energy(model, state)), 0.0
    for _ in range(100):
        done = step(model, state, 5e-3, AUTO)
        state, lost = done.state, lost + done.work
        touched += len(done.contacts) > 0
        assert done.work < 1e-9
    assert touched > 5
    assert abs(state.position[4, 1]) < gap + 1e-3
    assert abs(state.velocity[4, 0]) > 0.3  # it slides in its guide
    assert lost < 0.0
    assert sum(energy(model, state)) == pytest.approx(start + lost, rel=1e-3)
