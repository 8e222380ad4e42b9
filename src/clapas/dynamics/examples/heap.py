"""Moreau's heap: grains laid one by one near an axis, on a floor paved with grains of the same sizes.

The paper lays each grain at rest on a vertical drawn at random within 8 mm of the axis, 200 a second. In a
scene births are drawn beforehand, so each grain appears at rest a little above the summit the heap should
have by then, higher where a grain still in the air is in its way.

Reference: Moreau 2003, section 9.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from clapas.dynamics.regions import BoxRegion
from clapas.dynamics.run import Run
from clapas.dynamics.scene import Scene
from clapas.errors import SceneError
from clapas.geometry.shapes import Plane, Sphere
from clapas.typing import Array

GRAVITY = 9.81
SLOPE = math.radians(26.0)  # printed: where to expect the summit, and how wide a floor to pave
PACKING_FRACTION = 0.615  # printed


@dataclass(frozen=True, kw_only=True)
class Deposit:
    """How the grains of a heap come.

    Parameters
    ----------
    grains : int
        How many.
    rate : float
        Grains per second.
    smallest, largest : float
        Diameters, spread evenly between them (m).
    spread : float
        Radius about the axis within which they are laid (m).
    seed : int
        Seed of sizes and places.
    """

    grains: int
    rate: float
    smallest: float
    largest: float
    spread: float
    seed: int

    def __post_init__(self) -> None:
        if self.grains < 1:
            raise SceneError(f"heap: grains must be at least 1, got {self.grains}")
        if not (self.rate > 0 and self.spread > 0):
            raise SceneError(f"heap: rate and spread must be positive, got {self.rate} and {self.spread}")
        if not 0 < self.smallest <= self.largest:
            raise SceneError(
                f"heap: diameters must be positive, smallest first, got {self.smallest} and {self.largest}"
            )

    def summit(self, time: float) -> float:
        """Height of the cone that the grains laid so far should make (m)."""
        low, high = self.smallest, self.largest
        cubes = (low**2 + high**2) * (low + high) / 4  # mean of d³ for d spread evenly
        volume = min(self.grains, self.rate * time) * math.pi / 6 * cubes / PACKING_FRACTION
        return float((3.0 * volume * math.tan(SLOPE) ** 2 / math.pi) ** (1 / 3))

    def drawn(self) -> tuple[Array, Array, Array]:
        """Times (n,), radii (n,) and centres (n, 3) of the grains at their birth."""
        random = np.random.default_rng([self.seed, 2003])
        times = np.arange(self.grains) / self.rate
        radii = random.uniform(self.smallest, self.largest, self.grains) / 2
        distance = self.spread * np.sqrt(random.random(self.grains))
        angle = random.uniform(0.0, 2 * math.pi, self.grains)
        centres = np.column_stack((distance * np.cos(angle), distance * np.sin(angle), np.zeros(self.grains)))
        fall = math.sqrt(2 * 8 * self.largest / GRAVITY)  # then a grain is out of the way
        recent = math.ceil(fall * self.rate)
        for k, time in enumerate(times):
            others = slice(max(0, k - recent), k)
            fallen = centres[others] - [0, 0, 1] * (GRAVITY / 2 * (time - times[others, None]) ** 2)
            low = self.summit(time) + 1.5 * self.largest
            centres[k, 2] = _lowest(centres[k, :2], low, radii[k], fallen, radii[others])
        return times, radii, centres


def heap(
    grains: int = 1000,
    rate: float = 200.0,
    smallest: float = 2.5e-3,
    largest: float = 5e-3,
    mu: float = 0.4,
    density: float = 1000.0,
    spread: float = 8e-3,
    seed: int = 1,
    relaxation: float = 1.0,
) -> Scene:
    """Grains laid one by one on a rough floor build a heap (Moreau's experiment; his had 14 000).

    Its flanks settle at about 26° for mu = 0.4, and the ground feels less pressure under the summit than
    further out (Moreau 2003). After the last grain it has ``relaxation`` seconds to come to rest.
    ``clapas study heap RUN`` measures it.
    """
    deposit = Deposit(grains=grains, rate=rate, smallest=smallest, largest=largest, spread=spread, seed=seed)
    scene = Scene(seed=seed)
    scene.material("grain", density=density)
    scene.law(mu=mu)
    scene.add(Plane(), name="floor")
    end = grains / rate
    _pave(scene, 1.4 * deposit.summit(end) / math.tan(SLOPE) + spread, deposit)
    for k, (time, radius, centre) in enumerate(zip(*deposit.drawn(), strict=True)):
        place = BoxRegion(centre, centre)
        scene.source(
            place,
            rate=rate,
            number=1,
            start=float(time),
            radius=float(radius),
            material="grain",
            name=f"grain {k}",
        )
    scene.run = Run(
        duration=end + relaxation,
        dt=2e-4,
        every=500,
        on_unsolved="record",
        solver={"name": "nsgs", "tol": 1e-3, "max_iterations": 200},
    )
    return scene


def _lowest(place: Array, low: float, radius: float, others: Array, radii: Array) -> float:
    """Height from ``low`` up at which a sphere on a vertical touches none of the others."""
    level = np.sum((others[:, :2] - place) ** 2, axis=1)
    reach = np.sqrt(np.maximum((1.001 * (radius + radii)) ** 2 - level, 0.0))
    z = low
    for centre, half in sorted(
        zip(others[:, 2].tolist(), reach.tolist(), strict=True), key=lambda pair: pair[0] - pair[1]
    ):
        if half > 0.0 and centre - half < z < centre + half:
            z = centre + half
    return z


def _pave(scene: Scene, radius: float, deposit: Deposit) -> None:
    """Fixed grains of the same sizes, half sunk in the floor: a triangular lattice, shaken."""
    random = np.random.default_rng([deposit.seed, 1])
    pitch = (deposit.smallest + deposit.largest) / 2
    half = math.ceil(radius / pitch * 2 / math.sqrt(3)) + 1
    for j in range(-half, half + 1):
        for i in range(-half, half + 1):
            shake = random.uniform(-0.25, 0.25, 2) * pitch
            diameter = random.uniform(deposit.smallest, deposit.largest)
            x, y = pitch * (i + 0.5 * (j % 2)) + shake[0], pitch * math.sqrt(3) / 2 * j + shake[1]
            if math.hypot(x, y) <= radius:
                scene.add(
                    Sphere(diameter / 2), position=(x, y, 0.0), fixed=True, material="grain", group="pavement"
                )
