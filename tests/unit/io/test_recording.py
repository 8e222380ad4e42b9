"""Recordings: to the bit what ran, readable while they grow, safe from kills, resumed to the same bits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from clapas.bodies.kind import Energy
from clapas.dynamics.births import initial_state
from clapas.dynamics.motions import Oscillation
from clapas.dynamics.schemes import MoreauJean, MoreauMidpoint
from clapas.errors import FormatError, SettingsError
from clapas.geometry.shapes import Box, Clump, Disk, HalfPlane, Plane, Sphere
from clapas.io.recording import Recording, RecordingWriter, layout
from clapas.io.settings import from_plain
from clapas.io.simulation import resume, simulate
from clapas.scenes.compilation import compile_scene
from clapas.scenes.recorders import Memory, RecordedStep, StepProgress
from clapas.scenes.regions import DiscRegion
from clapas.scenes.scene import Scene
from clapas.scenes.simulation import simulate as run_model
from clapas.solvers import NSGS
from clapas.version import __version__

ROOT = Path(__file__).resolve().parents[3]
DT, STEPS = 2e-3, 120
METHOD: dict[str, Any] = {"solver": NSGS(tol=1e-4, max_iterations=200), "on_unsolved": "record"}
"""Quick, and never in the way: what counts here are bits, whatever they say."""


def scene() -> Scene:
    """A shaken plate, blocks and balls on it, and balls that are born on the way."""
    made = Scene(seed=4)
    made.law(mu=0.5, restitution=0.2)
    made.add(Box((2, 2, 0.1)), (0, 0, -0.05), motion=Oscillation(0.01, 5.0, (0, 0, 1)), name="plate")
    made.add(Box((0.2, 0.3, 0.1)), (0.3, 0, 0.06), density=2000, angular_velocity=(1, 2, 3))
    for k in range(3):
        made.add(Sphere(0.05), (0.03 * k, 0.01 * k, 0.06 + 0.11 * k), density=2000)
    above = DiscRegion((0, 0, 0.6), 0.1)
    fast = {"start": 0.05, "velocity": (0, 0, -4.0)}  # out of the way of the next
    made.source(above, rate=40, radius=(0.03, 0.05), number=4, density=2000, name="rain", **fast)
    return made


def columns(path: Path) -> dict[str, np.ndarray]:
    """All that a recording holds of its frames but the wall time."""
    with Recording(path) as run:
        frames = {name: run.column(name) for name in layout.FRAMES if name != "seconds"}
        rows = [contacts for _, contacts in run.stored()]
    return frames | {name: np.concatenate([row[name] for row in rows]) for name in layout.CONTACTS}


def assert_same_bits(found: Path, expected: Path) -> None:
    one, other = columns(found), columns(expected)
    for name in one:
        assert one[name].tobytes() == other[name].tobytes(), name


def assert_prefix(found: Path, expected: Path) -> int:
    """The frames there are those of a longer run, to the bit; returns their number."""
    one, other = columns(found), columns(expected)
    frames = len(one["step"])
    rows = int(one["contact_end"][-1]) if frames else 0
    for name in one:
        count = frames if name in layout.FRAMES else rows
        assert len(one[name]) == count
        assert one[name].tobytes() == other[name][:count].tobytes(), name
    return frames


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recording") / "whole.h5"
    simulate(scene(), STEPS * DT, DT, **METHOD, out=path).close()
    return path


# -------------------------------------------------------------------- what is in it


def test_a_recording_is_what_ran_to_the_bit(whole: Path) -> None:
    model, memory = compile_scene(scene()), Memory()
    run_model(model, STEPS * DT, DT, **METHOD, recorder=memory)
    with Recording(whole) as run:
        assert run.n_frames == STEPS + 1 == len(memory.steps)
        assert (run.frame(0).state.n_bodies, run.frame(-1).state.n_bodies) == (5, 9)
        assert sum(len(frame.contacts) for frame in run.frames()) > 300
        for frame, kept in zip(run.frames(), memory.steps, strict=True):
            _assert_frame(frame, kept)


def _assert_frame(frame: object, kept: RecordedStep) -> None:
    for name in ("position", "orientation", "velocity"):
        np.testing.assert_array_equal(getattr(frame.state, name), getattr(kept.state, name))
    for name in ("a", "b", "feature", "impulse", "couple"):
        np.testing.assert_array_equal(getattr(frame.state.impulses, name), getattr(kept.state.impulses, name))
    assert (frame.state.time, frame.state.step) == (kept.state.time, kept.state.step)
    assert (frame.kinetic, frame.potential, frame.work) == (*kept.energy, kept.work)
    if kept.stepped is None:
        assert len(frame.contacts) == 0
        return
    solution, contacts = kept.stepped.solution, kept.stepped.contacts
    assert (frame.residual, frame.iterations) == (solution.residual, solution.iterations)
    assert frame.status is solution.status
    for name in ("a", "b", "collider_a", "collider_b", "feature", "point", "normal", "gap"):
        np.testing.assert_array_equal(getattr(frame.contacts, name), getattr(contacts, name))
    # 0 open, 1 sticking, 2 sliding. An open contact carries nothing in an exact answer; here answers are
    # good to 1e-4 of velocities, and what is left on a contact that opens is of that order.
    size = np.linalg.norm(frame.state.impulses.impulse, axis=1)
    assert (size[frame.mode == 0] <= 10 * METHOD["solver"].tol * size.max(initial=0.0)).all()
    assert set(frame.mode.tolist()) <= {0, 1, 2}


def test_a_recording_describes_itself(whole: Path) -> None:
    model = compile_scene(scene())
    with Recording(whole) as run:
        assert (run.dt, run.every, run.clapas_version) == (DT, 1, __version__)
        assert run.settings["solver"]["type"] == "NSGS"
        assert run.settings["solver"]["tol"] == 1e-4
        assert run.settings["duration"] == STEPS * DT
        for name in layout.MODEL:
            np.testing.assert_array_equal(getattr(run.model, name), getattr(model, name))
        for name in layout.COLLIDERS:
            np.testing.assert_array_equal(getattr(run.model.colliders, name), getattr(model.colliders, name))
        for name in layout.LAWS:
            np.testing.assert_array_equal(getattr(run.model.laws, name), getattr(model.laws, name))
        assert run.model.names == model.names
        assert run.model.period == (None, None)
        assert repr(run) == f"Recording('{whole}', 121 frames of 9 bodies to t = 0.24 s)"
    with h5py.File(whole) as file:
        assert file.attrs["units"] == "SI"
        assert {name for name, data in file["frames"].items() if "unit" in data.attrs} == set(layout.FRAMES)


@pytest.mark.parametrize("d", [2, 3])
def test_a_run_without_contacts_and_one_without_movable_bodies(d: int, tmp_path: Path) -> None:
    alone = Scene(d=d)
    alone.add(Plane() if d == 3 else HalfPlane())
    with simulate(alone, 0.01, 1e-3, out=tmp_path / "alone.h5") as run:
        assert (run.n_frames, len(run.frame(-1).contacts)) == (11, 0)
    falling = Scene(d=d, period=(5.0, None))
    falling.add(Sphere(0.1) if d == 3 else Disk(0.1), density=1.0)
    with simulate(falling, 0.01, 1e-3, out=tmp_path / "falling.h5", every=4) as run:
        assert run.column("step").tolist() == [0, 4, 8, 10]  # the last is always kept
        assert run.frame(-1).state.velocity[0, d - 1] == pytest.approx(-0.0981)
        assert run.model.period == (5.0, None)


def test_a_scheme_and_a_solver_are_written_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    falling = Scene()
    falling.add(Sphere(0.1), density=1.0)
    simulate(falling, 0.01, 1e-3, NSGS(tol=1e-3), out=path, scheme=MoreauJean(theta=1.0)).close()
    with resume(path, 0.02) as run:
        assert run.settings["scheme"] == {
            "type": "MoreauJean", "theta": 1.0, "inertia": True, "projection": 0.0,
            "travel": "inf", "halvings": 8, "reach": None,
        }  # fmt: skip
        assert run.settings["solver"]["time_limit"] == "inf"
        assert run.frame(-1).state.position[0, 2] == pytest.approx(-9.81 * (0.02**2 + 0.02e-3) / 2)


# -------------------------------------------------------------------- resumed


@pytest.mark.parametrize("cuts", [[37], [1, 60, 61]])
def test_resuming_gives_the_same_bits(whole: Path, tmp_path: Path, cuts: list[int]) -> None:
    """Births, imposed motions and carried impulses go on as if nothing had happened."""
    path = tmp_path / "parts.h5"
    simulate(scene(), cuts[0] * DT, DT, **METHOD, out=path).close()
    for cut in [*cuts[1:], STEPS]:
        resume(path, cut * DT).close()
    assert_same_bits(path, whole)
    assert [p.name for p in tmp_path.iterdir()] == ["parts.h5"]


def test_resuming_a_finished_run_changes_nothing(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "copy.h5"
    path.write_bytes(whole.read_bytes())
    with resume(path) as run:
        assert run.n_frames == STEPS + 1
    assert_same_bits(path, whole)


def test_a_run_stopped_between_two_frames_goes_on_from_its_last_step(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "stopped.h5"

    def at_the_33rd(advance: StepProgress) -> bool:
        return advance.step == 33

    with simulate(scene(), STEPS * DT, DT, **METHOD, out=path, every=10, progress=at_the_33rd) as run:
        assert run.column("step").tolist() == [0, 10, 20, 30, 33]
    resume(path).close()
    found, expected = columns(path), columns(whole)
    steps = found["step"]
    assert set(range(0, STEPS + 1, 10)) <= set(steps.tolist())
    for name in ("time", "position", "orientation", "velocity", "work", "kinetic", "residual"):
        assert found[name].tobytes() == expected[name][steps].tobytes(), name


# -------------------------------------------------------------------- refusals


def test_what_cannot_be_resumed(tmp_path: Path) -> None:
    def moved_by_hand(t: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
        return (0.0, 0.0, t), (0.0, 0.0, 0.0)

    path = tmp_path / "function.h5"
    driven = Scene()
    driven.add(Plane(), motion=moved_by_hand)
    simulate(driven, 0.01, 1e-3, out=path).close()
    with pytest.raises(FormatError, match="functions of Python and is not in the file: give it"):
        resume(path, 0.02)
    with resume(path, 0.02, scene=driven) as run:
        assert run.n_frames == 21
    empty = tmp_path / "empty.h5"
    writer = RecordingWriter(empty, compile_scene(scene()), dt=DT, scene="{}")
    writer.flush()
    writer.close()
    with Recording(empty) as run:
        assert run.n_frames == 0
        assert repr(run) == f"Recording('{empty}', 0 frames of 9 bodies)"
        with pytest.raises(IndexError):
            run.frame(-1)
    with pytest.raises(FormatError, match="no frame is complete; start again"):
        resume(empty)


def test_what_is_not_a_recording(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Recording(tmp_path / "nothing.h5")
    text = tmp_path / "text.h5"
    text.write_text("step,time\n")
    with pytest.raises(FormatError, match="not an HDF5 file"):
        Recording(text)
    other = tmp_path / "other.h5"
    with h5py.File(other, "w") as file:
        file.attrs["format"] = "something else"
    with pytest.raises(FormatError, match="not a recording made by clapas run"):
        Recording(other)
    torn = tmp_path / "torn.h5"
    torn.write_bytes(whole.read_bytes()[:5000])
    with pytest.raises(FormatError, match="not an HDF5 file, or damaged"):
        Recording(torn)
    newer = tmp_path / "newer.h5"
    newer.write_bytes(whole.read_bytes())
    with h5py.File(newer, "r+") as file:
        file.attrs["version"] = layout.VERSION + 1
    with pytest.raises(FormatError, match=f"version {layout.VERSION + 1} of the format.* upgrade clapas"):
        Recording(newer)
    older = tmp_path / "older.h5"
    older.write_bytes(whole.read_bytes())
    with h5py.File(older, "r+") as file:
        file.attrs["version"] = layout.OLDEST - 1
    with pytest.raises(FormatError, match=f"version {layout.OLDEST - 1} of the format.* run the scene again"):
        Recording(older)
    for path in (text, other, torn, newer, older):
        with pytest.raises(FormatError):
            resume(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dt": 0.0}, "dt must be positive, got 0"),
        ({"dt": -1e-3}, "dt must be positive"),
        ({"duration": -1.0}, "duration must be at least 0, got -1"),
        ({"every": 0}, "every must be at least 1, got 0"),
        ({"on_unsolved": "ignore"}, "on_unsolved must be 'raise' or 'record', got 'ignore'"),
        ({"scheme": "moreau-jean"}, "scheme must be such as MoreauMidpoint.*, got 'moreau-jean'"),
        ({"sleeping": {"speed": 1e-2}}, "sleeping must be such as Sleeping.*, got {'speed': 0.01}"),
    ],
)
def test_a_slip_leaves_an_older_recording_alone(
    whole: Path, tmp_path: Path, options: dict[str, object], message: str
) -> None:
    path = tmp_path / "run.h5"
    path.write_bytes(whole.read_bytes())
    with pytest.raises(SettingsError, match=message):
        simulate(scene(), **{"duration": 0.1, "dt": DT, "out": path} | options)  # type: ignore[arg-type]
    assert path.read_bytes() == whole.read_bytes()
    assert [p.name for p in tmp_path.iterdir()] == ["run.h5"]


def test_no_time_at_all(tmp_path: Path) -> None:
    with simulate(scene(), 0.0, DT, out=tmp_path / "run.h5") as run:
        assert run.column("step").tolist() == [0]


# -------------------------------------------------------------------- other processes

# A process that has loaded everything and forks one run per line, so that a kill costs milliseconds.
NURSERY = """
import os, sys
import clapas.io.recording.writer as writer
from tests.unit.io.test_recording import DT, METHOD, STEPS, scene
from clapas.io.simulation import resume, simulate

