"""Joints in recordings: forces, torques, coordinates with their turns, resumed runs, damage."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

import clapas
from clapas.errors import FormatError, UnknownName
from clapas.io.recording import Recording

G, DT = 9.81, 2e-3


def wheel_and_weight() -> clapas.Scene:
    """A wheel driven at 20 rad/s, and a bar welded to the world that holds its own weight."""
    scene = clapas.Scene(d=2)
    scene.law(mu=0.3)
    wheel = scene.add(clapas.Disk(0.5), angular_velocity=20.0, mass=1.0, name="wheel")
    beam = scene.add(clapas.Disk(0.1), position=(3.0, 0.0), mass=2.0, name="weight")
    scene.join("pin", wheel, at=(0, 0), name="axle", motor=clapas.VelocityMotor(20.0, 50.0))
    scene.join("weld", beam, at=(2.0, 0.0), name="wall")
    return scene


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "whole.h5"
    clapas.simulate(wheel_and_weight(), 0.8, DT, out=path, every=50).close()
    return path


def test_reactions_and_turns_are_kept(whole: Path) -> None:
    with Recording(whole) as run:
        assert run.joints.names == ("axle", "wall")
        assert run.joints.moving == ("axle",)
        assert run.verify() == run.n_frames
        first, last = run.frame(0).joints, run.frame(-1).joints
    assert first["axle"].coordinate == 0.0
    assert not first["wall"].force.any()
    assert last["axle"].coordinate == pytest.approx(0.8 * 20.0, rel=1e-9)  # two and a half turns
    assert last["axle"].rate == pytest.approx(20.0)
    np.testing.assert_allclose(last["axle"].force, [0.0, G], atol=1e-9)
    np.testing.assert_allclose(last["wall"].force, [0.0, 2 * G], atol=1e-9)
    np.testing.assert_allclose(last["wall"].torque, [2 * G], atol=1e-9)  # the weight is 1 m from the wall
    assert np.isnan(last["wall"].coordinate)
    assert list(last) == ["axle", "wall"]
    assert "door" not in last
    with pytest.raises(
        UnknownName, match=r"no joint is called 'wal' .did you mean 'wall'.*expected axle or wall"
    ):
        last["wal"]


def test_a_run_goes_on_to_the_same_bits(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "half.h5"
    clapas.simulate(wheel_and_weight(), 0.4, DT, out=path, every=50).close()
    with clapas.resume(path, 0.8) as run, Recording(whole) as expected:
        assert run.column("digest").tolist() == expected.column("digest").tolist()


def test_damage_is_named(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "copy.h5"
    for name, value, message in (
        ("names", "[", "'joints/names' is not JSON"),
        ("moving", '["door"]', "names joints that 'joints/names' does not have"),
        ("names", '["axle"]', "frames/joints/force"),
    ):
        path.write_bytes(whole.read_bytes())
        with h5py.File(path, "r+") as file:
            file["joints"].attrs[name] = value
        with pytest.raises(FormatError, match=message):
            Recording(path)
