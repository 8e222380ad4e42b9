"""What deforms: on its way to the page, and in pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clapas.errors import SettingsError
from clapas.io.recording import Recording
from clapas.io.simulation import simulate
from clapas.viewer.colouring import Palette
from clapas.viewer.packing import unpack
from clapas.viewer.painting import Painter
from clapas.viewer.pictures import snapshot
from clapas.viewer.source import Shown
from tests.recordings import swinging


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("skins") / "run.h5"
    simulate(swinging(), 0.1, 1e-3, out=path, every=20).close()
    return path


def test_the_page_gets_cells_once_and_vertices_with_frames(run: Path) -> None:
    with Recording(run) as recording:
        shown = Shown(recording, "")
        header, arrays = unpack(shown.model)
        assert [(skin["name"], skin["shape"]) for skin in header["skins"]] == [
            ("thread", "tube"),
            ("kite", "surface"),
        ]
        assert header["skins"][0]["fields"] == [{"name": "tension", "unit": "N", "of": "cell"}]
        assert arrays["skin.0.cells"].tolist() == [[0, 1]]
        assert arrays["skin.0.radius"].tolist() == [np.float32(0.01)]
        carrier = recording.systems[0].rows[0]
        drawn = {int(body) for name in arrays if name.endswith(".body") for body in arrays[name]}
        assert carrier not in drawn  # the skins stand for it
        assert recording.model.n_bodies == 3
        assert len(drawn) == 2
        frame = recording.frame(-1)
        _, packed = unpack(shown.frame(recording.n_frames - 1))
        vertices = packed["skin.0.vertices"] + shown.origin
        np.testing.assert_allclose(vertices[1, :2], frame.looks[0][0].vertices[1], atol=1e-6)
        assert (packed["skin.1.vertices"][:, 2] == -shown.origin[2]).all()
        np.testing.assert_allclose(packed["skin.1.field.0"], frame.looks[0][1].values[0], rtol=1e-6)


def test_pictures_show_skins_in_the_colours_of_a_field(run: Path, tmp_path: Path) -> None:
    with Recording(run) as recording:
        shown, frame = Shown(recording, ""), recording.frame(-1)
        palette = Palette(shown, "height", [frame])
        thread, _ = palette.of_skins(frame)
        assert len({*map(tuple, thread)}) == 1  # it has no height: plain
        assert palette.norm.vmin == -palette.norm.vmax  # heights are below zero: it is in the middle
        painter = Painter(shown, size=(300, 200))
        painted = painter.paint(
            frame, np.zeros((3, 3)), [np.array([[1.0, 0, 0]]), np.tile([0, 0, 1.0], (2, 1))]
        )
        left, right, bottom, top = painter.extent

        def at(point: np.ndarray) -> np.ndarray:
            x, y = point
            return painted[int((top - y) / (top - bottom) * 200), int((x - left) / (right - left) * 300)]

        start, bob = frame.looks[0][0].vertices
        assert at(0.5 * (start + bob))[0] > 0.4 > at(0.5 * (start + bob))[2]
        corner = frame.looks[0][1].vertices[[0, 1, 2]].mean(axis=0)
        assert at(corner)[2] > 0.9 > 0.1 > at(corner)[0]
        for colour in ("speed", "tension"):
            assert snapshot(recording, tmp_path / "picture.png", colour=colour).stat().st_size > 1000
        with pytest.raises(SettingsError, match=r"speed, .*birth, tension, height"):
            snapshot(recording, tmp_path / "picture.png", colour="stress")
