"""Cost of a step of a growing heap: sweeps and contacts against grains.

Counted, not timed: visits (sweeps times contacts) do not depend on the load of the machine.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clapas.io.recording import Recording
from clapas.typing import Array

FEWEST = 100  # grains from which growth is fitted


class Cost(NamedTuple):
    """Kept steps: grains deposited, contacts, sweeps."""

    grains: Array
    contacts: Array
    sweeps: Array

    @property
    def visits(self) -> Array:
        """Contacts visited in a step."""
        return np.asarray(self.contacts * self.sweeps)

    def power(self, quantity: Array) -> float:
        """Exponent p of a quantity that grows as grains^p; NaN for a small heap."""
        known = (self.grains >= FEWEST) & (quantity > 0)
        if known.sum() < 3:
            return float("nan")
        return float(np.polyfit(np.log(self.grains[known]), np.log(quantity[known]), 1)[0])


def cost(recording: Recording, until: float) -> Cost:
    """Cost of the steps kept during the deposition."""
    laying = recording.times <= until
    fixed = int((~recording.model.movable).sum())
    contacts = np.diff(recording.column("contact_end"), prepend=0)
    columns = recording.column("alive") - fixed, contacts, recording.column("iterations")
    return Cost(*(np.asarray(column, dtype=float)[laying] for column in columns))


def draw_cost(axes: Any, found: Cost) -> None:
    """Contacts and sweeps of each kept step against grains."""
    axes.loglog(found.grains, found.contacts, ".", color="0.6", ms=3, label="contacts")
    axes.loglog(found.grains, np.maximum(found.sweeps, 1), ".", color="tab:blue", ms=3, label="sweeps")
    axes.set(xlabel="grains", ylabel="in a step")
    axes.legend()
