"""Notice when Newton's method goes round in circles.

On a function that is linear by regions the next iterate depends on the region alone: coming back to a
region left before means that the same regions will follow for ever, a cycle. It is the only way to diverge
(Alart 1997, section 4). On functions that are not quite linear by regions, coming back without having come
nearer is taken as the same sign.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from clapas.solvers.newton.maps import Regions

PROGRESS = 0.99  # a merit above this share of the one at the visit before is no progress


@dataclass
class CycleWatch:
    """The regions visited so far and how good the iterate was in each.

    Examples
    --------
    >>> import numpy as np
    >>> watch = CycleWatch()
    >>> [watch.order(np.array([k], dtype=np.int8), merit=1.0) for k in (2, 3, 1, 2)]
    [None, None, None, 3]
    """

    _visits: int = 0
    _seen: dict[bytes, tuple[int, float]] = field(default_factory=dict)

    def order(self, regions: Regions, merit: float) -> int | None:
        """Number of iterates in the cycle that closes with this visit, if one does."""
        self._visits += 1
        key = regions.tobytes()
        before = self._seen.get(key)
        self._seen[key] = self._visits, merit
        if before is None:
            return None
        visit, earlier = before
        order = self._visits - visit
        return order if order > 1 and merit >= PROGRESS * earlier else None

    def forget(self) -> None:
        """Start anew, after something changed."""
        self._seen.clear()
