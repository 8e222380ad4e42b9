"""Simplex prisms, and masts of prisms on top of each other.

A prism has n struts between two rings turned against each other. Equilibrium of the vertical forces and of
the moments about the axis fixes the turn: α = π/2 − π/n from a lower node to the upper one its cable leads
to, whatever the height and the radii (Connelly, Terrell 1995).
"""

from __future__ import annotations

import numpy as np

from clapas.bodies.trusses.generators.plane import BARS, CABLES
from clapas.bodies.trusses.materials import Group
from clapas.bodies.trusses.prestress import feasible_self_stress
from clapas.bodies.trusses.structure import Truss
from clapas.errors import ProblemError


def prism(n: int = 3, *, radius: float = 0.5, height: float = 1.0, tension: float = 1000.0) -> Truss:
    """A free-standing simplex prism: n struts, two rings of n cables, n cables between them.

    Parameters
    ----------
    n : int
        Struts, at least 3.
    radius, height : float
        Of the rings, and between them (m).
    tension : float
        Largest cable force of the self-stress (N).

    Examples
    --------
    >>> prism(3)
    Truss(prism of 3: 6 nodes, 3 bars, 9 cables, 18 free displacements, cases: none)
    """
    return mast_of_prisms(1, n, radius=radius, height=height, tension=tension).with_(name=f"prism of {n}")


def mast_of_prisms(
    stages: int = 3,
    n: int = 3,
    *,
    radius: float = 0.5,
    height: float = 1.0,
    tension: float = 1000.0,
    load: float = 0.0,
) -> Truss:
    """A mast in space: prisms that share rings, their hands alternating.

    With a ``load`` (N) the lowest ring is held, and the cases "top" and "side" put that load downward and
    along x on each node of the highest ring; without, the mast is free-standing.
    """
    if n < 3 or stages < 1:
        raise ProblemError(
            f"a mast needs at least one stage and three struts a stage, got {stages} stages of {n}"
        )
    turn = np.pi / 2 - np.pi / n
    i = np.arange(n)
    rings, pairs, sorts, angle = [], [], [], 0.0
    for stage in range(stages + 1):
        phi = angle + 2.0 * np.pi * i / n
        rings.append(
            np.column_stack((radius * np.cos(phi), radius * np.sin(phi), np.full(n, stage * height)))
        )
        pairs.append(np.column_stack((stage * n + i, stage * n + (i + 1) % n)))
        sorts.append(np.zeros(n, dtype=int))
        if stage == stages:
            break
        hand = 1 if stage % 2 == 0 else -1
        up = (stage + 1) * n
        pairs += [
            np.column_stack((stage * n + i, up + i)),
            np.column_stack((stage * n + i, up + (i + hand) % n)),
        ]
        sorts += [np.ones(n, dtype=int), np.full(n, 2)]
        angle += hand * turn
    nodes, members = np.concatenate(rings), np.concatenate(pairs)
    groups = (
        Group(name="ring", kind="cable", material=CABLES.material, section=CABLES.section),
        Group(name="tendon", kind="cable", material=CABLES.material, section=CABLES.section),
        Group(name="strut", kind="bar", material=BARS.material, section=BARS.section),
    )
    blocked = np.zeros(nodes.shape, dtype=bool)
    free = Truss(
        nodes=nodes,
        members=members,
        groups=groups,
        group=np.concatenate(sorts),
        name=f"mast of {stages} prisms",
    )
    stressed = free.with_(prestress=feasible_self_stress(free, tension=tension, classes=_classes(stages, n)))
    if not load:
        return stressed
    blocked[:n] = True
    top, side = np.zeros(nodes.shape), np.zeros(nodes.shape)
    top[-n:, 2], side[-n:, 0] = -load, load
    return stressed.with_(is_blocked=blocked, cases={"top": top, "side": side})


def _classes(stages: int, n: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Members that the rotation about the axis makes equal: one class per ring, and two per stage."""
    return np.repeat(np.arange(3 * stages + 1), n)
