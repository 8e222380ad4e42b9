"""What may be said of a printed number."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clapas.studies.report import Report
from clapas.studies.verdicts import GRADES, Verdict, of_counts, of_number


@pytest.mark.parametrize(
    ("printed", "found", "grade"),
    [
        ("26", 26.4, "reproduced"),
        ("26", 26.6, "reproduced within 2.3 %"),
        ("26.0", 26.4, "reproduced within 1.5 %"),
        ("0.615", 0.6146, "reproduced"),
        ("0.615", 0.4, "not reproduced"),
        ("-1.5", -1.5, "reproduced"),
        ("0", 0.0, "reproduced"),
        ("0", 1.0, "not reproduced"),
        ("3320", 3000.0, "reproduced within 9.6 %"),
    ],
)
def test_digits_decide(printed: str, found: float, grade: str) -> None:
    assert of_number("a paper", "a number", printed, found, within=0.1).grade == grade


def test_counts_of_draws() -> None:
    assert of_counts("", "", (5, 10), (10, 20)).grade == "reproduced"
    scattered = of_counts("", "", (12, 15), (40, 45))
    assert scattered.grade == "reproduced within the scatter of draws"
    assert "chance" in scattered.why
    other = of_counts("", "", (0, 15), (45, 45))
    assert (other.grade, other.why) == ("not reproduced", "the reason is not known")


def test_a_failure_needs_a_reason() -> None:
    with pytest.raises(AssertionError):
        Verdict(source="", quantity="", printed="", found="", grade="not reproduced")
    with pytest.raises(AssertionError):
        Verdict(source="", quantity="", printed="", found="", grade="fine", why="so")


def test_a_report_ends_with_its_verdicts(tmp_path: Path) -> None:
    report = Report(tmp_path, "Numbers", command="clapas study numbers")
    report.judge(of_number("a paper, table 1", "the number", "2.20", 2.201, unit="m"))
    report.close()
    assert "| a paper, table 1 | the number |  2.20 m | 2.201 m | reproduced |" in report.text
    document = json.loads((tmp_path / "verdicts.json").read_text(encoding="utf-8"))
    assert document["command"] == "clapas study numbers"
    assert [each["grade"] for each in document["verdicts"]] == [GRADES[0]]


def test_a_report_without_printed_numbers_has_no_verdicts(tmp_path: Path) -> None:
    Report(tmp_path, "Nothing").close()
    assert not (tmp_path / "verdicts.json").exists()
