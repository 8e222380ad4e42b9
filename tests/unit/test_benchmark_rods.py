"""The benchmark of rods runs, and counts what it says."""

from __future__ import annotations

from benchmarks import rods


def test_rows() -> None:
    cells = [dict(zip(rods.HEADER, row, strict=True)) for row in rods.rows(4, settle=6, steps=2)]
    assert [row["tol"] for row in cells] == ["0.0001", "1e-08"]
    for row in cells:
        assert float(row["ms per step"]) > 0.0
        assert int(row["contacts"]) > 0
        assert float(row["residual"]) <= float(row["tol"])
