from __future__ import annotations

import importlib
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from clapas.errors import MissingDependency, SettingsError
from clapas.geometry.shapes import Box, Plane, Sphere
from clapas.io.recording import Recording
from clapas.io.simulation import simulate
from clapas.scenes.scene import Scene
from clapas.viewer import framing
from clapas.viewer.colouring import COLOURINGS, Palette
from clapas.viewer.curves import CURVES, plot
from clapas.viewer.painting import Painter
from clapas.viewer.pictures import movie, snapshot
from clapas.viewer.source import Shown

SMALL = (300, 200)


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"), dtype=float)


def test_a_snapshot_has_its_size_and_shows_something(space_run: Path, tmp_path: Path) -> None:
    with Recording(space_run) as recording:
        path = snapshot(recording, tmp_path / "end.png", size=SMALL)
        seen = pixels(path)
        assert seen.shape == (200, 300, 3)
        assert seen.std() > 10
        start = pixels(snapshot(recording, tmp_path / "start.png", time=0.0, size=SMALL))
        top = pixels(snapshot(recording, tmp_path / "top.png", view="top", size=SMALL))
    assert np.abs(start - seen).max() > 20
    assert np.abs(top - seen).max() > 50


def test_bodies_are_painted_where_they_are(space_run: Path) -> None:
    """From the front each round body is seen at its x and z, in its own colour."""
    with Recording(space_run) as recording:
        painter = Painter(Shown(recording, ""), "front", (300, 200))
        frame, names = recording.frame(-1), recording.model.names
        colours = np.full((len(names), 3), 0.5)
        for name, colour in {"ball": (1, 0, 0), "gem": (0, 1, 0), "brick": (0, 0, 1)}.items():
            colours[names.index(name)] = colour
        painted = painter.paint(frame, colours)
    left, right, bottom, top = painter.extent
    for name, channel in {"ball": 0, "gem": 1, "brick": 2}.items():
        x, _, z = frame.state.position[names.index(name)]
        column, row = int((x - left) / (right - left) * 300), int((top - z) / (top - bottom) * 200)
        others = [k for k in range(3) if k != channel]
        assert painted[row, column, channel] > 0.2, name  # an edge is darker
        assert (painted[row, column, others] < 0.05).all(), name


def test_a_plane_scene(plane_run: Path, tmp_path: Path) -> None:
    with Recording(plane_run) as recording:
        painter = Painter(Shown(recording, ""), size=(300, 200))
        names = recording.model.names
        colours = np.full((len(names), 3), 0.5)
        colours[names.index("coin")] = (1, 0, 0)
        frame = recording.frame(-1)
        painted = painter.paint(frame, colours)
        x, y = frame.state.position[names.index("coin")]
        snapshot(recording, tmp_path / "end.png", size=SMALL)
    left, right, bottom, top = painter.extent
    row, column = int((top - y) / (top - bottom) * 200), int((x - left) / (right - left) * 300)
    assert painted[row, column] == pytest.approx([1, 0, 0])


@pytest.mark.parametrize("name", COLOURINGS)
def test_colourings(space_run: Path, name: str) -> None:
    with Recording(space_run) as recording:
        shown, frame = Shown(recording, ""), recording.frame(3)
        palette = Palette(shown, name, [frame])
        colours = palette.colours(frame)
        names = recording.model.names
    assert colours.shape == (len(names), 3)
    assert ((colours >= 0) & (colours <= 1)).all()
    fixed = colours[names.index("floor")]
    assert np.array_equal(fixed, colours[names.index("stair")])
    if name == "speed":
        assert not np.array_equal(colours[names.index("brick")], colours[names.index("gem")])


def test_grey_levels_are_powers_of_0_18(space_run: Path) -> None:
    with Recording(space_run) as recording:
        palette = Palette(Shown(recording, ""), "greys", [recording.frame(-1)])
    top = palette.norm.vmax
    assert top is not None
    levels = palette.map(palette.norm(np.array([0.9, 0.1, 0.02, 0.004, 0.0]) * top))[:, 0]
    assert (np.diff(levels) > 0.1).all()


