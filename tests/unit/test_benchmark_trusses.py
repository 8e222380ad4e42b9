"""The benchmark of trusses runs, and counts what it says."""

from __future__ import annotations

import pytest
from benchmarks import trusses


@pytest.mark.parametrize("model", ["small", "large"])
def test_a_row(model: str) -> None:
    cells = dict(zip(trusses.HEADER, trusses.row(4, model, repeats=1), strict=True))
    assert cells["cables"] == "192"
    assert float(cells["residual"]) <= 1e-10
    assert float(cells["seconds"]) > 0.0
