"""A disk that fills up during a run: one message, exit code 2, a sound file, and a resume that goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clapas import Recording
from tests.torture.harness import ROOT, kills
from tests.torture.test_kills import SCENE, columns, finish

# Runs in a name space of its own: the small disk is seen by no other process and goes with it.
SCRIPT = """
mount -t tmpfs -o size=$SIZE none "$DISK" || exit 77
cp "$SCENE" "$DISK/scene.toml"; cd "$DISK"
"$PYTHON" -c "$OFTEN" run scene.toml --out run.h5 --quiet; echo "run $?"
ls -A | tr '\\n' ' '; echo
if [ -f run.h5 ]; then
  "$PYTHON" -m clapas info run.h5 --verify --json > /dev/null; echo "info $?"
  cp run.h5 "$KEPT/full.h5"
  "$PYTHON" -m clapas resume run.h5 --quiet; echo "resume on the full disk $?"
  mount -o remount,size=64m "$DISK"
  "$PYTHON" -m clapas resume run.h5 --quiet; echo "resume with room $?"
  cp run.h5 "$KEPT/resumed.h5"
fi
"""

# The command line with flushes in quick succession: a short run meets the end of the disk between two.
OFTEN = """
import sys
import clapas.io.recording.writer as writer
from clapas.cli import main
writer.FLUSH_SECONDS = 0.05
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("disk")
    (made / "scene.toml").write_text(SCENE, encoding="utf-8")
    finish("run", made / "scene.toml", "--out", made / "whole.h5", "--quiet")
    return made


@pytest.mark.slow
def test_full_disks(folder: Path, tmp_path: Path) -> None:
    """From a disk without room for the beginning to one that is full near the end."""
    size, sizes = (folder / "whole.h5").stat().st_size, max(3, kills(0) // 25)
    ends = {"no frame": 0, "full": 0, "enough": 0}
    for number in range(sizes):
        place = tmp_path / f"{number}"
        (place / "disk").mkdir(parents=True)
        room = round((0.05 + 0.9 * number / (sizes - 1)) * size / 1024)
        told = _on_a_small_disk(folder, place, room)
        assert "Traceback" not in told
        assert "egmentation" not in told
        if "run 0" in told:
            ends["enough"] += 1
            continue
        assert told.count("cannot be written (No space left on device)") >= 1
        assert "run 2" in told
        if not (place / "full.h5").exists():
            ends["no frame"] += 1
            assert told.strip().endswith("scene.toml"), told  # nothing is left of it
            continue
        ends["full"] += 1
        for line in ("info 0", "resume on the full disk 2", "resume with room 0"):
            assert line in told, told
        with Recording(place / "full.h5") as run:
            assert run.verify() > 0
        expected, found = columns(folder / "whole.h5"), columns(place / "resumed.h5")
        for name, values in expected.items():
            assert found[name].tobytes() == values.tobytes(), name
    print("\nfull disks:", ", ".join(f"{count} {end}" for end, count in ends.items()))
    assert ends["full"]


def _on_a_small_disk(folder: Path, place: Path, kilobytes: int) -> str:
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "src"),
        "PYTHON": sys.executable,
        "OFTEN": OFTEN,
        "SIZE": f"{max(kilobytes, 16)}k",
        "DISK": str(place / "disk"),
        "KEPT": str(place),
        "SCENE": str(folder / "scene.toml"),
    }
    try:
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", SCRIPT],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        pytest.skip("no 'unshare' here: a small file system cannot be made")
    if done.returncode == 77 or "Operation not permitted" in done.stdout:
        pytest.skip("no right to mount a small file system here")
    return done.stdout
