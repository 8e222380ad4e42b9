"""Distributions of forces, slips and friction over the contacts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clapas.analysis.instant import Instant
from clapas.errors import SettingsError
from clapas.typing import Array

SETTLED = 1e-6  # share of the mean force below which mobilised friction is undefined


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
    """Normal forces divided by their mean, over the contacts that carry (``mean`` is in newtons).

    Where cohesion makes the mean negative or zero the forces are not divided.
    """
    force = instant.normal_force[instant.carrying]
    mean = float(force.mean()) if len(force) else 0.0
    histogram = _histogram(force / mean if mean > 0.0 else force, bins)
    return Distribution(histogram.edges, histogram.density, mean)


def mobilised_friction(instant: Instant) -> Array:
    """Mobilised friction of each contact, (n,): 1 where it slides.

    With f_1 and f_2 the friction along and across the grain of the contact, C its cohesion,

        share = √((f_1/mu)² + (f_2/mu_across)²) / (f_N + C),

    which is |f_T| / (mu f_N) for plain Coulomb friction. NaN where there is no friction, and where f_N + C is
    negligible: at contacts that do not carry, or pull with all their cohesion.
    """
    bearing, carrying = instant.normal_force + instant.cohesion, instant.carrying
    # Of both terms, since their sum is rounding where all contacts pull with all their cohesion.
    sizes = np.abs(instant.normal_force[carrying]) + instant.cohesion[carrying]
    least = SETTLED * float(sizes.mean()) if len(sizes) else 0.0
    rough = np.maximum(instant.mu, instant.mu_across) > 0.0
    defined = carrying & rough & (bearing > least)
    share = np.full(instant.n_contacts, np.nan)
    share[defined] = _friction_needed(instant)[defined] / bearing[defined]
    return share


def _friction_needed(instant: Instant) -> Array:
    """Least normal force (N), cohesion included, that allows the friction of each contact, (n,)."""
    tangential = instant.force - instant.normal_force[:, None] * instant.normal
    along = np.sum(tangential * instant.grain, axis=1)
    across = np.linalg.norm(tangential - along[:, None] * instant.grain, axis=1)
    # Without a grain all friction is in ``across``, and both coefficients are the same.
    parts = (along, instant.mu), (across, instant.mu_across)
    needed = [np.divide(f, mu, out=np.zeros_like(mu), where=mu > 0.0) for f, mu in parts]
    return np.asarray(np.hypot(*needed))


def friction_distribution(instant: Instant, bins: int = 20) -> Distribution:
    """Mobilised friction, over the contacts where it is defined."""
    share = mobilised_friction(instant)
    return _histogram(share[~np.isnan(share)], bins)


def slip_velocities(instant: Instant) -> Array:
    """Tangential velocity of b relative to a at each contact at the end of the step, (n, d) (m/s)."""
    velocity_a, velocity_b = (
        instant.velocity[body] + _turning(instant.spin[body], arm)
        for body, arm in zip((instant.a, instant.b), instant.arms, strict=True)
    )
    relative = velocity_b - velocity_a
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
    low, high = float(values.min(initial=0.0)), float(values.max(initial=0.0))  # below zero: cohesive pulls
    counts, edges = np.histogram(values, bins=bins, range=(low, high if high > low else low + 1.0))
    density = counts / max(1, counts.sum()) / np.diff(edges)
    return Distribution(edges, density, float(values.mean()) if len(values) else 0.0)
