"""How a moving truss looks: forces as widths and colours, slack cables apart, the unloaded shape behind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from clapas.bodies.trusses import MovingTruss
from clapas.bodies.trusses.generators import grid, prism
from clapas.bodies.trusses.looks import Looks
from clapas.io.recording import Recording
from clapas.io.simulation import simulate
from clapas.scenes.scene import Scene
from clapas.statics.trusses import check_members
from clapas.viewer.colouring import PLAIN, VOID, Palette
from clapas.viewer.packing import unpack
from clapas.viewer.skins import WIDEST, radii
from clapas.viewer.source import Shown


def test_widths_follow_forces_and_slack_cables_have_none() -> None:
    truss = prism(3)
    looks = Looks(truss, bar_radius=0.0, has_forces_of_cables=True)
    bars, cables = looks.skins()
    largest = np.abs(truss.prestress).max()
    forces = truss.prestress.copy()
    first = int(np.flatnonzero(truss.is_cable)[0])
    forces[first] = 0.0
    bar_look, cable_look = looks.looks(truss.nodes, forces)
    np.testing.assert_allclose(
        radii(bars, bar_look), bars.radius * (1 + np.abs(forces[~truss.is_cable]) / largest)
    )
    assert np.isnan(cable_look.values[0][0])
    assert radii(cables, cable_look)[0] == cables.radius[0]
    np.testing.assert_allclose(bar_look.values[1], check_members(truss).utilisation[~truss.is_cable])
    wide = looks.looks(truss.nodes, 1e6 * forces)[0]
    np.testing.assert_allclose(radii(bars, wide), (1 + WIDEST) * bars.radius)


def test_bars_that_touch_keep_their_radius_and_unknown_forces_are_plain() -> None:
    bars, cables = Looks(prism(3), bar_radius=0.02, has_forces_of_cables=False).skins()
    assert bars.doubles_at == 0.0
    np.testing.assert_array_equal(bars.radius, 0.02)
    assert cables.fields == ()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("looks") / "grid.h5"
    scene = Scene(gravity=(0, 0, 0))
    scene.add_system(MovingTruss(truss=grid(2, load=8000.0), case="down", damping_time=5e-3), name="grid")
    simulate(scene, 0.1, 5e-3, out=path, every=10).close()
    return path


def test_a_recording_has_widths_slack_colours_and_the_unloaded_shape(run: Path) -> None:
    with Recording(run) as recording:
        shown, frame = Shown(recording, ""), recording.frame(-1)
        header, _ = unpack(shown.model)
        assert [skin["name"] for skin in header["skins"]] == ["bars", "cables", "unloaded shape"]
        assert header["skins"][1]["doublesAt"] == pytest.approx(np.abs(grid(2).prestress).max())
        assert "doublesAt" not in header["skins"][2]
        bars, cables, unloaded = frame.looks[0]
        np.testing.assert_allclose(unloaded.vertices, grid(2).nodes, atol=1e-6)
        slack = np.isnan(cables.values[0])
        assert 0 < slack.sum() < len(slack)
        colours = Palette(shown, "force", [frame]).of_skins(frame)
        np.testing.assert_allclose(colours[1][slack], np.tile(to_rgb(VOID), (slack.sum(), 1)))
        assert not (colours[1][~slack] == to_rgb(VOID)).all(axis=1).any()
        np.testing.assert_allclose(colours[2], np.tile(to_rgb(PLAIN), (len(colours[2]), 1)))
        assert np.isfinite(bars.values[1]).all()
