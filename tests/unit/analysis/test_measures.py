"""Measures by name: the same numbers as by hand, with units and errors."""

from __future__ import annotations

import math
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from clapas.analysis import Instant
from clapas.analysis.inside import box_inside
from clapas.analysis.measures import MEASURES, Measured, ground_level, heap_slope, measure
from clapas.analysis.structure import coordination
from clapas.analysis.surface import slope, surface_samples
from clapas.errors import MissingDependency, SettingsError
from clapas.geometry.shapes import Box, Disk, HalfPlane, Plane, Point, Sphere
from clapas.io.recording import Recording
from clapas.io.recording.contacts import Table
from clapas.io.simulation import simulate
from clapas.scenes import examples
from clapas.scenes.regions import DiscRegion
from clapas.scenes.scene import Scene
from clapas.studies.heap import Measures as HeapMeasures


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two boxes of 1000 kg, one on the other, on a floor."""
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Plane(), name="floor")
    for k, name in enumerate(("lower", "upper")):
        scene.add(Box((1, 1, 1)), (0, 0, 0.5 + k), density=1000, name=name)
    path = tmp_path_factory.mktemp("stack") / "stack.h5"
    simulate(scene, 0.05, 0.01, out=path).close()
    return path


def test_every_measure_of_a_stack(stack: Path) -> None:
    """All that make sense of two boxes; the pressure in the lower one is known."""
    assert measure(stack, "coordination").value == 1.5
    assert measure(stack, "packing", low=(-0.4, -0.4, 0.1), high=(0.4, 0.4, 1.9)).value == 1.0
    # −σ_zz falls from 2 m g/A at the floor to 1 m g/A at the joint: branches carry it from point to centre
    inside = measure(stack, "stress", low=(-0.5, -0.5, 0.01), high=(0.5, 0.5, 0.49))
    assert inside.more["stress"][2, 2] == pytest.approx(2 * 9810, rel=1e-3)
    assert inside.value == pytest.approx(np.trace(inside.more["stress"]) / 3)
    assert measure(stack, "force").more["largest"] <= 2 * 9810
    assert 0.0 <= measure(stack, "friction").value < 1.0  # frictional self-stress is not unique
    assert measure(stack, "speed").value < 1e-3
    assert measure(stack, "penetration").value < 1e-9
    assert measure(stack, "energy").unit == "J"
    assert measure(stack, "anisotropy").value > 0.9


def test_means_over_no_contacts_are_none(tmp_path: Path) -> None:
    """Zero would be a measurement; there is nothing to measure."""
    scene = Scene(gravity=(0, 0, 0))
    scene.law(mu=0.0)
    scene.add(Plane(), name="floor")
    scene.add(Sphere(0.1), (0, 0, 5.0), density=1000, name="ball")
    path = tmp_path / "apart.h5"
    simulate(scene, 0.02, 0.01, out=path).close()
    for name in ("force", "friction", "anisotropy"):
        found = measure(path, name)
        assert math.isnan(found.value)
        assert str(found) == "none"
        assert found.note == "there are no contacts at t = 0.02 s"
    assert measure(path, "coordination").value == 0.0  # a mean over grains
    assert measure(path, "penetration").value == 0.0
    scene.add(Sphere(0.1), (1, 0, 0.1), density=1000, velocity=(0, 0, -1.0), name="pushed")
    simulate(scene, 0.01, 0.01, out=path).close()
    assert measure(path, "force").value > 0.0
    assert measure(path, "friction").note == "no contact has friction and carries a force at t = 0.01 s"


def test_forces_and_a_table_of_contacts(stack: Path) -> None:
    with Recording(stack) as run:
        end = run.frame(-1)
    assert end.forces("floor")[2] == pytest.approx(-2 * 9810, rel=1e-4)
    assert end.forces("upper", "lower")[2] == pytest.approx(9810, rel=1e-4)
    assert end.forces("lower")[2] == pytest.approx(9810, rel=1e-4)
    np.testing.assert_array_equal(end.forces("floor", "upper"), 0.0)
    table = end.contacts.table()
    assert len(table) == 8
    assert sum(row["normal_force"] for row in table if row["a"] == "floor") == pytest.approx(
        2 * 9810, rel=1e-4
    )
    assert set(table["status"]) <= {"sticking", "open"}
    assert table["normal_force"] == sorted(table["normal_force"], reverse=True)
    assert repr(end.contacts) == "RecordedContacts(8 in 3-D)"
    assert repr(end).startswith("Frame(t = 0.05 s, 3 bodies, 8 contacts, ")
    for each in (end.state, end.state.impulses, run.model, run.model.colliders, run.model.colliders.hulls):
        assert len(repr(each)) < 100
    with pytest.raises(SettingsError, match=r"no body is called 'lowr' \(did you mean 'lower'\?\)"):
        end.forces("lowr")
    with pytest.raises(SettingsError, match="there is no body 9: bodies are numbered 0 to 2"):
        end.forces(9)


def test_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table({"name": [f"body {k}" for k in range(30)], "force": [float(k) for k in range(30)]})
    assert str(table).splitlines()[0] == "name     force"
    assert str(table).splitlines()[-1] == "… 10 rows more"
    assert "<td>body 3</td>" in table._repr_html_()
    assert table[2:4]["name"] == ["body 2", "body 3"]
    assert len(Table({})) == 0
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependency, match=r"clapas\[tables\]"):
        table.to_pandas()
    stand_in = types.ModuleType("pandas")
    stand_in.DataFrame = dict  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", stand_in)
    assert table.to_pandas()["force"][1] == 1.0


@pytest.fixture(scope="module")
def heap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("heap") / "heap.h5"
    scene = examples.load("heap", grains=100, relaxation=0.1)
    simulate(scene, out=path, dt=1e-3).close()
    return path


def test_one_angle_of_repose(heap: Path) -> None:
    """By name, by the study, and by hand with the definition written out: one number."""
    found = measure(heap, "slope")
    with Recording(heap) as run:
        end = Instant.of_recording(run)
        of_study = HeapMeasures(run).slope
    diameter = 2 * float(end.reach[end.movable].mean())
    by_hand = slope(surface_samples(end, 1.5 * diameter, slowest=0.05), ground=diameter / 2)
    assert found.value == math.degrees(of_study.angle) == math.degrees(heap_slope(end).angle)
    assert found.value == pytest.approx(math.degrees(by_hand.angle), rel=1e-12)
    assert found.error == pytest.approx(math.degrees(by_hand.high - by_hand.angle))
    assert found.unit == "°"
    assert ground_level(end) == pytest.approx(diameter / 2)
    assert measure(heap, "coordination").value == coordination(end).mean


def test_a_slope_in_the_plane_is_that_of_a_triangle() -> None:
    """Disks drawn as a triangle of 30°, without a run."""
    scene = Scene(d=2)
    scene.law(mu=1.0)
    scene.add(HalfPlane())
    for row in range(12):
        half = (12 - row) * math.sqrt(3)
        for x in np.arange(-half, half + 0.01, 2.0):
            scene.add(Disk(0.5), (float(x), 0.5 + 1.001 * row), density=1.0)
    with simulate(scene, 0.001, 0.001, on_unsolved="record") as run:
        found = measure(run, "slope")
    assert found.error is not None
    assert found.value == pytest.approx(30.0, abs=1.5)


def triangle(rows: int) -> Scene:
    """Disks of radius 1 cm that touch, as a triangle of 60°."""
    scene = Scene(d=2)
    scene.law(mu=5.0)
    scene.add(HalfPlane())
    for row in range(rows):
        for k in range(rows - row):
            scene.add(Disk(0.01), (0.02 * k + 0.01 * row, 0.01 + 0.01 * math.sqrt(3) * row), density=1000.0)
    return scene


def test_the_packing_of_a_heap_in_the_plane_is_that_below_its_surface() -> None:
    scene = triangle(32)
    scene.add(Disk(0.01), (5.0, 0.01), density=1000.0)  # one has rolled away, one is still falling
    scene.add(Disk(0.01), (0.1, 2.0), density=1000.0)
    with simulate(scene, 1e-4, 1e-4, on_unsolved="record") as run:
        found = measure(run, "packing")
    assert found.value == pytest.approx(math.pi / math.sqrt(12), rel=0.01)
    assert np.all(found.more["high"] - found.more["low"] > 0.1)


def test_a_heap_too_small_for_a_slope_is_told_what_is_counted() -> None:
    with simulate(triangle(12), 1e-4, 1e-4, on_unsolved="record") as run:
        words = "2 and 2 columns on the flanks, 1.5 mean diameters wide each, without 10% .*needs three"
        with pytest.raises(SettingsError, match=words):
            measure(run, "slope")
    with simulate(triangle(20), 1e-4, 1e-4, on_unsolved="record") as run:
        assert measure(run, "slope").value == pytest.approx(60.0, abs=0.1)


def test_a_box_inside_the_grains_in_space() -> None:
    """Spheres on a cubic lattice: a cube, a pyramid of 45°, one layer."""
    cube = np.stack(np.meshgrid(*[np.arange(12)] * 3), axis=-1).reshape(-1, 3)
    pyramid = cube[np.all(np.abs(cube[:, :2] - 5.5) <= 6 - cube[:, 2:], axis=1)]
    found = []
    for places in (cube, pyramid, cube[cube[:, 2] == 0]):
        scene = Scene()
        scene.law(mu=0.5)
        scene.add(Plane())
        for place in places:
            scene.add(Sphere(0.01), 0.01 + 0.02 * place, density=1000.0)
        with simulate(scene, 1e-5, 1e-5, on_unsolved="record") as run:
            found.append(Instant.of_recording(run))
    low, high = box_inside(found[0]) or pytest.fail("no box in a cube")
    assert low == pytest.approx(np.full(3, 0.02), abs=1e-6)  # a diameter from each wall
    assert high == pytest.approx(np.full(3, 0.22), abs=1e-6)
    low, high = box_inside(found[1]) or pytest.fail("no box in a pyramid")
    assert low[2] == pytest.approx(0.02, abs=1e-6)
    assert np.all(np.abs(np.array((low, high))[:, :2] - 0.12) < 0.12 - high[2])
    assert box_inside(found[2]) is None


def test_a_flow_is_counted() -> None:
    """Grains that fall one after another through a height: their mass over time."""
    scene = Scene(gravity=(0, 0, 0))
    scene.law(mu=0.5)
    for k in range(40):
        scene.add(Sphere(0.01), (0, 0, 0.05 + 0.1 * k), velocity=(0, 0, -1.0), mass=0.2)
    with simulate(scene, 3.0, 0.01) as run:
        found = measure(run, "flow")
        assert found.value == pytest.approx(2.0, rel=0.01)
        assert found.error is not None
        assert found.error < 0.01
        assert measure(run, "flow", level=-1.0).more["passed"] == pytest.approx(0.2 * 20, abs=0.21)


def test_grains_that_appear_below_a_height_do_not_pass_it() -> None:
    """A source, 20 grains a second: their flow below it, nothing above it."""
    scene = Scene(gravity=(0, 0, 0))
    scene.law(mu=0.5)
    scene.material("grain", density=1000)
    scene.source(
        DiscRegion((0, 0, 0.5), 0.05), rate=20, number=100, radius=0.01, material="grain", velocity=(0, 0, -2)
    )
    with simulate(scene, 3.0, 0.01) as run:
        assert measure(run, "flow", level=0.6).value == 0.0
        found = measure(run, "flow", level=0.2)
        assert found.value == pytest.approx(20 * 1000 * 4 / 3 * np.pi * 0.01**3, rel=0.01)
        assert found.more["passed"] == pytest.approx(found.value * (3.0 - 0.15), rel=0.03)


@pytest.mark.parametrize("d", [2, 3])
def test_points_fill_no_room_and_have_no_surface(d: int) -> None:
    scene = Scene(d=d)
    scene.law(mu=0.5)
    scene.add(Point(d), mass=1.0, inertia=(1, 1, 1) if d == 3 else 1.0)
    with simulate(scene, 0.05, 0.01) as run:
        for what in ("slope", "packing", "stress"):
            with pytest.raises(
                SettingsError, match=r"there is no grain with a size at t = 0\.05 s, only points"
            ):
                measure(run, what)
        corners = [0.0] * d, [1.0] * d
        assert measure(run, "packing", low=corners[0], high=corners[1]).value == 0.0
        assert measure(run, "speed").value == pytest.approx(9.81 * 0.05)


def test_points_among_grains_change_no_measure_of_room() -> None:
    """Six layers of balls on a floor, with and without points that fly above them."""
    boxes = []
    for points in (0, 30):
        scene = Scene(overlap=1e-9)
        scene.law(mu=0.5)
        scene.add(Plane())
        for k in range(6**3):
            i, j, layer = k % 6, k // 6 % 6, k // 36
            scene.add(Sphere(0.05), (0.1 * i, 0.1 * j, 0.05 + 0.1 * layer), density=1000.0)
        for k in range(points):
            scene.add(Point(3), (0.0, 0.0, 5.0 + k), mass=1.0, inertia=(1, 1, 1))
        with simulate(scene, 0.002, 0.001) as run:
            boxes.append(box_inside(Instant.of_recording(run)))
    assert boxes[0] is not None
    assert boxes[1] is not None
    np.testing.assert_allclose(boxes[0], boxes[1], atol=1e-9)  # impulses are those of the tolerance


@pytest.mark.parametrize("count", [1, 3])
def test_a_column_of_disks_has_no_flanks(count: int) -> None:
    scene = Scene(d=2)
    scene.law(mu=0.5)
    scene.add(HalfPlane())
    for k in range(count):
        scene.add(Disk(0.1), (0.0, 0.1 + 0.2 * k), density=1000.0)
    few = "too few grains at the surface for a slope: 0 and 0 columns"
    with simulate(scene, 0.05, 0.01) as run, pytest.raises(SettingsError, match=few):
        measure(run, "slope")


@pytest.mark.parametrize("d", [2, 3])
def test_runs_without_grains_have_no_slope_speed_or_neighbours(d: int) -> None:
    scene = Scene(d=d)
    scene.law(mu=0.5)
    scene.add(Plane() if d == 3 else HalfPlane())
    with simulate(scene, 0.05, 0.01) as run:
        for what in ("slope", "speed", "coordination", "packing"):
            with pytest.raises(SettingsError, match=r"there is no grain to measure at t = 0\.05 s"):
                measure(run, what)


def test_a_flow_of_nothing_is_zero(stack: Path) -> None:
    """A line through equal masses has a slope of rounding."""
    for level in (-1.0, 1.0):  # no box is below, one is
        found = measure(stack, "flow", level=level)
        assert (found.value, found.error, found.more["passed"]) == (0.0, 0.0, 0.0)
        assert found.note == f"nothing passes the height {level:g} m in the middle 80 % of the run"


def test_words_and_refusals(stack: Path) -> None:
    assert str(Measured("slope", 25.66, "°", 0.84)) == "25.66 ± 0.84 °"
    assert str(Measured("packing", 0.61234, "")) == "0.6123"
    assert set(MEASURES) >= {"slope", "packing", "coordination", "stress", "flow"}
    with pytest.raises(SettingsError, match=r"no measure is called 'slop' \(did you mean 'slope'\?\)"):
        measure(stack, "slop")
    with pytest.raises(SettingsError, match="a box needs both corners"):
        measure(stack, "packing", low=(0, 0, 0))
    with pytest.raises(SettingsError, match="level must be a height in metres, got nan"):
        measure(stack, "flow", level=math.nan)
    with pytest.raises(SettingsError, match="time must be one of the run"):
        measure(stack, "speed", time=math.nan)
    with pytest.raises(SettingsError, match="no room inside for a box"):
        measure(stack, "stress")
    with pytest.raises(SettingsError, match="too few points"):
        measure(stack, "slope")
