"""The order of visits of a sequential sweep, as index arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clapas.solvers.nsgs.orders import Given, Shuffled


class Visits:
    """Hands out the order of the next sweep."""

    def __init__(self, n: int, order: Given | Shuffled) -> None:
        # Unsigned indices spare the kernels a test for negative ones.
        self._order = np.arange(n, dtype=np.uint32)
        self._random = np.random.default_rng(order.seed) if isinstance(order, Shuffled) else None
        if isinstance(order, Shuffled) and order.once:
            np.random.default_rng(order.seed).shuffle(self._order)
            self._random = None

    @property
    def are_alike(self) -> bool:
        """Whether every sweep has the same order."""
        return self._random is None

    def next(self) -> npt.NDArray[np.uint32]:
        """Indices of the contacts in the order of the next sweep."""
        if self._random is not None:
            self._random.shuffle(self._order)
        return self._order
