"""Recordings damaged, edited, locked, or cut short by a full disk: an error that names the place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from clapas import NSGS, Plane, Recording, Scene, Sphere, resume, simulate
from clapas.errors import FormatError, SettingsError, WriteError
from clapas.geometry.shapes import Polyhedron
from clapas.io.heaps import check_heaps
from clapas.io.recording import RecordingWriter, lock
from clapas.scenes.compilation import compile_scene

DT = 2e-3
SOLVER = NSGS(tol=1e-4)
CORNERS = [(0.1, 0, 0), (-0.1, 0, 0), (0, 0.1, 0), (0, -0.1, 0), (0, 0, 0.1), (0, 0, -0.1)]


def scene() -> Scene:
    made = Scene(seed=4)
    made.law(mu=0.5)
    made.add(Plane(), name="floor")
    made.add(Sphere(0.1), position=(0, 0, 0.1), density=2000, name="ball")
    made.add(Polyhedron(CORNERS), position=(0.5, 0, 0.11), density=2000, name="gem")
    made.probe("position", "ball", name="way")
    return made


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "run.h5"
    simulate(scene(), 0.1, DT, SOLVER, out=path, every=5).close()
    return path


@pytest.fixture
def copy(sound: Path, tmp_path: Path) -> Path:
    path = tmp_path / "run.h5"
    path.write_bytes(sound.read_bytes())
    return path


def read_all(path: Path) -> None:
    """Everything that a reader may ask of a recording."""
    with Recording(path) as run:
        assert run.model.n_bodies
        for frame in run.frames():
            assert frame.state.n_bodies
        run.readings()


# -------------------------------------------------------------------- heaps of texts


def heap_of(data: bytes) -> int:
    return data.index(b"GCOL\x01")


def test_a_heap_whose_sizes_do_not_add_up_is_refused(sound: Path, tmp_path: Path) -> None:
    """A bit in the size of a heap keeps the HDF5 library busy for ever, if it comes to see it."""
    whole, path = sound.read_bytes(), tmp_path / "run.h5"
    at = heap_of(whole)
    first_object = at + 16
    for place, bits in ((at + 8, range(4, 64)), (first_object + 8, range(8, 64))):
        for bit in bits:
            data = bytearray(whole)
            data[place + bit // 8] ^= 1 << bit % 8
            path.write_bytes(data)
            with pytest.raises(FormatError, match=f"heap of texts at byte {at} do not add up"):
                check_heaps(path)
    with pytest.raises(FormatError, match="do not add up"):
        Recording(path)


def test_a_heap_cut_short_is_refused(sound: Path, tmp_path: Path) -> None:
    data, path = sound.read_bytes(), tmp_path / "run.h5"
    path.write_bytes(data[: heap_of(data) + 40])
    with pytest.raises(FormatError):
        Recording(path)


# -------------------------------------------------------------------- checksums


def test_a_sound_recording_agrees_with_its_checksums(sound: Path) -> None:
    with Recording(sound) as run:
        assert run.verify() == run.n_frames == 11
        digests = run.column("digest")
    assert len(set(digests.tolist())) == 11


def test_equal_runs_have_equal_digests_also_after_a_resume(sound: Path, tmp_path: Path) -> None:
    path = tmp_path / "parts.h5"
    simulate(scene(), 0.04, DT, SOLVER, out=path, every=5).close()
    with resume(path, 0.1) as run, Recording(sound) as whole:
        assert run.verify() == 11
        assert run.column("digest").tolist() == whole.column("digest").tolist()


@pytest.mark.parametrize(
    "name", ["frames/position", "frames/time", "contacts/impulse", "probes/values", "frames/digest"]
)
def test_one_changed_number_is_found_and_not_continued_from(copy: Path, name: str) -> None:
    with h5py.File(copy, "r+") as file:
        values = file[name][7:8]
        file[name][7:8] = np.nextafter(values, np.inf) if values.dtype.kind == "f" else values ^ np.uint64(1)
    with Recording(copy) as run, pytest.raises(FormatError, match=r"frame .* does not match its checksum"):
        run.verify()
    before = copy.read_bytes()
    with pytest.raises(FormatError, match="checksum"):
        resume(copy, 0.2)
    assert copy.read_bytes() == before


@pytest.mark.parametrize("change", ["dt", "settings", "scene", "model/mass"])
def test_changed_constants_are_found(copy: Path, change: str) -> None:
    with h5py.File(copy, "r+") as file:
        if change == "dt":
            file.attrs["dt"] = 2.1e-3
        elif change == "settings":
            file.attrs["settings"] = file.attrs["settings"].replace("0.0001", "0.0002")
        elif change == "scene":
            file["scene"].attrs["source"] = file["scene"].attrs["source"].replace("0.5", "0.6")
        else:
            file["model/mass"][1] *= 1.000001
    with Recording(copy) as run, pytest.raises(FormatError, match="do not match their checksum"):
        run.verify()


def test_a_file_without_checksums_is_read_and_resumed(copy: Path) -> None:
    """As files of earlier versions are."""
    with h5py.File(copy, "r+") as file:
        del file["frames/digest"], file.attrs["digest"]
    with Recording(copy) as run:
        assert run.verify() == 0
        assert run.column("digest").tolist() == [0] * 11
    with resume(copy, 0.12) as run:
        assert run.verify() == run.n_frames == 13


# -------------------------------------------------------------------- structure and ranges


def _replace(name: str, make: Callable[[Any], Any]) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        values = make(file[name][()])
        del file[name]
        file[name] = values

    return change


def _set(name: str, index: Any, value: Any) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        file[name][index] = value

    return change


def _attribute(name: str, value: Any) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        file.attrs[name] = value

    return change


def _declare_frames(file: h5py.File) -> None:
    for name in ("step", "time"):
        file[f"frames/{name}"].resize(10**9, axis=0)


def _remove(name: str) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        del file[name]

    return change


def _own_colliders(number: int) -> Callable[[h5py.File], None]:
    """Colliders under numbers of their own, one of them wrong: those of this run are the bodies'."""

    def change(file: h5py.File) -> None:
        colliders = file["contacts/b"][()]
        colliders[3] = number
        del file["contacts/collider_b"]
        file["contacts/collider_b"] = colliders

    return change


