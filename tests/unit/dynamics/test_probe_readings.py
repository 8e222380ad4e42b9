"""Probes: what they read against what is known, recorded at every step, shown and exported."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import h5py
import numpy as np
import pytest

from clapas.analysis.measures import measure
from clapas.cli.run import describe, print_summary
from clapas.dynamics.probes import OF_BODIES, OF_CONTACTS
from clapas.dynamics.schemes import MoreauMidpoint
from clapas.errors import SceneError, UnknownName
from clapas.geometry.shapes import Box, Disk, HalfPlane, Plane, Polygon, Sphere
from clapas.io.recording import Recording, RecordingWriter
from clapas.io.simulation import resume, simulate
from clapas.io.tables import export_csv
from clapas.scenes.compilation import compile_scene
from clapas.scenes.recorders import Memory
from clapas.scenes.scene import Scene
from clapas.scenes.simulation import simulate as run_model
from clapas.solvers import NSGS
from clapas.viewer.curves import plot

DT, G = 1e-3, 9.81


def stack(d: int = 3) -> Scene:
    """A block on a floor, a ball on the block, and every probe."""
    scene = Scene(d=d)
    scene.law(mu=0.5, rolling=0.002)
    floor = scene.add(Plane() if d == 3 else HalfPlane(), name="floor")
    rest = (0.0,) * (d - 1)
    block = Box((0.4, 0.4, 0.1)) if d == 3 else Polygon.rectangle(0.4, 0.1)
    ball = Sphere(0.1) if d == 3 else Disk(0.1)
    scene.add(block, (*rest, 0.05), density=1000, name="block")
    scene.add(ball, (0.05, *rest[1:], 0.2), density=1000, name="ball", velocity=(0.1, *rest))
    for quantity in OF_BODIES | OF_CONTACTS:
        scene.probe(quantity, "block", name=quantity)
    scene.probe("contact_force", "block", "ball", name="from above")
    scene.probe("normal_force", "floor", name="ground")
    scene.probe("position", "ball")
    assert floor == 0
    return scene


@pytest.mark.parametrize("d", [2, 3])
def test_probes_read_what_is_known(d: int, tmp_path: Path) -> None:
    with simulate(stack(d), 0.03, DT, NSGS(tol=1e-10), out=tmp_path / "run.h5", every=10) as run:
        assert (run.n_frames, len(run.readings()[0])) == (4, 31)
        np.testing.assert_array_equal(run.readings()[0][::10], run.times)
        weight = G * run.model.mass
        np.testing.assert_allclose(run.probe("ground")[-1], weight[1:].sum(), rtol=1e-6)
        np.testing.assert_allclose(run.probe("from above")[-1][-1], -weight[2], rtol=1e-6)
        # The block rests: the forces on it balance its weight, their moments each other.
        np.testing.assert_allclose(run.probe("force")[-1][-1], weight[1], rtol=1e-6)
        np.testing.assert_array_equal(run.probe("force"), run.probe("contact_force"))
        assert np.abs(run.probe("torque")[1:]).max() < 1e-4 * weight[1] * 0.4
        corners = 4 if d == 3 else 2
        assert run.probe("contacts").tolist() == [0.0] + [corners + 1.0] * 30
        assert math.isnan(run.probe("gap")[0])
        assert abs(run.probe("gap")[-1]) < 1e-5
        assert run.probe("normal_force")[-1] == pytest.approx(weight[1] + 2 * weight[2], rel=1e-6)
        assert run.probe("tangential_force")[-1] > 0.0
        assert run.probe("kinetic_energy")[-1] < 1e-9
        frames = [frame.state for frame in run.frames()]
        for name, values in (
            ("position", [state.position[1] for state in frames]),
            ("velocity", [state.velocity[1, :d] for state in frames]),
            ("position ball", [state.position[2] for state in frames]),
        ):
            np.testing.assert_array_equal(run.probe(name)[::10], values)
        assert run.probe("orientation").shape == ((31, 4) if d == 3 else (31,))
        with pytest.raises(KeyError, match="no probe of this recording is called 'speed'"):
            run.probe("speed")


def test_runs_without_probes_say_so() -> None:
    scene = Scene()
    scene.add(Sphere(0.1), density=1000.0)
    none = "no probe of this recording is called 'height': there is none"
    with simulate(scene, 0.02, 0.01) as run, pytest.raises(UnknownName, match=none):
        run.probe("height")


def test_torque_of_a_pushed_body_is_its_change_of_spin(tmp_path: Path) -> None:
    """A ball that starts to slide turns by the moment of friction and of the rolling couple."""
    scene = Scene()
    scene.law(mu=0.3, rolling=0.01, spinning=0.005)
    scene.add(Plane())
    ball = scene.add(Sphere(0.1), (0, 0, 0.1), velocity=(1, 0, 0), density=1000, angular_velocity=(0, 0, 3))
    scene.probe("torque", ball, name="torque")
    scene.probe("angular_velocity", ball, name="spin")
    with simulate(scene, 0.02, DT, NSGS(tol=1e-11), out=tmp_path / "run.h5") as run:
        gained = run.model.inertia[1, 0] * np.diff(run.probe("spin"), axis=0) / DT
        np.testing.assert_allclose(run.probe("torque")[1:], gained, atol=1e-6)
        assert run.probe("torque")[-1, 1] > 0.1
        assert run.probe("torque")[-1, 2] < -0.1


def test_probes_are_noted_in_memory_at_every_step() -> None:
    memory = Memory()
    run_model(compile_scene(stack()), 0.005, DT, every=5, recorder=memory)
    assert [reading.time for reading in memory.readings] == pytest.approx([k * DT for k in range(6)])
    assert len(memory.steps) == 2


@pytest.mark.parametrize("cut", [7, 10, 23])
def test_probes_of_a_resumed_run_are_the_same_to_the_bit(tmp_path: Path, cut: int) -> None:
    whole, parts = tmp_path / "whole.h5", tmp_path / "parts.h5"
    simulate(stack(), 0.03, DT, out=whole, every=10).close()
    simulate(stack(), cut * DT, DT, out=parts, every=10).close()
    resume(parts, 0.03).close()
    with Recording(whole) as one, Recording(parts) as other:
        for a, b in zip(one.readings(), other.readings(), strict=True):
            assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("flush_seconds", [2.0, -1.0])
def test_readings_after_the_last_frame_are_forgotten_when_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flush_seconds: float
) -> None:
    """As after a kill: rows of probes may be there for steps whose frame is not."""
    monkeypatch.setattr("clapas.io.recording.writer.FLUSH_SECONDS", flush_seconds)
    whole, killed = tmp_path / "whole.h5", tmp_path / "killed.h5"
    simulate(stack(), 0.03, DT, out=whole, every=10).close()
    model = compile_scene(stack())
    with Recording(whole) as run:
        writer = RecordingWriter(
            killed, model, dt=DT, every=10, settings=run.settings, scene=run.scene_source
        )
        memory = Memory()
        run_model(model, 0.017, DT, every=10, recorder=memory)
        for reading in memory.readings:
            writer.note(reading)
        for kept in memory.steps[:2]:
            writer.keep(kept)
        writer.close()
        with Recording(killed) as cut:
            assert (cut.column("step").tolist(), len(cut.readings()[0])) == ([0, 10], 18)
        with resume(killed, 0.03) as again:
            assert again.readings()[1].tobytes() == run.readings()[1].tobytes()


def test_probes_are_told_and_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with simulate(stack(), 0.01, DT, NSGS(tol=1e-10), out=tmp_path / "run.h5", every=5) as run:
        told = describe(run)["probes"]
        assert told["ground"] == pytest.approx(G * run.model.mass[1:].sum(), rel=1e-3)
        assert len(told["position"]) == 3
        json.dumps(told)
        print_summary(run)
        printed = capsys.readouterr().out
        assert "  ground" in printed
        assert f"{told['ground']:.6g} N\n" in printed
        assert "  contacts             5\n" in printed
        paths = export_csv(run, tmp_path / "tables")
        assert paths[-1].name == "probes.csv"
        with paths[-1].open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 11
        assert float(rows[-1]["position ball z (m)"]) == run.probe("position ball")[-1, 2]
        assert float(rows[-1]["ground (N)"]) == told["ground"]


def test_forces_in_the_plane_are_per_metre_of_depth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One word for one thing: in the summary, the table, the plot and the measure."""
    scene = Scene(d=2)
    scene.law(mu=0.5)
    scene.add(HalfPlane(), name="floor")
    scene.add(Disk(0.1), position=(0, 0.1), density=1000, name="disk")
    scene.probe("normal_force", "disk", "floor", name="load")
    scene.probe("torque", "disk", name="turning")
    with simulate(scene, 0.01, DT, out=tmp_path / "run.h5") as run:
        assert (run.probes["load"].unit(2), run.probes["turning"].unit(2)) == ("N/m", "N·m/m")
        assert run.probe("load")[-1] == pytest.approx(1000 * math.pi * 0.1**2 * G, rel=1e-6)
        print_summary(run)
        printed = capsys.readouterr().out
        assert f"  load                 {run.probe('load')[-1]:.6g} N/m\n" in printed
        assert measure(run, "force").unit == "N/m"
        assert measure(run, "stress", low=(-0.1, 0), high=(0.1, 0.2)).unit == "Pa"
        plot(run, tmp_path / "load.svg", ["probe:load", "energy"])
        folder = tmp_path / "tables"
        export_csv(run, folder)
    drawn = (tmp_path / "load.svg").read_text()
    assert "<!-- load (N/m) -->" in drawn
    assert "<!-- energy (J/m) -->" in drawn
    heads = {path.stem: path.read_text(encoding="utf-8").splitlines()[0] for path in folder.iterdir()}
    assert heads["probes"] == "time (s),load (N/m),turning (N·m/m)"
    assert heads["frames"].startswith("step,time (s),dt (s),alive,kinetic (J/m),potential (J/m),work (J/m)")
    assert "impulse_x (N·s/m),impulse_y (N·s/m),couple_z (N·m·s/m),mode" in heads["contacts"]
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["frames/kinetic"].attrs["unit"] == "J/m"
        assert file["contacts/impulse"].attrs["unit"] == "N·s/m"


