"""The verbs that show a recording: view, snapshot, movie, plot, and run --view."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from clapas.cli import main
from clapas.viewer.packing import unpack

ADDRESS = r"http://127\.0\.0\.1:\d+/[\w-]+/"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_export(space_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", str(space_run), "--export", "page.html", "--frames", "3"]) == 0
    said = capsys.readouterr().out
    assert re.fullmatch(
        r"page\.html: 3 of 11 frames, 0\.\d MB, opens in any browser without a network\n", said
    )
    assert (tmp_path / "page.html").stat().st_size > 100_000


@pytest.mark.parametrize("verb", ["view", "snapshot", "movie", "plot"])
def test_what_is_no_recording_is_refused(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.h5").write_text("nothing")
    assert main([verb, "bad.h5"]) == 2
    assert "bad.h5: not an HDF5 file" in capsys.readouterr().err
    assert main([verb, "absent.h5"]) == 2
    assert "absent.h5" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["bad.h5"]


def test_pictures(space_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--width", "300", "--height", "200"]
    assert main(["snapshot", str(space_run), "--time", "0.05", "--colour", "pressure", *small]) == 0
    assert main(["movie", str(space_run), "--frames", "2", "--out", "film.gif", *small]) == 0
    assert main(["plot", str(space_run), "--what", "energy,contacts", "--what", "residual"]) == 0
    assert capsys.readouterr().out.split() == ["space.png", "film.gif", "space-curves.png"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["film.gif", "space-curves.png", "space.png"]


def started(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "clapas", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"BROWSER": "true", "PYTHONUNBUFFERED": "1"},  # a browser that does nothing
        preexec_fn=heed_ctrl_c,
    )


def heed_ctrl_c() -> None:
    """Tests that run in the background have Ctrl-C ignored, and so would what they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def said(process: subprocess.Popen[str], *patterns: str) -> list[str]:
    """What was found of each pattern in the output, in whatever order it comes; waits half a minute."""
    assert process.stdout is not None
    limit = threading.Timer(30.0, process.kill)  # ends the output, and so the loop below
    limit.start()
    found: dict[str, str] = {}
    try:
        for line in process.stdout:
            found |= {pattern: match[0] for pattern in patterns if (match := re.search(pattern, line))}
            if len(found) == len(patterns):
                return [found[pattern] for pattern in patterns]
    finally:
        limit.cancel()
    raise AssertionError(f"only {found} of {patterns}")


def end(process: subprocess.Popen[str]) -> tuple[str, str]:
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=60)


def test_view_serves_until_it_is_interrupted(space_run: Path) -> None:
    process = started("view", str(space_run), "--no-browser")
    try:
        (url,) = said(process, ADDRESS)
        with urllib.request.urlopen(url + "model", timeout=20) as answer:
            assert unpack(answer.read())[0]["name"] == "space.h5"
    finally:
        _, complaints = end(process)
    assert process.returncode == 0
    assert complaints == ""


def test_view_warns_of_open_addresses(space_run: Path) -> None:
    process = started("view", str(space_run), "--no-browser", "--host", "0.0.0.0")
    said(process, "Ctrl-C")
    assert "everybody who can reach 0.0.0.0" in end(process)[1]


def test_run_with_a_view(tmp_path: Path) -> None:
    process = started("run", "two-block-stack", "--duration", "0.02", "--view")
    try:
        url, _ = said(process, ADDRESS, "stays until")
        with urllib.request.urlopen(url + "columns", timeout=20) as answer:
            assert b'"n": 5' in answer.read()
    finally:
        end(process)
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(url, timeout=20)


def test_a_view_ends_with_its_run(tmp_path: Path) -> None:
    process = started("run", "bouncing-ball", "--duration", "0.02", "--view")
    url, _ = said(process, ADDRESS, "stays until")
    process.kill()  # without a chance to say goodbye
    process.communicate(timeout=60)
    with pytest.raises(OSError, match="refused"):
        ask_for_ten_seconds(url)


def ask_for_ten_seconds(url: str) -> None:
    for _ in range(100):
        urllib.request.urlopen(url, timeout=20).close()
        time.sleep(0.1)
