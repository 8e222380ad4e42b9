"""Every measure against its twin: plane and space, walls, periodic flow, clumps, cohesion, rolling."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from clapas.analysis import Instant
from clapas.analysis.cells import cell_volumes, owners, packing_fraction
from clapas.analysis.distributions import (
    force_distribution,
    friction_distribution,
    mobilised_friction,
    slip_distribution,
    slip_velocities,
)
from clapas.analysis.energy import energy_balance
from clapas.analysis.network import chains, strong
from clapas.analysis.stress import box_stress, grain_stresses, stress_field
from clapas.analysis.structure import anisotropy, coordination, directions, fabric
from clapas.analysis.volumes import body_volumes
from clapas.dynamics.probes import OF_BODIES, OF_CONTACTS
from clapas.geometry.shapes import Box, Clump, HalfPlane, Plane, Sphere
from clapas.io.recording import Recording
from clapas.io.simulation import simulate
from clapas.scenes.regions import BoxRegion
from clapas.scenes.scene import Scene
from clapas.solvers import NSGS
from clapas.viewer.frames import forces, mean_pressure, middles
from tests.unit.analysis.twins import Raw

DT, STEPS = 2e-3, 60
BODY = 7  # a grain in all scenes
PROBED = (*OF_BODIES, *OF_CONTACTS)


def disks_between_walls() -> Scene:
    scene = Scene(d=2, gravity=(3.0, -30.0), seed=1)
    scene.law(mu=0.4)
    scene.add(HalfPlane())
    scene.add(HalfPlane((1, 0), 0.0))
    scene.add(HalfPlane((-1, 0), -0.6))
    scene.fill(BoxRegion((0, 0), (0.6, 0.9)), 40, radius=(0.03, 0.05), density=1000)
    return scene


def disks_in_a_periodic_strip() -> Scene:
    scene = Scene(d=2, gravity=(0.0, -30.0), period=(0.5, None), seed=2)
    scene.law(mu=0.3, rolling=0.005)
    scene.add(HalfPlane())
    scene.fill(BoxRegion((0, 0), (0.5, 1.0)), 30, radius=(0.03, 0.05), density=1000, velocity=(15.0, 0.0))
    return scene


def spheres_on_a_box() -> Scene:
    scene = Scene(gravity=(0, 0, -30.0), seed=3)
    scene.law(mu=0.4, cohesion=0.3)
    scene.add(Box((2, 2, 0.2)), (0.0, 0.0, -0.1), fixed=True)
    for normal, offset in (((1, 0, 0), -0.15), ((-1, 0, 0), -0.15), ((0, 1, 0), -0.15), ((0, -1, 0), -0.15)):
        scene.add(Plane(normal, offset))
    scene.fill(BoxRegion((-0.15, -0.15, 0), (0.15, 0.15, 0.8)), 24, radius=(0.03, 0.05), density=1000)
    return scene


def spheres_that_flow() -> Scene:
    scene = Scene(gravity=(0, 0, -30.0), period=(0.3, 0.25), seed=4)
    scene.law(mu=0.2)
    scene.add(Plane())
    velocity = (12.0, -8.0, 0.0)  # several periods in the run
    scene.fill(
        BoxRegion((0, 0, 0), (0.3, 0.25, 0.9)), 32, radius=(0.03, 0.05), density=1000, velocity=velocity
    )
    return scene


def clumps_that_stick_and_roll() -> Scene:
    scene = Scene(gravity=(0, 0, -90.0), period=(0.35, None), seed=5)
    scene.law(mu=0.3, cohesion=0.2, rolling=0.004, spinning=0.002)
    scene.add(Plane())
    scene.add(Plane((0, 1, 0), -0.15))
    scene.add(Plane((0, -1, 0), -0.15))
    pair = Clump([(Sphere(0.04), (-0.02, 0, 0)), (Sphere(0.03), (0.03, 0, 0))])
    scene.fill(
        BoxRegion((0, -0.15, 0), (0.35, 0.15, 0.9)), 20, shape=pair, density=1000, velocity=(6.0, 0, 0)
    )
    return scene


def spheres_on_a_grooved_floor() -> Scene:
    scene = Scene(gravity=(0, 0, -30.0), seed=6)
    scene.law(mu=0.1, mu_across=0.5, direction=(1, 1, 0))
    scene.add(Plane())
    scene.fill(
        BoxRegion((-0.2, -0.2, 0), (0.2, 0.2, 0.3)), 20, radius=0.04, density=1000, velocity=(2.0, 1, 0)
    )
    return scene


SCENES = {
    made.__name__: (made, box)
    for made, box in (
        (disks_between_walls, ((0.1, 0.05), (0.45, 0.4))),
        (disks_in_a_periodic_strip, ((-0.1, 0.02), (0.55, 0.3))),
        (spheres_on_a_box, ((-0.1, -0.12, 0.01), (0.12, 0.1, 0.15))),
        (spheres_that_flow, ((0.05, -0.1, 0.01), (0.35, 0.2, 0.2))),
        (clumps_that_stick_and_roll, ((0.1, -0.1, 0.01), (0.5, 0.1, 0.12))),
        (spheres_on_a_grooved_floor, ((-0.2, -0.1, 0.0), (0.4, 0.3, 0.15))),
    )
}


@pytest.fixture(scope="module", params=list(SCENES))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def run(name: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    path: Path = tmp_path_factory.mktemp("twins") / "run.h5"
    solver = NSGS(tol=1e-10, max_iterations=20_000)
    scene = SCENES[name][0]()
    for quantity in PROBED:
        scene.probe(quantity, BODY)
    with simulate(scene, STEPS * DT, DT, solver, out=path, on_unsolved="record") as recording:
        assert len(recording.frame(-1).contacts) > 10
        yield recording


@pytest.fixture(scope="module")
def end(run: Recording) -> Instant:
    return Instant.of_recording(run)


@pytest.fixture(scope="module")
def raw(run: Recording) -> Raw:
    return Raw.of(run)


def test_contacts_and_centres_are_of_the_same_time(end: Instant, raw: Raw) -> None:
    np.testing.assert_allclose(end.middle, raw.middle, atol=1e-12)
    np.testing.assert_array_equal(end.shift, raw.shift)
    np.testing.assert_array_equal(end.centre, raw.centre)


def test_stress_of_grains(end: Instant, raw: Raw) -> None:
    found = grain_stresses(end)
    largest = np.abs(found).max()
    for body in np.flatnonzero(end.movable):
        expected = raw.grain_stress(body, end.volume[body])
        np.testing.assert_allclose(found[body], expected, atol=1e-10 * largest)


def test_grains_and_branches_have_the_same_virial(end: Instant) -> None:
    """Σ V σ over the grains is Σ f ⊗ l over the branches: periodic images and walls included."""
    start, stop = end.branches
    whole = end.force.T @ (stop - start)
    of_grains = np.sum(end.volume[end.movable, None, None] * grain_stresses(end)[end.movable], axis=0)
    np.testing.assert_allclose(of_grains, whole, atol=1e-12 * np.abs(whole).max())


def test_stress_in_a_box(name: str, end: Instant, raw: Raw) -> None:
    low, high = (np.array(corner) for corner in SCENES[name][1])
    found, expected = box_stress(end, low, high), raw.box_stress(low, high, 2000)
    assert np.abs(expected).max() > 0.0
    np.testing.assert_allclose(found, expected, atol=3e-3 * np.abs(expected).max())
    shape = (3, 2, 2)[: end.d]
    cells = stress_field(end, low, high, shape).stress.reshape(-1, end.d, end.d)
    np.testing.assert_allclose(cells.mean(axis=0), found, atol=1e-12 * np.abs(found).max())


def test_a_box_may_be_moved_by_a_period(name: str, end: Instant) -> None:
    low, high = (np.array(corner) for corner in SCENES[name][1])
    period = np.array([length or 0.0 for length in (*end.period, None)])[: end.d]
    here, there = box_stress(end, low, high), box_stress(end, low + 3 * period, high + 3 * period)
    np.testing.assert_allclose(here, there, atol=1e-9 * np.abs(here).max())


def test_filled_room_and_cells(name: str, end: Instant, raw: Raw) -> None:
    low, high = (np.array(corner) for corner in SCENES[name][1])
    points = np.random.default_rng(0).uniform(low, high, (4000, end.d))
    expected = [raw.owner(x) for x in points]
    owner, inside = owners(end, points)
    assert owner.tolist() == [body for body, _ in expected]
    assert inside.tolist() == [filled for _, filled in expected]
    share = np.mean([filled for _, filled in expected])
    assert 0.1 < share < 0.95
    assert packing_fraction(end, low, high) == pytest.approx(share, abs=4 * np.sqrt(0.25 / len(points)))
    volume = cell_volumes(end, low, high, 0.01)
    assert volume.sum() == pytest.approx(np.prod(high - low))
    assert not volume[~end.movable].any()
    sampled = np.bincount(owner, minlength=end.n_bodies) / len(points) * np.prod(high - low)
    np.testing.assert_allclose(volume, sampled, atol=0.03 * np.prod(high - low))


def test_counts_and_directions(end: Instant, raw: Raw) -> None:
    neighbours: dict[int, set[tuple[float, ...]]] = {body: set() for body in range(end.n_bodies)}
    tensor, weighted, count = np.zeros((end.d, end.d)), np.zeros((end.d, end.d)), 0
    for k in range(len(raw.a)):
        if not raw.force[k].any():
            continue
        count += 1
        a, b = int(raw.a[k]), int(raw.b[k])
        neighbours[a].add((b, *raw.shift[k]))
        neighbours[b].add((a, *-raw.shift[k]))
        tensor += np.outer(raw.normal[k], raw.normal[k])
        weighted += (raw.force[k] @ raw.normal[k]) * np.outer(raw.normal[k], raw.normal[k])
    found = coordination(end)
    assert found.per_grain.tolist() == [len(neighbours[body]) for body in range(end.n_bodies)]
    np.testing.assert_allclose(fabric(end), tensor / count, atol=1e-12)
    np.testing.assert_allclose(fabric(end, end.normal_force), weighted / np.trace(weighted), atol=1e-9)
    normal = np.array([raw.force[k] @ raw.normal[k] for k in range(len(raw.a)) if raw.force[k].any()])
    assert strong(end).sum() == (normal > normal.mean()).sum()
    spread = force_distribution(end)
    assert spread.mean == pytest.approx(normal.mean())
    assert np.sum(spread.density * np.diff(spread.edges)) == pytest.approx(1.0)


def test_sliding_contacts_use_all_their_friction(end: Instant, raw: Raw) -> None:
    """The modes are those of the solver's own law, with cohesion, ellipses and couples."""
    share = mobilised_friction(end)
    known = ~np.isnan(share)
    sliding, sticking = known & (raw.mode == 2), known & (raw.mode == 1)
    assert sliding.any()
    np.testing.assert_allclose(share[sliding], 1.0, atol=1e-5)
    assert share[sticking].max(initial=0.0) <= 1.0 + 1e-6


