"""Constant arrays of the rods of a scene, from their definitions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clapas.bodies.rods.definition import FIXED, Rod, Support
from clapas.bodies.rods.inertia import RodTable
from clapas.bodies.rods.kinematics import Segments
from clapas.errors import SceneError
from clapas.geometry.shapes.base import Shape
from clapas.geometry.shapes.simple import Capsule
from clapas.typing import Array, Indices, Mask

NODES = 5  # Gauss points per element: M is right to 1e-9 up to a radian of turn per element (see tests)
LOADS = "tip_force", "tip_couple"
TOUCHED = 1.0 - 1e-9  # bare fraction of a segment above which it counts as bare


@dataclass(frozen=True, eq=False)
class RodArrays:
    """Constant data of the rods of a scene.

    Coordinates q are the strains (τ, κ₁, κ₂) of all elements, then position and quaternion of free roots,
    then those of the supports, then the length of the current step and the time, for the motion of supports.
    Velocities are, rod by rod, those of a free root (of its point and angular, in the world), then the
    strain rates.

    Parameters
    ----------
    rods : sequence of Rod
        The rods.
    """

    rods: Sequence[Rod]

    def __post_init__(self) -> None:
        if isinstance(self.rods, Rod):
            raise SceneError("rods: expected a list of Rods, got one Rod: put it in brackets, Rods([rod])")
        rods = tuple(self.rods) if isinstance(self.rods, Iterable) else ()
        if not rods or not all(isinstance(rod, Rod) for rod in rods):
            raise SceneError(f"rods: expected one Rod or more, got {self.rods!r}")
        object.__setattr__(self, "rods", rods)

    @cached_property
    def table(self) -> RodTable:
        """Sizes, lengths and densities, for kernels."""
        elements = np.array([rod.elements for rod in self.rods])
        free = np.array([rod.root != "clamped" for rod in self.rods], dtype=np.int64)
        size = 3 * elements + 6 * free
        x, w = np.polynomial.legendre.leggauss(NODES)
        return RodTable(
            starts_of(elements),
            starts_of(size),
            starts_of(size**2),
            free,
            np.repeat([rod.length / rod.elements for rod in self.rods], elements),
            np.repeat([rod.inertia for rod in self.rods], elements, axis=0),
            0.5 * (x + 1.0),
            0.5 * w,
        )

    @cached_property
    def supports(self) -> tuple[Support, ...]:
        """The supports, each once."""
        return tuple(dict.fromkeys(rod.support for rod in self.rods if rod.root == "clamped")) or (FIXED,)

    @cached_property
    def support_of(self) -> Indices:
        """The support of each rod; −1 for a free root."""
        number = {support: k for k, support in enumerate(self.supports)}
        return np.array([number[rod.support] if rod.root == "clamped" else -1 for rod in self.rods])

    @cached_property
    def offsets(self) -> tuple[Array, Array]:
        """Positions and frames of the roots in their supports at the start; of free roots in the world."""
        position = np.array([rod.position for rod in self.rods], dtype=float)
        for k, support in enumerate(self.supports):
            position[self.support_of == k] -= np.array(support.position)
        return position, np.array([rod.frame for rod in self.rods])

    @cached_property
    def base(self) -> Indices:
        """Base frame of each root: its own if free, otherwise that of its support, numbered after these."""
        return np.where(
            self.support_of < 0, np.cumsum(self.table.free) - 1, len(self.free_roots) + self.support_of
        )

    @cached_property
    def root_offsets(self) -> tuple[Array, Array]:
        """Positions and frames of the roots in their base frames."""
        position, frame = (array.copy() for array in self.offsets)
        position[self.free_roots], frame[self.free_roots] = 0.0, np.eye(3)
        return position, frame

    @cached_property
    def moving_supports(self) -> Sequence[int]:
        """Supports with an imposed motion."""
        return [k for k, support in enumerate(self.supports) if support.motion is not None]

    @cached_property
    def rates(self) -> Indices:
        """Indices of the strain rates (elements, 3) among the velocities."""
        t = self.table
        rod = np.repeat(np.arange(len(t.free)), np.diff(t.first))
        inside = np.arange(t.first[-1]) - t.first[rod]
        return np.asarray((t.dof[rod] + 6 * t.free[rod] + 3 * inside)[:, None] + np.arange(3))

    @cached_property
    def free_roots(self) -> Indices:
        """Rods with free roots."""
        return np.flatnonzero(self.table.free)

    @cached_property
    def root_rates(self) -> Indices:
        """Indices of the velocities (free roots, 6)."""
        return np.asarray(self.table.dof[self.free_roots][:, None] + np.arange(6))

    @cached_property
    def held(self) -> Mask:
        """Whether a rigid body holds the root, (rods,)."""
        return np.array([rod.root == "held" for rod in self.rods])

    @cached_property
    def held_rates(self) -> Indices:
        """Indices of the velocities of these roots, six each."""
        return np.asarray((self.table.dof[:-1][self.held][:, None] + np.arange(6)).ravel())

    @cached_property
    def stiffness(self) -> Array:
        """K (elements, 3), diagonal: moments (N·m²) times lengths."""
        rows = [rod.stiffness * rod.length / rod.elements for rod in self.rods]
        return np.repeat(rows, np.diff(self.table.first), axis=0)

    @cached_property
    def natural(self) -> Array:
        """Natural strains, (elements, 3)."""
        return np.concatenate([rod.natural_strain for rod in self.rods])

    @cached_property
    def viscosity(self) -> tuple[Array, Array]:
        """Retardation times of elements, (elements, 1), and drag per mass and velocity of rods (1/s)."""
        damping = np.repeat([rod.damping for rod in self.rods], np.diff(self.table.first))
        return damping[:, None], np.array([rod.drag / rod.inertia[0] for rod in self.rods])

    @cached_property
    def segments(self) -> Segments:
        """The carriers: pieces of elements, one after another along each rod.

        A partly bare one begins at the end of the bare length.
        """
        rods, first = self.rods, self.table.first
        counts = np.array([rod.segments for rod in rods])
        element = np.concatenate(
            [np.repeat(np.arange(first[k], first[k + 1]), counts[k]) for k in range(len(rods))]
        )
        rod = np.searchsorted(first, element, side="right") - 1
        inside = np.arange(len(element)) - np.searchsorted(element, element)
        half = 0.5 * self.table.length[element] / counts[rod]
        middle = (2 * inside + 1) * half
        radius = np.array([max(rod.axes) for rod in rods])[rod]
        place = middle + (element - first[rod]) * self.table.length[element]
        bare = np.array([rod.bare for rod in rods])[rod] - (place - half)
        cut = np.where((bare > 0.0) & (bare < TOUCHED * 2.0 * half), 0.5 * bare, 0.0)
        return Segments(rod, element, middle + cut, half - cut, radius, place + cut)

    @property
    def chains(self) -> Indices:
        """The rod of each carrier."""
        return self.segments.rod

    @cached_property
    def shapes(self) -> Sequence[tuple[int, Shape]]:
        """Capsules about the segments, for detection; contacts are then refined on the curve."""
        s = self.segments
        bare = np.array([rod.bare for rod in self.rods])[s.rod]
        touching = np.flatnonzero(s.place - s.half >= bare * (1.0 - 1e-12))
        return [(int(k), Capsule(float(s.radius[k]), float(2.0 * s.half[k]))) for k in touching]

    @cached_property
    def link_names(self) -> Sequence[str]:
        """Rod and segment of each carrier."""
        s = self.segments
        inside = np.arange(len(s.rod)) - np.searchsorted(s.rod, s.rod)
        return [f"{rod}.{k}" for rod, k in zip(s.rod.tolist(), inside.tolist(), strict=True)]

    @property
    def n_dof(self) -> int:
        """Velocities."""
        return int(self.table.dof[-1])

    @property
    def n_elements(self) -> int:
        """Helices of all rods."""
        return int(self.table.first[-1])

    @property
    def n_carriers(self) -> int:
        """Segments."""
        return len(self.segments.rod)

    def split(self, q: Array) -> tuple[Array, Array]:
        """Strains, and the poses of free roots and supports, as views of q."""
        end = 3 * self.n_elements
        return q[:end].reshape(-1, 3), q[end:-2].reshape(-1, 7)

    @cached_property
    def _steady_loads(self) -> tuple[Array, Array]:
        """Loads at time zero, constant unless they are functions of time."""
        force, couple = (np.array([rod.load(name, 0.0) for rod in self.rods]) for name in LOADS)
        return force, couple

    @cached_property
    def _varying_loads(self) -> list[tuple[int, int, str]]:
        """Loads that are functions of time: index of the load, rod, name."""
        varying = [(i, k, name) for i, name in enumerate(LOADS) for k in range(len(self.rods))]
        return [(i, k, name) for i, k, name in varying if callable(getattr(self.rods[k], name))]

    def loads(self, time: float) -> tuple[Array, Array]:
        """Forces and couples on the tips, (rods, 3) each, at a time."""
        if not self._varying_loads:
            return self._steady_loads
        loads = self._steady_loads[0].copy(), self._steady_loads[1].copy()
        for i, k, name in self._varying_loads:
            loads[i][k] = self.rods[k].load(name, time)
        return loads

    @cached_property
    def diagonal(self) -> Indices:
        """Indices of the diagonals of the dense matrices."""
        t = self.table
        size = np.diff(t.dof)
        rod = np.repeat(np.arange(len(size)), size)
        return np.asarray(t.entry[rod] + (np.arange(self.n_dof) - t.dof[rod]) * (size[rod] + 1))

    @cached_property
    def goes_on(self) -> Indices:
        """Whether a rod continues, with contact, before (1) and after (2) a segment."""
        s = self.segments
        touching = np.zeros(self.n_carriers + 2, dtype=bool)
        touching[1 + np.array([k for k, _ in self.shapes], dtype=np.int64)] = True
        same = np.concatenate(([False], s.rod[1:] == s.rod[:-1], [False]))
        return np.asarray(1 * (same[:-1] & touching[:-2]) + 2 * (same[1:] & touching[2:]))


def starts_of(counts: Iterable[int] | Array | Indices) -> Indices:
    """Start of each of several consecutive lists, and the end."""
    return np.concatenate(([0], np.cumsum(np.asarray(counts)))).astype(np.int64)
