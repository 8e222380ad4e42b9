"""Plane stress of any material: the strain through the thickness that leaves σ_zz = 0.

A three-dimensional material law is evaluated with a trial strain through the thickness; a
Newton method per Gauss point, all points at once, finds the one without stress. For the tangents of materials
with a convex potential σ_zz grows with that strain, so a bracket safeguards the search where the stress has
kinks. The in-plane tangent is the full one with the thickness condensed out,

    D_ps = D − D_·z D_z· / D_zz.

References
----------
De Souza Neto, Perić, Owen 2008, 9.2.2 (nested iterations for plane stress).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clapas.typing import Array

ROUNDS = 60
SETTLED = 1e-14  # of the stiffness through the thickness times the largest strain, or one per cent of it

Respond = Callable[[Array], tuple[Array, Array]]


def without_normal_stress(respond: Respond, measure: Array, place: int, guess: Array, least: float) -> Array:
    """The measures (n, s) with the component ``place`` such that its stress vanishes.

    Parameters
    ----------
    respond : callable
        Stress (n, s) and tangent (n, s, s) of measures (n, s).
    measure : array (n, s)
        The in-plane components.
    place : int
        The component through the thickness.
    guess : array (n,)
        Initial value of the component.
    least : float
        Lower bound of the component: −1 for stretches less one, −∞ for strains.
    """
    full = measure.copy()
    full[:, place] = np.maximum(guess, 0.5 * least if np.isfinite(least) else guess)
    low, high = np.full(len(full), least), np.full(len(full), np.inf)
    for _ in range(ROUNDS):
        stress, D = respond(full)
        if not np.isfinite(stress).all():
            break
        out, slope, current = stress[:, place], D[:, place, place], full[:, place].copy()
        strain = np.maximum(np.abs(full).max(axis=1), 1e-2)
        active = np.abs(out) > SETTLED * slope * strain
        if not active.any():
            break
        low, high = np.where(out < 0.0, current, low), np.where(out > 0.0, current, high)
        new = current - out / slope
        # Within the bracket; where one end is infinite, halfway to the other.
        bounded_low, bounded_high = (
            np.where(np.isfinite(low), low, current),
            np.where(np.isfinite(high), high, current),
        )
        new = np.where((new <= low) | (new >= high), 0.5 * (bounded_low + bounded_high), new)
        full[:, place] = np.where(active & (new != current), new, current)
        if np.array_equal(full[:, place], current):
            break
    return full


def condensed(stress: Array, D: Array, place: int) -> tuple[Array, Array]:
    """Stress and tangent of plane stress: the thickness condensed out, its row and column zero."""
    D = D - D[:, :, [place]] * D[:, [place], :] / D[:, place, place][:, None, None]
    D[:, place, :] = 0.0
    D[:, :, place] = 0.0
    stress = stress.copy()
    stress[:, place] = 0.0
    return stress, D