def test_no_probes_no_table(tmp_path: Path) -> None:
    scene = Scene()
    scene.add(Plane())
    with simulate(scene, 0.002, DT, out=tmp_path / "run.h5") as run:
        assert run.probes == {}
        assert [len(part) for part in run.readings()] == [0, 0]
        assert [path.name for path in export_csv(run, tmp_path)] == [
            "frames.csv",
            "bodies.csv",
            "contacts.csv",
        ]


@pytest.mark.parametrize("travel", [0.2, 0.05, math.inf])
def test_forces_of_divided_steps_are_means_over_the_whole_step(travel: float) -> None:
    """A disk thrown on the floor bounces and slides: Σ F dt is the momentum the floor gave it."""
    scene = Scene(d=2)
    scene.law(mu=0.3, restitution=0.8)
    scene.add(HalfPlane())
    disk = scene.add(Disk(0.1), position=(0, 0.6), velocity=(1.0, 0.0), density=1000)
    for quantity in (
        "force",
        "contact_force",
        "normal_force",
        "tangential_force",
        "torque",
        "contacts",
        "gap",
    ):
        scene.probe(quantity, disk, name=quantity)
    scene.probe("velocity", disk, name="velocity")
    scene.probe("angular_velocity", disk, name="spin")
    dt, duration = 1e-2, 1.5
    scheme = MoreauMidpoint(travel=travel)
    with simulate(scene, duration, dt, NSGS(tol=1e-12), scheme=scheme) as run:
        mass, inertia = run.model.mass[disk], run.model.inertia[disk, 0]
        velocity, spin = run.probe("velocity"), run.probe("spin")
        given = mass * (velocity[-1] - velocity[0]) + [0.0, mass * G * duration]
        force = run.probe("force")
        assert force[0].tolist() == [0.0, 0.0]
        np.testing.assert_allclose(force.sum(axis=0) * dt, given, rtol=1e-9)
        np.testing.assert_array_equal(run.probe("contact_force"), force)
        np.testing.assert_allclose(run.probe("normal_force"), force[:, 1], atol=1e-9)
        # Sizes are added: friction turns round when the disk comes to roll.
        assert abs(given[0]) * (1 - 1e-9) <= run.probe("tangential_force").sum() * dt < 1.1 * abs(given[0])
        np.testing.assert_allclose(run.probe("torque").sum() * dt, inertia * (spin[-1] - spin[0]), rtol=1e-9)
        touched = run.probe("contacts") > 0
        np.testing.assert_array_equal(touched, ~np.isnan(run.probe("gap")))
        assert np.all(touched[force.any(axis=1)])


