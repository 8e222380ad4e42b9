"""The verbs of recordings: run, resume, examples, export, and info of what they wrote."""

from __future__ import annotations

import base64
import csv
import math
import os
import signal
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from clapas.cli.run import describe, print_summary
from clapas.errors import FormatError
from clapas.geometry.shapes import Box, Capsule, Disk, HalfPlane, Plane, Polygon, Sphere
from clapas.io.recording import Recording, layout
from clapas.io.replay import export_problem
from clapas.io.simulation import simulate
from clapas.scenes import examples
from clapas.scenes.recorders import StepProgress
from clapas.scenes.scene import Scene

from .conftest import Run


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(path: str | Path, name: str = "position") -> np.ndarray:
    with Recording(path) as recording:
        return np.asarray(recording.column(name))


# -------------------------------------------------------------------- run


def test_run_a_shipped_scene(run: Run, tmp_path: Path) -> None:
    outcome = run("run", "sliding-block", "--duration", 0.05)
    assert outcome.code == 0, outcome.err
    assert "2 bodies in 3-D" in outcome.out
    assert "recording: sliding-block.h5" in outcome.out
    assert [path.name for path in tmp_path.iterdir()] == ["sliding-block.h5"]
    with Recording("sliding-block.h5") as recording:
        assert recording.times[-1] == pytest.approx(0.05)
        assert recording.every == 10
        # v = 2 − mu g t, by the first step at most without contact
        assert recording.frame(-1).state.velocity[1, 0] == pytest.approx(2 - 0.4 * 9.81 * 0.05, abs=0.005)


@pytest.mark.parametrize("name", ["a.csv", "a.png", "folder/a.VTK"])
def test_a_recording_does_not_wear_the_name_of_another_kind_of_file(run: Run, name: str) -> None:
    outcome = run("run", "sliding-block", "--duration", 0.05, "--out", name)
    assert outcome.code == 2
    assert f"{name}: a recording is an HDF5 file" in outcome.err
    assert not Path(name).exists()


def test_a_picture_that_cannot_be_written_is_refused_before_the_run(run: Run) -> None:
    outcome = run("run", "sliding-block", "--duration", 0.05, "--picture", "no/end.png")
    assert outcome.code == 2
    assert "--picture: there is no folder" in outcome.err
    assert not Path("sliding-block.h5").exists()


def test_a_run_of_less_than_a_step_is_refused(run: Run) -> None:
    outcome = run("run", "sliding-block", "--duration", 1e-9)
    assert outcome.code == 2
    assert "not one step would be made" in outcome.err
    assert run("run", "sliding-block", "--duration", 0).code == 0


