"""``clapas measure``."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Run


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_measures_of_a_run(run: Run) -> None:
    assert run("run", "two-block-stack", "--duration", 0.05, "--quiet").code == 0
    outcome = run("measure", "two-block-stack.h5")
    assert outcome.code == 0
    assert outcome.out.split()[:2] == ["coordination", "1.5"]
    assert "no room inside" in outcome.err  # what makes no sense of two blocks is noted, not fatal
    document = run("measure", "two-block-stack.h5", "--what", "speed,coordination", "--json").document
    assert [each["name"] for each in document["measures"]] == ["speed", "coordination"]
    boxed = run("measure", "two-block-stack.h5", "--what", "packing", "--box", "-0.05,-0.05,0:0.05,0.05,0.1")
    assert boxed.code == 0, boxed.err


def test_refusals(run: Run) -> None:
    assert run("run", "two-block-stack", "--duration", 0.02, "--quiet").code == 0
    cases = {
        ("--what", "slopes"): "no measure is called 'slopes' (did you mean 'slope'?)",
        ("--what", "stress"): "no room inside",
        ("--box", "0,0:1"): "low and high must be opposite corners",
        ("--box", "everything"): "--box needs two corners as 0,0,0:1,1,1, got 'everything'",
    }
    for options, message in cases.items():
        outcome = run("measure", "two-block-stack.h5", *options)
        assert message in outcome.err, (options, outcome)


@pytest.mark.parametrize("command", ["measure", "snapshot"])
def test_a_time_outside_of_the_run_is_refused(run: Run, command: str, tmp_path: Path) -> None:
    assert (
        run("run", "two-block-stack", "--duration", 0.02, "--dt", 0.01, "--out", "run.h5", "--quiet").code
        == 0
    )
    for time in ("99", "-5"):
        more = ("--what", "speed") if command == "measure" else ("--out", tmp_path / "a.png")
        outcome = run(command, "run.h5", f"--time={time}", *more)
        assert outcome.code == 2
        assert f"time must be one of the run, from 0 to 0.02 s, got {time}" in outcome.err