def test_slip_velocities(end: Instant, raw: Raw) -> None:
    found, expected = slip_velocities(end), np.zeros_like(raw.normal)
    for k in range(len(raw.a)):
        relative = raw.velocities_at(k)[1]
        expected[k] = relative - (relative @ raw.normal[k]) * raw.normal[k]
    # The package goes back from the end of the step: arms differ by what the gyroscopic term turned.
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(end.velocity).max())
    carrying = [bool(raw.force[k].any()) for k in range(len(raw.a))]
    speeds = np.linalg.norm(expected, axis=1)[carrying]
    assert slip_distribution(end).mean == pytest.approx(speeds.mean())
    share = mobilised_friction(end)
    spread = friction_distribution(end, bins=5)
    counts = np.histogram(share[~np.isnan(share)], spread.edges)[0]
    np.testing.assert_allclose(spread.density * np.diff(spread.edges), counts / counts.sum())


def test_chains(end: Instant, raw: Raw) -> None:
    for angle, shortest in ((np.pi / 4, 2), (np.pi / 3, 3)):
        found, expected = chains(end, angle, shortest), raw.chains(end.volume, np.cos(angle), shortest)
        groups = [set(np.flatnonzero(found.label == k).tolist()) for k in range(len(found.lengths))]
        assert sorted(groups, key=min) == expected
        assert sorted(found.lengths.tolist()) == sorted(map(len, expected))


