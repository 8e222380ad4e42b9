"""Elastic bodies in scenes: waves in bars, a block that falls, a box that pushes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clapas
from clapas.bodies.elastic.carriers import projected
from clapas.bodies.elastic.generators import bar, block
from clapas.bodies.elastic.kind import ElasticBodies
from clapas.bodies.elastic.materials import Elastic, NeoHookean, VonMises, von_mises
from clapas.bodies.elastic.mesh import Mesh
from clapas.bodies.elastic.solid import Solid
from clapas.bodies.elastic.supports import Support
from clapas.bodies.kind import Part, Span
from clapas.errors import SceneError
from clapas.scenes.compilation import compile_scene
from clapas.solvers import NSGS
from tests.closed_form.runs import History, run

UNIT = Elastic(young=1.0, density=1.0)  # waves of 1 m/s


def bar_of(
    length: float, cells: int, at: float, speed: float, surface: str, skin: float | None = None
) -> ElasticBodies:
    mesh = bar(length, cells, height=0.05)
    solid = Solid(
        mesh=mesh.mapped(mesh.nodes + np.array([at, 0.0])), material=UNIT, kinematics="plane stress"
    )
    return ElasticBodies(solid=solid, velocity=(speed, 0.0), surface=surface, skin=skin)


def mean_velocity(body: ElasticBodies, history: History, part: int = 0) -> np.ndarray:
    m = body.mass.diagonal()[::2]
    return np.array([(m * kept.state.parts[part].v[::2]).sum() / m.sum() for kept in history.kept])


@pytest.mark.parametrize("cells", [10, 20])
def test_a_bar_leaves_the_wall_after_two_lengths_of_its_wave(cells: int) -> None:
    body = bar_of(1.0, cells, 0.0, -0.01, "left")
    scene = clapas.Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.0)
    scene.add(clapas.HalfPlane((1, 0), 0.0))
    scene.add_system(body, name="bar")
    dt = 1.0 / cells
    history = run(scene, 2.6, dt)
    pushed = [s.state.time for s in history.steps if len(s.contacts) and np.abs(s.solution.r).max() > 1e-9]
    assert pushed[0] <= dt * 1.001
    assert pushed[-1] == pytest.approx(2.0, abs=1.6 * dt)  # 2 L / c
    energy = history.energy / history.energy[0]
    # The wall stops the first layer of nodes for good: half a cell of the bar's energy, and nothing else is
    # lost or made.
    assert (np.diff(energy) < 1e-12).all()
    assert 1.0 - 1.5 / cells < energy[-1] < 1.0
    force = [np.abs(s.solution.r[:, 0]).sum() / dt for s in history.steps]
    assert np.mean(force[2 : int(1.8 * cells)]) == pytest.approx(0.01 * 0.05, rel=0.05)  # ρ c v A
    assert mean_velocity(body, history)[-1] == pytest.approx(0.01, rel=1.5 / cells)


def test_the_longer_of_two_bars_goes_on_at_half_its_speed() -> None:
    """Bar 1 of length 1 at v₀ strikes bar 2 of length 2 at rest: they part after 4 l₁/c, bar 1 at rest."""
    cells = 12
    one = bar_of(1.0, cells, 0.0, 0.01, "right", skin=0.01)
    two = bar_of(2.0, 2 * cells, 1.0, 0.0, "left", skin=0.01)
    scene = clapas.Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.0)
    scene.add_system(one, name="one")
    scene.add_system(two, name="two")
    history = run(scene, 4.5, 1.0 / cells)
    first, second = mean_velocity(one, history), mean_velocity(two, history, 1)
    np.testing.assert_allclose(
        one.mass.diagonal().sum() * first + two.mass.diagonal().sum() * second,
        one.mass.diagonal().sum() * 0.01,
        rtol=1e-9,
    )
    assert first[-1] == pytest.approx(0.0, abs=0.0008)
    assert second[-1] == pytest.approx(0.005, abs=0.0004)  # the restitution l₁/l₂ = ½ comes from waves


def test_a_block_falls_and_rests_under_its_weight() -> None:
    rubber = Elastic(young=1e5, poisson=0.3, density=1000.0)
    mesh = block((0.5, 0.3), (5, 3), origin=(0.0, 0.01))
    body = ElasticBodies(solid=Solid(mesh=mesh, material=rubber), damping=(20.0, 1e-3))
    scene = clapas.Scene(d=2)
    scene.law(mu=0.5)
    scene.add(clapas.HalfPlane())
    scene.add_system(body, name="block")
    history = run(scene, 0.8, 4e-3)
    last = history.steps[-1]
    weight = 0.5 * 0.3 * 1000.0 * 9.81
    assert last.solution.r[:, 0].sum() / 4e-3 == pytest.approx(weight, rel=2e-3)
    part = history.kept[-1].state.parts[0]
    assert np.abs(part.v).max() < 1e-3
    u = body.displacements(part)
    foot = mesh.nodes[mesh.group("bottom"), 1] + u[mesh.group("bottom"), 1]
    assert np.abs(foot).max() < 1e-3  # what it moved in the step of its first touch
    assert np.ptp(foot) < 1e-6
    # the mean shortening is that of a column under its own weight, plane strain: ½ ρ g h² (1 − ν²) / E
    top = (u[mesh.group("top"), 1] + 0.01 - foot.mean()).mean()
    assert top == pytest.approx(-0.5 * 1000 * 9.81 * 0.3**2 * (1 - 0.09) / 1e5, rel=0.1)


def test_a_rigid_box_pushes_a_block_along_the_floor() -> None:
    soft = Elastic(young=1e6, poisson=0.3, density=1000.0)
    mesh = block((0.4, 0.2), (4, 2), origin=(0.0, 0.0))
    body = ElasticBodies(solid=Solid(mesh=mesh, material=soft), damping=(5.0, 5e-4))
    scene = clapas.Scene(d=2)
    scene.law(mu=0.2)
    scene.add(clapas.HalfPlane())
    scene.add_system(body, name="block")
    box = scene.add(
        clapas.Polygon.rectangle(0.2, 0.5), position=(-0.1005, 0.2501), velocity=(0.5, 0.0), mass=200.0
    )
    history = run(scene, 0.2, 2e-3, solver=NSGS(tol=1e-6, max_iterations=20_000))
    moved = body.displacements(history.kept[-1].state.parts[0])[:, 0]
    assert moved.min() > 0.02  # the whole block went along
    speeds = history.velocity(box)[:, 0]
    assert 0.0 < speeds[len(speeds) // 2] < 0.5
    speed = speeds[-1]
    assert abs(speed) < 1e-9  # friction on both weights, 280 kg, stops the 100 kg m/s in 0.18 s
    # momentum: what box and block lost together is friction's, at most mu (weights) t
    m = body.mass.diagonal()[::2]
    now = 200.0 * speed + float(m @ history.kept[-1].state.parts[0].v[::2])
    lost = 200.0 * 0.5 - now
    assert 0.0 < lost <= 0.2 * 9.81 * (200.0 + m.sum()) * 0.2 * 1.02


@pytest.mark.parametrize("theta", [0.5, 0.7, 1.0])
def test_the_theta_scheme_is_that_of_the_oscillator(theta: float) -> None:
    """One step of a free vibration against the scheme written out for a mode."""
    solid = Solid(mesh=bar(1.0, 4), material=UNIT, kinematics="plane stress")
    body = ElasticBodies(solid=solid, supports=[Support("left", "xy")], lumped=False)
    K, M = body.stiffness.toarray(), body.mass.toarray()
    from scipy.linalg import eigh

    values, modes = eigh(K, M)
    mode, omega2 = modes[:, 0], values[0]
    h, q, v = 0.3, 0.02, -0.01
    half = body.drift(Part(q * mode, v * mode), (1.0 - theta) * h)
    _, new = body.free(half, Span(0.0, h, theta, np.zeros(2)))
    # v⁺ − v = −h ω² (θ q⁺ + (1 − θ) q),  q⁺ = q + h (θ v⁺ + (1 − θ) v)
    right = v - h * omega2 * (q + theta * (1 - theta) * h * v)
    np.testing.assert_allclose(new, right / (1 + theta**2 * h**2 * omega2) * mode, atol=1e-12)


def test_what_cannot_move_in_a_scene_is_refused() -> None:
    mesh = block((1, 1), (1, 1))
    with pytest.raises(SceneError, match="needs a density"):
        ElasticBodies(solid=Solid(mesh=mesh, material=Elastic(young=1.0)))
    with pytest.raises(SceneError, match="axisymmetric"):
        ElasticBodies(solid=Solid(mesh=mesh, material=UNIT, kinematics="axisymmetric"))
    solid = Solid(mesh=mesh, material=UNIT)
    with pytest.raises(SceneError, match="supports must hold"):
        ElasticBodies(solid=solid, supports=[Support("left", "x", 1.0)])
    with pytest.raises(SceneError, match="velocity must be"):
        ElasticBodies(solid=solid, velocity=(1.0, 2.0, 3.0))
    with pytest.raises(SceneError, match="damping must be two numbers"):
        ElasticBodies(solid=solid, damping=(-1.0, 0.0))
    with pytest.raises(SceneError, match="damping must be two numbers"):
        ElasticBodies(solid=solid, damping=(0.0, np.inf))
    load = np.zeros(8)
    load[3] = np.nan
    with pytest.raises(SceneError, match="load must be finite numbers, got nan at 3"):
        ElasticBodies(solid=solid, load=load)
    with pytest.raises(SceneError, match="skin must be a number, got 'thin'"):
        ElasticBodies(solid=solid, skin="thin")  # type: ignore[arg-type]


# ------------------------------------------------------------------ sides


@pytest.mark.parametrize("shape", ["disk", "corner"])
def test_a_grain_rests_on_a_side_between_its_nodes(shape: str) -> None:
    """One cell 1 m wide: what lies on the middle of its side presses both upper nodes equally."""
    soft = Elastic(young=1e5, poisson=0.0, density=100.0)
    cushion = ElasticBodies(
        solid=Solid(mesh=block((1.0, 0.5), (1, 1)), material=soft, kinematics="plane stress"),
        supports=[Support("bottom", "xy")],
        damping=(20.0, 2e-3),
    )
    scene = clapas.Scene(d=2)
    scene.law(mu=0.5)
    scene.add_system(cushion, name="cushion")
    if shape == "disk":
        grain, height = clapas.Disk(0.1), 0.1
    else:
        grain, height = clapas.Polygon([(0, -0.1), (0.1, 0.1), (-0.1, 0.1)]), 0.1 + 0.1 / 3
    # on its corner only as long as it cannot turn
    guided = {"free": "x y"} if shape == "corner" else {}
    body = scene.add(grain, position=(0.5, 0.6), mass=10.0, **guided)
    history = run(scene, 1.0, 5e-3, solver=NSGS(tol=1e-8, max_iterations=20_000))
    moved = cushion.displacements(history.kept[-1].state.parts[0])[cushion.solid.mesh.group("top")]
    own = 0.5 * 100.0 * 0.5 * 9.81  # half of the weight of the cell is at its upper nodes
    shortened = 0.5 * (10.0 * 9.81 + own) / 1e5
    np.testing.assert_allclose(moved[:, 1], -shortened, rtol=2e-3)
    bottom = history.position(body)[-1, 1] - height - 0.5
    assert bottom == pytest.approx(moved[:, 1].mean(), abs=2e-5)  # on the side, not sunk through it
    assert len(history.steps[-1].contacts) == 1


def test_an_elastic_block_stands_on_another_with_another_mesh() -> None:
    soft = Elastic(young=1e5, poisson=0.0, density=1000.0)
    low = ElasticBodies(
        solid=Solid(mesh=block((1.2, 0.3), (3, 1)), material=soft), supports=[Support("bottom", "xy")]
    )
    high = ElasticBodies(
        solid=Solid(mesh=block((0.8, 0.3), (5, 1), origin=(0.15, 0.3)), material=soft), damping=(30.0, 2e-3)
    )
    scene = clapas.Scene(d=2)
    scene.law(mu=0.5)
    scene.add_system(low, name="low")
    scene.add_system(high, name="high")
    history = run(scene, 0.6, 6e-3, solver=NSGS(tol=1e-7, max_iterations=20_000))
    last = history.steps[-1]
    weight = 0.8 * 0.3 * 1000.0 * 9.81
    assert last.solution.r[:, 0].sum() / 6e-3 == pytest.approx(weight, rel=5e-3)
    tops = low.displacements(history.kept[-1].state.parts[0])[low.solid.mesh.group("top")]
    feet = high.displacements(history.kept[-1].state.parts[1])[high.solid.mesh.group("bottom")]
    x = high.solid.mesh.nodes[high.solid.mesh.group("bottom"), 0]
    under = np.interp(x, low.solid.mesh.nodes[low.solid.mesh.group("top"), 0], tops[:, 1])
    assert (feet[:, 1] - under).min() > -3e-4  # no node has sunk through a side


@pytest.mark.parametrize(("kind", "x"), [("Hex8", 0.5), ("Tet4", 0.502)])
def test_a_ball_rests_on_the_ridge_between_two_sides(kind: str, x: float) -> None:
    """Beside the ridge by less than R sin α the ball projects beyond the edge on both sides."""
    flat = block((1.0, 1.0, 0.5), (2, 1, 1), kind)
    nodes = flat.nodes.copy()
    nodes[flat.group("top"), 2] -= 0.05 * np.abs(nodes[flat.group("top"), 0] - 0.5)
    hard = Elastic(young=1e8, density=1000.0)
    roof = ElasticBodies(
        solid=Solid(mesh=flat.mapped(nodes), material=hard),
        supports=[Support("bottom", "xyz")],
        damping=(20.0, 2e-3),
    )
    scene = clapas.Scene(d=3)
    scene.law(mu=0.5)
    scene.add_system(roof, name="roof")
    ball = scene.add(clapas.Sphere(0.1), position=(x, 0.4, 0.6), mass=1.0, free="z")
    history = run(scene, 0.05, 5e-3)
    assert len(history.steps[-1].contacts) == 1
    fallen = (x - 0.5) ** 2 / (2 * 0.1)  # to the edge, beside the top of the ball
    assert history.position(ball)[-1, 2] == pytest.approx(0.6 - fallen, abs=5e-5)


@pytest.mark.slow
def test_a_ball_rests_on_a_face_in_space() -> None:
    """On the face of a single cell: the contact lies on the triangles, and the top sinks by its mean."""
    soft = Elastic(young=1e5, density=100.0)
    cushion = ElasticBodies(
        solid=Solid(mesh=block((1.0, 1.0, 0.5), (1, 1, 1), "Tet4"), material=soft),
        supports=[Support("bottom", "xyz")],
        damping=(40.0, 5e-3),
    )
    scene = clapas.Scene(d=3)
    scene.law(mu=0.5)
    scene.add_system(cushion, name="cushion")
    ball = scene.add(clapas.Sphere(0.1), position=(0.6, 0.3, 0.6), mass=10.0)
    history = run(scene, 0.5, 5e-3, solver=NSGS(tol=1e-8, max_iterations=20_000))
    force = history.steps[-1].solution.r[:, 0].sum() / 5e-3
    assert force == pytest.approx(10.0 * 9.81, rel=0.01)
    position = cushion.solid.mesh.nodes + cushion.displacements(history.kept[-1].state.parts[0])
    centre = history.position(ball)[-1]
    triangles = position[cushion.carriers.sides]
    beta, height = projected(np.tile(centre, (len(triangles), 1)), triangles)
    under = (beta.min(axis=1) >= 0.0) & (height > 0.0)
    assert height[under].min() == pytest.approx(0.1, abs=1e-4)


def test_a_body_touches_itself_where_it_is_asked_to() -> None:
    """A fork whose prongs are pressed together: they meet, or pass through each other if nobody asks."""
    whole = block((1.0, 0.3), (10, 3))
    cells = whole.cells["Q4"]
    middle = whole.nodes[cells].mean(axis=1)
    kept = ~((np.abs(middle[:, 1] - 0.15) < 0.06) & (middle[:, 0] > 0.2))
    mesh = Mesh(whole.nodes, {"Q4": cells[kept]}, whole.groups)
    solid = Solid(mesh=mesh, material=NeoHookean(young=1e5, poisson=0.2, density=1000.0))
    slot = []
    for touching in (False, True):
        body = ElasticBodies(
            solid=solid,
            supports=[Support("left", "xy")],
            load=solid.force("top", (0.0, -700.0)) - solid.force("bottom", (0.0, -700.0)),
            damping=(20.0, 1e-3),
        )
        scene = clapas.Scene(d=2, gravity=(0, 0))
        scene.law(mu=0.1)
        scene.add_system(body, name="fork", self_contact=touching)
        history = run(scene, 0.3, 4e-3, solver=NSGS(tol=1e-5, max_iterations=20_000))
        y = (mesh.nodes + body.displacements(history.kept[-1].state.parts[0]))[:, 1]
        upper = np.isclose(mesh.nodes[:, 1], 0.2) & (mesh.nodes[:, 0] > 0.25)
        lower = np.isclose(mesh.nodes[:, 1], 0.1) & (mesh.nodes[:, 0] > 0.25)
        slot.append(float((y[upper] - y[lower]).min()))
    assert slot[0] < -0.02
    assert slot[1] > -5e-3  # what it moved in the step of the impact


# ------------------------------------------------------------------ other materials


def test_rubber_turns_freely_and_keeps_its_energy() -> None:
    """A neo-Hookean square that spins by 5 rad/s: small strains would swell it, here it only turns."""
    rubber = NeoHookean(young=1e6, poisson=0.3, density=1000.0)
    mesh = block((0.4, 0.4), (2, 2), origin=(-0.2, -0.2))
    spin = np.column_stack((-5.0 * mesh.nodes[:, 1], 5.0 * mesh.nodes[:, 0]))
    body = ElasticBodies(solid=Solid(mesh=mesh, material=rubber), velocity=spin)
    scene = clapas.Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.0)
    scene.add_system(body, name="square")
    history = run(scene, 0.62832, 5e-3)  # half a turn
    part = history.kept[-1].state.parts[0]
    position = mesh.nodes + body.displacements(part)
    np.testing.assert_allclose(position, -mesh.nodes, atol=0.02 * 0.4)
    assert history.energy[-1] == pytest.approx(history.energy[0], rel=1e-3)
    m = body.mass.diagonal().reshape(-1, 2)
    v = part.v.reshape(-1, 2)
    turning = (m[:, 0] * (position[:, 0] * v[:, 1] - position[:, 1] * v[:, 0])).sum()
    assert turning == pytest.approx((m * mesh.nodes**2).sum() * 5.0, rel=1e-3)


def test_a_step_of_rubber_in_contact_is_in_balance() -> None:
    """The step ends in balance by the nonlinear forces, contact impulses included."""
    rubber = NeoHookean(young=2e4, poisson=0.3, density=1000.0)
    mesh = block((0.4, 0.2), (4, 2), origin=(0.0, 0.0))
    body = ElasticBodies(solid=Solid(mesh=mesh, material=rubber), velocity=(0.0, -1.0), damping=(1.0, 1e-3))
    scene = clapas.Scene(d=2)
    scene.law(mu=0.3)
    scene.add(clapas.HalfPlane())
    scene.add_system(body, name="block")
    history = run(scene, 0.06, 4e-3)
    before, after = history.kept[-2].state, history.kept[-1]
    step, h = after.stepped, 4e-3
    assert step is not None
    assert len(step.contacts) > 2
    q, v = before.parts[0].q, before.parts[0].v
    q_new, v_new = after.state.parts[0].q, after.state.parts[0].v
    assert np.abs(q_new).max() > 0.01  # far from linear
    frames = body.motion.frames
    assert frames is not None
    seen, mean = frames.at(0.5 * (q + q_new)), 0.5 * (v + v_new)
    force = body.solid.respond(0.5 * (frames.at(q).e + frames.at(q_new).e)).force
    force = seen.to_world(force + 1e-3 * (body.stiffness @ seen.to_frames(mean)))
    force = frames.without_torque(force, seen)
    pushed = np.zeros((mesh.n_nodes, 2))
    impulses = step.state.impulses
    model = compile_scene(scene)
    for k in range(len(impulses.a)):
        sign, own = (1.0, impulses.b[k]) if model.system_of[impulses.b[k]] == 0 else (-1.0, impulses.a[k])
        pushed[body.carriers.nodes[model.carrier_of[own]]] += sign * impulses.impulse[k]
    weight = body.solid.body_force((0.0, -9.81))
    missing = body.mass @ (v_new - v) - h * (weight - body.mass @ mean - force) - pushed.ravel()
    assert np.abs(missing).max() < 1e-6 * np.abs(pushed).max()


def test_a_bar_that_yields_on_a_wall_pushes_less() -> None:
    """Bilinear bar: behind the elastic front σ = S₀, behind the plastic one more by ρ c_p (v − v_y)."""
    E, H, S0, v = 1.0, 0.2, 0.005, 0.01
    material = VonMises(young=E, poisson=0.0, density=1.0, yield_stress=S0, isotropic=H)
    cells = 40
    mesh = bar(1.0, cells, height=0.01)
    body = ElasticBodies(
        solid=Solid(mesh=mesh, material=material, kinematics="plane stress"),
        velocity=(-v, 0.0),
        surface="left",
        sides=False,
    )
    scene = clapas.Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.0)
    scene.add(clapas.HalfPlane((1, 0), 0.0))
    scene.add_system(body, name="bar")
    dt = 1.0 / cells
    history = run(scene, 1.0, dt)
    force = np.array([np.abs(s.solution.r[:, 0]).sum() / dt for s in history.steps])
    slope = E * H / (E + H)
    exact = (S0 + np.sqrt(slope) * (v - S0)) * 0.01
    assert np.mean(force[8:34]) == pytest.approx(exact, rel=0.02)
    assert exact < 0.8 * v * 0.01  # an elastic bar pushes with ρ c v
    part = history.kept[-1].state.parts[0]
    accumulated = body.history(part)[0]["accumulated"].reshape(len(mesh.cells["Q4"]), -1).mean(axis=1)
    reached = mesh.nodes[mesh.cells["Q4"]].mean(axis=1)[:, 0] < np.sqrt(slope) * 1.0
    assert accumulated[reached][2:-4].min() > 0.5 * (v - S0) / np.sqrt(slope) * E / (E + H)
    assert (np.diff(history.energy) < 1e-9).all()  # what flows is lost, nothing is made


def test_a_cell_that_would_be_turned_inside_out_stops_the_run() -> None:
    rubber = NeoHookean(young=1e3, poisson=0.3, density=1000.0)
    body = ElasticBodies(solid=Solid(mesh=block((0.2, 0.2), (2, 2)), material=rubber), velocity=(0.0, -40.0))
    scene = clapas.Scene(d=2)
    scene.law(mu=0.3)
    scene.add(clapas.HalfPlane())
    scene.add_system(body, name="block")
    with pytest.raises(
        clapas.errors.Error, match=r"turned inside out by motion within .* take a shorter time step"
    ):
        run(scene, 0.1, 1e-2)


# ------------------------------------------------------------------ bodies that turn


def spinning(material: Elastic | NeoHookean | VonMises, omega: float, **settings: Any) -> ElasticBodies:
    mesh = block((0.1, 0.05), (4, 2), origin=(-0.05, -0.025))
    spin = omega * np.column_stack((-mesh.nodes[:, 1], mesh.nodes[:, 0]))
    return ElasticBodies(solid=Solid(mesh=mesh, material=material), velocity=spin, **settings)


def spin_of(body: ElasticBodies, part: Part) -> float:
    m, x = body.solid.lumped_mass[::2], body.solid.mesh.nodes + body.displacements(part)
    x, v = x - (m @ x) / m.sum(), part.v.reshape(-1, 2)
    return float(m @ (x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0]))


@pytest.mark.parametrize("law", [Elastic, NeoHookean])
@pytest.mark.filterwarnings("error")
def test_a_steel_block_spins_under_its_centrifugal_stress_alone(law: type) -> None:
    """3° in a step: a mean of positions would be short by 3e-4, and stressed by 60 MPa instead of 0.02."""
    omega, dt = 50.0, 1e-3
    body = spinning(law(young=2e11, poisson=0.3, density=7800.0), omega)
    scene = clapas.Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.0)
    scene.add_system(body, name="steel")
    history = run(scene, 0.04, dt)  # 115°
    stresses = [von_mises(body.readings(kept.state.parts[0])[0]).max() for kept in history.kept]
    # ½ ρ ω² L² in the middle of a bar of half-length L, at most doubled as it comes suddenly
    assert 0.5 * 24375.0 < max(stresses) < 2.0 * 24375.0
    part = history.kept[-1].state.parts[0]
    assert spin_of(body, part) == pytest.approx(spin_of(body, body.start()), rel=1e-10)
    np.testing.assert_allclose(history.energy, history.energy[0], rtol=1e-9)
    x = body.solid.mesh.nodes + body.displacements(part)
    c, s = np.cos(omega * 0.04), np.sin(omega * 0.04)
    exact = body.solid.mesh.nodes @ np.array([[c, s], [-s, c]])
    np.testing.assert_allclose(x, exact, atol=1e-3 * 0.1)  # (h ω)²/12 of the angle


@pytest.mark.parametrize("dt", [1e-5, 1e-3])
@pytest.mark.parametrize(("size", "cells"), [((0.05, 1.0), (1, 20)), ((0.01, 0.01), (6, 6))])
def test_steel_falls_freely(size: tuple[float, float], cells: tuple[int, int], dt: float) -> None:
    """Nothing strains it: rounding of positions times its stiffness must not pass for forces."""
    scene = clapas.Scene(d=2)
    solid = Solid(mesh=block(size, cells), material=Elastic(young=2e11, poisson=0.3, density=7800.0))
    scene.add_system(ElasticBodies(solid=solid, velocity=(1.0, -2.0)), name="bar")
    sim = clapas.Simulation(scene, dt=dt)
    sim.step(20)
    t = 20 * dt
    bodies = sim.model.systems[0].bodies
    assert isinstance(bodies, ElasticBodies)
    moved = bodies.displacements(sim.state.parts[0])
    np.testing.assert_allclose(moved[:, 0], t, rtol=1e-9)
    np.testing.assert_allclose(moved[:, 1], -2.0 * t - 0.5 * 9.81 * t * t, rtol=1e-9)


def test_stresses_are_recorded_along_the_axes_of_the_world() -> None:
    """Stretched along its length and turned upright, it is pulled along y."""
    body = spinning(Elastic(young=1.0, density=1.0), 0.0)
    nodes = body.solid.mesh.nodes
    x = np.column_stack((-nodes[:, 1], 1.01 * nodes[:, 0]))
    part = Part((x - nodes).ravel(), np.zeros(body.n_dof))
    for stress in body.readings(part):
        np.testing.assert_allclose(stress[:, 1], 0.01, rtol=1e-9)
        np.testing.assert_allclose(stress[:, [0, 2, 3]], 0.0, atol=1e-12)
    np.testing.assert_allclose(body.looks(part)[0].values[0], 0.01, rtol=1e-9)
    assert body.energy(part, np.zeros(2)).potential == pytest.approx(0.5 * 0.01**2 * 0.1 * 0.05)


def test_rayleigh_damping_does_not_brake_a_rotation() -> None:
    body = spinning(NeoHookean(young=1e6, poisson=0.3, density=1000.0), 5.0, damping=(0.0, 1e-2))
    scene = clapas.Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.0)
    scene.add_system(body, name="rubber")
    history = run(scene, 0.5, 1e-2)
    last = history.kept[-1].state.parts[0]
    assert spin_of(body, last) == pytest.approx(spin_of(body, body.start()), rel=1e-8)
    assert history.energy[-1] == pytest.approx(history.energy[0], rel=1e-4)


def test_a_block_on_a_hinge_swings_as_a_pendulum() -> None:
    mesh = block((0.4, 0.1), (4, 1))
    hinge = np.flatnonzero((mesh.nodes == 0.0).all(axis=1))
    stiff = Elastic(young=1e9, poisson=0.3, density=1000.0)
    body = ElasticBodies(
        solid=Solid(mesh=mesh.with_group("hinge", hinge), material=stiff), supports=[Support("hinge", "xy")]
    )
    scene = clapas.Scene(d=2)
    scene.law(mu=0.0)
    scene.add_system(body, name="pendulum")
    history = run(scene, 0.2, 1e-3)
    m = body.solid.lumped_mass[::2]
    inertia, centre = m @ (mesh.nodes**2).sum(axis=1), (m @ mesh.nodes) / m.sum()
    part = history.kept[-1].state.parts[0]
    x = mesh.nodes + body.displacements(part)
    fallen = centre[1] - (m @ x)[1] / m.sum()
    speed = np.sqrt(2.0 * m.sum() * 9.81 * fallen / inertia)
    v = body.motion.everywhere(part.v).reshape(-1, 2)
    found = -(m @ (x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0])) / inertia
    assert fallen > 0.1
    assert found == pytest.approx(speed, rel=1e-3)


def test_cells_that_turn_too_far_for_small_strains_are_told_once() -> None:
    """A soft cantilever hangs down: 1 − cos of its angle is no strain of its."""
    soft = Elastic(young=2e4, poisson=0.3, density=1000.0)
    body = ElasticBodies(
        solid=Solid(mesh=block((0.5, 0.05), (10, 1), kind="Q8"), material=soft),
        supports=[Support("left", "xy")],
    )
    scene = clapas.Scene(d=2)
    scene.law(mu=0.0)
    scene.add_system(body, name="shelf")
    text = (
        r"^elastic 'shelf' at t = .* s: a cell of small strain has turned by \d+°: it is stressed by false "
        r"strains of .*\. Take a material of large strain: NeoHookean, or FiniteVonMises where it yields"
    )
    with pytest.warns(UserWarning, match=text) as told:
        clapas.Simulation(scene, dt=1e-2).step(20)
    assert len(told) == 1
    free = ElasticBodies(solid=Solid(mesh=block((0.5, 0.05), (10, 1)), material=soft))
    along, high = (free.solid.mesh.nodes - np.array([0.25, 0.025])).T
    arc = np.column_stack(((1.0 - high) * np.sin(along), 1.0 - (1.0 - high) * np.cos(along)))
    bent = arc - np.column_stack((along, high))
    assert "within the body, beside its own rotation" in (
        free.doubt(Part(bent.ravel(), np.zeros(free.n_dof)), 1e-3) or ""
    )
    rubber = ElasticBodies(solid=Solid(mesh=free.solid.mesh, material=NeoHookean(young=2e4, density=1e3)))
    assert rubber.doubt(Part(bent.ravel(), np.zeros(free.n_dof)), 1e-3) is None


@pytest.mark.parametrize("d", [2, 3])
def test_corners_touch_where_their_nodes_are(d: int) -> None:
    """A rigid box exactly on an elastic block of its own width overlaps nothing, and touches every node."""
    rubber = Elastic(young=1e6, density=1000.0)
    size, cells = (1.0,) * d, (2,) * d
    origin = (0.0,) * d
    body = ElasticBodies(
        solid=Solid(mesh=block(size, cells, origin=origin), material=rubber),
        supports=[Support("bottom", "xyz"[:d])],
    )
    scene = clapas.Scene(d=d, gravity=(0.0,) * (d - 1) + (-1.0,))
    scene.law(mu=0.0)
    scene.add_system(body, name="block")
    shape = clapas.Polygon.rectangle(1.0, 0.5) if d == 2 else clapas.Box((1.0, 1.0, 0.5))
    scene.add(shape, position=(0.5,) * (d - 1) + (1.25,), density=1000.0, name="box")
    simulation = clapas.Simulation(scene, dt=1e-4)
    simulation.step(2)
    gaps = simulation.contacts().gap
    assert len(gaps) == 3 ** (d - 1)
    assert np.abs(gaps).max() < 1e-6 * body.carriers.radius + 1e-8


def test_forces_that_rounding_leaves_out_of_balance_are_judged_by_the_tolerance() -> None:
    """A block five times as stiff as steel, far from the origin: its places are rounded to 1e-14 m or so."""
    stiff = Elastic(young=1e12, poisson=0.3, density=1000.0)
    mesh = block((1.0, 1.0), (2, 2), origin=(100.0, 0.0))
    scene = clapas.Scene(d=2)
    scene.law(mu=0.3)
    scene.add(clapas.HalfPlane())
    scene.add_system(ElasticBodies(solid=Solid(mesh=mesh, material=stiff), damping=(5.0, 0.0)), name="block")
    simulation = clapas.Simulation(scene, solver=NSGS(tol=1e-5), dt=2e-3)
    residuals = []
    for _ in range(5):
        simulation.step()
        assert simulation.last is not None
        residuals.append(simulation.last.solution.residual)
    assert 1e-8 < max(residuals) <= 1e-5
