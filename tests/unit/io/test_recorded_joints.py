"""Joints in recordings: forces, torques, coordinates with their turns, resumed runs, damage."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

import clapas
from clapas.errors import FormatError, UnknownName
from clapas.io.recording import Recording
from clapas.io.tables import export_csv

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


def test_probes_of_joints_have_the_unit_of_their_kind(tmp_path: Path) -> None:
    scene = clapas.Scene(d=2)
    scene.law(mu=0.3)
    wheel = scene.add(clapas.Disk(0.5), mass=1.0, name="wheel")
    cart = scene.add(clapas.Disk(0.1), position=(3.0, 0.0), mass=2.0, name="cart")
    scene.join("pin", wheel, at=(0, 0), name="axle")
    scene.join("slider", cart, at=(3, 0), axis=(1, 0), name="rail")
    for joint in ("axle", "rail"):
        for quantity in ("coordinate", "rate", "effort", "force"):
            scene.probe(f"joint_{quantity}", joint=joint, name=f"{quantity} {joint}")
    path = tmp_path / "run.h5"
    with clapas.simulate(scene, 0.02, DT, out=path) as run:
        units = [probe.unit(2) for probe in run.probes.values()]
        assert units == [probe.unit(2) for probe in scene.probes]
        assert units == ["rad", "rad/s", "N·m/m", "N/m", "m", "m/s", "N/m", "N/m"]
        export_csv(run, tmp_path)
        assert run.verify() == run.n_frames
    heading = (tmp_path / "probes.csv").read_text(encoding="utf-8").splitlines()[0]
    assert "coordinate axle (rad)," in heading
    assert "coordinate rail (m)," in heading
    with h5py.File(path, "r+") as file:  # as early versions wrote it
        del file["joints"].attrs["turning"]
        del file.attrs["digest"]
    with Recording(path) as run:
        assert run.probes["coordinate rail"].unit(2) == "rad, m"


def test_a_quaternion_has_no_unit() -> None:
    ball = clapas.Scene()
    ball.add(clapas.Sphere(0.1), mass=1.0, name="ball")
    assert ball.probe("orientation", "ball").unit(3) == ""
