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


def test_time_steps_solve_the_contact_problem_of_the_cables() -> None:
    cells = dict(zip(trusses.STEP_HEADER, trusses.step_row(2, steps=20), strict=True))
    assert cells["cables"] == "48"
    assert float(cells["residual"]) <= 1e-8
    assert float(cells["ms, best"]) > 0.0