DAMAGES = {
    "no frames": (_remove("frames"), "frames/step"),
    "no column": (_remove("frames/velocity"), "no 'frames/velocity'"),
    "no model": (_remove("model"), "model/mass"),
    "no hulls": (_remove("model/hulls"), "hulls"),
    "words": (_replace("frames/time", lambda x: np.array([b"a"] * len(x))), "'frames/time'"),
    "short column": (_replace("frames/time", lambda x: x[:5]), "'frames/time' has 5 rows"),
    "wrong width": (_replace("frames/position", lambda x: x[:, :2]), "'frames/position' has rows of"),
    "a group": (lambda f: (_remove("frames/dt")(f), f.create_group("frames/dt"))[0], "must be a data set"),
    "declared only": (_declare_frames, "declares 1000000000 values"),
    "negative end": (_set("frames/contact_end", 4, -3), "contact_end"),
    "end beyond": (_set("frames/contact_end", 10, 10**9), "contact"),
    "body of contact": (_set("contacts/a", 3, 77), "'contacts/a' holds 77, expected 0 to 2"),
    "negative body": (_set("contacts/b", 3, -1), "'contacts/b' holds -1"),
    "collider": (_own_colliders(99), "'contacts/collider_b' holds 99"),
    "alive": (_set("frames/alive", 3, 2000), "'frames/alive' holds 2000"),
    "status": (_set("frames/status", 3, 100), "'frames/status' holds 100"),
    "kind": (_set("model/colliders/kind", 1, 42), "'model/colliders/kind' holds 42"),
    "hull": (_set("model/colliders/hull", 2, 42), "'model/colliders/hull' holds 42"),
    "corner": (_set("model/hulls/face_vertices", 0, 42), "a vertex that its hull does not have"),
    "start": (_set("model/hulls/loop_start", 1, 4200), "'model/hulls/loop_start' must increase"),
    "mass": (_set("model/mass", 1, -1.0), "'model/mass' must be positive"),
    "dt": (_attribute("dt", -1.0), "attribute 'dt' must be a positive number"),
    "every": (_attribute("every", "often"), "attribute 'every' must be a positive number"),
    "settings": (_attribute("settings", "{"), "'settings' is not JSON"),
    "settings list": (_attribute("settings", "[]"), "'settings' must be a JSON dict"),
    "names": (_attribute("names", '["a"]'), "'names' must be 3 texts"),
    "period": (_attribute("period", '["a", null]'), "'period' must be two lengths"),
    "version": (_attribute("version", b"two"), "attribute 'version'"),
    "probes": (lambda f: f["probes"].attrs.modify("probes", '[{"name": 3}]'), "which is no probe"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "message"), DAMAGES.values(), ids=DAMAGES)