def test_directions(end: Instant, raw: Raw) -> None:
    """The share of normals in each twelfth, and a of 1 + a cos 2θ as the second Fourier coefficient."""
    angles = [
        np.arctan2(raw.normal[k][-1], raw.normal[k][0]) for k in range(len(raw.a)) if raw.force[k].any()
    ]
    counts = np.zeros(12)
    for angle in angles:
        counts[int((angle % np.pi) / (np.pi / 12)) % 12] += 1
    edges, density = directions(end, 12)
    np.testing.assert_allclose(density * np.diff(edges), counts / counts.sum(), atol=1e-12)
    if end.d == 2:
        second = abs(np.mean(np.exp(2j * np.array(angles))))
        assert anisotropy(fabric(end)) == pytest.approx(2.0 * second)


def test_energies(run: Recording, name: str) -> None:
    """Kinetic and potential energy from the arrays, the work of contacts from impulses and velocities."""
    balance, model = energy_balance(run), run.model
    moving = model.movable
    for k in (0, 1, STEPS // 2, STEPS):
        row = run.row(k)
        kinetic = 0.5 * np.sum(model.masses[moving] * row["velocity"][moving] ** 2)
        potential = -np.sum(model.mass[moving] * (row["position"][moving] @ model.gravity))
        assert balance.kinetic[k] == pytest.approx(kinetic, rel=1e-12)
        assert balance.potential[k] == pytest.approx(potential, rel=1e-12)
    scale = balance.kinetic.max() + np.ptp(balance.potential)
    assert np.abs(balance.error).max() < 1e-12 * scale
    if name == "clumps_that_stick_and_roll":  # spins are about axes that turn during the step
        return
    for k in range(STEPS - 9, STEPS + 1):
        lost = balance.dissipated[k] - balance.dissipated[k - 1]
        assert lost == pytest.approx(-DT * Raw.of(run, k).work(), abs=1e-9 * scale)


def test_probes(run: Recording) -> None:
    """All quantities of a grain, at every tenth step, from the contacts and bodies of that frame."""
    times, values = run.readings()
    assert len(times) == STEPS + 1
    widths = [len(probe.components(run.model.d)) for probe in run.model.probes]
    parts = np.split(values, np.cumsum(widths)[:-1], axis=1)
    found = dict(zip(PROBED, parts, strict=True))
    for k in range(10, STEPS + 1, 10):
        raw, row = Raw.of(run, k), run.row(k)
        force, moment = raw.push(BODY)
        own = [i for i in range(len(raw.a)) if BODY in (raw.a[i], raw.b[i])]
        along = [raw.force[i] @ raw.normal[i] for i in own]
        across = [raw.force[i] - f * raw.normal[i] for i, f in zip(own, along, strict=True)]
        kinetic = 0.5 * np.sum(run.model.masses[BODY] * row["velocity"][BODY] ** 2)
        expected = {
            "position": row["position"][BODY],
            "orientation": row["orientation"][BODY],
            "velocity": raw.velocity[BODY],
            "angular_velocity": raw.spin[BODY],
            "kinetic_energy": kinetic,
            "force": force,
            "torque": moment,
            "contacts": len(own),
            "gap": min((run.contact_rows(k)["gap"][i] for i in own), default=np.nan),
            "normal_force": sum(along),
            "tangential_force": sum(np.linalg.norm(f) for f in across),
            "contact_force": force,
        }
        size = 1.0 + max(np.abs(raw.force).max(initial=0.0), np.abs(row["velocity"]).max())
        for quantity, value in expected.items():
            np.testing.assert_allclose(found[quantity][k], value, atol=1e-9 * size, err_msg=quantity)


def test_volumes_by_sampling(run: Recording, end: Instant) -> None:
    """Volumes of grains as shares of points in a cube that fall into a part, parts that overlap twice."""
    model, random = run.model, np.random.default_rng(1)
    volume = body_volumes(model.colliders, model.n_bodies)
    own = np.flatnonzero(model.colliders.body == BODY)
    reach, total = float(model.reach[BODY]), 0
    points = random.uniform(-reach, reach, (20_000, end.d))
    for part in own:
        away = np.linalg.norm(points - model.colliders.position[part], axis=1)
        total += int((away < model.colliders.size[part, 0]).sum())
    share = total / len(points)
    error = 4.0 * len(own) * np.sqrt(0.25 / len(points)) * (2.0 * reach) ** end.d
    assert volume[BODY] == pytest.approx(share * (2.0 * reach) ** end.d, abs=error)
    np.testing.assert_array_equal(end.volume, volume)


def test_sticking_contacts_do_not_slip(end: Instant, raw: Raw, name: str) -> None:
    speed = np.linalg.norm(slip_velocities(end), axis=1)
    fastest = float(np.linalg.norm(end.velocity, axis=1).max())
    # The gyroscopic term of tumbling clumps is put right after the last solution, by at most this share.
    share = 1e-3 if name == "clumps_that_stick_and_roll" else 1e-6
    assert speed[raw.mode == 1].max(initial=0.0) < share * fastest
    assert speed[raw.mode == 2].max() > 1e-3 * fastest


def test_pressure_in_the_viewer_is_that_of_the_grains(run: Recording, end: Instant) -> None:
    frame = run.frame(-1)
    found = mean_pressure(frame.contacts, forces(frame), middles(frame, 0.5), run.model, end.volume)
    expected = np.trace(grain_stresses(end), axis1=1, axis2=2) / end.d
    np.testing.assert_allclose(found[end.movable], expected[end.movable], atol=1e-12 * np.abs(expected).max())
