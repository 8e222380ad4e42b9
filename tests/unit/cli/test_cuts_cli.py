"""``clapas cuts``."""

from __future__ import annotations

from pathlib import Path

import pytest

from clapas.cuts import write_milp
from clapas.cuts.instances import knapsack
from clapas.cuts.rounds import KINDS

from .conftest import Run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_milp(tmp_path / "bag.mps", knapsack(15, 0))
    return tmp_path / "bag.mps"


def test_report_progress_and_picture(run: Run, file: Path, tmp_path: Path) -> None:
    outcome = run("cuts", file, "--rounds", "2", "--picture", tmp_path / "gap.png")
    assert outcome.code == 0
    for words in ("15 variables, 15 of them integer, 1 rows", "gap closed", "2 rounds done", "optimum"):
        assert words in outcome.out
    assert "round 1: bound" in outcome.err
    assert (tmp_path / "gap.png").stat().st_size > 1000
    assert run("cuts", file, "--rounds", "1", "--quiet").err == ""


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_in_json(run: Run, file: Path, kind: str) -> None:
    document = run("cuts", file, "--kind", kind, "--json", "--quiet", "--strengthen").document
    closed = document["gap_closed"]
    assert closed[0] == 0.0
    assert 0.0 < closed[-1] <= 1.0 + 1e-9
    assert document["optimum"] >= document["bounds"][-1] - 1e-6  # the file asks for a minimum of −values
    assert len(document["bounds"]) == len(document["rounds"]) + 1


def test_a_given_optimum_is_believed(run: Run, file: Path) -> None:
    assert run("cuts", file, "--optimum", "-1000", "--json", "--quiet").document["optimum"] == -1000.0


def test_nothing_to_separate(run: Run, tmp_path: Path) -> None:
    (tmp_path / "whole.lp").write_text("min\n obj: x\nst\n c1: x >= 2\ngeneral\n x\nend\n")
    outcome = run("cuts", tmp_path / "whole.lp", "--picture", tmp_path / "none.png")
    assert outcome.code == 0
    assert "nothing to separate: the relaxation has an integer solution" in outcome.out


def test_slips(run: Run, file: Path, tmp_path: Path) -> None:
    assert "did you mean 'facets'" in run("cuts", file, "--kind", "facet").err
    outcome = run("cuts", tmp_path / "nowhere.mps")
    assert (outcome.code, "there is no file" in outcome.err) == (2, True)
    (tmp_path / "empty.lp").write_text("min\n obj: x\nst\n c1: x >= 2\n c2: x <= 1\ngeneral\n x\nend\n")
    outcome = run("cuts", tmp_path / "empty.lp")
    assert (outcome.code, "has no solution" in outcome.err) == (2, True)
    (tmp_path / "open.lp").write_text("min\n obj: - x\nst\n c1: x >= 2\ngeneral\n x\nend\n")
    assert "unbounded" in run("cuts", tmp_path / "open.lp").err