def test_damage_is_named(copy: Path, change: Callable[[h5py.File], None], message: str) -> None:
    with h5py.File(copy, "r+") as file:
        change(file)
    with pytest.raises(FormatError, match=message.replace("(", r"\(")):
        read_all(copy)
    with pytest.raises(FormatError):
        resume(copy, 0.2)


def test_times_that_do_not_increase_are_found_by_verify(copy: Path) -> None:
    with h5py.File(copy, "r+") as file:
        file["frames/step"][4] = 3
        del file["frames/digest"], file.attrs["digest"]
    with Recording(copy) as run, pytest.raises(FormatError, match=r"frame 4: .* must increase"):
        run.verify()


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null"])
def test_devices_are_refused_at_once(path: str) -> None:
    if not os.path.exists(path):
        pytest.skip(f"no {path} on this system")
    with pytest.raises(FormatError, match="a device or a pipe, expected a file"):
        Recording(path)


# -------------------------------------------------------------------- all or nothing


@pytest.mark.parametrize(
    ("duration", "message"),
    [
        (-1.0, "duration must be at least 0, got -1"),
        (float("nan"), "duration must be at least 0"),
        (0.05, "the run has reached t = 0.1 s; duration counts from the start"),
        (1e300, "dt = 0.002 s is too small for a run of 1e\\+300 s"),
    ],
)
def test_a_refused_resume_leaves_the_file_as_it_was(copy: Path, duration: float, message: str) -> None:
    before = copy.read_bytes()
    with pytest.raises(SettingsError, match=message):
        resume(copy, duration)
    assert copy.read_bytes() == before
    with resume(copy, 0.12) as run:
        assert run.settings["duration"] == 0.12


def test_settings_this_version_does_not_have_are_refused_before_a_byte_is_written(copy: Path) -> None:
    with h5py.File(copy, "r+") as file:
        settings = json.loads(file.attrs["settings"])
        settings["solver"]["type"] = "Oracle"
        file.attrs["settings"] = json.dumps(settings)
        del file["frames/digest"], file.attrs["digest"]
    before = copy.read_bytes()
    with pytest.raises(FormatError, match="the settings name 'Oracle'"):
        resume(copy, 0.2)
    assert copy.read_bytes() == before


# -------------------------------------------------------------------- one writer


def test_a_second_writer_is_refused_and_the_first_is_named(copy: Path) -> None:
    writer = RecordingWriter(copy, compile_scene(scene()), dt=DT)
    with pytest.raises(WriteError, match=f"is being written by process {os.getpid()} on .*, since "):
        simulate(scene(), 0.1, DT, SOLVER, out=copy)
    with pytest.raises(WriteError, match="is being written"):
        resume(copy, 0.2)
    writer.close()
    with resume(copy, 0.12) as run:
        assert run.n_frames == 13
    assert os.listdir(copy.parent) == ["run.h5"]


