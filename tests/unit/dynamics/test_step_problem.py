"""The rows of a step's problem that carry."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from clapas.compiled.sharing import run_on_threads
from clapas.compiled.threads import Worker
from clapas.dynamics.step_problem import find_carrying
from clapas.typing import Array, Indices, Mask

N = 4000


def find(apart: Mask, r: Array, counts: Indices, rows: Indices, worker: Worker) -> None:
    find_carrying(worker, apart, r, counts, rows)


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_rows_that_carry_are_found_in_order_by_any_number_of_threads(n_threads: int) -> None:
    """Contacts at the end of a thread's share that carry nothing leave the rows of the next thread alone."""
    rng = np.random.default_rng(4)
    for _ in range(300):
        apart, r = rng.random(N) < 0.7, np.zeros((N, 3))
        r[rng.integers(0, N, 300), rng.integers(0, 3, 300)] = 1.0
        rows, counts = np.empty(N, dtype=np.int64), np.zeros(n_threads, dtype=np.int64)
        run_on_threads(n_threads, partial(find, apart, r, counts, rows))
        np.testing.assert_array_equal(rows[: counts.sum()], np.flatnonzero(~apart | r.any(axis=1)))
