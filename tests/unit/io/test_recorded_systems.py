"""Bodies of other kinds in recordings: coordinates, skins, resumed runs, older files, damage."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from tests.recordings import swinging

import clapas
from clapas.errors import FormatError
from clapas.io.recording import Recording

DT = 1e-3


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "whole.h5"
    clapas.simulate(swinging(), 0.3, DT, out=path, every=10).close()
    return path


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    path = tmp_path / "copy.h5"
    path.write_bytes(whole.read_bytes())
    return path


def test_coordinates_and_looks_are_kept(whole: Path) -> None:
    with Recording(whole) as run:
        (system,) = run.systems
        assert (system.name, system.kind, system.n_coordinates, system.n_dof) == (
            "pendulum",
            "lagrangian",
            1,
            1,
        )
        assert [run.model.names[row] for row in system.rows] == ["pendulum 0"]
        assert [skin.name for skin in system.skins] == ["thread", "kite"]
        assert run.verify() == run.n_frames == 31
        first, last = run.frame(0), run.frame(-1)
        (part,) = first.state.parts
        assert (part.q.tolist(), part.v.tolist()) == ([-0.3], [1.0])
        moved = last.state.parts[0]
        assert abs(moved.v[0]) < 0.9  # it struck
        thread, kite = last.looks[0]
        bob = last.state.position[system.rows[0]]
        np.testing.assert_allclose(thread.vertices, [[0, 0], bob], atol=1e-7)
        np.testing.assert_allclose(thread.values[0], 9.81 * np.cos(moved.q[0]) + moved.v[0] ** 2, rtol=1e-6)
        np.testing.assert_allclose(kite.values[0], kite.vertices[:, 1])
        np.testing.assert_allclose(
            run.column("systems/0/q")[:, 0], [f.state.parts[0].q[0] for f in run.frames()]
        )


def test_a_run_goes_on_to_the_same_bits(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "half.h5"
    clapas.simulate(swinging(), 0.15, DT, out=path, every=10).close()
    with pytest.raises(FormatError, match=r"holds functions of Python.*scene="):
        clapas.resume(path, 0.3)
    with clapas.resume(path, 0.3, scene=swinging()) as run, Recording(whole) as expected:
        for name in ("digest", "systems/0/q", "systems/0/v", "position"):
            assert run.column(name).tobytes() == expected.column(name).tobytes(), name


def test_another_system_is_refused(whole: Path, copy: Path) -> None:
    other = swinging()
    other.systems[0] = type(other.systems[0])(**{**vars(other.systems[0]), "name": "clock"})
    with pytest.raises(FormatError, match="does not give the bodies of its frames"):
        clapas.resume(copy, 0.4, scene=other)


def test_files_of_the_version_before_are_read(tmp_path: Path) -> None:
    path = tmp_path / "ball.h5"
    scene = clapas.Scene()
    scene.law(mu=0.5)
    scene.add(clapas.Plane())
    scene.add(clapas.Sphere(0.1), position=(0, 0, 0.2), density=2500)
    clapas.simulate(scene, 0.05, DT, out=path).close()
    with h5py.File(path, "r+") as file:
        assert "systems" not in file
        file.attrs["version"] = 2
        del file.attrs["digest"], file["frames/digest"]
    with Recording(path) as run:
        assert run.systems == ()
        assert run.frame(-1).looks == run.frame(-1).state.parts == ()


DAMAGE = {
    "text": ("[3]", "which is no system"),
    "json": ("{", "is not JSON"),
    "sizes": ('[{"coordinates": -1}]', "which is no system"),
    "carriers": (None, "carriers of 'pendulum'"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_descriptions_are_named(copy: Path, kind: str) -> None:
    text, message = DAMAGE[kind]
    with h5py.File(copy, "r+") as file:
        if text is None:
            entries = json.loads(file["systems"].attrs["systems"])
            entries[0]["bodies"] = [99]
            text = json.dumps(entries)
        file["systems"].attrs["systems"] = text
    with pytest.raises(FormatError, match=message):
        Recording(copy)


@pytest.mark.parametrize("name", ["systems/0/skin/0/cells", "frames/systems/0/skin/1/vertices"])
def test_missing_or_wrong_skins_are_named(copy: Path, name: str) -> None:
    with h5py.File(copy, "r+") as file:
        del file[name]
    with pytest.raises(FormatError, match=name):
        Recording(copy)


def test_changed_numbers_are_found(copy: Path) -> None:
    with h5py.File(copy, "r+") as file:
        file["frames/systems/0/v"][3, 0] += 1e-9
    with Recording(copy) as run, pytest.raises(FormatError, match=r"frame 3 .* does not match its checksum"):
        run.verify()
    with h5py.File(copy, "r+") as file:
        file["systems/0/skin/0/radius"][0] = 0.02
    with Recording(copy) as run, pytest.raises(FormatError, match="do not match their checksum"):
        run.verify()
