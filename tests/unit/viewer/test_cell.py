"""Periodic cells as they are drawn: everything inside, moved by whole periods and by nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from clapas.analysis.instant import Instant
from clapas.dynamics.motions import ConstantVelocity
from clapas.geometry.shapes import Box, Disk, HalfPlane, Plane, Sphere
from clapas.io.recording import Recording
from clapas.io.simulation import simulate
from clapas.scenes import examples
from clapas.scenes.scene import Scene
from clapas.viewer.cell import Cell
from clapas.viewer.forcelines import draw_forces
from clapas.viewer.frames import pack_frame
from clapas.viewer.framing import box_of
from clapas.viewer.packing import unpack
from clapas.viewer.painting import Painter
from clapas.viewer.source import Shown

PERIODS = (0.4, 0.5)


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Balls that fly across several periods along x and y, between a fixed box and a driven one."""
    path = tmp_path_factory.mktemp("cell") / "flow.h5"
    scene = Scene(gravity=(0, 0, 0), period=PERIODS)
    scene.law(mu=0.3)
    scene.add(Plane(offset=-0.1))
    scene.add(Box((0.4, 0.5, 0.02)), (0.2, 0.25, 0.0), fixed=True, name="floor")
    scene.add(Box((0.1, 0.1, 0.02)), (0.2, 0.25, 0.3), motion=ConstantVelocity((1.0, 0, 0)), name="lid")
    for k in range(4):
        where = (0.05 + 0.1 * k, 0.05 + 0.1 * k, 0.1)
        scene.add(Sphere(0.03), where, velocity=(3.0 + k, -2.0, 0), density=1000.0, name=f"ball {k}")
    simulate(scene, duration=0.5, dt=5e-3, every=10, out=path).close()
    return path


def test_grains_are_drawn_in_the_cell_and_walls_near_their_start(flow: Path) -> None:
    with Recording(flow) as run:
        shown, frame = Shown(run, ""), run.frame(-1)
        drawn = shown.cell.frame(frame).state.position
        moved = drawn - frame.state.position
        balls = run.model.movable
    assert (np.abs(moved[balls, :2]) > 0.3).any(), "they did go far"
    periods = moved[:, :2] / PERIODS
    np.testing.assert_allclose(periods, periods.round(), atol=1e-12)
    assert (moved[:, 2] == 0.0).all()
    assert ((drawn[balls, :2] >= 0.0) & (drawn[balls, :2] < PERIODS)).all()
    np.testing.assert_array_equal(drawn[1], (0.2, 0.25, 0.0))
    np.testing.assert_allclose(drawn[2], (0.3, 0.25, 0.3))  # at 0.7, a period further


def test_the_page_gets_grains_and_contacts_in_the_cell_with_the_same_pressures(tmp_path: Path) -> None:
    """A disk slides out of its cell, over a floor: pressure is that of its weight, wherever it is drawn."""
    scene = Scene(d=2, period=(0.5, None))
    scene.law(mu=0.0)
    scene.add(HalfPlane())
    scene.add(Disk(0.1), (0.25, 0.1), velocity=(3.0, 0), density=1000.0)
    with simulate(scene, duration=0.5, dt=5e-3, every=100, out=tmp_path / "run.h5") as run:
        shown = Shown(run, "")
        _, sent = unpack(shown.frame(1))
        _, plain = unpack(pack_frame(run.model, run.frame(1), shown.origin, shown.volume, shown.theta))
    np.testing.assert_allclose(sent["position"][1] + shown.origin, (0.25, 0.1, 0.0), atol=1e-6)
    assert abs(sent["point"][0, 0] + shown.origin[0] - 0.25) < 0.02
    assert plain["point"][0, 0] + shown.origin[0] > 1.0
    assert sent["pressure"][1] > 0.0
    np.testing.assert_allclose(sent["pressure"], plain["pressure"], rtol=1e-6)


def test_a_picture_frames_the_cell_and_paints_the_grains_in_it(flow: Path) -> None:
    with Recording(flow) as run:
        shown = Shown(run, "")
        low, high = box_of(run, shown.reach)
        assert (low[:2] > -0.2).all()
        assert (high[:2] < np.array(PERIODS) + 0.2).all()
        painter = Painter(shown, "top", (300, 300))
        frame = run.frame(-1)
        colours = np.full((run.model.n_bodies, 3), 0.5)
        ball = run.model.names.index("ball 3")
        colours[ball] = (1, 0, 0)
        painted = painter.paint(frame, colours)
        x, y, _ = shown.cell.frame(frame).state.position[ball]
    left, right, bottom, top = painter.extent
    column, row = int((x - left) / (right - left) * 300), int((top - y) / (top - bottom) * 300)
    assert painted[row, column, 0] > 2.0 * painted[row, column, 1:].max()


def test_forces_are_drawn_at_the_bodies_of_the_cell(tmp_path: Path) -> None:
    """A disk dragged over the floor for three periods: its contact, and the force, are below it."""
    scene = Scene(d=2, period=(0.5, None))
    scene.law(mu=0.0)
    scene.add(HalfPlane())
    scene.add(Disk(0.1), (0.25, 0.1), velocity=(3.0, 0), density=1000.0)
    with simulate(scene, duration=0.5, dt=5e-3, every=100, out=tmp_path / "run.h5") as run:
        shown, frame = Shown(run, ""), run.frame(-1)
        (x, y), (touching, _) = shown.cell.frame(frame).state.position[1], frame.contacts.point[0]
        assert (x, y) == pytest.approx((0.25, 0.1))
        assert touching > 1.0
        axes = Figure().add_subplot()
        for forces in ("chains", "arrows"):
            lines = draw_forces(axes, Painter(shown), Instant.of_recording(run), forces).get_segments()
            assert len(lines) == 1
            assert np.abs(lines[0][:, 0] - x).max() < 0.02, forces


def test_without_periods_frames_are_drawn_as_they_are(tmp_path: Path) -> None:
    scene = Scene()
    scene.law(mu=0.0)
    scene.add(Sphere(0.1), velocity=(10, 0, 0), density=1000.0)
    with simulate(scene, duration=0.1, dt=0.05, out=tmp_path / "run.h5") as run:
        frame = run.frame(-1)
        assert Shown(run, "").cell.frame(frame) is frame


def test_bodies_that_deform_are_drawn_as_they_are(tmp_path: Path) -> None:
    """Their skins are one piece, which a border would tear."""
    scene = examples.load("elastic-ring")
    scene.period = (100.0, None)
    with simulate(scene, duration=2e-3, dt=1e-3, out=tmp_path / "run.h5") as run:
        frame = run.frame(-1)
        assert Cell.of(run, Shown(run, "").reach).frame(frame) is frame