writer.FLUSH_SECONDS = float(sys.argv[1])
simulate(scene(), 3 * DT, DT, **METHOD).close()

for line in sys.stdin:
    verb, path, steps = line.split()
    child = os.fork()
    if child == 0:
        told = os.open(path + ".told", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        tell = lambda advance: os.pwrite(told, b"%6d" % advance.step, 0) and None
        if verb == "run":
            simulate(scene(), int(steps) * DT, DT, **METHOD, out=path, progress=tell).close()
        else:
            resume(path, int(steps) * DT, progress=tell).close()
        os._exit(0)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Nursery:
    """Runs in processes of their own, to be killed."""

    def __init__(self, flush_seconds: float) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", NURSERY, str(flush_seconds)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def start(self, verb: str, path: Path, steps: int) -> int:
        """Start a run; returns its process number."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{verb} {path} {steps}\n")
        self._process.stdin.flush()
        return self._read()

    def ended(self) -> int:
        """Wait for the run; its exit code, negative for a signal."""
        return self._read()

    def _read(self) -> int:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the process that starts the runs has ended"
        return int(line)

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    made = Nursery(0.0)
    yield made
    made.close()


def told(path: Path) -> int:
    """The last step a run spoke of; all before it had been handed to the recording."""
    note = path.with_name(path.name + ".told")
    return int(note.read_text() or 0) if note.exists() else 0


def wait_for_step(path: Path, step: int) -> None:
    deadline = time.monotonic() + 120
    while told(path) < step:
        assert time.monotonic() < deadline, "the run does not move"
        time.sleep(0.005)


@pytest.mark.parametrize("seed", range(3))
def test_killed_at_any_instant(nursery: Nursery, whole: Path, tmp_path: Path, seed: int) -> None:
    """A killed run has all its flushed frames, is read as it is, and resumes to the same bits."""
    rng = np.random.default_rng(seed)
    path = tmp_path / "killed.h5"
    process = nursery.start("run", path, STEPS)
    wait_for_step(path, int(rng.integers(1, STEPS - 20)))
    time.sleep(rng.uniform(0.0, 0.02))
    os.kill(process, signal.SIGKILL)
    assert nursery.ended() == -signal.SIGKILL
    frames = assert_prefix(path, whole)
    assert frames >= told(path) > 0  # each step was flushed before the next, and the start before them
    # The run that goes on is killed too, several times: what was there stays there.
    for _ in range(4):
        process = nursery.start("resume", path, STEPS)
        time.sleep(rng.uniform(0.0, 0.15))
        os.kill(process, signal.SIGKILL)
        nursery.ended()
        before, frames = frames, assert_prefix(path, whole)
        assert frames >= before
    resume(path, STEPS * DT).close()
    assert_same_bits(path, whole)


def test_killed_before_the_first_frame_is_safe(whole: Path, tmp_path: Path) -> None:
    """The older recording is there until the new one has something to show."""
    rare = Nursery(1e9)
    path = tmp_path / "run.h5"
    path.write_bytes(whole.read_bytes())
    process = rare.start("run", path, 10**6)
    wait_for_step(path, 5)
    os.kill(process, signal.SIGKILL)
    rare.ended()
    rare.close()
    assert path.read_bytes() == whole.read_bytes()


def test_interrupted_by_ctrl_c(nursery: Nursery, whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "stopped.h5"
    process = nursery.start("run", path, STEPS)
    wait_for_step(path, 20)
    os.kill(process, signal.SIGINT)
    assert nursery.ended() == 0  # it ends by itself, after the step under way
    frames = assert_prefix(path, whole)
    assert frames == told(path) + 1
    resume(path).close()
    assert_same_bits(path, whole)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["stopped.h5", "stopped.h5.told"]


def test_read_while_it_grows(nursery: Nursery, whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "live.h5"
    nursery.start("run", path, STEPS)
    wait_for_step(path, 2)
    expected, seen = columns(whole), []
    with Recording(path) as run:
        while not seen or seen[-1] < STEPS + 1:
            seen.append(run.n_frames)
            last = run.frame(seen[-1] - 1)
            assert last.state.step == seen[-1] - 1
            alive = last.state.n_bodies
            np.testing.assert_array_equal(last.state.position, expected["position"][seen[-1] - 1, :alive])
            assert len(run.column("velocity")) >= seen[-1]
    assert nursery.ended() == 0
    assert seen == sorted(seen)
    assert len(set(seen)) > 3
    assert_same_bits(path, whole)


def test_schemes_of_recordings_made_before_there_was_a_reach() -> None:
    """They go on as they were: without reach. What is gone says so."""
    old = {"type": "MoreauMidpoint", "theta": 0.5, "activation": "gap", "inertia": True}
    assert from_plain(old) == MoreauMidpoint(reach=0.0)
    with pytest.raises(FormatError, match=r"made with activation='predicted'.*run its scene again"):
        from_plain(old | {"activation": "predicted"})


@pytest.mark.parametrize("birth", [0.0, 1.0])
def test_frames_of_many_bodies_are_packed_where_some_are_not_born(tmp_path: Path, birth: float) -> None:
    """Numbers that are all different are stored as they are; zeros, and their signs, are kept for nothing."""
    made, count = Scene(), 6000
    made.law(mu=0.0)
    for k in range(count):
        made.add(Sphere(0.1), (k % 100, k // 100, 0), density=1000)
    model = compile_scene(made)
    model = replace(model, birth=np.where(np.arange(count) < count // 2, 0.0, birth))
    path, random, expected = tmp_path / "many.h5", np.random.default_rng(5), []
    with RecordingWriter(path, model, dt=DT) as writer:
        for step in range(4):
            start = initial_state(model)
            velocity = random.normal(size=(start.n_bodies, 6)) if step % 2 else np.zeros((start.n_bodies, 6))
            velocity[0, 0] = -0.0
            state = replace(start, velocity=velocity, step=step, time=step * DT)
            writer.keep(RecordedStep(None, state, Energy(0.0, 0.0), 0.0, 0.0, 0.0))
            writer.flush()
            expected.append(velocity)
    with Recording(path) as run:
        assert run.verify() == 4
        assert run.column("velocity")[:, : start.n_bodies].tobytes() == np.stack(expected).tobytes()
    with h5py.File(path) as file:
        assert (file["frames/velocity"].compression == "gzip") == (birth > 0.0)


@pytest.mark.parametrize(
    "grain", [Sphere(0.1), Clump([(Sphere(0.1), (0, 0, 0)), (Sphere(0.1), (0.1, 0, 0))])]
)
def test_numbers_of_colliders_are_written_where_they_are_not_those_of_bodies(
    grain: Any, tmp_path: Path
) -> None:
    made = Scene()
    made.law(mu=0.5)
    made.add(Plane())
    made.add(grain, (0, 0, 0.1), mass=1.0)
    with simulate(made, 5 * DT, dt=DT, out=tmp_path / "run.h5") as run:
        body = run.model.colliders.body
        contacts = [run.frame(k).contacts for k in range(run.n_frames)]
        assert sum(map(len, contacts)) > 0
        for found in contacts:
            np.testing.assert_array_equal(body[found.collider_b], found.b)
    with h5py.File(tmp_path / "run.h5") as file:
        is_shared = file["contacts/collider_b"] == file["contacts/b"]
    assert is_shared == isinstance(grain, Sphere)
