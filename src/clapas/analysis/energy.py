"""Where the energy of a run went.

In Moreau's midpoint scheme the energy of a step changes by the work of its contacts and by the external work:

    E = kinetic + potential,     E(t) = E(0) + births + given + work,     dissipated = −work,

where bodies born on the way bring their own energy, and walls that move, guides and loads give theirs. This
holds to rounding for rigid bodies, whatever their shapes: the gyroscopic term does no work, in flight or in
contact. What ``error`` shows is what other schemes (θ ≠ ½, ``projection``, no inertia) gain or lose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clapas.typing import Array

if TYPE_CHECKING:
    from clapas.io.recording import Recording


@dataclass(frozen=True)
class EnergyBalance:
    """Energies of the frames of a recording (J), arrays (frames,).

    Parameters
    ----------
    time : array
        Times (s).
    kinetic, potential : array
        Of the movable bodies.
    births : array
        Brought by the bodies born since the start.
    given : array
        Put in by walls that move, guides and loads since the start.
    dissipated : array
        Lost in contacts, and in laying grains down, since the start.
    error : array
        What is missing from the balance, E − E(0) − births − given − work.
    """

    time: Array
    kinetic: Array
    potential: Array
    births: Array
    given: Array
    dissipated: Array
    error: Array


def energy_balance(recording: Recording) -> EnergyBalance:
    """Energies of all frames, and what the balance misses."""
    kinetic, potential, work, given = (
        np.asarray(recording.column(name)) for name in ("kinetic", "potential", "work", "given")
    )
    alive = np.asarray(recording.column("alive"))
    model = recording.model
    own, brought = model.movable, np.zeros(model.n_bodies)
    brought[own] = 0.5 * np.sum(model.masses[own] * model.velocity[own] ** 2, axis=1)
    brought[own] -= model.mass[own] * (model.position[own] @ model.gravity)
    total = np.concatenate(([0.0], np.cumsum(brought)))[alive]
    births = total - total[:1].sum()
    energy = kinetic + potential
    return EnergyBalance(
        np.asarray(recording.times),
        kinetic,
        potential,
        births,
        given,
        -work,
        energy - energy[:1].sum() - births - given - work,
    )


def draw_energy(axes: Any, balance: EnergyBalance) -> None:
    """Draw the energies against time."""
    for name in ("kinetic", "potential", "births", "given", "dissipated"):
        axes.plot(balance.time, getattr(balance, name), label=name)
    axes.plot(balance.time, balance.error, "k:", label="missing")
    axes.set(xlabel="time (s)", ylabel="energy (J)")
    axes.legend()
