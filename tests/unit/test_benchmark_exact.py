"""The benchmark of the exact solver: its rows, its comparison, its families."""

from __future__ import annotations

import pytest
from benchmarks import exact
from benchmarks.exact import HEADER, Family

FLAT = Family("sums", (4,), exact.sums(1))


def test_a_row_with_enumeration() -> None:
    row = exact.measure(FLAT, 4, 0, 60.0)
    assert row[:4] == ["sums", "4", "0", "NO_SOLUTION"]
    assert len(row) == len(HEADER)
    assert float(row[-1]) > 0.0


def test_a_row_in_space() -> None:
    row = exact.measure(Family("space", (3,), exact.rough(1, 6, 1.0, 3)), 3, 0, 60.0)
    assert row[3] == "SOLVED"
    assert row[-2:] == ["", ""]


def test_the_same_sums_in_space() -> None:
    flat, deep = exact.sums(0)(4, 1), exact.in_space(exact.sums(0))(4, 1)
    assert (flat.d, deep.d) == (2, 3)
    assert not deep.H.toarray().reshape(4, 3, -1)[:, 2].any()


def test_main_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert exact.main(["--seeds", "1", "--largest", "4"]) == 0
    assert "| subset sums in space, odd |        4 |" in capsys.readouterr().out
