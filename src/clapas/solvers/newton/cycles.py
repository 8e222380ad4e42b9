"""Detection of cycles of Newton's method.

On a piecewise linear function the next iterate depends on the region alone: returning to a
previous region means that the same regions will follow forever, a cycle. Divergence is possible only by
cycles (Alart 1997, section 4). On functions that are not quite piecewise linear, a return without
progress is taken as the same sign.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from clapas.solvers.newton.maps import Regions

PROGRESS = 0.99  # a merit above this fraction of that of the previous visit is no progress


@dataclass
class CycleWatch:
    """The regions visited so far with the merit of the iterate in each.

    Examples
    --------
    >>> import numpy as np
    >>> watch = CycleWatch()
    >>> [watch.order(np.array([k], dtype=np.int8), merit=1.0) for k in (2, 3, 1, 2)]
    [None, None, None, 3]
    """

    _visits: int = 0
    _visited: dict[bytes, tuple[int, float]] = field(default_factory=dict)

    def order(self, regions: Regions, merit: float) -> int | None:
        """Number of iterates in the cycle that closes with this visit, if one does."""
        self._visits += 1
        key = regions.tobytes()
        previous = self._visited.get(key)
        self._visited[key] = self._visits, merit
        if previous is None:
            return None
        visit, earlier = previous
        order = self._visits - visit
        return order if order > 1 and merit >= PROGRESS * earlier else None

    def forget(self) -> None:
        """Clear the memory, after a change of the equations."""
        self._visited.clear()
