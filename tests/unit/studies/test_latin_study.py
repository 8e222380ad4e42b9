"""The study of the micro-macro LATIN method."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clapas.studies import registry
from clapas.studies.latin import Latin
from clapas.studies.latin_grids import Verdicts
from clapas.studies.latin_rates import cost_ratios
from clapas.studies.report import Report


def test_verdicts_say_how_far(tmp_path: Path) -> None:
    """All are in the table; those that the thesis prints are judged with its digits, too."""
    report = Report(tmp_path, "numbers")
    verdicts = Verdicts(report)
    verdicts.add("a", 24, 24)
    verdicts.add("b", 3.0, 2.7, printed="3")
    verdicts.add("c", 10, 20)
    verdicts.add("d", 10, None)
    assert [row[-1] for row in verdicts.rows] == [
        "reproduced",
        "within 10.0 %",
        "not reproduced",
        "not reproduced",
    ]
    report.close()
    judged = json.loads((tmp_path / "verdicts.json").read_text(encoding="utf-8"))["verdicts"]
    assert [(each["quantity"], each["grade"]) for each in judged] == [("b", "reproduced")]


def test_the_cost_model_of_the_thesis() -> None:
    iteration, setup = cost_ratios((2500, 200), (16, 195, 50), (216, 60))
    assert (round(iteration, 2), round(setup, 2)) == (2.96, 11.66)


@pytest.mark.slow
def test_every_number_is_reproduced(tmp_path: Path) -> None:
    pytest.importorskip("pymetis")
    study = registry.find("latin")(**{**Latin.quick, "largest": 16, "sweeps": True})
    report = Report(tmp_path, Latin.title)
    study.run(report)
    table = report.text.split("## Number by number")[1]
    rows = [line for line in table.splitlines() if line.startswith("|")][2:]
    assert len(rows) > 35
    assert not [row for row in rows if "not reproduced" in row]
    assert (tmp_path / "rates.png").exists()
