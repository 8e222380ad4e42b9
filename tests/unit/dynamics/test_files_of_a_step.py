"""A step reads on few pages."""

from __future__ import annotations

import pytest
from benchmarks.trace_step import trace


@pytest.mark.parametrize(("after", "most"), [(4, 12), (1, 12), (0, 29)], ids=["later", "second", "first"])
def test_a_step_of_five_boxes_runs_in_few_files(after: int, most: int) -> None:
    """Settled by the impulses carried over it is Moreau's method and detection; at first the solver joins."""
    found = trace("boxes", after=after, patience=0)
    assert found.contacts == 20
    assert found.n_files <= most
