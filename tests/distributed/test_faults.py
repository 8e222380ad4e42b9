"""Runs on ranks from the command line: restart on another number of ranks, a killed rank, bad input."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import numpy as np

from clapas.io.recording import Recording
from clapas.io.simulation import resume
from clapas.scenes.scene import Scene

from .experiments import jointed, packing
from .launching import command, environment, mpirun, needs_mpi

pytestmark = needs_mpi
CLAPAS = ("-m", "clapas")


def children(process: int) -> list[int]:
    """Processes started by one, near and far."""
    found, parents = [], {process}
    for _ in range(3):
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) not in found:
                try:
                    parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                except (OSError, IndexError):
                    continue
                if parent in parents:
                    found.append(int(entry.name))
        parents |= set(found)
    return found


def written(folder: Path, duration: float) -> Scene:
    from clapas.scenes.run import Run

    scene = packing()
    scene.run = Run(duration=duration, dt=1e-3, every=2, solver={"name": "nsgs", "tol": 1e-6})
    scene.save(folder / "packing.toml")
    return scene


def test_a_run_goes_on_with_other_ranks(tmp_path: Path) -> None:
    """Two ranks, then three, then one: what a run on one rank gives, to the residual."""
    written(tmp_path, 0.01)
    done = mpirun(2, *CLAPAS, "run", "packing.toml", "--out", "run.h5", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "73 bodies in 3-D" in done.stdout
    again = mpirun(3, *CLAPAS, "resume", "run.h5", "--duration", 0.02, "--quiet", folder=tmp_path)
    assert again.returncode == 0, again.stderr
    with resume(tmp_path / "run.h5", 0.03) as run:
        assert run.verify() == run.n_frames == 16
        state = run.frame(-1).state
    from clapas.io.simulation import simulate

    with simulate(packing(), 0.03, 1e-3, run_solver(), out=tmp_path / "one.h5", every=2) as one:
        np.testing.assert_allclose(state.position, one.frame(-1).state.position, atol=1e-6)
        np.testing.assert_allclose(state.velocity, one.frame(-1).state.velocity, atol=1e-3)


def run_solver() -> object:
    from clapas.solvers import NSGS

    return NSGS(tol=1e-6)


def test_a_killed_rank_ends_the_job_and_the_recording_goes_on(tmp_path: Path) -> None:
    written(tmp_path, 1000.0)
    words = (*CLAPAS, "run", "packing.toml", "--out", "run.h5", "--quiet")
    job = subprocess.Popen(
        command(2, *words), cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True
    )
    try:
        path, deadline = tmp_path / "run.h5", time.monotonic() + 300
        while not path.exists() or frames(path) < 3:
            assert job.poll() is None, job.stderr and job.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.1)
        ranks = [each for each in children(job.pid) if is_rank(each)]
        assert len(ranks) == 2
        began = time.monotonic()
        Path(f"/proc/{max(ranks)}").exists()
        kill(max(ranks))
        _, told = job.communicate(timeout=60)
        assert time.monotonic() - began < 60
    finally:
        if job.poll() is None:
            job.kill()
            job.communicate()
    assert job.returncode != 0
    assert "signal 9" in told or "Killed" in told
    with Recording(path) as run:
        kept = run.n_frames
        last = run.frame(-1).state
    assert kept >= 3
    with resume(path, round(last.time + 0.004, 3)) as run:
        assert run.frame(-1).state.step == last.step + 4


def frames(path: Path) -> int:
    try:
        with Recording(path) as run:
            return run.n_frames
    except (OSError, ValueError):
        return 0


def is_rank(process: int) -> bool:
    try:
        return b"clapas" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False


def kill(process: int) -> None:
    import os

    os.kill(process, signal.SIGKILL)


def test_bad_input_is_told_once(tmp_path: Path) -> None:
    words = "run", "sliding-block", "--solver", "admm", "--out", "run.h5"
    done = mpirun(2, *CLAPAS, *words, folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("on several ranks contact problems are solved by 'auto' or by 'nsgs'") == 1
    assert not (tmp_path / "run.h5").exists()


def test_a_mechanism_among_grains_runs_on_ranks_and_goes_on_without(tmp_path: Path) -> None:
    """Joints and their reactions are in the recording of the host, and the run resumes from it."""
    from clapas.io.simulation import simulate
    from clapas.scenes.run import Run
    from clapas.solvers import Auto

    scene = jointed()
    scene.run = Run(duration=0.01, dt=1e-3, every=2, solver={"name": "auto", "tol": 1e-8})
    scene.save(tmp_path / "scene.toml")
    done = mpirun(2, *CLAPAS, "run", "scene.toml", "--out", "run.h5", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    with (
        resume(tmp_path / "run.h5", 0.02) as run,
        simulate(scene, 0.02, 1e-3, Auto(tol=1e-8), out=tmp_path / "one.h5", every=2) as one,
    ):
        assert run.verify() == run.n_frames == one.n_frames
        for k in (5, -1):  # the last of the ranks, the last of all
            ours, theirs = run.frame(k), one.frame(k)
            np.testing.assert_allclose(ours.state.position, theirs.state.position, atol=1e-9)
            np.testing.assert_allclose(ours.state.velocity, theirs.state.velocity, atol=1e-6)
            force, expected = (frame.joints["pivot"].force for frame in (ours, theirs))
            np.testing.assert_allclose(force, expected, atol=1e-4 * np.abs(expected).max())


def test_a_full_disk_ends_all_ranks_and_leaves_the_file_whole(tmp_path: Path) -> None:
    """A file that may not grow stands for the disk: the error of rank 0 ends the job, and says why."""
    written(tmp_path, 0.01)
    (tmp_path / "out").mkdir()
    done = mpirun(2, Path(__file__).with_name("full_disk.py"), tmp_path / "out" / "run.h5", folder=tmp_path)
    assert done.returncode != 0
    assert "File too large" in done.stderr, done.stderr
    with Recording(tmp_path / "out" / "run.h5") as run:
        assert run.verify() == run.n_frames >= 1
    with resume(tmp_path / "out" / "run.h5") as run:
        assert run.frame(-1).state.step == 40