def test_rest_is_not_coloured_by_rounding(plane_run: Path) -> None:
    with Recording(plane_run) as recording:
        frame = recording.frame(0)
        frame.state.velocity[:] = 1e-9
        palette = Palette(Shown(recording, ""), "speed", [frame])
    assert palette.norm.vmax is not None
    assert palette.norm.vmax > 1e-3


def test_words_that_are_not_known(space_run: Path, tmp_path: Path) -> None:
    with Recording(space_run) as recording:
        with pytest.raises(SettingsError, match="no view is called 'below': expected one of oblique"):
            snapshot(recording, tmp_path / "a.png", view="below")
        with pytest.raises(SettingsError, match="no colouring is called 'taste': expected one of speed"):
            snapshot(recording, tmp_path / "a.png", colour="taste")
        with pytest.raises(SettingsError, match=r"film\.avi: a film is a \.gif or an \.mp4"):
            movie(recording, tmp_path / "film.avi")
        with pytest.raises(SettingsError, match=r"a rate from 0\.01 to 1000 a second, got 3 and 0"):
            movie(recording, tmp_path / "film.gif", frames=3, rate=0)
        with pytest.raises(
            SettingsError, match=r"no curve is called 'taste': expected some of energy.*\(this run has none"
        ):
            plot(recording, tmp_path / "a.png", ["energy", "taste"])


def test_a_film(space_run: Path, tmp_path: Path) -> None:
    done: list[tuple[int, int]] = []
    with Recording(space_run) as recording:
        path = movie(
            recording,
            tmp_path / "film.gif",
            frames=3,
            rate=10,
            size=SMALL,
            progress=lambda *k: done.append(k),
        )
    with Image.open(path) as film:
        assert (film.n_frames, film.size, film.info["duration"]) == (3, SMALL, 100)
    assert done == [(1, 3), (2, 3), (3, 3)]


def test_a_gif_faster_than_players_show_is_slowed_down_and_told(space_run: Path, tmp_path: Path) -> None:
    with Recording(space_run) as recording:
        with pytest.warns(UserWarning, match=r"a \.gif shows at most 50 frames a second, not 300"):
            path = movie(recording, tmp_path / "film.gif", frames=2, rate=300, size=SMALL)
        with Image.open(path) as film:
            assert film.info["duration"] == 20
        with pytest.raises(SettingsError, match=r"film\.gif: there is no folder .*no'; make it first"):
            movie(recording, tmp_path / "no" / "film.gif", progress=lambda *k: pytest.fail("drawn"))


@pytest.mark.parametrize("width", [200, 400])
def test_the_title_of_a_small_picture_is_whole(space_run: Path, tmp_path: Path, width: int) -> None:
    with Recording(space_run) as recording:
        path = snapshot(recording, tmp_path / "a.png", forces="chains", size=(width, 300))
    seen = pixels(path)
    title = seen[:25]
    assert title.min() < 100
    assert title[:, [0, 1, -2, -1]].min() > 250  # nothing is cut off at the edges