def test_run_with_sleep(run: Run) -> None:
    outcome = run("run", "two-block-stack", "--duration", 0.1, "--dt", 2e-3, "--sleeping", 0.05, "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.document["settings"]["sleeping"]["speed"] == 0.05
    assert written("two-block-stack.h5", "asleep").any()
    refused = run("run", "two-block-stack", "--duration", 0.1, "--sleeping", -1)
    assert refused.code != 0
    assert "sleeping: speed must be positive, got -1" in refused.err


def test_run_as_json_and_quietly(run: Run) -> None:
    options = ("--duration", 0.02, "--dt", 2e-3, "--every", 2, "--out", "one.h5")
    outcome = run("run", "two-block-stack", *options, "--json")
    assert outcome.code == 0, outcome.err
    document = outcome.document
    assert (document["recording"], document["frames"], document["steps"]) == ("one.h5", 6, 10)
    assert (document["bodies"], document["d"], document["dt"], document["every"]) == (3, 3, 2e-3, 2)
    assert document["worst_residual"] <= 1e-6
    assert document["contacts"] >= 6
    assert document["settings"]["solver"]["type"] == "Auto"
    assert document["picture"] is None
    assert run("info", "one.h5", "--json").document["frames"] == 6
    silent = run("run", "two-block-stack", *options, "--quiet")
    assert (silent.code, silent.out, silent.err) == (0, "", "")


def test_run_with_a_method_and_its_settings(run: Run) -> None:
    wanted = ("--tol", 1e-9, "--set", "max_iterations=5000")
    outcome = run("run", "sliding-block", "--duration", 0.01, *wanted, "--json")
    solver = outcome.document["settings"]["solver"]
    assert (solver["type"], solver["tol"], solver["max_iterations"]) == ("Auto", 1e-9, 5000)
    assert outcome.document["worst_residual"] <= 1e-9


def test_settings_change_the_method_of_the_scene(run: Run) -> None:
    outcome = run("run", "vibrating-plate", "--duration", 0.01, "--set", "max_iterations=5000", "--json")
    solver = outcome.document["settings"]["solver"]
    assert (solver["type"], solver["tol"], solver["max_iterations"]) == ("Auto", 1e-4, 5000)


@pytest.mark.parametrize("suffix", ["toml", "yaml"])
def test_run_a_scene_file(run: Run, suffix: str) -> None:
    if suffix == "yaml":
        pytest.importorskip("yaml")
    examples.load("sliding-block").save(f"mine.{suffix}")
    outcome = run("run", f"mine.{suffix}", "--duration", 0.02, "--quiet")
    assert outcome.code == 0, outcome.err
    assert run("run", "sliding-block", "--duration", 0.02, "--quiet").code == 0
    assert written("mine.h5").tobytes() == written("sliding-block.h5").tobytes()


def picture_of(scene: Scene, run: Run) -> np.ndarray:
    from matplotlib.image import imread

    scene.save("scene.toml")
    outcome = run("run", "scene.toml", "--duration", 0.01, "--dt", 1e-3, "--picture", "end.png")
    assert outcome.code == 0, outcome.err
    assert "picture of the end: end.png" in outcome.out
    assert Path("end.png").read_bytes().startswith(b"\x89PNG")
    return np.asarray(imread("end.png"))


def test_picture_of_grains_shows_them_by_speed(run: Run) -> None:
    scene = Scene(gravity=(0, 0, 0))
    scene.law(mu=0.1)
    for k in range(5):
        scene.add(Sphere(0.1), (0.3 * k, 0, 0), density=1000, velocity=(0, 0, 0.1 * k))
    image = picture_of(scene, run)
    coloured = np.ptp(image[..., :3], axis=2) > 0.2
    assert coloured.mean() > 0.02
    assert len(np.unique(np.round(image[coloured], 1), axis=0)) > 5  # slow and fast look different


@pytest.mark.parametrize("d", [2, 3])
def test_picture_of_blocks(run: Run, d: int) -> None:
    scene = Scene(d=d)
    scene.law(mu=0.5)
    if d == 2:
        scene.add(HalfPlane())
        scene.add(Polygon.rectangle(0.4, 0.2), (0, 0.3), density=1000)
        scene.add(Disk(0.1), (0.5, 0.3), density=1000)
    else:
        scene.add(Plane())
        scene.add(Box((0.4, 0.3, 0.2)), (0, 0, 0.3), density=1000)
        scene.add(Capsule(0.05, 0.2), (0.5, 0, 0.3), density=1000)
    image = picture_of(scene, run)
    assert (np.ptp(image[..., :3], axis=2) > 0.2).mean() > 0.02


def test_picture_of_nothing_to_see(run: Run) -> None:
    scene = Scene()
    scene.add(Plane())
    assert picture_of(scene, run).shape[2] in (3, 4)


# -------------------------------------------------------------------- resume


def test_resume_to_the_same_bits(run: Run) -> None:
    common = ("--dt", 2e-3, "--every", 1, "--quiet")
    assert run("run", "rocking-block", "--duration", 0.2, "--out", "whole.h5", *common).code == 0
    assert run("run", "rocking-block", "--duration", 0.07, "--out", "parts.h5", *common).code == 0
    outcome = run("resume", "parts.h5", "--duration", 0.2)
    assert outcome.code == 0, outcome.err
    assert "100 of 0.002 s, to t = 0.2 s" in outcome.out
    for name in layout.FRAMES:
        if name != "seconds":
            assert written("parts.h5", name).tobytes() == written("whole.h5", name).tobytes()
    assert run("resume", "parts.h5", "--json").document["frames"] == 101


# -------------------------------------------------------------------- examples


def test_examples_lists_all(run: Run) -> None:
    outcome = run("examples")
    assert outcome.code == 0
    for name in examples.names():
        assert f"\n{name} " in f"\n{outcome.out}"
        assert examples.summary(name) in outcome.out
    assert "clapas run NAME" in outcome.out


# -------------------------------------------------------------------- export


@pytest.fixture
def stack(run: Run) -> Path:
    """A short run of mixed shapes with every step kept."""
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Plane())
    scene.add(Box((0.4, 0.4, 0.1)), (0, 0, 0.05), density=1000)
    scene.add(Sphere(0.1), (0, 0, 0.21), density=1000, velocity=(0.1, 0, 0))
    scene.save("stack.toml")
    outcome = run("run", "stack.toml", "--duration", 0.06, "--dt", 2e-3, "--every", 1, "--quiet")
    assert outcome.code == 0, outcome.err
    return Path("stack.h5")