def test_what_dead_writers_left_is_removed(copy: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    litter = copy.with_name(f".run.h5.{dead.pid}.new")
    litter.write_bytes(b"half")
    copy.with_name(".run.h5.lock").write_text("")
    alive = copy.with_name(f".run.h5.{os.getppid()}.new")
    alive.write_bytes(b"growing")
    other = copy.with_name(f".other.h5.{dead.pid}.new")
    other.write_bytes(b"another recording")
    resume(copy, 0.12).close()
    assert sorted(os.listdir(copy.parent)) == sorted(["run.h5", alive.name, other.name])


def test_a_lock_of_a_killed_process_is_taken_over(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from clapas.io.recording.lock import Lock;"
        "Lock(Path(sys.argv[1])); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "run.h5")], check=False)
    assert os.listdir(tmp_path) == [".run.h5.lock"]
    lock.Lock(tmp_path / "run.h5").release()
    assert os.listdir(tmp_path) == []


# -------------------------------------------------------------------- a full disk


class Full:
    """A data set on a disk that has no room any more."""

    dtype = np.dtype("f8")

    def __len__(self) -> int:
        return 0

    def resize(self, *arguments: Any, **options: Any) -> None:
        raise OSError("Can't write data (file write failed: errno = 28, error message = 'No space left')")


def test_a_full_disk_is_one_message_and_what_was_flushed_stays(copy: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("clapas.io.recording.writer.FLUSH_SECONDS", 0.0)
    kept: list[RecordingWriter] = []
    original = RecordingWriter.append

    def append(self: RecordingWriter, *arguments: Any) -> None:
        original(self, *arguments)
        kept.append(self)
        if len(kept) == 5:
            self.flush()  # what is being written is on disk
            self._frames["time"] = Full()

    monkeypatch.setattr(RecordingWriter, "append", append)
    with pytest.raises(WriteError) as caught:
        simulate(scene(), 0.2, DT, SOLVER, out=copy)
    assert "No space left on device" in str(caught.value)
    assert "the 5 frames up to t = 0.008 s are safe in it: make room, then 'clapas resume" in str(
        caught.value
    )
    monkeypatch.undo()
    with Recording(copy) as run:
        assert run.verify() == 5
    with resume(copy) as run:
        assert run.verify() == 101
    assert os.listdir(copy.parent) == ["run.h5"]


def test_columns_of_zeros_are_no_damage_however_long(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Couples, features and bodies of number 0 are not written in long runs; resumed runs read them too."""
    monkeypatch.setattr("clapas.io.hdf5.UNWRITTEN", 64)
    path = tmp_path / "run.h5"
    with simulate(scene(), 0.1, DT, SOLVER, out=path) as run:
        n = run.n_frames
    with h5py.File(path) as file:
        assert file["contacts/couple"].id.get_num_chunks() == 0
        assert file["contacts/couple"].nbytes > 64
    read_all(path)
    with resume(path, 0.12) as longer:
        assert longer.n_frames > n
    read_all(path)


def test_a_column_declared_wide_beside_one_that_is_written_is_damage(copy: Path) -> None:
    """What was never written must not make the reader reserve a terabyte."""
    with h5py.File(copy, "r+") as file:
        rows = len(file["contacts/b"])
        del file["contacts/couple"]
        file["contacts"].create_dataset("couple", (rows, 1 << 36), "f8", chunks=(1, 1 << 20))
    with pytest.raises(FormatError, match="couple"):
        read_all(copy)


LIMITED = """
import resource, sys
import clapas.io.recording.writer as writer
from clapas.cli import main
writer.FLUSH_SECONDS = float(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
sys.exit(main(sys.argv[3:]))
"""


@pytest.mark.parametrize(("limit", "seconds"), [(600_000, 0.0), (300_000, 60.0)])
def test_a_limit_on_file_sizes_is_one_message_and_what_was_flushed_stays(
    tmp_path: Path, limit: int, seconds: float
) -> None:
    """HDF5 must not meet the limit again when the file is closed: it would crash at the exit."""
    pytest.importorskip("resource", reason="no limits on file sizes here")
    scene().save(tmp_path / "scene.toml")
    run = [
        "run",
        "scene.toml",
        "--out",
        "run.h5",
        "--duration",
        "2",
        "--every",
        "1",
        "--dt",
        "2e-3",
        "--quiet",
    ]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(limit), str(seconds), *run],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    start, _, end = done.stderr.partition("; ")
    assert start == "clapas: run.h5: cannot be written (File too large)"
    assert end.count("\n") == 1
    assert "allow larger files ('ulimit -f' shows the limit)" in end
    if seconds:  # the first flush is at the end
        assert end.startswith("nothing was kept; ")
        assert os.listdir(tmp_path) == ["scene.toml"]
        return
    with Recording(tmp_path / "run.h5") as kept:
        assert f"the {kept.verify()} frames up to" in end
    assert sorted(os.listdir(tmp_path)) == ["run.h5", "scene.toml"]


def test_the_first_cause_of_a_failed_write_is_kept(tmp_path: Path) -> None:
    """Calls after a failure raise it again; what HDF5 says of closed identifiers is no cause."""
    writer = RecordingWriter(tmp_path / "run.h5", compile_scene(scene()), dt=DT)
    with pytest.raises(WriteError, match=r"\(File too large\); nothing was kept"), writer._writing():
        raise OSError(
            27, "Can't synchronously write data (file write failed: time = Wed\n, errno = 27, buf = 0x7f)"
        )
    with pytest.raises(WriteError, match=r"\(File too large\); nothing was kept"), writer._writing():
        raise RuntimeError("Unable to synchronously get dataspace (identifier is not of specified type)")
    with pytest.raises(WriteError, match=r"\(File too large\); nothing was kept"):
        writer.flush()
    writer.close()
    assert os.listdir(tmp_path) == []
