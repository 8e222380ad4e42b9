"""``clapas masonry``: verdicts from the shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Run


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_report_and_a_picture(run: Run, tmp_path: Path) -> None:
    outcome = run("masonry", "example:arch", "--mu", 0.6, "--time", 0.05, "--picture", "arch.png")
    assert outcome.code == 0, outcome.err
    first = outcome.out.splitlines()[0].split()
    assert first == ["verdict", "STANDS"]
    assert "least friction   0.3071" in outcome.out
    assert (tmp_path / "arch.png").stat().st_size > 10_000


def test_json_with_loads_and_without_dynamics(run: Run) -> None:
    options = ("--time", 0, "--load", "voussoir 3=100", "--load", "voussoir 11")
    document = run("masonry", "stone-arch", "--voussoirs", 15, *options, "--json").document
    assert document["verdict"] == "may stand"
    assert document["stays"] is None
    first, second = document["loads"]
    assert first["factor"] == pytest.approx(first["largest"] / 100)
    assert second["largest"] == pytest.approx(first["largest"], rel=1e-6)  # the arch is symmetric
    told = run("masonry", "stone-arch", "--voussoirs", 15, *options).out
    assert f"bears {first['largest']:.4g} N/m, {first['factor']:.3g} times 100 N/m" in told  # in the plane


def test_what_falls_has_no_tilt(run: Run) -> None:
    outcome = run("masonry", "example:arch", "--mu", 0.2, "--time", 0, "--picture", "arch.png")
    assert outcome.code == 0
    assert "FALLS" in outcome.out
    assert "tilt" not in outcome.out


def test_a_settlement(run: Run) -> None:
    options = ("--settle", "support_right", "--direction", "x", "--until", 0.01, "--out", "fall.h5")
    outcome = run("masonry", "example:arch", "--time", 0, *options, "--picture", "fall.png")
    assert outcome.code == 0, outcome.err
    assert "of 'support_right' by 0.01" in outcome.out
    assert "no collapse up to 0.01" in outcome.out
    assert "hinge" in outcome.out
    assert run("info", "fall.h5").code == 0


def test_refusals(run: Run) -> None:
    cases = {
        ("--until", 1): "belong to a settlement: add --settle NAME",
        ("--time", "nan"): "--time must be seconds, 0 for limit analysis only, got nan",
        ("--time", -1): "--time must be seconds, 0 for limit analysis only, got -1.0",
        ("--time", 0, "--load", "voussoir_06=heavy"): "--load needs NAME or NAME=NEWTONS",
        ("--time", 0, "--load", "keystone"): "no body is called 'keystone'",
        ("--time", 0, "--settle", "support_left", "--direction", "up"): "--direction must be an axis",
        ("--friction", 1): "knows --mu",
    }
    for options, message in cases.items():
        outcome = run("masonry", "example:arch", *options)
        assert outcome.code == 2
        assert message in outcome.err
