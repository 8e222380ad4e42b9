"""The benchmark of rods runs, and counts what it says."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import cosserat, rods


def test_rows() -> None:
    cells = [dict(zip(rods.HEADER, row, strict=True)) for row in rods.rows(4, settle=6, steps=2)]
    assert [row["tol"] for row in cells] == ["0.0001", "1e-08"]
    for row in cells:
        assert float(row["ms per step"]) > 0.0
        assert int(row["contacts"]) > 0
        assert float(row["residual"]) <= float(row["tol"])


def test_a_linear_cost_has_the_exponent_one() -> None:
    table = [[f"{n}", "0.0001", "9", f"{2 * n}", f"{2 * n}", "9", "1", "-", "0"] for n in (10, 20, 80)]
    assert rods.exponent(table, 1e-4) == pytest.approx(1.0)


def test_free_rods_at_the_error_allowed() -> None:
    ours = dict(zip(cosserat.HEADER, cosserat.rows(2, timed=2e-3)[0], strict=True))
    assert ours["code"] == "clapas"
    assert float(ours["error (%)"]) <= 100 * cosserat.ENOUGH


def test_both_codes_agree_where_both_are_installed() -> None:
    pytest.importorskip("elastica")
    exact, _ = cosserat.ours(1, 12, 5e-4, 0.01)
    tip, _, _ = cosserat.theirs(1, 20, 0.1, 0.01)
    assert np.linalg.norm(tip - exact) < 1e-4
