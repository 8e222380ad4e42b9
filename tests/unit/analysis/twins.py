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
    """A frame, the last by default, of a recording in which every step was kept."""

    d: int
    period: tuple[float | None, ...]
    movable: Mask
    centre: Array
    orientation: Array
    middle: Array
    velocity_before: Array
    velocity: Array
    spin_before: Array
    spin: Array
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
    def of(run: Recording, frame: int = -1) -> Raw:
        model, last = run.model, run.n_frames - 1 if frame < 0 else frame
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
        spins = [_spins(each["orientation"], each["velocity"][:, d:]) for each in (before, row)]
        return Raw(
            d,
            period,
            model.movable,
            row["position"],
            row["orientation"],
            middle,
            before["velocity"][:, :d],
            row["velocity"][:, :d],
            *spins,
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

    def arm(self, k: int, body: int) -> Array:
        """From the centre of a body of contact k, its image there, to the point."""
        image = self.shift[k] if body == self.b[k] else 0.0
        return np.asarray(self.point[k] - self.middle[body] - image)

    def velocities_at(self, k: int) -> tuple[Array, Array]:
        """Velocity of b past a at contact k, before the step and after it."""
        a, b = int(self.a[k]), int(self.b[k])
        found = []
        for v, spin in ((self.velocity_before, self.spin_before), (self.velocity, self.spin)):
            of_a, of_b = (v[body] + _cross(spin[body], self.arm(k, body)) for body in (a, b))
            found.append(of_b - of_a)
        return found[0], found[1]

    def work(self) -> float:
        """Work of the contacts in the step over its length, Σ f·(u⁻ + u⁺)/2 + c·(ω⁻ + ω⁺)/2."""
        total = 0.0
        for k in range(len(self.a)):
            before, after = self.velocities_at(k)
            a, b = int(self.a[k]), int(self.b[k])
            turning = sum(spin[b] - spin[a] for spin in (self.spin_before, self.spin))
            total += 0.5 * float(self.force[k] @ (before + after) + np.sum(self.couple[k] * turning))
        return total

    def push(self, body: int) -> tuple[Array, Array]:
        """Sum of the contact forces on a body, and of their moments about its centre."""
        force, moment = np.zeros(self.d), np.zeros_like(self.spin[0])
        for k in range(len(self.a)):
            for sign, its in ((-1.0, int(self.a[k])), (1.0, int(self.b[k]))):
                if its == body:
                    force += sign * self.force[k]
                    moment += sign * _moment(self.arm(k, body), self.force[k])
                    moment += sign * self.couple[k]
        return force, moment

    def chains(self, volume: Array, cosine: float, shortest: int) -> list[set[int]]:
        """Grains pressed more than the mean, in line with the next: sets that are joined one by one."""
        largest, axis = np.zeros(len(self.movable)), np.zeros((len(self.movable), self.d))
        for body in np.flatnonzero(self.movable):
            stress = self.grain_stress(body, volume[body])
            values, vectors = np.linalg.eigh(0.5 * (stress + stress.T))
            largest[body], axis[body] = values[-1], vectors[:, -1]
        mean = largest[largest > 0.0].mean()
        groups: list[set[int]] = []
        for k in range(len(self.a)):
            pair = {int(self.a[k]), int(self.b[k])}
            if not self.force[k].any() or any(not self.movable[i] or largest[i] <= mean for i in pair):
                continue
            start, end = self.ends(k)
            branch = (end - start) / np.linalg.norm(end - start)
            if all(abs(axis[i] @ branch) >= cosine for i in pair):
                touched = [group for group in groups if group & pair]
                groups = [group for group in groups if not group & pair] + [pair.union(*touched)]
        return sorted((group for group in groups if len(group) >= shortest), key=min)

    def owner(self, x: Array) -> tuple[int, bool]:
        """Grain with the sphere of smallest power at x over all images, and whether x is in a sphere."""
        own = np.flatnonzero(self.movable[self.part_body])
        away = x - self.part_centre[own]
        for axis, length in enumerate(self.period):
            if length is not None:
                away[:, axis] -= length * np.round(away[:, axis] / length)
        power = np.sum(away**2, axis=1) - self.part_radius[own] ** 2
        return int(self.part_body[own[np.argmin(power)]]), bool(power.min() < 0.0)


def _spins(orientation: Array, own: Array) -> Array:
    """Angular velocities in the world, of those in body frames."""
    return own if own.shape[1] == 1 else rotations.rotate(orientation, own)


def _cross(spin: Array, arm: Array) -> Array:
    return np.cross(spin, arm) if len(arm) == 3 else spin[0] * np.array([-arm[1], arm[0]])


def _moment(arm: Array, force: Array) -> Array:
    return np.cross(arm, force) if len(arm) == 3 else np.array([arm[0] * force[1] - arm[1] * force[0]])
