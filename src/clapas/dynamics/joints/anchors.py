"""Anchors of joints on bodies of other kinds, and the response of these.

A joint on a node of a truss, a section of a rod or a link of a Lagrangian system holds a frame that moves
with it: an *anchor* (:class:`clapas.bodies.joined.Anchor`). The twists of the anchors of a system are
t = T v + t⁰ on its velocities v, t⁰ from motions that are imposed on it. In the rows of joints an anchor is
one more body,

    ġ = of_a t_a + of_b t_b,

whose inverse mass is that of the system at its anchors, G = T M̃⁻¹ Tᵀ. It couples all anchors of a system,
and may be singular: nodes do not turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy import sparse

from clapas.bodies.joined import Anchored, JoinedBodies
from clapas.bodies.kind import Part, Poses
from clapas.linalg.body_masses import BodyMasses
from clapas.linalg.factor import Factor, factorise
from clapas.linalg.factored_mass import FactoredMass
from clapas.typing import Array, Indices

if TYPE_CHECKING:
    from clapas.dynamics.joints.definition import SystemEnd
    from clapas.dynamics.model import System

Mass: TypeAlias = sparse.csr_array | BodyMasses | FactoredMass


@dataclass(frozen=True, eq=False)
class Anchors:
    """All anchors of the joints of a model, for given configurations of the systems.

    Parameters
    ----------
    of : tuple of arrays
        The anchors of each system.
    poses : Poses
        Their poses.
    J : tuple of sparse matrices (size·k × n_dof)
        T of each system: velocities in the world, and angular velocities in the frames of the anchors.
    imposed : array (K, size)
        t⁰.
    """

    of: tuple[Indices, ...]
    poses: Poses
    J: tuple[sparse.csr_array, ...]
    imposed: Array

    def changes(self, velocities: Sequence[Array]) -> Array:
        """T v (K, size), from the velocities of the systems."""
        twist = np.zeros_like(self.imposed)
        for chosen, J, v in zip(self.of, self.J, velocities, strict=True):
            if len(chosen):
                twist[chosen] = np.asarray(J @ v).reshape(len(chosen), -1)
        return twist

    def twists(self, velocities: Sequence[Array]) -> Array:
        """T v + t⁰ (K, size)."""
        return self.changes(velocities) + self.imposed


def anchors_of(ends: Sequence[SystemEnd], systems: Sequence[System], parts: Sequence[Part]) -> Anchors:
    """The anchors of joints, for the given parts of the systems."""
    d = systems[0].bodies.d
    size = 6 if d == 3 else 3
    position, orientation = np.empty((len(ends), d)), np.empty((len(ends), 4 if d == 3 else 1))
    imposed, of, J = np.zeros((len(ends), size)), [], []
    number = np.array([end.system for end in ends], dtype=np.int64)
    for k, (system, part) in enumerate(zip(systems, parts, strict=True)):
        chosen, bodies = np.flatnonzero(number == k), system.bodies
        of.append(chosen)
        if not len(chosen):
            J.append(sparse.csr_array((0, bodies.n_dof)))
            continue
        assert isinstance(bodies, JoinedBodies)
        anchored: Anchored = bodies.anchored(part, [ends[int(i)].anchor for i in chosen])
        position[chosen], orientation[chosen] = anchored.position, anchored.orientation
        imposed[chosen] = anchored.imposed
        J.append(sparse.csr_array(anchored.J))
    return Anchors(tuple(of), Poses(position, orientation), tuple(J), imposed)


class MassFactors:
    """Factors of the effective masses of systems, kept as long as a system gives the same matrix."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[sparse.csr_array, Factor]] = {}

    def of(self, system: int, mass: Mass) -> Factor:
        """The factor of the mass of a system, by its number."""
        if isinstance(mass, (BodyMasses, FactoredMass)):
            return mass
        kept = self._kept.get(system)
        if kept is None or kept[0] is not mass:
            kept = self._kept[system] = (mass, factorise(mass))
        return kept[1]


@dataclass(frozen=True, eq=False)
class Grips:
    """The anchors of joints with the effective masses of their systems.

    Parameters
    ----------
    anchors : Anchors
        The anchors.
    pushed : tuple of arrays (n_dof, size·k)
        M̃⁻¹ Tᵀ of each system.
    mass, factors
        M̃ of each, and their factors.
    """

    anchors: Anchors
    pushed: tuple[Array, ...]
    mass: tuple[Mass, ...]
    factors: MassFactors

    @staticmethod
    def on(anchors: Anchors, mass: tuple[Mass, ...], factors: MassFactors) -> Grips:
        """The grips on systems with these masses M̃."""
        pushed = []
        for k, (J, M) in enumerate(zip(anchors.J, mass, strict=True)):
            response = np.empty((J.shape[1], 0))
            if J.shape[0]:
                factor, columns = factors.of(k, M), J.toarray()
                response = np.column_stack([factor.solve(column) for column in columns])
            pushed.append(response)
        return Grips(anchors, tuple(pushed), mass, factors)

    def at(self, anchors: Anchors) -> Grips:
        """The same grips at new poses of the anchors."""
        return Grips.on(anchors, self.mass, self.factors)

    @cached_property
    def response(self) -> Array:
        """G as blocks (K, K, size, size)."""
        K, size = self.anchors.imposed.shape
        G = np.zeros((K, K, size, size))
        for chosen, J, pushed in zip(self.anchors.of, self.anchors.J, self.pushed, strict=True):
            k = len(chosen)
            blocks = np.asarray(J @ pushed).reshape(k, size, k, size)
            G[chosen[:, None], chosen] = blocks.transpose(0, 2, 1, 3)
        return G

    @cached_property
    def root(self) -> Array:
        """R with R Rᵀ = G, as blocks (K, K, size, size)."""
        K, size = self.anchors.imposed.shape
        R = np.zeros((K, K, size, size))
        for chosen in self.anchors.of:
            k = len(chosen)
            if not k:
                continue
            G = self.response[chosen[:, None], chosen].transpose(0, 2, 1, 3).reshape(k * size, k * size)
            values, vectors = np.linalg.eigh(0.5 * (G + G.T))
            root = vectors * np.sqrt(np.maximum(values, 0.0))
            R[chosen[:, None], chosen] = root.reshape(k, size, k, size).transpose(0, 2, 1, 3)
        return R

    def moved(self, impulse: Array) -> tuple[Array, ...]:
        """Changes of the velocities of the systems by impulses on the anchors, (K, size)."""
        return tuple(
            pushed @ impulse[chosen].ravel()
            for chosen, pushed in zip(self.anchors.of, self.pushed, strict=True)
        )
