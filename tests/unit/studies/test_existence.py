"""Quick runs of the studies of existence."""

from __future__ import annotations

from pathlib import Path

import pytest

from clapas.errors import SettingsError
from clapas.studies import registry
from clapas.studies.existence import ExistenceCriterion
from clapas.studies.painleve import Painleve
from clapas.studies.report import Report


def test_painleve_counts_as_on_paper(tmp_path: Path) -> None:
    report = Report(tmp_path, Painleve.title)
    Painleve(steps=3).run(report)
    assert report.text.count("9 of 9") == 6
    assert (tmp_path / "solutions.png").exists()
    assert (tmp_path / "margins.png").exists()


def test_existence_below_one(tmp_path: Path) -> None:
    kind = registry.find("existence")
    report = Report(tmp_path, kind.title)
    kind(**kind.quick).run(report)
    assert "| alea-42-5 |    0.36 |     yes | certified |" in report.text
    assert (tmp_path / "ratios.png").exists()


def test_settings() -> None:
    with pytest.raises(SettingsError, match="steps must be at least 2, got 1"):
        Painleve(steps=1)
    with pytest.raises(SettingsError, match="draws at least 1, got 3 and 0"):
        ExistenceCriterion(instances=3, draws=0)
