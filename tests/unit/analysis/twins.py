"""Measures recomputed from the arrays of a recording, in plain loops and by sampling.

Nothing here uses :mod:`clapas.analysis`. Centres where contacts were found come from the frame before:
q_m = q⁻ + dt/2 v⁻, while the package goes back from the frame after.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from clapas.geometry import rotations
from clapas.geometry.colliders import Kind
from clapas.io.recording import Recording
from clapas.typing import Array, Indices, Mask


@dataclass
class Raw:
    """The last frame of a recording in which every step was kept."""

    d: int
    period: tuple[float | None, ...]
    movable: Mask
    centre: Array
    orientation: Array
    middle: Array
    velocity: Array
    a: Indices
    b: Indices
    point: Array
    normal: Array
    force: Array
    couple: Array
    mode: Indices
    shift: Array
    part_body: Indices
    part_centre: Array
    part_radius: Array

    @staticmethod
    def of(run: Recording) -> Raw:
        model, last = run.model, run.n_frames - 1
        row, before, contacts = run.row(last), run.row(last - 1), run.contact_rows(last)
        assert row["step"] == before["step"] + 1
        d = len(model.gravity)
        middle = before["position"] + 0.5 * row["dt"] * before["velocity"][:, :d]
        period = (*model.period, None)[:d]
        shift = np.zeros_like(contacts["point"])
        for k in range(len(contacts["a"])):
            for axis, length in enumerate(period):
                if length is not None:
                    away = contacts["point"][k, axis] - middle[contacts["b"][k], axis]
                    shift[k, axis] = length * round(away / length)
        table = model.colliders
        spheres = np.flatnonzero(table.kind == Kind.SPHERE)
        owner = table.body[spheres]
        away = rotations.rotate(row["orientation"][owner], table.position[spheres])
        return Raw(
            d,
            period,
            model.movable,
            row["position"],
            row["orientation"],
            middle,
            row["velocity"],
            *(contacts[name] for name in ("a", "b", "point", "normal")),
            contacts["impulse"] / row["dt"],
            contacts["couple"] / row["dt"],
            contacts["mode"],
            shift,
            owner,
            row["position"][owner] + away,
            table.size[spheres, 0],
        )

    def ends(self, k: int) -> tuple[Array, Array]:
        """Ends of branch k; that of a wall is the contact point."""
        a, b = self.a[k], self.b[k]
        start = self.middle[a] if self.movable[a] else self.point[k]
        end = self.middle[b] + self.shift[k] if self.movable[b] else self.point[k]
        return start, end

    def box_stress(self, low: Array, high: Array, samples: int) -> Array:
        """(1/V) Σ f ⊗ l, each branch by many points that are brought into the box by whole periods."""
        share = (np.arange(samples) + 0.5) / samples
        total = np.zeros((self.d, self.d))
        for k in range(len(self.a)):
            start, end = self.ends(k)
            points = start + share[:, None] * (end - start)
            inside = np.zeros(samples)
            for images in product(*(self._shifts(points[:, i], low[i], high[i], i) for i in range(self.d))):
                moved = points + np.array(images)
                inside += np.all((moved >= low) & (moved < high), axis=1)
            total += inside.mean() * np.outer(self.force[k], end - start)
        return total / np.prod(high - low)

    def _shifts(self, x: Array, low: float, high: float, axis: int) -> list[float]:
        length = self.period[axis]
        if length is None:
            return [0.0]
        first, last = int(np.floor((low - x.max()) / length)), int(np.ceil((high - x.min()) / length))
        return [length * k for k in range(first, last + 1)]

    def grain_stress(self, body: int, volume: float) -> Array:
        """Σ f ⊗ (centre − point) / V over the contacts of a grain, f the force on it."""
        total = np.zeros((self.d, self.d))
        for k in range(len(self.a)):
            if self.a[k] == body:
                total += np.outer(-self.force[k], self.middle[body] - self.point[k])
            if self.b[k] == body:
                total += np.outer(self.force[k], self.middle[body] + self.shift[k] - self.point[k])
        return total / volume

    def owner(self, x: Array) -> tuple[int, bool]:
        """Grain with the sphere of smallest power at x over all images, and whether x is in a sphere."""
        own = np.flatnonzero(self.movable[self.part_body])
        away = x - self.part_centre[own]
        for axis, length in enumerate(self.period):
            if length is not None:
                away[:, axis] -= length * np.round(away[:, axis] / length)
        power = np.sum(away**2, axis=1) - self.part_radius[own] ** 2
        return int(self.part_body[own[np.argmin(power)]]), bool(power.min() < 0.0)
