"""Structure of packings: contacts per grain, directions of contacts.

Contacts count where they carry (:attr:`clapas.analysis.instant.Instant.carrying`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from clapas.analysis.instant import Instant
from clapas.errors import SettingsError
from clapas.typing import Array, Indices


@dataclass(frozen=True)
class Coordination:
    """Contacts per grain.

    Parameters
    ----------
    per_grain : array (N,)
        Neighbours that exert a force on each body.
    mean : float
        Mean over the movable bodies.
    rattlers : int
        Movable bodies with fewer than d neighbours, too few for equilibrium.
    mean_of_backbone : float
        Mean over the others.
    """

    per_grain: Indices
    mean: float
    rattlers: int
    mean_of_backbone: float


def coordination(instant: Instant) -> Coordination:
    """Count the neighbours of each body; several contact points with the same neighbour count once.

    In a periodic cell two images of a body are two neighbours.
    """
    pairs = np.column_stack((instant.a, instant.b, instant.shift))[instant.carrying]
    touching = np.unique(pairs, axis=0)[:, :2].astype(np.int64)
    counts = np.bincount(touching.ravel(), minlength=instant.n_bodies)
    of_grains = counts[instant.movable]
    backbone = of_grains[of_grains >= instant.d]
    return Coordination(
        counts,
        float(of_grains.mean()) if len(of_grains) else 0.0,
        len(of_grains) - len(backbone),
        float(backbone.mean()) if len(backbone) else 0.0,
    )


def fabric(instant: Instant, weights: Array | None = None) -> Array:
    """Fabric tensor: the mean of n ⊗ n over the contacts that carry a force, (d, d). Its trace is 1.

    Parameters
    ----------
    instant : Instant
        Bodies and forces.
    weights : array (n,), optional
        Weights of the contacts, such as normal forces; 1 by default.
    """
    normal = instant.normal[instant.carrying]
    weight = np.ones(len(normal)) if weights is None else weights[instant.carrying]
    total = float(weight.sum())
    if total == 0.0:
        return np.zeros((instant.d, instant.d))
    return np.asarray(np.einsum("n,ni,nj->ij", weight, normal, normal) / total)


def anisotropy(tensor: Array) -> float:
    """Anisotropy of the distribution of directions: 0 when uniform.

    The density of directions with this fabric F is, to second order, uniform × (1 + n·A n) with
    A = d (d + 2)/2 (F − I/d). Returned is the a of 1 + a cos 2(θ − θ₀) in 2-D, and that of
    1 + a (3 cos²θ − 1) in 3-D when the density is symmetric about an axis: √(A:A/2) and √(A:A/6).
    """
    d = len(tensor)
    A = d * (d + 2) / 2 * (tensor - np.trace(tensor) / d * np.eye(d))
    return math.sqrt(float(np.sum(A * A)) / (2 if d == 2 else 6))


def directions(instant: Instant, bins: int = 36) -> tuple[Array, Array]:
    """Shares of the contacts by the angle of their normal: in the plane x, z (x, y in 2-D), over [0, π[.

    Returns
    -------
    edges (bins + 1,), density (bins,)
        Angles (rad), and share per radian.
    """
    if bins < 1:
        raise SettingsError(f"bins must be at least 1, got {bins}")
    normal = instant.normal[instant.carrying]
    angle = np.arctan2(normal[:, -1], normal[:, 0]) % math.pi
    counts, edges = np.histogram(angle, bins=bins, range=(0.0, math.pi))
    return edges, counts / max(1, counts.sum()) / (math.pi / bins)


def draw_directions(axes: Any, instant: Instant, bins: int = 36) -> None:
    """Draw the rose of contact directions; ``axes`` must be polar."""
    edges, density = directions(instant, bins)
    angles = np.concatenate((edges[:-1], edges[:-1] + math.pi))
    axes.bar(angles, np.tile(density, 2), width=edges[1] - edges[0], align="edge", edgecolor="k", lw=0.3)
    axes.set(yticks=[], title="directions of contacts")


def draw_coordination(axes: Any, found: Coordination, instant: Instant) -> None:
    """Draw the histogram of the numbers of neighbours."""
    counts = np.bincount(found.per_grain[instant.movable])
    axes.bar(np.arange(len(counts)), counts, edgecolor="k")
    axes.axvline(found.mean, color="tab:red", label=f"mean {found.mean:.2f}")
    axes.set(xlabel="neighbours", ylabel="grains")
    axes.legend()
