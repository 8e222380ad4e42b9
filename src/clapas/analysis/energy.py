"""Energy balance of a run.

In Moreau's midpoint scheme the energy of a step changes by the work of its contacts and by the external work:

    E = kinetic + potential,     E(t) = E(0) + births + given + work,     dissipated = −work,

where births add the energy of new bodies, and ``given`` is the work of moving walls, guides and loads. This
holds to rounding for rigid bodies, whatever their shapes: the gyroscopic term does no work, in flight or in
contact. ``error`` is the gain or loss of other schemes (θ ≠ ½, ``projection``, no inertia).
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
        Energy of the bodies born since the start.
    given : array
        Work of moving walls, guides and loads since the start.
    dissipated : array
        Lost in contacts, and in the deposition of grains, since the start.
    error : array
        Defect of the balance, E − E(0) − births − given − work.
    """

    time: Array
    kinetic: Array
    potential: Array
    births: Array
    given: Array
    dissipated: Array
    error: Array


def energy_balance(recording: Recording) -> EnergyBalance:
    """Energies of all frames, and the defect of their balance."""
    kinetic, potential, work, given = (
        np.asarray(recording.column(name)) for name in ("kinetic", "potential", "work", "given")
    )
    alive = np.asarray(recording.column("alive"))
    model = recording.model
    movable, at_birth = model.movable, np.zeros(model.n_bodies)
    at_birth[movable] = 0.5 * np.sum(model.masses[movable] * model.velocity[movable] ** 2, axis=1)
    at_birth[movable] -= model.mass[movable] * (model.position[movable] @ model.gravity)
    total = np.concatenate(([0.0], np.cumsum(at_birth)))[alive]
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