def test_probes_of_joints(tmp_path: Path) -> None:
    """A bar held out by friction: its weight and its moment; and one welded, another that falls."""
    scene = Scene(d=2)
    scene.law(mu=0.3)
    for y, friction in ((0.0, 50.0), (3.0, 0.0)):
        scene.add(Disk(0.1), (1, y), mass=2.0)
        scene.join("pin", len(scene.bodies) - 1, at=(0, y), name=f"pin {y:g}", friction=friction)
    scene.add(Disk(0.1), (1, 6), mass=2.0)
    scene.join("weld", 2, at=(0, 6), name="weld")
    for quantity in ("coordinate", "rate", "effort", "force", "torque"):
        scene.probe(f"joint_{quantity}", joint="pin 0", name=f"held {quantity}")
        scene.probe(f"joint_{quantity}", joint="pin 3", name=f"loose {quantity}")
    scene.probe("joint_torque", joint="weld", name="moment")
    moment, inertia = 2.0 * G * 1.0, 2.0 * (1.0 + 0.5 * 0.1**2)
    with simulate(scene, 0.05, DT, out=tmp_path / "run.h5") as run:
        assert run.probe("held coordinate")[-1] == pytest.approx(0.0, abs=1e-12)
        np.testing.assert_allclose(run.probe("held effort")[1:], moment, rtol=1e-7)
        np.testing.assert_allclose(run.probe("held torque")[1:].ravel(), moment, rtol=1e-7)
        np.testing.assert_allclose(run.probe("held force")[1:], [[0.0, 2.0 * G]] * 50, atol=1e-3)
        np.testing.assert_allclose(run.probe("moment")[1:].ravel(), moment, rtol=1e-9)
        np.testing.assert_allclose(run.probe("loose rate")[-1], -moment / inertia * 0.05, rtol=1e-3)
        np.testing.assert_allclose(
            run.probe("loose coordinate")[-1], -moment / inertia * 0.05**2 / 2, rtol=1e-2
        )
        assert not run.probe("loose effort").any()
        np.testing.assert_allclose(run.probe("loose torque")[1:], 0.0, atol=1e-9)
    with pytest.raises(SceneError, match="a weld joint has no single coordinate"):
        scene.probe("joint_rate", joint="weld", name="none")
