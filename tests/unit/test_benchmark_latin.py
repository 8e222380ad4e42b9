"""The benchmark of the LATIN method runs, and counts what it says."""

from __future__ import annotations

from benchmarks import latin


def test_a_row() -> None:
    cells = dict(zip(latin.HEADER, latin.row(8, repeats=1), strict=True))
    assert cells["substructures"] == "4"
    assert cells["iterations"] == "15"
    assert float(cells["ms per iteration"]) > 0.0
