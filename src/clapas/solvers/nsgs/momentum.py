"""Momentum between sweeps: most of what the last one changed is done again before the next.

    r ← r + β_j (r − r_before),    β_j = min(β, j/(j + 3)) after the j-th sweep.

Weight and blows travel through a packing of grains a layer at a time, by sweeps that all push the same way;
with momentum they travel in steps that grow. Velocities depend on impulses linearly and are led on alike, so
nothing is computed anew. What leaves the cone is brought back by the sweep that follows, and only what
follows a sweep is shown.

Nesterov's β tends to 1, for projections along gradients. Sweeps in one direction are no gradients: beyond 0.9
they swing, and a β of 0.85 is what flowing heaps of grains bear. Where residuals grow nevertheless, or do not
fall, it becomes less.

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
FALLEN, GROWN = (
    0.9,
    1.25,
)  # times the lowest residual seen: progress, and the sign of a momentum that misleads
IDLE, SLOW = 12, 4  # sweeps without progress that are no sign, and as what part of those before they are none


class Momentum(NamedTuple):
    """What sweeps are led on by.

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
        """Velocities have been computed afresh: by how much they had drifted is no motion to go on with."""
        if len(self.y):
            self.y[:] += (afresh - carried).ravel()

    @staticmethod
    def none(precision: Any) -> Momentum:
        """No momentum."""
        return Momentum(*(np.empty(0, precision) for _ in range(3)))


class Leader:
    """Says how much momentum sweeps get: less from where residuals grow, or have long not fallen."""

    def __init__(self) -> None:
        self._share, self._lowest = SHARE, np.inf
        self._led = self._fell = 0  # sweeps with this β, and those after which the residual last fell

    def restart(self) -> None:
        """Forget the sweeps before: the next one is a first."""
        self._led = self._fell = 0

    def ahead(self, count: int, before: Momentum, r: Array, y: Array) -> Momentum:
        """The momentum of the next ``count`` sweeps on r and y, from that of the sweeps before."""
        if self._led == 0:
            before = Momentum(before.shares, r.flatten(), y.flatten())
        j = np.arange(self._led, self._led + count)
        self._led += count
        return before._replace(shares=np.minimum(self._share, j / (j + 3.0)).astype(r.dtype))

    def watch(self, residual: float) -> None:
        """Take note of a residual."""
        if residual < FALLEN * self._lowest:
            self._lowest, self._fell = residual, self._led
        elif residual > GROWN * self._lowest or self._led > self._fell + max(IDLE, self._fell // SLOW):
            self._share, self._lowest = max(0.0, 2.0 * self._share - 1.0), residual
            self.restart()


@inlined
def lead_all_on(worker: Worker, share: float, momentum: Momentum, r: Array, y: Array) -> None:
    """Lead impulses and velocities on before the next sweep, all workers together; flat arrays."""
    first, last = chunk(worker, len(r))
    lead_on(share, momentum.r[first:last], r[first:last])
    first, last = chunk(worker, len(y))
    lead_on(share, momentum.y[first:last], y[first:last])
    wait(worker)


@inlined
def lead_on(share: float, before: Array, now: Array) -> None:
    """Now + β (now − before); what is now becomes what was before."""
    for k in range(len(now)):  # over whole views, which the compiler turns into vector instructions
        value = now[k]
        now[k] = value + share * (value - before[k])
        before[k] = value


@kernel
def lead(share: float, momentum: Momentum, r: Array, y: Array) -> None:
    """:func:`lead_all_on` on one thread."""
    lead_on(share, momentum.r, r)
    lead_on(share, momentum.y, y)