def points_of(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a VTK file, read by its own rules: a length, then the numbers, in base 64."""
    types = {"Float64": "<f8", "Int64": "<i8", "Int32": "<i4", "Int8": "<i1"}
    arrays = {}
    for element in ElementTree.parse(path).iter("DataArray"):
        raw = base64.b64decode(element.text or "")
        assert int(np.frombuffer(raw[:8], "<u8")[0]) == len(raw) - 8
        values = np.frombuffer(raw[8:], types[element.attrib["type"]])
        width = int(element.attrib.get("NumberOfComponents", 1))
        arrays[element.attrib["Name"]] = values.reshape(-1, width) if width > 1 else values
    return arrays


def test_export_for_paraview(run: Run, stack: Path) -> None:
    outcome = run("export", stack, "--vtk", "vtk")
    assert outcome.code == 0, outcome.err
    assert outcome.out.split() == ["vtk/bodies.pvd", "vtk/contacts.pvd", "vtk/surfaces.pvd"]
    with Recording(stack) as recording:
        last = recording.frame(-1)
        for name in ("bodies", "contacts", "surfaces"):
            index = ElementTree.parse(f"vtk/{name}.pvd").getroot()
            entries = [entry.attrib for entry in index.iter("DataSet")]
            np.testing.assert_array_equal([float(e["timestep"]) for e in entries], recording.times)
            assert all(Path("vtk", entry["file"]).is_file() for entry in entries)
        bodies = points_of(Path("vtk", "bodies-000030.vtp"))
        np.testing.assert_array_equal(bodies["points"], last.state.position)
        np.testing.assert_array_equal(bodies["velocity"], last.state.velocity[:, :3])
        np.testing.assert_array_equal(bodies["radius"], (0, 0, 0.1))
        assert np.isfinite(bodies["mass"][1:]).all()
        contacts = points_of(Path("vtk", "contacts-000030.vtp"))
        np.testing.assert_array_equal(contacts["points"], last.contacts.point)
        np.testing.assert_allclose(contacts["force"] * 2e-3, last.state.impulses.impulse, rtol=1e-15)
        lifted = contacts["force"][contacts["a"] == 0].sum(axis=0)[2]
        weight = 9.81 * recording.model.mass[1:].sum()
        assert lifted == pytest.approx(weight, rel=1e-3)
    surfaces = points_of(Path("vtk", "surfaces-000000.vtp"))
    low, high = surfaces["points"].min(axis=0), surfaces["points"].max(axis=0)
    np.testing.assert_allclose((low, high), ((-0.2, -0.2, 0), (0.2, 0.2, 0.1)), atol=1e-12)
    triangles = surfaces["points"][surfaces["connectivity"].reshape(-1, 3)]
    sides = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]) / 2
    assert np.linalg.norm(sides, axis=1).sum() == pytest.approx(2 * 0.16 + 4 * 0.04)
    outward = triangles.mean(axis=1) - (0, 0, 0.05)
    assert (np.sum(sides * outward, axis=1) > 0).all()


def test_export_of_a_plane_scene_for_paraview(run: Run) -> None:
    outcome = run("run", "wedged-bar", "--duration", 0.005, "--out", "bar.h5", "--quiet")
    assert outcome.code == 0, outcome.err
    assert run("export", "bar.h5", "--vtk", "vtk").code == 0
    surfaces = points_of(Path("vtk", "surfaces-000001.vtp"))
    assert surfaces["points"].shape == (4, 3)
    np.testing.assert_array_equal(surfaces["points"][:, 2], 0.0)


def rows_of(path: str) -> list[dict[str, str]]:
    with Path(path).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_tables_are_not_made_where_a_file_is(run: Run, stack: Path) -> None:
    Path("tables").write_text("mine")
    outcome = run("export", stack, "--csv", "tables")
    assert outcome.code == 2
    assert "clapas: tables is a file, and a folder is to be made there" in outcome.err
    assert Path("tables").read_text() == "mine"


def test_export_as_tables(run: Run, stack: Path) -> None:
    outcome = run("export", stack, "--csv", "tables")
    assert outcome.code == 0, outcome.err
    assert outcome.out.split() == ["tables/frames.csv", "tables/bodies.csv", "tables/contacts.csv"]
    with Recording(stack) as recording:
        frames, bodies, contacts = (rows_of(path) for path in outcome.out.split())
        np.testing.assert_array_equal([float(row["time (s)"]) for row in frames], recording.times)
        np.testing.assert_array_equal(
            [float(row["kinetic (J)"]) for row in frames], recording.column("kinetic")
        )
        assert len(bodies) == recording.n_frames * 3
        last = [[float(row[f"{axis} (m)"]) for axis in "xyz"] for row in bodies[-3:]]
        np.testing.assert_array_equal(last, recording.frame(-1).state.position)
        assert len(contacts) == sum(len(frame.contacts) for frame in recording.frames())
        impulse = [float(contacts[-1][f"impulse_{axis} (N·s)"]) for axis in "xyz"]
        np.testing.assert_array_equal(impulse, recording.frame(-1).state.impulses.impulse[-1])


@pytest.mark.parametrize("step", [0, 17, 29])
def test_export_a_contact_problem_that_solve_reproduces(run: Run, stack: Path, step: int) -> None:
    outcome = run("export", stack, "--fclib", step)
    assert outcome.code == 0, outcome.err
    assert outcome.out == f"stack-{step}.hdf5\n"
    with Recording(stack) as recording:
        frame = recording.frame(step + 1)  # the step from ``step`` to the next
    answer = run("info", f"stack-{step}.hdf5", "--json").document["solution"]
    assert answer["residual"] == pytest.approx(frame.residual, rel=1e-6, abs=1e-14)
    again = run("solve", f"stack-{step}.hdf5", "--guess", "solution", "--tol", 1e-6, "--json").document
    assert (again["solved"], again["iterations"]) == (True, 0)
    assert again["residual"] == pytest.approx(frame.residual, rel=1e-6, abs=1e-14)
    assert again["problem"]["contacts"] == len(frame.contacts)
    anew = run("solve", f"stack-{step}.hdf5", "--tol", 1e-8, "--json").document
    assert anew["solved"]
    assert anew["residual"] <= 1e-8


# -------------------------------------------------------------------- slips


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "bouncing-bal"), "called 'bouncing-bal': did you mean 'bouncing-ball'?"),
        (("run", "xyzzy"), "called 'xyzzy': 'clapas examples' lists the shipped scenes"),
        (("run", "nowhere.toml"), "nowhere.toml"),
        (("run", "bouncing-ball", "--dt", "-1"), "dt must be positive, got -1.0"),
        (("run", "bouncing-ball", "--out", "no/run.h5"), "there is no folder"),
        (("run", "bouncing-ball", "--solver", "magic"), "magic"),
        (("run", "bouncing-ball", "--set", "speed=3"), "speed"),
        (("run", "bouncing-ball", "--on-unsolved", "pray"), "'raise' or 'record', got 'pray'"),
        (("resume", "nowhere.h5"), "nowhere.h5"),
        (("resume", "text.h5"), "not an HDF5 file"),
        (("export", "text.h5", "--csv", "tables"), "not an HDF5 file"),
        (("export", "text.h5"), "nothing to export: give --vtk DIR, --csv DIR or --fclib STEP"),
    ],
)
def test_slips_are_told(run: Run, arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    Path("text.h5").write_text("no recording")
    outcome = run(*arguments)
    assert outcome.code == 2
    assert outcome.err.startswith("clapas: ")
    assert message in outcome.err
    assert "Traceback" not in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["text.h5"]


def test_a_step_that_is_not_there(run: Run, stack: Path) -> None:
    for step in (30, 1000):
        outcome = run("export", stack, "--fclib", step)
        assert outcome.code == 2
        assert f"step {step} is not in the run, which has steps 0 to 29" in outcome.err


def test_a_run_without_steps_has_no_problem_to_export(tmp_path: Path) -> None:
    scene = Scene()
    scene.add(Sphere(0.1), density=1000.0)
    none = "step 0 is not in the run, which has no step after its start"
    with simulate(scene, 0.0, 0.01, out=tmp_path / "start.h5") as run, pytest.raises(FormatError, match=none):
        export_problem(run, 0, tmp_path / "problem.hdf5")


def test_an_unsolved_step_ends_the_run_with_1_and_keeps_what_was_done(run: Run) -> None:
    hopeless = ("--tol", 1e-300, "--set", "max_iterations=1", "--every", 1)
    outcome = run("run", "sliding-block", "--duration", 0.05, *hopeless)
    assert (outcome.code, outcome.out) == (1, "")
    assert "MAX_ITERATIONS" in outcome.err
    assert "sliding-block.h5" in outcome.err
    assert "--on-unsolved record" in outcome.err
    assert len(written("sliding-block.h5")) >= 2
    going_on = run("run", "sliding-block", "--duration", 0.05, *hopeless, "--on-unsolved", "record", "--json")
    assert going_on.code == 0
    assert going_on.document["steps"] == 50
    assert going_on.document["worst_residual"] > 1e-300


# -------------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "sliding-block", "--dt", "1e-320"), "is too small for a run of 1 s"),
        (("run", "sliding-block", "--every", "9" * 21), "every must be at most 1e+15 steps"),
        (
            ("run", "box-of-spheres", "--count", "-1"),
            "count must be from 1 to 1e+06 (number of grains), got -1",
        ),
        (("run", "silo", "--width", "0"), "width must be from 1.5 to 10000 largest diameters"),
        (("run", "heap", "--grains", "10000000000"), "grains must be from 1"),
        (("run", "heap", "--grains", "many"), "--grains must be a whole number, from 1 to 1e+06, got 'many'"),
        (("info", "/dev/zero"), "/dev/zero: a device or a pipe, expected a file"),
        (("examples", "heep"), "no shipped scene is called 'heep' (did you mean 'heap'?)"),
    ],
)
def test_limits_are_said_at_once(run: Run, arguments: tuple[str, ...], message: str) -> None:
    outcome = run(*arguments)
    assert outcome.code == 2
    assert message in outcome.err


def test_an_empty_scene_and_a_ragged_table_are_refused(run: Run) -> None:
    Path("empty.toml").write_text("[run]\nduration = 0.1\ndt = 0.01\n", encoding="utf-8")
    assert "the scene has no bodies" in run("run", "empty.toml").err
    ragged = '{type = "table", times = [0, 1], velocities = [[0, 0, 0], [1, 0]]}'
    body = f'[[bodies]]\nshape = {{type = "plane"}}\nmotion = {ragged}\n'
    Path("ragged.toml").write_text(body, encoding="utf-8")
    outcome = run("run", "ragged.toml", "--duration", "0.1", "--dt", "0.01")
    assert outcome.code == 2
    assert "table: velocities must be rows of numbers, all of one length" in outcome.err


def test_examples_explains_the_parameters_of_one_scene(run: Run) -> None:
    outcome = run("examples", "rough-drum")
    assert outcome.code == 0
    assert "Froude number" in outcome.out
    assert "--froude" in outcome.out


def test_info_verifies_a_recording(run: Run) -> None:
    assert run("run", "sliding-block", "--duration", "0.02", "--out", "block.h5", "--quiet").code == 0
    assert "verified: 3 frames and the model match their checksums" in run("info", "block.h5", "--verify").out
    assert run("info", "block.h5", "--verify", "--json").document["verified_frames"] == 3
    assert "--verify is for recordings" in run("info", "example:two-blocks", "--verify").err


@pytest.mark.parametrize(("restitution", "creates"), [(0.9, True), (0.0, False)])
def test_energy_made_by_restitution_is_said(
    restitution: float, creates: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A bar that strikes the floor at 55° with restitution 0.9 leaves with 20.654 J of 20 J."""
    angle, length, width = math.radians(55.0), 1.0, 0.02
    scene = Scene((0.0, 0.0), d=2)
    scene.law(mu=0.3, restitution=restitution)
    scene.add(HalfPlane())
    corners = [(-0.5 * length, -0.5 * width), (0.5 * length, -0.5 * width)]
    bar = Polygon([*corners, *((-x, -y) for x, y in corners)])
    height = 0.5 * (length * math.sin(angle) + width * math.cos(angle)) + 1e-4
    scene.add(bar, position=(0.0, height), orientation=angle, density=1000, velocity=(1.0, -1.0))
    with simulate(scene, duration=4e-4, dt=2e-5, out=tmp_path / "bar.h5") as recording:
        assert describe(recording)["creates_energy"] is creates
        assert recording.frame(-1).kinetic == pytest.approx(20.654 if creates else 14.441, abs=1e-3)
        print_summary(recording)
    assert ("note: restitution gave energy" in capsys.readouterr().out) is creates


def test_a_run_of_one_body_says_so(tmp_path: Path, run: Run) -> None:
    outcome = run("run", "pendulum", "--duration", "0.004", "--out", str(tmp_path / "one.h5"))
    assert "1 body in 2-D" in outcome.out


def test_bodies_of_other_kinds_are_named(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "grid.h5"
    outcome = run("run", "tensegrity-grid", "--modules", "1", "--duration", "0.01", "--out", str(out))
    assert outcome.code == 0
    assert "  truss                'grid', " in outcome.out


def test_warnings_are_notes_without_places_in_the_code(run: Run, tmp_path: Path) -> None:
    """Links of a robot that overlap are named in one line."""
    link = (
        '<link name="{0}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>{1}</link>'
    )
    shape = '<collision><geometry><sphere radius="0.3"/></geometry></collision>'
    joint = (
        '<joint name="{0}{1}" type="continuous"><origin xyz="0.2 0 0"/>'
        '<parent link="{0}"/><child link="{1}"/></joint>'
    )
    links = "".join(link.format(name, shape) for name in "abc")
    (tmp_path / "arm.urdf").write_text(
        f'<robot name="arm">{links}{joint.format("a", "b")}{joint.format("b", "c")}</robot>'
    )
    outcome = run("run", tmp_path / "arm.urdf", "--duration", 0.002, "--out", tmp_path / "a.h5", "--quiet")
    assert outcome.code == 0
    assert "note: robot 'arm': links overlap at the start" in outcome.err
    assert "Warning" not in outcome.err


def test_pipes_stay_and_links_are_followed(run: Run, tmp_path: Path) -> None:
    os.mkfifo("pipe.h5")
    refused = run("run", "sliding-block", "--duration", 0.02, "--out", "pipe.h5")
    assert (refused.code, "a device or a pipe" in refused.err) == (2, True)
    assert Path("pipe.h5").is_fifo()
    Path("real").mkdir()
    Path("link.h5").symlink_to("real/run.h5")  # dangling at first
    assert run("run", "sliding-block", "--duration", 0.02, "--out", "link.h5").code == 0
    assert run("resume", "link.h5", "--duration", 0.04).code == 0
    assert Path("link.h5").is_symlink()
    assert len(written("real/run.h5")) == len(written("link.h5")) == 5


def test_an_unfinished_run_is_said_to_be_one(run: Run) -> None:
    def stopped(progress: StepProgress) -> bool:
        return progress.step >= 20

    simulate(examples.load("sliding-block"), 0.05, out="a part.h5", progress=stopped)
    assert "'clapas resume 'a part.h5'' goes on" in run("info", "a part.h5").out  # as a shell takes it
    Path("a part.h5").rename("part.h5")
    told = run("info", "part.h5")
    assert "note: it was to go to t = 0.05 s: 'clapas resume part.h5' goes on" in told.out
    again = run("run", "sliding-block", "--duration", 0.02, "--out", "part.h5")
    assert "part.h5 holds a run to t = 0.02 of 0.05 s, which this one replaces" in again.err
    assert "it was to go" not in run("info", "part.h5").out


def test_ctrl_c_ends_a_run_with_its_exit_code(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def interrupting(quiet: bool) -> Iterator[Callable[[StepProgress], None]]:
        yield lambda progress: signal.raise_signal(signal.SIGINT) if progress.step == 20 else None

    with monkeypatch.context() as patched:
        patched.setattr("clapas.cli.run._progress", interrupting)
        stopped = run("run", "sliding-block", "--duration", 0.05, "--every", 7, "--out", "part.h5")
    assert stopped.code == 130
    assert "'clapas resume part.h5' goes on" in stopped.out
    assert run("resume", "part.h5").code == 0
    assert run("run", "sliding-block", "--duration", 0.05, "--every", 7, "--out", "whole.h5").code == 0
    with Recording("part.h5") as part, Recording("whole.h5") as whole:
        np.testing.assert_array_equal(part.column("step"), whole.column("step"))
        np.testing.assert_array_equal(part.frame(-1).state.position, whole.frame(-1).state.position)


def test_frames_above_the_tolerance_are_counted(run: Run) -> None:
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Plane())
    scene.add(Sphere(0.1), (0, 0, 0.1), density=1.0)
    scene.add(Sphere(0.1), (0, 0, 0.3), density=1e11)
    with pytest.warns(UserWarning, match="rounding of these data"):
        simulate(scene, 0.02, 1e-3, out="heavy.h5")
    assert "above the tolerance  20 of the 21 frames kept" in run("info", "heavy.h5").out


def test_verify_says_that_a_file_is_missing(run: Run) -> None:
    assert "there is no file 'gone.h5'" in run("info", "gone.h5", "--verify").err
