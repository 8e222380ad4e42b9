"""``clapas sweep``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .conftest import Run

SWEEP = """
scene = "sliding-block"
measures = ["coordination"]
[parameters]
mu = [0.2, 0.4]
"run.duration" = 0.02
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_table_and_a_picture(run: Run) -> None:
    Path("slides.toml").write_text(SWEEP)
    outcome = run("sweep", "slides.toml", "--executor", "threads", "--workers", 1)
    assert outcome.code == 0, outcome.err
    assert outcome.out.splitlines()[0] == "2 runs, 0 failed"
    assert "note: 2/2 (0 failed): mu = " in outcome.err
    assert Path("slides-sweep/table.csv").read_text().startswith("run,identity,mu,run.duration (s),status")
    assert Path("slides-sweep/table.png").exists()
    document = run("sweep", "slides.toml", "--executor", "threads", "--json").document
    assert [row["coordination"] for row in document["runs"]] == [1.0, 1.0]
    assert document["units"]["kinetic"] == "J"
    assert "units" not in document["runs"][0]


def test_durations_of_as_many_steps_are_told(run: Run) -> None:
    Path("slides.toml").write_text(SWEEP.replace("= 0.02", "= [0.02, 0.0203]"))
    outcome = run("sweep", "slides.toml", "--executor", "threads", "--workers", 1)
    assert "note: sweep: run.duration = 0.02 and 0.0203 s are both 20 steps of 0.001 s" in outcome.err


def test_a_missing_package_is_told_before_the_runs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    Path("slides.toml").write_text(SWEEP)
    outcome = run("sweep", "slides.toml", "--executor", "threads", "--workers", 1, "--parquet")
    assert outcome.code != 0
    assert "a table in Parquet needs the package 'pyarrow'" in outcome.err
    assert not Path("slides-sweep").exists()


def test_durations_between_two_steps_are_told(run: Run) -> None:
    Path("slides.toml").write_text(SWEEP.replace("= 0.02", '= 0.05\n"run.dt" = 0.02'))
    outcome = run("sweep", "slides.toml", "--executor", "threads", "--workers", 1)
    assert "duration = 0.05 s is 2.5 steps of dt = 0.02 s, which are whole: the run ends at t = 0.04 s" in (
        outcome.err
    )


def test_failures_are_the_exit_code(run: Run) -> None:
    Path("slides.toml").write_text(SWEEP.replace("0.4]", "-0.4]"))
    outcome = run("sweep", "slides.toml", "--executor", "threads")
    assert outcome.code == 1
    assert "2 runs, 1 failed" in outcome.out
    assert "note: run 1: sliding-block: mu must be from 0 to 1000" in outcome.err


def test_mistakes(run: Run) -> None:
    assert "there is no such file" in run("sweep", "none.toml").err
    Path("slides.toml").write_text(SWEEP)
    assert "no executor is called 'cloud'" in run("sweep", "slides.toml", "--executor", "cloud").err
    outcome = run("sweep", "slides.toml", "--executor", "threads", "--plot", "height", "--quiet")
    assert "no run has a number 'height'" in outcome.err
