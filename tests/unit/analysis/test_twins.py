"""Every measure against its twin: plane and space, walls, periodic flow, clumps, cohesion, rolling."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from clapas.analysis import Instant
from clapas.analysis.cells import cell_volumes, owners, packing_fraction
from clapas.analysis.distributions import force_distribution, mobilised_friction, slip_velocities
from clapas.analysis.network import strong
from clapas.analysis.stress import box_stress, grain_stresses, stress_field
from clapas.analysis.structure import coordination, fabric
from clapas.geometry.shapes import Box, Clump, HalfPlane, Plane, Sphere
from clapas.io.recording import Recording
from clapas.io.simulation import simulate
from clapas.scenes.regions import BoxRegion
from clapas.scenes.scene import Scene
from clapas.solvers import NSGS
from clapas.viewer.frames import forces, mean_pressure, middles
from tests.unit.analysis.twins import Raw

DT, STEPS = 2e-3, 60


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
    with simulate(SCENES[name][0](), STEPS * DT, DT, solver, out=path, on_unsolved="record") as recording:
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
