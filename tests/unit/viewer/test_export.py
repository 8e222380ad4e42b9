from __future__ import annotations

import base64
import re
import zlib
from pathlib import Path

import pytest

from clapas.errors import SettingsError
from clapas.io.recording import Recording
from clapas.viewer import export_page
from clapas.viewer.packing import unpack


def parts(path: Path) -> dict[str, str]:
    found = re.findall(
        r'<script type="text/plain" id="data-([\w-]+)">(.*?)</script>', path.read_text(), re.DOTALL
    )
    return dict(found)


def frame_of(text: str) -> dict[str, object]:
    return unpack(zlib.decompress(base64.b64decode(text)))[0]


def test_the_page_holds_frames_over_the_whole_run(space_run: Path, tmp_path: Path) -> None:
    made = export_page(space_run, tmp_path / "page.html", frames=4)
    assert (made.frames, made.of) == (4, 11)
    assert made.bytes == made.path.stat().st_size
    held = parts(made.path)
    assert [name for name in held if name.startswith("frame")] == [f"frame-{k}" for k in range(4)]
    with Recording(space_run) as recording:
        times = recording.times
    assert frame_of(held["frame-0"])["time"] == times[0]
    assert frame_of(held["frame-3"])["time"] == times[-1]


def test_all_frames_when_there_is_room(space_run: Path, tmp_path: Path) -> None:
    made = export_page(space_run, tmp_path / "page.html")
    assert (made.frames, made.of) == (11, 11)


def test_no_frame_is_too_few(space_run: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="at least 1"):
        export_page(space_run, tmp_path / "page.html", frames=0)
    assert not (tmp_path / "page.html").exists()
