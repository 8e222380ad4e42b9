from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clapas.geometry.colliders import Contacts
from clapas.io.recording import Recording
from clapas.typing import Array
from clapas.viewer.drawables import volumes
from clapas.viewer.frames import forces, friction, mean_pressure, pack_frame, quaternions
from clapas.viewer.packing import unpack


def contacts_between(a: list[int], b: list[int], point: Array, normal: Array) -> Contacts:
    n = len(a)
    zeros = np.zeros(n, dtype=np.int64)
    return Contacts(np.array(a), np.array(b), zeros, zeros, zeros, point, normal, np.zeros(n))


@pytest.mark.parametrize("d", [2, 3])
def test_pressure_of_a_squeezed_ball(d: int, space_run: Path, plane_run: Path) -> None:
    """Two forces F on opposite ends of a ball: −tr σ = 2 r F / V."""
    radius, force, volume = 0.3, 7.0, 2.0
    up = np.zeros(d)
    up[-1] = 1.0
    contacts = contacts_between([0, 1], [1, 2], np.array([-radius * up, radius * up]), np.array([up, up]))
    with Recording(space_run if d == 3 else plane_run) as recording:
        pressure = mean_pressure(
            contacts,
            np.array([force * up, force * up]),  # on b: the floor pushes 1 up, 1 pushes the lid up
            np.array([-2 * up, 0 * up, 2 * up]),
            recording.model,
            np.array([0.0, volume, 0.0]),
        )
    assert pressure == pytest.approx([0.0, 2 * radius * force / (d * volume), 0.0])


def test_a_frame_travels_unchanged(space_run: Path) -> None:
    with Recording(space_run) as recording:
        frame, model = recording.frame(-1), recording.model
        origin = np.array([1.0, 2.0, 3.0])
        header, arrays = unpack(pack_frame(model, frame, origin, volumes(model)))
        assert header["time"] == frame.state.time
        assert header["status"] == frame.status.name
        assert arrays["position"] + origin == pytest.approx(frame.state.position, abs=1e-6)
        assert arrays["velocity"] == pytest.approx(frame.state.velocity[:, :3], abs=1e-6)
        assert np.array_equal(arrays["a"], frame.contacts.a)
        assert np.array_equal(arrays["mode"], frame.mode)
        assert len(frame.contacts) > 6
        assert arrays["force"] == pytest.approx(frame.state.impulses.impulse / recording.dt, rel=1e-5)
        assert arrays["mu"] == pytest.approx(np.full(len(frame.contacts), 0.5))


def test_a_frame_without_contacts_travels(space_run: Path) -> None:
    with Recording(space_run) as recording:
        frame = recording.frame(0)
        assert len(frame.contacts) == 0
        assert forces(frame).shape == (0, 3)
        assert friction(recording.model, frame.contacts).shape == (0,)
        _, arrays = unpack(pack_frame(recording.model, frame, np.zeros(3), volumes(recording.model)))
        assert arrays["point"].shape == (0, 3)
        assert not arrays["pressure"].any()


def test_a_plane_frame_is_flat(plane_run: Path) -> None:
    with Recording(plane_run) as recording:
        frame, model = recording.frame(-1), recording.model
        _, arrays = unpack(pack_frame(model, frame, np.zeros(3), volumes(model)))
    assert not arrays["position"][:, 2].any()
    assert arrays["spin"][:, 2] == pytest.approx(frame.state.velocity[:, 2], abs=1e-6)
    assert not arrays["spin"][:, :2].any()
    assert np.linalg.norm(arrays["orientation"], axis=1) == pytest.approx(np.ones(len(arrays["position"])))


def test_half_a_turn() -> None:
    assert quaternions(np.array([[0.0], [np.pi]])) == pytest.approx(np.array([[1.0, 0, 0, 0], [0, 0, 0, 1]]))
