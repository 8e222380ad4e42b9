"""The length of vectors whose squares are not doubles."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clapas.linalg.norms import norm


@given(st.lists(st.floats(-1e300, 1e300), max_size=6))
def test_agrees_with_hypot(x: list[float]) -> None:
    assert norm(x) == pytest.approx(math.hypot(*x), rel=1e-12, abs=1e-320)


@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-200, 1.0, 1e200, 1e308])
def test_every_size(size: float) -> None:
    assert norm([size, 0.0]) == pytest.approx(size, rel=1e-12)
    assert norm(np.zeros((2, 0))) == 0.0


def test_not_a_number_is_not_hidden() -> None:
    assert math.isnan(norm([1.0, np.nan]))
    assert norm([1.0, -np.inf]) == math.inf
