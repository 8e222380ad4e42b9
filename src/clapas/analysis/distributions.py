"""How forces, slips and friction are spread over the contacts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clapas.analysis.instant import Instant
from clapas.errors import SettingsError
from clapas.typing import Array

SETTLED = 1e-6  # share of the mean force below which friction says nothing


@dataclass(frozen=True)
class Distribution:
    """A histogram.

    Parameters
    ----------
    edges : array (bins + 1,)
        Edges of the bins.
    density : array (bins,)
        Share per unit: the bins add up to 1.
    mean : float
        Mean of the values.
    """

    edges: Array
    density: Array
    mean: float


def force_distribution(instant: Instant, bins: int = 30) -> Distribution:
    """Normal forces divided by their mean, over the contacts that carry (``mean`` is in newtons)."""
    force = instant.normal_force[instant.carrying]
    mean = float(force.mean()) if len(force) else 0.0
    made = _histogram(force / mean if mean > 0.0 else force, bins)
    return Distribution(made.edges, made.density, mean)


def mobilised_friction(instant: Instant) -> Array:
    """Share |f_T| / (mu f_N) of the possible friction that each contact uses, (n,).

    1 where it slides; NaN where there is no friction, or hardly a force.
    """
    normal, possible = instant.normal_force, instant.mu * instant.normal_force
    least = SETTLED * float(normal[instant.carrying].mean()) if instant.carrying.any() else 0.0
    known = (possible > 0.0) & (normal > least)
    share = np.full(instant.n_contacts, np.nan)
    share[known] = instant.friction_force[known] / possible[known]
    return share


def friction_distribution(instant: Instant, bins: int = 20) -> Distribution:
    """Shares of friction used, over the contacts where they are known."""
    share = mobilised_friction(instant)
    return _histogram(share[~np.isnan(share)], bins)


def slip_velocities(instant: Instant) -> Array:
    """Velocity of b past a along each contact, (n, d) (m/s)."""
    moving = []
    for body, shift in ((instant.a, 0.0), (instant.b, instant.shift)):
        arm = instant.point - instant.centre[body] - shift
        moving.append(instant.velocity[body] + _turning(instant.spin[body], arm))
    relative = moving[1] - moving[0]
    along = np.sum(relative * instant.normal, axis=1, keepdims=True)
    return np.asarray(relative - along * instant.normal)


def slip_distribution(instant: Instant, bins: int = 30) -> Distribution:
    """Speeds of slip (m/s), over the contacts that carry."""
    return _histogram(np.linalg.norm(slip_velocities(instant), axis=1)[instant.carrying], bins)


def draw_distribution(axes: Any, found: Distribution, label: str, logarithmic: bool = False) -> None:
    """Draw a histogram; ``label`` names the quantity."""
    axes.stairs(found.density, found.edges, fill=True, alpha=0.6)
    axes.set(xlabel=label, ylabel="density", yscale="log" if logarithmic else "linear")


def _turning(spin: Array, arm: Array) -> Array:
    """Velocity by rotation, spin × arm."""
    if arm.shape[1] == 3:
        return np.asarray(np.cross(spin, arm))
    return np.column_stack((-spin[:, 0] * arm[:, 1], spin[:, 0] * arm[:, 0]))


def _histogram(values: Array, bins: int) -> Distribution:
    if bins < 1:
        raise SettingsError(f"bins must be at least 1, got {bins}")
    top = float(values.max(initial=0.0)) or 1.0
    counts, edges = np.histogram(values, bins=bins, range=(0.0, top))
    density = counts / max(1, counts.sum()) / np.diff(edges)
    return Distribution(edges, density, float(values.mean()) if len(values) else 0.0)
