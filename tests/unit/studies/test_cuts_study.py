"""The study of separation: its table, its bad input."""

from __future__ import annotations

from pathlib import Path

import pytest

from clapas.errors import SettingsError
from clapas.studies.cuts import Cuts, table_row
from clapas.studies.report import Report


def test_a_row_of_the_table() -> None:
    """The first draw of n = 20 as it was found by trial: 13 pieces, 12 of them on the normalisation."""
    (ours, violated, depth, cuts, calls), (facets, on_N), _ = table_row(20, 0)
    assert (cuts, facets, on_N) == (13, 1, 12)
    assert cuts <= calls + 1 <= 25
    assert ours >= 100.0 - 1e-6
    assert violated > 0.0
    assert depth == pytest.approx(56.24, abs=0.1)


@pytest.mark.slow
def test_a_quick_run(tmp_path: Path) -> None:
    report = Report(tmp_path, Cuts.title)
    Cuts(**Cuts.quick).run(report)
    assert "n20-s0" in report.text
    assert "HiGHS, root" in report.text
    assert "subset sum, odd |        4 |  none |" in report.text
    assert (tmp_path / "gaps.png").exists()


def test_settings() -> None:
    with pytest.raises(
        SettingsError, match="largest must be at least 20, draws, seeds and rounds at least 1"
    ):
        Cuts(draws=0)
