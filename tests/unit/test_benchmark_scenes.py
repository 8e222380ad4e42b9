"""The benchmark of whole time steps: packings at rest, phases that add up, a table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks import packings, scenes

from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.stepping import step
from clapas.solvers import NSGS


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packings, "PUSHES", 40)
    monkeypatch.setattr(packings, "MOST", 40)
    monkeypatch.setattr(scenes, "UNTIMED", 2)


@pytest.mark.parametrize("make", [packings.spheres, packings.boxes], ids=["spheres", "boxes"])
def test_packings_hardly_move(make: object) -> None:
    model = make(60)  # type: ignore[operator]
    neighbours = Neighbours(model)
    state = packings.at_rest(model, neighbours)
    done = step(model, state, scenes.DT, NSGS(tol=1e-6), None, neighbours)
    grains = model.movable
    assert len(done.problem.contacts) > 60
    fall = 9.81 * scenes.DT
    assert np.median(np.abs(done.state.velocity[grains, 2])) < 0.1 * fall


def test_phases_and_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "scenes.json"
    assert (
        scenes.main(
            ["--spheres", "20,40", "--boxes", "10", "--steps", "2", "--threads", "1", "--json", str(kept)]
        )
        == 0
    )
    shown = capsys.readouterr().out
    assert "N^" in shown
    rows = json.loads(kept.read_text())["scenes"]
    assert [(row["grains"], row["shape"]) for row in rows] == [
        (20, "spheres"),
        (40, "spheres"),
        (10, "boxes"),
    ]
    for row in rows:
        assert min(row[phase] for phase in ("detect", "assemble", "advance")) > 0.0
        assert row["bytes_per_grain"] > 0.0
        assert f"{row['grains']} {row['shape']}" in shown
