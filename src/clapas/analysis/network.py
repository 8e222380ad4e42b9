"""The force network: strong contacts and force chains.

References: Radjai et al. 1998 (strong contacts: those above the mean force); Peters et al. 2005 (chains).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from clapas.analysis.instant import Instant
from clapas.analysis.stress import grain_stresses, principal
from clapas.errors import SettingsError
from clapas.typing import Array, Indices, Mask


@dataclass(frozen=True)
class Chains:
    """Force chains: grains that carry most of the load.

    Parameters
    ----------
    label : array (N,)
        Number of the chain of each body, −1 for those in none.
    contacts : array (n,) of bool
        Contacts inside chains.
    lengths : array (chains,)
        Grains of each chain.
    """

    label: Indices
    contacts: Mask
    lengths: Indices


def strong(instant: Instant) -> Mask:
    """Contacts whose normal force is above the mean of those that carry, (n,)."""
    force = instant.normal_force
    mean = float(force[instant.carrying].mean()) if instant.carrying.any() else 0.0
    return np.asarray(instant.carrying & (force > mean))


def chains(instant: Instant, angle: float = math.pi / 4, shortest: int = 3) -> Chains:
    """Chains: grains pressed more than the mean, each in line with the next.

    A contact belongs to a chain when both grains have a largest principal stress above the mean and its
    branch is within ``angle`` of the direction of that stress in both.

    Parameters
    ----------
    instant : Instant
        Bodies and forces.
    angle : float
        Largest turn from grain to grain (rad).
    shortest : int
        Grains of a chain at least.
    """
    if not 0 < angle <= math.pi / 2 or shortest < 2:
        raise SettingsError(f"angle must be in ]0, π/2] and shortest ≥ 2, got {angle} and {shortest}")
    values, directions = principal(grain_stresses(instant))
    largest, axis = values[:, 0], directions[:, :, 0]
    loaded = instant.movable & (largest > 0.0)
    pressed = loaded & (largest > (largest[loaded].mean() if loaded.any() else 0.0))
    a, b = instant.a, instant.b
    arm_a, arm_b = instant.arms
    branch = arm_a - arm_b
    length = np.linalg.norm(branch, axis=1)
    branch = branch / np.where(length > 0.0, length, 1.0)[:, None]
    in_line = np.ones(instant.n_contacts, dtype=bool)
    for body in (a, b):
        in_line &= np.abs(np.sum(axis[body] * branch, axis=1)) >= math.cos(angle)
    return _linked(instant, instant.carrying & pressed[a] & pressed[b] & in_line, shortest)


def _linked(instant: Instant, links: Mask, shortest: int) -> Chains:
    n = instant.n_bodies
    ends = instant.a[links], instant.b[links]
    graph = sparse.coo_array((np.ones(len(ends[0])), ends), shape=(n, n))
    _, label = connected_components(graph, directed=False)
    sizes = np.bincount(label, minlength=1)
    long = sizes >= shortest
    number = np.where(long, np.cumsum(long) - 1, -1)
    label = number[label].astype(np.int64)
    return Chains(label, np.asarray(links & (label[instant.a] >= 0)), sizes[long])


def draw_network(axes: Any, instant: Instant, scale: float | None = None, chosen: Mask | None = None) -> None:
    """Draw the branches, as thick as the normal forces they carry; strong ones dark.

    Parameters
    ----------
    axes : matplotlib axes
        Axes to draw on. A scene in 3-D is projected along y.
    instant : Instant
        Bodies and forces.
    scale : float, optional
        Points of line width per newton; by default the mean force is 1 point thick.
    chosen : array (n,) of bool, optional
        Contacts to draw; all by default.
    """
    from matplotlib.collections import LineCollection

    shown = instant.carrying if chosen is None else chosen & instant.carrying
    force = instant.normal_force[shown]
    start, end = (seen(ends[shown]) for ends in instant.branches)
    if scale is None:
        scale = 1.0 / float(force.mean()) if len(force) else 1.0
    colours = np.where(strong(instant)[shown], "k", "tab:blue")
    lines = LineCollection(
        list(np.stack((start, end), axis=1)), linewidths=scale * force, colors=colours.tolist()
    )
    axes.add_collection(lines)
    axes.autoscale_view()
    axes.set(xlabel="x (m)", ylabel="z (m)" if instant.d == 3 else "y (m)", aspect="equal")


def draw_chains(axes: Any, instant: Instant, found: Chains) -> None:
    """Draw the contacts inside chains, as thick as the forces they carry."""
    draw_network(axes, instant, chosen=found.contacts)
    axes.set_title(f"{len(found.lengths)} chains")


def seen(points: Array) -> Array:
    """Projection of points for drawing: x and z in 3-D, x and y in 2-D."""
    return points[:, [0, -1]]
