"""``clapas compare``, ``clapas warm-up`` and ``clapas bench NAME --help``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clapas.problems import gallery
from clapas.studies.comparison import compare

from .conftest import Run


def test_a_table_a_picture_and_json(run: Run, tmp_path: Path) -> None:
    picture = tmp_path / "profile.png"
    files = ("gallery:box-stack-10", "example:two-blocks")
    outcome = run(
        "compare", *files, "--solvers", "nsgs,interior-point", "--time-limit", 2, "--picture", picture
    )
    assert outcome.code == 0, outcome.err
    assert "interior-point: 2 of 2 solved" in outcome.out
    assert "seconds" in outcome.out
    assert picture.stat().st_size > 10_000
    document = run("compare", files[1], "--solvers", "nsgs", "--json").document
    (attempt,) = document["attempts"]
    assert attempt["is_solved"]
    assert attempt["residual"] <= 1e-6
    assert len(attempt["history"]["residuals"]) == len(attempt["history"]["seconds"]) > 0


def test_refusals(run: Run) -> None:
    cases = {
        ("gallery:box-stack-10", "--solvers", "nsgss"): "nsgs",
        ("gallery:box-stack-10", "--tol", 0): "--tol and --time-limit must be positive",
        ("gone.hdf5",): "there is no file 'gone.hdf5'",
    }
    for options, message in cases.items():
        outcome = run("compare", *options)
        assert outcome.code == 2
        assert message in outcome.err


def test_what_a_solver_does_not_take_is_refused_not_fatal() -> None:
    """Ratios: the best has 1, what did not solve is infinite."""
    problems = {name: gallery.get(name).problem for name in ("box-stack-10", "two-blocks")}
    found = compare(problems, ["nsgs", "auto"], tol=1e-8)
    ratios = found.ratios()
    assert found.problems == ["box-stack-10", "two-blocks"]
    best = np.min(list(ratios.values()), axis=0)
    np.testing.assert_array_equal(best, 1.0)
    hopeless = compare(problems, ["projected-jacobi"], tol=1e-300, time_limit=0.05)
    assert not any(attempt.is_solved for attempt in hopeless.attempts)
    assert np.isinf(hopeless.ratios()["projected-jacobi"]).all()


def test_warm_up(run: Run) -> None:
    assert run("warm-up", "bouncing-ball").code == 0
    again = run("warm-up", "bouncing-ball")
    assert again.out.startswith("bouncing-ball      ready")
    refused = run("warm-up", "bouncing-bal")
    assert refused.code == 2
    assert "did you mean 'bouncing-ball'?" in refused.err


def test_options_of_a_benchmark(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = run("bench", "kernels", "--help")
    assert outcome.code == 0, outcome.err
    assert "usage" in outcome.out.lower()
    assert run("bench", "--help").code == 0


def test_an_unknown_benchmark_lists_those_there_are(run: Run) -> None:
    refused = run("bench", "kernel")
    assert refused.code == 2
    assert (
        "no benchmark is called 'kernel' (did you mean 'kernels'?): expected blocks or collision"
        in refused.err
    )
    assert "pip install" not in refused.err
    assert "timing" not in refused.err  # a part of benchmarks


def test_benchmarks_come_with_the_sources(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "lib" / "clapas" / "cli" / "bench.py"
    monkeypatch.setattr("clapas.cli.bench.__file__", str(installed))
    refused = run("bench", "kernels")
    assert refused.code == 2
    assert (
        "there are no benchmarks here: they come with the sources; in a checkout, run 'pip install"
        in refused.err
    )
