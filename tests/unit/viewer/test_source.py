from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from clapas.errors import FormatError
from clapas.io.recording import Recording
from clapas.viewer.packing import unpack
from clapas.viewer.source import NotThere, Source


def test_model_and_columns(space_run: Path) -> None:
    source = Source(space_run)
    header, arrays = unpack(source.model())
    columns = source.columns(0)
    source.close()
    with Recording(space_run) as recording:
        assert header["names"] == list(recording.model.names)
        assert header["materials"] == ["default", "stone"]
        assert columns["n"] == recording.n_frames == 11
        assert columns["time"] == pytest.approx(recording.times.tolist())
        ends = recording.column("contact_end")
    assert columns["contacts"][-1] == ends[-1] - ends[-2]
    assert header["materials"][arrays["material"][header["names"].index("gem")]] == "stone"
    assert columns["run"] == header["run"]
    assert all(low < high for low, high in zip(header["low"], header["high"], strict=True))


def test_columns_from_a_frame_on(space_run: Path) -> None:
    source = Source(space_run)
    rest = source.columns(8)
    assert (rest["n"], len(rest["time"]), len(rest["contacts"])) == (11, 3, 3)
    assert rest["contacts"] == source.columns(0)["contacts"][8:]
    assert source.columns(11)["time"] == []
    source.close()


def test_half_spaces_do_not_set_the_bounds(plane_run: Path) -> None:
    source = Source(plane_run)
    header, arrays = unpack(source.model())
    source.close()
    assert np.isinf(arrays["reach"][header["names"].index("ground")])
    assert header["high"][0] - header["low"][0] < 3.0
    assert header["low"][2] == header["high"][2] == 0.0


def test_a_file_that_vanishes_and_comes_back(space_run: Path, plane_run: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    source = Source(path)
    with pytest.raises(NotThere, match=r"run\.h5 is not there"):
        source.columns(0)
    shutil.copy(space_run, path)
    first = unpack(source.model())[0]
    assert first["d"] == 3
    path.unlink()
    with pytest.raises(NotThere):
        source.frame(0)
    shutil.copy(plane_run, path)
    assert unpack(source.model())[0]["d"] == 2
    source.close()


def test_another_run_in_its_place_is_noticed(space_run: Path, plane_run: Path, tmp_path: Path) -> None:
    path, other = tmp_path / "run.h5", tmp_path / "other.h5"
    shutil.copy(space_run, path)
    source = Source(path)
    before = source.columns(0)["run"]
    shutil.copy(plane_run, other)
    os.replace(other, path)
    assert source.columns(0)["run"] != before
    assert unpack(source.model())[0]["d"] == 2
    source.close()


def test_an_old_file_is_ignored_when_a_run_is_about_to_replace_it(space_run: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    shutil.copy(space_run, path)
    os.utime(path, (1000.0, 1000.0))
    source = Source(path, since=2000.0)
    with pytest.raises(NotThere, match="waiting for the first frames"):
        source.model()
    os.utime(path, (3000.0, 3000.0))
    assert unpack(source.model())[0]["d"] == 3
    source.close()


def test_a_file_that_is_no_recording(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    path.write_text("nothing")
    with pytest.raises(FormatError, match="not an HDF5 file"):
        Source(path).model()
