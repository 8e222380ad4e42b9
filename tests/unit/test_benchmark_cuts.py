"""The benchmark of separation: warm and cold answers agree, and the table is printed."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import cuts

from clapas.cuts.instances import dense_program
from clapas.studies.cuts import split_of


def test_warm_and_cold_agree() -> None:
    disjunction = split_of(dense_program(12, 0))
    asked = cuts.questions(disjunction)
    warm, cold = (cuts.put(disjunction, asked, each) for each in (True, False))
    np.testing.assert_allclose(warm[2], cold[2], rtol=1e-6)
    assert warm[1] < cold[1]


def test_main_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert cuts.main(["--sizes", "10", "--repeats", "1"]) == 0
    printed = capsys.readouterr().out
    assert "warm ms/call" in printed
    assert "DIFFER" not in printed
