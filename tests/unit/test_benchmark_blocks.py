"""The benchmark of blocks at rest: scenes, one engine, the table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks import blocks


@pytest.mark.parametrize(
    ("scene", "count"),
    [("slope", 1), ("stack10", 10), ("wall78", 78), ("tower60", 60), ("wall210", 210), ("wall5000", 5025)],
)
def test_scenes_have_their_blocks_side_by_side(scene: str, count: int) -> None:
    placed = blocks.boxes(scene)
    assert len(placed) == count
    lowest = min(centre[2] - 0.5 * size[2] for centre, size in placed)
    assert lowest == pytest.approx(0.0, abs=1e-15)
    low, high = (np.array([np.array(c) + s * 0.5 * np.array(z) for c, z in placed[:60]]) for s in (-1, 1))
    shared = np.minimum(high[:, None], high) - np.maximum(low[:, None], low)
    overlap = (shared > 1e-9).all(axis=2)
    assert overlap.sum() == len(low)  # each with itself alone


def test_a_scene_without_name() -> None:
    with pytest.raises(ValueError, match="no scene 'arch': expected one of slope, stack10"):
        blocks.boxes("arch")


def test_one_run_makes_a_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "blocks.json"
    options = ["--scenes", "slope", "--engines", "clapas", "--steps", "8", "--tol", "1e-6"]
    assert blocks.main([*options, "--json", str(kept)]) == 0
    (row,) = json.loads(kept.read_text())
    assert (row["engine"], row["scene"], row["contacts"]) == ("clapas", "slope", "4")
    assert 0.0 < row["best"] <= row["mean"]
    assert row["move"] < 1e-9
    assert "| slope | clapas, 1e-06 |" in capsys.readouterr().out
