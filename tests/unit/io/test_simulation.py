"""Runs on disk: recorded, read, killed, resumed to the same bits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from clapas import NSGS, Plane, Recording, Scene, Simulation, Sphere, resume, simulate
from clapas.analysis.measures import measure
from clapas.errors import FormatError, NotSolved, OutOfRange, SettingsError, UnknownName
from clapas.io.recording import layout
from clapas.io.replay import export_problem
from clapas.scenes.regions import DiscRegion

DT = 2e-3
SOLVER = NSGS(tol=1e-6)


def rain() -> Scene:
    """A few spheres on the floor and some that are born on the way."""
    scene = Scene(seed=4)
    scene.law(mu=0.5)
    scene.add(Plane(), name="floor")
    for k in range(4):
        scene.add(Sphere(0.1), position=(0.05 * k, 0.02 * k, 0.12 + 0.21 * k), density=2000)
    region, fast = DiscRegion((0, 0, 1.2), 0.1), (0, 0, -4.0)  # born grains are out of the way of the next
    scene.source(region, rate=20, radius=(0.05, 0.08), number=5, density=2000, velocity=fast, name="rain")
    return scene


def columns(path: Path) -> dict[str, np.ndarray]:
    with Recording(path) as run:
        rows = {name: run.column(name) for name in layout.FRAMES if name != "seconds"}
        contacts = [run.contact_rows(i) for i in range(run.n_frames)]
    return rows | {name: np.concatenate([c[name] for c in contacts]) for name in layout.CONTACTS}


def assert_same(first: Path, second: Path) -> None:
    a, b = columns(first), columns(second)
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "whole.h5"
    simulate(rain(), 0.4, DT, SOLVER, out=path, every=5).close()
    return path


def test_a_recording_tells_what_ran(whole: Path) -> None:
    with Recording(whole) as run:
        assert run.n_frames == 41
        np.testing.assert_allclose(run.times, 0.01 * np.arange(41), atol=1e-12)
        assert (run.dt, run.every) == (DT, 5)
        assert run.model.names[0] == "floor"
        first, last = run.frame(0), run.frame(-1)
        assert (first.state.n_bodies, last.state.n_bodies) == (6, 10)
        assert len(last.contacts) == len(last.state.impulses.impulse) > 0
        assert np.isfinite(last.state.position).all()
        assert last.residual <= 1e-6
        assert "41 frames of 10 bodies" in repr(run)


def test_what_a_recording_does_not_have_is_an_error_of_clapas_that_says_what_it_has(tmp_path: Path) -> None:
    scene = rain()
    scene.probe("position", "floor", name="height")
    with simulate(scene, 0.02, DT, SOLVER, out=tmp_path / "run.h5") as run:
        with pytest.raises(OutOfRange, match=r"no frame 41: frames are numbered 0 to 10, -1 is the last"):
            run.frame(41)
        with pytest.raises(SettingsError, match=r"by its number, got 0\.5; frame\(-1\) is the last"):
            run.frame(0.5)  # type: ignore[arg-type]
        with pytest.raises(
            UnknownName, match=r"^no column of a recording is called 'tine' \(did you mean 'time"
        ):
            run.column("tine")
        for ask in (run.probe, run.probes.__getitem__):
            with pytest.raises(UnknownName, match=r"'heigth' \(did you mean 'height'\?\): expected height$"):
                ask("heigth")
        assert "heigth" not in run.probes
        assert run.probes.get("heigth") is None
        last = run.frame(-1)
        with pytest.raises(UnknownName, match=r"no body is called 'flor' \(did you mean 'floor'\?\)"):
            last.forces("flor")
        with pytest.raises(OutOfRange, match=r"no body 99: bodies are numbered 0 to 9"):
            last.forces(99)
        with pytest.raises(UnknownName, match="no joint is called 'axle': there is none"):
            last.joints["axle"]
        with pytest.raises(UnknownName, match=r"no column is called 'gaps' \(did you mean 'gap'\?\)"):
            last.contacts.table()["gaps"]
        with pytest.raises(OutOfRange, match="no row 1000: the table has"):
            last.contacts.table()[1000]
        assert len(list(last.contacts.table())) == len(last.contacts)
        with pytest.raises(UnknownName, match=r"no measure is called 'sloppe' \(did you mean 'slope'\?\)"):
            measure(run, "sloppe")
    assert issubclass(UnknownName, KeyError)
    assert issubclass(OutOfRange, IndexError)


def test_the_same_scene_gives_the_same_bits(whole: Path, tmp_path: Path) -> None:
    simulate(rain(), 0.4, DT, SOLVER, out=tmp_path / "again.h5", every=5).close()
    assert_same(whole, tmp_path / "again.h5")


def test_resuming_gives_the_same_bits(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "part.h5"
    simulate(rain(), 0.15, DT, SOLVER, out=path, every=5).close()
    resume(path, 0.4).close()
    assert_same(whole, path)


SCRIPT = """
import sys
import clapas.io.recording.writer as writer
from tests.unit.io.test_simulation import DT, SOLVER, rain
from clapas import simulate
writer.FLUSH_SECONDS = 0.02
print("ready", flush=True)
simulate(rain(), 1e3 if sys.argv[2] == "long" else 0.4, DT, SOLVER, out=sys.argv[1], every=5)
"""


def start(path: Path, length: str) -> subprocess.Popen[str]:
    root = Path(__file__).resolve().parents[3]
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(path), length], cwd=root, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    return process


def wait_for_frames(path: Path, count: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if path.exists():
            with Recording(path) as run:
                if run.n_frames >= count:
                    return
        time.sleep(0.02)
    raise AssertionError("the run wrote nothing in two minutes")


@pytest.mark.parametrize("frames", [2, 11])
def test_a_killed_run_is_readable_and_resumes_to_the_same_bits(
    whole: Path, tmp_path: Path, frames: int
) -> None:
    path = tmp_path / "killed.h5"
    process = start(path, "long")
    wait_for_frames(path, frames)
    process.kill()
    process.wait()
    with Recording(path) as run:
        kept = run.n_frames
        assert kept >= frames
        assert np.isfinite(run.frame(-1).kinetic)
    resume(path, max(0.4, (kept - 1) * 5 * DT)).close()
    a, b = columns(whole), columns(path)
    shared = min(len(a["step"]), len(b["step"]))
    np.testing.assert_array_equal(a["position"][:shared], b["position"][:shared])


def test_an_interrupted_run_ends_after_its_step(tmp_path: Path) -> None:
    path = tmp_path / "stopped.h5"
    process = start(path, "long")
    wait_for_frames(path, 3)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 0
    with Recording(path) as run:
        assert run.n_frames >= 3


def test_an_unsolved_step_is_raised_and_recorded(tmp_path: Path) -> None:
    path = tmp_path / "hard.h5"
    with pytest.raises(NotSolved):
        simulate(rain(), 0.4, DT, NSGS(tol=1e-300, max_iterations=2), out=path)
    with Recording(path) as run:
        assert run.n_frames >= 2
        assert run.frame(-1).residual > 1e-300


def test_any_problem_of_a_run_can_be_replayed_alone(whole: Path, tmp_path: Path) -> None:
    from clapas import read

    with Recording(whole) as run:
        file = read(export_problem(run, 150, tmp_path / "step.hdf5"))
    assert file.solution is not None
    assert file.problem.residual(file.solution.r) <= 1e-6


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda path: simulate(rain(), out=path), SettingsError, "Give duration and dt"),
        (lambda path: simulate(rain(), 1.0, -1.0, out=path), SettingsError, "dt must be positive"),
        (
            lambda path: simulate(rain(), 1.0, DT, out=path / "no" / "run.h5"),
            SettingsError,
            "there is no folder",
        ),
        (lambda path: Recording(__file__), FormatError, "not an HDF5 file"),
    ],
)
def test_slips(make: object, error: type[Exception], message: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=message):
        make(tmp_path / "run.h5" if "no" not in message else tmp_path)  # type: ignore[operator]


@pytest.mark.parametrize("name", ["run.txt", "run.PNG"])
def test_python_refuses_the_names_that_the_command_line_refuses(tmp_path: Path, name: str) -> None:
    message = rf"{name}: a recording is an HDF5 file, give it a name such as .*run\.h5"
    with pytest.raises(SettingsError, match=message):
        simulate(rain(), 0.02, DT, out=tmp_path / name)
    with pytest.raises(SettingsError, match=message):
        Simulation(rain(), DT).record(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_problem_file_is_not_a_recording() -> None:
    from clapas.io import shipped

    with pytest.raises(FormatError, match="not a recording"):
        Recording(shipped("two-blocks.hdf5"))


def test_nothing_is_left_behind_by_a_failed_start(tmp_path: Path) -> None:
    with pytest.raises(SettingsError):
        simulate(rain(), 1.0, DT, out=tmp_path / "missing" / "run.h5")
    assert os.listdir(tmp_path) == []
