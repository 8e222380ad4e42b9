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
        ("--what", "stress, slopes"): "no measure is called 'slopes' (did you mean 'slope'?)",
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


def test_what_a_measure_does_not_heed_is_refused_and_others_are_not_lost(run: Run) -> None:
    assert run("run", "two-block-stack", "--duration", 0.05, "--quiet").code == 0
    name = "two-block-stack.h5"
    refused = run("measure", name, "--what", "energy", "--time", 0.01)
    assert (refused.code, "'energy' takes no time: it is of the whole run" in refused.err) == (2, True)
    for box in (
        "0,0:1,1",
        "1,1,1:0,0,0",
        "0,0,nan:1,1,1",
    ):  # also where what is measured is left to the command
        refused = run("measure", name, "--box", box)
        assert refused.code == 2
        assert "opposite corners of a box in 3-D, the lower one first, got [" in refused.err
    assert "'speed' takes no box" in run("measure", name, "--what", "speed", "--box", "0,0,0:1,1,1").err
    assert "'slope' takes no level" in run("measure", name, "--what", "slope", "--level", 3).err
    both = run("measure", name, "--what", "stress,coordination")
    assert both.code == 2
    assert both.out.split()[:2] == ["coordination", "1.5"]
    assert "note: stress: the grains leave no room inside" in both.err


def test_a_mean_of_iterations_is_of_steps(run: Run) -> None:
    every = [run("run", "sliding-block", "--duration", 0.05, "--every", k, "--json") for k in (1, 50)]
    means = [outcome.document["mean_iterations"] for outcome in every]
    assert all(outcome.code == 0 for outcome in every)
    assert means[1] == int(means[1])  # the one step kept; the start is none


def test_a_run_without_contacts_has_no_means_over_them(run: Run) -> None:
    assert run("run", "bouncing-ball", "--duration", 0.02, "--out", "ball.h5", "--quiet").code == 0
    outcome = run("measure", "ball.h5", "--what", "friction,force")
    assert outcome.code == 0, outcome.err
    assert "friction       none                     there are no contacts at t = 0.02 s" in outcome.out
    document = run("measure", "ball.h5", "--what", "force", "--json").document
    assert document["measures"][0]["value"] is None