def test_an_mp4_needs_ffmpeg(space_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(importlib, "import_module", missing)
    with Recording(space_run) as recording, pytest.raises(MissingDependency, match=r"a \.gif works without"):
        movie(recording, tmp_path / "film.mp4", frames=1)


def test_an_mp4(space_run: Path, tmp_path: Path) -> None:
    if shutil.which("ffmpeg") is None:
        pytest.importorskip("imageio_ffmpeg", reason="neither ffmpeg nor imageio-ffmpeg is installed")
    with Recording(space_run) as recording:
        path = movie(recording, tmp_path / "film.mp4", frames=2, size=(301, 201))
    assert path.read_bytes()[4:8] == b"ftyp"


def test_curves(space_run: Path, tmp_path: Path) -> None:
    with Recording(space_run) as recording:
        one = pixels(plot(recording, tmp_path / "one.png", ["energy"]))
        every = pixels(plot(recording, tmp_path / "all.png", list(CURVES)))
    assert every.shape[0] > 4 * one.shape[0]
    assert one.std() > 5


@pytest.mark.parametrize("forces", ["chains", "arrows"])
def test_forces_are_drawn_over_the_bodies(space_run: Path, tmp_path: Path, forces: str) -> None:
    with Recording(space_run) as recording:
        plain = pixels(snapshot(recording, tmp_path / "plain.png", size=SMALL))
        drawn = pixels(snapshot(recording, tmp_path / "forces.png", size=SMALL, forces=forces))
        closer = pixels(snapshot(recording, tmp_path / "close.png", size=SMALL, zoom=3.0))
        with pytest.raises(SettingsError, match="no drawing of forces is called 'chain'"):
            snapshot(recording, tmp_path / "bad.png", forces="chain")
        with pytest.raises(SettingsError, match="zoom must be positive, got 0"):
            snapshot(recording, tmp_path / "bad.png", zoom=0.0)
    assert np.abs(drawn - plain).max() > 50
    assert np.abs(closer - plain).max() > 50


def test_a_part_of_a_run_as_a_film(space_run: Path, tmp_path: Path) -> None:
    with Recording(space_run) as recording:
        end = float(recording.times[-1])
        path = movie(recording, tmp_path / "half.gif", start=end / 2, size=SMALL, forces="chains")
        with Image.open(path) as film:
            assert 1 < film.n_frames < recording.n_frames  # type: ignore[attr-defined]
        with pytest.raises(SettingsError, match="no frame lies between"):
            movie(recording, tmp_path / "none.gif", start=end + 1)


def test_probes_as_curves(tmp_path: Path) -> None:
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Plane(), name="floor")
    scene.add(Sphere(0.1), (0, 0, 0.3), density=1000, name="ball")
    scene.probe("position", "ball", name="where")
    with simulate(scene, 0.1, 0.01, out=tmp_path / "ball.h5") as recording:
        path = plot(recording, tmp_path / "ball.png", ["probe:where", "kinetic"])
        assert pixels(path).std() > 5
        with pytest.raises(
            SettingsError,
            match=r"no curve is called 'probe:when': .*, or probe:NAME for a probe \(probes.*: where",
        ):
            plot(recording, tmp_path / "bad.png", ["probe:when"])


def test_what_escapes_and_what_reaches_far_do_not_set_the_frame(tmp_path: Path) -> None:
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Box((50.0, 50.0, 0.5)), (0, 0, -0.5), fixed=True, name="floor")
    for k in range(12):
        scene.add(Sphere(0.1), (0.3 * (k % 4), 0.3 * (k // 4), 0.1), density=1000, name=f"ball{k}")
    scene.add(Sphere(0.1), (0, 0, 5), velocity=(0, 0, 900.0), density=1000, name="bullet")
    with simulate(scene, duration=0.02, dt=1e-3, out=tmp_path / "run.h5") as recording:
        shown = Shown(recording, "")
        most, whole = (framing.box_of(recording, shown.reach, fit) for fit in ("most", "all"))
        one = framing.box_of(recording, shown.reach, "ball3, ball7")
        with pytest.raises(SettingsError, match="no body to fit the picture to is called 'bal3'"):
            framing.box_of(recording, shown.reach, "bal3")
        small = pixels(snapshot(recording, tmp_path / "all.png", size=SMALL, fit="all"))
        large = pixels(snapshot(recording, tmp_path / "most.png", size=SMALL))
    assert (most[1] - most[0] < 2.5).all()  # the balls and the floor around them
    assert (most[0] < [-0.1, -0.1, 0.0]).all()
    assert (most[1] > [1.0, 0.7, 0.2]).all()
    assert (whole[1] - whole[0])[0] > 50.0
    assert one[0] == pytest.approx([0.8, -0.1, 0.0], abs=0.02)
    assert one[1] == pytest.approx([1.0, 0.4, 0.2], abs=0.02)
    assert not np.array_equal(small, large)


def test_a_run_without_contacts_has_curves_and_no_warning(tmp_path: Path) -> None:
    scene = Scene()
    scene.add(Sphere(0.1), mass=1.0)
    with simulate(scene, 0.005, 1e-3, out=tmp_path / "fall.h5") as run, warnings.catch_warnings():
        warnings.simplefilter("error")
        assert plot(run, tmp_path / "fall.png").stat().st_size > 1000
