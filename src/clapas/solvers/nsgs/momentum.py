"""Momentum between sweeps: repeat most of the last change before the next sweep.

    r ← r + β_j (r − r_before),    β_j = min(β, j/(j + 3)) after the j-th sweep.

Sweeps carry weight and shocks through a packing of grains a layer at a time, always changing impulses in the
same direction; with momentum the steps grow. Velocities depend linearly on impulses and are extrapolated
with them, so nothing is recomputed. Impulses that leave the cone are brought back by the next sweep, and only
impulses that follow a sweep are returned.

Nesterov's β tends to 1, for projected gradient steps. Sweeps in one direction are not gradient steps: beyond
0.9 they oscillate, and 0.85 is what flowing heaps of grains bear. β is reduced where residuals grow
nevertheless, or do not fall.

On problems of a growing heap (6 700 contacts, residual 1e-3) plain sweeps take 350 to 550, Anderson's
extrapolation 140 to 240, momentum 70 to 110, and it costs a seventh of a sweep where Anderson's costs a half.

Reference: Nesterov 1983; O'Donoghue, Candès 2015 (restarts).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clapas.compiled import inlined, kernel
from clapas.compiled.threads import Worker, chunk, wait
from clapas.typing import Array

SHARE = 0.85  # β
# Times the lowest residual so far: below is progress, above means that momentum is too large.
FALLEN, GROWN = 0.9, 1.25
# Sweeps without progress that are tolerated: at least IDLE, or one in SLOW of the sweeps before.
IDLE, SLOW = 12, 4


class Momentum(NamedTuple):
    """Factors and previous iterate of the extrapolation between sweeps.

    Parameters
    ----------
    shares : array (count,)
        β of each sweep to come; none at all without momentum.
    r, y : arrays
        Impulses and velocities before the last sweep, flat.
    """

    shares: Array
    r: Array
    y: Array

    def correct(self, carried: Array, afresh: Array) -> None:
        """Remove rounding drift: shift the previous velocities by what the fresh computation changed."""
        if len(self.y):
            self.y[:] += (afresh - carried).ravel()

    @staticmethod
    def none(precision: Any) -> Momentum:
        """No momentum."""
        return Momentum(*(np.empty(0, precision) for _ in range(3)))


class Leader:
    """Control of β: reduced when residuals grow or stop falling."""

    def __init__(self) -> None:
        self._share, self._lowest = SHARE, np.inf
        self._led = self._fell = 0  # sweeps with this β, and their number when the residual last fell

    def restart(self) -> None:
        """Forget the sweeps before: the next one counts as the first."""
        self._led = self._fell = 0

    def ahead(self, count: int, before: Momentum, r: Array, y: Array) -> Momentum:
        """The momentum of the next ``count`` sweeps on r and y, from that of the sweeps before."""
        if self._led == 0:
            before = Momentum(before.shares, r.flatten(), y.flatten())
        j = np.arange(self._led, self._led + count)
        self._led += count
        return before._replace(shares=np.minimum(self._share, j / (j + 3.0)).astype(r.dtype))

    def watch(self, residual: float) -> None:
        """Record a residual; reduce β if it grew or has long not fallen."""
        if residual < FALLEN * self._lowest:
            self._lowest, self._fell = residual, self._led
        elif residual > GROWN * self._lowest or self._led > self._fell + max(IDLE, self._fell // SLOW):
            self._share, self._lowest = max(0.0, 2.0 * self._share - 1.0), residual
            self.restart()


@inlined
def lead_all_on(worker: Worker, share: float, momentum: Momentum, r: Array, y: Array) -> None:
    """Extrapolate impulses and velocities before the next sweep, on all workers; flat arrays."""
    first, last = chunk(worker, len(r))
    lead_on(share, momentum.r[first:last], r[first:last])
    first, last = chunk(worker, len(y))
    lead_on(share, momentum.y[first:last], y[first:last])
    wait(worker)


@inlined
def lead_on(share: float, before: Array, now: Array) -> None:
    """Replace now by now + β (now − before), and before by the old value of now."""
    for k in range(len(now)):  # over whole views, which the compiler turns into vector instructions
        value = now[k]
        now[k] = value + share * (value - before[k])
        before[k] = value


@kernel
def lead(share: float, momentum: Momentum, r: Array, y: Array) -> None:
    """:func:`lead_all_on` on one thread."""
    lead_on(share, momentum.r, r)
    lead_on(share, momentum.y, y)
